/* Whom a server believes because of a client certificate: the authorities of clients and of front
 * proxies, and the settings of front proxies. All of it may change while requests run: files are
 * replaced, or a delegate publishes others.
 * Owner: the server's maker.  Thread: any. */
#ifndef COR_SERVER_CLIENT_TRUST_H
#define COR_SERVER_CLIENT_TRUST_H

#include "base/cleanup.h"
#include "net/stream/client_cas.h"
#include "server/access/front_proxy.h"

struct cor_client_trust;

/* Nobody is believed. 0, -COR_ENOMEM. */
int cor_client_trust_new(struct cor_client_trust **ret_trust);
struct cor_client_trust *cor_client_trust_free(struct cor_client_trust *trust);
COR_DEFINE_CLEANUP(struct cor_client_trust, cor_client_trust_free)

/* The authorities: what TLS asks for, and what judges certificates. */
struct cor_client_cas *cor_client_trust_cas(const struct cor_client_trust *trust);

/* Replaces the settings of front proxies. */
void cor_client_trust_set_proxy(struct cor_client_trust *trust, struct cor_front_proxy *take_proxy);
/* A reference; NULL: there are none. */
struct cor_front_proxy *cor_client_trust_get_proxy(struct cor_client_trust *trust);

#endif
