/* The hooks of validation for pods and pod templates: what no line of a rule file can say. A hook
 * is cor_hook_NAME() in check_pod.c or check_pod_annotations.c, a test of a condition is
 * cor_when_NAME() there or in check_old_mistakes.h; both are declared by hooks.h.
 * tools/compile_validation.py reads the names here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_POD_H
#define COR_SCHEMA_HOOKS_CHECK_POD_H

/* clang-format off */
#define COR_POD_HOOKS(X)                                                                           \
    X(forget_names)     /* PodSpec, at its end: an update of a Job passes it twice */              \
    X(pod_annotations)  /* annotations of a pod or template: those that have a meaning */          \
    X(seccomp_agrees)   /* Pod, PodTemplateSpec: annotations and fields say the same */            \
    X(apparmor_agrees)  /* the same for AppArmor */                                                \
    X(claim_name)       /* name of a PodResourceClaim: unique in its list */                       \
    X(gate_is_new)      /* PodSchedulingGate: its name is unique in its list */                    \
    X(spread_pairs)     /* PodSpec: no two topologySpreadConstraints are for the same */           \
    X(windows_host_process) /* PodSpec: all containers are processes of the host, or none is */    \
    X(share_process_namespace) /* PodSecurityContext: not beside hostPID */                        \
    X(sysctls)          /* PodSecurityContext: names of sysctls, and their namespaces */           \
    X(trimmed_profile)  /* localhostProfile of AppArmor: not empty, no spaces around it */         \
    X(windows_user_name) /* runAsUserName: domain and user */                                      \
    X(label_keys)       /* matchLabelKeys, mismatchLabelKeys and the labelSelector beside them */  \
    X(toleration_value) /* value of a Toleration: reported at its operator */                      \
    X(search_list)      /* searches of a PodDNSConfig: their length, and each of them */

#define COR_POD_WHENS(X)                                                                           \
    X(is_of_stateful_set) /* a PodSpec: it is that of a StatefulSet, which names its pods */       \
    X(is_mirror_pod)   /* a PodSpec: it is that of a static pod's mirror */                        \
    X(old_has)         /* any place: the old object has a mistake of check_old_mistakes.h */
/* clang-format on */

#endif
