/* A certificate and a key in the words of Go's tls.X509KeyPair(). The cases of Secrets compare
 * texts without keys with a kube-apiserver's answers. Contract types 5.3. */
#include "net/key_pair.h"

#include "base/clock.h"
#include "base/err.h"
#include "net/cert.h"
#include "test.h"

/* Checks what is said of the two; "" for nothing. */
static void expect(struct cor_str cert, struct cor_str key, const char *want)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 4096};
    int r = cor_key_pair_mistake(cert, key, &out);

    assert_string_equal(cor_buf_z(&out), want);
    assert_int_equal(r, want[0] != '\0');
}

static void make_pair(struct cor_cert_pair *pair)
{
    struct cor_cert_opts opts = {.use = COR_CERT_SERVER,
                                 .common_name = COR_STR("someone"),
                                 .now_s = cor_clock_wall_ms(cor_clock_real()) / 1000,
                                 .valid_s = 3600};

    cor_cert_pair_init(pair);
    assert_int_equal(cor_cert_make(&opts, NULL, pair), 0);
}

/* Keys of 0 bytes. */
#define KEY(bytes) COR_STR("-----BEGIN PRIVATE KEY-----\n" bytes "\n-----END PRIVATE KEY-----\n")
#define ED25519    "MC4CAQAwBQYDK2VwBCIEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define X25519     "MC4CAQAwBQYDK2VuBCIEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define ED448                                                                                      \
    "MEcCAQAwBQYDK2VxBDsEOQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"                                 \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="

TEST(key_pair, keys_that_belong_to_a_certificate_or_do_not)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf both = {.max = 8192};
    struct cor_cert_pair pair, other;
    struct cor_str cert, key;

    make_pair(&pair);
    make_pair(&other);
    cert = cor_buf_str(&pair.cert_pem);
    key = cor_buf_str(&pair.key_pem);
    expect(cert, key, "");
    expect(cert, cor_buf_str(&other.key_pem), "tls: private key does not match public key");
    expect(cert, KEY(ED25519), "tls: private key type does not match public key type");
    expect(cert, KEY(X25519), "tls: found unknown private key type in PKCS#8 wrapping");
    expect(cert, KEY(ED448), "tls: failed to parse private key");
    expect(cert, KEY("AAAA"), "tls: failed to parse private key");
    expect(cert, cert, "tls: found a certificate rather than a key in the PEM for the private key");
    expect(key, cert,
           "tls: failed to find certificate PEM data in certificate input, but did find a private "
           "key; PEM inputs may have been switched");
    /* The first certificate and the first key count. */
    assert_int_equal(cor_buf_adds(&both, cor_buf_str(&other.cert_pem)), 0);
    assert_int_equal(cor_buf_adds(&both, cert), 0);
    expect(cor_buf_str(&both), key, "tls: private key does not match public key");
    expect(cor_buf_str(&both), cor_buf_str(&other.key_pem), "");
    cor_cert_pair_deinit(&pair);
    cor_cert_pair_deinit(&other);
}

TEST(key_pair, a_mistake_is_found_or_memory_was_lacking)
{
    static const char *const texts[] = {
        "-----BEGIN A-----\nAAAA\n-----END A-----\n-----BEGIN B-----\n-----END B-----\n",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    };

    FOR_EACH_FAILED_ALLOC(n) {
        for (size_t i = 0; i < COR_ARRAY_LEN(texts); i++) {
            COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 4096};
            int r = cor_key_pair_mistake(cor_strz(texts[i]), cor_strz(texts[0]), &out);

            if (r == 1)
                assert_true(cor_str_ends(cor_buf_str(&out), COR_STR(" types: [A B]")));
            else
                assert_int_equal(r, -COR_ENOMEM);
        }
    }
}
