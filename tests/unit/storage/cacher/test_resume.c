/* Decision 8: a client's watch goes on after a restart of the server without a relist. */
#include <stdio.h>

#include "conformance.h"

TEST_FILE_NEEDS(COR_CONFORMANCE_CACHER)

static struct conf c;
static struct conf_watch w;

static cor_rev put(const char *name, const char *node)
{
    struct cor_object *object = conf_put_pod(&c, "ns", name, node);
    cor_rev rev = object->rev;

    cor_object_unref(object);
    return rev;
}

/* The caches are made anew over an engine that has history. */
static void restart(void)
{
    conf_close_cacher(&c);
    conf_open_cacher(&c);
}

TEST(resume, a_watch_from_before_the_cache_was_made_goes_on_without_a_gap)
{
    struct cor_store_watch_opts opts = {.options.recursive = true};
    cor_rev from, revs[450];

    conf_open(&c);
    put("a", "x");
    from = put("b", "x");
    for (size_t i = 0; i < COR_ARRAY_LEN(revs); i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%zu", i % 7);
        revs[i] = put(name, i % 2 ? "x" : "y");
    }
    restart();
    opts.options.resource_version = cor_strz(conf_rv(revs[199]));
    conf_watch_open(&c, &w, "/pods", &opts);
    for (size_t i = 200; i < COR_ARRAY_LEN(revs); i++)
        conf_watch_expect(&w, COR_WATCH_MODIFIED, NULL, revs[i]);
    conf_watch_expect(&w, COR_WATCH_ADDED, "new", put("new", "x"));
    conf_watch_close(&w);
    /* From further back than the watch that made the window grow. */
    opts.options.resource_version = cor_strz(conf_rv(from));
    conf_watch_open(&c, &w, "/pods", &opts);
    for (size_t i = 0; i < COR_ARRAY_LEN(revs); i++)
        conf_watch_expect(&w, i < 7 ? COR_WATCH_ADDED : COR_WATCH_MODIFIED, NULL, revs[i]);
    conf_watch_close(&w);
    conf_close(&c);
}

/* The budget has room for a small part of what the store still has: the rest is read by the watches
 * themselves, until they reach the window. */
TEST(resume, a_watch_from_a_revision_that_the_store_has_is_served_whatever_the_budget)
{
    struct cor_store_watch_opts opts = {.options.recursive = true};
    cor_rev from, revs[460];
    size_t n = 0;

    conf_open(&c);
    from = put("first", "x");
    for (; n < 450; n++) {
        char name[16];

        snprintf(name, sizeof(name), "p%zu", n % 7);
        revs[n] = put(name, n % 2 ? "x" : "y");
    }
    c.cacher_bytes = 16u << 10;
    restart();
    for (size_t begin = 0; begin < 450; begin += 200) {
        opts.options.resource_version = cor_strz(conf_rv(begin > 0 ? revs[begin - 1] : from));
        conf_watch_open(&c, &w, "/pods", &opts);
        for (size_t i = begin; i < n; i++)
            conf_watch_expect(&w, i < 7 ? COR_WATCH_ADDED : COR_WATCH_MODIFIED, NULL, revs[i]);
        revs[n] = put("p1", begin % 400 ? "x" : "y");
        conf_watch_expect(&w, COR_WATCH_MODIFIED, "p1", revs[n]);
        n++;
        conf_watch_close(&w);
    }
    conf_close(&c);
}

TEST(resume, an_exact_list_of_a_revision_that_the_store_has_is_served_whatever_the_budget)
{
    cor_rev revs[300];

    conf_open(&c);
    for (size_t i = 0; i < COR_ARRAY_LEN(revs); i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%03zu", i);
        revs[i] = put(name, "x");
    }
    c.cacher_bytes = 16u << 10;
    restart();
    for (size_t i = 0; i < COR_ARRAY_LEN(revs); i += 60) {
        struct cor_store_list_opts opts = {
            .options = {.recursive = true, .resource_version_match = COR_STR("Exact")}};

        opts.options.resource_version = cor_strz(conf_rv(revs[i]));
        {
            CONF_LIST list = conf_list(&c, "/pods", &opts);

            assert_int_equal(list.err, 0);
            assert_int_equal(list.nitems, i + 1);
            assert_int_equal(list.rev, revs[i]);
        }
    }
    conf_close(&c);
}

TEST(resume, selectors_see_what_left_them_in_history)
{
    struct cor_predicate predicate = conf_predicate("", "spec.nodeName=x");
    struct cor_store_watch_opts opts = {.options.recursive = true, .predicate = &predicate};
    cor_rev from, left, gone;

    conf_open(&c);
    put("a", "x");
    from = put("b", "x");
    left = put("a", "y");
    {
        struct cor_object *removed = conf_remove(&c, "/pods/ns/b");

        gone = removed->rev;
        cor_object_unref(removed);
    }
    restart();
    opts.options.resource_version = cor_strz(conf_rv(from));
    conf_watch_open(&c, &w, "/pods", &opts);
    conf_watch_expect(&w, COR_WATCH_DELETED, "a", left);
    conf_watch_expect(&w, COR_WATCH_DELETED, "b", gone);
    conf_watch_expect_idle(&w);
    conf_watch_close(&w);
    cor_predicate_deinit(&predicate);
    conf_close(&c);
}

TEST(resume, from_before_compaction_is_410)
{
    struct cor_store_watch_opts opts = {.options.recursive = true};
    cor_rev from;

    conf_open(&c);
    from = put("a", "x");
    put("a", "y");
    conf_compact(&c, put("a", "z"));
    restart();
    opts.options.resource_version = cor_strz(conf_rv(from));
    conf_watch_open(&c, &w, "/pods", &opts);
    {
        const struct conf_event *e = conf_watch_expect(&w, COR_WATCH_ERROR, NULL, 0);
        char message[64];

        snprintf(message, sizeof(message), "too old resource version: %llu (%llu)",
                 (unsigned long long)from, (unsigned long long)from + 2);
        assert_int_equal(e->status.code, 410);
        assert_string_equal(e->status.reason, "Expired");
        assert_string_equal(cor_status_message(&e->status), message);
    }
    conf_watch_close(&w);
    conf_close(&c);
}
