/* Paths that are no resources, on both kinds of runtime. */
#include <stdio.h>

#include "script.h"
#include "world.h"

struct got {
    int r; /* what the callback returns */
    int n;
    char text[4096]; /* the list of health checks among others; of a stream all that has come */
    struct cor_cancel *cancel; /* is triggered by the first piece; NULL: none is */
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

static int raw(struct world *w, const struct cor_raw_request *req, struct got *g, int *ret_code,
               struct cor_status *reterr)
{
    g->n = 0;
    return cor_client_raw(w->client, req, take, g, ret_code, reterr);
}

/* Contract client 4.8.5: every verb may be sent to a path, with a body of any type. */
TEST(paths, have_every_verb)
{
    static const char *const maps = "/api/v1/namespaces/default/configmaps";
    static const char *const map = "/api/v1/namespaces/default/configmaps/raw";

    FOR_EACH_KIND(kind)
    {
        struct cor_raw_request req = {COR_RAW_REQUEST, .method = "POST", .path = maps};
        struct cor_status why = {0};
        struct got g = {.r = 0};
        struct world w;
        int code = 0;

        world_begin(&w, kind);
        req.content_type = "application/yaml";
        req.body = COR_STR("kind: ConfigMap\napiVersion: v1\nmetadata: {name: raw}\n");
        assert_int_equal(raw(&w, &req, &g, &code, NULL), 0);
        assert_int_equal(code, 201);
        assert_non_null(strstr(g.text, "\"name\":\"raw\""));
        code = 0;
        assert_int_equal(raw(&w, &req, &g, &code, &why), -COR_EEXIST);
        assert_int_equal(code, 0);
        assert_int_equal(g.n, 0);
        cor_status_deinit(&why);
        req = (struct cor_raw_request){COR_RAW_REQUEST,
                                       .method = "PATCH",
                                       .path = map,
                                       .content_type = "application/merge-patch+json",
                                       .accept = "application/yaml",
                                       .body = COR_STR("{\"data\":{\"sea\":\"north\"}}")};
        assert_int_equal(raw(&w, &req, &g, NULL, NULL), 0);
        assert_non_null(strstr(g.text, "sea: north\n"));
        req = (struct cor_raw_request){COR_RAW_REQUEST, .method = "DELETE", .path = map};
        assert_int_equal(cor_client_raw(w.client, &req, NULL, NULL, NULL, NULL), 0);
        assert_int_equal(raw(&w, &req, &g, NULL, NULL), -COR_ENOTFOUND);
        world_end(&w);
    }
}

TEST(paths, are_refused_when_they_cannot_be_sent)
{
    static const struct cor_raw_request bad[] = {
        {COR_RAW_REQUEST, .path = "/x", .method = ""},
        {COR_RAW_REQUEST, .path = "/x", .method = "get"},
        {COR_RAW_REQUEST, .path = "/x", .method = "GET /y HTTP/1.1"},
        {COR_RAW_REQUEST, .path = "/x", .method = "ABCDEFGHIJKLMNOPQ"},
        {COR_RAW_REQUEST, .path = "/x", .accept = "a\r\nX: y"},
        {COR_RAW_REQUEST, .path = "/x", .content_type = "a\nb"},
        {COR_RAW_REQUEST, .path = "x"},
        {.path = "/x"},
    };
    static const char *const words[] = {"method: ", "method: ",       "method: ", "method: ",
                                        "accept: ", "content_type: ", "path: ",   "raw request: "};
    static const struct cor_pod_logs logs[] = {{COR_POD_LOGS, .pod = "p"},
                                               {COR_POD_LOGS, .ns = "n"},
                                               {COR_POD_LOGS, .ns = "n", .pod = "a/b"}};
    static const char *const of_logs[] = {"ns: ", "pod: ", "a/b"};
    struct got g = {.r = 0};
    struct world w;

    world_begin_at(&w, COR_RUNTIME_THREADS, "http://127.0.0.1:1");
    for (size_t i = 0; i < COR_ARRAY_LEN(bad); i++) {
        struct cor_status why = {0};

        assert_int_equal(raw(&w, &bad[i], &g, NULL, &why), -COR_EINVAL);
        assert_non_null(strstr(cor_status_message(&why), words[i]));
        cor_status_deinit(&why);
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(logs); i++) {
        struct cor_status why = {0};

        assert_int_equal(cor_client_pod_logs(w.client, &logs[i], take, &g, &why), -COR_EINVAL);
        assert_non_null(strstr(cor_status_message(&why), of_logs[i]));
        cor_status_deinit(&why);
    }
    assert_int_equal(g.n, 0);
    world_end(&w);
}

/* Adds a piece to what has come. */
static int gather(void *arg, struct cor_str piece)
{
    struct got *g = arg;
    size_t n = strlen(g->text);

    g->n++;
    snprintf(g->text + n, sizeof(g->text) - n, "%.*s", COR_STR_ARG(piece));
    if (g->cancel)
        cor_cancel_trigger(g->cancel);
    return g->r;
}

static const struct script_answer logs_answers[] = {
    {.to = "/web/log?container=main&follow=true&limitBytes=100&previous=true&sinceSeconds=60&"
           "sinceTime=2026-01-02T03%3A04%3A05Z&tailLines=0&timestamps=true",
     .body = "one\ntwo\n"},
    {.to = "/open/log", .body = "one\n", .stays_open = true},
    {.to = "/web/log", .body = "three\n"}};

TEST(paths, of_a_log_are_read_as_a_stream)
{
    FOR_EACH_KIND(kind)
    {
        const struct cor_pod_logs all = {COR_POD_LOGS, .ns = "n", .pod = "web"};
        const struct cor_pod_logs some = {COR_POD_LOGS,       .ns = "n",
                                          .pod = "web",       .container = "main",
                                          .follow = true,     .previous = true,
                                          .timestamps = true, .has_tail = true,
                                          .since_s = 60,      .since_time = "2026-01-02T03:04:05Z",
                                          .limit_bytes = 100};
        struct got g = {.r = 0};
        struct script s;
        struct world w;

        SCRIPT_BEGIN(&s, logs_answers);
        world_begin_at(&w, kind, s.url);
        assert_int_equal(cor_client_pod_logs(w.client, &some, gather, &g, NULL), 0);
        assert_string_equal(g.text, "one\ntwo\n");
        assert_int_equal(cor_client_pod_logs(w.client, &all, gather, &g, NULL), 0);
        assert_string_equal(g.text, "one\ntwo\nthree\n");
        assert_int_equal(script_count(&s, "GET /api/v1/namespaces/n/pods/web/log"), 2);
        world_end(&w);
        script_end(&s);
    }
}

/* A log that is followed ends when its time is over, by its handle, or by what the function
 * returns. */
TEST(paths, of_a_log_without_end_are_left)
{
    FOR_EACH_KIND(kind)
    {
        struct cor_pod_logs open = {COR_POD_LOGS, .ns = "n", .pod = "open", .follow = true};
        struct got g = {.r = 0};
        struct cor_status why = {0};
        struct script s;
        struct world w;

        SCRIPT_BEGIN(&s, logs_answers);
        world_begin_at(&w, kind, s.url);
        assert_int_equal(cor_cancel_new(&open.cancel), 0);
        g.cancel = open.cancel;
        assert_int_equal(cor_client_pod_logs(w.client, &open, gather, &g, &why), -COR_ECANCELED);
        assert_string_equal(g.text, "one\n");
        assert_non_null(strstr(cor_status_message(&why), "canceled"));
        g.n = 0;
        assert_int_equal(cor_client_pod_logs(w.client, &open, gather, &g, NULL), -COR_ECANCELED);
        assert_int_equal(g.n, 0);
        open.cancel = g.cancel = cor_cancel_unref(open.cancel);
        g.r = -COR_ECORRUPT;
        assert_int_equal(cor_client_pod_logs(w.client, &open, gather, &g, &why), -COR_ECORRUPT);
        assert_int_equal(why.err, -COR_ECORRUPT);
        assert_int_equal(g.n, 1);
        g.r = 0;
        open.timeout_ms = 50;
        assert_int_equal(cor_client_pod_logs(w.client, &open, gather, &g, &why), -COR_ETIMEOUT);
        cor_status_deinit(&why);
        world_end(&w);
        script_end(&s);
    }
}
