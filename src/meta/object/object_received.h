/* Objects as servers send them, at their own resourceVersion. Thread: any. */
#ifndef COR_META_OBJECT_OBJECT_RECEIVED_H
#define COR_META_OBJECT_OBJECT_RECEIVED_H

#include "base/str.h"
#include "meta/object/object.h"
#include "meta/status/status.h"
#include "json/text/scan.h"

/* In the received form where possible. `kind` and `api_version` are raw JSON texts that the object
 * gets when it has none (a list's items); empty: it is taken as it is. 0, -COR_ENOMEM,
 * -COR_ETOOBIG, -COR_EINVAL (no object, or a resourceVersion that is not a number: the message says
 * so). */
int cor_object_received(struct cor_str json, struct cor_str kind, struct cor_str api_version,
                        struct cor_object **ret_object, struct cor_status *reterr);

/* The same for bytes that are known to be JSON, with keys in this order. */
int cor_object_received_checked(struct cor_str json, enum cor_json_order order, struct cor_str kind,
                                struct cor_str api_version, struct cor_object **ret_object,
                                struct cor_status *reterr);

/* The same for an object that gets no type. */
int cor_object_from_checked(struct cor_str json, enum cor_json_order order,
                            struct cor_object **ret_object, struct cor_status *reterr);

/* The same in canonical form. */
int cor_object_canonical(struct cor_str json, struct cor_object **ret_object,
                         struct cor_status *reterr);

#endif
