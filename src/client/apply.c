/* clang-format off */
/* cor_client_apply(): read an object, let the program change it, write what differs; again when
 * another writer was faster. Server-side apply is the same without the reading.
 *
 *   cor_client_apply_send(): one allocation ── mail ──► apply_start()
 *       apply_begin() ─► on_got() ──► apply_mutate() ──► apply_write() ──► on_written()
 *           ▲                            │ nothing differs                │ a conflict, and an
 *           └── timer ◄──────────────────┼────────────────────────────────┘ attempt is left
 *                                        └──► apply_finish() ◄── every other end
 *
 * COR_APPLY_FIELDS goes from apply_begin() to apply_mutate() at once, and to apply_begin() again
 * after a race; a conflict of fields is not a race, since the same fields would meet the same
 * owners. A patch has two requests: on_written() of the first sends the second, to /status. Every
 * failure (of a request, of the program's function, no attempt left, the end of the time, the
 * cancel handle, the client is stopped) ends in apply_finish(), once, with its status. The struct
 * is counted, because the mail of a cancel handle may cross the end. The timer is always set, so
 * that moving it cannot fail.
 * Thread: the loop, except for the functions that send and wait. */
/* clang-format on */
#include "coracle/apply.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/sized.h"
#include "client/client_int.h"
#include "client/client_work.h"
#include "coracle/equality.h"
#include "coracle/status_is.h"
#include "kit/dynamic/dynamic_client.h"
#include "kit/dynamic/retry_on_conflict.h"
#include "loop/timer.h"
#include "meta/object/builder.h"
#include "meta/object/object_patch.h"
#include "meta/status/status.h"

#define NEVER            UINT64_MAX
#define API_VERSION_MAX  512
#define REFUSED_MUTATION "MutateFn cannot mutate object name and/or object namespace"

struct apply {
    struct cor_client_work work;
    struct cor_apply opts; /* its texts are in the following, which are in `text` */
    struct cor_resource_path at;
    struct cor_str kind;
    struct cor_write_options write;
    char *text;
    cor_applied_fn on_applied;
    void *arg;
    struct cor_mail mail;
    /* The loop's. */
    struct cor_dynamic_request *req;
    struct cor_timer timer;
    struct cor_backoff backoff;
    struct cor_rand rand;
    uint64_t end_ms;
    struct cor_object *current, *wanted; /* of this attempt; current NULL: to be created */
    enum cor_apply_result result;        /* what was written */
    int code;                            /* of the answer to a server-side apply */
    bool writes_status;                  /* the request under way is to /status */
};

static void apply_on_gone(struct cor_client_work *work)
{
    struct apply *a = COR_CONTAINER_OF(work, struct apply, work);

    cor_object_unref(a->opts.object);
    cor_free(a->text);
    cor_free(a);
}

static void apply_forget_attempt(struct apply *a)
{
    a->current = cor_object_unref(a->current);
    a->wanted = cor_object_unref(a->wanted);
}

static void apply_finish(struct apply *a, struct cor_object *object, const struct cor_status *error)
{
    cor_timer_cancel(&a->timer);
    cor_client_work_end(&a->work);
    cor_client_leave(a->work.client);
    a->on_applied(a->arg, a->result, object, error);
    apply_forget_attempt(a);
    cor_client_work_release(&a->work);
}

static void apply_give_up(struct cor_client_work *work, const char *text)
{
    struct apply *a = COR_CONTAINER_OF(work, struct apply, work);
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};

    cor_client_give_up(&why, -COR_ECANCELED, text, a->req ? cor_dynamic_failure(a->req) : "");
    if (a->req)
        cor_dynamic_cancel(a->req);
    a->req = NULL;
    apply_finish(a, NULL, &why);
}

/* Sends the next request, with what is left of the time. */
static int apply_send(struct apply *a, const struct cor_api_operation *op,
                      const struct cor_dynamic_cbs *cbs, struct cor_status *reterr)
{
    uint64_t left = 0;
    int r = cor_rest_client_left_ms(a->work.client->rest, a->end_ms, &left);
    const struct cor_dynamic_call call = {.client = a->work.client->rest,
                                          .timeout_ms = left,
                                          .deadline_ms = left,
                                          .cbs = cbs,
                                          .arg = a,
                                          .code = &a->code};

    return r < 0 ? cor_status_set(reterr, r, "the deadline of the request has passed")
                 : cor_dynamic_send(&call, op, &a->req, reterr);
}

/* Is the failure one that another attempt can mend? */
static bool is_race(const struct apply *a, const struct cor_status *error)
{
    int err = error->err;

    if (err == -COR_ECONFLICT)
        return !cor_status_is_field_conflict(error);
    return a->current ? err == -COR_ENOTFOUND && a->opts.how != COR_APPLY_STATUS
                      : err == -COR_EEXIST;
}

static void apply_fail(struct apply *a, const struct cor_status *error)
{
    uint64_t delay_ms, now_ms = cor_loop_now_ms(a->work.client->runtime->loop);

    if (a->opts.retry != COR_RETRY_NEVER && a->wanted && is_race(a, error) &&
        cor_backoff_retry(&a->backoff, now_ms, &a->rand, &delay_ms))
        cor_timer_set(&a->timer, delay_ms);
    else
        apply_finish(a, NULL, error);
}

static int apply_send_patch(struct apply *a, enum cor_merge_diff_part part, struct cor_str version,
                            struct cor_status *reterr);

/* The answer to a write. The patch of the object is followed by that of its status. */
static void on_written(void *arg, const struct cor_response *response)
{
    struct apply *a = arg;
    struct cor_object *object = response->object;
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    int r = 0;

    a->req = NULL;
    if (response->error) {
        apply_fail(a, response->error);
        return;
    }
    if (a->opts.how == COR_APPLY_FIELDS)
        a->result = a->code == 201 ? COR_APPLY_CREATED : COR_APPLY_APPLIED;
    else if (!a->current)
        a->result = COR_APPLY_CREATED;
    else if (!a->writes_status)
        a->result = COR_APPLY_UPDATED;
    else
        a->result = a->result == COR_APPLY_UPDATED ? COR_APPLY_UPDATED_STATUS
                                                   : COR_APPLY_UPDATED_STATUS_ONLY;
    if (a->current && a->opts.how == COR_APPLY_PATCH && !a->writes_status)
        r = apply_send_patch(a, COR_MERGE_DIFF_ONLY, cor_object_resource_version(object), &why);
    if (r < 0)
        apply_finish(a, NULL, &why);
    else if (!a->req)
        apply_finish(a, object, NULL);
}

/* Sends the write `op`, with the options that all of them have. */
static int apply_send_write(struct apply *a, struct cor_api_operation *op,
                            struct cor_status *reterr)
{
    static const struct cor_dynamic_cbs cbs = {.on_done = on_written};

    op->write = a->write;
    if (a->writes_status)
        op->at.subresource = COR_STR("status");
    return apply_send(a, op, &cbs, reterr);
}

/* Sends the patch of this part, unless the part does not differ. */
static int apply_send_patch(struct apply *a, enum cor_merge_diff_part part, struct cor_str version,
                            struct cor_status *reterr)
{
    COR_CLEANUP(cor_patch_freep) struct cor_patch *patch = NULL;
    struct cor_api_operation op = {
        .verb = COR_API_VERB_PATCH, .at = a->at, .patch_type = COR_PATCH_MERGE};
    int r = cor_patch_between_parts(a->current, a->wanted, part,
                                    a->opts.unless_changed ? version : COR_STR(""), &patch, reterr);

    if (r < 0 || cor_patch_is_empty(patch))
        return r;
    a->writes_status = part == COR_MERGE_DIFF_ONLY;
    op.patch = cor_patch_json(patch);
    return apply_send_write(a, &op, reterr);
}

/* Does the object, or its status, differ from what it should be, as controllerutil compares them? A
 * comparison by bytes would update a quantity that the server writes differently forever. 1, 0, or
 * a failure. */
static int apply_differs(const struct apply *a, bool is_status, struct cor_status *reterr)
{
    struct cor_view current, wanted;
    bool is_equal;
    int r;

    if (cor_object_make_json(a->current) < 0 || cor_object_make_json(a->wanted) < 0)
        return cor_status_set(reterr, -COR_ENOMEM, "compare the objects: %s",
                              cor_err_text(-COR_ENOMEM));
    current = cor_object_view(a->current);
    wanted = cor_object_view(a->wanted);
    if (is_status) {
        current = cor_view_member(current, COR_STR("status"));
        wanted = cor_view_member(wanted, COR_STR("status"));
    }
    r = cor_view_equal(current, wanted, &is_equal);
    return r < 0 ? cor_status_set(reterr, r, "compare the objects: %s", cor_err_text(r))
                 : !is_equal;
}

/* Sends what differs. `a->req` stays NULL when nothing does. */
static int apply_write(struct apply *a, struct cor_status *reterr)
{
    bool is_status = a->opts.how == COR_APPLY_STATUS;
    struct cor_api_operation op = {.at = a->at};
    struct cor_str version;
    int r;

    a->writes_status = false;
    if (a->current && a->opts.how == COR_APPLY_PATCH) {
        version = cor_object_resource_version(a->current);
        r = apply_send_patch(a, COR_MERGE_DIFF_BUT, version, reterr);
        if (r == 0 && !a->req)
            r = apply_send_patch(a, COR_MERGE_DIFF_ONLY, version, reterr);
        return r;
    }
    if (a->current) {
        r = apply_differs(a, is_status, reterr);
        if (r <= 0)
            return r;
    }
    if (a->opts.how == COR_APPLY_FIELDS) {
        if (cor_object_make_json(a->wanted) < 0)
            return cor_api_cannot_send(-COR_ENOMEM, reterr);
        op.verb = COR_API_VERB_PATCH;
        op.patch_type = COR_PATCH_APPLY;
        op.patch = cor_object_json(a->wanted);
        return apply_send_write(a, &op, reterr);
    }
    a->writes_status = is_status;
    op.verb = a->current ? COR_API_VERB_UPDATE : COR_API_VERB_CREATE;
    op.object = a->wanted;
    return apply_send_write(a, &op, reterr);
}

/* What every object that is created or applied has. An object to begin with may have an apiVersion
 * that is not that of the resource: that of Scale is autoscaling/v1. */
static void name_object(const struct apply *a, struct cor_builder *b)
{
    const struct cor_gvr *gvr = &a->at.gvr;
    char api_version[API_VERSION_MAX];
    int n = snprintf(api_version, sizeof(api_version), "%.*s%s%.*s", COR_STR_ARG(gvr->group),
                     gvr->group.n > 0 ? "/" : "", COR_STR_ARG(gvr->version));

    if (n < 0 || (size_t)n >= sizeof(api_version))
        cor_builder_refuse(b, -COR_EINVAL, "apiVersion: the group or version is too long");
    if (!a->opts.object || cor_object_api_version(a->opts.object).n == 0)
        cor_builder_set_text(b, "apiVersion", cor_strz(api_version));
    cor_builder_set_text(b, "kind", a->kind);
    if (a->at.ns.n > 0)
        cor_builder_set_text(b, "metadata.namespace", a->at.ns);
    cor_builder_set_text(b, "metadata.name", a->at.name);
}

/* Lets the program make `wanted`. */
static int apply_mutate(struct apply *a, struct cor_status *reterr)
{
    COR_CLEANUP(cor_builder_freep) struct cor_builder *b = NULL;
    int r = cor_builder_new(a->current ? a->current : a->opts.object, &b);

    if (r < 0)
        return cor_status_set(reterr, r, "change the object: %s", cor_err_text(r));
    if (!a->current)
        name_object(a, b);
    r = a->opts.mutate ? a->opts.mutate(a->opts.arg, a->current, b) : 0;
    if (r < 0 && cor_builder_failure(b) == 0)
        return cor_status_set(reterr, r, "%s", cor_err_text(r));
    r = cor_builder_finish(b, &a->wanted, reterr);
    if (r < 0)
        return r;
    if (!cor_str_eq(cor_object_name(a->wanted), a->at.name) ||
        !cor_str_eq(cor_object_namespace(a->wanted), a->at.ns))
        return cor_status_set(reterr, -COR_EINVAL, REFUSED_MUTATION);
    return 0;
}

/* Makes what is wanted of `current`, and sends what differs, or ends the call. */
static void apply_change(struct apply *a)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    int r = apply_mutate(a, &why);

    if (r == 0)
        r = apply_write(a, &why);
    if (r < 0)
        apply_finish(a, NULL, &why);
    else if (!a->req)
        apply_finish(a, a->current, NULL);
}

static void on_got(void *arg, const struct cor_response *response)
{
    struct apply *a = arg;
    const struct cor_status *error = response->error;
    bool creates = error && error->err == -COR_ENOTFOUND && a->opts.how != COR_APPLY_STATUS;

    a->req = NULL;
    if (error && !creates) {
        apply_finish(a, NULL, error);
        return;
    }
    if (response->object)
        a->current = cor_object_ref(response->object);
    apply_change(a);
}

/* Begins an attempt. The call may have ended when this returns. */
static void apply_begin(struct apply *a)
{
    static const struct cor_dynamic_cbs cbs = {.on_done = on_got};
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    const struct cor_api_operation op = {.verb = COR_API_VERB_GET, .at = a->at};

    apply_forget_attempt(a);
    if (a->opts.how == COR_APPLY_FIELDS)
        apply_change(a);
    else if (apply_send(a, &op, &cbs, &why) < 0)
        apply_finish(a, NULL, &why);
}

static void on_retry_timer(struct cor_timer *timer)
{
    struct apply *a = COR_CONTAINER_OF(timer, struct apply, timer);

    cor_timer_set(&a->timer, NEVER);
    apply_begin(a);
}

static void apply_start(struct cor_mail *mail)
{
    struct apply *a = COR_CONTAINER_OF(mail, struct apply, mail);
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    COR_CLEANUP(cor_cancel_unrefp) struct cor_cancel *cancel = COR_STEAL(a->opts.cancel);
    struct cor_loop *loop = a->work.client->runtime->loop;
    int r;

    cor_rand_init(&a->rand);
    cor_backoff_init(&a->backoff,
                     a->opts.retry == COR_RETRY_PATIENTLY ? &COR_RETRY_BACKOFF : &COR_RETRY_DEFAULT,
                     cor_loop_now_ms(loop));
    cor_timer_init(&a->timer, loop, on_retry_timer);
    a->end_ms = cor_rest_client_end_ms(a->work.client->rest, a->opts.timeout_ms);
    if (!cor_client_work_begin(&a->work, cancel))
        return;
    r = cor_timer_set(&a->timer, NEVER);
    if (r < 0) {
        cor_status_set(&why, r, "%s", cor_err_text(r));
        apply_finish(a, NULL, &why);
        return;
    }
    apply_begin(a);
}

static int apply_copy_texts(struct apply *a)
{
    const struct cor_apply *o = &a->opts;
    struct cor_str *const strings[] = {
        &a->at.gvr.group,   &a->at.gvr.version, &a->at.gvr.resource,     &a->at.ns,
        &a->at.name,        &a->kind,           &a->write.field_manager, &a->write.field_validation,
        &a->at.subresource,
    };

    a->at = (struct cor_resource_path){
        .gvr = {cor_strz(o->resource.group), cor_strz(o->resource.version),
                cor_strz(o->resource.plural)},
        .ns = cor_strz(o->ns),
        .name = cor_strz(o->name),
        .subresource = cor_strz(o->subresource),
    };
    a->kind = cor_strz(o->kind);
    if (o->object) {
        a->at.ns = a->at.ns.n > 0 ? a->at.ns : cor_object_namespace(o->object);
        a->at.name = a->at.name.n > 0 ? a->at.name : cor_object_name(o->object);
        a->kind = a->kind.n > 0 ? a->kind : cor_object_kind(o->object);
    }
    a->write = (struct cor_write_options){.dry_run = o->dry_run,
                                          .field_manager = cor_strz(o->field_manager),
                                          .field_validation = cor_strz(o->field_validation),
                                          .force = o->force ? COR_TRUE : COR_UNSET};
    return cor_str_gather(strings, COR_ARRAY_LEN(strings), &a->text);
}

/* Returns whether the members that the call needs are set, and none that belongs to another `how`.
 */
static bool apply_is_complete(const struct cor_apply *o)
{
    bool has_name = (o->name && *o->name) || (o->object && cor_object_name(o->object).n > 0);
    bool has_kind = (o->kind && *o->kind) || (o->object && cor_object_kind(o->object).n > 0);

    if (o->how == COR_APPLY_FIELDS)
        return has_name && has_kind && o->field_manager && *o->field_manager;
    return has_name && (has_kind || o->how == COR_APPLY_STATUS) && !o->object && !o->force &&
           !o->subresource;
}

int cor_client_apply_send(struct cor_client *client, const struct cor_apply *apply,
                          cor_applied_fn on_applied, void *arg)
{
    struct cor_apply own;
    struct apply *a;
    int r = cor_sized_copy(&own, sizeof(own), apply);

    if (r < 0)
        return r;
    if (!apply_is_complete(&own))
        return -COR_EINVAL;
    r = cor_client_enter(client);
    if (r < 0)
        return r;
    own.timeout_ms = cor_client_timeout_ms(client, own.timeout_ms);
    a = cor_calloc(1, sizeof(*a));
    if (a)
        a->opts = own;
    if (!a || apply_copy_texts(a) < 0) {
        cor_free(a);
        cor_client_leave(client);
        return -COR_ENOMEM;
    }
    if (own.object)
        cor_object_ref(own.object);
    /* The handle must be there when the mail arrives. */
    if (own.cancel)
        cor_cancel_ref(own.cancel);
    a->work.client = client;
    a->work.give_up = apply_give_up;
    a->work.on_gone = apply_on_gone;
    a->on_applied = on_applied;
    a->arg = arg;
    a->mail.on_mail = apply_start;
    cor_loop_post_always(client->runtime->loop, &a->mail);
    return 0;
}

/* The call that waits: its result, on the stack of the caller. */
struct applied {
    struct cor_waiter done;
    enum cor_apply_result result;
    struct cor_object *object;
    struct cor_status *reterr;
    int r;
};

static void on_applied(void *arg, enum cor_apply_result result, struct cor_object *object,
                       const struct cor_status *error)
{
    struct applied *w = arg;

    if (error) {
        w->r = error->err;
        if (w->reterr)
            cor_status_copy(w->reterr, error);
    } else {
        w->result = result;
        w->object = cor_object_ref(object);
    }
    cor_waiter_set(&w->done);
}

static const char *apply_needs(const struct cor_apply *apply)
{
    struct cor_apply own = {0};

    if (cor_sized_copy(&own, sizeof(own), apply) == 0 && own.how == COR_APPLY_FIELDS)
        return "name, kind, fieldManager and size must be set";
    return own.object || own.force || own.subresource
               ? "object, force and subresource are for COR_APPLY_FIELDS"
               : "name, kind and size must be set";
}

int cor_client_apply(struct cor_client *client, const struct cor_apply *apply,
                     enum cor_apply_result *ret_result, struct cor_object **ret_object,
                     struct cor_status *reterr)
{
    struct cor_runtime *rt = client->runtime; /* the client may be freed before the wait begins */
    struct applied w = {.reterr = reterr};
    int r = cor_runtime_may_wait(rt, reterr);

    if (r < 0)
        return r;
    cor_waiter_init(&w.done);
    r = cor_client_apply_send(client, apply, on_applied, &w);
    if (r < 0)
        cor_status_set(reterr, r, "apply an object: %s",
                       r == -COR_ECANCELED ? COR_CLIENT_STOPPED
                       : r == -COR_EINVAL  ? apply_needs(apply)
                                           : cor_err_text(r));
    else
        r = cor_runtime_wait(rt, &w.done, COR_WAIT_FOREVER);
    cor_waiter_deinit(&w.done);
    if (r == 0)
        r = w.r;
    if (r == 0 && ret_result)
        *ret_result = w.result;
    if (r == 0 && ret_object)
        *ret_object = COR_STEAL(w.object);
    cor_object_unref(w.object);
    return r;
}

const char *cor_apply_result_name(enum cor_apply_result result)
{
    static const char *const names[] = {"unchanged",     "created",           "updated",
                                        "updatedStatus", "updatedStatusOnly", "applied"};

    return (size_t)result < COR_ARRAY_LEN(names) ? names[result] : "";
}
