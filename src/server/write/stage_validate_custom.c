/* clang-format off */
/* The stage VALIDATE of custom resources: what the object that is about to be stored must not be.
 * All that is wrong is collected and answered together, in upstream's order:
 *
 *   the metadata by the rules that all objects have, and what of it may not change ──► the keywords
 *   of the schema of the request's version ──► its scale ──► embedded resources ──► lists ──► rules
 *
 * Failures: 422 with all field errors; no memory; COR_WORK_YIELD: validation is too much for a loop,
 * and runs again on a thread.
 * Thread: the thread that has the call. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "meta/metadata/object_meta.h"
#include "meta/names/field_error.h"
#include "meta/object/object_edit.h"
#include "schema/custom/custom_scale.h"
#include "schema/kinds/custom_row.h"
#include "schema/kinds/custom_schema.h"
#include "schema/structural/structural.h"
#include "server/strategy/scale_write.h"
#include "server/strategy/strategy_run.h"
#include "server/write/stages.h"
#include "json/text/scan.h"
#include "json/write/edits.h"

static void check_metadata(const struct cor_judging *write, struct cor_field_errors *errs)
{
    const struct cor_resource_row *res = write->call->res;
    const struct cor_object_meta_rules rules = {res->name_rule, cor_api_is_namespaced(res),
                                                res->flags & COR_API_ANY_FINALIZER};
    struct cor_object_meta_rules generic = {COR_NAME_PATH_SEGMENT, rules.is_namespaced, true};
    struct cor_str metadata = cor_object_metadata(write->to_store->object);

    cor_object_meta_check(metadata, &rules, errs);
    if (write->present->is_create)
        return;
    generic.is_checked = errs->n == 0;
    cor_object_meta_check_update(metadata, cor_object_metadata(write->managed->old), &generic,
                                 errs);
    /* Upstream checks the metadata again. Where nothing was wrong, nothing will be. */
    if (errs->n > 0)
        cor_object_meta_check_update(metadata, cor_object_metadata(write->managed->old), &generic,
                                     errs);
}

/* Appends what that version would read of the object, with defaults as far as these are not too
 * large. */
static int fill_in_defaults(const struct cor_structural *schema, struct cor_str object,
                            struct cor_buf *out)
{
    const unsigned steps = COR_STRUCTURAL_ALL | COR_STRUCTURAL_EMBEDDED_STORED;
    int r = cor_structural_rewrite(schema, object, steps, out, NULL);

    if (r == -COR_ETOOBIG)
        r = cor_structural_rewrite(schema, object, steps & ~(unsigned)COR_STRUCTURAL_DEFAULT, out,
                                   NULL);
    return r == 0 ? cor_buf_adds(out, object) : r;
}

/* The present object as the request's version has it: upstream decodes it in that version. What is
 * the same in both is forgiven. The part that was sent was read by the schema of that version,
 * which drops and fills in; the other part, the status or all but the status, was taken over as the
 * version shows it (server/strategy/strategy_run.c). Appends it to `out`, unless it is the stored
 * object itself: 0, with `ret_old`. */
static int old_of_version(const struct cor_judging *write, const struct cor_structural *schema,
                          struct cor_buf *out, struct cor_str *ret_old)
{
    const struct cor_call *call = write->call;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *plain = NULL, *shown = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf filled = {.max = COR_WRITE_JSON_MAX};
    bool is_status = cor_strategy_endpoint(call) == COR_ON_STATUS;
    struct cor_str sent, kept, status;
    struct cor_edits edits = {0};
    int r;

    *ret_old = cor_object_json(write->present->current);
    if (!schema || call->res == call->stored)
        return 0;
    r = cor_object_at(write->present->current, 0, &plain);
    if (r == 0)
        r = cor_row_convert(call->res, call->res->conversion, plain, &shown);
    if (r == 0 && !cor_scale_is_written(call))
        r = fill_in_defaults(schema, cor_object_json(shown), &filled);
    if (r < 0)
        return r;
    kept = cor_object_json(shown);
    sent = filled.n > 0 ? cor_buf_str(&filled) : kept;
    if (!cor_api_has_part(call->res, COR_PART_STATUS))
        kept = sent;
    if (cor_json_get(is_status ? sent : kept, COR_STR("status"), COR_JSON_SORTED, &status) < 0)
        status = (struct cor_str){NULL, 0};
    cor_edits_set(&edits, COR_STR("status"), status);
    r = cor_edits_apply(&edits, is_status ? kept : sent, out);
    if (r == 0)
        *ret_old = cor_buf_str(out);
    return r;
}

/* Adds what the schema of the request's version finds wrong; COR_WORK_YIELD in `errs`: the stage
 * runs again. */
static void check_by_schema(const struct cor_judging *write, struct cor_field_errors *errs)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf old = {.max = COR_WRITE_JSON_MAX};
    const struct cor_call *call = write->call;
    struct cor_structural_validation validation = {
        .work = write->work,
        .object = cor_object_json(write->to_store->object),
        .is_status = call->sub && call->sub->part == COR_PART_STATUS,
    };
    const struct cor_custom_row *custom = call->res->custom;
    const struct cor_structural *schema;

    int r = cor_custom_schema_peek(custom->schema, &schema);

    if (r == 0 && !write->present->is_create)
        r = old_of_version(write, schema, &old, &validation.old);
    if (r < 0 && errs->error == 0)
        errs->error = r;
    if (r == 0 && schema)
        cor_structural_validate(schema, &validation, errs);
    if (errs->error == COR_WORK_YIELD)
        return;
    if (custom->scale)
        cor_custom_scale_check(custom->scale, validation.object, validation.is_status, errs);
    if (schema)
        cor_structural_check_embedded(schema, &validation, errs);
    if (schema)
        cor_structural_check_lists(schema, &validation, errs);
    if (schema)
        cor_structural_check_rules(schema, errs);
}

int cor_stage_validate_custom(const struct cor_judging *write)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};

    assert(write->to_store->object &&
           (write->present->is_create || (write->present->current && write->managed->old)));
    check_metadata(write, &errs);
    check_by_schema(write, &errs);
    if (errs.error == COR_WORK_YIELD)
        return COR_WORK_YIELD;
    return errs.n == 0 && errs.error == 0 ? 0 : cor_write_refuse_object(write, &errs);
}
