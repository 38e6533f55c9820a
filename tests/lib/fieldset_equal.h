/* Have two sets of fields the same members? For tests of what sets are made of. */
#ifndef COR_TEST_FIELDSET_EQUAL_H
#define COR_TEST_FIELDSET_EQUAL_H

#include <stdbool.h>

#include "schema/apply/fieldset.h"

static inline bool field_nodes_equal(const struct cor_field_node *a, const struct cor_field_node *b)
{
    for (; a && b && a != b; a = a->next, b = b->next) {
        if (a->is_member != b->is_member || cor_path_element_cmp(&a->element, &b->element) != 0 ||
            !field_nodes_equal(a->first, b->first))
            return false;
    }
    return a == b;
}

static inline bool fieldsets_equal(struct cor_fieldset a, struct cor_fieldset b)
{
    return field_nodes_equal(a.first, b.first);
}

#endif
