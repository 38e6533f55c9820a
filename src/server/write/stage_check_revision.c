/* The stage CHECK_REVISION: has the client who updates an object seen its present state? A
 * resourceVersion that is another one is a conflict, a missing one is refused where the kind
 * demands it. So the answer to a client that is behind does not depend on the rest of its object,
 * and nothing is reserved for it. Failures: 409, 422 in upstream's words. Thread: the thread that
 * has the call. */
#include <assert.h>

#include "base/err.h"
#include "meta/names/field_error.h"
#include "server/api/scale_of_custom.h"
#include "server/write/stages.h"

bool cor_stage_checks_revision(const struct cor_judging *write)
{
    return !write->present->is_create;
}

int cor_stage_check_revision(const struct cor_judging *write)
{
    static const struct cor_field_path meta = {.name = COR_STR("metadata")};
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    struct cor_call *call = write->call;
    struct cor_field_path path = cor_field_child(&meta, COR_STR("resourceVersion"));
    struct cor_gr gr = cor_api_gr(call->res);
    struct cor_gk gk = {call->res->group, call->res->plural};

    assert(write->present->current);
    /* An apply is conditional only if its configuration has a resourceVersion. */
    if (write->received->rev == write->present->current->rev ||
        (write->asked->is_applied && write->received->rev == 0))
        return 0;
    if (write->received->rev > 0)
        return cor_status_conflict(&call->status, &gr, call->name, COR_WRITE_MODIFIED);
    if (call->res->flags & COR_API_UNCONDITIONAL || cor_call_has_custom_scale(call))
        return 0;
    cor_field_errors_add(&errs, COR_FIELD_INVALID, &path, cor_field_json(COR_STR("0")),
                         "must be specified for an update");
    return cor_status_invalid(&call->status, &gk, call->name, &errs);
}
