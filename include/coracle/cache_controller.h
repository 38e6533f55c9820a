/* A reflector, a queue and the processing of what the queue gives, on a runtime: client-go's
 * cache.New and its Controller. The reflector fills the queue from a list-watch; what comes out of
 * it is processed on the runtime's I/O thread, or inside the pump, one piece after the other. An
 * informer is such a controller with a cache as its consumer; this is for programs that have
 * another consumer, or a queue of their own.
 *
 *   const struct cor_cache_controller_run_opts opts = {
 *       COR_CACHE_CONTROLLER_RUN_OPTS, .fifo = newest, .process_object = show};
 *   cor_cache_controller_run_new(runtime, &opts, list_watch, &run);
 *
 * The queue may have other writers, too: they, or the queue's on_ready, call
 * cor_cache_controller_run_wake() when they have written. Nobody else should pop from it.
 *
 * Owner: the maker. Runtime, list-watch and queue outlive it.  Thread: any. */
#ifndef CORACLE_CACHE_CONTROLLER_H
#define CORACLE_CACHE_CONTROLLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/delta_fifo.h"
#include "coracle/fifo.h"
#include "coracle/list_watch.h"
#include "coracle/reflector.h"
#include "coracle/reflector_stats.h"
#include "coracle/runtime.h"
#include "coracle/store.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_cache_controller_run;

/* Returned by try_pop of a queue: what was processed is put back and waits again. */
#define COR_CACHE_QUEUE_PUT_BACK 1

/* A queue of the program's own. All of them are needed. `try_pop` and `close` are called on the I/O
 * thread or inside the pump, the others on any thread. */
struct cor_cache_queue_fns {
    size_t size; /* of this struct: COR_CACHE_QUEUE_FNS sets it (coracle/api.h) */
    struct cor_reflector_store *store; /* where the reflector writes; it must stay valid */
    /* Takes the oldest piece off the queue and processes it. -COR_EBUSY: nothing waits.
     * -COR_ECANCELED: the queue is closed and empty. -COR_ENOMEM: the piece still waits, and is
     * tried again a second later, as is one after COR_CACHE_QUEUE_PUT_BACK when no other waits.
     * Anything else: it was processed, or refused and dropped. */
    int (*try_pop)(void *arg);
    size_t (*len)(void *arg); /* pieces that wait */
    bool (*has_synced)(void *arg);
    void (*close)(void *arg); /* the controller has ended */
    void *arg;
};

#define COR_CACHE_QUEUE_FNS .size = sizeof(struct cor_cache_queue_fns)

struct cor_cache_controller_run_opts {
    size_t size; /* of this struct: COR_CACHE_CONTROLLER_RUN_OPTS sets it (coracle/api.h) */
    /* What the reflector is told: the expected type, the page size, resync and its condition, ...
     * Borrowed for the call; NULL: nothing. */
    const struct cor_reflector_run_opts *reflector;
    /* One of these three: */
    struct cor_delta_fifo *delta_fifo;
    struct cor_fifo *fifo;
    const struct cor_cache_queue_fns *queue; /* borrowed for the call */
    /* The consumer of a delta FIFO, or of a FIFO: called with the queue's lock held, and what it
     * returns is as coracle/delta_fifo.h and coracle/fifo.h say. A piece that is put back is tried
     * again when all others were, or a second later when only such pieces wait. */
    cor_delta_fn process_deltas;
    cor_fifo_fn process_object;
    void *arg; /* of these two */
};

#define COR_CACHE_CONTROLLER_RUN_OPTS .size = sizeof(struct cor_cache_controller_run_opts)

/* Makes a controller and starts it. 0, -COR_ENOMEM, -COR_EINVAL (no queue, or several; its consumer
 * or one of its functions is missing; the list-watch is of another runtime's client, or in use;
 * coracle/api.h), -COR_ENOTSUP. */
COR_API int cor_cache_controller_run_new(struct cor_runtime *runtime,
                                         const struct cor_cache_controller_run_opts *opts,
                                         struct cor_list_watch *lw,
                                         struct cor_cache_controller_run **ret_run);

/* Stops it, closes the queue, and waits for that; nothing is called afterwards, and what waits in
 * the queue stays there. Not from inside a callback. NULL is fine; returns NULL. */
COR_API struct cor_cache_controller_run *
cor_cache_controller_run_free(struct cor_cache_controller_run *run);

/* Another writer than the reflector has written into the queue. Locks may be held. */
COR_API void cor_cache_controller_run_wake(struct cor_cache_controller_run *run);

/* Was the first list processed? The queue decides. */
COR_API bool cor_cache_controller_run_has_synced(struct cor_cache_controller_run *run);

/* Waits until that is so. 0, -COR_ETIMEOUT, -COR_EINVAL (inside a callback, or in a forked child).
 * The controller must outlive the call. */
COR_API int cor_cache_controller_run_wait_for_sync(struct cor_cache_controller_run *run,
                                                   uint64_t timeout_ms);

/* The resourceVersion that list and watch have brought the queue to; "" before the first list. */
COR_API void cor_cache_controller_run_last_version(struct cor_cache_controller_run *run,
                                                   char to[COR_REFLECTOR_VERSION_MAX]);

COR_API void cor_cache_controller_run_stats(struct cor_cache_controller_run *run,
                                            struct cor_reflector_stats *ret);

#ifdef __cplusplus
}
#endif

#endif
