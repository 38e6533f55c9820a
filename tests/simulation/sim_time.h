/* Simulated time: a clock that stands still, and what is to happen on it.
 * Thread: one.  Owner: the history. */
#ifndef COR_SIM_TIME_H
#define COR_SIM_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/due_heap.h"
#include "base/rand.h"

struct sim_time {
    struct cor_clock_manual clk;
    struct cor_due_heap heap;
    struct cor_rand rand;
};

/* Embedded in what it moves; zeroed before its first use. */
struct sim_event {
    struct cor_due due;
    void (*fn)(struct sim_event *event);
};

void sim_time_init(struct sim_time *t, uint64_t seed);
void sim_time_deinit(struct sim_time *t);
uint64_t sim_now(const struct sim_time *t);

void sim_event_init(struct sim_event *e, void (*fn)(struct sim_event *event));

/* In the place of the time given before. */
void sim_at(struct sim_time *t, struct sim_event *e, uint64_t at_ms);
void sim_in(struct sim_time *t, struct sim_event *e, uint64_t min_ms, uint64_t max_ms);
void sim_cancel(struct sim_time *t, struct sim_event *e);

/* Goes to the next event and runs it. False: there is none. */
bool sim_turn(struct sim_time *t);

bool sim_chance(struct sim_time *t, unsigned percent);
uint64_t sim_between(struct sim_time *t, uint64_t low, uint64_t high);

#endif
