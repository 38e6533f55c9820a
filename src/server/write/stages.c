/* clang-format off */
/* The list of the stages, and what runs it.
 *
 *   cor_write_run ──► write_go_on: neighbouring pure stages as one piece of work (heavy.h) ──►
 *     a stage that may finish later: `start` ──► cor_write_resume ──► write_go_on … ──► done
 *     a stage that gives up because it has too much to do for a loop (COR_WORK_YIELD), or an object
 *     that is larger than its body was: write_go_on, on a thread now
 *
 * A stage that fails ends the list: what was reserved is given back, then `done` gets the error,
 * and the status says why. `done` is called once in any case, also when the reader has gone
 * meanwhile, because a guaranteed update may wait for it; no stage starts after that.
 * While a stage may finish later the call counts one operation under way, so that it is not freed
 * before cor_write_resume().
 * Thread: the call's loop, except write_run_pure(). */
/* clang-format on */
#include "server/write/stages.h"

#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "meta/object/object_edit.h"
#include "schema/kinds/custom_row.h"
#include "schema/kinds/custom_schema.h"
#include "schema/types/strategy.h"
#include "server/access/user.h"
#include "server/alloc/allocation.h"
#include "server/write/write_body.h"
#include "server/write/write_options.h"
#include "json/write/writer.h"

#define BYTES_OF_STEP 64 /* of objects that a stage goes over in the time of a step */
#define SENDER_MAX    (1u << 20)
#define MANAGER_MAX   4096 /* a name of 128 bytes, each of which may need an escape */

static int write_apply(struct cor_write *write)
{
    return write->apply(write);
}

static bool write_is_patch(const struct cor_write *write)
{
    return write->apply != NULL;
}

/* A row without a function is the place of a stage that this server has no work for yet. */
static const struct {
    int (*run)(struct cor_write *write);            /* a pure stage */
    void (*start)(struct cor_write *write);         /* a stage that may finish later */
    bool (*applies)(const struct cor_write *write); /* NULL: always */
} stages[COR_WRITE_STORE] = {
    [COR_WRITE_APPLY] = {.run = write_apply, .applies = write_is_patch},
    [COR_WRITE_DECODE] = {.run = cor_write_decode},
    [COR_WRITE_STRICT] = {.run = cor_write_strict},
    [COR_WRITE_MATCH] = {.run = cor_write_match},
    [COR_WRITE_DEFAULT] = {.run = cor_write_default},
    [COR_WRITE_CONVERT] = {.run = cor_write_convert},
    [COR_WRITE_MANAGED_FIELDS] = {.run = cor_write_managed_fields},
    [COR_WRITE_MUTATE] = {.start = cor_write_check_namespace,
                          .applies = cor_write_checks_namespace},
    [COR_WRITE_ALLOCATE] = {.start = cor_write_allocate, .applies = cor_write_allocates},
    [COR_WRITE_PREPARE] = {.run = cor_write_prepare},
    [COR_WRITE_VALIDATE] = {.run = cor_write_validate},
    [COR_WRITE_DEFAULT_LATE] = {.run = cor_write_default_late, .applies = cor_write_defaults_late},
    [COR_WRITE_TIMES] = {.run = cor_write_times, .applies = cor_write_has_managed},
    [COR_WRITE_ADMIT] = {.run = NULL},
};

void cor_write_init(struct cor_write *write)
{
    cor_buf_init(&write->text, COR_BODY_BYTES_MAX);
    cor_buf_init(&write->yaml_dups, COR_BODY_DUPS_MAX);
    cor_buf_init(&write->findings, COR_READ_TEXTS_MAX);
    cor_buf_init(&write->sender, SENDER_MAX);
    cor_buf_init(&write->manager, MANAGER_MAX);
    cor_buf_init(&write->managed_text, COR_WRITE_JSON_MAX);
}

void cor_write_deinit(struct cor_write *write)
{
    cor_buf_deinit(&write->text);
    cor_buf_deinit(&write->yaml_dups);
    cor_buf_deinit(&write->findings);
    cor_buf_deinit(&write->sender);
    cor_buf_deinit(&write->manager);
    cor_buf_deinit(&write->managed_text);
    write->report = cor_read_report_free(write->report);
    write->body = cor_object_unref(write->body);
    write->sent = cor_object_unref(write->sent);
    write->ns_object = cor_object_unref(write->ns_object);
    write->current = cor_object_unref(write->current);
    write->old = cor_object_unref(write->old);
    write->object = cor_object_unref(write->object);
    write->allocated = cor_object_unref(write->allocated);
    cor_allocation_abandon(write->allocation);
    cor_object_unref(write->reply.object);
    cor_status_deinit(&write->reply.status);
    if (write->creation)
        cor_creations_end(write->creation);
    write->creation = NULL;
    if (write->gate)
        cor_creation_gate_leave(write->gate);
    write->gate = NULL;
}

static bool write_has_work(const struct cor_write *write, enum cor_write_stage stage)
{
    return (stages[stage].run || stages[stage].start) &&
           (!stages[stage].applies || stages[stage].applies(write));
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
static bool write_compiles(const struct cor_write *write)
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
static size_t write_managed_weight(const struct cor_write *write)
{
    size_t n = cor_object_meta_member(write->current, COR_STR("managedFields")).n;

    return n <= COR_HEAVY_BYTES ? n : 0;
}

/* What the pure stages from here on go over, as far as it is known before they run. Each copy of a
 * JSON patch may double the object. */
static size_t write_weight(const struct cor_write *write)
{
    size_t n = write->current ? cor_object_json(write->current).n : 0, body;

    if (write_compiles(write))
        n += COR_HEAVY_BYTES;
    if (write->at == COR_WRITE_APPLY && write->apply) {
        n += write->patch_bytes;
        for (size_t i = 0; i < write->patch_copies && n <= COR_HEAVY_BYTES; i++)
            n *= 2;
        return n;
    }
    if (write->at <= COR_WRITE_DECODE)
        return n + (write->apply ? write->json.n : cor_body_weight(&write->call));
    body = cor_body_json_weight(cor_object_json(write->body));
    if (write->current && n + body > COR_HEAVY_BYTES)
        n -= write_managed_weight(write);
    return n + body;
}

static bool write_may_yield(const struct cor_write *write)
{
    return cor_heavy_has_threads(&write->call) && !cor_heavy_is_running(&write->call);
}

static size_t write_object_bytes(const struct cor_object *object)
{
    return object ? cor_object_json(object).n : 0;
}

/* A stage has ended. Is the rest for a thread? The object may be more than its body or its patch
 * showed: decoded YAML, or defaults. */
static bool write_has_grown(struct cor_write *write)
{
    size_t body = write_object_bytes(write->body), object = write_object_bytes(write->object);

    (void)cor_work_charge(&write->work,
                          (body + object + write_object_bytes(write->current)) / BYTES_OF_STEP);
    return write_may_yield(write) && (body > COR_HEAVY_BYTES || object > COR_HEAVY_BYTES ||
                                      cor_work_result(&write->work) == COR_WORK_YIELD);
}

/* The request goes with its reader, and what was decoded of it on the loop points into its body:
 * before a thread goes on, the body is copied. 0, or a failure in the status. */
static int write_keep_json(struct cor_write *write)
{
    struct cor_str json = write->json;
    int r;

    if (write->at <= COR_WRITE_DECODE || write->at > COR_WRITE_CONVERT || write->text.n > 0)
        return 0;
    r = cor_buf_adds(&write->text, json);
    if (r < 0)
        return cor_status_set_err(&write->call.status, r);
    write->json = cor_buf_str(&write->text);
    if (write->rv.n > 0)
        write->rv.p = write->json.p + (write->rv.p - json.p);
    return 0;
}

/* The stage that has given up runs again. What it may have left behind is what a patch or decoding
 * makes of a body. */
static void write_undo_stage(struct cor_write *write, uint64_t steps)
{
    write->work.steps = steps;
    if (write->at == COR_WRITE_APPLY)
        cor_buf_deinit(&write->text);
    if (write->at != COR_WRITE_DECODE || write->apply)
        return;
    cor_buf_reset(&write->text);
    cor_buf_reset(&write->yaml_dups);
    write->json = write->rv = COR_STR("");
}

/* Runs pure stages up to the next that may finish later, or up to the one that is too much for the
 * loop. */
static int write_run_pure(struct cor_call *call)
{
    struct cor_write *write = (struct cor_write *)call;
    int r = 0;

    write->yields = false;
    write->work.slice = write_may_yield(write) ? write->work.steps + COR_WORK_SLICE : UINT64_MAX;
    for (; r == 0 && write->at < write->until; write->at++) {
        uint64_t steps = write->work.steps;

        if (!write_has_work(write, write->at))
            continue;
        if (stages[write->at].start || write->yields)
            break;
        r = stages[write->at].run(write);
        if (r == COR_WORK_YIELD) {
            assert(write_may_yield(write));
            write_undo_stage(write, steps);
            write->yields = true;
            return 0;
        }
        write->yields = r == 0 && write_has_grown(write);
    }
    return r == 0 && write->yields ? write_keep_json(write) : r;
}

static void write_finish(struct cor_write *write, int r)
{
    cor_write_done done = write->done;

    write->done = NULL;
    /* Nothing after convert reads these, and a thread's copy of the body has been freed. */
    write->json = write->rv = COR_STR("");
    cor_buf_deinit(&write->text);
    done(write, r);
}

static void write_on_undone(void *arg)
{
    struct cor_write *write = arg;

    write_finish(write, write->failure);
    (void)cor_call_end_op(&write->call);
}

/* A write that goes no further gives back what was reserved for it, before anything is answered. */
static void write_end(struct cor_write *write, int r)
{
    if (r == 0 && write->call.is_over)
        r = -COR_ECANCELED;
    /* What is too old may be taken back by a repair before the object is stored. */
    if (r == 0 && write->allocation && cor_allocation_is_stale(write->allocation))
        r = cor_status_timeout(&write->call.status, 0,
                               "the request took too long after its addresses were reserved");
    if (r == 0 || !write->allocation) {
        write_finish(write, r);
        return;
    }
    write->failure = r;
    cor_call_begin_op(&write->call);
    cor_allocation_settle(COR_STEAL(write->allocation), COR_ALLOCATION_UNDO, write_on_undone,
                          write);
}

static void write_go_on(struct cor_write *write);

static void write_on_pure_done(struct cor_call *call, int r)
{
    struct cor_write *write = (struct cor_write *)call;

    if (r < 0 || call->is_over || write->at == write->until) {
        write_end(write, r);
    } else if (stages[write->at].start) {
        cor_call_begin_op(call);
        stages[write->at].start(write);
    } else {
        write_go_on(write);
    }
}

static void write_go_on(struct cor_write *write)
{
    size_t weight = write_weight(write);

    if (write->yields && weight <= COR_HEAVY_BYTES)
        weight = COR_HEAVY_BYTES + 1;
    cor_heavy_run(&write->call, weight, write_run_pure, write_on_pure_done);
}

void cor_write_resume(struct cor_write *write, int r)
{
    struct cor_call *call = &write->call;

    assert(call->pending > 0 && cor_loop_is_current(call->loop->loop));
    write->at++;
    if (r < 0 || call->is_over || write->at == write->until)
        write_end(write, r);
    else
        write_go_on(write);
    (void)cor_call_end_op(call);
}

void cor_write_run(struct cor_write *write, enum cor_write_stage from, enum cor_write_stage until,
                   cor_write_done done)
{
    assert(from < until && until <= COR_WRITE_STORE && done && !write->done);
    assert(!write->call.is_over && cor_loop_is_current(write->call.loop->loop));
    assert(from > COR_WRITE_DECODE ? write->body != NULL : write->apply || write->call.req);
    write->at = from;
    write->until = until;
    write->done = done;
    write->work = cor_work_new(false);
    write->yields = false;
    write_go_on(write);
}

/* Notes who sent the request when the kind's strategy asks for this: stages cannot, because they
 * may run on another thread. */
static int write_note_sender(struct cor_write *write)
{
    struct cor_call *call = &write->call;
    const struct cor_strategy *strategy = cor_strategy_of(call->schema);
    struct cor_json_writer w;

    if (!strategy || !strategy->needs_sender)
        return 0;
    cor_json_writer_init(&w, &write->sender);
    cor_user_write(cor_user_or_server(call->req->user), &w);
    return cor_status_set_err(&call->status, cor_json_writer_finish(&w));
}

int cor_write_note_client(struct cor_write *write)
{
    int r = write_note_sender(write);

    return r < 0 ? r : cor_write_note_manager(write);
}

void cor_write_begin(struct cor_write *write, const char *kind, enum cor_write_stage until,
                     cor_write_done done)
{
    struct cor_call *call = &write->call;
    int r = cor_write_options_validate(call, kind);

    if (r == 0)
        r = cor_call_set_key(call);
    if (r == 0)
        r = cor_write_note_client(write);
    if (r < 0)
        cor_call_fail(call);
    else
        cor_write_run(write, COR_WRITE_DECODE, until, done);
}

bool cor_write_goes_on(struct cor_write *write, int r)
{
    if (write->call.is_over)
        return false;
    if (r < 0)
        cor_call_fail(&write->call);
    return r == 0;
}
