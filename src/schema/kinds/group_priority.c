/* The table of priorities. A built-in group version that is served needs its row here, or
 * discovery does not list it. */
#include "schema/kinds/group_priority.h"

#include <stddef.h>

#include "base/cleanup.h"

static const struct {
    const char *group, *version;
    struct cor_group_priority priority;
} priorities[] = {
    {"", "v1", {18000, 1}},
    {"apps", "v1", {17800, 15}},
    {"events.k8s.io", "v1", {17750, 15}},
    {"authentication.k8s.io", "v1", {17700, 15}},
    {"authorization.k8s.io", "v1", {17600, 15}},
    {"autoscaling", "v2", {17500, 30}},
    {"autoscaling", "v1", {17500, 15}},
    {"batch", "v1", {17400, 15}},
    {"certificates.k8s.io", "v1", {17300, 15}},
    {"networking.k8s.io", "v1", {17200, 15}},
    {"policy", "v1", {17100, 15}},
    {"rbac.authorization.k8s.io", "v1", {17000, 15}},
    {"storage.k8s.io", "v1", {16800, 15}},
    {"admissionregistration.k8s.io", "v1", {16700, 15}},
    {"apiextensions.k8s.io", "v1", {16700, 15}},
    {"scheduling.k8s.io", "v1", {16600, 15}},
    {"coordination.k8s.io", "v1", {16500, 15}},
    {"node.k8s.io", "v1", {16300, 15}},
    {"discovery.k8s.io", "v1", {16200, 15}},
    {"resource.k8s.io", "v1", {16200, 21}},
    {"flowcontrol.apiserver.k8s.io", "v1", {16100, 21}},
};

bool cor_group_priority(struct cor_str group, struct cor_str version,
                        struct cor_group_priority *ret_priority)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(priorities); i++) {
        if (cor_str_eqz(group, priorities[i].group) &&
            cor_str_eqz(version, priorities[i].version)) {
            *ret_priority = priorities[i].priority;
            return true;
        }
    }
    return false;
}
