/* The stage "strict": fields that a client sent and that the object does not have, or has already,
 * are reported as fieldValidation asks: Ignore says nothing, Warn (the default) sends each as a
 * Warning header, Strict refuses the write with all of them.
 *
 * It comes after "decode", because a body that is no object at all is refused for that first.
 * Failures: 400 for a body, 422 for what a patch made, in upstream's words; no memory.
 * Thread: the thread that has the call. */
#include "server/write/strict.h"

#include <assert.h>

#include "base/err.h"
#include "server/write/body.h"
#include "server/write/stages.h"

#define STRICT_TEXT_MAX (16u * 1024)

static bool strict_is(const struct cor_call *call, const char *directive)
{
    return cor_str_eqz(call->opts.field_validation, directive);
}

/* Each line of the decoder's report is one text: `line 3: key "a" already set in map`. */
int cor_strict_report_yaml(struct cor_call *call, struct cor_str report)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    int r = 0;

    if (report.n == 0 || strict_is(call, "Ignore"))
        return 0;
    if (strict_is(call, "Strict")) {
        cor_buf_init(&text, STRICT_TEXT_MAX);
        (void)cor_buf_addf(&text, "strict decoding error: %.*s", COR_STR_ARG(report));
        return cor_body_cannot_handle(call, COR_STR(""), COR_STR(""), cor_buf_z(&text));
    }
    (void)cor_str_cut(&report, '\n');
    while (report.n > 0 && r == 0)
        r = cor_warnings_add(&call->warnings, cor_str_trim(cor_str_cut(&report, '\n')));
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

/* Fields that the JSON of a body or of a patch has twice. */
static int strict_report_dups(struct cor_write *write)
{
    struct cor_call *call = &write->call;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    const char *prefix = write->dups_prefix ? write->dups_prefix : "";
    bool strict = strict_is(call, "Strict");
    int r = 0;

    if (write->dups.n == 0 || strict_is(call, "Ignore"))
        return 0;
    cor_buf_init(&text, STRICT_TEXT_MAX);
    if (strict)
        r = cor_buf_addz(&text, "strict decoding error: ");
    for (size_t i = 0; i < write->dups.n && r == 0; i++) {
        r = cor_buf_addf(&text, "%s%sduplicate field \"%s\"", strict && i > 0 ? ", " : "", prefix,
                         write->dups.v[i].path);
        if (strict || r < 0)
            continue;
        r = cor_warnings_add(&call->warnings, cor_buf_str(&text));
        cor_buf_reset(&text);
    }
    if (r == -COR_ENOMEM)
        return cor_status_set_err(&call->status, r);
    if (!strict)
        return 0;
    return write->apply ? cor_body_refuse_patched(call, write->json, cor_buf_z(&text))
                        : cor_body_cannot_handle(call, COR_STR(""), COR_STR(""), cor_buf_z(&text));
}

int cor_write_strict(struct cor_write *write)
{
    int r = cor_strict_report_yaml(&write->call, cor_buf_str(&write->yaml_dups));

    assert(write->body);
    return r < 0 ? r : strict_report_dups(write);
}
