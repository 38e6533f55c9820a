/* A token bucket: `rate` tokens a second up to `burst`, full at the start. The arithmetic is that
 * of Go's rate limiter, which client-go throttles with. Time comes in by value; nothing here waits.
 * Owner: whoever embeds it.  Thread: one at a time. */
#ifndef COR_BASE_TOKEN_BUCKET_H
#define COR_BASE_TOKEN_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct cor_token_bucket {
    double rate; /* tokens per second */
    double burst;
    double tokens; /* negative: reserved ahead of time */
    uint64_t last_ms;
};

/* `rate` is above 0, `burst` at least 1. */
void cor_token_bucket_init(struct cor_token_bucket *b, double rate, uint32_t burst,
                           uint64_t now_ms);

/* Takes a token when there is one now. */
bool cor_token_bucket_try(struct cor_token_bucket *b, uint64_t now_ms);

/* Takes a token, also one of the future: the caller must wait `ret_wait_ms` (0: go on) before it
 * acts. -COR_ETIMEOUT when the wait would be longer than `max_wait_ms` (UINT64_MAX: any); no token
 * is taken then. */
int cor_token_bucket_reserve(struct cor_token_bucket *b, uint64_t now_ms, uint64_t max_wait_ms,
                             uint64_t *ret_wait_ms);

#endif
