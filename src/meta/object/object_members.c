/* What an object is asked: its bytes, its type, names, revision and labels, and views of it. Each
 * answer is found in the object's bytes, from the places that its header knows, and borrows them.
 * What is absent or malformed is empty. Only the JSON of an object in protobuf is made when it is
 * asked for, and is empty when there is no memory. Thread: any, as an object does not change. */
#include <assert.h>
#include <string.h>

#include "coracle/value.h"
#include "meta/object/object.h"
#include "meta/object/object_wire.h"
#include "json/text/json.h"
#include "json/text/scan.h"

#define RV_KEY "\"resourceVersion\":\""

struct cor_str cor_object_json(const struct cor_object *object)
{
    return object->has_wire ? cor_object_wire_json(object) : cor_object_head(object);
}

bool cor_object_is_protobuf(const struct cor_object *object)
{
    return object->has_wire;
}

int cor_object_make_json(const struct cor_object *object)
{
    return cor_object_json(object).n > 0 ? 0 : -COR_ENOMEM;
}

size_t cor_object_size(const struct cor_object *object)
{
    return object->len + (object->has_wire ? cor_object_wire(object)->len : 0);
}

void cor_object_stored_spans(const struct cor_object *object, struct cor_str *ret_a,
                             struct cor_str *ret_b)
{
    assert(!object->has_wire);
    *ret_a = cor_str(object->bytes, object->rv_at);
    *ret_b = cor_str_from(cor_object_json(object), object->rv_at + object->rv_len);
}

bool cor_object_same_stored(const struct cor_object *a, const struct cor_object *b)
{
    struct cor_str a1, a2, b1, b2;

    cor_object_stored_spans(a, &a1, &a2);
    cor_object_stored_spans(b, &b1, &b2);
    return cor_str_eq(a2, b2) && cor_str_eq(a1, b1);
}

static struct cor_str get_string(const struct cor_object *object, uint32_t at, const char *key)
{
    struct cor_str value, raw;

    if (cor_json_get(cor_str_from(cor_object_head(object), at), cor_strz(key),
                     (enum cor_json_order)object->order, &value) < 0 ||
        cor_json_to_raw(value, &raw) < 0)
        return COR_STR("");
    return raw;
}

static struct cor_str get_in_metadata(const struct cor_object *object, const char *key)
{
    return get_string(object, object->meta_at, key);
}

struct cor_view cor_object_view(const struct cor_object *object)
{
    struct cor_str json = cor_object_json(object);

    return (struct cor_view){json.n > 0 ? json : cor_str(NULL, 0), (int)cor_object_order(object)};
}

struct cor_str cor_object_kind(const struct cor_object *object)
{
    return get_string(object, 0, "kind");
}

struct cor_str cor_object_api_version(const struct cor_object *object)
{
    return get_string(object, 0, "apiVersion");
}

static bool is_of_kind(const struct cor_object *object, const char *api_version, const char *kind)
{
    struct cor_str is_kind = cor_object_kind(object), is_version = cor_object_api_version(object);

    return (is_kind.n == 0 || cor_str_eqz(is_kind, kind)) &&
           (is_version.n == 0 || cor_str_eqz(is_version, api_version));
}

struct cor_value cor_value_of_object(const struct cor_object *object, const char *api_version,
                                     const char *kind)
{
    if (!is_of_kind(object, api_version, kind))
        return (struct cor_value){NULL, 0, 0};
    return cor_value(cor_object_view(object));
}

struct cor_value cor_value_of_wire_object(const struct cor_object *object, const char *api_version,
                                          const char *kind)
{
    if (!object->has_wire)
        return cor_value_of_object(object, api_version, kind);
    if (!is_of_kind(object, api_version, kind))
        return (struct cor_value){NULL, 0, 0};
    return cor_wire_value(cor_object_wire(object));
}

/* Name, namespace and uid are read for every write and event. In canonical JSON they are beside
 * resourceVersion, whose place is known: "name", "namespace", "ownerReferences", "resourceVersion",
 * "uid". So nothing before them has to be passed, such as managedFields. Where the bytes are not as
 * expected, the members are looked for from the beginning. */

#define NAME_KEY      "\"name\":"
#define NAMESPACE_KEY "\"namespace\":"

/* If the bytes before `end` are a member with this key and a string without escapes, its text. */
static bool is_member_before(const struct cor_object *object, uint32_t end, struct cor_str key,
                             struct cor_str *ret_raw)
{
    const char *first = object->bytes + object->meta_at, *close = object->bytes + end - 1, *open;

    if (close <= first || *close != '"')
        return false;
    for (open = close - 1; open > first && *open != '"'; open--)
        ;
    if ((size_t)(open - first) <= key.n || memcmp(open - key.n, key.p, key.n) != 0 ||
        memchr(open, '\\', (size_t)(close - open)))
        return false;
    *ret_raw = cor_str(open + 1, (size_t)(close - open - 1));
    return true;
}

/* In canonical JSON: where name and namespace end. */
static uint32_t names_end(const struct cor_object *object)
{
    static const char owners_key[] = ",\"ownerReferences\":";

    return object->owners.len > 0 ? object->owners.at - (uint32_t)(sizeof(owners_key) - 1)
                                  : object->rv_at;
}

struct cor_str cor_object_name(const struct cor_object *object)
{
    struct cor_str raw;
    uint32_t end;

    if (object->order != COR_JSON_SORTED)
        return get_in_metadata(object, "name");
    end = names_end(object);
    if (is_member_before(object, end, COR_STR(NAMESPACE_KEY), &raw))
        end = (uint32_t)(raw.p - object->bytes) - (uint32_t)(sizeof("," NAMESPACE_KEY "\"") - 1);
    if (is_member_before(object, end, COR_STR(NAME_KEY), &raw))
        return raw;
    return get_in_metadata(object, "name");
}

struct cor_str cor_object_namespace(const struct cor_object *object)
{
    struct cor_str raw;
    uint32_t end;

    if (object->order != COR_JSON_SORTED)
        return get_in_metadata(object, "namespace");
    end = names_end(object);
    if (is_member_before(object, end, COR_STR(NAMESPACE_KEY), &raw))
        return raw;
    if (is_member_before(object, end, COR_STR(NAME_KEY), &raw))
        return COR_STR("");
    return get_in_metadata(object, "namespace");
}

struct cor_str cor_object_uid(const struct cor_object *object)
{
    struct cor_str rest = cor_str_from(cor_object_head(object), object->rv_at + object->rv_len);

    if (object->order == COR_JSON_SORTED) {
        if (cor_str_starts(rest, COR_STR("}")))
            return COR_STR("");
        if (cor_str_starts(rest, COR_STR(",")))
            rest = cor_str_from(rest, 1);
        if (cor_str_starts(rest, COR_STR("\"uid\":\""))) {
            rest = cor_str_from(rest, sizeof("\"uid\":\"") - 1);
            rest = cor_str_cut(&rest, '"');
            if (!memchr(rest.p, '\\', rest.n))
                return rest;
        }
    }
    return get_in_metadata(object, "uid");
}

struct cor_str cor_object_resource_version(const struct cor_object *object)
{
    struct cor_str digits = cor_str_from(cor_object_head(object), object->rv_at);

    if (object->rv_len == 0)
        return COR_STR("");
    digits = cor_str_from(digits, object->rv_lead + sizeof(RV_KEY) - 1);
    return cor_str_cut(&digits, '"');
}

struct cor_str cor_object_labels(const struct cor_object *object)
{
    return cor_str(object->bytes + object->labels.at, object->labels.len);
}

struct cor_view cor_object_annotation(const struct cor_object *object, struct cor_str key)
{
    struct cor_view metadata = cor_view_member(cor_object_view(object), COR_STR("metadata"));

    return cor_view_member(cor_view_member(metadata, COR_STR("annotations")), key);
}

bool cor_object_label(const struct cor_object *object, struct cor_str key, struct cor_str *ret)
{
    struct cor_str value;

    return cor_json_get(cor_object_labels(object), key, COR_JSON_SORTED, &value) == 0 &&
           cor_json_to_raw(value, ret) == 0;
}
