/* The stage CHECK_FIELDS: fields that a client sent and that the object does not have, or has
 * already, are reported as fieldValidation asks: Ignore says nothing, Warn (the default) sends each
 * as a Warning header, Strict refuses the write with all of them.
 *
 * The findings, in upstream's order:
 *   1. keys that a YAML body repeats, in the words of the YAML decoder, or fields that a patch
 *      document repeats, or that operations of a JSON patch do not have;
 *   2. what the read walk noted about the object (`report`, made by DECODE). The stage comes after
 *   DECODE, because a body that is not an object at all is refused for that first. Failures: 400
 *   for a body, 422 for what a patch made, in upstream's words; no memory.
 * Thread: the thread that has the call. */
#include <assert.h>

#include "base/err.h"
#include "meta/status/quote.h"
#include "server/write/stages.h"
#include "server/write/write_body.h"

#define STRICT_TEXT_MAX (1u << 20) /* all findings, of the patch and of the object */

/* Where findings go: one text for a refusal, or the warnings of the answer. */
struct strict_sink {
    struct cor_call *call;
    struct cor_buf text;
    bool is_refusal;
    size_t n;
};

static int strict_add(struct strict_sink *sink, struct cor_str finding)
{
    int r;

    if (!sink->is_refusal)
        return cor_warnings_add(&sink->call->warnings, finding);
    r = cor_buf_addz(&sink->text, sink->n++ > 0 ? ", " : "strict decoding error: ");
    return r < 0 ? r : cor_buf_adds(&sink->text, finding);
}

/* The YAML decoder's report is one finding; as warnings, each of its lines after the head is one:
 * `line 3: key "a" already set in map`. */
static int strict_add_yaml(struct strict_sink *sink, struct cor_str report)
{
    int r = 0;

    if (report.n == 0 || sink->is_refusal)
        return report.n == 0 ? 0 : strict_add(sink, report);
    (void)cor_str_cut(&report, '\n');
    while (report.n > 0 && r == 0)
        r = strict_add(sink, cor_str_trim(cor_str_cut(&report, '\n')));
    return r;
}

/* Fields that a patch document has twice, and those that operations of a JSON patch do not have.
 * Those of a body are among the findings of the walk. */
static int strict_add_dups(struct strict_sink *sink, const struct cor_judging *write)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    int r = 0;

    cor_buf_init(&text, STRICT_TEXT_MAX);
    for (size_t i = 0; write->asked->dups && i < write->asked->dups->n && r == 0; i++) {
        cor_buf_reset(&text);
        r = cor_buf_addf(&text, "%s%s field ",
                         write->asked->dups_prefix ? write->asked->dups_prefix : "",
                         write->asked->dups->v[i].is_unknown ? "unknown" : "duplicate");
        if (r == 0)
            r = cor_quote(cor_strz(write->asked->dups->v[i].path), &text);
        if (r == 0)
            r = strict_add(sink, cor_buf_str(&text));
    }
    return r;
}

/* All findings, in order. */
static int strict_add_all(struct strict_sink *sink, const struct cor_judging *write)
{
    /* Unknown fields of an apply were refused when it was applied. */
    size_t n =
        write->received->report && !write->asked->is_applied ? write->received->report->n : 0;
    int r = strict_add_yaml(sink, cor_buf_str(&write->received->yaml_dups));

    if (r == 0)
        r = strict_add_dups(sink, write);
    for (size_t at = 0; at < write->received->findings.n && r == 0 && !write->asked->is_applied;) {
        struct cor_str finding = cor_strz(write->received->findings.p + at);

        r = strict_add(sink, finding);
        at += finding.n + 1;
    }
    for (size_t i = 0; i < n && r == 0; i++)
        r = strict_add(sink, cor_read_finding(write->received->report, i));
    return r == -COR_ETOOBIG ? 0 : r;
}

int cor_stage_check_fields(const struct cor_judging *write)
{
    struct cor_call *call = write->call;
    struct strict_sink sink = {.call = call};
    int r;

    assert(write->received->body);
    if ((!write->received->report && write->received->findings.n == 0 &&
         (!write->asked->dups || write->asked->dups->n == 0) &&
         write->received->yaml_dups.n == 0) ||
        cor_str_eq(call->opts.field_validation, COR_STR("Ignore")))
        return 0;
    sink.is_refusal = cor_str_eq(call->opts.field_validation, COR_STR("Strict"));
    cor_buf_init(&sink.text, STRICT_TEXT_MAX);
    r = strict_add_all(&sink, write);
    if (r < 0)
        r = cor_status_set_err(&call->status, r);
    else if (sink.n > 0 && write->asked->is_applied)
        r = cor_status_bad_request(&call->status,
                                   "error strict decoding YAML: error converting YAML to JSON: %s",
                                   cor_buf_z(&write->received->yaml_dups));
    else if (sink.n > 0 && write->asked->apply)
        r = cor_body_refuse_patched(write->call, write->asked, write->received->json,
                                    cor_buf_z(&sink.text));
    else if (sink.n > 0)
        r = cor_body_cannot_handle(call, COR_STR(""), COR_STR(""), cor_buf_z(&sink.text));
    cor_buf_deinit(&sink.text);
    return r;
}
