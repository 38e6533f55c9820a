/* The stage "default": the object becomes what upstream's types would make of it, in the version of
 * the request: fields that the type does not have are dropped, zero values and texts get the form
 * in which Go writes them (schema/rewrite.h). This runs after every decoding, also of what a patch
 * made. A kind without a type, which no built-in is, stays as it is.
 *
 * Failures: no memory, and an object that grows over its maximum (413).
 * Thread: the thread that has the call. */
#include <assert.h>

#include "base/err.h"
#include "schema/rewrite.h"
#include "server/write/stages.h"

int cor_write_take_rewritten(struct cor_call *call, int r, const struct cor_buf *json,
                             struct cor_object **object)
{
    struct cor_object *rewritten;

    if (r == 0)
        return 0;
    if (r > 0)
        r = cor_object_from_sorted(cor_buf_str(json), &rewritten);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    cor_object_unref(*object);
    *object = rewritten;
    return 0;
}

int cor_write_default(struct cor_write *write)
{
    struct cor_call *call = &write->call;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {0};
    int r;

    assert(write->body);
    if (!call->schema)
        return 0;
    cor_buf_init(&json, COR_WRITE_JSON_MAX);
    r = cor_rewrite(call->schema, cor_object_json(write->body), &json);
    if (r == -COR_ETOOBIG)
        return cor_status_set(&call->status, r,
                              "Request entity too large: the object has too many empty elements");
    return cor_write_take_rewritten(call, r, &json, &write->body);
}
