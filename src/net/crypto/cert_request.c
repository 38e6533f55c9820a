/* clang-format off */
/* Reads a request for a certificate in the order in which Go does, and stops at the first mistake:
 *
 *   1. the whole structure, elements from outside to inside (read_request)
 *        CertificationRequest { tbs { version, subject, public key, [0] attributes }, algorithm, signature }
 *   2. the public key (read_key)
 *   3. the subject (read_subject)
 *   4. the signature of the bytes of `tbs` (check_signature)
 *
 * A mistake leaves its words in `why` and is -COR_EINVAL inside this file. Nothing is read outside
 * the input; the depth is that of the structure above. OpenSSL is asked for the key and the
 * signature alone, after the structure is known to be fine. Failures: no memory. Thread: any. */
/* clang-format on */
#include "net/crypto/cert_request.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/utf8.h"

#define LENGTH_MAX (1u << 23) /* above it, Go does not take one more byte of a length */
#define RSA_BITS   1024       /* keys of fewer bits are refused */

enum { INTEGER = 2, BITS = 3, NUMERIC = 18, OID = 6, UTF8 = 12, SEQUENCE = 16, SET = 17 };
enum { PRINTABLE = 19, IA5 = 22 };

COR_DEFINE_CLEANUP(EVP_PKEY, EVP_PKEY_free)
COR_DEFINE_CLEANUP(EVP_MD_CTX, EVP_MD_CTX_free)

/* The elements inside another one; `at` is the next. */
struct der {
    const unsigned char *p;
    size_t n, at;
    struct cor_buf *why;
};

struct element {
    unsigned class, tag;
    bool is_compound;
    struct cor_str whole;   /* with its head */
    struct cor_str content; /* without it */
};

struct algorithm {
    struct cor_str oid, parameters; /* contents of the OID; all of the parameters, or nothing */
};

struct request {
    struct cor_str tbs, key_info, subject, key, signature;
    struct algorithm key_algorithm, signature_algorithm;
};

static int refuse(struct cor_buf *why, const char *words)
{
    int r = cor_buf_addz(why, words);

    return r < 0 ? r : -COR_EINVAL;
}

static struct der der_inside(const struct der *from, struct cor_str bytes)
{
    return (struct der){(const unsigned char *)bytes.p, bytes.n, 0, from->why};
}

/* --- Elements ----------------------------------------------------------------------------------
 */

/* A number in groups of seven bits, the highest first. */
static int read_base128(struct der *in, uint64_t *ret)
{
    *ret = 0;
    for (unsigned i = 0; in->at < in->n; i++) {
        unsigned char byte = in->p[in->at];

        if (i == 5)
            return refuse(in->why, "asn1: structure error: base 128 integer too large");
        if (i == 0 && byte == 0x80)
            return refuse(in->why, "asn1: syntax error: integer is not minimally encoded");
        *ret = *ret << 7 | (byte & 0x7f);
        in->at++;
        if (!(byte & 0x80))
            return *ret > INT32_MAX
                       ? refuse(in->why, "asn1: structure error: base 128 integer too large")
                       : 0;
    }
    return refuse(in->why, "asn1: syntax error: truncated base 128 integer");
}

static int read_length(struct der *in, size_t *ret)
{
    unsigned char byte;
    unsigned n;

    if (in->at >= in->n)
        return refuse(in->why, "asn1: syntax error: truncated tag or length");
    byte = in->p[in->at++];
    *ret = byte & 0x7f;
    if (!(byte & 0x80))
        return 0;
    n = byte & 0x7f;
    if (n == 0)
        return refuse(in->why, "asn1: syntax error: indefinite length found (not DER)");
    for (*ret = 0; n > 0; n--) {
        if (in->at >= in->n)
            return refuse(in->why, "asn1: syntax error: truncated tag or length");
        byte = in->p[in->at++];
        if (*ret >= LENGTH_MAX)
            return refuse(in->why, "asn1: structure error: length too large");
        *ret = *ret << 8 | byte;
        if (*ret == 0)
            return refuse(in->why, "asn1: structure error: superfluous leading zeros in length");
    }
    return *ret < 0x80 ? refuse(in->why, "asn1: structure error: non-minimal length") : 0;
}

/* The tag and the length of the next element; `at` is moved to its content. */
static int read_head(struct der *in, struct element *ret, size_t *ret_length)
{
    uint64_t tag;
    int r = 0;

    ret->class = in->p[in->at] >> 6;
    ret->is_compound = in->p[in->at] & 0x20;
    ret->tag = in->p[in->at++] & 0x1f;
    if (ret->tag == 0x1f) {
        r = read_base128(in, &tag);
        if (r == 0 && tag < 0x1f)
            r = refuse(in->why, "asn1: syntax error: non-minimal tag");
        ret->tag = r == 0 ? (unsigned)tag : 0;
    }
    return r < 0 ? r : read_length(in, ret_length);
}

static void take_content(struct der *in, size_t begin, size_t length, struct element *ret)
{
    ret->whole = cor_str((const char *)in->p + begin, in->at - begin + length);
    ret->content = cor_str((const char *)in->p + in->at, length);
    in->at += length;
}

/* The head of an element that must be there. */
static int read_next_head(struct der *in, struct element *ret, size_t *ret_length)
{
    if (in->at == in->n)
        return refuse(in->why, "asn1: syntax error: sequence truncated");
    return read_head(in, ret, ret_length);
}

/* The next element, whatever it is. */
static int read_any(struct der *in, struct element *ret)
{
    size_t begin = in->at, length;
    int r = read_next_head(in, ret, &length);

    if (r < 0)
        return r;
    if (length > in->n - in->at)
        return refuse(in->why, "asn1: syntax error: data truncated");
    take_content(in, begin, length, ret);
    return 0;
}

/* An element whose tag is that of a field, which messages call by the type that it has in Go. A
 * field with `is_tagged` has the tag 0 of the context in place of a universal one. */
static int read_field(struct der *in, unsigned tag, bool is_compound, const char *type,
                      bool is_tagged, struct element *ret)
{
    size_t begin = in->at, length;
    int r = read_next_head(in, ret, &length);

    if (r < 0)
        return r;
    if (ret->class != (is_tagged ? 2 : 0) || ret->tag != tag || ret->is_compound != is_compound) {
        r = cor_buf_addf(
            in->why,
            "asn1: structure error: tags don't match (%u vs {class:%u tag:%u length:%zu "
            "isCompound:%s}) {optional:false explicit:false application:false private:false "
            "defaultValue:<nil> tag:%s stringType:0 timeType:0 set:false omitEmpty:false} %s @%zu",
            tag, ret->class, ret->tag, length, ret->is_compound ? "true" : "false",
            is_tagged ? "0xc000000000" : "<nil>", type, in->at);
        return r < 0 ? r : -COR_EINVAL;
    }
    if (length > in->n - in->at)
        return refuse(in->why, "asn1: syntax error: data truncated");
    take_content(in, begin, length, ret);
    return 0;
}

static int read_sequence(struct der *in, const char *type, struct der *ret_inside,
                         struct cor_str *ret_whole)
{
    struct element element;
    int r = read_field(in, SEQUENCE, true, type, false, &element);

    if (r < 0)
        return r;
    *ret_inside = der_inside(in, element.content);
    if (ret_whole)
        *ret_whole = element.whole;
    return 0;
}

/* The elements of a list, all of one kind, are looked at from outside before the first is entered.
 * `tag` 0: they may be of any kind. */
static int check_list(const struct der *list, unsigned tag)
{
    struct der in = *list;
    struct element element;
    size_t length;
    int r = 0;

    while (in.at < in.n) {
        r = read_head(&in, &element, &length);
        if (r < 0)
            return r;
        if (tag != 0 && (element.class != 0 || element.tag != tag || !element.is_compound))
            return refuse(in.why, "asn1: structure error: sequence tag mismatch");
        if (length > in.n - in.at)
            return refuse(in.why, "asn1: syntax error: truncated sequence");
        in.at += length;
    }
    return 0;
}

/* --- Values ------------------------------------------------------------------------------------
 */

static int check_oid(struct der in)
{
    uint64_t number;
    int r = 0;

    if (in.n == 0)
        return refuse(in.why, "asn1: syntax error: zero length OBJECT IDENTIFIER");
    while (r == 0 && in.at < in.n)
        r = read_base128(&in, &number);
    return r;
}

static int check_bits(struct der in)
{
    if (in.n == 0)
        return refuse(in.why, "asn1: syntax error: zero length BIT STRING");
    if (in.p[0] > 7 || (in.n == 1 && in.p[0] > 0) || (in.p[in.n - 1] & ((1u << in.p[0]) - 1)) != 0)
        return refuse(in.why, "asn1: syntax error: invalid padding bits in BIT STRING");
    return 0;
}

static int check_integer(struct der in)
{
    if (in.n == 0)
        return refuse(in.why, "asn1: structure error: empty integer");
    if (in.n > 1 && ((in.p[0] == 0 && !(in.p[1] & 0x80)) || (in.p[0] == 0xff && in.p[1] & 0x80)))
        return refuse(in.why, "asn1: structure error: integer not minimally-encoded");
    return in.n > sizeof(int64_t) ? refuse(in.why, "asn1: structure error: integer too large") : 0;
}

static bool is_printable(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && c < 0x80 && strchr("0123456789 '()+,-./:=?*&", c));
}

/* What Go makes of the value of a part of a name. Values of other kinds are taken as they are. */
static int check_value(const struct der *from, const struct element *value)
{
    struct der in = der_inside(from, value->content);

    if (value->class != 0 || value->is_compound)
        return 0;
    switch (value->tag) {
    case INTEGER:
        return check_integer(in);
    case BITS:
        return check_bits(in);
    case OID:
        return check_oid(in);
    case UTF8:
        return cor_utf8_find_invalid(value->content) >= 0
                   ? refuse(in.why, "asn1: invalid UTF-8 string")
                   : 0;
    case NUMERIC:
    case PRINTABLE:
    case IA5:
        for (; in.at < in.n; in.at++) {
            unsigned char c = in.p[in.at];

            if (value->tag == NUMERIC && (c < '0' || c > '9') && c != ' ')
                return refuse(in.why,
                              "asn1: syntax error: NumericString contains invalid character");
            if (value->tag == PRINTABLE && !is_printable(c))
                return refuse(in.why,
                              "asn1: syntax error: PrintableString contains invalid character");
            if (value->tag == IA5 && c >= 0x80)
                return refuse(in.why, "asn1: syntax error: IA5String contains invalid character");
        }
        return 0;
    default:
        return 0;
    }
}

/* --- The structure -----------------------------------------------------------------------------
 */

static int read_algorithm(struct der *in, struct algorithm *ret)
{
    struct element oid, parameters;
    struct der inside;
    int r = read_sequence(in, "AlgorithmIdentifier", &inside, NULL);

    if (r == 0)
        r = read_field(&inside, OID, false, "ObjectIdentifier", false, &oid);
    if (r == 0)
        r = check_oid(der_inside(in, oid.content));
    if (r < 0)
        return r;
    *ret = (struct algorithm){oid.content, COR_STR("")};
    if (inside.at == inside.n)
        return 0;
    r = read_any(&inside, &parameters);
    ret->parameters = parameters.whole;
    return r;
}

/* Bits, without the byte that counts those that do not belong to them. No key and no signature has
 * a part of a byte: such bits are read as none. */
static int read_bits(struct der *in, struct cor_str *ret)
{
    struct element bits;
    int r = read_field(in, BITS, false, "BitString", false, &bits);

    if (r == 0)
        r = check_bits(der_inside(in, bits.content));
    if (r == 0)
        *ret = cor_str_from(bits.content, bits.content.p[0] == 0 ? 1 : bits.content.n);
    return r;
}

static int read_request(struct der *in, struct request *ret)
{
    struct der request, tbs, key;
    struct element version, subject, attributes;
    int r = read_sequence(in, "certificateRequest", &request, NULL);

    if (r == 0)
        r = read_sequence(&request, "tbsCertificateRequest", &tbs, &ret->tbs);
    if (r == 0)
        r = read_field(&tbs, INTEGER, false, "int", false, &version);
    if (r == 0)
        r = check_integer(der_inside(in, version.content));
    if (r == 0)
        r = read_any(&tbs, &subject);
    if (r == 0)
        r = read_sequence(&tbs, "publicKeyInfo", &key, &ret->key_info);
    if (r == 0)
        r = read_algorithm(&key, &ret->key_algorithm);
    if (r == 0)
        r = read_bits(&key, &ret->key);
    if (r == 0)
        r = read_field(&tbs, 0, true, "", true, &attributes);
    if (r == 0) {
        struct der list = der_inside(in, attributes.content);

        r = check_list(&list, 0);
    }
    if (r == 0)
        r = read_algorithm(&request, &ret->signature_algorithm);
    if (r == 0)
        r = read_bits(&request, &ret->signature);
    if (r == 0 && in->at < in->n)
        r = refuse(in->why, "asn1: syntax error: trailing data");
    if (r == 0)
        ret->subject = subject.whole;
    return r;
}

/* A name: a list of sets of pairs of an OID and a value. */
static int read_subject(const struct der *from, struct cor_str whole)
{
    struct der in = der_inside(from, whole), names, name;
    int r = read_sequence(&in, "RDNSequence", &names, NULL);

    if (r == 0)
        r = check_list(&names, SET);
    while (r == 0 && names.at < names.n) {
        struct element set;

        r = read_any(&names, &set);
        name = der_inside(from, set.content);
        if (r == 0)
            r = check_list(&name, SEQUENCE);
        while (r == 0 && name.at < name.n) {
            struct element type, value;
            struct der pair;

            r = read_sequence(&name, "AttributeTypeAndValue", &pair, NULL);
            if (r == 0)
                r = read_field(&pair, OID, false, "ObjectIdentifier", false, &type);
            if (r == 0)
                r = check_oid(der_inside(from, type.content));
            if (r == 0)
                r = read_any(&pair, &value);
            if (r == 0)
                r = check_value(from, &value);
        }
    }
    return r;
}

/* --- Keys and signatures -----------------------------------------------------------------------
 */

enum key_kind { KEY_OTHER, KEY_RSA, KEY_ECDSA, KEY_ED25519 };

static const struct {
    const char *name; /* of the algorithm in Go */
    const char *type;
    struct cor_str oid;
} key_kinds[] = {
    [KEY_OTHER] = {"0", "<nil>", {NULL, 0}},
    [KEY_RSA] = {"RSA", "*rsa.PublicKey", COR_STR("\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01")},
    [KEY_ECDSA] = {"ECDSA", "*ecdsa.PublicKey", COR_STR("\x2a\x86\x48\xce\x3d\x02\x01")},
    [KEY_ED25519] = {"Ed25519", "ed25519.PublicKey", COR_STR("\x2b\x65\x70")},
};

/* The curves that Go knows, by the whole of the parameters. */
static const struct {
    struct cor_str parameters;
    size_t bytes; /* of a coordinate */
    const char *not_on_curve;
} curves[] = {
    {COR_STR("\x06\x05\x2b\x81\x04\x00\x21"), 28, "P224 point not on curve"},
    {COR_STR("\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"), 32, "P256 point not on curve"},
    {COR_STR("\x06\x05\x2b\x81\x04\x00\x22"), 48, "P384 point not on curve"},
    {COR_STR("\x06\x05\x2b\x81\x04\x00\x23"), 66, "P521 point not on curve"},
};

static enum key_kind key_kind_of(struct cor_str oid)
{
    enum key_kind kind = KEY_ED25519;

    while (kind > KEY_OTHER && !cor_str_eq(oid, key_kinds[kind].oid))
        kind--;
    return kind;
}

/* What is wrong with a key on a curve before its point is looked at. */
static int check_curve(const struct der *from, const struct request *request,
                       const char **ret_not_on_curve)
{
    struct der in = der_inside(from, request->key_algorithm.parameters);
    struct cor_str oid = cor_str_from(request->key_algorithm.parameters, in.n < 2 ? in.n : 2);
    struct der numbers = der_inside(from, oid);
    struct cor_buf unread = {.max = COR_CERT_REQUEST_WHY_MAX};
    size_t i = 0;
    int r;

    numbers.why = &unread;
    r = in.n < 3 || in.p[0] != OID || in.p[1] != oid.n ? -COR_EINVAL : check_oid(numbers);
    cor_buf_deinit(&unread);
    if (r == -COR_EINVAL)
        return refuse(in.why, "x509: invalid ECDSA parameters");
    if (r < 0)
        return r;
    while (i < COR_ARRAY_LEN(curves) &&
           !cor_str_eq(request->key_algorithm.parameters, curves[i].parameters))
        i++;
    if (i == COR_ARRAY_LEN(curves))
        return refuse(in.why, "x509: unsupported elliptic curve");
    if (request->key.n != 1 + 2 * curves[i].bytes || request->key.p[0] != 4)
        return refuse(in.why, "ecdsa: invalid uncompressed public key");
    *ret_not_on_curve = curves[i].not_on_curve;
    return 0;
}

/* The public key. NULL: the algorithm is unknown, which matters when the signature is checked. */
static int read_key(const struct der *from, const struct request *request, EVP_PKEY **ret_key)
{
    const unsigned char *p = (const unsigned char *)request->key_info.p;
    struct cor_str parameters = request->key_algorithm.parameters;
    const char *mistake = "x509: invalid RSA public key";
    int r = 0;

    switch (key_kind_of(request->key_algorithm.oid)) {
    case KEY_RSA:
        if (!cor_str_eq(parameters, COR_STR("\x05\x00")))
            return refuse(from->why, "x509: RSA key missing NULL parameters");
        break;
    case KEY_ECDSA:
        r = check_curve(from, request, &mistake);
        break;
    case KEY_ED25519:
        if (parameters.n > 0)
            return refuse(from->why, "x509: Ed25519 key encoded with illegal parameters");
        mistake = "x509: wrong Ed25519 public key size";
        break;
    case KEY_OTHER:
        return 0;
    }
    if (r < 0)
        return r;
    *ret_key = d2i_PUBKEY(NULL, &p, (long)request->key_info.n);
    return *ret_key ? 0 : refuse(from->why, mistake);
}

/* The parameters of RSA-PSS that Go takes: one hash for the message and for the mask, and as many
 * bytes of salt as the hash has. */
#define PSS_HASH(n) "\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02" n "\x05\x00"
#define PSS_PARAMETERS(hash, salt)                                                                 \
    COR_STR(                                                                                       \
        "\x30\x34\xa0\x0f" PSS_HASH(hash) "\xa1\x1c\x30\x1a\x06\x09\x2a\x86\x48\x86\xf7\x0d"       \
                                          "\x01\x01\x08" PSS_HASH(hash) "\xa2\x03\x02\x01" salt)
#define PSS_OID COR_STR("\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0a")

/* The algorithms that Go verifies. */
static const struct signature_kind {
    struct cor_str oid;
    enum key_kind kind;
    const char *hash;     /* NULL: the key hashes by itself */
    const char *insecure; /* its name, if Go does not trust it */
    struct cor_str pss;   /* of RSA-PSS: its parameters */
} signatures[] = {
    {COR_STR("\x2a\x86\x48\x86\xf7\x0d\x01\x01\x04"), KEY_RSA, "MD5", "MD5-RSA"},
    {COR_STR("\x2a\x86\x48\x86\xf7\x0d\x01\x01\x05"), KEY_RSA, "SHA1", NULL},
    {COR_STR("\x2b\x0e\x03\x02\x1d"), KEY_RSA, "SHA1", NULL},
    {COR_STR("\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b"), KEY_RSA, "SHA256", NULL},
    {COR_STR("\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0c"), KEY_RSA, "SHA384", NULL},
    {COR_STR("\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0d"), KEY_RSA, "SHA512", NULL},
    {COR_STR("\x2a\x86\x48\xce\x3d\x04\x01"), KEY_ECDSA, "SHA1", NULL},
    {COR_STR("\x2a\x86\x48\xce\x3d\x04\x03\x02"), KEY_ECDSA, "SHA256", NULL},
    {COR_STR("\x2a\x86\x48\xce\x3d\x04\x03\x03"), KEY_ECDSA, "SHA384", NULL},
    {COR_STR("\x2a\x86\x48\xce\x3d\x04\x03\x04"), KEY_ECDSA, "SHA512", NULL},
    {COR_STR("\x2b\x65\x70"), KEY_ED25519, NULL, NULL},
    {PSS_OID, KEY_RSA, "SHA256", NULL, PSS_PARAMETERS("\x01", "\x20")},
    {PSS_OID, KEY_RSA, "SHA384", NULL, PSS_PARAMETERS("\x02", "\x30")},
    {PSS_OID, KEY_RSA, "SHA512", NULL, PSS_PARAMETERS("\x03", "\x40")},
};

static size_t find_signature(const struct algorithm *algorithm)
{
    size_t i = 0;

    for (; i < COR_ARRAY_LEN(signatures); i++) {
        const struct signature_kind *kind = &signatures[i];

        if (!cor_str_eq(algorithm->oid, kind->oid))
            continue;
        if (kind->pss.n > 0 ? cor_str_eq(algorithm->parameters, kind->pss)
                            : kind->kind != KEY_ED25519 || algorithm->parameters.n == 0)
            break;
    }
    return i;
}

/* Is it the signature of `signed_bytes`? -COR_ENOMEM: that cannot be found out. */
static int verify(EVP_PKEY *key, const struct signature_kind *kind, struct cor_str signature,
                  struct cor_str signed_bytes, bool *ret_is_good)
{
    COR_CLEANUP(EVP_MD_CTX_freep) EVP_MD_CTX *context = EVP_MD_CTX_new();
    const EVP_MD *md = kind->hash ? EVP_get_digestbyname(kind->hash) : NULL;
    EVP_PKEY_CTX *of_key = NULL;

    if (!context || EVP_DigestVerifyInit(context, &of_key, md, NULL, key) != 1)
        return -COR_ENOMEM;
    if (kind->pss.n > 0 && (EVP_PKEY_CTX_set_rsa_padding(of_key, RSA_PKCS1_PSS_PADDING) != 1 ||
                            EVP_PKEY_CTX_set_rsa_pss_saltlen(of_key, RSA_PSS_SALTLEN_DIGEST) != 1))
        return -COR_ENOMEM;
    *ret_is_good = EVP_DigestVerify(context, (const unsigned char *)signature.p, signature.n,
                                    (const unsigned char *)signed_bytes.p, signed_bytes.n) == 1;
    return 0;
}

static int check_signature(const struct der *from, const struct request *request, EVP_PKEY *key)
{
    static const char *const failures[] = {[KEY_RSA] = "crypto/rsa: verification error",
                                           [KEY_ECDSA] = "x509: ECDSA verification failure",
                                           [KEY_ED25519] = "x509: Ed25519 verification failure"};
    enum key_kind kind = key_kind_of(request->key_algorithm.oid);
    size_t i = find_signature(&request->signature_algorithm);
    bool is_good = false;
    int r;

    if (i < COR_ARRAY_LEN(signatures) && signatures[i].insecure) {
        r = cor_buf_addf(from->why, "x509: cannot verify signature: insecure algorithm %s",
                         signatures[i].insecure);
        return r < 0 ? r : -COR_EINVAL;
    }
    if (i == COR_ARRAY_LEN(signatures) || !key)
        return refuse(from->why, "x509: cannot verify signature: algorithm unimplemented");
    if (kind != signatures[i].kind) {
        r = cor_buf_addf(from->why,
                         "x509: signature algorithm specifies an %s public key, but have public "
                         "key of type %s",
                         key_kinds[signatures[i].kind].name, key_kinds[kind].type);
        return r < 0 ? r : -COR_EINVAL;
    }
    if (kind == KEY_RSA && EVP_PKEY_get_bits(key) < RSA_BITS) {
        r = cor_buf_addf(from->why,
                         "crypto/rsa: %d-bit keys are insecure (see "
                         "https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)",
                         EVP_PKEY_get_bits(key));
        return r < 0 ? r : -COR_EINVAL;
    }
    r = verify(key, &signatures[i], request->signature, request->tbs, &is_good);
    if (r < 0)
        return r;
    return is_good ? 0 : refuse(from->why, failures[kind]);
}

int cor_cert_request_check(struct cor_str der, struct cor_buf *why)
{
    COR_CLEANUP(EVP_PKEY_freep) EVP_PKEY *key = NULL;
    struct der in = {(const unsigned char *)der.p, der.n, 0, why};
    struct request request = {.tbs = {NULL, 0}};
    int r = read_request(&in, &request);

    if (r == 0)
        r = read_key(&in, &request, &key);
    if (r == 0)
        r = read_subject(&in, request.subject);
    if (r == 0)
        r = check_signature(&in, &request, key);
    /* What OpenSSL has noted must not be taken for a failure of a connection later. */
    ERR_clear_error();
    return r == -COR_EINVAL ? 1 : r;
}
