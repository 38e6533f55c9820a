/* The hooks of validation for Ingress, NetworkPolicy, IPAddress and ServiceCIDR
 * (schema/check.h describes what they work with). Thread: any. */
#include "schema/hooks/networking.h"

#include "schema/hooks/hooks.h"
