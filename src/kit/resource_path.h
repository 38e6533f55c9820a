/* Writes the path of a resource, an object or a subresource on an API server, as client-go builds
 * its requests.
 * Thread: any (values).  Owner: of the bytes, whoever they were taken from. */
#ifndef COR_KIT_RESOURCE_PATH_H
#define COR_KIT_RESOURCE_PATH_H

#include "base/buf.h"
#include "kit/api_options.h"
#include "meta/status/status.h"

/* Appends "/apis/apps/v1/namespaces/x/deployments/y/status", escaped. 0, -COR_ENOMEM, -COR_ETOOBIG,
 * or -COR_EINVAL in upstream's words: no version, no resource, a subresource without a name, or a
 * part that cannot be one segment (".", "..", with "/" or "%"). */
int cor_resource_path_write(const struct cor_resource_path *path, struct cor_buf *to,
                            struct cor_status *reterr);

#endif
