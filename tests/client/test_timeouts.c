/* The time that a request has: the server is told of it, what cannot be in time fails early, and a
 * change has one for all its requests. On both kinds of runtime, with a server of the test's own.
 */
#include <stdio.h>

#include "script.h"
#include "world.h"

#define MAP                                                                                        \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"one\","                \
    "\"namespace\":\"default\",\"resourceVersion\":\"5\"}}"
#define PAGE(rv, token)                                                                            \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"" rv    \
    "\",\"continue\":\"" token "\"},\"items\":[" MAP "]}"
#define LIST PAGE("7", "")

static const struct cor_request get_one = {
    COR_REQUEST,     .verb = COR_VERB_GET, .resource = {"", "v1", "configmaps"},
    .ns = "default", .name = "one",        .timeout_ms = 61000};

/* Contract client 4.7.7, 4.8.8; not a watch, whose end is timeoutSeconds (4.14.7). */
TEST(timeouts, the_server_is_told_of_the_time_that_a_request_has)
{
    static const struct script_answer answers[] = {
        {.to = "watch=true", .body = ""},
        {.to = "configmaps/one", .body = MAP},
        {.to = "configmaps", .body = LIST},
    };

    FOR_EACH_KIND(kind)
    {
        struct cor_request list = {COR_REQUEST, .verb = COR_VERB_LIST, .resource = configmaps,
                                   .ns = "default", .timeout_ms = 61500};
        struct cor_object_list got;
        struct script s;
        struct world w;

        SCRIPT_BEGIN(&s, answers);
        world_begin_at(&w, kind, s.url);
        assert_int_equal(cor_client_do(w.client, &get_one, NULL, NULL), 0);
        assert_int_equal(script_count(&s, "GET /api/v1/namespaces/default/configmaps/one"
                                          "?timeout=61s"),
                         1);
        assert_int_equal(cor_client_list(w.client, &list, &got, NULL), 0);
        cor_object_list_deinit(&got);
        assert_int_equal(script_count(&s, "timeout=61500ms"), 1);
        list.paging = COR_PAGING_WHOLE;
        assert_int_equal(cor_client_list(w.client, &list, &got, NULL), 0);
        cor_object_list_deinit(&got);
        assert_int_equal(script_count(&s, "timeout=61500ms"), 2);
        list.timeout_ms = 0;
        list.paging = COR_PAGING_NONE;
        assert_int_equal(cor_client_list(w.client, &list, &got, NULL), 0);
        cor_object_list_deinit(&got);
        assert_int_equal(script_count(&s, "timeout=60s"), 1); /* the client's */
        world_end(&w);
        script_end(&s);
    }
}

/* All but the first are more nanoseconds than Kubernetes counts: a server would refuse them. */
TEST(timeouts, a_time_that_is_too_long_to_be_told_is_none)
{
    static const struct script_answer answers[] = {{.to = "configmaps/one", .body = MAP}};
    static const uint64_t times[] = {9223372036854, 9223372036855, UINT64_MAX - 1, UINT64_MAX};

    FOR_EACH_KIND(kind)
    {
        struct cor_request req = get_one;
        struct script s;
        struct world w;

        SCRIPT_BEGIN(&s, answers);
        world_begin_at(&w, kind, s.url);
        for (size_t i = 0; i < COR_ARRAY_LEN(times); i++) {
            req.timeout_ms = times[i];
            assert_int_equal(cor_client_do(w.client, &req, NULL, NULL), 0);
        }
        assert_int_equal(script_count(&s, "GET "), 4);
        assert_int_equal(script_count(&s, "timeout="), 1);
        assert_int_equal(script_count(&s, "timeout=9223372036854ms"), 1);
        world_end(&w);
        script_end(&s);
    }
}

/* A client of one request in a thousand seconds. */
static void begin_slowly(struct world *w, enum cor_runtime_kind kind, const struct script *s)
{
    struct cor_client_opts opts = {COR_CLIENT_OPTS, .qps = 0.001, .burst = 1};

    world_begin_at(w, kind, s->url);
    cor_client_free(w->client);
    opts.config = &w->config;
    assert_int_equal(cor_client_new(w->rt, &opts, &w->client, NULL), 0);
}

/* Contract client 4.9.2: one request in a thousand seconds, and the next one has a minute. */
TEST(timeouts, a_turn_that_comes_too_late_fails_at_once)
{
    static const struct script_answer answers[] = {{.to = "configmaps/one", .body = MAP}};

    FOR_EACH_KIND(kind)
    {
        struct cor_status why = {0};
        struct script s;
        struct world w;

        SCRIPT_BEGIN(&s, answers);
        begin_slowly(&w, kind, &s);
        assert_int_equal(cor_client_do(w.client, &get_one, NULL, NULL), 0);
        assert_int_equal(cor_client_do(w.client, &get_one, NULL, &why), -COR_ETIMEOUT);
        assert_non_null(strstr(cor_status_message(&why), "client rate limiter Wait"));
        assert_int_equal(script_count(&s, "GET"), 1);
        cor_status_deinit(&why);
        world_end(&w);
        script_end(&s);
    }
}

/* The same of a later page: it has no minute left when the time is the list's. */
TEST(timeouts, a_page_that_comes_too_late_fails_at_once)
{
    static const struct script_answer answers[] = {
        {.to = "limit=1", .body = PAGE("7", "more")},
    };

    FOR_EACH_KIND(kind)
    {
        for (enum cor_paging paging = COR_PAGING_EACH; paging <= COR_PAGING_WHOLE; paging++) {
            const struct cor_request list = {
                COR_REQUEST, .verb = COR_VERB_LIST, .resource = configmaps,
                .limit = 1,  .paging = paging,      .timeout_ms = 61000};
            struct cor_object_list got;
            struct cor_status why = {0};
            struct script s;
            struct world w;

            SCRIPT_BEGIN(&s, answers);
            begin_slowly(&w, kind, &s);
            assert_int_equal(cor_client_list(w.client, &list, &got, &why), -COR_ETIMEOUT);
            assert_non_null(strstr(cor_status_message(&why), "client rate limiter Wait"));
            assert_int_equal(script_count(&s, "GET"), 1);
            cor_status_deinit(&why);
            world_end(&w);
            script_end(&s);
        }
    }
}

static int keep_trying(void *arg, struct cor_object *current, struct cor_object **ret_object,
                       struct cor_status *reterr)
{
    struct cor_builder *b;
    int r = cor_builder_new(current, &b);

    ++*(int *)arg;
    if (r < 0)
        return r;
    cor_builder_set_label(b, "changed", COR_STR("yes"));
    r = cor_builder_finish(b, ret_object, reterr);
    cor_builder_free(b);
    return r;
}

/* The write is not answered, and begins with less than there was at first. */
TEST(timeouts, a_change_has_one_for_all_its_requests)
{
    static const struct script_answer answers[] = {
        {.to = "PUT",
         .body = "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Conflict\"}",
         .status = 409,
         .times = 3},
        {.to = "PUT", .body = "{", .stays_open = true},
        {.to = "GET", .body = MAP},
    };

    FOR_EACH_KIND(kind)
    {
        struct cor_request req = get_one;
        struct script s;
        struct world w;
        int ntries = 0;

        SCRIPT_BEGIN(&s, answers);
        world_begin_at(&w, kind, s.url);
        req.timeout_ms = 2000;
        assert_int_equal(cor_client_change(w.client, &req, keep_trying, &ntries, NULL, NULL),
                         -COR_ETIMEOUT);
        assert_true(ntries <= 4);
        assert_true(script_count(&s, "timeout=2s") <= 2); /* those of the first try, in one ms */
        world_end(&w);
        script_end(&s);
    }
}
