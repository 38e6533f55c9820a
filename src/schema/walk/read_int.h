/* What the files of the read walk share. */
#ifndef COR_SCHEMA_WALK_READ_INT_H
#define COR_SCHEMA_WALK_READ_INT_H

#include "schema/walk/read.h"

/* One step of the way from the outermost value to the present one. Steps are on the stack of the
 * walk, each pointing to the one before. */
struct cor_read_place {
    struct cor_read_place *up;    /* NULL: the step leads into the outermost value */
    const struct cor_type *owner; /* the struct that has the field; NULL: a key or an element */
    struct cor_str name;          /* of the field, or of a map's key as JSON has it */
    size_t index;                 /* of an element, which has no name: name.p is NULL */
    uint64_t hash;                /* of the way up to here; 0: not computed yet */
    size_t path_bytes;            /* of the path's text in quotes; computed with the hash */
};

/* The place of a member among those of the type, by its key as JSON has it; SIZE_MAX: the type does
 * not have the member. */
size_t cor_read_find_member(const struct cor_type *type, struct cor_str raw_key);

/* Adds a finding about the member `raw_key` of the object at `at` (NULL: the outermost one), unless
 * the report has it already or is full. `scratch` is for texts without escapes. 0, -COR_ENOMEM. */
int cor_read_report_find(struct cor_read_report *report, const char *what,
                         struct cor_read_place *at, struct cor_str raw_key,
                         struct cor_buf *scratch);

/* Is the text, whose escapes were decoded, a time in the layout of metav1.Time or metav1.MicroTime?
 * Appends what Go says of another text to `why`, unless that is NULL. 0, -COR_EINVAL, -COR_ENOMEM
 * (no room for the words). */
int cor_read_time(struct cor_str text, bool is_micro, struct cor_buf *why);

#endif
