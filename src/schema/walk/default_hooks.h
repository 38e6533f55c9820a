/* The hooks of defaults: what no line of an overlay can say. Each is a function in default_hooks.c
 * that an overlay names at a field; tools/compile_rules.py reads the names here.
 * Thread: any.  A hook changes nothing but the value and what is below it. */
#ifndef COR_SCHEMA_WALK_DEFAULT_HOOKS_H
#define COR_SCHEMA_WALK_DEFAULT_HOOKS_H

#include "schema/walk/draft.h"

/* clang-format off */
#define COR_DEFAULT_HOOKS(X)                                                                       \
    X(round_up)              /* ResourceList: no quantity is finer than a thousandth */            \
    X(image_pull_policy)     /* Container: Always for the tag "latest", else IfNotPresent */       \
    X(volume_source)         /* Volume: emptyDir when no source is set */                          \
    X(pod_requests)          /* PodSpec: requests from limits (pod_resources.h) */                 \
    X(pod_host_ports)        /* PodSpec: the ports of the host are those of the containers */      \
    X(load_balancer_ip_mode) /* LoadBalancerStatus: VIP for an ingress with an address */          \
    X(namespace_label)       /* Namespace: the label with its name */                              \
    X(limit_range)           /* LimitRangeItem: default and defaultRequest from max and min */     \
    X(resource_names)        /* CustomResourceDefinitionNames: singular and listKind from kind */  \
    X(stored_versions)       /* CustomResourceDefinition: status.storedVersions of a new one */    \
    X(time_added)            /* DeviceTaint: now, in seconds */                                    \
    X(grace_period)          /* PodSpec: a negative terminationGracePeriodSeconds is 1 */          \
    X(init_container_annotations) /* ObjectMeta: annotations used before 1.8 are dropped */        \
    X(pod_ips)               /* PodStatus: podIP is the first of podIPs, or the only one */        \
    X(pod_cidrs)             /* NodeSpec: podCIDR is the first of podCIDRs, or the only one */     \
    X(claim_kinds)           /* []PersistentVolumeClaim: each says what it is */                   \
    X(generation_annotation) /* ObjectMeta of a DaemonSet: its template's generation is 0 */
/* clang-format on */

enum cor_default_hook {
    COR_DEFAULT_HOOK_none,
#define X(name) COR_DEFAULT_HOOK_##name,
    COR_DEFAULT_HOOKS(X)
#undef X
        COR_DEFAULT_HOOK_COUNT
};

/* Calls a hook for a value that is there and is not null. */
void cor_default_hook_run(enum cor_default_hook hook, struct cor_draft *draft,
                          struct cor_draft_value *value);

#endif
