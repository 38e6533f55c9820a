/* The fields that objects of a custom resource can be selected by: their name, their namespace, and
 * the selectableFields of a version (contract crd 4.13.1, 4.13.2).
 * Owner: the row of the version (schema/custom_row.h).  Thread: any (immutable). */
#ifndef COR_SCHEMA_CUSTOM_FIELDS_H
#define COR_SCHEMA_CUSTOM_FIELDS_H

#include <stdbool.h>

#include "meta/field_selector.h"

/* The table of `list`, the selectableFields of a version as canonical JSON, whose p may be NULL, in
 * one block that cor_free() frees. The selectable fields are its last ones. 0, -COR_ENOMEM. */
int cor_custom_fields_new(struct cor_str list, bool is_namespaced,
                          struct cor_field_labels **ret_labels);

/* The field that watchers are indexed by: the first selectable one; NULL: there is none, or it has
 * a name that a path would have to quote. */
const char *cor_custom_fields_trigger(const struct cor_field_labels *labels, bool is_namespaced);

#endif
