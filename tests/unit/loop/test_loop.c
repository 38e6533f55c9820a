#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "test.h"

#define PATIENCE_MS 60000

static bool never(__attribute__((unused)) void *arg)
{
    return false;
}

static bool always(__attribute__((unused)) void *arg)
{
    return true;
}

static bool is_set(void *arg)
{
    return atomic_load((atomic_bool *)arg);
}

TEST(loop, runs_until_done_or_until_the_time_is_over)
{
    struct cor_loop *loop;
    uint64_t before_ms;

    assert_int_equal(cor_loop_new(8, &loop), 0);
    assert_true(cor_loop_run_until(loop, always, NULL, 0));
    before_ms = cor_loop_now_ms(loop);
    assert_false(cor_loop_run_until(loop, never, NULL, 10));
    assert_true(cor_loop_now_ms(loop) >= before_ms + 10);
    assert_false(cor_loop_run_until(loop, never, NULL, 0));
    cor_loop_free(loop);
}

struct note {
    struct cor_mail mail;
    bool has_come;
};

static void on_note(struct cor_mail *mail)
{
    COR_CONTAINER_OF(mail, struct note, mail)->has_come = true;
}

TEST(loop, takes_what_is_ready_when_it_is_given_no_time)
{
    struct cor_loop *loop;
    struct note note = {.mail.on_mail = on_note};

    assert_int_equal(cor_loop_new(8, &loop), 0);
    for (int i = 0; i < 2; i++) {
        note.has_come = false;
        assert_int_equal(cor_loop_post(loop, &note.mail), 0);
        assert_false(cor_loop_run_until(loop, never, NULL, 0));
        assert_true(note.has_come);
    }
    cor_loop_free(loop);
}

TEST(loop, free_takes_null)
{
    assert_null(cor_loop_free(NULL));
}

TEST(loop, the_maker_is_current_until_the_start)
{
    struct cor_loop *loop;

    assert_int_equal(cor_loop_new(8, &loop), 0);
    assert_true(cor_loop_is_current(loop));
    assert_int_equal(cor_loop_start(loop, "test"), 0);
    assert_false(cor_loop_is_current(loop));
    cor_loop_stop(loop);
    assert_true(cor_loop_is_current(loop));
    cor_loop_free(loop);
}

struct question {
    struct cor_mail mail;
    struct cor_loop *here, *home;
    bool was_current;
    char name[16];
    atomic_bool answered;
};

static void on_answer(struct cor_mail *mail)
{
    struct question *q = COR_CONTAINER_OF(mail, struct question, mail);

    atomic_store(&q->answered, cor_loop_is_current(q->home));
}

static void on_question(struct cor_mail *mail)
{
    struct question *q = COR_CONTAINER_OF(mail, struct question, mail);

    q->was_current = cor_loop_is_current(q->here);
    pthread_getname_np(pthread_self(), q->name, sizeof(q->name));
    q->mail.on_mail = on_answer;
    cor_loop_post_always(q->home, &q->mail);
}

TEST(loop, a_question_goes_to_a_loops_thread_and_its_answer_comes_home)
{
    struct question q = {.mail.on_mail = on_question};

    assert_int_equal(cor_loop_new(8, &q.home), 0);
    assert_int_equal(cor_loop_new(8, &q.here), 0);
    assert_int_equal(cor_loop_start(q.here, "a-name-that-is-too-long"), 0);
    assert_int_equal(cor_loop_post(q.here, &q.mail), 0);
    assert_true(cor_loop_run_until(q.home, is_set, &q.answered, PATIENCE_MS));
    assert_true(q.was_current);
    assert_string_equal(q.name, "a-name-that-is-");
    cor_loop_stop(q.here);
    cor_loop_free(q.here);
    cor_loop_free(q.home);
}

#define SENDERS    4
#define PER_SENDER 2000

struct flood {
    struct cor_loop *loop;
    int next[SENDERS]; /* loop's thread */
    size_t n;          /* loop's thread */
    bool in_order;
    atomic_bool complete;
};

struct drop {
    struct cor_mail mail;
    struct flood *flood;
    int sender, number;
};

static struct drop drops[SENDERS][PER_SENDER];

static void on_drop(struct cor_mail *mail)
{
    struct drop *d = COR_CONTAINER_OF(mail, struct drop, mail);
    struct flood *f = d->flood;

    f->in_order &= d->number == f->next[d->sender]++ && cor_loop_is_current(f->loop);
    if (++f->n == SENDERS * PER_SENDER)
        atomic_store(&f->complete, true);
}

/* The mailbox holds less than is sent: a refused mail is the sender's to try again. */
static void *pour(void *arg)
{
    struct drop *mine = arg;

    for (int i = 0; i < PER_SENDER; i++) {
        while (cor_loop_post(mine[i].flood->loop, &mine[i].mail) == -COR_EBUSY)
            sched_yield();
    }
    return NULL;
}

static void fill_flood(struct flood *f)
{
    *f = (struct flood){.in_order = true};
    for (int s = 0; s < SENDERS; s++) {
        for (int i = 0; i < PER_SENDER; i++)
            drops[s][i] = (struct drop){{.on_mail = on_drop}, f, s, i};
    }
}

TEST(loop, many_threads_post_to_a_thread_of_its_own)
{
    pthread_t threads[SENDERS];
    struct flood f;

    fill_flood(&f);
    assert_int_equal(cor_loop_new(64, &f.loop), 0);
    assert_int_equal(cor_loop_start(f.loop, "flood"), 0);
    for (int s = 0; s < SENDERS; s++)
        assert_int_equal(pthread_create(&threads[s], NULL, pour, drops[s]), 0);
    for (int s = 0; s < SENDERS; s++)
        pthread_join(threads[s], NULL);
    cor_loop_stop(f.loop);
    assert_true(atomic_load(&f.complete));
    assert_true(f.in_order);
    cor_loop_free(f.loop);
}

TEST(loop, many_threads_post_to_a_loop_that_its_maker_runs)
{
    pthread_t threads[SENDERS];
    struct flood f;

    fill_flood(&f);
    assert_int_equal(cor_loop_new(64, &f.loop), 0);
    for (int s = 0; s < SENDERS; s++)
        assert_int_equal(pthread_create(&threads[s], NULL, pour, drops[s]), 0);
    assert_true(cor_loop_run_until(f.loop, is_set, &f.complete, PATIENCE_MS));
    for (int s = 0; s < SENDERS; s++)
        pthread_join(threads[s], NULL);
    assert_true(f.in_order);
    cor_loop_free(f.loop);
}

static void on_count(struct cor_mail *mail)
{
    mail->on_mail = NULL;
}

TEST(loop, refuses_more_mail_than_its_maximum)
{
    struct cor_mail a = {.on_mail = on_count}, b = {.on_mail = on_count};
    struct cor_loop *loop;

    assert_int_equal(cor_loop_new(1, &loop), 0);
    assert_int_equal(cor_loop_post(loop, &a), 0);
    assert_int_equal(cor_loop_post(loop, &b), -COR_EBUSY);
    cor_loop_post_always(loop, &b);
    cor_loop_free(loop);
    assert_null(a.on_mail);
    assert_null(b.on_mail);
}

TEST(loop, delivers_before_it_stops_what_was_posted_before)
{
    for (int round = 0; round < 50; round++) {
        struct cor_mail mail = {.on_mail = on_count};
        struct cor_loop *loop;

        assert_int_equal(cor_loop_new(1, &loop), 0);
        assert_int_equal(cor_loop_start(loop, "brief"), 0);
        assert_int_equal(cor_loop_post(loop, &mail), 0);
        cor_loop_stop(loop);
        assert_null(mail.on_mail);
        cor_loop_free(loop);
    }
}

TEST(loop, may_be_run_here_after_its_thread_was_stopped_and_started_again)
{
    atomic_bool answered = false;
    struct cor_loop *loop;

    assert_int_equal(cor_loop_new(8, &loop), 0);
    for (int round = 0; round < 3; round++) {
        struct question q = {.mail.on_mail = on_answer, .home = loop};

        assert_int_equal(cor_loop_start(loop, "again"), 0);
        cor_loop_stop(loop);
        assert_int_equal(cor_loop_post(loop, &q.mail), 0);
        assert_true(cor_loop_run_until(loop, is_set, &q.answered, PATIENCE_MS));
        assert_false(cor_loop_run_until(loop, is_set, &answered, 1));
    }
    cor_loop_free(loop);
}

struct shot {
    struct cor_timer timer;
    struct cor_mail mail;
    struct cor_loop *home;
    bool was_current;
    atomic_bool heard;
};

static void on_heard(struct cor_mail *mail)
{
    atomic_store(&COR_CONTAINER_OF(mail, struct shot, mail)->heard, true);
}

static void on_shot(struct cor_timer *timer)
{
    struct shot *s = COR_CONTAINER_OF(timer, struct shot, timer);

    s->was_current = cor_loop_is_current(timer->loop);
    s->mail.on_mail = on_heard;
    cor_loop_post_always(s->home, &s->mail);
}

static void on_set_shot(struct cor_mail *mail)
{
    struct shot *s = COR_CONTAINER_OF(mail, struct shot, mail);

    assert_int_equal(cor_timer_set(&s->timer, 1), 0);
}

TEST(loop, timers_set_before_the_start_and_by_mail_fire_on_the_loops_thread)
{
    struct shot before = {.was_current = false}, later = {.mail.on_mail = on_set_shot};
    struct cor_loop *loop, *here;

    assert_int_equal(cor_loop_new(8, &loop), 0);
    assert_int_equal(cor_loop_new(8, &here), 0);
    cor_timer_init(&before.timer, loop, on_shot);
    cor_timer_init(&later.timer, loop, on_shot);
    before.home = later.home = here;
    assert_int_equal(cor_timer_set(&before.timer, 1), 0);
    assert_int_equal(cor_loop_start(loop, "timers"), 0);
    assert_int_equal(cor_loop_post(loop, &later.mail), 0);
    assert_true(cor_loop_run_until(here, is_set, &before.heard, PATIENCE_MS));
    assert_true(cor_loop_run_until(here, is_set, &later.heard, PATIENCE_MS));
    cor_loop_stop(loop);
    assert_true(before.was_current && later.was_current);
    cor_loop_free(loop);
    cor_loop_free(here);
}

struct clock_probe {
    struct cor_timer first, second;
    uint64_t first_ms, second_ms;
    int fired;
};

static void on_first(struct cor_timer *timer)
{
    struct clock_probe *p = COR_CONTAINER_OF(timer, struct clock_probe, first);

    p->fired++;
    p->first_ms = cor_loop_now_ms(timer->loop);
    for (uint64_t end_us = cor_clock_mono_us(cor_clock_real()) + 4000;
         cor_clock_mono_us(cor_clock_real()) < end_us;)
        ;
}

static void on_second(struct cor_timer *timer)
{
    struct clock_probe *p = COR_CONTAINER_OF(timer, struct clock_probe, second);

    p->fired++;
    p->second_ms = cor_loop_now_ms(timer->loop);
}

static bool both_fired(void *arg)
{
    return ((struct clock_probe *)arg)->fired == 2;
}

TEST(loop, time_stands_still_within_a_turn)
{
    struct clock_probe p = {.fired = 0};
    struct cor_loop *loop;

    assert_int_equal(cor_loop_new(8, &loop), 0);
    cor_timer_init(&p.first, loop, on_first);
    cor_timer_init(&p.second, loop, on_second);
    assert_int_equal(cor_timer_set(&p.first, 0), 0);
    assert_int_equal(cor_timer_set(&p.second, 0), 0);
    assert_true(cor_loop_run_until(loop, both_fired, &p, PATIENCE_MS));
    assert_true(p.first_ms == p.second_ms);
    assert_true(cor_loop_now_ms(loop) >= p.first_ms + 3);
    cor_loop_free(loop);
}

TEST(loop, cannot_be_made_without_memory)
{
    struct cor_loop *loop = NULL;

    FOR_EACH_FAILED_ALLOC(n) {
        int r = cor_loop_new(8, &loop);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r == 0)
            cor_loop_free(loop);
    }
}

TEST(loop, cannot_be_made_without_file_descriptors)
{
    struct rlimit before, none;
    struct cor_loop *loop;
    int r;

    /* libuv opens what it keeps for the process with the first loop. */
    assert_int_equal(cor_loop_new(8, &loop), 0);
    cor_loop_free(loop);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    r = cor_loop_new(8, &loop);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(r, -COR_EIO);
}

struct broken_pipe {
    struct cor_mail mail;
    int fd;
    int err;
    atomic_bool done;
};

static void on_write_mail(struct cor_mail *mail)
{
    struct broken_pipe *bp = COR_CONTAINER_OF(mail, struct broken_pipe, mail);

    bp->err = write(bp->fd, "x", 1) < 0 ? errno : 0;
    atomic_store(&bp->done, true);
}

static void write_to_nobody(struct cor_loop *loop, struct broken_pipe *bp)
{
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    close(fds[0]);
    *bp = (struct broken_pipe){.mail.on_mail = on_write_mail, .fd = fds[1]};
    assert_int_equal(cor_loop_post(loop, &bp->mail), 0);
}

TEST(loop, writing_to_nobody_is_an_error_and_no_signal)
{
    struct broken_pipe bp;
    struct cor_loop *loop;
    sigset_t mask;

    assert_int_equal(cor_loop_new(8, &loop), 0);
    write_to_nobody(loop, &bp);
    assert_true(cor_loop_run_until(loop, is_set, &bp.done, PATIENCE_MS));
    assert_int_equal(bp.err, EPIPE);
    close(bp.fd);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    assert_false(sigismember(&mask, SIGPIPE));
    assert_int_equal(cor_loop_start(loop, "test"), 0);
    write_to_nobody(loop, &bp);
    while (!atomic_load(&bp.done))
        sched_yield();
    assert_int_equal(bp.err, EPIPE);
    close(bp.fd);
    cor_loop_stop(loop);
    cor_loop_free(loop);
}
