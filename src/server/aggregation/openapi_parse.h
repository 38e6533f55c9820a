/* The OpenAPI documents of other API servers, read and reduced to what may be served.
 *
 * A document of version 2 is about everything that its server has; a group version gets the part
 * that is about its own paths, as upstream filters it. A document of version 3 is about one group
 * version already. What is refused: bytes that are not JSON, members of other types than OpenAPI
 * has, and references to definitions that are not there, because they make clients refuse the whole
 * merged document. Thread: any (pure). */
#ifndef COR_SERVER_OPENAPI_PARSE_H
#define COR_SERVER_OPENAPI_PARSE_H

#include "base/buf.h"
#include "server/docs/openapi_spec.h"

/* Maximum of an index of version 3. That of Kubernetes has 15 KB. */
#define COR_REMOTE_INDEX_BYTES (256u << 10)
/* Of a hash in the index of version 3. Upstream's have 128 digits. */
#define COR_REMOTE_INDEX_HASH_MAX 160

/* A document of version 2. */
struct cor_openapi_remote {
    struct cor_buf json; /* canonical */
    struct cor_openapi_spec spec;
};

/* 0, -COR_EINVAL, -COR_ETOOBIG, -COR_ENOMEM. To be deinitialised in either case. */
int cor_openapi_remote_init(struct cor_openapi_remote *remote, struct cor_str json);
void cor_openapi_remote_deinit(struct cor_openapi_remote *remote);

/* Appends the part of the document that is about a group version: the paths below
 * `/apis/GROUP/VERSION/`, the definitions that these need or that no path of the document needs,
 * and the parameters (Contract extension 4.5.5). 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_openapi_remote_write(struct cor_openapi_remote *remote, struct cor_str group,
                             struct cor_str version, struct cor_buf *out);

/* Appends a document of version 3, checked, in canonical form. 0, -COR_EINVAL, -COR_ETOOBIG,
 * -COR_ENOMEM. */
int cor_openapi_take_3(struct cor_str json, struct cor_buf *out);

/* Finds this path ("apis/GROUP/VERSION") in an index of version 3. `ret_hash` gets what the index
 * says of its document: a text that changes with it. 0, -COR_ENOTFOUND, -COR_EINVAL (it is not such
 * an index). */
int cor_openapi_index_find(struct cor_str json, struct cor_str path,
                           char ret_hash[COR_REMOTE_INDEX_HASH_MAX]);

#endif
