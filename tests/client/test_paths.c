/* Paths that are no resources, on both kinds of runtime. */
#include <stdio.h>

#include "script.h"
#include "world.h"

struct got {
    int r; /* what the callback returns */
    int n;
    char text[4096]; /* the list of health checks among others */
};

static int take(void *arg, struct cor_str body)
{
    struct got *g = arg;

    g->n++;
    snprintf(g->text, sizeof(g->text), "%.*s", COR_STR_ARG(body));
    return g->r;
}

static int get(struct world *w, const char *path, struct got *g, struct cor_status *reterr)
{
    g->n = 0;
    return cor_client_get_path(w->client, path, 0, take, g, reterr);
}

TEST(paths, of_a_real_server)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct got g = {.r = 0};
        struct cor_status why = {0};

        world_begin(&w, kind);
        assert_int_equal(get(&w, "/version", &g, NULL), 0);
        assert_non_null(strstr(g.text, "\"gitVersion\""));
        assert_int_equal(get(&w, "/readyz", &g, NULL), 0);
        assert_string_equal(g.text, "ok");
        g.r = 7;
        assert_int_equal(get(&w, "/livez?verbose", &g, NULL), 7);
        assert_non_null(strstr(g.text, "livez check passed"));
        g.r = -COR_ECORRUPT;
        assert_int_equal(get(&w, "/readyz", &g, &why), -COR_ECORRUPT);
        assert_int_equal(why.err, -COR_ECORRUPT);
        assert_int_equal(get(&w, "/nothing", &g, &why), -COR_ENOTFOUND);
        assert_int_equal(why.code, 404);
        assert_int_equal(g.n, 0);
        cor_status_deinit(&why);
        world_end(&w);
    }
}

static const struct script_answer answers[] = {{.to = "/k8s/apis/", .body = "{}"},
                                               {.to = "/k8s/slow", .is_silent = true}};

/* Contract client 4.8.5: below the server's own path, and else as it was given. */
TEST(paths, stand_below_the_servers_and_are_sent_as_they_are)
{
    static const char *const bad[] = {"",      "version",   "/a b", "/a\r\nX: y",
                                      "/\x7f", "/\xc3\xa4", "/a#b"};

    FOR_EACH_KIND(kind)
    {
        struct script s;
        struct world w;
        struct got g = {.r = 0};
        struct cor_status why = {0};
        char url[128];

        SCRIPT_BEGIN(&s, answers);
        snprintf(url, sizeof(url), "%s/k8s", s.url);
        world_begin_at(&w, kind, url);
        assert_int_equal(get(&w, "/apis/?a=%20", &g, NULL), 0);
        assert_int_equal(script_count(&s, "GET /k8s/apis/?a=%20"), 1);
        assert_int_equal(cor_client_get_path(w.client, "/slow", 50, take, &g, NULL), -COR_ETIMEOUT);
        for (size_t i = 0; i < COR_ARRAY_LEN(bad); i++) {
            assert_int_equal(get(&w, bad[i], &g, &why), -COR_EINVAL);
            assert_non_null(strstr(cor_status_message(&why), "path: "));
            cor_status_deinit(&why);
        }
        assert_int_equal(get(&w, NULL, &g, NULL), -COR_EINVAL);
        assert_int_equal(g.n, 0);
        world_end(&w);
        script_end(&s);
    }
}
