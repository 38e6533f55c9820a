/* clang-format off */
/* The stages PRUNE_AND_DEFAULT and DEFAULT of custom resources: what upstream's decoder does to an
 * object by the schema of the request's version.
 *
 *   PRUNE_AND_DEFAULT  fields that the schema does not know, and nulls, are dropped; metadata of
 *                      embedded resources is read; defaults are filled in. What was dropped is a
 *                      finding for CHECK_FIELDS. One walk does all, as each step at a member
 * depends on this member alone (schema/structural/structural_rewrite.c). DEFAULT            of what
 * a server-side apply made: defaults alone, until it is read from the store, and not even them if
 * it is the present object
 *
 * Failures: 400 for a body, 422 for what a patch made; 413; no memory; COR_WORK_YIELD.
 * Thread: the thread that has the call. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "server/write/custom_body.h"
#include "server/write/custom_rewrite.h"
#include "server/write/stages.h"

bool cor_stage_prunes(const struct cor_write *write)
{
    return !write->is_applied && cor_custom_is_of_kind(write);
}

int cor_stage_prune_and_default(struct cor_write *write)
{
    COR_CLEANUP(cor_structural_unknown_freep)
    struct cor_structural_unknown *unknown = cor_structural_unknown_new();
    struct cor_call *call = &write->call;
    int r;

    assert(write->body && call->type->custom);
    r = unknown ? cor_custom_rewrite(write, call->type,
                                     COR_STRUCTURAL_ALL | COR_STRUCTURAL_EMBEDDED_REQUEST, unknown,
                                     &write->body)
                : cor_status_set_err(&call->status, -COR_ENOMEM);
    write->api_version = cor_custom_version(write->body);
    if (r == -COR_EINVAL)
        return cor_custom_refuse(write, cor_buf_z(&unknown->why));
    if (r != 0 || cor_str_eq(call->opts.field_validation, COR_STR("Ignore")))
        return r;
    for (size_t i = 0; i < unknown->n && r == 0; i++)
        r = cor_custom_add_finding(write, "unknown field ", unknown->v[i]);
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

bool cor_stage_defaults_applied(const struct cor_write *write)
{
    return write->is_applied && !write->applies_nothing && cor_custom_is_of_kind(write);
}

int cor_stage_default_applied(struct cor_write *write)
{
    int r;

    assert(write->body && write->call.type->custom);
    r = cor_custom_rewrite(write, write->call.type, COR_STRUCTURAL_DEFAULT, NULL, &write->body);
    write->api_version = cor_custom_version(write->body);
    return r;
}
