/* Every allocation that an operation makes on its loop fails once. The operation then either
 * succeeds all the same or ends in -COR_ENOMEM, leaks nothing, and the store goes on working. */
#include "conformance.h"

#define KEY "/pods/ns/foo"

static void expect_ok_or_no_memory(int err)
{
    if (err != 0)
        assert_int_equal(err, -COR_ENOMEM);
    if (err != 0)
        assert_true(test_alloc_failed());
}

/* Waits for an operation that may have been refused at once, and turns the failures off. */
static void settle(struct conf *c, struct conf_reply *reply, int r)
{
    if (r == 0)
        conf_wait(c, &reply->done);
    else
        reply->err = r;
    test_fail_alloc(0, false);
    expect_ok_or_no_memory(reply->err);
}

static void remove_if_there(struct conf *c)
{
    CONF_REPLY reply = conf_delete(c, KEY, NULL);

    assert_true(reply.err == 0 || reply.err == -COR_ENOTFOUND);
}

/* The store has exactly this object at KEY. */
static void expect_stored(struct conf *c, const struct cor_object *object)
{
    CONF_REPLY reply = conf_get(c, KEY, "", false);

    assert_int_equal(reply.err, 0);
    assert_true(cor_str_eq(cor_object_json(reply.object), cor_object_json(object)));
}

TEST(out_of_memory, create)
{
    struct cor_object *pod = conf_pod("ns", "foo", NULL);
    struct conf c;

    conf_open(&c);
    FOR_EACH_FAILED_ALLOC(n) {
        CONF_REPLY reply = {0};

        settle(&c, &reply,
               cor_store_create(c.store, COR_STR(KEY), pod, 100, conf_on_reply, &reply,
                                &reply.status));
        if (reply.err == 0) {
            assert_non_null(reply.object);
            expect_stored(&c, reply.object);
        }
        remove_if_there(&c);
    }
    cor_object_unref(pod);
    conf_close(&c);
}

TEST(out_of_memory, get)
{
    struct cor_store_get_opts opts = {.resource_version = COR_STR("1")};
    struct conf c;

    conf_open(&c);
    cor_object_unref(conf_put_pod(&c, "ns", "foo", NULL));
    FOR_EACH_FAILED_ALLOC(n) {
        CONF_REPLY reply = {0};

        settle(&c, &reply,
               cor_store_get(c.store, COR_STR(KEY), &opts, conf_on_reply, &reply, &reply.status));
        assert_int_equal(reply.object != NULL, reply.err == 0);
        if (reply.err == 0)
            expect_stored(&c, reply.object);
    }
    conf_close(&c);
}

struct update {
    struct conf_reply reply;
    struct cor_object *object;
    int64_t ttl_s;
};

static void on_update_done(void *arg, const struct cor_store_reply *reply)
{
    conf_on_reply(&((struct update *)arg)->reply, reply);
}

static void write_it(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    struct update *u = arg;

    cor_store_change_write(change, cor_object_ref(u->object), u->ttl_s);
}

static void try_update(struct conf *c, struct cor_object *object, struct cor_object *suggestion,
                       int64_t ttl_s)
{
    struct update u = {.object = object, .ttl_s = ttl_s};
    struct cor_store_update_opts opts = {.preconditions.uid = COR_STR("foo-uid"),
                                         .suggestion = suggestion,
                                         .step = write_it,
                                         .on_done = on_update_done,
                                         .arg = &u};

    settle(c, &u.reply, cor_store_update(c->store, COR_STR(KEY), &opts, &u.reply.status));
    if (u.reply.err == 0)
        expect_stored(c, u.reply.object);
    conf_reply_deinit(&u.reply);
}

TEST(out_of_memory, guaranteed_update)
{
    struct cor_object *a, *b = conf_pod("ns", "foo", "b");
    struct conf c;

    conf_open(&c);
    a = conf_put_pod(&c, "ns", "foo", "a");
    FOR_EACH_FAILED_ALLOC(n) {
        try_update(&c, b, NULL, 100);
        cor_object_unref(conf_put_pod(&c, "ns", "foo", "a"));
    }
    FOR_EACH_FAILED_ALLOC(n) {
        try_update(&c, b, a, 0);
        cor_object_unref(conf_put_pod(&c, "ns", "foo", "a"));
    }
    FOR_EACH_FAILED_ALLOC(n) {
        try_update(&c, a, a, 0);
    }
    cor_object_unref(a);
    cor_object_unref(b);
    conf_close(&c);
}

static void accept_it(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    cor_store_change_accept(change);
}

TEST(out_of_memory, delete_with_and_without_a_stale_suggestion)
{
    struct cor_object *old;
    struct conf c;

    conf_open(&c);
    old = conf_put_pod(&c, "ns", "foo", "old");
    for (int stale = 0; stale < 2; stale++) {
        FOR_EACH_FAILED_ALLOC(n) {
            CONF_REPLY reply = {0};
            struct cor_store_delete_opts opts = {.preconditions.uid = COR_STR("foo-uid"),
                                                 .suggestion = stale ? old : NULL,
                                                 .step = accept_it,
                                                 .on_done = conf_on_reply,
                                                 .arg = &reply};

            settle(&c, &reply, cor_store_delete(c.store, COR_STR(KEY), &opts, &reply.status));
            if (reply.err == 0) {
                CONF_REPLY gone = conf_get(&c, KEY, "", false);

                assert_non_null(reply.object);
                assert_int_equal(gone.err, -COR_ENOTFOUND);
            }
            cor_object_unref(conf_put_pod(&c, "ns", "foo", "new"));
        }
    }
    cor_object_unref(old);
    conf_close(&c);
}

struct listing {
    bool done;
    int err;
};

static void on_list(void *arg, struct cor_store_list_reply *reply)
{
    struct listing *l = arg;

    *l = (struct listing){true, reply->err};
    assert_int_equal(reply->items != NULL, reply->err == 0);
    if (reply->err == 0) {
        assert_int_equal(reply->nitems, 4);
        assert_true(reply->continue_token[0] != '\0');
    }
}

TEST(out_of_memory, list_of_several_pages_with_token)
{
    struct cor_predicate predicate = conf_predicate("", "metadata.name!=p0001");
    struct cor_store_list_opts opts = {.options = {.recursive = true, .limit = 4}};
    struct conf c;

    conf_open(&c);
    conf_fill(&c, "ns", 6);
    for (int filtered = 0; filtered < 2; filtered++) {
        opts.predicate = filtered ? &predicate : NULL;
        FOR_EACH_FAILED_ALLOC(n) {
            COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
            struct listing l = {0};
            int r = cor_store_list(c.store, COR_STR("/pods"), &opts, on_list, &l, &status);

            if (r == 0)
                conf_wait(&c, &l.done);
            test_fail_alloc(0, false);
            expect_ok_or_no_memory(r < 0 ? r : l.err);
        }
    }
    cor_predicate_deinit(&predicate);
    conf_close(&c);
}

static void on_stats(void *arg, const struct cor_store_stats *stats)
{
    *(struct listing *)arg = (struct listing){true, stats->err};
    if (stats->err == 0) {
        assert_int_equal(stats->count, 2);
        assert_true(stats->rev > 1 && stats->average_bytes > 0);
    }
}

TEST(out_of_memory, stats)
{
    struct conf c;

    conf_open(&c);
    conf_fill(&c, "ns", 2);
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
        struct listing l = {0};
        int r = cor_store_stats(c.store, on_stats, &l, &status);

        if (r == 0)
            conf_wait(&c, &l.done);
        test_fail_alloc(0, false);
        expect_ok_or_no_memory(r < 0 ? r : l.err);
    }
    conf_close(&c);
}

/* Initial state, end bookmark, then a live event: all of them, or an ERROR that says why not. */
struct watching {
    size_t events, wanted;
    bool settled, closed;
    int err;
};

static void on_event(void *arg, const struct cor_reader_event *event)
{
    struct watching *w = arg;

    w->events++;
    if (event->type == COR_WATCH_ERROR)
        w->err = event->status->err;
    w->settled = w->err < 0 || w->events == w->wanted;
}

static void on_closed(void *arg)
{
    ((struct watching *)arg)->closed = true;
}

static void try_watch(struct conf *c, struct cor_object *live)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct watching w = {.wanted = 2};
    struct cor_store_watch_opts opts = {
        .options = {.recursive = true, .send_initial_events = COR_TRUE, .allow_bookmarks = true},
        .progress_ms = 60000,
        .on_event = on_event,
        .arg = &w};
    struct cor_store_watch *watch;
    CONF_REPLY made = {0};
    int r = cor_store_watch_open(c->store, COR_STR("/pods"), &opts, &watch, &status);

    if (r < 0) {
        expect_ok_or_no_memory(r);
        return;
    }
    conf_wait(c, &w.settled);
    if (w.err == 0) {
        w.wanted = 3;
        w.settled = false;
        r = cor_store_create(c->store, COR_STR("/pods/ns/live"), live, 0, conf_on_reply, &made,
                             &made.status);
        expect_ok_or_no_memory(r);
        if (r == 0)
            conf_wait(c, &made.done);
        if (r == 0 && made.err == 0)
            conf_wait(c, &w.settled);
    }
    cor_store_watch_close(watch, on_closed, &w);
    conf_wait(c, &w.closed);
    expect_ok_or_no_memory(w.err);
    expect_ok_or_no_memory(made.err);
}

TEST(out_of_memory, watch)
{
    struct cor_object *live = conf_pod("ns", "live", NULL);
    struct conf c;

    conf_open(&c);
    cor_object_unref(conf_put_pod(&c, "ns", "foo", NULL));
    FOR_EACH_FAILED_ALLOC(n) {
        try_watch(&c, live);
        test_fail_alloc(0, false);
        {
            CONF_REPLY gone = conf_delete(&c, "/pods/ns/live", NULL);

            assert_true(gone.err == 0 || gone.err == -COR_ENOTFOUND);
        }
    }
    cor_object_unref(live);
    conf_close(&c);
}

TEST(out_of_memory, open)
{
    struct cor_store_opts opts = {.resource_prefix = "/pods",
                                  .path_prefix = "custom",
                                  .kind = COR_STR("Pod"),
                                  .api_version = COR_STR("v1")};
    struct cor_store *store;

    FOR_EACH_FAILED_ALLOC(n) {
        int r = cor_store_new(&opts, &store, NULL);

        test_fail_alloc(0, false);
        expect_ok_or_no_memory(r);
        if (r == 0)
            cor_store_free(store);
    }
}
