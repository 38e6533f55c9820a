/* The hooks of validation for APIService: what no line of a rule file can say. X(name) ( what it
 * checks ). A hook is cor_hook_NAME() in check_registration.c, a test of a condition is
 * cor_when_NAME() there; both are declared by hooks.h. tools/compile_validation.py reads the names
 * here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_REGISTRATION_H
#define COR_SCHEMA_HOOKS_CHECK_REGISTRATION_H

/* clang-format off */
#define COR_REGISTRATION_HOOKS(X)                                                                  \
    X(version_and_group) /* APIService: its name is that of its version and group */               \
    X(no_bundle)         /* caBundle: empty; otherwise a message shows its size */

#define COR_REGISTRATION_WHENS(X)
/* clang-format on */

#endif
