/* clang-format off */
/* Steps of the schema of a custom resource over an object (schema/structural/structural.h), on the
 * loop or on the thread that has the call.
 *
 *   the schema of a version ──► one walk with the steps that are asked for ──► the object of it
 *
 * An object that is updated and would be too large with its defaults stays without them, because it
 * may have been stored before these were in the schema; TO_STORED looks whether it was.
 * Failures: -COR_EINVAL for embedded resources, left to the caller; COR_WORK_YIELD on a loop that
 * has no time for the object, or for what defaults make of it; 413; no memory.
 * Thread: the thread that has the call. */
/* clang-format on */
#include "server/write/custom_rewrite.h"

#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "schema/kinds/custom_row.h"
#include "schema/kinds/custom_schema.h"
#include "server/write/stages.h"

#define LOOP_JSON_MAX (4u * COR_HEAVY_BYTES)

int cor_custom_rewrite(struct cor_call *call, struct cor_work *work,
                       const struct cor_custom_steps *steps, struct cor_object **object)
{
    bool on_loop = cor_heavy_has_threads(call) && !cor_heavy_is_running(call);
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf json = {.max = on_loop ? LOOP_JSON_MAX : COR_WRITE_JSON_MAX};
    const struct cor_structural *schema;
    int r;

    assert(steps->row->custom);
    r = cor_custom_schema_peek(steps->row->custom->schema, &schema);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    if (!schema)
        return 0;
    if (cor_work_charge(work, cor_object_json(*object).n / COR_WORK_STEP_BYTES) == COR_WORK_YIELD)
        return COR_WORK_YIELD;
    r = cor_structural_rewrite(schema, cor_object_json(*object), steps->steps, &json,
                               steps->unknown);
    (void)cor_work_charge(work, json.n / COR_WORK_STEP_BYTES);
    if (r == -COR_EINVAL)
        return r;
    if (r == -COR_ETOOBIG && on_loop)
        return COR_WORK_YIELD;
    if ((steps->steps & COR_STRUCTURAL_DEFAULT) && steps->ret_lacks_defaults &&
        (r == -COR_ETOOBIG || (r == 1 && json.n > COR_OBJECT_BYTES_MAX_DEFAULT))) {
        struct cor_custom_steps fewer = *steps;

        *steps->ret_lacks_defaults = true;
        if (steps->unknown)
            steps->unknown->n = 0;
        fewer.steps &= ~(unsigned)COR_STRUCTURAL_DEFAULT;
        return cor_custom_rewrite(call, work, &fewer, object);
    }
    if (r == -COR_ETOOBIG)
        return cor_status_set(&call->status, r,
                              "Request entity too large: defaults make the object too large");
    return cor_write_take_rewritten(call, r, &json, object);
}
