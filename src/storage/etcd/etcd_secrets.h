/* The credentials for etcd: certificates and key for TLS, and a password; read once from files.
 * Thread: any.  Owner: the session. */
#ifndef COR_STORAGE_ETCD_ETCD_SECRETS_H
#define COR_STORAGE_ETCD_ETCD_SECRETS_H

#include "base/buf.h"
#include "storage/engine/engine.h"

struct cor_tls;

struct etcd_secrets {
    struct cor_tls *tls;
    char *user; /* NULL: nobody logs in */
    struct cor_buf password;
};

/* -COR_EINVAL (flags that do not belong together, files that hold something else), -COR_ENOTFOUND,
 * -COR_EIO and others of a file, -COR_ENOMEM; nothing is left to release then. */
int cor_etcd_secrets_init(struct etcd_secrets *secrets, const struct cor_etcd_config *config,
                          struct cor_status *reterr_status);
/* The password is wiped. */
void cor_etcd_secrets_deinit(struct etcd_secrets *secrets);

#endif
