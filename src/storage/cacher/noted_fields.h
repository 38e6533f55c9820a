/* Which fields of a resource's objects have notes (meta/select/field_notes.h): the first eight that
 * somebody selects by. A field keeps its place as long as the cache lives, and means the same in
 * all versions of the resource.
 * Thread: any, with the watch cache's lock held.  Owner: its watch cache. */
#ifndef COR_STORAGE_CACHER_NOTED_FIELDS_H
#define COR_STORAGE_CACHER_NOTED_FIELDS_H

#include "meta/select/predicate.h"

struct cor_noted_fields {
    size_t n;
    struct cor_str names[COR_FIELD_NOTES_MAX]; /* copies */
};

void cor_noted_fields_deinit(struct cor_noted_fields *fields); /* all zero is fine */

/* The places of the predicate's fields; new ones get one while there are any. A field without a
 * place, also for lack of memory, is read each time. */
void cor_noted_fields_place(struct cor_noted_fields *fields, const struct cor_predicate *predicate,
                            struct cor_field_places *ret_places);

#endif
