/* Contract client 4.2 and sequences 49 to 52. The driver writes down what it is asked for; the test
 * plays the server and moves the clock. */
#include <stdio.h>

#include "base/err.h"
#include "kit/election/leader_election.h"
#include "test.h"

struct fake {
    struct cor_leader_driver driver;
    struct cor_rand rand;
    struct cor_leader *l;
    char log[1024];
    uint64_t now, wake;
    struct cor_leader_record written;
};

static void note(struct fake *f, const char *fmt, ...) COR_PRINTF(2, 3);
static void note(struct fake *f, const char *fmt, ...)
{
    size_t n = strlen(f->log);
    va_list ap;

    if (n > 0)
        f->log[n++] = ' ';
    va_start(ap, fmt);
    assert_true((size_t)vsnprintf(f->log + n, sizeof(f->log) - n, fmt, ap) < sizeof(f->log) - n);
    va_end(ap);
}

static struct fake *of(struct cor_leader_driver *d)
{
    return COR_CONTAINER_OF(d, struct fake, driver);
}

static void on_get(struct cor_leader_driver *d)
{
    note(of(d), "get");
}

static void on_create(struct cor_leader_driver *d, const struct cor_leader_record *record)
{
    of(d)->written = *record;
    note(of(d), "create(%s,%d)", record->holder, record->transitions);
}

static void on_update(struct cor_leader_driver *d, const struct cor_leader_record *record,
                      const char *version)
{
    of(d)->written = *record;
    note(of(d), "update(%s,%d@%s)", record->holder, record->transitions, version);
}

static void on_cancel(struct cor_leader_driver *d)
{
    note(of(d), "cancel");
}

static void on_wake_at(struct cor_leader_driver *d, uint64_t at_ms)
{
    of(d)->wake = at_ms;
}

static const struct cor_leader_driver_ops ops = {on_get, on_create, on_update, on_cancel,
                                                 on_wake_at};

static void on_started(void *arg)
{
    note(arg, "STARTED");
}

static void on_stopped(void *arg)
{
    note(arg, "STOPPED");
}

static void on_new_leader(void *arg, const char *identity)
{
    note(arg, "LEADER(%s)", identity);
}

static void begin_as(struct fake *f, const char *identity, bool release)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
    struct cor_leader_opts opts = {.identity = identity,
                                   .release_on_cancel = release,
                                   .rand = &f->rand,
                                   .on_started = on_started,
                                   .on_stopped = on_stopped,
                                   .on_new_leader = on_new_leader,
                                   .arg = f};

    *f = (struct fake){.driver = {&ops}, .now = 100000};
    cor_rand_init_seeded(&f->rand, 7);
    assert_int_equal(cor_leader_new(&opts, &f->driver, &f->l, &st), 0);
    cor_leader_start(f->l, f->now, 1);
}

static void begin(struct fake *f, bool release)
{
    begin_as(f, "me", release);
}

static void end(struct fake *f)
{
    if (!cor_leader_is_over(f->l))
        cor_leader_cancel(f->l, f->now, 1, 0);
    cor_leader_free(f->l);
}

static void got(struct fake *f, const char *holder, int32_t duration_s, int64_t renew_us)
{
    struct cor_leader_record record = {
        .duration_s = duration_s, .renew_us = renew_us, .transitions = 3};

    snprintf(record.holder, sizeof(record.holder), "%s", holder);
    cor_leader_got(f->l, f->now, (int64_t)f->now, 0, &record, "v1");
}

static void written(struct fake *f, int r, const char *version)
{
    cor_leader_written(f->l, f->now, (int64_t)f->now, r, version);
}

static void wait_ms(struct fake *f, uint64_t ms)
{
    f->now += ms;
    cor_leader_tick(f->l, f->now, (int64_t)f->now);
}

static void assert_log(struct fake *f, const char *expected)
{
    assert_string_equal(f->log, expected);
    f->log[0] = '\0';
}

static void become_leader(struct fake *f, bool release)
{
    begin(f, release);
    cor_leader_got(f->l, f->now, 1, -COR_ENOTFOUND, NULL, NULL);
    written(f, 0, "v1");
    assert_log(f, "get create(me,0) LEADER(me) STARTED");
}

/* Contract client 4.2.7. */
TEST(leader_election, a_lock_that_is_not_there_is_created)
{
    struct fake f;

    become_leader(&f, false);
    assert_true(cor_leader_is_leader(f.l));
    assert_int_equal(f.written.duration_s, 15);
    assert_int_equal(f.wake, f.now + 2000);
    end(&f);
    assert_log(&f, "STOPPED");
}

/* Contract client 4.2.6. */
TEST(leader_election, a_leader_renews_without_a_get)
{
    struct fake f;

    become_leader(&f, false);
    wait_ms(&f, 2000);
    assert_log(&f, "update(me,0@v1)");
    written(&f, 0, "v2");
    wait_ms(&f, 2000);
    assert_log(&f, "update(me,0@v2)");
    end(&f);
}

/* Contract client 4.2.8, 4.2.10. */
TEST(leader_election, sequence_49_a_lock_is_free_when_it_has_not_changed_for_its_own_duration)
{
    struct fake f;
    uint64_t first_seen;

    begin(&f, false);
    first_seen = f.now;
    got(&f, "other", 20, 5);
    assert_log(&f, "get LEADER(other)");
    assert_true(f.wake >= f.now + 2000 && f.wake < f.now + 4400);
    while (f.now < first_seen + 20000) {
        wait_ms(&f, f.wake - f.now);
        if (f.now < first_seen + 20000) {
            got(&f, "other", 20, 5);
            assert_log(&f, "get");
        }
    }
    got(&f, "other", 20, 5);
    assert_log(&f, "get update(me,4@v1)");
    written(&f, 0, "v2");
    assert_log(&f, "LEADER(me) STARTED");
    end(&f);
}

/* Contract client 4.2.8, 4.2.9. */
TEST(leader_election, a_lock_that_changes_stays_held)
{
    struct fake f;

    begin(&f, false);
    got(&f, "other", 3, 1);
    for (int i = 2; i < 10; i++) {
        wait_ms(&f, f.wake - f.now);
        got(&f, "other", 3, i);
    }
    assert_false(cor_leader_is_leader(f.l));
    end(&f);
}

/* Contract client 4.2.9. */
TEST(leader_election, a_lock_without_a_holder_is_free_at_once)
{
    struct fake f;

    begin(&f, false);
    got(&f, "", 15, 5);
    assert_log(&f, "get update(me,4@v1)");
    written(&f, -COR_ECONFLICT, NULL);
    assert_log(&f, "");
    wait_ms(&f, f.wake - f.now);
    assert_log(&f, "get");
    end(&f);
}

/* Contract client 4.2.11. */
TEST(leader_election, sequence_51_a_conflict_is_looked_at)
{
    struct fake f;

    become_leader(&f, false);
    wait_ms(&f, 2000);
    written(&f, -COR_ECONFLICT, NULL);
    assert_log(&f, "update(me,0@v1) get");
    got(&f, "me", 15, 77);
    assert_log(&f, "update(me,3@v1)");
    written(&f, 0, "v3");
    wait_ms(&f, 2000);
    written(&f, -COR_ECONFLICT, NULL);
    got(&f, "other", 15, 78);
    assert_log(&f, "update(me,3@v3) get LEADER(other)");
    wait_ms(&f, 2000);
    got(&f, "other", 15, 79);
    wait_ms(&f, f.wake - f.now);
    for (int i = 0; i < 10 && !cor_leader_is_over(f.l); i++) {
        got(&f, "other", 15, 80 + i);
        wait_ms(&f, f.wake - f.now);
    }
    assert_true(cor_leader_is_over(f.l));
    end(&f);
}

/* Contract client 4.2.3, 4.2.13. */
TEST(leader_election, sequence_52_a_leader_that_cannot_renew_stops)
{
    struct fake f;
    uint64_t begun;

    become_leader(&f, false);
    begun = f.now + 2000;
    wait_ms(&f, 2000);
    assert_int_equal(f.wake, begun + 10000);
    assert_false(cor_leader_is_stale(f.l, f.now, 0));
    wait_ms(&f, 10000);
    assert_log(&f, "update(me,0@v1) cancel STOPPED");
    assert_int_equal(f.wake, UINT64_MAX);
    wait_ms(&f, 60000);
    assert_log(&f, "");
    end(&f);
}

/* Contract client 4.2.14. */
TEST(leader_election, sequence_50_a_leader_that_is_cancelled_gives_the_lock_back)
{
    struct fake f;

    become_leader(&f, true);
    cor_leader_cancel(f.l, f.now, 1, 0);
    assert_log(&f, "get");
    got(&f, "me", 15, 99);
    assert_log(&f, "update(,3@v1)");
    assert_int_equal(f.written.duration_s, 1);
    written(&f, 0, "v2");
    assert_log(&f, "LEADER() STOPPED");
    end(&f);
}

/* Contract client 4.2.14. */
TEST(leader_election, a_release_does_not_wait_for_ever)
{
    struct fake f;

    become_leader(&f, true);
    cor_leader_cancel(f.l, f.now, 1, 0);
    wait_ms(&f, 10000);
    assert_log(&f, "get cancel STOPPED");
    end(&f);
}

/* Contract client 4.2.2. */
TEST(leader_election, one_who_never_led_is_told_that_it_is_over_too)
{
    struct fake f;

    begin(&f, true);
    cor_leader_cancel(f.l, f.now, 1, 0);
    assert_log(&f, "get cancel STOPPED");
    end(&f);
}

/* Contract client 4.2.1. */
TEST(leader_election, wrong_options_are_named)
{
    static const struct {
        uint64_t lease, renew, retry;
        const char *identity, *expected;
    } cases[] = {
        {10000, 10000, 2000, "me", "leaseDuration must be greater than renewDeadline"},
        {15000, 10000, 9000, "me", "renewDeadline must be greater than retryPeriod*JitterFactor"},
        {15000, 12000, 10000, "me", "renewDeadline must be greater than retryPeriod*JitterFactor"},
        {15000, 10000, 2000, "", "identity: 1 to 1023 bytes are expected"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
        struct cor_leader_opts opts = {.identity = cases[i].identity,
                                       .lease_ms = cases[i].lease,
                                       .renew_ms = cases[i].renew,
                                       .retry_ms = cases[i].retry,
                                       .on_started = on_started,
                                       .on_stopped = on_stopped};
        struct cor_leader *l;

        assert_int_equal(cor_leader_new(&opts, NULL, &l, &st), -COR_EINVAL);
        assert_string_equal(cor_status_message(&st), cases[i].expected);
    }
}

/* Contract client 4.2.17. */
TEST(leader_election, a_leader_that_is_not_renewed_is_stale)
{
    struct fake f;

    become_leader(&f, false);
    assert_false(cor_leader_is_stale(f.l, f.now + 20000, 5000));
    assert_true(cor_leader_is_stale(f.l, f.now + 20001, 5000));
    end(&f);
}

TEST(leader_election, a_record_without_a_sound_duration_or_count_is_taken_over)
{
    struct cor_leader_record record = {.holder = "other", .duration_s = INT32_MIN};
    struct fake f;

    record.transitions = INT32_MAX;
    begin(&f, false);
    cor_leader_got(f.l, f.now, 1, 0, &record, "v1");
    assert_log(&f, "get update(me,2147483647@v1)");
    end(&f);
}

/* Contract client 4.2.6: what counts is when the write was seen, not what it says. */
TEST(leader_election, a_renewal_counts_although_the_wall_clock_stands_still)
{
    struct fake f;

    become_leader(&f, false);
    for (int i = 0; i < 10; i++) {
        f.now += 2000;
        cor_leader_tick(f.l, f.now, 1);
        cor_leader_written(f.l, f.now, 1, 0, "v2");
        assert_false(cor_leader_is_stale(f.l, f.now, 0));
    }
    assert_null(strstr(f.log, "get"));
    f.log[0] = '\0';
    end(&f);
}

/* Up to its last millisecond, and not longer. */
TEST(leader_election, a_lock_is_held_for_exactly_its_duration)
{
    struct fake f;

    begin(&f, false);
    got(&f, "other", 20, 5);
    wait_ms(&f, 19999);
    got(&f, "other", 20, 5);
    assert_log(&f, "get LEADER(other) get");
    end(&f);
    begin(&f, false);
    got(&f, "other", 20, 5);
    wait_ms(&f, 20000);
    got(&f, "other", 20, 5);
    assert_log(&f, "get LEADER(other) get update(me,4@v1)");
    end(&f);
}

/* The holder's clock may be an hour slow or fast: its lease counts from when it was seen. */
TEST(leader_election, the_clock_of_the_holder_does_not_count)
{
    static const int64_t hours[] = {-INT64_C(3600000000), INT64_C(3600000000)};

    for (size_t i = 0; i < 2; i++) {
        struct fake f;

        begin(&f, false);
        got(&f, "other", 20, hours[i]);
        assert_log(&f, "get LEADER(other)");
        wait_ms(&f, 10000);
        got(&f, "other", 20, hours[i]);
        assert_log(&f, "get");
        wait_ms(&f, 10000);
        got(&f, "other", 20, hours[i]);
        assert_log(&f, "get update(me,4@v1)");
        end(&f);
    }
}

TEST(leader_election, a_renewal_keeps_the_time_of_acquiring)
{
    struct fake f;
    int64_t acquired_us, renewed_us;

    become_leader(&f, false);
    acquired_us = f.written.acquire_us;
    renewed_us = f.written.renew_us;
    wait_ms(&f, 2000);
    assert_log(&f, "update(me,0@v1)");
    assert_int_equal(f.written.acquire_us, acquired_us);
    assert_true(f.written.renew_us > renewed_us);
    end(&f);
}

static void lose_to_other(struct fake *f)
{
    become_leader(f, true);
    wait_ms(f, 2000);
    written(f, -COR_ECONFLICT, NULL);
    got(f, "other", 15, 78);
    assert_log(f, "update(me,0@v1) get LEADER(other)");
}

TEST(leader_election, one_who_lost_the_lock_has_nothing_to_give_back)
{
    struct fake f;

    lose_to_other(&f);
    cor_leader_cancel(f.l, f.now, 1, 0);
    assert_log(&f, "STOPPED");
    end(&f);
}

TEST(leader_election, a_lock_that_another_took_meanwhile_is_not_given_back)
{
    struct fake f;

    become_leader(&f, true);
    cor_leader_cancel(f.l, f.now, 1, 0);
    got(&f, "other", 15, 99);
    assert_log(&f, "get STOPPED");
    end(&f);
}

/* Contract client 4.2.5. */
TEST(leader_election, candidates_do_not_come_back_all_at_once)
{
    uint64_t shortest_ms = UINT64_MAX, longest_ms = 0;
    struct fake f;

    begin(&f, false);
    for (int i = 0; i < 50; i++) {
        uint64_t pause_ms;

        got(&f, "other", 20, i);
        pause_ms = f.wake - f.now;
        shortest_ms = pause_ms < shortest_ms ? pause_ms : shortest_ms;
        longest_ms = pause_ms > longest_ms ? pause_ms : longest_ms;
        wait_ms(&f, pause_ms);
    }
    assert_true(shortest_ms >= 2000 && longest_ms < 4400);
    assert_true(longest_ms - shortest_ms > 1000);
    end(&f);
}

TEST(leader_election, a_lock_that_was_removed_begins_anew)
{
    struct fake f;

    begin(&f, false);
    got(&f, "other", 20, 5);
    wait_ms(&f, f.wake - f.now);
    cor_leader_got(f.l, f.now, 1, -COR_ENOTFOUND, NULL, NULL);
    assert_log(&f, "get LEADER(other) get create(me,0)");
    end(&f);
}

/* Contract client 4.2.7: what was seen is forgotten when another record is known to be there, not
 * before. A leader whose lock was removed, and which cannot make it anew, still leads: it renews,
 * becomes stale, and gives back. */
TEST(leader_election, a_leader_whose_lock_was_removed_leads_until_the_deadline)
{
    struct fake f;

    become_leader(&f, true);
    wait_ms(&f, 2000);
    written(&f, -COR_ENOTFOUND, NULL);
    cor_leader_got(f.l, f.now, 77, -COR_ENOTFOUND, NULL, NULL);
    assert_int_equal(f.written.acquire_us, 77);
    written(&f, -COR_EUNREACHABLE, NULL);
    assert_log(&f, "update(me,0@v1) get create(me,0)");
    assert_true(cor_leader_is_leader(f.l));
    assert_string_equal(cor_leader_holder(f.l), "me");
    assert_true(cor_leader_is_stale(f.l, f.now + 13001, 0));
    wait_ms(&f, 2000);
    assert_log(&f, "update(me,0@v1)");
    wait_ms(&f, 8000);
    assert_log(&f, "cancel get");
    wait_ms(&f, 10000);
    assert_log(&f, "cancel STOPPED");
    end(&f);
}

/* Contract client 4.2.8: a lock that comes back as it was has not changed. */
TEST(leader_election, a_lock_that_was_gone_for_a_moment_is_held_no_longer)
{
    struct fake f;

    begin(&f, false);
    got(&f, "other", 20, 5);
    wait_ms(&f, f.wake - f.now);
    cor_leader_got(f.l, f.now, 1, -COR_ENOTFOUND, NULL, NULL);
    written(&f, -COR_EEXIST, NULL);
    f.now = 100000 + 20000 - 1;
    cor_leader_tick(f.l, f.now, 1);
    got(&f, "other", 20, 5);
    assert_log(&f, "get LEADER(other) get create(me,0) get");
    f.now += f.wake - f.now;
    cor_leader_tick(f.l, f.now, 1);
    got(&f, "other", 20, 5);
    assert_log(&f, "get update(me,4@v1)");
    end(&f);
}

/* Contract client 4.2.15: nothing fences a leader that sleeps. One that is awake stops before
 * another may begin: the renew deadline and a retry are over sooner than the lease. */
TEST(leader_election, two_lead_while_the_first_one_sleeps)
{
    struct fake first, second;

    become_leader(&first, false);
    begin_as(&second, "you", false);
    cor_leader_got(second.l, second.now, 1, 0, &first.written, "v1");
    second.now += 15000;
    cor_leader_tick(second.l, second.now, 1);
    cor_leader_got(second.l, second.now, 1, 0, &first.written, "v1");
    written(&second, 0, "v2");
    assert_log(&second, "get LEADER(me) get update(you,1@v1) LEADER(you) STARTED");
    assert_true(cor_leader_is_leader(first.l) && cor_leader_is_leader(second.l));
    first.now = second.now;
    cor_leader_tick(first.l, first.now, 1);
    assert_log(&first, "STOPPED");
    end(&second);
    end(&first);
}
