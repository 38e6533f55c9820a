/* From JSON to protobuf by the types.
 *
 * The JSON is read once into nodes (json/text/nodes.h), so that no byte of a deep object is read
 * once per level. The members of an object are noted in one pass, by their places in the type: both
 * are in the order of their names. Then the fields are written in the order of their numbers, which
 * is the order of Go's encoder: scalars and structs that are not pointers always, pointers and
 * bytes when they are there, lists and maps element by element. An inlined struct is a message of
 * its own, made of the members of the object around it. The length of a message precedes it. Room
 * for it is left by a guess from the length of the JSON; a wrong guess, which is only possible near
 * 128 bytes, 16 KiB or 2 MiB, moves the message.
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
#include "base/wire.h"
#include "meta/value/time_text.h"
#include "schema/protobuf/protobuf.h"
#include "schema/types/types_int.h"
#include "json/text/json.h"
#include "json/text/nodes.h"
#include "json/text/scan.h"

#define DEPTH_MAX COR_JSON_DEPTH_MAX /* what can be stored can be read and written */
#define NONE      COR_JSON_NO_NODE

struct writer {
    struct cor_buf *out;
    struct cor_json_nodes nodes;
    struct cor_buf scratch; /* for texts with escapes */
    unsigned depth;
    int error;
    struct cor_pb_error *why;
};

/* A JSON object of a type: the nodes of its members' values, NONE where there is none or null. */
struct object {
    const struct cor_type *type;
    size_t bytes; /* of its JSON, about */
    uint32_t values[COR_TYPE_MEMBERS_MAX];
};

static void write_value(struct writer *w, const struct cor_type_field *field, uint32_t number,
                        const struct cor_type *type, uint32_t value);

static void writer_check(struct writer *w, int r)
{
    if (r < 0 && w->error == 0)
        w->error = r;
}

static enum cor_json_type type_of(const struct writer *w, uint32_t value)
{
    return cor_json_type(cor_str_from(w->nodes.json, w->nodes.v[value].at));
}

static void refuse_value(struct writer *w, const struct cor_type_field *field,
                         const struct cor_type *type, uint32_t value)
{
    if (w->error == 0)
        w->error = cor_pb_refuse(w->why, "cannot encode %s as field %.*s of type %.*s",
                                 cor_json_go_type(type_of(w, value)),
                                 COR_STR_ARG(cor_type_field_go_name(field)),
                                 COR_STR_ARG(cor_type_go_name(type)));
}

/* Room for `n` more bytes. NULL: there is none, and the writer has failed. */
static inline char *writer_room(struct writer *w, size_t n)
{
    struct cor_buf *out = w->out;

    if (out->cap - out->n < n) {
        writer_check(w, cor_buf_reserve(out, n));
        if (w->error < 0)
            return NULL;
    }
    return out->p + out->n;
}

static inline void write_varint(struct writer *w, uint64_t value)
{
    char *p = writer_room(w, COR_WIRE_VARINT_MAX);

    if (p)
        w->out->n += cor_wire_put_varint(p, value);
}

static inline void write_tag(struct writer *w, uint32_t number, enum cor_wire_code wire)
{
    write_varint(w, (uint64_t)number << 3 | wire);
}

static void write_number(struct writer *w, uint32_t number, int64_t value)
{
    char *p = writer_room(w, 2 * COR_WIRE_VARINT_MAX);
    size_t n;

    if (!p)
        return;
    n = cor_wire_put_tag(p, number, COR_WIRE_VARINT);
    w->out->n += n + cor_wire_put_varint(p + n, (uint64_t)value);
}

static void write_text(struct writer *w, uint32_t number, struct cor_str bytes)
{
    char *p = writer_room(w, 2 * COR_WIRE_VARINT_MAX + bytes.n);
    size_t n;

    if (!p)
        return;
    n = cor_wire_put_tag(p, number, COR_WIRE_LEN);
    n += cor_wire_put_varint(p + n, bytes.n);
    if (bytes.n > 0)
        memcpy(p + n, bytes.p, bytes.n);
    w->out->n += n + bytes.n;
}

/* A message that is being written: where its length stands, and how many bytes are left for it. */
struct message {
    size_t begin;
    unsigned room;
};

/* Begins a message that is made of about `json_bytes` of JSON; what is appended until end_message()
 * is in it. */
static struct message begin_message(struct writer *w, uint32_t number, size_t json_bytes)
{
    struct message m = {.room = json_bytes < 140 ? 1 : json_bytes < 24000 ? 2 : 3};
    char *p = writer_room(w, COR_WIRE_VARINT_MAX + m.room);

    if (!p)
        return m;
    w->out->n += cor_wire_put_tag(p, number, COR_WIRE_LEN);
    m.begin = w->out->n;
    w->out->n += m.room;
    return m;
}

static void end_message(struct writer *w, struct message m)
{
    char length[COR_WIRE_VARINT_MAX];
    size_t bytes, n;

    if (w->error < 0)
        return;
    bytes = w->out->n - m.begin - m.room;
    n = cor_wire_put_varint(length, bytes);
    if (n != m.room) {
        if (!writer_room(w, COR_WIRE_VARINT_MAX))
            return;
        memmove(w->out->p + m.begin + n, w->out->p + m.begin + m.room, bytes);
        w->out->n = w->out->n - m.room + n;
    }
    memcpy(w->out->p + m.begin, length, n);
}

/* The text of a JSON string, which begins with its quote; it stays until the next one is read. */
static bool text_of(struct writer *w, uint32_t value, struct cor_str *ret)
{
    struct cor_str raw;

    if (cor_json_node_first(&w->nodes, value) != '"')
        return false;
    raw = cor_json_node_raw(&w->nodes, value);
    *ret = raw;
    if (!(w->nodes.v[value].end & COR_JSON_NODE_ESCAPED))
        return true;
    cor_buf_truncate(&w->scratch, 0);
    writer_check(w, cor_buf_reserve(&w->scratch, raw.n + 1));
    if (w->error < 0 || cor_json_unescape(raw, w->scratch.p, raw.n, ret) < 0)
        *ret = COR_STR("");
    return true;
}

static int number_of(const struct writer *w, uint32_t value, int64_t *ret)
{
    return cor_json_to_i64(cor_json_node_bytes(&w->nodes, value), ret);
}

static void write_bytes(struct writer *w, const struct cor_type_field *field, uint32_t number,
                        const struct cor_type *type, uint32_t value)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf bytes;
    struct cor_str text;
    int r;

    cor_buf_init(&bytes, w->nodes.json.n + 1);
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
                       const struct cor_type *type, uint32_t value)
{
    bool is_micro = cor_type_shape(type) == COR_SHAPE_MICRO_TIME;
    int64_t us = 0, s = 0;
    struct cor_str text;
    struct message m;

    if (value != NONE && (!text_of(w, value, &text) || (is_micro ? cor_micro_time_parse(text, &us)
                                                                 : cor_time_parse(text, &s)) < 0)) {
        refuse_value(w, field, type, value);
        return;
    }
    if (is_micro) {
        s = us / 1000000 - (us % 1000000 < 0);
        us -= s * 1000000;
    }
    m = begin_message(w, number, 0);
    if (value != NONE) {
        write_number(w, 1, s);
        write_number(w, 2, us * 1000);
    }
    end_message(w, m);
}

static void write_quantity(struct writer *w, const struct cor_type_field *field, uint32_t number,
                           const struct cor_type *type, uint32_t value)
{
    struct cor_str text = COR_STR("0");
    struct message m = begin_message(w, number, 0);

    if (value != NONE && type_of(w, value) == COR_JSON_NUMBER)
        text = cor_json_node_bytes(&w->nodes, value);
    else if (value != NONE && !text_of(w, value, &text))
        refuse_value(w, field, type, value);
    write_text(w, 1, text);
    end_message(w, m);
}

static void write_int_or_string(struct writer *w, const struct cor_type_field *field,
                                uint32_t number, const struct cor_type *type, uint32_t value)
{
    struct cor_str text = COR_STR("");
    bool is_text = value != NONE && text_of(w, value, &text);
    int64_t i = 0;
    struct message m = begin_message(w, number, text.n);

    if (value != NONE && !is_text && number_of(w, value, &i) < 0)
        refuse_value(w, field, type, value);
    write_number(w, 1, is_text);
    write_number(w, 2, i);
    write_text(w, 3, text);
    end_message(w, m);
}

/* JSON as bytes, in a message of its own. */
static void write_raw(struct writer *w, uint32_t number, uint32_t value)
{
    struct cor_str bytes = value != NONE ? cor_json_node_bytes(&w->nodes, value) : cor_str(NULL, 0);
    struct message m = begin_message(w, number, bytes.n);

    if (value != NONE)
        write_text(w, 1, bytes);
    end_message(w, m);
}

static void write_double(struct writer *w, const struct cor_type_field *field, uint32_t number,
                         const struct cor_type *type, uint32_t value)
{
    char bytes[8];
    double real = 0;
    uint64_t bits;

    /* What follows a number in valid JSON ends it. */
    if (value != NONE)
        real = strtod(cor_json_node_bytes(&w->nodes, value).p, NULL);
    if (value != NONE && (type_of(w, value) != COR_JSON_NUMBER || !isfinite(real)))
        refuse_value(w, field, type, value);
    memcpy(&bits, &real, sizeof(bits));
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(bits >> (8 * i));
    write_tag(w, number, COR_WIRE_FIXED64);
    writer_check(w, cor_buf_add(w->out, bytes, sizeof(bytes)));
}

/* Is the member's name, which ends in a NUL, before the key (-1), behind it (1), or the same (0)?
 */
static inline int compare_name(const char *name, struct cor_str key)
{
    size_t i = 0;

    while (i < key.n && name[i] == key.p[i] && name[i])
        i++;
    if (i == key.n)
        return name[i] ? 1 : 0;
    return (unsigned char)name[i] < (unsigned char)key.p[i] ? -1 : 1;
}

/* The member with this key, which is looked for from `*from` on and then everywhere. The keys of
 * most objects are in the order of the members. */
static size_t find_member(const struct cor_type *type, struct cor_str key, size_t *from)
{
    const struct cor_type_member *members = &cor_type_members[type->first_member];
    int order = 1;
    size_t m = *from;

    for (; m < type->nmembers; m++) {
        order = compare_name(cor_type_pool + cor_type_fields[members[m].field].name, key);
        if (order >= 0)
            break;
    }
    if (m == type->nmembers || order != 0)
        m = cor_type_member_index(type, key);
    if (m != SIZE_MAX)
        *from = m + 1;
    return m;
}

static void object_read(struct writer *w, struct object *o, const struct cor_type *type,
                        uint32_t value)
{
    const struct cor_json_nodes *nodes = &w->nodes;
    uint32_t end =
        value != NONE && cor_json_node_first(nodes, value) == '{' ? nodes->v[value].end : 0;
    size_t from = 0;

    o->type = type;
    memset(o->values, 0xff, type->nmembers * sizeof(o->values[0]));
    for (uint32_t i = value + 1; end > 0 && i + 1 < end; i = cor_json_node_next(nodes, i + 1)) {
        size_t m = find_member(type, cor_json_node_raw(nodes, i), &from);

        if (m != SIZE_MAX && cor_json_node_first(nodes, i + 1) != 'n')
            o->values[m] = i + 1;
    }
    /* What a length is guessed from: up to the last node's beginning. */
    o->bytes = end > 0 ? nodes->v[end - 1].at - nodes->v[value].at : 0;
}

/* The element's node, or NONE for null. */
static uint32_t element_of(const struct writer *w, uint32_t node)
{
    return cor_json_node_first(&w->nodes, node) == 'n' ? NONE : node;
}

static void write_list(struct writer *w, const struct cor_type_field *field, uint32_t number,
                       const struct cor_type *type, uint32_t value)
{
    uint32_t end;

    if (cor_json_node_first(&w->nodes, value) != '[') {
        refuse_value(w, field, type, value);
        return;
    }
    end = w->nodes.v[value].end;
    for (uint32_t i = value + 1; w->error == 0 && i < end; i = cor_json_node_next(&w->nodes, i))
        write_value(w, field, number, cor_type_element(type), element_of(w, i));
}

static void write_map(struct writer *w, const struct cor_type_field *field, uint32_t number,
                      const struct cor_type *type, uint32_t value)
{
    uint32_t end;

    if (cor_json_node_first(&w->nodes, value) != '{') {
        refuse_value(w, field, type, value);
        return;
    }
    end = w->nodes.v[value].end;
    for (uint32_t i = value + 1; w->error == 0 && i + 1 < end;) {
        uint32_t next = cor_json_node_next(&w->nodes, i + 1);
        size_t bytes = w->nodes.v[next - 1].at - w->nodes.v[i].at + w->nodes.v[next - 1].end;
        struct message m = begin_message(w, number, bytes & ~(size_t)COR_JSON_NODE_ESCAPED);
        struct cor_str text;

        if (!text_of(w, i, &text))
            text = COR_STR("");
        write_text(w, 1, text);
        write_value(w, field, 2, cor_type_element(type), element_of(w, i + 1));
        end_message(w, m);
        i = next;
    }
}

static void write_field(struct writer *w, const struct cor_type_field *field, uint32_t value)
{
    const struct cor_type *type = &cor_types[field->type];
    uint32_t number = field->number;

    switch ((enum cor_shape)type->shape) {
    case COR_SHAPE_LIST:
        if (value != NONE && cor_type_is(type, COR_TYPE_WRAPPED))
            write_value(w, field, number, type, value);
        else if (value != NONE)
            write_list(w, field, number, type, value);
        return;
    case COR_SHAPE_MAP:
        if (value != NONE)
            write_map(w, field, number, type, value);
        return;
    case COR_SHAPE_BYTES:
        if (value != NONE)
            write_bytes(w, field, number, type, value);
        return;
    default:
        if (value != NONE || !(field->flags & COR_FIELD_POINTER))
            write_value(w, field, number, type, value);
    }
}

/* The fields of the object, of its own type or of one that is inlined in it. */
static void write_fields(struct writer *w, const struct object *o,
                         const struct cor_type_wire *wires, size_t n)
{
    for (size_t i = 0; w->error == 0 && i < n; i++) {
        const struct cor_type_field *field = &cor_type_fields[wires[i].field];
        struct message m;

        if (wires[i].member != COR_WIRE_INLINED) {
            write_field(w, field, o->values[wires[i].member]);
            continue;
        }
        m = begin_message(w, field->number, o->bytes);
        write_fields(w, o, &wires[i + 1], wires[i].nested);
        end_message(w, m);
        i += wires[i].nested;
    }
}

/* All fields of an object of this type; `value` is NONE for one that is not there. */
static void write_object(struct writer *w, const struct cor_type *type, uint32_t value)
{
    struct object o;

    object_read(w, &o, type, value);
    write_fields(w, &o, &cor_type_wires[type->first_wire], type->nwires);
}

static void write_struct(struct writer *w, const struct cor_type_field *field, uint32_t number,
                         const struct cor_type *type, uint32_t value)
{
    struct object o;
    struct message m;

    if (w->depth == DEPTH_MAX) {
        w->error = cor_pb_refuse(w->why, "the object is nested too deep");
        return;
    }
    if (value != NONE && cor_json_node_first(&w->nodes, value) != '{') {
        refuse_value(w, field, type, value);
        return;
    }
    w->depth++;
    object_read(w, &o, type, value);
    m = begin_message(w, number, o.bytes);
    write_fields(w, &o, &cor_type_wires[type->first_wire], type->nwires);
    end_message(w, m);
    w->depth--;
}

/* A schema, or what is in its place. */
static void write_schema_or(struct writer *w, const struct cor_type_field *field, uint32_t number,
                            const struct cor_type *type, uint32_t value)
{
    const struct cor_type *schema = cor_type_element(type);
    bool is_bool = cor_type_shape(type) == COR_SHAPE_SCHEMA_OR_BOOL, allows = true;
    enum cor_json_type is = value != NONE ? type_of(w, value) : COR_JSON_NULL;
    uint32_t end = value != NONE && is == COR_JSON_ARRAY ? w->nodes.v[value].end : 0;
    struct message m = begin_message(w, number, 1000);

    if (value != NONE && is != COR_JSON_OBJECT && is != (is_bool ? COR_JSON_BOOL : COR_JSON_ARRAY))
        refuse_value(w, field, type, value);
    if (is_bool) {
        if (is == COR_JSON_BOOL)
            (void)cor_json_to_bool(cor_json_node_bytes(&w->nodes, value), &allows);
        write_number(w, 1, value != NONE && allows);
    }
    if (is == COR_JSON_OBJECT)
        write_struct(w, field, is_bool ? 2 : 1, schema, value);
    for (uint32_t i = value + 1; w->error == 0 && i < end; i = cor_json_node_next(&w->nodes, i)) {
        struct cor_str text;

        if (cor_type_shape(type) == COR_SHAPE_SCHEMA_OR_ARRAY)
            write_struct(w, field, 2, schema, i);
        else if (text_of(w, i, &text))
            write_text(w, 2, text);
    }
    end_message(w, m);
}

/* A value that is neither a list nor a map, except for a list that is a message of its own; when it
 * is not there (NONE), the zero value is written. */
static void write_value(struct writer *w, const struct cor_type_field *field, uint32_t number,
                        const struct cor_type *type, uint32_t value)
{
    struct cor_str text = COR_STR("");
    int64_t i = 0;
    struct message m;

    switch ((enum cor_shape)type->shape) {
    case COR_SHAPE_STRUCT:
        write_struct(w, field, number, type, value);
        return;
    case COR_SHAPE_STRING:
        if (value != NONE && !text_of(w, value, &text))
            refuse_value(w, field, type, value);
        write_text(w, number, text);
        return;
    case COR_SHAPE_BOOL:
        if (value != NONE && type_of(w, value) != COR_JSON_BOOL)
            refuse_value(w, field, type, value);
        write_number(w, number, value != NONE && cor_json_node_first(&w->nodes, value) == 't');
        return;
    case COR_SHAPE_INT32:
    case COR_SHAPE_INT64:
        if (value != NONE && number_of(w, value, &i) < 0)
            refuse_value(w, field, type, value);
        write_number(w, number, i);
        return;
    case COR_SHAPE_FLOAT64:
        write_double(w, field, number, type, value);
        return;
    case COR_SHAPE_BYTES:
        if (value != NONE)
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
        m = begin_message(w, number, 0);
        if (value != NONE)
            write_list(w, field, 1, type, value);
        end_message(w, m);
        return;
    case COR_SHAPE_DURATION:
    case COR_SHAPE_MAP:
    case COR_SHAPES:
        break;
    }
    assert(!"no field has such a value");
}

/* Begins to write into `out` what is made of `json`. writer_end() is due in any case. */
static void writer_begin(struct writer *w, struct cor_str json, struct cor_buf *out,
                         struct cor_pb_error *reterr)
{
    int r;

    w->out = out;
    w->depth = 0;
    w->error = 0;
    w->why = reterr;
    cor_buf_init(&w->scratch, json.n + 1);
    r = cor_json_nodes_init(&w->nodes, json);
    writer_check(w, r == -COR_EINVAL ? cor_pb_refuse(reterr, "the object is nested too deep") : r);
}

static int writer_end(struct writer *w)
{
    cor_json_nodes_deinit(&w->nodes);
    cor_buf_deinit(&w->scratch);
    return w->error;
}

static void write_type(struct writer *w, struct cor_str api_version, struct cor_str kind)
{
    struct message m;

    writer_check(w, cor_buf_adds(w->out, COR_PROTOBUF_PREFIX));
    m = begin_message(w, 1, 0);
    write_text(w, 1, api_version);
    write_text(w, 2, kind);
    end_message(w, m);
}

/* The object with its envelope, behind what `out` has already. */
static void write_envelope(struct writer *w, struct cor_str api_version, struct cor_str kind,
                           const struct cor_type *type)
{
    struct message m;

    write_type(w, api_version, kind);
    m = begin_message(w, 2, w->nodes.json.n);
    if (w->error == 0)
        write_object(w, type, 0);
    end_message(w, m);
    /* Neither encoding nor content type, as Go's encoder leaves them. */
    writer_check(w, cor_buf_adds(w->out, COR_PROTOBUF_TAIL));
}

int cor_protobuf_from_json(struct cor_str api_version, struct cor_str kind,
                           const struct cor_type *type, struct cor_str json, struct cor_buf *out,
                           struct cor_pb_error *reterr)
{
    struct writer w;

    assert(cor_type_shape(type) == COR_SHAPE_STRUCT);
    writer_begin(&w, json, out, reterr);
    write_envelope(&w, api_version, kind, type);
    return writer_end(&w);
}

int cor_protobuf_add_head(struct cor_str api_version, struct cor_str kind, uint64_t raw_bytes,
                          struct cor_buf *out)
{
    struct writer w;

    writer_begin(&w, COR_STR("{}"), out, NULL);
    write_type(&w, api_version, kind);
    write_tag(&w, 2, COR_WIRE_LEN);
    write_varint(&w, raw_bytes);
    return writer_end(&w);
}

int cor_protobuf_add_field(uint32_t number, const struct cor_type *type, struct cor_str json,
                           struct cor_buf *out, struct cor_pb_error *reterr)
{
    struct writer w;
    struct message m;

    assert(cor_type_shape(type) == COR_SHAPE_STRUCT && number > 0);
    writer_begin(&w, json, out, reterr);
    m = begin_message(&w, number, json.n);
    if (w.error == 0)
        write_object(&w, type, 0);
    end_message(&w, m);
    return writer_end(&w);
}

int cor_protobuf_add_frame(struct cor_str event, struct cor_str api_version, struct cor_str kind,
                           const struct cor_type *type, struct cor_str json, struct cor_buf *out,
                           struct cor_pb_error *reterr)
{
    size_t begin = out->n, bytes;
    struct message object, raw;
    struct writer w;
    int r;

    assert(cor_type_shape(type) == COR_SHAPE_STRUCT);
    writer_begin(&w, json, out, reterr);
    writer_check(&w, cor_buf_add(out, "\0\0\0\0", 4));
    write_text(&w, 1, event);
    object = begin_message(&w, 2, json.n);
    raw = begin_message(&w, 1, json.n);
    write_envelope(&w, api_version, kind, type);
    end_message(&w, raw);
    end_message(&w, object);
    r = writer_end(&w);
    if (r < 0)
        return r;
    bytes = out->n - begin - 4;
    if (bytes > UINT32_MAX)
        return -COR_ETOOBIG;
    for (size_t i = 0; i < 4; i++)
        out->p[begin + i] = (char)(bytes >> (24 - 8 * i));
    return 0;
}
