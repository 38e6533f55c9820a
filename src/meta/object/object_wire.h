/* clang-format off */
/* Objects that a client received as protobuf. The message is kept as it came, behind a head of JSON
 * that has what everything else in the library reads of an object (cor_object_head()):
 *
 *   struct cor_object │ head, NUL │ key │ … │ struct cor_wire_part │ message
 *
 * The JSON of the whole object is made when it is first asked for, and freed with the object.
 * Owner: the object's references.  Thread: any. */
/* clang-format on */
#ifndef COR_META_OBJECT_OBJECT_WIRE_H
#define COR_META_OBJECT_OBJECT_WIRE_H

#include "base/str.h"
#include "meta/object/object.h"
#include "meta/status/status.h"
#include "json/text/wire_value.h"

/* From the message of a kind, an item of a list or what was in an envelope. Where the metadata is
 * unusual (no name or resourceVersion, labels out of order, texts with escapes) or very long the
 * object is plain JSON. 0, -COR_ENOMEM, -COR_ETOOBIG, -COR_EINVAL (as cor_object_received()). */
int cor_object_received_wire(struct cor_str message, const struct cor_wire_type *type,
                             struct cor_object **ret_object, struct cor_status *reterr);

/* The same as plain JSON. */
int cor_object_received_wire_as_json(struct cor_str message, const struct cor_wire_type *type,
                                     struct cor_object **ret_object, struct cor_status *reterr);

/* Another reference to the object, or a canonical copy of one in protobuf. 0 or -COR_ENOMEM. */
int cor_object_plain(const struct cor_object *object, struct cor_object **ret_object);

/* Of an object that has one. */
struct cor_wire_part *cor_object_wire(const struct cor_object *object);
/* Empty: no memory. */
struct cor_str cor_object_wire_json(const struct cor_object *object);
void cor_object_wire_deinit(struct cor_object *object);

/* A copy with room for a key, which the caller writes. NULL: no memory. */
struct cor_object *cor_object_wire_copy(const struct cor_object *object, size_t key_len);

#endif
