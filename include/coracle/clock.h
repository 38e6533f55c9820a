/* clang-format off */
/* A clock that a program moves by hand, so that retries, resyncs and the delayed keys of a work
 * queue can be tested without sleeping. A runtime and a work queue take a clock in their options;
 * without one they use the machine's.
 *
 *   struct cor_clock_manual *time;
 *
 *   cor_clock_manual_new(&time);
 *   const struct cor_runtime_opts opts = {COR_RUNTIME_OPTS, .kind = COR_RUNTIME_PUMPED,
 *                                         .clock = cor_clock_manual_peek(time)};
 *   ...
 *   cor_clock_manual_advance(time, 30000);
 *   cor_runtime_pump(runtime);                  // runs every timer of these 30 seconds
 *
 * Owner: the maker; it is freed after everything that was given the clock.
 * Thread: any thread may read the clock while another moves it. */
/* clang-format on */
#ifndef CORACLE_CLOCK_H
#define CORACLE_CLOCK_H

#include <stdint.h>

#include "coracle/api.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_clock; /* tells the time; for the options of other headers */
struct cor_clock_manual;

/* A clock that stands still at an arbitrary moment. 0 or -COR_ENOMEM. */
COR_API int cor_clock_manual_new(struct cor_clock_manual **ret_clock);

/* NULL is fine; returns NULL. */
COR_API struct cor_clock_manual *cor_clock_manual_free(struct cor_clock_manual *clock);

/* The clock for the options of others; borrowed from `clock`. */
COR_API const struct cor_clock *cor_clock_manual_peek(const struct cor_clock_manual *clock);

/* Moves the time forward. Nothing is called here: due timers run in the next cor_runtime_pump(),
 * and the next cor_workqueue_try_get() returns the keys whose delay is over. */
COR_API void cor_clock_manual_advance(struct cor_clock_manual *clock, uint64_t ms);

#ifdef __cplusplus
}
#endif

#endif
