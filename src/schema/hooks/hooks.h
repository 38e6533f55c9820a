/* All hooks of validation, joined from one header per family so that families can grow side by side
 * (docs/internals/validate.md).
 * Thread: any (they work on the check that they are given). */
#ifndef COR_SCHEMA_HOOKS_H
#define COR_SCHEMA_HOOKS_H

#include "schema/check/check.h"
#include "schema/hooks/check_admission.h"
#include "schema/hooks/check_autoscaling.h"
#include "schema/hooks/check_batch.h"
#include "schema/hooks/check_certificates.h"
#include "schema/hooks/check_cluster.h"
#include "schema/hooks/check_config.h"
#include "schema/hooks/check_container.h"
#include "schema/hooks/check_crd.h"
#include "schema/hooks/check_discovery.h"
#include "schema/hooks/check_flowcontrol.h"
#include "schema/hooks/check_meta.h"
#include "schema/hooks/check_networking.h"
#include "schema/hooks/check_pod.h"
#include "schema/hooks/check_pod_update.h"
#include "schema/hooks/check_pod_volumes.h"
#include "schema/hooks/check_policy.h"
#include "schema/hooks/check_rbac.h"
#include "schema/hooks/check_registration.h"
#include "schema/hooks/check_resource.h"
#include "schema/hooks/check_scheduling.h"
#include "schema/hooks/check_service.h"
#include "schema/hooks/check_storage.h"
#include "schema/hooks/check_warnings.h"
#include "schema/hooks/check_workloads.h"

/* clang-format off */
#define COR_CHECK_HOOKS(X)                                                                         \
    COR_META_HOOKS(X) \
    COR_POD_HOOKS(X) \
    COR_CONTAINER_HOOKS(X) \
    COR_POD_VOLUMES_HOOKS(X) \
    COR_POD_UPDATE_HOOKS(X) \
    COR_WORKLOADS_HOOKS(X) \
    COR_BATCH_HOOKS(X) \
    COR_SERVICE_HOOKS(X) \
    COR_DISCOVERY_HOOKS(X) \
    COR_NETWORKING_HOOKS(X) \
    COR_STORAGE_HOOKS(X) \
    COR_CONFIG_HOOKS(X) \
    COR_CLUSTER_HOOKS(X) \
    COR_POLICY_HOOKS(X) \
    COR_AUTOSCALING_HOOKS(X) \
    COR_RBAC_HOOKS(X) \
    COR_SCHEDULING_HOOKS(X) \
    COR_REGISTRATION_HOOKS(X) \
    COR_CRD_HOOKS(X) \
    COR_ADMISSION_HOOKS(X) \
    COR_CERTIFICATES_HOOKS(X) \
    COR_FLOWCONTROL_HOOKS(X) \
    COR_RESOURCE_HOOKS(X) \
    COR_WARNINGS_HOOKS(X)
#define COR_CHECK_WHENS(X)                                                                         \
    COR_META_WHENS(X) \
    COR_POD_WHENS(X) \
    COR_CONTAINER_WHENS(X) \
    COR_POD_VOLUMES_WHENS(X) \
    COR_POD_UPDATE_WHENS(X) \
    COR_WORKLOADS_WHENS(X) \
    COR_BATCH_WHENS(X) \
    COR_SERVICE_WHENS(X) \
    COR_DISCOVERY_WHENS(X) \
    COR_NETWORKING_WHENS(X) \
    COR_STORAGE_WHENS(X) \
    COR_CONFIG_WHENS(X) \
    COR_CLUSTER_WHENS(X) \
    COR_POLICY_WHENS(X) \
    COR_AUTOSCALING_WHENS(X) \
    COR_RBAC_WHENS(X) \
    COR_SCHEDULING_WHENS(X) \
    COR_REGISTRATION_WHENS(X) \
    COR_CRD_WHENS(X) \
    COR_ADMISSION_WHENS(X) \
    COR_CERTIFICATES_WHENS(X) \
    COR_FLOWCONTROL_WHENS(X) \
    COR_RESOURCE_WHENS(X) \
    COR_WARNINGS_WHENS(X)
/* clang-format on */

enum cor_hook {
    COR_HOOK_none,
#define X(name) COR_HOOK_##name,
    COR_CHECK_HOOKS(X)
#undef X
};

enum cor_when {
    COR_WHEN_none,
#define X(name) COR_WHEN_##name,
    COR_CHECK_WHENS(X)
#undef X
};

/* A hook adds what is wrong at the `place` and below it; `arg` is the text that the rule file
 * gives, or "". The place may be absent. */
#define COR_HOOK(name)                                                                             \
    void cor_hook_##name(__attribute__((unused)) struct cor_check *check,                          \
                         __attribute__((unused)) const struct cor_place *place,                    \
                         __attribute__((unused)) struct cor_str arg)
/* Does the condition hold at the place? */
#define COR_WHEN(name)                                                                             \
    bool cor_when_##name(__attribute__((unused)) struct cor_check *check,                          \
                         __attribute__((unused)) const struct cor_place *place,                    \
                         __attribute__((unused)) struct cor_str arg)

#define X(name) COR_HOOK(name);
COR_CHECK_HOOKS(X)
#undef X

#define X(name) COR_WHEN(name);
COR_CHECK_WHENS(X)
#undef X

void cor_hook_run(enum cor_hook hook, struct cor_check *check, const struct cor_place *place,
                  struct cor_str arg);
bool cor_when_run(enum cor_when test, struct cor_check *check, const struct cor_place *place,
                  struct cor_str arg);

#endif
