/* clang-format off */
/* Binding a pod to a node, as schedulers do: POST to pods/binding, or to its older form bindings.
 *
 *   the stages decode to convert of the Binding ──► admission that mutates ──► is it valid? ──►
 *     admission that validates ──► guaranteed update of the pod ──► 201 with a Status
 *
 * The step of the update refuses a pod that is being deleted, already has a node or has scheduling
 * gates (409), and otherwise sets spec.nodeName, the condition PodScheduled and the annotations of
 * the Binding. The Binding's uid and resourceVersion are preconditions of the update. A lost
 * compare runs the step again on the newer pod. In a dry run the step stops instead of writing.
 * Thread: the call's loop. */
/* clang-format on */
#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/limits.h"
#include "meta/names/field_error.h"
#include "meta/names/key.h"
#include "meta/object/object_edit.h"
#include "schema/convert/conversion.h"
#include "server/strategy/status_conditions.h"
#include "server/write/write.h"
#include "server/write/write_options.h"
#include "json/patch/patch.h"
#include "json/text/scan.h"

struct binding_call {
    struct cor_write write; /* of the Binding, which is not stored */
    struct cor_str name;    /* of the pod; in the body */
    int decided;            /* how the last step ended; < 0: its failure is in the status */
};

static struct binding_call *binding_of(struct cor_call *call)
{
    assert(call->verb == &cor_verb_binding);
    return COR_CONTAINER_OF(call, struct binding_call, write.call);
}

static struct cor_str target_name(const struct binding_call *binding)
{
    struct cor_str target = cor_object_member(cor_write_body(&binding->write), COR_STR("target"));

    return cor_convert_member(target, "name");
}

static int binding_refuse(struct binding_call *binding, const char *why)
{
    const struct cor_resource_row *pods = cor_api_of_role(COR_ROLE_PODS);
    char resource[64];
    struct cor_gr gr = {pods->group, {resource, 0}};

    gr.resource.n =
        (size_t)snprintf(resource, sizeof(resource), "%.*s/%.*s", COR_STR_ARG(pods->plural),
                         COR_STR_ARG(binding->write.call.type->singular));
    return cor_status_conflict(&binding->write.call.status, &gr, binding->name, "pod %.*s %s",
                               COR_STR_ARG(binding->name), why);
}

static int binding_check_pod(struct binding_call *binding, const struct cor_object *pod)
{
    struct cor_str spec = cor_object_member(pod, COR_STR("spec"));
    struct cor_str node = cor_convert_member(spec, "nodeName");
    char why[1024];

    if (cor_object_meta_member(pod, COR_STR("deletionTimestamp")).p)
        return binding_refuse(binding, "is being deleted, cannot be assigned to a host");
    if (node.n > 2) {
        snprintf(why, sizeof(why), "is already assigned to node %.*s", COR_STR_ARG(node));
        return binding_refuse(binding, why);
    }
    if (cor_convert_member(spec, "schedulingGates").n > 2)
        return binding_refuse(binding, "has non-empty .spec.schedulingGates");
    return 0;
}

/* The pod with its node, the condition PodScheduled, and the annotations of the Binding over its
 * own. 0, or a failure in the status. */
static int binding_make_pod(struct binding_call *binding, const struct cor_object *pod,
                            struct cor_object **ret_bound)
{
    static const struct cor_json_limits limits = {COR_OBJECT_BYTES_MAX_DEFAULT, COR_JSON_DEPTH_MAX};
    static const struct cor_condition scheduled = {
        .type = "PodScheduled", .status = "True", .is_probed = true};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf annotations = {0}, spec = {0}, status = {0};
    struct cor_str old_spec = cor_object_member(pod, COR_STR("spec"));
    struct cor_str old = cor_object_meta_member(pod, COR_STR("annotations"));
    struct cor_str more =
        cor_object_meta_member(cor_write_body(&binding->write), COR_STR("annotations"));
    struct cor_edits spec_edits = {.n = 0};
    struct cor_object_edit edit = {
        .kind = cor_object_kind(pod),
        .api_version = cor_object_api_version(pod),
        .top = cor_object_json(pod),
        .metadata = cor_object_metadata(pod),
    };
    int r;

    cor_buf_init(&annotations, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_buf_init(&spec, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_buf_init(&status, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_edits_set(&spec_edits, COR_STR("nodeName"), target_name(binding));
    r = cor_edits_apply(&spec_edits, old_spec.p ? old_spec : COR_STR("{}"), &spec);
    if (r == 0)
        r = cor_condition_set_in(cor_object_member(pod, COR_STR("status")), &scheduled,
                                 cor_call_now_ms(&binding->write.call) / 1000, &status);
    if (r == 0)
        r = cor_json_merge_patch(old.p ? old : COR_STR("{}"), more.p ? more : COR_STR("{}"),
                                 &limits, &annotations, NULL, NULL);
    if (r < 0)
        return cor_status_set_err(&binding->write.call.status, r);
    cor_edits_set(&edit.top_edits, COR_STR("spec"), cor_buf_str(&spec));
    cor_edits_set(&edit.top_edits, COR_STR("status"), cor_buf_str(&status));
    if (annotations.n > 2)
        cor_edits_set(&edit.meta_edits, COR_STR("annotations"), cor_buf_str(&annotations));
    return cor_object_edit(&edit, ret_bound, &binding->write.call.status);
}

static void binding_step(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    struct binding_call *binding = arg;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *bound = NULL;

    binding->decided =
        binding->write.call.is_over ? -COR_ECANCELED : binding_check_pod(binding, current);
    if (binding->decided == 0)
        binding->decided = binding_make_pod(binding, current, &bound);
    if (binding->decided == 0 && !cor_call_is_dry_run(&binding->write.call))
        cor_store_change_write(change, COR_STEAL(bound), 0);
    else
        cor_store_change_stop(change);
}

/* Turns the store's failure in the status into one about the pod. */
static void binding_storage_error(struct binding_call *binding)
{
    const struct cor_gr pods = cor_api_gr(cor_api_of_role(COR_ROLE_PODS));

    cor_storage_error_to_api(&binding->write.call.status, COR_STORAGE_OP_UPDATE, &pods,
                             binding->name);
}

static void binding_on_bound(void *arg, const struct cor_store_reply *reply)
{
    struct binding_call *binding = arg;
    struct cor_call *call = &binding->write.call;

    if (!cor_call_end_op(call))
        return;
    if (reply->err == 0 || (reply->was_stopped && binding->decided == 0)) {
        cor_call_reply_success(call, 201);
        return;
    }
    if (!reply->was_stopped) {
        cor_status_move(&call->status, reply->status);
        binding_storage_error(binding);
    }
    cor_call_fail(call);
}

/* Upstream does not type these. */
static int binding_check_target(struct binding_call *binding)
{
    static const char *const supported[] = {"Node", "<empty>"}; /* names a kind: an enum */
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    struct cor_field_path target_path = cor_field_root(COR_STR("target"));
    struct cor_field_path kind_path = cor_field_child(&target_path, COR_STR("kind"));
    struct cor_field_path name_path = cor_field_child(&target_path, COR_STR("name"));
    struct cor_str target = cor_object_member(cor_write_body(&binding->write), COR_STR("target"));
    struct cor_str kind = COR_STR("");

    (void)cor_json_to_raw(cor_convert_member(target, "kind"), &kind);
    if (kind.n > 0 && !cor_str_eqz(kind, supported[0]))
        cor_field_errors_add_not_supported(&errs, &kind_path, cor_field_string(kind), supported,
                                           COR_ARRAY_LEN(supported));
    if (target_name(binding).n <= 2)
        cor_field_errors_add(&errs, COR_FIELD_REQUIRED, &name_path, cor_field_none(), NULL);
    if (errs.n == 0 && errs.error == 0)
        return 0;
    cor_buf_init(&text, 64u * 1024);
    if (cor_field_errors_print(&errs, &text) < 0)
        return cor_status_set(&binding->write.call.status, -COR_ENOMEM, "out of memory");
    return cor_status_untyped(&binding->write.call.status, -COR_EINVAL, "%s", cor_buf_z(&text));
}

static int binding_check_body(struct binding_call *binding)
{
    struct cor_call *call = &binding->write.call;

    binding->name = cor_object_name(cor_write_body(&binding->write));
    if (!call->sub && binding->name.n == 0)
        return cor_status_bad_request(&call->status, "Name parameter required.");
    if (call->sub && !cor_str_eq(binding->name, call->name))
        return cor_status_bad_request(&call->status,
                                      "name in URL does not match name in Binding object");
    return binding_check_target(binding);
}

/* Makes the pod that is bound the object of the call: its stores and its key. */
static int binding_find_pod(struct binding_call *binding)
{
    struct cor_call *call = &binding->write.call;
    int r =
        cor_api_backing(call->loop, cor_api_of_role(COR_ROLE_PODS), &call->backing, &call->status);

    cor_buf_reset(&call->key);
    return r < 0 ? r
                 : cor_key_of_object(cor_buf_str(&call->backing->prefix), true, call->ns,
                                     binding->name, &call->key, &call->status);
}

/* Starts the update of the pod. */
static void binding_start(struct binding_call *binding)
{
    struct cor_call *call = &binding->write.call;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *suggestion = NULL;
    char rv[24];
    struct cor_store_update_opts opts = {
        .deadline_ms = call->req->deadline_ms,
        .step = binding_step,
        .on_done = binding_on_bound,
        .arg = binding,
    };

    if (binding_find_pod(binding) < 0) {
        cor_call_fail(call);
        return;
    }
    suggestion = cor_reader_suggest(call->backing->reader, cor_buf_str(&call->key));
    opts.suggestion = suggestion;
    if (cor_object_uid(cor_write_body(&binding->write)).n > 0)
        opts.preconditions.uid = cor_object_uid(cor_write_body(&binding->write));
    if (binding->write.received.rev > 0)
        opts.preconditions.resource_version =
            cor_str(rv, (size_t)snprintf(rv, sizeof(rv), "%llu",
                                         (unsigned long long)binding->write.received.rev));
    if (cor_store_update(call->backing->store, cor_buf_str(&call->key), &opts, &call->status) < 0) {
        binding_storage_error(binding);
        cor_call_fail(call);
        return;
    }
    cor_call_begin_op(call);
}

static void binding_on_admitted(struct cor_write *write, int r)
{
    if (cor_write_goes_on(write, r))
        binding_start(binding_of(&write->call));
}

static void binding_on_mutated(struct cor_write *write, int r)
{
    if (r == 0)
        r = binding_check_body(binding_of(&write->call));
    if (cor_write_goes_on(write, r))
        cor_write_admit(write, COR_ADMISSION_VALIDATES, binding_on_admitted);
}

static void binding_on_read(struct cor_write *write, int r)
{
    if (cor_write_goes_on(write, r))
        cor_write_admit(write, COR_ADMISSION_MUTATES, binding_on_mutated);
}

static void binding_run(struct cor_call *call)
{
    struct cor_write *write = &binding_of(call)->write;

    cor_write_init(write);
    cor_write_begin(write, "CreateOptions", COR_STAGE_MANAGE_FIELDS, binding_on_read);
}

static void binding_deinit(struct cor_call *call)
{
    cor_write_deinit(&binding_of(call)->write);
}

const struct cor_verb_ops cor_verb_binding = {
    .size = sizeof(struct binding_call), .run = binding_run, .deinit = binding_deinit};
