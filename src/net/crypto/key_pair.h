/* Whether a certificate and a private key belong together, in the words of Go's tls.X509KeyPair():
 * what kube-apiserver warns of when a Secret holds them.
 * Thread: any. */
#ifndef COR_NET_CRYPTO_KEY_PAIR_H
#define COR_NET_CRYPTO_KEY_PAIR_H

#include "base/buf.h"
#include "base/str.h"

/* Appends what is wrong with the first certificate of `cert_pem` and the first private key of
 * `key_pem`, which may be any bytes. 1: something is; 0: they belong together; -COR_ENOMEM,
 * -COR_ETOOBIG (out's maximum). The work is linear in the texts. */
int cor_key_pair_mistake(struct cor_str cert_pem, struct cor_str key_pem, struct cor_buf *out);

#endif
