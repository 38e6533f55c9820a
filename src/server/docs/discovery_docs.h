/* The documents of discovery, in the forms that clients ask for, made from a snapshot of what is
 * served.
 * Thread: any. */
#ifndef COR_SERVER_DOCS_DISCOVERY_DOCS_H
#define COR_SERVER_DOCS_DISCOVERY_DOCS_H

#include "server/catalog/served.h"

#define COR_AGGREGATED_TYPE "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
#define COR_AGGREGATED_PROTOBUF                                                                    \
    "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

/* One of the documents that the snapshot keeps, borrowed from it. `server_address` ("host:port", or
 * NULL) is shown in that of /api and does not change. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_discovery_doc(struct cor_served *served, enum cor_served_doc_id id,
                      const char *server_address, const struct cor_served_doc **ret_doc);

/* Appends the documents of `/apis/GROUP` and of `/apis/GROUP/VERSION` (`/api/v1` with the empty
 * group). 0, -COR_ENOTFOUND, -COR_ENOMEM. */
int cor_discovery_group(const struct cor_served *served, struct cor_str group, struct cor_buf *out);
int cor_discovery_version(const struct cor_served *served, struct cor_str group,
                          struct cor_str version, struct cor_buf *out);

#endif
