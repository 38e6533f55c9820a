/* Objects in Kubernetes' protobuf: an envelope with apiVersion and kind, and a message in it, whose
 * fields the types describe (schema/types/types.h). Clients that are written in Go send and ask for
 * this form. Fields that a type does not have are skipped, as every protobuf reader does. Owner:
 * the caller.  Thread: any (no state). */
#ifndef COR_SCHEMA_PROTOBUF_PROTOBUF_H
#define COR_SCHEMA_PROTOBUF_PROTOBUF_H

#include "base/buf.h"
#include "base/str.h"
#include "meta/status/gvk.h"
#include "schema/protobuf/protobuf_wire.h"
#include "schema/types/types.h"

/* What every object begins with. */
#define COR_PROTOBUF_PREFIX cor_str("k8s\0", 4)

/* An object taken apart; everything is borrowed. */
struct cor_protobuf {
    struct cor_str api_version, kind; /* as the envelope has them, perhaps empty */
    struct cor_str raw;               /* the message */
};

/* 0, or -COR_EINVAL with upstream's words. */
int cor_protobuf_open(struct cor_str body, struct cor_protobuf *ret_object,
                      struct cor_pb_error *reterr);

/* The type of an object; what the envelope leaves empty is taken from `expected`. The kinds of
 * meta.k8s.io (DeleteOptions, Status …) are known in every group and version. NULL: there is none.
 */
const struct cor_type *cor_protobuf_type(const struct cor_protobuf *object,
                                         const struct cor_gvk *expected);

/* Appends the message `object->raw` of this type as the JSON that Go makes of it: kind and
 * apiVersion first, as far as the envelope has them, and all other keys sorted. 0, -COR_EINVAL with
 * a message, -COR_ENOMEM, -COR_ETOOBIG. `out` may have grown on failure. */
int cor_protobuf_to_json(const struct cor_protobuf *object, const struct cor_type *type,
                         struct cor_buf *out, struct cor_pb_error *reterr);

/* Appends an object of this type as protobuf, envelope and all: the bytes that Go's encoder makes.
 * Members that the type does not have are left out. 0, -COR_EINVAL with a message (a value has
 * another type than its field), -COR_ENOMEM, -COR_ETOOBIG. `out` may have grown on failure. */
int cor_protobuf_from_json(struct cor_str api_version, struct cor_str kind,
                           const struct cor_type *type, struct cor_str json, struct cor_buf *out,
                           struct cor_pb_error *reterr);

/* The same in pieces, for answers that are longer than memory should hold at once. The envelope is
 * cor_protobuf_add_head(), `raw_bytes` bytes of the message, and COR_PROTOBUF_TAIL. */
#define COR_PROTOBUF_TAIL cor_str("\x1a\0\x22\0", 4)
/* 0, -COR_ENOMEM, -COR_ETOOBIG. `out` may have grown on failure. */
int cor_protobuf_add_head(struct cor_str api_version, struct cor_str kind, uint64_t raw_bytes,
                          struct cor_buf *out);

/* Appends a JSON object of this type as the field `number` of a message: an item of a list, its
 * metadata. Fails as cor_protobuf_from_json() does. */
int cor_protobuf_add_field(uint32_t number, const struct cor_type *type, struct cor_str json,
                           struct cor_buf *out, struct cor_pb_error *reterr);

/* Of the length before a frame. */
#define COR_PROTOBUF_FRAME_HEAD 4u

/* Appends a frame of a watch: its length in four bytes, and a WatchEvent that holds the object with
 * its envelope. Fails as cor_protobuf_from_json() does; -COR_ETOOBIG also over 4 GiB. */
int cor_protobuf_add_frame(struct cor_str event, struct cor_str api_version, struct cor_str kind,
                           const struct cor_type *type, struct cor_str json, struct cor_buf *out,
                           struct cor_pb_error *reterr);

#endif
