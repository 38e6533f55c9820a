#include "base/token_bucket.h"

#include <assert.h>

#include "base/err.h"

void cor_token_bucket_init(struct cor_token_bucket *b, double rate, uint32_t burst, uint64_t now_ms)
{
    assert(rate > 0 && burst >= 1);
    *b = (struct cor_token_bucket){
        .rate = rate,
        .burst = burst,
        .tokens = burst,
        .last_ms = now_ms,
    };
}

static void refill(struct cor_token_bucket *b, uint64_t now_ms)
{
    if (now_ms <= b->last_ms)
        return;
    b->tokens += (double)(now_ms - b->last_ms) / 1000 * b->rate;
    if (b->tokens > b->burst)
        b->tokens = b->burst;
    b->last_ms = now_ms;
}

bool cor_token_bucket_try(struct cor_token_bucket *b, uint64_t now_ms)
{
    uint64_t wait_ms;

    return cor_token_bucket_reserve(b, now_ms, 0, &wait_ms) == 0;
}

/* In whole milliseconds, rounded up. What rounding errors of the refill leave below a microsecond
 * is not worth a wait. */
static uint64_t wait_for(double missing, double rate)
{
    double us = missing / rate * 1e6;

    if (us < 1)
        return 0;
    if (us >= 1e18)
        return UINT64_MAX;
    return ((uint64_t)us + 999) / 1000;
}

int cor_token_bucket_reserve(struct cor_token_bucket *b, uint64_t now_ms, uint64_t max_wait_ms,
                             uint64_t *ret_wait_ms)
{
    uint64_t wait_ms;

    refill(b, now_ms);
    wait_ms = wait_for(1 - b->tokens, b->rate);
    if (wait_ms > max_wait_ms)
        return -COR_ETIMEOUT;
    b->tokens -= 1;
    *ret_wait_ms = wait_ms;
    return 0;
}
