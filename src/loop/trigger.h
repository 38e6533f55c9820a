/* A callback on a loop that a signal handler may ask for. A mail cannot be used there, because the
 * mailbox has a lock. Asking several times before the callback has begun leads to one call.
 * Owner: whoever embeds it.  Thread: the loop's; cor_trigger_fire() any, and signal handlers. */
#ifndef COR_LOOP_TRIGGER_H
#define COR_LOOP_TRIGGER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/dlist.h"

struct cor_loop;

struct cor_trigger {
    struct cor_dlist link; /* in the loop's list; the loop's */
    struct cor_loop *loop;
    void (*on_fired)(struct cor_trigger *trigger);
    atomic_bool is_fired;
};

/* Registers the trigger with the loop. The caller may be on another thread only while the loop does
 * not run. Cannot fail. */
void cor_trigger_init(struct cor_trigger *trigger, struct cor_loop *loop,
                      void (*on_fired)(struct cor_trigger *trigger));

/* No call of on_fired begins after this. Nobody may be in cor_trigger_fire(). Also for a trigger
 * that was zeroed. */
void cor_trigger_deinit(struct cor_trigger *trigger);

/* Calls on_fired in a later turn of the loop. Async-signal-safe; errno is kept. */
void cor_trigger_fire(struct cor_trigger *trigger);

/* For the loop, when it was woken: calls what was asked for. */
void cor_triggers_run(struct cor_loop *loop);

#endif
