/* A cache of one collection, kept by one reflector, for any number of handlers: client-go's
 * SharedIndexInformer without its threads. The driver does the I/O (over HTTP, over an engine, in a
 * script). When on_work is called, the informer's owner calls cor_shared_informer_step(); handlers
 * run there, or where their listener is drained.
 * See docs/internals/shared_informer.md.
 *
 * Thread: start, stop, the reflector's inputs and step belong to one thread at a time, the
 * informer's; everything else may be called from any.  Owner: the factory or program. */
#ifndef COR_CACHE_SHARED_INFORMER_H
#define COR_CACHE_SHARED_INFORMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cache/informers/controller.h"
#include "cache/informers/mutation_detector.h"
#include "cache/informers/processor_listener.h"
#include "cache/queues/cache_waiters.h"
#include "cache/queues/delta_fifo.h"
#include "cache/reflector/reflector.h"
#include "cache/store/indexer.h"

struct cor_shared_informer;
struct cor_registration;

/* A handler that asks for a shorter resync period gets this one. */
#define COR_RESYNC_MIN_MS 1000

/* reflector.resync_ms is the handlers' default period. 0, -COR_ENOMEM, or as
 * cor_indexer_add_indexes(). */
int cor_shared_informer_new(const struct cor_cache_controller_opts *opts,
                            struct cor_shared_informer **ret_informer);

/* After stop, or before start; no handler may be running. Returns NULL. */
struct cor_shared_informer *cor_shared_informer_free(struct cor_shared_informer *inf);
COR_DEFINE_CLEANUP(struct cor_shared_informer, cor_shared_informer_free)

/* Begins to list and watch. Later calls do nothing. */
void cor_shared_informer_start(struct cor_shared_informer *inf);

/* Stops the informer for good: no handler is called any more, and the cache stays readable. */
void cor_shared_informer_stop(struct cor_shared_informer *inf);

/* For the driver's inputs. */
struct cor_reflector *cor_shared_informer_reflector(struct cor_shared_informer *inf);

/* Applies at most `max` pending changes to the cache and gives each handler that is not drained
 * elsewhere a turn of at most `max` calls (cache/informers/processor_listener.h), one after the
 * other. It ends after COR_TURN_MS or the first long call, and the next step goes on with the next
 * handler. True while there is more. */
bool cor_shared_informer_step(struct cor_shared_informer *inf, size_t max);

/* Are there changes that an index refused and that the next step tries again (retry_on_error)? */
bool cor_shared_informer_has_retries(struct cor_shared_informer *inf);

/* As cor_cache_controller_stats(); on the informer's thread. */
void cor_shared_informer_stats(struct cor_shared_informer *inf, struct cor_reflector_stats *ret);

/* Live; for reading, and for adding indexes (see cor_shared_informer_add_indexes()). */
struct cor_indexer *cor_shared_informer_indexer(struct cor_shared_informer *inf);

/* As cor_indexer_add_indexes(); -COR_ECANCELED once stopped. */
int cor_shared_informer_add_indexes(struct cor_shared_informer *inf,
                                    const struct cor_index_def *defs, size_t n);

/* Checks whether cached objects were changed; a timer of the owner's calls this every
 * COR_MUTATION_PERIOD_MS. It does nothing when the detector is off. */
void cor_shared_informer_check_mutations(struct cor_shared_informer *inf);

/* Has the first list been applied to the cache? */
bool cor_shared_informer_has_synced(struct cor_shared_informer *inf);

/* Call `fn` when the first list, or everything up to a resourceVersion that a write returned, is in
 * the cache; handlers may not have been called for it yet. Results and errors as
 * cor_delta_fifo_wait_synced() and _wait_rv(); the id is for cor_shared_informer_cancel_wait(). */
int cor_shared_informer_on_synced(struct cor_shared_informer *inf, cor_cache_wait_fn fn, void *arg,
                                  uint64_t *ret_id);
int cor_shared_informer_on_rv(struct cor_shared_informer *inf, struct cor_str rv,
                              cor_cache_wait_fn fn, void *arg, uint64_t *ret_id);
bool cor_shared_informer_cancel_wait(struct cor_shared_informer *inf, uint64_t id);

/* The same for a thread that can wait; never the informer's own. 0, -COR_ETIMEOUT, -COR_ECANCELED
 * (stopped), -COR_ENOMEM, -COR_EBUSY, -COR_EINVAL. */
int cor_shared_informer_wait_synced(struct cor_shared_informer *inf, uint64_t timeout_ms);
int cor_shared_informer_wait_rv(struct cor_shared_informer *inf, struct cor_str rv,
                                uint64_t timeout_ms);

/* The last revision that was listed or watched, copied to `to`; "" before the first list. */
void cor_shared_informer_last_rv(struct cor_shared_informer *inf,
                                 char to[COR_CACHE_WAITER_RV_MAX + 1]);
bool cor_shared_informer_is_started(struct cor_shared_informer *inf); /* also when it was stopped */
bool cor_shared_informer_is_stopped(struct cor_shared_informer *inf);

#define COR_RESYNC_DEFAULT UINT64_MAX

/* Begin with cor_registration_defaults(). */
struct cor_registration_opts {
    struct cor_handler_fns handler;
    uint64_t resync_ms; /* COR_RESYNC_DEFAULT: the informer's; 0: never */
    size_t bytes_max;   /* of what waits for the handler; 0: no bound, as client-go */
    /* NULL: step runs the handler. Else on_ready is called, under the rules of on_work, when there
     * is something to drain, and the thread that it wakes calls cor_registration_turn(). */
    void (*on_ready)(void *arg);
    /* A call of the handler in step took `ms`, which is COR_SLOW_HANDLER_MS or more. Called on the
     * informer's thread, without a lock held; may be NULL. */
    void (*on_slow)(void *arg, uint64_t ms);
    void *arg;
    bool is_held; /* step does not run the handler before cor_registration_release() */
};

static inline struct cor_registration_opts cor_registration_defaults(void)
{
    return (struct cor_registration_opts){.resync_ms = COR_RESYNC_DEFAULT,
                                          .bytes_max = COR_LISTENER_BYTES_MAX};
}

/* Adds a handler, at any time before stop. A handler that is added after start gets an add for each
 * cached object, and then every change that follows, without a gap or a repetition. A handler that
 * is added twice is called twice. 0, -COR_ENOMEM, -COR_ECANCELED (stopped already). */
int cor_shared_informer_add_handler(struct cor_shared_informer *inf,
                                    const struct cor_registration_opts *opts,
                                    struct cor_registration **ret_registration);

/* Removes a handler. Changes that wait for it are dropped; a call on another thread may still be
 * running when this returns. The handle is not valid after this. */
void cor_shared_informer_remove_handler(struct cor_shared_informer *inf,
                                        struct cor_registration *registration);

/* For a registration that was made with is_held: from now on step runs its handler, which may also
 * remove itself. Called once. */
void cor_registration_release(struct cor_registration *registration);

/* Ends delivery before the registration is removed elsewhere: changes that wait are dropped, and no
 * call begins any more; a call under way continues. */
void cor_registration_close(struct cor_registration *registration);

/* Has the handler returned from every add of the first list? */
bool cor_registration_has_synced(struct cor_registration *registration);

/* Runs the handler for one turn, as cor_processor_listener_turn() does; one thread at a time. */
void cor_registration_turn(struct cor_registration *registration, struct cor_turn *turn);

#endif
