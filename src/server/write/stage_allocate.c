/* clang-format off */
/* The stage ALLOCATE: reserves the addresses and the node ports of a Service (server/alloc/), and
 * makes the body that shows them.
 *
 *   what an earlier run of the stage reserved is given back ──► a create without a name: the name
 *   is generated here ──► plan ──► reserve ──► make the object ──► resume
 *
 * Planning and making the object look at each port; of a large Service they run on an offload thread.
 *
 * The stage runs again when a compare was lost or a generated name is taken; the body of the client
 * stays as it is, and what is reserved for it goes into `allocated`. The reservation carries the
 * name of the Service, so that the name has to be known before.
 * Failures: 422 and 500 in upstream's words, the store's, no memory:
 * all reach cor_write_resume(). What was reserved until then is undone when the list ends.
 * Thread: the call's loop, except allocate_plan() and allocate_finish(). */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "meta/object/object_edit.h"
#include "server/alloc/allocation.h"
#include "server/api/heavy.h"
#include "server/strategy/strategy_run.h"
#include "server/write/stage_later.h"
#include "server/write/stages.h"
#include "server/write/write_options.h"
#include "json/text/scan.h"

bool cor_stage_allocates(const struct cor_judging *write)
{
    return cor_call_reserves(write->call) && !write->call->sub;
}

/* What planning and making the object go over. */
static size_t allocate_weight(const struct cor_storing *write)
{
    return cor_object_json(cor_admitted_body(write->received, write->admitted)).n +
           (write->present->current ? cor_object_json(write->present->current).n : 0);
}

/* A stage (server/api/heavy.h). */
static int allocate_finish(struct cor_call *call)
{
    struct cor_write_to_store *to_store = cor_storing_of(call).to_store;

    return cor_allocation_finish(to_store->allocation, &call->status, &to_store->allocated);
}

static void allocate_on_finished(struct cor_call *call, int r)
{
    cor_write_resume(call, call->is_over ? -COR_ECANCELED : r);
}

static void allocate_on_reserved(void *arg, int r)
{
    struct cor_call *call = arg;
    const struct cor_storing write = cor_storing_of(call);

    if (r < 0 || call->is_over)
        cor_write_resume(call, r < 0 ? r : -COR_ECANCELED);
    else
        cor_heavy_run(call, allocate_weight(&write), allocate_finish, allocate_on_finished);
}

/* A stage (server/api/heavy.h). */
static int allocate_plan(struct cor_call *call)
{
    return cor_allocation_plan(cor_storing_of(call).to_store->allocation, &call->status);
}

static void allocate_on_planned(struct cor_call *call, int r)
{
    if (r < 0 || call->is_over)
        cor_write_resume(call, r < 0 ? r : -COR_ECANCELED);
    else
        cor_allocation_run(cor_storing_of(call).to_store->allocation, &call->status,
                           allocate_on_reserved, call);
}

/* The name of the object: the one that it has, or one that is generated into `scratch`. Empty: it
 * has neither, and validation refuses it. */
static int allocate_name(const struct cor_storing *write, struct cor_buf *scratch,
                         struct cor_str *ret_name)
{
    struct cor_str prefix;
    int r;

    *ret_name = write->present->is_create
                    ? cor_object_name(cor_admitted_body(write->received, write->admitted))
                    : write->call->name;
    if (ret_name->n > 0 ||
        cor_json_to_raw(cor_object_meta_member(cor_admitted_body(write->received, write->admitted),
                                               COR_STR("generateName")),
                        &prefix) < 0 ||
        prefix.n == 0)
        return 0;
    r = cor_strategy_generate_name(write->call, prefix, scratch);
    *ret_name = cor_buf_str(scratch);
    return r;
}

static void allocate_begin(const struct cor_storing *write)
{
    struct cor_call *call = write->call;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf scratch = {0};
    struct cor_allocation_opts opts = {
        .alloc = call->loop->shared->alloc,
        .loop = call->loop,
        .body = cor_admitted_body(write->received, write->admitted),
        .current = write->present->is_create ? NULL : write->present->current,
        .ns = call->ns,
        .is_dry_run = cor_call_is_dry_run(call)};
    int r;

    cor_buf_init(&scratch, COR_GENERATED_MAX + 1);
    r = allocate_name(write, &scratch, &opts.name);
    /* Nothing is reserved for a name that validation refuses. */
    if (cor_name_check(call->res->name_rule, opts.name).n > 0)
        opts.name = COR_STR("");
    if (r == 0)
        r = cor_allocation_new(&opts, &write->to_store->allocation);
    if (r < 0)
        cor_write_resume(call, cor_status_set_err(&call->status, r));
    else
        cor_heavy_run(call, allocate_weight(write), allocate_plan, allocate_on_planned);
}

static void allocate_on_undone(void *arg)
{
    struct cor_call *call = arg;
    const struct cor_storing write = cor_storing_of(call);

    if (call->is_over)
        cor_write_resume(call, -COR_ECANCELED);
    else
        allocate_begin(&write);
}

void cor_stage_allocate(const struct cor_storing *write)
{
    assert(write->received->body && (write->present->is_create || write->present->current));
    assert(!write->call->is_over && cor_loop_is_current(write->call->loop->loop));
    write->to_store->allocated = cor_object_unref(write->to_store->allocated);
    if (write->to_store->allocation)
        cor_allocation_settle(COR_STEAL(write->to_store->allocation), COR_ALLOCATION_UNDO,
                              allocate_on_undone, write->call);
    else
        allocate_begin(write);
}
