/* What the garbage collector reads in an object's metadata, and the patches that it sends.
 * Texts are as JSON writes them between quotes; names, uids and kinds have no escapes.
 * Thread: any (pure).  Owner: what is read is borrowed from the object. */
#ifndef COR_SERVER_CONTROLLERS_GC_GC_REFS_H
#define COR_SERVER_CONTROLLERS_GC_GC_REFS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "meta/object/object.h"
#include "json/text/scan.h"

#define COR_GC_FOREGROUND "foregroundDeletion"
#define COR_GC_ORPHAN     "orphan"

#define COR_GC_UID_MAX 64

/* An owner reference. */
struct cor_gc_ref {
    struct cor_str api_version, kind, name, uid;
    bool blocks;         /* blockOwnerDeletion is true */
    struct cor_str json; /* the whole reference */
};

/* The references of an object, in their order:
 *     struct cor_gc_refs_iter it = cor_gc_refs(object);
 *     while (cor_gc_refs_next(&it, &ref)) … */
struct cor_gc_refs_iter {
    struct cor_json_iter json;
};

/* The same over `owners`, the value of metadata.ownerReferences of canonical JSON. */
struct cor_gc_refs_iter cor_gc_refs_of(struct cor_str owners);
struct cor_gc_refs_iter cor_gc_refs(const struct cor_object *object);
bool cor_gc_refs_next(struct cor_gc_refs_iter *it, struct cor_gc_ref *ret_ref);

/* Can the uid be followed? The server makes uids of 36 characters. An owner reference may contain
 * any text as its uid: one with a slash, or a very long one, is the uid of no object. */
bool cor_gc_uid_is_usable(struct cor_str uid);

/* How far the deletion of an object is. */
struct cor_gc_deletion {
    bool is_begun;       /* deletionTimestamp is set */
    bool has_foreground; /* the finalizer, also without a deletion */
    bool has_orphan;
};

struct cor_gc_deletion cor_gc_deletion(const struct cor_object *object);

/* Patches. Each appends to `out`. 0, -COR_ENOMEM, -COR_ETOOBIG. */

/* Strategic: remove the references with these uids from the object with this uid. */
int cor_gc_patch_drop(struct cor_buf *out, struct cor_str uid, const struct cor_str *owners,
                      size_t n);
/* JSON merge, for resources without the strategic form: the references of `object` less these. */
int cor_gc_patch_drop_merge(struct cor_buf *out, const struct cor_object *object,
                            const struct cor_str *owners, size_t n);
/* Strategic: the references of `object` that block, with blockOwnerDeletion false; no list when
 * none of them blocks. */
int cor_gc_patch_unblock(struct cor_buf *out, const struct cor_object *object);
/* JSON merge: all references of `object`, with blockOwnerDeletion false. */
int cor_gc_patch_unblock_merge(struct cor_buf *out, const struct cor_object *object);
/* JSON merge: the finalizers of `object` less this one. */
int cor_gc_patch_finalizers(struct cor_buf *out, const struct cor_object *object,
                            struct cor_str finalizer);

#endif
