/* Receiving: one pass over the metadata finds its parts, the head is written from them into a
 * buffer on the stack, and head and message are copied into the object, which is one allocation.
 *
 * What fails: memory. A message whose metadata this file does not write as JSON without escapes is
 * given to the converter and becomes a plain object; the converter also words the errors. The JSON
 * of an object is made by whoever asks first; of two threads that do, one wins.
 * Thread: any. */
#include "meta/object/object_wire.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/wire.h"
#include "meta/object/object_received.h"
#include "meta/value/fingerprint.h"
#include "meta/value/time_text.h"
#include "meta/value/wire_json.h"
#include "json/text/bytes.h"

#define HEAD_MAX 4096
#define JSON_MAX (UINT32_MAX / 4)
/* Fields of metadata and of an owner reference. */
enum { META = 1 };
enum {
    NAME = 1,
    NAMESPACE = 3,
    UID = 5,
    RESOURCE_VERSION = 6,
    GENERATION = 7,
    CREATION = 8,
    DELETION = 9,
    GRACE = 10,
    LABELS = 11,
    OWNERS = 13,
    FINALIZERS = 14,
    META_FIELDS
};
enum { OWNER_KIND = 1, OWNER_NAME = 3, OWNER_UID, OWNER_VERSION, OWNER_CONTROLLER, OWNER_BLOCK };

/* A head while it is written. */
struct head {
    char *p, *end;
    bool is_odd; /* it cannot be written here */
    char text[HEAD_MAX];
};

static void put(struct head *h, struct cor_str s)
{
    if ((size_t)(h->end - h->p) < s.n) {
        h->is_odd = true;
        return;
    }
    memcpy(h->p, s.p, s.n);
    h->p += s.n;
}

/* Text between quotes. */
static void put_text(struct head *h, struct cor_str text)
{
    const char *end = text.p + text.n;

    h->is_odd |= cor_json_find_special_or_high(text.p, end) != end;
    put(h, COR_STR("\""));
    put(h, text);
    put(h, COR_STR("\""));
}

static void put_number(struct head *h, int64_t n)
{
    uint64_t left = n < 0 ? -(uint64_t)n : (uint64_t)n;
    char digits[24], *p = digits + sizeof(digits);

    do {
        *--p = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (n < 0)
        *--p = '-';
    put(h, cor_str(p, (size_t)(digits + sizeof(digits) - p)));
}

/* The first items of the metadata by their numbers. */
struct metadata {
    struct cor_wire_item items[META_FIELDS]; /* a number of 0: there is none */
    const char *end;
};

static bool read_metadata(struct cor_str message, struct metadata *m)
{
    const char *p = message.p;
    struct cor_wire_item item;

    m->end = p + message.n;
    for (size_t i = 0; i < META_FIELDS; i++)
        m->items[i].number = 0;
    while (p < m->end) {
        p = cor_wire_next(p, m->end, &item);
        if (!p)
            return false;
        if (item.number < META_FIELDS && m->items[item.number].number == 0)
            m->items[item.number] = item;
    }
    return true;
}

static struct cor_str text_in(const struct metadata *m, size_t number)
{
    return m->items[number].number > 0 ? m->items[number].bytes : cor_str("", 0);
}

/* A time that is not zero. */
static void put_time(struct head *h, const char *key, const struct cor_wire_item *item)
{
    struct cor_wire_item seconds;
    char text[COR_TIME_TEXT_MAX];
    int64_t s;

    if (item->number == 0 || item->bytes.n == 0)
        return;
    s = cor_wire_find(item->bytes, 1, &seconds) ? (int64_t)seconds.value : 0;
    h->is_odd |= s < COR_TIME_MIN_S || s > COR_TIME_MAX_S;
    put(h, cor_strz(key));
    put(h, COR_STR(":"));
    put_text(h, cor_time_print(s, text));
    put(h, COR_STR(","));
}

static void put_finalizers(struct head *h, const struct metadata *m)
{
    const char *p = m->items[FINALIZERS].tag;
    struct cor_wire_item item;
    bool is_first = true;

    if (m->items[FINALIZERS].number == 0)
        return;
    put(h, COR_STR("\"finalizers\":["));
    while (p && p < m->end && (p = cor_wire_next(p, m->end, &item))) {
        if (item.number != FINALIZERS)
            continue;
        if (!is_first)
            put(h, COR_STR(","));
        put_text(h, item.bytes);
        is_first = false;
    }
    put(h, COR_STR("],"));
}

/* Selectors walk labels in order. Returns the JSON. */
static struct cor_str put_labels(struct head *h, const struct metadata *m)
{
    const char *p = m->items[LABELS].tag, *begin;
    struct cor_str last = {NULL, 0};
    struct cor_wire_item item;

    if (m->items[LABELS].number == 0)
        return last;
    put(h, COR_STR("\"labels\":"));
    begin = h->p;
    put(h, COR_STR("{"));
    while (p && p < m->end && (p = cor_wire_next(p, m->end, &item))) {
        struct cor_str key;

        if (item.number != LABELS)
            continue;
        key = cor_wire_bytes(item.bytes, 1);
        h->is_odd |= last.p && cor_str_cmp(last, key) >= 0;
        if (last.p)
            put(h, COR_STR(","));
        put_text(h, key);
        put(h, COR_STR(":"));
        put_text(h, cor_wire_bytes(item.bytes, 2));
        last = key;
    }
    put(h, COR_STR("}"));
    last = cor_str(begin, (size_t)(h->p - begin));
    put(h, COR_STR(","));
    return last;
}

static void put_flag(struct head *h, struct cor_str owner, uint32_t number, const char *key)
{
    struct cor_wire_item item;

    if (!cor_wire_find(owner, number, &item))
        return;
    put(h, cor_strz(key));
    put(h, item.value ? COR_STR("true,") : COR_STR("false,"));
}

static void put_owner(struct head *h, struct cor_str owner)
{
    put(h, COR_STR("{\"apiVersion\":"));
    put_text(h, cor_wire_bytes(owner, OWNER_VERSION));
    put(h, COR_STR(","));
    put_flag(h, owner, OWNER_BLOCK, "\"blockOwnerDeletion\":");
    put_flag(h, owner, OWNER_CONTROLLER, "\"controller\":");
    put(h, COR_STR("\"kind\":"));
    put_text(h, cor_wire_bytes(owner, OWNER_KIND));
    put(h, COR_STR(",\"name\":"));
    put_text(h, cor_wire_bytes(owner, OWNER_NAME));
    put(h, COR_STR(",\"uid\":"));
    put_text(h, cor_wire_bytes(owner, OWNER_UID));
    put(h, COR_STR("}"));
}

/* Returns the JSON. */
static struct cor_str put_owners(struct head *h, const struct metadata *m)
{
    const char *p = m->items[OWNERS].tag, *begin;
    struct cor_wire_item item;
    bool is_first = true;

    if (m->items[OWNERS].number == 0)
        return cor_str(NULL, 0);
    put(h, COR_STR(",\"ownerReferences\":"));
    begin = h->p;
    put(h, COR_STR("["));
    while (p && p < m->end && (p = cor_wire_next(p, m->end, &item))) {
        if (item.number != OWNERS)
            continue;
        if (!is_first)
            put(h, COR_STR(","));
        put_owner(h, item.bytes);
        is_first = false;
    }
    put(h, COR_STR("]"));
    return cor_str(begin, (size_t)(h->p - begin));
}

/* Where the parts of a head are, for the object's header. */
struct parts {
    struct cor_str labels, owners, rv; /* `rv` is the whole member with its comma */
    uint32_t meta_at;
    cor_rev rev;
};

static void put_version(struct head *h, struct cor_str version, struct parts *parts)
{
    const char *begin = h->p;

    h->is_odd |= version.n == 0 || version.n > 20 || version.p[0] == '0' ||
                 cor_str_to_u64(version, &parts->rev) < 0 || parts->rev > COR_REV_MAX;
    put(h, COR_STR(",\"resourceVersion\":"));
    put_text(h, version);
    parts->rv = cor_str(begin, (size_t)(h->p - begin));
}

static void write_head(struct head *h, const struct cor_wire_type *type, const struct metadata *m,
                       struct parts *parts)
{
    h->p = h->text;
    h->end = h->text + sizeof(h->text);
    h->is_odd = false;
    put(h, COR_STR("{\"kind\":"));
    put_text(h, cor_strz(type->kind));
    put(h, COR_STR(",\"apiVersion\":"));
    put_text(h, cor_strz(type->api_version));
    put(h, COR_STR(",\"metadata\":"));
    parts->meta_at = (uint32_t)(h->p - h->text);
    put(h, COR_STR("{"));
    put_time(h, "\"creationTimestamp\"", &m->items[CREATION]);
    if (m->items[GRACE].number > 0) {
        put(h, COR_STR("\"deletionGracePeriodSeconds\":"));
        put_number(h, (int64_t)m->items[GRACE].value);
        put(h, COR_STR(","));
    }
    put_time(h, "\"deletionTimestamp\"", &m->items[DELETION]);
    put_finalizers(h, m);
    if (m->items[GENERATION].value != 0 && m->items[GENERATION].number > 0) {
        put(h, COR_STR("\"generation\":"));
        put_number(h, (int64_t)m->items[GENERATION].value);
        put(h, COR_STR(","));
    }
    parts->labels = put_labels(h, m);
    put(h, COR_STR("\"name\":"));
    put_text(h, text_in(m, NAME));
    if (text_in(m, NAMESPACE).n > 0) {
        put(h, COR_STR(",\"namespace\":"));
        put_text(h, text_in(m, NAMESPACE));
    }
    parts->owners = put_owners(h, m);
    put_version(h, text_in(m, RESOURCE_VERSION), parts);
    if (text_in(m, UID).n > 0) {
        put(h, COR_STR(",\"uid\":"));
        put_text(h, text_in(m, UID));
    }
    put(h, COR_STR("}}"));
}

/* Of the part, from the beginning of the object. */
static size_t part_offset(size_t len, size_t key_len)
{
    size_t n = offsetof(struct cor_object, bytes) + len + 1 + key_len;

    return (n + 7) / 8 * 8;
}

struct cor_wire_part *cor_object_wire(const struct cor_object *object)
{
    assert(object->has_wire);
    return (struct cor_wire_part *)(void *)((char *)(uintptr_t)object +
                                            part_offset(object->len, object->key_len));
}

static const struct cor_wire_json *make_json(struct cor_wire_part *part)
{
    struct cor_wire_json *json = atomic_load_explicit(&part->json, memory_order_acquire);
    struct cor_wire_json *made;

    if (json)
        return json;
    made = cor_wire_json_new(cor_wire_message(part), part->type, cor_strz(part->type->kind),
                             cor_strz(part->type->api_version));
    if (made && !atomic_compare_exchange_strong_explicit(
                    &part->json, &json, made, memory_order_acq_rel, memory_order_acquire)) {
        cor_free(made);
        return json;
    }
    return made;
}

struct cor_str cor_object_wire_json(const struct cor_object *object)
{
    const struct cor_wire_json *json = make_json(cor_object_wire(object));

    return json ? json->json : COR_STR("");
}

void cor_object_wire_deinit(struct cor_object *object)
{
    cor_free(atomic_load_explicit(&cor_object_wire(object)->json, memory_order_relaxed));
}

static struct cor_span span(const struct head *h, struct cor_str part)
{
    if (!part.p)
        return (struct cor_span){0, 0};
    return (struct cor_span){(uint32_t)(part.p - h->text), (uint32_t)part.n};
}

static void put_part(struct cor_object *object, const struct cor_wire_type *type,
                     struct cor_str message, uint32_t meta_at)
{
    struct cor_wire_part *part = cor_object_wire(object);

    part->type = type;
    part->make = make_json;
    atomic_init(&part->json, NULL);
    part->head = cor_object_head(object);
    part->head_meta = object->meta_at;
    part->meta_at = meta_at;
    part->len = (uint32_t)message.n;
    part->unused = 0;
    memcpy(part + 1, message.p, message.n);
}

static int keep(const struct head *h, const struct parts *parts, const struct metadata *m,
                const struct cor_wire_type *type, struct cor_str message,
                struct cor_object **ret_object)
{
    struct cor_str name = text_in(m, NAME), ns = text_in(m, NAMESPACE);
    size_t len = (size_t)(h->p - h->text), key_len = name.n + (ns.n > 0 ? ns.n + 1 : 0);
    struct cor_object *object =
        cor_alloc(part_offset(len, key_len) + sizeof(struct cor_wire_part) + message.n);
    struct cor_span rv = span(h, parts->rv);
    char *key;

    if (!object)
        return -COR_ENOMEM;
    cor_ref_init(&object->ref);
    object->len = (uint32_t)len;
    object->type_end = 0;
    object->meta_at = parts->meta_at;
    object->rv_at = rv.at;
    object->rv_len = (uint16_t)rv.len;
    object->rv_lead = true;
    object->order = COR_JSON_SORTED;
    object->labels = span(h, parts->labels);
    object->owners = span(h, parts->owners);
    object->rev = parts->rev;
    object->fingerprint = cor_fingerprint_labels(parts->labels);
    object->key_len = (uint16_t)key_len;
    object->key_is_given = false;
    object->has_wire = true;
    memcpy(object->bytes, h->text, len);
    object->bytes[len] = '\0';
    key = object->bytes + len + 1;
    if (ns.n > 0) {
        memcpy(key, ns.p, ns.n);
        key += ns.n;
        *key++ = '/';
    }
    memcpy(key, name.p, name.n);
    put_part(object, type, message, (uint32_t)(cor_wire_bytes(message, META).p - message.p));
    *ret_object = object;
    return 0;
}

struct cor_object *cor_object_wire_copy(const struct cor_object *object, size_t key_len)
{
    const struct cor_wire_part *part = cor_object_wire(object);
    size_t head = offsetof(struct cor_object, bytes) + object->len + 1;
    struct cor_object *copy =
        cor_alloc(part_offset(object->len, key_len) + sizeof(*part) + part->len);

    if (!copy)
        return NULL;
    /* Not the count: another thread may be at it. */
    memcpy((char *)copy + sizeof(copy->ref), (const char *)object + sizeof(copy->ref),
           head - sizeof(copy->ref));
    cor_ref_init(&copy->ref);
    copy->key_len = (uint16_t)key_len;
    copy->key_is_given = false;
    put_part(copy, part->type, cor_wire_message(part), part->meta_at);
    return copy;
}

int cor_object_received_wire_as_json(struct cor_str message, const struct cor_wire_type *type,
                                     struct cor_object **ret_object, struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    int r;

    cor_buf_init(&json, JSON_MAX);
    r = cor_wire_to_json(message, type, cor_strz(type->kind), cor_strz(type->api_version), &json);
    if (r == -COR_ENOMEM)
        return cor_status_no_memory(reterr);
    if (r < 0)
        return cor_status_set(reterr, r, "an object is too large");
    return cor_object_received(cor_buf_str(&json), COR_STR(""), COR_STR(""), ret_object, reterr);
}

/* Is the metadata of the kind where all objects have it? */
static bool has_metadata(const struct cor_wire_type *type)
{
    for (size_t i = 0; i < type->nfields; i++)
        if (strcmp(type->fields[i].name, "metadata") == 0)
            return type->fields[i].number == META;
    return false;
}

int cor_object_received_wire(struct cor_str message, const struct cor_wire_type *type,
                             struct cor_object **ret_object, struct cor_status *reterr)
{
    struct parts parts = {0};
    struct metadata m;
    struct head h;

    if (message.n >= COR_WIRE_MESSAGE_MAX || !has_metadata(type) ||
        !read_metadata(cor_wire_bytes(message, META), &m) || text_in(&m, NAME).n == 0)
        return cor_object_received_wire_as_json(message, type, ret_object, reterr);
    write_head(&h, type, &m, &parts);
    if (h.is_odd)
        return cor_object_received_wire_as_json(message, type, ret_object, reterr);
    return keep(&h, &parts, &m, type, message, ret_object) < 0 ? cor_status_no_memory(reterr) : 0;
}

int cor_object_plain(const struct cor_object *object, struct cor_object **ret_object)
{
    struct cor_status why = {0};
    int r = cor_object_make_json(object);

    if (!object->has_wire) {
        *ret_object = cor_object_ref((struct cor_object *)(uintptr_t)object);
        return 0;
    }
    if (r == 0)
        r = cor_object_canonical(cor_object_json(object), ret_object, &why);
    cor_status_deinit(&why);
    return r < 0 ? -COR_ENOMEM : 0;
}
