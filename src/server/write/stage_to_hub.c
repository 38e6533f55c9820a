/* The stage TO_HUB of built-in kinds: the object in the version of the request becomes the object
 * in the version that is stored, which is the hub of a built-in kind: events.k8s.io/v1 Events and
 * autoscaling/v1 HorizontalPodAutoscalers are stored as other versions, and a Secret's stringData
 * goes into data. From here on all stages see the hub's version, so that nothing is left to convert
 * before the object is stored.
 *
 * Failures: no memory, and an object that grows over its maximum.
 * Thread: the thread that has the call. */
#include <assert.h>

#include "base/err.h"
#include "meta/object/object_edit.h"
#include "schema/convert/conversion.h"
#include "server/write/stages.h"
#include "json/text/scan.h"

/* The function that makes the stored object from the one that was sent; NULL: they are the same. */
static cor_convert_fn convert_fn(const struct cor_call *call, const struct cor_object *object)
{
    struct cor_str ignored;

    if (call->conversion)
        return call->conversion->to_stored;
    if ((call->res->flags & COR_API_STRING_DATA) &&
        cor_json_get(cor_object_json(object), COR_STR("stringData"), COR_JSON_SORTED, &ignored) ==
            0)
        return cor_secret_fold;
    return NULL;
}

int cor_stage_to_hub(const struct cor_receiving *write)
{
    struct cor_call *call = write->call;
    cor_convert_fn fn = convert_fn(call, write->received->body);
    struct cor_object *stored;
    int r;

    assert(write->received->body);
    if (!fn)
        return 0;
    r = cor_convert_object(fn, call->stored->kind, call->stored->api_version, write->received->body,
                           &stored);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    cor_object_unref(write->received->body);
    write->received->body = stored;
    return 0;
}
