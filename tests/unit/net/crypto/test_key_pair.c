/* A certificate and a key in the words of Go's tls.X509KeyPair(). The cases of Secrets compare
 * texts without keys with a kube-apiserver's answers. Contract types 5.3. */
#include "net/crypto/key_pair.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/err.h"
#include "net/crypto/cert.h"
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

/* Appends the head of an element with a length of three bytes, or of one. */
static void add_head(struct cor_buf *out, unsigned char tag, size_t n)
{
    const unsigned char head[] = {tag, 0x83, (unsigned char)(n >> 16), (unsigned char)(n >> 8),
                                  (unsigned char)n};
    const unsigned char short_head[] = {tag, (unsigned char)n};

    if (n < 0x80)
        assert_int_equal(cor_buf_add(out, short_head, sizeof(short_head)), 0);
    else
        assert_int_equal(cor_buf_add(out, head, sizeof(head)), 0);
}

static void add_number(struct cor_buf *out, size_t n, char byte)
{
    add_head(out, 0x02, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(cor_buf_addc(out, byte), 0);
}

/* The public key of such a key is a power of a number of 64 KB, which is computed for hours. */
TEST(key_pair, a_key_of_a_kind_that_go_does_not_know_is_not_computed_with)
{
    static const struct cor_str kinds[] = {
        COR_STR("\x06\x07\x2a\x86\x48\xce\x38\x04\x01"),         /* DSA */
        COR_STR("\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x03\x01"), /* Diffie-Hellman */
    };
    const size_t n = 64u * 1024 - 1, number = n + 5;
    struct cor_cert_pair pair;

    make_pair(&pair);
    for (size_t i = 0; i < COR_ARRAY_LEN(kinds); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf der = {.max = 1u << 20}, pem = {.max = 1u << 20};
        size_t parameters = i == 0 ? 2 * number + 3 : number + 3;
        size_t algorithm = kinds[i].n + 5 + parameters;

        add_head(&der, 0x30, 3 + 5 + algorithm + 5 + number);
        add_number(&der, 1, 0);
        add_head(&der, 0x30, algorithm);
        assert_int_equal(cor_buf_adds(&der, kinds[i]), 0);
        add_head(&der, 0x30, parameters);
        add_number(&der, n, 0x7f);
        if (i == 0)
            add_number(&der, n, 0x7d);
        add_number(&der, 1, 3);
        add_head(&der, 0x04, number);
        add_number(&der, n, 0x7b);
        assert_int_equal(cor_buf_addz(&pem, "-----BEGIN PRIVATE KEY-----\n"), 0);
        assert_int_equal(cor_base64_encode(COR_BASE64_STD, cor_buf_str(&der), &pem), 0);
        assert_int_equal(cor_buf_addz(&pem, "\n-----END PRIVATE KEY-----\n"), 0);
        expect(cor_buf_str(&pair.cert_pem), cor_buf_str(&pem), "tls: failed to parse private key");
    }
    cor_cert_pair_deinit(&pair);
}

/* A text of 64 KB has room for the message, whatever the labels are. */
TEST(key_pair, long_labels_are_cut)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf pem = {.max = 1u << 20}, out = {.max = 64u * 1024};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf label = {.max = 1u << 20};

    while (label.n < 300)
        assert_int_equal(cor_buf_addc(&label, 'A'), 0);
    while (pem.n < 8 * out.max)
        assert_int_equal(cor_buf_addf(&pem, "-----BEGIN %s-----\nAAAA\n-----END %s-----\n",
                                      cor_buf_z(&label), cor_buf_z(&label)),
                         0);
    assert_int_equal(cor_key_pair_mistake(cor_buf_str(&pem), COR_STR(""), &out), 1);
    assert_true(cor_str_starts(cor_buf_str(&out),
                               COR_STR("tls: failed to find \"CERTIFICATE\" PEM block in "
                                       "certificate input after skipping PEM blocks of the "
                                       "following types: [AAA")));
    assert_true(cor_str_ends(cor_buf_str(&out), COR_STR("A]")));
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
