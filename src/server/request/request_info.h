/* What a request is about, read from its method and path as upstream's RequestInfo: which verb on
 * which resource, or a path outside the resources.
 * Thread: any (a value).  Owner: whoever embeds it. */
#ifndef COR_SERVER_REQUEST_INFO_H
#define COR_SERVER_REQUEST_INFO_H

#include <stdbool.h>

#include "base/buf.h"
#include "http/request.h"
#include "schema/kinds/resource_row.h"

struct cor_request_info {
    struct cor_str path; /* decoded */
    bool is_resource;

    /* Of a resource request; empty when absent. */
    enum cor_api_verb verb;
    struct cor_str group, version, resource, subresource, ns, name;
    bool in_namespace;  /* the path has /namespaces/NS/ before the resource, NS may be empty */
    bool has_more;      /* segments follow the subresource */
    bool is_watch_path; /* the old form with /watch/ after the version */

    struct cor_buf text; /* the decoded path */
};

/* `path` is still percent-encoded, `query` too. 0, -COR_EINVAL (bad escapes), -COR_ETOOBIG,
 * -COR_ENOMEM; on failure it is empty, and there is nothing to release. */
int cor_request_info_init(struct cor_request_info *info, enum cor_http_method method,
                          struct cor_str path, struct cor_str query);

void cor_request_info_deinit(struct cor_request_info *info); /* safe on a zeroed struct */

#endif
