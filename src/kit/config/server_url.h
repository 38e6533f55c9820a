/* Where an API server listens, out of a configuration's `server`: a URL, a host, or a host and a
 * port, or "unix:///path" for a local socket.
 * Thread: one at a time.  Owner: whoever embeds it. */
#ifndef COR_KIT_SERVER_URL_H
#define COR_KIT_SERVER_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/config/client_config.h"
#include "meta/status/status.h"

struct cor_server_url {
    bool is_tls;
    char *host; /* a name or a numeric address, without brackets; NULL: `unix_path` */
    uint16_t port;
    char *unix_path;
    char *prefix; /* of every path: "" or "/a/b", without a final slash */
    char *origin; /* what precedes it: "https://[::1]:6443" */
};

/* Without a scheme it is https when the configuration has anything of TLS, else http; then a path
 * is an error. An empty server is localhost. 0, -COR_EINVAL, -COR_ENOMEM. */
int cor_server_url_parse(const struct cor_client_config *config, struct cor_server_url *ret_url,
                         struct cor_status *reterr);

/* The URL of the proxy that the server is reached through: the configuration's, else the
 * environment's, as Go's clients have it. Borrowed from either; NULL: none. */
const char *cor_server_url_proxy(const struct cor_server_url *url,
                                 const struct cor_client_config *config);

/* Safe on a zeroed struct. */
void cor_server_url_deinit(struct cor_server_url *url);

#endif
