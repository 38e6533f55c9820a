#include "sim_time.h"

#include "base/cleanup.h"
#include "sim_check.h"

void sim_time_init(struct sim_time *t, uint64_t seed)
{
    *t = (struct sim_time){0};
    cor_clock_manual_init(&t->clk, 1000, 0);
    cor_rand_init_seeded(&t->rand, seed);
}

void sim_time_deinit(struct sim_time *t)
{
    cor_due_heap_deinit(&t->heap);
}

uint64_t sim_now(const struct sim_time *t)
{
    return cor_clock_mono_ms(&t->clk.clock);
}

void sim_event_init(struct sim_event *e, void (*fn)(struct sim_event *event))
{
    cor_due_init(&e->due);
    e->fn = fn;
}

void sim_at(struct sim_time *t, struct sim_event *e, uint64_t at_ms)
{
    uint64_t now = sim_now(t);

    sim_check(cor_due_heap_put(&t->heap, &e->due, at_ms > now ? at_ms : now) == 0, "memory");
}

void sim_in(struct sim_time *t, struct sim_event *e, uint64_t min_ms, uint64_t max_ms)
{
    sim_at(t, e, sim_now(t) + sim_between(t, min_ms, max_ms));
}

void sim_cancel(struct sim_time *t, struct sim_event *e)
{
    cor_due_heap_remove(&t->heap, &e->due);
}

bool sim_turn(struct sim_time *t)
{
    struct cor_due *due = cor_due_heap_peek(&t->heap);
    struct sim_event *e;

    if (!due)
        return false;
    e = COR_CONTAINER_OF(due, struct sim_event, due);
    cor_due_heap_remove(&t->heap, due);
    if (due->at > sim_now(t))
        cor_clock_manual_advance(&t->clk, due->at - sim_now(t));
    e->fn(e);
    return true;
}

bool sim_chance(struct sim_time *t, unsigned percent)
{
    return cor_rand_below(&t->rand, 100) < percent;
}

uint64_t sim_between(struct sim_time *t, uint64_t low, uint64_t high)
{
    return low + cor_rand_below(&t->rand, high - low + 1);
}
