/* A one-shot timer, embedded by its user. All timers of a loop share one heap and one handle, so
 * that cancelling is immediate and the memory may go right after it.
 * Thread: the loop's (its maker's, while it is not started).  Owner: whoever embeds it. */
#ifndef COR_LOOP_TIMER_H
#define COR_LOOP_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/due_heap.h"

struct cor_loop;

struct cor_timer {
    struct cor_loop *loop;
    void (*on_timer)(struct cor_timer *timer);
    struct cor_due due; /* in milliseconds of cor_loop_now_ms()'s clock */
};

void cor_timer_init(struct cor_timer *timer, struct cor_loop *loop,
                    void (*on_timer)(struct cor_timer *timer));

/* (Re)arms: fires once, `delay_ms` or a little more after cor_loop_now_ms(), never before this call
 * returns, and never in the same turn when a timer's callback makes the call. Timers that are due
 * together fire in the order of their due times, equal ones in the order of setting.
 * 0, or -COR_ENOMEM (the timer is as it was); moving a timer that is set cannot fail.
 */
int cor_timer_set(struct cor_timer *timer, uint64_t delay_ms);

/* It does not fire after this. Harmless when not set. */
void cor_timer_cancel(struct cor_timer *timer);

bool cor_timer_is_set(const struct cor_timer *timer);

#endif
