/* Protobuf's wire format (base/wire.h), read from bytes that come from outside: what is wrong with
 * them is worded as Go's generated readers word it.
 * Owner: the caller, everything is borrowed.  Thread: any (pure). */
#ifndef COR_SCHEMA_PROTOBUF_PROTOBUF_WIRE_H
#define COR_SCHEMA_PROTOBUF_PROTOBUF_WIRE_H

#include "base/buf.h"
#include "base/wire.h"

/* Why bytes were refused. */
struct cor_pb_error {
    char message[200];
};

/* Cuts a field off `in`; groups are passed over. 1: there was one; 0: `in` was empty; -COR_EINVAL.
 * `message` is the name of the message for the words in `reterr`, which may be NULL. */
int cor_pb_take_item(struct cor_str *in, const char *message, struct cor_wire_item *ret,
                     struct cor_pb_error *reterr);

/* Writes the words into `reterr` unless that is NULL. Returns -COR_EINVAL. */
int COR_PRINTF(2, 3) cor_pb_refuse(struct cor_pb_error *reterr, const char *fmt, ...);

#endif
