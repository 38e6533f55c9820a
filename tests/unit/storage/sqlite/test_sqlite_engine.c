#include "engine_fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

TEST(sqlite_engine, an_empty_store_has_revision_1_and_the_first_write_takes_2)
{
    struct fx fx;
    cor_rev rev;

    ON_EACH_STORE(&fx)
    {
        assert_int_equal(fx_rev(&fx), 1);
        assert_string_equal(fx_list(&fx, "/", "0", 0), "");
        assert_int_equal(fx_put(&fx, "/a", "1", 0, &rev), 0);
        assert_int_equal(rev, 2);
        assert_int_equal(fx_rev(&fx), 2);
    }
}

TEST(sqlite_engine, a_create_needs_the_key_absent_and_an_update_its_revision)
{
    struct fx fx;
    cor_rev rev;

    ON_EACH_STORE(&fx)
    {
        assert_int_equal(fx_put(&fx, "/a", "1", 5, NULL), -COR_ECONFLICT);
        assert_int_equal(fx_put(&fx, "/a", "1", 0, &rev), 0);
        assert_int_equal(fx_put(&fx, "/a", "2", 0, NULL), -COR_ECONFLICT);
        assert_int_equal(fx_put(&fx, "/a", "2", rev + 1, NULL), -COR_ECONFLICT);
        assert_int_equal(fx_put(&fx, "/a", "2", rev, &rev), 0);
        assert_string_equal(fx_list(&fx, "/a", NULL, 0), "/a=2@3");
        assert_int_equal(fx_delete(&fx, "/a", 2, NULL), -COR_ECONFLICT);
        assert_int_equal(fx_delete(&fx, "/a", 3, &rev), 0);
        assert_int_equal(rev, 4);
        assert_string_equal(fx_list(&fx, "/a", NULL, 0), "");
        assert_int_equal(fx_delete(&fx, "/a", 4, NULL), -COR_ECONFLICT);
        assert_int_equal(fx_put(&fx, "/a", "3", 0, &rev), 0);
        assert_string_equal(fx_list(&fx, "/a", NULL, 0), "/a=3@5");
    }
}

TEST(sqlite_engine, a_lost_compare_returns_the_current_version_and_takes_no_revision)
{
    struct fx fx;
    struct cor_write_req w;

    ON_EACH_STORE(&fx)
    {
        assert_int_equal(fx_put(&fx, "/a", "mine", 0, NULL), 0);
        cor_write_req_init(&w, fx.loop, fx_on_done);
        w.key = COR_STR("/a");
        w.value = COR_STR("theirs");
        fx_submit_write(&fx, &w);
        fx_wait(&fx);
        assert_int_equal(w.req.result, -COR_ECONFLICT);
        assert_str(cor_kv_value(w.ret_prev), "mine");
        assert_int_equal(w.ret_prev->mod_rev, 2);
        assert_int_equal(fx_rev(&fx), 2);
        cor_write_req_deinit(&w);
    }
}

TEST(sqlite_engine, a_write_returns_the_version_it_replaced)
{
    struct fx fx;
    struct cor_write_req w;

    ON_EACH_STORE(&fx)
    {
        assert_int_equal(fx_put(&fx, "/a", "1", 0, NULL), 0);
        assert_int_equal(fx_put(&fx, "/a", "2", 2, NULL), 0);
        cor_write_req_init(&w, fx.loop, fx_on_done);
        w.key = COR_STR("/a");
        w.is_delete = true;
        w.expected = 3;
        fx_submit_write(&fx, &w);
        fx_wait(&fx);
        assert_int_equal(w.req.result, 0);
        assert_int_equal(w.ret_rev, 4);
        assert_str(cor_kv_value(w.ret_prev), "2");
        assert_int_equal(w.ret_prev->create_rev, 2);
        assert_int_equal(w.ret_prev->mod_rev, 3);
        cor_write_req_deinit(&w);
    }
}

/* 600 writes do not fit one batch; a third of them loses its compare. */
TEST(sqlite_engine, queued_writes_run_in_order_and_a_lost_one_stops_no_other)
{
    enum { N = 600 };
    static struct cor_write_req writes[N];
    static char keys[N][16];
    struct fx fx;

    ON_EACH_STORE(&fx)
    {
        cor_rev next = 2;

        for (int i = 0; i < N; i++) {
            cor_write_req_init(&writes[i], fx.loop, fx_on_done);
            snprintf(keys[i], sizeof(keys[i]), "/k%d", i / 3 * 3 + (i % 3 == 2));
            writes[i].key = cor_strz(keys[i]);
            writes[i].value = cor_strz(keys[i]);
            fx_submit_write(&fx, &writes[i]);
        }
        fx_wait(&fx);
        for (int i = 0; i < N; i++) {
            if (i % 3 == 1) {
                assert_int_equal(writes[i].req.result, -COR_ECONFLICT);
                assert_int_equal(writes[i].ret_prev->mod_rev, writes[i - 1].ret_rev);
            } else {
                assert_int_equal(writes[i].req.result, 0);
                assert_int_equal(writes[i].ret_rev, next++);
            }
            cor_write_req_deinit(&writes[i]);
        }
        assert_int_equal(fx_rev(&fx), next - 1);
    }
}

TEST(sqlite_engine, a_range_is_ordered_by_bytes_and_ends_before_its_end)
{
    struct fx fx;

    ON_EACH_STORE(&fx)
    {
        fx_put(&fx, "/b/\xff", "3", 0, NULL);
        fx_put(&fx, "/b/x", "1", 0, NULL);
        fx_put(&fx, "/b", "0", 0, NULL);
        fx_put(&fx, "/b/x/y", "2", 0, NULL);
        fx_put(&fx, "/b0", "4", 0, NULL);
        fx_put(&fx, "/a", "5", 0, NULL);
        assert_string_equal(fx_list(&fx, "/b/", "/b0", 0), "/b/x=1@3 /b/x/y=2@5 /b/\xff=3@2");
        assert_string_equal(fx_list(&fx, "/b", "/b/", 0), "/b=0@4");
        assert_string_equal(fx_list(&fx, "/c", "/a", 0), "");
    }
}

TEST(sqlite_engine, a_read_at_a_revision_sees_the_store_as_it_was)
{
    struct fx fx;

    ON_EACH_STORE(&fx)
    {
        fx_put(&fx, "/a", "1", 0, NULL);
        fx_put(&fx, "/b", "1", 0, NULL);
        fx_put(&fx, "/a", "2", 2, NULL);
        fx_delete(&fx, "/b", 3, NULL);
        fx_put(&fx, "/b", "2", 0, NULL);
        assert_string_equal(fx_list(&fx, "/", "0", 1), "");
        assert_string_equal(fx_list(&fx, "/", "0", 3), "/a=1@2 /b=1@3");
        assert_string_equal(fx_list(&fx, "/", "0", 4), "/a=2@4 /b=1@3");
        assert_string_equal(fx_list(&fx, "/", "0", 5), "/a=2@4");
        assert_string_equal(fx_list(&fx, "/b", NULL, 5), "");
        assert_string_equal(fx_list(&fx, "/", "0", 6), "/a=2@4 /b=2@6");
        assert_string_equal(fx_list(&fx, "/", "0", 7), "EFUTURE");
        assert_string_equal(fx_list(&fx, "/b", NULL, 3), "/b=1@3");
    }
}

static void put_numbered(struct fx *fx, int n)
{
    char key[16];

    for (int i = 0; i < n; i++) {
        snprintf(key, sizeof(key), "/n/%04d", i);
        assert_int_equal(fx_put(fx, key, "v", 0, NULL), 0);
    }
}

TEST(sqlite_engine, a_limited_range_says_that_more_is_there_and_counts_the_rest)
{
    struct fx fx;
    struct cor_range_req req;

    ON_EACH_STORE(&fx)
    {
        put_numbered(&fx, 10);
        fx_delete(&fx, "/n/0003", 5, NULL);
        fx_range_init(&fx, &req, "/n/", "/n0");
        req.limit = 4;
        req.count = true;
        assert_int_equal(fx_range(&fx, &req), 0);
        assert_int_equal(req.ret_nkvs, 4);
        assert_str(cor_kv_key(req.ret_kvs[3]), "/n/0004");
        assert_true(req.ret_more);
        assert_int_equal(req.ret_count, 9);
        assert_int_equal(req.ret_rev, 12);
        cor_range_req_deinit(&req);

        fx_range_init(&fx, &req, "/n/", "/n0");
        req.limit = 9;
        assert_int_equal(fx_range(&fx, &req), 0);
        assert_int_equal(req.ret_nkvs, 9);
        assert_false(req.ret_more);
        assert_int_equal(req.ret_count, 0);
        cor_range_req_deinit(&req);
    }
}

TEST(sqlite_engine, a_count_returns_no_keys)
{
    struct fx fx;
    struct cor_range_req req;

    ON_EACH_STORE(&fx)
    {
        put_numbered(&fx, 5);
        fx_delete(&fx, "/n/0004", 6, NULL);
        fx_range_init(&fx, &req, "/n/", "/n0");
        req.count = req.keys_only = true;
        assert_int_equal(fx_range(&fx, &req), 0);
        assert_int_equal(req.ret_count, 4);
        assert_int_equal(req.ret_nkvs, 0);
        assert_false(req.ret_more);
        cor_range_req_deinit(&req);

        fx_range_init(&fx, &req, "/n/", "/n0");
        req.count = req.keys_only = true;
        req.at = 3;
        assert_int_equal(fx_range(&fx, &req), 0);
        assert_int_equal(req.ret_count, 2);
        assert_int_equal(req.ret_rev, 7);
        cor_range_req_deinit(&req);
    }
}

TEST(sqlite_engine, a_range_stops_at_its_bytes_and_goes_on_from_there)
{
    enum { VALUE = 3 << 20 };
    char *value = cor_calloc(1, VALUE);
    struct fx fx;
    struct cor_range_req req;
    char key[8];

    ON_EACH_STORE(&fx)
    {
        for (int i = 0; i < 4; i++) {
            struct cor_write_req w;

            snprintf(key, sizeof(key), "/%d", i);
            cor_write_req_init(&w, fx.loop, fx_on_done);
            w.key = cor_strz(key);
            w.value = cor_str(value, VALUE);
            fx_submit_write(&fx, &w);
            fx_wait(&fx);
            assert_int_equal(w.req.result, 0);
            cor_write_req_deinit(&w);
        }
        fx_range_init(&fx, &req, "/", "0");
        req.count = true;
        assert_int_equal(fx_range(&fx, &req), 0);
        assert_int_equal(req.ret_nkvs, 3);
        assert_true(req.ret_more);
        assert_int_equal(req.ret_count, 4);
        cor_range_req_deinit(&req);
        fx_range_init(&fx, &req, "/3", "0");
        assert_int_equal(fx_range(&fx, &req), 0);
        assert_int_equal(req.ret_nkvs, 1);
        assert_int_equal(cor_kv_value(req.ret_kvs[0]).n, VALUE);
        cor_range_req_deinit(&req);
    }
    cor_free(value);
}

/* Short values come with their row, long ones are read for themselves; either way they are whole.
 */
TEST(sqlite_engine, a_range_returns_values_of_every_length)
{
    static const size_t lengths[] = {0, 1, 4096, 16384, 16385, 300000};
    char *value = cor_alloc(300000);
    struct fx fx;
    struct cor_range_req req;
    char key[8];

    for (size_t i = 0; i < 300000; i++)
        value[i] = (char)(i * 7 + i / 4096);
    ON_EACH_STORE(&fx)
    {
        for (size_t i = 0; i < COR_ARRAY_LEN(lengths); i++) {
            struct cor_write_req w;

            snprintf(key, sizeof(key), "/%zu", i);
            cor_write_req_init(&w, fx.loop, fx_on_done);
            w.key = cor_strz(key);
            w.value = cor_str(value, lengths[i]);
            fx_submit_write(&fx, &w);
            fx_wait(&fx);
            assert_int_equal(w.req.result, 0);
            cor_write_req_deinit(&w);
        }
        fx_range_init(&fx, &req, "/", "0");
        assert_int_equal(fx_range(&fx, &req), 0);
        assert_int_equal(req.ret_nkvs, COR_ARRAY_LEN(lengths));
        for (size_t i = 0; i < COR_ARRAY_LEN(lengths); i++)
            assert_true(cor_str_eq(cor_kv_value(req.ret_kvs[i]), cor_str(value, lengths[i])));
        cor_range_req_deinit(&req);
    }
    cor_free(value);
}

TEST(sqlite_engine, refuses_what_it_cannot_hold)
{
    struct fx fx;
    struct cor_write_req w;
    char *key = cor_calloc(1, 5000);

    ON_EACH_STORE(&fx)
    {
        assert_int_equal(fx_put(&fx, "", "v", 0, NULL), -COR_EINVAL);
        assert_int_equal(fx_delete(&fx, "/a", 0, NULL), -COR_EINVAL);
        assert_int_equal(fx_put_lease(&fx, "/a", "v", 0, 77, NULL), -COR_ENOTFOUND);
        assert_int_equal(fx_lease(&fx, 0), -COR_EINVAL);
        cor_write_req_init(&w, fx.loop, fx_on_done);
        w.key = cor_str(key, 5000);
        fx_submit_write(&fx, &w);
        fx_wait(&fx);
        assert_int_equal(w.req.result, -COR_ETOOBIG);
        cor_write_req_deinit(&w);
        assert_int_equal(fx_rev(&fx), 1);
    }
    cor_free(key);
}

TEST(sqlite_engine, reopening_keeps_keys_history_and_revision)
{
    struct fx fx;

    fx_open(&fx, test_tmpdir());
    fx_put(&fx, "/a", "1", 0, NULL);
    fx_put(&fx, "/a", "2", 2, NULL);
    fx_put(&fx, "/b", "1", 0, NULL);
    fx_delete(&fx, "/b", 4, NULL);
    fx_reopen(&fx);
    assert_int_equal(fx_rev(&fx), 5);
    assert_string_equal(fx_list(&fx, "/", "0", 0), "/a=2@3");
    assert_string_equal(fx_list(&fx, "/", "0", 4), "/a=2@3 /b=1@4");
    assert_int_equal(fx_put(&fx, "/b", "2", 0, NULL), 0);
    assert_int_equal(fx_rev(&fx), 6);
    fx_close(&fx);
}

TEST(sqlite_engine, closing_answers_what_was_not_begun)
{
    enum { N = 2000 };
    static struct cor_write_req writes[N];
    struct fx fx;
    int canceled = 0, done = 0;

    fx_open(&fx, test_tmpdir());
    for (int i = 0; i < N; i++) {
        cor_write_req_init(&writes[i], fx.loop, fx_on_done);
        writes[i].key = COR_STR("/a");
        fx_submit_write(&fx, &writes[i]);
    }
    fx.engine = cor_engine_close(fx.engine);
    fx_wait(&fx);
    for (int i = 0; i < N; i++) {
        canceled += writes[i].req.result == -COR_ECANCELED;
        done += writes[i].req.result == 0 || writes[i].req.result == -COR_ECONFLICT;
        cor_write_req_deinit(&writes[i]);
    }
    assert_int_equal(canceled + done, N);
    fx_close(&fx);
}

TEST(sqlite_engine, the_factory_knows_its_backends)
{
    static const struct {
        const char *name;
        int err;
        const char *message;
    } cases[] = {
        {"etcd2", -COR_ENOTSUP, "etcd2 is no longer a supported storage backend"},
        {"etcd3", -COR_EINVAL, "--etcd-servers must be specified"},
        {"files", -COR_EINVAL,
         "--storage-backend invalid, allowed values: sqlite, etcd3. If not specified, it will "
         "default to 'sqlite'"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_engine_config config = {.backend = cases[i].name, .data_dir = ":memory:"};
        struct cor_engine *engine;
        struct cor_status st;

        cor_status_init(&st);
        assert_int_equal(cor_engine_open(&config, &engine, &st), cases[i].err);
        assert_string_equal(cor_status_message(&st), cases[i].message);
        cor_status_deinit(&st);
    }
}

TEST(sqlite_engine, opening_survives_failed_allocations)
{
    const char *dirs[] = {":memory:", test_tmpdir()};

    for (size_t i = 0; i < COR_ARRAY_LEN(dirs); i++) {
        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_engine_config config = {.backend = "sqlite", .data_dir = dirs[i]};
            struct cor_engine *engine = NULL;
            struct cor_status st;
            int r;

            cor_status_init(&st);
            r = cor_engine_open(&config, &engine, &st);
            assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
            assert_int_equal(r == 0, engine != NULL);
            test_fail_alloc(0, false);
            cor_engine_close(engine);
            cor_status_deinit(&st);
        }
    }
}

/* A feed whose callback runs on the engine thread, where it makes the n-th allocation after it
 * fail. */
struct saboteur {
    struct cor_feed *feed;
    _Atomic size_t nth;
    _Atomic bool closed;
};

static void sabotage(void *arg, const struct cor_feed_batch *batch)
{
    struct saboteur *s = arg;

    test_fail_alloc(atomic_load(&s->nth), false);
}

static void on_sabotage_broken(void *arg, int err, const char *message)
{
    abort();
}

static void on_sabotage_closed(void *arg)
{
    struct saboteur *s = arg;

    atomic_store(&s->closed, true);
}

/* The armed failure may meet this write itself; it happens once. */
static void arm(struct fx *fx, struct saboteur *s, size_t nth, cor_rev *rev)
{
    atomic_store(&s->nth, nth);
    if (fx_put(fx, "/arm", "", *rev, rev) < 0)
        assert_int_equal(fx_put(fx, "/arm", "", *rev, rev), 0);
}

TEST(sqlite_engine, its_thread_survives_failed_allocations)
{
    struct saboteur s = {.nth = 0};
    struct cor_feed_opts opts = {
        .key = COR_STR("/arm"),
        .credit = SIZE_MAX,
        .on_batch = sabotage,
        .on_broken = on_sabotage_broken,
        .on_closed = on_sabotage_closed,
        .arg = &s,
    };
    cor_rev armed = 0, rev = 0, long_rev;
    size_t refused = 0;
    struct sink sink;
    char want[32], long_value[20001] = "";
    struct fx fx;

    fx_open(&fx, ":memory:");
    assert_int_equal(cor_feed_open(fx.engine, &opts, &s.feed), 0);
    memset(long_value, 'x', sizeof(long_value) - 1);
    assert_int_equal(fx_put(&fx, "/long", long_value, 0, &long_rev), 0);
    assert_int_equal(fx_put(&fx, "/a", "x", 0, &rev), 0);
    sink_open(&sink, &fx, "/a", NULL, rev, SIZE_MAX);
    for (size_t n = 1; n <= 16; n++) {
        int64_t lease;
        int r;

        arm(&fx, &s, n, &armed);
        r = fx_put(&fx, "/a", "x", rev, &rev);
        assert_true(r == 0 || r == -COR_ENOMEM);
        refused += r < 0;
        lease = fx_lease(&fx, 10);
        assert_true(lease > 0 || lease == -COR_ENOMEM);
        fx_list(&fx, "/a", NULL, 0);
        arm(&fx, &s, n, &armed);
        fx_list(&fx, "/long", "/long0", 0);
        arm(&fx, &s, 0, &armed);
        assert_memory_equal(fx_list(&fx, "/long", "/long0", 0), "/long=xxx", 9);
        snprintf(want, sizeof(want), "/a=x@%llu", (unsigned long long)rev);
        assert_string_equal(fx_list(&fx, "/a", NULL, 0), want);
    }
    assert_uint_in_range(refused, 1, 15);
    sink_wait_events(&sink, 16 - refused);
    sink_close(&sink);
    cor_feed_close(s.feed);
    fx_close(&fx);
    assert_true(s.closed);
}
