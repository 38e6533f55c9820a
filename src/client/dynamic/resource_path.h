/* Where a resource, an object or one of its subresources stands on an API server: client-go's
 * request building.
 * Thread: any (values).  Owner: of the bytes, whoever they were taken from. */
#ifndef COR_CLIENT_RESOURCE_PATH_H
#define COR_CLIENT_RESOURCE_PATH_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "meta/gvk.h"
#include "meta/status.h"

struct cor_resource_path {
    struct cor_gvr gvr;         /* the resource is the plural, in lower case: "pods" */
    struct cor_str ns;          /* empty: not namespaced, or all namespaces */
    struct cor_str name;        /* empty: the collection */
    struct cor_str subresource; /* empty: none; else segments: "status", "proxy/metrics" */
};

/* Appends "/apis/apps/v1/namespaces/x/deployments/y/status", escaped. 0, -COR_ENOMEM, -COR_ETOOBIG,
 * or -COR_EINVAL in upstream's words: no version, no resource, a subresource without a name, or a
 * part that cannot be one segment (".", "..", with "/" or "%"). */
int cor_resource_path_write(const struct cor_resource_path *path, struct cor_buf *to,
                            struct cor_status *reterr);

#endif
