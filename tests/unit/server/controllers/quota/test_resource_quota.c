/* The ResourceQuota controller. Contract controllers 3.3. Its port is that of a server in the same
 * process; requests pass through the test, which counts writes and lets requests fail. */
#include "../host_fixture.h"

#include "base/err.h"
#include "server/controllers/host/builtin.h"

#define NS     "/api/v1/namespaces/default"
#define QUOTAS NS "/resourcequotas"
#define MAPS   NS "/configmaps"
#define PODS   NS "/pods"
#define MERGE  "application/merge-patch+json"

struct qfx {
    struct hfx h; /* without a host */
    struct cor_rand rand;
    void *controller;
    bool is_stopped;
    const struct cor_api_port_ops *ops; /* the port's own */
    struct cor_api_port_ops tapped;
    const char *failing; /* lists of this resource are refused; NULL: none */
    unsigned nfailing;   /* so many enumerations fail */
    const char *stalled; /* lists of this resource wait; NULL: none */
    struct cor_api_request *waiting[8];
    unsigned nwaiting;
    unsigned nlists, nenumerations; /* lists are those of a namespace */
    unsigned nupdates;
};

static struct qfx *qfx_of(struct cor_api_port *port)
{
    return COR_CONTAINER_OF(port, struct qfx, h.p.ip.port);
}

static bool is_of(const struct cor_api_operation *op, const char *resource)
{
    return resource && op->at.ns.n > 0 && cor_str_eqz(op->at.gvr.resource, resource);
}

static void tapped_send(struct cor_api_port *port, struct cor_api_request *req,
                        const struct cor_api_operation *op)
{
    struct qfx *q = qfx_of(port);
    bool is_list = op->verb == COR_API_VERB_LIST;

    q->nlists += is_list && op->at.ns.n > 0;
    q->nupdates += op->verb == COR_API_VERB_UPDATE;
    if (is_list && is_of(op, q->failing)) {
        (void)cor_status_set_err(&req->refusal, -COR_EBUSY);
        cor_api_refuse(port, req);
    } else if (is_list && is_of(op, q->stalled)) {
        assert_true(q->nwaiting < COR_ARRAY_LEN(q->waiting));
        q->waiting[q->nwaiting++] = req;
    } else {
        q->ops->send(port, req, op);
    }
}

static void tapped_resources(struct cor_api_port *port, struct cor_api_request *req)
{
    struct qfx *q = qfx_of(port);

    q->nenumerations++;
    if (q->nenumerations <= q->nfailing) {
        (void)cor_status_set_err(&req->refusal, -COR_EUNAVAILABLE);
        cor_api_refuse(port, req);
    } else {
        q->ops->resources(port, req);
    }
}

static void qfx_on_stopped(void *arg, const struct cor_status *why)
{
    assert_null(why);
    ((struct qfx *)arg)->is_stopped = true;
}

static bool qfx_is_stopped(void *arg)
{
    return ((struct qfx *)arg)->is_stopped;
}

/* 0, or the error of a controller that could not be made. */
static int qfx_try_start(struct qfx *q)
{
    const struct cor_server_controller_env env = {.port = &q->h.p.ip.port,
                                                  .clock = cor_clock_real(),
                                                  .rand = &q->rand,
                                                  .on_stopped = qfx_on_stopped,
                                                  .arg = q};

    int r;

    q->is_stopped = false;
    r = cor_resource_quota_ops.new(&env, &q->controller, NULL);
    if (r < 0)
        return r;
    r = cor_resource_quota_ops.start(q->controller, NULL);
    if (r < 0)
        cor_resource_quota_ops.free(q->controller);
    return r;
}

static void qfx_start(struct qfx *q)
{
    assert_int_equal(qfx_try_start(q), 0);
}

static void qfx_stop(struct qfx *q)
{
    cor_resource_quota_ops.stop(q->controller, 1000);
    pfx_wait(&q->h.p, qfx_is_stopped, q);
    cor_resource_quota_ops.free(q->controller);
}

/* A server whose quota controller is not started yet. */
static void qfx_open_stopped(struct qfx *q)
{
    *q = (struct qfx){.is_stopped = true};
    cor_rand_init(&q->rand);
    pfx_open(&q->h.p, true);
    q->ops = q->h.p.ip.port.ops;
    q->tapped = *q->ops;
    q->tapped.send = tapped_send;
    q->tapped.resources = tapped_resources;
    q->h.p.ip.port.ops = &q->tapped;
}

static void qfx_open(struct qfx *q)
{
    qfx_open_stopped(q);
    qfx_start(q);
}

static void qfx_close(struct qfx *q)
{
    qfx_stop(q);
    pfx_close(&q->h.p);
}

static void create(struct qfx *q, const char *path, const char *name, const char *spec)
{
    char text[2048];

    snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s}}", name, spec);
    hfx_do(&q->h, 201, "POST", path, text);
}

static void create_map(struct qfx *q, const char *name)
{
    char text[256];

    snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"%s\"}}", name);
    hfx_do(&q->h, 201, "POST", MAPS, text);
}

static void patch(struct qfx *q, const char *path, const char *body)
{
    const struct fx_headers merge = {.content_type = MERGE};

    fx_do_with(&q->h.p.a.fx, 200, "PATCH", path, body, &merge);
}

struct at_least {
    const unsigned *count;
    unsigned wanted;
};

static bool is_reached(void *arg)
{
    const struct at_least *a = arg;

    return *a->count >= a->wanted;
}

static void await_count(struct qfx *q, const unsigned *count, unsigned wanted)
{
    struct at_least at_least = {count, wanted};

    pfx_wait(&q->h.p, is_reached, &at_least);
}

/* Two keys are queued again for later: a quota, and the enumeration. */
static bool are_queued_for_later(void *arg)
{
    struct cor_control_loop_stats stats;

    cor_control_loop_stats(cor_resource_quota_ops.loop(((struct qfx *)arg)->controller, 0), &stats);
    return stats.requeue_after >= 2;
}

static const char *await_used(struct qfx *q, const char *quota, const char *used)
{
    char path[256];

    snprintf(path, sizeof(path), QUOTAS "/%s", quota);
    return hfx_await(&q->h, path, "status.used", used);
}

#define POD_SPEC(cpu)                                                                              \
    "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"" cpu  \
    "\"}}}]"

/* Contract controllers 3.3.2, 3.3.3, 3.3.7. */
TEST(resource_quota, a_new_quota_shows_its_limits_and_what_is_used)
{
    const char *quota;
    struct qfx q;

    qfx_open(&q);
    create_map(&q, "a");
    create_map(&q, "b");
    create(&q, PODS, "p", POD_SPEC("1500m"));
    create(&q, QUOTAS, "q",
           "\"hard\":{\"pods\":\"5\",\"requests.cpu\":\"4\",\"configmaps\":\"2000m\",\"count/"
           "deployments.apps\":\"3\",\"count/nothings.example.com\":\"1\"}");
    quota = await_used(&q, "q",
                       "{\"configmaps\":\"2\",\"count/deployments.apps\":\"0\",\"pods\":\"1\","
                       "\"requests.cpu\":\"1500m\"}");
    assert_at(quota, "status.hard",
              "{\"configmaps\":\"2\",\"count/deployments.apps\":\"3\",\"count/"
              "nothings.example.com\":\"1\",\"pods\":\"5\",\"requests.cpu\":\"4\"}");
    qfx_close(&q);
}

/* Contract controllers 3.3.2: a change of spec.hard, of a number as of a name. */
TEST(resource_quota, a_change_of_the_limits_is_followed)
{
    struct qfx q;

    qfx_open(&q);
    create_map(&q, "a");
    create(&q, QUOTAS, "q", "\"hard\":{\"configmaps\":\"5\",\"secrets\":\"5\"}");
    (void)await_used(&q, "q", "{\"configmaps\":\"1\",\"secrets\":\"0\"}");
    patch(&q, QUOTAS "/q", "{\"spec\":{\"hard\":{\"configmaps\":\"7\",\"secrets\":null}}}");
    (void)await_used(&q, "q", "{\"configmaps\":\"1\"}");
    assert_at(hfx_do(&q.h, 200, "GET", QUOTAS "/q", ""), "status.hard", "{\"configmaps\":\"7\"}");
    patch(&q, QUOTAS "/q", "{\"spec\":{\"hard\":{\"services\":\"7\"}}}");
    (void)await_used(&q, "q", "{\"configmaps\":\"1\",\"services\":\"0\"}");
    qfx_close(&q);
}

/* Contract controllers 3.3.5, 3.3.6, 3.3.8: what is deleted is free again; so is what a pod that
 * has ended used. Creations count, as there is no admission step that adds them. */
TEST(resource_quota, used_follows_what_comes_goes_and_ends)
{
    struct qfx q;

    qfx_open(&q);
    create(&q, QUOTAS, "maps", "\"hard\":{\"count/configmaps\":\"5\"}");
    create(&q, QUOTAS, "pods", "\"hard\":{\"pods\":\"5\",\"count/pods\":\"5\",\"cpu\":\"5\"}");
    create(&q, QUOTAS, "timed", "\"hard\":{\"pods\":\"5\"},\"scopes\":[\"Terminating\"]");
    create(&q, QUOTAS, "services",
           "\"hard\":{\"services\":\"5\",\"services.nodeports\":\"9\",\"services.loadbalancers\":"
           "\"5\"}");
    create(&q, QUOTAS, "storage", "\"hard\":{\"requests.storage\":\"5Gi\"}");
    (void)await_used(&q, "timed", "{\"pods\":\"0\"}");
    create_map(&q, "a");
    create_map(&q, "b");
    create(&q, PODS, "p", POD_SPEC("1"));
    create(&q, PODS, "r", POD_SPEC("100m"));
    create(&q, NS "/services", "s", "\"type\":\"NodePort\"," FX_PORTS);
    create(
        &q, NS "/persistentvolumeclaims", "c",
        "\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}");
    (void)await_used(&q, "maps", "{\"count/configmaps\":\"2\"}");
    (void)await_used(&q, "pods", "{\"count/pods\":\"2\",\"cpu\":\"1100m\",\"pods\":\"2\"}");
    (void)await_used(&q, "services",
                     "{\"services\":\"1\",\"services.loadbalancers\":\"0\",\"services.nodeports\":"
                     "\"1\"}");
    (void)await_used(&q, "storage", "{\"requests.storage\":\"1Gi\"}");

    hfx_do(&q.h, 200, "DELETE", MAPS "/a", "");
    patch(&q, PODS "/p/status", "{\"status\":{\"phase\":\"Succeeded\"}}");
    patch(&q, PODS "/r", "{\"spec\":{\"activeDeadlineSeconds\":60}}");
    patch(&q, NS "/services/s",
          "{\"spec\":{\"type\":\"ClusterIP\",\"externalTrafficPolicy\":null}}");
    patch(&q, NS "/persistentvolumeclaims/c/status",
          "{\"status\":{\"allocatedResources\":{\"storage\":\"2Gi\"}}}");
    (void)await_used(&q, "maps", "{\"count/configmaps\":\"1\"}");
    (void)await_used(&q, "pods", "{\"count/pods\":\"2\",\"cpu\":\"100m\",\"pods\":\"1\"}");
    (void)await_used(&q, "timed", "{\"pods\":\"1\"}");
    (void)await_used(&q, "services",
                     "{\"services\":\"1\",\"services.loadbalancers\":\"0\",\"services.nodeports\":"
                     "\"0\"}");
    (void)await_used(&q, "storage", "{\"requests.storage\":\"2Gi\"}");
    hfx_do(&q.h, 200, "DELETE", PODS "/r", "");
    (void)await_used(&q, "pods", "{\"count/pods\":\"1\",\"cpu\":\"0\",\"pods\":\"0\"}");
    qfx_close(&q);
}

/* Contract controllers 3.3.3, 3.3.6: an update that does not change what is used computes nothing,
 * and a computation that changes nothing writes nothing. Quotas of other resources and namespaces
 * are not computed either. */
TEST(resource_quota, nothing_is_written_when_nothing_has_changed)
{
    unsigned nlists, nupdates;
    struct qfx q;

    qfx_open_stopped(&q);
    create(&q, PODS, "p", POD_SPEC("1"));
    create_map(&q, "a");
    create(&q, QUOTAS, "pods", "\"hard\":{\"pods\":\"5\"}");
    create(&q, QUOTAS, "maps", "\"hard\":{\"configmaps\":\"5\"}");
    create(&q, "/api/v1/namespaces/kube-system/resourcequotas", "other",
           "\"hard\":{\"configmaps\":\"5\"}");
    qfx_start(&q);
    (void)await_used(&q, "pods", "{\"pods\":\"1\"}");
    (void)await_used(&q, "maps", "{\"configmaps\":\"1\"}");
    (void)hfx_await(&q.h, "/api/v1/namespaces/kube-system/resourcequotas/other", "status.used",
                    "{\"configmaps\":\"0\"}");
    /* The first lists of the feeds compute each quota once more, without a write: six lists. */
    await_count(&q, &q.nlists, 6);
    assert_int_equal(q.nupdates, 3);
    nlists = q.nlists;
    nupdates = q.nupdates;

    patch(&q, PODS "/p", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
    patch(&q, MAPS "/a", "{\"data\":{\"a\":\"b\"}}");
    create_map(&q, "b");
    (void)await_used(&q, "maps", "{\"configmaps\":\"2\"}");
    assert_int_equal(q.nlists, nlists + 1);
    assert_int_equal(q.nupdates, nupdates + 1);
    qfx_close(&q);
}

/* Contract controllers 3.3.1: a quota without numbers does not wait for those that are computed
 * again. */
TEST(resource_quota, a_new_quota_overtakes_those_that_are_computed_again)
{
    char name[32];
    struct qfx q;

    qfx_open(&q);
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof(name), "q%d", i);
        create(&q, QUOTAS, name, "\"hard\":{\"configmaps\":\"5\"}");
        (void)await_used(&q, name, "{\"configmaps\":\"0\"}");
    }
    q.stalled = "configmaps";
    create_map(&q, "a");
    await_count(&q, &q.nwaiting, 5);
    create(&q, QUOTAS, "new", "\"hard\":{\"secrets\":\"5\"}");
    (void)await_used(&q, "new", "{\"secrets\":\"0\"}");
    assert_int_equal(q.nwaiting, 5);
    q.stalled = NULL;
    for (unsigned i = 0; i < q.nwaiting; i++) {
        const struct cor_api_operation list = {.verb = COR_API_VERB_LIST, .at = q.waiting[i]->at};

        q.ops->send(&q.h.p.ip.port, q.waiting[i], &list);
    }
    (void)await_used(&q, "q4", "{\"configmaps\":\"1\"}");
    qfx_close(&q);
}

/* Contract controllers 3.3.4: the old numbers of a resource that cannot be listed stay, the others
 * are written, and the quota is tried again. */
TEST(resource_quota, a_resource_that_cannot_be_listed_does_not_stop_the_others)
{
    struct qfx q;

    qfx_open(&q);
    create_map(&q, "a");
    create(&q, QUOTAS, "q", "\"hard\":{\"configmaps\":\"5\",\"pods\":\"5\"}");
    (void)await_used(&q, "q", "{\"configmaps\":\"1\",\"pods\":\"0\"}");
    q.failing = "configmaps";
    create_map(&q, "b");
    create(&q, PODS, "p", POD_SPEC("1"));
    (void)await_used(&q, "q", "{\"configmaps\":\"1\",\"pods\":\"1\"}");
    q.failing = NULL;
    (void)await_used(&q, "q", "{\"configmaps\":\"2\",\"pods\":\"1\"}");
    qfx_close(&q);
}

/* Contract controllers 3.3.5: without the resources of the server nothing can be counted; the tries
 * go on. */
TEST(resource_quota, an_enumeration_that_fails_is_tried_again)
{
    struct qfx q;

    qfx_open(&q);
    q.nfailing = 4;
    create_map(&q, "a");
    create(&q, QUOTAS, "q", "\"hard\":{\"configmaps\":\"5\"}");
    (void)await_used(&q, "q", "{\"configmaps\":\"1\"}");
    hfx_do(&q.h, 200, "DELETE", MAPS "/a", "");
    (void)await_used(&q, "q", "{\"configmaps\":\"0\"}");
    assert_true(q.nenumerations > 4);
    qfx_close(&q);
}

/* Contract controllers 3.3.3: a write with an old version is a conflict, and is made good. */
TEST(resource_quota, a_write_that_comes_too_late_is_tried_again)
{
    const char *quota;
    struct qfx q;

    qfx_open_stopped(&q);
    create(&q, QUOTAS, "q", "\"hard\":{\"configmaps\":\"5\"}");
    pfx_hold(&q.h.p, COR_ENGINE_WRITE, "resourcequotas/default/q");
    qfx_start(&q);
    afx_wait_held(&q.h.p.a, &q.h.p.hold);
    patch(&q, QUOTAS "/q", "{\"metadata\":{\"labels\":{\"late\":\"yes\"}}}");
    pfx_let_go(&q.h.p);
    quota = await_used(&q, "q", "{\"configmaps\":\"0\"}");
    assert_at(quota, "metadata.labels.late", "yes");
    assert_true(q.nupdates >= 2);
    qfx_close(&q);
}

/* Contract controllers 3.3.2, 3.3.3: what changed while no controller ran is found by the first
 * list; a name that is no longer limited is not shown. */
TEST(resource_quota, a_restart_finds_what_has_changed)
{
    struct qfx q;

    qfx_open_stopped(&q);
    create(&q, QUOTAS, "q", "\"hard\":{\"configmaps\":\"5\"}");
    create_map(&q, "a");
    qfx_start(&q);
    (void)await_used(&q, "q", "{\"configmaps\":\"1\"}");
    qfx_stop(&q);
    create_map(&q, "b");
    create(&q, QUOTAS, "second", "\"hard\":{\"secrets\":\"1\"}");
    patch(
        &q, QUOTAS "/second/status",
        "{\"status\":{\"hard\":{\"secrets\":\"1\"},\"used\":{\"secrets\":\"7\",\"pods\":\"3\"}}}");
    qfx_start(&q);
    (void)await_used(&q, "q", "{\"configmaps\":\"2\"}");
    (void)await_used(&q, "second", "{\"secrets\":\"0\"}");
    qfx_close(&q);
}

/* Stopped while it writes, it ends at once, and another one goes on. */
TEST(resource_quota, it_is_stopped_in_the_middle)
{
    struct qfx q;

    qfx_open_stopped(&q);
    create_map(&q, "a");
    create(&q, QUOTAS, "q", "\"hard\":{\"configmaps\":\"5\"}");
    pfx_hold(&q.h.p, COR_ENGINE_WRITE, "resourcequotas/default/q");
    qfx_start(&q);
    afx_wait_held(&q.h.p.a, &q.h.p.hold);
    qfx_stop(&q);
    pfx_let_go(&q.h.p);
    qfx_start(&q);
    (void)await_used(&q, "q", "{\"configmaps\":\"1\"}");
    qfx_close(&q);
}

/* Contract controllers 3.3.2, 3.3.5: each quota is queued again for a full computation, and so is
 * the next enumeration; without quotas nothing waits, and nothing is enumerated. */
TEST(resource_quota, a_quota_is_computed_again_later)
{
    struct qfx q;

    qfx_open(&q);
    create_map(&q, "a");
    assert_int_equal(q.nenumerations, 0);
    create(&q, QUOTAS, "q", "\"hard\":{\"configmaps\":\"5\"}");
    (void)await_used(&q, "q", "{\"configmaps\":\"1\"}");
    pfx_wait(&q.h.p, are_queued_for_later, &q);
    hfx_do(&q.h, 200, "DELETE", QUOTAS "/q", "");
    create(&q, QUOTAS, "next", "\"hard\":{\"secrets\":\"5\"}");
    (void)await_used(&q, "next", "{\"secrets\":\"0\"}");
    qfx_close(&q);
}

/* More objects than a page has are counted. */
TEST(resource_quota, pages_are_added_up)
{
    char name[32];
    struct qfx q;

    qfx_open_stopped(&q);
    for (int i = 0; i < 201; i++) {
        snprintf(name, sizeof(name), "m%d", i);
        create_map(&q, name);
    }
    qfx_start(&q);
    create(&q, QUOTAS, "q", "\"hard\":{\"configmaps\":\"5\"}");
    (void)await_used(&q, "q", "{\"configmaps\":\"201\"}");
    qfx_close(&q);
}

/* Quotas with very many names do not keep others from being followed. */
TEST(resource_quota, many_names_do_no_harm)
{
    static char text[64 * 1024];
    size_t n = 0;
    struct qfx q;

    n +=
        (size_t)snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"hard\":{");
    for (int i = 0; i < 1100; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s\"requests.example.com/n%d\":\"1\"",
                              i > 0 ? "," : "", i);
    snprintf(text + n, sizeof(text) - n, "}}}");
    qfx_open(&q);
    hfx_do(&q.h, 201, "POST", QUOTAS, text);
    create(&q, QUOTAS, "maps", "\"hard\":{\"configmaps\":\"5\"}");
    (void)await_used(&q, "maps", "{\"configmaps\":\"0\"}");
    create_map(&q, "a");
    (void)await_used(&q, "maps", "{\"configmaps\":\"1\"}");
    qfx_close(&q);
}

/* Whatever allocation fails from the start of the controller to the first status, the status
 * becomes right. A controller that could not be made is made again, as the host of controllers does
 * it. */
TEST(resource_quota, the_status_is_right_although_an_allocation_fails)
{
    struct qfx q;

    qfx_open_stopped(&q);
    create_map(&q, "a");
    create(&q, PODS, "p", POD_SPEC("1"));
    FOR_EACH_FAILED_ALLOC(n) {
        test_fail_alloc(0, false);
        create(&q, QUOTAS, "q", "\"hard\":{\"configmaps\":\"5\",\"cpu\":\"1\"}");
        test_fail_alloc(n, false);

        while (qfx_try_start(&q) < 0)
            assert_true(test_alloc_failed());
        hfx_run_to_failure(&q.h);
        qfx_stop(&q);
        qfx_start(&q);
        (void)await_used(&q, "q", "{\"configmaps\":\"1\",\"cpu\":\"1\"}");
        hfx_do(&q.h, 200, "DELETE", QUOTAS "/q", "");
        qfx_stop(&q);
    }
    pfx_close(&q.h.p);
}

/* The controller is one of the server's. */
TEST(resource_quota, the_server_runs_it_under_its_name)
{
    struct hfx h;

    hfx_open(&h, "resourcequota-controller");
    hfx_do(&h, 201, "POST", QUOTAS,
           "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"hard\":{\"secrets\":\"1\"}}}");
    (void)hfx_await(&h, QUOTAS "/q", "status.used", "{\"secrets\":\"0\"}");
    hfx_close(&h);
}
