/* The hooks of validation for the containers of pods: what no line of a rule file can say. A hook
 * is cor_hook_NAME() in check_container.c or check_container_resources.c, a test of a condition is
 * cor_when_NAME() there; both are declared by hooks.h. tools/compile_validation.py reads the names
 * here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_CONTAINER_H
#define COR_SCHEMA_HOOKS_CHECK_CONTAINER_H

/* clang-format off */
#define COR_CONTAINER_HOOKS(X)                                                                     \
    X(container_name)   /* a container: its name is unique in its list */                          \
    X(target_container) /* EphemeralContainer: targetContainerName is that of another container */ \
    X(image_is_trimmed) /* image: no spaces around it */                                           \
    X(port_name)        /* name of a ContainerPort: valid, and unique in its list */               \
    X(host_ports)       /* PodSpec: no two ports of its containers are one port of the host */     \
    X(init_host_ports)  /* an init container: the same for it alone */                             \
    X(host_network_ports) /* PodSpec: ports of the host are those of the containers */             \
    X(name_prefix)      /* name of a ConfigMap or Secret, which may end with a dash */             \
    X(env_from_sources) /* EnvFromSource: exactly one source, reported at the list */              \
    X(field_ref)        /* ObjectFieldSelector, of the environment ("env") or of a volume */       \
    X(resource_field_ref) /* ResourceFieldSelector; "volume": it names its container */            \
    X(volume_mounts)    /* a container: its mounts, beside the volumes and devices */              \
    X(volume_devices)   /* a container: its devices, beside the volumes and mounts */              \
    X(sleep_seconds)    /* SleepAction: not longer than the grace period of the pod */             \
    X(resize_policy)    /* []ContainerResizePolicy, reported at the list */                        \
    X(resource_requirements) /* ResourceRequirements of a "container" or of a "pod" */             \
    X(resource_limits)  /* ResourceList that is checked as the limits of a container */            \
    X(pod_level_resources) /* PodSpec: what the pod has is enough for its containers */

#define COR_CONTAINER_WHENS(X)                                                                     \
    X(env_sources)       /* EnvVarSource: as many sources are set as the argument says */          \
    X(has_host_users)    /* below a PodSpec: hostUsers is not false */                             \
    X(allows_privileged) /* does this server allow privileged containers? */
/* clang-format on */

#endif
