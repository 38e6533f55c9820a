/* The namespace controller inside the server: namespaces end, with what is in them. One pass and
 * its requests: test_namespace_pass.c. */
#include "../host_fixture.h"

#include "../../aggregation/remote_fixture.h"

#include "base/clock.h"
#include "base/err.h"
#include "server/controllers/host/builtin.h"
#include "server/controllers/host/server_controller.h"
#include "server/controllers/namespace/namespace_pass.h"
#include "server/shared/ending_namespaces.h"
#include "storage/engine/engine_int.h"

#define NAMESPACES "/api/v1/namespaces"
#define ONLY       "namespace-controller"
#define MAPS       NAMESPACES "/x/configmaps"
#define DEPLOYS    "/apis/apps/v1/namespaces/x/deployments"

static void make(struct hfx *h, const char *path, const char *body)
{
    hfx_do(h, 201, "POST", path, body);
}

static void make_namespace(struct hfx *h)
{
    make(h, NAMESPACES, "{\"metadata\":{\"name\":\"x\"}}");
}

static void await_gone(struct hfx *h, const char *path)
{
    hfx_await(h, path, "code", "404");
}

/* Contract controllers 1.1.1, 1.1.3: no delay on a server that is alone, and other namespaces stay.
 */
TEST(namespace_controller, an_empty_namespace_goes_and_others_stay)
{
    struct hfx h = {0};

    hfx_open(&h, ONLY);
    make_namespace(&h);
    make(&h, NAMESPACES, "{\"metadata\":{\"name\":\"y\"}}");
    hfx_do(&h, 200, "DELETE", NAMESPACES "/x", "");
    await_gone(&h, NAMESPACES "/x");
    assert_string_equal(fx_at(hfx_do(&h, 200, "GET", NAMESPACES "/y", ""), "status.phase"),
                        "Active");
    hfx_close(&h);
}

/* Contract controllers 1.9.4, 1.9.5: content of many kinds goes with its namespace, also content
 * that a namespace had before the controller runs. */
TEST(namespace_controller, content_goes_with_its_namespace)
{
    struct hfx h = {0};
    char body[64];

    pfx_open(&h.p, true);
    make_namespace(&h);
    for (int i = 0; i < 70; i++) {
        snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"m%d\"}}", i);
        make(&h, MAPS, body);
    }
    make(&h, NAMESPACES "/x/secrets", "{\"metadata\":{\"name\":\"s\"}}");
    make(
        &h, NAMESPACES "/x/pods",
        "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
    hfx_do(&h, 200, "DELETE", NAMESPACES "/x", "");
    hfx_start(&h, ONLY);
    await_gone(&h, NAMESPACES "/x");
    await_gone(&h, MAPS "/m3");
    await_gone(&h, NAMESPACES "/x/secrets/s");
    await_gone(&h, NAMESPACES "/x/pods/p");
    /* The name can be used again, and begins empty. */
    make_namespace(&h);
    assert_string_equal(fx_at(hfx_do(&h, 200, "GET", MAPS, ""), "items[0]"), "");
    hfx_close(&h);
}

#define DEPLOYMENT                                                                                 \
    "{\"metadata\":{\"name\":\"d\",\"finalizers\":[\"custom.io/finalizer\"]},\"spec\":{"           \
    "\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":{"        \
    "\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}"

static void assert_condition(const char *ns, int i, const char *status, const char *reason,
                             const char *message)
{
    char path[64];

    snprintf(path, sizeof(path), "status.conditions[%d].status", i);
    assert_string_equal(fx_at(ns, path), status);
    snprintf(path, sizeof(path), "status.conditions[%d].reason", i);
    assert_string_equal(fx_at(ns, path), reason);
    snprintf(path, sizeof(path), "status.conditions[%d].message", i);
    assert_string_equal(fx_at(ns, path), message);
}

/* Contract controllers 1.9.1: the five conditions while a finalizer holds a Deployment; when it is
 * removed, the namespace goes. The next pass is a new start of the controllers, so that the test
 * does not wait for the eight seconds. Contract controllers 1.8.2: an update is allowed. */
TEST(namespace_controller, a_finalizer_in_the_content_holds_the_namespace)
{
    struct hfx h = {0};
    const char *ns;

    hfx_open(&h, ONLY);
    make_namespace(&h);
    make(&h, DEPLOYS, DEPLOYMENT);
    make(
        &h, NAMESPACES "/x/pods",
        "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
    hfx_do(&h, 200, "DELETE", NAMESPACES "/x", "");
    ns = hfx_await(&h, NAMESPACES "/x", "status.conditions[3].status", "True");
    assert_condition(ns, 0, "False", "ResourcesDiscovered",
                     "All resources successfully discovered");
    assert_condition(ns, 1, "False", "ParsedGroupVersions",
                     "All legacy kube types successfully parsed");
    assert_condition(ns, 2, "False", "ContentDeleted",
                     "All content successfully deleted, may be waiting on finalization");
    assert_condition(ns, 3, "True", "SomeResourcesRemain",
                     "Some resources are remaining: deployments.apps has 1 resource instances");
    assert_condition(ns, 4, "True", "SomeFinalizersRemain",
                     "Some content in the namespace has finalizers remaining: custom.io/finalizer "
                     "in 1 resource instances");
    await_gone(&h, NAMESPACES "/x/pods/p");
    hfx_stop(&h);
    hfx_do(&h, 200, "PUT", DEPLOYS "/d",
           "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"}},"
           "\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{"
           "\"name\":\"c\",\"image\":\"i\"}]}}}}");
    hfx_start(&h, ONLY);
    await_gone(&h, NAMESPACES "/x");
    hfx_close(&h);
}

/* A pod may have any grace period: a namespace waits for such a pod, and for half of this time
 * until it looks again. */
TEST(namespace_controller, a_pod_with_the_longest_grace_period_holds_its_namespace)
{
    struct hfx h = {0};

    hfx_open(&h, ONLY);
    make_namespace(&h);
    make(&h, NAMESPACES "/x/pods",
         "{\"metadata\":{\"name\":\"p\",\"finalizers\":[\"custom.io/finalizer\"]},\"spec\":{"
         "\"terminationGracePeriodSeconds\":9223372036854775807,\"containers\":[{\"name\":"
         "\"c\",\"image\":\"i\"}]}}");
    hfx_do(&h, 200, "DELETE", NAMESPACES "/x", "");
    hfx_await(&h, NAMESPACES "/x", "status.conditions[0].status", "False");
    assert_at(hfx_do(&h, 200, "GET", NAMESPACES "/x", ""), "status.phase", "Terminating");
    hfx_close(&h);
}

struct late {
    struct hfx h;
    struct cor_api_request request;
    bool is_created;
};

static void late_on_done(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct late *late = COR_CONTAINER_OF(req, struct late, request);

    if (answer->error)
        fail_msg("%s", cor_status_message(answer->error));
    late->is_created = true;
}

static bool late_is_held(void *arg)
{
    return ((struct late *)arg)->h.p.hold.req != NULL;
}

static bool late_is_created(void *arg)
{
    return ((struct late *)arg)->is_created;
}

/* A server on which objects are created without a pause, and a controller whose clock moves by a
 * second each time that it asks for them. */
static uint64_t ahead_us;

static bool creates_always(void *arg, struct cor_str ns)
{
    ahead_us += 1000000;
    return true;
}

static uint64_t ahead_mono_us(const struct cor_clock *c)
{
    return cor_clock_mono_us(cor_clock_real()) + ahead_us;
}

static uint64_t ahead_coarse_ms(const struct cor_clock *c)
{
    return cor_clock_coarse_ms(cor_clock_real()) + ahead_us / 1000;
}

static int64_t ahead_wall_ms(const struct cor_clock *c)
{
    return cor_clock_wall_ms(cor_clock_real()) + (int64_t)(ahead_us / 1000);
}

static int busy_new(const struct cor_server_controller_env *env, void **ret_controller,
                    struct cor_status *reterr)
{
    static const struct cor_clock_ops ops = {ahead_mono_us, ahead_coarse_ms, ahead_wall_ms};
    static const struct cor_clock ahead = {&ops};
    struct cor_server_controller_env own = *env;

    own.creates_in = creates_always;
    own.clock = &ahead;
    return cor_namespaces_ops.new(&own, ret_controller, reterr);
}

/* Namespaces share the counters of creations, so that those of a busy namespace may hold another
 * one. */
TEST(namespace_controller, creations_that_never_pause_hold_a_namespace_for_a_minute_at_most)
{
    struct cor_server_controller_ops busy = cor_namespaces_ops;
    const struct cor_server_controller_ops *const table[] = {&busy};
    struct cor_controller_host_opts opts = {.table = table, .ntable = 1};
    struct hfx h = {0};

    ahead_us = 0;
    busy.new = busy_new;
    pfx_open(&h.p, true);
    opts.api = cor_api_loop(h.p.a.fx.api, 0);
    assert_int_equal(cor_controller_host_new(&opts, &h.host, NULL), 0);
    cor_controller_host_start(h.host);
    make_namespace(&h);
    hfx_do(&h, 200, "DELETE", NAMESPACES "/x", "");
    await_gone(&h, NAMESPACES "/x");
    assert_true(ahead_us >= 60 * UINT64_C(1000000));
    hfx_close(&h);
}

/* A request that was admitted before the deletion, and whose object is stored long after it, leaves
 * nothing behind in a namespace that does not exist. */
TEST(namespace_controller, waits_for_objects_that_were_admitted_before_the_deletion)
{
    static const struct cor_api_request_cbs cbs = {.on_done = late_on_done};
    struct late late = {0};
    struct hfx *h = &late.h;
    struct cor_object *object = NULL;

    hfx_open(h, ONLY);
    make_namespace(h);
    assert_int_equal(
        cor_object_from_json(COR_STR("{\"metadata\":{\"name\":\"late\"}}"), &object, NULL), 0);
    late.request = (struct cor_api_request){
        .at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("configmaps")}, .ns = COR_STR("x")},
        .cbs = &cbs};
    pfx_hold(&h->p, COR_ENGINE_WRITE, "configmaps/x/late");
    cor_api_create(&h->p.ip.port, &late.request, object, NULL);
    cor_object_unref(object);
    pfx_wait(&h->p, late_is_held, &late);
    hfx_do(h, 200, "DELETE", NAMESPACES "/x", "");
    for (int i = 0; i < 150; i++) /* enough for a pass over a namespace that seems empty */
        (void)cor_loop_run_until(h->p.a.fx.loop, hfx_never, NULL, 1);
    pfx_let_go(&h->p);
    pfx_wait(&h->p, late_is_created, &late);
    await_gone(h, NAMESPACES "/x");
    assert_string_equal(fx_at(hfx_do(h, 200, "GET", MAPS, ""), "items[0].metadata.name"), "");
    hfx_close(h);
}

/* Contract controllers 1.6.6, 1.6.7. */
TEST(namespace_controller, finalizers_of_others_keep_the_namespace)
{
    struct hfx h = {0};

    hfx_open(&h, ONLY);
    make(&h, NAMESPACES, "{\"metadata\":{\"name\":\"x\",\"finalizers\":[\"a.io/f\"]}}");
    hfx_do(&h, 200, "DELETE", NAMESPACES "/x", "");
    hfx_await(&h, NAMESPACES "/x", "spec.finalizers[0]", "");
    hfx_do(&h, 200, "PATCH", NAMESPACES "/x", "{\"metadata\":{\"finalizers\":null}}");
    await_gone(&h, NAMESPACES "/x");
    hfx_close(&h);
}

/* A server may stop at any moment: what the last pass has not done, the next one does. */
TEST(namespace_controller, a_stop_between_any_two_turns_loses_nothing)
{
    for (int turns = 0; turns < 60; turns++) {
        struct hfx h = {0};

        hfx_open(&h, ONLY);
        make_namespace(&h);
        make(&h, MAPS, "{\"metadata\":{\"name\":\"m\"}}");
        hfx_do(&h, 200, "DELETE", NAMESPACES "/x", "");
        for (int i = 0; i < turns; i++)
            (void)cor_loop_run_ready(h.p.a.fx.loop, 1);
        hfx_stop(&h);
        hfx_start(&h, ONLY);
        await_gone(&h, NAMESPACES "/x");
        hfx_close(&h);
    }
}

/* Contract controllers 1.8.1, 1.8.2, 1.8.4, 1.8.5, 1.8.6, 1.8.7: what the server allows while a
 * namespace is being deleted, without a controller that would end it. */
TEST(namespace_controller, a_namespace_that_is_being_deleted_takes_no_content)
{
    struct hfx h = {0};
    const char *answer, *first;

    pfx_open(&h.p, true);
    make_namespace(&h);
    make(&h, MAPS, "{\"metadata\":{\"name\":\"m\"}}");
    answer = hfx_do(&h, 409, "DELETE", NAMESPACES "/x", "{\"preconditions\":{\"uid\":\"u\"}}");
    assert_non_null(
        strstr(fx_at(answer, "message"),
               "Operation cannot be fulfilled on namespaces \"x\": Precondition failed: "
               "UID in precondition: u, UID in object meta: "));
    first = hfx_do(&h, 200, "DELETE", NAMESPACES "/x", "");
    assert_string_equal(fx_at(first, "status.phase"), "Terminating");
    assert_string_not_equal(fx_at(first, "metadata.deletionTimestamp"), "");
    assert_string_equal(fx_at(first, "metadata.deletionGracePeriodSeconds"), "");
    assert_string_equal(first, hfx_do(&h, 200, "DELETE", NAMESPACES "/x", ""));
    answer = hfx_do(&h, 403, "POST", MAPS, "{\"metadata\":{\"name\":\"n\"}}");
    assert_string_equal(
        fx_at(answer, "message"),
        "configmaps \"n\" is forbidden: unable to create new content in namespace x "
        "because it is being terminated");
    assert_string_equal(fx_at(answer, "details.causes[0].reason"), "NamespaceTerminating");
    assert_string_equal(fx_at(answer, "details.causes[0].message"),
                        "namespace x is being terminated");
    assert_string_equal(fx_at(answer, "details.causes[0].field"), "metadata.namespace");
    hfx_do(&h, 200, "PUT", MAPS "/m", "{\"metadata\":{\"name\":\"m\"},\"data\":{\"k\":\"v\"}}");
    hfx_do(&h, 200, "DELETE", MAPS "/m", "");
    make(&h, "/apis/authorization.k8s.io/v1/namespaces/x/localsubjectaccessreviews",
         "{\"spec\":{\"user\":\"u\",\"resourceAttributes\":{\"namespace\":\"x\",\"verb\":\"get\","
         "\"resource\":\"pods\"}}}");
    hfx_do(&h, 403, "DELETE", NAMESPACES "/default", "");
    pfx_close(&h.p);
}

/* Contract controllers 1.6.4: finalize alone changes spec.finalizers, and metadata with them; the
 * status stays. Contract controllers 1.6.5: the last finalizer of a deleted namespace takes the
 * namespace with it, and the answer is the object of the request. */
TEST(namespace_controller, finalize_changes_the_finalizers_and_may_remove_the_namespace)
{
    static const char more[] =
        "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"finalizers\":[\"kubernetes\",\"a.io/f\"]},"
        "\"status\":{\"phase\":\"Active\"}}";
    static const char with_label[] = "{\"metadata\":{\"name\":\"x\",\"labels\":{\"a\":\"b\"}},"
                                     "\"spec\":{\"finalizers\":[\"kubernetes\",\"a.io/f\"]},"
                                     "\"status\":{\"phase\":\"Terminating\"}}";
    struct hfx h = {0};
    const char *answer;

    pfx_open(&h.p, true);
    make_namespace(&h);
    answer = hfx_do(&h, 422, "PUT", NAMESPACES "/x/finalize",
                    "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"finalizers\":[\"short\"]}}");
    assert_non_null(strstr(fx_at(answer, "message"),
                           "name is neither a standard finalizer name nor is it fully qualified"));
    /* PUT of the namespace, and of its status, leaves spec.finalizers alone. */
    answer = hfx_do(&h, 200, "PUT", NAMESPACES "/x", more);
    assert_string_equal(fx_at(answer, "spec.finalizers"), "[\"kubernetes\"]");
    answer = hfx_do(&h, 200, "PUT", NAMESPACES "/x/status", more);
    assert_string_equal(fx_at(answer, "spec.finalizers"), "[\"kubernetes\"]");
    answer = hfx_do(&h, 200, "PUT", NAMESPACES "/x/finalize", with_label);
    assert_string_equal(fx_at(answer, "spec.finalizers"), "[\"kubernetes\",\"a.io/f\"]");
    assert_string_equal(fx_at(answer, "metadata.labels.a"), "b");
    assert_string_equal(fx_at(answer, "status.phase"), "Active");

    hfx_do(&h, 200, "DELETE", NAMESPACES "/x", "");
    hfx_do(&h, 200, "PUT", NAMESPACES "/x/finalize",
           "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"finalizers\":[\"a.io/f\"]}}");
    hfx_do(&h, 200, "GET", NAMESPACES "/x", "");
    answer = hfx_do(&h, 200, "PUT", NAMESPACES "/x/finalize", "{\"metadata\":{\"name\":\"x\"}}");
    assert_string_equal(fx_at(answer, "kind"), "Namespace");
    assert_string_equal(fx_at(answer, "spec.finalizers"), "");
    hfx_do(&h, 404, "GET", NAMESPACES "/x", "");
    pfx_close(&h.p);
}

static const struct cor_engine_ops *counted_ops;
static _Atomic unsigned nlooks;

/* A read of the latest state begins with a question for the store's revision. */
static void count_looks(struct cor_engine *engine, struct cor_range_req *req)
{
    if (req->keys_only && req->key.n == 0)
        nlooks++;
    counted_ops->range(engine, req);
}

/* Contract controllers 1.8.3: the cache may not have seen a deletion that was asked for a moment
 * ago, or a namespace that another server has created. */
TEST(namespace_controller, the_latest_state_of_a_namespace_in_doubt_is_read)
{
    struct hfx h = {0};
    struct cor_engine_ops ops;

    pfx_open(&h.p, true);
    counted_ops = h.p.a.fx.engine->ops;
    ops = *counted_ops;
    ops.range = count_looks;
    ops.shares_store = true; /* as etcd: only the store itself knows its latest revision */
    h.p.a.fx.engine->ops = &ops;
    nlooks = 0;
    hfx_do(&h, 404, "POST", MAPS, "{\"metadata\":{\"name\":\"m\"}}");
    assert_int_equal(nlooks, 1);
    make_namespace(&h);
    hfx_await(&h, NAMESPACES "/x?resourceVersion=0", "metadata.name", "x"); /* in the cache */
    nlooks = 0;
    make(&h, MAPS, "{\"metadata\":{\"name\":\"m\"}}");
    assert_int_equal(nlooks, 0);
    /* The namespace stays as it is. */
    hfx_do(&h, 200, "DELETE", NAMESPACES "/x?dryRun=All", "");
    nlooks = 0;
    make(&h, MAPS, "{\"metadata\":{\"name\":\"n\"}}");
    assert_int_equal(nlooks, 1);
    h.p.a.fx.engine->ops = counted_ops;
    pfx_close(&h.p);
}

/* Contract controllers 1.8.3: 30 seconds. */
TEST(namespace_controller, a_deletion_casts_doubt_for_30_seconds)
{
    static struct cor_ending_namespaces ending;
    const struct cor_str a = COR_STR("a"), b = COR_STR("b");

    assert_false(cor_ending_namespaces_has(&ending, a, 1000));
    cor_ending_namespaces_note(&ending, a, 1000);
    assert_true(cor_ending_namespaces_has(&ending, a, 1000));
    assert_false(cor_ending_namespaces_has(&ending, b, 1000));
    cor_ending_namespaces_note(&ending, b, 2000);
    assert_true(cor_ending_namespaces_has(&ending, a, 30999));
    assert_false(cor_ending_namespaces_has(&ending, a, 31000));
    assert_true(cor_ending_namespaces_has(&ending, b, 31000));
    assert_false(cor_ending_namespaces_has(&ending, b, 32000));
}

struct pass_end {
    bool is_done;
    int err;
    int64_t remains_s;
};

static void on_pass_done(void *arg, const struct cor_namespace_pass_result *result)
{
    struct pass_end *end = arg;

    end->is_done = true;
    end->err = result->error ? result->error->err : 0;
    end->remains_s = result->remains_s;
}

static bool is_pass_done(void *arg)
{
    return ((struct pass_end *)arg)->is_done;
}

/* A finalizer holds the content, so that each pass has the same to do. A pass that does not fail
 * has counted it. */
TEST(namespace_controller, a_pass_without_memory_fails_or_is_whole)
{
    struct pfx p;
    struct pass_end end;
    const struct cor_namespace_pass_opts opts = {.port = &p.ip.port,
                                                 .clock = cor_clock_real(),
                                                 .name = COR_STR("x"),
                                                 .on_done = on_pass_done,
                                                 .arg = &end};
    struct cor_namespace_pass *pass;

    pfx_open(&p, false);
    fx_do(&p.a.fx, 201, "POST", NAMESPACES, "{\"metadata\":{\"name\":\"x\"}}");
    fx_do(&p.a.fx, 201, "POST", MAPS,
          "{\"metadata\":{\"name\":\"m\",\"finalizers\":[\"a.io/f\"]}}");
    fx_do(&p.a.fx, 200, "DELETE", NAMESPACES "/x", "");
    FOR_EACH_FAILED_ALLOC(n) {
        int r;

        end = (struct pass_end){0};
        r = cor_namespace_pass_start(&opts, &pass);
        if (r == 0)
            pfx_wait(&p, is_pass_done, &end);
        else
            assert_int_equal(r, -COR_ENOMEM);
        pfx_wait(&p, pfx_is_idle, &p);
        assert_true(r < 0 || end.err < 0 || end.remains_s == 15);
    }
    assert_int_equal(end.remains_s, 15);
    assert_string_equal(
        fx_at(fx_do(&p.a.fx, 200, "GET", NAMESPACES "/x", ""), "status.conditions[4].reason"),
        "SomeFinalizersRemain");
    pfx_close(&p);
}

/* Contract extension 4.5.4: what a dead server has in the namespace is not known. */
TEST(namespace_controller, a_dead_aggregated_server_holds_namespaces)
{
    static const char expected[] =
        "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of "
        "server APIs: wardle.example.com/v1alpha1: stale GroupVersion discovery: "
        "wardle.example.com/v1alpha1";
    struct cor_api_service *service = rfx_service("v1alpha1", "wardle.example.com");
    struct hfx h = {0};
    const char *doc;

    hfx_open(&h, ONLY);
    make_namespace(&h);
    rfx_tell(h.p.a.fx.api, service, NULL);
    hfx_do(&h, 200, "DELETE", NAMESPACES "/x", "");
    doc = hfx_await(&h, NAMESPACES "/x", "status.conditions[0].status", "True");
    assert_string_equal(fx_at(doc, "status.conditions[0].type"),
                        "NamespaceDeletionDiscoveryFailure");
    assert_string_equal(fx_at(doc, "status.conditions[0].reason"), "DiscoveryFailed");
    assert_string_equal(fx_at(doc, "status.conditions[0].message"), expected);
    /* Available, and it has told of what it serves, which is nothing. */
    atomic_store(&service->is_available, true);
    rfx_tell(h.p.a.fx.api, service, "[]");
    await_gone(&h, NAMESPACES "/x");
    cor_api_service_unref(service);
    hfx_close(&h);
}
