/* Generated structs into Kubernetes' protobuf: the bytes that Go's encoder makes.
 *
 * The message is written from its end to its beginning, because the length of a message precedes
 * it: so every byte is written once, however deep messages are nested. Fields come in the order of
 * their numbers, scalars and structs that are not pointers always, pointers and bytes when they are
 * set, lists and maps entry by entry, maps sorted by their keys. The members of an inlined struct
 * are neighbours in the table's order of numbers, and get a message around them. Failures: no
 * memory, too many bytes, structs nested too deep, an element that is not a time or no list of
 * texts; the first one sticks. Thread: one at a time. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/wire.h"
#include "coracle/time.h"
#include "own/own_int.h"

#define ROOM_FIRST    1000
#define MICRO_OF_S    1000000
#define NANO_OF_MICRO 1000

struct writer {
    char *p; /* `cap` bytes, of which those from `at` on are written */
    size_t at, cap;
    struct cor_pool *pool;
    unsigned depth;
    int error;
};

static void write_struct(struct writer *w, const struct cor_own_type *type, const void *own);

static void fail(struct writer *w, int r)
{
    if (w->error == 0)
        w->error = r;
}

static void grow(struct writer *w, size_t n)
{
    size_t used = w->cap - w->at, cap = w->cap > 0 ? w->cap * 2 : ROOM_FIRST;
    char *p;

    if (n > COR_POOL_BYTES_MAX - used) {
        fail(w, -COR_ETOOBIG);
        return;
    }
    if (cap < used + n)
        cap = used + n;
    p = cor_alloc(cap);
    if (!p) {
        fail(w, -COR_ENOMEM);
        return;
    }
    if (used > 0)
        memcpy(p + cap - used, w->p + w->at, used);
    cor_free(w->p);
    w->p = p;
    w->at = cap - used;
    w->cap = cap;
}

static inline void put(struct writer *w, const void *bytes, size_t n)
{
    if (w->at < n)
        grow(w, n);
    if (w->error < 0 || n == 0)
        return;
    w->at -= n;
    memcpy(w->p + w->at, bytes, n);
}

static void put_varint(struct writer *w, uint64_t value)
{
    char bytes[COR_WIRE_VARINT_MAX];

    put(w, bytes, cor_wire_put_varint(bytes, value));
}

static inline void put_tag(struct writer *w, uint32_t number, enum cor_wire_code code)
{
    char bytes[COR_WIRE_VARINT_MAX];

    put(w, bytes, cor_wire_put_tag(bytes, number, code));
}

static void put_number(struct writer *w, uint32_t number, int64_t value)
{
    put_varint(w, (uint64_t)value);
    put_tag(w, number, COR_WIRE_VARINT);
}

static void put_bytes(struct writer *w, uint32_t number, struct cor_str bytes)
{
    put(w, bytes.p, bytes.n);
    put_varint(w, bytes.n);
    put_tag(w, number, COR_WIRE_LEN);
}

/* How many bytes are written: a message is what is written between two calls. */
static inline size_t written(const struct writer *w)
{
    return w->cap - w->at;
}

/* Puts the head before a message that was written since `end` bytes were. */
static void put_head(struct writer *w, uint32_t number, size_t end)
{
    if (w->error < 0)
        return;
    put_varint(w, written(w) - end);
    put_tag(w, number, COR_WIRE_LEN);
}

static void put_double(struct writer *w, uint32_t number, double value)
{
    char bytes[8];
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(bits >> (8 * i));
    put(w, bytes, sizeof(bytes));
    put_tag(w, number, COR_WIRE_FIXED64);
}

/* Seconds and nanoseconds; a time that is not set is an empty message. */
static void put_time(struct writer *w, uint32_t number, bool is_set, int64_t s, int64_t us)
{
    size_t end = written(w);

    if (is_set) {
        put_number(w, 2, us * NANO_OF_MICRO);
        put_number(w, 1, s);
    }
    put_head(w, number, end);
}

static void put_micro_time(struct writer *w, uint32_t number, const struct cor_opt_micro_time *time)
{
    int64_t s = time->unix_us / MICRO_OF_S - (time->unix_us % MICRO_OF_S < 0);

    put_time(w, number, time->is_set, s, time->unix_us - s * MICRO_OF_S);
}

static void put_int_or_str(struct writer *w, uint32_t number, const struct cor_int_or_str *value)
{
    bool is_text = value->type == COR_INT_OR_STR_TEXT;
    size_t end = written(w);

    put_bytes(w, 3, is_text ? value->text : cor_str(NULL, 0));
    put_number(w, 2, is_text ? 0 : value->number);
    put_number(w, 1, is_text);
    put_head(w, number, end);
}

/* An element that is a time has its text. */
static void put_time_text(struct writer *w, const struct cor_own_field *field, uint32_t number,
                          struct cor_str text)
{
    struct cor_opt_micro_time time = {.is_set = text.n > 0};
    int64_t s = 0;

    if (field->kind == COR_OWN_MICRO_TIME) {
        if (time.is_set && cor_micro_time_parse(text, &time.unix_us) < 0)
            fail(w, -COR_EINVAL);
        put_micro_time(w, number, &time);
        return;
    }
    if (time.is_set && cor_time_parse(text, &s) < 0)
        fail(w, -COR_EINVAL);
    put_time(w, number, time.is_set, s, 0);
}

/* A list of texts that is a message; the element has its JSON. */
static void put_texts(struct writer *w, uint32_t number, struct cor_str json)
{
    static const struct cor_own_field texts = {.name = "", .form = COR_OWN_LIST};
    struct cor_own_run list = {NULL, 0, 0};
    size_t end = written(w);
    int r = json.p ? cor_own_decode_member(&texts, w->pool, json, &list) : 0;

    if (r < 0)
        fail(w, r);
    for (size_t i = list.n; i > 0 && w->error == 0; i--)
        put_bytes(w, 1, ((const struct cor_str *)(const void *)list.p)[i - 1]);
    put_head(w, number, end);
}

/* A value in the memory of an element, with its tag. */
static void write_element(struct writer *w, const struct cor_own_field *field, uint32_t number,
                          const void *value)
{
    const struct cor_str *text = value;
    size_t end = written(w);

    switch ((enum cor_own_kind)field->kind) {
    case COR_OWN_STRUCT:
        write_struct(w, field->type, value);
        put_head(w, number, end);
        return;
    case COR_OWN_BOOL:
        put_number(w, number, *(const bool *)value);
        return;
    case COR_OWN_INT32:
        put_number(w, number, *(const int32_t *)value);
        return;
    case COR_OWN_INT64:
        put_number(w, number, *(const int64_t *)value);
        return;
    case COR_OWN_DOUBLE:
        put_double(w, number, *(const double *)value);
        return;
    case COR_OWN_QUANTITY:
        put_bytes(w, 1, text->p ? *text : COR_STR("0"));
        put_head(w, number, end);
        return;
    case COR_OWN_INT_OR_STR:
        put_int_or_str(w, number, value);
        return;
    case COR_OWN_RAW:
        if (field->flags & COR_OWN_WRAPPED) {
            put_texts(w, number, *text);
            return;
        }
        if (text->p)
            put_bytes(w, 1, *text);
        put_head(w, number, end);
        return;
    case COR_OWN_TIME:
    case COR_OWN_MICRO_TIME:
        put_time_text(w, field, number, *text);
        return;
    case COR_OWN_TEXT:
    case COR_OWN_BYTES:
        break;
    }
    put_bytes(w, number, *text);
}

static void write_list(struct writer *w, const struct cor_own_field *field,
                       const struct cor_own_run *list)
{
    size_t size = cor_own_entry_size(field), end = written(w);
    bool is_wrapped = field->flags & COR_OWN_WRAPPED && field->kind != COR_OWN_RAW;

    for (size_t i = list->n; i > 0 && w->error == 0; i--)
        write_element(w, field, is_wrapped ? 1 : field->number, list->p + (i - 1) * size);
    if (is_wrapped && list->p)
        put_head(w, field->number, end);
}

static void write_map(struct writer *w, const struct cor_own_field *field,
                      const struct cor_own_run *map)
{
    size_t size = cor_own_entry_size(field);
    struct cor_own_run sorted;
    int r = cor_own_sorted(w->pool, map, size, &sorted);

    if (r < 0) {
        fail(w, r);
        return;
    }
    for (size_t i = sorted.n; i > 0 && w->error == 0; i--) {
        const char *entry = sorted.p + (i - 1) * size;
        size_t end = written(w);

        write_element(w, field, 2, entry + cor_own_value_at(field));
        put_bytes(w, 1, ((const struct cor_own_key *)(const void *)entry)->key);
        put_head(w, field->number, end);
    }
}

static void write_field(struct writer *w, const struct cor_own_field *field, const void *own)
{
    const void *value = cor_own_at_const(own, field);
    bool is_pointer = field->flags & COR_OWN_POINTER;

    if (field->form == COR_OWN_LIST) {
        write_list(w, field, value);
        return;
    }
    if (field->form == COR_OWN_MAP) {
        write_map(w, field, value);
        return;
    }
    /* An absent value is all zeros, which is what Go writes when it has no pointer. */
    if ((is_pointer || field->kind == COR_OWN_BYTES) && !cor_own_is_set(field, value))
        return;
    switch ((enum cor_own_kind)field->kind) {
    case COR_OWN_STRUCT:
        write_element(w, field, field->number, is_pointer ? *(const void *const *)value : value);
        return;
    case COR_OWN_BOOL:
        put_number(w, field->number, ((const struct cor_opt_bool *)value)->value);
        return;
    case COR_OWN_INT32:
        put_number(w, field->number, ((const struct cor_opt_int32 *)value)->value);
        return;
    case COR_OWN_INT64:
        put_number(w, field->number, ((const struct cor_opt_int64 *)value)->value);
        return;
    case COR_OWN_DOUBLE:
        put_double(w, field->number, ((const struct cor_opt_double *)value)->value);
        return;
    case COR_OWN_TIME:
        put_time(w, field->number, cor_own_is_set(field, value),
                 ((const struct cor_opt_time *)value)->unix_s, 0);
        return;
    case COR_OWN_MICRO_TIME:
        put_micro_time(w, field->number, value);
        return;
    case COR_OWN_TEXT:
    case COR_OWN_BYTES:
    case COR_OWN_QUANTITY:
    case COR_OWN_INT_OR_STR:
    case COR_OWN_RAW:
        break;
    }
    write_element(w, field, field->number, value);
}

/* The fields from `low` to `high`, which are all in one message at this level. */
static void write_range(struct writer *w, const struct cor_own_type *type, const void *own,
                        size_t low, size_t high, unsigned level)
{
    while (high > low && w->error == 0) {
        const struct cor_own_field *field = &type->fields[type->by_number[high - 1]];
        size_t first = high - 1, end = written(w);

        if (!cor_own_is_below(field, level)) {
            write_field(w, field, own);
            high = first;
            continue;
        }
        while (first > low && cor_own_number(&type->fields[type->by_number[first - 1]], level) ==
                                  cor_own_number(field, level))
            first--;
        write_range(w, type, own, first, high, level + 1);
        put_head(w, cor_own_number(field, level), end);
        high = first;
    }
}

static void write_struct(struct writer *w, const struct cor_own_type *type, const void *own)
{
    if (w->depth++ == COR_OWN_DEPTH_MAX)
        fail(w, -COR_ETOOBIG);
    write_range(w, type, own, 0, type->nnumbers, 0);
    w->depth--;
}

int cor_own_encode_protobuf(const struct cor_own_type *type, struct cor_pool *pool, const void *own,
                            struct cor_str *ret_bytes)
{
    struct writer w = {.pool = pool};
    struct cor_str bytes = {NULL, 0};
    size_t end;

    if (!type->by_number || !type->kind)
        return -COR_ENOTSUP;
    put_bytes(&w, 4, COR_STR(""));
    put_bytes(&w, 3, COR_STR(""));
    end = written(&w);
    write_struct(&w, type, own);
    put_head(&w, 2, end);
    end = written(&w);
    put_bytes(&w, 2, cor_strz(type->kind));
    put_bytes(&w, 1, cor_strz(type->api_version));
    put_head(&w, 1, end);
    put(&w, "k8s\0", 4);
    if (w.error == 0) {
        bytes = cor_pool_copy(pool, cor_str(w.p + w.at, written(&w)));
        w.error = bytes.p ? 0 : cor_pool_error(pool);
    }
    cor_free(w.p);
    if (w.error == 0)
        *ret_bytes = bytes;
    return w.error;
}
