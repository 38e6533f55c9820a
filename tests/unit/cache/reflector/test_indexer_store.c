/* Contract client 1.12.10: a reflector over a store, without a queue. */
#include "base/err.h"
#include "cache/reflector/indexer_store.h"
#include "cache/reflector/reflector.h"
#include "fake_server.h"
#include "test.h"

static void show(struct cor_indexer *ix, char *to)
{
    struct cor_object_iter it;
    struct cor_object *o;
    struct cor_str key;

    to[0] = '\0';
    assert_int_equal(cor_indexer_list(ix, &it), 0);
    while (cor_object_iter_next(&it, &o, &key))
        trace_note(to, "%.*s%.*s", COR_STR_ARG(key), COR_STR_ARG(cor_object_resource_version(o)));
    cor_object_iter_deinit(&it);
}

TEST(indexer_store, follows_lists_and_events)
{
    char trace[TRACE_MAX], shown[TRACE_MAX];
    struct fake_server server;
    struct cor_indexer *ix;
    struct cor_reflector_store *store;
    struct cor_reflector *r;
    struct cor_rand rand;

    cor_rand_init_seeded(&rand, 1);
    fake_server_init(&server, trace);
    assert_int_equal(cor_indexer_new(NULL, 0, &ix), 0);
    assert_int_equal(cor_indexer_store_new(ix, &store), 0);
    assert_int_equal(
        cor_reflector_new(&(struct cor_reflector_opts){.rand = &rand}, &server.driver, store, &r),
        0);
    server.to = r;
    cor_reflector_start(r, fake_server_now(&server));
    fake_server_list(&server, "a1 b2 c3", "10");
    fake_server_opened(&server);
    fake_server_event(&server, COR_WATCH_MODIFIED, "a", 11);
    fake_server_event(&server, COR_WATCH_DELETED, "b", 12);
    fake_server_event(&server, COR_WATCH_ADDED, "d", 13);
    fake_server_bookmark(&server, 14, false);
    show(ix, shown);
    assert_string_equal(shown, "a11 c3 d13");
    fake_server_error(&server, -COR_EEXPIRED);
    fake_server_wake(&server);
    fake_server_list(&server, "c20", "20");
    show(ix, shown);
    assert_string_equal(shown, "c20");
    cor_reflector_stop(r, fake_server_now(&server));
    cor_reflector_free(r);
    cor_reflector_store_free(store);
    cor_indexer_free(ix);
}

/* Contract client 1.1.7, 1.2.6. */
TEST(indexer_store, a_resync_changes_nothing)
{
    struct cor_object *a = fake_object("a", 1);
    struct cor_reflector_store *s;
    struct cor_indexer *ix;
    char shown[TRACE_MAX];

    assert_int_equal(cor_indexer_new(NULL, 0, &ix), 0);
    assert_int_equal(cor_indexer_store_new(ix, &s), 0);
    assert_int_equal(s->ops->resync(s, NULL), 0);
    assert_int_equal(cor_indexer_len(ix), 0);
    assert_int_equal(s->ops->add(s, COR_STR(""), a, cor_reflector_at(COR_STR("1")), NULL), 0);
    assert_int_equal(s->ops->resync(s, NULL), 0);
    show(ix, shown);
    assert_string_equal(shown, "a1");
    cor_reflector_store_free(s);
    cor_indexer_free(ix);
    cor_object_unref(a);
}

TEST(indexer_store, keeps_what_it_had_when_memory_runs_out)
{
    struct cor_object *old = fake_object("a", 1), *new = fake_object("b", 2);

    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
        char shown[TRACE_MAX];
        struct cor_indexer *ix;
        struct cor_reflector_store *s;
        int r;

        test_fail_alloc(0, false);
        assert_int_equal(cor_indexer_new(NULL, 0, &ix), 0);
        assert_int_equal(cor_indexer_put(ix, old, NULL), 0);
        test_fail_alloc(n, false);
        if (cor_indexer_store_new(ix, &s) < 0) {
            cor_indexer_free(ix);
            continue;
        }
        r = s->ops->replace_add(s, COR_STR(""), new, &status);
        if (r == 0)
            r = s->ops->replace_commit(s, cor_reflector_at(COR_STR("2")), &status);
        else
            s->ops->replace_abort(s);
        cor_reflector_store_free(s);
        test_fail_alloc(0, false);
        show(ix, shown);
        assert_string_equal(shown, r == 0 ? "b2" : "a1");
        cor_indexer_free(ix);
    }
    cor_object_unref(old);
    cor_object_unref(new);
}
