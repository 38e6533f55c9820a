/* clang-format off */
/* The view that rules and hooks of validation have of an object (docs/internals/validate.md).
 *
 * A check is one run over an object, and over the object that it replaces if there is one. A place
 * is a value in it, present or not, with its type, its path and the value that the old object has
 * there:
 *
 *   static void check_ports(struct cor_check *check, const struct cor_place *list)
 *   {
 *       struct cor_place item, port;
 *
 *       COR_EACH(check, list, item) {
 *           cor_place_field(check, &item, "port", &port);
 *           if (cor_place_int(check, &port) == 0)
 *               cor_check_required(check, &port, NULL);
 *       }
 *   }
 *
 * Reading has Go's zero values: a field that is absent is 0, false, "" or empty. The first lack of
 * memory is kept in the errors; from then on everything reads as absent and no error is added.
 *
 * Owner: whoever runs the check; places live on the stack of their makers, and a place must not
 * outlive the place around it. Thread: one at a time. */
/* clang-format on */
#ifndef COR_SCHEMA_CHECK_CHECK_H
#define COR_SCHEMA_CHECK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/str_set.h"
#include "meta/metadata/object_meta.h"
#include "meta/names/field_error.h"
#include "meta/object/object.h"
#include "schema/format/format.h"
#include "schema/types/types.h"
#include "json/text/nodes.h"

/* What the client does. The names in rule files are those of the list. */
#define COR_CHECK_OPERATIONS(X)                                                                    \
    X(CREATE, "create")                                                                            \
    X(UPDATE, "update")                                                                            \
    X(STATUS, "status")                                                                            \
    X(FINALIZE, "finalize")                                                                        \
    X(APPROVAL, "approval")                                                                        \
    X(EPHEMERAL_CONTAINERS, "ephemeralcontainers")                                                 \
    X(RESIZE, "resize")                                                                            \
    X(SCALE, "scale")

enum cor_check_operation {
#define X(symbol, name) COR_CHECK_##symbol,
    COR_CHECK_OPERATIONS(X)
#undef X
        COR_CHECK_OPERATIONS_N
};

/* The nodes of the new object or of the old one. When a rule asks for a field of a struct, the
 * nodes of all members of that struct are noted in the slots of the check. */
struct cor_check_tree {
    struct cor_json_nodes nodes;
    uint32_t *opened; /* per node: the first of its slots plus 1; 0: it is not open */
    uint32_t few[COR_JSON_NODES_FEW];
};

/* Bytes of all texts that a check makes; a client whose object needs more gets 413. */
#define COR_CHECK_TEXTS_MAX (32u << 20)

/* A string with escapes whose text was made, by its node. */
#define COR_CHECK_UNESCAPED 64
struct cor_check_unescaped {
    uint32_t node;
    bool is_old;
    struct cor_str text; /* p == NULL: this place is free */
};

struct cor_check_opened {
    uint32_t node;
    uint32_t first; /* of its slots */
    bool is_old;
};

struct cor_check_text;
struct cor_validate_tables;

/* Gets the text of a warning, which is valid during the call. 0, -COR_ENOMEM. */
typedef int (*cor_warn_fn)(void *arg, struct cor_str text);

/* Appends what is wrong with a certificate and a private key in PEM form, in Go's words. 1:
 * something is; 0: they belong together; -COR_ENOMEM, -COR_ETOOBIG. */
typedef int (*cor_key_pair_fn)(struct cor_str cert_pem, struct cor_str key_pem,
                               struct cor_buf *out);

/* Warnings about one object; no more are made. An answer has room for far fewer. */
#define COR_CHECK_WARNINGS_MAX 1024
/* Bytes of a value that a warning shows: more than the answer shows of a whole warning, which is
 * cut after 4,096 code points at most. */
#define COR_CHECK_WARNING_TEXT_MAX (16u * 1024)

/* Checks the DER of a request for a certificate. 0: it is valid; 1: `why`, which has at least 1 KB
 * of room, got the reason; or a failure. The caller of the check supplies it, because this layer
 * has no cryptography. */
typedef int (*cor_check_request_fn)(struct cor_str der, struct cor_buf *why);

/* What a check remembers of elements that it has passed, a set of texts per topic, so that a hook
 * at an element need not look through the list again. */
enum cor_check_topic {
    COR_SEEN_CONTAINERS,        /* names of containers of all kinds */
    COR_SEEN_TARGETS,           /* of those that an ephemeral container may aim at */
    COR_SEEN_PORTS,             /* names of ports of a container */
    COR_SEEN_CLAIMS,            /* names of a pod's resource claims */
    COR_SEEN_GATES,             /* names of scheduling gates */
    COR_SEEN_TEMPLATE_VOLUMES,  /* names of claims that a StatefulSet makes for its pods */
    COR_SEEN_VOLUMES,           /* names of volumes without a mistake */
    COR_SEEN_CLAIM_VOLUMES,     /* those of them that are claims */
    COR_SEEN_EPHEMERAL_VOLUMES, /* names of volumes for which a claim is made */
    COR_SEEN_PROJECTED_PATHS,   /* paths of files in a projected volume */
    COR_SEEN_POLICY_CONTAINERS, /* names of containers that a Job's failure policy may name */
    COR_SEEN_METRICS,           /* whether the metrics of the old autoscaler had mistakes */
    COR_SEEN_WEBHOOKS,          /* names of webhooks */
    COR_SEEN_MATCH_CONDITIONS,  /* names of match conditions */
    COR_SEEN_ANNOTATION_KEYS,   /* keys of audit annotations */
    COR_SEEN_REQUESTS,          /* what a resource claim may refer to as a request */
    COR_SEEN_DEVICES,           /* keys of the devices that a resource claim was given */
    COR_SEEN_OLD_ELEMENTS,   /* texts of the old list that cor_check_was_there() was asked about */
    COR_SEEN_BY_WARNINGS,    /* what only one element should have */
    COR_SEEN_SHARED,         /* fields that all versions of a custom resource share */
    COR_SEEN_CONTAINER_KEYS, /* keys of annotations that are about a container */
    COR_SEEN_PATTERNS,       /* patterns of a definition that are regular expressions */
    COR_SEEN_TOPICS
};

struct cor_check_seen {
    struct cor_str_set texts;
    uint64_t scope; /* which list the texts are from; 0: there are none */
};

struct cor_check {
    const struct cor_validate_tables *tables; /* the rules (validate_int.h) */
    struct cor_field_errors *errors;
    cor_key_pair_fn key_pair; /* knows about certificates; NULL: nobody does */
    cor_warn_fn warn;         /* gets the warnings; NULL: nobody asks for them */
    void *warn_arg;
    size_t nwarnings; /* that were made, repeated ones too; at most COR_CHECK_WARNINGS_MAX */
    enum cor_check_operation operation;
    struct cor_object_meta_rules meta;  /* of the kind */
    struct cor_str api_version;         /* of the request */
    const struct cor_object *ns_object; /* the namespace, of a creation; or NULL */
    bool has_old;
    uint16_t old_known, old_found; /* bits of enum cor_old_mistake: asked about, and there */
    bool allow_privileged;         /* the server lets containers be privileged */
    bool *ret_meets_privileged;    /* set when one wants to be, and is not allowed to; or NULL */
    cor_check_request_fn check_request; /* may be NULL */
    bool has_meta; /* the hook object_meta has run: the generic pass would find nothing else */
    size_t steps;  /* rules that were run, for tests of the cost */

    struct cor_str sent; /* the object before it was in normal form; p == NULL: nothing was lost */
    struct cor_json_nodes *sent_nodes; /* NULL: nobody has asked for them */

    struct cor_check_tree object, old;
    uint32_t *slots; /* nodes by member, of all open structs */
    size_t nslots, slots_cap;
    struct cor_check_opened *open;
    size_t nopen, open_cap;
    struct cor_check_text *texts; /* strings that had escapes, and what messages are made of */
    size_t text_bytes;            /* of them; at most COR_CHECK_TEXTS_MAX */
    struct cor_check_unescaped unescaped[COR_CHECK_UNESCAPED]; /* strings that were read lately */
    struct cor_check_seen *seen; /* COR_SEEN_TOPICS of them; NULL: nothing was remembered */
    const char *claim_names;     /* of a pod, for messages; NULL: not made yet */
};

/* A value of the object. */
struct cor_place {
    const struct cor_place *parent; /* NULL: the object itself */
    const struct cor_type *type;
    uint32_t node, old;         /* COR_JSON_NO_NODE: absent */
    bool is_pointer;            /* absent and zero are two things */
    bool is_old;                /* readers and messages use `old` (cor_place_old()) */
    struct cor_field_path path; /* of the object itself: not to be used */
    struct cor_str key;         /* of an entry of a map */
};

/* --- Life, for those who run checks ----------------------------------------------------------- */

/* Reads both objects; `old` with p == NULL: there is none. The texts are canonical and stay until
 * the check is deinitialised. 0, -COR_EINVAL (not JSON), -COR_ENOMEM. Deinitialise in any case. */
int cor_check_init(struct cor_check *check, struct cor_str object, struct cor_str old,
                   struct cor_field_errors *errors);
void cor_check_deinit(struct cor_check *check);

/* The place of the whole object. */
struct cor_place cor_check_root(const struct cor_type *type, const struct cor_check *check);

/* --- Moving ------------------------------------------------------------------------------------
 */

/* The field `name` of the struct at `place`, present or not; true: it is present. The type must
 * have the field. */
bool cor_place_field(struct cor_check *check, const struct cor_place *place, const char *name,
                     struct cor_place *ret_field);
/* The same by the member's index, for callers that have looked it up. */
bool cor_place_member(struct cor_check *check, const struct cor_place *place, size_t member,
                      struct cor_place *ret_field);
/* The entry of a map; its path is the map's with [key]. */
bool cor_place_entry(struct cor_check *check, const struct cor_place *place, struct cor_str key,
                     struct cor_place *ret_entry);

/* Over the elements of a list, or the entries of a map by their keys. An entry's old value is the
 * one with the same key; an element's is the one with the same index, which is seldom what a rule
 * wants. What next() returned before is not used after the next call. */
struct cor_each {
    const struct cor_place *place;
    uint32_t next, end, old, old_end;
    size_t index;
    size_t mark; /* structs that were open before */
    bool is_map;
};
struct cor_each cor_each(struct cor_check *check, const struct cor_place *place);
bool cor_each_next(struct cor_check *check, struct cor_each *each, struct cor_place *ret_item);
/* `item`, a struct cor_place of the caller's, is each in turn. */
#define COR_EACH(check, list, item)                                                                \
    for (struct cor_each item##_each = cor_each(check, list);                                      \
         cor_each_next(check, &item##_each, &(item));)
/* Moves to the next entry of a map and returns its key alone, which costs less than its place. */
bool cor_each_next_key(struct cor_check *check, struct cor_each *each, struct cor_str *ret_key);

/* The old value as a place of its own: for readers, and for messages that print it. */
struct cor_place cor_place_old(const struct cor_place *place);

/* --- Reading -----------------------------------------------------------------------------------
 */

/* A pointer that is not nil; of others, a value that is not zero. */
bool cor_place_is_set(struct cor_check *check, const struct cor_place *place);
/* Nil or zero, also behind a pointer: no text, no elements, no entries, no fields. */
bool cor_place_is_empty(struct cor_check *check, const struct cor_place *place);
/* Is there a value in the JSON? */
static inline bool cor_place_is_present(const struct cor_place *place)
{
    return (place->is_old ? place->old : place->node) != COR_JSON_NO_NODE;
}

/* The text of a string, a quantity or a time. An int-or-string that holds an integer has the text
 * "". */
struct cor_str cor_place_text(struct cor_check *check, const struct cor_place *place);
int64_t cor_place_int(struct cor_check *check, const struct cor_place *place);
bool cor_place_bool(struct cor_check *check, const struct cor_place *place);
/* Does an int-or-string hold a string? */
bool cor_place_is_text(const struct cor_check *check, const struct cor_place *place);
/* The number of elements of a list, of entries of a map, or of bytes of a text. */
size_t cor_place_length(struct cor_check *check, const struct cor_place *place);
/* The bytes of the value; p == NULL: it is absent. */
struct cor_str cor_place_json(const struct cor_check *check, const struct cor_place *place);
/* The same with the lists and maps that were sent empty, for messages (check_sent.c). It lives as
 * long as the check. */
struct cor_str cor_check_sent(struct cor_check *check, const struct cor_place *place);
/* Had the request an empty list or map here? The object may have a default in its place, which
 * upstream gives only to lists and maps that were not sent. */
bool cor_check_was_sent_empty(struct cor_check *check, const struct cor_place *place);
/* The bytes of the value with all that follows in the object: enough to iterate over the value, and
 * cheaper, because its end is not looked for. */
struct cor_str cor_place_open_json(const struct cor_check *check, const struct cor_place *place);
/* Semantic equality with the old value (schema/walk/equal.h). Without an old object: changed. */
bool cor_place_is_changed(struct cor_check *check, const struct cor_place *place);

/* Remembers a text under a topic; false: the topic has it already. `scope` is the list that the
 * texts belong to: what was remembered of another list is forgotten. The text stays as long as the
 * check. */
bool cor_check_see(struct cor_check *check, enum cor_check_topic topic,
                   const struct cor_place *scope, struct cor_str text);
/* Has the topic the text, of the list whose texts were remembered last? A list without elements
 * remembers nothing: a caller that asks about another list calls cor_check_forget() before. */
bool cor_check_has_seen(const struct cor_check *check, enum cor_check_topic topic,
                        struct cor_str text);
/* Forgets the texts of a topic, when rules begin that may run twice over the same list. */
void cor_check_forget(struct cor_check *check, enum cor_check_topic topic);

/* The same for all topics. */
void cor_check_forget_all(struct cor_check *check);

/* Has the old list an element with this text, in its field of that name or (NULL) as the element
 * itself? For rules that let stay what was accepted before. The work is linear when all elements of
 * a list are asked about before those of another. */
bool cor_check_was_there(struct cor_check *check, const struct cor_place *list, const char *field,
                         struct cor_str text);

/* The place around this one whose type has that name; NULL: there is none. */
const struct cor_place *cor_place_around(const struct cor_place *place, const char *type_name);

/* Shorthands for hooks: whether a field is present, its text, integer and boolean. They cost less
 * than the place of the field. */
bool cor_field_is_present(struct cor_check *check, const struct cor_place *place, const char *name);
struct cor_str cor_field_text(struct cor_check *check, const struct cor_place *place,
                              const char *name);
int64_t cor_field_int(struct cor_check *check, const struct cor_place *place, const char *name);
bool cor_field_bool(struct cor_check *check, const struct cor_place *place, const char *name);

/* --- Errors ------------------------------------------------------------------------------------
 */

/* At the place, with its value; `detail` may be NULL. */
void cor_check_invalid(struct cor_check *check, const struct cor_place *place, const char *detail);
void cor_check_required(struct cor_check *check, const struct cor_place *place, const char *detail);
void cor_check_forbidden(struct cor_check *check, const struct cor_place *place,
                         const char *detail);
void cor_check_duplicate(struct cor_check *check, const struct cor_place *place);
void cor_check_not_found(struct cor_check *check, const struct cor_place *place,
                         const char *detail);
void cor_check_too_long(struct cor_check *check, const struct cor_place *place, size_t max);
void cor_check_too_many(struct cor_check *check, const struct cor_place *place, size_t max);
void cor_check_not_supported(struct cor_check *check, const struct cor_place *place,
                             const char *const *supported, size_t n);
/* Adds an error for each finding of the format, and returns the number of findings. */
size_t cor_check_format(struct cor_check *check, const struct cor_place *place,
                        enum cor_format format);

/* Any type of error, at any path, with any value: wrong paths, other values. */
void cor_check_add(struct cor_check *check, enum cor_field_error_type type,
                   const struct cor_field_path *path, struct cor_field_value value,
                   const char *detail);
/* At the place with another value. */
void cor_check_add_value(struct cor_check *check, enum cor_field_error_type type,
                         const struct cor_place *place, struct cor_field_value value,
                         const char *detail);
/* The value of a place as messages print it. It lives as long as the check. */
struct cor_field_value cor_check_value(struct cor_check *check, const struct cor_place *place);

/* A formatted text for a detail, which lives as long as the check; "" when no memory is left. */
const char *cor_check_printf(struct cor_check *check, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The text in quotes as Go's %q prints it, for a warning: only COR_CHECK_WARNING_TEXT_MAX bytes of
 * it are shown. It lives as long as the check; "" when no memory is left. */
const char *cor_check_quote(struct cor_check *check, struct cor_str text);

/* `n` bytes that live as long as the check; NULL: none left, which is in the errors. */
char *cor_check_alloc(struct cor_check *check, size_t n);

/* A copy of a text that lives as long as the check; NULL: no memory is left. */
char *cor_check_copy(struct cor_check *check, struct cor_str text);
/* As cor_check_copy(), with the letters A to Z in lower case. */
char *cor_check_lower(struct cor_check *check, struct cor_str text);

/* Texts one behind the other, whatever their bytes are. The result lives as long as the check; ""
 * when no memory is left. */
struct cor_str cor_check_concat(struct cor_check *check, const struct cor_str *texts, size_t n);
/* The key of `n` texts in a set. The key contains the length of each text, so that two different
 * rows of texts never have the same key. */
struct cor_str cor_check_key(struct cor_check *check, const struct cor_str *texts, size_t n);

/* Notes that a call has failed with `r` (0 and -COR_EINVALID, whose errors were added, are fine).
 */
void cor_check_note(struct cor_check *check, int r);

/* Makes a Warning header. */
void cor_check_warn(struct cor_check *check, struct cor_str text);
/* The same with a text that is made: the place's path, a colon and a space come first. */
void cor_check_warn_at(struct cor_check *check, const struct cor_field_path *path, const char *fmt,
                       ...) __attribute__((format(printf, 3, 4)));
/* Returns whether containers may be privileged. Call it only for a container that wants to be: the
 * call is noted. */
bool cor_check_allows_privileged(struct cor_check *check);
/* Will further warnings be dropped? Loops over pairs of elements end then. */
static inline bool cor_check_is_warned(const struct cor_check *check)
{
    return check->nwarnings >= COR_CHECK_WARNINGS_MAX || check->errors->error < 0;
}

/* --- For the interpreter -----------------------------------------------------------------------
 */

/* The node of a member of the struct at `node`; COR_JSON_NO_NODE: it is absent. A struct that is
 * not open yet is opened by the slow one of the two. */
uint32_t cor_check_open_slot(struct cor_check *check, bool is_old, const struct cor_type *type,
                             uint32_t node, size_t member);
static inline uint32_t cor_check_slot(struct cor_check *check, bool is_old,
                                      const struct cor_type *type, uint32_t node, size_t member)
{
    uint32_t opened;

    if (node == COR_JSON_NO_NODE)
        return COR_JSON_NO_NODE;
    opened = (is_old ? check->old.opened : check->object.opened)[node];
    return opened ? check->slots[opened - 1 + member]
                  : cor_check_open_slot(check, is_old, type, node, member);
}
uint32_t cor_check_find_entry(const struct cor_check *check, bool is_old, uint32_t node,
                              struct cor_str key);
bool cor_check_is_zero(const struct cor_check *check, bool is_old, const struct cor_type *type,
                       uint32_t node);
struct cor_str cor_check_node_text(struct cor_check *check, bool is_old, uint32_t node);
int64_t cor_check_node_int(const struct cor_check *check, bool is_old, uint32_t node);
/* As cor_place_length(). */
size_t cor_check_node_length(struct cor_check *check, bool is_old, uint32_t node);
bool cor_check_are_equal(struct cor_check *check, const struct cor_type *type, bool is_pointer,
                         uint32_t node, uint32_t old);
/* Closes structs that were opened after `mark` of them. */
void cor_check_release(struct cor_check *check, size_t mark);
/* Returns whether memory ran out, or an answer cannot hold more errors. More would be dropped, so
 * rules and iterations end. */
static inline bool cor_check_is_over(const struct cor_check *check)
{
    return check->errors->error < 0 || check->errors->n >= COR_STATUS_CAUSES_MAX;
}

#endif
