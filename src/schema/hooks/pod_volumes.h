/* The hooks of validation for the volumes of pods: what no line of a rule file can say. A hook is
 * cor_hook_NAME() in pod_volumes.c, a test of a condition is cor_test_NAME() there; both are
 * declared by hooks.h. tools/compile_validation.py reads the names here. */
#ifndef COR_SCHEMA_HOOKS_POD_VOLUMES_H
#define COR_SCHEMA_HOOKS_POD_VOLUMES_H

/* clang-format off */
#define COR_POD_VOLUMES_HOOKS(X)                                                                   \
    X(claim_template_volumes) /* StatefulSetSpec: its claims are volumes of its pods */            \
    X(volume_name) /* Volume: no volume before it has its name; remembers it if it is right */

#define COR_POD_VOLUMES_TESTS(X)
/* clang-format on */

#endif
