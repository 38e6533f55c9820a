/* Semantic equality of two values of a built-in type, as upstream compares what must not change:
 * nil and empty lists and maps are equal, quantities by value, times by instant; a nil pointer and
 * a pointer to zero are two things.
 * Thread: any.  The work is linear in both texts. */
#ifndef COR_SCHEMA_WALK_EQUAL_H
#define COR_SCHEMA_WALK_EQUAL_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/types/types.h"
#include "json/text/nodes.h"

/* Are the value at node `a` of one text and at node `b` of the other equal? COR_JSON_NO_NODE is a
 * value that is absent. `is_pointer` is of the field that holds them. Both are canonical; `skip`
 * has a bit for each member of the outermost struct that is not compared. */
bool cor_semantic_equal(const struct cor_type *type, bool is_pointer,
                        const struct cor_json_nodes *a_nodes, uint32_t a,
                        const struct cor_json_nodes *b_nodes, uint32_t b, uint64_t skip);

/* The same of two canonical texts; p == NULL: absent. `type` NULL: they are compared as bytes. 0,
 * -COR_ENOMEM. */
int cor_equal(const struct cor_type *type, struct cor_str a, struct cor_str b, bool *ret_is_equal);

/* Has the value an empty list or map in it? `json` is canonical, as it was sent: an object in
 * normal form has none. */
bool cor_has_empty(const struct cor_type *type, struct cor_str json);

#endif
