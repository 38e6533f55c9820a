/* clang-format off */
/* The life of a write, its beginning for the verbs, and who has sent it.
 *
 *   cor_write_begin: the options ──► the key ──► who sends it ──► the stages from DECODE on
 *
 * Who sends a request is noted while the request is there, because stages may run on another thread
 * and after the reader has gone.
 * Failures: what the options and the key refuse; no memory.
 * Thread: the call's loop. */
/* clang-format on */
#include "server/write/write.h"

#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "meta/status/quote.h"
#include "schema/kinds/creation_gate.h"
#include "schema/types/strategy.h"
#include "server/access/user.h"
#include "server/alloc/allocation.h"
#include "server/write/write_body.h"
#include "server/write/write_options.h"
#include "json/write/writer.h"

#define SENDER_MAX       (1u << 20)
#define MANAGER_MAX      128  /* bytes of a manager's name */
#define MANAGER_TEXT_MAX 4096 /* of the name as JSON: each byte may need an escape */

void cor_write_init(struct cor_write *write)
{
    write->list = cor_stage_list_of(&write->call);
    cor_buf_init(&write->received.text, COR_BODY_BYTES_MAX);
    cor_buf_init(&write->received.yaml_dups, COR_BODY_DUPS_MAX);
    cor_buf_init(&write->received.findings, COR_READ_TEXTS_MAX);
    cor_buf_init(&write->asked.sender, SENDER_MAX);
    cor_buf_init(&write->received.normal, COR_WRITE_JSON_MAX);
    cor_buf_init(&write->asked.manager, MANAGER_TEXT_MAX);
    cor_buf_init(&write->managed.text, COR_WRITE_JSON_MAX);
}

void cor_write_deinit(struct cor_write *write)
{
    cor_buf_deinit(&write->received.text);
    cor_buf_deinit(&write->received.yaml_dups);
    cor_buf_deinit(&write->received.findings);
    cor_buf_deinit(&write->received.normal);
    cor_buf_deinit(&write->asked.sender);
    cor_buf_deinit(&write->asked.manager);
    cor_buf_deinit(&write->managed.text);
    write->received.report = cor_read_report_free(write->received.report);
    write->received.body = cor_object_unref(write->received.body);
    write->received.sent = cor_object_unref(write->received.sent);
    cor_admission_deinit(&write->admitted.admission);
    write->admitted.body = cor_object_unref(write->admitted.body);
    write->present.current = cor_object_unref(write->present.current);
    write->managed.old = cor_object_unref(write->managed.old);
    write->to_store.object = cor_object_unref(write->to_store.object);
    write->to_store.allocated = cor_object_unref(write->to_store.allocated);
    cor_allocation_abandon(write->to_store.allocation);
    cor_object_unref(write->reply.object);
    cor_status_deinit(&write->reply.status);
    if (write->admitted.gate)
        cor_creation_gate_leave(write->admitted.gate);
    write->admitted.gate = NULL;
}

void cor_write_run(struct cor_write *write, enum cor_stage from, enum cor_stage until,
                   cor_write_done done)
{
    assert(from > COR_STAGE_DECODE ? write->received.body != NULL
                                   : write->asked.apply || write->call.req);
    cor_stage_list_run(write, write->list, from, until, done);
}

/* Appends the name that a user agent gives to its manager: the printable characters before the
 * first slash, at most MANAGER_MAX bytes of them. A byte that is not a text counts for U+FFFD,
 * which prints. */
static int add_agent_name(struct cor_str agent, struct cor_buf *out)
{
    ptrdiff_t slash = cor_str_find(agent, '/');
    struct cor_str rest = slash < 0 ? agent : cor_str(agent.p, (size_t)slash);
    int r = 0;

    while (r == 0 && rest.n > 0) {
        uint32_t code;
        size_t n = cor_utf8_first(rest, &code);

        struct cor_str shown =
            code == COR_UTF8_INVALID ? COR_STR("\xef\xbf\xbd") : cor_str(rest.p, n);

        if (code == COR_UTF8_INVALID || cor_quote_prints(code)) {
            if (out->n + shown.n > MANAGER_MAX)
                break;
            r = cor_buf_adds(out, shown);
        }
        rest = cor_str_from(rest, n);
    }
    return r;
}

int cor_write_note_manager(struct cor_write *write)
{
    struct cor_call *call = &write->call;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf name = {.max = 4 * MANAGER_MAX};
    int r = 0;

    assert(call->req);
    cor_buf_reset(&write->asked.manager);
    r = call->opts.field_manager.n > 0 ? cor_buf_adds(&name, call->opts.field_manager)
                                       : add_agent_name(call->req->user_agent, &name);
    if (r == 0)
        r = cor_json_quote(&write->asked.manager, cor_buf_str(&name));
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

/* Notes who sent the request when the kind's strategy asks for this: stages cannot. */
static int write_note_sender(struct cor_write *write)
{
    struct cor_call *call = &write->call;
    const struct cor_strategy *strategy = cor_strategy_of(call->schema);
    struct cor_json_writer w;

    if (!strategy || !strategy->needs_sender)
        return 0;
    cor_json_writer_init(&w, &write->asked.sender);
    cor_user_write(cor_user_or_server(call->req->user), &w);
    return cor_status_set_err(&call->status, cor_json_writer_finish(&w));
}

int cor_write_note_client(struct cor_write *write)
{
    int r = write_note_sender(write);

    return r < 0 ? r : cor_write_note_manager(write);
}

void cor_write_begin(struct cor_write *write, const char *kind, enum cor_stage until,
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
        cor_write_run(write, COR_STAGE_DECODE, until, done);
}

void cor_write_admit(struct cor_write *write, enum cor_admission_point point, cor_write_done done)
{
    assert(!write->to_store.object);
    write->present.is_create = true;
    if (point == COR_ADMISSION_MUTATES)
        cor_write_run(write, COR_STAGE_ADMIT_MUTATING, COR_STAGE_CHECK_DEFINITION, done);
    else
        cor_write_run(write, COR_STAGE_ADMIT_VALIDATING, COR_STAGE_STORE, done);
}

bool cor_write_goes_on(struct cor_write *write, int r)
{
    if (write->call.is_over)
        return false;
    if (r < 0)
        cor_call_fail(&write->call);
    return r == 0;
}
