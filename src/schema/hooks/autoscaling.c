/* The hooks of validation for HorizontalPodAutoscaler and Scale
 * (schema/check.h describes what they work with). Thread: any. */
#include "schema/hooks/autoscaling.h"

#include "schema/hooks/hooks.h"
