/* The hooks of validation for Job and CronJob: what no line of a rule file can say. A hook is
 * cor_hook_NAME() in batch.c, a test of a condition is cor_test_NAME() there; both are declared by
 * hooks.h. tools/compile_validation.py reads the names here. */
#ifndef COR_SCHEMA_HOOKS_BATCH_H
#define COR_SCHEMA_HOOKS_BATCH_H

/* clang-format off */
#define COR_BATCH_HOOKS(X)

#define COR_BATCH_TESTS(X)
/* clang-format on */

#endif
