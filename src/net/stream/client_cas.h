/* Who may sign the certificates of a server's clients: two independent bundles of authorities,
 * which may be replaced while connections are open. A certificate is judged per request and not in
 * the handshake: a connection that outlives a change of the bundles, or the certificate's own time,
 * is judged anew.
 * Owner: its maker; it outlives the TLS that it was given to.  Thread: any. */
#ifndef COR_NET_STREAM_CLIENT_CAS_H
#define COR_NET_STREAM_CLIENT_CAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "net/stream/peer.h"

struct cor_client_cas;

/* CLIENT: the certificate says who the client is. PROXY: it says that the client is a proxy, which
 * names the users in headers. */
enum cor_ca { COR_CA_CLIENT, COR_CA_PROXY, COR_CA_COUNT };

/* Both bundles are absent. 0, -COR_ENOMEM. */
int cor_client_cas_new(struct cor_client_cas **ret_cas);
struct cor_client_cas *cor_client_cas_free(struct cor_client_cas *cas);
COR_DEFINE_CLEANUP(struct cor_client_cas, cor_client_cas_free)

/* Replaces one bundle; an empty text: there is none any more. 0; -COR_EINVAL (the text is not one
 * or more certificates in PEM), -COR_ENOMEM: the old bundle stays. */
int cor_client_cas_set(struct cor_client_cas *cas, enum cor_ca which, struct cor_str pem);

/* Is there such a bundle? */
bool cor_client_cas_has(const struct cor_client_cas *cas, enum cor_ca which);

/* Which bundles the certificate verifies against at this time, for the use of a client: bit `1 <<
 * enum cor_ca` for each. The answer is kept in the certificate until a bundle changes or a
 * certificate of the chain expires. Without memory no bit is set. On the thread of the
 * certificate's connection. */
unsigned cor_client_cas_judge(struct cor_client_cas *cas, struct cor_peer_cert *cert,
                              int64_t now_s);

#endif
