/* Where a member of etcd listens, out of a URL as --etcd-servers takes them.
 * Thread: any.  Owner: the session. */
#ifndef COR_STORAGE_ETCD_ETCD_ENDPOINT_H
#define COR_STORAGE_ETCD_ETCD_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta/status/status.h"

#define ETCD_ENDPOINTS_MAX 16

struct etcd_endpoint {
    char *host; /* a name or a numeric address, without brackets */
    uint16_t port;
};

struct etcd_endpoints {
    struct etcd_endpoint at[ETCD_ENDPOINTS_MAX];
    size_t n;
    bool is_tls; /* all of them */
};

/* "http://a:2379,http://[::1]:2379", all http or all https; without a port, 2379. -COR_EINVAL,
 * -COR_ENOMEM; nothing is left to release then. */
int cor_etcd_endpoints_parse(const char *urls, struct etcd_endpoints *ret_endpoints,
                             struct cor_status *reterr_status);
void cor_etcd_endpoints_deinit(struct etcd_endpoints *endpoints);

#endif
