#include "base/rand.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* A request of at most 256 bytes is never cut short, and fails only on a kernel without getrandom:
 * going on with guessable numbers would be worse than stopping. */
static void refill(struct cor_rand *r)
{
    ssize_t n;

    do
        n = getrandom(r->pool, sizeof(r->pool), 0);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(r->pool))
        abort();
    r->pooled = COR_RAND_POOL;
}

void cor_rand_init(struct cor_rand *r)
{
    memset(r, 0, sizeof(*r));
}

static uint64_t splitmix(uint64_t *x)
{
    uint64_t z = (*x += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void cor_rand_init_seeded(struct cor_rand *r, uint64_t seed)
{
    memset(r, 0, sizeof(*r));
    r->seeded = true;
    for (int i = 0; i < 4; i++)
        r->state[i] = splitmix(&seed);
}

static uint64_t rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

static uint64_t xoshiro(uint64_t s[4])
{
    uint64_t out = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return out;
}

uint64_t cor_rand_u64(struct cor_rand *r)
{
    uint64_t v;

    if (r->seeded)
        return xoshiro(r->state);
    if (r->pooled == 0)
        refill(r);
    v = r->pool[--r->pooled];
    r->pool[r->pooled] = 0;
    return v;
}

uint64_t cor_rand_below(struct cor_rand *r, uint64_t n)
{
    uint64_t skip, v;

    assert(n > 0);
    skip = -n % n; /* 2^64 mod n: the numbers below it would come up once too often */
    do
        v = cor_rand_u64(r);
    while (v < skip);
    return v % n;
}

double cor_rand_unit(struct cor_rand *r)
{
    return (double)(cor_rand_u64(r) >> 11) * 0x1p-53;
}

void cor_rand_bytes(struct cor_rand *r, void *p, size_t n)
{
    unsigned char *to = p;

    while (n > 0) {
        uint64_t v = cor_rand_u64(r);
        size_t take = n < sizeof(v) ? n : sizeof(v);

        memcpy(to, &v, take);
        to += take;
        n -= take;
    }
}
