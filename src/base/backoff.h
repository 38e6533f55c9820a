/* Exponential backoff with jitter, with the arithmetic of client-go's wait.Backoff and the reset of
 * its backoff manager. Time comes in by value; nothing here waits.
 * Owner: whoever embeds it.  Thread: one at a time. */
#ifndef COR_BASE_BACKOFF_H
#define COR_BASE_BACKOFF_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/rand.h"

/* Unlimited steps: only the cap ends the growth. */
#define COR_BACKOFF_STEPS_MAX INT_MAX

struct cor_backoff_opts {
    uint64_t initial_ms;
    uint64_t max_ms;   /* cap of the delay before jitter; 0: none */
    uint64_t reset_ms; /* starts over when the last delay was asked for longer ago; 0: never */
    double factor;     /* at least 1, or 0 for a delay that does not grow */
    double jitter;     /* a delay d becomes d + uniform[0, jitter) * d */
    int steps;         /* how often the delay may grow, and tries of a bounded loop */
};

struct cor_backoff {
    struct cor_backoff_opts opts;
    double delay_ms; /* the next delay, before jitter */
    int steps;       /* left; 0 once the cap is reached */
    uint64_t last_ms;
};

void cor_backoff_init(struct cor_backoff *b, const struct cor_backoff_opts *opts, uint64_t now_ms);

/* Resets to the first delay and all steps. */
void cor_backoff_reset(struct cor_backoff *b);

/* The delay before the next try, for a loop without end: grows until the steps are used up or the
 * cap is reached, then stays. */
uint64_t cor_backoff_next(struct cor_backoff *b, uint64_t now_ms, struct cor_rand *rand);

/* For a loop that gives up: returns whether to try again after this failure, and in how many ms.
 * There are at most `steps` tries, and none after the delay has reached its cap. */
bool cor_backoff_retry(struct cor_backoff *b, uint64_t now_ms, struct cor_rand *rand,
                       uint64_t *ret_delay_ms);

#endif
