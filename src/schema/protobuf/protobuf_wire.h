/* Protobuf's wire format: tags, varints and lengths, read from bytes that come from outside.
 * Owner: the caller, everything is borrowed.  Thread: any (pure). */
#ifndef COR_SCHEMA_PROTOBUF_PROTOBUF_WIRE_H
#define COR_SCHEMA_PROTOBUF_PROTOBUF_WIRE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum cor_pb_wire {
    COR_PB_VARINT = 0,
    COR_PB_FIXED64 = 1,
    COR_PB_LEN = 2,
    COR_PB_GROUP = 3, /* no message has one: they are passed over */
    COR_PB_FIXED32 = 5,
};

/* One field on the wire. */
struct cor_pb_item {
    uint32_t number;
    enum cor_pb_wire wire;
    uint64_t value;       /* of a varint, or of fixed bits */
    struct cor_str bytes; /* of COR_PB_LEN */
};

/* Why bytes were refused, in the words of Go's generated readers. */
struct cor_pb_error {
    char message[200];
};

/* Cuts a varint off `in`. 0 or -COR_EINVAL (it has no end, or more than 64 bits). */
int cor_pb_take_varint(struct cor_str *in, uint64_t *ret);

/* Cuts a field off `in`. 1: there was one; 0: `in` was empty; -COR_EINVAL. `message` is the name of
 * the message for the words in `reterr`, which may be NULL. */
int cor_pb_take_item(struct cor_str *in, const char *message, struct cor_pb_item *ret,
                     struct cor_pb_error *reterr);

/* Writes the words into `reterr` unless that is NULL. Returns -COR_EINVAL. */
int COR_PRINTF(2, 3) cor_pb_refuse(struct cor_pb_error *reterr, const char *fmt, ...);

#endif
