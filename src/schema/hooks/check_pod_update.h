/* The hooks of validation for what may change in a pod: what no line of a rule file can say. A hook
 * is cor_hook_NAME() in check_pod_update.c, check_pod_status.c or check_pod_resize.c, a test of a
 * condition is cor_when_NAME() there; both are declared by hooks.h. tools/compile_validation.py
 * reads the names here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_POD_UPDATE_H
#define COR_SCHEMA_HOOKS_CHECK_POD_UPDATE_H

/* clang-format off */
#define COR_POD_UPDATE_HOOKS(X)                                                                    \
    X(lasting_annotations) /* annotations: those of AppArmor and of mirrors stay as they are */    \
    X(no_new_gates)        /* schedulingGates: all of them were there before */                    \
    X(node_affinity_grows) /* PodSpec: the required node affinity only became narrower */          \
    X(lasting_spec)        /* PodSpec: nothing changes that may not change at all */               \
    X(lasting_ephemeral_containers) /* ephemeralContainers: the old ones stay as they are */       \
    X(ended_containers)    /* statuses of the list in the argument: what ended stays ended */      \
    X(claim_statuses)      /* resourceClaimStatuses: of the pod's claims, each once */             \
    X(status_ips)          /* podIPs, hostIPs: their form, and one address of a family */

#define COR_POD_UPDATE_WHENS(X)                                                                    \
    X(keeps_entries)     /* a map: all old entries, with their values */                           \
    X(keeps_keys)        /* a map: all old entries, perhaps with other values */                   \
    X(keeps_tolerations) /* tolerations: the old ones, perhaps with other tolerationSeconds */     \
    X(has_pod_level_resources) /* Pod: it or the old one has resources of its own */               \
    X(changes_qos_class)   /* Pod: its resources make another class of it */                       \
    X(runs_without_resize) /* containerStatuses: the node does not report resources */             \
    X(has_other_containers) /* PodSpec: not the old containers in the old order */                 \
    X(changes_other_resources) /* Container: more than cpu and memory differ from before */
/* clang-format on */

#endif
