#include "net/stream/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/stream/net_int.h"

COR_DEFINE_CLEANUP(X509, X509_free)
COR_DEFINE_CLEANUP(EVP_PKEY, EVP_PKEY_free)
COR_DEFINE_CLEANUP(BIO, BIO_free_all)

static BIO *text_bio(struct cor_str pem)
{
    return BIO_new_mem_buf(pem.p ? pem.p : "", (int)pem.n);
}

/* After the last PEM_read: was it the end of the text, or something malformed? */
static bool is_at_end(void)
{
    unsigned long e = ERR_peek_last_error();

    return ERR_GET_LIB(e) == ERR_LIB_PEM && ERR_GET_REASON(e) == PEM_R_NO_START_LINE;
}

static int use_cert(SSL_CTX *ctx, struct cor_str pem)
{
    COR_CLEANUP(BIO_free_allp) BIO *in = text_bio(pem);
    COR_CLEANUP(X509_freep) X509 *leaf = NULL;
    X509 *next;

    if (!in)
        return -COR_ENOMEM;
    leaf = PEM_read_bio_X509_AUX(in, NULL, NULL, NULL);
    if (!leaf || SSL_CTX_use_certificate(ctx, leaf) != 1)
        return -COR_EINVAL;
    while ((next = PEM_read_bio_X509(in, NULL, NULL, NULL))) {
        if (SSL_CTX_add0_chain_cert(ctx, next) != 1) {
            X509_free(next);
            return -COR_EINVAL;
        }
    }
    return is_at_end() ? 0 : -COR_EINVAL;
}

static int use_key(SSL_CTX *ctx, struct cor_str pem)
{
    COR_CLEANUP(BIO_free_allp) BIO *in = text_bio(pem);
    COR_CLEANUP(EVP_PKEY_freep) EVP_PKEY *key = NULL;

    if (!in)
        return -COR_ENOMEM;
    /* A password, so that OpenSSL does not ask for one at the terminal. */
    key = PEM_read_bio_PrivateKey(in, NULL, NULL, (void *)"");
    if (!key || SSL_CTX_use_PrivateKey(ctx, key) != 1 || SSL_CTX_check_private_key(ctx) != 1)
        return -COR_EINVAL;
    return 0;
}

static int trust(SSL_CTX *ctx, struct cor_str pem, bool is_server)
{
    COR_CLEANUP(BIO_free_allp) BIO *in = text_bio(pem);
    X509_STORE *store = SSL_CTX_get_cert_store(ctx);
    size_t n = 0;
    X509 *ca;

    if (!in)
        return -COR_ENOMEM;
    while ((ca = PEM_read_bio_X509(in, NULL, NULL, NULL))) {
        int ok = X509_STORE_add_cert(store, ca) == 1 &&
                 (!is_server || SSL_CTX_add_client_CA(ctx, ca) == 1);

        X509_free(ca);
        if (!ok)
            return -COR_EINVAL;
        n++;
    }
    return n > 0 && is_at_end() ? 0 : -COR_EINVAL;
}

/* Notes what does not verify and lets the handshake go on: who is let in is decided later, by what
 * else the request carries. */
static int on_verify_client(int ok, X509_STORE_CTX *store)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct cor_stream *s = SSL_get_app_data(ssl);

    if (!ok)
        s->cert_refused = true;
    return 1;
}

/* The handshake judges nothing: the certificate is judged per request. */
static int on_take_client(X509_STORE_CTX *store, void *arg)
{
    X509_STORE_CTX_set_error(store, X509_V_OK);
    return 1;
}

static int on_choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *outlen,
                          const unsigned char *in, unsigned inlen, void *arg)
{
    struct cor_tls *tls = arg;
    unsigned char *chosen;

    if (SSL_select_next_proto(&chosen, outlen, tls->alpn, tls->alpn_n, in, inlen) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static int set_alpn(struct cor_tls *tls, const struct cor_tls_opts *opts)
{
    size_t n = 0;

    for (size_t i = 0; i < opts->nalpn; i++)
        n += 1 + strlen(opts->alpn[i]);
    if (n == 0)
        return 0;
    tls->alpn = cor_alloc(n);
    if (!tls->alpn)
        return -COR_ENOMEM;
    for (size_t i = 0; i < opts->nalpn; i++) {
        size_t len = strlen(opts->alpn[i]);

        tls->alpn[tls->alpn_n++] = (unsigned char)len;
        memcpy(tls->alpn + tls->alpn_n, opts->alpn[i], len);
        tls->alpn_n += (unsigned)len;
    }
    if (opts->role == COR_TLS_SERVER)
        SSL_CTX_set_alpn_select_cb(tls->ctx, on_choose_alpn, tls);
    else if (SSL_CTX_set_alpn_protos(tls->ctx, tls->alpn, tls->alpn_n) != 0)
        return -COR_ENOMEM;
    return 0;
}

static int set_up(struct cor_tls *tls, const struct cor_tls_opts *opts)
{
    SSL_CTX *ctx = tls->ctx;
    bool is_server = tls->is_server;
    int r = 0;

    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(ctx, 0);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    if (opts->cert_pem.n > 0)
        r = use_cert(ctx, opts->cert_pem);
    if (r == 0 && (opts->key_pem.n > 0 || opts->cert_pem.n > 0))
        r = use_key(ctx, opts->key_pem);
    if (r == 0 && is_server && opts->cert_pem.n == 0)
        r = -COR_EINVAL;
    if (r == 0 && opts->ca_pem.n > 0)
        r = trust(ctx, opts->ca_pem, is_server);
    else if (r == 0 && !is_server && !opts->is_insecure)
        r = SSL_CTX_set_default_verify_paths(ctx) == 1 ? 0 : -COR_ENOMEM;
    if (r < 0)
        return r;
    if (is_server && opts->client_cas) {
        tls->client_cas = opts->client_cas;
        SSL_CTX_set_cert_verify_callback(ctx, on_take_client, NULL);
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    } else if (is_server && opts->ca_pem.n > 0) {
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, on_verify_client);
    } else if (!is_server && !opts->is_insecure) {
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    }
    return set_alpn(tls, opts);
}

int cor_tls_new(const struct cor_tls_opts *opts, struct cor_tls **ret_tls)
{
    COR_CLEANUP(cor_tls_unrefp) struct cor_tls *tls = cor_calloc(1, sizeof(*tls));
    int r;

    if (!tls)
        return -COR_ENOMEM;
    cor_ref_init(&tls->ref);
    tls->is_server = opts->role == COR_TLS_SERVER;
    tls->ctx = SSL_CTX_new(tls->is_server ? TLS_server_method() : TLS_client_method());
    if (!tls->ctx)
        return -COR_ENOMEM;
    r = set_up(tls, opts);
    ERR_clear_error();
    if (r < 0)
        return r;
    *ret_tls = COR_STEAL(tls);
    return 0;
}

struct cor_tls *cor_tls_ref(struct cor_tls *tls)
{
    cor_ref_get(&tls->ref);
    return tls;
}

struct cor_tls *cor_tls_unref(struct cor_tls *tls)
{
    if (tls && cor_ref_put(&tls->ref)) {
        SSL_CTX_free(tls->ctx);
        cor_free(tls->alpn);
        cor_free(tls);
    }
    return NULL;
}
