/* Each struct is written member by member, in the order of the table: the member's first item is
 * looked for in the message, and written as Go's JSON has it, or as Go writes what was never set.
 * Of a field that is written twice the first counts, as with views (json/text/wire_value.c), and a
 * list or a map has all items with its number. Where views have to look for a value in the JSON,
 * its place is noted.
 *
 * What is damaged: a message ends where it cannot be read; a time out of range, raw bytes that are
 * not JSON and invalid numbers are null; values nested too deep are empty. Failures are those of
 * memory, which stick to the writer. Linear in the bytes, times the members of a struct.
 * Thread: any. */
#include "meta/value/wire_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/wire.h"
#include "meta/value/time_text.h"
#include "json/text/float_text.h"
#include "json/text/json.h"
#include "json/write/writer.h"

#define DEPTH_MAX  200
#define JSON_MAX   (UINT32_MAX / 2)
#define PLACES_MAX (1u << 28)

struct converter {
    struct cor_json_writer w;
    struct cor_str message; /* the whole one */
    bool notes;             /* places are wanted */
    struct cor_wire_place *places;
    size_t nplaces, cap;
    unsigned depth;
};

static void write_struct(struct converter *c, const struct cor_wire_type *type,
                         struct cor_str message);

bool cor_wire_open(struct cor_str body, struct cor_wire_envelope *ret)
{
    struct cor_str type;

    if (!cor_str_starts(body, COR_WIRE_PREFIX))
        return false;
    body = cor_str_from(body, COR_WIRE_PREFIX.n);
    type = cor_wire_bytes(body, 1);
    *ret = (struct cor_wire_envelope){cor_wire_bytes(type, 1), cor_wire_bytes(type, 2),
                                      cor_wire_bytes(body, 2)};
    return true;
}

/* The value that is written next belongs to this place. */
static void note(struct converter *c, uint32_t key)
{
    if (!c->notes || c->w.error < 0)
        return;
    if (COR_ARRAY_RESERVE(&c->places, c->nplaces, &c->cap, PLACES_MAX) < 0) {
        c->w.error = -COR_ENOMEM;
        return;
    }
    c->places[c->nplaces++] =
        (struct cor_wire_place){key, (uint32_t)(c->w.out->n + (c->w.need_comma ? 1 : 0))};
}

static void note_value(struct converter *c, struct cor_str bytes)
{
    note(c, COR_WIRE_PLACE_OF(bytes.p - c->message.p));
}

static void write_text(struct converter *c, struct cor_str text)
{
    if (text.n > 0 && memchr(text.p, '\\', text.n))
        note_value(c, text);
    cor_json_string(&c->w, text);
}

static void write_bytes(struct converter *c, struct cor_str bytes)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int r;

    cor_buf_init(&text, 2 * bytes.n + 8);
    r = cor_base64_encode(COR_BASE64_STD, bytes, &text);
    cor_json_string(&c->w, cor_buf_str(&text));
    if (r < 0)
        c->w.error = r;
}

static uint64_t varint_in(struct cor_str message, uint32_t number)
{
    struct cor_wire_item item;

    return cor_wire_find(message, number, &item) && item.wire == COR_WIRE_VARINT ? item.value : 0;
}

/* An empty message is the zero time, which is null in JSON. */
static void write_time(struct converter *c, struct cor_str message, bool is_micro)
{
    int64_t s = (int64_t)varint_in(message, 1);
    int32_t ns = (int32_t)varint_in(message, 2);
    char text[64];

    if (message.n == 0 || s < COR_TIME_MIN_S || s > COR_TIME_MAX_S)
        cor_json_null(&c->w);
    else
        cor_json_string(&c->w, is_micro ? cor_micro_time_print(s * 1000000 + ns / 1000, text)
                                        : cor_time_print(s, text));
}

static void write_raw(struct converter *c, struct cor_str message)
{
    struct cor_str raw = cor_wire_bytes(message, 1);
    const struct cor_json_limits limits = {
        .bytes_max = raw.n, .depth_max = COR_JSON_DEPTH_MAX / 2, .any_number = true};
    bool is_canonical;

    if (raw.n == 0 || cor_json_check(raw, &limits, &is_canonical, NULL) < 0)
        cor_json_null(&c->w);
    else
        cor_json_raw(&c->w, raw);
}

static void write_int_or_string(struct converter *c, struct cor_str message)
{
    uint64_t type = varint_in(message, 1);

    if (type == 0)
        cor_json_i64(&c->w, (int32_t)varint_in(message, 2));
    else if (type == 1)
        cor_json_string(&c->w, cor_wire_bytes(message, 3));
    else
        cor_json_null(&c->w);
}

static void write_quantity(struct converter *c, struct cor_str message)
{
    struct cor_str text = cor_wire_bytes(message, 1);

    write_text(c, text.n > 0 ? text : COR_STR("0"));
}

static void write_double(struct converter *c, uint64_t bits)
{
    char text[COR_FLOAT_TEXT_MAX];
    double value;

    memcpy(&value, &bits, sizeof(value));
    if (isfinite(value))
        cor_json_raw(&c->w, cor_float_print(value, text));
    else
        cor_json_null(&c->w);
}

static void write_texts(struct converter *c, struct cor_str message, uint32_t number)
{
    const char *p = message.p, *end = p + message.n;
    struct cor_wire_item item;

    cor_json_begin_array(&c->w);
    while (c->w.error == 0 && p < end && (p = cor_wire_next(p, end, &item)))
        if (item.number == number && item.wire == COR_WIRE_LEN)
            write_text(c, item.bytes);
    cor_json_end_array(&c->w);
}

/* A schema, or what may be in its place. Go writes the list before the schema when a message has
 * both, and null when it has none. */
static void write_schema_or(struct converter *c, const struct cor_wire_field *field,
                            struct cor_str message)
{
    bool is_bool = field->shape == COR_WIRE_SCHEMA_OR_BOOL;
    const char *p = message.p, *end = p + message.n;
    struct cor_wire_item item;

    if (!is_bool && cor_wire_find(message, 2, &item)) {
        if (field->shape == COR_WIRE_SCHEMA_OR_STRINGS) {
            write_texts(c, message, 2);
            return;
        }
        cor_json_begin_array(&c->w);
        while (c->w.error == 0 && p < end && (p = cor_wire_next(p, end, &item)))
            if (item.number == 2)
                write_struct(c, field->of, item.bytes);
        cor_json_end_array(&c->w);
    } else if (cor_wire_find(message, is_bool ? 2 : 1, &item)) {
        write_struct(c, field->of, item.bytes);
    } else if (is_bool) {
        cor_json_bool(&c->w, varint_in(message, 1) != 0);
    } else {
        cor_json_null(&c->w);
    }
}

/* Has the value no text in protobuf? Then views read it here. */
static bool has_no_text(unsigned shape)
{
    return shape != COR_WIRE_STRING && shape != COR_WIRE_QUANTITY && shape != COR_WIRE_BOOL &&
           shape != COR_WIRE_INT32 && shape != COR_WIRE_INT64 && shape != COR_WIRE_DOUBLE;
}

static void write_value(struct converter *c, const struct cor_wire_field *field,
                        const struct cor_wire_item *item)
{
    if (has_no_text(field->shape))
        note_value(c, item->bytes);
    switch ((enum cor_wire_shape)field->shape) {
    case COR_WIRE_STRUCT:
        write_struct(c, field->of, item->bytes);
        return;
    case COR_WIRE_STRING:
        write_text(c, item->bytes);
        return;
    case COR_WIRE_BOOL:
        cor_json_bool(&c->w, item->value != 0);
        return;
    case COR_WIRE_INT32:
        cor_json_i64(&c->w, (int32_t)item->value);
        return;
    case COR_WIRE_INT64:
        cor_json_i64(&c->w, (int64_t)item->value);
        return;
    case COR_WIRE_DOUBLE:
        write_double(c, item->value);
        return;
    case COR_WIRE_BYTES:
        write_bytes(c, item->bytes);
        return;
    case COR_WIRE_TIME:
    case COR_WIRE_MICRO_TIME:
        write_time(c, item->bytes, field->shape == COR_WIRE_MICRO_TIME);
        return;
    case COR_WIRE_QUANTITY:
        write_quantity(c, item->bytes);
        return;
    case COR_WIRE_INT_OR_STRING:
        write_int_or_string(c, item->bytes);
        return;
    case COR_WIRE_RAW:
        write_raw(c, item->bytes);
        return;
    case COR_WIRE_TEXTS:
        write_texts(c, item->bytes, 1);
        return;
    case COR_WIRE_SCHEMA_OR_BOOL:
    case COR_WIRE_SCHEMA_OR_ARRAY:
    case COR_WIRE_SCHEMA_OR_STRINGS:
        write_schema_or(c, field, item->bytes);
        return;
    }
    cor_json_null(&c->w);
}

static void write_entry(struct converter *c, const struct cor_wire_field *field,
                        struct cor_str entry)
{
    struct cor_str key = cor_wire_bytes(entry, 1);
    struct cor_wire_item item;

    if (key.n > 0 && memchr(key.p, '\\', key.n))
        note_value(c, key);
    cor_json_key(&c->w, key);
    if (!cor_wire_find(entry, 2, &item))
        item = (struct cor_wire_item){.bytes = cor_str(entry.p + entry.n, 0)};
    write_value(c, field, &item);
}

/* Numbers of a list may be packed into one item. */
static void write_packed(struct converter *c, const struct cor_wire_field *field,
                         struct cor_str bytes)
{
    const char *p = bytes.p, *end = p + bytes.n;
    struct cor_wire_item item = {.bytes = bytes};

    while (c->w.error == 0 && p < end && (p = cor_wire_varint(p, end, &item.value)))
        write_value(c, field, &item);
}

/* All items with the number of the first one, which begins `rest`. */
static void write_container(struct converter *c, const struct cor_wire_field *field,
                            struct cor_str rest)
{
    const char *p = rest.p, *end = p + rest.n;
    bool is_map = (field->flags & COR_WIRE_MAP) != 0;
    bool is_number = field->shape >= COR_WIRE_BOOL && field->shape <= COR_WIRE_INT64;
    struct cor_wire_item item;

    note(c, COR_WIRE_PLACE_OF_CONTAINER(rest.p - c->message.p));
    if (is_map)
        cor_json_begin_object(&c->w);
    else
        cor_json_begin_array(&c->w);
    while (c->w.error == 0 && p < end && (p = cor_wire_next(p, end, &item))) {
        if (item.number != field->number)
            continue;
        if (is_map)
            write_entry(c, field, item.bytes);
        else if (is_number && item.wire == COR_WIRE_LEN)
            write_packed(c, field, item.bytes);
        else
            write_value(c, field, &item);
    }
    if (is_map)
        cor_json_end_object(&c->w);
    else
        cor_json_end_array(&c->w);
}

/* Does omitempty leave out the zero value of this shape? A struct's it does not. */
static bool can_be_empty(const struct cor_wire_field *field)
{
    return (field->flags & (COR_WIRE_LIST | COR_WIRE_MAP)) || field->shape == COR_WIRE_BYTES ||
           field->shape == COR_WIRE_TEXTS ||
           (!has_no_text(field->shape) && field->shape != COR_WIRE_QUANTITY);
}

static void write_absent(struct converter *c, const struct cor_wire_field *field)
{
    const struct cor_wire_item zero = {.bytes = cor_str(c->message.p, 0)};
    bool is_pointer = (field->flags & COR_WIRE_POINTER) != 0;
    bool is_null = is_pointer || (field->flags & (COR_WIRE_LIST | COR_WIRE_MAP)) ||
                   field->shape == COR_WIRE_BYTES || field->shape == COR_WIRE_TEXTS;
    bool notes = c->notes;

    if (field->flags & COR_WIRE_OMITZERO ||
        (field->flags & COR_WIRE_OMITEMPTY && (is_pointer || can_be_empty(field))))
        return;
    cor_json_key(&c->w, cor_str(field->name, field->name_len));
    c->notes = false; /* it is nowhere in the message */
    if (is_null)
        cor_json_null(&c->w);
    else
        write_value(c, field, &zero);
    c->notes = notes;
}

static bool is_empty(const struct cor_wire_field *field, const struct cor_wire_item *item)
{
    if (field->shape == COR_WIRE_STRING || field->shape == COR_WIRE_BYTES ||
        field->shape == COR_WIRE_TEXTS)
        return item->bytes.n == 0;
    return can_be_empty(field) && item->value == 0;
}

static void write_member(struct converter *c, const struct cor_wire_field *field,
                         struct cor_str message)
{
    bool is_pointer = (field->flags & COR_WIRE_POINTER) != 0;
    bool is_container = (field->flags & (COR_WIRE_LIST | COR_WIRE_MAP)) != 0;
    struct cor_wire_item item;

    for (size_t i = 0; i < 2 && field->via[i] > 0; i++)
        message = cor_wire_bytes(message, field->via[i]);
    if (!cor_wire_find(message, field->number, &item)) {
        write_absent(c, field);
        return;
    }
    if (!is_pointer && !is_container && (field->flags & COR_WIRE_OMITEMPTY) &&
        is_empty(field, &item))
        return;
    if (!is_pointer && (field->flags & COR_WIRE_OMITZERO) && item.bytes.n == 0)
        return;
    cor_json_key(&c->w, cor_str(field->name, field->name_len));
    if (is_container)
        write_container(c, field, cor_str(item.tag, (size_t)(message.p + message.n - item.tag)));
    else
        write_value(c, field, &item);
}

static void write_members(struct converter *c, const struct cor_wire_type *type,
                          struct cor_str message)
{
    for (size_t i = 0; c->w.error == 0 && i < type->nfields; i++)
        if (type->fields[i].number > 0)
            write_member(c, &type->fields[i], message);
}

static void write_struct(struct converter *c, const struct cor_wire_type *type,
                         struct cor_str message)
{
    cor_json_begin_object(&c->w);
    if (c->depth < DEPTH_MAX) {
        c->depth++;
        write_members(c, type, message);
        c->depth--;
    }
    cor_json_end_object(&c->w);
}

static int convert(struct converter *c, const struct cor_wire_type *type, struct cor_str kind,
                   struct cor_str api_version, struct cor_buf *out)
{
    cor_json_writer_init(&c->w, out);
    note(c, COR_WIRE_PLACE_OF(0));
    cor_json_begin_object(&c->w);
    if (kind.n > 0)
        cor_json_member(&c->w, COR_STR("kind"), kind);
    if (api_version.n > 0)
        cor_json_member(&c->w, COR_STR("apiVersion"), api_version);
    write_members(c, type, c->message);
    cor_json_end_object(&c->w);
    return cor_json_writer_finish(&c->w);
}

int cor_wire_to_json(struct cor_str message, const struct cor_wire_type *type, struct cor_str kind,
                     struct cor_str api_version, struct cor_buf *out)
{
    struct converter c = {.message = message};

    return convert(&c, type, kind, api_version, out);
}

static int compare_places(const void *a, const void *b)
{
    const struct cor_wire_place *x = a, *y = b;

    return x->key < y->key ? -1 : x->key > y->key;
}

struct cor_wire_json *cor_wire_json_new(struct cor_str message, const struct cor_wire_type *type,
                                        struct cor_str kind, struct cor_str api_version)
{
    struct converter c = {.message = message, .notes = true};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
    struct cor_wire_json *made = NULL;
    char *text;

    cor_buf_init(&out, JSON_MAX);
    if (cor_buf_reserve(&out, 2 * message.n) == 0 &&
        convert(&c, type, kind, api_version, &out) == 0)
        made = cor_alloc(sizeof(*made) + c.nplaces * sizeof(made->places[0]) + out.n + 1);
    if (made) {
        made->nplaces = c.nplaces;
        if (c.nplaces > 0) {
            qsort(c.places, c.nplaces, sizeof(c.places[0]), compare_places);
            memcpy(made->places, c.places, c.nplaces * sizeof(c.places[0]));
        }
        text = (char *)(made->places + c.nplaces);
        memcpy(text, out.p, out.n);
        text[out.n] = '\0';
        made->json = cor_str(text, out.n);
    }
    cor_free(c.places);
    return made;
}

/* ---- Status ---- */

#define FIELD(name, of, number, shape, flags)                                                      \
    {                                                                                              \
        name, of, number, {0, 0}, sizeof(name) - 1, COR_WIRE_##shape, flags                        \
    }

static const struct cor_wire_field cause_fields[] = {
    FIELD("field", NULL, 3, STRING, COR_WIRE_OMITEMPTY),
    FIELD("message", NULL, 2, STRING, COR_WIRE_OMITEMPTY),
    FIELD("reason", NULL, 1, STRING, COR_WIRE_OMITEMPTY),
};
static const struct cor_wire_type cause = {NULL, NULL, cause_fields, COR_ARRAY_LEN(cause_fields)};
static const struct cor_wire_field details_fields[] = {
    FIELD("causes", &cause, 4, STRUCT, COR_WIRE_LIST | COR_WIRE_OMITEMPTY),
    FIELD("group", NULL, 2, STRING, COR_WIRE_OMITEMPTY),
    FIELD("kind", NULL, 3, STRING, COR_WIRE_OMITEMPTY),
    FIELD("name", NULL, 1, STRING, COR_WIRE_OMITEMPTY),
    FIELD("retryAfterSeconds", NULL, 5, INT32, COR_WIRE_OMITEMPTY),
    FIELD("uid", NULL, 6, STRING, COR_WIRE_OMITEMPTY),
};
static const struct cor_wire_type details = {NULL, NULL, details_fields,
                                             COR_ARRAY_LEN(details_fields)};
static const struct cor_wire_field status_fields[] = {
    FIELD("code", NULL, 6, INT32, COR_WIRE_OMITEMPTY),
    FIELD("details", &details, 5, STRUCT, COR_WIRE_POINTER | COR_WIRE_OMITEMPTY),
    FIELD("message", NULL, 3, STRING, COR_WIRE_OMITEMPTY),
    FIELD("reason", NULL, 4, STRING, COR_WIRE_OMITEMPTY),
    FIELD("status", NULL, 2, STRING, COR_WIRE_OMITEMPTY),
};
static const struct cor_wire_type status = {"v1", "Status", status_fields,
                                            COR_ARRAY_LEN(status_fields)};

int cor_wire_status_json(struct cor_str body, struct cor_buf *out)
{
    struct cor_wire_envelope e;

    if (!cor_wire_open(body, &e) || !cor_str_eqz(e.kind, status.kind))
        return -COR_EINVAL;
    return cor_wire_to_json(e.message, &status, e.kind, e.api_version, out);
}
