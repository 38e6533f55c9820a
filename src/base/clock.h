/* Time behind a seam: the machine's clocks, or a clock that a test drives.
 * Monotonic time only grows and means nothing between processes; wall time is Unix time and may
 * jump. Thread: any.  Owner: the real clock is static; a manual one is its embedder's. */
#ifndef COR_BASE_CLOCK_H
#define COR_BASE_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>

#include "coracle/clock.h"

struct cor_clock_ops {
    uint64_t (*mono_us)(const struct cor_clock *c);
    uint64_t (*coarse_ms)(const struct cor_clock *c);
    int64_t (*wall_ms)(const struct cor_clock *c);
};

/* Passed around as `const struct cor_clock *`; embedded as the first part of an implementation. */
struct cor_clock {
    const struct cor_clock_ops *ops;
};

/* The machine's clocks. */
const struct cor_clock *cor_clock_real(void);

/* For latencies; timeouts and algorithms use milliseconds. */
static inline uint64_t cor_clock_mono_us(const struct cor_clock *c)
{
    return c->ops->mono_us(c);
}

static inline uint64_t cor_clock_mono_ms(const struct cor_clock *c)
{
    return cor_clock_mono_us(c) / 1000;
}

/* Monotonic time as of the kernel's last tick, a few milliseconds ago at most: for code that asks
 * after every small step. It is not to be compared with cor_clock_mono_ms(). */
static inline uint64_t cor_clock_coarse_ms(const struct cor_clock *c)
{
    return c->ops->coarse_ms(c);
}

/* Milliseconds since 1970-01-01T00:00:00Z. */
static inline int64_t cor_clock_wall_ms(const struct cor_clock *c)
{
    return c->ops->wall_ms(c);
}

/* A clock that stands still until it is moved; hand out `&m->clock`. Any thread may read it while
 * another moves it. */
struct cor_clock_manual {
    struct cor_clock clock;
    _Atomic uint64_t mono_us;
    _Atomic int64_t wall_us;
};

void cor_clock_manual_init(struct cor_clock_manual *m, uint64_t mono_ms, int64_t wall_ms);

/* Moves both clocks forward; cor_clock_manual_advance() is public. */
void cor_clock_manual_advance_us(struct cor_clock_manual *m, uint64_t us);

#endif
