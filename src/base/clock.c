#include "base/clock.h"

#include <time.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"

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

/* A moment late enough that nothing subtracts its way below zero. */
#define MANUAL_MONO_MS 1000000
#define MANUAL_WALL_MS INT64_C(1700000000000)

int cor_clock_manual_new(struct cor_clock_manual **ret_clock)
{
    struct cor_clock_manual *m = cor_alloc(sizeof(*m));

    if (!m)
        return -COR_ENOMEM;
    cor_clock_manual_init(m, MANUAL_MONO_MS, MANUAL_WALL_MS);
    *ret_clock = m;
    return 0;
}

struct cor_clock_manual *cor_clock_manual_free(struct cor_clock_manual *m)
{
    return cor_free(m);
}

const struct cor_clock *cor_clock_manual_peek(const struct cor_clock_manual *m)
{
    return &m->clock;
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
