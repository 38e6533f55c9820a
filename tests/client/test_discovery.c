/* What a server serves, listed by the public API, on both kinds of runtime. */
#include <stdio.h>

#include "script.h"
#include "world.h"

/* "group/version plural/subresource Kind verbs short-names\n" of what was wanted. */
struct seen {
    const char *wanted; /* a plural; NULL: all are only counted */
    char text[1024];
    int n, stop_at;
    int waited; /* what a call that waits returned inside the callback */
    struct world *w;
};

static void add_words(struct seen *s, struct cor_view words)
{
    struct cor_view_iter it = cor_view_iter(words);
    size_t n = strlen(s->text);

    snprintf(s->text + n, sizeof(s->text) - n, " ");
    for (const char *comma = ""; cor_view_next(&it); comma = ",") {
        n = strlen(s->text);
        snprintf(s->text + n, sizeof(s->text) - n, "%s%.*s", comma,
                 COR_STR_ARG(cor_view_text_or(it.value, NULL, 0, "?")));
    }
}

static int see(void *arg, const struct cor_api_resource *r)
{
    struct seen *s = arg;
    size_t n = strlen(s->text);

    if (++s->n == s->stop_at)
        return 7;
    if (s->w)
        s->waited = cor_client_each_resource(s->w->client, false, see, s, NULL);
    if (!s->wanted || !cor_str_eqz(r->plural, s->wanted))
        return 0;
    snprintf(s->text + n, sizeof(s->text) - n, "%.*s/%.*s%s %.*s/%.*s %.*s/%.*s.%.*s%s",
             COR_STR_ARG(r->group), COR_STR_ARG(r->version), r->is_preferred ? "!" : "",
             COR_STR_ARG(r->plural), COR_STR_ARG(r->subresource), COR_STR_ARG(r->kind_group),
             COR_STR_ARG(r->kind_version), COR_STR_ARG(r->kind), r->is_namespaced ? " ns" : "");
    add_words(s, r->verbs);
    add_words(s, r->short_names);
    n = strlen(s->text);
    snprintf(s->text + n, sizeof(s->text) - n, "\n");
    return 0;
}

TEST(discovery, lists_every_resource_with_verbs_and_short_names)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct seen namespaces = {.wanted = "namespaces", .w = &w};
        struct seen scalers = {.wanted = "horizontalpodautoscalers"};

        world_begin(&w, kind);
        assert_int_equal(cor_client_each_resource(w.client, false, see, &namespaces, NULL), 0);
        assert_non_null(strstr(namespaces.text, "/v1! namespaces/ /v1.Namespace"
                                                " create,delete,get,list,patch,update,watch ns\n"));
        assert_non_null(strstr(namespaces.text, "/v1! namespaces/status /v1.Namespace"));
        assert_int_equal(namespaces.waited, -COR_EINVAL);
        assert_int_equal(cor_client_each_resource(w.client, true, see, &scalers, NULL), 0);
        assert_int_equal(scalers.n, namespaces.n);
        assert_non_null(strstr(scalers.text, "autoscaling/v2! horizontalpodautoscalers/ "));
        assert_non_null(strstr(scalers.text, "autoscaling/v1 horizontalpodautoscalers/ "));
        assert_non_null(strstr(scalers.text, " hpa\n"));
        world_end(&w);
    }
}

TEST(discovery, ends_when_it_is_told_to)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct seen seen = {.stop_at = 3};

        world_begin(&w, kind);
        assert_int_equal(cor_client_each_resource(w.client, false, see, &seen, NULL), 7);
        assert_int_equal(seen.n, 3);
        world_end(&w);
    }
}

/* The old documents, of a server without aggregated discovery. */
#define API_VERSIONS "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}"
#define API_GROUPS                                                                                 \
    "{\"kind\":\"APIGroupList\",\"groups\":[{\"name\":\"away.io\",\"versions\":[{"                 \
    "\"groupVersion\":\"away.io/v1\",\"version\":\"v1\"}],\"preferredVersion\":{"                  \
    "\"groupVersion\":\"away.io/v1\",\"version\":\"v1\"}}]}"
#define API_RESOURCES                                                                              \
    "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\",\"resources\":[{\"name\":\"boats\","    \
    "\"singularName\":\"boat\",\"namespaced\":true,\"kind\":\"Boat\",\"verbs\":[\"get\","          \
    "\"list\"],\"shortNames\":[\"bo\"]}]}"
#define UNAVAILABLE                                                                                \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"ServiceUnavailable\",\"code\":503,"  \
    "\"message\":\"away\"}"

static const struct script_answer half_away[] = {
    {.to = "GET /apis/away.io/v1", .body = UNAVAILABLE, .status = 503},
    {.to = "GET /apis", .body = API_GROUPS},
    {.to = "GET /api/v1", .body = API_RESOURCES},
    {.to = "GET /api", .body = API_VERSIONS},
};

static int see_boat(void *arg, const struct cor_api_resource *r)
{
    assert_true(cor_api_resource_has(r->verbs, "list"));
    assert_false(cor_api_resource_has(r->verbs, "watch"));
    assert_true(cor_api_resource_has(r->short_names, "bo"));
    assert_false(cor_api_resource_has(r->categories, "all"));
    return see(arg, r);
}

TEST(discovery, tells_of_what_is_there_and_of_what_is_not)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct script script;
        struct seen seen = {.wanted = "boats"};
        struct cor_status why;

        cor_status_init(&why);
        SCRIPT_BEGIN(&script, half_away);
        world_begin_at(&w, kind, script.url);
        assert_int_equal(cor_client_each_resource(w.client, false, see_boat, &seen, &why),
                         -COR_ENOTFOUND);
        assert_string_equal(seen.text, "/v1! boats/ /v1.Boat ns get,list bo\n");
        assert_non_null(strstr(cor_status_message(&why), "away.io/v1"));
        cor_status_deinit(&why);
        world_end(&w);
        script_end(&script);
    }
}

#define VERSION(gv, v) "{\"groupVersion\":\"" gv "\",\"version\":\"" v "\"}"
#define GROUP(name, versions, preferred)                                                           \
    "{\"name\":\"" name "\",\"versions\":[" versions "],\"preferredVersion\":" preferred "}"
#define SEA(v)          VERSION("sea.io/" v, v)
#define LAKE            VERSION("lake.io/v1", "v1")
#define RESOURCE(r)     "{\"name\":\"" r "\",\"kind\":\"Boat\",\"verbs\":[\"get\"]}"
#define RESOURCES(list) "{\"kind\":\"APIResourceList\",\"resources\":[" list "]}"

static const struct script_answer three_versions[] = {
    {.to = "/sea.io/v1beta1", .body = RESOURCES(RESOURCE("rafts") "," RESOURCE("tugs"))},
    {.to = "/sea.io/v1", .body = RESOURCES(RESOURCE("boats") "," RESOURCE("rafts"))},
    {.to = "/sea.io/v2", .body = RESOURCES(RESOURCE("boats") "," RESOURCE("boats/status"))},
    {.to = "/lake.io/v1", .body = RESOURCES(RESOURCE("boats"))},
    {.to = "GET /apis",
     .body = "{\"kind\":\"APIGroupList\",\"groups\":[" GROUP(
         "sea.io", SEA("v1") "," SEA("v2") "," SEA("v1beta1"), SEA("v2")) "," GROUP("lake.io", LAKE,
                                                                                    "{}") "]}"},
    {.to = "GET /api", .body = "{\"kind\":\"APIVersions\",\"versions\":[]}"},
};

static int see_chosen(void *arg, const struct cor_api_resource *r)
{
    struct seen *s = arg;
    size_t n = strlen(s->text);

    if (r->is_chosen)
        snprintf(s->text + n, sizeof(s->text) - n, "%.*s/%.*s/%.*s ", COR_STR_ARG(r->version),
                 COR_STR_ARG(r->plural), COR_STR_ARG(r->subresource));
    s->n++;
    return 0;
}

/* Contract client 4.15.8. */
TEST(discovery, one_version_of_each_resource_is_chosen)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct script script;
        struct seen seen = {.n = 0};

        SCRIPT_BEGIN(&script, three_versions);
        world_begin_at(&w, kind, script.url);
        assert_int_equal(cor_client_each_resource(w.client, false, see_chosen, &seen, NULL), 0);
        assert_int_equal(seen.n, 7);
        assert_string_equal(seen.text, "v1/rafts/ v2/boats/ v1beta1/tugs/ v1/boats/ ");
        world_end(&w);
        script_end(&script);
    }
}

TEST(discovery, is_remembered_until_it_is_asked_for_anew)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct script script;
        struct seen seen = {.n = 0};

        SCRIPT_BEGIN(&script, three_versions);
        world_begin_at(&w, kind, script.url);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(cor_client_each_resource(w.client, false, see, &seen, NULL), 0);
            assert_int_equal(script_count(&script, "/lake.io/v1"), 1);
        }
        assert_int_equal(cor_client_each_resource(w.client, true, see, &seen, NULL), 0);
        assert_int_equal(script_count(&script, "/lake.io/v1"), 2);
        assert_int_equal(seen.n, 21);
        world_end(&w);
        script_end(&script);
    }
}

TEST(discovery, a_server_that_is_away_is_an_error)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct seen seen = {.wanted = NULL};
        struct cor_status why;

        cor_status_init(&why);
        world_begin(&w, kind);
        server_process_kill(&w.server);
        assert_int_equal(cor_client_each_resource(w.client, false, see, &seen, &why),
                         -COR_EUNREACHABLE);
        assert_int_equal(seen.n, 0);
        cor_status_deinit(&why);
        world_end(&w);
    }
}
