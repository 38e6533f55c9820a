#include "net/crypto/cert.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "base/err.h"
#include "net/host/host.h"

#define CLOCK_SKEW_S 3600
#define SERIAL_BYTES 16
#define SAN_TEXT_MAX 8192

COR_DEFINE_CLEANUP(X509, X509_free)
COR_DEFINE_CLEANUP(EVP_PKEY, EVP_PKEY_free)
COR_DEFINE_CLEANUP(BIO, BIO_free_all)

void cor_cert_pair_init(struct cor_cert_pair *pair)
{
    cor_buf_init(&pair->cert_pem, COR_PEM_MAX);
    cor_buf_init_secret(&pair->key_pem, COR_PEM_MAX);
}

void cor_cert_pair_deinit(struct cor_cert_pair *pair)
{
    cor_buf_deinit(&pair->cert_pem);
    cor_buf_deinit(&pair->key_pem);
}

static int add_name(X509_NAME *name, const char *field, struct cor_str value)
{
    return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                      (const unsigned char *)(value.p ? value.p : ""), (int)value.n,
                                      -1, 0) == 1
               ? 0
               : -COR_EINVAL;
}

static int set_subject(X509 *cert, const struct cor_cert_opts *opts)
{
    X509_NAME *name = X509_get_subject_name(cert);
    int r = 0;

    for (size_t i = 0; i < opts->norgs && r == 0; i++)
        r = add_name(name, "O", opts->orgs[i]);
    return r < 0 ? r : add_name(name, "CN", opts->common_name);
}

static int set_serial(X509 *cert)
{
    unsigned char bytes[SERIAL_BYTES];
    BIGNUM *n;
    int ok;

    if (RAND_bytes(bytes, sizeof(bytes)) != 1)
        return -COR_EINTERNAL;
    bytes[0] &= 0x7f;
    n = BN_bin2bn(bytes, sizeof(bytes), NULL);
    ok = n && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(cert));
    BN_free(n);
    return ok ? 0 : -COR_ENOMEM;
}

static int add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509_EXTENSION *ext;
    X509V3_CTX ctx;
    int ok;

    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    ok = ext && X509_add_ext(cert, ext, -1) == 1;
    X509_EXTENSION_free(ext);
    return ok ? 0 : -COR_EINTERNAL;
}

static int add_alternative_names(X509 *cert, const struct cor_cert_opts *opts)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int r = 0;

    cor_buf_init(&text, SAN_TEXT_MAX);
    for (size_t i = 0; i < opts->ndns_names && r == 0; i++)
        r = cor_buf_addf(&text, "%sDNS:%s", text.n ? "," : "", opts->dns_names[i]);
    for (size_t i = 0; i < opts->naddresses && r == 0; i++) {
        if (!cor_host_is_numeric(opts->addresses[i]))
            return -COR_EINVAL;
        r = cor_buf_addf(&text, "%sIP:%s", text.n ? "," : "", opts->addresses[i]);
    }
    if (r < 0 || text.n == 0)
        return r;
    return add_extension(cert, cert, NID_subject_alt_name, cor_buf_z(&text));
}

static int add_extensions(X509 *cert, X509 *issuer, const struct cor_cert_opts *opts)
{
    bool is_ca = opts->use == COR_CERT_CA;
    int r = add_extension(cert, issuer, NID_basic_constraints,
                          is_ca ? "critical,CA:TRUE" : "critical,CA:FALSE");

    if (r == 0)
        r = add_extension(cert, issuer, NID_key_usage,
                          is_ca ? "critical,digitalSignature,keyCertSign"
                                : "critical,digitalSignature");
    if (r == 0 && !is_ca)
        r = add_extension(cert, issuer, NID_ext_key_usage,
                          opts->use == COR_CERT_SERVER ? "serverAuth" : "clientAuth");
    if (r == 0)
        r = add_extension(cert, issuer, NID_subject_key_identifier, "hash");
    if (r == 0)
        r = add_extension(cert, issuer, NID_authority_key_identifier, "keyid:always");
    return r < 0 ? r : add_alternative_names(cert, opts);
}

static X509 *read_cert(const struct cor_cert_pair *pair)
{
    COR_CLEANUP(BIO_free_allp)
    BIO *in = BIO_new_mem_buf(cor_buf_z(&pair->cert_pem), (int)pair->cert_pem.n);

    return in ? PEM_read_bio_X509(in, NULL, NULL, NULL) : NULL;
}

static EVP_PKEY *read_key(const struct cor_cert_pair *pair)
{
    COR_CLEANUP(BIO_free_allp)
    BIO *in = BIO_new_mem_buf(cor_buf_z(&pair->key_pem), (int)pair->key_pem.n);

    return in ? PEM_read_bio_PrivateKey(in, NULL, NULL, NULL) : NULL;
}

static int write_pem(X509 *cert, EVP_PKEY *key, struct cor_cert_pair *ret_pair)
{
    COR_CLEANUP(BIO_free_allp) BIO *cert_out = BIO_new(BIO_s_mem());
    COR_CLEANUP(BIO_free_allp) BIO *key_out = BIO_new(BIO_s_secmem());
    char *cert_text, *key_text;
    long cert_n, key_n;
    int r;

    if (!cert_out || !key_out || PEM_write_bio_X509(cert_out, cert) != 1 ||
        PEM_write_bio_PrivateKey(key_out, key, NULL, NULL, 0, NULL, NULL) != 1)
        return -COR_ENOMEM;
    cert_n = BIO_get_mem_data(cert_out, &cert_text);
    key_n = BIO_get_mem_data(key_out, &key_text);
    r = cor_buf_reserve(&ret_pair->key_pem, (size_t)key_n);
    if (r == 0)
        r = cor_buf_add(&ret_pair->cert_pem, cert_text, (size_t)cert_n);
    return r < 0 ? r : cor_buf_add(&ret_pair->key_pem, key_text, (size_t)key_n);
}

static int fill(X509 *cert, EVP_PKEY *key, X509 *issuer, const struct cor_cert_opts *opts)
{
    int r = set_subject(cert, opts);

    if (r == 0)
        r = set_serial(cert);
    if (r < 0)
        return r;
    if (X509_set_version(cert, 2) != 1 || X509_set_pubkey(cert, key) != 1 ||
        !ASN1_TIME_set(X509_getm_notBefore(cert), (time_t)(opts->now_s - CLOCK_SKEW_S)) ||
        !ASN1_TIME_set(X509_getm_notAfter(cert), (time_t)(opts->now_s + opts->valid_s)) ||
        X509_set_issuer_name(cert, X509_get_subject_name(issuer)) != 1)
        return -COR_ENOMEM;
    return add_extensions(cert, issuer, opts);
}

int cor_cert_make(const struct cor_cert_opts *opts, const struct cor_cert_pair *ca,
                  struct cor_cert_pair *ret_pair)
{
    COR_CLEANUP(X509_freep) X509 *ca_cert = NULL;
    COR_CLEANUP(EVP_PKEY_freep) EVP_PKEY *ca_key = NULL;
    COR_CLEANUP(X509_freep) X509 *cert = X509_new();
    COR_CLEANUP(EVP_PKEY_freep) EVP_PKEY *key = EVP_EC_gen("P-256");
    int r;

    if (!cert || !key)
        return -COR_ENOMEM;
    if (ca) {
        ca_cert = read_cert(ca);
        ca_key = read_key(ca);
        if (!ca_cert || !ca_key || X509_check_private_key(ca_cert, ca_key) != 1)
            return -COR_EINVAL;
    }
    r = fill(cert, key, ca ? ca_cert : cert, opts);
    if (r < 0)
        return r;
    if (X509_sign(cert, ca ? ca_key : key, EVP_sha256()) == 0)
        return -COR_EINTERNAL;
    return write_pem(cert, key, ret_pair);
}
