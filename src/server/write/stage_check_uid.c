/* The stage CHECK_UID, of updates that write a scale: the uid of the Scale is that of the object.
 * Metadata does not come from the body then (server/strategy/scale_write.h), so that validation
 * would not see it.
 * Failures: 409 or 422 in upstream's words; no memory.
 * Thread: the thread that has the call. */
#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "meta/names/field_error.h"
#include "meta/object/object_edit.h"
#include "server/strategy/scale_write.h"
#include "server/write/stages.h"

/* Refuses a body whose uid is not the object's. Upstream has other words for a scale, which is not
 * a stored object. */
static int check_part_uid(struct cor_call *call, const struct cor_object *old,
                          const struct cor_object *body)
{
    static const struct cor_field_path meta = {.name = COR_STR("metadata")};
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    struct cor_field_path path = cor_field_child(&meta, COR_STR("uid"));
    struct cor_str want = cor_object_uid(body), have = cor_object_uid(old);
    struct cor_gr scale = {call->res->group, COR_STR("")};
    struct cor_gk gk = cor_api_gk(call->res);
    char resource[128];

    if (want.n == 0 || cor_str_eq(want, have))
        return 0;
    if (call->sub->part == COR_PART_SCALE) {
        snprintf(resource, sizeof(resource), "%.*s/%s", COR_STR_ARG(call->res->plural),
                 call->sub->name);
        scale.resource = cor_strz(resource);
        return cor_status_conflict(
            &call->status, &scale, call->name,
            "Precondition failed: UID in precondition: %.*s, UID in object meta: %.*s",
            COR_STR_ARG(want), COR_STR_ARG(have));
    }
    cor_field_errors_add(&errs, COR_FIELD_INVALID, &path,
                         cor_field_json(cor_object_meta_member(body, COR_STR("uid"))),
                         "field is immutable");
    return cor_status_invalid(&call->status, &gk, call->name, &errs);
}

bool cor_stage_checks_uid(const struct cor_judging *write)
{
    return !write->present->is_create && cor_scale_is_written(write->call);
}

int cor_stage_check_uid(const struct cor_judging *write)
{
    assert(write->present->current && write->received->body);
    return check_part_uid(write->call, write->present->current,
                          cor_admitted_body(write->received, write->admitted));
}
