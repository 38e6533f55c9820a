/* The hooks of validation for PodDisruptionBudget: what no line of a rule file can say. A hook is
 * cor_hook_NAME() in check_policy.c, a test of a condition is cor_when_NAME() there; both are
 * declared by hooks.h. tools/compile_validation.py reads the names here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_POLICY_H
#define COR_SCHEMA_HOOKS_CHECK_POLICY_H

/* clang-format off */
#define COR_POLICY_HOOKS(X)

#define COR_POLICY_WHENS(X)
/* clang-format on */

#endif
