/* The stage "store", in its two forms: a new object is created under its key, and a step of a
 * guaranteed update writes over exactly the state that it was judged for. Objects of kinds that
 * expire get their time to live here.
 *
 * Failures: the store's, in its reply; the verb answers them.
 * Thread: the call's loop. */
#include "server/write/store.h"

#include <assert.h>

#include "base/err.h"
#include "server/write/options.h"

static int64_t store_ttl(const struct cor_call *call)
{
    return call->res->flags & COR_API_TTL ? call->loop->api->event_ttl_s : 0;
}

int cor_write_store_new(struct cor_write *write, cor_store_cb on_stored, void *arg)
{
    struct cor_call *call = &write->call;

    assert(write->object && write->is_create && !cor_call_is_dry_run(call));
    return cor_store_create(call->backing->store, cor_buf_str(&call->key), write->object,
                            store_ttl(call), on_stored, arg, &call->status);
}

void cor_write_store_change(struct cor_write *write, int r, struct cor_store_change *change)
{
    assert(change && cor_loop_is_current(write->call.loop->loop));
    if (r == 0 && !write->removes && !cor_call_is_dry_run(&write->call))
        cor_store_change_write(change, cor_object_ref(write->object), store_ttl(&write->call));
    else
        cor_store_change_stop(change);
}
