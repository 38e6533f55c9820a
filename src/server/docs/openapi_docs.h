/* The OpenAPI documents: version 3 has an index and one document for each group and version, and
 * small ones for discovery and /version; version 2 is one document about everything.
 *
 * A document is a pure function of the program and of the rows that it describes. Its hash is made
 * of these and not of its bytes, so that the index, which has the hashes of all documents, needs
 * none of them. A call writes one document; who keeps it is server/docs/kept_docs.h.
 * Thread: any (what is served is immutable). */
#ifndef COR_SERVER_DOCS_OPENAPI_DOCS_H
#define COR_SERVER_DOCS_OPENAPI_DOCS_H

#include <stdbool.h>

#include "server/catalog/served.h"

#define COR_OPENAPI_V2_PROTOBUF     "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
#define COR_OPENAPI_V2_PROTOBUF_OLD "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
#define COR_OPENAPI_V3_PROTOBUF     "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
#define COR_OPENAPI_V3_PROTOBUF_OLD "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"

/* Of a hash, with its terminating zero. */
#define COR_OPENAPI_HASH_MAX 36

/* Appends the index of version 3. 0, -COR_ENOMEM. */
int cor_openapi_index(const struct cor_served *served, struct cor_buf *out);

/* The hash of the document of version 3 at `path` ("api/v1", "apis/apps/v1", "apis/apps",
 * "version"), or of version 2 when `path` is empty. 0, or -COR_ENOTFOUND: there is no such
 * document. */
int cor_openapi_hash(const struct cor_served *served, struct cor_str path,
                     char ret_hash[COR_OPENAPI_HASH_MAX]);

/* About how many bytes the document has, whose path is as for cor_openapi_hash(): used to decide on
 * which thread it is made, and how much to charge for it. */
size_t cor_openapi_weigh(const struct cor_served *served, struct cor_str path);

/* Appends the document of version 3 at `path`. 0, -COR_ENOTFOUND, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_openapi_write_3(const struct cor_served *served, struct cor_str path, struct cor_buf *out);

/* Appends the document of version 2. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_openapi_write_2(const struct cor_served *served, struct cor_buf *out);

#endif
