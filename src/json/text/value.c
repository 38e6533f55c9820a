/* The reading half of generated views: values of which only the beginning is known.
 *
 * A value is followed in its bytes by the rest of the object, so a lookup in it needs no end, and a
 * chain of lookups (pod, spec, nodeName) scans every byte before the field once. A list that is
 * being iterated over holds the element that was handed out last; the next call skips that element.
 * The bytes are valid JSON, since they belong to an object or to a view; on other bytes nothing is
 * read outside them. No function fails: what is not there or has another type reads as nothing.
 * Thread: any (values). */
#include "coracle/value.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "json/text/json_int.h"
#include "json/text/scan.h"
#include "json/text/wire_value.h"

/* Beside the order of keys (enum cor_json_order) in `state`: `p` is the entry that was handed out
 * last, not the container. */
#define STATE_BEGUN  0x100u
#define STATE_OBJECT 0x200u
#define STATE_ORDER  0xffu

static struct cor_str open_bytes(struct cor_value value)
{
    return cor_str(value.p, value.left);
}

static enum cor_json_order order_of(struct cor_value value)
{
    return (enum cor_json_order)(value.state & STATE_ORDER);
}

/* The value at the start of `open`, which belongs to the bytes of `whole`; null is nothing. */
static struct cor_value value_in(struct cor_value whole, struct cor_str open)
{
    if (!open.p || open.n == 0 || open.p[0] == 'n')
        return (struct cor_value){NULL, 0, 0};
    return (struct cor_value){open.p, (uint32_t)open.n, whole.state & STATE_ORDER};
}

struct cor_value cor_value(struct cor_view view)
{
    const struct cor_value whole = {.state = (uint32_t)view.order};

    assert(view.json.n <= UINT32_MAX);
    return value_in(whole, view.json);
}

struct cor_view cor_value_view(struct cor_value value)
{
    if (cor_value_is_wire(value))
        value = cor_wire_as_json(value);
    if (!value.p || value.state & STATE_BEGUN)
        return (struct cor_view){{NULL, 0}, 0};
    return (struct cor_view){cor_json_first_value(open_bytes(value)), (int)order_of(value)};
}

struct cor_text cor_value_as_text(struct cor_value value)
{
    struct cor_text text = {{NULL, 0}};
    const char *end, *quote;

    if (!value.p || *value.p != '"')
        return text;
    end = value.p + value.left;
    quote = cor_json_find_quote_or_escape(value.p + 1, end);
    if (quote < end && *quote == '"')
        text.raw = cor_str(value.p + 1, (size_t)(quote - value.p - 1));
    else
        (void)cor_json_to_raw(cor_json_first_value(open_bytes(value)), &text.raw);
    return text;
}

/* The length of a key is the lowest part of a field. */
static size_t key_len(uint64_t field)
{
    return field & 0xffffff;
}

static int64_t int_of(struct cor_value value, int64_t min, int64_t max)
{
    int64_t v;

    if (cor_view_int(cor_value_view(value), &v) < 0 || v < min || v > max)
        return 0;
    return v;
}

/* The outermost object begins with these two, wherever other keys are. */
static bool is_type_key(const char *key, const char *quote)
{
    struct cor_str name = cor_str(key, (size_t)(quote - key));

    return cor_str_eqz(name, "kind") || cor_str_eqz(name, "apiVersion");
}

/* As cor_json_find(), for bytes without spaces between them, as objects have them. Returns false
 * where it meets anything else, such as an escape in a key: the caller then looks again, slowly.
 * Nearly all keys are passed without a call, which is what makes a chain of accessors fast. */
static bool find_fast(struct cor_str object, struct cor_str key, enum cor_json_order order,
                      struct cor_str *ret_open)
{
    const char *p = object.p, *end = object.p + object.n;

    *ret_open = cor_str(NULL, 0);
    if (object.n < 2 || *p++ != '{' || order == COR_JSON_ANY_ORDER)
        return false;
    while (p < end && *p == '"') {
        const char *name = p + 1, *quote;

        if ((size_t)(end - name) > key.n && name[key.n] == '"' && memcmp(name, key.p, key.n) == 0) {
            p = name + key.n + 1;
            if (p + 1 >= end || *p != ':')
                return false;
            *ret_open = cor_str(p + 1, (size_t)(end - p - 1));
            return !cor_json_is_space(p[1]);
        }
        quote = cor_json_find_quote_or_escape(name, end);
        if (end - quote < 3 || quote[0] != '"' || quote[1] != ':')
            return false;
        if (order == COR_JSON_SORTED && key.n > 0 && (unsigned char)*name > (unsigned char)*key.p &&
            !is_type_key(name, quote))
            return true;
        p = quote + 2;
        if (*p == '"')
            quote = cor_json_find_quote_or_escape(p + 1, end);
        if (*p == '"' && quote < end && *quote == '"') {
            p = quote + 1;
        } else {
            struct cor_str value = cor_json_first_value(cor_str(p, (size_t)(end - p)));

            p = value.p + value.n;
        }
        if (p >= end || (*p != ',' && *p != '}'))
            return false;
        if (*p++ == '}')
            return true;
    }
    return false;
}

static struct cor_value member(struct cor_value object, struct cor_str key)
{
    struct cor_str open;

    assert(!(object.state & STATE_BEGUN));
    if (!object.p)
        return object;
    if (!find_fast(open_bytes(object), key, order_of(object), &open))
        open = cor_json_find(open_bytes(object), key, order_of(object));
    return value_in(object, open);
}

struct cor_value cor_value_member(struct cor_value object, const char *key, uint64_t field)
{
    return cor_value_is_wire(object) ? cor_wire_member(object, key, field)
                                     : member(object, cor_str(key, key_len(field)));
}

struct cor_value cor_value_entry(struct cor_value map, struct cor_str key)
{
    return cor_value_is_wire(map) ? cor_wire_entry(map, key) : member(map, key);
}

struct cor_text cor_value_string(struct cor_value object, const char *key, uint64_t field)
{
    return cor_value_is_wire(object)
               ? cor_wire_string(object, key, field)
               : cor_value_as_text(member(object, cor_str(key, key_len(field))));
}

bool cor_value_bool(struct cor_value object, const char *key, uint64_t field)
{
    struct cor_value value;

    if (cor_value_is_wire(object))
        return cor_wire_number(object, field) != 0;
    value = member(object, cor_str(key, key_len(field)));
    return value.p && *value.p == 't';
}

int32_t cor_value_int32(struct cor_value object, const char *key, uint64_t field)
{
    if (cor_value_is_wire(object))
        return (int32_t)cor_wire_number(object, field);
    return (int32_t)int_of(member(object, cor_str(key, key_len(field))), INT32_MIN, INT32_MAX);
}

int64_t cor_value_int64(struct cor_value object, const char *key, uint64_t field)
{
    if (cor_value_is_wire(object))
        return (int64_t)cor_wire_number(object, field);
    return int_of(member(object, cor_str(key, key_len(field))), INT64_MIN, INT64_MAX);
}

double cor_value_double(struct cor_value object, const char *key, uint64_t field)
{
    uint64_t bits;
    double value;

    if (!cor_value_is_wire(object))
        return cor_view_double_or(cor_value_view(member(object, cor_str(key, key_len(field)))), 0);
    bits = cor_wire_number(object, field);
    memcpy(&value, &bits, sizeof(value));
    return isfinite(value) ? value : 0;
}

struct cor_view cor_value_any(struct cor_value object, const char *key, uint64_t field)
{
    return cor_value_view(cor_value_member(object, key, field));
}

bool cor_value_has(struct cor_value object, const char *key, uint64_t field)
{
    return cor_value_is_wire(object) ? cor_wire_has(object, key, field)
                                     : member(object, cor_str(key, key_len(field))).p != NULL;
}

struct cor_value cor_value_find(struct cor_value array, const char *key, uint64_t field,
                                struct cor_str is)
{
    struct cor_value element = {NULL, 0, 0};

    while (cor_value_next(&array, &element)) {
        struct cor_text text = cor_value_string(element, key, field);

        if (cor_text_exists(text) && cor_text_eq(text, is))
            return element;
    }
    return (struct cor_value){NULL, 0, 0};
}

/* Moves to the next entry; `ret_key` is NULL for arrays. At the end the container becomes nothing,
 * so that another call finds no entry either. */
static bool advance(struct cor_value *container, struct cor_str *ret_key)
{
    struct cor_json_iter it;
    char opening = ret_key ? '{' : '[';
    bool found;

    if (!container->p)
        return false;
    if (container->state & STATE_BEGUN) {
        it = (struct cor_json_iter){container->p, container->p + container->left, container->p};
    } else if (*container->p == opening) {
        it = cor_json_iter(open_bytes(*container));
    } else {
        container->p = NULL;
        return false;
    }
    found = ret_key ? cor_json_iter_member(&it, ret_key) : cor_json_iter_elem(&it);
    container->left = found ? (uint32_t)(it.end - it.value) : 0;
    container->p = found ? it.value : NULL;
    container->state |= STATE_BEGUN | (ret_key ? STATE_OBJECT : 0);
    return found;
}

/* The entry that was handed out last. */
static struct cor_value current(struct cor_value container)
{
    return value_in(container, open_bytes(container));
}

bool cor_value_next(struct cor_value *array, struct cor_value *ret)
{
    if (cor_value_is_wire(*array))
        return cor_wire_next_value(array, ret);
    if (!advance(array, NULL))
        return false;
    *ret = current(*array);
    return true;
}

bool cor_value_next_member(struct cor_value *map, struct cor_text *ret_key, struct cor_value *ret)
{
    if (cor_value_is_wire(*map))
        return cor_wire_next_member(map, ret_key, ret);
    if (!advance(map, &ret_key->raw))
        return false;
    *ret = current(*map);
    return true;
}

size_t cor_value_len(struct cor_value value)
{
    struct cor_str key;
    bool is_object;
    size_t n = 0;

    if (cor_value_is_wire(value))
        return cor_wire_len(value);
    is_object = value.p &&
                (value.state & STATE_BEGUN ? (value.state & STATE_OBJECT) != 0 : *value.p == '{');
    while (advance(&value, is_object ? &key : NULL))
        n++;
    return n;
}

bool cor_text_array_next(struct cor_text_array *array, struct cor_text *ret)
{
    struct cor_value element;

    if (cor_value_is_wire(array->at))
        return cor_wire_next_text(&array->at, ret);
    if (!cor_value_next(&array->at, &element))
        return false;
    *ret = cor_value_as_text(element);
    return true;
}

bool cor_text_array_has(struct cor_text_array array, struct cor_str text)
{
    struct cor_text element;

    while (cor_text_array_next(&array, &element)) {
        if (cor_text_exists(element) && cor_text_eq(element, text))
            return true;
    }
    return false;
}

bool cor_int_array_next(struct cor_int_array *array, int64_t *ret)
{
    struct cor_value element;

    if (!cor_value_next(&array->at, &element))
        return false;
    *ret = int_of(element, INT64_MIN, INT64_MAX);
    return true;
}

bool cor_view_array_next(struct cor_view_array *array, struct cor_view *ret)
{
    struct cor_value element;

    if (!cor_value_next(&array->at, &element))
        return false;
    *ret = cor_value_view(element);
    return true;
}

bool cor_text_map_next(struct cor_text_map *map, struct cor_text *ret_key, struct cor_text *ret)
{
    struct cor_value value;

    if (cor_value_is_wire(map->at))
        return cor_wire_next_text_member(&map->at, ret_key, ret);
    if (!cor_value_next_member(&map->at, ret_key, &value))
        return false;
    *ret = cor_value_as_text(value);
    return true;
}

struct cor_text cor_text_map_get(struct cor_text_map map, struct cor_str key)
{
    return cor_value_is_wire(map.at) ? cor_wire_text_entry(map.at, key)
                                     : cor_value_as_text(member(map.at, key));
}

bool cor_view_map_next(struct cor_view_map *map, struct cor_text *ret_key, struct cor_view *ret)
{
    struct cor_value value;

    if (!cor_value_next_member(&map->at, ret_key, &value))
        return false;
    *ret = cor_value_view(value);
    return true;
}

struct cor_view cor_view_map_get(struct cor_view_map map, struct cor_str key)
{
    return cor_value_view(cor_value_entry(map.at, key));
}

bool cor_text_eq(struct cor_text text, struct cor_str is)
{
    return cor_json_raw_eq(text.raw, is);
}

bool cor_text_is(struct cor_text text, const char *is)
{
    return cor_text_eq(text, cor_strz(is));
}

int cor_text_get(struct cor_text text, char *buf, size_t cap, struct cor_str *ret)
{
    return text.raw.p ? cor_json_unescape(text.raw, buf, cap, ret) : -COR_ENOTFOUND;
}
