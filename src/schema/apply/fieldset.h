/* Sets of paths into an object: which fields a manager owns, which fields a request changed.
 *
 * A set is a tree of path elements. A node is a member when the path to it is in the set; a node
 * that is not a member has members below it. Siblings are linked in the order of FieldsV1
 * (path_element.h). The path of the whole object is never a member.
 *
 * Sets are immutable and live in an arena; the results of operations share nodes with their
 * operands, so all of them belong to arenas that live as long as the result. An operation whose
 * arena has failed, or whose work has ended, returns a set that must not be used; callers look at
 * `arena->error` once.
 * The work of every operation is linear in its operands. Recursion is bounded by the depth of JSON.
 * Thread: one at a time for an arena; any thread may read a set. */
#ifndef COR_SCHEMA_APPLY_FIELDSET_H
#define COR_SCHEMA_APPLY_FIELDSET_H

#include <stdbool.h>
#include <stddef.h>

#include "schema/apply/path_element.h"

struct cor_field_node {
    struct cor_path_element element;
    bool is_member;
    const struct cor_field_node *first; /* of its children */
    struct cor_field_node *next;        /* of its siblings */
};

struct cor_fieldset {
    const struct cor_field_node *first; /* NULL: the set is empty */
};

/* The children of a node while they are made. Children may come in any order and more than once;
 * cor_field_level_end() sorts them if they did not come in order. */
struct cor_field_level {
    struct cor_field_node *first, *last;
    bool is_unsorted;
};

/* Adds a node unless it would be empty: neither a member nor a parent. */
void cor_field_level_add(struct cor_arena *arena, struct cor_field_level *level,
                         const struct cor_path_element *element, bool is_member,
                         const struct cor_field_node *children);

/* The finished children. Of equal nodes one remains: it is a member if any of them was, and its
 * children are those of the last that had any, as upstream reads FieldsV1. */
const struct cor_field_node *cor_field_level_end(struct cor_field_level *level);

static inline bool cor_fieldset_is_empty(struct cor_fieldset set)
{
    return !set.first;
}

/* By exact paths: removing a parent leaves its children, and the other way round. */
struct cor_fieldset cor_fieldset_union(struct cor_arena *arena, struct cor_fieldset a,
                                       struct cor_fieldset b);
/* The union of all; the array is used up. The work is n log n in the size of all sets. */
struct cor_fieldset cor_fieldset_union_all(struct cor_arena *arena, struct cor_fieldset *sets,
                                           size_t n);
struct cor_fieldset cor_fieldset_intersection(struct cor_arena *arena, struct cor_fieldset a,
                                              struct cor_fieldset b);
struct cor_fieldset cor_fieldset_difference(struct cor_arena *arena, struct cor_fieldset a,
                                            struct cor_fieldset b);

/* A member of `b` takes everything below it out of `a`. */
struct cor_fieldset cor_fieldset_recursive_difference(struct cor_arena *arena,
                                                      struct cor_fieldset a, struct cor_fieldset b);

/* Have both sets a path in common? Allocates nothing. */
bool cor_fieldset_meets(struct cor_fieldset a, struct cor_fieldset b);

/* The node of an element among siblings; NULL: there is none. Linear in the siblings. */
const struct cor_field_node *cor_field_find(const struct cor_field_node *first,
                                            const struct cor_path_element *element);

/* A path while it is walked; `up` is NULL at the first element. */
struct cor_path {
    const struct cor_path *up;
    const struct cor_path_element *element;
};

/* Calls `on_member` for each member: at every level the members first, then what is below each
 * child, in order. A return value other than 0 ends the walk and is returned. */
int cor_fieldset_each(struct cor_fieldset set,
                      int (*on_member)(void *arg, const struct cor_path *path), void *arg);

/* Appends a path as messages show it. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_path_print(const struct cor_path *path, struct cor_buf *out);

/* Reads FieldsV1, which is valid JSON; the set borrows from the bytes. 0, -COR_EINVAL (upstream
 * cannot decode it either), -COR_ENOMEM, -COR_ETOOBIG, COR_WORK_YIELD. */
int cor_fieldset_read(struct cor_arena *arena, struct cor_str fields_v1,
                      struct cor_fieldset *ret_set);

/* Appends FieldsV1 with upstream's bytes. 0, -COR_ENOMEM, -COR_ETOOBIG; `out` is as before on
 * failure. */
int cor_fieldset_write(struct cor_fieldset set, struct cor_buf *out);

#endif
