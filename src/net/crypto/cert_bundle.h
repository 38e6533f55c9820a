/* Bundles of certificates as PEM text.
 * Thread: any. */
#ifndef COR_NET_CRYPTO_CERT_BUNDLE_H
#define COR_NET_CRYPTO_CERT_BUNDLE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

#define COR_CERT_BUNDLE_MAX 1000 /* certificates of a merge */

/* Appends the certificates of all texts, in their order, each once, without those that expired more
 * than five minutes before `now_s` (Unix time): as upstream merges bundles. What is between the
 * blocks is left out. 0; -COR_EINVAL: a text that is not empty has no certificate, or one that
 * cannot be read; -COR_ETOOBIG, -COR_ENOMEM. */
int cor_cert_bundle_merge(const struct cor_str *pems, size_t n, int64_t now_s, struct cor_buf *out);

#endif
