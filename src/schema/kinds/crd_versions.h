/* The versions of a CustomResourceDefinition, found in the same walk over its text that finds its
 * spec and its status: nearly all of the text are their schemas.
 * Thread: any (pure). */
#ifndef COR_SCHEMA_KINDS_CRD_VERSIONS_H
#define COR_SCHEMA_KINDS_CRD_VERSIONS_H

#include "schema/kinds/crd_object.h"

/* What is read of a member of spec.versions, in the order of its keys. */
enum cor_crd_member {
    COR_CRD_COLUMNS,
    COR_CRD_DEPRECATED,
    COR_CRD_WARNING,
    COR_CRD_NAME,
    COR_CRD_SCHEMA,
    COR_CRD_FIELDS,
    COR_CRD_SERVED,
    COR_CRD_STORAGE,
    COR_CRD_SUBRESOURCES,
    COR_CRD_MEMBERS,
};

/* A member of spec.versions; texts in the bytes of the object. */
struct cor_crd_version {
    struct cor_str json;
    struct cor_str members[COR_CRD_MEMBERS]; /* p NULL: absent */
};

/* In the order of the object. Zeroed: none. */
struct cor_crd_versions {
    struct cor_crd_version *v; /* n used */
    size_t n, cap;
};

/* Does what cor_crd_of() does, and adds the versions to `versions`, which is empty. 0; -COR_ENOMEM:
 * `versions` holds some of them. */
int cor_crd_read(const struct cor_object *object, struct cor_crd *ret_crd,
                 struct cor_crd_versions *versions);
void cor_crd_versions_deinit(struct cor_crd_versions *versions);

struct cor_str cor_crd_version_name(const struct cor_crd_version *version);
/* Is the member there, and true? */
bool cor_crd_version_is(const struct cor_crd_version *version, enum cor_crd_member member);

#endif
