#include "base/clock.h"

#include <time.h>

#include "base/cleanup.h"

static uint64_t real_mono_us(__attribute__((unused)) const struct cor_clock *c)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static uint64_t real_coarse_ms(__attribute__((unused)) const struct cor_clock *c)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int64_t real_wall_ms(__attribute__((unused)) const struct cor_clock *c)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static const struct cor_clock_ops real_ops = {
    .mono_us = real_mono_us,
    .coarse_ms = real_coarse_ms,
    .wall_ms = real_wall_ms,
};

static const struct cor_clock real = {&real_ops};

const struct cor_clock *cor_clock_real(void)
{
    return &real;
}

static uint64_t manual_mono_us(const struct cor_clock *c)
{
    return atomic_load(&COR_CONTAINER_OF(c, struct cor_clock_manual, clock)->mono_us);
}

static uint64_t manual_coarse_ms(const struct cor_clock *c)
{
    return manual_mono_us(c) / 1000;
}

static int64_t manual_wall_ms(const struct cor_clock *c)
{
    return atomic_load(&COR_CONTAINER_OF(c, struct cor_clock_manual, clock)->wall_us) / 1000;
}

static const struct cor_clock_ops manual_ops = {
    .mono_us = manual_mono_us,
    .coarse_ms = manual_coarse_ms,
    .wall_ms = manual_wall_ms,
};

void cor_clock_manual_init(struct cor_clock_manual *m, uint64_t mono_ms, int64_t wall_ms)
{
    m->clock.ops = &manual_ops;
    atomic_init(&m->mono_us, mono_ms * 1000);
    atomic_init(&m->wall_us, wall_ms * 1000);
}

void cor_clock_manual_advance(struct cor_clock_manual *m, uint64_t ms)
{
    cor_clock_manual_advance_us(m, ms * 1000);
}

void cor_clock_manual_advance_us(struct cor_clock_manual *m, uint64_t us)
{
    atomic_fetch_add(&m->mono_us, us);
    atomic_fetch_add(&m->wall_us, (int64_t)us);
}

void cor_clock_manual_set_wall(struct cor_clock_manual *m, int64_t wall_ms)
{
    atomic_store(&m->wall_us, wall_ms * 1000);
}
