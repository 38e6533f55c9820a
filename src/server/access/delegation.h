/* A server that delegates: it asks another one to whom a token belongs, and what a user may do
 * (--authentication-kubeconfig, --authorization-kubeconfig). Each loop has clients and kept answers
 * of its own, so that nothing is shared between loops.
 * Owner: the server's maker.  Thread: made and freed while the loops are idle; what belongs to a
 * loop is used on that loop. */
#ifndef COR_SERVER_DELEGATION_H
#define COR_SERVER_DELEGATION_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "meta/status/status.h"
#include "server/access/delegate.h"
#include "server/access/reviews.h"

struct cor_delegation;
struct cor_loop;

struct cor_delegation_opts {
    const char *authentication_kubeconfig; /* NULL: tokens are not asked about */
    const char *authorization_kubeconfig;  /* NULL: nobody is asked what users may do */
    uint64_t token_ttl_ms;                 /* how long answers are kept; 0: not at all */
    uint64_t allowed_ttl_ms, unallowed_ttl_ms;
    /* Paths that everybody may ask for, with commas; "*" at the end of one matches all that begin
     * so. NULL: none. */
    const char *always_allow_paths;
};

/* Reads the kubeconfigs. The strings of the options must stay. 0; -COR_EINVAL, -COR_ENOTFOUND,
 * -COR_EIO: the message names the flag or the file; -COR_ENOMEM. */
int cor_delegation_new(const struct cor_delegation_opts *opts, size_t nloops,
                       struct cor_delegation **ret_delegation, struct cor_status *reterr_status);
/* Opens what belongs to one loop, while it is idle. After a failure the loop is closed all the
 * same. 0, -COR_EINVAL, -COR_EIO, -COR_ENOMEM. */
int cor_delegation_open_loop(struct cor_delegation *dn, size_t loop_index, struct cor_loop *loop,
                             struct cor_status *reterr_status);
/* After all loops were closed. */
struct cor_delegation *cor_delegation_free(struct cor_delegation *dn);
COR_DEFINE_CLEANUP(struct cor_delegation, cor_delegation_free)

/* On the loop, when no request waits any more. `on_closed` comes from a later turn, or at once when
 * nothing was opened. */
void cor_delegation_close_loop(struct cor_delegation *dn, size_t loop, void (*on_closed)(void *arg),
                               void *arg);

/* Of one loop; NULL: that is not delegated. */
struct cor_reviews *cor_delegation_tokens(const struct cor_delegation *dn, size_t loop);
struct cor_reviews *cor_delegation_accesses(const struct cor_delegation *dn, size_t loop);
/* The client for authentication; NULL: it is not delegated. */
struct cor_delegate *cor_delegation_authenticator(const struct cor_delegation *dn, size_t loop);

/* Is it a path that everybody may ask for? */
bool cor_delegation_allows_path(const struct cor_delegation *dn, struct cor_str path);

#endif
