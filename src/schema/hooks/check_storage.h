/* The hooks of validation for volumes, claims and storage classes: what no line of a rule file can
 * say. A hook is cor_hook_NAME() in check_storage.c or check_persistent_volumes.c, a test of a
 * condition is cor_when_NAME() there; both are declared by hooks.h. tools/compile_validation.py
 * reads the names here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_STORAGE_H
#define COR_SCHEMA_HOOKS_CHECK_STORAGE_H

/* clang-format off */
#define COR_STORAGE_HOOKS(X)                                                                       \
    X(lower_qualified_name) /* a string: a qualified name in lower case, which messages print */   \
    X(class_parameters)     /* parameters of a class: no empty key, and the size of all */         \
    X(attachment_metadata)  /* map of strings: the size of all */                                  \
    X(allowed_topologies)   /* []TopologySelectorTerm: each term, and no two that are equal */     \
    X(token_requests)       /* []TokenRequest: audiences differ, and how long tokens last */       \
    X(csi_drivers)          /* []CSINodeDriver: each driver, and no two of one name */             \
    X(drivers_stay)         /* CSINode: a driver that the old object has, too, is unchanged */     \
    X(basic_quantity)       /* a quantity of a resource: its whole number is not negative */       \
    X(positive_quantity)    /* a quantity that is there: greater than zero; the argument says so */ \
    X(iscsi_volume_portal)  /* ISCSIPersistentVolumeSource: not too long with the volume's name */ \
    X(mount_options)        /* PersistentVolume: the annotation only where it has a meaning */     \
    X(volume_source_stays)  /* PersistentVolumeSpec: its source is that of the old one */          \
    X(node_affinity_stays)  /* VolumeNodeAffinity: only beta labels may become those of today */   \
    X(claim_stays)          /* PersistentVolumeClaim: what of its spec may change, and when */     \
    X(allocated_statuses)   /* allocatedResourceStatuses of a claim, reported at the map */        \
    X(allocated_resources)  /* allocatedResources of a claim */

#define COR_STORAGE_WHENS(X)                                                                       \
    X(is_inline_volume)   /* PersistentVolumeSpec: it is that of a VolumeAttachment */             \
    X(is_root_path)       /* a path: the root, when "." and ".." are resolved */                   \
    X(data_sources_match) /* PersistentVolumeClaimSpec: both references are to one thing */        \
    X(had_data_source_group) /* below a claim's spec: the old one has named an API group */
/* clang-format on */

#endif
