/* Internals of a shared informer.
 *
 * Locks, in this order: the queue's (while a change is applied), `lock`, the indexer's, a
 * listener's. `lock` makes a handler's snapshot of the cache and the changes after it one sequence,
 * and guards the list of handlers. */
#ifndef COR_CACHE_SHARED_INFORMER_INT_H
#define COR_CACHE_SHARED_INFORMER_INT_H

#include "base/dlist.h"
#include "base/lock.h"
#include "base/ref.h"
#include "cache/informers/controller.h"
#include "cache/informers/delta_applier.h"
#include "cache/informers/mutation_detector.h"
#include "cache/informers/shared_informer.h"

struct cor_registration {
    struct cor_dlist link; /* in handlers */
    uint64_t id;           /* grows along the list */
    struct cor_ref ref;    /* the informer's, and that of whoever drains it */
    struct cor_shared_informer *informer;
    struct cor_processor_listener *listener;
    bool in_step;          /* drained by step, and not held; under the informer's lock */
    uint64_t asked_ms;     /* the period that was asked for */
    uint64_t resync_ms;    /* the period that it gets; 0: never */
    uint64_t resync_at_ms; /* the next time */
    bool is_syncing;       /* is called for changes without a new resourceVersion */
    void (*on_slow)(void *arg, uint64_t ms); /* may be NULL */
    void *arg;
};

struct cor_shared_informer {
    const struct cor_clock *clock;
    uint64_t resync_ms; /* the default of the handlers; 0: never */
    void (*on_work)(void *arg);
    void *arg; /* of on_work */
    struct cor_indexer *indexer;
    struct cor_cache_controller *controller;
    struct cor_mutation_detector *detector; /* NULL: off; under `lock` */
    struct cor_lock lock;
    struct cor_dlist handlers;
    struct cor_delta_applier applier;
    struct cor_dlist notifications; /* of the change that is being applied */
    uint64_t next_id;
    uint64_t served_id; /* the handler that step gave a turn last; the next step begins after it */
    uint64_t resync_check_ms; /* how often handlers are checked for a due resync; fixed at start */
    bool started;
};

extern const struct cor_delta_applier_ops cor_informer_applier_ops;

/* Changes of one key to the cache and to the handlers: a cor_delta_fn. */
int cor_informer_apply(void *arg, struct cor_str key, const struct cor_delta *deltas, size_t n,
                       bool in_initial_list);

/* A cor_reflector_opts.should_resync: marks the handlers whose time has come. */
bool cor_informer_should_resync(void *arg);

/* The period that a handler gets; before start it may shorten the informer's own. */
void cor_informer_set_resync(struct cor_shared_informer *inf, struct cor_registration *reg);

void cor_registration_unref(struct cor_registration *reg);

#endif
