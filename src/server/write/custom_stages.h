/* What the stages of a write do to objects of custom resources. A function returns 0, or a failure
 * in the call's status. Thread: the thread that has the call. */
#ifndef COR_SERVER_WRITE_CUSTOM_STAGES_H
#define COR_SERVER_WRITE_CUSTOM_STAGES_H

#include "meta/names/field_error.h"
#include "schema/structural/structural.h"
#include "server/write/write.h"

/* Are the bodies of the call objects of a custom resource? */
bool cor_write_is_custom(const struct cor_call *call);

/* For "decode": `*object` was parsed, and becomes what is left of it. */
int cor_write_decode_custom(struct cor_write *write, const struct cor_json_dups *dups,
                            struct cor_object **object);

/* For "decode", of bytes that are no object: refuses metadata of another type in upstream's words.
 */
int cor_custom_check_metadata(struct cor_write *write, struct cor_str json);

/* For "match": 422 for an object of another kind. */
int cor_custom_match_kind(struct cor_write *write);

/* For "mutate": 403 for a create while the definition is being deleted. */
int cor_custom_refuse_create(struct cor_write *write);

/* For "validate": adds what the schema of the request's version finds wrong. With COR_WORK_YIELD in
 * `errs` the stage runs again, on a thread. */
void cor_custom_validate(struct cor_write *write, struct cor_field_errors *errs);

/* For "validate", when nothing is wrong: warns of new finalizers that name no domain. */
int cor_custom_warn(struct cor_write *write);

/* For "default late": the object becomes what upstream reads when it has stored it; the schema of
 * the stored version has the last word. */
bool cor_custom_is_stored(const struct cor_write *write);
int cor_custom_to_stored(struct cor_write *write);

#endif
