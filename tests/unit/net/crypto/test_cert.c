#include "test.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "net/crypto/cert.h"
#include "net/crypto/crypto.h"
#include "net/stream/tls.h"

static struct cor_cert_opts options(enum cor_cert_use use)
{
    return (struct cor_cert_opts){.use = use,
                                  .common_name = COR_STR("someone"),
                                  .now_s = cor_clock_wall_ms(cor_clock_real()) / 1000,
                                  .valid_s = 3600};
}

TEST(cert, a_pair_fits_a_tls_server)
{
    struct cor_cert_opts opts = options(COR_CERT_SERVER);
    struct cor_cert_pair pair, other;
    struct cor_tls_opts tls_opts = {.role = COR_TLS_SERVER};
    struct cor_tls *tls;

    cor_cert_pair_init(&pair);
    cor_cert_pair_init(&other);
    assert_int_equal(cor_cert_make(&opts, NULL, &pair), 0);
    assert_int_equal(cor_cert_make(&opts, NULL, &other), 0);
    assert_int_equal(cor_tls_new(&tls_opts, &tls), -COR_EINVAL);
    tls_opts.cert_pem = cor_buf_str(&pair.cert_pem);
    assert_int_equal(cor_tls_new(&tls_opts, &tls), -COR_EINVAL);
    tls_opts.key_pem = cor_buf_str(&other.key_pem);
    assert_int_equal(cor_tls_new(&tls_opts, &tls), -COR_EINVAL);
    tls_opts.key_pem = cor_buf_str(&pair.key_pem);
    assert_int_equal(cor_tls_new(&tls_opts, &tls), 0);
    assert_null(cor_tls_unref(tls));
    tls_opts.ca_pem = COR_STR("nothing");
    assert_int_equal(cor_tls_new(&tls_opts, &tls), -COR_EINVAL);
    assert_int_equal(cor_buf_addz(&other.cert_pem, "-----BEGIN CERTIFICATE-----\nxx\n"), 0);
    tls_opts.ca_pem = cor_buf_str(&other.cert_pem);
    assert_int_equal(cor_tls_new(&tls_opts, &tls), -COR_EINVAL);
    cor_cert_pair_deinit(&other);
    cor_cert_pair_deinit(&pair);
}

TEST(cert, bad_input_is_told)
{
    static const char *const addresses[] = {"localhost"};
    struct cor_cert_opts opts = options(COR_CERT_SERVER);
    struct cor_cert_pair pair, broken;

    cor_cert_pair_init(&pair);
    cor_cert_pair_init(&broken);
    assert_int_equal(cor_cert_make(&opts, &broken, &pair), -COR_EINVAL);
    opts.addresses = addresses;
    opts.naddresses = 1;
    assert_int_equal(cor_cert_make(&opts, NULL, &pair), -COR_EINVAL);
    assert_int_equal(pair.cert_pem.n + pair.key_pem.n, 0);
    cor_cert_pair_deinit(&pair);
}

TEST(cert, making_survives_failed_allocations)
{
    struct cor_cert_opts opts = options(COR_CERT_CA);

    FOR_EACH_FAILED_ALLOC(i) {
        struct cor_cert_pair pair;
        int r;

        cor_cert_pair_init(&pair);
        r = cor_cert_make(&opts, NULL, &pair);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        assert_int_equal(pair.cert_pem.n > 0, r == 0);
        assert_int_equal(pair.key_pem.n > 0, r == 0);
        cor_cert_pair_deinit(&pair);
    }
}

TEST(cert, files_are_replaced_as_a_whole_with_their_mode)
{
    char path[128];
    struct cor_buf text;
    struct stat st;

    snprintf(path, sizeof(path), "%s/key.pem", test_tmpdir());
    cor_buf_init(&text, COR_PEM_MAX);
    assert_int_equal(cor_pem_load(path, &text), -COR_ENOTFOUND);
    assert_int_equal(cor_pem_save(path, COR_STR("one"), 0600), 0);
    assert_int_equal(cor_pem_save(path, COR_STR("two"), 0640), 0);
    assert_int_equal(cor_pem_load(path, &text), 0);
    assert_str(cor_buf_str(&text), "two");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(cor_pem_save("/nonexistent/x", COR_STR("x"), 0600), -COR_EIO);
    cor_buf_deinit(&text);
}

static void assert_hex(const uint8_t *p, size_t n, const char *want)
{
    char hex[2 * COR_SHA256_BYTES + 1];

    for (size_t i = 0; i < n; i++)
        snprintf(hex + 2 * i, 3, "%02x", p[i]);
    assert_string_equal(hex, want);
}

/* FIPS 180-2, appendix B.1. */
TEST(crypto, a_digest_is_the_standard_s)
{
    uint8_t small[COR_SHA256_BYTES];

    assert_int_equal(cor_sha256(COR_STR("abc"), small), 0);
    assert_hex(small, sizeof(small),
               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(crypto, secrets_compare_by_content_and_length)
{
    assert_true(cor_secret_eq(COR_STR("abc"), COR_STR("abc")));
    assert_false(cor_secret_eq(COR_STR("abc"), COR_STR("abd")));
    assert_false(cor_secret_eq(COR_STR("abc"), COR_STR("ab")));
    assert_true(cor_secret_eq(COR_STR(""), COR_STR("")));
}
