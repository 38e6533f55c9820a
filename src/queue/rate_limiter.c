/* clang-format off */
/* Rate limiters of work queues, after those of client-go: how long a key waits until it is tried
 * again.
 *
 *    exponential, fast_slow   count the failures of each key until it is forgotten
 *    bucket                   allows a rate over all keys
 *    max_of, capped           ask the limiters that they own
 *
 * A key that cannot be counted, for lack of memory or beyond the maximum of keys, waits as after
 * its first failure. Thread: under the lock of the queue that owns it. */
/* clang-format on */
#include "coracle/rate_limiter.h"

#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/token_bucket.h"

#define CONTROLLER_BASE_MS 5
#define CONTROLLER_MAX_MS  (1000 * 1000)
#define CONTROLLER_QPS     10
#define CONTROLLER_BURST   100

enum kind { EXPONENTIAL, FAST_SLOW, BUCKET, MAX_OF, CAPPED };

struct failures {
    uint32_t n;
    char key[];
};

struct cor_rate_limiter {
    enum kind kind;
    struct cor_map failures; /* key -> struct failures, of what counts per key */
    union {
        struct {
            uint64_t base_ms, max_ms;
        } exponential;
        struct {
            uint64_t fast_ms, slow_ms;
            uint32_t n_fast;
        } fast_slow;
        struct {
            struct cor_token_bucket bucket;
            bool begun; /* the bucket's clock has been set */
        } bucket;
        struct cor_rate_limiter *of[2];
        struct {
            struct cor_rate_limiter *of;
            uint64_t max_ms;
        } capped;
    };
};

static struct cor_rate_limiter *limiter_new(enum kind kind)
{
    struct cor_rate_limiter *l = cor_calloc(1, sizeof(*l));

    if (l) {
        l->kind = kind;
        cor_map_init(&l->failures, COR_RATE_LIMITER_KEYS_MAX);
    }
    return l;
}

struct cor_rate_limiter *cor_rate_limiter_new_exponential(uint64_t base_ms, uint64_t max_ms)
{
    struct cor_rate_limiter *l = limiter_new(EXPONENTIAL);

    if (l) {
        l->exponential.base_ms = base_ms;
        l->exponential.max_ms = max_ms;
    }
    return l;
}

struct cor_rate_limiter *cor_rate_limiter_new_fast_slow(uint64_t fast_ms, uint64_t slow_ms,
                                                        uint32_t n_fast)
{
    struct cor_rate_limiter *l = limiter_new(FAST_SLOW);

    if (l) {
        l->fast_slow.fast_ms = fast_ms;
        l->fast_slow.slow_ms = slow_ms;
        l->fast_slow.n_fast = n_fast;
    }
    return l;
}

struct cor_rate_limiter *cor_rate_limiter_new_bucket(double qps, uint32_t burst)
{
    struct cor_rate_limiter *l = limiter_new(BUCKET);

    if (l)
        cor_token_bucket_init(&l->bucket.bucket, qps, burst, 0);
    return l;
}

struct cor_rate_limiter *cor_rate_limiter_new_max_of(struct cor_rate_limiter *take_a,
                                                     struct cor_rate_limiter *take_b)
{
    struct cor_rate_limiter *l = take_a && take_b ? limiter_new(MAX_OF) : NULL;

    if (l) {
        l->of[0] = take_a;
        l->of[1] = take_b;
    } else {
        cor_rate_limiter_free(take_a);
        cor_rate_limiter_free(take_b);
    }
    return l;
}

struct cor_rate_limiter *cor_rate_limiter_new_capped(struct cor_rate_limiter *take, uint64_t max_ms)
{
    struct cor_rate_limiter *l = take ? limiter_new(CAPPED) : NULL;

    if (l) {
        l->capped.of = take;
        l->capped.max_ms = max_ms;
    } else {
        cor_rate_limiter_free(take);
    }
    return l;
}

struct cor_rate_limiter *cor_rate_limiter_new_controller(void)
{
    return cor_rate_limiter_new_max_of(
        cor_rate_limiter_new_exponential(CONTROLLER_BASE_MS, CONTROLLER_MAX_MS),
        cor_rate_limiter_new_bucket(CONTROLLER_QPS, CONTROLLER_BURST));
}

struct cor_rate_limiter *cor_rate_limiter_free(struct cor_rate_limiter *l)
{
    if (!l)
        return NULL;
    COR_MAP_FOREACH(it, &l->failures)
        cor_free(it.value);
    cor_map_deinit(&l->failures);
    if (l->kind == MAX_OF) {
        cor_rate_limiter_free(l->of[0]);
        cor_rate_limiter_free(l->of[1]);
    } else if (l->kind == CAPPED) {
        cor_rate_limiter_free(l->capped.of);
    }
    return cor_free(l);
}

/* Failures before this one. */
static uint32_t count_failure(struct cor_rate_limiter *l, const char *key)
{
    struct failures *f = cor_map_peek(&l->failures, cor_strz(key));
    size_t n = strlen(key);

    if (f)
        return f->n < UINT32_MAX ? f->n++ : f->n;
    f = cor_alloc(sizeof(*f) + n + 1);
    if (!f)
        return 0;
    f->n = 1;
    memcpy(f->key, key, n + 1);
    if (cor_map_put(&l->failures, cor_str(f->key, n), f, NULL) < 0)
        cor_free(f);
    return 0;
}

static uint64_t when_exponential(const struct cor_rate_limiter *l, uint32_t before)
{
    uint64_t max = l->exponential.max_ms, base = l->exponential.base_ms;

    if (base == 0)
        return 0;
    if (before >= 64 || base > max >> before)
        return max;
    return base << before;
}

static uint64_t when_bucket(struct cor_rate_limiter *l, uint64_t now_ms)
{
    uint64_t wait_ms = 0;

    if (!l->bucket.begun) {
        l->bucket.bucket.last_ms = now_ms;
        l->bucket.begun = true;
    }
    cor_token_bucket_reserve(&l->bucket.bucket, now_ms, UINT64_MAX, &wait_ms);
    return wait_ms;
}

uint64_t cor_rate_limiter_when(struct cor_rate_limiter *l, const char *key, uint64_t now_ms)
{
    uint64_t a, b;

    switch (l->kind) {
    case EXPONENTIAL:
        return when_exponential(l, count_failure(l, key));
    case FAST_SLOW:
        return count_failure(l, key) < l->fast_slow.n_fast ? l->fast_slow.fast_ms
                                                           : l->fast_slow.slow_ms;
    case BUCKET:
        return when_bucket(l, now_ms);
    case CAPPED:
        a = cor_rate_limiter_when(l->capped.of, key, now_ms);
        return a < l->capped.max_ms ? a : l->capped.max_ms;
    case MAX_OF:
        break;
    }
    a = cor_rate_limiter_when(l->of[0], key, now_ms);
    b = cor_rate_limiter_when(l->of[1], key, now_ms);
    return a > b ? a : b;
}

void cor_rate_limiter_forget(struct cor_rate_limiter *l, const char *key)
{
    if (l->kind == MAX_OF) {
        cor_rate_limiter_forget(l->of[0], key);
        cor_rate_limiter_forget(l->of[1], key);
    } else if (l->kind == CAPPED) {
        cor_rate_limiter_forget(l->capped.of, key);
    } else {
        cor_free(cor_map_remove(&l->failures, cor_strz(key)));
    }
}

uint32_t cor_rate_limiter_requeues(const struct cor_rate_limiter *l, const char *key)
{
    const struct failures *f = cor_map_peek(&l->failures, cor_strz(key));
    uint32_t a, b;

    if (l->kind == CAPPED)
        return cor_rate_limiter_requeues(l->capped.of, key);
    if (l->kind != MAX_OF)
        return f ? f->n : 0;
    a = cor_rate_limiter_requeues(l->of[0], key);
    b = cor_rate_limiter_requeues(l->of[1], key);
    return a > b ? a : b;
}
