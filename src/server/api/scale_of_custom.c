#include "server/api/scale_of_custom.h"

#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "schema/custom/custom_scale.h"
#include "schema/kinds/custom_row.h"
#include "schema/types/raw_values.h"

bool cor_call_has_custom_scale(const struct cor_call *call)
{
    return call->sub && call->sub->conversion == &cor_custom_scale_conversion;
}

static bool is_read(const struct cor_call *call)
{
    return call->req && call->req->info.verb == COR_API_VERB_GET;
}

int cor_call_make_custom_scale(struct cor_call *call, const struct cor_object *object,
                               struct cor_object **ret_scale)
{
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf why = {.max = COR_OBJECT_BYTES_MAX_DEFAULT},
                   stored = {.max = COR_OBJECT_BYTES_MAX_DEFAULT},
                   out = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    COR_CLEANUP(cor_object_unrefp) struct cor_object *scale = NULL;
    const struct cor_custom_scale *paths = call->res->custom->scale;
    struct cor_custom_scale_values values;
    struct cor_str before, after;
    struct cor_json_writer w;
    int r;

    assert(cor_call_has_custom_scale(call) && paths && object);
    /* Without its resourceVersion, which the Scale gets at the end. */
    cor_object_stored_spans(object, &before, &after);
    r = cor_buf_adds(&stored, before);
    if (r == 0)
        r = cor_buf_adds(&stored, after);
    if (r == 0)
        r = cor_custom_scale_read(paths, cor_buf_str(&stored), &values, &why);
    if (r == -COR_EINVAL)
        return cor_status_untyped(&call->status, -COR_EINTERNAL, "%s", cor_buf_z(&why));
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    if (!values.has_spec && is_read(call))
        return cor_status_internal(&call->status, "the spec replicas field \"%.*s\" does not exist",
                                   COR_STR_ARG(paths->spec));
    if (!values.has_spec)
        values.spec = COR_CUSTOM_SCALE_ABSENT;
    cor_json_writer_init(&w, &out);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("kind"), call->type->kind);
    cor_json_member(&w, COR_STR("apiVersion"), call->type->api_version);
    cor_custom_scale_write(&values, cor_buf_str(&stored), &w);
    cor_json_end_object(&w);
    r = cor_json_writer_finish(&w);
    if (r == 0)
        r = cor_object_read_stored(cor_buf_str(&out), 0, &cor_raw_values, &scale, NULL, NULL);
    if (r == 0)
        r = cor_object_at(scale, object->rev, ret_scale);
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}
