/* The form in which the store keeps an object: JSON, or Kubernetes' protobuf (`k8s` and a NUL, then
 * the envelope), before encryption. Both are read at any time; which one is written is
 * --storage-media-type. Only built-in kinds have a protobuf form: other objects are JSON always.
 * Thread: any (no state). */
#ifndef COR_SERVER_STORED_FORM_H
#define COR_SERVER_STORED_FORM_H

#include "base/buf.h"
#include "base/str.h"
#include "meta/object/object.h"
#include "meta/status/status.h"
#include "schema/kinds/custom_schema.h"
#include "schema/types/types.h"

enum cor_stored_form {
    COR_STORED_JSON,
    COR_STORED_PROTOBUF,
};

/* The form of a media type, or the default (JSON) for NULL. -COR_EINVAL: there is no such form; the
 * message names those that there are. */
int cor_stored_form_parse(const char *media_type, enum cor_stored_form *ret_form,
                          struct cor_status *reterr_status);

/* The type of a stored object; NULL: its kind is not built in, or objects of it are not stored
 * (they have no metadata). */
const struct cor_type *cor_stored_form_type(struct cor_str api_version, struct cor_str kind);

/* Is there a protobuf form of this kind? */
bool cor_stored_form_has_protobuf(struct cor_str api_version, struct cor_str kind);

/* Replaces a protobuf value by its JSON in `out`, which is empty; a value that is JSON stays. 0,
 * -COR_EINVAL with a message (it cannot be decoded), -COR_ENOMEM, -COR_ETOOBIG. */
int cor_stored_form_to_json(struct cor_str *value, struct cor_buf *out,
                            struct cor_status *reterr_status);

/* Appends an object (stored form) as protobuf. The kind has that form. 0, -COR_EINVAL with a
 * message (a value does not have the type of its field), -COR_ENOMEM, -COR_ETOOBIG. */
int cor_stored_form_to_protobuf(const struct cor_object *object, struct cor_buf *out,
                                struct cor_status *reterr_status);

/* Brings an object (stored form) that was read from storage into the form that a write would give
 * it now: normalised and with all defaults. Values that were written before the schema was followed
 * need this, and protobuf values, which have no room for some fields (the apiVersion and kind of a
 * StatefulSet's volumeClaimTemplates). 0: nothing was to be done, or the kind is not built in. 1:
 * `object` was replaced. -COR_ENOMEM, -COR_ETOOBIG, -COR_ECORRUPT (it is not an object of its
 * kind): `object` is as before. */
int cor_stored_form_renew(struct cor_object **object);

/* The same for an object of a custom resource: it becomes `kind` of `api_version`, and follows the
 * schema (NULL: there is none): unknown fields and nulls are dropped, defaults filled in, unless
 * these make it too large, which is noted in the schema (schema/kinds/custom_schema.h). */
int cor_stored_form_renew_custom(struct cor_custom_schema *schema, struct cor_str kind,
                                 struct cor_str api_version, struct cor_object **object);

/* Brings a value into `form`. 0: it has that form, or its kind has no other. 1: `ret_value` has it,
 * in `out`, which was empty. -COR_EINVAL with a message (it cannot be decoded), -COR_ENOMEM,
 * -COR_ETOOBIG. */
int cor_stored_form_convert(enum cor_stored_form form, struct cor_str value, struct cor_buf *out,
                            struct cor_str *ret_value, struct cor_status *reterr_status);

#endif
