/* The stage PREPARE: makes the object that will be stored from the body, and for an update from the
 * present object: what the server fills in, and what it keeps (server/strategy/).
 * Failures: 422 in upstream's words; no memory; an object over its maximum.
 * Thread: the thread that has the call. */
#include <assert.h>

#include "base/err.h"
#include "server/strategy/strategy_run.h"
#include "server/write/stages.h"

static int prepare_run_strategy(struct cor_write *write, const struct cor_strategy_input *input)
{
    return write->is_create ? cor_strategy_create(&write->call, input, &write->object)
                            : cor_strategy_update(&write->call, input, &write->object);
}

int cor_stage_prepare(struct cor_write *write)
{
    struct cor_call *call = &write->call;
    struct cor_strategy_input input = {
        .body = cor_write_source(write),
        .old = write->is_create ? NULL : write->old,
        .sender = cor_buf_str(&write->sender),
        /* A conversion may have made such a field from an annotation. */
        .has_gated = write->has_gated || call->conversion,
        .sends_empty = write->sends_empty,
    };
    int r;

    assert(write->body && (write->is_create || write->old));
    write->object = cor_object_unref(write->object);
    write->removes = false;
    r = prepare_run_strategy(write, &input);
    if (r == 0 && !write->is_create)
        write->removes = cor_strategy_is_finished(call, write->object);
    return r;
}
