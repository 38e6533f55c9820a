/* The managers of an object and what each of them owns: metadata.managedFields, and how an update
 * and an apply change it. Pure: the caller brings the objects and stores the result.
 *
 * All texts of an entry are raw JSON text. Entries, sets and texts borrow from the objects and from
 * the arena of the request, which live as long as the managers are used. All work is charged to the
 * budget of the arena; when it is used up all functions fail: -COR_ETOOBIG, or COR_WORK_YIELD on a
 * loop (base/work.h).
 * Thread: one at a time for a request.  Owner: the caller. */
#ifndef COR_SCHEMA_APPLY_FIELD_MANAGERS_H
#define COR_SCHEMA_APPLY_FIELD_MANAGERS_H

#include "base/buf.h"
#include "schema/apply/typed.h"

/* Entries of updates beyond this number are joined (contract: ten). */
#define COR_MANAGERS_UPDATES_MAX 10

struct cor_field_manager {
    struct cor_str name, api_version, subresource, time; /* empty: it has none */
    bool is_apply;
    struct cor_fieldset set;
};

/* One entry for each name, operation and subresource; updates also for each version. */
struct cor_field_managers {
    struct cor_field_manager *v;
    size_t n, cap;
};

/* Reads the list managedFields. An entry that names the same manager as an earlier one replaces it.
 * 0; -COR_EINVAL: upstream cannot decode it, and `words` (may be NULL) says why; -COR_ENOMEM,
 * -COR_ETOOBIG. */
int cor_field_managers_read(struct cor_arena *arena, struct cor_str list,
                            struct cor_field_managers *ret, struct cor_buf *words);

/* Appends the list in upstream's order; the members of an entry are in byte order. `null` when
 * there is no entry. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_field_managers_write(struct cor_field_managers *managers, struct cor_buf *out);

/* Is the list one by which a client resets managedFields: [] or [{}]? */
bool cor_field_managers_is_reset(struct cor_str list);

/* The versions in which an object may be compared. */
struct cor_apply_versions {
    void *arg;
    /* False: the version is not known any more. */
    bool (*place)(void *arg, struct cor_str version, struct cor_apply_place *ret_place);
    /* The fields that the endpoint resets in this version: nobody who writes through it owns them.
     */
    struct cor_fieldset (*reset_fields)(void *arg, struct cor_str version);
    /* Appends the object in another version, canonical. 0 or a negative error. */
    int (*convert)(void *arg, struct cor_str object, struct cor_str from, struct cor_str to,
                   struct cor_buf *out);
    /* Entries of an unknown version, or of one that the live object does not conform to, are an
     * error (-COR_EINVALID); otherwise entries of unknown versions are dropped, and the others do
     * not occur. */
    bool is_custom;
};

struct cor_apply_request {
    struct cor_arena *arena;
    const struct cor_apply_versions *versions;
    struct cor_str manager, api_version, subresource;
    struct cor_str now; /* RFC 3339 in UTC, whole seconds */
    /* Of an apply: */
    bool force;                  /* take fields from their managers */
    struct cor_str subject;      /* what messages call the configuration; empty: nothing */
    struct cor_str live_subject; /* the same of the live object */
    /* The object that the applier has applied before, canonical; empty: none. Fields of the live
     * object that still have its values are taken without a conflict. */
    struct cor_str last_applied;
    /* Each conflict in turn: `who` is "conflict with "a" using v1". NULL: the message is
     * sufficient. 0 or a negative error, which ends the apply. */
    int (*on_conflict)(void *arg, struct cor_str who, struct cor_str path);
    void *arg; /* of on_conflict */
};

/* An update (create, PUT, patch) has made `after` of `before`, both in the version of the request
 * and without managedFields. On success the managers are those of `after`. 0, -COR_EINVALID (an
 * object is not of its type), -COR_ENOMEM, -COR_ETOOBIG, what convert() returned; the managers must
 * not be used then: upstream clears them. */
int cor_field_managers_update(struct cor_field_managers *managers,
                              const struct cor_apply_request *request, struct cor_str before,
                              struct cor_str after);

/* The same for an update that moves no field, without reading sets: `list` is the managedFields of
 * `before`. 0: fields may move, and cor_field_managers_update() is to be called. COR_MANAGERS_SAME:
 * the list stays. COR_MANAGERS_TIMED: the next list was appended, which differs by the time of the
 * requester alone. Errors as above. */
enum { COR_MANAGERS_SAME = 1, COR_MANAGERS_TIMED = 2 };
int cor_field_managers_keep(const struct cor_apply_request *request, struct cor_str list,
                            struct cor_str before, struct cor_str after, struct cor_buf *out);

/* The managers of a new object, as cor_field_managers_update() from no managers on would make them,
 * without building sets. 0: the object is unusual, and that function is to be called.
 * COR_MANAGERS_MADE: managedFields were appended. COR_MANAGERS_NONE: the creator owns nothing.
 * Errors as above. */
enum { COR_MANAGERS_MADE = 1, COR_MANAGERS_NONE = 2 };
int cor_field_managers_create(const struct cor_apply_request *request, struct cor_str zero,
                              struct cor_str object, struct cor_buf *out);

/* Applies a configuration to the live object and appends the result to `out`, in the version of the
 * request, before defaulting. `zero` is the empty object of the kind: when there are no managers,
 * what `live` has beyond it belongs to before-first-apply.
 * 0; 1: no value changed, and `out` is the live object; -COR_ECONFLICT: `words` says with whom;
 * -COR_EINVALID: `words` says what is wrong with the configuration or the live object; other errors
 * as above. */
int cor_field_managers_apply(struct cor_field_managers *managers,
                             const struct cor_apply_request *request, struct cor_str zero,
                             struct cor_str live, struct cor_str config, struct cor_buf *out,
                             struct cor_buf *words);

#endif
