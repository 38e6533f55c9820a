/* Values that cannot be decoded, behind a watch cache over a real engine: only what contains them
 * fails, and they heal. */
#include <stdio.h>

#include "conformance.h"
#include "storage/cacher/cacher_int.h"

TEST_FILE_NEEDS(COR_CONFORMANCE_CACHER)

#define JUNK "/registry/pods/bad/junk"

static struct conf c;
static struct conf_watch w, w2, w3;

static cor_rev put(const char *ns, const char *name)
{
    struct cor_object *object = conf_put_pod(&c, ns, name, "x");
    cor_rev rev = object->rev;

    cor_object_unref(object);
    return rev;
}

static cor_rev write_good(void)
{
    return conf_write_raw(&c, JUNK,
                          "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"junk\","
                          "\"namespace\":\"bad\"}}");
}

static struct cor_store_list_opts list_opts(const char *rv, const char *match, int64_t limit)
{
    return (struct cor_store_list_opts){.options = {.recursive = true,
                                                    .resource_version = cor_strz(rv),
                                                    .resource_version_match = cor_strz(match),
                                                    .limit = limit}};
}

static struct cor_store_watch_opts watch_from(cor_rev rev)
{
    return (struct cor_store_watch_opts){
        .options = {.recursive = true, .resource_version = cor_strz(rev ? conf_rv(rev) : "")}};
}

/* Asserts what a list of `key` gives: the names, or NULL for the failure that names the key. */
static void expect_list(const char *key, const struct cor_store_list_opts *opts, const char *names)
{
    CONF_LIST list = conf_list(&c, key, opts);

    if (names) {
        assert_int_equal(list.err, 0);
        assert_string_equal(conf_list_names(&list), names);
        return;
    }
    assert_int_equal(list.err, -COR_EINTERNAL);
    assert_int_equal(list.status.code, 500);
    assert_non_null(strstr(cor_status_message(&list.status), "\"" JUNK "\""));
}

static void expect_present(const char *all)
{
    struct cor_store_list_opts now = list_opts("", "", 0), any = list_opts("0", "", 0);

    expect_list("/pods", &now, all);
    expect_list("/pods", &any, all);
    expect_list("/pods/good", &now, "good/a,good/b");
    assert_true(cor_cacher_is_ready(c.cacher));
}

static bool has_ended(void *arg)
{
    return ((struct conf_watch *)arg)->ended;
}

static void wait_for_end(struct conf_watch *watch)
{
    assert_true(cor_loop_run_until(c.loop, has_ended, watch, CONF_TIMEOUT_MS));
}

/* With selectors, pages and single reads, in a cache that is filled over such a value and in one
 * that gets it as a change. */
static void expect_only_what_contains_it_fails(void)
{
    struct cor_predicate predicate = conf_predicate("", "spec.nodeName=x");
    struct cor_store_list_opts page = list_opts("", "", 1), selected = list_opts("", "", 0);

    expect_present(NULL);
    selected.predicate = &predicate;
    expect_list("/pods", &selected, NULL);
    expect_list("/pods/good", &selected, "good/a,good/b");
    expect_list("/pods", &page, NULL);
    expect_list("/pods/good", &page, "good/a");
    {
        CONF_REPLY bad = conf_get(&c, "/pods/bad/junk", "0", false);
        CONF_REPLY good = conf_get(&c, "/pods/good/a", "0", false);
        CONF_REPLY none = conf_get(&c, "/pods/bad/none", "0", false);

        assert_int_equal(bad.status.code, 500);
        assert_non_null(strstr(cor_status_message(&bad.status), "\"" JUNK "\""));
        assert_int_equal(good.err, 0);
        assert_int_equal(none.err, -COR_ENOTFOUND);
    }
    assert_false(cor_cacher_consistency_begin(c.cacher));
    cor_predicate_deinit(&predicate);
}

static void open_with_two(void)
{
    conf_open(&c);
    put("good", "a");
    put("good", "b");
}

TEST(unreadable, a_change_to_such_a_value_fails_only_what_contains_it)
{
    open_with_two();
    write_good();
    expect_present("bad/junk,good/a,good/b");
    conf_write_raw(&c, JUNK, "junk");
    expect_only_what_contains_it_fails();
    conf_write_raw(&c, JUNK, "[]");
    expect_only_what_contains_it_fails();
    write_good();
    expect_present("bad/junk,good/a,good/b");
    conf_close(&c);
}

TEST(unreadable, a_cache_is_filled_around_such_values)
{
    open_with_two();
    conf_close_cacher(&c);
    conf_write_raw(&c, JUNK, "{\"kind\":");
    conf_open_cacher(&c);
    expect_only_what_contains_it_fails();
    write_good();
    expect_present("bad/junk,good/a,good/b");
    conf_close(&c);
}

TEST(unreadable, a_deletion_heals_the_resource)
{
    struct cor_store_delete_opts unsafe = {.unreadable = true};

    open_with_two();
    conf_write_raw(&c, JUNK, "junk");
    expect_only_what_contains_it_fails();
    {
        CONF_REPLY refused = conf_delete(&c, "/pods/bad/junk", NULL);
        CONF_REPLY deleted = conf_delete(&c, "/pods/bad/junk", &unsafe);

        assert_int_equal(refused.err, -COR_EINTERNAL);
        assert_int_equal(deleted.err, 0);
    }
    expect_present("good/a,good/b");
    conf_close(&c);
}

TEST(unreadable, past_revisions_with_such_a_value_are_not_answered_without_it)
{
    struct cor_store_list_opts before, during, after;
    cor_rev rev;

    open_with_two();
    rev = write_good();
    before = list_opts(conf_rv(rev), "Exact", 0);
    rev = conf_write_raw(&c, JUNK, "junk");
    during = list_opts(conf_rv(rev), "Exact", 0);
    rev = write_good();
    after = list_opts(conf_rv(rev), "Exact", 0);
    expect_list("/pods", &before, "bad/junk,good/a,good/b");
    expect_list("/pods", &during, NULL);
    expect_list("/pods", &after, "bad/junk,good/a,good/b");
    conf_close(&c);
}

/* A watch of the cache that comes to such a value ends plainly; who resumes is told. Watches of
 * other namespaces and names see nothing of it. */
TEST(unreadable, watches_that_cover_it_end_and_the_others_go_on)
{
    struct cor_store_watch_opts opts;
    cor_rev rev;

    open_with_two();
    rev = write_good();
    opts = watch_from(rev);
    conf_watch_open(&c, &w, "/pods", &opts);
    conf_watch_open(&c, &w2, "/pods/good", &opts);
    rev = put("good", "a2");
    conf_watch_expect(&w, COR_WATCH_ADDED, "a2", rev);
    conf_watch_expect(&w2, COR_WATCH_ADDED, "a2", rev);
    conf_write_raw(&c, JUNK, "junk");
    wait_for_end(&w);
    conf_watch_close(&w);
    opts = watch_from(rev);
    conf_watch_open(&c, &w, "/pods", &opts);
    {
        const struct conf_event *e = conf_watch_expect(&w, COR_WATCH_ERROR, NULL, 0);

        assert_int_equal(e->status.code, 500);
        assert_non_null(strstr(cor_status_message(&e->status), "\"" JUNK "\""));
    }
    conf_watch_close(&w);
    /* From a revision after it, it can be watched, and is seen to heal. */
    rev = put("good", "b2");
    conf_watch_expect(&w2, COR_WATCH_ADDED, "b2", rev);
    opts = watch_from(rev);
    conf_watch_open(&c, &w, "/pods", &opts);
    rev = write_good();
    conf_watch_expect(&w, COR_WATCH_MODIFIED, "junk", rev);
    conf_watch_open(&c, &w3, "/pods", &opts);
    conf_watch_expect(&w3, COR_WATCH_MODIFIED, "junk", rev);
    rev = put("good", "c2");
    conf_watch_expect(&w, COR_WATCH_ADDED, "c2", rev);
    conf_watch_expect(&w2, COR_WATCH_ADDED, "c2", rev);
    conf_watch_expect(&w3, COR_WATCH_ADDED, "c2", rev);
    conf_watch_close(&w);
    conf_watch_close(&w2);
    conf_watch_close(&w3);
    conf_close(&c);
}

/* The history that a watch from before a restart needs has such a value in it. */
TEST(unreadable, watches_resume_over_history_that_contains_it)
{
    struct cor_store_watch_opts before, after;
    cor_rev a2, b2, c2;

    open_with_two();
    before = watch_from(conf_revision(&c));
    a2 = put("good", "a2");
    conf_write_raw(&c, JUNK, "junk");
    after = watch_from(write_good());
    b2 = put("good", "b2");
    conf_close_cacher(&c);
    conf_open_cacher(&c);
    conf_watch_open(&c, &w, "/pods/good", &before);
    /* The first attempt ends plainly when the history is read; the store answers the second. */
    wait_for_end(&w);
    conf_watch_close(&w);
    conf_watch_open(&c, &w, "/pods/good", &before);
    conf_watch_open(&c, &w2, "/pods", &before);
    conf_watch_open(&c, &w3, "/pods", &after);
    conf_watch_expect(&w, COR_WATCH_ADDED, "a2", a2);
    conf_watch_expect(&w, COR_WATCH_ADDED, "b2", b2);
    conf_watch_expect(&w2, COR_WATCH_ADDED, "a2", a2);
    conf_watch_expect(&w2, COR_WATCH_ERROR, NULL, 0);
    conf_watch_expect(&w3, COR_WATCH_ADDED, "b2", b2);
    c2 = put("good", "c2");
    conf_watch_expect(&w, COR_WATCH_ADDED, "c2", c2);
    conf_watch_expect(&w3, COR_WATCH_ADDED, "c2", c2);
    conf_watch_close(&w);
    conf_watch_close(&w2);
    conf_watch_close(&w3);
    conf_close(&c);
}

static bool was_filled_twice(void *arg)
{
    return cor_cacher_is_ready(arg) && cor_cacher_stats(arg).fills == 2;
}

static void expect_decode_errors(uint64_t n)
{
    assert_int_equal(atomic_load(&c.decode_errors), n);
}

static bool has_unreadable(void *arg)
{
    struct cor_watch_cache *cache = arg;

    return COR_LOCKED(&cache->lock, cache->unreadable.n) > 0;
}

/* The metric counts what fails: a value that comes into the cache, and each request over it. That
 * the cache tries the value again every five seconds, or is filled again, is no other failure. */
TEST(unreadable, a_value_is_counted_once_however_often_it_is_tried_again)
{
    struct cor_store_list_opts all = list_opts("", "", 0);

    open_with_two();
    put("bad", "junk2");
    conf_close_cacher(&c);
    atomic_store(&c.decode_errors, 0);
    conf_write_raw(&c, JUNK, "junk");
    c.transformer.broken = true;
    c.transformer.broken_key = "/junk2";
    conf_open_cacher(&c);
    expect_decode_errors(2);
    for (size_t i = 0; i < 3; i++)
        cor_cacher_unreadable_tick(c.cacher);
    expect_decode_errors(2);
    /* One of them can be decoded now: the cache is filled again, over the other one. */
    c.transformer.broken = false;
    cor_cacher_unreadable_tick(c.cacher);
    assert_true(cor_loop_run_until(c.loop, was_filled_twice, c.cacher, CONF_TIMEOUT_MS));
    expect_decode_errors(2);
    expect_list("/pods", &all, NULL);
    expect_decode_errors(3);
    /* Another value of the same key is another failure. */
    conf_write_raw(&c, JUNK, "[]");
    expect_list("/pods/good", &all, "good/a,good/b");
    expect_decode_errors(4);
    conf_close(&c);
}

/* A value that comes as a change is counted once too. */
TEST(unreadable, a_change_is_counted_once)
{
    open_with_two();
    atomic_store(&c.decode_errors, 0);
    conf_write_raw(&c, JUNK, "junk");
    assert_true(cor_loop_run_until(c.loop, has_unreadable, &c.cacher->cache, CONF_TIMEOUT_MS));
    cor_cacher_unreadable_tick(c.cacher);
    expect_decode_errors(1);
    conf_close(&c);
}

/* As when a key of encryption is added to the configuration. */
TEST(unreadable, what_can_be_decoded_later_is_found)
{
    struct cor_store_list_opts all = list_opts("", "", 0);

    open_with_two();
    conf_close_cacher(&c);
    put("bad", "junk");
    c.transformer.broken = true;
    c.transformer.broken_key = "/junk";
    conf_open_cacher(&c);
    expect_list("/pods", &all, NULL);
    cor_cacher_unreadable_tick(c.cacher);
    expect_list("/pods", &all, NULL);
    assert_int_equal(cor_cacher_stats(c.cacher).fills, 1);
    c.transformer.broken = false;
    cor_cacher_unreadable_tick(c.cacher);
    assert_true(cor_loop_run_until(c.loop, was_filled_twice, c.cacher, CONF_TIMEOUT_MS));
    expect_list("/pods", &all, "bad/junk,good/a,good/b");
    conf_close(&c);
}
