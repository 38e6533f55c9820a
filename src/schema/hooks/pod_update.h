/* The hooks of validation for what may change in a pod: what no line of a rule file can say.
 * X(name) ( what it checks ). A hook is cor_hook_NAME() in pod_update.c, a test of a condition is
 * cor_test_NAME() there; both are declared by hooks.h. tools/compile_validation.py reads the names
 * here. */
#ifndef COR_SCHEMA_HOOKS_POD_UPDATE_H
#define COR_SCHEMA_HOOKS_POD_UPDATE_H

/* clang-format off */
#define COR_POD_UPDATE_HOOKS(X)

#define COR_POD_UPDATE_TESTS(X)
/* clang-format on */

#endif
