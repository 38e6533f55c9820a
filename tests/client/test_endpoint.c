/* The endpoint of a manager: what a kubelet's probes and a Prometheus server get. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

#define ANSWER_MAX 65536
#define NOWHERE    "http://127.0.0.1:1"

static const struct cor_informer_opts of_configmaps = {
    COR_INFORMER_OPTS, .resource = {"", "v1", "configmaps"}, .ns = "default", .kind = "ConfigMap",
    .field_selector = "metadata.name!=kube-root-ca.crt"};

struct program {
    struct world *w;
    struct cor_manager *manager;
    struct cor_controller *controller;
    atomic_bool is_sick;
    atomic_int nchecked;
};

/* "bad" fails for good, every other ConfigMap is as it should be. */
static void begin_run(void *arg, struct cor_run *run)
{
    (void)arg;
    if (strcmp(cor_run_name(run), "bad") == 0)
        cor_run_done(run, cor_run_terminal(run, -COR_EINVALID));
    else
        cor_run_done(run, 0);
}

static int check_disk(void *arg, char *why, size_t n)
{
    struct program *p = arg;

    atomic_fetch_add(&p->nchecked, 1);
    if (!atomic_load(&p->is_sick))
        return 0;
    snprintf(why, n, "the disk is full");
    return -COR_EIO;
}

static int check_code_only(void *arg, char *why, size_t n)
{
    struct program *p = arg;

    (void)why;
    (void)n;
    return atomic_load(&p->is_sick) ? -COR_EBUSY : 0;
}

static void program_make(struct program *p, struct world *w, const struct cor_client_config *config,
                         const char *endpoint)
{
    const struct cor_manager_opts mo = {
        COR_MANAGER_OPTS,      .name = "keeper",     .runtime = w->rt,       .config = config,
        .end_ms = PATIENCE_MS, .endpoint = endpoint, .lease_name = "keeper", .arg = p};

    *p = (struct program){.w = w};
    assert_int_equal(cor_manager_new(&mo, &p->manager, NULL), 0);
    p->controller = cor_manager_add(
        p->manager, &(struct cor_controller_opts){COR_CONTROLLER_OPTS, .name = "maps\"\\\n",
                                                  .begin = begin_run, .arg = p, .runs_max = 3});
    cor_controller_for(p->controller, cor_manager_informer(p->manager, &of_configmaps), NULL);
}

/* A request on a thread of its own, so that the runtime can run meanwhile. */
struct getting {
    uint16_t port;
    const char *target;
    char answer[ANSWER_MAX];
    atomic_bool is_done;
};

static void *getting_main(void *arg)
{
    struct getting *g = arg;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(g->port)};
    char request[512];
    size_t n = 0;
    ssize_t got = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    snprintf(request, sizeof(request),
             "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", g->target);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 &&
        send(fd, request, strlen(request), MSG_NOSIGNAL) > 0)
        while (n + 1 < sizeof(g->answer) &&
               (got = recv(fd, g->answer + n, sizeof(g->answer) - 1 - n, 0)) > 0)
            n += (size_t)got;
    g->answer[n] = '\0';
    close(fd);
    atomic_store(&g->is_done, true);
    return NULL;
}

static bool is_got(void *arg)
{
    return atomic_load(&((struct getting *)arg)->is_done);
}

/* The status, and the body in `g`; 0: there was no answer. */
static int get(struct program *p, const char *target, struct getting *g, const char **ret_body)
{
    pthread_t thread;
    static const char version[] = "HTTP/1.1 ";

    *g = (struct getting){.port = cor_manager_endpoint_port(p->manager), .target = target};
    assert_int_equal(pthread_create(&thread, NULL, getting_main, g), 0);
    world_run(p->w, is_got, g);
    pthread_join(thread, NULL);
    *ret_body = strstr(g->answer, "\r\n\r\n");
    *ret_body = *ret_body ? *ret_body + 4 : "";
    if (strncmp(g->answer, version, strlen(version)) != 0)
        return 0;
    return (int)strtol(g->answer + strlen(version), NULL, 10);
}

static void expect(struct program *p, const char *target, int status, const char *body)
{
    struct getting g;
    const char *got;
    int r = get(p, target, &g, &got);

    if (strcmp(got, body) != 0)
        print_message("%s: %s\n", target, g.answer);
    assert_int_equal(r, status);
    assert_string_equal(got, body);
    assert_non_null(strstr(g.answer, "\r\nContent-Type: text/plain; charset=utf-8\r\n"));
    assert_non_null(strstr(g.answer, "\r\nX-Content-Type-Options: nosniff\r\n"));
}

static bool is_leader(void *arg)
{
    return cor_manager_is_leader(arg);
}

static bool has_run_twice(void *arg)
{
    struct cor_controller_stats stats = {COR_CONTROLLER_STATS};

    assert_int_equal(cor_controller_stats(arg, &stats), 0);
    return stats.success + stats.error == 2;
}

/* Contract controllers 6.6.8. */
TEST(endpoint, answers_probes_as_controller_runtime_does)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct program p;

        world_begin(&w, kind);
        program_make(&p, &w, &w.config, ":0");
        cor_manager_add_readyz(p.manager, "disk", check_disk, &p);
        cor_manager_add_readyz(p.manager, "busy", check_code_only, &p);
        assert_int_equal(cor_manager_endpoint_port(p.manager), 0);
        assert_int_equal(cor_manager_start(p.manager, NULL), 0);
        world_run(&w, is_leader, p.manager);

        expect(&p, "/healthz", 200, "ok");
        expect(&p, "/healthz?verbose", 200, "[+]ping ok\nhealthz check passed\n");
        expect(&p, "/healthz/ping", 200, "ok");
        expect(&p, "/healthz/disk", 404, "404 page not found\n");
        expect(&p, "/readyz/disk/", 200, "ok");
        expect(&p, "/readyz/d%69sk", 200, "ok");
        expect(&p, "/readyz/ping", 404, "404 page not found\n");
        expect(&p, "/readyzy", 404, "404 page not found\n");
        expect(&p, "/", 404, "404 page not found\n");
        p.is_sick = true;
        expect(&p, "/readyz", 500,
               "[-]busy failed: reason withheld\n[-]disk failed: reason withheld\n[+]informers "
               "ok\nhealthz check failed\n");
        expect(&p, "/readyz/disk", 500, "internal server error: the disk is full\n");
        expect(&p, "/readyz/busy", 500, "internal server error: too many requests\n");
        expect(&p, "/readyz?exclude=disk&exclude=busy", 200, "ok");
        p.nchecked = 0;
        expect(&p, "/readyz?exclude=disk&verbose=1&exclude=a%22&exclude=busy&exclude=b", 200,
               "[+]busy excluded: ok\n[+]disk excluded: ok\n[+]informers ok\nwarn: some health "
               "checks cannot be excluded: no matches for \"a\\\"\",\"b\"\nhealthz check passed\n");
        assert_int_equal(p.nchecked, 0);
        assert_null(cor_manager_free(p.manager));
        world_end(&w);
    }
}

/* A process that cannot reach its server lives, and is not ready. */
TEST(endpoint, is_not_ready_before_the_first_lists)
{
    struct world w;
    struct program p;
    struct cor_client_config config;

    world_begin(&w, COR_RUNTIME_PUMPED);
    config = w.config;
    config.server = (char *)NOWHERE;
    program_make(&p, &w, &config, "127.0.0.1:0");
    assert_int_equal(cor_manager_start(p.manager, NULL), 0);
    expect(&p, "/healthz", 200, "ok");
    expect(&p, "/readyz", 500, "[-]informers failed: reason withheld\nhealthz check failed\n");
    expect(&p, "/readyz/informers", 500,
           "internal server error: controller maps\"\\\n waits for the first lists of its "
           "sources\n");
    assert_null(cor_manager_free(p.manager));
    world_end(&w);
}

static void expect_sample(const char *body, const char *line)
{
    if (!strstr(body, line))
        print_message("%s", body);
    assert_non_null(strstr(body, line));
}

/* Contract controllers 6.6.9. */
TEST(endpoint, has_controller_runtimes_metrics)
{
#define C "controller=\"maps\\\"\\\\\\n\""
#define Q C ",name=\"maps\\\"\\\\\\n\""
    FOR_EACH_KIND(kind)
    {
        struct getting g;
        struct world w;
        struct program p;
        const char *body;

        world_begin(&w, kind);
        world_create(&w, "good", "{}", "1");
        world_create(&w, "bad", "{}", "1");
        program_make(&p, &w, &w.config, "[127.0.0.1]:0");
        assert_int_equal(cor_manager_start(p.manager, NULL), 0);
        world_run(&w, has_run_twice, p.controller);
        assert_int_equal(get(&p, "/metrics", &g, &body), 200);
        assert_non_null(
            strstr(g.answer, "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
        expect_sample(body, "# TYPE controller_runtime_reconcile_total counter\n");
        expect_sample(body, "controller_runtime_reconcile_total{" C ",result=\"error\"} 1\n");
        expect_sample(body, "controller_runtime_reconcile_total{" C ",result=\"requeue\"} 0\n");
        expect_sample(body,
                      "controller_runtime_reconcile_total{" C ",result=\"requeue_after\"} 0\n");
        expect_sample(body, "controller_runtime_reconcile_total{" C ",result=\"success\"} 1\n");
        expect_sample(body, "controller_runtime_reconcile_errors_total{" C "} 1\n");
        expect_sample(body, "controller_runtime_terminal_reconcile_errors_total{" C "} 1\n");
        expect_sample(body, "controller_runtime_max_concurrent_reconciles{" C "} 3\n");
        expect_sample(body, "controller_runtime_active_workers{" C "} 0\n");
        expect_sample(body, "# TYPE controller_runtime_reconcile_time_seconds histogram\n");
        expect_sample(body,
                      "controller_runtime_reconcile_time_seconds_bucket{" C ",le=\"0.005\"} ");
        expect_sample(body, "controller_runtime_reconcile_time_seconds_bucket{" C ",le=\"1.25\"} ");
        expect_sample(body, "controller_runtime_reconcile_time_seconds_bucket{" C ",le=\"60\"} ");
        expect_sample(body,
                      "controller_runtime_reconcile_time_seconds_bucket{" C ",le=\"+Inf\"} 2\n");
        expect_sample(body, "controller_runtime_reconcile_time_seconds_sum{" C "} ");
        expect_sample(body, "controller_runtime_reconcile_time_seconds_count{" C "} 2\n");
        expect_sample(body, "workqueue_depth{" Q ",priority=\"\"} 0\n");
        expect_sample(body, "workqueue_adds_total{" Q "} 2\n");
        expect_sample(body, "workqueue_retries_total{" Q "} 0\n");
        expect_sample(body, "workqueue_unfinished_work_seconds{" Q "} 0.000000\n");
        expect_sample(body, "workqueue_longest_running_processor_seconds{" Q "} 0.000000\n");
        expect_sample(body, "workqueue_queue_duration_seconds_bucket{" Q
                            ",le=\"9.999999999999999e-06\"} ");
        expect_sample(body, "workqueue_queue_duration_seconds_count{" Q "} 2\n");
        expect_sample(body, "workqueue_work_duration_seconds_bucket{" Q ",le=\"+Inf\"} 2\n");
        expect_sample(body, "workqueue_work_duration_seconds_count{" Q "} 2\n");
        expect_sample(body, "\nleader_election_master_status{name=\"keeper\"} 1\n");
        expect_sample(body, "\nrest_client_requests_total{code=\"200\",host=\"");
        expect_sample(body, "\nreflector_lists_total{name=\"v1/configmaps\",namespace=\"");
        assert_null(cor_manager_free(p.manager));
        world_end(&w);
    }
#undef C
#undef Q
}

static void expect_start(struct program *p, int r, const char *message)
{
    struct cor_status why = {0};

    assert_int_equal(cor_manager_start(p->manager, &why), r);
    assert_non_null(strstr(cor_status_message(&why), message));
    assert_int_equal(cor_manager_endpoint_port(p->manager), 0);
    cor_status_deinit(&why);
    assert_null(cor_manager_free(p->manager));
}

TEST(endpoint, makes_the_start_fail_when_it_cannot_be_opened)
{
    static const char *const wrong[] = {"8080", ":", ":65536", ":http", "localhost:0", "::1:x"};
    struct world w;
    struct program p, other;
    char taken[32];

    world_begin(&w, COR_RUNTIME_THREADS);
    for (size_t i = 0; i < COR_ARRAY_LEN(wrong); i++) {
        program_make(&p, &w, &w.config, wrong[i]);
        expect_start(&p, -COR_EINVAL, wrong[i]);
    }
    program_make(&other, &w, &w.config, ":0");
    assert_int_equal(cor_manager_start(other.manager, NULL), 0);
    snprintf(taken, sizeof(taken), ":%u", cor_manager_endpoint_port(other.manager));
    program_make(&p, &w, &w.config, taken);
    expect_start(&p, -COR_EEXIST, taken);

    program_make(&p, &w, &w.config, NULL);
    cor_manager_add_healthz(p.manager, "a/b", check_disk, &p);
    expect_start(&p, -COR_EINVAL, "without a slash");
    program_make(&p, &w, &w.config, NULL);
    cor_manager_add_readyz(p.manager, "informers", check_disk, &p);
    expect_start(&p, -COR_EINVAL, "a check with name informers already exists");
    program_make(&p, &w, &w.config, NULL);
    for (int i = 0; i <= COR_MANAGER_CHECKS_MAX; i++) {
        char name[16];

        snprintf(name, sizeof(name), "c%d", i);
        cor_manager_add_healthz(p.manager, name, check_disk, &p);
    }
    expect_start(&p, -COR_ETOOBIG, "at most 32 checks");
    assert_null(cor_manager_free(other.manager));
    world_end(&w);
}

/* A client that has sent half a request does not hold up the end. */
TEST(endpoint, closes_without_waiting_for_its_clients)
{
    FOR_EACH_KIND(kind)
    {
        struct sockaddr_in to = {.sin_family = AF_INET};
        struct world w;
        struct program p;
        char byte;
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        world_begin(&w, kind);
        program_make(&p, &w, &w.config, ":0");
        assert_int_equal(cor_manager_start(p.manager, NULL), 0);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        to.sin_port = htons(cor_manager_endpoint_port(p.manager));
        assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
        assert_int_equal(send(fd, "GET /met", 8, MSG_NOSIGNAL), 8);
        expect(&p, "/healthz", 200, "ok");
        assert_null(cor_manager_free(p.manager));
        assert_true(recv(fd, &byte, 1, 0) <= 0);
        close(fd);
        world_end(&w);
    }
}

/* Every allocation of a probe and of a scrape fails once: the answer is whole, or none. */
TEST(endpoint, answers_whole_or_not_at_all_without_memory)
{
    static const char *const targets[] = {"/metrics", "/readyz?verbose&exclude=b", "/readyz/disk"};
    static const char *const ends[] = {"} 0\n", "\"b\"\nhealthz check passed\n", "ok"};
    struct world w;
    struct program p;

    world_begin(&w, COR_RUNTIME_PUMPED);
    program_make(&p, &w, &w.config, ":0");
    cor_manager_add_readyz(p.manager, "disk", check_disk, &p);
    assert_int_equal(cor_manager_start(p.manager, NULL), 0);
    world_run(&w, is_leader, p.manager);
    for (size_t i = 0; i < COR_ARRAY_LEN(targets); i++)
        FOR_EACH_FAILED_ALLOC(n) {
            struct getting g;
            const char *body;
            int status;

            test_fail_alloc(n, false);
            status = get(&p, targets[i], &g, &body);
            if (status == 200) {
                size_t have = strlen(body), want = strlen(ends[i]);

                assert_true(have >= want);
                assert_string_equal(body + have - want, ends[i]);
            } else {
                assert_true(status == 0 || status == 500 || status == 503);
                assert_true(test_alloc_failed());
            }
        }
    test_fail_alloc(0, false);
    assert_null(cor_manager_free(p.manager));
    world_end(&w);
}
