#include "base/lock.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/deadline.h"
#include "test.h"

static struct cor_lock outer = COR_LOCK_INITIALIZER(COR_LOCK_WATCH_CACHE);
static struct cor_lock inner = COR_LOCK_INITIALIZER(COR_LOCK_BTREE);

TEST(lock, is_taken_in_the_order_of_ranks_and_given_back_in_any)
{
    cor_lock_acquire(&outer);
    cor_lock_acquire(&inner);
    cor_lock_release(&outer);
    cor_lock_release(&inner);
    cor_lock_acquire(&outer);
    cor_lock_release(&outer);
    cor_lock_assert_none();
}

TEST(lock, condition_that_nobody_signals_ends_with_its_time)
{
    struct timespec until = cor_deadline_in_ms(1);
    struct cor_cond cond;

    cor_cond_init(&cond);
    cor_lock_acquire(&outer);
    while (cor_cond_wait_until(&cond, &outer, &until))
        ;
    cor_lock_release(&outer);
    cor_cond_deinit(&cond);
}

static struct cor_cond changed;
static bool is_set;

static void *set_it(void *arg)
{
    cor_lock_acquire(&outer);
    is_set = true;
    cor_cond_signal(&changed);
    cor_lock_release(&outer);
    return NULL;
}

TEST(lock, condition_is_waited_for_with_its_lock_given_back)
{
    pthread_t thread;

    cor_cond_init(&changed);
    is_set = false;
    cor_lock_acquire(&outer);
    assert_int_equal(pthread_create(&thread, NULL, set_it, NULL), 0);
    while (!is_set)
        cor_cond_wait(&changed, &outer);
    cor_lock_release(&outer);
    pthread_join(thread, NULL);
    cor_cond_deinit(&changed);
}

#ifdef COR_CHECK_LOCKS

/* Runs `breach` in a child, which must abort, and compares what it wrote to stderr. */
static void assert_stops(void (*breach)(void), const char *text)
{
    char got[512];
    size_t n = 0;
    ssize_t some;
    int ends[2], status;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        dup2(ends[1], STDERR_FILENO);
        breach();
        _exit(0);
    }
    close(ends[1]);
    while (n < sizeof(got) - 1 && (some = read(ends[0], got + n, sizeof(got) - 1 - n)) > 0)
        n += (size_t)some;
    got[n] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_string_equal(got, text);
}

static void take_in_the_wrong_order(void)
{
    cor_lock_acquire(&inner);
    cor_lock_acquire(&outer);
}

static void take_two_of_one_rank(void)
{
    static struct cor_lock other = COR_LOCK_INITIALIZER(COR_LOCK_BTREE);

    cor_lock_acquire(&inner);
    cor_lock_acquire(&other);
}

/* The outer lock was given back first: the inner one still counts. */
static void take_the_outer_again(void)
{
    cor_lock_acquire(&outer);
    cor_lock_acquire(&inner);
    cor_lock_release(&outer);
    cor_lock_acquire(&outer);
}

TEST(lock, wrong_order_stops_the_program)
{
    const char *text = "lock order: must not take WATCH_CACHE (storage/cacher/watch_cache) while "
                       "the thread holds BTREE (base/btree)\n";

    assert_stops(take_in_the_wrong_order, text);
    assert_stops(take_the_outer_again, text);
    assert_stops(take_two_of_one_rank, "lock order: must not take BTREE (base/btree) while the "
                                       "thread holds BTREE (base/btree)\n");
}

static void call_back_with_a_lock(void)
{
    cor_lock_acquire(&outer);
    cor_lock_acquire(&inner);
    cor_lock_assert_none();
}

TEST(lock, callback_under_a_lock_stops_the_program)
{
    assert_stops(call_back_with_a_lock,
                 "lock order: must not call a callback while the thread holds WATCH_CACHE "
                 "(storage/cacher/watch_cache), BTREE (base/btree)\n");
}

static void wait_with_two_locks(void)
{
    cor_cond_init(&changed);
    cor_lock_acquire(&outer);
    cor_lock_acquire(&inner);
    cor_cond_wait(&changed, &inner);
}

TEST(lock, wait_with_another_lock_held_stops_the_program)
{
    assert_stops(wait_with_two_locks,
                 "lock order: must hold no other lock when it waits with BTREE (base/btree) while "
                 "the thread holds WATCH_CACHE (storage/cacher/watch_cache), BTREE (base/btree)\n");
}

static void give_back_twice(void)
{
    cor_lock_acquire(&inner);
    cor_lock_release(&inner);
    cor_lock_release(&inner);
}

TEST(lock, giving_back_what_is_not_held_stops_the_program)
{
    assert_stops(give_back_twice,
                 "lock order: must not give back what it does not hold: BTREE (base/btree)\n");
}

#endif
