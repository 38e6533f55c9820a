/* Merges bundles by their DER bytes. Thread: any. */
#include "net/crypto/cert_bundle.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/cleanup.h"
#include "base/err.h"

#define SLACK_S 300

COR_DEFINE_CLEANUP(BIO, BIO_free_all)
COR_DEFINE_CLEANUP(X509, X509_free)

static bool is_over(const X509 *cert, int64_t now_s)
{
    time_t limit = (time_t)(now_s - SLACK_S);

    return X509_cmp_time(X509_get0_notAfter(cert), &limit) < 0;
}

static bool has(STACK_OF(X509) * certs, const X509 *cert)
{
    for (int i = 0; i < sk_X509_num(certs); i++)
        if (X509_cmp(sk_X509_value(certs, i), cert) == 0)
            return true;
    return false;
}

/* Adds what is new of one text. */
static int take(struct cor_str pem, int64_t now_s, STACK_OF(X509) * certs)
{
    COR_CLEANUP(BIO_free_allp) BIO *in = BIO_new_mem_buf(pem.p, (int)pem.n);
    bool has_any = false;

    if (!in)
        return -COR_ENOMEM;
    for (;;) {
        COR_CLEANUP(X509_freep) X509 *cert = PEM_read_bio_X509(in, NULL, NULL, NULL);

        if (!cert) {
            bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;

            ERR_clear_error();
            return is_end && has_any ? 0 : -COR_EINVAL;
        }
        has_any = true;
        if (is_over(cert, now_s) || has(certs, cert))
            continue;
        if (sk_X509_num(certs) == COR_CERT_BUNDLE_MAX)
            return -COR_ETOOBIG;
        if (sk_X509_push(certs, cert) == 0)
            return -COR_ENOMEM;
        cert = NULL;
    }
}

static int print(STACK_OF(X509) * certs, struct cor_buf *out)
{
    COR_CLEANUP(BIO_free_allp) BIO *bio = BIO_new(BIO_s_mem());
    char *text;
    long n;

    if (!bio)
        return -COR_ENOMEM;
    for (int i = 0; i < sk_X509_num(certs); i++)
        if (PEM_write_bio_X509(bio, sk_X509_value(certs, i)) != 1)
            return -COR_ENOMEM;
    n = BIO_get_mem_data(bio, &text);
    return n > 0 ? cor_buf_add(out, text, (size_t)n) : 0;
}

int cor_cert_bundle_merge(const struct cor_str *pems, size_t n, int64_t now_s, struct cor_buf *out)
{
    STACK_OF(X509) *certs = sk_X509_new_null();
    int r = certs ? 0 : -COR_ENOMEM;

    for (size_t i = 0; r == 0 && i < n; i++)
        if (pems[i].n > 0)
            r = take(pems[i], now_s, certs);
    if (r == 0)
        r = print(certs, out);
    sk_X509_pop_free(certs, X509_free);
    return r;
}
