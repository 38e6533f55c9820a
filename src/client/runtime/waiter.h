/* What a blocking call waits for: one thing that happens on a runtime's loop.
 * Owner: the waiting call's stack.  Thread: set from any; wait on the caller's. */
#ifndef COR_CLIENT_WAITER_H
#define COR_CLIENT_WAITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "loop/loop.h"
#include "loop/pump.h"

#define COR_WAIT_FOREVER UINT64_MAX

struct cor_waiter {
    struct cor_lock lock; /* a leaf */
    struct cor_cond changed;
    bool is_set;
};

void cor_waiter_init(struct cor_waiter *w);
void cor_waiter_deinit(struct cor_waiter *w);

/* Wakes the thread that waits, now or when it begins to wait. The waiter may have been destroyed
 * when this returns. */
void cor_waiter_set(struct cor_waiter *w);

/* Waits until the waiter is set. On the loop's own thread, between its turns, this runs turns
 * meanwhile (`pump` is its pump, or NULL).
 * 0, -COR_ETIMEOUT, -COR_EINVAL (inside a callback of the loop: it would wait for itself). */
int cor_waiter_wait(struct cor_waiter *w, struct cor_loop *loop, struct cor_pump *pump,
                    uint64_t timeout_ms);

#endif
