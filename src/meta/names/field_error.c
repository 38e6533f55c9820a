#include "meta/names/field_error.h"

#include "base/array.h"
#include "base/mem.h"
#include "base/siphash.h"
#include "meta/status/quote.h"

#define FIELD_MAX 4096
#define BODY_MAX  (32u * 1024)

static const struct {
    const char *cause;
    const char *text;
    bool prints_value;
} types[] = {
    [COR_FIELD_NOT_FOUND] = {"FieldValueNotFound", "Not found", true},
    [COR_FIELD_REQUIRED] = {"FieldValueRequired", "Required value", false},
    [COR_FIELD_DUPLICATE] = {"FieldValueDuplicate", "Duplicate value", true},
    [COR_FIELD_INVALID] = {"FieldValueInvalid", "Invalid value", true},
    [COR_FIELD_NOT_SUPPORTED] = {"FieldValueNotSupported", "Unsupported value", true},
    [COR_FIELD_FORBIDDEN] = {"FieldValueForbidden", "Forbidden", false},
    [COR_FIELD_TOO_LONG] = {"FieldValueTooLong", "Too long", false},
    [COR_FIELD_TOO_MANY] = {"FieldValueTooMany", "Too many", true},
    [COR_FIELD_INTERNAL] = {"InternalError", "Internal error", false},
    [COR_FIELD_TYPE_INVALID] = {"FieldValueTypeInvalid", "Invalid value", true},
};

static int print_step(const struct cor_field_path *path, struct cor_buf *out)
{
    switch (path->step) {
    case COR_FIELD_STEP_NAME:
        return cor_buf_addf(out, "%s%.*s", path->parent ? "." : "", COR_STR_ARG(path->name));
    case COR_FIELD_STEP_KEY:
        return cor_buf_addf(out, "[%.*s]", COR_STR_ARG(path->name));
    case COR_FIELD_STEP_INDEX:
        return cor_buf_addf(out, "[%zu]", path->index);
    }
    return -COR_EINTERNAL;
}

static int print_path(const struct cor_field_path *path, struct cor_buf *out)
{
    int r = path->parent ? print_path(path->parent, out) : 0;

    return r < 0 ? r : print_step(path, out);
}

int cor_field_path_print(const struct cor_field_path *path, struct cor_buf *out)
{
    size_t mark = out->n;
    int r = print_path(path, out);

    if (r < 0)
        cor_buf_truncate(out, mark);
    return r;
}

void cor_field_errors_init(struct cor_field_errors *errs)
{
    *errs = (struct cor_field_errors){0};
}

void cor_field_errors_deinit(struct cor_field_errors *errs)
{
    for (size_t i = 0; i < errs->n; i++) {
        cor_free(errs->v[i].field);
        cor_free(errs->v[i].body);
    }
    cor_free(errs->v);
    cor_field_errors_init(errs);
}

static int print_value(struct cor_field_value value, struct cor_buf *out)
{
    int r;

    if (value.kind == COR_FIELD_VALUE_NONE)
        return 0;
    if ((r = cor_buf_addz(out, ": ")) < 0)
        return r;
    return value.kind == COR_FIELD_VALUE_STRING ? cor_quote(value.text, out)
                                                : cor_buf_adds(out, value.text);
}

/* Appends as much of a text as there is room for, without cutting a character. */
static int add_cut(struct cor_buf *out, struct cor_str text)
{
    size_t room = out->max - out->n;

    if (text.n > room) {
        text.n = room;
        while (text.n > 0 && ((unsigned char)text.p[text.n] & 0xc0) == 0x80)
            text.n--;
    }
    return cor_buf_adds(out, text);
}

/* A value that is too large to print is left out; a detail is cut. */
static int print_body(enum cor_field_error_type type, struct cor_field_value value,
                      const char *detail, struct cor_buf *out)
{
    int r = cor_buf_addz(out, types[type].text);
    size_t mark = out->n;

    if (r < 0)
        return r;
    if (types[type].prints_value && (r = print_value(value, out)) == -COR_ETOOBIG) {
        cor_buf_truncate(out, mark);
        r = 0;
    }
    if (r == 0 && detail && detail[0])
        r = cor_buf_addz(out, ": ");
    return r == 0 && detail && detail[0] ? add_cut(out, cor_strz(detail)) : r;
}

static uint64_t error_hash(const struct cor_field_error *error)
{
    return cor_siphash(cor_strz(error->field), 1, 0) ^ cor_siphash(cor_strz(error->body), 2, 0);
}

static int print_error(struct cor_field_error *error, const struct cor_field_path *path,
                       struct cor_field_value value, const char *detail)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf field = {.max = FIELD_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = BODY_MAX};
    int r;

    if ((r = cor_field_path_print(path, &field)) < 0 && r != -COR_ETOOBIG)
        return r;
    if ((r = print_body(error->type, value, detail, &body)) < 0 && r != -COR_ETOOBIG)
        return r;
    error->field = cor_buf_steal(&field, NULL);
    error->body = cor_buf_steal(&body, NULL);
    if (error->field && error->body) {
        error->hash = error_hash(error);
        return 0;
    }
    cor_free(error->field);
    cor_free(error->body);
    return -COR_ENOMEM;
}

static int append(struct cor_field_errors *errs, struct cor_field_error error)
{
    int r = COR_ARRAY_RESERVE(&errs->v, errs->n, &errs->cap, COR_STATUS_CAUSES_MAX);

    if (r == 0)
        errs->v[errs->n++] = error;
    return r;
}

void cor_field_errors_add(struct cor_field_errors *errs, enum cor_field_error_type type,
                          const struct cor_field_path *path, struct cor_field_value value,
                          const char *detail)
{
    struct cor_field_error error = {.type = type};
    int r;

    if (errs->error < 0 || errs->n == COR_STATUS_CAUSES_MAX)
        return;
    r = print_error(&error, path, value, detail);
    if (r == 0 && (r = append(errs, error)) < 0) {
        cor_free(error.field);
        cor_free(error.body);
    }
    errs->error = r;
}

/* Moves one error; what cannot be moved stays in `from`. */
static int move_error(struct cor_field_errors *to, struct cor_field_error *from,
                      const struct cor_field_path *below)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf field = {.max = FIELD_MAX};
    struct cor_field_path path = cor_field_child(below, cor_strz(from->field));
    struct cor_field_error moved = *from;
    int r = cor_field_path_print(&path, &field);

    if (r < 0 && r != -COR_ETOOBIG)
        return r;
    moved.field = cor_buf_steal(&field, NULL);
    if (!moved.field)
        return -COR_ENOMEM;
    moved.hash = error_hash(&moved);
    r = append(to, moved);
    if (r < 0) {
        cor_free(moved.field);
        return r;
    }
    from->body = NULL;
    return 0;
}

void cor_field_errors_move(struct cor_field_errors *to, struct cor_field_errors *from,
                           const struct cor_field_path *below)
{
    if (to->error == 0)
        to->error = from->error;
    for (size_t i = 0; i < from->n && to->error == 0 && to->n < COR_STATUS_CAUSES_MAX; i++)
        to->error = move_error(to, &from->v[i], below);
    cor_field_errors_deinit(from);
}

void cor_field_errors_add_not_supported(struct cor_field_errors *errs,
                                        const struct cor_field_path *path,
                                        struct cor_field_value value, const char *const *supported,
                                        size_t nsupported)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf detail = {.max = BODY_MAX};
    int r = 0;

    if (nsupported > 0)
        r = cor_buf_addz(&detail, "supported values: ");
    for (size_t i = 0; r == 0 && i < nsupported; i++) {
        if (i > 0)
            r = cor_buf_addz(&detail, ", ");
        if (r == 0)
            r = cor_quote(cor_strz(supported[i]), &detail);
    }
    if (r < 0)
        errs->error = errs->error < 0 ? errs->error : r;
    else
        cor_field_errors_add(errs, COR_FIELD_NOT_SUPPORTED, path, value, cor_buf_z(&detail));
}

static void add_counted(struct cor_field_errors *errs, enum cor_field_error_type type,
                        const struct cor_field_path *path, struct cor_field_value value,
                        const char *fmt_words, size_t max, const char *noun)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf detail = {.max = BODY_MAX};
    int r = cor_buf_addf(&detail, "%s %zu %s%s", fmt_words, max, noun, max == 1 ? "" : "s");

    if (r < 0)
        errs->error = errs->error < 0 ? errs->error : r;
    else
        cor_field_errors_add(errs, type, path, value, cor_buf_z(&detail));
}

void cor_field_errors_add_too_long(struct cor_field_errors *errs, const struct cor_field_path *path,
                                   size_t max_bytes)
{
    add_counted(errs, COR_FIELD_TOO_LONG, path, cor_field_none(), "may not be more than", max_bytes,
                "byte");
}

void cor_field_errors_add_too_many(struct cor_field_errors *errs, const struct cor_field_path *path,
                                   size_t actual, size_t max)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf count = {.max = 32};
    int r = cor_buf_addu64(&count, actual);

    if (r < 0)
        errs->error = errs->error < 0 ? errs->error : r;
    else
        add_counted(errs, COR_FIELD_TOO_MANY, path, cor_field_json(cor_buf_str(&count)),
                    "must have at most", max, "item");
}

static bool is_repeated(const struct cor_field_errors *errs, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (errs->v[i].hash == errs->v[at].hash &&
            strcmp(errs->v[i].field, errs->v[at].field) == 0 &&
            strcmp(errs->v[i].body, errs->v[at].body) == 0)
            return true;
    }
    return false;
}

static size_t count_distinct(const struct cor_field_errors *errs)
{
    size_t n = 0;

    for (size_t i = 0; i < errs->n; i++)
        n += !is_repeated(errs, i);
    return n;
}

int cor_field_errors_print(const struct cor_field_errors *errs, struct cor_buf *out)
{
    size_t mark = out->n;
    bool brackets = count_distinct(errs) > 1;
    int r = brackets ? cor_buf_addc(out, '[') : 0;

    for (size_t i = 0; r == 0 && i < errs->n; i++) {
        if (!is_repeated(errs, i))
            r = cor_buf_addf(out, "%s%s: %s", i > 0 ? ", " : "", errs->v[i].field, errs->v[i].body);
    }
    if (r == 0 && brackets)
        r = cor_buf_addc(out, ']');
    if (r < 0)
        cor_buf_truncate(out, mark);
    return r;
}

static int print_invalid(const struct cor_gk *gk, struct cor_str name,
                         const struct cor_field_errors *errs, struct cor_buf *out)
{
    int r;

    if ((r = cor_gk_print(gk, out)) < 0 || (r = cor_buf_addc(out, ' ')) < 0 ||
        (r = cor_quote(name, out)) < 0 || (r = cor_buf_addz(out, " is invalid")) < 0)
        return r;
    if (errs->n == 0)
        return 0;
    r = cor_buf_addz(out, ": ");
    return r < 0 ? r : cor_field_errors_print(errs, out);
}

int cor_status_invalid(struct cor_status *st, const struct cor_gk *gk, struct cor_str name,
                       const struct cor_field_errors *errs)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = 128 * BODY_MAX};

    if (errs->error < 0)
        return cor_status_set_err(st, errs->error);
    if (!st)
        return -COR_EINVALID;
    if (print_invalid(gk, name, errs, &text) < 0)
        cor_buf_reset(&text);
    cor_status_set(st, -COR_EINVALID, "%s", text.n ? text.p : cor_err_text(-COR_EINVALID));
    (void)cor_status_set_details(st, name, gk->group, gk->kind);
    for (size_t i = 0; i < errs->n; i++)
        (void)cor_status_add_cause(st, types[errs->v[i].type].cause, errs->v[i].body,
                                   errs->v[i].field);
    return -COR_EINVALID;
}
