/* HTTP proxies: what a proxy's URL says, and which servers the environment sends through one. The
 * environment is read only where cor_proxy_env_peek() is called: a library has no business with it
 * otherwise.
 * Owner: whoever embeds it.  Thread: any. */
#ifndef COR_HTTP_HTTP_PROXY_H
#define COR_HTTP_HTTP_PROXY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct cor_proxy {
    bool is_tls;
    char *host; /* a name or a numeric address, without brackets; NULL: there is no proxy */
    uint16_t port;
    char *authorization; /* "Basic …"; NULL: none */
};

/* "http://" or "https://", with "user:password@" if the proxy wants it. 0, -COR_EINVAL (malformed),
 * -COR_ENOTSUP (socks5 and others), -COR_ENOMEM; `reterr_text` (may be NULL) is one line. */
int cor_proxy_init(struct cor_proxy *p, const char *url, const char **reterr_text);

/* Wipes the password. Safe on a zeroed struct. */
void cor_proxy_deinit(struct cor_proxy *p);

/* Appends the request for a tunnel to `host`:`port`. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_proxy_write_connect(const struct cor_proxy *p, const char *host, uint16_t port,
                            struct cor_buf *out);

/* NULL or "": not set. */
struct cor_proxy_env {
    const char *http_proxy, *https_proxy, *no_proxy;
};

/* HTTP_PROXY, HTTPS_PROXY and NO_PROXY of the process, or the same in lower case. The texts belong
 * to the environment. */
struct cor_proxy_env cor_proxy_env_peek(void);

/* The URL of the proxy for a server, borrowed from `env`; NULL: none. As Go's
 * ProxyFromEnvironment: never for localhost and loopback addresses; no_proxy holds names (with
 * their subdomains), ".names" (only these), addresses, CIDR ranges, each with an optional port, or
 * "*". */
const char *cor_proxy_for(const struct cor_proxy_env *env, bool is_tls, const char *host,
                          uint16_t port);

#endif
