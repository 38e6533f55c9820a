/* One resource's objects, above any engine: what Kubernetes calls storage.Interface.
 *
 * Every operation is asynchronous. It returns a negative code with `reterr_status`, and its
 * callback is never called; or it returns 0, and its callback is called exactly once, later, on the
 * loop. Keys are logical: `/pods/default/web`; the store puts the path prefix in front. Errors are
 * upstream's storage errors (meta/status/storage_error.h); the verbs turn them into the API's.
 * Thread: the loop's.  Owner: its maker, who frees it when no operation and no watch is left. */
#ifndef COR_STORAGE_STORE_H
#define COR_STORAGE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "meta/object/object.h"
#include "meta/status/revision.h"
#include "meta/status/status.h"
#include "storage/store/lease_manager.h"
#include "storage/store/transformer.h"
#include "storage/store/value_codec.h"

struct cor_clock;
struct cor_engine;
struct cor_loop;
struct cor_store;

struct cor_store_opts {
    struct cor_engine *engine;
    struct cor_loop *loop;
    const char *path_prefix;     /* NULL: the default; missing slashes at its ends are added */
    const char *resource_prefix; /* "/pods": a slash and more */
    struct cor_str api_version;  /* of bookmark objects; both empty: no progress bookmarks */
    struct cor_str kind;
    const struct cor_transformer *transformer; /* NULL: identity */
    struct cor_value_codec *take_codec;        /* NULL: cor_json_codec() */
    const struct cor_clock *clock;             /* for leases; NULL: the real one */
    struct cor_lease_limits lease_limits;
    _Atomic uint64_t *decode_errors; /* counts values that could not be decoded; NULL: not counted.
                                      * Shared by the stores of a resource; outlives them */
};

/* 0, -COR_EINVAL (resource_prefix), -COR_ENOMEM. */
int cor_store_new(const struct cor_store_opts *opts, struct cor_store **ret_store,
                  struct cor_status *reterr_status);

/* Returns NULL; NULL is fine. No operation and no watch may be open. */
struct cor_store *cor_store_free(struct cor_store *store);

/* Appends the key of the engine that the logical `key` of an object stands for, as messages name
 * it. 0, -COR_ENOMEM, -COR_EINVAL (cor_key_prepare()). Thread: any. */
int cor_store_add_key(const struct cor_store *store, struct cor_str key, struct cor_buf *out);

/* How an operation on one object ended. */
struct cor_store_reply {
    int err;                   /* 0 or negative COR_E… */
    struct cor_status *status; /* err < 0: why; may be moved out. NULL otherwise */
    struct cor_object *object; /* served form, borrowed; NULL on failure, see get and delete */
    bool was_stopped;          /* by cor_store_change_stop(). err is -COR_ECANCELED then; it is that
                                * too when the engine closes */
};
typedef void (*cor_store_cb)(void *arg, const struct cor_store_reply *reply);

/* Creates `object` (stored form) under a key that must be absent. `ttl_s` 0: it does not expire.
 * Returned errors: -COR_EINVAL (key; the object has a resourceVersion), -COR_ENOMEM; in the reply:
 * -COR_EEXIST, the engine's. */
int cor_store_create(struct cor_store *store, struct cor_str key, struct cor_object *object,
                     int64_t ttl_s, cor_store_cb on_done, void *arg,
                     struct cor_status *reterr_status);

struct cor_store_get_opts {
    struct cor_str resource_version; /* not older than; "" and "0": any */
    bool ignore_not_found;           /* success without an object instead of -COR_ENOTFOUND */
};

/* Reads one object, linearizably. Errors: -COR_EINVAL (key, resource_version), -COR_ENOTFOUND,
 * -COR_EFUTURE, -COR_EINTERNAL (unreadable: the message names the key), the engine's. */
int cor_store_get(struct cor_store *store, struct cor_str key,
                  const struct cor_store_get_opts *opts, cor_store_cb on_done, void *arg,
                  struct cor_status *reterr_status);

/* A field with p == NULL is not checked. */
struct cor_preconditions {
    struct cor_str uid;
    struct cor_str resource_version;
};

/* A guaranteed update or a delete that is under way. Its step gets the present object, decides, and
 * calls exactly one of the functions below, before it returns or any time later on the loop. */
struct cor_store_change;
typedef void (*cor_store_step)(void *arg, struct cor_store_change *change,
                               struct cor_object *current);

/* Ends the step of an update: writes `take_object`. Its stored form counts; a resourceVersion is
 * ignored. */
void cor_store_change_write(struct cor_store_change *change, struct cor_object *take_object,
                            int64_t ttl_s);
/* Ends the step of a delete: deletes the object. */
void cor_store_change_accept(struct cor_store_change *change);
/* Ends either step: the operation fails with `err` and `status`, which is moved out of. When the
 * step judged a suggestion that turns out not to be the present state, it runs once more instead.
 */
void cor_store_change_refuse(struct cor_store_change *change, int err, struct cor_status *status);
/* Ends either step for a reason of the caller's own: nothing is written, and `was_stopped` is set
 * in the reply. It may run once more, as above. */
void cor_store_change_stop(struct cor_store_change *change);

struct cor_store_update_opts {
    bool ignore_not_found; /* the step gets NULL for an absent key, and what it writes is created */
    struct cor_preconditions preconditions;
    struct cor_object *suggestion; /* the object as a cache has it, served form; NULL: none */
    uint64_t deadline_ms;          /* on cor_loop_now_ms()'s clock; 0: none */
    cor_store_step step;
    cor_store_cb on_done;
    void *arg; /* of both */
};

/* Runs the step on the present object and writes what the step gives. When another write came
 * between, it runs the step again on the new state, until the deadline. Writes nothing when the
 * stored bytes would stay the same.
 * Errors: -COR_EINVAL (key), -COR_ENOTFOUND, -COR_EPRECONDITION, -COR_ETIMEOUT, -COR_EINTERNAL, the
 * step's, the engine's. */
int cor_store_update(struct cor_store *store, struct cor_str key,
                     const struct cor_store_update_opts *opts, struct cor_status *reterr_status);

struct cor_store_delete_opts {
    struct cor_preconditions preconditions;
    struct cor_object *suggestion;
    bool unreadable; /* deletes only an object that cannot be decoded: there are no preconditions,
                      * the step gets NULL, and the reply has no object */
    uint64_t deadline_ms;
    cor_store_step step; /* NULL: there is nothing to validate */
    cor_store_cb on_done;
    void *arg;
};

/* The reply's object is the last state at the revision of the deletion. Errors as for an update. */
int cor_store_delete(struct cor_store *store, struct cor_str key,
                     const struct cor_store_delete_opts *opts, struct cor_status *reterr_status);

/* How many objects a resource has, and how large they are. */
struct cor_store_stats {
    int err;
    struct cor_status *status; /* as in a reply */
    cor_rev rev;               /* the store's current revision */
    uint64_t count;            /* of objects; exact */
    uint64_t average_bytes;    /* of a stored value, from a sample; 0 without objects */
};
typedef void (*cor_store_stats_cb)(void *arg, const struct cor_store_stats *stats);

/* The store's current revision; `count` and `average_bytes` are 0. */
int cor_store_revision(struct cor_store *store, cor_store_stats_cb on_done, void *arg,
                       struct cor_status *reterr_status);
/* Also the number of objects whose key begins with `key` and a slash. */
int cor_store_count(struct cor_store *store, struct cor_str key, cor_store_stats_cb on_done,
                    void *arg, struct cor_status *reterr_status);
/* Fills all fields, for the whole resource. */
int cor_store_stats(struct cor_store *store, cor_store_stats_cb on_done, void *arg,
                    struct cor_status *reterr_status);

#endif
