/* The identity Lease of this server, `kube-system/apiserver-<id>`, by which others see which
 * servers there are, and the removal of Leases whose servers have not renewed them (contract
 * access 5.16). The id is made of the host's name, so that a server finds its Lease again after a
 * restart. Owner: whoever embeds it.  Thread: that of the port. */
#ifndef COR_SERVER_IDENTITY_LEASE_H
#define COR_SERVER_IDENTITY_LEASE_H

#include "base/buf.h"
#include "base/clock.h"
#include "kit/api_port.h"

#define COR_IDENTITY_RENEW_MS    10000
#define COR_IDENTITY_DURATION_S  3600
#define COR_IDENTITY_COLLECT_MS  3600000
#define COR_IDENTITY_ID_MAX      64 /* "apiserver-", 26 letters and digits, a NUL */
#define COR_IDENTITY_HOLDER_MAX  128
#define COR_IDENTITY_HOST_MAX    256
#define COR_IDENTITY_EXPIRED_MAX 64 /* Leases that one collection removes */

struct cor_identity_lease {
    struct cor_api_port *port;
    const struct cor_clock *clock;
    char name[COR_IDENTITY_ID_MAX];
    char host[COR_IDENTITY_HOST_MAX];
    char holder[COR_IDENTITY_HOLDER_MAX];
    struct cor_api_request renewal;
    bool is_creating; /* the renewal has found no Lease */
    struct cor_buf body;
    struct cor_api_request collection; /* the list, then one removal after the other */
    struct cor_buf expired; /* of Leases to remove: name, uid and resourceVersion, a line each */
    size_t nexpired, next;
    void (*on_renewed)(void *arg, int err);
    void (*on_collected)(void *arg, int err);
    void *arg;
};

/* `uuid` tells this process from others on the host. `on_renewed` and `on_collected` get `arg`.
 * 0, -COR_ENOMEM. */
int cor_identity_lease_init(struct cor_identity_lease *l, struct cor_api_port *port,
                            const struct cor_clock *clock, struct cor_str host,
                            struct cor_str uuid);
/* Nothing is under way. */
void cor_identity_lease_deinit(struct cor_identity_lease *l);

/* Renews the Lease, or creates it. `on_renewed` follows in a later turn: 0 or the error. A renewal
 * must not be under way. The holder of an existing Lease is not changed, as upstream. */
void cor_identity_lease_renew(struct cor_identity_lease *l);

/* Removes the Leases that have expired. `on_collected` follows in a later turn: 0 or the first
 * error. A collection must not be under way. */
void cor_identity_lease_collect(struct cor_identity_lease *l);

/* Ends what is under way, without a callback. */
void cor_identity_lease_cancel(struct cor_identity_lease *l);

#endif
