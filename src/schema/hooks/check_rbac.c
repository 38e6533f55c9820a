/* The hooks of validation for roles and bindings
 * (schema/check/check.h describes what they work with). Thread: any. */
#include "schema/hooks/check_rbac.h"

#include "schema/hooks/hooks.h"
