/* The stage "prepare": makes the object that will be stored from the body, and for an update from
 * the present object: what the server fills in, and what it keeps (server/strategy/).
 *
 * An update looks first whether the client has seen the present state: a resourceVersion that is
 * another one is a conflict, a missing one is refused where the kind demands it. So the answer to
 * a client that is behind does not depend on the rest of its object. Defaults that copy what the
 * server fills in come last, or after the validation (stage_default.c).
 * Failures: 409, 422 in upstream's words; no memory; an object over its maximum.
 * Thread: the thread that has the call. */
#include <assert.h>

#include "base/err.h"
#include "meta/names/field_error.h"
#include "schema/walk/default.h"
#include "server/api/scale_of_custom.h"
#include "server/strategy/strategy_run.h"
#include "server/write/custom_stages.h"
#include "server/write/stage_store.h"
#include "server/write/stages.h"

int cor_write_check_revision(struct cor_write *write)
{
    static const struct cor_field_path meta = {.name = COR_STR("metadata")};
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    struct cor_call *call = &write->call;
    struct cor_field_path path = cor_field_child(&meta, COR_STR("resourceVersion"));
    struct cor_gr gr = cor_api_gr(call->res);
    struct cor_gk gk = {call->res->group, call->res->plural};

    /* An apply is conditional only if its configuration has a resourceVersion. */
    if (write->rev == write->current->rev || (write->is_applied && write->rev == 0))
        return 0;
    if (write->rev > 0)
        return cor_status_conflict(&call->status, &gr, call->name, COR_WRITE_MODIFIED);
    if (call->res->flags & COR_API_UNCONDITIONAL || cor_call_has_custom_scale(call))
        return 0;
    cor_field_errors_add(&errs, COR_FIELD_INVALID, &path, cor_field_json(COR_STR("0")),
                         "must be specified for an update");
    return cor_status_invalid(&call->status, &gk, call->name, &errs);
}

/* Fills in the defaults that copy what the strategy has added, if they had something to copy in the
 * body: upstream has filled them in when it decoded the body, and adds its part to both places. */
static int prepare_default_late(struct cor_write *write, const struct cor_object *body)
{
    const struct cor_type *type = cor_write_late_type(write);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {0};
    int r;

    if (!type)
        return 0;
    cor_buf_init(&json, COR_WRITE_JSON_MAX);
    r = cor_default_late(type, cor_object_json(body), &json);
    if (r < 0)
        return cor_status_set_err(&write->call.status, r);
    return r == 0 ? 0 : cor_write_default_late(write);
}

static int prepare_run_strategy(struct cor_write *write, const struct cor_strategy_input *input)
{
    return write->is_create ? cor_strategy_create(&write->call, input, &write->object)
                            : cor_strategy_update(&write->call, input, &write->object);
}

int cor_write_prepare(struct cor_write *write)
{
    struct cor_call *call = &write->call;
    struct cor_strategy_input input = {
        .body = cor_write_source(write),
        .old = write->is_create ? NULL : write->old,
        .sender = cor_buf_str(&write->sender),
        /* A conversion may have made such a field from an annotation. */
        .has_gated = write->has_gated || call->conversion,
        .sends_empty = write->sends_empty,
    };
    int r;

    assert(write->body && (write->is_create || write->old));
    write->object = cor_object_unref(write->object);
    write->removes = false;
    r = write->is_create ? cor_custom_refuse_create(write) : cor_write_check_revision(write);
    if (r == 0)
        r = prepare_run_strategy(write, &input);
    if (r == 0)
        r = prepare_default_late(write, input.body);
    if (r == 0 && !write->is_create)
        write->removes = cor_strategy_is_finished(call, write->object);
    return r;
}
