/* The host of the controllers inside the server: which run, and their start and end. */
#include "../host_fixture.h"

#include "base/err.h"
#include "loop/timer.h"
#include "server/controllers/host/controller_table.h"
#include "server/metrics/metrics.h"

#define ACCOUNT "/api/v1/namespaces/default/serviceaccounts/default"
#define MAP     "/api/v1/namespaces/default/configmaps/kube-root-ca.crt"

static bool is_on(const char *list)
{
    return cor_server_controller_is_enabled(list, "serviceaccount-controller");
}

TEST(controller_host, the_list_of_controllers_is_read_as_upstream_reads_it)
{
    assert_true(is_on(NULL));
    assert_true(is_on("*"));
    assert_false(is_on(""));
    assert_false(is_on("-*"));
    assert_true(is_on("serviceaccount-controller"));
    assert_false(is_on("-serviceaccount-controller"));
    assert_false(is_on("namespace-controller"));
    assert_false(is_on("*,-serviceaccount-controller"));
    assert_true(is_on("*,-root-ca-certificate-publisher-controller"));
    assert_true(is_on("-*, serviceaccount-controller"));
    /* The first item that names it counts. */
    assert_true(is_on("serviceaccount-controller,-serviceaccount-controller"));
    assert_false(is_on("-serviceaccount-controller,serviceaccount-controller,*"));
}

TEST(controller_host, a_name_that_is_no_controller_is_refused)
{
    static const char *const good[] = {"*", "-*", "", "*,-serviceaccount-controller"};
    static const char *const bad[] = {"*,-nodes", "nodes", "serviceaccount", "-", "**"};

    for (size_t i = 0; i < COR_ARRAY_LEN(good); i++)
        assert_int_equal(cor_server_controllers_check(good[i], NULL), 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(bad); i++) {
        struct cor_status why = {0};

        assert_int_equal(cor_server_controllers_check(bad[i], &why), -COR_EINVAL);
        assert_non_null(
            strstr(cor_status_message(&why), "is not in the list of known controllers"));
        assert_non_null(strstr(cor_status_message(&why), "root-ca-certificate-publisher"));
        cor_status_deinit(&why);
    }
}

TEST(controller_host, runs_the_controllers_of_its_list_alone)
{
    struct hfx h;

    hfx_open(&h, "*,-root-ca-certificate-publisher-controller");
    hfx_await(&h, ACCOUNT, "metadata.name", "default");
    hfx_do(&h, 404, "GET", MAP, "");
    hfx_close(&h);
}

TEST(controller_host, without_controllers_it_starts_and_stops)
{
    struct hfx h;

    hfx_open(&h, "-*");
    hfx_close(&h);
}

TEST(controller_host, stops_at_any_moment_and_starts_again)
{
    struct hfx h;

    hfx_open(&h, NULL);
    hfx_stop(&h); /* nothing has begun */
    for (int turns = 1; turns < 20; turns++) {
        hfx_start(&h, NULL);
        for (int i = 0; i < turns; i++)
            (void)cor_loop_run_until(h.p.a.fx.loop, hfx_never, NULL, 0);
        hfx_stop(&h);
    }
    hfx_start(&h, NULL);
    hfx_await(&h, ACCOUNT, "metadata.name", "default");
    hfx_await(&h, MAP, "metadata.name", "kube-root-ca.crt");
    hfx_close(&h);
}

/* A controller that cannot be made is tried again a second later. */
TEST(controller_host, a_start_without_memory_is_repeated)
{
    struct hfx h;

    pfx_open(&h.p, true);
    FOR_EACH_FAILED_ALLOC(n) {
        const struct cor_controller_host_opts opts = {.api = cor_api_loop(h.p.a.fx.api, 0),
                                                      .controllers = "serviceaccount-controller",
                                                      .root_ca = COR_STR(HFX_CA)};

        h.is_stopped = false;
        if (cor_controller_host_new(&opts, &h.host, NULL) < 0)
            continue;
        cor_controller_host_start(h.host);
        (void)cor_loop_run_until(h.p.a.fx.loop, hfx_never, NULL, 0);
        hfx_stop(&h);
    }
    pfx_close(&h.p);
}

/* Contract controllers 3.1.4, 3.2.3: whoever was faster keeps what it has created. */
TEST(controller_host, two_hosts_at_a_time_do_no_harm)
{
    struct hfx h;
    struct cor_controller_host *other;

    hfx_open(&h, NULL);
    other = h.host;
    hfx_start(&h, NULL);
    hfx_do(&h, 201, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"team\"}}");
    hfx_await(&h, "/api/v1/namespaces/team/serviceaccounts/default", "metadata.name", "default");
    hfx_await(&h, "/api/v1/namespaces/team/configmaps/kube-root-ca.crt", "metadata.name",
              "kube-root-ca.crt");
    hfx_stop(&h);
    h.host = other;
    h.is_stopped = false;
    hfx_close(&h);
}

/* A controller that fails in each way once: it cannot be made, cannot be started, ends by itself.
 */
static struct frail {
    struct cor_server_controller_env kept;
    int nmade, nstarted, nstopped, nfreed;
    bool ends_itself;
    struct cor_timer timer;
} frail;

static void frail_on_timer(struct cor_timer *timer)
{
    struct cor_status why = {0};

    frail.nstopped++;
    cor_status_set(&why, -COR_ETIMEOUT, "the first sync took too long");
    frail.kept.on_stopped(frail.kept.arg, frail.ends_itself ? &why : NULL);
    cor_status_deinit(&why);
}

static int frail_new(const struct cor_server_controller_env *env, void **ret_controller,
                     struct cor_status *reterr)
{
    if (++frail.nmade == 1)
        return cor_status_set(reterr, -COR_ENOMEM, "not made");
    frail.kept = *env;
    cor_timer_init(&frail.timer, env->port->loop, frail_on_timer);
    *ret_controller = &frail;
    return 0;
}

static int frail_start(void *controller, struct cor_status *reterr)
{
    if (++frail.nstarted == 1)
        return cor_status_set(reterr, -COR_ENOMEM, "not started");
    frail.ends_itself = frail.nstarted == 2;
    return frail.ends_itself ? cor_timer_set(&frail.timer, 0) : 0;
}

static void frail_stop(void *controller, uint64_t max_ms)
{
    assert_int_equal(cor_timer_set(&frail.timer, 0), 0);
}

static void frail_free(void *controller)
{
    frail.nfreed++;
}

static bool frail_runs(void *arg)
{
    return frail.nstarted == 3;
}

TEST(controller_host, a_controller_that_fails_is_started_again)
{
    static const struct cor_server_controller_ops ops = {.name = "frail-controller",
                                                         .account = "frail",
                                                         .new = frail_new,
                                                         .start = frail_start,
                                                         .stop = frail_stop,
                                                         .free = frail_free};
    static const struct cor_server_controller_ops *const table[] = {&ops};
    struct cor_controller_host_opts opts = {.table = table, .ntable = 1, .restart_ms = 1};
    struct hfx h = {0};

    frail = (struct frail){0};
    pfx_open(&h.p, true);
    opts.api = cor_api_loop(h.p.a.fx.api, 0);
    assert_int_equal(cor_controller_host_new(&opts, &h.host, NULL), 0);
    cor_controller_host_start(h.host);
    pfx_wait(&h.p, frail_runs, NULL);
    assert_int_equal(frail.nmade, 4);
    assert_int_equal(frail.nstopped, 1);
    assert_int_equal(frail.nfreed, 2);
    hfx_close(&h);
    assert_int_equal(frail.nstopped, 2);
    assert_int_equal(frail.nfreed, 3);
}

TEST(controller_host, its_queues_are_in_the_metrics_with_upstreams_names)
{
    COR_CLEANUP(cor_metrics_freep) struct cor_metrics *metrics = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    struct hfx h;

    hfx_open(&h, "serviceaccount-controller");
    assert_int_equal(cor_metrics_new(1, &metrics), 0);
    assert_int_equal(cor_controller_host_add_metrics(h.host, metrics), 0);
    hfx_await(&h, ACCOUNT, "metadata.name", "default");
    cor_buf_init(&text, 1u << 20);
    assert_int_equal(cor_metrics_write(metrics, &text), 0);
    /* The namespaces of the start. */
    assert_non_null(
        strstr(cor_buf_z(&text), "\nworkqueue_adds_total{name=\"serviceaccount\"} 4\n"));
    assert_non_null(strstr(cor_buf_z(&text), "\nworkqueue_depth{name=\"serviceaccount\"} "));
    assert_null(strstr(cor_buf_z(&text), "root_ca_cert_publisher"));
    hfx_close(&h);
}

/* The names that kube-controller-manager's queues have in the same metrics; the repair of Services
 * has no such queue in upstream. */
TEST(controller_host, every_queue_has_upstreams_name)
{
    static const char *const names[] = {"namespace",
                                        "serviceaccount",
                                        "root_ca_cert_publisher",
                                        "pvcprotection",
                                        "pvprotection",
                                        "vacprotection",
                                        "ttl_jobs_to_delete",
                                        "ClusterRoleAggregator",
                                        "garbage_collector_attempt_to_delete",
                                        "garbage_collector_attempt_to_orphan",
                                        "resourcequota_primary",
                                        "resourcequota_priority",
                                        "ipallocator-repair-controller"};
    COR_CLEANUP(cor_metrics_freep) struct cor_metrics *metrics = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    const char *depth = NULL;
    size_t n = 0;
    struct hfx h;

    hfx_open(&h, NULL);
    assert_int_equal(cor_metrics_new(1, &metrics), 0);
    assert_int_equal(cor_controller_host_add_metrics(h.host, metrics), 0);
    hfx_await(&h, ACCOUNT, "metadata.name", "default");
    cor_buf_init(&text, 1u << 20);
    assert_int_equal(cor_metrics_write(metrics, &text), 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        char line[128];

        snprintf(line, sizeof(line), "\nworkqueue_depth{name=\"%s\"} ", names[i]);
        assert_non_null(strstr(cor_buf_z(&text), line));
    }
    for (depth = cor_buf_z(&text); (depth = strstr(depth, "\nworkqueue_depth{")); depth++)
        n++;
    assert_int_equal(n, COR_ARRAY_LEN(names));
    hfx_close(&h);
}
