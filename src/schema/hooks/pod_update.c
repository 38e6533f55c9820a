/* The hooks of validation for what may change in a pod
 * (schema/check.h describes what they work with). Thread: any. */
#include "schema/hooks/pod_update.h"

#include "schema/hooks/hooks.h"
