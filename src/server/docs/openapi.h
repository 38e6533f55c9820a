/* OpenAPI, as far as kubectl needs it, to find out that the server validates fields and knows dry
 * runs, and for `kubectl explain`: for each version the PATCH operations with their parameters, and
 * schemas of what all kinds have in common.
 * Thread: any (what is served is immutable). */
#ifndef COR_SERVER_OPENAPI_H
#define COR_SERVER_OPENAPI_H

#include <stdbool.h>

#include "server/catalog/served.h"

#define COR_OPENAPI_V2_PROTOBUF     "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
#define COR_OPENAPI_V2_PROTOBUF_OLD "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

/* Appends /openapi/v2, which names no path and no kind: kubectl asks for it before it accepts a
 * list, or a kind that cannot be patched, and does not check what it does not find there. 0,
 * -COR_ENOMEM. */
int cor_openapi_v2(bool as_protobuf, struct cor_buf *out);

/* Appends the index of /openapi/v3. 0, -COR_ENOMEM. */
int cor_openapi_index(const struct cor_served *served, struct cor_buf *out);

/* Appends the document of `path` ("api/v1", "apis/apps/v1"). 0, -COR_ENOTFOUND, -COR_ENOMEM. */
int cor_openapi_version(const struct cor_served *served, struct cor_str path, struct cor_buf *out);

#endif
