/* Reads protobuf's wire format, one field at a time, and words what is wrong with the bytes as Go's
 * generated readers do. Nothing is copied, nothing allocates, and nothing behind the given bytes is
 * read. Thread: any. */
#include "schema/protobuf/protobuf_wire.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"

#define ENDS_EARLY "unexpected EOF"
#define END_GROUP  4

int cor_pb_refuse(struct cor_pb_error *reterr, const char *fmt, ...)
{
    va_list ap;

    if (reterr) {
        va_start(ap, fmt);
        vsnprintf(reterr->message, sizeof(reterr->message), fmt, ap);
        va_end(ap);
    }
    return -COR_EINVAL;
}

/* Why a varint could not be read: it ends early, or is too long. */
static int refuse_varint(struct cor_str in, struct cor_pb_error *reterr)
{
    return cor_pb_refuse(reterr, in.n < 10 ? ENDS_EARLY : "proto: integer overflow");
}

int cor_pb_take_varint(struct cor_str *in, uint64_t *ret)
{
    uint64_t value = 0;
    size_t n = 0;

    for (unsigned shift = 0; shift < 64 && n < in->n; shift += 7) {
        unsigned char c = (unsigned char)in->p[n++];

        value |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80)) {
            *in = cor_str_from(*in, n);
            *ret = value;
            return 0;
        }
    }
    return -COR_EINVAL;
}

static int take_fixed(struct cor_str *in, size_t n, uint64_t *ret)
{
    uint64_t value = 0;

    if (in->n < n)
        return -COR_EINVAL;
    for (size_t i = 0; i < n; i++)
        value |= (uint64_t)(unsigned char)in->p[i] << (8 * i);
    *in = cor_str_from(*in, n);
    *ret = value;
    return 0;
}

/* Passes over a group, whose first tag has been read, and the groups in it. 1 or -COR_EINVAL. */
static int skip_group(struct cor_str *in, struct cor_pb_error *reterr)
{
    uint64_t tag, value;

    for (size_t depth = 1; depth > 0;) {
        if (in->n == 0 || cor_pb_take_varint(in, &tag) < 0)
            return refuse_varint(*in, reterr);
        switch (tag & 7) {
        case COR_PB_VARINT:
            if (cor_pb_take_varint(in, &value) < 0)
                return refuse_varint(*in, reterr);
            break;
        case COR_PB_LEN:
            if (cor_pb_take_varint(in, &value) < 0)
                return refuse_varint(*in, reterr);
            if ((int64_t)value < 0)
                return cor_pb_refuse(reterr, "proto: negative length found during unmarshaling");
            if (value > in->n)
                return cor_pb_refuse(reterr, ENDS_EARLY);
            *in = cor_str_from(*in, (size_t)value);
            break;
        case COR_PB_FIXED64:
        case COR_PB_FIXED32:
            if (take_fixed(in, (tag & 7) == COR_PB_FIXED64 ? 8 : 4, &value) < 0)
                return cor_pb_refuse(reterr, ENDS_EARLY);
            break;
        case COR_PB_GROUP:
            depth++;
            break;
        case END_GROUP:
            depth--;
            break;
        default:
            return cor_pb_refuse(reterr, "proto: illegal wireType %d", (int)(tag & 7));
        }
    }
    return 1;
}

int cor_pb_take_item(struct cor_str *in, const char *message, struct cor_pb_item *ret,
                     struct cor_pb_error *reterr)
{
    uint64_t tag, n;

    if (in->n == 0)
        return 0;
    if (cor_pb_take_varint(in, &tag) < 0)
        return refuse_varint(*in, reterr);
    if ((tag & 7) == END_GROUP)
        return cor_pb_refuse(reterr, "proto: %s: wiretype end group for non-group", message);
    if ((int32_t)(tag >> 3) <= 0)
        return cor_pb_refuse(reterr, "proto: %s: illegal tag %d (wire type %d)", message,
                             (int)(int32_t)(tag >> 3), (int)(tag & 7));
    *ret =
        (struct cor_pb_item){.number = (uint32_t)(tag >> 3), .wire = (enum cor_pb_wire)(tag & 7)};
    switch (ret->wire) {
    case COR_PB_VARINT:
        return cor_pb_take_varint(in, &ret->value) < 0 ? refuse_varint(*in, reterr) : 1;
    case COR_PB_FIXED64:
        return take_fixed(in, 8, &ret->value) < 0 ? cor_pb_refuse(reterr, ENDS_EARLY) : 1;
    case COR_PB_FIXED32:
        return take_fixed(in, 4, &ret->value) < 0 ? cor_pb_refuse(reterr, ENDS_EARLY) : 1;
    case COR_PB_LEN:
        if (cor_pb_take_varint(in, &n) < 0)
            return refuse_varint(*in, reterr);
        if ((int64_t)n < 0)
            return cor_pb_refuse(reterr, "proto: negative length found during unmarshaling");
        if (n > in->n)
            return cor_pb_refuse(reterr, ENDS_EARLY);
        ret->bytes = cor_str(in->p, (size_t)n);
        *in = cor_str_from(*in, (size_t)n);
        return 1;
    case COR_PB_GROUP:
        return skip_group(in, reterr);
    }
    return cor_pb_refuse(reterr, "proto: illegal wireType %d", (int)(tag & 7));
}
