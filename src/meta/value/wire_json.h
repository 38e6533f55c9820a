/* From protobuf to JSON by tables (coracle/wire.h), for a client: bytes that a server sent become
 * the JSON that the server would have sent. Damaged items are left out; only memory failures are
 * reported.
 * Owner: the caller.  Thread: any (no state). */
#ifndef COR_META_VALUE_WIRE_JSON_H
#define COR_META_VALUE_WIRE_JSON_H

#include "base/buf.h"
#include "base/str.h"
#include "coracle/wire.h"
#include "json/text/wire_value.h"

/* What every object in protobuf begins with, the NUL included. */
#define COR_WIRE_PREFIX cor_str("k8s\0", 4)

/* An object taken apart; everything is borrowed, and empty when it is missing. */
struct cor_wire_envelope {
    struct cor_str api_version, kind, message;
};
/* False: there is no envelope. */
bool cor_wire_open(struct cor_str body, struct cor_wire_envelope *ret);

/* Appends the message as a JSON object, kind and apiVersion first, as far as they are not empty,
 * and all other members sorted. 0, -COR_ENOMEM, -COR_ETOOBIG (the buffer's maximum). */
int cor_wire_to_json(struct cor_str message, const struct cor_wire_type *type, struct cor_str kind,
                     struct cor_str api_version, struct cor_buf *out);

/* The same with the places of its values: what an object keeps (json/text/wire_value.h). Free it
 * with cor_free(). NULL: no memory. */
struct cor_wire_json *cor_wire_json_new(struct cor_str message, const struct cor_wire_type *type,
                                        struct cor_str kind, struct cor_str api_version);

/* Appends a Status in protobuf, envelope and all, as JSON. 0, -COR_EINVAL (it is not a Status),
 * -COR_ENOMEM, -COR_ETOOBIG. */
int cor_wire_status_json(struct cor_str body, struct cor_buf *out);

#endif
