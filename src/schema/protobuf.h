/* Objects in Kubernetes' protobuf: an envelope with apiVersion and kind, and a message in it, whose
 * fields the types describe (schema/types.h). Clients that are written in Go send and ask for this
 * form. Fields that a type does not have are skipped, as every protobuf reader does.
 * Owner: the caller.  Thread: any (no state). */
#ifndef COR_SCHEMA_PROTOBUF_H
#define COR_SCHEMA_PROTOBUF_H

#include "base/buf.h"
#include "base/str.h"
#include "meta/gvk.h"
#include "schema/protobuf_wire.h"
#include "schema/types.h"

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
 * words, -COR_ENOMEM, -COR_ETOOBIG. `out` may have grown on failure. */
int cor_protobuf_to_json(const struct cor_protobuf *object, const struct cor_type *type,
                         struct cor_buf *out, struct cor_pb_error *reterr);

/* Appends an object of this type as protobuf, envelope and all: the bytes that Go's encoder makes.
 * Members that the type does not have are left out. 0, -COR_EINVAL with words (a value has another
 * type than its field), -COR_ENOMEM, -COR_ETOOBIG. `out` may have grown on failure. */
int cor_protobuf_from_json(struct cor_str api_version, struct cor_str kind,
                           const struct cor_type *type, struct cor_str json, struct cor_buf *out,
                           struct cor_pb_error *reterr);

#endif
