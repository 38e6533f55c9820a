/* One key of a provider as a transformer: to_storage encrypts with a fresh nonce and appends to the
 * scratch buffer, from_storage decrypts into it. The value's key in the store is authenticated
 * where the cipher can do that. A value that does not decrypt is -COR_EINTERNAL with the cipher's
 * reason; out of memory is -COR_ENOMEM. Thread: any; the key is never changed. */
#include "storage/encryption/key_transformer.h"

#include "base/base64.h"
#include "base/err.h"
#include "base/rand.h"

/* Two virtual machines that are started from one snapshot have the same generator in memory and
 * would repeat its numbers. The kernel reseeds its own when that happens, so each write asks the
 * kernel. */
static void make_nonce(const struct cor_key_transformer *kt, uint8_t *nonce, size_t n)
{
    struct cor_rand fresh;

    if (kt->rand) {
        cor_rand_bytes(kt->rand, nonce, n);
        return;
    }
    cor_rand_init(&fresh);
    cor_rand_bytes(&fresh, nonce, n);
}

static int from_storage(const struct cor_transformer *t, struct cor_str key, struct cor_str in,
                        struct cor_buf *scratch, struct cor_str *ret_out, bool *ret_stale,
                        struct cor_status *reterr_status)
{
    const struct cor_key_transformer *kt =
        COR_CONTAINER_OF(t, struct cor_key_transformer, transformer);
    const char *why;
    int r;

    cor_buf_reset(scratch);
    r = cor_cipher_open(kt->cipher, key, in, scratch, &why);
    if (r == -COR_ENOMEM)
        return cor_status_set_err(reterr_status, r);
    if (r < 0)
        return cor_status_set(reterr_status, -COR_EINTERNAL, "%s",
                              r == -COR_ECORRUPT ? why : cor_err_text(r));
    *ret_out = cor_buf_str(scratch);
    *ret_stale = false;
    return 0;
}

static int to_storage(const struct cor_transformer *t, struct cor_str key, struct cor_str in,
                      struct cor_buf *scratch, struct cor_str *ret_out,
                      struct cor_status *reterr_status)
{
    const struct cor_key_transformer *kt =
        COR_CONTAINER_OF(t, struct cor_key_transformer, transformer);
    uint8_t nonce[COR_CIPHER_NONCE_MAX];
    size_t mark = scratch->n;
    int r;

    make_nonce(kt, nonce, cor_cipher_nonce_bytes(kt->cipher));
    r = cor_cipher_seal(kt->cipher, nonce, key, in, scratch);
    if (r < 0)
        return cor_status_set(reterr_status, r == -COR_ENOMEM ? r : -COR_EINTERNAL, "%s",
                              cor_err_text(r));
    *ret_out = cor_str_from(cor_buf_str(scratch), mark);
    return 0;
}

int cor_key_transformer_init(struct cor_key_transformer *kt, enum cor_cipher_kind kind,
                             struct cor_str secret, struct cor_rand *rand)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf key;
    int r;

    cor_buf_init_secret(&key, COR_CIPHER_KEY_MAX);
    r = cor_base64_decode(COR_BASE64_STD, secret, &key, NULL);
    if (r < 0)
        return r == -COR_ENOMEM ? r : -COR_EINVAL;
    *kt = (struct cor_key_transformer){{from_storage, to_storage}, NULL, rand};
    return cor_cipher_new(kind, cor_buf_str(&key), &kt->cipher);
}

void cor_key_transformer_deinit(struct cor_key_transformer *kt)
{
    kt->cipher = cor_cipher_free(kt->cipher);
}
