/* When a wait of cor_cond_wait_until() ends, on CLOCK_MONOTONIC.
 * Thread: any (a value). */
#ifndef COR_BASE_DEADLINE_H
#define COR_BASE_DEADLINE_H

#include <stdint.h>
#include <time.h>

/* Returns the time `ms` milliseconds from now; a later time than a few hundred million years from
 * now is cut to that. */
static inline struct timespec cor_deadline_in_ms(uint64_t ms)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += (time_t)(ms / 1000);
    at.tv_nsec += (long)(ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

#endif
