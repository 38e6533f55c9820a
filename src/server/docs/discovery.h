/* The documents of discovery, in the forms that clients ask for: built once from the table of
 * resources.
 * Owner: the API.  Thread: any once built (immutable). */
#ifndef COR_SERVER_DISCOVERY_H
#define COR_SERVER_DISCOVERY_H

#include "base/buf.h"
#include "schema/resource_row.h"

#define COR_ETAG_MAX        40
#define COR_AGGREGATED_TYPE "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

struct cor_discovery_doc {
    struct cor_buf json;
    char etag[COR_ETAG_MAX]; /* quoted; only aggregated documents have one */
};

struct cor_discovery_docs {
    struct cor_discovery_doc versions;   /* /api */
    struct cor_discovery_doc groups;     /* /apis */
    struct cor_discovery_doc core_all;   /* /api, aggregated */
    struct cor_discovery_doc groups_all; /* /apis, aggregated */
    const struct cor_resource_row *resources;
    size_t nresources;
};

/* 0, -COR_ENOMEM; safe to deinit either way. */
int cor_discovery_init(struct cor_discovery_docs *discovery,
                       const struct cor_resource_row *resources, size_t nresources);
/* Writes the document of /api again, with "host:port". Before the loops start. 0, -COR_ENOMEM. */
int cor_discovery_set_address(struct cor_discovery_docs *discovery, const char *server_address);
void cor_discovery_deinit(struct cor_discovery_docs *discovery); /* safe on a zeroed struct */

/* Appends the documents of `/apis/GROUP` and of `/apis/GROUP/VERSION` (`/api/v1` with the empty
 * group). 0, -COR_ENOTFOUND, -COR_ENOMEM. */
int cor_discovery_group(const struct cor_discovery_docs *discovery, struct cor_str group,
                        struct cor_buf *out);
int cor_discovery_version(const struct cor_discovery_docs *discovery, struct cor_str group,
                          struct cor_str version, struct cor_buf *out);

#endif
