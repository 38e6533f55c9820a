/* clang-format off */
/* The passes over the objects that the server makes (bootstrap_keeper.h).
 *
 *   for each resource of the table: list it (from the cache) ──► for each object of the list: a job, if it
 *   differs or is unwanted ──► for each row that was not in the list: a job that creates it ──► all jobs
 *   are sent at once, so that they share commits of the store ──► the last answer: the next resource
 *   then: list the priority levels, note their names ──► list the flow schemas: a job for each whose
 *   condition Dangling is not as it should be ──► on_done
 *
 * A repair is a JSON patch that replaces the spec as a whole, with the resourceVersion that was judged.
 * The condition is a strategic merge patch of the status, so that other conditions stay.
 * Failures: the first one is kept for on_done, the other jobs and steps go on. A list that fails skips
 * what depends on it: objects that may exist are not created, and flow schemas whose levels are not known
 * are not judged. Without memory a job is left to the next pass.
 * Thread: that of the port. */
/* clang-format on */
#include "server/instance/bootstrap_keeper.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "coracle/view.h"
#include "meta/object/object_edit.h"
#include "meta/value/time_text.h"
#include "schema/kinds/bootstrap_objects.h"
#include "json/write/print.h"

#define REQUEST_MS  30000
#define BODY_MAX    (64u * 1024)
#define LEVELS_MAX  (1u << 20)
#define AUTO_UPDATE "apf.kubernetes.io/autoupdate-spec"
/* The same as a part of a JSON pointer. */
#define AUTO_UPDATE_PART "apf.kubernetes.io~1autoupdate-spec"
/* Who owns the fields, as upstream. */
#define PRODUCER "api-priority-and-fairness-config-producer-v1"
#define CONSUMER "api-priority-and-fairness-config-consumer-v1"

/* What a step does with the objects of its list. */
enum bootstrap_step { STEP_REPAIR, STEP_NOTE_LEVELS, STEP_SET_CONDITIONS };

/* names a kind: the resources of api/all.objects */
#define LEVEL_KIND  "PriorityLevelConfiguration"
#define SCHEMA_KIND "FlowSchema"
static const struct {
    enum bootstrap_step step;
    struct cor_str kind;
} steps[] = {
    {STEP_REPAIR, COR_STR_INIT("PriorityClass")},     {STEP_REPAIR, COR_STR_INIT(LEVEL_KIND)},
    {STEP_REPAIR, COR_STR_INIT(SCHEMA_KIND)},         {STEP_NOTE_LEVELS, COR_STR_INIT(LEVEL_KIND)},
    {STEP_SET_CONDITIONS, COR_STR_INIT(SCHEMA_KIND)},
};

/* A request that changes one object. */
struct job {
    struct cor_api_request req;
    struct cor_bootstrap_keeper *keeper;
    struct cor_dlist link; /* in the keeper's `jobs`, until the request has ended */
    enum { JOB_CREATE, JOB_REPAIR, JOB_DELETE, JOB_STATUS } what;
    bool is_produced; /* JOB_CREATE: the object is one of flow control */
    struct cor_buf name, body;
};

static int keeper_on_item(struct cor_api_request *req, struct cor_object *item);
static void keeper_on_list(struct cor_api_request *req, const struct cor_api_answer *answer);
static void job_on_answer(struct cor_api_request *req, const struct cor_api_answer *answer);
static void keeper_next_step(struct cor_bootstrap_keeper *k);

int cor_bootstrap_keeper_init(struct cor_bootstrap_keeper *k, struct cor_api_port *port,
                              const struct cor_clock *clock,
                              const struct cor_bootstrap_object *objects, size_t nobjects)
{
    static const struct cor_api_request_cbs cbs = {.on_item = keeper_on_item,
                                                   .on_done = keeper_on_list};

    assert(nobjects > 0);
    *k = (struct cor_bootstrap_keeper){
        .port = port, .clock = clock, .objects = objects, .nobjects = nobjects};
    k->list = (struct cor_api_request){.timeout_ms = REQUEST_MS, .cbs = &cbs};
    cor_buf_init(&k->levels, LEVELS_MAX);
    cor_dlist_init(&k->jobs);
    k->present = cor_calloc(nobjects, sizeof(k->present[0]));
    return k->present ? 0 : -COR_ENOMEM;
}

void cor_bootstrap_keeper_deinit(struct cor_bootstrap_keeper *k)
{
    assert(k->njobs == 0 && !cor_api_is_under_way(&k->list));
    cor_buf_deinit(&k->levels);
    k->present = cor_free(k->present);
}

/* The row of the object that has this name, of the resource of the present step; NULL: none. */
static const struct cor_bootstrap_object *keeper_row(const struct cor_bootstrap_keeper *k,
                                                     struct cor_str name)
{
    for (size_t i = 0; i < k->nobjects; i++)
        if (cor_str_eq(k->objects[i].kind, steps[k->step].kind) &&
            cor_str_eq(k->objects[i].name, name))
            return &k->objects[i];
    return NULL;
}

/* ---- jobs ---- */

static void job_free(struct job *job)
{
    cor_dlist_remove(&job->link);
    job->keeper->njobs--;
    cor_buf_deinit(&job->name);
    cor_buf_deinit(&job->body);
    cor_free(job);
}

static void keeper_note(struct cor_bootstrap_keeper *k, int err, const char *name, const char *why)
{
    COR_LOG_DEBUG("an object of the server could not be checked", COR_F_STR("object", name),
                  COR_F_STR("answer", why), COR_F_ERR(err));
    if (k->err == 0)
        k->err = err;
}

/* A job for the object with this name; its body is still to be written. NULL: there is no memory,
 * which is noted, or the pass has enough jobs. */
static struct job *keeper_add_job(struct cor_bootstrap_keeper *k, unsigned what,
                                  struct cor_str name)
{
    static const struct cor_api_request_cbs cbs = {.on_done = job_on_answer};
    struct job *job = k->njobs < COR_BOOTSTRAP_JOBS_MAX ? cor_calloc(1, sizeof(*job)) : NULL;

    if (!job) {
        if (k->njobs < COR_BOOTSTRAP_JOBS_MAX)
            keeper_note(k, -COR_ENOMEM, "", "");
        return NULL;
    }
    job->keeper = k;
    job->what = what;
    job->req = (struct cor_api_request){.timeout_ms = REQUEST_MS, .cbs = &cbs};
    job->req.at.gvr = k->list.at.gvr;
    cor_buf_init(&job->name, BODY_MAX);
    cor_buf_init(&job->body, BODY_MAX);
    cor_dlist_push(&k->jobs, &job->link);
    k->njobs++;
    if (cor_buf_adds(&job->name, name) < 0) {
        keeper_note(k, -COR_ENOMEM, "", "");
        job_free(job);
        return NULL;
    }
    job->req.at.name = cor_buf_str(&job->name);
    return job;
}

/* The body of the job was written with the result `r`. */
static void job_keep_if(struct job *job, int r)
{
    if (r == 0)
        return;
    keeper_note(job->keeper, r, cor_buf_z(&job->name), "");
    job_free(job);
}

static void job_send(struct job *job)
{
    static const struct cor_write_options produced = {.field_manager = COR_STR_INIT(PRODUCER)};
    static const struct cor_write_options consumed = {.field_manager = COR_STR_INIT(CONSUMER)};
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    struct cor_api_port *port = job->keeper->port;
    struct cor_str body = cor_buf_str(&job->body);

    switch (job->what) {
    case JOB_CREATE:
        if (cor_object_from_json(body, &object, &job->req.refusal) < 0)
            cor_api_refuse(port, &job->req);
        else
            cor_api_create(port, &job->req, object, job->is_produced ? &produced : NULL);
        break;
    case JOB_REPAIR:
        cor_api_patch(port, &job->req, COR_PATCH_JSON, body, &produced);
        break;
    case JOB_DELETE:
        cor_api_remove(port, &job->req, NULL);
        break;
    case JOB_STATUS:
        job->req.at.subresource = COR_STR("status");
        cor_api_patch(port, &job->req, COR_PATCH_STRATEGIC, body, &consumed);
        break;
    }
}

static void job_on_answer(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct job *job = COR_CONTAINER_OF(req, struct job, req);
    struct cor_bootstrap_keeper *k = job->keeper;
    /* Another writer was faster: the object exists, has changed, or no longer exists. */
    bool is_late =
        job->what == JOB_CREATE ? cor_api_answer_is(answer, 409) : cor_api_answer_is_late(answer);

    if (answer->error && !is_late)
        keeper_note(k, answer->error->err, cor_buf_z(&job->name),
                    cor_status_message(answer->error));
    job_free(job);
    if (cor_dlist_empty(&k->jobs)) {
        k->step++;
        keeper_next_step(k);
    }
}

/* ---- what differs ---- */

/* The annotation as Go's strconv.ParseBool() reads it: 1, 0, or -1 when it is absent or no boolean.
 */
static int auto_update_of(const struct cor_object *object)
{
    static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
    static const char *const no[] = {"0", "f", "F", "false", "FALSE", "False"};
    struct cor_str text =
        cor_view_text_or(cor_object_annotation(object, COR_STR(AUTO_UPDATE)), NULL, 0, "");

    for (size_t i = 0; i < COR_ARRAY_LEN(yes); i++) {
        if (cor_str_eqz(text, yes[i]))
            return 1;
        if (cor_str_eqz(text, no[i]))
            return 0;
    }
    return -1;
}

static void write_operation(struct cor_json_writer *w, const char *op, const char *path,
                            struct cor_str value)
{
    cor_json_print(w, "{op:%s,path:%s,value:%j}", op, path, value);
}

/* Adds a job when the object differs from its row. */
static void keeper_judge(struct cor_bootstrap_keeper *k, const struct cor_bootstrap_object *row,
                         const struct cor_object *object)
{
    struct cor_str spec = cor_object_member(object, COR_STR("spec"));
    int annotated = auto_update_of(object);
    bool updates = row->rule == COR_BOOTSTRAP_MANDATORY || annotated == 1 ||
                   (annotated < 0 && cor_object_meta_int(object, COR_STR("generation"), 0) == 1);
    bool is_spec_wrong = updates && row->is_spec_compared && !cor_str_eq(spec, row->spec);
    bool is_annotation_wrong = annotated != (int)updates;
    struct cor_json_writer w;
    struct job *job;

    if (row->rule == COR_BOOTSTRAP_ONCE || (!is_spec_wrong && !is_annotation_wrong))
        return;
    job = keeper_add_job(k, JOB_REPAIR, row->name);
    if (!job)
        return;
    cor_json_writer_init(&w, &job->body);
    cor_json_print(&w, "[{op:'replace',path:'/metadata/resourceVersion',value:%s}",
                   cor_object_resource_version(object));
    if (is_spec_wrong)
        write_operation(&w, "replace", "/spec", row->spec);
    if (is_annotation_wrong && !cor_object_meta_member(object, COR_STR("annotations")).p)
        write_operation(&w, "add", "/metadata/annotations", COR_STR("{}"));
    if (is_annotation_wrong)
        write_operation(&w, "add", "/metadata/annotations/" AUTO_UPDATE_PART,
                        updates ? COR_STR("\"true\"") : COR_STR("\"false\""));
    cor_json_end_array(&w);
    job_keep_if(job, cor_json_writer_finish(&w));
}

static bool keeper_has_level(const struct cor_bootstrap_keeper *k, struct cor_str name)
{
    struct cor_str rest = cor_buf_str(&k->levels);

    while (rest.n > 0)
        if (cor_str_eq(cor_str_cut(&rest, '\n'), name))
            return true;
    return false;
}

/* Adds a job when the condition Dangling of a flow schema is not as it should be. Only status and
 * message are compared, as upstream does. */
static void keeper_judge_condition(struct cor_bootstrap_keeper *k, const struct cor_object *object)
{
    struct cor_view view = cor_object_view(object), condition = {{0}, 0};
    struct cor_view level = cor_view_member(cor_view_member(cor_view_member(view, COR_STR("spec")),
                                                            COR_STR("priorityLevelConfiguration")),
                                            COR_STR("name"));
    struct cor_view_iter it = cor_view_iter(
        cor_view_member(cor_view_member(view, COR_STR("status")), COR_STR("conditions")));
    struct cor_str name = cor_view_text_or(level, NULL, 0, "");
    bool exists = keeper_has_level(k, name);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf message;
    char time[COR_TIME_TEXT_MAX], held[512];
    struct cor_json_writer w;
    struct job *job;

    cor_buf_init(&message, BODY_MAX);
    if (cor_buf_addf(&message,
                     "This FlowSchema references the PriorityLevelConfiguration object named "
                     "\"%.*s\" %s",
                     (int)name.n, name.p,
                     exists ? "and it exists" : "but there is no such object") < 0) {
        keeper_note(k, -COR_ENOMEM, "", "");
        return;
    }
    while (cor_view_next(&it))
        if (cor_str_eqz(cor_view_text_or(cor_view_member(it.value, COR_STR("type")), NULL, 0, ""),
                        "Dangling"))
            condition = it.value;
    if (cor_str_eqz(cor_view_text_or(cor_view_member(condition, COR_STR("status")), NULL, 0, ""),
                    exists ? "False" : "True") &&
        cor_str_eq(cor_view_text_or(cor_view_member(condition, COR_STR("message")), held,
                                    sizeof(held), ""),
                   cor_buf_str(&message)))
        return;
    job = keeper_add_job(k, JOB_STATUS, cor_object_name(object));
    if (!job)
        return;
    cor_json_writer_init(&w, &job->body);
    cor_json_print(&w,
                   "{status:{conditions:[{lastTransitionTime:%s,message:%s,reason:%s,"
                   "status:%s,type:'Dangling'}]}}",
                   cor_time_print(cor_clock_wall_ms(k->clock) / 1000, time), cor_buf_str(&message),
                   exists ? COR_STR("Found") : COR_STR("NotFound"),
                   exists ? COR_STR("False") : COR_STR("True"));
    job_keep_if(job, cor_json_writer_finish(&w));
}

/* Does the annotation mean that the server maintains the object? It has no meaning for kinds whose
 * rows are created once. */
static bool keeper_owns_kind(const struct cor_bootstrap_keeper *k)
{
    for (size_t i = 0; i < k->nobjects; i++)
        if (cor_str_eq(k->objects[i].kind, steps[k->step].kind))
            return k->objects[i].rule != COR_BOOTSTRAP_ONCE;
    return false;
}

/* ---- steps ---- */

static int keeper_on_item(struct cor_api_request *req, struct cor_object *item)
{
    struct cor_bootstrap_keeper *k = COR_CONTAINER_OF(req, struct cor_bootstrap_keeper, list);
    const struct cor_bootstrap_object *row;
    int r = 0;

    switch (steps[k->step].step) {
    case STEP_REPAIR:
        row = keeper_row(k, cor_object_name(item));
        if (row) {
            k->present[row - k->objects] = true;
            keeper_judge(k, row, item);
        } else if (keeper_owns_kind(k) && auto_update_of(item) == 1) {
            (void)keeper_add_job(k, JOB_DELETE, cor_object_name(item));
        }
        break;
    case STEP_NOTE_LEVELS:
        r = cor_buf_adds(&k->levels, cor_object_name(item));
        if (r == 0)
            r = cor_buf_addc(&k->levels, '\n');
        break;
    case STEP_SET_CONDITIONS:
        keeper_judge_condition(k, item);
        break;
    }
    return r;
}

static void keeper_add_missing(struct cor_bootstrap_keeper *k)
{
    for (size_t i = 0; i < k->nobjects; i++) {
        const struct cor_bootstrap_object *row = &k->objects[i];
        struct job *job;

        if (!cor_str_eq(row->kind, steps[k->step].kind) || k->present[i])
            continue;
        job = keeper_add_job(k, JOB_CREATE, row->name);
        if (!job)
            return;
        job->is_produced = row->rule != COR_BOOTSTRAP_ONCE;
        /* The name is in the body. */
        job->req.at.name = COR_STR("");
        job_keep_if(job, cor_buf_adds(&job->body, row->body));
    }
}

static void keeper_end(struct cor_bootstrap_keeper *k)
{
    void (*on_done)(void *arg, int err) = COR_STEAL(k->on_done);

    on_done(k->arg, k->err);
}

static void keeper_on_list(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_bootstrap_keeper *k = COR_CONTAINER_OF(req, struct cor_bootstrap_keeper, list);
    bool is_sent = false;

    if (answer->error) {
        keeper_note(k, answer->error->err, steps[k->step].kind.p,
                    cor_status_message(answer->error));
        COR_DLIST_FOREACH_SAFE(it, &k->jobs)
            job_free(COR_CONTAINER_OF(it, struct job, link));
        /* Without the levels the flow schemas cannot be judged. */
        k->step = steps[k->step].step == STEP_NOTE_LEVELS ? COR_ARRAY_LEN(steps) : k->step + 1;
        keeper_next_step(k);
        return;
    }
    if (steps[k->step].step == STEP_REPAIR)
        keeper_add_missing(k);
    COR_DLIST_FOREACH(it, &k->jobs) {
        job_send(COR_CONTAINER_OF(it, struct job, link));
        is_sent = true;
    }
    if (!is_sent) {
        k->step++;
        keeper_next_step(k);
    }
}

static void keeper_next_step(struct cor_bootstrap_keeper *k)
{
    static const struct cor_list_query from_cache = {
        .list = {.resource_version = COR_STR_INIT("0")}};
    const struct cor_bootstrap_object *row = k->objects;

    if (k->step == COR_ARRAY_LEN(steps)) {
        keeper_end(k);
        return;
    }
    while (!cor_str_eq(row->kind, steps[k->step].kind)) {
        row++;
        assert(row < k->objects + k->nobjects);
    }
    if (steps[k->step].step == STEP_NOTE_LEVELS)
        cor_buf_reset(&k->levels);
    k->list.at.gvr = row->gvr;
    cor_api_list(k->port, &k->list, &from_cache);
}

void cor_bootstrap_keeper_check(struct cor_bootstrap_keeper *k, void (*on_done)(void *arg, int err),
                                void *arg)
{
    assert(!k->on_done && on_done && cor_dlist_empty(&k->jobs));
    k->on_done = on_done;
    k->arg = arg;
    k->err = 0;
    memset(k->present, 0, k->nobjects * sizeof(k->present[0]));
    k->step = 0;
    keeper_next_step(k);
}

void cor_bootstrap_keeper_cancel(struct cor_bootstrap_keeper *k)
{
    cor_api_cancel(k->port, &k->list);
    COR_DLIST_FOREACH_SAFE(it, &k->jobs) {
        struct job *job = COR_CONTAINER_OF(it, struct job, link);

        cor_api_cancel(k->port, &job->req);
        job_free(job);
    }
    k->on_done = NULL;
}
