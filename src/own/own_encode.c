/* Generated structs into JSON: what is set, in canonical form.
 *
 * Flow: the members are written in the order of the table, which is that of their names; of the
 * outermost object kind and apiVersion come first. A struct that is not pointed to is written if it
 * has a member that is set: its key and brace are taken back otherwise. A map whose keys are not
 * sorted is sorted in a copy. Failures: no memory, too many bytes, a raw text that is not JSON,
 * structs nested too deep (a program may have made a loop); the first one sticks. Thread: one at a
 * time. */
#include <math.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "coracle/time.h"
#include "own/own_int.h"
#include "json/text/float_text.h"
#include "json/text/json.h"
#include "json/write/writer.h"

struct writer {
    struct cor_buf *out;
    struct cor_pool *pool;
    unsigned depth;
    int error;
};

static void write_struct(struct writer *w, const struct cor_own_type *type, const void *own);

static inline void check(struct writer *w, int r)
{
    if (r < 0 && w->error == 0)
        w->error = r;
}

static inline void put(struct writer *w, struct cor_str bytes)
{
    check(w, cor_buf_adds(w->out, bytes));
}

static void write_int(struct writer *w, int64_t v)
{
    if (v < 0)
        put(w, COR_STR("-"));
    check(w, cor_buf_addu64(w->out, v < 0 ? -(uint64_t)v : (uint64_t)v));
}

static void write_double(struct writer *w, double v)
{
    char text[COR_FLOAT_TEXT_MAX];

    if (isfinite(v))
        put(w, cor_float_print(v, text));
    else
        check(w, -COR_EINVAL);
}

static void write_bool(struct writer *w, bool v)
{
    put(w, v ? COR_STR("true") : COR_STR("false"));
}

/* Puts JSON that was checked. */
static void put_json(struct writer *w, struct cor_str json)
{
    if (w->error == 0)
        check(w, cor_buf_reserve(w->out, json.n));
    if (w->error == 0)
        w->out->n += cor_own_compact(w->out->p + w->out->n, json);
}

static void write_raw(struct writer *w, struct cor_str json)
{
    const struct cor_json_limits limits = {.bytes_max = COR_POOL_BYTES_MAX,
                                           .depth_max = COR_OWN_DEPTH_MAX - w->depth};
    bool is_canonical;

    check(w, cor_json_check(json, &limits, &is_canonical, NULL));
    put_json(w, json);
}

static void write_quoted(struct writer *w, struct cor_str text)
{
    put(w, COR_STR("\""));
    put(w, text);
    put(w, COR_STR("\""));
}

/* A value in the memory of an element. */
static void write_element(struct writer *w, const struct cor_own_field *field, const void *value)
{
    const struct cor_int_or_str *either = value;
    const struct cor_str *text = value;

    switch ((enum cor_own_kind)field->kind) {
    case COR_OWN_STRUCT:
        write_struct(w, field->type, value);
        return;
    case COR_OWN_BOOL:
        write_bool(w, *(const bool *)value);
        return;
    case COR_OWN_INT32:
        write_int(w, *(const int32_t *)value);
        return;
    case COR_OWN_INT64:
        write_int(w, *(const int64_t *)value);
        return;
    case COR_OWN_DOUBLE:
        write_double(w, *(const double *)value);
        return;
    case COR_OWN_BYTES:
        put(w, COR_STR("\""));
        check(w, cor_base64_encode(COR_BASE64_STD, *text, w->out));
        put(w, COR_STR("\""));
        return;
    case COR_OWN_INT_OR_STR:
        if (either->type == COR_INT_OR_STR_TEXT)
            check(w, cor_json_quote(w->out, either->text));
        else
            write_int(w, either->number);
        return;
    case COR_OWN_RAW:
        write_raw(w, text->p ? *text : COR_STR("null"));
        return;
    case COR_OWN_TIME:
    case COR_OWN_MICRO_TIME:
        if (!text->p) {
            put(w, COR_STR("null"));
            return;
        }
        break;
    case COR_OWN_TEXT:
    case COR_OWN_QUANTITY:
        break;
    }
    check(w, cor_json_quote(w->out, *text));
}

static void write_list(struct writer *w, const struct cor_own_field *field,
                       const struct cor_own_run *list)
{
    size_t size = cor_own_entry_size(field);

    put(w, COR_STR("["));
    for (size_t i = 0; i < list->n && w->error == 0; i++) {
        if (i > 0)
            put(w, COR_STR(","));
        write_element(w, field, list->p + i * size);
    }
    put(w, COR_STR("]"));
}

static void write_map(struct writer *w, const struct cor_own_field *field,
                      const struct cor_own_run *map)
{
    size_t size = cor_own_entry_size(field);
    struct cor_own_run sorted;
    int r = cor_own_sorted(w->pool, map, size, &sorted);

    check(w, r);
    if (r < 0)
        return;
    put(w, COR_STR("{"));
    for (size_t i = 0; i < sorted.n && w->error == 0; i++) {
        const char *entry = sorted.p + i * size;

        if (i > 0)
            put(w, COR_STR(","));
        check(w, cor_json_quote(w->out, ((const struct cor_own_key *)(const void *)entry)->key));
        put(w, COR_STR(":"));
        write_element(w, field, entry + cor_own_value_at(field));
    }
    put(w, COR_STR("}"));
}

static void write_member(struct writer *w, const struct cor_own_field *field, const void *value)
{
    char text[COR_MICRO_TIME_TEXT_MAX];

    if (field->form == COR_OWN_LIST) {
        write_list(w, field, value);
        return;
    }
    if (field->form == COR_OWN_MAP) {
        write_map(w, field, value);
        return;
    }
    switch ((enum cor_own_kind)field->kind) {
    case COR_OWN_STRUCT:
        write_struct(w, field->type,
                     field->flags & COR_OWN_POINTER ? *(const void *const *)value : value);
        return;
    case COR_OWN_BOOL:
        write_bool(w, ((const struct cor_opt_bool *)value)->value);
        return;
    case COR_OWN_INT32:
        write_int(w, ((const struct cor_opt_int32 *)value)->value);
        return;
    case COR_OWN_INT64:
        write_int(w, ((const struct cor_opt_int64 *)value)->value);
        return;
    case COR_OWN_DOUBLE:
        write_double(w, ((const struct cor_opt_double *)value)->value);
        return;
    case COR_OWN_TIME:
        write_quoted(w, cor_time_print(((const struct cor_opt_time *)value)->unix_s, text));
        return;
    case COR_OWN_MICRO_TIME:
        write_quoted(
            w, cor_micro_time_print(((const struct cor_opt_micro_time *)value)->unix_us, text));
        return;
    case COR_OWN_TEXT:
    case COR_OWN_BYTES:
    case COR_OWN_QUANTITY:
    case COR_OWN_INT_OR_STR:
    case COR_OWN_RAW:
        break;
    }
    write_element(w, field, value);
}

/* Writes a member if it is set; `is_first` is whether none precedes it. */
static void write_field(struct writer *w, const struct cor_own_field *field, const void *own,
                        bool *is_first)
{
    const void *value = cor_own_at_const(own, field);
    size_t before = w->out->n;
    bool is_inner = field->kind == COR_OWN_STRUCT && field->form == COR_OWN_ONE &&
                    !(field->flags & COR_OWN_POINTER);

    if (w->error < 0 || !cor_own_is_set(field, value))
        return;
    if (!*is_first)
        put(w, COR_STR(","));
    check(w, cor_json_quote(w->out, cor_str(field->name, field->name_n)));
    put(w, COR_STR(":"));
    write_member(w, field, value);
    if (is_inner && cor_str_ends(cor_buf_str(w->out), COR_STR(":{}")))
        cor_buf_truncate(w->out, before);
    else
        *is_first = false;
}

static void write_unknown(struct writer *w, const struct cor_own_type *type, const void *own,
                          bool is_first)
{
    const struct cor_str *unknown = (const void *)((const char *)own + type->unknown_fields_at);
    const struct cor_json_limits limits = {.bytes_max = COR_POOL_BYTES_MAX,
                                           .depth_max = COR_OWN_DEPTH_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf whole = {0};
    bool is_canonical;

    if (unknown->n == 0)
        return;
    /* Members are JSON when an object of them is. */
    cor_buf_init(&whole, COR_POOL_BYTES_MAX);
    check(w, cor_buf_addf(&whole, "{%.*s}", COR_STR_ARG(*unknown)));
    if (w->error == 0)
        check(w, cor_json_check(cor_buf_str(&whole), &limits, &is_canonical, NULL));
    if (!is_first)
        put(w, COR_STR(","));
    put_json(w, *unknown);
}

static void write_struct(struct writer *w, const struct cor_own_type *type, const void *own)
{
    bool is_outermost = w->depth == 0, is_first = true;

    if (w->depth++ == COR_OWN_DEPTH_MAX)
        check(w, -COR_ETOOBIG);
    if (w->error < 0)
        return;
    put(w, COR_STR("{"));
    if (is_outermost) {
        static const char *const names[] = {"kind", "apiVersion"};

        for (size_t i = 0; i < 2; i++) {
            const struct cor_own_field *field = cor_own_find(type, cor_strz(names[i]));

            if (field)
                write_field(w, field, own, &is_first);
        }
    }
    for (size_t i = 0; i < type->nfields; i++) {
        if (!is_outermost || !cor_own_is_about_kind(&type->fields[i]))
            write_field(w, &type->fields[i], own, &is_first);
    }
    write_unknown(w, type, own, is_first);
    put(w, COR_STR("}"));
    w->depth--;
}

/* Moves what was written into the pool. */
static int finish(struct writer *w, struct cor_str *ret_json)
{
    struct cor_str json;

    if (w->error < 0)
        return w->error;
    json = cor_pool_copy(w->pool, cor_buf_str(w->out));
    if (!json.p)
        return cor_pool_error(w->pool);
    *ret_json = json;
    return 0;
}

int cor_own_encode(const struct cor_own_type *type, struct cor_pool *pool, const void *own,
                   struct cor_str *ret_json)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
    struct writer w = {.out = &out, .pool = pool};

    cor_buf_init(&out, COR_POOL_BYTES_MAX);
    write_struct(&w, type, own);
    return finish(&w, ret_json);
}

int cor_own_encode_member(const struct cor_own_field *field, struct cor_pool *pool,
                          const void *value, struct cor_str *ret_json)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
    struct writer w = {.out = &out, .pool = pool, .depth = 1};

    cor_buf_init(&out, COR_POOL_BYTES_MAX);
    write_member(&w, field, value);
    return finish(&w, ret_json);
}
