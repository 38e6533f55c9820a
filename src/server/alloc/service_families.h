/* The IP families of a Service, determined by its fields and by the ranges of the cluster.
 * Thread: any (pure). */
#ifndef COR_SERVER_SERVICE_FAMILIES_H
#define COR_SERVER_SERVICE_FAMILIES_H

#include "meta/names/field_error.h"
#include "server/alloc/service_fields.h"
#include "server/alloc/service_plan.h"

#define COR_SINGLE_STACK COR_STR("SingleStack")
#define COR_PREFER_DUAL  COR_STR("PreferDualStack")
#define COR_REQUIRE_DUAL COR_STR("RequireDualStack")

/* Checks and fills in the policy and the families; shortens lists that a change to SingleStack
 * leaves as they were. `old`: the stored Service, complete; NULL: the Service is created. 0;
 * -COR_EINVALID: the errors say why; -COR_ENOMEM. */
int cor_service_plan_families(struct cor_service *service, const struct cor_service *old,
                              const struct cor_service_cluster *cluster,
                              struct cor_field_errors *errs);

/* A PreferDualStack Service whose fields stay as they are: it is left alone, whatever the cluster
 * has become. */
bool cor_service_is_unchanged_preference(const struct cor_service *service,
                                         const struct cor_service *old);

/* Adds an error at spec.clusterIPs[index] (SIZE_MAX: without an index), with the list as its value.
 */
void cor_service_add_ips_error(struct cor_field_errors *errs, const struct cor_service *service,
                               size_t index, const char *detail);

#endif
