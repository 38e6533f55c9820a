#include "server/strategy/scale_write.h"

#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "meta/names/field_error.h"
#include "meta/object/object_edit.h"
#include "schema/convert/conversion.h"
#include "schema/custom/custom_scale.h"
#include "schema/kinds/custom_row.h"
#include "schema/validate/validate.h"
#include "server/api/scale_of_custom.h"
#include "json/text/scan.h"

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

/* The same of a custom resource, whose fields its definition names. What is wrong with the number
 * is found when the object itself is validated. */
static int scale_apply_custom(struct cor_call *call, const struct cor_object *old,
                              struct cor_str replicas, struct cor_object **ret_object)
{
    const struct cor_custom_scale *paths = call->res->custom->scale;
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf member = {.max = COR_OBJECT_BYTES_MAX_DEFAULT},
                   why = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_object_edit edit = {
        .kind = call->stored->kind,
        .api_version = call->stored->api_version,
        .top = cor_object_json(old),
        .metadata = cor_object_metadata(old),
    };
    struct cor_str key;
    int64_t n = 0;
    int r;

    if (cor_json_to_i64(replicas, &n) == 0 && n == COR_CUSTOM_SCALE_ABSENT)
        return cor_status_bad_request(&call->status,
                                      "the spec replicas field \"%.*s\" cannot be empty",
                                      COR_STR_ARG(paths->spec));
    r = cor_custom_scale_set(paths, cor_object_json(old), replicas, &key, &member, &why);
    if (r == -COR_EINVAL)
        return cor_status_untyped(&call->status, -COR_EINTERNAL, "%s", cor_buf_z(&why));
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    cor_edits_set(&edit.top_edits, key, cor_buf_str(&member));
    return cor_object_edit(&edit, ret_object, &call->status);
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
    if (cor_call_has_custom_scale(call))
        return scale_apply_custom(call, old, replicas, ret_object);
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
