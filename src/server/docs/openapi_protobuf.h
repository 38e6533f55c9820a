/* OpenAPI in protobuf: the messages of gnostic's openapi.v2, which kubectl asks for, and
 * openapi.v3. Thread: any (pure). */
#ifndef COR_SERVER_OPENAPI_PROTOBUF_H
#define COR_SERVER_OPENAPI_PROTOBUF_H

#include "base/buf.h"
#include "schema/print/openapi.h"

/* Appends the document as a message Document. It is one that cor_openapi_write_2() or
 * cor_openapi_write_3() wrote, or any valid JSON: what it has beyond the documents of Kubernetes is
 * left out. 0, -COR_ENOMEM, -COR_ETOOBIG, -COR_EINVAL (a member has another type than OpenAPI says;
 * documents of our own have none). */
int cor_openapi_to_protobuf(struct cor_str json, enum cor_openapi_version version,
                            struct cor_buf *out);

#endif
