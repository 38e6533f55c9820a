/* The hooks of validation for the volumes of pods
 * (schema/check.h describes what they work with). Thread: any. */
#include "schema/hooks/pod_volumes.h"

#include "schema/hooks/hooks.h"
