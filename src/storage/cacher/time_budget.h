/* How long may be waited for the slow: 50 ms are earned in a second, 100 ms kept at most. As
 * upstream's, but spent on putting off the eviction of events that lagging watchers still need.
 * Thread: one at a time.  Owner: its embedder. */
#ifndef COR_STORAGE_CACHER_TIME_BUDGET_H
#define COR_STORAGE_CACHER_TIME_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define COR_TIME_BUDGET_PER_S_US 50000
#define COR_TIME_BUDGET_MAX_US   100000

struct cor_time_budget {
    uint64_t left_us;
    uint64_t at_us;
    bool waiting; /* since at_us */
};

/* Full. */
void cor_time_budget_init(struct cor_time_budget *b, uint64_t now_us);

/* True: wait on, the time until the next call is being spent. False: nothing is left. */
bool cor_time_budget_wait(struct cor_time_budget *b, uint64_t now_us);

/* Nothing is waited for any more. */
void cor_time_budget_rest(struct cor_time_budget *b, uint64_t now_us);

#endif
