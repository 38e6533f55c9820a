/* Which resource holds the namespaces, and which namespaces belong to the cluster itself. */
#include "server/strategy/namespaces.h"

bool cor_is_namespaces(const struct cor_resource_row *resource)
{
    return resource->group.n == 0 && cor_str_eq(resource->plural, COR_STR("namespaces"));
}

bool cor_namespace_is_immortal(struct cor_str name)
{
    return cor_str_eqz(name, "default") || cor_str_eqz(name, "kube-system") ||
           cor_str_eqz(name, "kube-public");
}
