/* Ciphers for values at rest, each with one key: AES-GCM, AES-CBC with PKCS#7 padding, and NaCl's
 * secretbox (XSalsa20 and Poly1305). Sealed bytes are the nonce and then the ciphertext, with the
 * tag where Go's implementations put it. Only AES-GCM authenticates additional data, and AES-CBC
 * authenticates nothing. Thread: any (immutable).  Owner: its maker. */
#ifndef COR_NET_CRYPTO_CIPHER_H
#define COR_NET_CRYPTO_CIPHER_H

#include <stddef.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"

enum cor_cipher_kind {
    COR_CIPHER_AES_GCM,
    COR_CIPHER_AES_CBC,
    COR_CIPHER_SECRETBOX,
    COR_CIPHER_KIND_COUNT,
};

#define COR_CIPHER_KEY_MAX   32
#define COR_CIPHER_NONCE_MAX 24

struct cor_cipher;

/* A copy of the key stays in the cipher until it is freed, and is wiped then. AES takes 16, 24 or
 * 32 bytes, secretbox 32. 0, -COR_EINVAL (the key's length), -COR_ENOMEM. */
int cor_cipher_new(enum cor_cipher_kind kind, struct cor_str key, struct cor_cipher **ret_cipher);
struct cor_cipher *cor_cipher_free(struct cor_cipher *cipher); /* NULL is fine; returns NULL */
COR_DEFINE_CLEANUP(struct cor_cipher, cor_cipher_free)

/* 12, 16, 24. */
size_t cor_cipher_nonce_bytes(const struct cor_cipher *cipher);

/* Appends to `out`, which is as before on failure. `nonce` has cor_cipher_nonce_bytes() bytes that
 * were never used with this key. 0, -COR_ENOMEM, -COR_ETOOBIG (the maximum of `out`). */
int cor_cipher_seal(const struct cor_cipher *cipher, const void *nonce, struct cor_str aad,
                    struct cor_str plain, struct cor_buf *out);

/* Appends to `out`, which is as before on failure. Any bytes may be given. 0, -COR_ENOMEM,
 * -COR_ETOOBIG, or -COR_ECORRUPT with a literal in `reterr_why`: too short, not authentic. */
int cor_cipher_open(const struct cor_cipher *cipher, struct cor_str aad, struct cor_str sealed,
                    struct cor_buf *out, const char **reterr_why);

#endif
