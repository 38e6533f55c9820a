#include "engine_fixture.h"

#include <stdio.h>

/* A request wakes the engine thread, which then looks at the clock that was moved. */
static void advance(struct fx *fx, uint64_t ms)
{
    cor_clock_manual_advance(&fx->clock, ms);
    fx_rev(fx);
}

TEST(sqlite_lease, deletes_its_keys_when_it_expires_each_with_its_own_revision)
{
    struct fx fx;
    struct sink sink;

    ON_EACH_STORE(&fx)
    {
        int64_t lease = fx_lease(&fx, 10);

        assert_true(lease > 0);
        sink_open(&sink, &fx, "/", "0", 0, SIZE_MAX);
        fx_put_lease(&fx, "/b", "1", 0, lease, NULL);
        fx_put_lease(&fx, "/a", "1", 0, lease, NULL);
        fx_put(&fx, "/c", "1", 0, NULL);
        advance(&fx, 9999);
        assert_int_equal(fx_rev(&fx), 4);
        advance(&fx, 1);
        sink_wait_events(&sink, 5);
        assert_string_equal(sink_text(&sink), "+/b=1@2 +/a=1@3 +/c=1@4 -/b@5(1) -/a@6(1)");
        assert_string_equal(fx_list(&fx, "/", "0", 0), "/c=1@4");
        assert_string_equal(fx_list(&fx, "/", "0", 5), "/a=1@3 /c=1@4");
        assert_int_equal(fx_put_lease(&fx, "/d", "1", 0, lease, NULL), -COR_ENOTFOUND);
        sink_close(&sink);
    }
}

TEST(sqlite_lease, a_write_without_it_takes_the_key_off_the_lease)
{
    struct fx fx;

    ON_EACH_STORE(&fx)
    {
        int64_t lease = fx_lease(&fx, 10), later = fx_lease(&fx, 20);

        fx_put_lease(&fx, "/a", "1", 0, lease, NULL);
        fx_put(&fx, "/a", "2", 2, NULL);
        fx_put_lease(&fx, "/b", "1", 0, lease, NULL);
        fx_put_lease(&fx, "/b", "2", 4, later, NULL);
        advance(&fx, 15000);
        fx_rev(&fx);
        assert_string_equal(fx_list(&fx, "/", "0", 0), "/a=2@3 /b=2@5");
        advance(&fx, 15000);
        fx_rev(&fx);
        assert_string_equal(fx_list(&fx, "/", "0", 0), "/a=2@3");
    }
}

TEST(sqlite_lease, runs_on_over_a_restart)
{
    struct fx fx;
    int64_t lease;

    fx_open(&fx, test_tmpdir());
    lease = fx_lease(&fx, 10);
    fx_put_lease(&fx, "/a", "1", 0, lease, NULL);
    fx_reopen(&fx);
    assert_string_equal(fx_list(&fx, "/a", NULL, 0), "/a=1@2");
    cor_engine_close(fx.engine);
    fx.engine = NULL;
    cor_clock_manual_advance(&fx.clock, 11000);
    fx_reopen(&fx);
    fx_rev(&fx);
    fx_rev(&fx);
    assert_string_equal(fx_list(&fx, "/a", NULL, 0), "");
    assert_int_equal(fx_rev(&fx), 3);
    fx_close(&fx);
}

/* More keys than one batch deletes. */
TEST(sqlite_lease, a_large_lease_expires_completely)
{
    enum { N = 700 };
    struct fx fx;
    char key[16];

    ON_EACH_STORE(&fx)
    {
        int64_t lease = fx_lease(&fx, 10);
        struct sink sink;

        for (int i = 0; i < N; i++) {
            snprintf(key, sizeof(key), "/%d", i);
            assert_int_equal(fx_put_lease(&fx, key, "1", 0, lease, NULL), 0);
        }
        sink_open(&sink, &fx, "/", "0", 0, SIZE_MAX);
        advance(&fx, 10000);
        sink_wait_events(&sink, N);
        assert_string_equal(fx_list(&fx, "/", "0", 0), "");
        assert_int_equal(fx_rev(&fx), 1 + 2 * N);
        sink_close(&sink);
    }
}

/* Nobody asks anything: the engine wakes by itself. */
TEST(sqlite_lease, expires_by_itself_on_the_real_clock)
{
    struct cor_engine_config config = {.backend = "sqlite", .data_dir = ":memory:"};
    struct fx fx;
    struct sink sink;
    int r;

    fx_open(&fx, ":memory:");
    cor_engine_close(fx.engine);
    assert_int_equal(cor_engine_open(&config, &fx.engine, NULL), 0);
    sink_open(&sink, &fx, "/a", NULL, 0, SIZE_MAX);
    do /* On a machine that stalls a lease may end before the write. */
        r = fx_put_lease(&fx, "/a", "1", 0, fx_lease(&fx, 1), NULL);
    while (r == -COR_ENOTFOUND);
    assert_int_equal(r, 0);
    sink_wait_events(&sink, 2);
    assert_string_equal(sink_text(&sink), "+/a=1@2 -/a@3(1)");
    sink_close(&sink);
    fx_close(&fx);
}
