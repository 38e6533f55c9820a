/* The ConfigMap kube-system/extension-apiserver-authentication: it tells aggregated API servers
 * which clients this server trusts, and which certificates and headers its own requests have
 * (contract extension 4.6.1, access 2.3.4 and 2.3.5). What the ConfigMap has is kept and merged
 * with what this server says, because several servers write it.  Owner: whoever embeds it. Thread:
 * that of the port. */
#ifndef COR_SERVER_TRUST_KEEPER_H
#define COR_SERVER_TRUST_KEEPER_H

#include "kit/ensure.h"
#include "server/access/front_proxy.h"

struct cor_clock;

/* What this server says. The strings must stay valid. */
struct cor_cluster_trust {
    const char *client_ca_file;   /* NULL: none. Files are read at each pass */
    struct cor_str client_ca_pem; /* is there while there is no file; empty: nothing does */
    const char *proxy_ca_file;    /* who signs front proxies; NULL: none */
    struct cor_str proxy_ca_pem;  /* likewise; empty: none. Without both the lists do not count */
    /* Names, separated by commas. The key of the uids is left out while there are none. */
    struct cor_str lists[COR_PROXY_LISTS];
    struct cor_str allowed_too; /* one more common name that is allowed; empty: none */
};

struct cor_trust_keeper {
    const struct cor_clock *clock;
    const struct cor_cluster_trust *trust;
    struct cor_ensure ensure;
    int err; /* of a write of too much, which a removal follows; else 0 */
    void (*on_done)(void *arg, int err);
    void *arg;
};

void cor_trust_keeper_init(struct cor_trust_keeper *k, struct cor_api_port *port,
                           const struct cor_clock *clock, const struct cor_cluster_trust *trust);
/* Nothing is under way. */
void cor_trust_keeper_deinit(struct cor_trust_keeper *k);

/* Reads the ConfigMap and writes it when something is missing. `on_done` follows in a later turn:
 * 0, or the error. A ConfigMap that has become too large is removed, and made anew the next time.
 * None may be under way. */
void cor_trust_keeper_check(struct cor_trust_keeper *k, void (*on_done)(void *arg, int err),
                            void *arg);

/* Ends what is under way, without a callback. */
void cor_trust_keeper_cancel(struct cor_trust_keeper *k);

#endif
