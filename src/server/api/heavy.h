/* Stages of a call that may be too much for its loop: a stage over large bytes runs on one of the
 * offload threads (loop/offload.h), a small one at once on the loop.
 *
 * While a thread has the call, the loop does not touch it: a reader that goes meanwhile is noted,
 * and taken notice of when the stage has ended. The request's body and its type are copied before,
 * because they go with the reader; nothing else of the request may be read by a stage but the verb.
 * What a stage may not use is what belongs to the loop: its stores, readers and variants.
 * Thread: the call's loop, except `work`. */
#ifndef COR_SERVER_HEAVY_H
#define COR_SERVER_HEAVY_H

#include "server/api/call.h"

/* A stage over more bytes than this leaves the loop. */
#define COR_HEAVY_BYTES (64u * 1024)

/* 0, or a failure in the call's status. On a thread or on the loop. */
typedef int (*cor_heavy_work)(struct cor_call *call);

/* The stage has ended with `r`; when `call->is_over` the reader is gone, and nothing may be
 * answered. On the loop. The call may be ended in here. */
typedef void (*cor_heavy_done)(struct cor_call *call, int r);

/* Runs `work`, which goes over `bytes` bytes, and then `done`: before this returns when they are
 * few, else later. -COR_EBUSY (429, when the threads have too much to do) and -COR_ENOMEM are
 * failures of the stage, told to `done`. At most one stage of a call at a time. */
void cor_heavy_run(struct cor_call *call, size_t bytes, cor_heavy_work work, cor_heavy_done done);

/* The same for what was begun on the loop and is too much for it: always on a thread. 0: `done`
 * follows; or -COR_EBUSY, -COR_ENOMEM in the status (nothing follows). */
int cor_heavy_start(struct cor_call *call, size_t bytes, cor_heavy_work work, cor_heavy_done done);

/* Are there threads at all? */
static inline bool cor_heavy_has_threads(const struct cor_call *call)
{
    return call->loop->api->offload != NULL;
}

/* Is the call on a thread now? Any thread that has the call. */
static inline bool cor_heavy_is_running(const struct cor_call *call)
{
    return call->heavy != NULL;
}

/* Where a stage's random numbers come from: the loop's, or those of the stage on its thread. */
struct cor_rand *cor_heavy_rand(struct cor_call *call);

/* The reader has gone while a thread has the call: true, and it is told when the stage ends. */
bool cor_heavy_note_gone(struct cor_call *call);

#endif
