/* The queue's lock, in both of its orders: one consumer at a time, and "synced" after the last of
 * the first list. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/err.h"
#include "delta_log.h"
#include "test.h"

#define CONSUMERS 4
#define MANY      2000

static int nbeside; /* consumers at work; the queue's lock is all that guards it */
static int nconsumed, noverlaps;

static int consume(void *arg, struct cor_str key, const struct cor_delta *deltas, size_t n,
                   bool in_initial_list)
{
    noverlaps += nbeside++ > 0;
    if (nconsumed % 100 == 0)
        sched_yield();
    nconsumed += (int)n;
    nbeside--;
    return -COR_EINVALID;
}

/* NULL, unless a pop returned something else than its consumer. */
static void *consume_all(void *arg)
{
    int r;

    while ((r = cor_delta_fifo_pop(arg, consume, NULL)) == -COR_EINVALID)
        ;
    return r == -COR_ECANCELED ? NULL : arg;
}

/* Contract client 1.4.4, 1.7.12, 1.10.4. */
TEST(delta_fifo_threads, consumers_are_called_one_at_a_time_and_their_answer_is_the_pops)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        pthread_t threads[CONSUMERS];
        struct delta_log log;

        nbeside = nconsumed = noverlaps = 0;
        delta_log_begin(&log, by_key, NULL);
        for (size_t i = 0; i < CONSUMERS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, consume_all, log.fifo), 0);
        for (int i = 1; i <= MANY; i++)
            assert_int_equal(delta_log_add(&log, i % 2 ? "a" : "b", i), 0);
        cor_delta_fifo_close(log.fifo);
        for (size_t i = 0; i < CONSUMERS; i++) {
            void *other;

            pthread_join(threads[i], &other);
            assert_null(other);
        }
        assert_int_equal(noverlaps, 0);
        assert_int_equal(nconsumed, MANY);
        delta_log_end(&log);
    }
}

struct observer {
    struct cor_delta_fifo *fifo;
    atomic_bool asks;     /* it is within has_synced */
    atomic_bool consumed; /* the last of the first list */
    atomic_bool ended;
};

static void *observe(void *arg)
{
    struct observer *o = arg;
    bool synced;

    do {
        atomic_store(&o->asks, true);
        synced = cor_delta_fifo_has_synced(o->fifo);
        atomic_store(&o->asks, false);
        sched_yield();
    } while (!synced);
    atomic_store(&o->ended, true);
    return atomic_load(&o->consumed) ? NULL : arg;
}

/* Gives the observer every chance to see what it must not. */
static int consume_slowly(void *arg, struct cor_str key, const struct cor_delta *deltas, size_t n,
                          bool in_initial_list)
{
    struct observer *o = arg;

    while (!atomic_load(&o->asks) && !atomic_load(&o->ended))
        sched_yield();
    for (int i = 0; i < 100; i++)
        sched_yield();
    if (cor_str_eqz(key, "b"))
        atomic_store(&o->consumed, true);
    return in_initial_list ? 0 : -COR_EINVALID;
}

/* Contract client 1.4.5, 1.4.7, 1.7.12. */
TEST(delta_fifo_threads, nobody_sees_it_synced_before_the_last_of_the_first_list_was_consumed)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        struct observer o = {0};
        struct delta_log log;
        pthread_t thread;
        void *early;

        delta_log_begin(&log, by_key, NULL);
        delta_log_replace(&log, "a1 b2");
        o.fifo = log.fifo;
        assert_int_equal(pthread_create(&thread, NULL, observe, &o), 0);
        assert_int_equal(cor_delta_fifo_pop(log.fifo, consume_slowly, &o), 0);
        assert_false(cor_delta_fifo_has_synced(log.fifo));
        assert_int_equal(cor_delta_fifo_pop(log.fifo, consume_slowly, &o), 0);
        pthread_join(thread, &early);
        assert_null(early);
        delta_log_end(&log);
    }
}
