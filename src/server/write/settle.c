/* clang-format off */
/* The form of an object that a foreign plugin has made (struct cor_admission_row): what a body gets
 * from NORMALIZE and DEFAULT, in the version in which plugins see it.
 *
 *   a built-in kind    is every value one that the type can hold? ──► the normal form ──► defaults
 *   a custom resource  the same of its metadata ──► pruned and defaulted by the schema of the
 *                      request's version
 *
 * An object that nobody else has made has this form already, so that others pay nothing for it.
 * Failures: 500 for an object that its type cannot hold, as upstream's; 413; no memory;
 * COR_WORK_YIELD of a custom resource.
 * Thread: the thread that has the call (pure). */
/* clang-format on */
#include "server/write/settle.h"

#include <assert.h>

#include "base/err.h"
#include "meta/object/object_edit.h"
#include "schema/walk/default.h"
#include "schema/walk/normalize.h"
#include "schema/walk/read.h"
#include "schema/walk/rewrite.h"
#include "server/write/custom_rewrite.h"
#include "server/write/stages.h"

/* Can the type hold the value? */
static int settle_read(struct cor_call *call, struct cor_str json, const struct cor_type *type)
{
    COR_CLEANUP(cor_read_report_freep) struct cor_read_report *report = NULL;
    int r;

    if (cor_read_is_clean(json, type))
        return 0;
    report = cor_read_report_new();
    r = report ? cor_read(json, type, report) : -COR_ENOMEM;
    if (r == -COR_EINVAL)
        return cor_status_internal(&call->status, "%s", cor_buf_z(&report->error));
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

static int settle_builtin(struct cor_admission *ad, const struct cor_type *type)
{
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf normal = {.max = COR_WRITE_JSON_MAX}, full = {.max = COR_WRITE_JSON_MAX};
    struct cor_str json = cor_object_json(ad->object);
    struct cor_normalize_notes notes = {.has_gated = false};
    int r = settle_read(ad->call, json, type), r_full = 0;

    if (r < 0)
        return r;
    r = cor_normalize_noting(type, json, &normal, &notes);
    if (r >= 0 && cor_type_is(type, COR_TYPE_DEFAULTS))
        r_full = cor_default(type, r > 0 ? cor_buf_str(&normal) : json, &full);
    COR_CONTAINER_OF(ad, struct cor_write_admitted, admission)->has_gated = notes.has_gated;
    return cor_write_take_rewritten(ad->call, r_full != 0 ? r_full : r,
                                    r_full > 0 ? &full : &normal, &ad->object);
}

static int settle_metadata(struct cor_admission *ad)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf normal = {.max = COR_WRITE_JSON_MAX};
    const struct cor_type *type = cor_write_metadata_type();
    struct cor_str metadata = cor_object_metadata(ad->object);
    struct cor_object_edit edit = {.kind = cor_object_kind(ad->object),
                                   .api_version = cor_object_api_version(ad->object),
                                   .top = cor_object_json(ad->object)};
    struct cor_object *made;
    int r = settle_read(ad->call, metadata, type);

    if (r < 0)
        return r;
    r = cor_rewrite(type, metadata, &normal);
    if (r <= 0)
        return r < 0 ? cor_status_set_err(&ad->call->status, r) : 0;
    edit.metadata = cor_buf_str(&normal);
    r = cor_object_edit(&edit, &made, &ad->call->status);
    if (r < 0)
        return r;
    cor_object_unref(ad->object);
    ad->object = made;
    return 0;
}

static int settle_custom(struct cor_admission *ad)
{
    const struct cor_custom_steps steps = {
        .row = ad->call->type, .steps = COR_STRUCTURAL_ALL | COR_STRUCTURAL_EMBEDDED_STORED};
    struct cor_work work =
        cor_work_new(cor_heavy_has_threads(ad->call) && !cor_heavy_is_running(ad->call));
    int r = settle_metadata(ad);

    return r < 0 ? r : cor_custom_rewrite(ad->call, &work, &steps, &ad->object);
}

int cor_write_settle(struct cor_admission *ad)
{
    const struct cor_call *call = ad->call;
    const struct cor_type *type = call->schema;

    assert(ad->object);
    if (call->type->custom)
        return settle_custom(ad);
    if (call->type != call->stored && !(call->sub && call->sub->type))
        type = cor_row_schema(call->stored);
    return type ? settle_builtin(ad, type) : 0;
}
