/* X.509 certificates with ECDSA P-256 keys, as PEM text: made, and kept in files.
 * Thread: any. */
#ifndef COR_NET_CRYPTO_CERT_H
#define COR_NET_CRYPTO_CERT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum cor_cert_use { COR_CERT_CA, COR_CERT_SERVER, COR_CERT_CLIENT };

struct cor_cert_opts {
    enum cor_cert_use use;
    struct cor_str common_name;
    const struct cor_str *orgs; /* subject O: the groups of a client */
    size_t norgs;
    const char *const *dns_names; /* subject alternative names */
    size_t ndns_names;
    const char *const *addresses; /* numeric */
    size_t naddresses;
    int64_t now_s; /* Unix time; valid from an hour before it, for clocks that differ */
    int64_t valid_s;
};

/* Both halves of an identity. */
struct cor_cert_pair {
    struct cor_buf cert_pem;
    struct cor_buf key_pem;
};

/* The limit of a PEM text here; a chain of a few certificates has a tenth of it. */
#define COR_PEM_MAX (256u * 1024)

void cor_cert_pair_init(struct cor_cert_pair *pair);

/* Wipes the key. Safe on a zeroed struct. */
void cor_cert_pair_deinit(struct cor_cert_pair *pair);

/* Makes a key and a certificate signed by `ca`, or by itself when `ca` is NULL; appends to an
 * initialised pair. 0, -COR_EINVAL (`ca` or an address is malformed), -COR_ENOMEM, -COR_EINTERNAL
 * (OpenSSL refused). */
int cor_cert_make(const struct cor_cert_opts *opts, const struct cor_cert_pair *ca,
                  struct cor_cert_pair *ret_pair);

/* Appends the file's text. 0, -COR_ENOTFOUND, -COR_EIO, -COR_ETOOBIG, -COR_ENOMEM. */
int cor_pem_load(const char *path, struct cor_buf *out);

/* Replaces the file as a whole, with permissions `mode`; durable on return. 0, -COR_EIO,
 * -COR_ENOMEM. */
int cor_pem_save(const char *path, struct cor_str pem, unsigned mode);

#endif
