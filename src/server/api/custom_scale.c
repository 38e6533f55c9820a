#include "server/api/custom_scale.h"

#include <assert.h>

#include "base/err.h"
#include "schema/custom_row.h"
#include "schema/custom_scale.h"

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
    struct cor_buf why = {.max = COR_OBJECT_BYTES_MAX_DEFAULT}, out = {0};
    COR_CLEANUP(cor_object_unrefp) struct cor_object *scale = NULL;
    const struct cor_custom_scale *paths = call->res->custom->scale;
    struct cor_custom_scale_values values;
    struct cor_json_writer w;
    int r;

    assert(cor_call_has_custom_scale(call) && paths && object);
    r = cor_custom_scale_read(paths, cor_object_json(object), &values, &why);
    if (r == -COR_EINVAL)
        return cor_status_untyped(&call->status, -COR_EINTERNAL, "%s", cor_buf_z(&why));
    if (r == 0 && !values.has_spec && is_read(call))
        return cor_status_internal(&call->status, "the spec replicas field \"%.*s\" does not exist",
                                   COR_STR_ARG(paths->spec));
    if (!values.has_spec)
        values.spec = COR_CUSTOM_SCALE_ABSENT;
    cor_buf_init(&out, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_json_writer_init(&w, &out);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("kind"), call->type->kind);
    cor_json_member(&w, COR_STR("apiVersion"), call->type->api_version);
    cor_custom_scale_write(&values, cor_object_json(object), &w);
    cor_json_end_object(&w);
    if (r == 0)
        r = cor_json_writer_finish(&w);
    if (r == 0)
        r = cor_object_from_sorted(cor_buf_str(&out), &scale);
    if (r == 0)
        r = cor_object_at(scale, object->rev, ret_scale);
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}
