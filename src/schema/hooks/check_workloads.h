/* The hooks of validation for ReplicaSet, Deployment, StatefulSet, DaemonSet and
 * ReplicationController: what no line of a rule file can say. A hook is cor_hook_NAME() in
 * check_workloads.c, a test of a condition is cor_when_NAME() there; both are declared by hooks.h.
 * tools/compile_validation.py reads the names here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_WORKLOADS_H
#define COR_SCHEMA_HOOKS_CHECK_WORKLOADS_H

/* clang-format off */
#define COR_WORKLOADS_HOOKS(X)                                                                     \
    X(selector_matches) /* a workload's spec: its selector selects the labels of its template */

#define COR_WORKLOADS_WHENS(X)                                                                     \
    X(is_json_object)  /* any JSON: an object */                                                    \
    X(is_zero_percent) /* int-or-string: 0, "0%", or no number at all */
/* clang-format on */

#endif
