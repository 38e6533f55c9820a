/* Requests for certificates (PKCS#10), as kube-apiserver judges them: the structure in the words of
 * Go's encoding/asn1, the key and the signature by those of crypto/x509.
 * Thread: any (pure). */
#ifndef COR_NET_CRYPTO_CERT_REQUEST_H
#define COR_NET_CRYPTO_CERT_REQUEST_H

#include "base/buf.h"
#include "base/str.h"

/* Longest text that cor_cert_request_check() appends. */
#define COR_CERT_REQUEST_WHY_MAX 1024

/* Is this DER a request with a signature by its own key? 0: it is. 1: it is not, and `why` got the
 * reason; the requested extensions are not looked at. -COR_ENOMEM, -COR_ETOOBIG (`why` has less
 * room than COR_CERT_REQUEST_WHY_MAX). */
int cor_cert_request_check(struct cor_str der, struct cor_buf *why);

#endif
