/* The TLS part of a stream. OpenSSL reads and writes through a BIO that knows only memory: the
 * bytes that the socket just gave, and the loop's scratch, whose content is sent right after each
 * OpenSSL call, before anybody is called back. */
#include <pthread.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/host/host.h"
#include "net/stream/net_int.h"

static BIO_METHOD *bio_method;
static pthread_once_t bio_once = PTHREAD_ONCE_INIT;

static int on_bio_write(BIO *bio, const char *p, int n)
{
    struct cor_stream *s = BIO_get_data(bio);
    struct cor_net *net = s->net;

    if ((size_t)n > COR_CIPHER_BYTES - net->cipher_n)
        return -1;
    memcpy(net->cipher + net->cipher_n, p, (size_t)n);
    net->cipher_n += (size_t)n;
    return n;
}

static int on_bio_read(BIO *bio, char *p, int n)
{
    struct cor_stream *s = BIO_get_data(bio);
    size_t take = s->cipher_in.n < (size_t)n ? s->cipher_in.n : (size_t)n;

    BIO_clear_retry_flags(bio);
    if (take == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(p, s->cipher_in.p, take);
    s->cipher_in = cor_str_from(s->cipher_in, take);
    return (int)take;
}

static long on_bio_ctrl(BIO *bio, int cmd, long num, void *ptr)
{
    return cmd == BIO_CTRL_FLUSH;
}

static void make_bio_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "coracle");

    if (method && BIO_meth_set_write(method, on_bio_write) == 1 &&
        BIO_meth_set_read(method, on_bio_read) == 1 && BIO_meth_set_ctrl(method, on_bio_ctrl) == 1)
        bio_method = method;
}

static int set_server_name(SSL *ssl, const char *name)
{
    if (cor_host_is_numeric(name))
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1 ? 0 : -COR_EINVAL;
    return SSL_set_tlsext_host_name(ssl, name) == 1 && SSL_set1_host(ssl, name) == 1 ? 0
                                                                                     : -COR_EINVAL;
}

/* The way to the network: the loop's memory, or another session's inside. */
static BIO *new_bio(struct cor_stream *s)
{
    BIO *bio;

    pthread_once(&bio_once, make_bio_method);
    if (s->ssl) {
        bio = BIO_new(BIO_f_ssl());
        if (bio)
            BIO_set_ssl(bio, s->ssl, BIO_NOCLOSE);
        SSL_set_quiet_shutdown(s->ssl,
                               1); /* The BIO's end would say it, into the loop's scratch. */
        return bio;
    }
    bio = bio_method ? BIO_new(bio_method) : NULL;
    if (bio) {
        BIO_set_data(bio, s);
        BIO_set_init(bio, 1);
    }
    return bio;
}

static int set_client(SSL *ssl, const char *server_name, bool is_h1_only)
{
    static const unsigned char h1[] = "\x08http/1.1";

    SSL_set_connect_state(ssl);
    if (is_h1_only && SSL_set_alpn_protos(ssl, h1, sizeof(h1) - 1) != 0)
        return -COR_ENOMEM;
    return server_name ? set_server_name(ssl, server_name) : 0;
}

static int set_server(SSL *ssl, const struct cor_tls *tls)
{
    struct stack_st_X509_NAME *names;

    SSL_set_accept_state(ssl);
    if (!tls->client_cas)
        return 0;
    names = cor_client_cas_names(tls->client_cas);
    if (!names)
        return -COR_ENOMEM;
    SSL_set_client_CA_list(ssl, names); /* which owns them */
    return 0;
}

int cor_tls_session_open(struct cor_stream *s, const char *server_name, bool is_h1_only)
{
    BIO *bio = new_bio(s);
    SSL *ssl = bio ? SSL_new(s->tls->ctx) : NULL;
    int r = 0;

    if (!ssl) {
        BIO_free(bio);
        return -COR_ENOMEM;
    }
    SSL_set_bio(ssl, bio, bio);
    SSL_set_app_data(ssl, s);
    if (s->tls->is_server)
        r = set_server(ssl, s->tls);
    else
        r = set_client(ssl, server_name, is_h1_only);
    if (r < 0) {
        SSL_free(ssl);
        return r;
    }
    s->outer = s->ssl;
    s->ssl = ssl;
    return 0;
}

void cor_tls_session_deinit(struct cor_stream *s)
{
    SSL_free(s->ssl);
    SSL_free(s->outer);
    s->ssl = s->outer = NULL;
}

/* SSL_get_error() looks at the thread's queue of errors. Nearly always it is empty, and clearing
 * all of its places takes longer than to look. */
static void clear_errors(void)
{
    if (ERR_peek_error() != 0)
        ERR_clear_error();
}

static void push(struct cor_stream *s)
{
    struct cor_net *net = s->net;

    cor_stream_send(s, cor_str(net->cipher, net->cipher_n));
    net->cipher_n = 0;
}

static struct cor_str entry_text(X509_NAME *name, int index)
{
    ASN1_STRING *text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index));

    return cor_str((const char *)ASN1_STRING_get0_data(text), (size_t)ASN1_STRING_length(text));
}

/* One allocation holds the struct and, behind it, the texts. */
static struct cor_peer_cert *copy_subject(X509_NAME *name)
{
    size_t norgs = 0, bytes = 0;
    struct cor_peer_cert *cert;
    char *text;
    int cn = -1, i = -1;

    while ((i = X509_NAME_get_index_by_NID(name, NID_organizationName, i)) >= 0) {
        norgs++;
        bytes += entry_text(name, i).n;
    }
    while ((i = X509_NAME_get_index_by_NID(name, NID_commonName, i)) >= 0)
        cn = i;
    bytes += cn >= 0 ? entry_text(name, cn).n : 0;
    cert = cor_calloc(1, sizeof(*cert) + norgs * sizeof(cert->orgs[0]) + bytes);
    if (!cert)
        return NULL;
    text = (char *)&cert->orgs[norgs];
    for (i = -1; (i = X509_NAME_get_index_by_NID(name, NID_organizationName, i)) >= 0;) {
        struct cor_str org = entry_text(name, i);

        cert->orgs[cert->norgs++] = cor_str(text, org.n);
        memcpy(text, org.p, org.n);
        text += org.n;
    }
    if (cn >= 0) {
        cert->common_name = cor_str(text, entry_text(name, cn).n);
        memcpy(text, entry_text(name, cn).p, cert->common_name.n);
    }
    return cert;
}

static int learn_cert(struct cor_stream *s)
{
    X509 *x509 = SSL_get0_peer_certificate(s->ssl);

    s->peer.cert = s->cert = cor_free(s->cert);
    if (!x509)
        return 0;
    s->cert = copy_subject(X509_get_subject_name(x509));
    if (!s->cert)
        return -COR_ENOMEM;
    s->cert->x509 = x509;
    s->cert->chain = SSL_get_peer_cert_chain(s->ssl);
    s->cert->is_verified = !s->tls->client_cas && SSL_get_verify_mode(s->ssl) != SSL_VERIFY_NONE &&
                           !s->cert_refused && SSL_get_verify_result(s->ssl) == X509_V_OK;
    s->peer.cert = s->cert;
    return 0;
}

/* The certificate's fault, or else the first that OpenSSL has noted. */
static void note_error(struct cor_stream *s)
{
    long verified = SSL_get_verify_result(s->ssl);

    if (verified != X509_V_OK && SSL_get_verify_mode(s->ssl) != SSL_VERIFY_NONE)
        s->error = X509_verify_cert_error_string(verified);
    else
        s->error = ERR_reason_error_string(ERR_peek_error());
}

/* Frees what a key holds, and leaves its shell to the session. */
static void empty_key(EVP_PKEY *key)
{
    EVP_PKEY_set_type(key, EVP_PKEY_X25519);
    EVP_PKEY_free(key);
}

/* OpenSSL keeps the keys of the exchange for as long as the session, though nothing needs them
 * after the handshake: there is no renegotiation, and new keys are derived from secrets. Those of
 * ML-KEM, which OpenSSL 3.5 begins with, are 6 KB at a server and 8 KB at a client; and a private
 * key that is gone cannot be found in memory. */
static void forget_exchange(SSL *ssl)
{
    EVP_PKEY *key;

    if (SSL_get_peer_tmp_key(ssl, &key) == 1)
        empty_key(key);
    if (SSL_get_tmp_key(ssl, &key) == 1)
        empty_key(key);
}

/* True when the stream is open. */
static bool shake_hands(struct cor_stream *s)
{
    int r, e;

    if (s->state != COR_STREAM_HANDSHAKE)
        return s->state == COR_STREAM_OPEN;
    clear_errors();
    r = SSL_do_handshake(s->ssl);
    e = SSL_get_error(s->ssl, r);
    push(s);
    if (s->state != COR_STREAM_HANDSHAKE)
        return false;
    if (r != 1) {
        if (e != SSL_ERROR_WANT_READ) {
            note_error(s);
            cor_stream_over(s, -COR_ETLS);
        }
        return false;
    }
    forget_exchange(s->ssl);
    if (learn_cert(s) < 0) {
        cor_stream_over(s, -COR_ENOMEM);
        return false;
    }
    s->state = COR_STREAM_OPEN;
    if (s->out_n > 0 || s->says_end)
        cor_stream_mark_dirty(s);
    s->cbs->on_open(s, s->arg);
    return s->state == COR_STREAM_OPEN;
}

void cor_tls_session_start(struct cor_stream *s)
{
    shake_hands(s);
}

static void read_failure(struct cor_stream *s, int e)
{
    if (e == SSL_ERROR_WANT_READ)
        return;
    if (e == SSL_ERROR_ZERO_RETURN)
        cor_stream_over(s, 0);
    else
        cor_stream_over(s, -COR_ETLS);
}

/* Asking OpenSSL once more than there are records would make it allocate a buffer to find nothing.
 */
static bool has_input(const struct cor_stream *s)
{
    return s->cipher_in.n > 0 || SSL_has_pending(s->ssl) || (s->outer && SSL_has_pending(s->outer));
}

void cor_tls_session_input(struct cor_stream *s, struct cor_str bytes)
{
    struct cor_net *net = s->net;
    bool is_open;
    int n = 1;

    s->cipher_in = bytes;
    is_open = shake_hands(s);
    while (is_open && n > 0 && has_input(s)) {
        clear_errors();
        n = SSL_read(s->ssl, net->plain, COR_BLOCK_BYTES);
        if (net->cipher_n > 0)
            push(s);
        if (n > 0)
            s->cbs->on_data(s, cor_str(net->plain, (size_t)n), s->arg);
        else
            read_failure(s, SSL_get_error(s->ssl, n));
        is_open = s->state == COR_STREAM_OPEN;
    }
    s->cipher_in = (struct cor_str){0};
    /* OpenSSL releases its buffers by itself, but not after records that are not data, such as a
     * server's session tickets. A client's connection may be idle from then on. */
    if (is_open && !s->tls->is_server)
        (void)SSL_free_buffers(s->ssl);
}

bool cor_tls_session_encrypt(struct cor_stream *s, struct cor_str plain)
{
    clear_errors();
    return SSL_write(s->ssl, plain.p, (int)plain.n) == (int)plain.n;
}

void cor_tls_session_say_end(struct cor_stream *s)
{
    clear_errors();
    SSL_shutdown(s->ssl);
    push(s);
}

struct cor_str cor_stream_alpn(const struct cor_stream *s)
{
    const unsigned char *p = NULL;
    unsigned n = 0;

    if (s->ssl)
        SSL_get0_alpn_selected(s->ssl, &p, &n);
    return cor_str(p ? (const char *)p : "", n);
}
