/* clang-format off */
/* The control loop of a controller: it turns changes of objects into keys, and calls `reconcile`
 * for each key until the cluster is as the controller wants it. The model is that of
 * controller-runtime. The loop owns a work queue with its rate limiter; it has no thread and no
 * timer. Whoever runs it feeds events, and calls cor_control_loop_tick() at the time that
 * `wake_at` names.
 *
 *   events ──► predicates ──► source (For, Owns, Watches) ──► keys ──► work queue
 *                                                                          │ tick
 *        on_stopped ◄── stop          cor_reconcile_done() ◄── … ◄── reconcile(rec)
 *                                         │ result: done, again, again after, failed, terminal
 *                                         └──► forgotten, or back into the queue
 *
 * A reconcile is asynchronous: the function sends its requests, returns, and ends the reconcile
 * later with cor_reconcile_done(); it may also end it at once. A key is never reconciled twice at
 * the same time; a key that is added meanwhile is reconciled once more.
 *
 * `reconcile`, on_cancel and on_stopped are called inside cor_control_loop_tick() only; on_report
 * also inside cor_reconcile_done(). Only on_stopped may free the loop. The callbacks may call every
 * other function of this header but tick.
 * The public controllers of the client library (client/controller/) run on it.
 * Thread: the loop of `opts.loop`, for every function and callback.  Owner: its maker. */
/* clang-format on */
#ifndef COR_KIT_CONTROL_LOOP_H
#define COR_KIT_CONTROL_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/dlist.h"
#include "coracle/rate_limiter.h"
#include "coracle/workqueue.h"
#include "kit/controller/control_event.h"
#include "kit/controller/control_source.h"
#include "meta/status/status.h"
#include "queue/workqueue_durations.h"

struct cor_loop;
struct cor_control_loop;

#define COR_CONTROL_SOURCES_MAX    32
#define COR_CONTROL_RECONCILES_MAX 256 /* at once */
#define COR_CONTROL_NAME_MAX       63
#define COR_CONTROL_TURN_MAX       64 /* reconciles that one tick begins */
#define COR_CONTROL_SYNC_MS        120000
#define COR_CONTROL_SLOW_MS        30000
#define COR_CONTROL_PARK_MS        1000

/* One reconcile under way. It belongs to the control loop, and is valid until
 * cor_reconcile_done(). */
struct cor_reconcile {
    /* For the reconciler to read. */
    struct cor_str ns, name; /* all that is known: the object may exist or not */
    uint64_t id;             /* another one for each call, from 1 */
    bool is_cancelled;       /* the loop stops, or `reconcile_max_ms` has passed: end soon */
    void *work;              /* the reconciler's own; NULL at the beginning */
    /* The control loop's. */
    struct cor_control_loop *loop;
    struct cor_dlist link; /* in the loop's `free` */
    enum { COR_RECONCILE_FREE, COR_RECONCILE_RUNS, COR_RECONCILE_PARKED } state;
    const char *key; /* the queue's */
    uint64_t began_ms;
    uint64_t slow_at_ms;   /* of the next report that it is slow */
    uint64_t cancel_at_ms; /* of on_cancel; UINT64_MAX: never, or it was called */
    uint64_t parked_to_ms;
};

/* clang-format off */
/* How a reconcile has ended. Zeroed: the object is as it should be.
 *
 *   result                      | queue                           | failures of the key
 *   is_terminal                 | not again, until an event comes | unchanged
 *   err < 0                     | again after the limiter's delay | one more
 *   again_after_ms > 0          | again after this time           | forgotten, or unchanged
 *   again                       | again after the limiter's delay | one more
 *   zeroed                      | not again, until an event comes | forgotten
 *
 * The first row that fits is used. `keeps_failures` belongs to again_after_ms. An error with `again` or `again_after_ms` is reported as
 * COR_CONTROL_RESULT_IGNORED too. */
/* clang-format on */
struct cor_reconcile_result {
    int err;
    bool is_terminal; /* trying again would not help; `err` may be 0 */
    bool again;
    int64_t again_after_ms;       /* a negative time is 0; an event may come earlier */
    bool keeps_failures;          /* the next failure counts as if the last one was just before */
    const struct cor_status *why; /* of `err`, borrowed for the call; NULL: the code is enough */
};

enum cor_control_report_kind {
    COR_CONTROL_FAILED,
    COR_CONTROL_TERMINAL,
    COR_CONTROL_RESULT_IGNORED,
    COR_CONTROL_SLOW,      /* it runs for slow_ms; again after twice, four times … that time */
    COR_CONTROL_NO_MEMORY, /* for the delay: the key is tried again after COR_CONTROL_PARK_MS */
};

struct cor_control_report {
    enum cor_control_report_kind kind;
    const char *controller; /* its name */
    struct cor_str ns, name;
    uint64_t id;                  /* of the reconcile */
    uint64_t ran_ms;              /* so far */
    int err;                      /* of a failure; 0: a terminal error without a cause */
    const struct cor_status *why; /* may be NULL */
};

/* Appends the report as one line of a log, without its end. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_control_report_print(const struct cor_control_report *report, struct cor_buf *out);

struct cor_control_loop_opts {
    const char *name;          /* copied; NULL: the kind of the source FOR in lower case */
    uint32_t reconciles_max;   /* at once; 0: 1; at most COR_CONTROL_RECONCILES_MAX */
    uint64_t sync_max_ms;      /* for the first sync of all sources; 0: COR_CONTROL_SYNC_MS */
    uint64_t slow_ms;          /* after which a reconcile is reported; 0: COR_CONTROL_SLOW_MS */
    uint64_t reconcile_max_ms; /* after which a reconcile is cancelled; 0: never */
    size_t keys_max;           /* of the queue; 0: COR_WORKQUEUE_KEYS_MAX */
    struct cor_rate_limiter *take_limiter;    /* NULL: the controller's default */
    struct cor_control_predicates predicates; /* of all sources; must stay valid */
    const struct cor_clock *clock;            /* NULL: the machine's; must stay valid */
    const struct cor_loop *loop;              /* for assertions; NULL: there is none */

    /* Call tick at this time of the clock or later, in a later turn; this replaces the time given
     * before. UINT64_MAX: not at all. */
    void (*wake_at)(void *arg, uint64_t at_ms);
    void (*reconcile)(void *arg, struct cor_reconcile *rec);
    /* The reconcile is cancelled: it should end soon. Called at most once for each; not when the
     * reconcile has ended already. May be NULL. */
    void (*on_cancel)(void *arg, struct cor_reconcile *rec);
    void (*on_report)(void *arg, const struct cor_control_report *report); /* may be NULL */
    /* The end, once, after a stop or a first sync that took too long. `why` is NULL when all
     * reconciles have ended; else its err is -COR_ETIMEOUT. wake_at(UINT64_MAX) was called before.
     */
    void (*on_stopped)(void *arg, const struct cor_status *why);
    void *arg;
};

/* 0, -COR_EINVAL (the message names the option), -COR_ENOMEM; the limiter is taken in every case.
 */
int cor_control_loop_new(const struct cor_control_loop_opts *opts,
                         struct cor_control_loop **ret_loop, struct cor_status *reterr);

/* Before the start, or from on_stopped on. Reconciles that have not ended are abandoned: nobody may
 * call cor_reconcile_done() for them afterwards. Returns NULL; NULL is allowed. */
struct cor_control_loop *cor_control_loop_free(struct cor_control_loop *l);
COR_DEFINE_CLEANUP(struct cor_control_loop, cor_control_loop_free)

/* Adds a source. Its events may be fed from now on, also before the start. A source that is added
 * after the start does not hold back any reconcile. 0, -COR_EINVAL (a second FOR, OWNS without FOR,
 * WATCHES without `map`: the message is controller-runtime's where that has one), -COR_ETOOBIG
 * (COR_CONTROL_SOURCES_MAX), -COR_ECANCELED (stopped). The loop owns `ret_source`. */
int cor_control_loop_add_source(struct cor_control_loop *l,
                                const struct cor_control_source_opts *opts,
                                struct cor_control_source **ret_source, struct cor_status *reterr);

/* The objects of the source's first list were fed. A second call does nothing. */
void cor_control_loop_source_synced(struct cor_control_loop *l, struct cor_control_source *source);

/* Could the loop be started? It has its name afterwards. Errors as below. */
int cor_control_loop_check(struct cor_control_loop *l, struct cor_status *reterr);

/* Waits for the first sync of all sources, then begins to reconcile. 0, or -COR_EINVAL: started or
 * stopped before, no source, or no name; nothing has changed then. */
int cor_control_loop_start(struct cor_control_loop *l, struct cor_status *reterr);

/* A change of an object of the source. 0, also when a predicate dropped it, and when a name that it
 * leads to can be that of no object (such a key is left out); -COR_ECANCELED (stopped);
 * -COR_ENOMEM, -COR_EBUSY (keys_max): some of its keys may be queued, others are not. The caller
 * still has the event, and may feed it again. */
int cor_control_loop_event(struct cor_control_loop *l, const struct cor_control_source *source,
                           const struct cor_control_event *event);

/* Adds a key itself, after `delay_ms`. Of two delays of one key the earlier one is used. Errors as
 * above; -COR_EINVAL: the name is empty, there is a slash in it or in the namespace, or both are
 * longer than COR_OBJECT_KEY_MAX. */
int cor_control_loop_enqueue(struct cor_control_loop *l, struct cor_str ns, struct cor_str name,
                             uint64_t delay_ms);

void cor_control_loop_tick(struct cor_control_loop *l);

/* Ends the reconcile, once. `rec` is not valid afterwards. Cannot fail. */
void cor_reconcile_done(struct cor_reconcile *rec, const struct cor_reconcile_result *result);

/* Ends the loop: queued keys are dropped, reconciles under way are cancelled, and on_stopped is
 * called when they have ended, `max_ms` later at most. A second call can make that time shorter. */
void cor_control_loop_stop(struct cor_control_loop *l, uint64_t max_ms);

bool cor_control_loop_is_synced(const struct cor_control_loop *l);   /* all sources of the start */
const char *cor_control_loop_name(const struct cor_control_loop *l); /* "" before check or start */

/* For metrics; the first five are controller-runtime's labels and counters. */
struct cor_control_loop_stats {
    uint64_t success, error, requeue, requeue_after;
    uint64_t terminal;  /* of `error` */
    uint64_t work_ms;   /* of the reconciles that have ended */
    size_t active, max; /* reconciles under way or parked, and how many may be */
    struct cor_workqueue_stats queue;
};

void cor_control_loop_stats(struct cor_control_loop *l, struct cor_control_loop_stats *ret);

/* The numbers of the queue alone. From any thread, while the loop is not freed. */
void cor_control_loop_queue_stats(struct cor_control_loop *l, struct cor_workqueue_stats *ret);
void cor_control_loop_queue_durations(struct cor_control_loop *l,
                                      struct cor_workqueue_durations *ret);

#endif
