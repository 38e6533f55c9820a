/* The hooks of validation for roles and bindings
 * (schema/check.h describes what they work with). Thread: any. */
#include "schema/hooks/rbac.h"

#include "schema/hooks/hooks.h"
