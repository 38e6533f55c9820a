/* What several controllers inside the server ask of objects, answers and events.
 * Thread: any (pure). */
#ifndef COR_SERVER_CONTROLLERS_HOST_CONTROLLER_TOOLS_H
#define COR_SERVER_CONTROLLERS_HOST_CONTROLLER_TOOLS_H

#include <stdbool.h>

#include "base/buf.h"
#include "kit/controller/control_event.h"
#include "kit/controller/control_source.h"
#include "meta/object/object.h"
#include "meta/status/gvk.h"
#include "meta/status/status.h"

/* Is status.phase of the Namespace `Active`? */
bool cor_is_namespace_active(const struct cor_object *ns);

/* Returns whether the write was refused because its namespace is being deleted: details.causes has
 * the reason `NamespaceTerminating`. */
bool cor_is_namespace_terminating(const struct cor_status *error);

/* The key of a resource in a map replaces what `key` has. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_gvr_key(const struct cor_gvr *gvr, struct cor_buf *key);
/* Copies the texts of `gvr` into a block, which the caller frees, and points `gvr` there; `ret_key`
 * is their key, in the block. 0, -COR_ENOMEM. */
int cor_gvr_keep(struct cor_gvr *gvr, char **ret_block, struct cor_str *ret_key);

/* For `passes` of a predicate; they have no argument. */
bool cor_control_is_deletion(const void *arg, const struct cor_control_event *event);
bool cor_control_is_no_deletion(const void *arg, const struct cor_control_event *event);

/* For `map` of a source: the key is the object's namespace. */
void cor_map_to_namespace(void *arg, const struct cor_object *object,
                          struct cor_control_keys *keys);

#endif
