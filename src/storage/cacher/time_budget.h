/* How long eviction may wait for lagging watches. 50 ms are earned in each second, and 100 ms are
 * kept at most. The numbers are upstream's; there the time is spent on blocking sends to watchers.
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

/* True: go on waiting; the time until the next call is spent. False: nothing is left. */
bool cor_time_budget_wait(struct cor_time_budget *b, uint64_t now_us);

/* Nothing is waited for from now on. */
void cor_time_budget_rest(struct cor_time_budget *b, uint64_t now_us);

#endif
