/* From protobuf to JSON by the types.
 *
 * A message is read in one pass: each item on the wire is put into the chain of the member that it
 * belongs to, by its place in the body. An inlined struct is a message of its own in protobuf and
 * part of the struct around it in JSON, so its items go into the chains of the outer one. Then the
 * members are written in the order of their names, which is the canonical order. What is not on the
 * wire is written as Go writes a zero value: left out, null, or zero. A message that is twice is
 * merged, a scalar's last value counts, and so does the last value of a map's key. Bytes that are
 * not UTF-8 become U+FFFD, as in Go's JSON.
 *
 * Everything is linear in the bytes, n log n for a map. The chains of all open messages are in one
 * array, eight bytes for an item of two bytes or more. Failures: bytes that are not a message
 * (-COR_EINVAL, with the words of Go's readers), messages nested too deep, no memory, a result
 * beyond the buffer's maximum. Thread: any. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "meta/value/time_text.h"
#include "schema/protobuf/protobuf.h"
#include "json/text/float_text.h"
#include "json/text/json.h"
#include "json/write/writer.h"

#define DEPTH_MAX   COR_JSON_DEPTH_MAX /* what can be stored can be read and written */
#define CHAINS_MAX  (1u << 23)
#define ENTRIES_MAX (1u << 18) /* of a map: more than an object has room for */
#define NAME_MAX_   128
#define NONE        UINT32_MAX
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Where an item is in the body, and the next one of its member. */
struct link {
    uint32_t at, next;
};

struct reader {
    struct cor_json_writer w;
    struct cor_str body;
    struct link *links;
    size_t nlinks, cap;
    unsigned depth;
    int error;
    struct cor_pb_error *why;
};

/* The items of one message by member. */
struct chains {
    uint32_t first[COR_TYPE_MEMBERS_MAX], last[COR_TYPE_MEMBERS_MAX];
};

static void write_struct(struct reader *r, const struct cor_type *type, const struct cor_str *parts,
                         size_t nparts);
static void write_value(struct reader *r, const struct cor_type *type,
                        const struct cor_wire_item *item);

static void reader_fail(struct reader *r, int error)
{
    if (r->error == 0)
        r->error = error;
}

/* Is there a reason to read on? A result that is full is none. */
static bool reader_goes_on(struct reader *r)
{
    if (r->w.error < 0)
        reader_fail(r, r->w.error);
    return r->error == 0;
}

static struct cor_wire_item item_at(const struct reader *r, uint32_t at)
{
    struct cor_str in = cor_str_from(r->body, at);
    struct cor_wire_item item = {0};

    /* The bytes were read before. */
    (void)cor_pb_take_item(&in, "", &item, NULL);
    return item;
}

static uint32_t add_link(struct reader *r, const char *at)
{
    int err = COR_ARRAY_RESERVE(&r->links, r->nlinks, &r->cap, CHAINS_MAX);

    if (err < 0) {
        reader_fail(r, err);
        return NONE;
    }
    r->links[r->nlinks] = (struct link){(uint32_t)(at - r->body.p), NONE};
    return (uint32_t)r->nlinks++;
}

static enum cor_wire_code wire_of(const struct cor_type *type)
{
    switch (cor_type_shape(type)) {
    case COR_SHAPE_BOOL:
    case COR_SHAPE_INT32:
    case COR_SHAPE_INT64:
        return COR_WIRE_VARINT;
    case COR_SHAPE_FLOAT64:
        return COR_WIRE_FIXED64;
    case COR_SHAPE_LIST:
        return cor_type_is(type, COR_TYPE_WRAPPED) ? COR_WIRE_LEN : wire_of(cor_type_element(type));
    default:
        return COR_WIRE_LEN;
    }
}

/* Numbers of a list may be packed into one item. */
static bool is_wire_right(const struct cor_type *type, enum cor_wire_code wire)
{
    return wire == wire_of(type) ||
           (wire == COR_WIRE_LEN && cor_type_shape(type) == COR_SHAPE_LIST);
}

/* Puts the items of a message into the chains of the members of `outer`; `type` is `outer` itself,
 * or a struct that is inlined in it. */
static void collect(struct reader *r, const struct cor_type *outer, const struct cor_type *type,
                    struct cor_str message, struct chains *chains)
{
    struct cor_str in = message;
    char name[NAME_MAX_];
    int more = 1;

    snprintf(name, sizeof(name), "%.*s", COR_STR_ARG(cor_type_name(type)));
    while (reader_goes_on(r) && more == 1) {
        const char *at = in.p;
        const struct cor_type_field *field;
        struct cor_wire_item item;
        size_t m;
        uint32_t link;

        more = cor_pb_take_item(&in, name, &item, r->why);
        if (more < 0)
            reader_fail(r, more);
        field = more == 1 ? cor_type_find_number(type, item.number) : NULL;
        if (!field)
            continue;
        if (!is_wire_right(cor_type_field_type(field), item.wire)) {
            reader_fail(r,
                        cor_pb_refuse(r->why, "proto: wrong wireType = %d for field %.*s",
                                      (int)item.wire, COR_STR_ARG(cor_type_field_go_name(field))));
            continue;
        }
        if (cor_type_field_is(field, COR_FIELD_INLINE)) {
            collect(r, outer, cor_type_field_type(field), item.bytes, chains);
            continue;
        }
        m = cor_type_member_index(outer, cor_type_field_name(field));
        link = add_link(r, at);
        if (link == NONE)
            continue;
        if (chains->first[m] == NONE)
            chains->first[m] = link;
        else
            r->links[chains->last[m]].next = link;
        chains->last[m] = link;
    }
}

static void write_bytes(struct reader *r, struct cor_str bytes)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    int err;

    cor_buf_init(&text, 2 * bytes.n + 8);
    err = cor_base64_encode(COR_BASE64_STD, bytes, &text);
    if (err < 0)
        reader_fail(r, err);
    else
        cor_json_string(&r->w, cor_buf_str(&text));
}

/* The messages that have an encoding of their own in JSON, with the names that Go has for their
 * fields. */
#define SPECIAL_FIELDS 3
struct special {
    const char *name;
    struct {
        enum cor_wire_code wire;
        const char *go_name; /* NULL: there is no field with this number */
    } fields[SPECIAL_FIELDS];
};
static const struct special timestamp = {
    "Timestamp", {{COR_WIRE_VARINT, "Seconds"}, {COR_WIRE_VARINT, "Nanos"}}};
static const struct special raw_bytes = {"RawExtension", {{COR_WIRE_LEN, "Raw"}}};
static const struct special quantity = {"Quantity", {{COR_WIRE_LEN, "String_"}}};
static const struct special int_or_string = {
    "IntOrString",
    {{COR_WIRE_VARINT, "Type"}, {COR_WIRE_VARINT, "IntVal"}, {COR_WIRE_LEN, "StrVal"}}};
static const struct special schema_or_bool = {
    "JSONSchemaPropsOrBool", {{COR_WIRE_VARINT, "Allows"}, {COR_WIRE_LEN, "Schema"}}};
static const struct special schema_or_array = {
    "JSONSchemaPropsOrArray", {{COR_WIRE_LEN, "Schema"}, {COR_WIRE_LEN, "JSONSchemas"}}};
static const struct special schema_or_strings = {
    "JSONSchemaPropsOrStringArray", {{COR_WIRE_LEN, "Schema"}, {COR_WIRE_LEN, "Property"}}};

/* Reads such a message: the last item of each field, whose `number` is 0 when there is none. */
static void read_special(struct reader *r, const struct special *special, struct cor_str message,
                         struct cor_wire_item items[SPECIAL_FIELDS])
{
    struct cor_wire_item item;
    int more;

    for (size_t i = 0; i < SPECIAL_FIELDS; i++)
        items[i] = (struct cor_wire_item){.bytes = COR_STR("")};
    while ((more = cor_pb_take_item(&message, special->name, &item, r->why)) == 1) {
        size_t i = item.number - 1;

        if (i >= SPECIAL_FIELDS || !special->fields[i].go_name)
            continue;
        if (item.wire != special->fields[i].wire) {
            more = cor_pb_refuse(r->why, "proto: wrong wireType = %d for field %s", (int)item.wire,
                                 special->fields[i].go_name);
            break;
        }
        items[i] = item;
    }
    if (more < 0)
        reader_fail(r, more);
}

/* An empty message is the zero time, which is null in JSON. */
static void write_time(struct reader *r, struct cor_str message, bool is_micro)
{
    struct cor_wire_item items[SPECIAL_FIELDS];
    char text[64];
    int64_t s, us;

    read_special(r, &timestamp, message, items);
    s = (int64_t)items[0].value;
    us = (int32_t)items[1].value / 1000;
    if (message.n == 0) {
        cor_json_null(&r->w);
    } else if (s < COR_TIME_MIN_S || s > COR_TIME_MAX_S) {
        reader_fail(r, cor_pb_refuse(r->why, "Time.MarshalJSON: year outside of range [0,9999]"));
    } else if (is_micro) {
        cor_json_string(&r->w, cor_micro_time_print(s * 1000000 + us, text));
    } else {
        cor_json_string(&r->w, cor_time_print(s, text));
    }
}

/* Bytes that are JSON, in a message of their own; none are null. They keep their order. They are
 * taken as storage has them: whoever reads the finished object sets narrower limits there. */
static void write_raw(struct reader *r, struct cor_str message)
{
    const struct cor_json_limits limits = {
        .bytes_max = r->body.n, .depth_max = COR_JSON_DEPTH_MAX, .any_number = true};
    struct cor_wire_item items[SPECIAL_FIELDS];
    bool is_canonical;

    read_special(r, &raw_bytes, message, items);
    if (items[0].bytes.n == 0)
        cor_json_null(&r->w);
    else if (cor_json_check(items[0].bytes, &limits, &is_canonical, NULL) < 0)
        reader_fail(
            r,
            cor_pb_refuse(r->why, "json: error calling MarshalJSON: invalid bytes of a raw value"));
    else
        cor_json_raw(&r->w, items[0].bytes);
}

static void write_int_or_string(struct reader *r, struct cor_str message)
{
    struct cor_wire_item items[SPECIAL_FIELDS];

    read_special(r, &int_or_string, message, items);
    if (items[0].value == 0)
        cor_json_i64(&r->w, (int32_t)items[1].value);
    else if (items[0].value == 1)
        cor_json_string(&r->w, items[2].bytes);
    else
        reader_fail(r, cor_pb_refuse(r->why, "impossible IntOrString.Type"));
}

static void write_quantity(struct reader *r, struct cor_str message)
{
    struct cor_wire_item items[SPECIAL_FIELDS];

    read_special(r, &quantity, message, items);
    cor_json_string(&r->w, items[0].bytes.n > 0 ? items[0].bytes : COR_STR("0"));
}

static void write_double(struct reader *r, uint64_t bits)
{
    char text[COR_FLOAT_TEXT_MAX];
    double value;

    memcpy(&value, &bits, sizeof(value));
    if (isfinite(value))
        cor_json_raw(&r->w, cor_float_print(value, text));
    else
        reader_fail(r, cor_pb_refuse(r->why, "json: unsupported value: %s",
                                     isnan(value) ? "NaN"
                                     : value > 0  ? "+Inf"
                                                  : "-Inf"));
}

/* A schema, or what may be in its place: in protobuf a message of both. */
static void write_schema_or(struct reader *r, const struct cor_type *type, struct cor_str message)
{
    enum cor_shape shape = cor_type_shape(type);
    const struct special *special = shape == COR_SHAPE_SCHEMA_OR_BOOL    ? &schema_or_bool
                                    : shape == COR_SHAPE_SCHEMA_OR_ARRAY ? &schema_or_array
                                                                         : &schema_or_strings;
    struct cor_wire_item items[SPECIAL_FIELDS], item, *schema;

    read_special(r, special, message, items);
    schema = &items[shape == COR_SHAPE_SCHEMA_OR_BOOL ? 1 : 0];
    /* Go writes the list before the schema when it has both, and null when it has none. */
    if (shape != COR_SHAPE_SCHEMA_OR_BOOL && items[1].number > 0) {
        cor_json_begin_array(&r->w);
        while (reader_goes_on(r) && cor_pb_take_item(&message, "", &item, r->why) == 1) {
            if (item.number == 2 && shape == COR_SHAPE_SCHEMA_OR_ARRAY)
                write_struct(r, cor_type_element(type), &item.bytes, 1);
            else if (item.number == 2)
                cor_json_string(&r->w, item.bytes);
        }
        cor_json_end_array(&r->w);
    } else if (schema->number > 0) {
        write_struct(r, cor_type_element(type), &schema->bytes, 1);
    } else if (shape == COR_SHAPE_SCHEMA_OR_BOOL) {
        cor_json_bool(&r->w, items[0].value != 0);
    } else {
        cor_json_null(&r->w);
    }
}

/* A list that is a message of its own. */
static void write_wrapped(struct reader *r, const struct cor_type *type, struct cor_str message)
{
    struct cor_wire_item item;
    int more;

    cor_json_begin_array(&r->w);
    while (reader_goes_on(r) && (more = cor_pb_take_item(&message, "", &item, r->why)) != 0) {
        if (more < 0)
            reader_fail(r, more);
        else if (item.number == 1 && item.wire == COR_WIRE_LEN)
            write_value(r, cor_type_element(type), &item);
    }
    cor_json_end_array(&r->w);
}

static void write_value(struct reader *r, const struct cor_type *type,
                        const struct cor_wire_item *item)
{
    switch (cor_type_shape(type)) {
    case COR_SHAPE_STRUCT:
        write_struct(r, type, &item->bytes, 1);
        return;
    case COR_SHAPE_STRING:
        cor_json_string(&r->w, item->bytes);
        return;
    case COR_SHAPE_BOOL:
        cor_json_bool(&r->w, item->value != 0);
        return;
    case COR_SHAPE_INT32:
        cor_json_i64(&r->w, (int32_t)item->value);
        return;
    case COR_SHAPE_INT64:
    case COR_SHAPE_DURATION:
        cor_json_i64(&r->w, (int64_t)item->value);
        return;
    case COR_SHAPE_FLOAT64:
        write_double(r, item->value);
        return;
    case COR_SHAPE_BYTES:
        write_bytes(r, item->bytes);
        return;
    case COR_SHAPE_TIME:
    case COR_SHAPE_MICRO_TIME:
        write_time(r, item->bytes, cor_type_shape(type) == COR_SHAPE_MICRO_TIME);
        return;
    case COR_SHAPE_QUANTITY:
        write_quantity(r, item->bytes);
        return;
    case COR_SHAPE_INT_OR_STRING:
        write_int_or_string(r, item->bytes);
        return;
    case COR_SHAPE_RAW:
    case COR_SHAPE_FIELDS_V1:
    case COR_SHAPE_JSON:
        write_raw(r, item->bytes);
        return;
    case COR_SHAPE_SCHEMA_OR_BOOL:
    case COR_SHAPE_SCHEMA_OR_ARRAY:
    case COR_SHAPE_SCHEMA_OR_STRINGS:
        write_schema_or(r, type, item->bytes);
        return;
    case COR_SHAPE_LIST:
        write_wrapped(r, type, item->bytes);
        return;
    case COR_SHAPE_MAP:
    case COR_SHAPES:
        break;
    }
    assert(!"a map has entries, not a value");
}

/* Go's zero value of a type. */
static void write_zero(struct reader *r, const struct cor_type *type)
{
    const struct cor_wire_item zero = {.bytes = COR_STR("")};

    switch (cor_type_shape(type)) {
    case COR_SHAPE_LIST:
    case COR_SHAPE_MAP:
    case COR_SHAPE_BYTES:
        cor_json_null(&r->w);
        return;
    default:
        write_value(r, type, &zero);
    }
}

static void write_list(struct reader *r, const struct cor_type *type, uint32_t link)
{
    const struct cor_type *element = cor_type_element(type);

    cor_json_begin_array(&r->w);
    for (; reader_goes_on(r) && link != NONE; link = r->links[link].next) {
        struct cor_wire_item item = item_at(r, r->links[link].at);

        if (item.wire == wire_of(element)) {
            write_value(r, element, &item);
            continue;
        }
        for (const char *p = item.bytes.p, *end = p + item.bytes.n; reader_goes_on(r) && p < end;) {
            p = cor_wire_varint(p, end, &item.value);
            if (!p) {
                reader_fail(r, cor_pb_refuse(r->why, "unexpected EOF"));
                break;
            }
            write_value(r, element, &item);
        }
    }
    cor_json_end_array(&r->w);
}

/* One entry of a map; `value.number` is 0 when the entry has none. */
struct entry {
    struct cor_str key;      /* as it is written: in UTF-8 */
    struct cor_str wire_key; /* as it came */
    struct cor_wire_item value;
    size_t order;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = cor_str_cmp(x->key, y->key);

    if (order == 0)
        order = cor_str_cmp(x->wire_key, y->wire_key);
    return order != 0 ? order : x->order < y->order ? -1 : 1;
}

static void read_entry(struct reader *r, struct cor_str message, struct entry *ret)
{
    struct cor_wire_item item;
    int more;

    *ret = (struct entry){.wire_key = COR_STR(""), .value = {.bytes = COR_STR("")}};
    while ((more = cor_pb_take_item(&message, "", &item, r->why)) == 1) {
        if (item.number == 1 && item.wire == COR_WIRE_LEN)
            ret->wire_key = item.bytes;
        else if (item.number == 2)
            ret->value = item;
    }
    if (more < 0)
        reader_fail(r, more);
    ret->key = ret->wire_key;
}

static int add_clean_key(struct cor_str key, struct cor_buf *out)
{
    int err = 0;

    for (size_t at = 0, n; err == 0 && at < key.n; at += n) {
        uint32_t cp;

        n = cor_utf8_first(cor_str_from(key, at), &cp);
        err = cp == COR_UTF8_INVALID ? cor_buf_addz(out, REPLACEMENT)
                                     : cor_buf_add(out, key.p + at, n);
    }
    return err;
}

/* Keys that are not UTF-8 become what Go's JSON has in their place, with U+FFFD for each byte that
 * is not valid. That happens before they are sorted, because it changes their order and may make
 * keys the same. `clean` holds their text. */
static void clean_keys(struct reader *r, struct entry *entries, size_t n, struct cor_buf *clean)
{
    size_t room = 0;

    for (size_t i = 0; i < n; i++) {
        if (cor_utf8_find_invalid(entries[i].wire_key) >= 0)
            room += (sizeof(REPLACEMENT) - 1) * entries[i].wire_key.n;
    }
    if (room == 0)
        return;
    /* The text does not move while keys are added. */
    cor_buf_init(clean, room + 1);
    reader_fail(r, cor_buf_reserve(clean, room));
    for (size_t i = 0; r->error == 0 && i < n; i++) {
        size_t at = clean->n;

        if (cor_utf8_find_invalid(entries[i].wire_key) < 0)
            continue;
        reader_fail(r, add_clean_key(entries[i].wire_key, clean));
        entries[i].key = cor_str_from(cor_buf_str(clean), at);
    }
}

static void write_map(struct reader *r, const struct cor_type *type, uint32_t link)
{
    const struct cor_type *element = cor_type_element(type);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf clean = {0};
    struct entry *entries;
    size_t n = 0, i = 0;

    for (uint32_t l = link; l != NONE; l = r->links[l].next)
        n++;
    entries = n <= ENTRIES_MAX ? cor_alloc(n * sizeof(*entries)) : NULL;
    if (!entries) {
        reader_fail(r, n <= ENTRIES_MAX ? -COR_ENOMEM : -COR_ETOOBIG);
        return;
    }
    for (; link != NONE; link = r->links[link].next, i++) {
        read_entry(r, item_at(r, r->links[link].at).bytes, &entries[i]);
        entries[i].order = i;
        if (entries[i].value.number > 0 && entries[i].value.wire != wire_of(element))
            reader_fail(r, cor_pb_refuse(r->why, "proto: wrong wireType = %d for field mapvalue",
                                         (int)entries[i].value.wire));
    }
    clean_keys(r, entries, n, &clean);
    qsort(entries, n, sizeof(*entries), compare_entries);
    cor_json_begin_object(&r->w);
    for (i = 0; reader_goes_on(r) && i < n; i++) {
        if (i + 1 < n && cor_str_eq(entries[i].key, entries[i + 1].key))
            continue;
        cor_json_key(&r->w, entries[i].key);
        write_value(r, element, &entries[i].value);
    }
    cor_json_end_object(&r->w);
    cor_free(entries);
}

/* The parts of a message that is several times are merged. */
static void write_messages(struct reader *r, const struct cor_type *type, uint32_t link)
{
    struct cor_str one, *parts = &one;
    size_t n = 0, i = 0;

    for (uint32_t l = link; l != NONE; l = r->links[l].next)
        n++;
    if (n > 1)
        parts = cor_alloc(n * sizeof(*parts));
    if (!parts) {
        reader_fail(r, -COR_ENOMEM);
        return;
    }
    for (; link != NONE; link = r->links[link].next)
        parts[i++] = item_at(r, r->links[link].at).bytes;
    write_struct(r, type, parts, n);
    if (parts != &one)
        cor_free(parts);
}

/* Would Go leave out this value, which is on the wire? Pointers and structs are there. */
static bool is_empty(const struct cor_type *type, const struct cor_wire_item *item)
{
    switch (cor_type_shape(type)) {
    case COR_SHAPE_STRING:
    case COR_SHAPE_BYTES:
    case COR_SHAPE_LIST:
        return item->bytes.n == 0;
    case COR_SHAPE_BOOL:
    case COR_SHAPE_INT32:
    case COR_SHAPE_INT64:
    case COR_SHAPE_FLOAT64:
        return item->value == 0;
    default:
        return false;
    }
}

/* Is the zero value of this shape left out by omitempty? A struct's is not. */
static bool can_be_empty(const struct cor_type *type)
{
    switch (cor_type_shape(type)) {
    case COR_SHAPE_STRUCT:
    case COR_SHAPE_TIME:
    case COR_SHAPE_MICRO_TIME:
    case COR_SHAPE_DURATION:
    case COR_SHAPE_QUANTITY:
    case COR_SHAPE_INT_OR_STRING:
    case COR_SHAPE_RAW:
    case COR_SHAPE_JSON:
    case COR_SHAPE_FIELDS_V1:
    case COR_SHAPE_SCHEMA_OR_BOOL:
    case COR_SHAPE_SCHEMA_OR_ARRAY:
    case COR_SHAPE_SCHEMA_OR_STRINGS:
        return false;
    default:
        return true;
    }
}

static void write_absent(struct reader *r, const struct cor_type_field *field)
{
    const struct cor_type *type = cor_type_field_type(field);
    bool is_pointer = cor_type_field_is(field, COR_FIELD_POINTER);

    if (cor_type_field_is(field, COR_FIELD_OMITZERO) ||
        (cor_type_field_is(field, COR_FIELD_OMITEMPTY) && (is_pointer || can_be_empty(type))))
        return;
    cor_json_key(&r->w, cor_type_field_name(field));
    if (is_pointer)
        cor_json_null(&r->w);
    else
        write_zero(r, type);
}

static void write_present(struct reader *r, const struct cor_type_field *field, uint32_t first,
                          uint32_t last)
{
    const struct cor_type *type = cor_type_field_type(field);
    struct cor_wire_item item = item_at(r, r->links[last].at);
    bool is_pointer = cor_type_field_is(field, COR_FIELD_POINTER);
    bool is_list = cor_type_shape(type) == COR_SHAPE_LIST && !cor_type_is(type, COR_TYPE_WRAPPED);
    bool is_map = cor_type_shape(type) == COR_SHAPE_MAP;

    if (!is_pointer && !is_list && !is_map && cor_type_field_is(field, COR_FIELD_OMITEMPTY) &&
        is_empty(type, &item))
        return;
    if (!is_pointer && cor_type_field_is(field, COR_FIELD_OMITZERO) && item.bytes.n == 0)
        return;
    cor_json_key(&r->w, cor_type_field_name(field));
    if (is_list)
        write_list(r, type, first);
    else if (is_map)
        write_map(r, type, first);
    else if (cor_type_shape(type) == COR_SHAPE_STRUCT)
        write_messages(r, type, first);
    else
        write_value(r, type, &item);
}

static void write_members(struct reader *r, const struct cor_type *type,
                          const struct cor_str *parts, size_t nparts)
{
    struct chains chains;
    size_t mark = r->nlinks, n = cor_type_nmembers(type);

    assert(n <= COR_TYPE_MEMBERS_MAX);
    for (size_t m = 0; m < n; m++)
        chains.first[m] = chains.last[m] = NONE;
    for (size_t i = 0; i < nparts; i++)
        collect(r, type, type, parts[i], &chains);
    for (size_t m = 0; reader_goes_on(r) && m < n; m++) {
        struct cor_member member;

        cor_type_member(type, m, &member);
        /* Kind and apiVersion are the envelope's; no message has them. */
        if (member.via[0] && cor_type_field_number(member.via[0]) == 0)
            continue;
        if (chains.first[m] == NONE)
            write_absent(r, member.field);
        else
            write_present(r, member.field, chains.first[m], chains.last[m]);
    }
    r->nlinks = mark;
}

static void write_struct(struct reader *r, const struct cor_type *type, const struct cor_str *parts,
                         size_t nparts)
{
    if (r->depth == DEPTH_MAX)
        reader_fail(r, cor_pb_refuse(r->why, "proto: messages are nested too deep"));
    if (!reader_goes_on(r))
        return;
    r->depth++;
    cor_json_begin_object(&r->w);
    write_members(r, type, parts, nparts);
    cor_json_end_object(&r->w);
    r->depth--;
}

int cor_protobuf_to_json(const struct cor_protobuf *object, const struct cor_type *type,
                         struct cor_buf *out, struct cor_pb_error *reterr)
{
    struct reader r = {.body = object->raw, .why = reterr};

    assert(cor_type_shape(type) == COR_SHAPE_STRUCT);
    if (object->raw.n >= NONE)
        return -COR_ETOOBIG;
    cor_json_writer_init(&r.w, out);
    cor_json_begin_object(&r.w);
    if (object->kind.n > 0)
        cor_json_member(&r.w, COR_STR("kind"), object->kind);
    if (object->api_version.n > 0)
        cor_json_member(&r.w, COR_STR("apiVersion"), object->api_version);
    write_members(&r, type, &object->raw, 1);
    cor_json_end_object(&r.w);
    cor_free(r.links);
    return r.error < 0 ? r.error : cor_json_writer_finish(&r.w);
}
