/* clang-format off */
/* The TTL-after-finished controller: a Job with spec.ttlSecondsAfterFinished is deleted so long after it has
 * finished. Contract controllers 3.4.
 *
 *   a finished Job with a TTL was created or updated ──► GET (from the cache) ──► its time has not come: again then
 *   ──► GET (live), and the same question ──► DELETE in the foreground, by uid
 *
 * A Job whose condition has no time is an error, and is tried again by the limiter, as in upstream.
 * Thread: the host's loop. */
/* clang-format on */
#include "base/err.h"
#include "coracle/metadata.h"
#include "meta/value/time_text.h"
#include "server/controllers/host/builtin.h"
#include "server/controllers/host/small_controller.h"

#define RECONCILES_MAX 5 /* upstream's workers */

/* names a kind: what the controller is about */
#define JOBS                                                                                       \
    {                                                                                              \
        COR_STR_INIT("batch"), COR_STR_INIT("v1"), COR_STR_INIT("jobs")                            \
    }

struct ttl_task {
    struct cor_task task; /* first */
    bool is_live;         /* the Job comes from the store */
};

static void ttl_on_job(struct cor_api_request *req, const struct cor_api_answer *answer);

static struct cor_view ttl_of(const struct cor_object *job)
{
    return cor_view_member(cor_view_member(cor_object_view(job), COR_STR("spec")),
                           COR_STR("ttlSecondsAfterFinished"));
}

/* The first condition by which the Job has finished; a view of nothing when it has not. */
static struct cor_view finished_condition(const struct cor_object *job)
{
    struct cor_view_iter it = cor_view_iter(cor_view_member(
        cor_view_member(cor_object_view(job), COR_STR("status")), COR_STR("conditions")));

    while (cor_view_next(&it)) {
        struct cor_str type =
            cor_view_text_or(cor_view_member(it.value, COR_STR("type")), NULL, 0, "");

        if ((cor_str_eqz(type, "Complete") || cor_str_eqz(type, "Failed")) &&
            cor_str_eqz(cor_view_text_or(cor_view_member(it.value, COR_STR("status")), NULL, 0, ""),
                        "True"))
            return it.value;
    }
    return cor_view_member((struct cor_view){.json = COR_STR("{}")}, COR_STR("none"));
}

static bool ttl_needs_cleanup(const struct cor_object *job)
{
    int64_t ttl_s;

    return !cor_object_is_being_deleted(job) && cor_view_int(ttl_of(job), &ttl_s) == 0 &&
           cor_view_exists(finished_condition(job));
}

static bool ttl_concerns(const void *arg, const struct cor_control_event *event)
{
    return event->kind != COR_CONTROL_DELETED && ttl_needs_cleanup(event->object);
}

static void ttl_get(struct cor_task *task, struct cor_str version)
{
    static const struct cor_api_request_cbs cbs = {.on_done = ttl_on_job};

    task->req = (struct cor_api_request){
        .at = {.gvr = JOBS, .ns = task->rec->ns, .name = task->rec->name}, .cbs = &cbs};
    cor_api_get(cor_task_port(task), &task->req, version);
}

static void ttl_reconcile(struct cor_task *task)
{
    ttl_get(task, COR_STR("0"));
}

static void ttl_on_deleted(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    cor_task_end_with(COR_CONTAINER_OF(req, struct cor_task, req), answer);
}

static void ttl_delete(struct cor_task *task, const struct cor_object *job)
{
    static const struct cor_api_request_cbs cbs = {.on_done = ttl_on_deleted};
    const struct cor_removal_options opts = {.propagation = COR_STR("Foreground"),
                                             .uid = cor_object_uid(job)};

    task->req.cbs = &cbs;
    cor_api_remove(cor_task_port(task), &task->req, &opts);
}

static void ttl_fail_without_time(struct cor_task *task)
{
    struct cor_status why;
    int r;

    cor_status_init(&why);
    r = cor_status_set(&why, -COR_EINVAL, "unable to find the time when the Job %.*s/%.*s finished",
                       COR_STR_ARG(task->rec->ns), COR_STR_ARG(task->rec->name));
    cor_task_end(task, r, &why);
    cor_status_deinit(&why);
}

static void ttl_on_job(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct ttl_task *t = COR_CONTAINER_OF(req, struct ttl_task, task.req);
    struct cor_reconcile_result later = {.err = 0};
    struct cor_str time;
    int64_t finished_s, ttl_s = 0, left_ms;

    if (answer->error) {
        cor_task_end_with(&t->task, answer);
        return;
    }
    if (!ttl_needs_cleanup(answer->object)) {
        cor_task_end(&t->task, 0, NULL);
        return;
    }
    time = cor_view_text_or(
        cor_view_member(finished_condition(answer->object), COR_STR("lastTransitionTime")), NULL, 0,
        "");
    if (cor_time_parse(time, &finished_s) < 0) {
        ttl_fail_without_time(&t->task);
        return;
    }
    (void)cor_view_int(ttl_of(answer->object), &ttl_s);
    left_ms = (finished_s + ttl_s) * 1000 - cor_task_now_ms(&t->task);
    if (left_ms > 0) {
        later.again_after_ms = left_ms;
        cor_task_done(&t->task, &later);
    } else if (!t->is_live) {
        t->is_live = true;
        ttl_get(&t->task, COR_STR(""));
    } else {
        ttl_delete(&t->task, answer->object);
    }
}

static int ttl_new(const struct cor_server_controller_env *env, void **ret_controller,
                   struct cor_status *reterr)
{
    static const struct cor_control_predicate concerns = {ttl_concerns, NULL};
    /* names a kind: what the controller follows */
    static const struct cor_port_source jobs = {
        .source = {.kind = COR_CONTROL_FOR,
                   .gk = {COR_STR_INIT("batch"), COR_STR_INIT("Job")},
                   .predicates = {&concerns, 1}},
        .what = {.of = {.at = {.gvr = JOBS}}}};
    static const struct cor_reconciler_opts opts = {.name = "ttl-after-finished-controller",
                                                    .task_size = sizeof(struct ttl_task),
                                                    .reconciles_max = RECONCILES_MAX,
                                                    .sources = &jobs,
                                                    .nsources = 1,
                                                    .reconcile = ttl_reconcile};

    return cor_small_controller_new(env, &opts, ret_controller, reterr);
}

const struct cor_server_controller_ops cor_ttl_after_finished_ops = {
    .name = "ttl-after-finished-controller",
    .account = "ttl-after-finished-controller",
    .queues = {"ttl_jobs_to_delete"},
    .new = ttl_new,
    .start = cor_small_controller_start,
    .stop = cor_small_controller_stop,
    .free = cor_small_controller_release,
    .loop = cor_small_controller_loop};
