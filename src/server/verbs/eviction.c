/* clang-format off */
/* POST pods/eviction: deletes a pod if its disruption budget (PodDisruptionBudget, PDB) permits it.
 *
 *   the stages decode to convert of the Eviction (server/write/write.h), the points of admission
 *         │
 *   ┌──► read the pod ── terminal phase, or deletion has begun ───────────────┐ no budget is asked
 *   │     │          └── Pending ──► pin the pod's revision ──────────────────┤
 *   │     ▼                                                                   │
 *   │  list the budgets of the namespace, choose the one that selects the pod │
 *   │     │  none ────────────────────────────────────────────────────────────┤
 *   │     │  the pod is not ready and the budget spares such pods             │
 *   │     │             └──► pin the pod's revision ──────────────────────────┤
 *   │     ▼                                                                   │
 *   │  take a disruption: guaranteed update of the budget's status ───────────┤
 *   │                                                                         ▼
 *   │        mark: guaranteed update that sets the pod's condition DisruptionTarget
 *   │                                                                         ▼
 *   └── 409 and may_retry ◄──────────────────────────────── delete the pod ──► 201 with a Status
 *
 * "Pin" means that the deletion gets the judged resourceVersion as a precondition, unless the
 * client gave one: the pod is deleted in the state that was judged, or not at all.
 *
 * What happens when a step fails:
 *   - reading, listing, storing: the store's failure is the answer, as of any verb;
 *   - more than one budget selects the pod: 500 in upstream's words;
 *   - the budget has no disruption left, or its status is older than its spec: 429 (disruption.c);
 *   - the pod changed between judging and deleting (409): if no budget was involved (`may_retry`)
 *     the eviction begins again with a newer pod, at most ROUNDS_MAX times, otherwise the client
 *     gets the 409. A budget that spared an unready pod answers 429 instead, because the pod may
 *     have become ready;
 *   - the deletion fails after a disruption was taken: the disruption stays taken, as upstream's;
 *     the disruption controller gives it back when the pod does not go.
 * In a dry run nothing is stored: the budget's step stops, marking is left out, and the deletion is
 * a dry run.
 * Thread: the call's loop. Every callback of the store begins with
 * cor_call_end_op() and returns when the reader has gone. */
/* clang-format on */
#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "meta/names/key.h"
#include "meta/object/object_edit.h"
#include "schema/convert/conversion.h"
#include "server/strategy/status_conditions.h"
#include "server/verbs/delete.h"
#include "server/verbs/disruption.h"
#include "server/write/write.h"
#include "server/write/write_options.h"
#include "json/text/scan.h"

#define ROUNDS_MAX 16

struct eviction_call {
    struct cor_write write; /* of the Eviction, which is not stored */
    struct cor_delete_options options;
    struct cor_delete_op op;
    struct cor_object *pod;         /* as it was read last */
    struct cor_backing *budgets;    /* where budgets live */
    struct cor_list_cursor *cursor; /* over those of the namespace */
    struct cor_object *budget;      /* the pod's; NULL: it has none, or none was asked */
    struct cor_buf budget_key;
    bool has_revision; /* the client gave a resourceVersion as a precondition */
    bool may_retry;    /* no budget was asked, so that a newer state of the pod may be judged */
    bool is_spared;    /* the budget spares unready pods, and the pod is not ready */
    int decided;       /* how the last step ended; < 0: its failure is in the status */
    unsigned rounds;
};

static struct eviction_call *eviction_of(struct cor_call *call)
{
    assert(call->verb == &cor_verb_eviction);
    return COR_CONTAINER_OF(call, struct eviction_call, write.call);
}

static void eviction_read_pod(struct eviction_call *ev);

/* After a failure that is in the status: begins again with a newer pod, or answers. */
static void eviction_again_or_fail(struct eviction_call *ev)
{
    struct cor_call *call = &ev->write.call;

    if (call->status.err == -COR_ECONFLICT && ev->may_retry && ++ev->rounds < ROUNDS_MAX)
        eviction_read_pod(ev);
    else
        cor_call_fail(call);
}

/* Lets the deletion remove `pod` in this state only. 0, or -COR_ENOMEM in the status. */
static int eviction_pin(struct eviction_call *ev, const struct cor_object *pod)
{
    struct cor_str rv = cor_object_resource_version(pod);

    cor_free(ev->options.resource_version);
    ev->options.resource_version = cor_strndup(rv.p, rv.n);
    if (ev->options.resource_version)
        return 0;
    return cor_status_set(&ev->write.call.status, -COR_ENOMEM, "out of memory");
}

static void eviction_on_deleted(struct cor_delete_op *op, int err)
{
    struct eviction_call *ev = COR_CONTAINER_OF(op, struct eviction_call, op);

    if (err == 0) {
        cor_call_reply_success(op->call, 201);
        return;
    }
    if (err == -COR_ECONFLICT && ev->is_spared && !ev->has_revision) {
        (void)cor_disruption_is_behind(cor_object_name(ev->budget), &op->call->status);
        cor_call_fail(op->call);
        return;
    }
    eviction_again_or_fail(ev);
}

/* The pod with the condition that tells its owner why it goes. 0, or a failure in the status. */
static int eviction_make_mark(struct eviction_call *ev, const struct cor_object *pod,
                              struct cor_object **ret_marked)
{
    const struct cor_condition target = {.type = "DisruptionTarget",
                                         .status = "True",
                                         .reason = "EvictionByEvictionAPI",
                                         .message = "Eviction API: evicting",
                                         .is_probed = true};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf status = {0};
    struct cor_object_edit edit = {
        .kind = cor_object_kind(pod),
        .api_version = cor_object_api_version(pod),
        .top = cor_object_json(pod),
        .metadata = cor_object_metadata(pod),
    };
    int r;

    cor_buf_init(&status, COR_OBJECT_BYTES_MAX_DEFAULT);
    r = cor_condition_set_in(cor_object_member(pod, COR_STR("status")), &target,
                             cor_call_now_ms(&ev->write.call) / 1000, &status);
    if (r < 0)
        return cor_status_set_err(&ev->write.call.status, r);
    cor_edits_set(&edit.top_edits, COR_STR("status"), cor_buf_str(&status));
    return cor_object_edit(&edit, ret_marked, &ev->write.call.status);
}

static void eviction_mark_step(void *arg, struct cor_store_change *change,
                               struct cor_object *current)
{
    struct eviction_call *ev = arg;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *marked = NULL;

    ev->decided = ev->write.call.is_over
                      ? -COR_ECANCELED
                      : cor_deletion_check_preconditions(&ev->write.call, &ev->options, current);
    if (ev->decided == 0)
        ev->decided = eviction_make_mark(ev, current, &marked);
    if (ev->decided == 0)
        cor_store_change_write(change, COR_STEAL(marked), 0);
    else
        cor_store_change_stop(change);
}

static void eviction_on_marked(void *arg, const struct cor_store_reply *reply)
{
    struct eviction_call *ev = arg;
    struct cor_call *call = &ev->write.call;
    const struct cor_gr pods = cor_api_gr(call->res);
    int r = reply->err;

    if (!cor_call_end_op(call))
        return;
    if (r < 0 && !reply->was_stopped) {
        cor_status_move(&call->status, reply->status);
        r = cor_storage_error_to_api(&call->status, COR_STORAGE_OP_UPDATE, &pods, call->name);
    }
    /* The mark has made a new revision: the precondition moves along with it. */
    if (r == 0 && ev->options.resource_version)
        r = eviction_pin(ev, reply->object);
    if (r == 0)
        cor_delete_op_run(&ev->op, ev->write.call.name);
    else
        eviction_again_or_fail(ev);
}

static void eviction_mark(struct eviction_call *ev)
{
    struct cor_call *call = &ev->write.call;
    struct cor_store_update_opts opts = {
        .suggestion = ev->pod,
        .deadline_ms = call->req->deadline_ms,
        .step = eviction_mark_step,
        .on_done = eviction_on_marked,
        .arg = ev,
    };

    assert(ev->pod);
    if (ev->options.is_dry_run) {
        cor_delete_op_run(&ev->op, ev->write.call.name);
        return;
    }
    if (cor_store_update(call->backing->store, cor_buf_str(&call->key), &opts, &call->status) < 0)
        cor_call_fail_storage(call, COR_STORAGE_OP_UPDATE);
    else
        cor_call_begin_op(call);
}

/* Marks and deletes the pod only in the state that was judged. */
static void eviction_mark_pinned(struct eviction_call *ev)
{
    if (!ev->has_revision && eviction_pin(ev, ev->pod) < 0)
        cor_call_fail(&ev->write.call);
    else
        eviction_mark(ev);
}

static void eviction_budget_step(void *arg, struct cor_store_change *change,
                                 struct cor_object *current)
{
    struct eviction_call *ev = arg;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *taken = NULL;

    ev->decided = ev->write.call.is_over
                      ? -COR_ECANCELED
                      : cor_disruption_take(current, ev->write.call.name,
                                            cor_call_now_ms(&ev->write.call) / 1000, &taken,
                                            &ev->write.call.status);
    if (ev->decided == 0 && !ev->options.is_dry_run)
        cor_store_change_write(change, COR_STEAL(taken), 0);
    else
        cor_store_change_stop(change);
}

static void eviction_on_budget(void *arg, const struct cor_store_reply *reply)
{
    const struct cor_gr gr = cor_api_gr(cor_api_of_role(COR_ROLE_BUDGETS));
    struct eviction_call *ev = arg;
    struct cor_call *call = &ev->write.call;

    if (!cor_call_end_op(call))
        return;
    if (reply->err == 0 || (reply->was_stopped && ev->decided == 0)) {
        eviction_mark(ev);
        return;
    }
    if (!reply->was_stopped) {
        cor_status_move(&call->status, reply->status);
        cor_storage_error_to_api(&call->status, COR_STORAGE_OP_UPDATE, &gr,
                                 cor_object_name(ev->budget));
    }
    cor_call_fail(call);
}

static void eviction_take_disruption(struct eviction_call *ev)
{
    struct cor_call *call = &ev->write.call;
    struct cor_store_update_opts opts = {
        .suggestion = ev->budget,
        .deadline_ms = call->req->deadline_ms,
        .step = eviction_budget_step,
        .on_done = eviction_on_budget,
        .arg = ev,
    };
    int r;

    assert(ev->budget && ev->budgets);
    cor_buf_reset(&ev->budget_key);
    r = cor_key_of_object(cor_buf_str(&ev->budgets->prefix), true, call->ns,
                          cor_object_name(ev->budget), &ev->budget_key, &call->status);
    if (r == 0)
        r = cor_store_update(ev->budgets->store, cor_buf_str(&ev->budget_key), &opts,
                             &call->status);
    if (r < 0)
        cor_call_fail_storage(call, COR_STORAGE_OP_UPDATE);
    else
        cor_call_begin_op(call);
}

static bool is_ready(const struct cor_object *pod)
{
    struct cor_str status = cor_object_member(pod, COR_STR("status"));
    struct cor_str ready = cor_condition_status(cor_convert_member(status, "conditions"), "Ready");

    return ready.p && cor_str_eq(ready, COR_STR("\"True\""));
}

/* Finds the one budget that selects the pod; `budget` stays NULL when none does. 0, or a failure in
 * the status. */
static int eviction_choose_budget(struct eviction_call *ev)
{
    struct cor_call *call = &ev->write.call;
    struct cor_object *budget;

    while ((budget = cor_list_cursor_next(ev->cursor))) {
        bool selects;
        int r = cor_disruption_selects(budget, ev->pod, &selects);

        if (r < 0)
            return cor_status_set_err(&call->status, r);
        if (selects && ev->budget)
            return cor_status_untyped(
                &call->status, -COR_EINTERNAL,
                "This pod has more than one PodDisruptionBudget, which the eviction subresource "
                "does not support.");
        if (selects)
            ev->budget = cor_object_ref(budget);
    }
    return 0;
}

static void eviction_on_budgets(void *arg, int err, struct cor_status *status,
                                struct cor_list_cursor *take_cursor)
{
    struct eviction_call *ev = arg;
    struct cor_call *call = &ev->write.call;

    cor_list_cursor_free(ev->cursor);
    ev->cursor = take_cursor;
    if (!cor_call_end_op(call))
        return;
    if (err < 0) {
        cor_status_move(&call->status, status);
        cor_call_fail_storage(call, COR_STORAGE_OP_LIST);
        return;
    }
    if (eviction_choose_budget(ev) < 0) {
        cor_call_fail(call);
        return;
    }
    ev->is_spared = ev->budget && !is_ready(ev->pod) && cor_disruption_spares_unready(ev->budget);
    if (ev->is_spared)
        eviction_mark_pinned(ev);
    else if (ev->budget)
        eviction_take_disruption(ev);
    else
        eviction_mark(ev);
}

static void eviction_list_budgets(struct eviction_call *ev)
{
    struct cor_call *call = &ev->write.call;
    struct cor_store_list_opts opts = {.options = {.recursive = true},
                                       .deadline_ms = call->req->deadline_ms};
    int r =
        cor_api_backing(call->loop, cor_api_of_role(COR_ROLE_BUDGETS), &ev->budgets, &call->status);

    ev->budget = cor_object_unref(ev->budget);
    cor_buf_reset(&ev->budget_key);
    if (r == 0) {
        r = cor_key_of_namespace(cor_buf_str(&ev->budgets->prefix), call->ns, &ev->budget_key);
        if (r < 0)
            cor_status_set_err(&call->status, r);
    }
    if (r == 0)
        r = cor_reader_list(ev->budgets->reader, cor_buf_str(&ev->budget_key), &opts,
                            eviction_on_budgets, ev, &call->status);
    if (r < 0)
        cor_call_fail_storage(call, COR_STORAGE_OP_LIST);
    else
        cor_call_begin_op(call);
}

static bool is_phase(const struct cor_object *pod, const char *phase)
{
    struct cor_str status = cor_object_member(pod, COR_STR("status")), raw;

    return cor_json_to_raw(cor_convert_member(status, "phase"), &raw) == 0 &&
           cor_str_eqz(raw, phase);
}

static void eviction_on_pod(void *arg, const struct cor_store_reply *reply)
{
    struct eviction_call *ev = arg;
    struct cor_call *call = &ev->write.call;
    bool is_ended;

    if (!cor_call_end_op(call))
        return;
    if (reply->err < 0) {
        cor_status_move(&call->status, reply->status);
        cor_call_fail_storage(call, COR_STORAGE_OP_GET);
        return;
    }
    cor_object_unref(ev->pod);
    ev->pod = cor_object_ref(reply->object);
    /* Such a pod runs nothing that a budget could protect. */
    is_ended = is_phase(ev->pod, "Succeeded") || is_phase(ev->pod, "Failed") ||
               cor_object_meta_member(ev->pod, COR_STR("deletionTimestamp")).p;
    ev->may_retry = !ev->has_revision && (is_ended || is_phase(ev->pod, "Pending"));
    if (is_ended)
        eviction_mark(ev);
    else if (is_phase(ev->pod, "Pending"))
        eviction_mark_pinned(ev);
    else
        eviction_list_budgets(ev);
}

static void eviction_read_pod(struct eviction_call *ev)
{
    static const struct cor_store_get_opts latest = {.ignore_not_found = false};
    struct cor_call *call = &ev->write.call;

    if (!ev->has_revision)
        ev->options.resource_version = cor_free(ev->options.resource_version);
    if (cor_reader_get(call->backing->reader, cor_buf_str(&call->key), &latest, eviction_on_pod, ev,
                       &call->status) < 0)
        cor_call_fail_storage(call, COR_STORAGE_OP_GET);
    else
        cor_call_begin_op(call);
}

/* The options of the deletion, from the Eviction. 0, or a failure in the status. */
static int eviction_read_options(struct eviction_call *ev)
{
    struct cor_call *call = &ev->write.call;
    struct cor_str options;
    int r;

    if (!cor_str_eq(cor_object_name(cor_write_body(&ev->write)), call->name))
        return cor_status_bad_request(&call->status,
                                      "name in URL does not match name in Eviction object");
    options = cor_object_member(cor_write_body(&ev->write), COR_STR("deleteOptions"));
    r = cor_delete_options_from(call, options.p ? options : COR_STR("{}"), &ev->options);
    ev->options.is_dry_run = ev->options.is_dry_run || cor_call_is_dry_run(call);
    ev->has_revision = ev->options.resource_version != NULL;
    if (r == 0) {
        r = cor_buf_adds(&ev->op.key, cor_buf_str(&call->key));
        if (r < 0)
            cor_status_set_err(&call->status, r);
    }
    return r;
}

static void eviction_on_admitted(struct cor_write *write, int r)
{
    if (cor_write_goes_on(write, r))
        eviction_read_pod(eviction_of(&write->call));
}

static void eviction_on_mutated(struct cor_write *write, int r)
{
    if (r == 0)
        r = eviction_read_options(eviction_of(&write->call));
    if (cor_write_goes_on(write, r))
        cor_write_admit(write, COR_ADMISSION_VALIDATES, eviction_on_admitted);
}

static void eviction_on_read(struct cor_write *write, int r)
{
    if (cor_write_goes_on(write, r))
        cor_write_admit(write, COR_ADMISSION_MUTATES, eviction_on_mutated);
}

static void eviction_run(struct cor_call *call)
{
    struct eviction_call *ev = eviction_of(call);

    assert(call->sub && call->backing);
    cor_buf_init(&ev->op.key, COR_KEY_BYTES_MAX);
    cor_buf_init(&ev->budget_key, COR_KEY_BYTES_MAX);
    ev->op.call = call;
    ev->op.options = &ev->options;
    ev->op.is_admitted = true;
    ev->op.on_done = eviction_on_deleted;
    cor_write_init(&ev->write);
    cor_write_begin(&ev->write, "CreateOptions", COR_STAGE_MANAGE_FIELDS, eviction_on_read);
}

static void eviction_deinit(struct cor_call *call)
{
    struct eviction_call *ev = eviction_of(call);

    cor_write_deinit(&ev->write);
    cor_delete_op_deinit(&ev->op);
    cor_delete_options_deinit(&ev->options);
    cor_list_cursor_free(ev->cursor);
    cor_object_unref(ev->pod);
    cor_object_unref(ev->budget);
    cor_buf_deinit(&ev->budget_key);
}

const struct cor_verb_ops cor_verb_eviction = {
    .size = sizeof(struct eviction_call), .run = eviction_run, .deinit = eviction_deinit};
