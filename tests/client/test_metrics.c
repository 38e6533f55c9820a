/* Metrics of clients, informers and queues as Prometheus text, on both kinds of runtime. */
#include <stdio.h>

#include "coracle/prometheus.h"
#include "ear.h"
#include "script.h"

struct text {
    int r; /* what the callback returns */
    int n;
    char at[1 << 16];
};

static int take(void *arg, struct cor_str text)
{
    struct text *t = arg;

    t->n++;
    snprintf(t->at, sizeof(t->at), "%.*s", COR_STR_ARG(text));
    return t->r;
}

static void expect(const struct text *t, const char *part)
{
    if (!strstr(t->at, part))
        print_message("%s", t->at);
    assert_non_null(strstr(t->at, part));
}

/* Each family has one head, and all of its samples stand below the head. */
static void expect_families(const struct text *t)
{
    char name[128] = "", seen[1 << 14] = "";
    const char *line = t->at;

    for (; *line; line = strchr(line, '\n') + 1) {
        size_t n = strcspn(line, " {\n");

        if (line[0] != '#') {
            assert_true(strncmp(line, name, strlen(name)) == 0);
            assert_non_null(memchr(line + n, ' ', strcspn(line + n, "\n")));
        } else if (strncmp(line, "# TYPE ", 7) == 0) {
            char mark[160];

            snprintf(name, sizeof(name), "%.*s", (int)strcspn(line + 7, " "), line + 7);
            snprintf(mark, sizeof(mark), "\n%s\n", name);
            assert_null(strstr(seen, mark));
            strncat(seen, mark, sizeof(seen) - strlen(seen) - 1);
        }
    }
}

static void ask(struct cor_client *client, const char *path)
{
    cor_client_get_path(client, path, 0, NULL, NULL, NULL);
}

static const struct script_answer answers[] = {
    {.to = "/fine", .body = "{}"},
    {.to = "/absent", .body = "{}", .status = 404},
    {.to = "POST", .body = "{}", .status = 201},
};

/* The two clients reach one host, so that their counts are one. */
TEST(metrics, of_clients_count_answers_by_method_and_code)
{
    const struct cor_raw_request post = {COR_RAW_REQUEST, .method = "POST", .path = "/x"};

    FOR_EACH_KIND(kind)
    {
        struct text t = {.r = 7};
        struct cor_client *clients[2];
        const struct cor_prometheus_of of = {COR_PROMETHEUS_OF, .clients = clients, .nclients = 2};
        struct cor_client_opts opts = {COR_CLIENT_OPTS, .qps = -1};
        struct script s;
        struct world w;
        char part[256];

        SCRIPT_BEGIN(&s, answers);
        world_begin_at(&w, kind, s.url);
        opts.config = &w.config;
        clients[0] = w.client;
        assert_int_equal(cor_client_new(w.rt, &opts, &clients[1], NULL), 0);
        ask(clients[0], "/fine");
        ask(clients[1], "/fine");
        ask(clients[1], "/absent");
        assert_int_equal(cor_client_raw(clients[0], &post, NULL, NULL, NULL, NULL), 0);
        assert_int_equal(cor_prometheus_write(&of, take, &t, NULL), 7);
        assert_int_equal(t.n, 1);
        expect_families(&t);
        snprintf(part, sizeof(part),
                 "\nrest_client_requests_total{code=\"200\",host=\"%s\",method=\"GET\"} 2\n",
                 s.url + strlen("http://"));
        expect(&t, part);
        snprintf(part, sizeof(part), "{code=\"404\",host=\"%s\",method=\"GET\"} 1\n",
                 s.url + strlen("http://"));
        expect(&t, part);
        snprintf(part, sizeof(part), "{code=\"201\",host=\"%s\",method=\"POST\"} 1\n",
                 s.url + strlen("http://"));
        expect(&t, part);
        snprintf(part, sizeof(part),
                 "\nrest_client_request_duration_seconds_count{host=\"%s\",verb=\"GET\"} 3\n",
                 s.url + strlen("http://"));
        expect(&t, part);
        expect(&t, "verb=\"POST\",le=\"0.005\"} ");
        expect(&t, "verb=\"POST\",le=\"+Inf\"} 1\n");
        assert_null(strstr(t.at, "verb=\"PUT\""));
        cor_client_free(clients[1]);
        world_end(&w);
        script_end(&s);
    }
}

TEST(metrics, of_clients_count_attempts_without_an_answer)
{
    static const struct script_answer broken[] = {{.to = "/slow", .is_silent = true}};
    struct text t = {.r = 0};
    struct script s;
    struct world w;

    SCRIPT_BEGIN(&s, broken);
    world_begin_at(&w, COR_RUNTIME_PUMPED, s.url);
    {
        const struct cor_prometheus_of of = {COR_PROMETHEUS_OF, .clients = &w.client,
                                             .nclients = 1};

        assert_int_equal(cor_client_get_path(w.client, "/slow", 50, NULL, NULL, NULL),
                         -COR_ETIMEOUT);
        assert_int_equal(cor_prometheus_write(&of, take, &t, NULL), 0);
    }
    expect(&t, "\nrest_client_requests_total{code=\"<error>\",host=");
    expect_families(&t);
    world_end(&w);
    script_end(&s);
}

TEST(metrics, of_informers_and_queues)
{
    FOR_EACH_KIND(kind)
    {
        struct cor_informer_opts opts = {COR_INFORMER_OPTS, .resource = configmaps,
                                         .ns = "default"};
        struct text t = {.r = 0};
        struct cor_informers *informers;
        struct cor_informer *informer;
        struct cor_named_queue queues[] = {{"maps\"", NULL}, {"pods", NULL}};
        struct cor_prometheus_of of = {COR_PROMETHEUS_OF, .queues = queues, .nqueues = 2};
        const char *key;
        struct world w;

        world_begin(&w, kind);
        world_create(&w, "one", "{\"a\":\"b\"}", "1");
        world_create(&w, "two", "{}", "1");
        assert_int_equal(cor_informers_new(w.client, NULL, &informers), 0);
        assert_int_equal(cor_informers_for_resource(informers, &opts, &informer, NULL), 0);
        opts.label_selector = "a=b";
        assert_int_equal(cor_informers_for_resource(informers, &opts, &informer, NULL), 0);
        cor_informers_start(informers);
        assert_int_equal(cor_informers_wait_for_sync(informers, PATIENCE_MS, NULL), 0);
        for (size_t i = 0; i < 2; i++)
            assert_int_equal(cor_workqueue_new(NULL, &queues[i].queue), 0);
        assert_int_equal(cor_workqueue_add(queues[0].queue, "k"), 0);
        assert_int_equal(cor_workqueue_add(queues[1].queue, "k"), 0);
        assert_int_equal(cor_workqueue_get(queues[1].queue, &key), 0);
        cor_workqueue_done(queues[1].queue, key);
        of.informers = &informers;
        of.ninformers = 1;
        assert_int_equal(cor_prometheus_write(&of, take, &t, NULL), 0);
        expect_families(&t);
        /* Both informers: one has two objects, the other has one. */
        expect(&t, "\nreflector_lists_total{name=\"v1/configmaps\",namespace=\"default\"} 2\n");
        expect(&t,
               "reflector_items_per_list_sum{name=\"v1/configmaps\",namespace=\"default\"} 3\n");
        expect(&t,
               "reflector_items_per_list_count{name=\"v1/configmaps\",namespace=\"default\"} 2\n");
        expect(&t, "\nreflector_list_duration_seconds_sum{name=\"v1/configmaps\",");
        expect(&t, "\ncoracle_informer_objects{name=\"v1/configmaps\",namespace=\"default\"} 3\n");
        expect(&t, "\nworkqueue_depth{name=\"maps\\\"\"} 1\n");
        expect(&t, "\nworkqueue_depth{name=\"pods\"} 0\n");
        expect(&t, "\nworkqueue_adds_total{name=\"pods\"} 1\n");
        expect(&t, "\nworkqueue_work_duration_seconds_count{name=\"pods\"} 1\n");
        for (size_t i = 0; i < 2; i++)
            cor_workqueue_free(queues[i].queue);
        cor_informers_free(informers);
        world_end(&w);
    }
}

TEST(metrics, of_nothing_are_empty_and_mistakes_are_named)
{
    const struct cor_prometheus_of nothing = {COR_PROMETHEUS_OF}, unset = {.nqueues = 0};
    struct cor_status why = {0};
    struct text t = {.r = 0};

    assert_int_equal(cor_prometheus_write(&nothing, take, &t, NULL), 0);
    assert_string_equal(t.at, "");
    assert_int_equal(t.n, 1);
    assert_int_equal(cor_prometheus_write(&unset, take, &t, &why), -COR_EINVAL);
    assert_non_null(strstr(cor_status_message(&why), "metrics: "));
    assert_int_equal(t.n, 1);
    cor_status_deinit(&why);
}

TEST(metrics, allocations_fail)
{
    const struct cor_informer_opts opts = {COR_INFORMER_OPTS, .resource = configmaps};
    struct cor_named_queue queue = {"q", NULL};
    struct text whole = {.r = 0};
    struct cor_prometheus_of of;
    struct cor_informers *informers;
    struct cor_informer *informer;
    struct world w;

    world_begin(&w, COR_RUNTIME_PUMPED);
    assert_int_equal(cor_informers_new(w.client, NULL, &informers), 0);
    assert_int_equal(cor_informers_for_resource(informers, &opts, &informer, NULL), 0);
    assert_int_equal(cor_workqueue_new(NULL, &queue.queue), 0);
    of = (struct cor_prometheus_of){
        COR_PROMETHEUS_OF, .clients = &w.client, .nclients = 1, .informers = &informers,
        .ninformers = 1,   .queues = &queue,     .nqueues = 1};
    assert_int_equal(cor_prometheus_write(&of, take, &whole, NULL), 0);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_status why = {0};
        struct text t = {.r = 0};
        int r;

        test_fail_alloc(n, false);
        r = cor_prometheus_write(&of, take, &t, &why);
        test_fail_alloc(0, false);
        if (!test_alloc_failed())
            assert_int_equal(r, 0);
        assert_int_equal(t.n, r == 0);
        if (r == 0)
            assert_string_equal(t.at, whole.at);
        else
            assert_int_equal(r, -COR_ENOMEM);
        cor_status_deinit(&why);
    }
    cor_workqueue_free(queue.queue);
    cor_informers_free(informers);
    world_end(&w);
}
