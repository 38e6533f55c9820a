/* A server's bytes are kept as they come wherever that is possible: one pass checks them, a second
 * over the beginning finds metadata and its parts, and the copy into the object is the only one.
 * What is unusual (no metadata, labels out of order, spaces around the resourceVersion) is handled
 * as the server's own objects are, through the canonical form. */
#include "meta/object/object_received.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "meta/object/object_wire.h"
#include "meta/value/fingerprint.h"
#include "json/text/json.h"
#include "json/text/scan.h"

/* What a kind and an apiVersion add at most. */
#define TYPE_MAX  4096
#define BYTES_MAX (UINT32_MAX / 4)
#define RV_KEY    "\"resourceVersion\":\""

int cor_object_canonical(struct cor_str json, struct cor_object **ret_object,
                         struct cor_status *reterr)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *stored = NULL, *served = NULL;
    const struct cor_object_limits limits = {BYTES_MAX, true};
    struct cor_str rv;
    int r = cor_object_parse(json, &limits, NULL, &rv, &stored, reterr);

    if (r < 0)
        return r;
    r = cor_object_at_text(stored, rv, &served);
    if (r == -COR_ETOOBIG)
        return cor_status_set(reterr, -COR_EINVAL,
                              "metadata.resourceVersion: at most %d bytes are expected",
                              COR_OBJECT_RV_MAX);
    if (r == 0)
        r = cor_object_with_key(served, ret_object);
    if (r == -COR_ENOMEM)
        return cor_status_no_memory(reterr);
    if (r < 0)
        *ret_object = COR_STEAL(served);
    return 0;
}

/* What the header of an object needs to know of received bytes. */
struct found {
    bool has_kind, has_api_version;
    struct cor_str metadata; /* open: reaches to the end of the bytes */
    struct cor_str rv;       /* the whole member with one comma */
    bool rv_lead;            /* it is the one in front */
    cor_rev rev;
    struct cor_str labels, owners;
    struct cor_str name, ns; /* texts */
};

/* The resourceVersion member as the header wants it: no spaces, digits only. */
static bool take_rv(struct found *f, struct cor_str raw_key, struct cor_str value)
{
    struct cor_str digits = cor_str(value.p + 1, value.n - 2);
    const char *begin = raw_key.p - 1, *end = value.p + value.n;
    uint64_t rev;

    if (cor_json_type(value) != COR_JSON_STRING || value.n > 22 ||
        end - begin != (ptrdiff_t)(sizeof(RV_KEY) + digits.n) ||
        memcmp(begin, RV_KEY, sizeof(RV_KEY) - 1) != 0 || digits.p[0] == '0' ||
        cor_str_to_u64(digits, &rev) < 0 || rev > COR_REV_MAX)
        return false;
    f->rev = rev;
    f->rv_lead = begin[-1] == ',';
    if (!f->rv_lead && begin[-1] != '{')
        return false;
    begin -= f->rv_lead;
    end += !f->rv_lead && *end == ',';
    f->rv = cor_str(begin, (size_t)(end - begin));
    return true;
}

/* Selectors walk labels in order, and compare keys as they are written. */
static bool are_sorted(struct cor_str labels)
{
    struct cor_json_iter it = cor_json_iter(labels);
    struct cor_str key, last = {NULL, 0};

    while (cor_json_iter_member(&it, &key)) {
        if (memchr(key.p, '\\', key.n) || (last.p && cor_str_cmp(last, key) >= 0))
            return false;
        last = key;
    }
    return true;
}

static bool find_in_metadata(struct found *f)
{
    struct cor_json_iter it = cor_json_iter(f->metadata);
    struct cor_str key;

    while (cor_json_iter_member(&it, &key)) {
        struct cor_str value;

        if (memchr(key.p, '\\', key.n))
            return false;
        if (cor_str_eq(key, COR_STR("resourceVersion"))) {
            if (f->rv.p || !take_rv(f, key, cor_json_iter_value(&it)))
                return false;
        } else if (cor_str_eq(key, COR_STR("labels")) && !f->labels.p) {
            value = cor_json_iter_value(&it);
            if (cor_json_type(value) != COR_JSON_OBJECT || !are_sorted(value))
                return false;
            f->labels = value;
        } else if (cor_str_eq(key, COR_STR("name")) && !f->name.p) {
            (void)cor_json_to_raw(cor_json_iter_value(&it), &f->name);
        } else if (cor_str_eq(key, COR_STR("namespace")) && !f->ns.p) {
            (void)cor_json_to_raw(cor_json_iter_value(&it), &f->ns);
        } else if (cor_str_eq(key, COR_STR("ownerReferences")) && !f->owners.p) {
            value = cor_json_iter_value(&it);
            if (cor_json_type(value) == COR_JSON_ARRAY)
                f->owners = value;
        }
    }
    return true;
}

/* Reads no further than metadata: types that follow it do not count. */
static bool find_parts(struct cor_str json, struct found *f)
{
    struct cor_json_iter it = cor_json_iter(json);
    struct cor_str key;

    *f = (struct found){0};
    if (json.n == 0 || json.p[0] != '{')
        return false;
    while (cor_json_iter_member(&it, &key)) {
        if (memchr(key.p, '\\', key.n))
            return false;
        f->has_kind |= cor_str_eq(key, COR_STR("kind"));
        f->has_api_version |= cor_str_eq(key, COR_STR("apiVersion"));
        if (!cor_str_eq(key, COR_STR("metadata")))
            continue;
        f->metadata = cor_json_iter_open_value(&it);
        return cor_json_type(f->metadata) == COR_JSON_OBJECT && find_in_metadata(f);
    }
    return false;
}

static struct cor_span span(struct cor_str json, struct cor_str part, size_t shift)
{
    if (!part.p)
        return (struct cor_span){0, 0};
    return (struct cor_span){(uint32_t)((size_t)(part.p - json.p) + shift), (uint32_t)part.n};
}

/* Put before the members of an object that has no type of its own. */
struct type {
    struct cor_str kind, api_version; /* raw; kind is empty when nothing is put */
};

static size_t type_len(const struct type *type)
{
    if (type->kind.n == 0)
        return 0;
    return sizeof("\"kind\":\"\",\"apiVersion\":\"\",") - 1 + type->kind.n + type->api_version.n;
}

static char *put(char *to, struct cor_str s)
{
    memcpy(to, s.p, s.n);
    return to + s.n;
}

static void print(const struct type *type, struct cor_str json, char *to)
{
    *to++ = '{';
    if (type->kind.n > 0) {
        to = put(to, COR_STR("\"kind\":\""));
        to = put(to, type->kind);
        to = put(to, COR_STR("\",\"apiVersion\":\""));
        to = put(to, type->api_version);
        to = put(to, COR_STR("\","));
    }
    to = put(to, cor_str_from(json, 1));
    *to = '\0';
}

/* Bytes of the key; 0: there is none, or it is too long. */
static size_t key_size(struct cor_str ns, struct cor_str name)
{
    size_t n = name.n + (ns.n > 0 ? ns.n + 1 : 0);

    return name.n > 0 && n <= UINT16_MAX ? n : 0;
}

/* Behind the object's bytes, where `key_len` have room. */
static void put_key(struct cor_object *object, struct cor_str ns, struct cor_str name)
{
    char *to = object->bytes + object->len + 1;

    if (object->key_len == 0)
        return;
    if (ns.n > 0) {
        to = put(to, ns);
        *to++ = '/';
    }
    put(to, name);
}

static int keep(struct cor_str json, const struct found *f, const struct type *type,
                enum cor_json_order order, struct cor_object **ret_object)
{
    size_t shift = type_len(type), len = json.n + shift;
    size_t key_len = key_size(f->ns, f->name);
    struct cor_object *object = cor_alloc(offsetof(struct cor_object, bytes) + len + 1 + key_len);
    struct cor_span rv = span(json, f->rv, shift);

    if (!object)
        return -COR_ENOMEM;
    cor_ref_init(&object->ref);
    object->len = (uint32_t)len;
    object->type_end = 0;
    object->meta_at = span(json, f->metadata, shift).at;
    object->rv_at = rv.len > 0 ? rv.at : object->meta_at + 1;
    object->rv_len = (uint16_t)rv.len;
    object->rv_lead = f->rv_lead;
    /* A revision that is put in later comes first, out of order. */
    object->order = (uint8_t)(rv.len > 0 ? order : COR_JSON_FIRST);
    object->labels = span(json, f->labels, shift);
    object->owners = span(json, f->owners, shift);
    object->rev = f->rev;
    object->fingerprint = cor_fingerprint_labels(f->labels);
    object->key_len = (uint16_t)key_len;
    object->key_is_given = false;
    object->has_wire = false;
    print(type, json, object->bytes);
    put_key(object, f->ns, f->name);
    *ret_object = object;
    return 0;
}

/* A copy with room for a key, which the caller writes. NULL when out of memory. */
static struct cor_object *copy_for_key(const struct cor_object *object, size_t key_len)
{
    size_t size = offsetof(struct cor_object, bytes) + object->len + 1;
    struct cor_object *copy;

    if (object->has_wire)
        return cor_object_wire_copy(object, key_len);
    copy = cor_alloc(size + key_len);
    if (!copy)
        return NULL;
    /* Not the count: another thread may be at it. */
    memcpy((char *)copy + sizeof(copy->ref), (const char *)object + sizeof(copy->ref),
           size - sizeof(copy->ref));
    cor_ref_init(&copy->ref);
    copy->key_len = (uint16_t)key_len;
    copy->key_is_given = false;
    return copy;
}

int cor_object_with_key(struct cor_object *object, struct cor_object **ret_object)
{
    struct cor_str ns, name;
    struct cor_object *copy;
    size_t key_len;

    if (object->key_len > 0 && !object->key_is_given) {
        *ret_object = cor_object_ref(object);
        return 0;
    }
    ns = cor_object_namespace(object);
    name = cor_object_name(object);
    key_len = key_size(ns, name);
    if (key_len == 0)
        return name.n == 0 ? -COR_EINVAL : -COR_ETOOBIG;
    copy = copy_for_key(object, key_len);
    if (!copy)
        return -COR_ENOMEM;
    put_key(copy, ns, name);
    *ret_object = copy;
    return 0;
}

int cor_object_with_given_key(struct cor_object *object, struct cor_str key,
                              struct cor_object **ret_object)
{
    struct cor_object *copy;

    if (key.n == 0)
        return -COR_EINVAL;
    if (key.n > UINT16_MAX)
        return -COR_ETOOBIG;
    if (object->key_is_given && cor_str_eq(cor_object_own_key(object), key)) {
        *ret_object = cor_object_ref(object);
        return 0;
    }
    copy = copy_for_key(object, key.n);
    if (!copy)
        return -COR_ENOMEM;
    put(copy->bytes + copy->len + 1, key);
    copy->key_is_given = true;
    *ret_object = copy;
    return 0;
}

static bool has(struct cor_str json, const char *key)
{
    struct cor_str value;

    return cor_json_get(json, cor_strz(key), COR_JSON_ANY_ORDER, &value) == 0;
}

/* By way of the canonical form. */
static int rebuild(struct cor_str json, const struct type *type, struct cor_object **ret_object,
                   struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf typed;
    bool is_empty;
    int r;

    json = cor_str_trim(json);
    cor_buf_init(&typed, json.n + TYPE_MAX);
    if (type->kind.n == 0 || json.n < 2 || json.p[0] != '{' || has(json, "kind"))
        return cor_object_canonical(json, ret_object, reterr);
    is_empty = cor_str_trim(cor_str_from(json, 1)).p[0] == '}';
    r = cor_buf_addf(&typed, "{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\"%s%.*s",
                     COR_STR_ARG(type->kind), COR_STR_ARG(type->api_version), is_empty ? "" : ",",
                     COR_STR_ARG(cor_str_from(json, 1)));
    return r < 0 ? cor_status_no_memory(reterr)
                 : cor_object_canonical(cor_buf_str(&typed), ret_object, reterr);
}

int cor_object_from_checked(struct cor_str json, enum cor_json_order order,
                            struct cor_object **ret_object, struct cor_status *reterr)
{
    const struct type none = {{NULL, 0}, {NULL, 0}};
    struct found f;

    if (!find_parts(json, &f))
        return rebuild(json, &none, ret_object, reterr);
    return keep(json, &f, &none, order, ret_object) < 0 ? cor_status_no_memory(reterr) : 0;
}

int cor_object_received_checked(struct cor_str json, enum cor_json_order order, struct cor_str kind,
                                struct cor_str api_version, struct cor_object **ret_object,
                                struct cor_status *reterr)
{
    struct type type = {kind, api_version};
    struct found f;

    if (!find_parts(json, &f) || f.has_kind != f.has_api_version)
        return rebuild(json, &type, ret_object, reterr);
    if (f.has_kind)
        type = (struct type){{NULL, 0}, {NULL, 0}};
    return keep(json, &f, &type, order, ret_object) < 0 ? cor_status_no_memory(reterr) : 0;
}

int cor_object_received(struct cor_str json, struct cor_str kind, struct cor_str api_version,
                        struct cor_object **ret_object, struct cor_status *reterr)
{
    const struct cor_json_limits limits = {BYTES_MAX, COR_JSON_DEPTH_MAX, true};
    const struct type type = {kind, api_version};
    bool canonical;

    if (cor_json_check(json, &limits, &canonical, NULL) < 0)
        return rebuild(json, &type, ret_object, reterr);
    return cor_object_received_checked(json, canonical ? COR_JSON_SORTED : COR_JSON_FIRST, kind,
                                       api_version, ret_object, reterr);
}

int cor_object_from_json(struct cor_str json, struct cor_object **ret_object,
                         struct cor_status *reterr)
{
    return cor_object_received(cor_str_trim(json), COR_STR(""), COR_STR(""), ret_object, reterr);
}
