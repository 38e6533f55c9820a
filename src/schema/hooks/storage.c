/* The hooks of validation for volumes, claims and storage classes
 * (schema/check.h describes what they work with). Thread: any. */
#include "schema/hooks/storage.h"

#include "schema/hooks/hooks.h"
