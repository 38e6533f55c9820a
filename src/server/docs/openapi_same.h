/* Comparing schemas of OpenAPI. Thread: any (pure). */
#ifndef COR_SERVER_OPENAPI_SAME_H
#define COR_SERVER_OPENAPI_SAME_H

#include <stdbool.h>

#include "base/str.h"

#define COR_OPENAPI_GVK "x-kubernetes-group-version-kind"

/* Are two definitions, objects in canonical form, the same except for the kinds that they stand for
 * (COR_OPENAPI_GVK)? `skip_words`: and except for descriptions, at every level. */
bool cor_openapi_same(struct cor_str a, struct cor_str b, bool skip_words);

#endif
