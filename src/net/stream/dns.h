/* One look-up of a host name by c-ares, which asks the name servers on the loop itself and starts
 * no thread. c-ares reads /etc/resolv.conf, /etc/hosts and the line "hosts" of /etc/nsswitch.conf
 * for each look-up; other modules of nsswitch are not asked. It is loaded with the first one.
 * Owner: its opener, until `on_done`.  Thread: the loop's. */
#ifndef COR_NET_STREAM_DNS_H
#define COR_NET_STREAM_DNS_H

#include "net/stream/resolver.h"

struct cor_dns;

/* Loads c-ares. 0, or -COR_ENOTSUP: it is not installed; `*ret_why` has the words of the system's
 * loader. Thread: any. */
int cor_dns_load(const char **ret_why);

/* 0, -COR_ENOMEM, -COR_ENOTSUP. `on_done` comes from a later turn, as of a resolver. */
int cor_dns_open(struct cor_net *net, const char *host, cor_resolver_cb on_done, void *arg,
                 struct cor_dns **ret_dns);

/* on_done comes from the next turn. */
void cor_dns_cancel(struct cor_dns *dns);

#endif
