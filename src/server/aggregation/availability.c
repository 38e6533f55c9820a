/* clang-format off */
/* Keeps the condition Available of APIServices: one reconcile for each at a time (contract extension 4.3).
 *
 *   local ──► True, Local
 *   remote ──► GET its Service ──► of type ClusterIP: its port, the EndpointSlices of the Service ──► PROBES parallel GETs of the
 *   group version ──► the first success, or the last failure ──► the status is written if it says something else
 *
 * A check that fails ends the sequence with its verdict. A service that --aggregator-resolve names
 * is probed at once: there is no cluster that has it. Remote services are judged again every 30 s,
 * after a change of their Service or of its slices, and after a failed probe when the limiter says
 * so (5 ms to 30 s). Services are followed only while there is a remote APIService; nothing of them
 * is kept.
 *
 * A service that hangs holds one reconcile for as long as a probe may last, and no other service
 * waits: there are as many reconciles as the control loop allows.
 * Failures: what could not be written or read for want of memory is tried again by the limiter; the
 * answers 409 and 404 mean that a newer state comes by the watch.
 * Thread: the first loop of the API. */
/* clang-format on */
#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/aggregation/api_services_int.h"
#include "server/aggregation/available.h"
#include "server/aggregation/fetch.h"
#include "server/aggregation/remote_follower.h"
#include "server/api/api_loop.h"

#define PROBES         5
#define PROBE_MS       5000
#define PROBE_BODY_MAX (1u << 20)
#define AGAIN_MS       30000
#define FAILED_MIN_MS  5
#define RECONCILES_MAX COR_CONTROL_RECONCILES_MAX
#define SERVICE_LABEL  "kubernetes.io/service-name"
#define PATCH_MAX      (64u * 1024)

enum { FEED_SERVICES, FEED_SLICES, FEED_COUNT };

/* names a kind: what remote services are judged by */
static const struct cor_gvr followed[FEED_COUNT] = {
    [FEED_SERVICES] = {COR_STR_INIT(""), COR_STR_INIT("v1"), COR_STR_INIT("services")},
    [FEED_SLICES] = {COR_STR_INIT("discovery.k8s.io"), COR_STR_INIT("v1"),
                     COR_STR_INIT("endpointslices")},
};

/* The handler of one feed: it keeps nothing, and has the APIServices of a Service judged again. */
struct trigger {
    struct cor_feed_handler handler;
    struct cor_availability *av;
    bool is_slice;
};

struct cor_availability {
    struct cor_api_services *as;
    const struct cor_target_config *config;
    struct cor_targets *targets;                /* NULL: there is no remote service */
    struct cor_remote_follower *follower;       /* asks the targets for documents; NULL: not yet */
    struct cor_reconciler reconciler;           /* keys are enqueued by whoever looks */
    struct cor_control_feed *feeds[FEED_COUNT]; /* NULL: not followed */
    struct trigger triggers[FEED_COUNT];
    struct cor_api_service **remotes; /* references */
    size_t nremotes;
    bool is_started;
    void (*on_stopped)(struct cor_api_services *as);
};

/* One judgement under way. */
struct judge {
    struct cor_task task; /* first */
    struct cor_availability *av;
    struct cor_api_service *service; /* a reference */
    struct cor_available verdict;
    struct cor_buf port_name;
    size_t nslices;
    bool serves;     /* a slice has a ready endpoint */
    bool has_failed; /* the probes did: tried again by the limiter */
    bool has_fallen; /* it was available, and is not any more */
    size_t nprobes;  /* under way */
    struct {
        struct judge *judge;
        struct cor_fetch *fetch; /* NULL: it has ended */
    } probes[PROBES];
};

static struct judge *judge_of(struct cor_task *task)
{
    struct judge *own = COR_CONTAINER_OF(task, struct judge, task);

    assert(cor_task_size(task) == sizeof(*own));
    return own;
}

/* ---- the end of a judgement ---- */

static void judge_drop_probes(struct judge *j)
{
    for (size_t i = 0; i < PROBES; i++) {
        if (j->probes[i].fetch)
            cor_fetch_cancel(COR_STEAL(j->probes[i].fetch));
    }
    j->nprobes = 0;
}

static void judge_end(struct judge *j, int err, const struct cor_status *why)
{
    struct cor_reconcile_result result = {.err = err, .why = why};

    if (err == 0 && j->has_failed)
        result.again = true;
    else if (err == 0 && j->service->is_remote)
        result.again_after_ms = AGAIN_MS;
    cor_task_done(&j->task, &result);
}

static void judge_deinit(struct cor_task *task)
{
    struct judge *j = judge_of(task);

    judge_drop_probes(j);
    cor_buf_deinit(&j->verdict.message);
    cor_buf_deinit(&j->port_name);
    cor_api_service_unref(j->service);
}

static void judge_on_written(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct judge *j = COR_CONTAINER_OF(req, struct judge, task.req);
    const struct cor_status *error = answer->error;
    int r = 0;

    if (cor_api_answer_is_late(answer))
        error = NULL;
    else if (!error && answer->object)
        r = cor_api_services_take_answer(j->av->as, answer->object);
    if (!answer->error && j->has_fallen)
        cor_available_metrics_count(&j->av->as->metrics, j->service->name, j->verdict.reason);
    judge_end(j, error ? error->err : r, error);
}

/* Writes the verdict, unless the newest state has it. `r` is the result of setting it. */
static void judge_write(struct judge *j, int r)
{
    static const struct cor_api_request_cbs cbs = {.on_done = judge_on_written};
    const struct api_entry *entry = cor_api_services_find(j->av->as, j->task.rec->name);
    bool is_available = cor_str_eqz(cor_strz(j->verdict.status), "True");
    COR_CLEANUP(cor_buf_deinit) struct cor_buf patch;

    cor_buf_init(&patch, PATCH_MAX);
    if (r == 0 && entry) {
        cor_available_metrics_set(&j->av->as->metrics, j->service->name, is_available);
        j->has_fallen = cor_api_service_says_available(entry->object) && !is_available;
    }
    if (r == 0 && entry && entry->service == j->service)
        r = cor_available_patch(&j->verdict, entry->object,
                                cor_clock_wall_ms(j->av->as->clock) / 1000, &patch);
    if (r < 1) {
        judge_end(j, r, NULL);
        return;
    }
    if (!cor_str_eqz(cor_strz(j->verdict.reason), "Local"))
        COR_LOG_INFO("an APIService's availability changes", COR_F_STR("name", j->service->name),
                     COR_F_STR("status", j->verdict.status), COR_F_STR("reason", j->verdict.reason),
                     COR_F_STR("message", cor_buf_str(&j->verdict.message)));
    j->task.req = (struct cor_api_request){.at = cor_api_service_path(j->task.rec->name, "status"),
                                           .cbs = &cbs};
    cor_api_patch(cor_task_port(&j->task), &j->task.req, COR_PATCH_MERGE, cor_buf_str(&patch),
                  NULL);
}

/* ---- the probes ---- */

static void judge_pass(struct judge *j)
{
    judge_write(j, cor_available_set(&j->verdict, "True", "Passed", "all checks passed"));
}

/* Returns whether nothing was asked because the circuit of the service is open. That does not
 * concern this group version: another one of the same service may hang. */
static bool is_refused(int r, const struct cor_fetch_answer *answer)
{
    return r == -COR_EUNREACHABLE && answer->url.n == 0;
}

/* A failure as upstream words it. */
static int probe_explain(struct judge *j, int r, const char *text,
                         const struct cor_fetch_answer *answer)
{
    struct cor_str url = answer->url;

    if (url.n == 0)
        return cor_available_set(&j->verdict, "False", "FailedDiscoveryCheck", "%s", text);
    if (answer->status != 0)
        return cor_available_set(&j->verdict, "False", "FailedDiscoveryCheck",
                                 "failing or missing response from %.*s: bad status from %.*s: %d",
                                 COR_STR_ARG(url), COR_STR_ARG(url), answer->status);
    if (r == -COR_ETIMEOUT)
        text = "context deadline exceeded";
    return cor_available_set(&j->verdict, "False", "FailedDiscoveryCheck",
                             "failing or missing response from %.*s: Get \"%.*s\": %s",
                             COR_STR_ARG(url), COR_STR_ARG(url), text);
}

static void probe_on_done(void *arg, int r, const char *text, const struct cor_fetch_answer *answer)
{
    struct judge *j = *(struct judge **)arg;

    for (size_t i = 0; i < PROBES; i++) {
        if (&j->probes[i].judge == arg)
            j->probes[i].fetch = NULL;
    }
    j->nprobes--;
    if (answer->status >= 200 && answer->status < 300) {
        judge_drop_probes(j);
        judge_pass(j);
        return;
    }
    r = is_refused(r, answer) ? 0 : probe_explain(j, r, text, answer);
    if (j->nprobes > 0 && r == 0)
        return;
    j->has_failed = true;
    judge_drop_probes(j);
    if (r == 0 && !j->verdict.status)
        judge_end(j, 0, NULL);
    else
        judge_write(j, r);
}

static void judge_probe(struct judge *j)
{
    char path[COR_API_SERVICE_NAME_MAX + 8];
    const struct cor_api_service *s = j->service;
    const struct cor_fetch_opts opts = {
        .spec = {.service = {s->service_ns, s->service_name, s->service_port}, .is_insecure = true},
        .path = cor_str(path,
                        (size_t)snprintf(path, sizeof(path), "/%s/%.*s",
                                         s->group.n ? "apis" : "api", COR_STR_ARG(s->api_version))),
        .body_max = PROBE_BODY_MAX,
        .timeout_ms = PROBE_MS};
    int r = 0;

    /* There was no memory for them. */
    if (!j->av->targets)
        cor_availability_follow(j->av);
    if (!j->av->targets) {
        judge_end(j, -COR_ENOMEM, NULL);
        return;
    }
    for (size_t i = 0; i < PROBES && r == 0; i++) {
        j->probes[i].judge = j;
        r = cor_fetch_open(j->av->targets, &opts, probe_on_done, &j->probes[i].judge,
                           &j->probes[i].fetch);
        j->nprobes += r == 0;
    }
    /* One that has begun is enough. */
    if (j->nprobes == 0)
        judge_end(j, r, NULL);
}

/* ---- the Service and its slices ---- */

static int judge_on_slice(struct cor_api_request *req, struct cor_object *slice)
{
    struct judge *j = COR_CONTAINER_OF(req, struct judge, task.req);

    j->nslices++;
    j->serves = j->serves || cor_available_slice_serves(slice, cor_buf_str(&j->port_name));
    return 0;
}

static void judge_on_slices(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct judge *j = COR_CONTAINER_OF(req, struct judge, task.req);
    struct cor_str ns = j->service->service_ns, name = j->service->service_name;

    if (answer->error)
        judge_write(j, cor_available_set(&j->verdict, "Unknown", "EndpointsAccessError",
                                         "service/%.*s in \"%.*s\" cannot be checked due to: %s",
                                         COR_STR_ARG(name), COR_STR_ARG(ns),
                                         cor_status_message(answer->error)));
    else if (j->nslices == 0)
        judge_write(j, cor_available_set(&j->verdict, "False", "EndpointsNotFound",
                                         "cannot find endpointslices for service/%.*s in \"%.*s\"",
                                         COR_STR_ARG(name), COR_STR_ARG(ns)));
    else if (!j->serves)
        judge_write(j, cor_available_set(&j->verdict, "False", "MissingEndpoints",
                                         "endpointslices for service/%.*s in \"%.*s\" have no "
                                         "addresses with port name \"%.*s\"",
                                         COR_STR_ARG(name), COR_STR_ARG(ns),
                                         COR_STR_ARG(cor_buf_str(&j->port_name))));
    else
        judge_probe(j);
}

static void judge_list_slices(struct judge *j, struct cor_str port_name)
{
    static const struct cor_api_request_cbs cbs = {.on_item = judge_on_slice,
                                                   .on_done = judge_on_slices};
    char selector[COR_API_SERVICE_NAME_MAX];
    const struct cor_list_query query = {
        .label_selector =
            cor_str(selector, (size_t)snprintf(selector, sizeof(selector), SERVICE_LABEL "=%.*s",
                                               COR_STR_ARG(j->service->service_name)))};
    int r = cor_buf_adds(&j->port_name, port_name);

    if (r < 0) {
        judge_end(j, r, NULL);
        return;
    }
    j->task.req = (struct cor_api_request){
        .at = {.gvr = followed[FEED_SLICES], .ns = j->service->service_ns}, .cbs = &cbs};
    cor_api_list(cor_task_port(&j->task), &j->task.req, &query);
}

static void judge_on_service(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct judge *j = COR_CONTAINER_OF(req, struct judge, task.req);
    struct cor_str ns = j->service->service_ns, name = j->service->service_name;
    const struct cor_status *error = answer->error;
    struct cor_str port_name;

    if (cor_api_answer_is(answer, 404))
        judge_write(j, cor_available_set(&j->verdict, "False", "ServiceNotFound",
                                         "service/%.*s in \"%.*s\" is not present",
                                         COR_STR_ARG(name), COR_STR_ARG(ns)));
    else if (error)
        judge_write(j, cor_available_set(&j->verdict, "Unknown", "ServiceAccessError",
                                         "service/%.*s in \"%.*s\" cannot be checked due to: %s",
                                         COR_STR_ARG(name), COR_STR_ARG(ns),
                                         cor_status_message(error)));
    else if (!cor_available_checks_ports(answer->object))
        judge_probe(j);
    else if (!cor_available_port_name(answer->object, j->service->service_port, &port_name))
        judge_write(j, cor_available_set(&j->verdict, "False", "ServicePortError",
                                         "service/%.*s in \"%.*s\" is not listening on port %u",
                                         COR_STR_ARG(name), COR_STR_ARG(ns),
                                         j->service->service_port));
    else
        judge_list_slices(j, port_name);
}

/* Does --aggregator-resolve say where the service is? */
static bool is_overridden(const struct cor_availability *av, const struct cor_api_service *s)
{
    char name[2 * COR_RESOLVE_HOST_MAX];

    snprintf(name, sizeof(name), "%.*s.%.*s", COR_STR_ARG(s->service_name),
             COR_STR_ARG(s->service_ns));
    for (size_t i = 0; i < av->config->overrides.n; i++) {
        if (cor_str_eqz(cor_strz(name), av->config->overrides.entries[i].service))
            return true;
    }
    return false;
}

static void judge_begin(struct judge *j)
{
    static const struct cor_api_request_cbs cbs = {.on_done = judge_on_service};

    if (!j->service->is_remote) {
        judge_write(j, cor_available_set(&j->verdict, "True", "Local",
                                         "Local APIServices are always available"));
        return;
    }
    if (is_overridden(j->av, j->service)) {
        judge_probe(j);
        return;
    }
    j->task.req = (struct cor_api_request){.at = {.gvr = followed[FEED_SERVICES],
                                                  .ns = j->service->service_ns,
                                                  .name = j->service->service_name},
                                           .cbs = &cbs};
    cor_api_get(cor_task_port(&j->task), &j->task.req, COR_STR(""));
}

static void availability_reconcile(struct cor_task *task)
{
    struct judge *j = judge_of(task);
    struct cor_availability *av =
        COR_CONTAINER_OF(task->reconciler, struct cor_availability, reconciler);
    const struct api_entry *entry = cor_api_services_find(av->as, task->rec->name);

    j->av = av;
    cor_available_init(&j->verdict);
    cor_buf_init(&j->port_name, COR_API_SERVICE_NAME_MAX);
    if (!entry || !entry->service) {
        cor_task_end(task, 0, NULL);
        return;
    }
    j->service = cor_api_service_ref(entry->service);
    judge_begin(j);
}

/* ---- what is looked at again ---- */

static int availability_enqueue(struct cor_availability *av, struct cor_str name)
{
    return cor_reconciler_enqueue(&av->reconciler, COR_STR(""), name, 0);
}

int cor_availability_look(struct cor_availability *av, const struct api_entry *entry)
{
    if (!entry->service ||
        (!entry->service->is_remote && cor_api_service_is_available(entry->service))) {
        if (entry->service)
            cor_available_metrics_set(&av->as->metrics, entry->service->name, true);
        return 0;
    }
    return availability_enqueue(av, entry->service->name);
}

/* A Service or a slice is there, has changed, or is gone. */
static int trigger_fire(struct cor_feed_handler *h, struct cor_object *object)
{
    struct trigger *t = COR_CONTAINER_OF(h, struct trigger, handler);
    struct cor_view labels = cor_view_member(
        cor_view_member(cor_object_view(object), COR_STR("metadata")), COR_STR("labels"));
    struct cor_str ns = cor_object_namespace(object);
    struct cor_str name =
        t->is_slice ? cor_view_text_or(cor_view_member(labels, COR_STR(SERVICE_LABEL)), NULL, 0, "")
                    : cor_object_name(object);
    int r = 0;

    for (size_t i = 0; i < t->av->nremotes && r == 0; i++) {
        const struct cor_api_service *s = t->av->remotes[i];

        if (cor_str_eq(s->service_name, name) && cor_str_eq(s->service_ns, ns))
            r = availability_enqueue(t->av, s->name);
    }
    return r;
}

static void availability_drop_remotes(struct cor_availability *av)
{
    for (size_t i = 0; i < av->nremotes; i++)
        cor_api_service_unref(av->remotes[i]);
    av->remotes = cor_free(av->remotes);
    av->nremotes = 0;
}

static int availability_collect(struct cor_availability *av)
{
    const struct cor_api_services *as = av->as;
    size_t n = 0;

    availability_drop_remotes(av);
    for (size_t i = 0; i < as->nentries; i++)
        n += as->entries[i]->service && as->entries[i]->service->is_remote;
    if (n == 0)
        return 0;
    av->remotes = cor_calloc(n, sizeof(struct cor_api_service *));
    if (!av->remotes)
        return -COR_ENOMEM;
    for (size_t i = 0; i < as->nentries; i++) {
        if (as->entries[i]->service && as->entries[i]->service->is_remote)
            av->remotes[av->nremotes++] = cor_api_service_ref(as->entries[i]->service);
    }
    return 0;
}

/* Without memory, what was not followed is looked at every 30 s only; the next probe tries again.
 */
void cor_availability_follow(struct cor_availability *av)
{
    struct cor_loop *loop = cor_api_home(av->as->api)->loop;
    int r;

    if (av->on_stopped)
        return;
    r = availability_collect(av);
    if (r == 0 && av->nremotes > 0 && !av->targets)
        r = cor_targets_open(loop, &av->as->follower.port.port, av->config, &av->targets);
    if (r == 0 && av->targets && !av->follower)
        r = cor_remote_follower_open(av->as->api, av->targets, &av->follower);
    for (size_t i = 0; i < FEED_COUNT && r == 0; i++) {
        const struct cor_feed_what what = {.of = {.at = {.gvr = followed[i]}}};

        if (av->nremotes > 0 && !av->feeds[i])
            r = cor_port_controller_follow(av->reconciler.controller, &what,
                                           &av->triggers[i].handler.store, &av->feeds[i], NULL);
        else if (av->nremotes == 0 && av->feeds[i])
            cor_port_controller_unfollow(av->reconciler.controller, COR_STEAL(av->feeds[i]));
    }
    if (r < 0)
        COR_LOG_ERROR("Services cannot be followed", COR_F_STR("err", cor_err_text(r)));
}

/* ---- life ---- */

static void availability_on_closed(void *arg)
{
    struct cor_availability *av = arg;

    av->on_stopped(av->as);
}

static void availability_close_targets(void *arg)
{
    struct cor_availability *av = arg;

    cor_targets_close(COR_STEAL(av->targets), availability_on_closed, av);
}

static void availability_on_stopped(void *arg, const struct cor_status *why)
{
    struct cor_availability *av = arg;

    if (!av->on_stopped)
        return;
    if (av->follower)
        cor_remote_follower_close(COR_STEAL(av->follower), availability_close_targets, av);
    else if (av->targets)
        availability_close_targets(av);
    else
        av->on_stopped(av->as);
}

static struct cor_rate_limiter *availability_limiter(void)
{
    return cor_rate_limiter_new_exponential(FAILED_MIN_MS, AGAIN_MS);
}

int cor_availability_new(struct cor_api_services *as, const struct cor_target_config *config,
                         struct cor_availability **ret_availability, struct cor_status *reterr)
{
    static const struct cor_feed_handler_ops handler = {.show = trigger_fire, .gone = trigger_fire};
    static const struct cor_reconciler_opts opts = {.name = "availability",
                                                    .task_size = sizeof(struct judge),
                                                    .reconciles_max = RECONCILES_MAX,
                                                    .make_limiter = availability_limiter,
                                                    .is_fed_by_owner = true,
                                                    .reconcile = availability_reconcile,
                                                    .task_deinit = judge_deinit};
    struct cor_availability *av = cor_calloc(1, sizeof(*av));
    const struct cor_reconciler_env env = {.port = &as->follower.port.port,
                                           .clock = as->clock,
                                           .rand = &as->follower.rand,
                                           .on_stopped = availability_on_stopped,
                                           .arg = av};
    int r;

    assert(config);
    if (!av)
        return cor_status_set_err(reterr, -COR_ENOMEM);
    av->as = as;
    av->config = config;
    for (size_t i = 0; i < FEED_COUNT; i++) {
        av->triggers[i] = (struct trigger){.av = av, .is_slice = i == FEED_SLICES};
        cor_feed_handler_init(&av->triggers[i].handler, &handler);
    }
    r = cor_reconciler_init(&av->reconciler, &opts, &env, reterr);
    if (r < 0) {
        cor_availability_free(av);
        return r;
    }
    *ret_availability = av;
    return 0;
}

struct cor_availability *cor_availability_free(struct cor_availability *av)
{
    if (!av)
        return NULL;
    assert(!av->targets);
    cor_reconciler_deinit(&av->reconciler);
    availability_drop_remotes(av);
    return cor_free(av);
}

int cor_availability_start(struct cor_availability *av, struct cor_status *reterr)
{
    int r = cor_reconciler_start(&av->reconciler, reterr);

    av->is_started = r == 0;
    return r;
}

void cor_availability_begin(struct cor_availability *av)
{
    cor_reconciler_synced(&av->reconciler);
}

void cor_availability_stop(struct cor_availability *av, uint64_t max_ms,
                           void (*on_stopped)(struct cor_api_services *as))
{
    assert(on_stopped && !av->on_stopped);
    av->on_stopped = on_stopped;
    if (av->is_started)
        cor_reconciler_stop(&av->reconciler, max_ms);
    else
        availability_on_stopped(av, NULL);
}
