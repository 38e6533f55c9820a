/* Where a watch begins: revision, sendInitialEvents, bookmarks. */
#include <stdio.h>

#include "conformance.h"

static struct conf_watch w;

static cor_rev put(struct conf *c, const char *ns, const char *name)
{
    struct cor_object *object = conf_put_pod(c, ns, name, NULL);
    cor_rev rev = object->rev;

    cor_object_unref(object);
    return rev;
}

static void expect_end_mark(cor_rev rev)
{
    const struct conf_event *e = conf_watch_expect(&w, COR_WATCH_BOOKMARK, NULL, rev);

    assert_str(cor_object_kind(e->object), "Pod");
    assert_str(cor_object_api_version(e->object), "v1");
    assert_non_null(
        strstr(e->object->bytes, "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}"));
}

struct semantics {
    bool allow_bookmarks;
    enum cor_tristate send_initial;
    const char *rv; /* "^": from before the pods; "@": the current one */
    bool added;     /* the pods that are there come as ADDED */
    bool end_mark;
};

static void check(const struct semantics *s)
{
    struct cor_store_watch_opts opts = {.options = {.recursive = true,
                                                    .send_initial_events = s->send_initial,
                                                    .allow_bookmarks = s->allow_bookmarks}};
    struct conf c;
    cor_rev revs[3], before, last;
    char name[8];

    conf_open(&c);
    before = conf_revision(&c);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "pod-%d", i + 1);
        revs[i] = put(&c, "ns", name);
    }
    /* A store that others share acknowledges a write before the cache has heard of it. */
    cor_object_unref(conf_get(&c, "/pods/ns/pod-3", conf_rv(revs[2]), false).object);
    opts.options.resource_version = cor_strz(*s->rv == '@'   ? conf_rv(revs[2])
                                             : *s->rv == '^' ? conf_rv(before)
                                                             : s->rv);
    conf_watch_open(&c, &w, "/pods/ns", &opts);
    for (int i = 0; s->added && i < 3; i++) {
        snprintf(name, sizeof(name), "pod-%d", i + 1);
        conf_watch_expect(&w, COR_WATCH_ADDED, name, revs[i]);
    }
    if (s->end_mark)
        expect_end_mark(revs[2]);
    conf_watch_expect_idle(&w);
    last = put(&c, "ns", "pod-4");
    conf_watch_expect(&w, COR_WATCH_ADDED, "pod-4", last);
    last = put(&c, "ns", "pod-5");
    conf_watch_expect(&w, COR_WATCH_ADDED, "pod-5", last);
    conf_watch_expect_idle(&w);
    conf_watch_close(&w);
    conf_close(&c);
}

/* RunWatchSemantics, RunSendInitialEventsBackwardCompatibility */
TEST(conformance, watch_semantics_of_revision_initial_events_and_bookmarks)
{
    static const struct semantics all[] = {
        {true, COR_TRUE, "", true, true},      {true, COR_FALSE, "", false, false},
        {false, COR_FALSE, "", false, false},  {false, COR_TRUE, "", true, false},
        {true, COR_TRUE, "0", true, true},     {true, COR_FALSE, "0", false, false},
        {false, COR_FALSE, "0", false, false}, {false, COR_TRUE, "0", true, false},
        {true, COR_TRUE, "^", true, true},     {true, COR_FALSE, "^", true, false},
        {false, COR_FALSE, "^", true, false},  {false, COR_TRUE, "^", true, false},
        {true, COR_TRUE, "@", true, true},     {true, COR_FALSE, "@", false, false},
        {false, COR_FALSE, "@", false, false}, {false, COR_TRUE, "@", true, false},
        {false, COR_UNSET, "0", true, false},  {false, COR_UNSET, "", true, false},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(all); i++)
        check(&all[i]);
}

/* RunWatchSemanticInitialEventsExtended */
TEST(conformance, watch_end_bookmark_carries_the_global_revision)
{
    struct cor_store_watch_opts opts = {
        .options = {.recursive = true, .send_initial_events = COR_TRUE, .allow_bookmarks = true}};
    struct conf c;
    cor_rev rev;

    conf_open(&c);
    put(&c, "ns-foo", "pod-1");
    put(&c, "ns-foo", "pod-2");
    rev = put(&c, "other-ns-foo", "pod-1");
    conf_watch_open(&c, &w, "/pods/ns-foo", &opts);
    conf_watch_expect(&w, COR_WATCH_ADDED, "pod-1", 0);
    conf_watch_expect(&w, COR_WATCH_ADDED, "pod-2", 0);
    expect_end_mark(rev);
    conf_watch_expect_idle(&w);
    conf_watch_close(&w);
    conf_close(&c);
}

/* RunWatchListMatchSingle */
TEST(conformance, watch_list_that_matches_a_single_object)
{
    struct cor_predicate predicate = conf_predicate("", "metadata.name=pod-1");
    struct cor_store_watch_opts opts = {
        .options = {.recursive = true, .send_initial_events = COR_TRUE, .allow_bookmarks = true},
        .predicate = &predicate};
    struct conf c;
    cor_rev first, last = 0;
    char name[8];

    conf_open(&c);
    first = put(&c, "ns-foo", "pod-1");
    for (int i = 2; i <= 5; i++) {
        snprintf(name, sizeof(name), "pod-%d", i);
        last = put(&c, "ns-foo", name);
    }
    conf_watch_open(&c, &w, "/pods", &opts);
    conf_watch_expect(&w, COR_WATCH_ADDED, "pod-1", first);
    expect_end_mark(last);
    conf_watch_expect_idle(&w);
    conf_watch_close(&w);
    cor_predicate_deinit(&predicate);
    conf_close(&c);
}

/* TestTooLargeResourceVersionErrorForWatchList */
TEST(conformance, watch_list_from_a_future_revision_is_too_large)
{
    struct cor_store_watch_opts opts = {
        .options = {.send_initial_events = COR_TRUE,
                    .resource_version = COR_STR("18446744073709551615")}};
    struct conf c;

    conf_open(&c);
    conf_watch_open(&c, &w, "/pods/ns/foo", &opts);
    {
        const struct conf_event *e = conf_watch_expect(&w, COR_WATCH_ERROR, NULL, 0);

        assert_int_equal(e->status.code, 504);
        assert_string_equal(e->status.reason, "Timeout");
        assert_non_null(
            strstr(cor_status_message(&e->status),
                   "Timeout: Too large resource version: 18446744073709551615, current: "));
        assert_uint_in_range(e->status.retry_after_s, 1, 4);
    }
    conf_watch_close(&w);
    conf_close(&c);
}

TEST(conformance, watch_refuses_a_resource_version_that_is_no_number)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_store_watch_opts opts = {.options.resource_version = COR_STR("abc")};
    struct cor_store_watch *watch;
    struct conf c;

    conf_open(&c);
    assert_int_equal(cor_store_watch_open(c.store, COR_STR("/pods"), &opts, &watch, &status),
                     -COR_EINVAL);
    assert_int_equal(status.code, 500);
    conf_close(&c);
}

/* TestWatchChanSync: in key order, all of one revision. */
TEST(conformance, watch_initial_state_is_in_key_order_and_of_one_revision)
{
    struct cor_store_watch_opts opts = {
        .options = {.recursive = true, .send_initial_events = COR_TRUE, .allow_bookmarks = true}};
    struct conf c;
    cor_rev rev;
    size_t n = 0;
    char name[16];

    conf_open(&c);
    rev = conf_fill(&c, "ns", 450);
    conf_watch_open(&c, &w, "/pods", &opts);
    while (n < 450) {
        const struct conf_event *e = conf_watch_expect(&w, COR_WATCH_ADDED, NULL, 0);

        snprintf(name, sizeof(name), "p%04zu", n++);
        assert_str(cor_object_name(e->object), name);
        assert_true(e->rev <= rev);
    }
    expect_end_mark(rev);
    conf_watch_close(&w);
    conf_close(&c);
}

static struct cor_object *large_pod(const char *name)
{
    enum { LARGE = 1400 * 1024 };
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;

    cor_buf_init(&json, 2 * LARGE);
    assert_int_equal(
        cor_buf_addf(&json, "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"data\":\"%0*d\"", LARGE, 0),
        0);
    assert_int_equal(
        cor_buf_addf(&json, ",\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\"}}", name), 0);
    return conf_object(cor_buf_z(&json));
}

/* TestWatchChanSync: a write between two pages of it comes after it. */
TEST(conformance, watch_initial_state_of_several_pages_is_of_one_revision)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};
    struct cor_store_watch_opts opts = {
        .options = {.recursive = true, .send_initial_events = COR_TRUE, .allow_bookmarks = true}};
    cor_rev revs[COR_ARRAY_LEN(names)], between;
    struct conf c;
    char key[32];

    conf_open(&c);
    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        struct cor_object *object;

        snprintf(key, sizeof(key), "/pods/ns/%s", names[i]);
        object = conf_put(&c, key, large_pod(names[i]));
        revs[i] = object->rev;
        cor_object_unref(object);
    }
    conf_watch_open(&c, &w, "/pods", &opts);
    conf_watch_expect(&w, COR_WATCH_ADDED, "a", revs[0]);
    conf_watch_pause(&w);
    between = put(&c, "ns", "z");
    conf_watch_resume(&w);
    for (size_t i = 1; i < COR_ARRAY_LEN(names); i++)
        conf_watch_expect(&w, COR_WATCH_ADDED, names[i], revs[i]);
    expect_end_mark(revs[COR_ARRAY_LEN(names) - 1]);
    conf_watch_expect(&w, COR_WATCH_ADDED, "z", between);
    conf_watch_expect_idle(&w);
    conf_watch_close(&w);
    conf_close(&c);
}
