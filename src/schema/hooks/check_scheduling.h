/* The hooks of validation for PriorityClass, RuntimeClass and Lease: what no line of a rule file
 * can say. A hook is cor_hook_NAME() in check_scheduling.c, a test of a condition is
 * cor_when_NAME() there; both are declared by hooks.h. tools/compile_validation.py reads the names
 * here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_SCHEDULING_H
#define COR_SCHEMA_HOOKS_CHECK_SCHEDULING_H

/* clang-format off */
#define COR_SCHEDULING_HOOKS(X)                                                                    \
    X(system_priority) /* PriorityClass: high values and names with "system-" are the system's */  \
    X(pod_fixed)       /* Overhead: checked as the limits of a container, with that path */        \
    X(lease_strategy)  /* strategy of a LeaseSpec: a known one, or a qualified name */

#define COR_SCHEDULING_WHENS(X)
/* clang-format on */

#endif
