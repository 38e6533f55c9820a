/* An OpenAPI document of version 2 as one of version 3, for servers that have no /openapi/v3
 * (Contract extension 4.5.6). Thread: any (pure). */
#ifndef COR_SERVER_OPENAPI_CONVERT_H
#define COR_SERVER_OPENAPI_CONVERT_H

#include "base/buf.h"

/* `json` is what cor_openapi_remote_write() wrote. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_openapi_convert(struct cor_str json, struct cor_buf *out);

#endif
