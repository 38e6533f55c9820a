/* What a check says: errors at places, with their values printed by Go's rules, warnings, and the
 * texts that both are made of. A text lives as long as its check.
 *
 * Failures: no memory, or more texts than a check may have; both are kept in the errors
 * (cor_check_note()), and the caller gets an empty text or none. Thread: one at a time. */
#include "schema/check/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "meta/status/quote.h"
#include "schema/go/go_value.h"
#include "schema/types/types_int.h"

/* The maximum of a printed value or detail; field_error.c cuts off what is longer. */
#define TEXT_MAX (64u * 1024)
/* The maximum of a warning. The values in it are short enough for any way of printing them. */
#define WARNING_MAX (1u << 20)

/* Everything but a plain string, printed by Go's rules into memory of the check. What is too large
 * to print is left out, as field_error.c does. */
static struct cor_field_value print_value(struct cor_check *check, const struct cor_place *place,
                                          struct cor_str json)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = TEXT_MAX};
    int r = cor_go_value(place->type, place->is_pointer, json, &out);
    char *text = NULL;

    if (r == 0)
        text = cor_check_alloc(check, out.n);
    else if (r != -COR_ETOOBIG)
        cor_check_note(check, r);
    if (!text)
        return cor_field_none();
    memcpy(text, out.p, out.n);
    return cor_field_json(cor_str(text, out.n));
}

struct cor_field_value cor_check_value(struct cor_check *check, const struct cor_place *place)
{
    if (place->type->shape == COR_SHAPE_STRING && !place->is_pointer &&
        cor_type_name(place->type).n == 0)
        return cor_field_string(cor_place_text(check, place));
    return print_value(check, place, cor_check_sent(check, place));
}

void cor_check_add(struct cor_check *check, enum cor_field_error_type type,
                   const struct cor_field_path *path, struct cor_field_value value,
                   const char *detail)
{
    cor_field_errors_add(check->errors, type, path, value, detail);
}

void cor_check_add_value(struct cor_check *check, enum cor_field_error_type type,
                         const struct cor_place *place, struct cor_field_value value,
                         const char *detail)
{
    cor_check_add(check, type, &place->path, value, detail);
}

void cor_check_invalid(struct cor_check *check, const struct cor_place *place, const char *detail)
{
    cor_check_add(check, COR_FIELD_INVALID, &place->path, cor_check_value(check, place), detail);
}

void cor_check_required(struct cor_check *check, const struct cor_place *place, const char *detail)
{
    cor_check_add(check, COR_FIELD_REQUIRED, &place->path, cor_field_none(), detail);
}

void cor_check_forbidden(struct cor_check *check, const struct cor_place *place, const char *detail)
{
    cor_check_add(check, COR_FIELD_FORBIDDEN, &place->path, cor_field_none(), detail);
}

void cor_check_duplicate(struct cor_check *check, const struct cor_place *place)
{
    cor_check_add(check, COR_FIELD_DUPLICATE, &place->path, cor_check_value(check, place), NULL);
}

void cor_check_not_found(struct cor_check *check, const struct cor_place *place, const char *detail)
{
    cor_check_add(check, COR_FIELD_NOT_FOUND, &place->path, cor_check_value(check, place), detail);
}

void cor_check_too_long(struct cor_check *check, const struct cor_place *place, size_t max)
{
    cor_field_errors_add_too_long(check->errors, &place->path, max);
}

void cor_check_too_many(struct cor_check *check, const struct cor_place *place, size_t max)
{
    cor_field_errors_add_too_many(check->errors, &place->path, cor_place_length(check, place), max);
}

void cor_check_not_supported(struct cor_check *check, const struct cor_place *place,
                             const char *const *supported, size_t n)
{
    cor_field_errors_add_not_supported(check->errors, &place->path, cor_check_value(check, place),
                                       supported, n);
}

size_t cor_check_format(struct cor_check *check, const struct cor_place *place,
                        enum cor_format format)
{
    size_t before = check->errors->n;
    bool is_int =
        place->type->shape == COR_SHAPE_INT32 || place->type->shape == COR_SHAPE_INT64 ||
        (place->type->shape == COR_SHAPE_INT_OR_STRING && !cor_place_is_text(check, place));

    if (is_int)
        cor_format_add_int(format, cor_place_int(check, place), &place->path, check->errors);
    else
        cor_format_add_text(format, cor_place_text(check, place), &place->path, check->errors);
    return check->errors->n - before;
}

char *cor_check_copy(struct cor_check *check, struct cor_str text)
{
    char *copy = cor_check_alloc(check, text.n + 1);

    if (!copy)
        return NULL;
    if (text.n > 0)
        memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    return copy;
}

char *cor_check_lower(struct cor_check *check, struct cor_str text)
{
    char *lower = cor_check_copy(check, text);

    for (size_t i = 0; lower && i < text.n; i++) {
        if (lower[i] >= 'A' && lower[i] <= 'Z')
            lower[i] = (char)(lower[i] - 'A' + 'a');
    }
    return lower;
}

/* The texts one behind the other, each with its length in front if `with_lengths`. */
static struct cor_str concat(struct cor_check *check, const struct cor_str *texts, size_t n,
                             bool with_lengths)
{
    size_t total = 0, at = 0;
    char *bytes;

    for (size_t i = 0; i < n; i++)
        total += texts[i].n + (with_lengths ? sizeof(texts[i].n) : 0);
    bytes = cor_check_alloc(check, total);
    if (!bytes)
        return COR_STR("");
    for (size_t i = 0; i < n; i++) {
        if (with_lengths) {
            memcpy(bytes + at, &texts[i].n, sizeof(texts[i].n));
            at += sizeof(texts[i].n);
        }
        if (texts[i].n > 0)
            memcpy(bytes + at, texts[i].p, texts[i].n);
        at += texts[i].n;
    }
    return cor_str(bytes, total);
}

struct cor_str cor_check_concat(struct cor_check *check, const struct cor_str *texts, size_t n)
{
    return concat(check, texts, n, false);
}

struct cor_str cor_check_key(struct cor_check *check, const struct cor_str *texts, size_t n)
{
    return concat(check, texts, n, true);
}

const char *cor_check_quote(struct cor_check *check, struct cor_str text)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted = {.max = WARNING_MAX};
    const char *copy;

    if (text.n > COR_CHECK_WARNING_TEXT_MAX)
        text.n = COR_CHECK_WARNING_TEXT_MAX;
    cor_check_note(check, cor_quote(text, &quoted));
    copy = cor_check_copy(check, cor_buf_str(&quoted));
    return copy ? copy : "";
}

const char *cor_check_printf(struct cor_check *check, const char *fmt, ...)
{
    va_list args;
    char *text = NULL;
    int n;

    va_start(args, fmt);
    n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n >= 0 && (size_t)n > TEXT_MAX)
        n = TEXT_MAX;
    if (n >= 0)
        text = cor_check_alloc(check, (size_t)n + 1);
    if (!text)
        return "";
    va_start(args, fmt);
    vsnprintf(text, (size_t)n + 1, fmt, args);
    va_end(args);
    return text;
}

bool cor_check_allows_privileged(struct cor_check *check)
{
    if (!check->allow_privileged && check->ret_meets_privileged)
        *check->ret_meets_privileged = true;
    return check->allow_privileged;
}

void cor_check_warn(struct cor_check *check, struct cor_str text)
{
    if (!check->warn || cor_check_is_warned(check))
        return;
    check->nwarnings++;
    cor_check_note(check, check->warn(check->warn_arg, text));
}

void cor_check_warn_at(struct cor_check *check, const struct cor_field_path *path, const char *fmt,
                       ...)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = WARNING_MAX};
    va_list args;
    int r;

    if (!check->warn || cor_check_is_warned(check))
        return;
    r = cor_field_path_print(path, &text);
    if (r == 0)
        r = cor_buf_addz(&text, ": ");
    va_start(args, fmt);
    if (r == 0)
        r = cor_buf_addv(&text, fmt, args);
    va_end(args);
    if (r == 0)
        cor_check_warn(check, cor_buf_str(&text));
    else
        cor_check_note(check, r);
}
