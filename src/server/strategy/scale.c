#include "server/strategy/scale.h"

#include <assert.h>

#include "base/err.h"
#include "meta/field_error.h"
#include "meta/object_edit.h"
#include "schema/conversion.h"
#include "schema/validate.h"

/* The rules of what a client writes to a scale. */
static int scale_check(struct cor_call *call, const struct cor_object *scale)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    struct cor_validation validation = {
        .type = call->schema, .operation = COR_CHECK_SCALE, .object = cor_object_json(scale)};
    struct cor_gk gk = cor_api_gk(call->type);

    (void)cor_validate(&validation, &errs);
    if (errs.n == 0 && errs.error == 0)
        return 0;
    return cor_status_invalid(&call->status, &gk, call->name, &errs);
}

int cor_scale_apply(struct cor_call *call, const struct cor_object *old,
                    const struct cor_object *scale, struct cor_object **ret_object)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf spec = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_str before = cor_object_member(old, COR_STR("spec"));
    struct cor_str replicas =
        cor_convert_member(cor_object_member(scale, COR_STR("spec")), "replicas");
    struct cor_object_edit edit = {
        .kind = call->stored->kind,
        .api_version = call->stored->api_version,
        .top = cor_object_json(old),
        .metadata = cor_object_metadata(old),
    };
    struct cor_edits edits = {.n = 0};
    int r;

    assert(cor_scale_is_written(call) && call->stored && old && scale);
    if (!replicas.p)
        replicas = COR_STR("0");
    r = scale_check(call, scale);
    if (r < 0)
        return r;
    cor_edits_set(&edits, COR_STR("replicas"), replicas);
    r = cor_edits_apply(&edits, before.p ? before : COR_STR("{}"), &spec);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    cor_edits_set(&edit.top_edits, COR_STR("spec"), cor_buf_str(&spec));
    return cor_object_edit(&edit, ret_object, &call->status);
}
