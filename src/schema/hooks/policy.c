/* The hooks of validation for PodDisruptionBudget
 * (schema/check.h describes what they work with). Thread: any. */
#include "schema/hooks/policy.h"

#include "schema/hooks/hooks.h"
