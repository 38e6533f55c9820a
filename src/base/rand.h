/* Randomness behind a seam: the kernel's in production, a seeded sequence where a run must repeat.
 * Owner: whoever embeds it.  Thread: one at a time. */
#ifndef COR_BASE_RAND_H
#define COR_BASE_RAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COR_RAND_POOL 32

struct cor_rand {
    bool seeded;
    uint64_t state[4];            /* seeded: xoshiro256** */
    uint64_t pool[COR_RAND_POOL]; /* kernel: numbers drawn ahead, cleared as they are used */
    size_t pooled;
};

/* Numbers of the kernel's generator, drawn 256 bytes at a time; fit for secrets. */
void cor_rand_init(struct cor_rand *r);

/* The same seed gives the same numbers on every machine. Never for secrets. */
void cor_rand_init_seeded(struct cor_rand *r, uint64_t seed);

uint64_t cor_rand_u64(struct cor_rand *r);

/* Uniform in [0, n), without bias; `n` is not 0. */
uint64_t cor_rand_below(struct cor_rand *r, uint64_t n);

/* Uniform in [0, 1). */
double cor_rand_unit(struct cor_rand *r);

void cor_rand_bytes(struct cor_rand *r, void *p, size_t n);

#endif
