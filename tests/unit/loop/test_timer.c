#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "test.h"

#define TIMERS      200
#define PATIENCE_MS 60000

struct probe {
    struct cor_timer timer;
    uint64_t fired_at_ms;
    int fired;
    int again; /* how often to set itself again */
    uint64_t again_ms;
    struct probe *victim; /* cancelled by the callback */
};

static struct probe probes[TIMERS];
static struct probe *order[TIMERS * 4];
static size_t norder;

static void on_probe(struct cor_timer *timer)
{
    struct probe *p = COR_CONTAINER_OF(timer, struct probe, timer);

    assert_false(cor_timer_is_set(timer));
    p->fired++;
    p->fired_at_ms = cor_loop_now_ms(timer->loop);
    order[norder++] = p;
    if (p->victim)
        cor_timer_cancel(&p->victim->timer);
    if (p->again > 0) {
        p->again--;
        assert_int_equal(cor_timer_set(timer, p->again_ms), 0);
    }
}

static struct cor_loop *begin(void)
{
    struct cor_loop *loop;

    assert_int_equal(cor_loop_new(8, &loop), 0);
    memset(probes, 0, sizeof(probes));
    for (size_t i = 0; i < TIMERS; i++)
        cor_timer_init(&probes[i].timer, loop, on_probe);
    norder = 0;
    return loop;
}

static bool fired_in_total(void *arg)
{
    return norder >= *(size_t *)arg;
}

static void run_until_fired(struct cor_loop *loop, size_t n)
{
    assert_true(cor_loop_run_until(loop, fired_in_total, &n, PATIENCE_MS));
    assert_int_equal(norder, n);
}

TEST(timer, fires_once_and_not_early)
{
    struct cor_loop *loop = begin();
    uint64_t before_ms = cor_loop_now_ms(loop);

    assert_int_equal(cor_timer_set(&probes[0].timer, 15), 0);
    assert_true(cor_timer_is_set(&probes[0].timer));
    assert_int_equal(norder, 0);
    run_until_fired(loop, 1);
    assert_true(probes[0].fired_at_ms >= before_ms + 15);
    assert_false(cor_timer_is_set(&probes[0].timer));
    cor_loop_free(loop);
}

TEST(timer, fire_in_the_order_of_due_times_and_equal_ones_in_the_order_of_setting)
{
    struct cor_loop *loop = begin();

    for (size_t i = 0; i < TIMERS; i++)
        assert_int_equal(cor_timer_set(&probes[i].timer, test_random() % 10), 0);
    run_until_fired(loop, TIMERS);
    for (size_t i = 1; i < TIMERS; i++) {
        const struct cor_timer *a = &order[i - 1]->timer, *b = &order[i]->timer;

        assert_true(a->due.at < b->due.at || (a->due.at == b->due.at && a < b));
    }
    cor_loop_free(loop);
}

TEST(timer, a_cancelled_one_does_not_fire_and_its_memory_may_go)
{
    struct cor_loop *loop = begin();
    struct probe *gone = cor_calloc(1, sizeof(*gone));

    assert_non_null(gone);
    cor_timer_init(&gone->timer, loop, on_probe);
    cor_timer_cancel(&gone->timer);
    assert_int_equal(cor_timer_set(&gone->timer, 0), 0);
    assert_int_equal(cor_timer_set(&probes[0].timer, 1), 0);
    cor_timer_cancel(&gone->timer);
    assert_false(cor_timer_is_set(&gone->timer));
    cor_free(gone);
    run_until_fired(loop, 1);
    assert_ptr_equal(order[0], &probes[0]);
    cor_loop_free(loop);
}

TEST(timer, a_callback_may_cancel_one_that_is_due_in_the_same_turn)
{
    struct cor_loop *loop = begin();

    probes[0].victim = &probes[1];
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(cor_timer_set(&probes[i].timer, 0), 0);
    run_until_fired(loop, 2);
    assert_int_equal(probes[1].fired, 0);
    assert_ptr_equal(order[1], &probes[2]);
    cor_loop_free(loop);
}

TEST(timer, setting_again_moves_it)
{
    struct cor_loop *loop = begin();

    assert_int_equal(cor_timer_set(&probes[0].timer, 1000000), 0);
    assert_int_equal(cor_timer_set(&probes[1].timer, 2), 0);
    assert_int_equal(cor_timer_set(&probes[0].timer, 1), 0);
    assert_int_equal(cor_timer_set(&probes[2].timer, 0), 0);
    assert_int_equal(cor_timer_set(&probes[2].timer, 1000000), 0);
    run_until_fired(loop, 2);
    assert_ptr_equal(order[0], &probes[0]);
    assert_ptr_equal(order[1], &probes[1]);
    assert_true(cor_timer_is_set(&probes[2].timer));
    cor_timer_cancel(&probes[2].timer);
    cor_loop_free(loop);
}

TEST(timer, may_set_itself_again_in_its_callback)
{
    struct cor_loop *loop = begin();

    probes[0].again = 3;
    probes[0].again_ms = 1;
    assert_int_equal(cor_timer_set(&probes[0].timer, 1), 0);
    run_until_fired(loop, 4);
    assert_int_equal(probes[0].fired, 4);
    cor_loop_free(loop);
}

static void on_mail(struct cor_mail *mail)
{
    mail->on_mail = NULL;
}

static bool mail_came(void *arg)
{
    return ((struct cor_mail *)arg)->on_mail == NULL;
}

/* Were it run again in the same turn, the loop would never come to its mail. */
TEST(timer, one_that_sets_itself_for_now_lets_the_loop_do_its_other_work)
{
    struct cor_loop *loop = begin();
    struct cor_mail mail = {.on_mail = on_mail};

    probes[0].again = 300;
    assert_int_equal(cor_timer_set(&probes[0].timer, 0), 0);
    assert_int_equal(cor_loop_post(loop, &mail), 0);
    assert_true(cor_loop_run_until(loop, mail_came, &mail, PATIENCE_MS));
    assert_true(probes[0].fired < 10);
    cor_timer_cancel(&probes[0].timer);
    cor_loop_free(loop);
}

TEST(timer, a_delay_without_end_does_not_overflow)
{
    struct cor_loop *loop = begin();

    assert_int_equal(cor_timer_set(&probes[0].timer, UINT64_MAX), 0);
    assert_int_equal(cor_timer_set(&probes[1].timer, UINT64_MAX - 1), 0);
    assert_int_equal(cor_timer_set(&probes[2].timer, 1), 0);
    run_until_fired(loop, 1);
    cor_timer_cancel(&probes[0].timer);
    cor_timer_cancel(&probes[1].timer);
    cor_loop_free(loop);
}

TEST(timer, the_heap_stays_in_order_through_random_changes)
{
    struct cor_loop *loop = begin();
    size_t left = 0;

    for (int round = 0; round < 5000; round++) {
        struct probe *p = &probes[test_random() % TIMERS];

        if (test_random() % 3)
            assert_int_equal(cor_timer_set(&p->timer, test_random() % 8), 0);
        else
            cor_timer_cancel(&p->timer);
    }
    for (size_t i = 0; i < TIMERS; i++)
        left += cor_timer_is_set(&probes[i].timer);
    run_until_fired(loop, left);
    for (size_t i = 1; i < norder; i++) {
        const struct cor_timer *a = &order[i - 1]->timer, *b = &order[i]->timer;

        assert_true(a->due.at < b->due.at || (a->due.at == b->due.at && a->due.seq < b->due.seq));
    }
    cor_loop_free(loop);
}

TEST(timer, is_as_it_was_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_loop *loop;
        size_t set = 0;

        if (cor_loop_new(8, &loop) < 0)
            continue;
        norder = 0;
        for (size_t i = 0; i < 100; i++) {
            int r;

            cor_timer_init(&probes[i].timer, loop, on_probe);
            probes[i].again = 0;
            probes[i].victim = NULL;
            r = cor_timer_set(&probes[i].timer, 0);
            assert_true(r == 0 || r == -COR_ENOMEM);
            assert_int_equal(cor_timer_is_set(&probes[i].timer), r == 0);
            set += r == 0;
        }
        run_until_fired(loop, set);
        cor_loop_free(loop);
    }
}
