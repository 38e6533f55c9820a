/* The hooks of validation for Job and CronJob
 * (schema/check.h describes what they work with). Thread: any. */
#include "schema/hooks/batch.h"

#include "schema/hooks/hooks.h"
