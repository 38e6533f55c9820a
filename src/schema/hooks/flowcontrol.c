/* The hooks of validation for FlowSchema and PriorityLevelConfiguration
 * (schema/check.h describes what they work with). Thread: any. */
#include "schema/hooks/flowcontrol.h"

#include "schema/hooks/hooks.h"
