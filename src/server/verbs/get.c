/* GET of one object: reads it from the reader of its resource (cache or store) and answers with it.
 * Thread: the call's loop. */
#include "server/api/call.h"

static void get_on_object(void *arg, const struct cor_store_reply *reply)
{
    struct cor_call *call = arg;

    if (!cor_call_end_op(call))
        return;
    if (reply->err < 0) {
        cor_status_move(&call->status, reply->status);
        cor_call_fail_storage(call, COR_STORAGE_OP_GET);
        return;
    }
    cor_call_reply_object(call, 200, reply->object);
}

static void get_run(struct cor_call *call)
{
    struct cor_store_get_opts opts = {.resource_version = call->opts.resource_version};
    int r = cor_call_set_key(call);

    if (r == 0 && call->opts.is_export)
        r = cor_status_bad_request(
            &call->status, "the export parameter, deprecated since v1.14, is no longer supported");
    if (r < 0) {
        cor_call_fail(call);
        return;
    }
    r = cor_reader_get(call->backing->reader, cor_buf_str(&call->key), &opts, get_on_object, call,
                       &call->status);
    if (r < 0)
        cor_call_fail_storage(call, COR_STORAGE_OP_GET);
    else
        cor_call_begin_op(call);
}

const struct cor_verb_ops cor_verb_get = {.size = sizeof(struct cor_call), .run = get_run};
