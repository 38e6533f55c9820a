/* Contract validation 7.9.1: what kube-apiserver says of a request for a certificate, byte by byte.
 * The words were asked of a real one. */
#include "net/crypto/cert_request.h"

#include "base/base64.h"
#include "base/err.h"
#include "base/mem.h"
#include "test.h"

/* O=system:nodes, CN=system:node:n, a key on P-256. */
#define EC                                                                                         \
    "MIHqMIGRAgEAMC8xFTATBgNVBAoMDHN5c3RlbTpub2RlczEWMBQGA1UEAwwNc3lzdGVtOm5vZGU6bjBZMBMGByqG"     \
    "SM49AgEGCCqGSM49AwEHA0IABHBEjRYP8GMObWKavVr8M1yjFBkUvsWl2+JwwnrGDXwQKD++7Pq7t9kZB0P1cBKI"     \
    "ozbEIUNIV5SdDZo6Jp7nzyygADAKBggqhkjOPQQDAgNIADBFAiEA2hlWjZIBIX0bcfpM6HoxKKFIxSFosSvFjr3p"     \
    "MccNerMCIH72uh2jcQSaomhYIKrpLbdBZMg+6SP/C0/rkkP7L5iX"
/* A key of 512 bits; a key on a curve that Go does not know; an Ed25519 key. */
#define SMALL                                                                                      \
    "MIHFMHECAQAwDDEKMAgGA1UEAwwBYTBcMA0GCSqGSIb3DQEBAQUAA0sAMEgCQQDBIL7iU2QV75jzG6qpFQvBfFWJ"     \
    "zmH5Ohgicg7+hPFwwBh3SP9+p+rv8Ddye9m27J2l3bIyzT2qmQpxl6sK84EXAgMBAAGgADANBgkqhkiG9w0BAQsF"     \
    "AANBAKAie8GZgEjdTzYvz4wyLEfl2tZD1iqsItyk5pXv7BQwgITd5YdlvsPR1sbxqASWc/vpBur+Z1wHoVpqpz8K"     \
    "lRc="
#define KOBLITZ                                                                                    \
    "MIHCMGsCAQAwDDEKMAgGA1UEAwwBYTBWMBAGByqGSM49AgEGBSuBBAAKA0IABPrww4NqicdL/VScSCgIkl5gedU6"     \
    "SoNIdi4Lzst92oKns5xID3g7T0J7HyzIdAN1DkwIDQIqtmghFYVF/enW2UGgADAKBggqhkjOPQQDAgNHADBEAiA+"     \
    "kNfWXYeBmqAK0/nVBUBC9dxyWLUfwgiDhBXL+C8MXAIgUm/Tmpco7TAb4DXcSnl5GkWsY5Aw5xBjXgosndNIV7E="
#define ED25519                                                                                    \
    "MIGLMD8CAQAwDDEKMAgGA1UEAwwBYTAqMAUGAytlcAMhALPchxX+iCSMvsDAWgDxngO6co50+DFEpT5k9vVINniD"     \
    "oAAwBQYDK2VwA0EA9JqKUPmh2E8LjNqK1Wk/+yVYXf4E3ZYRH+V6ie08qILcYA8zESP1044YRGqDF1N4BamWiph7"     \
    "qd+fHCrv2Tj5CA=="
/* An RSA key, with a signature by RSA-PSS and SHA-256. */
#define PSS                                                                                        \
    "MIIChTCCATkCAQAwDDEKMAgGA1UEAwwBYTCCASIwDQYJKoZIhvcNAQEBBQADggEPADCCAQoCggEBAK/HCitkGbuV"     \
    "J/IELaNycBuUkW6KdtTE6V8d79Az43h9nLnlzBdT4Kw0xqqz0iUFE6eqTsIJ0PoYIcvhDKId3Qpka17OrMSYs7I8"     \
    "zZ5i6oD7XbW79LRub2sOQkpvMVUCldYA6bTtbJ+xn++of1ng+Xgz6Wub4cXF5IySnaee8IoMUeTeeTVPWfObRsHt"     \
    "oeTN+C8W9DqvGJlVzLNsa+yE1chjaneFwe2A7lOQUIyVKSpNg2DDr095fKymMuXsAomZSP9y3Lw/9QAqIBdLTA76"     \
    "GYPWKGnjpt0pPQWsVCNkPrGphExsijvUQMyMi6F9CRyLI9KnMdKV2YESQrlBm74IDmECAwEAAaAAMEEGCSqGSIb3"     \
    "DQEBCjA0oA8wDQYJYIZIAWUDBAIBBQChHDAaBgkqhkiG9w0BAQgwDQYJYIZIAWUDBAIBBQCiAwIBIAOCAQEAGrjp"     \
    "yDGGYMTqKRBwoFnPO5MBs//5LgeZUl3C+e1mMqD8R4l3rmxN/GL4QMTWTRN/hhxqr0yh0UPdWLDkm5//4adB/+UV"     \
    "M44NfsoBNWfZdBdM8CKfC5DM2CgFeHZ1tJWnY8X9veN6Y+bkYAQ2JWYYXWP/ukbAJly8ZbPtE1GpJibb4Ma8oHdW"     \
    "v8ODa7I7Q+RXWfmhaQEVC55wzRMrlTy2FyOOa2MfjRYuIEGe92DXukuQEvexcF0d15fKgZhz1pdUTHPjuR9VRmRs"     \
    "2hTLspJqNA0qxJG7OOHAlqrd6Lg2jtQz1YoqLNbAGwqxyAwXDrPtuGbrTw8N+6gsITVsnX4vwA=="
#define NO_CHANGE SIZE_MAX
#define TAGS(tag, class_, have, n, compound, type, at)                                             \
    "asn1: structure error: tags don't match (" tag " vs {class:" class_ " tag:" have " length:" n \
    " isCompound:" compound "}) {optional:false explicit:false application:false private:false "   \
    "defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false} " type        \
    " @" at

/* The bytes of `request` with the bits of one byte changed, and cut to `keep` bytes (0: all). */
static void make(const char *request, size_t at, unsigned bits, size_t keep, struct cor_buf *out)
{
    cor_buf_init(out, 4096);
    assert_int_equal(cor_base64_decode(COR_BASE64_STD, cor_strz(request), out, NULL), 0);
    if (at != NO_CHANGE)
        out->p[at] = (char)(out->p[at] ^ (char)bits);
    if (keep > 0)
        cor_buf_truncate(out, keep);
}

TEST(cert_request, says_what_go_says)
{
    static const struct {
        const char *request;
        size_t at;
        unsigned bits;
        size_t keep;
        const char *why; /* "": it is fine */
    } rows[] = {
        {EC, NO_CHANGE, 0, 0, ""},
        {ED25519, NO_CHANGE, 0, 0, ""},
        {PSS, NO_CHANGE, 0, 0, ""},
        {PSS, 387, 1, 0, "x509: cannot verify signature: algorithm unimplemented"},
        {PSS, 648, 1, 0, "crypto/rsa: verification error"},
        {SMALL, NO_CHANGE, 0, 0,
         "crypto/rsa: 512-bit keys are insecure (see "
         "https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)"},
        {KOBLITZ, NO_CHANGE, 0, 0, "x509: unsupported elliptic curve"},
        {EC, NO_CHANGE, 0, 1, "asn1: syntax error: truncated tag or length"},
        {EC, NO_CHANGE, 0, 236, "asn1: syntax error: data truncated"},
        {EC, 0, 1, 0, TAGS("16", "0", "17", "234", "true", "certificateRequest", "3")},
        {EC, 1, 1, 0, "asn1: syntax error: indefinite length found (not DER)"},
        {EC, 1, 32, 0, "asn1: structure error: length too large"},
        {EC, 2, 128, 0, "asn1: structure error: non-minimal length"},
        {EC, 3, 128, 0, TAGS("16", "2", "16", "145", "true", "tbsCertificateRequest", "3")},
        {EC, 6, 32, 0, TAGS("2", "0", "2", "1", "true", "int", "2")},
        {EC, 7, 1, 0, "asn1: structure error: empty integer"},
        {EC, 7, 32, 0, "asn1: structure error: integer not minimally-encoded"},
        {EC, 7, 128, 0, "asn1: structure error: superfluous leading zeros in length"},
        {EC, 8, 1, 0, "x509: ECDSA verification failure"},
        {EC, 9, 1, 0, TAGS("16", "0", "17", "47", "true", "RDNSequence", "2")},
        {EC, 11, 1, 0, "asn1: structure error: sequence tag mismatch"},
        {EC, 12, 32, 0, "asn1: syntax error: truncated sequence"},
        {EC, 15, 1, 0, TAGS("6", "0", "7", "3", "false", "ObjectIdentifier", "2")},
        {EC, 19, 128, 0, "asn1: syntax error: truncated base 128 integer"},
        {EC, 22, 128, 0, "asn1: invalid UTF-8 string"},
        {EC, 63, 1, 0, "x509: cannot verify signature: algorithm unimplemented"},
        {EC, 71, 1, 0, "x509: invalid ECDSA parameters"},
        {EC, 73, 1, 0, "x509: unsupported elliptic curve"},
        {EC, 83, 32, 0, "asn1: syntax error: invalid padding bits in BIT STRING"},
        {EC, 84, 1, 0, "ecdsa: invalid uncompressed public key"},
        {EC, 85, 1, 0, "P256 point not on curve"},
        {EC, 151, 1, 0, TAGS("16", "0", "17", "10", "true", "AlgorithmIdentifier", "150")},
        {EC, 236, 1, 0, "x509: ECDSA verification failure"},
        {ED25519, 141, 1, 0, "x509: Ed25519 verification failure"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = COR_CERT_REQUEST_WHY_MAX};
        COR_CLEANUP(cor_buf_deinit) struct cor_buf der = {0};
        int r;

        make(rows[i].request, rows[i].at, rows[i].bits, rows[i].keep, &der);
        r = cor_cert_request_check(cor_buf_str(&der), &why);
        assert_string_equal(cor_buf_z(&why), rows[i].why);
        assert_int_equal(r, rows[i].why[0] ? 1 : 0);
    }
}

/* Nothing is read outside of a request that is cut anywhere, or changed anywhere; the bytes are in
 * memory of their exact length, so that a sanitizer sees it. */
TEST(cert_request, any_bytes_are_refused_with_a_reason)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf der = {0};

    make(EC, NO_CHANGE, 0, 0, &der);
    for (size_t i = 0; i < 2 * der.n; i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = COR_CERT_REQUEST_WHY_MAX};
        size_t n = i < der.n ? i : der.n;
        char *copy = cor_alloc(n + 1);

        memcpy(copy, der.p, n);
        if (i >= der.n)
            copy[i - der.n] = (char)(copy[i - der.n] ^ 0x15);
        copy = cor_realloc(copy, n > 0 ? n : 1);
        assert_int_equal(cor_cert_request_check(cor_str(copy, n), &why), 1);
        assert_true(why.n > 0);
        cor_free(copy);
    }
}

TEST(cert_request, no_memory_is_no_answer)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf der = {0};

    make(EC, 236, 1, 0, &der);
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = COR_CERT_REQUEST_WHY_MAX};
        int r = cor_cert_request_check(cor_buf_str(&der), &why);

        if (r != -COR_ENOMEM) {
            assert_int_equal(r, 1);
            assert_string_equal(cor_buf_z(&why), "x509: ECDSA verification failure");
        }
    }
}
