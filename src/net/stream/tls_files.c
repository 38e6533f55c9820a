#include "net/stream/tls_files.h"

#include "base/err.h"
#include "base/mem.h"
#include "net/crypto/cert.h"
#include "net/stream/tls.h"

struct cor_tls_files {
    struct cor_tls_opts opts;
    struct cor_buf ca_pem;
    char *cert_file, *key_file;
    struct cor_cert_pair pair; /* what `tls` was made with */
    struct cor_tls *tls;
};

static int read_files(const struct cor_tls_files *f, struct cor_cert_pair *ret_pair)
{
    int r = cor_pem_load(f->cert_file, &ret_pair->cert_pem);

    return r < 0 ? r : cor_pem_load(f->key_file, &ret_pair->key_pem);
}

static bool is_same(const struct cor_cert_pair *a, const struct cor_cert_pair *b)
{
    return cor_str_eq(cor_buf_str(&a->cert_pem), cor_buf_str(&b->cert_pem)) &&
           cor_str_eq(cor_buf_str(&a->key_pem), cor_buf_str(&b->key_pem));
}

int cor_tls_files_look(struct cor_tls_files *f)
{
    COR_CLEANUP(cor_cert_pair_deinit) struct cor_cert_pair pair, old;
    struct cor_tls *tls;
    int r;

    cor_cert_pair_init(&pair);
    cor_cert_pair_init(&old);
    r = read_files(f, &pair);
    if (r < 0)
        return r;
    if (f->tls && is_same(&pair, &f->pair))
        return 0;
    f->opts.cert_pem = cor_buf_str(&pair.cert_pem);
    f->opts.key_pem = cor_buf_str(&pair.key_pem);
    r = cor_tls_new(&f->opts, &tls);
    if (r < 0)
        return r;
    cor_tls_unref(f->tls);
    f->tls = tls;
    old = f->pair;
    f->pair = pair;
    cor_cert_pair_init(&pair);
    return 1;
}

static int copy_opts(struct cor_tls_files *f, const struct cor_tls_opts *opts,
                     const char *cert_file, const char *key_file)
{
    f->opts = *opts;
    cor_buf_init(&f->ca_pem, COR_PEM_MAX);
    if (cor_buf_adds(&f->ca_pem, opts->ca_pem) < 0)
        return opts->ca_pem.n > COR_PEM_MAX ? -COR_ETOOBIG : -COR_ENOMEM;
    f->opts.ca_pem = cor_buf_str(&f->ca_pem);
    f->cert_file = cor_strdup(cert_file);
    f->key_file = cor_strdup(key_file);
    return f->cert_file && f->key_file ? 0 : -COR_ENOMEM;
}

int cor_tls_files_new(const struct cor_tls_opts *opts, const char *cert_file, const char *key_file,
                      struct cor_tls_files **ret_files)
{
    COR_CLEANUP(cor_tls_files_freep) struct cor_tls_files *f = cor_calloc(1, sizeof(*f));
    int r;

    if (!f)
        return -COR_ENOMEM;
    cor_cert_pair_init(&f->pair);
    r = copy_opts(f, opts, cert_file, key_file);
    if (r == 0)
        r = cor_tls_files_look(f);
    if (r < 0)
        return r;
    *ret_files = COR_STEAL(f);
    return 0;
}

struct cor_tls_files *cor_tls_files_free(struct cor_tls_files *f)
{
    if (!f)
        return NULL;
    cor_tls_unref(f->tls);
    cor_cert_pair_deinit(&f->pair);
    cor_buf_deinit(&f->ca_pem);
    cor_free(f->cert_file);
    cor_free(f->key_file);
    return cor_free(f);
}

struct cor_tls *cor_tls_files_peek(const struct cor_tls_files *f)
{
    return f->tls;
}
