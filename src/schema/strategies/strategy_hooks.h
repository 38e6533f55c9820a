/* The hooks of strategies: what no line of api/all.strategies can say. Each is a function in
 * src/schema/strategies/ that a line names at a member of the object or of its metadata;
 * tools/compile_strategies.py reads the names here.
 * Thread: any (pure). */
#ifndef COR_SCHEMA_STRATEGIES_STRATEGY_HOOKS_H
#define COR_SCHEMA_STRATEGIES_STRATEGY_HOOKS_H

#include "base/buf.h"
#include "schema/types/strategy.h"

/* clang-format off */
#define COR_STRATEGY_HOOKS(X)                                                                      \
    X(pod_birth)          /* Pod, status: phase, QoS class, condition of a gated pod */            \
    X(pod_scheduling)     /* Pod, spec: matchLabelKeys go into label selectors */                  \
    X(pod_app_armor)      /* Pod, spec: profiles from annotations used before 1.30 */              \
    X(pod_status)         /* Pod, status: QoS class and observed generation stay */                \
    X(pod_ephemeral_containers) /* Pod, spec: the old one with the sent ephemeral containers */    \
    X(pod_resize)         /* Pod, spec: the old one with the sent resources */                     \
    X(service_status)     /* Service, status: only a load balancer has one */                      \
    X(namespace_finalizer) /* Namespace, spec: has the finalizer "kubernetes" */                   \
    X(namespace_name)     /* Namespace, labels: one is its name */                                 \
    X(volume_birth)       /* PersistentVolume, status: phase Pending since now */                  \
    X(volume_phase_time)  /* PersistentVolume, status: when the phase changed */                   \
    X(claim_sources)      /* PersistentVolumeClaim, spec: dataSource and dataSourceRef agree */    \
    X(secret_names)       /* ServiceAccount, secrets: nothing but names */                         \
    X(template_generation) /* DaemonSet, annotations: counts changes of the template */            \
    X(job_selector)       /* Job, spec: generated selector and labels */                           \
    X(endpoint_topology)  /* EndpointSlice, endpoints: no deprecatedTopology */                    \
    X(requester)          /* CertificateSigningRequest, spec: who sent it */                       \
    X(decided_conditions) /* CertificateSigningRequest, status: Approved and Denied stay */        \
    X(approval)           /* CertificateSigningRequest, status: only conditions are taken */       \
    X(condition_times)    /* CertificateSigningRequest, status: conditions have times */           \
    X(stored_version)     /* CustomResourceDefinition, status: storedVersions has the current */   \
    X(local_api_service)  /* APIService, status: one of this server is available */                \
    X(allocated_devices)  /* ResourceClaim, status: devices are those that are allocated */
/* clang-format on */

enum cor_strategy_hook {
    COR_STRATEGY_HOOK_none,
#define X(name) COR_STRATEGY_HOOK_##name,
    COR_STRATEGY_HOOKS(X)
#undef X
        COR_STRATEGY_HOOK_COUNT
};

/* What a hook may look at besides its member. */
struct cor_prepare {
    enum cor_strategy_on on;
    const struct cor_type *type; /* of the object */
    struct cor_str object;       /* what was sent; canonical */
    struct cor_str spec;         /* of `object`; p == NULL: it has none */
    struct cor_str old;          /* the present object; p == NULL: a create */
    struct cor_str name, uid;    /* JSON strings of what will be stored */
    int64_t now_s;
    struct cor_str
        sender; /* who sent the object, as UserInfo; p == NULL: the strategy needs none */
    /* A warning for the client. 0, -COR_ENOMEM. */
    int (*warn)(void *arg, struct cor_str text);
    void *arg; /* of `warn` */
};

/* Makes the member from `value`, what the steps before have made of it (p == NULL: absent). 1: it
 * was appended to `out`; 0: it stays; -COR_ENOMEM, -COR_ETOOBIG. */
int cor_strategy_hook_run(enum cor_strategy_hook hook, const struct cor_prepare *prepare,
                          struct cor_str value, struct cor_buf *out);

#define X(name)                                                                                    \
    int cor_strategy_##name(const struct cor_prepare *prepare, struct cor_str value,               \
                            struct cor_buf *out);
COR_STRATEGY_HOOKS(X)
#undef X

#endif
