/* The requests of namespace deletion and garbage collection beside those that a real
 * kube-controller-manager has sent for the same flows: recorded_flows.h, which
 * tests/interop/record_flows.py writes. The controllers run on a server without a network, and
 * their port is traced. */
#include "../host_fixture.h"

#include "../recorded_flows.h"
#include "base/rand.h"
#include "kit/events/event_recorder.h"
#include "server/controllers/host/builtin.h"
#include "server/controllers/namespace/namespace_pass.h"

#define MAPS        "/api/v1/namespaces/default/configmaps"
#define PODS        "/api/v1/namespaces/default/pods"
#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"
#define REPLICASETS "/apis/apps/v1/namespaces/default/replicasets"
#define NAMESPACES  "/api/v1/namespaces"
#define WORKLOAD    "{" FX_WORKLOAD "}"
#define POD         "{" FX_CONTAINERS "}"

#define UNDER_WAY_MAX 256

/* The trace of one port. A line is begun when a request is sent, and is added to the log with the
 * code of the answer. */
struct trace {
    struct hfx h;
    struct cor_api_port_ops ops;
    const struct cor_api_port_ops *own;
    struct {
        struct cor_api_request *req; /* NULL: free */
        const struct cor_api_request_cbs *cbs;
        char line[1024];
    } under_way[UNDER_WAY_MAX];
    struct {
        char name[16], uid[40];
    } objects[4];
    size_t nobjects;
    char log[16384];
    struct cor_rand rand;
    void *collector;
    bool is_stopped;
};

static struct trace *trace; /* of the test that runs */

static size_t trace_find(const struct cor_api_request *req)
{
    for (size_t i = 0; i < UNDER_WAY_MAX; i++) {
        if (trace->under_way[i].req == req)
            return i;
    }
    fail_msg("more requests at once than the trace holds");
    return 0;
}

/* Appends a text with masked uids and resourceVersions, and one more line end if wanted. */
static void append_masked(char *to, size_t size, const char *text)
{
    static const char *const before_version[] = {"resourceVersion=", "\"resourceVersion\":\""};

    for (size_t n = strlen(to); *text && n + 64 < size; n = strlen(to)) {
        size_t skipped = 0;

        for (size_t i = 0; i < trace->nobjects && !skipped; i++) {
            if (strncmp(text, trace->objects[i].uid, 36) == 0) {
                snprintf(to + n, size - n, "<uid of %s>", trace->objects[i].name);
                skipped = 36;
            }
        }
        for (size_t i = 0; i < COR_ARRAY_LEN(before_version) && !skipped; i++) {
            if (strncmp(text, before_version[i], strlen(before_version[i])) == 0) {
                snprintf(to + n, size - n, "%s<version>", before_version[i]);
                skipped = strlen(before_version[i]);
                skipped += strspn(text + skipped, "0123456789");
            }
        }
        if (!skipped) {
            to[n] = *text;
            to[n + 1] = '\0';
            skipped = 1;
        }
        text += skipped;
    }
}

static int traced_on_open(struct cor_api_request *req)
{
    const struct cor_api_request_cbs *cbs = trace->under_way[trace_find(req)].cbs;

    return cbs->on_open ? cbs->on_open(req) : 0;
}

static int traced_on_item(struct cor_api_request *req, struct cor_object *item)
{
    return trace->under_way[trace_find(req)].cbs->on_item(req, item);
}

static void traced_on_done(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    size_t i = trace_find(req), n = strlen(trace->log);

    snprintf(trace->log + n, sizeof(trace->log) - n, "%s %d\n", trace->under_way[i].line,
             answer->error ? answer->error->code : 200);
    trace->under_way[i].req = NULL;
    req->cbs = trace->under_way[i].cbs;
    req->cbs->on_done(req, answer);
}

static const struct cor_api_request_cbs traced_cbs = {
    .on_open = traced_on_open, .on_item = traced_on_item, .on_done = traced_on_done};

static void trace_begin(struct cor_api_request *req, const struct cor_resource_path *at,
                        const char *verb, struct cor_str body)
{
    size_t i = trace_find(NULL);
    char line[1024];

    snprintf(line, sizeof(line), "%s %.*s%s%.*s%s%.*s%s%.*s", verb, COR_STR_ARG(at->gvr.resource),
             at->subresource.n ? "/" : "", COR_STR_ARG(at->subresource), at->name.n ? " " : "",
             COR_STR_ARG(at->name), body.n ? " " : "", COR_STR_ARG(body));
    trace->under_way[i].req = req;
    trace->under_way[i].cbs = req->cbs;
    trace->under_way[i].line[0] = '\0';
    append_masked(trace->under_way[i].line, sizeof(trace->under_way[i].line), line);
    req->cbs = &traced_cbs;
}

/* The record has what is asked about these resources. */
static bool is_recorded(const struct cor_api_operation *op)
{
    return cor_str_eqz(op->at.gvr.resource, "pods") ||
           cor_str_eqz(op->at.gvr.resource, "deployments") ||
           cor_str_eqz(op->at.gvr.resource, "namespaces");
}

static void trace_begin_removal(struct cor_api_request *req, const struct cor_api_operation *op,
                                const char *verb)
{
    const struct cor_removal_options *opts = &op->removal;
    char body[256];

    snprintf(body, sizeof(body), "%.*s%s%.*s%s%.*s", COR_STR_ARG(opts->propagation),
             opts->uid.n ? " uid=" : "", COR_STR_ARG(opts->uid),
             opts->resource_version.n ? " resourceVersion=" : "",
             COR_STR_ARG(opts->resource_version));
    trace_begin(req, &op->at, verb, cor_strz(body));
}

static void traced_send(struct cor_api_port *port, struct cor_api_request *req,
                        const struct cor_api_operation *op)
{
    struct cor_resource_path at = op->at;

    switch (op->verb) {
    case COR_API_VERB_GET:
        if (cor_str_eqz(at.gvr.resource, "namespaces"))
            trace_begin(req, &at, "GET", COR_STR(""));
        break;
    case COR_API_VERB_LIST:
        if (is_recorded(op) && !trace->collector)
            trace_begin(req, &at, "LIST", COR_STR(""));
        break;
    case COR_API_VERB_UPDATE:
        at.name = cor_object_name(op->object);
        trace_begin(req, &at, "UPDATE", COR_STR(""));
        break;
    case COR_API_VERB_PATCH:
        trace_begin(req, &at, "PATCH", op->patch);
        break;
    case COR_API_VERB_DELETE:
        trace_begin_removal(req, op, "DELETE");
        break;
    case COR_API_VERB_DELETECOLLECTION:
        if (is_recorded(op))
            trace_begin_removal(req, op, "DELETECOLLECTION");
        break;
    default:
        break;
    }
    trace->own->send(port, req, op);
}

static void traced_cancel(struct cor_api_port *port, struct cor_api_request *req)
{
    if (req->cbs == &traced_cbs) {
        size_t i = trace_find(req);

        req->cbs = trace->under_way[i].cbs;
        trace->under_way[i].req = NULL;
    }
    trace->own->cancel(port, req);
}

static void open_trace(void)
{
    trace = calloc(1, sizeof(*trace));
    pfx_open(&trace->h.p, true);
    trace->own = trace->h.p.ip.port.ops;
    trace->ops = *trace->own;
    trace->ops.send = traced_send;
    trace->ops.cancel = traced_cancel;
    trace->h.p.ip.port.ops = &trace->ops;
    cor_rand_init_seeded(&trace->rand, 1);
}

static void close_trace(void)
{
    trace->h.p.ip.port.ops = trace->own;
    pfx_close(&trace->h.p);
    free(trace);
}

/* The collector. */

static void on_record(void *arg, const struct cor_event_told *told)
{
}

static void on_stopped(void *arg, const struct cor_status *why)
{
    trace->is_stopped = true;
}

static bool is_stopped(void *arg)
{
    return trace->is_stopped;
}

static void start_collector(void)
{
    const struct cor_server_controller_env env = {.port = &trace->h.p.ip.port,
                                                  .clock = cor_clock_real(),
                                                  .rand = &trace->rand,
                                                  .record = on_record,
                                                  .on_stopped = on_stopped};

    assert_int_equal(cor_garbage_collector_ops.new(&env, &trace->collector, NULL), 0);
    assert_int_equal(cor_garbage_collector_ops.start(trace->collector, NULL), 0);
}

static void stop_collector(void)
{
    cor_garbage_collector_ops.stop(trace->collector, 10000);
    pfx_wait(&trace->h.p, is_stopped, NULL);
    cor_garbage_collector_ops.free(trace->collector);
}

/* Creates an object, and remembers its uid. `spec` may be NULL, `owner` too: then it has none. */
static void make(const char *collection, const char *name, const char *spec, const char *kind,
                 const char *owner)
{
    char body[2048], ref[512] = "";
    const char *uid = "";

    for (size_t i = 0; owner && i < trace->nobjects; i++) {
        if (strcmp(trace->objects[i].name, owner) == 0)
            uid = trace->objects[i].uid;
    }
    if (owner)
        snprintf(ref, sizeof(ref),
                 ",\"ownerReferences\":[{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"name\":\"%s\","
                 "\"uid\":\"%s\",\"blockOwnerDeletion\":true}]",
                 strcmp(kind, "ConfigMap") == 0 ? "v1" : "apps/v1", kind, owner, uid);
    snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"%s\"%s}%s%s}", name, ref,
             spec ? ",\"spec\":" : "", spec ? spec : "");
    uid = fx_at(hfx_do(&trace->h, 201, "POST", collection, body), "metadata.uid");
    snprintf(trace->objects[trace->nobjects].name, sizeof(trace->objects[0].name), "%s", name);
    snprintf(trace->objects[trace->nobjects++].uid, sizeof(trace->objects[0].uid), "%s", uid);
}

static void make_workload(void)
{
    make(DEPLOYMENTS, "d", WORKLOAD, NULL, NULL);
    make(REPLICASETS, "r", WORKLOAD, "Deployment", "d");
    make(PODS, "p", POD, "ReplicaSet", "r");
}

static void delete_with(const char *path, const char *policy)
{
    char body[128];

    snprintf(body, sizeof(body), "{\"propagationPolicy\":\"%s\"}", policy);
    hfx_do(&trace->h, 200, "DELETE", path, body);
}

static void await_gone(const char *path)
{
    hfx_await(&trace->h, path, "metadata.name", "");
}

/* The collector has seen all objects when an object that came after them, and that has no owner,
 * is gone. */
static void await_seen(void)
{
    static const char probe[] =
        "{\"metadata\":{\"name\":\"probe\",\"ownerReferences\":[{\"apiVersion\":\"v1\","
        "\"kind\":\"ConfigMap\",\"name\":\"nobody\",\"uid\":\"u-nobody\"}]}}";

    hfx_do(&trace->h, 201, "POST", MAPS, probe);
    await_gone(MAPS "/probe");
    (void)cor_loop_run_until(trace->h.p.a.fx.loop, pfx_is_idle, &trace->h.p, 0);
}

/* Is the line, up to its end, among the lines? Returns what follows it; NULL: it is not. */
static const char *find_line(const char *lines, const char *line)
{
    size_t n = strcspn(line, "\n") + 1;

    for (const char *at = lines; *at; at += strcspn(at, "\n") + 1) {
        if (strncmp(at, line, n) == 0)
            return at + n;
    }
    return NULL;
}

/* Are the lines in the log, in their order? */
static bool has_sent(void *arg)
{
    const char *at = trace->log;

    for (const char *line = arg; *line && at; line += strcspn(line, "\n") + 1)
        at = find_line(at, line);
    return at != NULL;
}

/* Waits until the requests were sent, in their order. */
static void await_sent(const char *lines)
{
    if (!cor_loop_run_until(trace->h.p.a.fx.loop, has_sent, (void *)lines, FX_TIMEOUT_MS))
        fail_msg("not in this order: sent\n%sexpected\n%s", trace->log, lines);
}

/* Stops the collector. Every request is one that upstream has sent in this flow. */
static void assert_sent_only(const char *ever)
{
    stop_collector();
    for (const char *line = trace->log; *line; line += strcspn(line, "\n") + 1) {
        if (strncmp(line, "DELETE configmaps probe", 23) != 0 && !find_line(ever, line))
            fail_msg("upstream has not sent %.*s\nall that was sent\n%s", (int)strcspn(line, "\n"),
                     line, trace->log);
    }
}

static void assert_flow(const char *always, const char *ever)
{
    await_sent(always);
    assert_sent_only(ever);
}

/* The first line, and of the others those about this object. */
static void pick_lines(const char *lines, const char *object, char *to, size_t size)
{
    size_t n = 0;

    for (const char *line = lines; *line; line += strcspn(line, "\n") + 1) {
        const char *found = strstr(line, object);

        if (line == lines || (found && found < line + strcspn(line, "{\n")))
            n += snprintf(to + n, size - n, "%.*s\n", (int)strcspn(line, "\n"), line);
        assert_true(n < size);
    }
}

/* Contract controllers 2.4.4. */
TEST(controller_flows, a_background_deletion_is_that_of_upstream)
{
    open_trace();
    start_collector();
    make_workload();
    await_seen();
    delete_with(DEPLOYMENTS "/d", "Background");
    await_gone(PODS "/p");
    assert_flow(always_background, ever_background);
    close_trace();
}

/* Contract controllers 2.7.8. */
TEST(controller_flows, a_foreground_deletion_is_that_of_upstream)
{
    open_trace();
    start_collector();
    make_workload();
    await_seen();
    delete_with(DEPLOYMENTS "/d", "Foreground");
    await_gone(DEPLOYMENTS "/d");
    assert_flow(always_foreground, ever_foreground);
    close_trace();
}

/* Contract controllers 2.8.1, 2.8.2. */
TEST(controller_flows, an_orphan_deletion_is_that_of_upstream)
{
    open_trace();
    start_collector();
    make_workload();
    await_seen();
    delete_with(DEPLOYMENTS "/d", "Orphan");
    await_gone(DEPLOYMENTS "/d");
    assert_flow(always_orphan, ever_orphan);
    close_trace();
}

/* Contract controllers 2.7.6. The two objects have a worker each after the first patch, so that
 * only the order of the requests about one object is certain. */
TEST(controller_flows, a_cycle_ends_as_that_of_upstream)
{
    static const struct fx_headers merge = {.content_type = "application/merge-patch+json"};
    char refs[512], lines[2048];

    open_trace();
    start_collector();
    make(MAPS, "c1", NULL, NULL, NULL);
    make(MAPS, "c2", NULL, "ConfigMap", "c1");
    snprintf(refs, sizeof(refs),
             "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
             "\"name\":\"c2\",\"uid\":\"%s\",\"blockOwnerDeletion\":true}]}}",
             trace->objects[1].uid);
    fx_do_with(&trace->h.p.a.fx, 200, "PATCH", MAPS "/c1", refs, &merge);
    await_seen();
    delete_with(MAPS "/c1", "Foreground");
    await_gone(MAPS "/c1");
    await_gone(MAPS "/c2");
    pick_lines(always_cycle, " c1 ", lines, sizeof(lines));
    await_sent(lines);
    pick_lines(always_cycle, " c2 ", lines, sizeof(lines));
    await_sent(lines);
    assert_sent_only(ever_cycle);
    close_trace();
}

/* Namespace deletion. */

static bool pass_is_done;

static void on_pass_done(void *arg, const struct cor_namespace_pass_result *result)
{
    pass_is_done = true;
}

static bool is_pass_done(void *arg)
{
    return pass_is_done;
}

static void run_pass(void)
{
    const struct cor_namespace_pass_opts opts = {.port = &trace->h.p.ip.port,
                                                 .clock = cor_clock_real(),
                                                 .name = COR_STR("x"),
                                                 .on_done = on_pass_done};
    struct cor_namespace_pass *pass;

    pass_is_done = false;
    assert_int_equal(cor_namespace_pass_start(&opts, &pass), 0);
    pfx_wait(&trace->h.p, is_pass_done, NULL);
    pfx_wait(&trace->h.p, pfx_is_idle, &trace->h.p);
}

/* Contract controllers 1.9.1: two passes, with the removal of the finalizer between them. */
TEST(controller_flows, a_namespace_is_deleted_as_by_upstream)
{
    static const struct fx_headers merge = {.content_type = "application/merge-patch+json"};

    open_trace();
    make(NAMESPACES, "x", NULL, NULL, NULL);
    make(NAMESPACES "/x/pods", "p", POD, NULL, NULL);
    hfx_do(&trace->h, 201, "POST", "/apis/apps/v1/namespaces/x/deployments",
           "{\"metadata\":{\"name\":\"d\",\"finalizers\":[\"custom.io/finalizer\"]},"
           "\"spec\":" WORKLOAD "}");
    hfx_do(&trace->h, 200, "DELETE", NAMESPACES "/x", "");
    run_pass();
    fx_do_with(&trace->h.p.a.fx, 200, "PATCH", "/apis/apps/v1/namespaces/x/deployments/d",
               "{\"metadata\":{\"finalizers\":null}}", &merge);
    run_pass();
    hfx_do(&trace->h, 404, "GET", NAMESPACES "/x", "");
    assert_string_equal(trace->log, always_namespace);
    close_trace();
}
