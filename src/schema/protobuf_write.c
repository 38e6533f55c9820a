/* From JSON to protobuf by the types.
 *
 * The members of an object are noted in one pass, by their places in the type. Then the fields are
 * written in the order of their numbers, which is the order of Go's encoder: scalars and structs
 * that are no pointers always, pointers and bytes when they are there, lists and maps element by
 * element. An inlined struct is a message of its own, made of the members of the object around it.
 * A message is appended behind an empty place, and its length is put before it when it is known;
 * that moves its bytes once for each level around it.
 *
 * Failures: a value of another type than its field (-COR_EINVAL, with words that name the field),
 * objects nested too deep, no memory, a result beyond the buffer's maximum. Thread: any. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "meta/time_text.h"
#include "schema/protobuf.h"
#include "json/json.h"
#include "json/scan.h"

#define DEPTH_MAX  (COR_JSON_DEPTH_MAX / 2)
#define VARINT_MAX 10

struct writer {
    struct cor_buf *out;
    struct cor_buf scratch; /* for texts with escapes, and for base64 */
    unsigned depth;
    int error;
    struct cor_pb_error *why;
};

/* A JSON object of a type: its members' values, p == NULL where there is none or null. */
struct object {
    const struct cor_type *type;
    struct cor_str values[COR_TYPE_MEMBERS_MAX];
};

static void write_value(struct writer *w, const struct cor_type_field *field, uint32_t number,
                        const struct cor_type *type, struct cor_str value);

static void writer_check(struct writer *w, int r)
{
    if (r < 0 && w->error == 0)
        w->error = r;
}

static void refuse_value(struct writer *w, const struct cor_type_field *field,
                         const struct cor_type *type, struct cor_str value)
{
    if (w->error == 0)
        w->error = cor_pb_refuse(w->why, "cannot encode %s as field %.*s of type %.*s",
                                 cor_json_go_type(cor_json_type(value)),
                                 COR_STR_ARG(cor_type_field_go_name(field)),
                                 COR_STR_ARG(cor_type_go_name(type)));
}

static size_t varint_bytes(uint64_t value, char out[VARINT_MAX])
{
    size_t n = 0;

    do {
        out[n++] = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value > 0);
    return n;
}

static void write_varint(struct writer *w, uint64_t value)
{
    char bytes[VARINT_MAX];

    writer_check(w, cor_buf_add(w->out, bytes, varint_bytes(value, bytes)));
}

static void write_tag(struct writer *w, uint32_t number, enum cor_pb_wire wire)
{
    write_varint(w, (uint64_t)number << 3 | wire);
}

static void write_number(struct writer *w, uint32_t number, int64_t value)
{
    write_tag(w, number, COR_PB_VARINT);
    write_varint(w, (uint64_t)value);
}

static void write_text(struct writer *w, uint32_t number, struct cor_str bytes)
{
    write_tag(w, number, COR_PB_LEN);
    write_varint(w, bytes.n);
    writer_check(w, cor_buf_adds(w->out, bytes));
}

/* Begins a message; what is appended until end_message() is in it. */
static size_t begin_message(struct writer *w, uint32_t number)
{
    write_tag(w, number, COR_PB_LEN);
    return w->out->n;
}

static void end_message(struct writer *w, size_t begin)
{
    char length[VARINT_MAX];
    size_t bytes = w->out->n - begin, n = varint_bytes(bytes, length);

    if (w->error < 0)
        return;
    writer_check(w, cor_buf_add(w->out, length, n));
    if (w->error < 0)
        return;
    memmove(w->out->p + begin + n, w->out->p + begin, bytes);
    memcpy(w->out->p + begin, length, n);
}

/* The text of a JSON string; it stays until the next one is read. False: `value` is no string. */
static bool text_of(struct writer *w, struct cor_str value, struct cor_str *ret)
{
    struct cor_str raw;

    if (cor_json_to_raw(value, &raw) < 0)
        return false;
    cor_buf_truncate(&w->scratch, 0);
    writer_check(w, cor_buf_reserve(&w->scratch, raw.n + 1));
    if (w->error < 0 || cor_json_unescape(raw, w->scratch.p, raw.n, ret) < 0)
        *ret = COR_STR("");
    return true;
}

static void write_bytes(struct writer *w, const struct cor_type_field *field, uint32_t number,
                        const struct cor_type *type, struct cor_str value)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf bytes;
    struct cor_str text;
    int r;

    cor_buf_init(&bytes, value.n + 1);
    if (!text_of(w, value, &text)) {
        refuse_value(w, field, type, value);
        return;
    }
    r = cor_base64_decode(COR_BASE64_STD, text, &bytes, NULL);
    if (r == -COR_EINVAL)
        refuse_value(w, field, type, value);
    else
        writer_check(w, r);
    if (w->error == 0)
        write_text(w, number, cor_buf_str(&bytes));
}

/* Seconds and nanoseconds; the zero time is an empty message. */
static void write_time(struct writer *w, const struct cor_type_field *field, uint32_t number,
                       const struct cor_type *type, struct cor_str value)
{
    bool is_micro = cor_type_shape(type) == COR_SHAPE_MICRO_TIME;
    int64_t us = 0, s = 0;
    struct cor_str text;
    size_t begin;

    if (value.p && (!text_of(w, value, &text) ||
                    (is_micro ? cor_micro_time_parse(text, &us) : cor_time_parse(text, &s)) < 0)) {
        refuse_value(w, field, type, value);
        return;
    }
    if (is_micro) {
        s = us / 1000000 - (us % 1000000 < 0);
        us -= s * 1000000;
    }
    begin = begin_message(w, number);
    if (value.p) {
        write_number(w, 1, s);
        write_number(w, 2, us * 1000);
    }
    end_message(w, begin);
}

static void write_quantity(struct writer *w, const struct cor_type_field *field, uint32_t number,
                           const struct cor_type *type, struct cor_str value)
{
    struct cor_str text = COR_STR("0");
    size_t begin = begin_message(w, number);

    if (value.p && cor_json_type(value) == COR_JSON_NUMBER)
        text = value;
    else if (value.p && !text_of(w, value, &text))
        refuse_value(w, field, type, value);
    write_text(w, 1, text);
    end_message(w, begin);
}

static void write_int_or_string(struct writer *w, const struct cor_type_field *field,
                                uint32_t number, const struct cor_type *type, struct cor_str value)
{
    struct cor_str text = COR_STR("");
    bool is_text = value.p && text_of(w, value, &text);
    int64_t i = 0;
    size_t begin = begin_message(w, number);

    if (value.p && !is_text && cor_json_to_i64(value, &i) < 0)
        refuse_value(w, field, type, value);
    write_number(w, 1, is_text);
    write_number(w, 2, i);
    write_text(w, 3, text);
    end_message(w, begin);
}

/* JSON as bytes, in a message of its own. */
static void write_raw(struct writer *w, uint32_t number, struct cor_str value)
{
    size_t begin = begin_message(w, number);

    if (value.p && cor_json_type(value) != COR_JSON_NULL)
        write_text(w, 1, value);
    end_message(w, begin);
}

static void write_double(struct writer *w, const struct cor_type_field *field, uint32_t number,
                         const struct cor_type *type, struct cor_str value)
{
    char bytes[8];
    double real = 0;
    uint64_t bits;

    /* What follows a number in valid JSON ends it. */
    if (value.p)
        real = strtod(value.p, NULL);
    if (value.p && (cor_json_type(value) != COR_JSON_NUMBER || !isfinite(real)))
        refuse_value(w, field, type, value);
    memcpy(&bits, &real, sizeof(bits));
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(bits >> (8 * i));
    write_tag(w, number, COR_PB_FIXED64);
    writer_check(w, cor_buf_add(w->out, bytes, sizeof(bytes)));
}

static void object_read(struct object *o, const struct cor_type *type, struct cor_str json)
{
    struct cor_json_iter it = cor_json_iter(json);
    struct cor_str key;

    o->type = type;
    memset(o->values, 0, sizeof(o->values));
    while (json.p && cor_json_iter_member(&it, &key)) {
        size_t m = cor_type_member_index(type, key);
        struct cor_str value = cor_json_iter_value(&it);

        if (m != SIZE_MAX && cor_json_type(value) != COR_JSON_NULL)
            o->values[m] = value;
    }
}

static void write_list(struct writer *w, const struct cor_type_field *field, uint32_t number,
                       const struct cor_type *type, struct cor_str value)
{
    struct cor_json_iter it = cor_json_iter(value);

    if (cor_json_type(value) != COR_JSON_ARRAY)
        refuse_value(w, field, type, value);
    while (w->error == 0 && cor_json_iter_elem(&it)) {
        struct cor_str element = cor_json_iter_value(&it);

        write_value(w, field, number, cor_type_element(type),
                    cor_json_type(element) == COR_JSON_NULL ? cor_str(NULL, 0) : element);
    }
}

static void write_map(struct writer *w, const struct cor_type_field *field, uint32_t number,
                      const struct cor_type *type, struct cor_str value)
{
    struct cor_json_iter it = cor_json_iter(value);
    struct cor_str key, text;

    if (cor_json_type(value) != COR_JSON_OBJECT)
        refuse_value(w, field, type, value);
    while (w->error == 0 && cor_json_iter_member(&it, &key)) {
        struct cor_str element = cor_json_iter_value(&it);
        size_t begin = begin_message(w, number);

        writer_check(w, cor_buf_reserve(&w->scratch, key.n + 1));
        if (w->error < 0 || cor_json_unescape(key, w->scratch.p, key.n, &text) < 0)
            return;
        write_text(w, 1, text);
        write_value(w, field, 2, cor_type_element(type),
                    cor_json_type(element) == COR_JSON_NULL ? cor_str(NULL, 0) : element);
        end_message(w, begin);
    }
}

static void write_field(struct writer *w, const struct object *o,
                        const struct cor_type_field *field);

/* The fields of `type`, which is the object's own type or one that is inlined in it. */
static void write_fields(struct writer *w, const struct object *o, const struct cor_type *type)
{
    for (size_t i = 0; w->error == 0 && i < cor_type_nfields(type); i++) {
        const struct cor_type_field *field = cor_type_field_on_wire(type, i);

        if (cor_type_field_number(field) == 0)
            return;
        write_field(w, o, field);
    }
}

static void write_field(struct writer *w, const struct object *o,
                        const struct cor_type_field *field)
{
    const struct cor_type *type = cor_type_field_type(field);
    uint32_t number = cor_type_field_number(field);
    struct cor_str value;
    size_t begin;

    if (cor_type_field_is(field, COR_FIELD_INLINE)) {
        begin = begin_message(w, number);
        write_fields(w, o, type);
        end_message(w, begin);
        return;
    }
    value = o->values[cor_type_member_index(o->type, cor_type_field_name(field))];
    switch (cor_type_shape(type)) {
    case COR_SHAPE_LIST:
        if (value.p && cor_type_is(type, COR_TYPE_WRAPPED))
            write_value(w, field, number, type, value);
        else if (value.p)
            write_list(w, field, number, type, value);
        return;
    case COR_SHAPE_MAP:
        if (value.p)
            write_map(w, field, number, type, value);
        return;
    case COR_SHAPE_BYTES:
        if (value.p)
            write_bytes(w, field, number, type, value);
        return;
    default:
        if (value.p || !cor_type_field_is(field, COR_FIELD_POINTER))
            write_value(w, field, number, type, value);
    }
}

static void write_struct(struct writer *w, const struct cor_type_field *field, uint32_t number,
                         const struct cor_type *type, struct cor_str value)
{
    struct object o;
    size_t begin;

    if (w->depth == DEPTH_MAX) {
        w->error = cor_pb_refuse(w->why, "the object is nested too deep");
        return;
    }
    if (value.p && cor_json_type(value) != COR_JSON_OBJECT) {
        refuse_value(w, field, type, value);
        return;
    }
    w->depth++;
    object_read(&o, type, value);
    begin = begin_message(w, number);
    write_fields(w, &o, type);
    end_message(w, begin);
    w->depth--;
}

/* A schema, or what stands in its place. */
static void write_schema_or(struct writer *w, const struct cor_type_field *field, uint32_t number,
                            const struct cor_type *type, struct cor_str value)
{
    const struct cor_type *schema = cor_type_element(type);
    bool is_bool = cor_type_shape(type) == COR_SHAPE_SCHEMA_OR_BOOL, allows = true;
    struct cor_json_iter it = cor_json_iter(value);
    size_t begin = begin_message(w, number);

    if (value.p && cor_json_type(value) != COR_JSON_OBJECT &&
        cor_json_type(value) != (is_bool ? COR_JSON_BOOL : COR_JSON_ARRAY))
        refuse_value(w, field, type, value);
    if (is_bool) {
        if (value.p && cor_json_type(value) == COR_JSON_BOOL)
            (void)cor_json_to_bool(value, &allows);
        write_number(w, 1, value.p && allows);
    }
    if (value.p && cor_json_type(value) == COR_JSON_OBJECT)
        write_struct(w, field, is_bool ? 2 : 1, schema, value);
    while (w->error == 0 && value.p && cor_json_type(value) == COR_JSON_ARRAY &&
           cor_json_iter_elem(&it)) {
        struct cor_str element = cor_json_iter_value(&it), text;

        if (cor_type_shape(type) == COR_SHAPE_SCHEMA_OR_ARRAY)
            write_struct(w, field, 2, schema, element);
        else if (text_of(w, element, &text))
            write_text(w, 2, text);
    }
    end_message(w, begin);
}

/* A value that is no list and no map, but for a list that is a message of its own; absent when
 * value.p is NULL, and then the zero value is written. */
static void write_value(struct writer *w, const struct cor_type_field *field, uint32_t number,
                        const struct cor_type *type, struct cor_str value)
{
    struct cor_str text = COR_STR("");
    int64_t i = 0;
    bool b = false;
    size_t begin;

    switch (cor_type_shape(type)) {
    case COR_SHAPE_STRUCT:
        write_struct(w, field, number, type, value);
        return;
    case COR_SHAPE_STRING:
        if (value.p && !text_of(w, value, &text))
            refuse_value(w, field, type, value);
        write_text(w, number, text);
        return;
    case COR_SHAPE_BOOL:
        if (value.p && cor_json_to_bool(value, &b) < 0)
            refuse_value(w, field, type, value);
        write_number(w, number, b);
        return;
    case COR_SHAPE_INT32:
    case COR_SHAPE_INT64:
        if (value.p && cor_json_to_i64(value, &i) < 0)
            refuse_value(w, field, type, value);
        write_number(w, number, i);
        return;
    case COR_SHAPE_FLOAT64:
        write_double(w, field, number, type, value);
        return;
    case COR_SHAPE_BYTES:
        if (value.p)
            write_bytes(w, field, number, type, value);
        return;
    case COR_SHAPE_TIME:
    case COR_SHAPE_MICRO_TIME:
        write_time(w, field, number, type, value);
        return;
    case COR_SHAPE_QUANTITY:
        write_quantity(w, field, number, type, value);
        return;
    case COR_SHAPE_INT_OR_STRING:
        write_int_or_string(w, field, number, type, value);
        return;
    case COR_SHAPE_RAW:
    case COR_SHAPE_FIELDS_V1:
    case COR_SHAPE_JSON:
        write_raw(w, number, value);
        return;
    case COR_SHAPE_SCHEMA_OR_BOOL:
    case COR_SHAPE_SCHEMA_OR_ARRAY:
    case COR_SHAPE_SCHEMA_OR_STRINGS:
        write_schema_or(w, field, number, type, value);
        return;
    case COR_SHAPE_LIST:
        begin = begin_message(w, number);
        if (value.p)
            write_list(w, field, 1, type, value);
        end_message(w, begin);
        return;
    case COR_SHAPE_DURATION:
    case COR_SHAPE_MAP:
    case COR_SHAPES:
        break;
    }
    assert(!"no field has such a value");
}

/* The object with its envelope, behind what `out` has already. */
static void write_envelope(struct writer *w, struct cor_str api_version, struct cor_str kind,
                           const struct cor_type *type, struct cor_str json)
{
    struct object o;
    size_t begin;

    writer_check(w, cor_buf_adds(w->out, COR_PROTOBUF_PREFIX));
    begin = begin_message(w, 1);
    write_text(w, 1, api_version);
    write_text(w, 2, kind);
    end_message(w, begin);
    object_read(&o, type, json);
    begin = begin_message(w, 2);
    write_fields(w, &o, type);
    end_message(w, begin);
    /* Neither encoding nor content type, as Go's encoder leaves them. */
    writer_check(w, cor_buf_adds(w->out, COR_PROTOBUF_TAIL));
}

int cor_protobuf_from_json(struct cor_str api_version, struct cor_str kind,
                           const struct cor_type *type, struct cor_str json, struct cor_buf *out,
                           struct cor_pb_error *reterr)
{
    struct writer w = {.out = out, .why = reterr};

    assert(cor_type_shape(type) == COR_SHAPE_STRUCT);
    cor_buf_init(&w.scratch, json.n + 1);
    write_envelope(&w, api_version, kind, type, json);
    cor_buf_deinit(&w.scratch);
    return w.error;
}

int cor_protobuf_add_head(struct cor_str api_version, struct cor_str kind, uint64_t raw_bytes,
                          struct cor_buf *out)
{
    struct writer w = {.out = out};
    size_t begin;

    writer_check(&w, cor_buf_adds(out, COR_PROTOBUF_PREFIX));
    begin = begin_message(&w, 1);
    write_text(&w, 1, api_version);
    write_text(&w, 2, kind);
    end_message(&w, begin);
    write_tag(&w, 2, COR_PB_LEN);
    write_varint(&w, raw_bytes);
    return w.error;
}

int cor_protobuf_add_field(uint32_t number, const struct cor_type *type, struct cor_str json,
                           struct cor_buf *out, struct cor_pb_error *reterr)
{
    struct writer w = {.out = out, .why = reterr};
    struct object o;
    size_t begin;

    assert(cor_type_shape(type) == COR_SHAPE_STRUCT && number > 0);
    cor_buf_init(&w.scratch, json.n + 1);
    object_read(&o, type, json);
    begin = begin_message(&w, number);
    write_fields(&w, &o, type);
    end_message(&w, begin);
    cor_buf_deinit(&w.scratch);
    return w.error;
}

int cor_protobuf_add_frame(struct cor_str event, struct cor_str api_version, struct cor_str kind,
                           const struct cor_type *type, struct cor_str json, struct cor_buf *out,
                           struct cor_pb_error *reterr)
{
    struct writer w = {.out = out, .why = reterr};
    size_t begin = out->n, object, raw, bytes;

    assert(cor_type_shape(type) == COR_SHAPE_STRUCT);
    cor_buf_init(&w.scratch, json.n + 1);
    writer_check(&w, cor_buf_add(out, "\0\0\0\0", 4));
    write_text(&w, 1, event);
    object = begin_message(&w, 2);
    raw = begin_message(&w, 1);
    write_envelope(&w, api_version, kind, type, json);
    end_message(&w, raw);
    end_message(&w, object);
    cor_buf_deinit(&w.scratch);
    if (w.error < 0)
        return w.error;
    bytes = out->n - begin - 4;
    if (bytes > UINT32_MAX)
        return -COR_ETOOBIG;
    for (size_t i = 0; i < 4; i++)
        out->p[begin + i] = (char)(bytes >> (24 - 8 * i));
    return 0;
}
