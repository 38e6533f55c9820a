/* One look-up of a host name by the system's resolver, on libuv's worker threads.
 * Owner: its opener, until `on_done`.  Thread: the loop's. */
#ifndef COR_NET_RESOLVER_H
#define COR_NET_RESOLVER_H

#include <stddef.h>

struct cor_net;
struct cor_resolver;

/* Addresses that are tried at most. */
#define COR_RESOLVER_ADDRESSES_MAX 8
/* Bytes of a numeric address with its NUL. */
#define COR_RESOLVER_ADDRESS_BYTES 46

struct cor_addresses {
    char at[COR_RESOLVER_ADDRESSES_MAX][COR_RESOLVER_ADDRESS_BYTES];
    size_t n;
};

/* A user's way to look names up, for a program that must have no threads beside its own. Called on
 * the loop's thread, never for numeric addresses; it must not block. 0 with at least one address,
 * or a negative code: not known. */
typedef int (*cor_resolve_fn)(void *arg, const char *host, struct cor_addresses *ret_found);

/* `r` is 0, -COR_EUNREACHABLE (the name is not known), or -COR_ECANCELED. The resolver is gone
 * after it; `found` is borrowed. */
typedef void (*cor_resolver_cb)(int r, const struct cor_addresses *found, void *arg);

/* A numeric `host` is its own answer, also from a later turn. 0, -COR_ENOMEM. */
int cor_resolver_open(struct cor_net *net, const char *host, cor_resolver_cb on_done, void *arg,
                      struct cor_resolver **ret_resolver);

/* on_done comes soon, or when the system's resolver lets go: a look-up that is running cannot be
 * broken off. */
void cor_resolver_cancel(struct cor_resolver *rs);

#endif
