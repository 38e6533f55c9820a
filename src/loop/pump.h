/* Lets a program run a loop from within a loop of its own (epoll, libuv, glib): one descriptor that
 * is readable when there is something to do, timers included, and a call that does it.
 * Owner: its maker; freed before the loop.  Thread: the loop's. */
#ifndef COR_LOOP_PUMP_H
#define COR_LOOP_PUMP_H

#include "base/cleanup.h"

struct cor_loop;
struct cor_pump;

/* The loop is never started. 0, -COR_ENOMEM, -COR_EIO (no descriptor could be created). */
int cor_pump_new(struct cor_loop *loop, struct cor_pump **ret_pump);
struct cor_pump *cor_pump_free(struct cor_pump *pump); /* returns NULL */
COR_DEFINE_CLEANUP(struct cor_pump, cor_pump_free)

/* An epoll descriptor: to be waited for, never read. It stays the same. */
int cor_pump_fd(const struct cor_pump *pump);

/* Runs what is ready, callbacks included, and does not sleep. When there is more than a few turns'
 * work the descriptor is readable at once. Not from inside the loop's callbacks. */
void cor_pump_run(struct cor_pump *pump);

/* After turns that the pump has not run (cor_loop_run_until). */
void cor_pump_rearm(struct cor_pump *pump);

#endif
