#include "net/crypto/cipher.h"

#include "base/err.h"
#include "encrypted_values.h"
#include "net/crypto/crypto.h"
#include "test.h"

#define OUT_MAX (1u << 20)

static const char key_bytes[] = "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"
                                "\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x20";

static const struct {
    const char *provider;
    enum cor_cipher_kind kind;
    size_t nonce_bytes;
} kinds[] = {
    {"aesgcm", COR_CIPHER_AES_GCM, 12},
    {"aescbc", COR_CIPHER_AES_CBC, 16},
    {"secretbox", COR_CIPHER_SECRETBOX, 24},
};

static struct cor_cipher *make(enum cor_cipher_kind kind, size_t n)
{
    struct cor_cipher *cipher;

    assert_int_equal(cor_cipher_new(kind, cor_str(key_bytes, n), &cipher), 0);
    return cipher;
}

static unsigned nibble(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* What stands behind `k8s:enc:PROVIDER:v1:key1:`. */
static size_t sealed_of(const struct encrypted_value *v, char *out)
{
    size_t head = strlen("k8s:enc:") + strlen(v->provider) + strlen(":v1:key1:"), n = 0;

    for (const char *p = v->hex + 2 * head; *p; p += 2)
        out[n++] = (char)(nibble(p[0]) << 4 | nibble(p[1]));
    return n;
}

TEST(cipher, opens_and_makes_the_bytes_that_kubernetes_stores)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(encrypted_values); i++) {
        const struct encrypted_value *v = &encrypted_values[i];
        size_t k = 0, n;
        char sealed[512];
        struct cor_cipher *cipher;
        struct cor_buf plain, again;
        const char *why;

        while (strcmp(kinds[k].provider, v->provider) != 0)
            k++;
        cipher = make(kinds[k].kind, v->key_bytes);
        n = sealed_of(v, sealed);
        cor_buf_init(&plain, OUT_MAX);
        cor_buf_init(&again, OUT_MAX);
        assert_int_equal(cor_cipher_nonce_bytes(cipher), kinds[k].nonce_bytes);
        assert_int_equal(cor_cipher_open(cipher, COR_STR(ENCRYPTED_VALUES_KEY), cor_str(sealed, n),
                                         &plain, &why),
                         0);
        assert_str(cor_buf_str(&plain), v->plain);
        assert_int_equal(cor_cipher_seal(cipher, sealed, COR_STR(ENCRYPTED_VALUES_KEY),
                                         cor_strz(v->plain), &again),
                         0);
        assert_int_equal(again.n, n);
        assert_memory_equal(again.p, sealed, n);
        cor_buf_deinit(&plain);
        cor_buf_deinit(&again);
        cor_cipher_free(cipher);
    }
}

TEST(cipher, takes_keys_of_the_right_length_only)
{
    for (size_t n = 0; n <= 32; n++) {
        for (size_t k = 0; k < COR_ARRAY_LEN(kinds); k++) {
            bool aes = kinds[k].kind != COR_CIPHER_SECRETBOX;
            bool good = n == 32 || (aes && (n == 16 || n == 24));
            struct cor_cipher *cipher = NULL;
            int r = cor_cipher_new(kinds[k].kind, cor_str(key_bytes, n), &cipher);

            assert_int_equal(r, good ? 0 : -COR_EINVAL);
            cor_cipher_free(cipher);
        }
    }
}

static int open_bytes(const struct cor_cipher *cipher, const char *aad, const char *p, size_t n,
                      const char **ret_why)
{
    struct cor_buf out;
    int r;

    cor_buf_init(&out, OUT_MAX);
    assert_int_equal(cor_buf_addz(&out, "before"), 0);
    r = cor_cipher_open(cipher, cor_strz(aad), cor_str(p, n), &out, ret_why);
    if (r < 0)
        assert_str(cor_buf_str(&out), "before");
    cor_buf_deinit(&out);
    return r;
}

TEST(cipher, refuses_every_flipped_bit_and_every_shortening_of_authentic_bytes)
{
    static const enum cor_cipher_kind authentic[] = {COR_CIPHER_AES_GCM, COR_CIPHER_SECRETBOX};
    const char *why;

    for (size_t k = 0; k < COR_ARRAY_LEN(authentic); k++) {
        struct cor_cipher *cipher = make(authentic[k], 32);
        struct cor_buf sealed;

        cor_buf_init(&sealed, OUT_MAX);
        assert_int_equal(
            cor_cipher_seal(cipher, key_bytes, COR_STR("k"), COR_STR("plain text"), &sealed), 0);
        assert_int_equal(open_bytes(cipher, "k", sealed.p, sealed.n, &why), 0);
        for (size_t n = 0; n < sealed.n; n++)
            assert_int_equal(open_bytes(cipher, "k", sealed.p, n, &why), -COR_ECORRUPT);
        for (size_t bit = 0; bit < sealed.n * 8; bit++) {
            sealed.p[bit / 8] ^= (char)(1 << bit % 8);
            assert_int_equal(open_bytes(cipher, "k", sealed.p, sealed.n, &why), -COR_ECORRUPT);
            assert_string_equal(why, "cipher: message authentication failed");
            sealed.p[bit / 8] ^= (char)(1 << bit % 8);
        }
        cor_buf_deinit(&sealed);
        cor_cipher_free(cipher);
    }
}

TEST(cipher, gcm_refuses_a_value_of_another_key)
{
    struct cor_cipher *cipher = make(COR_CIPHER_AES_GCM, 32);
    struct cor_buf sealed;
    const char *why;

    cor_buf_init(&sealed, OUT_MAX);
    assert_int_equal(cor_cipher_seal(cipher, key_bytes, COR_STR("/a"), COR_STR("plain"), &sealed),
                     0);
    assert_int_equal(open_bytes(cipher, "/b", sealed.p, sealed.n, &why), -COR_ECORRUPT);
    assert_int_equal(open_bytes(cipher, "/a", sealed.p, sealed.n, &why), 0);
    cor_buf_deinit(&sealed);
    cor_cipher_free(cipher);
}

TEST(cipher, cbc_names_what_is_wrong_with_the_length_or_the_padding)
{
    struct cor_cipher *cipher = make(COR_CIPHER_AES_CBC, 32);
    char bytes[48] = {0};
    const char *why;

    assert_int_equal(open_bytes(cipher, "", bytes, 15, &why), -COR_ECORRUPT);
    assert_string_equal(why, "the stored data was shorter than the required size");
    assert_int_equal(open_bytes(cipher, "", bytes, 33, &why), -COR_ECORRUPT);
    assert_string_equal(why, "the stored data is not a multiple of the block size");
    assert_int_equal(open_bytes(cipher, "", bytes, 16, &why), -COR_ECORRUPT);
    assert_string_equal(why, "invalid PKCS7 data (empty or not padded)");
    assert_int_equal(open_bytes(cipher, "", bytes, 48, &why), -COR_ECORRUPT);
    cor_cipher_free(cipher);
}

TEST(cipher, keeps_to_the_maximum_of_the_buffer)
{
    struct cor_cipher *cipher = make(COR_CIPHER_AES_GCM, 16);
    struct cor_buf out;

    cor_buf_init(&out, 12 + 5 + 16);
    assert_int_equal(cor_cipher_seal(cipher, key_bytes, COR_STR(""), COR_STR("123456"), &out),
                     -COR_ETOOBIG);
    assert_int_equal(cor_cipher_seal(cipher, key_bytes, COR_STR(""), COR_STR("12345"), &out), 0);
    cor_buf_deinit(&out);
    cor_cipher_free(cipher);
}

TEST(cipher, survives_every_failed_allocation)
{
    for (size_t k = 0; k < COR_ARRAY_LEN(kinds); k++) {
        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_cipher *cipher = NULL;
            struct cor_buf sealed, plain;
            const char *why;
            int r = cor_cipher_new(kinds[k].kind, cor_str(key_bytes, 32), &cipher);

            cor_buf_init(&sealed, OUT_MAX);
            cor_buf_init(&plain, OUT_MAX);
            if (r == 0)
                r = cor_cipher_seal(cipher, key_bytes, COR_STR(""), COR_STR("x"), &sealed);
            if (r == 0)
                r = cor_cipher_open(cipher, COR_STR(""), cor_buf_str(&sealed), &plain, &why);
            assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
            assert_str(cor_buf_str(&plain), r == 0 ? "x" : "");
            cor_buf_deinit(&sealed);
            cor_buf_deinit(&plain);
            cor_cipher_free(cipher);
        }
    }
}

TEST(crypto, a_wiped_text_is_zero)
{
    char secret[] = "secret";

    cor_secret_wipe(secret, sizeof(secret));
    for (size_t i = 0; i < sizeof(secret); i++)
        assert_int_equal(secret[i], 0);
}
