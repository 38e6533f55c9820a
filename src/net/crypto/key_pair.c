/* clang-format off */
/* The flow is that of Go's function:
 *
 *   blocks of the certificate's text ──► a CERTIFICATE, or which other blocks there are
 *   blocks of the key's text ──► the first PRIVATE KEY, or which other blocks there are
 *   both are parsed ──► the same kind of key ──► the same public key
 *
 * A block that is not well formed is passed over, as Go's pem.Decode() does. All failures of the
 * certificate's parser have one text here, where Go has many. The bytes of keys are wiped.
 * Thread: any. */
/* clang-format on */
#include "net/crypto/key_pair.h"

#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/x509.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/err.h"

#define BEGIN "-----BEGIN "
#define END   "-----END "
#define EDGE  "-----"

/* The maximum of the labels of PEM blocks that a message lists. A warning shows fewer bytes. */
#define LABELS_MAX (16u * 1024)

COR_DEFINE_CLEANUP(X509, X509_free)
COR_DEFINE_CLEANUP(EVP_PKEY, EVP_PKEY_free)
COR_DEFINE_CLEANUP(PKCS8_PRIV_KEY_INFO, PKCS8_PRIV_KEY_INFO_free)

/* The line at the beginning of `rest` without blanks at its end; `rest` is moved behind it. */
static struct cor_str take_line(struct cor_str *rest)
{
    struct cor_str line = cor_str_cut(rest, '\n');

    if (!rest->p)
        *rest = COR_STR("");
    while (line.n > 0 && memchr(" \t\r", line.p[line.n - 1], 3))
        line.n--;
    return line;
}

/* The label of a line that begins with `word` and ends with five dashes. */
static bool parse_edge(struct cor_str line, const char *word, struct cor_str *ret_label)
{
    size_t n = strlen(word);

    if (!cor_str_starts(line, cor_strz(word)) || line.n < n + strlen(EDGE) ||
        !cor_str_ends(line, COR_STR(EDGE)))
        return false;
    *ret_label = cor_str(line.p + n, line.n - n - strlen(EDGE));
    return true;
}

/* Decodes the lines of a block. 0, -COR_EINVAL, -COR_ENOMEM. */
static int decode_body(struct cor_str body, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int r;

    cor_buf_init_secret(&text, body.n);
    r = cor_buf_reserve(&text, body.n);
    for (size_t i = 0; i < body.n && r == 0; i++) {
        if (!memchr(" \t\r\n", body.p[i], 4))
            r = cor_buf_addc(&text, body.p[i]);
    }
    if (r == 0) {
        cor_buf_deinit(out);
        cor_buf_init_secret(out, body.n);
        r = cor_base64_decode(COR_BASE64_STD, cor_buf_str(&text), out, NULL);
    }
    return r;
}

/* The next block that is well formed: its label, and its bytes in `out`; `rest` is moved behind it.
 * 1, 0 (there is none), -COR_ENOMEM. */
static int next_block(struct cor_str *rest, struct cor_str *ret_label, struct cor_buf *out)
{
    struct cor_str body = {NULL, 0}, end;

    while (rest->n > 0) {
        struct cor_str before = *rest, line = take_line(rest);
        int r;

        if (parse_edge(line, BEGIN, ret_label)) {
            body = *rest;
        } else if (body.p && body.p == before.p && cor_str_find(line, ':') >= 0) {
            body = *rest; /* a header, which is before the bytes */
        } else if (body.p && cor_str_starts(line, COR_STR(END))) {
            bool is_end = parse_edge(line, END, &end) && cor_str_eq(end, *ret_label);

            r = is_end ? decode_body(cor_str(body.p, (size_t)(before.p - body.p)), out)
                       : -COR_EINVAL;
            if (r != -COR_EINVAL)
                return r < 0 ? r : 1;
            body.p = NULL;
        }
    }
    return 0;
}

static bool is_key_label(struct cor_str label)
{
    return cor_str_eqz(label, "PRIVATE KEY") || cor_str_ends(label, COR_STR(" PRIVATE KEY"));
}

/* What a text has in place of the block that is looked for. */
struct others {
    struct cor_buf labels; /* with spaces between them */
    struct cor_str last;
    size_t n;
};

static int add_other(struct others *others, struct cor_str label)
{
    size_t room = others->labels.max - others->labels.n;
    int r = 0;

    others->last = label;
    /* What there is no room for is left out. */
    if (label.n < room && others->n > 0)
        r = cor_buf_addc(&others->labels, ' ');
    if (label.n < room && r == 0)
        r = cor_buf_adds(&others->labels, label);
    others->n++;
    return r;
}

/* Appends that a text does not have what is looked for. 1, -COR_ENOMEM, -COR_ETOOBIG. */
static int lack(struct cor_buf *out, const struct others *others, bool is_key)
{
    const char *input = is_key ? "key" : "certificate";
    int r;

    if (others->n == 0)
        r = cor_buf_addf(out, "tls: failed to find any PEM data in %s input", input);
    else if (is_key && others->n == 1 && cor_str_eqz(others->last, "CERTIFICATE"))
        r = cor_buf_addz(out, "tls: found a certificate rather than a key in the PEM for the "
                              "private key");
    else if (!is_key && others->n == 1 && cor_str_ends(others->last, COR_STR("PRIVATE KEY")))
        r = cor_buf_addz(out, "tls: failed to find certificate PEM data in certificate input, but "
                              "did find a private key; PEM inputs may have been switched");
    else
        r = cor_buf_addf(out,
                         "tls: failed to find %s in %s input after skipping PEM blocks of the "
                         "following types: [%s]",
                         is_key ? "PEM block with type ending in \"PRIVATE KEY\""
                                : "\"CERTIFICATE\" PEM block",
                         input, cor_buf_z(&others->labels));
    return r < 0 ? r : 1;
}

/* Looks for the certificate or the key. 0: its bytes are in `ret_der`; 1: there is none, and `out`
 * says so; -COR_ENOMEM, -COR_ETOOBIG. */
static int find_block(struct cor_str pem, bool is_key, struct cor_buf *ret_der, struct cor_buf *out)
{
    struct others others = {.labels = {.max = LABELS_MAX}};
    struct cor_str label = COR_STR("");
    int r;

    while ((r = next_block(&pem, &label, ret_der)) > 0) {
        if (is_key ? is_key_label(label) : cor_str_eqz(label, "CERTIFICATE"))
            break;
        r = add_other(&others, label);
        if (r < 0)
            break;
    }
    r = r < 0 ? r : r > 0 ? 0 : lack(out, &others, is_key);
    cor_buf_deinit(&others.labels);
    return r;
}

/* The kind of a key that Go knows; -1: another one. */
static int key_kind(const EVP_PKEY *key)
{
    static const char *const curves[] = {SN_secp224r1, SN_X9_62_prime256v1, SN_secp384r1,
                                         SN_secp521r1};
    int kind = EVP_PKEY_get_base_id(key);
    char curve[64];
    size_t n;

    if (kind == EVP_PKEY_RSA || kind == EVP_PKEY_ED25519)
        return kind;
    if (kind != EVP_PKEY_EC || EVP_PKEY_get_group_name(key, curve, sizeof(curve), &n) != 1)
        return -1;
    for (size_t i = 0; i < COR_ARRAY_LEN(curves); i++) {
        if (strcmp(curve, curves[i]) == 0)
            return kind;
    }
    return -1;
}

/* Parses a private key: PKCS#8, else PKCS#1 or the form of SEC 1. The algorithm is looked at before
 * OpenSSL decodes the key: of DSA and Diffie-Hellman OpenSSL computes the public key, which takes
 * hours for the numbers of any size that a client may send. NULL: the key is of no kind that Go
 * parses, or is not well formed. */
static EVP_PKEY *parse_key(struct cor_str der)
{
    static const int known[] = {NID_rsaEncryption, NID_X9_62_id_ecPublicKey, NID_ED25519,
                                NID_X25519};
    static const int plain[] = {EVP_PKEY_RSA, EVP_PKEY_EC};
    const unsigned char *at = (const unsigned char *)der.p;
    COR_CLEANUP(PKCS8_PRIV_KEY_INFO_freep)
    PKCS8_PRIV_KEY_INFO *info = d2i_PKCS8_PRIV_KEY_INFO(NULL, &at, (long)der.n);
    const ASN1_OBJECT *algorithm = NULL;
    EVP_PKEY *key = NULL;

    if (info && PKCS8_pkey_get0(&algorithm, NULL, NULL, NULL, info) == 1) {
        for (size_t i = 0; i < COR_ARRAY_LEN(known); i++) {
            if (OBJ_obj2nid(algorithm) == known[i])
                return EVP_PKCS82PKEY(info);
        }
        return NULL;
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(plain) && !key; i++) {
        at = (const unsigned char *)der.p;
        key = d2i_PrivateKey(plain[i], NULL, &at, (long)der.n);
    }
    return key;
}

/* What is wrong with the two; NULL: nothing. */
static const char *compare_pair(struct cor_str cert_der, struct cor_str key_der)
{
    const unsigned char *at = (const unsigned char *)cert_der.p;
    COR_CLEANUP(X509_freep) X509 *cert = d2i_X509(NULL, &at, (long)cert_der.n);
    COR_CLEANUP(EVP_PKEY_freep) EVP_PKEY *key = NULL;
    EVP_PKEY *public_key = cert ? X509_get0_pubkey(cert) : NULL;

    if (!cert)
        return "x509: malformed certificate";
    if (at != (const unsigned char *)cert_der.p + cert_der.n)
        return "x509: trailing data";
    key = parse_key(key_der);
    if (key && EVP_PKEY_get_base_id(key) == EVP_PKEY_X25519)
        return "tls: found unknown private key type in PKCS#8 wrapping";
    if (!key || key_kind(key) < 0)
        return "tls: failed to parse private key";
    if (!public_key || key_kind(public_key) < 0)
        return "tls: unknown public key algorithm";
    if (key_kind(key) != key_kind(public_key))
        return "tls: private key type does not match public key type";
    return EVP_PKEY_eq(public_key, key) == 1 ? NULL : "tls: private key does not match public key";
}

int cor_key_pair_mistake(struct cor_str cert_pem, struct cor_str key_pem, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf cert = {0}, key = {0};
    const char *mistake;
    int r = find_block(cert_pem, false, &cert, out);

    if (r == 0)
        r = find_block(key_pem, true, &key, out);
    if (r != 0)
        return r;
    mistake = compare_pair(cor_buf_str(&cert), cor_buf_str(&key));
    ERR_clear_error();
    if (!mistake)
        return 0;
    r = cor_buf_addz(out, mistake);
    return r < 0 ? r : 1;
}
