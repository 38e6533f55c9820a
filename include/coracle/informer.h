/* A cache of one collection that follows the server, and tells handlers of every change:
 * client-go's SharedIndexInformer. Informers come from coracle/informers.h, which also starts and
 * stops them.
 *
 * Reading is for any thread, does not wait for the writer, and costs no request. What is read is
 * shared: objects are never changed. Handlers may be added and removed at any time.
 * Owner: its cor_informers.  Thread: any; functions that wait, as coracle/runtime.h says. */
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
    /* Of what waits for the handler. Beyond it pending updates of one key are folded into one, and
     * on.on_behind is told; adds and deletions are never lost. The objects that a late handler
     * begins with do not count: they are the cache's, and one that leaves it stays in memory until
     * the handler has heard of all of them. 0: no bound, as client-go. */
    size_t bytes_max;
    struct cor_handler_fns on;
    /* What reports call it (COR_REFLECTOR_SLOW_HANDLER); copied. NULL: by its number among the
     * informer's handlers, in the order of adding. */
    const char *name;
    /* Updates without a change, for every object; at least a second. 0: the informer's. Without
     * effect on an informer whose own is 0; one that has been started is not made to resync more
     * often than it does. */
    uint64_t resync_ms;
    bool never_resync;
    /* The handler is not called any more, and `arg` may go. The last call, where the others run,
     * and never inside cor_handler_remove(); may be NULL. */
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

/* A handler that comes late hears an add for each object that is cached, then what follows: no gap
 * and no repetition. `opts` is copied. `ret_handler` (NULL: not wanted) is the informer's, until
 * cor_handler_remove() or the end of the set. 0, -COR_ENOMEM, -COR_ECANCELED (stopped already). */
COR_API int cor_informer_add_handler(struct cor_informer *inf, const struct cor_handler_opts *opts,
                                     struct cor_handler **ret_handler);

/* Also from inside the handler. What waits is dropped; a call that is under way goes on, and
 * on_removed comes after it. The handle is not valid after this. */
COR_API void cor_handler_remove(struct cor_handler *handler);

/* Has the handler returned from every add of the first list? */
COR_API bool cor_handler_has_synced(struct cor_handler *handler);

/* At any time; what is cached is indexed at once. All or nothing: -COR_EEXIST (a name is taken),
 * -COR_ETOOBIG (too many), -COR_ENOMEM, -COR_ECANCELED (stopped), or what a function returned. */
COR_API int cor_informer_add_indexes(struct cor_informer *inf, const struct cor_index_def *defs,
                                     size_t n);

/* Has the first list been cached? A controller's workers begin after that. */
COR_API bool cor_informer_has_synced(struct cor_informer *inf);

/* Wait for it: a list that fails is tried again until the time is up. Objects of the list that an
 * index refused are not in the cache, and on_report told of them. 0, -COR_ETIMEOUT, -COR_ECANCELED
 * (stopped), -COR_EINVAL (inside a callback of the runtime), -COR_ENOMEM, -COR_EBUSY (too many
 * wait). */
COR_API int cor_informer_wait_for_sync(struct cor_informer *inf, uint64_t timeout_ms);

/* Why the first list is not cached, at this moment: what a wait that timed out was for. 0: it is
 * cached. Else, with `reterr` (may be NULL): what the last list or watch failed with, as the server
 * or the connection told it (-COR_ENOTFOUND for a resource that the server does not have);
 * -COR_EBUSY (nothing has failed so far), -COR_EINVAL (not started), -COR_ECANCELED (stopped). */
COR_API int cor_informer_sync_error(struct cor_informer *inf, struct cor_status *reterr);

/* Waits until the cache has all up to a resourceVersion that a write returned: read your writes.
 * Errors as above; -COR_EINVAL also for no resourceVersion. When this very write was refused and is
 * not in the cache: what the index function or the transform returned, or -COR_EINVALID for an
 * object of another kind. With retry_on_error a write that an index refused is waited for. The last
 * 16 refused writes of an object are remembered, until the cache takes a change of it. Other
 * objects' refused writes do not matter. */
COR_API int cor_informer_wait_for_version(struct cor_informer *inf, struct cor_str version,
                                          uint64_t timeout_ms);

/* The same by a callback, once, on the runtime's I/O thread or inside the pump: `r` is 0,
 * -COR_ECANCELED, or what the write was refused with. Returns 0; 1 when it is so already, and then
 * nothing is called; or as above. */
COR_API int cor_informer_on_sync(struct cor_informer *inf, void (*fn)(void *arg, int r), void *arg);
COR_API int cor_informer_on_version(struct cor_informer *inf, struct cor_str version,
                                    void (*fn)(void *arg, int r), void *arg);

/* What the informer's reflector has done, and how many changes wait on their way into the cache. */
COR_API void cor_informer_stats(struct cor_informer *inf, struct cor_reflector_stats *ret);

#define COR_INFORMER_VERSION_MAX 128 /* with its NUL */

/* The resourceVersion that was listed or watched last; "" before the first list. The cache may be a
 * moment behind it: cor_informer_wait_for_version() waits for that. */
COR_API void cor_informer_last_version(struct cor_informer *inf, char to[COR_INFORMER_VERSION_MAX]);

/* Reading. What is given is one instant of the cache, by key. */
COR_API size_t cor_informer_len(struct cor_informer *inf);

/* The object with one reference; `ns` is empty for resources without namespaces. 0, -COR_ENOTFOUND
 * (with the Status that a server gives), -COR_ENOMEM. */
COR_API int cor_informer_get(struct cor_informer *inf, struct cor_str ns, struct cor_str name,
                             struct cor_object **ret_object, struct cor_status *reterr);

/* The same by a handler's or a work queue's key: "namespace/name", or the name. */
COR_API int cor_informer_get_by_key(struct cor_informer *inf, struct cor_str key,
                                    struct cor_object **ret_object);

/* Of a namespace (empty: all) and a selector (NULL: everything). 0, -COR_ENOMEM, or what `fn`
 * returned. */
COR_API int cor_informer_each(struct cor_informer *inf, struct cor_str ns,
                              const struct cor_label_selector *selector, cor_each_fn fn, void *arg);

/* Those with this value in an index. Also -COR_ENOTFOUND: no such index. */
COR_API int cor_informer_each_by_index(struct cor_informer *inf, struct cor_str index,
                                       struct cor_str value, cor_each_fn fn, void *arg);

/* Those that have a value of the index in common with `object`, which need not be cached; each
 * once. The index function runs on this thread; also what it returned. */
COR_API int cor_informer_each_sharing(struct cor_informer *inf, struct cor_str index,
                                      const struct cor_object *object, cor_each_fn fn, void *arg);

/* Each value that some object has in an index, once, in no stated order; none when there is no such
 * index. 0, -COR_ENOMEM, or what `fn` returned. */
COR_API int cor_informer_each_value(struct cor_informer *inf, struct cor_str index,
                                    int (*fn)(void *arg, struct cor_str value), void *arg);

#ifdef __cplusplus
}
#endif

#endif
