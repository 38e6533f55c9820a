/* The stage TO_STORED of custom resources: the object becomes what upstream reads when it has
 * stored it. Numbers get upstream's form, and the schema of the stored version has the last word:
 * it drops and fills in once more, unless the object is stored as it was decoded. An apply drops
 * nothing before, a scale adds to an object, a creation drops the status.
 *
 * Failures: 413 for an object whose defaults make it too large, unless the present object is such a
 * one; no memory; COR_WORK_YIELD.
 * Thread: the thread that has the call. */
#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "meta/object/object_edit.h"
#include "schema/kinds/custom_row.h"
#include "schema/kinds/custom_schema.h"
#include "server/strategy/scale_write.h"
#include "server/write/custom_rewrite.h"
#include "server/write/stages.h"

/* Are the defaults of the row's schema too large for the present object? 0 or 1, -COR_ENOMEM. */
static int defaults_are_large(const struct cor_storing *write, const struct cor_resource_row *row)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    const struct cor_structural *schema = NULL;
    int r = cor_custom_schema_peek(row->custom->schema, &schema);

    if (r == 0 && schema && write->present->current)
        r = cor_structural_rewrite(schema, cor_object_json(write->present->current),
                                   COR_STRUCTURAL_DEFAULT, &json, NULL);
    if (r == -COR_ETOOBIG)
        return 1;
    return r < 0 ? r : 0;
}

/* Objects that were stored before their defaults became too large, in the stored version or in that
 * of the request, are served without them, and an update may leave such an object so. Any other
 * object is refused. */
static int check_defaults(const struct cor_storing *write)
{
    struct cor_call *call = write->call;
    int r = defaults_are_large(write, call->stored);

    if (r == 0 && call->res != call->stored)
        r = defaults_are_large(write, call->res);
    if (r == 1)
        return 0;
    return r < 0 ? cor_status_set_err(&call->status, r)
                 : cor_status_set(&call->status, -COR_ETOOBIG,
                                  "Request entity too large: defaults make the object too large");
}

/* Returns whether the schema of the stored version may still have work to do. It has none for an
 * object that was decoded in that version and is stored unchanged. */
static bool is_changed_after_decoding(const struct cor_storing *write,
                                      const struct cor_structural *schema)
{
    const struct cor_call *call = write->call;

    return write->asked->is_applied || call->res != call->stored || cor_scale_is_written(call) ||
           (write->present->is_create && schema &&
            cor_structural_fills_in(schema, COR_STR("status")));
}

int cor_stage_to_stored(const struct cor_storing *write)
{
    struct cor_call *call = write->call;
    bool lacks_defaults = write->received->lacks_defaults;
    struct cor_custom_steps steps = {
        .row = call->stored,
        .steps = COR_STRUCTURAL_NUMBERS,
        .ret_lacks_defaults = write->present->is_create ? NULL : &lacks_defaults,
    };
    const struct cor_structural *schema;
    int r = cor_custom_schema_peek(call->stored->custom->schema, &schema);

    assert(write->to_store->object);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    if (is_changed_after_decoding(write, schema))
        steps.steps |= COR_STRUCTURAL_ALL | COR_STRUCTURAL_EMBEDDED_STORED;
    r = cor_custom_rewrite(call, write->work, &steps, &write->to_store->object);
    return r == 0 && lacks_defaults ? check_defaults(write) : r;
}
