/* The hooks of validation for the volumes of pods: what no line of a rule file can say. A hook is
 * cor_hook_NAME() in check_pod_volumes.c, a test of a condition is cor_when_NAME() there; both are
 * declared by hooks.h. tools/compile_validation.py reads the names here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_POD_VOLUMES_H
#define COR_SCHEMA_HOOKS_CHECK_POD_VOLUMES_H

/* clang-format off */
#define COR_POD_VOLUMES_HOOKS(X)                                                                   \
    X(claim_template_volumes) /* StatefulSetSpec: its claims are volumes of its pods */            \
    X(volume_name)       /* Volume: no volume before it has its name; remembers it if it is right */ \
    X(volume_sources)    /* Volume ("pod") or PersistentVolumeSpec ("persistent"): one source */   \
    X(claim_is_not_made) /* Volume: its claim is not one that is made for an ephemeral volume */   \
    X(ephemeral_claim_name) /* Volume: the name of the claim that is made for it */                \
    X(template_meta)     /* ObjectMeta of a claim's template: labels and annotations alone */      \
    X(projected_sources) /* ProjectedVolumeSource: its paths are remembered from here on */        \
    X(projected_path)    /* a file of a projected volume: no file before it has its path */        \
    X(token_path)        /* path of a ServiceAccountTokenProjection, reported at the volume */     \
    X(iscsi_portal)      /* Volume: its name and the iSCSI portal are not too long together */     \
    X(iscsi_name)        /* a qualified name of iSCSI; the argument is for another prefix */       \
    X(host_port_pairs)   /* a string: pairs of host and port, separated by commas */

#define COR_POD_VOLUMES_WHENS(X)                                                                   \
    X(is_replaced_volume)   /* Volume: a claim of the StatefulSet takes its place */               \
    X(has_several_sources)  /* VolumeProjection: more than one */                                  \
    X(is_negative_quantity) /* a quantity */                                                       \
    X(has_backsteps)        /* a path: one of its elements is ".." */                              \
    X(begins_with)          /* a string: with the argument */                                      \
    X(contains)             /* a string: the argument */                                           \
    X(is_reserved_option)   /* a key: its namespace is one of Kubernetes */
/* clang-format on */

#endif
