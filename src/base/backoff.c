#include "base/backoff.h"

#include <assert.h>

/* Larger delays are cut to it, so that a delay without a cap cannot overflow; about 285 years, as a
 * Go duration. */
#define DELAY_MAX_MS 9e12

void cor_backoff_init(struct cor_backoff *b, const struct cor_backoff_opts *opts, uint64_t now_ms)
{
    assert(opts->factor == 0 || opts->factor >= 1);
    assert(opts->jitter >= 0);
    b->opts = *opts;
    b->last_ms = now_ms;
    cor_backoff_reset(b);
}

void cor_backoff_reset(struct cor_backoff *b)
{
    b->delay_ms = (double)b->opts.initial_ms;
    b->steps = b->opts.steps;
}

static void grow(struct cor_backoff *b)
{
    double cap = b->opts.max_ms > 0 ? (double)b->opts.max_ms : DELAY_MAX_MS;

    if (b->steps < 1)
        return;
    b->steps--;
    if (b->opts.factor == 0)
        return;
    b->delay_ms *= b->opts.factor;
    if (b->delay_ms > cap) {
        b->delay_ms = cap;
        b->steps = 0;
    }
}

uint64_t cor_backoff_next(struct cor_backoff *b, uint64_t now_ms, struct cor_rand *rand)
{
    double delay;

    if (b->opts.reset_ms > 0 && now_ms > b->last_ms && now_ms - b->last_ms > b->opts.reset_ms)
        cor_backoff_reset(b);
    b->last_ms = now_ms;
    delay = b->delay_ms;
    grow(b);
    if (b->opts.jitter > 0)
        delay += cor_rand_unit(rand) * b->opts.jitter * delay;
    return (uint64_t)delay;
}

bool cor_backoff_retry(struct cor_backoff *b, uint64_t now_ms, struct cor_rand *rand,
                       uint64_t *ret_delay_ms)
{
    uint64_t delay;

    if (b->steps <= 1)
        return false;
    delay = cor_backoff_next(b, now_ms, rand);
    if (b->steps == 0)
        return false;
    *ret_delay_ms = delay;
    return true;
}
