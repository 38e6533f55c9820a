/* Reads protobuf's wire format, one field at a time, and words what is wrong with the bytes as Go's
 * generated readers do. Nothing is copied, nothing allocates, and nothing behind the given bytes is
 * read. Thread: any. */
#include "schema/protobuf/protobuf_wire.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"

#define ENDS_EARLY "unexpected EOF"

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

/* Why cor_wire_take() did not take what stands at the beginning of `in`. */
static int refuse_value(struct cor_str in, uint32_t code, struct cor_pb_error *reterr)
{
    uint64_t n;

    switch (code) {
    case COR_WIRE_VARINT:
        return refuse_varint(in, reterr);
    case COR_WIRE_LEN:
        if (!cor_wire_varint(in.p, in.p + in.n, &n))
            return refuse_varint(in, reterr);
        if ((int64_t)n < 0)
            return cor_pb_refuse(reterr, "proto: negative length found during unmarshaling");
        return cor_pb_refuse(reterr, ENDS_EARLY);
    case COR_WIRE_FIXED64:
    case COR_WIRE_FIXED32:
        return cor_pb_refuse(reterr, ENDS_EARLY);
    default:
        return cor_pb_refuse(reterr, "proto: illegal wireType %d", (int)code);
    }
}

/* Cuts a tag or a value off `in`, which `rest` remains of. False: it could not be read. */
static bool cut(struct cor_str *in, const char *rest)
{
    if (rest)
        *in = cor_str(rest, (size_t)(in->p + in->n - rest));
    return rest != NULL;
}

/* Passes over a group, whose first tag has been read, and the groups in it. 1 or -COR_EINVAL. */
static int skip_group(struct cor_str *in, struct cor_pb_error *reterr)
{
    const char *end = in->p + in->n;
    struct cor_wire_item item;
    uint64_t tag;

    for (size_t depth = 1; depth > 0;) {
        if (!cut(in, cor_wire_varint(in->p, end, &tag)))
            return refuse_varint(*in, reterr);
        item.wire = tag & 7;
        if (item.wire == COR_WIRE_GROUP)
            depth++;
        else if (item.wire == COR_WIRE_GROUP_END)
            depth--;
        else if (!cut(in, cor_wire_take(in->p, end, &item)))
            return refuse_value(*in, item.wire, reterr);
    }
    return 1;
}

int cor_pb_take_item(struct cor_str *in, const char *message, struct cor_wire_item *ret,
                     struct cor_pb_error *reterr)
{
    const char *end = in->p + in->n;
    uint64_t tag;

    if (in->n == 0)
        return 0;
    ret->tag = in->p;
    if (!cut(in, cor_wire_varint(in->p, end, &tag)))
        return refuse_varint(*in, reterr);
    if ((tag & 7) == COR_WIRE_GROUP_END)
        return cor_pb_refuse(reterr, "proto: %s: wiretype end group for non-group", message);
    if ((int32_t)(tag >> 3) <= 0)
        return cor_pb_refuse(reterr, "proto: %s: illegal tag %d (wire type %d)", message,
                             (int)(int32_t)(tag >> 3), (int)(tag & 7));
    ret->number = (uint32_t)(tag >> 3);
    ret->wire = tag & 7;
    if (ret->wire == COR_WIRE_GROUP) {
        ret->value = 0;
        ret->bytes = cor_str(NULL, 0);
        return skip_group(in, reterr);
    }
    return cut(in, cor_wire_take(in->p, end, ret)) ? 1 : refuse_value(*in, ret->wire, reterr);
}
