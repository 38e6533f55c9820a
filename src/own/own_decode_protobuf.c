/* Kubernetes' protobuf into generated structs.
 *
 * Flow: the input is copied into the pool, where its texts stay. The envelope says the kind and
 * holds the message, which is read field by field: a number is looked up in the table's order of
 * numbers, and the message of an inlined struct is read by the part of that order which has its
 * number. Fields that the type does not have are skipped. A message that comes twice is joined, as
 * every reader of protobuf does.
 *
 * Failures: bytes that are not protobuf, a field whose wire type is not that of its kind, a time
 * outside the years 1 to 9999, messages nested too deep (-COR_EINVAL with a path), no memory.
 * Linear in the bytes, except for maps whose keys are not sorted (n log n). Thread: one at a time.
 */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/sized.h"
#include "coracle/time.h"
#include "own/own_int.h"
#include "schema/protobuf/protobuf_wire.h"
#include "json/write/writer.h"

#define INPUT_BYTES_MAX (64u << 20)
#define MICRO_OF_S      1000000
#define NANO_OF_MICRO   1000
#define YEAR_ONE        INT64_C(-62135596800) /* Go's zero time */
#define SECONDS_MAX     INT64_C(253402300799) /* of the year 9999 */

struct reader {
    struct cor_pool *pool;
    struct cor_own_error *why; /* may be NULL */
    unsigned depth;
    bool is_unsorted; /* a map has keys that are not in order */
};

static int read_struct(struct reader *rd, const struct cor_own_type *type, struct cor_str message,
                       void *own);

static int next_item(struct reader *rd, struct cor_str *in, struct cor_wire_item *ret)
{
    struct cor_pb_error error;
    int r = cor_pb_take_item(in, "message", ret, &error);

    return r < 0 ? cor_own_refuse(rd->why, "%s", error.message) : r;
}

static int need(struct reader *rd, const struct cor_wire_item *item, enum cor_wire_code wire)
{
    return item->wire == wire ? 0
                              : cor_own_refuse(rd->why, "wire type %d was expected, but it is %d",
                                               (int)wire, (int)item->wire);
}

/* The text stays in the copy of the input. It moves by one byte, over its length, which has been
 * read: so there is room for the NUL after it. */
static int read_text(struct reader *rd, const struct cor_wire_item *item, struct cor_str *ret)
{
    int r = need(rd, item, COR_WIRE_LEN);
    char *to;

    if (r < 0)
        return r;
    to = (char *)item->bytes.p - 1;
    memmove(to, item->bytes.p, item->bytes.n);
    to[item->bytes.n] = '\0';
    *ret = cor_str(to, item->bytes.n);
    return 0;
}

/* Of a message with a text, bytes or JSON as its field 1: quantities and raw values. */
static int read_wrapped(struct reader *rd, const struct cor_wire_item *item, struct cor_str *ret)
{
    struct cor_str in = item->bytes;
    struct cor_wire_item inner;
    int r = need(rd, item, COR_WIRE_LEN);

    while (r == 0 && (r = next_item(rd, &in, &inner)) > 0)
        r = inner.number == 1 ? read_text(rd, &inner, ret) : 0;
    return r;
}

static int read_time(struct reader *rd, const struct cor_wire_item *item, bool *ret_is_set,
                     int64_t *ret_s, int64_t *ret_us)
{
    struct cor_str in = item->bytes;
    struct cor_wire_item inner;
    int64_t s = 0, nano = 0;
    int r = need(rd, item, COR_WIRE_LEN);

    while (r == 0 && (r = next_item(rd, &in, &inner)) > 0) {
        r = inner.number <= 2 ? need(rd, &inner, COR_WIRE_VARINT) : 0;
        if (inner.number == 1)
            s = (int64_t)inner.value;
        else if (inner.number == 2)
            nano = (int64_t)inner.value;
    }
    if (r < 0)
        return r;
    if (s < YEAR_ONE || s > SECONDS_MAX || nano < 0 || nano >= NANO_OF_MICRO * MICRO_OF_S)
        return cor_own_refuse(rd->why, "a time of the years 1 to 9999 was expected");
    *ret_is_set = item->bytes.n > 0 && !(s == YEAR_ONE && nano == 0);
    *ret_s = s;
    *ret_us = nano / NANO_OF_MICRO;
    return 0;
}

static int read_int_or_str(struct reader *rd, const struct cor_wire_item *item,
                           struct cor_int_or_str *ret)
{
    struct cor_str in = item->bytes, text = {"", 0};
    struct cor_wire_item inner;
    int64_t type = 0, number = 0;
    int r = need(rd, item, COR_WIRE_LEN);

    while (r == 0 && (r = next_item(rd, &in, &inner)) > 0) {
        r = 0;
        if (inner.number == 3) {
            r = read_text(rd, &inner, &text);
        } else if (inner.number <= 2) {
            r = need(rd, &inner, COR_WIRE_VARINT);
            *(inner.number == 1 ? &type : &number) = (int64_t)inner.value;
        }
    }
    if (r < 0)
        return r;
    *ret = type == 1 ? cor_int_or_str_text(text) : cor_int_or_str_int((int32_t)number);
    return 0;
}

/* A time as the text of an element; nothing for Go's zero. */
static int read_time_text(struct reader *rd, const struct cor_wire_item *item, bool is_micro,
                          struct cor_str *ret)
{
    char text[COR_MICRO_TIME_TEXT_MAX];
    int64_t s = 0, us = 0;
    bool is_set = false;
    int r = read_time(rd, item, &is_set, &s, &us);

    *ret = cor_str(NULL, 0);
    if (r < 0 || !is_set)
        return r;
    *ret = cor_pool_copy(rd->pool, is_micro ? cor_micro_time_print(s * MICRO_OF_S + us, text)
                                            : cor_time_print(s, text));
    return ret->p ? 0 : cor_pool_error(rd->pool);
}

/* A list of texts that is a message, as JSON. */
static int read_texts(struct reader *rd, const struct cor_wire_item *item, struct cor_str *ret)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    struct cor_str in = item->bytes;
    struct cor_wire_item inner;
    int r = need(rd, item, COR_WIRE_LEN);

    cor_buf_init(&json, COR_POOL_BYTES_MAX);
    while (r == 0 && (r = next_item(rd, &in, &inner)) > 0) {
        r = inner.number == 1 ? need(rd, &inner, COR_WIRE_LEN) : 0;
        if (r == 0 && inner.number == 1)
            r = cor_buf_addz(&json, json.n > 0 ? "," : "[");
        if (r == 0 && inner.number == 1)
            r = cor_json_quote(&json, inner.bytes);
    }
    if (r == 0)
        r = cor_buf_addz(&json, json.n > 0 ? "]" : "[]");
    if (r < 0)
        return r;
    *ret = cor_pool_copy(rd->pool, cor_buf_str(&json));
    return ret->p ? 0 : cor_pool_error(rd->pool);
}

static int read_double(struct reader *rd, const struct cor_wire_item *item, double *ret)
{
    int r = need(rd, item, COR_WIRE_FIXED64);

    memcpy(ret, &item->value, sizeof(*ret));
    return r;
}

/* One value into the memory of an element. */
static int read_element(struct reader *rd, const struct cor_own_field *field,
                        const struct cor_wire_item *item, void *to)
{
    int r;

    switch ((enum cor_own_kind)field->kind) {
    case COR_OWN_STRUCT:
        r = need(rd, item, COR_WIRE_LEN);
        return r < 0 ? r : read_struct(rd, field->type, item->bytes, to);
    case COR_OWN_BOOL:
        *(bool *)to = item->value != 0;
        return need(rd, item, COR_WIRE_VARINT);
    case COR_OWN_INT32:
        *(int32_t *)to = (int32_t)item->value;
        return need(rd, item, COR_WIRE_VARINT);
    case COR_OWN_INT64:
        *(int64_t *)to = (int64_t)item->value;
        return need(rd, item, COR_WIRE_VARINT);
    case COR_OWN_DOUBLE:
        return read_double(rd, item, to);
    case COR_OWN_RAW:
        if (field->flags & COR_OWN_WRAPPED)
            return read_texts(rd, item, to);
        return read_wrapped(rd, item, to);
    case COR_OWN_QUANTITY:
        return read_wrapped(rd, item, to);
    case COR_OWN_INT_OR_STR:
        return read_int_or_str(rd, item, to);
    case COR_OWN_TIME:
    case COR_OWN_MICRO_TIME:
        return read_time_text(rd, item, field->kind == COR_OWN_MICRO_TIME, to);
    case COR_OWN_TEXT:
    case COR_OWN_BYTES:
        break;
    }
    return read_text(rd, item, to);
}

static int read_list(struct reader *rd, const struct cor_own_field *field,
                     const struct cor_wire_item *item, struct cor_own_run *list)
{
    void *to = cor_own_add(rd->pool, list, cor_own_entry_size(field));
    int r;

    if (!to)
        return cor_pool_error(rd->pool);
    r = read_element(rd, field, item, to);
    return r < 0 ? cor_own_in_element(rd->why, list->n - 1, r) : 0;
}

/* A list that is a message of its own. */
static int read_wrapped_list(struct reader *rd, const struct cor_own_field *field,
                             const struct cor_wire_item *item, struct cor_own_run *list)
{
    struct cor_str in = item->bytes;
    struct cor_wire_item inner;
    int r = need(rd, item, COR_WIRE_LEN);

    if (!list->p)
        list->p = (char *)"";
    while (r == 0 && (r = next_item(rd, &in, &inner)) > 0)
        r = inner.number == 1 ? read_list(rd, field, &inner, list) : 0;
    return r;
}

/* Is the last key of a map behind the one before it? */
static bool is_in_order(const struct cor_own_run *map, size_t entry_size)
{
    const struct cor_own_run last = {map->p + (map->n - 2) * entry_size, 2, 2};

    return cor_own_is_sorted(&last, entry_size);
}

/* An entry of a map; keys are sorted when the whole object has been read. */
static int read_map(struct reader *rd, const struct cor_own_field *field,
                    const struct cor_wire_item *item, struct cor_own_run *map)
{
    struct cor_own_key *entry = cor_own_add(rd->pool, map, cor_own_entry_size(field));
    struct cor_str in = item->bytes;
    struct cor_wire_item inner;
    void *value;
    int r = need(rd, item, COR_WIRE_LEN);

    if (!entry)
        return cor_pool_error(rd->pool);
    value = (char *)entry + cor_own_value_at(field);
    entry->key = COR_STR("");
    /* A value that is missing is a zero, and a text that is there. */
    if (field->kind == COR_OWN_TEXT || field->kind == COR_OWN_BYTES)
        *(struct cor_str *)value = COR_STR("");
    while (r == 0 && (r = next_item(rd, &in, &inner)) > 0)
        r = inner.number == 1   ? read_text(rd, &inner, &entry->key)
            : inner.number == 2 ? read_element(rd, field, &inner, value)
                                : 0;
    if (map->n > 1 && !rd->is_unsorted)
        rd->is_unsorted = !is_in_order(map, cor_own_entry_size(field));
    return r < 0 ? cor_own_in_member(rd->why, entry->key, r) : 0;
}

static int read_pointer(struct reader *rd, const struct cor_own_field *field,
                        const struct cor_wire_item *item, void **to)
{
    if (!*to)
        *to = cor_pool_alloc(rd->pool, field->type->size);
    if (!*to)
        return cor_pool_error(rd->pool);
    return read_element(rd, field, item, *to);
}

/* A scalar is set when it is not zero, or when upstream has a pointer to it. */
static int read_member(struct reader *rd, const struct cor_own_field *field,
                       const struct cor_wire_item *item, void *to)
{
    bool is_pointer = field->flags & COR_OWN_POINTER;
    int64_t s, us;
    int r;

    if (field->form == COR_OWN_LIST && field->flags & COR_OWN_WRAPPED && field->kind != COR_OWN_RAW)
        return read_wrapped_list(rd, field, item, to);
    if (field->form == COR_OWN_LIST)
        return read_list(rd, field, item, to);
    if (field->form == COR_OWN_MAP)
        return read_map(rd, field, item, to);
    switch ((enum cor_own_kind)field->kind) {
    case COR_OWN_STRUCT:
        return is_pointer ? read_pointer(rd, field, item, to) : read_element(rd, field, item, to);
    case COR_OWN_BOOL: {
        struct cor_opt_bool *opt = to;

        r = read_element(rd, field, item, &opt->value);
        opt->is_set = is_pointer || opt->value;
        return r;
    }
    case COR_OWN_INT32: {
        struct cor_opt_int32 *opt = to;

        r = read_element(rd, field, item, &opt->value);
        opt->is_set = is_pointer || opt->value != 0;
        return r;
    }
    case COR_OWN_INT64: {
        struct cor_opt_int64 *opt = to;

        r = read_element(rd, field, item, &opt->value);
        opt->is_set = is_pointer || opt->value != 0;
        return r;
    }
    case COR_OWN_DOUBLE: {
        struct cor_opt_double *opt = to;

        r = read_double(rd, item, &opt->value);
        opt->is_set = is_pointer || opt->value != 0;
        return r;
    }
    case COR_OWN_TIME: {
        struct cor_opt_time *opt = to;

        r = read_time(rd, item, &opt->is_set, &opt->unix_s, &us);
        return r;
    }
    case COR_OWN_MICRO_TIME: {
        struct cor_opt_micro_time *opt = to;

        r = read_time(rd, item, &opt->is_set, &s, &us);
        if (r == 0)
            opt->unix_us = s * MICRO_OF_S + us;
        return r;
    }
    case COR_OWN_TEXT:
        r = read_text(rd, item, to);
        if (r == 0 && item->bytes.n == 0 && !is_pointer)
            *(struct cor_str *)to = cor_str(NULL, 0);
        return r;
    case COR_OWN_BYTES:
    case COR_OWN_QUANTITY:
    case COR_OWN_INT_OR_STR:
    case COR_OWN_RAW:
        break;
    }
    return read_element(rd, field, item, to);
}

/* The first of the fields from `low` to `high` with this number at this level; `high`: there is
 * none. */
static size_t find_number(const struct cor_own_type *type, size_t low, size_t high, unsigned level,
                          uint32_t number)
{
    size_t end = high;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (cor_own_number(&type->fields[type->by_number[middle]], level) < number)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < end && cor_own_number(&type->fields[type->by_number[low]], level) == number)
        return low;
    return end;
}

/* Reads a message whose fields are those from `low` to `high` in the order of numbers. */
static int read_range(struct reader *rd, const struct cor_own_type *type, struct cor_str message,
                      size_t low, size_t high, unsigned level, void *own)
{
    struct cor_wire_item item;
    int r;

    while ((r = next_item(rd, &message, &item)) > 0) {
        size_t at = find_number(type, low, high, level, item.number), end = at;
        const struct cor_own_field *field;

        if (at == high)
            continue;
        field = &type->fields[type->by_number[at]];
        if (cor_own_is_below(field, level)) {
            while (end < high &&
                   cor_own_number(&type->fields[type->by_number[end]], level) == item.number)
                end++;
            r = need(rd, &item, COR_WIRE_LEN);
            if (r == 0)
                r = read_range(rd, type, item.bytes, at, end, level + 1, own);
        } else {
            r = read_member(rd, field, &item, cor_own_at(own, field));
            if (r < 0)
                r = cor_own_in_member(rd->why, cor_str(field->name, field->name_n), r);
        }
        if (r < 0)
            return r;
    }
    return r;
}

static void sort_maps(struct cor_pool *pool, const struct cor_own_type *type, void *own);

/* Sorts the maps of the structs that a list or a map has. */
static void sort_elements(struct cor_pool *pool, const struct cor_own_field *field,
                          const struct cor_own_run *run)
{
    size_t size = cor_own_entry_size(field), at = cor_own_value_at(field);

    for (size_t i = 0; i < run->n; i++)
        sort_maps(pool, field->type, run->p + i * size + at);
}

/* Sorts all maps of an object that was read, once: a struct whose message comes again and again
 * would be sorted as often. As deep as what was read. A failure stays in the pool. */
static void sort_maps(struct cor_pool *pool, const struct cor_own_type *type, void *own)
{
    for (size_t i = 0; i < type->nfields; i++) {
        const struct cor_own_field *field = &type->fields[i];
        void *value = cor_own_at(own, field);

        if (field->form == COR_OWN_MAP && !cor_own_is_sorted(value, cor_own_entry_size(field)))
            (void)cor_own_sort(pool, value, cor_own_entry_size(field));
        if (field->kind != COR_OWN_STRUCT)
            continue;
        if (field->form != COR_OWN_ONE)
            sort_elements(pool, field, value);
        else if (!(field->flags & COR_OWN_POINTER))
            sort_maps(pool, field->type, value);
        else if (*(void **)value)
            sort_maps(pool, field->type, *(void **)value);
    }
}

static int read_struct(struct reader *rd, const struct cor_own_type *type, struct cor_str message,
                       void *own)
{
    int r;

    if (rd->depth == COR_OWN_DEPTH_MAX)
        return cor_own_refuse(rd->why, "at most %d nested messages were expected",
                              COR_OWN_DEPTH_MAX);
    rd->depth++;
    r = read_range(rd, type, message, 0, type->nnumbers, 0, own);
    rd->depth--;
    return r;
}

/* Field 1 of the envelope is apiVersion and kind, field 2 the message. */
static int read_envelope(struct reader *rd, const struct cor_own_type *type, struct cor_str bytes,
                         void *own, struct cor_str *ret_message)
{
    static const char *const names[] = {"apiVersion", "kind"};
    struct cor_wire_item item, inner;
    int r;

    *ret_message = cor_str("", 0);
    if (bytes.n < 4 || memcmp(bytes.p, "k8s\0", 4) != 0)
        return cor_own_refuse(rd->why, "protobuf that begins with k8s was expected");
    bytes = cor_str_from(bytes, 4);
    while ((r = next_item(rd, &bytes, &item)) > 0) {
        struct cor_str in = item.bytes;

        if (item.number == 2)
            *ret_message = item.bytes;
        r = item.number <= 2 ? need(rd, &item, COR_WIRE_LEN) : 0;
        if (item.number != 1)
            in = cor_str("", 0);
        while (r == 0 && (r = next_item(rd, &in, &inner)) > 0) {
            const struct cor_own_field *field =
                inner.number <= 2 ? cor_own_find(type, cor_strz(names[inner.number - 1])) : NULL;

            r = field ? read_text(rd, &inner, cor_own_at(own, field)) : 0;
        }
        if (r < 0)
            return r;
    }
    return r;
}

int cor_own_decode_protobuf(const struct cor_own_type *type, struct cor_pool *pool,
                            struct cor_str bytes, const struct cor_own_opts *opts, void *ret,
                            struct cor_own_error *reterr)
{
    struct cor_own_opts known;
    struct reader rd = {.pool = pool, .why = reterr};
    struct cor_str message;
    int r = cor_sized_copy(&known, sizeof(known), opts);

    memset(ret, 0, type->size);
    if (reterr)
        *reterr = (struct cor_own_error){.path = ""};
    if (r == 0 && (!type->by_number || !type->kind))
        r = -COR_ENOTSUP;
    if (r == 0 && bytes.n > (known.bytes_max > 0 ? known.bytes_max : INPUT_BYTES_MAX))
        r = -COR_ETOOBIG;
    if (r < 0)
        return r;
    if (known.depth_max > 0 && known.depth_max < COR_OWN_DEPTH_MAX)
        rd.depth = COR_OWN_DEPTH_MAX - known.depth_max;
    bytes = cor_pool_copy(pool, bytes);
    if (!bytes.p)
        return cor_pool_error(pool);
    r = read_envelope(&rd, type, bytes, ret, &message);
    if (r == 0)
        r = cor_own_check_kind(type, ret, reterr);
    if (r == 0)
        r = read_struct(&rd, type, message, ret);
    if (r == 0 && rd.is_unsorted) {
        sort_maps(pool, type, ret);
        r = cor_pool_error(pool);
    }
    if (r < 0)
        memset(ret, 0, type->size);
    return r;
}
