/* The table of the formats, and the ways to run one: a check reports its findings to
 * format_report(), which counts them and hands them to the caller's function. The checks are in
 * format_*.c. */
#include "schema/format/format.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "schema/format/format_int.h"
#include "schema/go/go_value.h"

#define NUMBER_MAX 24 /* an int64 and its NUL */
/* The longest detail of a finding: a detail may quote texts of the request. */
#define DETAIL_MAX (64u << 20)

static const struct {
    struct cor_str name;
    enum cor_format_input input;
    void (*check)(struct cor_format_run *run);
} formats[] = {
#define X(symbol, name, input, fn)                                                                 \
    [COR_FORMAT_##symbol] = {COR_STR_INIT(name), COR_FORMAT_OF_##input, cor_format_check_##fn},
    COR_FORMATS(X)
#undef X
};

bool cor_format_find(struct cor_str name, enum cor_format *ret_format)
{
    for (size_t i = 0; i < COR_FORMATS_N; i++) {
        if (cor_str_eq(formats[i].name, name)) {
            *ret_format = (enum cor_format)i;
            return true;
        }
    }
    return false;
}

enum cor_format_input cor_format_input(enum cor_format format)
{
    return formats[format].input;
}

static void format_report(struct cor_format_run *run, enum cor_field_error_type type,
                          struct cor_field_value value, const char *detail, size_t max)
{
    struct cor_format_finding finding = {type, value, detail, max};

    run->findings++;
    if (run->fn && run->error == 0)
        run->fn(run->arg, &finding);
}

void cor_format_invalid_part(struct cor_format_run *run, struct cor_str part, const char *detail)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = DETAIL_MAX};
    struct cor_field_value value = cor_field_string(part);
    int r;

    if (run->is_named && run->fn) {
        if ((r = cor_go_json_string(part, &json)) < 0)
            run->error = r;
        value = cor_field_json(cor_buf_str(&json));
    }
    format_report(run, COR_FIELD_INVALID, value, detail, 0);
}

void cor_format_invalid(struct cor_format_run *run, const char *detail)
{
    char number[NUMBER_MAX];

    if (run->is_int) {
        snprintf(number, sizeof(number), "%" PRId64, run->number);
        format_report(run, COR_FIELD_INVALID, cor_field_json(cor_strz(number)), detail, 0);
    } else {
        cor_format_invalid_part(run, run->text, detail);
    }
}

void cor_format_invalid_made(struct cor_format_run *run, struct cor_str part,
                             struct cor_buf *detail, int r)
{
    if (r < 0)
        run->error = r;
    cor_format_invalid_part(run, part, cor_buf_z(detail));
    cor_buf_deinit(detail);
}

bool cor_format_invalid_name(struct cor_format_run *run, enum cor_name_rule rule,
                             struct cor_str part, const char *prefix)
{
    struct cor_complaints complaints = cor_name_check(rule, part);

    for (size_t i = 0; i < complaints.n; i++) {
        struct cor_buf detail = {.max = DETAIL_MAX};
        int r = cor_buf_addf(&detail, "%s%s", prefix, complaints.text[i]);

        cor_format_invalid_made(run, part, &detail, r);
    }
    return complaints.n > 0;
}

bool cor_format_invalid_joined(struct cor_format_run *run, enum cor_name_rule rule,
                               struct cor_str part)
{
    struct cor_complaints complaints = cor_name_check(rule, part);
    struct cor_buf detail = {.max = DETAIL_MAX};
    int r = 0;

    for (size_t i = 0; i < complaints.n && r == 0; i++)
        r = cor_buf_addf(&detail, "%s%s", i > 0 ? "," : "", complaints.text[i]);
    if (complaints.n > 0)
        cor_format_invalid_made(run, part, &detail, r);
    return complaints.n > 0;
}

void cor_format_required(struct cor_format_run *run, const char *detail)
{
    format_report(run, COR_FIELD_REQUIRED, cor_field_none(), detail, 0);
}

void cor_format_too_long(struct cor_format_run *run, size_t max_bytes)
{
    format_report(run, COR_FIELD_TOO_LONG, cor_field_none(), NULL, max_bytes);
}

int cor_format_check_text(enum cor_format format, struct cor_str text, cor_format_fn fn, void *arg)
{
    struct cor_format_run run = {.text = text, .fn = fn, .arg = arg};

    assert(formats[format].input & COR_FORMAT_OF_TEXT);
    formats[format].check(&run);
    return run.error < 0 ? run.error : run.findings;
}

int cor_format_check_int(enum cor_format format, int64_t number, cor_format_fn fn, void *arg)
{
    struct cor_format_run run = {.number = number, .is_int = true, .fn = fn, .arg = arg};

    assert(formats[format].input & COR_FORMAT_OF_INT);
    formats[format].check(&run);
    return run.error < 0 ? run.error : run.findings;
}

struct add {
    const struct cor_field_path *path;
    struct cor_field_errors *errs;
};

static void format_add_finding(void *arg, const struct cor_format_finding *finding)
{
    const struct add *add = arg;

    if (finding->type == COR_FIELD_TOO_LONG)
        cor_field_errors_add_too_long(add->errs, add->path, finding->max);
    else
        cor_field_errors_add(add->errs, finding->type, add->path, finding->value, finding->detail);
}

static void format_note_failure(struct cor_field_errors *errs, int r)
{
    if (r < 0 && errs->error == 0)
        errs->error = r;
}

void cor_format_add_text(enum cor_format format, struct cor_str text,
                         const struct cor_field_path *path, struct cor_field_errors *errs)
{
    struct add add = {path, errs};

    format_note_failure(errs, cor_format_check_text(format, text, format_add_finding, &add));
}

void cor_format_add_int(enum cor_format format, int64_t number, const struct cor_field_path *path,
                        struct cor_field_errors *errs)
{
    struct add add = {path, errs};

    format_note_failure(errs, cor_format_check_int(format, number, format_add_finding, &add));
}

struct join {
    const char *separator;
    struct cor_buf *out;
    size_t n;
    int r;
};

static void format_join_detail(void *arg, const struct cor_format_finding *finding)
{
    struct join *join = arg;

    if (join->r == 0 && join->n++ > 0)
        join->r = cor_buf_addz(join->out, join->separator);
    if (join->r == 0 && finding->detail)
        join->r = cor_buf_addz(join->out, finding->detail);
}

int cor_format_join(enum cor_format format, struct cor_str text, const char *separator,
                    struct cor_buf *out)
{
    struct join join = {.separator = separator, .out = out};
    int r = cor_format_check_text(format, text, format_join_detail, &join);

    return r < 0 ? r : join.r;
}
