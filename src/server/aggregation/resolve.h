/* clang-format off */
/* Finds the address of a Service, a host and a port. In this order:
 *
 *   an entry of --aggregator-resolve ──► a ready address of its EndpointSlices, of the port's name
 *   ──► its ClusterIP; or, for a Service of type ExternalName, that name
 *
 * The Service and its slices are read by the API port, from the watch caches: nothing is followed,
 * so a server without aggregated services pays nothing.
 * Owner: whoever embeds it.  Thread: the port's loop. */
/* clang-format on */
#ifndef COR_SERVER_AGGREGATION_RESOLVE_H
#define COR_SERVER_AGGREGATION_RESOLVE_H

#include <stdint.h>

#include "base/rand.h"
#include "base/str.h"
#include "kit/api_port.h"
#include "meta/status/status.h"

#define COR_RESOLVE_HOST_MAX      256
#define COR_RESOLVE_OVERRIDES_MAX 256

/* A Service and one of its ports. */
struct cor_service_ref {
    struct cor_str ns, name;
    uint16_t port;
};

/* An address: numeric, or a name (ExternalName, or of an override). */
struct cor_service_address {
    char host[COR_RESOLVE_HOST_MAX];
    uint16_t port;
};

/* The entries of --aggregator-resolve. Immutable once the loops run. */
struct cor_resolve_override {
    char service[COR_RESOLVE_HOST_MAX]; /* "name.namespace" */
    struct cor_service_address to;
};

struct cor_resolve_overrides {
    struct cor_resolve_override *entries;
    size_t n;
};

/* Reads entries of the form name.namespace=host:port, separated by commas; an IPv6 address is in
 * brackets. `ret` is zeroed or has earlier entries, to which these are added. 0, -COR_ENOMEM,
 * -COR_EINVAL (the status names the entry), -COR_ETOOBIG (more than COR_RESOLVE_OVERRIDES_MAX). */
int cor_resolve_overrides_add(struct cor_resolve_overrides *ret, struct cor_str text,
                              struct cor_status *reterr_status);
void cor_resolve_overrides_deinit(struct cor_resolve_overrides *o);

/* One resolution at a time. */
struct cor_resolve {
    /* Set by the owner before the first start; must stay valid. */
    struct cor_api_port *port;
    const struct cor_resolve_overrides *overrides; /* NULL: none */
    /* 0: `found` is set. -COR_ENOTFOUND: there is no such Service, it does not have the port, or it
     * has no address. Others: it could not be read. */
    void (*on_done)(struct cor_resolve *rs, int r);

    struct cor_service_address found;

    /* Inside. */
    struct cor_service_ref ref;
    struct cor_api_request req;
    struct cor_rand rand;
    const struct cor_service_address *kept, *avoided;
    /* When no other is ready: the address to avoid, else the ClusterIP; no host: neither. */
    struct cor_service_address fallback;
    char port_name[64];
    uint64_t ncandidates;
    bool has_kept; /* `kept` is among the ready addresses */
};

void cor_resolve_init(struct cor_resolve *rs, struct cor_api_port *port,
                      const struct cor_resolve_overrides *overrides,
                      void (*on_done)(struct cor_resolve *rs, int r));

/* `kept` (NULL: none) is taken again while it is a ready address of the Service, so that
 * connections are used again; `avoided` (NULL: none) is taken only when there is no other. The
 * strings of `ref` and both addresses must stay valid until the end. 0: `found` is set at once, and
 * on_done does not follow; 1: on_done follows, from a later turn. */
int cor_resolve_start(struct cor_resolve *rs, const struct cor_service_ref *ref,
                      const struct cor_service_address *kept,
                      const struct cor_service_address *avoided);

/* No on_done after this. */
void cor_resolve_cancel(struct cor_resolve *rs);

static inline bool cor_service_address_eq(const struct cor_service_address *a,
                                          const struct cor_service_address *b)
{
    return a->port == b->port && cor_str_eq(cor_strz(a->host), cor_strz(b->host));
}

#endif
