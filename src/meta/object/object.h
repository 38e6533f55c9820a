/* An API object: an immutable, reference-counted run of JSON, with a small header of offsets into
 * it. Nothing is decoded; there is no second copy of anything.
 *
 * Three forms. *Stored*: canonical, without metadata.resourceVersion (and without
 * metadata.selfLink); what the engine keeps and what the no-op check compares. *Served*: the same
 * bytes with resourceVersion in place, made once per revision. *Received* (a client's): the bytes
 * as a server sent them, keys in any order, the first of equal ones counts; `order` tells. In all
 * of them `metadata` is there, if only as {}, and the keys of labels are sorted and without
 * escapes. What a client received as protobuf (meta/object/object_wire.h) has, as these bytes, a
 * *head*: its type and the most of its metadata; the whole JSON is made when cor_object_json() asks
 * for it. Thread: any (immutable).  Owner: its references. */
#ifndef COR_META_OBJECT_OBJECT_H
#define COR_META_OBJECT_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/ref.h"
#include "base/str.h"
#include "coracle/object.h"
#include "meta/status/revision.h"
#include "meta/status/status.h"
#include "json/text/scan.h"

/* A span of the object's bytes; len 0: absent. */
struct cor_span {
    uint32_t at, len;
};

struct cor_object {
    struct cor_ref ref;
    uint32_t len;      /* bytes of JSON */
    uint32_t type_end; /* the type part is [1, type_end): `"kind":…,"apiVersion":…,`; 0 in the
                          received form */
    uint32_t meta_at;  /* of metadata's opening brace */
    uint32_t rv_at;    /* where the resourceVersion member stands, or would stand */
    uint16_t rv_len;   /* of the whole member with its comma; 0 in the stored form */
    uint8_t rv_lead;   /* a member precedes it in metadata: the comma is in front */
    uint8_t order;     /* enum cor_json_order: COR_JSON_SORTED, or COR_JSON_FIRST if received */
    struct cor_span labels; /* the value of metadata.labels, braces included */
    struct cor_span owners; /* the value of metadata.ownerReferences, brackets included */
    cor_rev rev;            /* 0 in the stored form, and where it is not a number */
    uint64_t fingerprint;   /* of the labels, see meta/value/fingerprint.h */
    uint16_t key_len;       /* of the key behind the bytes and their NUL; 0: there is none */
    bool key_is_given;      /* it is a program's key, not "namespace/name" */
    bool has_wire;          /* the bytes are the head of an object in protobuf */
    char bytes[];           /* NUL-terminated; the NUL is not counted */
};

/* What an object costs beside its bytes. */
_Static_assert(offsetof(struct cor_object, bytes) <= 64, "the header has grown");

/* The value of metadata.ownerReferences, found without a look at the bytes; n 0: there is no list.
 */
static inline struct cor_str cor_object_owners(const struct cor_object *object)
{
    return cor_str(object->bytes + object->owners.at, object->owners.len);
}

struct cor_json_guide;
struct cor_object_limits {
    uint32_t bytes_max; /* 0: the default */
    bool any_number;    /* also numbers that no double holds: see struct cor_json_limits */
    const struct cor_json_guide *guide; /* which values are raw, as there */
    const void *root;
};

/* Duplicate keys found while reading outside bytes: the last wins, each is reported by path. */
struct cor_json_dups;

/* From outside bytes (any JSON object) to the stored form. A resourceVersion in the input is taken
 * out and given to `ret_rv` as written ("" when absent or null; NULL: not wanted), borrowed from
 * `json`. selfLink is dropped. `limits` and `dups` may be NULL. 0, -COR_ENOMEM, -COR_ETOOBIG,
 * -COR_EINVAL (not a JSON object, bad UTF-8, too deep, a number that no double holds, metadata not
 * an object, resourceVersion not a string or one with escapes: the message says where). */
int cor_object_parse(struct cor_str json, const struct cor_object_limits *limits,
                     struct cor_json_dups *dups, struct cor_str *ret_rv,
                     struct cor_object **ret_object, struct cor_status *reterr_status);

/* From an engine's bytes to the served form at `rev` (0: the stored form): no copy but the object
 * when the bytes are a stored form. `guide` finds the raw values by the object's kind; NULL: there
 * are none. `ret_rewrite` (NULL: not wanted): they were no stored form, so that writing the object
 * again would change them. 0, -COR_ENOMEM, -COR_ECORRUPT (no object at all: the message says
 * where). */
int cor_object_read_stored(struct cor_str stored, cor_rev rev, const struct cor_json_guide *guide,
                           struct cor_object **ret_object, bool *ret_rewrite,
                           struct cor_status *reterr_status);
static inline int cor_object_from_stored(struct cor_str stored, cor_rev rev,
                                         struct cor_object **ret_object, bool *ret_rewrite,
                                         struct cor_status *reterr_status)
{
    return cor_object_read_stored(stored, rev, NULL, ret_object, ret_rewrite, reterr_status);
}

/* From canonical bytes of this process's own, with metadata and without a resourceVersion, to the
 * stored form: they are not checked again, and what is inside raw values (which the order of keys
 * and the escapes of the canonical form do not hold for) stays as it is. 0, -COR_ENOMEM,
 * -COR_ECORRUPT (there is no metadata, or it has a resourceVersion or selfLink). */
int cor_object_from_sorted(struct cor_str canonical, struct cor_object **ret_object);

/* The same object at another revision, as served form (a DELETED event, a fresh write): one copy.
 * `rev` 0 gives the stored form. 0 or -COR_ENOMEM. */
int cor_object_at(const struct cor_object *object, cor_rev rev, struct cor_object **ret_object);

/* The same with the resourceVersion of another server, which is no more than a text: kept as it is;
 * `rev` is its number where it is one, else 0. As JSON has it, without escapes. 0, -COR_ENOMEM,
 * -COR_ETOOBIG (longer than COR_OBJECT_RV_MAX). */
#define COR_OBJECT_RV_MAX 128
int cor_object_at_text(const struct cor_object *object, struct cor_str rv,
                       struct cor_object **ret_object);

COR_DEFINE_CLEANUP(struct cor_object, cor_object_unref)

/* The object's name in a client's cache, "namespace/name" or "name", which it carries along so that
 * a tree of objects needs no entries; empty when it carries none. */
static inline struct cor_str cor_object_own_key(const struct cor_object *object)
{
    return cor_str(object->bytes + object->len + 1, object->key_len);
}

/* Another reference to `object` when it has "namespace/name" with it, else a copy that has. 0,
 * -COR_ENOMEM, -COR_EINVAL (no name), -COR_ETOOBIG (a name or namespace that no key has room for).
 */
int cor_object_with_key(struct cor_object *object, struct cor_object **ret_object);

/* Another reference to `object` when it has exactly this key with it, else a copy that has. 0,
 * -COR_ENOMEM, -COR_EINVAL (an empty key), -COR_ETOOBIG. */
int cor_object_with_given_key(struct cor_object *object, struct cor_str key,
                              struct cor_object **ret_object);

/* The object without its managedFields, and one without them with this list. `list` is the value,
 * in the bytes of the object itself where they are cut out. Of sorted forms; revision and form
 * stay. 0 or -COR_ENOMEM. */
int cor_object_without_managed(const struct cor_object *object, struct cor_str list,
                               struct cor_object **ret_object);
int cor_object_with_managed(const struct cor_object *object, struct cor_str list,
                            struct cor_object **ret_object);

/* What look-ups in the object's JSON may rely on. */
static inline enum cor_json_order cor_object_order(const struct cor_object *object)
{
    return object->has_wire ? COR_JSON_FIRST : (enum cor_json_order)object->order;
}

/* The bytes that the header's offsets are of: all JSON of the object, or the head of one that is in
 * protobuf, which has kind, apiVersion, and of metadata creationTimestamp,
 * deletionGracePeriodSeconds, deletionTimestamp, finalizers, generation, labels, name, namespace,
 * ownerReferences, resourceVersion and uid. Reading these there makes no JSON. */
static inline struct cor_str cor_object_head(const struct cor_object *object)
{
    return cor_str(object->bytes, object->len);
}
static inline struct cor_view cor_object_head_view(const struct cor_object *object)
{
    return (struct cor_view){cor_object_head(object), object->order};
}

/* What the object takes beside its header, without JSON that was made of it. */
size_t cor_object_size(const struct cor_object *object);

/* The stored form's bytes as the two spans around resourceVersion: `a` then `b`. */
void cor_object_stored_spans(const struct cor_object *object, struct cor_str *ret_a,
                             struct cor_str *ret_b);

/* Are the stored forms the same bytes? */
bool cor_object_same_stored(const struct cor_object *a, const struct cor_object *b);

#endif
