/* Names of resources that containers, quotas and nodes count ("cpu", "hugepages-2Mi",
 * "example.com/gpu"), and the rules for their quantities.
 * Thread: any (pure). */
#ifndef COR_SCHEMA_FORMAT_RESOURCE_NAME_H
#define COR_SCHEMA_FORMAT_RESOURCE_NAME_H

#include <stdbool.h>

#include "base/str.h"
#include "meta/names/field_error.h"

/* Known to the system; to quotas; to containers. */
bool cor_resource_is_standard(struct cor_str name);
bool cor_resource_is_for_quota(struct cor_str name);
bool cor_resource_is_for_containers(struct cor_str name);

bool cor_resource_is_hugepages(struct cor_str name);

/* Without a domain, or with one that ends in `kubernetes.io`. */
bool cor_resource_is_native(struct cor_str name);

/* Not native, not `requests.…`, and a qualified name even with `requests.` before it. */
bool cor_resource_is_extended(struct cor_str name);

/* Is the resource counted in whole numbers? */
bool cor_resource_is_integer(struct cor_str name);

/* May a limit be more than its request? */
bool cor_resource_may_overcommit(struct cor_str name);

/* Is the quantity a whole number of the pages that a `hugepages-<size>` names? False when the size
 * is not a quantity, not positive or not whole. */
bool cor_resource_fills_pages(struct cor_str name, struct cor_str quantity);

/* Adds what is wrong with a quantity of that resource: negative, or not whole although the
 * resource is counted in whole numbers. `quantity` is canonical. */
void cor_resource_add_quantity(struct cor_str name, struct cor_str quantity,
                               const struct cor_field_path *path, struct cor_field_errors *errs);

#endif
