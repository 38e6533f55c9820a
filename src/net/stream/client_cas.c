/* clang-format off */
/* The authorities of client certificates. Each bundle is an X509_STORE, which OpenSSL counts
 * references of and which nobody changes once it is published.
 *
 *   cor_client_cas_set:   read the PEM ──► a new store, and the names for the handshake ──► exchanged
 *                         under the lock ──► the generation moves on
 *   cor_client_cas_judge: is the kept answer of this generation and not expired? ──► else a reference
 *                         to both stores under the lock, X509_verify_cert() with each, outside it,
 *                         and the references are released under the lock
 *
 * A failure to allocate refuses the certificate and keeps no answer: the next request judges again.
 */
/* clang-format on */
#include "net/stream/client_cas.h"

#include <assert.h>
#include <stdatomic.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>

#include "base/err.h"
#include "base/lock.h"
#include "base/mem.h"
#include "net/stream/net_int.h"

/* A refusal is not kept for longer: a certificate may become valid. */
#define REFUSED_S 60
/* OpenSSL's first level: no SHA-1, and keys as long as Go wants them. A context that no session
 * made has none. */
#define AUTH_LEVEL 1

COR_DEFINE_CLEANUP(BIO, BIO_free_all)
COR_DEFINE_CLEANUP(X509_STORE_CTX, X509_STORE_CTX_free)

struct bundle {
    X509_STORE *store; /* NULL: there is no bundle */
    STACK_OF(X509_NAME) * names;
};

struct cor_client_cas {
    struct cor_lock lock; /* of the bundles; a leaf */
    struct bundle bundles[COR_CA_COUNT];
    _Atomic uint64_t generation; /* begins at 1: a certificate that was not judged has 0 */
    atomic_bool has[COR_CA_COUNT];
};

static void bundle_deinit(struct bundle *b)
{
    X509_STORE_free(b->store);
    sk_X509_NAME_pop_free(b->names, X509_NAME_free);
    *b = (struct bundle){0};
}

int cor_client_cas_new(struct cor_client_cas **ret_cas)
{
    struct cor_client_cas *cas = cor_calloc(1, sizeof(*cas));

    if (!cas)
        return -COR_ENOMEM;
    cor_lock_init(&cas->lock, COR_LOCK_CLIENT_CAS);
    atomic_store(&cas->generation, 1);
    *ret_cas = cas;
    return 0;
}

struct cor_client_cas *cor_client_cas_free(struct cor_client_cas *cas)
{
    if (!cas)
        return NULL;
    for (size_t i = 0; i < COR_CA_COUNT; i++)
        bundle_deinit(&cas->bundles[i]);
    cor_lock_deinit(&cas->lock);
    return cor_free(cas);
}

static int bundle_add(struct bundle *b, X509 *ca)
{
    X509_NAME *name = X509_NAME_dup(X509_get_subject_name(ca));

    if (!name || sk_X509_NAME_push(b->names, name) <= 0) {
        X509_NAME_free(name);
        return -COR_ENOMEM;
    }
    return X509_STORE_add_cert(b->store, ca) == 1 ? 0 : -COR_EINVAL;
}

/* 0, -COR_EINVAL, -COR_ENOMEM; the caller deinitialises the bundle in any case. */
static int bundle_read(struct bundle *b, struct cor_str pem)
{
    COR_CLEANUP(BIO_free_allp) BIO *in = BIO_new_mem_buf(pem.p, (int)pem.n);
    unsigned long e;
    X509 *ca;
    int r = 0;

    b->store = X509_STORE_new();
    b->names = sk_X509_NAME_new_null();
    if (!in || !b->store || !b->names)
        return -COR_ENOMEM;
    while (r == 0 && (ca = PEM_read_bio_X509(in, NULL, NULL, NULL))) {
        r = bundle_add(b, ca);
        X509_free(ca);
    }
    if (r < 0)
        return r;
    e = ERR_peek_last_error();
    if (sk_X509_NAME_num(b->names) == 0 || ERR_GET_LIB(e) != ERR_LIB_PEM ||
        ERR_GET_REASON(e) != PEM_R_NO_START_LINE)
        return -COR_EINVAL;
    return 0;
}

int cor_client_cas_set(struct cor_client_cas *cas, enum cor_ca which, struct cor_str pem)
{
    struct bundle next = {0}, old;
    int r = pem.n > 0 ? bundle_read(&next, pem) : 0;

    assert(which < COR_CA_COUNT);
    ERR_clear_error();
    if (r < 0) {
        bundle_deinit(&next);
        return r;
    }
    cor_lock_acquire(&cas->lock);
    old = cas->bundles[which];
    cas->bundles[which] = next;
    atomic_store(&cas->has[which], next.store != NULL);
    atomic_fetch_add(&cas->generation, 1);
    cor_lock_release(&cas->lock);
    bundle_deinit(&old);
    return 0;
}

bool cor_client_cas_has(const struct cor_client_cas *cas, enum cor_ca which)
{
    return atomic_load(&cas->has[which]);
}

static int64_t expires_s(const X509 *cert)
{
    struct tm tm;

    return ASN1_TIME_to_tm(X509_get0_notAfter(cert), &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

/* Verifies at `now_s`. False also without memory, which `*is_sure` tells. */
static bool store_verifies(X509_STORE *store, const struct cor_peer_cert *cert, int64_t now_s,
                           int64_t *until_s, bool *is_sure)
{
    COR_CLEANUP(X509_STORE_CTX_freep) X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    STACK_OF(X509) * chain;

    if (!ctx || X509_STORE_CTX_init(ctx, store, cert->x509, cert->chain) != 1 ||
        X509_STORE_CTX_set_default(ctx, "ssl_client") != 1) {
        *is_sure = false;
        return false;
    }
    X509_STORE_CTX_set_time(ctx, 0, (time_t)now_s);
    X509_VERIFY_PARAM_set_auth_level(X509_STORE_CTX_get0_param(ctx), AUTH_LEVEL);
    if (X509_verify_cert(ctx) != 1) {
        if (X509_STORE_CTX_get_error(ctx) == X509_V_ERR_OUT_OF_MEM)
            *is_sure = false;
        return false;
    }
    chain = X509_STORE_CTX_get0_chain(ctx);
    for (int i = 0; i < sk_X509_num(chain); i++) {
        int64_t end_s = expires_s(sk_X509_value(chain, i));

        *until_s = end_s < *until_s ? end_s : *until_s;
    }
    return true;
}

unsigned cor_client_cas_judge(struct cor_client_cas *cas, struct cor_peer_cert *cert, int64_t now_s)
{
    X509_STORE *stores[COR_CA_COUNT] = {NULL};
    int64_t until_s = INT64_MAX;
    uint64_t generation = atomic_load(&cas->generation);
    bool is_sure = true;
    unsigned by = 0;

    if (cert->judged.generation == generation && now_s <= cert->judged.until_s)
        return cert->judged.by;
    cor_lock_acquire(&cas->lock);
    generation = atomic_load(&cas->generation);
    for (size_t i = 0; i < COR_CA_COUNT; i++) {
        stores[i] = cas->bundles[i].store;
        if (stores[i])
            (void)X509_STORE_up_ref(stores[i]);
    }
    cor_lock_release(&cas->lock);
    for (unsigned i = 0; i < COR_CA_COUNT; i++) {
        if (stores[i] && cert->x509 && store_verifies(stores[i], cert, now_s, &until_s, &is_sure))
            by |= 1u << i;
        else if (stores[i] && until_s > now_s + REFUSED_S)
            until_s = now_s + REFUSED_S;
    }
    /* Who frees a store comes after all who used it: the lock shows it, OpenSSL's counter is of no
     * use to a sanitizer that does not see into OpenSSL. */
    cor_lock_acquire(&cas->lock);
    for (size_t i = 0; i < COR_CA_COUNT; i++)
        X509_STORE_free(stores[i]);
    cor_lock_release(&cas->lock);
    ERR_clear_error();
    if (!is_sure)
        return 0;
    cert->judged.generation = generation;
    cert->judged.until_s = until_s;
    cert->judged.by = by;
    return by;
}

struct stack_st_X509_NAME *cor_client_cas_names(struct cor_client_cas *cas)
{
    STACK_OF(X509_NAME) *names = sk_X509_NAME_new_null();
    bool ok = names != NULL;

    cor_lock_acquire(&cas->lock);
    for (size_t i = 0; ok && i < COR_CA_COUNT; i++) {
        const STACK_OF(X509_NAME) *from = cas->bundles[i].names;

        for (int j = 0; ok && from && j < sk_X509_NAME_num(from); j++) {
            X509_NAME *name = X509_NAME_dup(sk_X509_NAME_value(from, j));

            ok = name && sk_X509_NAME_push(names, name) > 0;
            if (!ok)
                X509_NAME_free(name);
        }
    }
    cor_lock_release(&cas->lock);
    if (ok)
        return names;
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    return NULL;
}
