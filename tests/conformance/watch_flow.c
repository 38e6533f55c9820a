/* A watch whose reader is slow. */
#include <stdio.h>

#include "base/limits.h"
#include "conformance.h"

static struct conf_watch w;

static cor_rev put(struct conf *c, const char *name, const char *node)
{
    struct cor_object *object = conf_put_pod(c, "ns", name, node);
    cor_rev rev = object->rev;

    cor_object_unref(object);
    return rev;
}

/* RunTestDelayedWatchDelivery: nobody reads while writes go on, then all comes in order. */
TEST(conformance, delayed_watch_delivery_is_complete_and_in_order)
{
    struct cor_store_watch_opts opts = {.options.recursive = true};
    struct conf c;
    cor_rev first = 0, last = 0;

    conf_open(&c);
    opts.options.resource_version = cor_strz(conf_rv(conf_revision(&c)));
    conf_watch_open(&c, &w, "/pods", &opts);
    conf_watch_expect_idle(&w);
    conf_watch_pause(&w);
    for (int i = 0; i < 250; i++) {
        last = put(&c, "foo", i % 2 ? "a" : "b");
        first = first ? first : last;
    }
    assert_int_equal(w.n, w.at);
    conf_watch_resume(&w);
    for (cor_rev rev = first; rev <= last; rev++)
        conf_watch_expect(&w, rev == first ? COR_WATCH_ADDED : COR_WATCH_MODIFIED, "foo", rev);
    conf_watch_expect_idle(&w);
    conf_watch_close(&w);
    conf_close(&c);
}

/* RunTestWatcherTimeout: fifty watchers that never read do not hold up one that does. */
TEST(conformance, watchers_that_do_not_read_do_not_starve_one_that_does)
{
    static struct conf_watch idle[50];
    struct cor_store_watch_opts opts = {.options.recursive = true};
    struct conf c;

    conf_open(&c);
    opts.options.resource_version = cor_strz(conf_rv(conf_revision(&c)));
    for (size_t i = 0; i < COR_ARRAY_LEN(idle); i++) {
        conf_watch_open(&c, &idle[i], "/pods", &opts);
        conf_watch_pause(&idle[i]);
    }
    conf_watch_open(&c, &w, "/pods", &opts);
    for (int i = 0; i < 22; i++) {
        char name[16];
        cor_rev rev;

        snprintf(name, sizeof(name), "foo-%d", i);
        rev = put(&c, name, NULL);
        conf_watch_expect(&w, COR_WATCH_ADDED, name, rev);
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(idle); i++) {
        assert_int_equal(idle[i].n, 0);
        conf_watch_close(&idle[i]);
    }
    conf_watch_close(&w);
    conf_close(&c);
}

/* A paused watch keeps no history alive: compaction overtakes it, and it says so. */
TEST(conformance, watch_that_compaction_overtakes_ends_in_expired)
{
    struct cor_store_watch_opts opts = {.options.recursive = true};
    struct conf c;
    const struct conf_event *e;

    conf_open_store(&c);
    opts.options.resource_version = cor_strz(conf_rv(conf_revision(&c)));
    conf_watch_open(&c, &w, "/pods", &opts);
    conf_watch_expect_idle(&w);
    conf_watch_pause(&w);
    for (int i = 0; i < 300; i++)
        put(&c, "foo", i % 2 ? "a" : "b");
    conf_compact(&c, conf_revision(&c));
    conf_watch_resume(&w);
    do
        e = conf_watch_next(&w);
    while (e->type != COR_WATCH_ERROR);
    assert_int_equal(e->status.code, 410);
    assert_true(w.n <= 2 + COR_STORE_WATCH_EVENTS_MAX);
    conf_watch_close(&w);
    conf_close(&c);
}

/* Objects of a megabyte: the byte bound holds the feed back, nothing is lost. */
TEST(conformance, watch_of_large_objects_is_complete)
{
    static char filler[(1 << 20) + 1];
    struct cor_store_watch_opts opts = {.options.recursive = true};
    struct conf c;
    cor_rev revs[12];

    memset(filler, 'x', sizeof(filler) - 1);
    conf_open(&c);
    opts.options.resource_version = cor_strz(conf_rv(conf_revision(&c)));
    conf_watch_open(&c, &w, "/pods", &opts);
    conf_watch_expect_idle(&w);
    conf_watch_pause(&w);
    for (size_t i = 0; i < COR_ARRAY_LEN(revs); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
        struct cor_object *object;

        cor_buf_init(&json, 2 << 20);
        assert_int_equal(cor_buf_addf(&json,
                                      "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
                                      "\"name\":\"big\"},\"spec\":{\"i\":%zu,\"x\":\"%s\"}}",
                                      i, filler),
                         0);
        object = conf_put(&c, "/pods/ns/big", conf_object(cor_buf_z(&json)));
        revs[i] = object->rev;
        cor_object_unref(object);
    }
    conf_watch_resume(&w);
    for (size_t i = 0; i < COR_ARRAY_LEN(revs); i++)
        conf_watch_expect(&w, i ? COR_WATCH_MODIFIED : COR_WATCH_ADDED, "big", revs[i]);
    conf_watch_close(&w);
    conf_close(&c);
}

/* Pausing from within an event takes effect at once. */
static struct cor_store_watch *one_by_one;
static size_t delivered;

static void on_event(void *arg, const struct cor_reader_event *event)
{
    delivered++;
    cor_store_watch_pause(one_by_one);
}

static bool is_next(void *arg)
{
    return delivered == *(size_t *)arg;
}

static void on_closed(void *arg)
{
    *(bool *)arg = true;
}

TEST(conformance, watch_paused_within_an_event_delivers_one_at_a_time)
{
    struct cor_store_watch_opts opts = {.options.recursive = true, .on_event = on_event};
    struct conf c;
    bool closed = false;
    char name[16];

    conf_open(&c);
    delivered = 0;
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        put(&c, name, NULL);
    }
    assert_int_equal(cor_store_watch_open(c.store, COR_STR("/pods"), &opts, &one_by_one, NULL), 0);
    for (size_t n = 1; n <= 5; n++) {
        assert_true(cor_loop_run_until(c.loop, is_next, &n, CONF_TIMEOUT_MS));
        conf_revision(&c);
        assert_int_equal(delivered, n);
        cor_store_watch_resume(one_by_one);
    }
    cor_store_watch_close(one_by_one, on_closed, &closed);
    conf_wait(&c, &closed);
    conf_close(&c);
}
