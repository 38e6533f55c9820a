/* Stages of a call that may take too long for its loop: a stage over large bytes runs on one of the
 * offload threads (loop/offload.h), a small one runs at once on the loop.
 *
 * While a thread has the call, the loop does not touch it: when the reader goes meanwhile, this is
 * noted and handled when the stage has ended. A stage that still waits for a thread then does not
 * run: it ends with -COR_ECANCELED, so that nothing is computed, and nothing more is written, for a
 * client that has left; unless `stage_is_shared`. The request's body and its content type are
 * copied before the stage starts, because the reader takes them along; of the request a stage may
 * read these two, the method and the verb, and nothing else. A stage may not use what belongs to
 * the loop: its stores, readers and variants. Thread: the call's loop, except `work`. */
#ifndef COR_SERVER_HEAVY_H
#define COR_SERVER_HEAVY_H

#include "base/work.h"
#include "server/api/call.h"

/* 0, or a failure in the call's status. On a thread or on the loop. */
typedef int (*cor_heavy_work)(struct cor_call *call);

/* The stage has ended with `r` (-COR_ECANCELED: it has not run); when `call->is_over` the reader is
 * gone, and nothing may be answered. On the loop. The call may be ended in here. */
typedef void (*cor_heavy_done)(struct cor_call *call, int r);

/* Goes on with the call after a stage that succeeded. On the loop. */
typedef void (*cor_heavy_next)(struct cor_call *call);

/* Runs `work`, which goes over `bytes` bytes, and then calls `done`: before this returns when the
 * bytes are few, otherwise later. -COR_EBUSY (429, when the threads have too much to do) and
 * -COR_ENOMEM count as failures of the stage and are passed to `done`. A call has at most one stage
 * at a time. */
void cor_heavy_run(struct cor_call *call, size_t bytes, cor_heavy_work work, cor_heavy_done done);

/* As cor_heavy_run(), for what nearly all stages do next: `next` is called when the stage
 * succeeded. When it failed, the call is answered with its status; when the reader has gone
 * meanwhile, nothing more is done. */
void cor_heavy_then(struct cor_call *call, size_t bytes, cor_heavy_work work, cor_heavy_next next);

/* As cor_heavy_run(), for what a request is owed that may have written something, its answer for
 * the most part: unless the request is a GET the stage is not refused, and waits for its turn
 * however many wait before it. The requests in flight bound how many such stages there are, and the
 * request's deadline how long the client waits. */
void cor_heavy_owe(struct cor_call *call, size_t bytes, cor_heavy_work work, cor_heavy_done done);

/* As cor_heavy_owe(), but always on a thread: for work that the loop has begun and finds to be too
 * much. 0: `done` follows; -COR_EBUSY, -COR_ENOMEM in the status: nothing ran, and nothing follows.
 */
int cor_heavy_start(struct cor_call *call, size_t bytes, cor_heavy_work work, cor_heavy_done done);

/* Are there threads at all? */
static inline bool cor_heavy_has_threads(const struct cor_call *call)
{
    return call->loop->settings->offload != NULL;
}

/* The budget of what the call does now (base/work.h): on the loop with a slice, if there are
 * threads that can go on. */
static inline struct cor_work cor_heavy_work_of(const struct cor_call *call)
{
    return cor_work_new(cor_heavy_has_threads(call) && !call->heavy);
}

/* Is the call on a thread now? To be asked by the thread that has the call. */
static inline bool cor_heavy_is_running(const struct cor_call *call)
{
    return call->heavy != NULL;
}

/* Whose share of the threads the work for a user counts against, for `owner` of a job. 0: nobody's;
 * the work of system:masters and of the server itself (NULL) is not limited. */
uint64_t cor_heavy_owner(const struct cor_user *user);

/* The random numbers that a stage uses: the loop's own on the loop, others on a thread. */
struct cor_rand *cor_heavy_rand(struct cor_call *call);

/* The reader has gone. True: a thread has the call, or would have had it, and cor_call_gone()
 * follows when the stage has ended. False: no thread has the call. */
bool cor_heavy_note_gone(struct cor_call *call);

#endif
