/* The hooks of validation for dynamic resource allocation
 * (schema/check.h describes what they work with). Thread: any. */
#include "schema/hooks/resource.h"

#include "schema/hooks/hooks.h"
