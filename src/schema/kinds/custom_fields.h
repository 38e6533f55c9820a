/* The fields that objects of a custom resource can be selected by: their name, their namespace, and
 * the selectableFields of a version (contract crd 4.13.1, 4.13.2).
 * Owner: the row of the version (schema/kinds/custom_row.h).  Thread: any (immutable). */
#ifndef COR_SCHEMA_KINDS_CUSTOM_FIELDS_H
#define COR_SCHEMA_KINDS_CUSTOM_FIELDS_H

#include <stdbool.h>

#include "meta/select/field_selector.h"

/* The table of `list`, the selectableFields of a version as canonical JSON, whose p may be NULL, in
 * one block that cor_free() frees. The selectable fields are its last ones. 0, -COR_ENOMEM. */
int cor_custom_fields_new(struct cor_str list, bool is_namespaced,
                          struct cor_field_labels **ret_labels);

/* A version may have no more selectable fields. */
#define COR_CUSTOM_FIELDS_MAX 8

/* The fields that watches and lists are indexed by, with NULL after the last: the selectable ones,
 * except for those with names that a path would have to quote. Their texts belong to `labels`. */
void cor_custom_fields_triggers(const struct cor_field_labels *labels, bool is_namespaced,
                                const char *ret_fields[COR_CUSTOM_FIELDS_MAX + 1]);

#endif
