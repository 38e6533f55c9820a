#include "loop/turns.h"

#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "base/err.h"
#include "base/lock.h"
#include "loop/loop.h"
#include "test.h"

#define PATIENCE_MS 60000
#define BUSY_US     30000
#define MANY        60

struct busy {
    struct cor_mail mail;
    bool is_done;
    uint64_t took_us; /* of CPU time */
};

static uint64_t cpu_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void work(struct cor_mail *mail)
{
    struct busy *busy = COR_CONTAINER_OF(mail, struct busy, mail);
    uint64_t start_us = cpu_us();

    while ((busy->took_us = cpu_us() - start_us) < BUSY_US)
        ;
    busy->is_done = true;
}

static bool is_done(void *arg)
{
    return ((struct busy *)arg)->is_done;
}

static uint64_t count(const struct cor_turn_figures *turns, uint64_t above_us)
{
    uint64_t n = 0;

    for (size_t i = 0; i <= COR_LOOP_TURN_BUCKETS; i++) {
        if (i > 0 && cor_loop_turn_buckets[i - 1] >= above_us)
            n += turns->counts[i];
    }
    return n;
}

TEST(turns, shows_the_longest_one_in_cpu_time)
{
    struct cor_loop *loop;
    struct cor_loop_turns turns;

    assert_int_equal(cor_loop_new(8, &loop), 0);
    cor_loop_measure_turns(loop);
    for (unsigned i = 0; i < 2; i++) {
        struct busy busy = {.mail.on_mail = work};

        cor_loop_post_always(loop, &busy.mail);
        assert_true(cor_loop_run_until(loop, is_done, &busy, PATIENCE_MS));
        cor_loop_get_turns(loop, &turns);
        /* The first turn on a thread only begins the measuring. */
        assert_true(i == 0 || turns.cpu.max_us >= busy.took_us);
    }
    assert_true(turns.cpu.max_us >= BUSY_US);
    assert_true(turns.cpu.sum_us >= turns.cpu.max_us);
    assert_true(count(&turns.cpu, 20000) >= 1);
    cor_loop_free(loop);
}

TEST(turns, sleeping_is_no_part_of_one)
{
    struct busy never = {.is_done = false};
    struct cor_loop *loop;
    struct cor_loop_turns turns;

    assert_int_equal(cor_loop_new(8, &loop), 0);
    cor_loop_measure_turns(loop);
    assert_false(cor_loop_run_until(loop, is_done, &never, 1));
    assert_false(cor_loop_run_until(loop, is_done, &never, 100));
    cor_loop_get_turns(loop, &turns);
    assert_int_equal(count(&turns.cpu, 100000), 0);
    cor_loop_free(loop);
}

TEST(turns, of_a_loop_that_is_not_measured_are_none)
{
    struct cor_loop *loop;
    struct cor_loop_turns turns;

    assert_int_equal(cor_loop_new(8, &loop), 0);
    cor_loop_get_turns(loop, &turns);
    assert_int_equal(turns.cpu.max_us + turns.cpu.sum_us + turns.cpu.counts[0], 0);
    cor_loop_free(loop);
}

/* Waits for what nobody does. */
static void wait_long(struct cor_mail *mail)
{
    struct busy *busy = COR_CONTAINER_OF(mail, struct busy, mail);
    struct timespec until = cor_deadline_in_ms(BUSY_US / 1000);
    struct cor_lock lock;
    struct cor_cond never;

    cor_lock_init(&lock, COR_LOCK_OFFLOAD);
    cor_cond_init(&never);
    cor_lock_acquire(&lock);
    while (cor_cond_wait_until(&never, &lock, &until))
        ;
    cor_lock_release(&lock);
    cor_cond_deinit(&never);
    cor_lock_deinit(&lock);
    busy->is_done = true;
}

TEST(turns, that_wait_count_in_wall_time)
{
    struct busy waiting = {.mail.on_mail = wait_long};
    struct cor_loop_turns turns;
    struct cor_loop *loop;

    assert_int_equal(cor_loop_new(8, &loop), 0);
    cor_loop_measure_turns(loop);
    cor_loop_post_always(loop, &waiting.mail);
    assert_true(cor_loop_run_until(loop, is_done, &waiting, PATIENCE_MS));
    cor_loop_get_turns(loop, &turns);
    /* Both ends are rounded down to milliseconds. */
    assert_true(turns.wall.max_us + 1000 >= BUSY_US);
    assert_true(turns.cpu.max_us < BUSY_US);
    cor_loop_free(loop);
}

/* Each of many mails takes a part of what a turn has for them. */
static void work_a_bit(struct cor_mail *mail)
{
    struct busy *busy = COR_CONTAINER_OF(mail, struct busy, mail);
    uint64_t end = cor_clock_mono_us(cor_clock_real()) + 1000;

    while (cor_clock_mono_us(cor_clock_real()) < end)
        ;
    busy->is_done = true;
}

/* Delivers in order: each finds that the one before it was delivered. */
static bool are_all_done(void *arg)
{
    struct busy *many = arg;
    bool is_done = true;

    for (size_t i = 0; i < MANY; i++) {
        assert_true(is_done || !many[i].is_done);
        is_done = many[i].is_done;
    }
    return is_done;
}

TEST(turns, share_much_mail_among_them)
{
    struct busy many[MANY] = {0};
    struct cor_loop_turns turns;
    struct cor_loop *loop;
    uint64_t all = 0;

    assert_int_equal(cor_loop_new(8, &loop), 0);
    cor_loop_measure_turns(loop);
    for (size_t i = 0; i < MANY; i++) {
        many[i].mail.on_mail = work_a_bit;
        cor_loop_post_always(loop, &many[i].mail);
    }
    assert_true(cor_loop_run_until(loop, are_all_done, many, PATIENCE_MS));
    cor_loop_get_turns(loop, &turns);
    for (size_t i = 0; i <= COR_LOOP_TURN_BUCKETS; i++)
        all += turns.wall.counts[i];
    /* A turn has time for those of 4 ms after its first one. */
    assert_true(all >= MANY / 6);
    cor_loop_free(loop);
}

TEST(turns, of_another_thread_are_counted_as_it_says)
{
    struct cor_turn_meter meter = {0};
    struct busy waiting = {.mail.on_mail = wait_long}, busy = {.mail.on_mail = work};
    struct cor_loop_turns turns;

    cor_turn_meter_begin(&meter);
    wait_long(&waiting.mail);
    cor_turn_meter_end(&meter);
    cor_turn_meter_get(&meter, &turns);
    assert_true(turns.wall.max_us + 1000 >= BUSY_US && turns.cpu.max_us < BUSY_US);
    cor_turn_meter_begin(&meter);
    work(&busy.mail);
    cor_turn_meter_end(&meter);
    cor_turn_meter_get(&meter, &turns);
    assert_true(turns.cpu.max_us >= BUSY_US && turns.cpu.sum_us >= turns.cpu.max_us);
    assert_int_equal(count(&turns.wall, 20000), 2);
}

/* What one mail asks of two shares: the time of one begins with its first piece. */
struct asks {
    struct cor_mail mail;
    struct cor_loop *loop;
    bool has_begun[2], goes_on[2], is_done;
};

static void ask_twice(struct cor_mail *mail)
{
    struct asks *asks = COR_CONTAINER_OF(mail, struct asks, mail);
    struct cor_turn_share shares[2] = {{.counts_first = false}, {.counts_first = true}};
    uint64_t end;

    for (size_t i = 0; i < 2; i++)
        asks->has_begun[i] = cor_turn_share_take(&shares[i], asks->loop, 1000, true);
    end = cor_clock_mono_us(cor_clock_real()) + 2000;
    while (cor_clock_mono_us(cor_clock_real()) < end)
        ;
    for (size_t i = 0; i < 2; i++)
        asks->goes_on[i] = cor_turn_share_take(&shares[i], asks->loop, 1000, true);
    asks->is_done = true;
}

static bool has_asked(void *arg)
{
    return ((struct asks *)arg)->is_done;
}

/* Pieces of one mail: short ones, and then long ones. */
struct pieces {
    struct cor_mail mail;
    struct cor_loop *loop;
    size_t nlong;
    bool is_done;
};

static void take_pieces(struct cor_mail *mail)
{
    struct pieces *pieces = COR_CONTAINER_OF(mail, struct pieces, mail);
    struct cor_turn_share share = {.are_alike = true};

    for (size_t i = 0; i < 40; i++)
        (void)cor_turn_share_take(&share, pieces->loop, 1000, true);
    while (cor_turn_share_take(&share, pieces->loop, 1000, true)) {
        uint64_t end = cor_clock_mono_us(cor_clock_real()) + 1000;

        pieces->nlong++;
        while (cor_clock_mono_us(cor_clock_real()) < end)
            ;
    }
    pieces->is_done = true;
}

static bool has_taken(void *arg)
{
    return ((struct pieces *)arg)->is_done;
}

TEST(turns, have_an_end_soon_after_pieces_that_were_alike_grow_long)
{
    struct pieces pieces = {.mail.on_mail = take_pieces};

    assert_int_equal(cor_loop_new(8, &pieces.loop), 0);
    cor_loop_measure_turns(pieces.loop);
    cor_loop_post_always(pieces.loop, &pieces.mail);
    assert_true(cor_loop_run_until(pieces.loop, has_taken, &pieces, PATIENCE_MS));
    assert_true(pieces.nlong <= 17); /* 1 ms, and the rest of a group */
    cor_loop_free(pieces.loop);
}

TEST(turns, have_no_second_piece_after_a_long_one_that_counts)
{
    struct asks asks = {.mail.on_mail = ask_twice};

    assert_int_equal(cor_loop_new(8, &asks.loop), 0);
    cor_loop_measure_turns(asks.loop);
    cor_loop_post_always(asks.loop, &asks.mail);
    assert_true(cor_loop_run_until(asks.loop, has_asked, &asks, PATIENCE_MS));
    assert_true(asks.has_begun[0] && asks.has_begun[1]);
    assert_true(asks.goes_on[0]);
    assert_false(asks.goes_on[1]);
    cor_loop_free(asks.loop);
}
