/* The two sides of a reflector: the driver, which does its I/O and its timer (over a storage
 * engine, over HTTP), and the store, which it keeps equal to what was listed and watched (the watch
 * cache, the informer's queue). Each is embedded as the first part of its implementation.
 *
 * All of these are called from within the reflector's inputs, on its thread. None may call an input
 * before it returns, except cor_reflector_stop(); arguments are borrowed for the call. */
#ifndef COR_CACHE_REFLECTOR_OPS_H
#define COR_CACHE_REFLECTOR_OPS_H

#include <stdint.h>

#include "base/str.h"
#include "cache/reflector/reflector_event.h"
#include "meta/object/object.h"
#include "meta/select/list_options.h"
#include "meta/status/status.h"

/* For wake_at: no time at all. */
#define COR_REFLECTOR_NEVER UINT64_MAX

struct cor_reflector_driver {
    const struct cor_reflector_driver_ops *ops;
};

/* At most one request, a list or a watch, is under way at a time. */
struct cor_reflector_driver_ops {
    /* Answered by list_page (in one part or many) or list_failed. */
    void (*list)(struct cor_reflector_driver *driver, const struct cor_list_options *opts);
    /* Answered by watch_opened, then watch_event as they come, then watch_ended; or by watch_ended
     * alone. The server is asked to end the stream after `timeout_s`. */
    void (*watch)(struct cor_reflector_driver *driver, const struct cor_list_options *opts,
                  uint32_t timeout_s);
    /* The request under way is no longer wanted: no answer to it may be handed in any more. Another
     * one may follow at once. */
    void (*cancel)(struct cor_reflector_driver *driver);
    /* Call tick at this time, or later; this replaces the time given before. */
    void (*wake_at)(struct cor_reflector_driver *driver, uint64_t at_ms);
};

struct cor_reflector_store {
    const struct cor_reflector_store_ops *ops;
};

/* Functions that return int: 0, or a negative COR_E… with `reterr` filled. The consequences of a
 * failure are in docs/internals/reflector.md. `at` is where the store is after the call, `key` what
 * the driver calls the object (empty: it has no name for it but the object's own). */
struct cor_reflector_store_ops {
    /* Events of a watch. An add may be of a key that is there, an update of one that is not; the
     * object of a del is NULL when the driver told its key alone. */
    int (*add)(struct cor_reflector_store *store, struct cor_str key, struct cor_object *object,
               struct cor_reflector_at at, struct cor_status *reterr);
    int (*update)(struct cor_reflector_store *store, struct cor_str key, struct cor_object *object,
                  struct cor_reflector_at at, struct cor_status *reterr);
    int (*del)(struct cor_reflector_store *store, struct cor_str key, struct cor_object *object,
               struct cor_reflector_at at, struct cor_status *reterr);
    /* An event with this object was skipped because of `err`: the store will not get it, and its
     * resourceVersion may be passed. This, `bookmark`, `replace_abort` and `resync` may be NULL:
     * then there is nothing to do. */
    void (*skip)(struct cor_reflector_store *store, struct cor_str key, struct cor_object *object,
                 int err);
    /* Nothing changed up to `at`. */
    void (*bookmark)(struct cor_reflector_store *store, struct cor_reflector_at at);

    /* A new whole content: begin, then each object once in the order of the list, then commit or
     * abort. Until commit the store shows its former content, and a commit that fails leaves that
     * in place: no reader sees a partial list. No other calls come between begin and the end.
     * Neither a failed begin nor a failed commit is followed by an abort. */
    int (*replace_begin)(struct cor_reflector_store *store, struct cor_status *reterr);
    int (*replace_add)(struct cor_reflector_store *store, struct cor_str key,
                       struct cor_object *object, struct cor_status *reterr);
    int (*replace_commit)(struct cor_reflector_store *store, struct cor_reflector_at at,
                          struct cor_status *reterr);
    void (*replace_abort)(struct cor_reflector_store *store);

    /* The resync period has passed. */
    int (*resync)(struct cor_reflector_store *store, struct cor_status *reterr);
};

#endif
