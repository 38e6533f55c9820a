/* The hooks of validation for webhook configurations and admission policies: what no line of a rule
 * file can say. X(name) ( what it checks ). A hook is cor_hook_NAME() in admission.c, a test of a
 * condition is cor_test_NAME() there; both are declared by hooks.h. tools/compile_validation.py
 * reads the names here. */
#ifndef COR_SCHEMA_HOOKS_ADMISSION_H
#define COR_SCHEMA_HOOKS_ADMISSION_H

/* clang-format off */
#define COR_ADMISSION_HOOKS(X)

#define COR_ADMISSION_TESTS(X)
/* clang-format on */

#endif
