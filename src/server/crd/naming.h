/* Decides which of the names that a CustomResourceDefinition asks for are accepted, and what its
 * conditions say about them (contract crd 2.2).
 * Thread: any (pure). */
#ifndef COR_SERVER_NAMING_H
#define COR_SERVER_NAMING_H

#include "base/str_set.h"
#include "schema/kinds/crd_object.h"

/* The names of a group are two pools: plural, singular and short names, and kinds and list kinds.
 */
enum cor_name_pool { COR_POOL_RESOURCES, COR_POOL_KINDS };

/* Returns whether `accepted`, the acceptedNames of a definition, contains this name in this pool.
 */
bool cor_names_have(struct cor_view accepted, enum cor_name_pool pool, struct cor_str name);

/* Adds all names of the pool of resources to a set, which borrows them: for callers that look for
 * many. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_names_add(struct cor_view accepted, struct cor_str_set *set);

struct cor_naming {
    struct cor_buf accepted;      /* the next status.acceptedNames, as JSON */
    struct cor_buf message;       /* of the condition NamesAccepted */
    struct cor_crd_change change; /* both conditions and the names; points into the two above */
};
void cor_naming_deinit(struct cor_naming *naming);

/* Judges the names. `is_used` tells whether a definition of the group, this one included, has the
 * name. 1: `ret_naming` has the change of the status; 0: nothing is to be changed. -COR_ENOMEM,
 * -COR_ETOOBIG. The caller deinits `ret_naming` in any case. */
int cor_naming_judge(const struct cor_crd *crd,
                     bool (*is_used)(void *arg, enum cor_name_pool pool, struct cor_str name),
                     void *arg, struct cor_naming *ret_naming);

#endif
