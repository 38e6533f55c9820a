/* Digests, and handling secrets. Thread: any. */
#ifndef COR_NET_CRYPTO_CRYPTO_H
#define COR_NET_CRYPTO_CRYPTO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define COR_SHA1_BYTES   20
#define COR_SHA256_BYTES 32

/* 0, or -COR_ENOMEM. */
/* Only for protocols that name it. */
int cor_sha1(struct cor_str in, uint8_t ret[COR_SHA1_BYTES]);
int cor_sha256(struct cor_str in, uint8_t ret[COR_SHA256_BYTES]);

/* Takes the same time wherever two strings of equal length differ. The length is not a secret. */
bool cor_secret_eq(struct cor_str a, struct cor_str b);

/* Overwrites with zeros, which no compiler leaves out. */
void cor_secret_wipe(void *p, size_t n);

#endif
