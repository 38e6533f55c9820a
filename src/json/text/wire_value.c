/* Generated views over protobuf. A value is the bytes of a message; a list and a map are where
 * their first item begins, up to the end of the message around them, and the tag there tells the
 * number of the items that follow. Every value knows its distance from the beginning of the
 * object's message, and so finds the object's part (json/text/wire_value.h).
 *
 * A value without a text in protobuf is looked up in the object's JSON by its place in the message.
 * Of a field that is written twice the first counts, as of a key in JSON. What fails: nothing;
 * without memory for the JSON, such a value is absent. On any bytes nothing is read outside them.
 * Thread: any (values). */
#include "json/text/wire_value.h"

#include <string.h>

#include "base/wire.h"
#include "json/text/scan.h"

/* The state of a value in a message; the rest is the distance from its beginning. */
#define STATE_WIRE     0x80000000u
#define STATE_BEGUN    0x40000000u /* `p` is the item that was handed out last */
#define STATE_LIST     0x20000000u
#define STATE_MAP      0x10000000u
#define STATE_QUANTITY 0x08000000u /* of a map: its texts are those of quantities */
#define STATE_OFFSET   0x07ffffffu

_Static_assert(COR_WIRE_MESSAGE_MAX == STATE_OFFSET + 1, "an offset has room");
_Static_assert(sizeof(struct cor_wire_part) % 8 == 0, "the message is right behind it");

static const struct cor_value nothing;

static struct cor_wire_part *part_of(struct cor_value value)
{
    return (struct cor_wire_part *)(void *)(uintptr_t)(value.p - (value.state & STATE_OFFSET)) - 1;
}

static uint32_t offset_of(const struct cor_wire_part *part, const char *p)
{
    return (uint32_t)(p - (const char *)(part + 1));
}

static struct cor_value value_at(const struct cor_wire_part *part, struct cor_str bytes,
                                 uint32_t state)
{
    return (struct cor_value){bytes.p, (uint32_t)bytes.n,
                              STATE_WIRE | state | offset_of(part, bytes.p)};
}

struct cor_value cor_wire_value(const struct cor_wire_part *part)
{
    return value_at(part, cor_wire_message(part), 0);
}

static struct cor_value json_value(struct cor_str open, enum cor_json_order order)
{
    if (open.n == 0 || open.p[0] == 'n')
        return nothing;
    return (struct cor_value){open.p, (uint32_t)open.n, (uint32_t)order};
}

/* What the object's JSON has for this place of the message. */
static struct cor_value json_at(struct cor_wire_part *part, uint32_t key)
{
    const struct cor_wire_json *json = part->make(part);
    size_t low = 0, high = json ? json->nplaces : 0;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (json->places[mid].key < key)
            low = mid + 1;
        else
            high = mid;
    }
    if (!json || low == json->nplaces || json->places[low].key != key)
        return nothing;
    return json_value(cor_str_from(json->json, json->places[low].at), COR_JSON_FIRST);
}

/* What the head has for a member of the object or of its metadata. */
static struct cor_value in_head(const struct cor_wire_part *part, uint32_t at, const char *key,
                                uint64_t field)
{
    struct cor_str value;

    if (cor_json_get(cor_str_from(part->head, at), cor_str(key, field & 0xffffff), COR_JSON_SORTED,
                     &value) < 0)
        return nothing;
    return json_value(value, COR_JSON_SORTED);
}

static uint32_t number_of(uint64_t field)
{
    return (field >> 24) & 0xffff;
}

static unsigned flags_of(uint64_t field)
{
    return (unsigned)(field >> 56);
}

/* The first item of the field, through the messages that JSON does not have around it. `ret_scope`
 * is the message that holds it. */
static bool find(struct cor_value message, uint64_t field, struct cor_wire_item *ret,
                 struct cor_str *ret_scope)
{
    const uint32_t via[] = {(field >> 40) & 0xff, (field >> 48) & 0xff};
    struct cor_str scope = cor_str(message.p, message.left);

    if (!message.p || message.state & (STATE_LIST | STATE_MAP))
        return false;
    for (size_t i = 0; i < 2 && via[i] > 0; i++) {
        if (!cor_wire_find(scope, via[i], ret) || ret->wire != COR_WIRE_LEN)
            return false;
        scope = ret->bytes;
    }
    *ret_scope = scope;
    return number_of(field) > 0 && cor_wire_find(scope, number_of(field), ret);
}

/* The kind and the apiVersion of an object are in no message. */
static bool is_of_head(struct cor_value message, uint64_t field)
{
    return message.p && number_of(field) == 0 &&
           (message.state & (STATE_OFFSET | STATE_LIST | STATE_MAP)) == 0;
}

struct cor_value cor_wire_member(struct cor_value message, const char *key, uint64_t field)
{
    unsigned flags = flags_of(field);
    struct cor_wire_part *part;
    struct cor_wire_item item;
    struct cor_str scope;

    if (is_of_head(message, field))
        return in_head(part_of(message), 0, key, field);
    if (!find(message, field, &item, &scope))
        return nothing;
    part = part_of(message);
    if (flags & (COR_WIRE_LIST | COR_WIRE_MAP)) {
        uint32_t state = (flags & COR_WIRE_LIST ? STATE_LIST : STATE_MAP) |
                         (flags & COR_VALUE_QUANTITY ? STATE_QUANTITY : 0);
        struct cor_str rest = cor_str(item.tag, (size_t)(scope.p + scope.n - item.tag));

        return flags & COR_VALUE_JSON
                   ? json_at(part, COR_WIRE_PLACE_OF_CONTAINER(offset_of(part, item.tag)))
                   : value_at(part, rest, state);
    }
    if (flags & COR_VALUE_JSON) {
        if (offset_of(part, message.p) == part->meta_at && part->meta_at > 0)
            return in_head(part, part->head_meta, key, field);
        return json_at(part, COR_WIRE_PLACE_OF(offset_of(part, item.bytes.p)));
    }
    if (item.wire != COR_WIRE_LEN ||
        ((flags & COR_WIRE_OMITZERO) && !(flags & COR_WIRE_POINTER) && item.bytes.n == 0))
        return nothing;
    return value_at(part, item.bytes, 0);
}

/* A text as it is in the message, unless it has what is an escape in JSON. */
static struct cor_text text_at(struct cor_wire_part *part, struct cor_str bytes)
{
    if (bytes.n > 0 && memchr(bytes.p, '\\', bytes.n))
        return cor_value_as_text(json_at(part, COR_WIRE_PLACE_OF(offset_of(part, bytes.p))));
    return (struct cor_text){bytes};
}

static struct cor_text quantity_at(struct cor_wire_part *part, struct cor_str message)
{
    struct cor_str text = cor_wire_bytes(message, 1);

    return text.n > 0 ? text_at(part, text) : (struct cor_text){COR_STR("0")};
}

struct cor_text cor_wire_string(struct cor_value message, const char *key, uint64_t field)
{
    unsigned flags = flags_of(field);
    bool is_quantity = (flags & COR_VALUE_QUANTITY) != 0;
    struct cor_wire_item item;
    struct cor_str scope;

    if (flags & COR_VALUE_JSON || is_of_head(message, field))
        return cor_value_as_text(cor_wire_member(message, key, field));
    if (!find(message, field, &item, &scope)) {
        /* What Go writes although it was never set. */
        if (!message.p || number_of(field) == 0 || flags & (COR_WIRE_POINTER | COR_WIRE_OMITZERO) ||
            (flags & COR_WIRE_OMITEMPTY && !is_quantity))
            return (struct cor_text){{NULL, 0}};
        return (struct cor_text){is_quantity ? COR_STR("0") : COR_STR("")};
    }
    if (item.wire != COR_WIRE_LEN)
        return (struct cor_text){{NULL, 0}};
    if (is_quantity)
        return quantity_at(part_of(message), item.bytes);
    if (item.bytes.n == 0 && (flags & COR_WIRE_OMITEMPTY) && !(flags & COR_WIRE_POINTER))
        return (struct cor_text){{NULL, 0}};
    return text_at(part_of(message), item.bytes);
}

bool cor_wire_has(struct cor_value message, const char *key, uint64_t field)
{
    struct cor_wire_item item;
    struct cor_str scope;

    return find(message, field, &item, &scope);
}

uint64_t cor_wire_number(struct cor_value message, uint64_t field)
{
    struct cor_wire_item item;
    struct cor_str scope;

    return find(message, field, &item, &scope) && item.wire != COR_WIRE_LEN ? item.value : 0;
}

struct cor_value cor_wire_as_json(struct cor_value value)
{
    uint32_t offset = value.state & STATE_OFFSET;

    if (!value.p || value.state & STATE_BEGUN)
        return nothing;
    return json_at(part_of(value), value.state & (STATE_LIST | STATE_MAP)
                                       ? COR_WIRE_PLACE_OF_CONTAINER(offset)
                                       : COR_WIRE_PLACE_OF(offset));
}

/* Moves to the next item. At the end the container becomes nothing. */
static bool advance(struct cor_value *container, uint32_t kind, struct cor_wire_item *ret)
{
    const char *p = container->p, *end = p + container->left;
    struct cor_wire_part *part;
    uint32_t number;

    if (!p || !(container->state & kind))
        return false;
    part = part_of(*container);
    p = cor_wire_next(p, end, ret);
    if (container->state & STATE_BEGUN && p) {
        number = ret->number;
        do
            p = p < end ? cor_wire_next(p, end, ret) : NULL;
        while (p && ret->number != number);
    }
    if (!p) {
        container->p = NULL;
        container->left = 0;
        return false;
    }
    container->p = ret->tag;
    container->left = (uint32_t)(end - ret->tag);
    container->state = (container->state & ~STATE_OFFSET) | STATE_BEGUN | offset_of(part, ret->tag);
    return true;
}

bool cor_wire_next_value(struct cor_value *list, struct cor_value *ret)
{
    struct cor_wire_item item;

    if (!advance(list, STATE_LIST, &item))
        return false;
    *ret = value_at(part_of(*list), item.bytes, 0);
    return true;
}

bool cor_wire_next_text(struct cor_value *list, struct cor_text *ret)
{
    struct cor_wire_item item;

    if (!advance(list, STATE_LIST, &item))
        return false;
    *ret = text_at(part_of(*list), item.bytes);
    return true;
}

/* The value of an entry; an empty message at its end when it has none. */
static struct cor_str entry_value(struct cor_str entry)
{
    struct cor_wire_item item;

    return cor_wire_find(entry, 2, &item) && item.wire == COR_WIRE_LEN
               ? item.bytes
               : cor_str(entry.p + entry.n, 0);
}

static struct cor_text entry_text(struct cor_value map, struct cor_str entry)
{
    struct cor_str value = entry_value(entry);

    return map.state & STATE_QUANTITY ? quantity_at(part_of(map), value)
                                      : text_at(part_of(map), value);
}

bool cor_wire_next_member(struct cor_value *map, struct cor_text *ret_key, struct cor_value *ret)
{
    struct cor_wire_item item;

    if (!advance(map, STATE_MAP, &item))
        return false;
    *ret_key = text_at(part_of(*map), cor_wire_bytes(item.bytes, 1));
    *ret = value_at(part_of(*map), entry_value(item.bytes), 0);
    return true;
}

bool cor_wire_next_text_member(struct cor_value *map, struct cor_text *ret_key,
                               struct cor_text *ret)
{
    struct cor_wire_item item;

    if (!advance(map, STATE_MAP, &item))
        return false;
    *ret_key = text_at(part_of(*map), cor_wire_bytes(item.bytes, 1));
    *ret = entry_text(*map, item.bytes);
    return true;
}

static bool find_entry(struct cor_value *map, struct cor_str key, struct cor_wire_item *ret)
{
    while (advance(map, STATE_MAP, ret))
        if (cor_str_eq(cor_wire_bytes(ret->bytes, 1), key))
            return true;
    return false;
}

struct cor_value cor_wire_entry(struct cor_value map, struct cor_str key)
{
    struct cor_wire_item item;

    return find_entry(&map, key, &item) ? value_at(part_of(map), entry_value(item.bytes), 0)
                                        : nothing;
}

struct cor_text cor_wire_text_entry(struct cor_value map, struct cor_str key)
{
    struct cor_wire_item item;

    return find_entry(&map, key, &item) ? entry_text(map, item.bytes)
                                        : (struct cor_text){{NULL, 0}};
}

size_t cor_wire_len(struct cor_value container)
{
    struct cor_wire_item item;
    uint32_t kind = container.state & (STATE_LIST | STATE_MAP);
    size_t n = 0;

    if (kind == 0)
        return cor_value_len(cor_wire_as_json(container));
    while (advance(&container, kind, &item))
        n++;
    return n;
}
