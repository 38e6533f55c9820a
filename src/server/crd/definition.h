/* A CustomResourceDefinition as the server serves it: the rows of its versions, made from one state
 * of the object and immutable from then on, except for the mark of its deletion. Another state of
 * its spec or its accepted names makes another definition, which takes the place of this one in the
 * next snapshot.
 *
 * The rows share one life (schema/kinds/resource_row.h): a definition is freed with the last
 * reference to any of its rows, on whatever thread that is. Thread: any; the first loop of the API
 * marks it.  Owner: whoever holds a reference to a row. */
#ifndef COR_SERVER_DEFINITION_H
#define COR_SERVER_DEFINITION_H

#include "base/limits.h"
#include "schema/kinds/crd_versions.h"
#include "schema/kinds/custom_row.h"
#include "schema/kinds/resource_row.h"

struct cor_definition;

/* Numbers for the life of rows, beginning after those of the built-in resources. */
struct cor_places {
    _Atomic uint64_t taken[COR_DEFINITIONS_MAX / 64];
};

/* Makes the definition of `object`, whose texts are `crd` and `versions`, which are sorted, and
 * whose names are accepted: they come from status.acceptedNames, all else from the spec. The caller
 * owns the reference of row 0. `places` must outlive the definition; `gate` is that of the object,
 * and is closed when it is being deleted. 0, -COR_ENOMEM, -COR_ETOOBIG (COR_DEFINITIONS_MAX),
 * -COR_EINVAL (it has no version that is stored, no accepted names, or the keys of a built-in
 * resource). */
int cor_definition_new(struct cor_object *object, const struct cor_crd *crd,
                       struct cor_crd_versions *versions, struct cor_places *places,
                       struct cor_creation_gate *gate, struct cor_definition **ret_definition);

/* The rows, best version first. Those are hidden whose version is not served, or is a version of a
 * built-in group, which is reached by built-in resources alone (contract crd 1.3.15). At least one.
 */
size_t cor_definition_n(const struct cor_definition *definition);
const struct cor_resource_row *cor_definition_row(const struct cor_definition *definition,
                                                  size_t i);
/* The row of the version that is stored. */
const struct cor_resource_row *cor_definition_stored(const struct cor_definition *definition);

/* Gives the definition its watch cache, before any row is published. */
void cor_definition_set_cache(struct cor_definition *definition, struct cor_custom_cache *cache);

/* May its objects be read, or has the last attempt to fill its watch cache failed? */
bool cor_definition_is_settled(const struct cor_definition *definition);

/* No loop serves it from this generation of the catalog on, and its watches end when they have
 * delivered everything up to the store's revision `rev`. */
void cor_definition_retire(struct cor_definition *definition, uint64_t generation, cor_rev rev);

/* Would `crd` make the same definition? Its deletion makes another one only where no version is
 * served: then its stored version is shown while its instances are deleted. */
bool cor_definition_is_of(const struct cor_definition *definition, const struct cor_crd *crd);

#endif
