/* What TLS streams are made with: keys, certificates to trust, protocols. Immutable, shared by all
 * loops; TLS 1.2 and 1.3 without renegotiation, compression or session tickets.
 * Owner: reference counted.  Thread: any. */
#ifndef COR_NET_STREAM_TLS_H
#define COR_NET_STREAM_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/str.h"

struct cor_client_cas;
struct cor_tls;

enum cor_tls_role { COR_TLS_SERVER, COR_TLS_CLIENT };

/* An empty string: none. */
struct cor_tls_opts {
    enum cor_tls_role role;
    struct cor_str cert_pem; /* with its chain; a server must have one */
    struct cor_str key_pem;
    /* Server: clients are asked for a certificate; one that does not verify does not end the
     * handshake, struct cor_peer_cert says so. Client: the authorities that may sign the server's
     * certificate; empty: those that the system trusts (OpenSSL's default places, SSL_CERT_FILE and
     * SSL_CERT_DIR). */
    struct cor_str ca_pem;
    /* Server, in place of `ca_pem`: clients are asked for a certificate, and is judged later by
     * these authorities (net/stream/client_cas.h). They outlive the TLS. NULL: none. */
    struct cor_client_cas *client_cas;
    bool is_insecure;        /* client: takes any server certificate and name */
    const char *const *alpn; /* "h2", "http/1.1", most wanted first */
    size_t nalpn;
};

/* 0, -COR_EINVAL (no certificate or key in the text, a key with a password, or they do not belong
 * together), -COR_ENOMEM. */
int cor_tls_new(const struct cor_tls_opts *opts, struct cor_tls **ret_tls);

struct cor_tls *cor_tls_ref(struct cor_tls *tls);
struct cor_tls *cor_tls_unref(struct cor_tls *tls);
COR_DEFINE_CLEANUP(struct cor_tls, cor_tls_unref)

#endif
