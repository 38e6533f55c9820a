/* How long a key must wait before the next attempt: client-go's rate limiters. A limiter belongs to
 * one work queue, which calls it under its lock; `now_ms` is the time of the queue's clock. Thread:
 * one at a time.  Owner: the program that made it, until a queue takes it. */
#ifndef CORACLE_RATE_LIMITER_H
#define CORACLE_RATE_LIMITER_H

#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_rate_limiter;

/* A limiter remembers the keys that have failed until they are forgotten. Beyond this number it
 * treats further keys as if they had never failed. */
#define COR_RATE_LIMITER_KEYS_MAX (1u << 20)

/* Per key: base * 2^(failures so far), at most max. NULL when out of memory, as for all of these.
 */
COR_API struct cor_rate_limiter *cor_rate_limiter_new_exponential(uint64_t base_ms,
                                                                  uint64_t max_ms);

/* Per key: `fast_ms` for the first `n_fast` tries, then `slow_ms`. */
COR_API struct cor_rate_limiter *cor_rate_limiter_new_fast_slow(uint64_t fast_ms, uint64_t slow_ms,
                                                                uint32_t n_fast);

/* Makes a limiter in which all keys share a token bucket: `qps` tokens per second, and `burst` at
 * once. When the bucket is empty, a key takes the next future token, so that delays grow with the
 * number of waiting keys. `qps` is above 0, `burst` at least 1. */
COR_API struct cor_rate_limiter *cor_rate_limiter_new_bucket(double qps, uint32_t burst);

/* The longer delay of two limiters; both count the failures. Takes `a` and `b`, also when it fails;
 * NULL when one of them is NULL, so that constructors can be nested. */
COR_API struct cor_rate_limiter *cor_rate_limiter_new_max_of(struct cor_rate_limiter *take_a,
                                                             struct cor_rate_limiter *take_b);

/* The delays of another limiter, at most `max_ms`. Takes the other limiter, also when it fails;
 * NULL when that is NULL. */
COR_API struct cor_rate_limiter *cor_rate_limiter_new_capped(struct cor_rate_limiter *take,
                                                             uint64_t max_ms);

/* The default of controllers: the longer delay of an exponential limiter of 5 ms to 1000 s and a
 * bucket of 10 qps and burst 100. */
COR_API struct cor_rate_limiter *cor_rate_limiter_new_controller(void);

/* Frees a limiter that no queue and no other limiter has taken. Returns NULL; NULL is allowed. */
COR_API struct cor_rate_limiter *cor_rate_limiter_free(struct cor_rate_limiter *l);

/* Counts a failure of the key and returns its delay in milliseconds. Without memory the key is
 * treated as if it had never failed. */
COR_API uint64_t cor_rate_limiter_when(struct cor_rate_limiter *l, const char *key,
                                       uint64_t now_ms);

/* Forgets the failures of the key. */
COR_API void cor_rate_limiter_forget(struct cor_rate_limiter *l, const char *key);

/* Failures since the key was last forgotten. */
COR_API uint32_t cor_rate_limiter_requeues(const struct cor_rate_limiter *l, const char *key);

#ifdef __cplusplus
}
#endif

#endif
