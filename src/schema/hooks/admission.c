/* The hooks of validation for webhook configurations and admission policies
 * (schema/check.h describes what they work with). Thread: any. */
#include "schema/hooks/admission.h"

#include "schema/hooks/hooks.h"
