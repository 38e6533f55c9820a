/* A cache of one collection that follows the server and calls handlers for every change:
 * client-go's SharedIndexInformer. Informers are made, started and stopped by the functions of
 * coracle/informers.h.
 *
 * Any thread may read. A read does not wait for the writer, and sends no request. The objects that
 * are read are shared and never changed. Handlers may be added and removed at any time.
 * Owner: its cor_informers.  Thread: any; for functions that wait, the table in coracle/runtime.h
 * says where they may be called. */
#ifndef CORACLE_INFORMER_H
#define CORACLE_INFORMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "coracle/api.h"
#include "coracle/handler_fns.h"
#include "coracle/indexer.h"
#include "coracle/indexes.h"
#include "coracle/label_selector.h"
#include "coracle/object.h"
#include "coracle/reflector_stats.h"
#include "coracle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_handler;
struct cor_informer;

#define COR_HANDLER_BYTES_MAX (64u << 20)

/* Every handler's options begin with COR_HANDLER_DEFAULTS, or, in C++ before 20, which has no
 * designated initialisers, with cor_handler_defaults():
 *
 *   const struct cor_handler_opts opts = {COR_HANDLER_DEFAULTS, .on = {.on_add = on_add}};
 *
 * Options that begin with COR_HANDLER_OPTS instead have client-go's behaviour: nothing bounds what
 * waits. */
#define COR_HANDLER_DEFAULTS COR_HANDLER_OPTS, .bytes_max = COR_HANDLER_BYTES_MAX

struct cor_handler_opts {
    size_t size; /* of this struct: COR_HANDLER_OPTS sets it (coracle/api.h) */
    /* The most bytes of changes that may wait for the handler. Beyond this bound the updates of one
     * key that wait are folded into one, and on.on_behind is called; adds and deletions are never
     * lost. The objects that a late handler begins with do not count: the cache has them anyway. An
     * object that leaves the cache meanwhile stays in memory until the handler has been called for
     * all of them. 0: no bound, as client-go. */
    size_t bytes_max;
    struct cor_handler_fns on;
    /* The handler's name in reports (COR_REFLECTOR_SLOW_HANDLER); copied. NULL: its number among
     * the informer's handlers, in the order in which they were added. */
    const char *name;
    /* The period after which on_update is called for every object without a change; at least a
     * second. 0: the informer's period. It has no effect on an informer whose own period is 0, and
     * an informer that has been started does not resync more often because of a new handler. */
    uint64_t resync_ms;
    bool never_resync;
    /* The handler is not called any more, and its `arg` may be freed. This is the last call; it is
     * made where the other calls are made, and never inside cor_handler_remove(). May be NULL. */
    void (*on_removed)(void *arg);
};

#define COR_HANDLER_OPTS .size = sizeof(struct cor_handler_opts)

static inline struct cor_handler_opts cor_handler_defaults(void)
{
    struct cor_handler_opts opts;

    memset(&opts, 0, sizeof(opts));
    opts.size = sizeof(opts);
    opts.bytes_max = COR_HANDLER_BYTES_MAX;
    return opts;
}

/* Adds a handler. A handler that is added late gets an add for each object that is cached, and then
 * every change that follows, without a gap or a repetition. `opts` is copied. The informer owns
 * `ret_handler` (NULL: not wanted) until cor_handler_remove() or the end of the set. 0,
 * -COR_ENOMEM, -COR_ECANCELED (stopped already). */
COR_API int cor_informer_add_handler(struct cor_informer *inf, const struct cor_handler_opts *opts,
                                     struct cor_handler **ret_handler);

/* Removes the handler; the handler itself may call this. Changes that wait for the handler are
 * dropped. A call that is under way continues, and on_removed is called after it. The handle is not
 * valid after this. */
COR_API void cor_handler_remove(struct cor_handler *handler);

/* Has the handler returned from every add of the first list? */
COR_API bool cor_handler_has_synced(struct cor_handler *handler);

/* Adds indexes, at any time; the cached objects are indexed at once. Either all indexes are added
 * or none. 0, -COR_EEXIST (a name is taken), -COR_ETOOBIG (too many), -COR_ENOMEM, -COR_ECANCELED
 * (stopped), or what a function returned. */
COR_API int cor_informer_add_indexes(struct cor_informer *inf, const struct cor_index_def *defs,
                                     size_t n);

/* Has the first list been cached? A controller's workers begin after that. */
COR_API bool cor_informer_has_synced(struct cor_informer *inf);

/* Waits until the first list is cached; a list that fails is tried again until the time is up.
 * Objects of the list that an index function refused are not in the cache; on_report was called for
 * them. 0, -COR_ETIMEOUT, -COR_ECANCELED
 * (stopped), -COR_EINVAL (inside a callback of the runtime), -COR_ENOMEM, -COR_EBUSY (too many
 * wait). */
COR_API int cor_informer_wait_for_sync(struct cor_informer *inf, uint64_t timeout_ms);

/* Returns why the first list is not cached yet, for example after a wait that timed out. 0: it is
 * cached. Else, with `reterr` (may be NULL): the error of the last list or watch, from the server
 * or the connection (-COR_ENOTFOUND for a resource that the server does not have);
 * -COR_EBUSY (nothing has failed so far), -COR_EINVAL (not started), -COR_ECANCELED (stopped). */
COR_API int cor_informer_sync_error(struct cor_informer *inf, struct cor_status *reterr);

/* Waits until the cache has every change up to a resourceVersion that a write returned, so that a
 * program reads its own writes. Errors as above; -COR_EINVAL also when `version` is not a
 * resourceVersion. When exactly this write was refused and is not in the cache, the code is what
 * the index function or the transform returned, or -COR_EINVALID for an object of another kind.
 * With retry_on_error the wait continues while a write that an index function refused is tried
 * again. The last 16 refused writes of an object are remembered until the cache takes a change of
 * that object. Refused writes of other objects do not matter. */
COR_API int cor_informer_wait_for_version(struct cor_informer *inf, struct cor_str version,
                                          uint64_t timeout_ms);

/* The same two waits with a callback, which is called once, on the runtime's I/O thread or inside
 * the pump: `r` is 0, -COR_ECANCELED, or the code that the write was refused with. They return 0; 1
 * when there is nothing to wait for, and then `fn` is not called; or an error as above. */
COR_API int cor_informer_on_sync(struct cor_informer *inf, void (*fn)(void *arg, int r), void *arg);
COR_API int cor_informer_on_version(struct cor_informer *inf, struct cor_str version,
                                    void (*fn)(void *arg, int r), void *arg);

/* What the informer's reflector has done, and how many changes wait on their way into the cache. */
COR_API void cor_informer_stats(struct cor_informer *inf, struct cor_reflector_stats *ret);

#define COR_INFORMER_VERSION_MAX 128 /* with its NUL */

/* Copies the resourceVersion that was listed or watched last; "" before the first list. The cache
 * may be a moment behind this version; cor_informer_wait_for_version() waits until it is not. */
COR_API void cor_informer_last_version(struct cor_informer *inf, char to[COR_INFORMER_VERSION_MAX]);

/* Reading. Each call sees the cache at one instant; objects come in the order of their keys. */
COR_API size_t cor_informer_len(struct cor_informer *inf);

/* Returns the object with a reference for the caller; `ns` is empty for resources without
 * namespaces. 0, -COR_ENOTFOUND
 * (with the Status that a server gives), -COR_ENOMEM. */
COR_API int cor_informer_get(struct cor_informer *inf, struct cor_str ns, struct cor_str name,
                             struct cor_object **ret_object, struct cor_status *reterr);

/* The same by the key that handlers and work queues have: "namespace/name", or the name alone. */
COR_API int cor_informer_get_by_key(struct cor_informer *inf, struct cor_str key,
                                    struct cor_object **ret_object);

/* Calls `fn` for each object of a namespace (empty: all namespaces) that the selector matches
 * (NULL: all objects). 0, -COR_ENOMEM, or what `fn` returned. */
COR_API int cor_informer_each(struct cor_informer *inf, struct cor_str ns,
                              const struct cor_label_selector *selector, cor_each_fn fn, void *arg);

/* The same for each object that has this value in an index. Also -COR_ENOTFOUND: there is no such
 * index. */
COR_API int cor_informer_each_by_index(struct cor_informer *inf, struct cor_str index,
                                       struct cor_str value, cor_each_fn fn, void *arg);

/* Returns the one object that has this value in an index, with a reference. 0, -COR_ENOTFOUND (no
 * object has it), -COR_ECONFLICT (several objects have it), -COR_EINVAL (there is no such index),
 * -COR_ENOMEM. */
COR_API int cor_informer_get_by_index(struct cor_informer *inf, struct cor_str index,
                                      struct cor_str value, struct cor_object **ret_object);

/* The same for each object that has a value of the index in common with `object`, which need not be
 * cached; once for each. The index function runs on this thread; its error is returned too. */
COR_API int cor_informer_each_sharing(struct cor_informer *inf, struct cor_str index,
                                      const struct cor_object *object, cor_each_fn fn, void *arg);

/* Calls `fn` once for each value that an object has in the index, in no particular order; never
 * when there is no such index. 0, -COR_ENOMEM, or what `fn` returned. */
COR_API int cor_informer_each_value(struct cor_informer *inf, struct cor_str index,
                                    int (*fn)(void *arg, struct cor_str value), void *arg);

#ifdef __cplusplus
}
#endif

#endif
