/* The stage PREPARE: makes the object that will be stored from the body, and for an update from the
 * present object: what the server fills in, and what it keeps (server/strategy/).
 * Failures: 422 in upstream's words; no memory; an object over its maximum.
 * Thread: the thread that has the call. */
#include <assert.h>

#include "base/err.h"
#include "server/strategy/strategy_run.h"
#include "server/write/stages.h"

static int prepare_run_strategy(const struct cor_storing *write,
                                const struct cor_strategy_input *input)
{
    return write->present->is_create
               ? cor_strategy_create(write->call, input, &write->to_store->object)
               : cor_strategy_update(write->call, input, &write->to_store->object);
}

int cor_stage_prepare(const struct cor_storing *write)
{
    struct cor_call *call = write->call;
    struct cor_strategy_input input = {
        .body = cor_storing_source(write),
        .old = write->present->is_create ? NULL : write->managed->old,
        .sender = cor_buf_str(&write->asked->sender),
        /* A conversion may have made such a field from an annotation. */
        .has_gated = write->received->has_gated || write->admitted->has_gated || call->conversion,
        .sends_empty = write->received->sends_empty,
    };
    int r;

    assert(write->received->body && (write->present->is_create || write->managed->old));
    write->to_store->object = cor_object_unref(write->to_store->object);
    write->to_store->removes = false;
    r = prepare_run_strategy(write, &input);
    if (r == 0 && !write->present->is_create)
        write->to_store->removes = cor_strategy_is_finished(call, write->to_store->object);
    return r;
}
