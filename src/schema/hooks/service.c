/* The hooks of validation for Service, Endpoints and EndpointSlice
 * (schema/check.h describes what they work with). Thread: any. */
#include "schema/hooks/service.h"

#include "schema/hooks/hooks.h"
