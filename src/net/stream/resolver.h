/* One look-up of a host name: by the system's resolver, on libuv's worker threads, or by c-ares on
 * the loop (cor_net_use_dns()).
 * Owner: its opener, until `on_done`.  Thread: the loop's. */
#ifndef COR_NET_STREAM_RESOLVER_H
#define COR_NET_STREAM_RESOLVER_H

#include "coracle/resolve.h"

struct cor_net;
struct cor_resolver;

/* `r` is 0, -COR_EUNREACHABLE (the name is not known), -COR_ECANCELED, and of c-ares -COR_ETIMEOUT
 * (no name server answers) and -COR_ENOMEM. The resolver is gone
 * after it; `found` is borrowed. */
typedef void (*cor_resolver_cb)(int r, const struct cor_addresses *found, void *arg);

/* A numeric `host` is its own answer, also from a later turn. 0, -COR_ENOMEM, -COR_ENOTSUP
 * (c-ares is not installed). */
int cor_resolver_open(struct cor_net *net, const char *host, cor_resolver_cb on_done, void *arg,
                      struct cor_resolver **ret_resolver);

/* on_done comes soon, or when the system's resolver lets go: a running look-up cannot be aborted.
 */
void cor_resolver_cancel(struct cor_resolver *rs);

#endif
