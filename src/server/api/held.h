/* What answers hold while they wait for their readers, or are made before they begin: the object
 * that is being written, text that was made from it, a list that was read from the store, events
 * that a watch has not delivered. A call is charged while its output waits, for all it holds, even
 * for objects that a cache holds anyway; what a cache's snapshot keeps is counted by the cache
 * (storage/cacher/pins.h).
 *
 * When the sum is over the budget, the calls that have waited longest are cut. Two kinds of calls
 * are not cut: those that have waited less than a second, and a call without which the others would
 * hold no more than half of the budget, so that a single answer of any size comes to its end. A
 * loop compares the sum with the budget and cuts its own calls whenever one of them begins or
 * continues to wait, and every second for as long as one waits. Thread: the call's loop; the
 * account: any.  Owner: the API. */
#ifndef COR_SERVER_HELD_H
#define COR_SERVER_HELD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dlist.h"
#include "loop/timer.h"

#define COR_HELD_GRACE_MS 1000

struct cor_call;
struct cor_api_loop;

/* Of all loops together. */
struct cor_held_account {
    size_t max;
    _Atomic size_t bytes;
    _Atomic uint64_t ended; /* calls that were cut */
};

struct cor_held_loop {
    struct cor_dlist waiting; /* calls, the one that has waited longest first */
    struct cor_timer timer;   /* set while a call waits */
};

/* A call's part. */
struct cor_held {
    struct cor_dlist link;
    size_t bytes; /* 0: it does not wait */
    uint64_t since_ms;
};

void cor_held_loop_init(struct cor_api_loop *loop);

/* The call waits for its reader and holds `bytes`; 0: it does not wait any more. The call is not
 * cut before this returns. */
void cor_held_set(struct cor_call *call, size_t bytes);

/* For a call that holds something while it prepares its answer, and that cannot be cut (its verb's
 * may_cut is false): returns whether it must give up. True under the conditions under which a call
 * that waits for its reader is cut; the call is counted as ended, and answers 429. */
bool cor_held_must_give_up(struct cor_call *call);

/* Sets the 429 of such a call. Returns -COR_EBUSY. */
int cor_held_refuse(struct cor_call *call);

#endif
