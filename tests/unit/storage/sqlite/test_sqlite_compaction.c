#include "engine_fixture.h"

#include <stdio.h>

#include "base/mem.h"
#include "storage/engine/maintenance.h"

static void on_finding(void *arg, const char *finding)
{
    fail_msg("%s", finding);
}

static struct cor_store_summary checked(const char *dir)
{
    struct cor_store_summary sum;

    assert_int_equal(cor_store_check(dir, on_finding, NULL, &sum, NULL), 0);
    return sum;
}

TEST(sqlite_compaction, older_revisions_cannot_be_read_and_newer_ones_can)
{
    struct fx fx;
    struct cor_engine_status_req st;

    ON_EACH_STORE(&fx)
    {
        fx_put(&fx, "/a", "1", 0, NULL);
        fx_put(&fx, "/a", "2", 2, NULL);
        fx_put(&fx, "/b", "1", 0, NULL);
        fx_put(&fx, "/a", "3", 3, NULL);
        assert_int_equal(fx_compact(&fx, 6), -COR_EFUTURE);
        assert_int_equal(fx_compact(&fx, 4), 0);
        assert_string_equal(fx_list(&fx, "/", "0", 3), "EEXPIRED");
        assert_string_equal(fx_list(&fx, "/a", NULL, 3), "EEXPIRED");
        assert_string_equal(fx_list(&fx, "/", "0", 4), "/a=2@3 /b=1@4");
        assert_string_equal(fx_list(&fx, "/", "0", 5), "/a=3@5 /b=1@4");
        assert_string_equal(fx_list(&fx, "/", "0", 0), "/a=3@5 /b=1@4");
        assert_int_equal(fx_compact(&fx, 2), 0);
        assert_int_equal(fx_status(&fx, &st), 0);
        assert_int_equal(st.ret_compact_rev, 4);
        assert_int_equal(st.ret_rev, 5);
        cor_engine_req_deinit(&st.req);
    }
}

TEST(sqlite_compaction, sweeps_what_was_replaced_or_deleted)
{
    struct fx fx;
    struct cor_store_summary sum;

    fx_open(&fx, test_tmpdir());
    for (cor_rev i = 0; i < 300; i++)
        assert_int_equal(fx_put(&fx, "/a", "v", i ? i + 1 : 0, NULL), 0);
    fx_put(&fx, "/b", "1", 0, NULL);
    fx_delete(&fx, "/b", 302, NULL);
    fx_put(&fx, "/c", "1", 0, NULL);
    assert_int_equal(checked(fx.dir).rows, 303);
    assert_int_equal(fx_compact(&fx, 304), 0);
    fx_reopen(&fx);
    for (int i = 0; i < 10; i++)
        fx_rev(&fx);
    sum = checked(fx.dir);
    assert_int_equal(sum.rows, 2);
    assert_int_equal(sum.keys, 2);
    assert_string_equal(fx_list(&fx, "/", "0", 304), "/a=v@301 /c=1@304");
    fx_close(&fx);
}

/* The newest row is a tombstone: without it the next write would take its revision again. */
TEST(sqlite_compaction, the_revision_never_goes_back)
{
    struct fx fx;
    cor_rev rev;

    fx_open(&fx, test_tmpdir());
    fx_put(&fx, "/a", "1", 0, NULL);
    fx_delete(&fx, "/a", 2, NULL);
    assert_int_equal(fx_compact(&fx, 3), 0);
    for (int i = 0; i < 5; i++)
        fx_rev(&fx);
    assert_int_equal(fx_rev(&fx), 3);
    fx_reopen(&fx);
    assert_int_equal(fx_rev(&fx), 3);
    assert_int_equal(checked(fx.dir).rows, 1);
    assert_int_equal(fx_put(&fx, "/b", "1", 0, &rev), 0);
    assert_int_equal(rev, 4);
    for (int i = 0; i < 5; i++)
        fx_rev(&fx);
    assert_int_equal(checked(fx.dir).rows, 1);
    fx_close(&fx);
}

TEST(sqlite_compaction, a_feed_from_the_compacted_revision_still_sees_the_version_before)
{
    struct fx fx;
    struct sink sink;

    ON_EACH_STORE(&fx)
    {
        fx_put(&fx, "/a", "1", 0, NULL);
        fx_put(&fx, "/a", "2", 2, NULL);
        fx_put(&fx, "/b", "1", 0, NULL);
        fx_put(&fx, "/a", "3", 3, NULL);
        fx_delete(&fx, "/b", 4, NULL);
        assert_int_equal(fx_compact(&fx, 4), 0);
        for (int i = 0; i < 5; i++)
            fx_rev(&fx);
        sink_open(&sink, &fx, "/", "0", 4, SIZE_MAX);
        sink_wait_events(&sink, 2);
        assert_string_equal(sink_text(&sink), "/a=3@5(2) -/b@6(1)");
        sink_close(&sink);
    }
}

TEST(sqlite_compaction, gives_space_back)
{
    enum { VALUE = 100000, N = 120 };
    char *value = cor_calloc(1, VALUE);
    struct fx fx;

    ON_EACH_STORE(&fx)
    {
        struct cor_engine_status_req before, after;
        cor_rev rev = 0;

        for (int i = 0; i < N; i++) {
            struct cor_write_req w;

            cor_write_req_init(&w, fx.loop, fx_on_done);
            w.key = COR_STR("/a");
            w.value = cor_str(value, VALUE);
            w.expected = rev;
            fx_submit_write(&fx, &w);
            fx_wait(&fx);
            rev = w.ret_rev;
            cor_write_req_deinit(&w);
        }
        assert_int_equal(fx_status(&fx, &before), 0);
        assert_true(before.ret_file_bytes > N * VALUE);
        assert_int_equal(fx_compact(&fx, rev), 0);
        for (int i = 0; i < 200; i++)
            fx_rev(&fx);
        assert_int_equal(fx_status(&fx, &after), 0);
        assert_true(after.ret_used_bytes < 300000);
        assert_true(after.ret_file_bytes < 1500000);
        cor_engine_req_deinit(&before.req);
        cor_engine_req_deinit(&after.req);
    }
    cor_free(value);
}
