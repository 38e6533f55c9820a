/* Owner references of generated structs, by the rules of controllerutil as coracle/metadata.h has
 * them for builders.
 *
 *   cor_apps_v1_deployment_own_init(&web);
 *   web.metadata.name = COR_STR("web");
 *   web.metadata.namespace_ = cor_object_namespace(site);
 *   r = cor_own_set_controller(pool, &web.metadata, site);
 *
 * Texts of the owner are borrowed: it outlives the struct. Thread: one at a time. */
#ifndef CORACLE_TYPES_OWNER_H
#define CORACLE_TYPES_OWNER_H

#include <stddef.h>

#include "coracle/err.h"
#include "coracle/object.h"
#include "coracle/types/meta_v1_structs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The group of an apiVersion: "" of "v1". */
static inline struct cor_str cor_own_group_of(struct cor_str api_version)
{
    for (size_t i = api_version.n; i > 0; i--) {
        if (api_version.p[i - 1] == '/')
            return cor_str(api_version.p, i - 1);
    }
    return cor_str("", 0);
}

/* Makes `owner` the controlling owner, with controller and blockOwnerDeletion true. An entry with
 * its group, kind and name is replaced where it is. 0; -COR_EINVAL: the owner has no apiVersion,
 * kind, name or uid, or it has a namespace that is not the one of `metadata`, which is set before
 * this; -COR_EPRECONDITION: another owner is the controller already; -COR_ENOMEM, -COR_ETOOBIG. */
static inline int cor_own_set_controller(struct cor_pool *pool,
                                         struct cor_meta_v1_object_meta_own *metadata,
                                         const struct cor_object *owner)
{
    struct cor_meta_v1_owner_reference_own *entry = NULL;
    struct cor_str ns = cor_object_namespace(owner);
    struct cor_str version = cor_object_api_version(owner);

    if (version.n == 0 || cor_object_kind(owner).n == 0 || cor_object_name(owner).n == 0 ||
        cor_object_uid(owner).n == 0 || (ns.n > 0 && !cor_str_eq(ns, metadata->namespace_)))
        return -COR_EINVAL;
    for (size_t i = 0; i < metadata->owner_references.n; i++) {
        struct cor_meta_v1_owner_reference_own *ref = &metadata->owner_references.p[i];

        if (cor_str_eq(cor_own_group_of(ref->api_version), cor_own_group_of(version)) &&
            cor_str_eq(ref->kind, cor_object_kind(owner)) &&
            cor_str_eq(ref->name, cor_object_name(owner)))
            entry = ref;
        else if (ref->controller.value)
            return -COR_EPRECONDITION;
    }
    if (!entry)
        entry = cor_meta_v1_owner_reference_own_list_add(pool, &metadata->owner_references);
    if (!entry)
        return cor_pool_error(pool);
    cor_meta_v1_owner_reference_own_init(entry);
    entry->api_version = version;
    entry->kind = cor_object_kind(owner);
    entry->name = cor_object_name(owner);
    entry->uid = cor_object_uid(owner);
    entry->controller = cor_opt_bool(true);
    entry->block_owner_deletion = cor_opt_bool(true);
    return 0;
}

#ifdef __cplusplus
}
#endif

#endif
