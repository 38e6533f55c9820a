/* Bodies in Kubernetes' protobuf: an envelope with kind and version, and a message in it. Clients
 * that are written in Go send some requests in no other form. Only the kinds of a table are read;
 * fields that its messages do not have are skipped, as every protobuf reader does.
 * Thread: any (pure). */
#ifndef COR_CODEC_PROTOBUF_H
#define COR_CODEC_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* What every body begins with. */
#define COR_PROTOBUF_PREFIX cor_str("k8s\0", 4)

enum cor_pb_type {
    COR_PB_STRING,
    COR_PB_BYTES, /* base64 in JSON */
    COR_PB_INT,
    COR_PB_BOOL,
    COR_PB_TIME,
    COR_PB_JSON, /* bytes that are JSON, in a message of their own */
    COR_PB_MESSAGE,
    COR_PB_LIST_IN_MESSAGE, /* of strings, in a message of its own */
};

enum cor_pb_flag {
    COR_PB_REPEATED = 1 << 0,
    COR_PB_MAP = 1 << 1,     /* from strings */
    COR_PB_POINTER = 1 << 2, /* in Go: what is there is written, also zero */
};

struct cor_pb_message;

struct cor_pb_field {
    uint32_t number;
    const char *name; /* in JSON */
    enum cor_pb_type type;
    unsigned flags;
    const struct cor_pb_message *message; /* of COR_PB_MESSAGE */
};

struct cor_pb_message {
    const struct cor_pb_field *v;
    size_t n;
};

struct cor_pb_kind {
    const char *api_version; /* NULL: any */
    const char *kind;
    const struct cor_pb_message *message;
};

/* The kinds that can be read. */
const struct cor_pb_kind *cor_pb_kinds(size_t *ret_n);

/* Appends the object as JSON; its keys are in no order. 0, -COR_EINVAL (not protobuf), -COR_ENOTSUP
 * (another kind), -COR_ENOMEM, -COR_ETOOBIG. `out` may have grown on failure. */
int cor_protobuf_to_json(struct cor_str body, struct cor_buf *out);

#endif
