/* The hooks of validation for volumes, claims and storage classes: what no line of a rule file can
 * say. X(name) ( what it checks ). A hook is cor_hook_NAME() in storage.c, a test of a condition is
 * cor_test_NAME() there; both are declared by hooks.h. tools/compile_validation.py reads the names
 * here. */
#ifndef COR_SCHEMA_HOOKS_STORAGE_H
#define COR_SCHEMA_HOOKS_STORAGE_H

/* clang-format off */
#define COR_STORAGE_HOOKS(X)

#define COR_STORAGE_TESTS(X)
/* clang-format on */

#endif
