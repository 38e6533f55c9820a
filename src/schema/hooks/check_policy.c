/* The hooks of validation for PodDisruptionBudget
 * (schema/check/check.h describes what they work with). Thread: any. */
#include "schema/hooks/check_policy.h"

#include "schema/hooks/hooks.h"
