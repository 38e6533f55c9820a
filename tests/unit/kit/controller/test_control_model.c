/* The control loop beside a model on seeds: what must still happen to each key, while events,
 * results, time, failed allocations and a stop come at random. */
#include "base/rand.h"
#include "control_fixture.h"

#define KEYS 6

struct model {
    struct bench *b;
    struct cor_rand rand;
    bool owed[KEYS];    /* an event or a result asks for a reconcile that has not begun */
    bool ready[KEYS];   /* the same of an event, which has no delay */
    size_t asked[KEYS]; /* how many events and results asked, less the reconciles that began */
    struct cor_reconcile *now[KEYS];
    size_t under_way;
    bool is_stopping;
};

static void model_reconcile(void *arg, struct cor_reconcile *rec)
{
    struct model *m = arg;
    size_t k = (size_t)(rec->name.p[0] - 'a');

    assert_true(k < KEYS && !m->is_stopping);
    assert_null(m->now[k]);       /* never two reconciles of one key */
    assert_true(m->asked[k] > 0); /* never one that nobody asked for */
    m->asked[k]--;
    m->owed[k] = m->ready[k] = false;
    m->now[k] = rec;
    assert_true(++m->under_way <= 3);
}

static void model_cancel(void *arg, struct cor_reconcile *rec)
{
    assert_true(((struct model *)arg)->is_stopping && rec->is_cancelled);
}

static void model_wake_at(void *arg, uint64_t at_ms)
{
    scripted_wake_at(&((struct model *)arg)->b->sp, at_ms);
}

static void model_stopped(void *arg, const struct cor_status *why)
{
    struct model *m = arg;

    assert_true(m->is_stopping && m->under_way == 0 && !why);
    m->b->is_stopped = true;
}

static void model_finish(struct model *m, size_t k, bool succeed)
{
    static const struct cor_reconcile_result results[] = {
        {0},
        {.err = -COR_EIO},
        {.is_terminal = true},
        {.again = true},
        {.again_after_ms = 40},
        {.err = -COR_EIO, .again_after_ms = 40},
    };
    size_t which = succeed ? 0 : cor_rand_below(&m->rand, COR_ARRAY_LEN(results));
    struct cor_reconcile *rec = m->now[k];

    m->now[k] = NULL;
    m->under_way--;
    if (which != 0 && which != 2) {
        m->owed[k] = true;
        m->asked[k]++;
    }
    cor_reconcile_done(rec, &results[which]);
}

/* No key waits while there is a free slot, but for one that is parked. */
static void model_check_slots(struct model *m)
{
    struct cor_control_loop_stats stats;

    cor_control_loop_stats(m->b->l, &stats);
    for (size_t k = 0; k < KEYS && stats.active == m->under_way; k++)
        assert_true(!m->ready[k] || m->now[k] || m->under_way == 3);
}

static void model_step(struct model *m)
{
    size_t k = cor_rand_below(&m->rand, KEYS);
    char name[2] = {(char)('a' + k), '\0'};
    bool fails = cor_rand_below(&m->rand, 8) == 0;
    int r;

    if (fails)
        test_fail_alloc(1, true);
    switch (cor_rand_below(&m->rand, 4)) {
    case 0:
        r = cor_control_loop_enqueue(m->b->l, COR_STR("ns"), cor_strz(name), 0);
        assert_true(r == 0 || (r == -COR_ENOMEM && fails));
        m->owed[k] |= r == 0;
        m->ready[k] |= r == 0;
        m->asked[k] += r == 0;
        break;
    case 1:
        if (m->now[k])
            model_finish(m, k, false);
        break;
    default:
        test_fail_alloc(0, false);
        scripted_run(&m->b->sp, cor_rand_below(&m->rand, 60));
        model_check_slots(m);
    }
    test_fail_alloc(0, false);
}

static void model_run(uint64_t seed)
{
    struct bench b;
    struct model m = {.b = &b};
    uint64_t steps;

    cor_rand_init_seeded(&m.rand, seed);
    bench_init(&b);
    b.opts.reconciles_max = 3;
    b.opts.take_limiter = cor_rate_limiter_new_exponential(5, 100);
    b.opts.reconcile = model_reconcile;
    b.opts.on_cancel = model_cancel;
    b.opts.on_report = NULL;
    b.opts.on_stopped = model_stopped;
    b.opts.wake_at = model_wake_at;
    b.opts.arg = &m;
    bench_run(&b);
    /* In a short history a key that was lost is not hidden by a later event of the same key. */
    steps = 1 + cor_rand_below(&m.rand, cor_rand_below(&m.rand, 4) == 0 ? 400 : 40);
    for (uint64_t i = 0; i < steps; i++)
        model_step(&m);
    if (cor_rand_below(&m.rand, 2) == 0) {
        /* Everything that is owed happens when the reconciles succeed. */
        for (int i = 0; i < 40; i++) {
            scripted_run(&b.sp, COR_CONTROL_PARK_MS);
            for (size_t k = 0; k < KEYS; k++)
                if (m.now[k])
                    model_finish(&m, k, true);
        }
        for (size_t k = 0; k < KEYS; k++)
            assert_false(m.owed[k]);
        assert_int_equal(queued(&b), 0);
    }
    m.is_stopping = true;
    cor_control_loop_stop(b.l, 1000);
    scripted_run(&b.sp, cor_rand_below(&m.rand, 900));
    for (size_t k = 0; k < KEYS; k++)
        if (m.now[k])
            model_finish(&m, k, false);
    turn(&b);
    assert_true(b.is_stopped);
    cor_control_loop_free(b.l);
    scripted_port_deinit(&b.sp);
}

TEST(controller, no_key_is_lost_and_none_runs_twice_at_once_on_seeds)
{
    for (int i = 0; i < 2000; i++)
        model_run(test_random());
}
