/* The documents of discovery that other API servers answer with, read: aggregated ones (version v2
 * and v2beta1) and the APIResourceList of a single group version. What is taken from them is
 * written again as upstream's server writes it, in the form of v2, so that nothing but known
 * members of the right types reaches a client.
 * Thread: any (pure). */
#ifndef COR_SERVER_DISCOVERY_PARSE_H
#define COR_SERVER_DISCOVERY_PARSE_H

#include "base/buf.h"

/* Returns whether the Content-Type of an answer says that it is an aggregated document that
 * cor_discovery_list_init() reads? */
bool cor_discovery_is_aggregated(struct cor_str content_type);

/* A group version of a document. */
struct cor_discovery_entry {
    struct cor_str group, version; /* raw text, in the list's bytes */
    struct cor_str resources;      /* an array; p == NULL: there are none */
};

struct cor_discovery_list {
    struct cor_buf json; /* canonical */
    struct cor_discovery_entry *v;
    size_t n;
};

/* Reads an APIGroupDiscoveryList. 0, -COR_EINVAL (it is not JSON, or not such a list),
 * -COR_ETOOBIG, -COR_ENOMEM. To be deinitialised in either case. */
int cor_discovery_list_init(struct cor_discovery_list *list, struct cor_str json);
void cor_discovery_list_deinit(struct cor_discovery_list *list); /* safe on a zeroed struct */

/* The entry of a group version, the last of equal ones; NULL: the list has none. */
const struct cor_discovery_entry *cor_discovery_list_find(const struct cor_discovery_list *list,
                                                          struct cor_str group,
                                                          struct cor_str version);

/* Appends the resources of an entry as an array of APIResourceDiscovery: without unknown members,
 * and with an empty responseKind where there is none (Contract extension 4.5.3). 0, -COR_EINVAL (a
 * member has the wrong type), -COR_ETOOBIG, -COR_ENOMEM; `out` is unspecified on failure. */
int cor_discovery_write_resources(const struct cor_discovery_entry *entry, struct cor_buf *out);

/* The same of an APIResourceList, the document of `/apis/GROUP/VERSION`: a name with a slash is a
 * subresource. -COR_EINVAL also when the scopes of a resource and its subresource differ. */
int cor_discovery_write_legacy(struct cor_str json, struct cor_buf *out);

#endif
