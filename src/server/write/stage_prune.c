/* clang-format off */
/* The stages PRUNE_AND_DEFAULT and DEFAULT of custom resources: what upstream's decoder does to an
 * object by the schema of the request's version.
 *
 *   PRUNE_AND_DEFAULT  fields that the schema does not know, and nulls, are dropped; metadata of
 *                      embedded resources is read; defaults are filled in. What was dropped is a
 *                      finding for CHECK_FIELDS. One walk does all: what each step does at a member
 *                      depends on this member alone (schema/structural/structural_rewrite.c).
 *   DEFAULT            of what a server-side apply made: defaults alone, until it is read from the
 *                      store, and not even them if it is the present object
 *
 * Failures: 400 for a body, 422 for what a patch made; 413; no memory; COR_WORK_YIELD.
 * Thread: the thread that has the call. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "server/write/custom_body.h"
#include "server/write/custom_rewrite.h"
#include "server/write/stages.h"

bool cor_stage_prunes(const struct cor_judging *write)
{
    return !write->asked->is_applied && cor_custom_is_of_kind(write->call, write->received->body);
}

int cor_stage_prune_and_default(const struct cor_receiving *write)
{
    COR_CLEANUP(cor_structural_unknown_freep)
    struct cor_structural_unknown *unknown = cor_structural_unknown_new();
    struct cor_call *call = write->call;
    struct cor_custom_steps steps = {
        .row = call->type,
        .steps = COR_STRUCTURAL_ALL | COR_STRUCTURAL_EMBEDDED_REQUEST,
        .unknown = unknown,
        .ret_lacks_defaults = write->present->is_create ? NULL : &write->received->lacks_defaults,
    };
    int r;

    assert(write->received->body && call->type->custom);
    r = unknown ? cor_custom_rewrite(call, write->work, &steps, &write->received->body)
                : cor_status_set_err(&call->status, -COR_ENOMEM);
    write->received->api_version = cor_custom_version(write->received->body);
    if (r == -COR_EINVAL)
        return cor_custom_refuse(write, cor_buf_z(&unknown->why));
    if (r != 0 || cor_str_eq(call->opts.field_validation, COR_STR("Ignore")))
        return r;
    for (size_t i = 0; i < unknown->n && r == 0; i++)
        r = cor_custom_add_finding(write->received, "unknown field ", unknown->v[i]);
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

bool cor_stage_defaults_applied(const struct cor_judging *write)
{
    return write->asked->is_applied && !write->received->applies_nothing &&
           cor_custom_is_of_kind(write->call, write->received->body);
}

int cor_stage_default_applied(const struct cor_receiving *write)
{
    const struct cor_custom_steps steps = {
        .row = write->call->type,
        .steps = COR_STRUCTURAL_DEFAULT,
        .ret_lacks_defaults = write->present->is_create ? NULL : &write->received->lacks_defaults,
    };
    int r;

    assert(write->received->body && write->call->type->custom);
    r = cor_custom_rewrite(write->call, write->work, &steps, &write->received->body);
    write->received->api_version = cor_custom_version(write->received->body);
    return r;
}
