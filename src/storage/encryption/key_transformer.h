/* Encrypts and decrypts values with one key, under a fresh nonce for each write.
 * Thread: any (immutable).  Owner: the set of transformers that it is in. */
#ifndef COR_STORAGE_ENCRYPTION_KEY_TRANSFORMER_H
#define COR_STORAGE_ENCRYPTION_KEY_TRANSFORMER_H

#include "net/crypto/cipher.h"
#include "storage/store/transformer.h"

struct cor_rand;

struct cor_key_transformer {
    struct cor_transformer transformer;
    struct cor_cipher *cipher;
    struct cor_rand *rand; /* NULL: the kernel's randomness */
};

/* `secret` is base64. -COR_EINVAL (not base64, or not of the cipher's length), -COR_ENOMEM. */
int cor_key_transformer_init(struct cor_key_transformer *kt, enum cor_cipher_kind kind,
                             struct cor_str secret, struct cor_rand *rand);
void cor_key_transformer_deinit(struct cor_key_transformer *kt); /* safe on a zeroed struct */

#endif
