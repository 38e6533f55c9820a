/* The hooks of validation for Namespace, Node, Event, ResourceQuota, LimitRange and the like
 * (schema/check.h describes what they work with). Thread: any. */
#include "schema/hooks/cluster.h"

#include "schema/hooks/hooks.h"
