/* What the files of managers share. */
#ifndef COR_SCHEMA_APPLY_MANAGERS_INT_H
#define COR_SCHEMA_APPLY_MANAGERS_INT_H

#include "schema/apply/managers.h"

/* Do both name the same manager: name, operation, subresource, and of updates the version? */
bool cor_manager_is_same(const struct cor_manager *a, const struct cor_manager *b);

/* The text by which upstream sorts managers, in the arena; p == NULL: the arena has failed. */
struct cor_str cor_manager_identifier(struct cor_arena *arena, const struct cor_manager *manager);

/* The entry of the same manager; NULL: there is none. */
struct cor_manager *cor_managers_find(struct cor_managers *managers,
                                      const struct cor_manager *manager);

/* Replaces the entry of the same manager, or adds one. 0 or the arena's error. */
int cor_managers_put(struct cor_arena *arena, struct cor_managers *managers,
                     const struct cor_manager *manager);

void cor_managers_drop(struct cor_managers *managers, size_t i);

/* Joins the oldest entries of updates while there are too many. 0 or the arena's error. */
int cor_managers_cap(struct cor_arena *arena, struct cor_managers *managers);

#endif
