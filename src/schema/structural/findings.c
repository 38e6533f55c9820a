/* What validation finds wrong. Findings of an unchanged value are forgiven; so that findings are
 * kept in an array, which is cut back, and become field errors at the end. Their texts are in
 * the arena of the validation until then.
 * Failures: out of memory, which sticks to the validation. Thread: one at a time. */
#include <stdarg.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/siphash.h"
#include "meta/status/quote.h"
#include "schema/structural/structural_validation_int.h"
#include "json/text/scan.h"

#define DETAIL_MAX (32u << 10) /* of a detail; the field errors cut it as well */
#define VALUE_MAX  (32u << 10) /* of a value that is kept; no more of it can be shown */

void cor_validation_note(struct cor_validation_run *run, int r)
{
    if (r < 0 && run->error == 0)
        run->error = r;
}

struct cor_str cor_value_text(struct cor_validation_run *run, uint32_t value)
{
    struct cor_str raw = cor_json_node_raw(run->json, value), text = raw;

    if (!(run->json->v[value].end & COR_JSON_NODE_ESCAPED))
        return raw;
    cor_buf_reset(&run->text);
    if (cor_buf_reserve(&run->text, raw.n + 1) < 0) {
        cor_validation_note(run, -COR_ENOMEM);
        return COR_STR("");
    }
    (void)cor_json_unescape(raw, run->text.p, raw.n, &text);
    return text;
}

const char *cor_value_name(struct cor_validation_run *run, const struct cor_way *way)
{
    struct cor_str name = cor_way_print(way, COR_WAY_DOTTED, &run->arena);

    cor_validation_charge(run, name.n / COR_WORK_STEP_BYTES);
    if (name.p)
        return name.p;
    cor_validation_note(run, -COR_ENOMEM);
    return "";
}

/* Copies a text into the arena, with a NUL. */
static const char *keep_text(struct cor_validation_run *run, struct cor_str text)
{
    char *copy = cor_arena_alloc(&run->arena, text.n + 1);

    if (!copy) {
        cor_validation_note(run, -COR_ENOMEM);
        return "";
    }
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    return copy;
}

/* Is there room for one more finding, and is it wanted? */
static bool is_kept(struct cor_validation_run *run)
{
    if (!cor_validation_keeps(run))
        return false;
    cor_validation_note(run,
                        COR_ARRAY_RESERVE(&run->findings, run->n, &run->cap, COR_FINDINGS_MAX));
    return run->error == 0;
}

static void keep(struct cor_validation_run *run, enum cor_field_error_type type, const char *field,
                 struct cor_field_value value, struct cor_buf *detail, int r)
{
    /* A detail past its maximum is cut: what was appended before stays. */
    cor_validation_note(run, r == -COR_ETOOBIG ? 0 : r);
    if (run->error < 0)
        return;
    if (value.text.n > VALUE_MAX)
        value.text.n = VALUE_MAX;
    cor_validation_charge(run, 1 + (value.text.n + detail->n) / COR_WORK_STEP_BYTES);
    value.text =
        value.kind == COR_FIELD_VALUE_NONE ? value.text : cor_strz(keep_text(run, value.text));
    run->findings[run->n++] = (struct cor_finding){
        type, field ? cor_strz(field[0] == '.' ? field + 1 : field) : cor_str(NULL, 0), value,
        detail->n > 0 ? keep_text(run, cor_buf_str(detail)) : NULL};
}

size_t cor_finding_add(struct cor_validation_run *run, enum cor_field_error_type type,
                       const struct cor_way *way, struct cor_field_value value, const char *fmt,
                       ...)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf detail = {.max = DETAIL_MAX};
    const char *name;
    va_list ap;
    int r;

    if (!is_kept(run))
        return 1;
    name = cor_value_name(run, way);
    r = cor_buf_addf(&detail, "%s in body ", name);
    va_start(ap, fmt);
    if (r == 0)
        r = cor_buf_addv(&detail, fmt, ap);
    va_end(ap);
    keep(run, type, name, value, &detail, r);
    return 1;
}

size_t cor_finding_add_plain(struct cor_validation_run *run, enum cor_field_error_type type,
                             const struct cor_way *way, struct cor_field_value value,
                             const char *fmt, ...)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf detail = {.max = DETAIL_MAX};
    va_list ap;
    int r = 0;

    if (!is_kept(run))
        return 1;
    if (fmt) {
        va_start(ap, fmt);
        r = cor_buf_addv(&detail, fmt, ap);
        va_end(ap);
    }
    keep(run, type, cor_value_name(run, way), value, &detail, r);
    return 1;
}

size_t cor_finding_add_junctor(struct cor_validation_run *run, const struct cor_way *way,
                               const char *fmt, ...)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf detail = {.max = DETAIL_MAX};
    va_list ap;
    int r;

    if (!is_kept(run))
        return 1;
    r = cor_quote(cor_strz(cor_value_name(run, way)), &detail);
    va_start(ap, fmt);
    if (r == 0)
        r = cor_buf_addv(&detail, fmt, ap);
    va_end(ap);
    keep(run, COR_FIELD_INVALID, NULL, cor_field_string(COR_STR("")), &detail, r);
    return 1;
}

static uint64_t finding_hash(const struct cor_finding *finding)
{
    struct cor_str detail = finding->detail ? cor_strz(finding->detail) : COR_STR("");

    return cor_siphash(finding->field.p ? finding->field : COR_STR("<nil>"), finding->type, 0) ^
           cor_siphash(detail, 1, 0);
}

static bool is_same(const struct cor_finding *a, const struct cor_finding *b)
{
    return a->type == b->type && cor_str_eq(a->field, b->field) &&
           cor_str_eqz(a->detail ? cor_strz(a->detail) : COR_STR(""), b->detail ? b->detail : "");
}

void cor_findings_report(const struct cor_validation_run *run, struct cor_str prefix,
                         struct cor_field_errors *errors)
{
    uint64_t hashes[COR_FINDINGS_MAX];

    for (size_t i = 0; i < run->n; i++) {
        const struct cor_finding *finding = &run->findings[i];
        struct cor_field_path root = cor_field_root(prefix.n > 0 ? prefix : COR_STR("<nil>")), path;
        bool is_repeated = false;

        hashes[i] = finding_hash(finding);
        for (size_t j = 0; j < i && !is_repeated; j++)
            is_repeated = hashes[j] == hashes[i] && is_same(&run->findings[j], finding);
        if (is_repeated)
            continue;
        path = root;
        if (finding->field.n > 0)
            path = prefix.n > 0 ? cor_field_child(&root, finding->field)
                                : cor_field_root(finding->field);
        cor_field_errors_add(errors, finding->type, &path, finding->value, finding->detail);
    }
    if (run->error < 0 && errors->error == 0)
        errors->error = run->error;
}
