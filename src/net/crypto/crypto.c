#include "net/crypto/crypto.h"

#include <pthread.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/err.h"

static EVP_MD *sha1, *sha256;
static pthread_once_t digests_once = PTHREAD_ONCE_INIT;

/* Once for all: EVP_sha256() is looked up among the providers at every use, which takes longer than
 * to digest a token. They stay for the life of the process. */
static void fetch_digests(void)
{
    sha1 = EVP_MD_fetch(NULL, "SHA1", NULL);
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
}

static int digest(struct cor_str in, EVP_MD *const *fetched, uint8_t *ret)
{
    const EVP_MD *md;

    pthread_once(&digests_once, fetch_digests);
    md = *fetched;
    if (!md)
        return -COR_ENOMEM;
    return EVP_Digest(in.p ? in.p : "", in.n, ret, NULL, md, NULL) == 1 ? 0 : -COR_ENOMEM;
}

int cor_sha1(struct cor_str in, uint8_t ret[COR_SHA1_BYTES])
{
    return digest(in, &sha1, ret);
}

int cor_sha256(struct cor_str in, uint8_t ret[COR_SHA256_BYTES])
{
    return digest(in, &sha256, ret);
}

bool cor_secret_eq(struct cor_str a, struct cor_str b)
{
    return a.n == b.n && (a.n == 0 || CRYPTO_memcmp(a.p, b.p, a.n) == 0);
}

void cor_secret_wipe(void *p, size_t n)
{
    OPENSSL_cleanse(p, n);
}
