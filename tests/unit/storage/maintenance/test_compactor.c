#include "storage/maintenance/compactor.h"

#include <stdio.h>

#include "engine_fixture.h"

#define KEY "compact_rev_key"

static struct cor_compactor *open_compactor(struct fx *fx, uint64_t interval_ms)
{
    struct cor_compactor_opts opts = {fx->engine, fx->loop, interval_ms};
    struct cor_compactor *c;

    assert_int_equal(cor_compactor_open(&opts, &c), 0);
    return c;
}

static void on_closed(void *arg)
{
    *(bool *)arg = true;
}

static bool is_true(void *arg)
{
    return *(bool *)arg;
}

static void close_compactor(struct fx *fx, struct cor_compactor *c)
{
    bool closed = false;

    cor_compactor_close(c, on_closed, &closed);
    assert_true(cor_loop_run_until(fx->loop, is_true, &closed, FX_TIMEOUT_MS));
}

static bool never(void *arg)
{
    return false;
}

static bool has_compacted(void *arg)
{
    return cor_compactor_revision(arg) > 0;
}

static void wait_compacted(struct fx *fx, struct cor_compactor *c)
{
    assert_true(cor_loop_run_until(fx->loop, has_compacted, c, FX_TIMEOUT_MS));
}

/* TestCompact */
TEST(compactor, history_before_the_revision_of_an_interval_ago_goes)
{
    struct fx fx;
    struct cor_compactor *c;
    cor_rev first;

    fx_open(&fx, ":memory:");
    assert_int_equal(fx_put(&fx, "a", "1", 0, &first), 0);
    assert_int_equal(fx_put(&fx, "a", "2", first, NULL), 0);
    c = open_compactor(&fx, 20);
    wait_compacted(&fx, c);
    assert_true(cor_compactor_revision(c) > first);
    /* The key tells of a compaction before the engine has done it. */
    while (strcmp(fx_list(&fx, "a", NULL, first), "EEXPIRED") != 0)
        cor_loop_run_until(fx.loop, never, NULL, 1);
    close_compactor(&fx, c);
    fx_close(&fx);
}

/* Looks at the store after the first turn, which is at revision 3. False: the second turn came
 * before all was seen. */
static bool sees_first_turn(struct fx *fx, struct cor_compactor *c)
{
    const char *text;
    char old[16];
    cor_rev compacted, rev;

    do
        text = fx_list(fx, KEY, NULL, 0);
    while (!*text);
    compacted = cor_compactor_revision(c);
    snprintf(old, sizeof(old), "%s", fx_list(fx, "a", NULL, 2));
    rev = fx_rev(fx);
    if (strcmp(fx_list(fx, KEY, NULL, 0), KEY "=0@3") != 0)
        return false;
    assert_int_equal(compacted, 0);
    assert_string_equal(old, "a=1@2");
    assert_int_equal(rev, 3);
    return true;
}

/* 1.10.2: the first turn writes the key and compacts nothing; 1.10.4: every turn is a revision. */
TEST(compactor, first_turn_only_writes_the_key)
{
    struct cor_compactor *c;
    struct fx fx;
    const cor_rev before = 2;
    bool is_seen;

    do {
        fx_open(&fx, ":memory:");
        assert_int_equal(fx_put(&fx, "a", "1", 0, NULL), 0);
        assert_int_equal(fx_rev(&fx), before);
        c = open_compactor(&fx, 1000);
        is_seen = sees_first_turn(&fx, c);
        if (!is_seen) { /* the machine stood still for a second */
            close_compactor(&fx, c);
            fx_close(&fx);
        }
    } while (!is_seen);
    wait_compacted(&fx, c);
    assert_true(fx_rev(&fx) >= before + 2);
    assert_int_equal(cor_compactor_revision(c), before + 1);
    close_compactor(&fx, c);
    fx_close(&fx);
}

/* TestCompactConflict */
TEST(compactor, of_two_compactors_one_compacts_and_both_know)
{
    struct cor_compactor *one, *two;
    struct fx fx;

    fx_open(&fx, ":memory:");
    one = open_compactor(&fx, 20);
    two = open_compactor(&fx, 20);
    wait_compacted(&fx, one);
    wait_compacted(&fx, two);
    close_compactor(&fx, one);
    close_compactor(&fx, two);
    fx_close(&fx);
}

/* A restarted server finds the key: it loses the first turn, learns, and wins the next. */
TEST(compactor, restarted_compactor_takes_over)
{
    struct cor_compactor *c;
    struct fx fx;

    fx_open(&fx, ":memory:");
    assert_int_equal(fx_put(&fx, KEY, "1", 0, NULL), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(fx_put(&fx, i == 0 ? "b" : "c", "x", i < 2 ? 0 : fx_rev(&fx), NULL), 0);
    c = open_compactor(&fx, 20);
    while (cor_compactor_revision(c) <= 1)
        fx_rev(&fx);
    close_compactor(&fx, c);
    fx_close(&fx);
}

/* TestCompactIntervalZero, TestCompactRevision */
TEST(compactor, without_interval_it_only_learns)
{
    struct cor_compactor *c;
    struct fx fx;
    cor_rev first, rev;

    fx_open(&fx, ":memory:");
    assert_int_equal(fx_put(&fx, "a", "1", 0, &first), 0);
    c = open_compactor(&fx, 0);
    assert_int_equal(cor_compactor_revision(c), 0);
    assert_int_equal(fx_put(&fx, KEY, "123", 0, &rev), 0);
    wait_compacted(&fx, c);
    assert_int_equal(cor_compactor_revision(c), 123);
    assert_int_equal(fx_put(&fx, KEY, "not a number", rev, &rev), 0);
    assert_int_equal(fx_put(&fx, KEY, "7", rev, &rev), 0);
    assert_int_equal(fx_put(&fx, KEY, "124", rev, &rev), 0);
    while (cor_compactor_revision(c) == 123)
        fx_rev(&fx);
    assert_int_equal(cor_compactor_revision(c), 124);
    assert_string_equal(fx_list(&fx, "a", NULL, first), "a=1@2");
    close_compactor(&fx, c);
    c = open_compactor(&fx, 0);
    wait_compacted(&fx, c);
    assert_int_equal(cor_compactor_revision(c), 124);
    close_compactor(&fx, c);
    fx_close(&fx);
}

TEST(compactor, closes_at_any_moment)
{
    struct fx fx;

    fx_open(&fx, ":memory:");
    for (int i = 0; i < 20; i++) {
        struct cor_compactor *c = open_compactor(&fx, 1);

        for (int turns = 0; turns < i; turns++)
            fx_rev(&fx);
        close_compactor(&fx, c);
    }
    fx_close(&fx);
}

TEST(compactor, open_survives_every_failed_allocation)
{
    struct fx fx;

    fx_open(&fx, ":memory:");
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_compactor_opts opts = {fx.engine, fx.loop, 60000};
        struct cor_compactor *c;
        int r = cor_compactor_open(&opts, &c);

        test_fail_alloc(0, false);
        if (r == 0)
            close_compactor(&fx, c);
        else
            assert_int_equal(r, -COR_ENOMEM);
    }
    fx_close(&fx);
}
