#include "kit/dynamic/pager.h"

#include "rest_fixture.h"

static const struct cor_gvr pods = {COR_STR(""), COR_STR("v1"), COR_STR("pods")};

#define ITEM(name) "{\"metadata\":{\"name\":\"" name "\"}}"
#define PAGE(rv, token, items)                                                                     \
    {                                                                                              \
        .body = "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":"   \
                "\"" rv "\",\"continue\":\"" token "\"},\"items\":[" items "]}"                    \
    }
#define EXPIRED(reason_)                                                                           \
    {                                                                                              \
        .status = 410, .body = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":"            \
                               "\"Failure\",\"reason\":\"" reason_ "\",\"code\":410}"              \
    }

struct taken {
    struct cor_pager *pager;
    char names[64];
    char rv[16];
    bool is_done, is_paged;
    int err;
    bool was_throttled;
    int pause, stop, cancel; /* after so many items */
    int count;
};

static void take(struct taken *t, const struct cor_object *object)
{
    strncat(t->names, cor_object_name(object).p, cor_object_name(object).n);
    t->count++;
}

static void take_end(struct taken *t, const struct cor_status *error)
{
    assert_false(t->is_done);
    t->is_done = true;
    t->err = error ? error->err : 0;
    t->was_throttled = error && strstr(cor_status_message(error), "client rate limiter Wait");
}

static void on_list(void *arg, const struct cor_paged_list *list, const struct cor_status *error)
{
    struct taken *t = arg;

    assert_true(!list == !!error);
    take_end(t, error);
    if (!list)
        return;
    for (size_t i = 0; i < list->n; i++)
        take(t, list->objects[i]);
    t->is_paged = list->is_paged;
    snprintf(t->rv, sizeof(t->rv), "%.*s", COR_STR_ARG(list->resource_version));
}

static int on_item(void *arg, struct cor_object *object)
{
    struct taken *t = arg;

    take(t, object);
    if (t->count == t->cancel) {
        cor_pager_cancel(t->pager);
        return 0;
    }
    return t->count == t->stop ? -COR_EFORBIDDEN : t->count == t->pause;
}

static void on_each_done(void *arg, struct cor_str resource_version, const struct cor_status *error)
{
    struct taken *t = arg;

    snprintf(t->rv, sizeof(t->rv), "%.*s", COR_STR_ARG(resource_version));
    take_end(t, error);
}

static const struct cor_pager_each_cbs each_cbs = {on_item, on_each_done};

static struct cor_pager_opts opts_of(struct world *w, int64_t limit)
{
    return (struct cor_pager_opts){
        .client = w->rc,
        .op = {.verb = COR_API_VERB_LIST,
               .at = {.gvr = pods},
               .query = {.list = {.limit = limit,
                                  .resource_version = COR_STR("5"),
                                  .resource_version_match = COR_STR("NotOlderThan")}}}};
}

static void begin(struct world *w, const struct answer *script, size_t n)
{
    world_begin(w, NULL);
    world_connect_freely(w);
    world_script(w, script, n);
}

static void gather(struct world *w, struct taken *t, int64_t limit)
{
    struct cor_pager_opts opts = opts_of(w, limit);

    *t = (struct taken){0};
    assert_int_equal(cor_pager_list(&opts, on_list, t, &t->pager, NULL), 0);
    world_until(w, is_flag, &t->is_done);
}

/* Contract client 4.1.1, 4.1.2. */
TEST(pager, one_page_is_the_servers_list)
{
    static const struct answer script[] = {PAGE("9", "", ITEM("a") "," ITEM("b"))};
    struct world w;
    struct taken t;

    begin(&w, script, 1);
    gather(&w, &t, 0);
    assert_string_equal(t.names, "ab");
    assert_string_equal(t.rv, "9");
    assert_false(t.is_paged);
    assert_str(cor_buf_str(&w.asked),
               "GET /api/v1/pods?resourceVersion=5&resourceVersionMatch=NotOlderThan&limit=500\n");
    world_end(&w);
}

/* Contract client 4.1.2, 4.1.3, 4.1.5. */
TEST(pager, pages_become_one_list_of_the_first_ones_revision)
{
    static const struct answer script[] = {PAGE("9", "t+1", ITEM("a")), PAGE("9", "t2", ""),
                                           PAGE("11", "", ITEM("c"))};
    struct world w;
    struct taken t;

    begin(&w, script, 3);
    gather(&w, &t, 1);
    assert_string_equal(t.names, "ac");
    assert_string_equal(t.rv, "9");
    assert_true(t.is_paged);
    assert_str(cor_buf_str(&w.asked),
               "GET /api/v1/pods?resourceVersion=5&resourceVersionMatch=NotOlderThan&limit=1\n"
               "GET /api/v1/pods?limit=1&continue=t%2B1\n"
               "GET /api/v1/pods?limit=1&continue=t2\n");
    world_end(&w);
}

/* Contract client 4.1.4. */
TEST(pager, a_later_page_that_expired_is_a_full_list)
{
    static const struct answer script[] = {PAGE("9", "t", ITEM("a")), EXPIRED("Expired"),
                                           PAGE("12", "", ITEM("b") "," ITEM("c"))};
    struct world w;
    struct taken t;

    begin(&w, script, 3);
    gather(&w, &t, 1);
    assert_string_equal(t.names, "bc");
    assert_string_equal(t.rv, "12");
    assert_true(t.is_paged);
    assert_non_null(strstr(w.asked.p, "continue=t\nGET /api/v1/pods?resourceVersion=5&"
                                      "resourceVersionMatch=NotOlderThan\n"));
    world_end(&w);
}

static void begin_each(struct world *w, struct taken *t, unsigned prefetch)
{
    struct cor_pager_opts opts = opts_of(w, 1);

    assert_int_equal(cor_pager_each(&opts, prefetch, &each_cbs, t, &t->pager, NULL), 0);
}

TEST(pager, a_page_that_leads_to_itself_is_a_failure)
{
    static const struct answer script[] = {PAGE("9", "t", ITEM("a")), PAGE("9", "t", ITEM("b")),
                                           PAGE("9", "t", ITEM("c"))};
    struct taken t;
    struct world w;

    begin(&w, script, 3);
    gather(&w, &t, 1);
    assert_int_equal(t.err, -COR_EPROTOCOL);
    assert_int_equal(w.nasked, 2);
    WORLD_SCRIPT(&w, script);
    t = (struct taken){0};
    begin_each(&w, &t, 0);
    world_until(&w, is_flag, &t.is_done);
    assert_int_equal(t.err, -COR_EPROTOCOL);
    assert_string_equal(t.names, "ab");
    assert_int_equal(w.nasked, 2);
    world_end(&w);
}

TEST(pager, other_failures_are_told)
{
    static const struct answer first[] = {EXPIRED("Expired")};
    static const struct answer gone[] = {PAGE("9", "t", ITEM("a")), EXPIRED("Gone")};
    static const struct answer twice[] = {PAGE("9", "t", ITEM("a")), EXPIRED("Expired"),
                                          EXPIRED("Expired")};
    static const struct answer no_list[] = {{.body = "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}"}};
    struct world w;
    struct taken t;

    begin(&w, first, 1);
    gather(&w, &t, 1);
    assert_int_equal(t.err, -COR_EEXPIRED);
    WORLD_SCRIPT(&w, gone);
    gather(&w, &t, 1);
    assert_int_equal(t.err, -COR_EEXPIRED);
    assert_int_equal(w.nasked, 2);
    WORLD_SCRIPT(&w, twice);
    gather(&w, &t, 1);
    assert_int_equal(t.err, -COR_EEXPIRED);
    assert_int_equal(w.nasked, 3);
    WORLD_SCRIPT(&w, no_list);
    gather(&w, &t, 1);
    assert_int_equal(t.err, -COR_EPROTOCOL); /* Contract client 4.1.9 */
    world_end(&w);
}

struct count {
    struct world *w;
    size_t n;
    bool *is_done;
};

static bool has_asked(void *arg)
{
    return ((struct count *)arg)->w->nasked >= ((struct count *)arg)->n;
}

/* Contract client 4.1.7: n + 2 pages are asked for while the first is taken. Those that go on have
 * no resourceVersion, which servers refuse beside a token; client-go leaves it there. */
TEST(pager, fetches_ahead_of_a_taker_that_pauses)
{
    static const struct answer script[] = {PAGE("9", "1", ITEM("a")), PAGE("9", "2", ITEM("b")),
                                           PAGE("9", "3", ITEM("c")), PAGE("9", "4", ITEM("d")),
                                           PAGE("9", "", ITEM("e"))};
    struct taken t = {.pause = 1};
    struct world w;
    bool never = false;

    for (unsigned n = 0; n < 3; n++) {
        begin(&w, script, 5);
        t = (struct taken){.pause = 1};
        begin_each(&w, &t, n);
        world_until(&w, has_asked, &(struct count){&w, n + 2, NULL});
        /* Long enough for one that is not to come; a slow machine can only miss it. */
        cor_loop_run_until(w.loop, is_flag, &never, 20);
        assert_int_equal(w.nasked, n + 2);
        assert_string_equal(t.names, "a");
        cor_pager_resume(t.pager);
        assert_string_equal(t.names, "a");
        world_until(&w, is_flag, &t.is_done);
        assert_int_equal(t.err, 0);
        assert_string_equal(t.names, "abcde");
        assert_int_equal(w.nasked, 5);
        assert_str(cor_buf_str(&w.asked),
                   "GET /api/v1/pods?resourceVersion=5&resourceVersionMatch=NotOlderThan&limit=1\n"
                   "GET /api/v1/pods?limit=1&continue=1\nGET /api/v1/pods?limit=1&continue=2\n"
                   "GET /api/v1/pods?limit=1&continue=3\nGET /api/v1/pods?limit=1&continue=4\n");
        world_end(&w);
    }
}

/* Contract client 4.1.7. */
TEST(pager, an_item_ends_it)
{
    static const struct answer script[] = {PAGE("9", "t", ITEM("a") "," ITEM("b")),
                                           PAGE("9", "", ITEM("c"))};
    struct taken t = {.stop = 2};
    struct world w;

    begin(&w, script, 2);
    begin_each(&w, &t, COR_PAGER_PREFETCH);
    world_until(&w, is_flag, &t.is_done);
    assert_int_equal(t.err, -COR_EFORBIDDEN);
    assert_string_equal(t.names, "ab");
    world_end(&w);
}

static bool is_cancelled(void *arg)
{
    struct taken *t = arg;

    return t->count == t->cancel;
}

TEST(pager, is_cancelled_from_inside_and_outside)
{
    static const struct answer script[] = {PAGE("9", "t", ITEM("a") "," ITEM("b")),
                                           PAGE("9", "", ITEM("c"))};
    struct taken t = {.cancel = 1};
    struct world w;

    begin(&w, script, 2);
    begin_each(&w, &t, COR_PAGER_PREFETCH);
    world_until(&w, is_cancelled, &t);
    assert_string_equal(t.names, "a");
    t = (struct taken){0};
    begin_each(&w, &t, COR_PAGER_PREFETCH);
    cor_pager_cancel(t.pager);
    assert_false(t.is_done);
    world_end(&w);
}

TEST(pager, a_failing_page_comes_after_the_items_before_it)
{
    static const struct answer script[] = {PAGE("9", "t", ITEM("a")), EXPIRED("Expired")};
    struct taken t = {0};
    struct world w;

    begin(&w, script, 2);
    begin_each(&w, &t, COR_PAGER_PREFETCH);
    world_until(&w, is_flag, &t.is_done);
    assert_int_equal(t.err, -COR_EEXPIRED);
    assert_string_equal(t.names, "a");
    world_end(&w);
}

/* Contract client 4.9.2: the second page's turn is 1,000 s away, the list has 100. */
TEST(pager, a_page_whose_turn_comes_too_late_fails_at_once)
{
    static const struct answer script[] = {PAGE("9", "t", ITEM("a")), PAGE("9", "", ITEM("b"))};

    for (int gathers = 0; gathers < 2; gathers++) {
        struct cor_pager_opts opts;
        struct taken t = {0};
        struct world w;

        world_begin(&w, NULL);
        world_connect(&w, &(struct cor_rest_client_opts){.qps = 0.001, .burst = 1});
        WORLD_SCRIPT(&w, script);
        opts = opts_of(&w, 1);
        opts.timeout_ms = 100000;
        assert_int_equal(gathers ? cor_pager_list(&opts, on_list, &t, &t.pager, NULL)
                                 : cor_pager_each(&opts, 0, &each_cbs, &t, &t.pager, NULL),
                         0);
        world_until(&w, is_flag, &t.is_done);
        assert_int_equal(t.err, -COR_ETIMEOUT);
        assert_true(t.was_throttled);
        assert_int_equal(w.nasked, 1);
        world_end(&w);
    }
}

static bool has_two_or_end(void *arg)
{
    struct count *c = arg;

    return has_asked(c) || *c->is_done;
}

/* The taker pauses until the time of the list is over. */
TEST(pager, a_list_has_one_time_for_all_its_pages)
{
    static const struct answer script[] = {PAGE("9", "1", ITEM("a")), PAGE("9", "2", ITEM("b")),
                                           PAGE("9", "", ITEM("c"))};
    struct cor_pager_opts opts;
    struct taken t = {.pause = 1};
    struct world w;
    bool never = false;

    begin(&w, script, 3);
    opts = opts_of(&w, 1);
    opts.timeout_ms = 300;
    assert_int_equal(cor_pager_each(&opts, 0, &each_cbs, &t, &t.pager, NULL), 0);
    world_until(&w, has_two_or_end, &(struct count){&w, 2, &t.is_done});
    cor_loop_run_until(w.loop, is_flag, &never, 301);
    if (!t.is_done)
        cor_pager_resume(t.pager);
    world_until(&w, is_flag, &t.is_done);
    assert_int_equal(t.err, -COR_ETIMEOUT);
    assert_true(w.nasked <= 2);
    world_end(&w);
}

TEST(pager, survives_failed_allocations)
{
    static const struct answer script[] = {PAGE("9", "t", ITEM("a")), PAGE("9", "", ITEM("b"))};
    struct world w;

    begin(&w, script, 2);
    for (int gathers = 0; gathers < 2; gathers++) {
        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_pager_opts opts = opts_of(&w, 1);
            struct taken t = {0};
            int r;

            world_arm(&w, n);
            WORLD_SCRIPT(&w, script);
            r = gathers ? cor_pager_list(&opts, on_list, &t, &t.pager, NULL)
                        : cor_pager_each(&opts, 1, &each_cbs, &t, &t.pager, NULL);
            if (r == 0)
                world_until(&w, is_flag, &t.is_done);
            assert_true(r == 0 || r == -COR_ENOMEM);
            assert_true((r == 0 && t.err == 0) || test_alloc_failed());
            if (r == 0 && t.err == 0)
                assert_string_equal(t.names, "ab");
        }
    }
    world_end(&w);
}
