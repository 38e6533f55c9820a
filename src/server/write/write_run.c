/* clang-format off */
/* Runs a list of stages.
 *
 *   cor_stage_list_run ──► run_go_on: neighbouring pure stages as one piece of work (heavy.h) ──►
 *     a stage that may finish later: `start` ──► cor_write_resume ──► run_go_on … ──► done
 *     a stage that gives up because it has too much to do for a loop (COR_WORK_YIELD), or an object
 *     that is larger than its body was: run_go_on, on a thread now
 *
 * A stage that fails ends the list: what was reserved is released, then `done` gets the error, and
 * the status says why. `done` is called once in any case, also when the reader has gone meanwhile,
 * because a guaranteed update may wait for it; no stage starts after that. While a stage may finish
 * later the call counts one operation under way, so that it is not freed before cor_write_resume().
 * Thread: the call's loop, except run_pure(). */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "meta/object/object_edit.h"
#include "schema/kinds/custom_row.h"
#include "schema/kinds/custom_schema.h"
#include "server/alloc/allocation.h"
#include "server/write/stage_later.h"
#include "server/write/write.h"
#include "server/write/write_body.h"

#define BYTES_OF_STEP 64 /* of objects that a stage goes over in the time of a step */

/* The index of the first row at or behind a stage. */
static size_t list_find(const struct cor_stage_list *list, enum cor_stage stage)
{
    size_t i = 0;

    while (i < list->n && list->rows[i].stage < stage)
        i++;
    return i;
}

/* The stage that is next, or the one that the list ends before. */
static enum cor_stage run_stage(const struct cor_write *write)
{
    return write->run.at < write->run.list->n ? write->run.list->rows[write->run.at].stage
                                              : COR_STAGE_STORE;
}

static bool run_is_over(const struct cor_write *write)
{
    return run_stage(write) >= write->run.until;
}

static bool custom_has_work(struct cor_custom_schema *schema)
{
    const struct cor_structural *compiled;

    if (cor_custom_schema_weight(schema) > 0)
        return cor_custom_schema_weight(schema) > COR_HEAVY_BYTES;
    return cor_custom_schema_peek(schema, &compiled) == 0 && compiled &&
           cor_structural_has_work(compiled);
}

/* Must the write's schemas be compiled first: those of a definition, or the patterns of a kind? An
 * object is written by the schema of its version, and by that of the stored one. */
static bool run_compiles(const struct cor_write *write)
{
    const struct cor_resource_row *row = write->call.type, *stored = write->call.stored;

    if (!row)
        return false;
    return row->role == COR_ROLE_DEFINITIONS ||
           (row->custom && custom_has_work(row->custom->schema)) ||
           (stored && stored->custom && stored != row && custom_has_work(stored->custom->schema));
}

/* What of the present object only the stages of managedFields read. Long lists are long work for
 * these. */
static size_t run_managed_weight(const struct cor_write *write)
{
    size_t n = cor_object_meta_member(write->present.current, COR_STR("managedFields")).n;

    return n <= COR_HEAVY_BYTES ? n : 0;
}

/* What the pure stages from here on go over, as far as it is known before they run. Each copy of a
 * JSON patch may double the object. */
static size_t run_weight(const struct cor_write *write)
{
    size_t n = write->present.current ? cor_object_json(write->present.current).n : 0, body;

    if (run_compiles(write))
        n += COR_HEAVY_BYTES;
    if (run_stage(write) == COR_STAGE_APPLY_PATCH && write->asked.apply) {
        n += write->asked.patch_bytes;
        for (size_t i = 0; i < write->asked.patch_copies && n <= COR_HEAVY_BYTES; i++)
            n *= 2;
        return n;
    }
    if (run_stage(write) <= COR_STAGE_DECODE)
        return n + (write->asked.apply ? write->received.json.n : cor_body_weight(&write->call));
    body = cor_body_json_weight(cor_object_json(write->received.body));
    if (write->present.current && n + body > COR_HEAVY_BYTES)
        n -= run_managed_weight(write);
    return n + body;
}

static bool run_may_yield(const struct cor_write *write)
{
    return cor_heavy_has_threads(&write->call) && !cor_heavy_is_running(&write->call);
}

static size_t run_object_bytes(const struct cor_object *object)
{
    return object ? cor_object_head(object).n : 0; /* a server's objects are all JSON */
}

/* A stage has ended. Is the rest for a thread? The object may be more than its body or its patch
 * showed: decoded YAML, or defaults. */
static bool run_has_grown(struct cor_write *write)
{
    size_t body = run_object_bytes(write->received.body),
           object = run_object_bytes(write->to_store.object);

    (void)cor_work_charge(&write->run.work,
                          (body + object + run_object_bytes(write->present.current)) /
                              BYTES_OF_STEP);
    return run_may_yield(write) && (body > COR_HEAVY_BYTES || object > COR_HEAVY_BYTES ||
                                    cor_work_result(&write->run.work) == COR_WORK_YIELD);
}

/* The request goes with its reader, and what was decoded of it on the loop points into its body:
 * before a thread goes on, the body is copied. 0, or a failure in the status. */
static int run_keep_json(struct cor_write *write)
{
    struct cor_str json = write->received.json;
    int r;

    if (run_stage(write) <= COR_STAGE_DECODE || run_stage(write) > COR_STAGE_TO_HUB ||
        write->received.text.n > 0)
        return 0;
    r = cor_buf_adds(&write->received.text, json);
    if (r < 0)
        return cor_status_set_err(&write->call.status, r);
    write->received.json = cor_buf_str(&write->received.text);
    if (write->received.rv.n > 0)
        write->received.rv.p = write->received.json.p + (write->received.rv.p - json.p);
    return 0;
}

/* The stage that has given up runs again. What it may have left behind is what a patch or decoding
 * makes of a body. */
static void run_undo_stage(struct cor_write *write, uint64_t steps)
{
    write->run.work.steps = steps;
    if (run_stage(write) == COR_STAGE_APPLY_PATCH)
        cor_buf_deinit(&write->received.text);
    if (run_stage(write) != COR_STAGE_DECODE || write->asked.apply)
        return;
    cor_buf_reset(&write->received.text);
    cor_buf_reset(&write->received.yaml_dups);
    write->received.json = write->received.rv = COR_STR("");
}

/* ---- what a stage sees ---- */

static struct cor_judging judging_of(struct cor_write *write)
{
    return (struct cor_judging){
        .call = &write->call,
        .work = &write->run.work,
        .asked = &write->asked,
        .present = &write->present,
        .received = &write->received,
        .managed = &write->managed,
        .admitted = &write->admitted,
        .to_store = &write->to_store,
    };
}

struct cor_storing cor_storing_of(struct cor_call *call)
{
    struct cor_write *write = cor_write_of(call);

    return (struct cor_storing){
        .call = call,
        .work = &write->run.work,
        .asked = &write->asked,
        .present = &write->present,
        .received = &write->received,
        .managed = &write->managed,
        .admitted = &write->admitted,
        .to_store = &write->to_store,
    };
}

static struct cor_admitting admitting_of(struct cor_write *write)
{
    return (struct cor_admitting){
        .call = &write->call,
        .present = &write->present,
        .received = &write->received,
        .managed = &write->managed,
        .admitted = &write->admitted,
        .to_store = &write->to_store,
    };
}

static int run_apply(struct cor_write *write, const struct cor_stage_row *row)
{
    const struct cor_applying applying = {
        .call = &write->call,
        .work = &write->run.work,
        .asked = &write->asked,
        .present = &write->present,
        .received = &write->received,
        .managed = &write->managed,
    };

    return row->apply(&applying);
}

static int run_receive(struct cor_write *write, const struct cor_stage_row *row)
{
    const struct cor_receiving receiving = {
        .call = &write->call,
        .work = &write->run.work,
        .asked = &write->asked,
        .present = &write->present,
        .received = &write->received,
    };

    return row->receive(&receiving);
}

static int run_manage(struct cor_write *write, const struct cor_stage_row *row)
{
    const struct cor_managing managing = {
        .call = &write->call,
        .work = &write->run.work,
        .asked = &write->asked,
        .present = &write->present,
        .received = &write->received,
        .managed = &write->managed,
    };

    return row->manage(&managing);
}

static bool row_may_wait(const struct cor_stage_row *row)
{
    return row->start_admit || row->start_store;
}

static int run_row(struct cor_write *write, const struct cor_stage_row *row,
                   const struct cor_judging *judging)
{
    if (row->apply)
        return run_apply(write, row);
    if (row->receive)
        return run_receive(write, row);
    if (row->manage)
        return run_manage(write, row);
    if (row->admit) {
        const struct cor_admitting admitting = admitting_of(write);

        return row->admit(&admitting);
    }
    if (row->store) {
        const struct cor_storing storing = cor_storing_of(&write->call);

        return row->store(&storing);
    }
    return row->judge(judging);
}

static void run_start_row(struct cor_write *write, const struct cor_stage_row *row)
{
    const struct cor_admitting admitting = admitting_of(write);
    const struct cor_storing storing = cor_storing_of(&write->call);

    if (row->start_admit)
        row->start_admit(&admitting);
    else
        row->start_store(&storing);
}

/* ---- the run ---- */

/* Runs pure stages up to the next that may finish later, or up to the one that is too much for the
 * loop. */
static int run_pure(struct cor_call *call)
{
    struct cor_write *write = cor_write_of(call);
    const struct cor_judging judging = judging_of(write);
    int r = 0;

    write->run.yields = false;
    write->run.work.slice =
        run_may_yield(write) ? write->run.work.steps + COR_WORK_SLICE : UINT64_MAX;
    for (; r == 0 && !run_is_over(write); write->run.at++) {
        const struct cor_stage_row *row = &write->run.list->rows[write->run.at];
        uint64_t steps = write->run.work.steps;

        if (row->applies && !row->applies(&judging))
            continue;
        if (row_may_wait(row) || write->run.yields)
            break;
        r = run_row(write, row, &judging);
        if (r == COR_WORK_YIELD) {
            assert(run_may_yield(write));
            run_undo_stage(write, steps);
            write->run.yields = true;
            return 0;
        }
        write->run.yields = r == 0 && run_has_grown(write);
    }
    return r == 0 && write->run.yields ? run_keep_json(write) : r;
}

static void run_finish(struct cor_write *write, int r)
{
    cor_write_done done = write->run.done;

    write->run.done = NULL;
    /* Nothing behind TO_HUB reads these, and a thread's copy of the body has been freed. */
    write->received.json = write->received.rv = COR_STR("");
    cor_buf_deinit(&write->received.text);
    done(write, r);
}

static void run_on_undone(void *arg)
{
    struct cor_write *write = arg;

    run_finish(write, write->run.failure);
    (void)cor_call_end_op(&write->call);
}

/* A write that goes no further gives back what was reserved for it, before anything is answered. */
static void run_end(struct cor_write *write, int r)
{
    if (r == 0 && write->call.is_over)
        r = -COR_ECANCELED;
    /* What is too old may be taken back by a repair before the object is stored. */
    if (r == 0 && write->to_store.allocation && cor_allocation_is_stale(write->to_store.allocation))
        r = cor_status_timeout(&write->call.status, 0,
                               "the request took too long after its addresses were reserved");
    if (r == 0 || !write->to_store.allocation) {
        run_finish(write, r);
        return;
    }
    write->run.failure = r;
    cor_call_begin_op(&write->call);
    cor_allocation_settle(COR_STEAL(write->to_store.allocation), COR_ALLOCATION_UNDO, run_on_undone,
                          write);
}

static void run_go_on(struct cor_write *write);

static void run_on_pure_done(struct cor_call *call, int r)
{
    struct cor_write *write = cor_write_of(call);

    if (r < 0 || call->is_over || run_is_over(write)) {
        run_end(write, r);
    } else if (row_may_wait(&write->run.list->rows[write->run.at])) {
        cor_call_begin_op(call);
        run_start_row(write, &write->run.list->rows[write->run.at]);
    } else {
        run_go_on(write);
    }
}

static void run_go_on(struct cor_write *write)
{
    size_t weight = run_weight(write);

    if (write->run.yields && weight <= COR_HEAVY_BYTES)
        weight = COR_HEAVY_BYTES + 1;
    cor_heavy_run(&write->call, weight, run_pure, run_on_pure_done);
}

void cor_write_resume(struct cor_call *call, int r)
{
    struct cor_write *write = cor_write_of(call);

    assert(call->pending > 0 && cor_loop_is_current(call->loop->loop));
    write->run.at++;
    if (r < 0 || call->is_over || run_is_over(write))
        run_end(write, r);
    else
        run_go_on(write);
    (void)cor_call_end_op(call);
}

void cor_stage_list_run(struct cor_write *write, const struct cor_stage_list *list,
                        enum cor_stage from, enum cor_stage until, cor_write_done done)
{
    assert(from < until && until <= COR_STAGE_STORE && done && !write->run.done);
    assert(!write->call.is_over && cor_loop_is_current(write->call.loop->loop));
    if (from <= COR_STAGE_ADMIT_MUTATING) /* what plugins have made of an earlier body */
        write->admitted.body = cor_object_unref(write->admitted.body);
    write->run.list = list;
    write->run.at = list_find(list, from);
    write->run.until = until;
    write->run.done = done;
    write->run.work = cor_work_new(false);
    write->run.yields = false;
    run_go_on(write);
}
