/* The hooks of validation for pods and pod templates
 * (schema/check.h describes what they work with). Thread: any. */
#include "schema/hooks/pod.h"

#include "schema/hooks/hooks.h"
