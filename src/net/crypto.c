#include "net/crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/err.h"

static int digest(struct cor_str in, const EVP_MD *md, uint8_t *ret)
{
    return EVP_Digest(in.p ? in.p : "", in.n, ret, NULL, md, NULL) == 1 ? 0 : -COR_ENOMEM;
}

int cor_sha256(struct cor_str in, uint8_t ret[COR_SHA256_BYTES])
{
    return digest(in, EVP_sha256(), ret);
}

int cor_sha512(struct cor_str in, uint8_t ret[COR_SHA512_BYTES])
{
    return digest(in, EVP_sha512(), ret);
}

bool cor_secret_eq(struct cor_str a, struct cor_str b)
{
    return a.n == b.n && (a.n == 0 || CRYPTO_memcmp(a.p, b.p, a.n) == 0);
}

void cor_secret_wipe(void *p, size_t n)
{
    OPENSSL_cleanse(p, n);
}

void cor_secret_buf_deinit(struct cor_buf *b)
{
    if (b->p)
        OPENSSL_cleanse(b->p, b->cap);
    cor_buf_deinit(b);
}
