/* Protobuf's wire format: reads one item at a time, without a copy and never past the given end,
 * and writes numbers and tags. Here an item that is not understood ends the message; whoever must
 * say what is wrong with the bytes reads through schema/protobuf/protobuf_wire.h. Thread: any
 * (values). */
#ifndef COR_BASE_WIRE_H
#define COR_BASE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"

enum cor_wire_code {
    COR_WIRE_VARINT = 0,
    COR_WIRE_FIXED64 = 1,
    COR_WIRE_LEN = 2,
    COR_WIRE_GROUP = 3, /* no message of Kubernetes has one */
    COR_WIRE_GROUP_END = 4,
    COR_WIRE_FIXED32 = 5,
};

struct cor_wire_item {
    uint32_t number;
    uint32_t wire;
    const char *tag;      /* where it begins */
    struct cor_str bytes; /* of COR_WIRE_LEN; else what follows the tag */
    uint64_t value;       /* of the others */
};

/* Reads a number of at most ten bytes. NULL: it does not end before `end`, or is too long. */
static inline const char *cor_wire_varint(const char *p, const char *end, uint64_t *ret)
{
    uint64_t value = 0;

    if (p < end && !(*p & 0x80)) {
        *ret = (unsigned char)*p;
        return p + 1;
    }
    for (unsigned shift = 0; shift < 64 && p < end; shift += 7) {
        unsigned char c = (unsigned char)*p++;

        value |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80)) {
            *ret = value;
            return p;
        }
    }
    return NULL;
}

/* The value at `p` of an item whose number and code are known, and where the next item begins.
 * NULL: the value does not end before `end`, or the code has no value. */
static inline const char *cor_wire_take(const char *p, const char *end, struct cor_wire_item *ret)
{
    uint64_t n;

    ret->value = 0;
    ret->bytes = cor_str(p, 0);
    switch (ret->wire) {
    case COR_WIRE_LEN:
        p = cor_wire_varint(p, end, &n);
        if (!p || n > (uint64_t)(end - p))
            return NULL;
        ret->bytes = cor_str(p, (size_t)n);
        return p + n;
    case COR_WIRE_VARINT:
        return cor_wire_varint(p, end, &ret->value);
    case COR_WIRE_FIXED64:
    case COR_WIRE_FIXED32:
        n = ret->wire == COR_WIRE_FIXED64 ? 8 : 4;
        if (n > (uint64_t)(end - p))
            return NULL;
        for (size_t i = 0; i < n; i++)
            ret->value |= (uint64_t)(unsigned char)p[i] << (8 * i);
        return p + n;
    default:
        return NULL;
    }
}

/* Takes the item at `p` and returns where the next one begins. NULL: there is none, or the bytes
 * are not an item; groups, which Kubernetes does not use, count as such. */
static inline const char *cor_wire_next(const char *p, const char *end, struct cor_wire_item *ret)
{
    uint64_t tag;

    ret->tag = p;
    p = cor_wire_varint(p, end, &tag);
    if (!p || tag >> 3 == 0 || tag >> 3 > INT32_MAX)
        return NULL;
    ret->number = (uint32_t)(tag >> 3);
    ret->wire = tag & 7;
    return cor_wire_take(p, end, ret);
}

/* The first item with this number. False: there is none. */
static inline bool cor_wire_find(struct cor_str message, uint32_t number, struct cor_wire_item *ret)
{
    const char *p = message.p, *end = message.p + message.n;

    while (p < end && (p = cor_wire_next(p, end, ret)))
        if (ret->number == number)
            return true;
    return false;
}

/* The bytes of the first item with this number; empty when there is none or it is no such item. */
static inline struct cor_str cor_wire_bytes(struct cor_str message, uint32_t number)
{
    struct cor_wire_item item;

    return cor_wire_find(message, number, &item) && item.wire == COR_WIRE_LEN ? item.bytes
                                                                              : cor_str("", 0);
}

/* What a number or a tag takes at most. */
#define COR_WIRE_VARINT_MAX 10

/* Writes a number; returns how many bytes it took. */
static inline size_t cor_wire_put_varint(char *out, uint64_t value)
{
    size_t n = 0;

    for (; value > 0x7f; value >>= 7)
        out[n++] = (char)(value | 0x80);
    out[n++] = (char)value;
    return n;
}

static inline size_t cor_wire_put_tag(char *out, uint32_t number, enum cor_wire_code code)
{
    return cor_wire_put_varint(out, (uint64_t)number << 3 | code);
}

#endif
