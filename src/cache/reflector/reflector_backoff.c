/* The reflector's backoff, client-go's: 0.8 s, doubled up to 30 s, with as much again at random,
 * and from the beginning after two minutes without a wait. One backoff counts for the waits between
 * rounds, before a watch is opened again and before a streamed list is, so that a server that
 * refuses each in turn is not asked more often.
 *
 * It says when; retry_with_deadline.h says whether a watch that fails with 500 is tried at all. A
 * reflector whose rounds have a delay of their own (round_delay_ms) uses it for its watches alone.
 * Thread: the reflector's owner. */
#include "cache/reflector/reflector_int.h"

static const struct cor_backoff_opts backoff_opts = {
    .initial_ms = 800,
    .max_ms = 30000,
    .reset_ms = 120000,
    .factor = 2.0,
    .jitter = 1.0,
    .steps = COR_BACKOFF_STEPS_MAX,
};

void cor_reflector_backoff_init(struct cor_reflector *r)
{
    cor_backoff_init(&r->backoff, &backoff_opts, r->now_ms);
}

uint64_t cor_reflector_backoff_until(struct cor_reflector *r)
{
    return r->now_ms + cor_backoff_next(&r->backoff, r->now_ms, r->opts.rand);
}
