#include "net/crypto/cipher.h"

#include <assert.h>
#include <stdint.h>

#include <openssl/evp.h>
#include <sodium.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/crypto/crypto.h"

#define GCM_NONCE 12
#define GCM_TAG   16
#define CBC_BLOCK 16

#define TOO_SHORT     "the stored data was shorter than the required size"
#define NOT_AUTHENTIC "cipher: message authentication failed"

static_assert(COR_CIPHER_KEY_MAX == crypto_secretbox_KEYBYTES, "one size holds every key");
static_assert(COR_CIPHER_NONCE_MAX == crypto_secretbox_NONCEBYTES, "one size holds every nonce");

struct cor_cipher {
    enum cor_cipher_kind kind;
    EVP_CIPHER *aes; /* NULL: secretbox */
    uint8_t key[COR_CIPHER_KEY_MAX];
};

static const char *aes_name(enum cor_cipher_kind kind, size_t key_bytes)
{
    switch (key_bytes) {
    case 16:
        return kind == COR_CIPHER_AES_GCM ? "AES-128-GCM" : "AES-128-CBC";
    case 24:
        return kind == COR_CIPHER_AES_GCM ? "AES-192-GCM" : "AES-192-CBC";
    case 32:
        return kind == COR_CIPHER_AES_GCM ? "AES-256-GCM" : "AES-256-CBC";
    default:
        return NULL;
    }
}

int cor_cipher_new(enum cor_cipher_kind kind, struct cor_str key, struct cor_cipher **ret_cipher)
{
    COR_CLEANUP(cor_cipher_freep) struct cor_cipher *cipher = NULL;
    const char *name = kind == COR_CIPHER_SECRETBOX ? "" : aes_name(kind, key.n);

    if (!name || (kind == COR_CIPHER_SECRETBOX && key.n != crypto_secretbox_KEYBYTES))
        return -COR_EINVAL;
    cipher = cor_calloc(1, sizeof(*cipher));
    if (!cipher)
        return -COR_ENOMEM;
    cipher->kind = kind;
    memcpy(cipher->key, key.p, key.n);
    if (kind == COR_CIPHER_SECRETBOX) {
        if (sodium_init() < 0)
            return -COR_ENOMEM;
    } else {
        cipher->aes = EVP_CIPHER_fetch(NULL, name, NULL);
        if (!cipher->aes)
            return -COR_ENOMEM;
    }
    *ret_cipher = COR_STEAL(cipher);
    return 0;
}

struct cor_cipher *cor_cipher_free(struct cor_cipher *cipher)
{
    if (!cipher)
        return NULL;
    EVP_CIPHER_free(cipher->aes);
    cor_secret_wipe(cipher->key, sizeof(cipher->key));
    return cor_free(cipher);
}

size_t cor_cipher_nonce_bytes(const struct cor_cipher *cipher)
{
    static const size_t bytes[COR_CIPHER_KIND_COUNT] = {
        [COR_CIPHER_AES_GCM] = GCM_NONCE,
        [COR_CIPHER_AES_CBC] = CBC_BLOCK,
        [COR_CIPHER_SECRETBOX] = crypto_secretbox_NONCEBYTES,
    };

    return bytes[cipher->kind];
}

/* OpenSSL's lengths are ints; a value has at most 16 MiB. */
static bool fits(size_t n)
{
    return n < INT32_MAX / 2;
}

static bool gcm_seal(const struct cor_cipher *c, EVP_CIPHER_CTX *ctx, const uint8_t *nonce,
                     struct cor_str aad, struct cor_str plain, uint8_t *out)
{
    int n;

    return EVP_EncryptInit_ex2(ctx, c->aes, c->key, nonce, NULL) == 1 &&
           EVP_EncryptUpdate(ctx, NULL, &n, (const uint8_t *)aad.p, (int)aad.n) == 1 &&
           EVP_EncryptUpdate(ctx, out, &n, (const uint8_t *)plain.p, (int)plain.n) == 1 &&
           EVP_EncryptFinal_ex(ctx, out + plain.n, &n) == 1 &&
           EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, GCM_TAG, out + plain.n) == 1;
}

static bool cbc_seal(const struct cor_cipher *c, EVP_CIPHER_CTX *ctx, const uint8_t *nonce,
                     struct cor_str plain, uint8_t *out)
{
    int n = 0, last;

    return EVP_EncryptInit_ex2(ctx, c->aes, c->key, nonce, NULL) == 1 &&
           EVP_EncryptUpdate(ctx, out, &n, (const uint8_t *)plain.p, (int)plain.n) == 1 &&
           EVP_EncryptFinal_ex(ctx, out + n, &last) == 1;
}

static size_t sealed_bytes(const struct cor_cipher *c, size_t plain)
{
    switch (c->kind) {
    case COR_CIPHER_AES_GCM:
        return plain + GCM_TAG;
    case COR_CIPHER_AES_CBC:
        return plain + CBC_BLOCK - plain % CBC_BLOCK;
    default:
        return plain + crypto_secretbox_MACBYTES;
    }
}

static void free_ctx(EVP_CIPHER_CTX **ctx)
{
    EVP_CIPHER_CTX_free(*ctx);
}

int cor_cipher_seal(const struct cor_cipher *cipher, const void *nonce, struct cor_str aad,
                    struct cor_str plain, struct cor_buf *out)
{
    COR_CLEANUP(free_ctx) EVP_CIPHER_CTX *ctx = cipher->aes ? EVP_CIPHER_CTX_new() : NULL;
    size_t nonce_bytes = cor_cipher_nonce_bytes(cipher), n = sealed_bytes(cipher, plain.n);
    uint8_t *at;
    bool ok;
    int r;

    if (!fits(plain.n) || !fits(aad.n))
        return -COR_ETOOBIG;
    if (cipher->aes && !ctx)
        return -COR_ENOMEM;
    r = cor_buf_reserve(out, nonce_bytes + n);
    if (r < 0)
        return r;
    at = (uint8_t *)out->p + out->n;
    memcpy(at, nonce, nonce_bytes);
    if (cipher->kind == COR_CIPHER_AES_GCM)
        ok = gcm_seal(cipher, ctx, nonce, aad, plain, at + nonce_bytes);
    else if (cipher->kind == COR_CIPHER_AES_CBC)
        ok = cbc_seal(cipher, ctx, nonce, plain, at + nonce_bytes);
    else
        ok = crypto_secretbox_easy(at + nonce_bytes, (const uint8_t *)plain.p, plain.n, nonce,
                                   cipher->key) == 0;
    if (!ok)
        return -COR_ENOMEM;
    out->n += nonce_bytes + n;
    out->p[out->n] = 0;
    return 0;
}

static int refuse(const char *why, const char **reterr_why)
{
    *reterr_why = why;
    return -COR_ECORRUPT;
}

/* Each of the three writes the plain bytes to `at`, which has room for sealed.n of them. */
static int gcm_open(const struct cor_cipher *c, EVP_CIPHER_CTX *ctx, struct cor_str aad,
                    struct cor_str sealed, uint8_t *at, size_t *ret_n, const char **reterr_why)
{
    const uint8_t *nonce = (const uint8_t *)sealed.p;
    uint8_t tag[GCM_TAG];
    size_t text;
    int n;

    if (sealed.n < GCM_NONCE)
        return refuse(TOO_SHORT, reterr_why);
    if (sealed.n < GCM_NONCE + GCM_TAG)
        return refuse(NOT_AUTHENTIC, reterr_why);
    text = sealed.n - GCM_NONCE - GCM_TAG;
    memcpy(tag, nonce + GCM_NONCE + text, GCM_TAG);
    if (EVP_DecryptInit_ex2(ctx, c->aes, c->key, nonce, NULL) != 1 ||
        EVP_DecryptUpdate(ctx, NULL, &n, (const uint8_t *)aad.p, (int)aad.n) != 1 ||
        EVP_DecryptUpdate(ctx, at, &n, nonce + GCM_NONCE, (int)text) != 1 ||
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, GCM_TAG, tag) != 1)
        return -COR_ENOMEM;
    if (EVP_DecryptFinal_ex(ctx, at + n, &n) != 1) {
        cor_secret_wipe(at, text);
        return refuse(NOT_AUTHENTIC, reterr_why);
    }
    *ret_n = text;
    return 0;
}

/* Upstream's check of the padding: it may be longer than a block. */
static int unpad(const uint8_t *at, size_t *n, const char **reterr_why)
{
    size_t pad = *n ? at[*n - 1] : 0;

    if (pad == 0 || pad > *n)
        return refuse("invalid PKCS7 data (empty or not padded)", reterr_why);
    for (size_t i = 1; i <= pad; i++) {
        if (at[*n - i] != pad)
            return refuse("invalid padding on input", reterr_why);
    }
    *n -= pad;
    return 0;
}

static int cbc_open(const struct cor_cipher *c, EVP_CIPHER_CTX *ctx, struct cor_str sealed,
                    uint8_t *at, size_t *ret_n, const char **reterr_why)
{
    const uint8_t *iv = (const uint8_t *)sealed.p;
    int n, last;

    if (sealed.n < CBC_BLOCK)
        return refuse(TOO_SHORT, reterr_why);
    if (sealed.n % CBC_BLOCK != 0)
        return refuse("the stored data is not a multiple of the block size", reterr_why);
    if (EVP_DecryptInit_ex2(ctx, c->aes, c->key, iv, NULL) != 1 ||
        EVP_CIPHER_CTX_set_padding(ctx, 0) != 1 ||
        EVP_DecryptUpdate(ctx, at, &n, iv + CBC_BLOCK, (int)(sealed.n - CBC_BLOCK)) != 1 ||
        EVP_DecryptFinal_ex(ctx, at + n, &last) != 1)
        return -COR_ENOMEM;
    *ret_n = (size_t)n;
    return unpad(at, ret_n, reterr_why);
}

static int secretbox_open(const struct cor_cipher *c, struct cor_str sealed, uint8_t *at,
                          size_t *ret_n, const char **reterr_why)
{
    const uint8_t *nonce = (const uint8_t *)sealed.p;
    size_t head = crypto_secretbox_NONCEBYTES;

    if (sealed.n < head + crypto_secretbox_MACBYTES)
        return refuse(TOO_SHORT, reterr_why);
    if (crypto_secretbox_open_easy(at, nonce + head, sealed.n - head, nonce, c->key) != 0)
        return refuse(NOT_AUTHENTIC, reterr_why);
    *ret_n = sealed.n - head - crypto_secretbox_MACBYTES;
    return 0;
}

int cor_cipher_open(const struct cor_cipher *cipher, struct cor_str aad, struct cor_str sealed,
                    struct cor_buf *out, const char **reterr_why)
{
    COR_CLEANUP(free_ctx) EVP_CIPHER_CTX *ctx = cipher->aes ? EVP_CIPHER_CTX_new() : NULL;
    size_t n;
    uint8_t *at;
    int r;

    if (!fits(sealed.n) || !fits(aad.n))
        return -COR_ETOOBIG;
    if (cipher->aes && !ctx)
        return -COR_ENOMEM;
    r = cor_buf_reserve(out, sealed.n);
    if (r < 0)
        return r;
    at = (uint8_t *)out->p + out->n;
    if (cipher->kind == COR_CIPHER_AES_GCM)
        r = gcm_open(cipher, ctx, aad, sealed, at, &n, reterr_why);
    else if (cipher->kind == COR_CIPHER_AES_CBC)
        r = cbc_open(cipher, ctx, sealed, at, &n, reterr_why);
    else
        r = secretbox_open(cipher, sealed, at, &n, reterr_why);
    if (r == 0)
        out->n += n;
    out->p[out->n] = 0;
    return r;
}
