/* clang-format off */
/* The stages DEFAULT_COPIES and DEFAULT_LATE: the defaults of a kind that copy what the server has
 * added to the object (a Job's labels).
 *
 *   DEFAULT_COPIES  before validation, if they had something to copy of what the client sent:
 *                   upstream has filled them in when it decoded the body, and adds its part to both
 *                   places, so that they are validated
 *   DEFAULT_LATE    after it, for all other bodies: upstream fills them in when it reads what it
 *                   has stored, so that nothing validates them
 *
 * Running them again changes nothing.
 * Failures: no memory, and an object that grows over its maximum (413).
 * Thread: the thread that has the call. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "schema/walk/default.h"
#include "server/write/stages.h"

const struct cor_type *cor_write_late_type(const struct cor_call *call)
{
    const struct cor_type *type =
        call->stored == call->type ? call->schema : cor_row_schema(call->stored);

    return type && cor_type_is(type, COR_TYPE_LATE) ? type : NULL;
}

bool cor_stage_defaults_late(const struct cor_judging *write)
{
    return cor_write_late_type(write->call) != NULL;
}

int cor_stage_default_late(const struct cor_storing *write)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = COR_WRITE_JSON_MAX};
    int r;

    assert(write->to_store->object);
    r = cor_default_late(cor_write_late_type(write->call), cor_object_json(write->to_store->object),
                         &json);
    return cor_write_take_rewritten(write->call, r, &json, &write->to_store->object);
}

int cor_stage_default_copies(const struct cor_storing *write)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = COR_WRITE_JSON_MAX};
    int r;

    r = cor_default_late(cor_write_late_type(write->call),
                         cor_object_json(cor_storing_source(write)), &json);
    if (r < 0)
        return cor_status_set_err(&write->call->status, r);
    return r == 0 ? 0 : cor_stage_default_late(write);
}
