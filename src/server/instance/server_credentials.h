/* What a server needs to be trusted and to trust its administrator: a CA, a serving certificate and
 * an admin token, and for aggregated API servers a second CA and a client certificate, by which
 * they know the requests of this server; made at the first start and kept in DIR/pki; and the
 * kubeconfig that names them. Owner: whoever embeds it.  Thread: one at a time. */
#ifndef COR_SERVER_INSTANCE_SERVER_CREDENTIALS_H
#define COR_SERVER_INSTANCE_SERVER_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta/status/status.h"
#include "net/crypto/cert.h"

#define COR_ADMIN_USER "kubernetes-admin"

struct cor_server_credentials_opts {
    const char *dir;           /* exists; DIR/pki is made with mode 0700, its files with 0600 */
    const char *address;       /* numeric; the certificate names it beside the loopback address */
    const char *tls_cert_file; /* NULL: our own serving certificate */
    const char *tls_key_file;
    const char *proxy_cert_file; /* NULL: our own client certificate of the front proxy */
    const char *proxy_key_file;
    int64_t now_s; /* Unix time */
};

#define COR_FRONT_PROXY_CN         "front-proxy-client"
#define COR_CREDENTIALS_PATH_BYTES 4096

/* By what aggregated servers know requests of this one (contract extension 4.6). */
struct cor_front_proxy_files {
    char cert[COR_CREDENTIALS_PATH_BYTES], key[COR_CREDENTIALS_PATH_BYTES];
    struct cor_buf ca_pem; /* who has signed our own certificate; empty: the files were given */
};

struct cor_server_credentials {
    struct cor_buf ca_pem; /* what clients trust: our CA, or the given certificate */
    struct cor_cert_pair serving;
    struct cor_front_proxy_files front_proxy;
    struct cor_buf token; /* of COR_ADMIN_USER, in system:masters */
    bool is_first;        /* this call has made them */
};

/* Loads what exists and makes what is missing; a serving certificate that is not for this address,
 * and a certificate that expires soon, is replaced. -COR_EIO, -COR_EINVAL (the message names the
 * file), -COR_ENOMEM.
 */
int cor_server_credentials_open(const struct cor_server_credentials_opts *opts,
                                struct cor_server_credentials *ret_cred,
                                struct cor_status *reterr_status);

/* Wipes the secrets. Safe on a zeroed struct. */
void cor_server_credentials_deinit(struct cor_server_credentials *cred);

/* Writes the kubeconfig of the administrator for `url` to `path`, mode 0600, unless the file has
 * the same content already. -COR_EIO, -COR_ENOMEM. */
int cor_server_credentials_write_kubeconfig(const struct cor_server_credentials *cred,
                                            const char *path, const char *url,
                                            struct cor_status *reterr_status);

#endif
