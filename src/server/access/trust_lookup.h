/* Whom a delegating server believes, as its delegate publishes it: the ConfigMap
 * kube-system/extension-apiserver-authentication has the CA of clients, the CA of front proxies and
 * their settings. It is read once, then followed; what cannot be used leaves what is in force.
 * Owner: its opener.  Thread: the delegate's loop. */
#ifndef COR_SERVER_TRUST_LOOKUP_H
#define COR_SERVER_TRUST_LOOKUP_H

#include <stdbool.h>

#include "base/str.h"
#include "server/access/client_trust.h"
#include "server/access/delegate.h"

struct cor_trust_lookup;

#define COR_TRUST_LOOKUP_MAP "extension-apiserver-authentication"

struct cor_trust_lookup_opts {
    struct cor_delegate *delegate;  /* outlives the lookup, as the next does */
    struct cor_client_trust *trust; /* what is found is in force there */
    bool wants_client_ca, wants_proxy;
    /* Once: the first reading has ended. A failure is one line, borrowed; the lookup goes on. */
    void (*on_first)(void *arg, int r, const char *text);
    void *arg;
};

/* 0, -COR_ENOMEM, -COR_EBUSY, -COR_EUNREACHABLE. */
int cor_trust_lookup_open(const struct cor_trust_lookup_opts *opts,
                          struct cor_trust_lookup **ret_lookup);
/* No callback after this. Returns NULL; NULL is fine. */
struct cor_trust_lookup *cor_trust_lookup_close(struct cor_trust_lookup *tl);

/* Puts in force what a ConfigMap, valid JSON, says. 0; -COR_EINVAL: a value cannot be used, which
 * is logged, and the others are in force; -COR_ENOMEM. */
int cor_trust_lookup_apply(struct cor_str config_map, struct cor_client_trust *trust,
                           bool wants_client_ca, bool wants_proxy);

#endif
