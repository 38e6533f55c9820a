#include "storage/encryption/key_transformer.h"

#include "base/base64.h"
#include "base/err.h"
#include "base/rand.h"

/* The pool of a long-lived generator would repeat itself in a virtual machine that is started twice
 * from one snapshot; the kernel knows of that, so each write asks it. */
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
