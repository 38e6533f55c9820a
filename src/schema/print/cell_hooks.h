/* The hooks of cells: what no line of api/all.columns can say. Each is a function of
 * a cell_*.c beside this that a column names, and that writes one cell (pod_completed: the
 * conditions of a row); tools/compile_columns.py reads the names here. Thread: any (pure). */
#ifndef COR_SCHEMA_PRINT_CELL_HOOKS_H
#define COR_SCHEMA_PRINT_CELL_HOOKS_H

#include "schema/print/cells.h"

/* clang-format off */
#define COR_CELL_HOOKS(X)                                                                          \
    X(pod_completed)       /* Pod: the condition of a row whose pod has ended */                   \
    X(pod_ready)           /* Pod: "1/2", containers that are ready */                             \
    X(pod_status)          /* Pod: phase, or why a container does not run */                       \
    X(pod_restarts)        /* Pod: "3 (5m ago)" */                                                 \
    X(pod_ip)              /* Pod: the first of its addresses */                                   \
    X(pod_gates)           /* Pod: "1/2", readiness gates that are open */                         \
    X(service_cluster_ip)  /* Service: the first of its addresses */                               \
    X(service_external_ip) /* Service: external addresses, load balancer, external name */         \
    X(service_ports)       /* Service: "80:30080/TCP,443/TCP" */                                   \
    X(endpoints)           /* Endpoints: "10.0.0.1:80,10.0.0.2:80 + 3 more..." */                  \
    X(slice_ports)         /* EndpointSlice: ports, or their names */                              \
    X(slice_endpoints)     /* EndpointSlice: addresses */                                          \
    X(ingress_hosts)       /* Ingress: the hosts of its rules */                                   \
    X(ingress_addresses)   /* Ingress: the addresses of its load balancer */                       \
    X(ingress_ports)       /* Ingress: "80" or "80, 443" */                                        \
    X(ingress_parameters)  /* IngressClass: "Kind.group/name" */                                   \
    X(address_parent)      /* IPAddress: "services/namespace/name" */                              \
    X(node_status)         /* Node: "Ready,SchedulingDisabled" */                                  \
    X(node_roles)          /* Node: roles of its labels */                                         \
    X(node_internal_ip)    /* Node: the first address of the type InternalIP */                    \
    X(node_external_ip)    /* Node: the first address of the type ExternalIP */                    \
    X(event_last_seen)     /* Event: the age of its last time */                                   \
    X(event_first_seen)    /* Event: the age of its first time */                                  \
    X(event_object)        /* Event: "pod/name" */                                                 \
    X(event_source)        /* Event: "component, host" */                                          \
    X(event_message)       /* Event: the message without space around it */                        \
    X(event_count)         /* Event: of its series, or its own */                                  \
    X(quota_requests)      /* ResourceQuota: "pods: 1/10", what is not a limit */                  \
    X(quota_limits)        /* ResourceQuota: "limits.cpu: 1/2" */                                  \
    X(volume_modes)        /* PersistentVolume: "RWO,ROX" */                                       \
    X(volume_phase)        /* PersistentVolume and its claim: phase, or Terminating */             \
    X(volume_class)        /* PersistentVolume and its claim: the class, or its annotation */      \
    X(claim_capacity)      /* PersistentVolumeClaim: of the volume, when it is bound */            \
    X(claim_modes)         /* PersistentVolumeClaim: of the volume, when it is bound */            \
    X(storage_class_name)  /* StorageClass: "name (default)" */                                    \
    X(component_status)    /* ComponentStatus: Healthy, Unhealthy or Unknown */                    \
    X(component_message)   /* ComponentStatus: of the condition Healthy */                         \
    X(component_error)     /* ComponentStatus: of the condition Healthy */                         \
    X(deployment_selector) /* Deployment: its selector; empty when it selects everything */        \
    X(controller)          /* ControllerRevision: "statefulset.apps/name" */                       \
    X(job_status)          /* Job: Running, or the condition that ended it */                      \
    X(job_completions)     /* Job: "1/3", "0/1 of 2" */                                            \
    X(job_duration)        /* Job: from its start to its end, or until now */                      \
    X(scaling_targets)     /* HorizontalPodAutoscaler: "cpu: 10%/80%, 5/10 (avg)" */               \
    X(subject_users)       /* RoleBinding, ClusterRoleBinding: names of users */                   \
    X(subject_groups)      /* RoleBinding, ClusterRoleBinding: names of groups */                  \
    X(subject_accounts)    /* RoleBinding, ClusterRoleBinding: "namespace/name" */                 \
    X(requested_duration)  /* CertificateSigningRequest: expirationSeconds as a duration */        \
    X(request_condition)   /* CertificateSigningRequest: "Approved,Issued" */                      \
    X(policy_parameter)    /* ValidatingAdmissionPolicyBinding: "namespace/name" */                \
    X(dangling)            /* FlowSchema: the status of its condition Dangling */                  \
    X(claim_state)         /* ResourceClaim: "allocated,reserved" */                               \
    X(api_service)         /* APIService: "namespace/name" or Local */                             \
    X(api_available)       /* APIService: "False (reason)" */
/* clang-format on */

enum cor_cell_hook {
    COR_CELL_HOOK_none,
#define X(name) COR_CELL_HOOK_##name,
    COR_CELL_HOOKS(X)
#undef X
        COR_CELL_HOOK_COUNT
};

#define X(name) void cor_cell_##name(struct cor_cells *cells);
COR_CELL_HOOKS(X)
#undef X

#endif
