/* A reflector, its queue, and the processing of queued changes: client-go's Controller without its
 * threads. The driver passes its answers to the reflector, which queues changes; the queue calls
 * `on_work`, and the owner then calls cor_cache_controller_step().
 *
 * Thread: start, stop, the reflector's inputs and step belong to one thread at a time, the
 * controller's; everything else may be called from any.  Owner: the informer or program. */
#ifndef COR_CACHE_CONTROLLER_H
#define COR_CACHE_CONTROLLER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cache/informers/mutation_detector.h"
#include "cache/queues/delta_fifo.h"
#include "cache/reflector/reflector.h"
#include "cache/store/indexer.h"

struct cor_cache_controller;

/* What an informer is made of. The program's options become this struct, once, and the informer
 * passes it on to its controller; each keeps only the members that it uses. */
struct cor_cache_controller_opts {
    struct cor_reflector_opts reflector; /* without should_resync, which is the consumer's; no
                                            `rand`: the kernel's */
    struct cor_reflector_driver *driver; /* must stay valid */
    const struct cor_clock *clock;       /* must stay valid; NULL: the machine's */
    bool by_key;                         /* as cor_delta_fifo_opts */
    /* Changes that the consumer refuses are put back unless newer ones of their key wait, and each
     * step tries them once. False: they are dropped, as client-go does. */
    bool retry_on_error;

    /* Each may be NULL. */
    cor_transform_fn transform;
    /* There is something for step to do. Any thread; it may wake another and must not call the
     * controller: locks may be held. */
    void (*on_work)(void *arg);
    /* Debugging: turns the mutation detector on (cache/informers/mutation_detector.h). Called with
     * locks held: it must not call the informer. NULL: off. Only a shared informer has one. */
    cor_mutation_fn on_mutation;
    void *arg; /* of these three */

    /* The indexes of the informer's cache, as cor_indexer_new() takes them. A bare controller has
     * no cache, and sets none. */
    const struct cor_index_def *indexes;
    size_t nindexes;
};

/* Who consumes the changes: the informer above the controller. Everything must stay valid. */
struct cor_delta_consumer {
    struct cor_indexer *known;        /* as cor_delta_fifo_opts */
    cor_delta_fn process;             /* under the queue's lock: it must not call the controller */
    bool (*should_resync)(void *arg); /* on the controller's thread; NULL: always */
    void *arg;
};

/* 0 or -COR_ENOMEM. */
int cor_cache_controller_new(const struct cor_cache_controller_opts *opts,
                             const struct cor_delta_consumer *consumer,
                             struct cor_cache_controller **ret_controller);

/* After stop, or before start. Returns NULL. */
struct cor_cache_controller *cor_cache_controller_free(struct cor_cache_controller *c);
COR_DEFINE_CLEANUP(struct cor_cache_controller, cor_cache_controller_free)

/* Begins to list and watch, with this resync period instead of the options'. Later calls do
 * nothing. */
void cor_cache_controller_start(struct cor_cache_controller *c, uint64_t resync_ms);

/* Stops the controller for good: queued changes are not processed any more, and waits end with
 * -COR_ECANCELED. */
void cor_cache_controller_stop(struct cor_cache_controller *c);

/* For the driver's inputs. */
struct cor_reflector *cor_cache_controller_reflector(struct cor_cache_controller *c);

/* For waiting and for `last_rv`; see cache/queues/delta_fifo.h. */
struct cor_delta_fifo *cor_cache_controller_queue(struct cor_cache_controller *c);

/* Processes at most `max` pops. True: there is more to do, also when memory ran out. Changes that
 * were refused and will be tried again do not count as more: cor_controller_has_retries() returns
 * whether there are any, and the owner steps the controller again after a while. */
bool cor_cache_controller_step(struct cor_cache_controller *c, size_t max);
bool cor_controller_has_retries(struct cor_cache_controller *c);

/* What the reflector has done, with the changes that wait in the queue. */
void cor_cache_controller_stats(struct cor_cache_controller *c, struct cor_reflector_stats *ret);

/* Has the first list been processed? */
bool cor_controller_has_synced(struct cor_cache_controller *c);
bool cor_controller_is_stopped(struct cor_cache_controller *c);

#endif
