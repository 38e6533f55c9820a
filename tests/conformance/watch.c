#include "conformance.h"

static struct conf_watch w, w2;

static struct cor_store_watch_opts from(cor_rev rev, bool recursive)
{
    struct cor_store_watch_opts opts = {.options.recursive = recursive};

    opts.options.resource_version = cor_strz(rev ? conf_rv(rev) : "");
    return opts;
}

static cor_rev put(struct conf *c, const char *ns, const char *name, const char *node)
{
    struct cor_object *object = conf_put_pod(c, ns, name, node);
    cor_rev rev = object->rev;

    cor_object_unref(object);
    return rev;
}

static cor_rev removed(struct conf *c, const char *key)
{
    struct cor_object *object = conf_remove(c, key);
    cor_rev rev = object->rev;

    cor_object_unref(object);
    return rev;
}

static void test_watch(bool recursive)
{
    struct cor_predicate predicate = conf_predicate("", "spec.nodeName=match");
    struct cor_store_watch_opts opts;
    struct conf c;
    cor_rev rev;

    conf_open(&c);
    opts = from(conf_bump(&c), recursive);
    opts.predicate = &predicate;
    conf_watch_open(&c, &w, recursive ? "/pods/ns" : "/pods/ns/foo", &opts);
    put(&c, "ns-bad", "foo", "match");
    put(&c, "ns", "foo", "other");
    rev = put(&c, "ns", "foo", "match");
    conf_watch_expect(&w, COR_WATCH_ADDED, "foo", rev);
    rev = put(&c, "ns", "foo", "other");
    {
        const struct conf_event *left = conf_watch_expect(&w, COR_WATCH_DELETED, "foo", rev);

        assert_non_null(strstr(left->object->bytes, "\"match\""));
    }
    rev = put(&c, "ns", "foo", "match");
    conf_watch_expect(&w, COR_WATCH_ADDED, "foo", rev);
    cor_object_unref(conf_put(
        &c, "/pods/ns/foo",
        conf_object("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"foo\","
                    "\"namespace\":\"ns\"},\"spec\":{\"nodeName\":\"match\",\"x\":1}}")));
    conf_watch_expect(&w, COR_WATCH_MODIFIED, "foo", rev + 1);
    rev = removed(&c, "/pods/ns/foo");
    conf_watch_expect(&w, COR_WATCH_DELETED, "foo", rev);
    put(&c, "ns", "foo", "other");
    removed(&c, "/pods/ns/foo");
    conf_watch_expect_idle(&w);
    conf_watch_close(&w);
    cor_predicate_deinit(&predicate);
    conf_close(&c);
}

/* RunTestWatch: a single key */
TEST(conformance, watch_of_a_key_follows_what_matches)
{
    test_watch(false);
}

/* RunTestWatch: recursive */
TEST(conformance, watch_of_a_prefix_follows_what_matches)
{
    test_watch(true);
}

/* RunTestWatchFromZero */
TEST(conformance, watch_from_zero_begins_with_the_current_state)
{
    struct cor_store_watch_opts opts = {.options.resource_version = COR_STR("0")};
    struct conf c;
    cor_rev created, updated;

    conf_open(&c);
    created = put(&c, "ns", "foo", "a");
    conf_watch_open(&c, &w, "/pods/ns/foo", &opts);
    conf_watch_expect(&w, COR_WATCH_ADDED, "foo", created);
    conf_watch_expect_idle(&w);
    updated = put(&c, "ns", "foo", "b");
    conf_watch_expect(&w, COR_WATCH_MODIFIED, "foo", updated);
    conf_watch_close(&w);

    conf_compact(&c, updated);
    conf_watch_open(&c, &w, "/pods/ns/foo", &opts);
    conf_watch_expect(&w, COR_WATCH_ADDED, "foo", updated);
    conf_watch_close(&w);

    /* A cache's window is not compacted with the store. */
    if (c.reader) {
        conf_close(&c);
        return;
    }
    opts = from(created, false);
    conf_watch_open(&c, &w, "/pods/ns/foo", &opts);
    {
        const struct conf_event *e = conf_watch_expect(&w, COR_WATCH_ERROR, NULL, 0);

        assert_int_equal(e->status.code, 410);
        assert_string_equal(e->status.reason, "Expired");
        assert_string_equal(cor_status_message(&e->status),
                            "The resourceVersion for the provided watch is too old.");
    }
    conf_watch_close(&w);
    conf_close(&c);
}

/* RunTestDeleteTriggerWatch */
TEST(conformance, delete_triggers_a_watch_event)
{
    struct cor_store_watch_opts opts;
    struct conf c;
    cor_rev rev;

    conf_open(&c);
    opts = from(put(&c, "ns", "foo", NULL), false);
    conf_watch_open(&c, &w, "/pods/ns/foo", &opts);
    rev = removed(&c, "/pods/ns/foo");
    conf_watch_expect(&w, COR_WATCH_DELETED, "foo", rev);
    conf_watch_close(&w);
    conf_close(&c);
}

/* RunTestWatchFromNonZero */
TEST(conformance, watch_from_non_zero_sees_only_what_came_later)
{
    struct cor_store_watch_opts opts;
    struct conf c;
    cor_rev rev;

    conf_open(&c);
    opts = from(put(&c, "ns", "foo", "a"), false);
    conf_watch_open(&c, &w, "/pods/ns/foo", &opts);
    rev = put(&c, "ns", "foo", "b");
    conf_watch_expect(&w, COR_WATCH_MODIFIED, "foo", rev);
    conf_watch_expect_idle(&w);
    conf_watch_close(&w);
    conf_close(&c);
}

/* A revision that lies in the future is waited for. */
TEST(conformance, watch_from_a_future_revision_begins_after_it)
{
    struct cor_store_watch_opts opts;
    struct conf c;
    cor_rev rev;

    conf_open(&c);
    opts = from(conf_revision(&c) + 2, true);
    conf_watch_open(&c, &w, "/pods", &opts);
    conf_bump(&c);
    put(&c, "ns", "early", NULL);
    rev = put(&c, "ns", "late", NULL);
    conf_watch_expect(&w, COR_WATCH_ADDED, "late", rev);
    conf_watch_close(&w);
    conf_close(&c);
}

/* RunTestWatchError */
TEST(conformance, watch_with_a_broken_transformer_ends_in_an_error)
{
    struct cor_store_watch_opts opts;
    struct conf c;

    conf_open_store(&c);
    opts = from(conf_bump(&c), true);
    put(&c, "ns", "foo", NULL);
    c.transformer.broken = true;
    conf_watch_open(&c, &w, "/pods", &opts);
    {
        const struct conf_event *e = conf_watch_expect(&w, COR_WATCH_ERROR, NULL, 0);

        assert_int_equal(e->status.code, 500);
        assert_string_equal(
            cor_status_message(&e->status),
            "unable to transform key \"/registry/pods/ns/foo\": this value is broken");
    }
    conf_watch_close(&w);
    conf_close(&c);
}

/* An unreadable object in the initial state ends the watch too; other prefixes go on. */
TEST(conformance, watch_of_an_initial_state_with_an_unreadable_object_ends_in_an_error)
{
    struct cor_store_watch_opts opts = {.options.recursive = true};
    struct conf c;

    conf_open(&c);
    put(&c, "ns1", "good", NULL);
    conf_write_raw(&c, "/registry/pods/ns2/junk", "[]");
    conf_watch_open(&c, &w, "/pods", &opts);
    conf_watch_open(&c, &w2, "/pods/ns1", &opts);
    conf_watch_expect(&w, COR_WATCH_ADDED, "good", 0);
    {
        const struct conf_event *e = conf_watch_expect(&w, COR_WATCH_ERROR, NULL, 0);

        assert_int_equal(e->status.code, 500);
        assert_non_null(strstr(cor_status_message(&e->status), "/registry/pods/ns2/junk"));
    }
    conf_watch_expect(&w2, COR_WATCH_ADDED, "good", 0);
    put(&c, "ns1", "better", NULL);
    conf_watch_expect(&w2, COR_WATCH_ADDED, "better", 0);
    conf_watch_close(&w);
    conf_watch_close(&w2);
    conf_close(&c);
}

/* RunWatchErrorIsBlockingFurtherEvents; the fixture asserts that nothing follows an ERROR. */
TEST(conformance, watch_error_is_blocking_further_events)
{
    static struct conf_watch many[10];
    struct cor_store_watch_opts opts;
    struct conf c;

    conf_open_store(&c);
    opts = from(put(&c, "test", "foo", NULL), true);
    put(&c, "test", "bar", NULL);
    put(&c, "test", "baz", NULL);
    c.transformer.broken = true;
    c.transformer.broken_key = "/bar";
    for (size_t i = 0; i < COR_ARRAY_LEN(many); i++)
        conf_watch_open(&c, &many[i], "/pods", &opts);
    for (size_t i = 0; i < COR_ARRAY_LEN(many); i++)
        conf_watch_expect(&many[i], COR_WATCH_ERROR, NULL, 0);
    put(&c, "test", "qux", NULL);
    for (size_t i = 0; i < COR_ARRAY_LEN(many); i++) {
        conf_watch_close(&many[i]);
        assert_int_equal(many[i].n, 1);
    }
    conf_close(&c);
}

/* RunTestWatchWithUnsafeDelete */
TEST(conformance, watch_of_an_unsafe_delete_ends_in_a_storage_read_error)
{
    struct cor_store_watch_opts opts;
    struct conf c;

    conf_open_store(&c);
    opts = from(put(&c, "ns", "foo", NULL), false);
    conf_watch_open(&c, &w, "/pods/ns/foo", &opts);
    c.transformer.broken = true;
    {
        struct cor_store_delete_opts unsafe = {.unreadable = true};
        CONF_REPLY refused = conf_delete(&c, "/pods/ns/foo", NULL);
        CONF_REPLY deleted = conf_delete(&c, "/pods/ns/foo", &unsafe);
        const struct conf_event *e = conf_watch_expect(&w, COR_WATCH_ERROR, NULL, 0);

        assert_int_equal(refused.err, -COR_EINTERNAL);
        assert_int_equal(deleted.err, 0);
        assert_int_equal(e->status.code, 500);
        assert_string_equal(e->status.reason, "StorageReadError");
        assert_non_null(strstr(cor_status_message(&e->status),
                               "saw a DELETED event, but object data is corrupt"));
    }
    conf_watch_close(&w);
    conf_close(&c);
}

/* RunTestWatchContextCancel: closed right away, in every state it can be in. */
TEST(conformance, watch_that_is_closed_at_once_delivers_nothing)
{
    struct cor_store_watch_opts opts = {.options.recursive = true};
    struct conf c;

    conf_open(&c);
    put(&c, "ns", "foo", NULL);
    conf_watch_open(&c, &w, "/pods", &opts);
    conf_watch_close(&w);
    assert_int_equal(w.n, 0);
    conf_watch_open(&c, &w, "/pods", &opts);
    conf_watch_expect(&w, COR_WATCH_ADDED, "foo", 0);
    conf_watch_close(&w);
    conf_watch_open(&c, &w, "/pods", &opts);
    conf_watch_expect(&w, COR_WATCH_ADDED, "foo", 0);
    conf_watch_expect_idle(&w);
    put(&c, "ns", "bar", NULL);
    conf_watch_close(&w);
    assert_true(w.n <= 3);
    conf_close(&c);
}

/* RunTestWatchDeleteEventObjectHaveLatestRV */
TEST(conformance, watch_delete_event_object_is_what_delete_returned)
{
    struct cor_store_watch_opts opts;
    struct conf c;

    conf_open(&c);
    {
        struct cor_object *made = conf_put_pod(&c, "ns", "foo", "n"), *gone;
        const struct conf_event *e;

        opts = from(made->rev, false);
        conf_watch_open(&c, &w, "/pods/ns/foo", &opts);
        gone = conf_remove(&c, "/pods/ns/foo");
        e = conf_watch_expect(&w, COR_WATCH_DELETED, "foo", gone->rev);
        assert_true(cor_str_eq(cor_object_json(e->object), cor_object_json(gone)));
        assert_true(gone->rev > made->rev);
        cor_object_unref(made);
        cor_object_unref(gone);
    }
    conf_watch_close(&w);
    conf_close(&c);
}

/* RunTestWatchInitializationSignal: a watch is live soon after it was opened. */
TEST(conformance, watch_is_live_soon)
{
    struct cor_store_watch_opts opts = {.options.recursive = true};
    struct conf c;

    conf_open(&c);
    conf_watch_open(&c, &w, "/pods", &opts);
    conf_watch_expect_idle(&w);
    conf_watch_close(&w);
    conf_close(&c);
}

/* RunOptionalTestProgressNotify */
TEST(conformance, watch_with_progress_notify_gets_bookmarks_while_idle)
{
    struct cor_store_watch_opts opts;
    struct conf c;
    cor_rev rev;

    conf_open(&c);
    rev = put(&c, "ns", "foo", NULL);
    opts = from(rev, false);
    opts.progress_ms = 20;
    conf_watch_open(&c, &w, "/pods/ns/foo", &opts);
    {
        const struct conf_event *e = conf_watch_expect(&w, COR_WATCH_BOOKMARK, NULL, 0);

        assert_true(e->rev >= rev);
        assert_object_rv(e->object, e->rev);
        assert_str(cor_object_kind(e->object), "Pod");
        assert_str(cor_object_name(e->object), "");
        assert_null(strstr(e->object->bytes, "annotations"));
    }
    rev = conf_bump(&c);
    while (conf_watch_expect(&w, COR_WATCH_BOOKMARK, NULL, 0)->rev < rev)
        ;
    conf_watch_close(&w);
    conf_close(&c);
}

/* TestWatchErrorIncorrectConfiguration */
TEST(conformance, watch_with_progress_notify_needs_a_kind)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_store_watch_opts opts = {.progress_ms = 20};
    struct cor_store_opts store_opts = {.resource_prefix = "/pods"};
    struct cor_store_watch *watch;
    struct cor_store *store;
    struct conf c;

    conf_open(&c);
    store_opts.engine = c.engine;
    store_opts.loop = c.loop;
    assert_int_equal(cor_store_new(&store_opts, &store, NULL), 0);
    assert_int_equal(cor_store_watch_open(store, COR_STR("/pods"), &opts, &watch, &status),
                     -COR_EINTERNAL);
    assert_string_equal(cor_status_message(&status),
                        "Internal error occurred: progressNotify for watch is unsupported by the "
                        "etcd storage because no newFunc was provided");
    cor_store_free(store);
    conf_close(&c);
}

/* RunTestWatchDispatchBookmarkEvents: the raw store sends no periodic bookmarks of its own. */
TEST(conformance, watch_sends_no_bookmark_that_nobody_asked_for)
{
    struct cor_store_watch_opts opts;
    struct conf c;
    cor_rev rev;

    conf_open(&c);
    opts = from(put(&c, "ns", "foo", NULL), true);
    opts.options.allow_bookmarks = true;
    conf_watch_open(&c, &w, "/pods", &opts);
    for (int i = 0; i < 10; i++)
        conf_bump(&c);
    rev = put(&c, "ns", "foo", "b");
    conf_watch_expect(&w, COR_WATCH_MODIFIED, "foo", rev);
    conf_watch_close(&w);
    conf_close(&c);
}

/* RunTestOptionalWatchBookmarksWithCorrectResourceVersion */
TEST(conformance, watch_bookmarks_stand_between_the_events_of_their_revision)
{
    struct cor_store_watch_opts opts;
    struct conf c;
    cor_rev seen = 0, mark = 0, last = 0;

    conf_open(&c);
    opts = from(conf_bump(&c), true);
    opts.progress_ms = 1;
    conf_watch_open(&c, &w, "/pods", &opts);
    for (int i = 0; i < 30; i++)
        last = put(&c, "ns", "foo", i % 2 ? "a" : "b");
    while (seen < last) {
        const struct conf_event *e = conf_watch_next(&w);

        assert_true(e->rev >= seen);
        if (e->type == COR_WATCH_BOOKMARK) {
            mark = e->rev;
        } else {
            assert_true(e->rev > mark);
            seen = e->rev;
        }
    }
    conf_watch_close(&w);
    conf_close(&c);
}
