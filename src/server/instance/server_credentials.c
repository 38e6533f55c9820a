/* clang-format off */
/* The credentials in the data folder's pki/: a CA, a serving certificate signed by it, the front
 * proxy's CA with its client certificate, and the administrator's token. Each is made when it is
 * missing, and read otherwise.
 *
 *   folder ──► CA ──► serving certificate: kept if it is for this host and address and valid for
 *   CERT_RENEW_S more, else made again; or the files of the flags ──► front proxy: the same ──► token
 *
 * A key is written before its certificate, so that a start that was interrupted leaves no
 * certificate without a key. Every failure names its file in the status.
 * Thread: any, one at a time: before the loops start. */
/* clang-format on */
#include "server/instance/server_credentials.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/rand.h"

#define PATH_BYTES   COR_CREDENTIALS_PATH_BYTES
#define DAY_S        (24 * 3600)
#define CA_VALID_S   (10LL * 365 * DAY_S)
#define CERT_VALID_S (365LL * DAY_S)
/* A certificate is renewed this long before it expires. */
#define CERT_RENEW_S (30LL * DAY_S)
#define TOKEN_BYTES  32
#define TITLE_MAX    480

/* A CA of the folder. */
struct ca_files {
    const char *common_name;
    char cert[PATH_BYTES], key[PATH_BYTES];
};

struct pki {
    const struct cor_server_credentials_opts *opts;
    struct ca_files ca, proxy_ca;
    char cert[PATH_BYTES], key[PATH_BYTES], token[PATH_BYTES];
};

static int set_path(char out[PATH_BYTES], const char *dir, const char *name, struct cor_status *st)
{
    int n = snprintf(out, PATH_BYTES, "%s/pki/%s", dir, name);

    return n < PATH_BYTES ? 0 : cor_status_set(st, -COR_EINVAL, "%s: the path is too long", dir);
}

static int set_paths(struct pki *pki, struct cor_status *st)
{
    const char *dir = pki->opts->dir;
    int r = set_path(pki->ca.cert, dir, "ca.crt", st);

    pki->ca.common_name = "coracle-ca";
    pki->proxy_ca.common_name = "front-proxy-ca";
    if (r == 0)
        r = set_path(pki->ca.key, dir, "ca.key", st);
    if (r == 0)
        r = set_path(pki->proxy_ca.cert, dir, "front-proxy-ca.crt", st);
    if (r == 0)
        r = set_path(pki->proxy_ca.key, dir, "front-proxy-ca.key", st);
    if (r == 0)
        r = set_path(pki->cert, dir, "server.crt", st);
    if (r == 0)
        r = set_path(pki->key, dir, "server.key", st);
    return r == 0 ? set_path(pki->token, dir, "admin.token", st) : r;
}

static int make_folder(const struct pki *pki, struct cor_status *st)
{
    char path[PATH_BYTES];
    int r = set_path(path, pki->opts->dir, "", st);

    if (r < 0)
        return r;
    /* The embedded store makes the folder above it; etcd does not. */
    (void)mkdir(pki->opts->dir, 0700);
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return cor_status_set(st, -COR_EIO, "%s: %s", path, strerror(errno));
    return 0;
}

static int credentials_load(const char *path, struct cor_buf *out, struct cor_status *st)
{
    int r = cor_pem_load(path, out);

    return r < 0 && r != -COR_ENOTFOUND ? cor_status_set(st, r, "%s: %s", path, cor_err_text(r))
                                        : r;
}

static int credentials_save(const char *path, struct cor_str text, struct cor_status *st)
{
    int r = cor_pem_save(path, text, 0600);

    return r < 0 ? cor_status_set(st, r, "%s: %s", path, cor_err_text(r)) : 0;
}

static int make_ca(const struct pki *pki, const struct ca_files *files, struct cor_cert_pair *ca,
                   struct cor_status *st)
{
    const struct cor_cert_opts opts = {.use = COR_CERT_CA,
                                       .common_name = cor_strz(files->common_name),
                                       .now_s = pki->opts->now_s,
                                       .valid_s = CA_VALID_S};
    int r = cor_cert_make(&opts, NULL, ca);

    if (r < 0)
        return cor_status_set(st, r, "CA: %s", cor_err_text(r));
    r = credentials_save(files->key, cor_buf_str(&ca->key_pem), st);
    return r == 0 ? credentials_save(files->cert, cor_buf_str(&ca->cert_pem), st) : r;
}

/* The certificate is written last: when it is there, the key is there too. */
static int open_ca(const struct pki *pki, const struct ca_files *files, struct cor_cert_pair *ca,
                   bool *ret_is_new, struct cor_status *st)
{
    int r = credentials_load(files->cert, &ca->cert_pem, st);

    *ret_is_new = r == -COR_ENOTFOUND;
    if (r == -COR_ENOTFOUND)
        return make_ca(pki, files, ca, st);
    if (r == 0)
        r = credentials_load(files->key, &ca->key_pem, st);
    return r == -COR_ENOTFOUND
               ? cor_status_set(st, r, "%s is missing beside its certificate", files->key)
               : r;
}

static bool is_fit(const struct pki *pki, const char *what, struct cor_str pem)
{
    char want[TITLE_MAX + 32];
    struct cor_str line = cor_str_cut(&pem, '\n');
    uint64_t expires_s;
    int n = snprintf(want, sizeof(want), "# coracle: %s expires ", what);

    if (n >= (int)sizeof(want) || !cor_str_starts(line, cor_strz(want)))
        return false;
    return cor_str_to_u64(cor_str_from(line, (size_t)n), &expires_s) == 0 &&
           (int64_t)expires_s - CERT_RENEW_S > pki->opts->now_s;
}

/* Makes the certificate, with its title, and writes both files: the certificate last. */
static int make_pair(const struct cor_cert_opts *opts, const char *what,
                     const struct cor_cert_pair *ca, const char *cert_file, const char *key_file,
                     struct cor_cert_pair *pair, struct cor_status *st)
{
    /* What it was made for stands before the PEM text, where readers of PEM ignore it. */
    int r = cor_buf_addf(&pair->cert_pem, "# coracle: %s expires %lld\n", what,
                         (long long)(opts->now_s + opts->valid_s));

    if (r == 0)
        r = cor_cert_make(opts, ca, pair);
    if (r < 0)
        return cor_status_set(st, r, "%s: %s", cert_file, cor_err_text(r));
    r = credentials_save(key_file, cor_buf_str(&pair->key_pem), st);
    return r == 0 ? credentials_save(cert_file, cor_buf_str(&pair->cert_pem), st) : r;
}

static int make_serving(const struct pki *pki, const char *host, const char *what,
                        const struct cor_cert_pair *ca, struct cor_cert_pair *pair,
                        struct cor_status *st)
{
    const char *const names[] = {"localhost",
                                 "kubernetes",
                                 "kubernetes.default",
                                 "kubernetes.default.svc",
                                 "kubernetes.default.svc.cluster.local",
                                 host};
    const char *const addresses[] = {"127.0.0.1", "::1", pki->opts->address};
    const struct cor_cert_opts opts = {.use = COR_CERT_SERVER,
                                       .common_name = COR_STR("coracle"),
                                       .dns_names = names,
                                       .ndns_names = COR_ARRAY_LEN(names) - (host[0] == '\0'),
                                       .addresses = addresses,
                                       .naddresses = COR_ARRAY_LEN(addresses),
                                       .now_s = pki->opts->now_s,
                                       .valid_s = CERT_VALID_S};

    return make_pair(&opts, what, ca, pki->cert, pki->key, pair, st);
}

static int open_serving(const struct pki *pki, const struct cor_cert_pair *ca, bool is_new_ca,
                        struct cor_cert_pair *pair, struct cor_status *st)
{
    char host[256] = "", what[TITLE_MAX];
    int r;

    if (gethostname(host, sizeof(host)) < 0)
        host[0] = '\0';
    host[sizeof(host) - 1] = '\0';
    snprintf(what, sizeof(what), "%s %s", host, pki->opts->address);
    r = is_new_ca ? -COR_ENOTFOUND : credentials_load(pki->cert, &pair->cert_pem, st);
    if (r == 0 && is_fit(pki, what, cor_buf_str(&pair->cert_pem)))
        r = credentials_load(pki->key, &pair->key_pem, st);
    else if (r == 0)
        r = -COR_ENOTFOUND;
    if (r != -COR_ENOTFOUND)
        return r;
    cor_buf_reset(&pair->cert_pem);
    cor_buf_reset(&pair->key_pem);
    return make_serving(pki, host, what, ca, pair, st);
}

static int open_own_serving(const struct pki *pki, struct cor_server_credentials *cred,
                            struct cor_status *st)
{
    struct cor_cert_pair ca;
    int r;

    cor_cert_pair_init(&ca);
    r = open_ca(pki, &pki->ca, &ca, &cred->is_first, st);
    if (r == 0)
        r = open_serving(pki, &ca, cred->is_first, &cred->serving, st);
    if (r == 0)
        r = cor_buf_adds(&cred->ca_pem, cor_buf_str(&ca.cert_pem));
    cor_cert_pair_deinit(&ca);
    return r;
}

static int open_given_serving(const struct pki *pki, struct cor_server_credentials *cred,
                              struct cor_status *st)
{
    int r = credentials_load(pki->opts->tls_cert_file, &cred->serving.cert_pem, st);

    if (r == 0)
        r = credentials_load(pki->opts->tls_key_file, &cred->serving.key_pem, st);
    if (r == -COR_ENOTFOUND)
        return cor_status_set(st, r, "%s: there is no such file",
                              cred->serving.cert_pem.n ? pki->opts->tls_key_file
                                                       : pki->opts->tls_cert_file);
    return r == 0 ? cor_buf_adds(&cred->ca_pem, cor_buf_str(&cred->serving.cert_pem)) : r;
}

/* The front proxy's client certificate: kept while it is valid for CERT_RENEW_S more. */
static int open_own_proxy(const struct pki *pki, struct cor_front_proxy_files *proxy,
                          struct cor_status *st)
{
    const struct cor_cert_opts opts = {.use = COR_CERT_CLIENT,
                                       .common_name = COR_STR(COR_FRONT_PROXY_CN),
                                       .now_s = pki->opts->now_s,
                                       .valid_s = CERT_VALID_S};
    struct cor_cert_pair ca, pair;
    bool is_new_ca;
    int r;

    cor_cert_pair_init(&ca);
    cor_cert_pair_init(&pair);
    r = set_path(proxy->cert, pki->opts->dir, COR_FRONT_PROXY_CN ".crt", st);
    if (r == 0)
        r = set_path(proxy->key, pki->opts->dir, COR_FRONT_PROXY_CN ".key", st);
    if (r == 0)
        r = open_ca(pki, &pki->proxy_ca, &ca, &is_new_ca, st);
    if (r == 0)
        r = cor_buf_adds(&proxy->ca_pem, cor_buf_str(&ca.cert_pem));
    if (r == 0)
        r = is_new_ca ? -COR_ENOTFOUND : credentials_load(proxy->cert, &pair.cert_pem, st);
    if (r == -COR_ENOTFOUND ||
        (r == 0 && (!is_fit(pki, COR_FRONT_PROXY_CN, cor_buf_str(&pair.cert_pem)) ||
                    access(proxy->key, R_OK) < 0))) {
        cor_buf_reset(&pair.cert_pem);
        r = make_pair(&opts, COR_FRONT_PROXY_CN, &ca, proxy->cert, proxy->key, &pair, st);
    }
    cor_cert_pair_deinit(&ca);
    cor_cert_pair_deinit(&pair);
    return r;
}

static int open_given_proxy(const struct pki *pki, struct cor_front_proxy_files *proxy,
                            struct cor_status *st)
{
    const char *const files[] = {pki->opts->proxy_cert_file, pki->opts->proxy_key_file};
    char *const to[] = {proxy->cert, proxy->key};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int r = 0;

    cor_buf_init_secret(&text, COR_PEM_MAX);
    for (size_t i = 0; r == 0 && i < COR_ARRAY_LEN(files); i++) {
        cor_buf_reset(&text);
        r = credentials_load(files[i], &text, st);
        if (r == -COR_ENOTFOUND)
            return cor_status_set(st, r, "%s: there is no such file", files[i]);
        if (r == 0 && snprintf(to[i], PATH_BYTES, "%s", files[i]) >= PATH_BYTES)
            return cor_status_set(st, -COR_EINVAL, "%s: the path is too long", files[i]);
    }
    return r;
}

static int make_token(const struct pki *pki, struct cor_buf *out, struct cor_status *st)
{
    char secret[TOKEN_BYTES];
    struct cor_rand rand;
    int r;

    cor_rand_init(&rand);
    cor_rand_bytes(&rand, secret, sizeof(secret));
    r = cor_base64_encode(COR_BASE64_RAW_URL, cor_str(secret, sizeof(secret)), out);
    explicit_bzero(secret, sizeof(secret));
    return r == 0 ? credentials_save(pki->token, cor_buf_str(out), st) : r;
}

static int open_token(const struct pki *pki, struct cor_buf *out, struct cor_status *st)
{
    int r = credentials_load(pki->token, out, st);

    if (r == -COR_ENOTFOUND)
        return make_token(pki, out, st);
    if (r == 0)
        cor_buf_truncate(out, cor_str_trim(cor_buf_str(out)).n);
    if (r == 0 && out->n == 0)
        return cor_status_set(st, -COR_EINVAL, "%s is empty; remove it to get a new one",
                              pki->token);
    return r;
}

int cor_server_credentials_open(const struct cor_server_credentials_opts *opts,
                                struct cor_server_credentials *ret_cred,
                                struct cor_status *reterr_status)
{
    struct cor_server_credentials cred = {.is_first = false};
    struct pki pki = {.opts = opts};
    int r;

    assert(opts->dir && opts->address && !opts->tls_cert_file == !opts->tls_key_file);
    assert(!opts->proxy_cert_file == !opts->proxy_key_file);
    cor_buf_init(&cred.ca_pem, COR_PEM_MAX);
    cor_buf_init(&cred.front_proxy.ca_pem, COR_PEM_MAX);
    cor_buf_init_secret(&cred.token, COR_PEM_MAX);
    cor_cert_pair_init(&cred.serving);
    r = set_paths(&pki, reterr_status);
    if (r == 0)
        r = make_folder(&pki, reterr_status);
    if (r == 0)
        r = opts->tls_cert_file ? open_given_serving(&pki, &cred, reterr_status)
                                : open_own_serving(&pki, &cred, reterr_status);
    if (r == 0)
        r = opts->proxy_cert_file ? open_given_proxy(&pki, &cred.front_proxy, reterr_status)
                                  : open_own_proxy(&pki, &cred.front_proxy, reterr_status);
    if (r == 0)
        r = open_token(&pki, &cred.token, reterr_status);
    if (r < 0) {
        if (r == -COR_ENOMEM)
            (void)cor_status_set(reterr_status, r, "out of memory");
        cor_server_credentials_deinit(&cred);
        return r;
    }
    *ret_cred = cred;
    return 0;
}

void cor_server_credentials_deinit(struct cor_server_credentials *cred)
{
    cor_buf_deinit(&cred->token);
    cor_buf_deinit(&cred->ca_pem);
    cor_buf_deinit(&cred->front_proxy.ca_pem);
    cor_cert_pair_deinit(&cred->serving);
}

static int write_config(const struct cor_server_credentials *cred, const char *url,
                        struct cor_buf *out)
{
    int r = cor_buf_addz(out, "apiVersion: v1\nkind: Config\nclusters:\n- name: coracle\n"
                              "  cluster:\n    certificate-authority-data: ");

    if (r == 0)
        r = cor_base64_encode(COR_BASE64_STD, cor_buf_str(&cred->ca_pem), out);
    if (r == 0)
        r = cor_buf_addf(out,
                         "\n    server: %s\nusers:\n- name: " COR_ADMIN_USER
                         "\n  user:\n    token: %s\ncontexts:\n- name: coracle\n  context:\n"
                         "    cluster: coracle\n    user: " COR_ADMIN_USER
                         "\ncurrent-context: coracle\n",
                         url, cor_buf_z(&cred->token));
    return r;
}

int cor_server_credentials_write_kubeconfig(const struct cor_server_credentials *cred,
                                            const char *path, const char *url,
                                            struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text, old;
    int r;

    assert(path && url && cred->token.n > 0);
    cor_buf_init(&text, 2 * COR_PEM_MAX);
    cor_buf_init(&old, 2 * COR_PEM_MAX);
    r = write_config(cred, url, &text);
    if (r < 0)
        return cor_status_set(reterr_status, r, "%s: %s", path, cor_err_text(r));
    if (cor_pem_load(path, &old) == 0 && cor_str_eq(cor_buf_str(&old), cor_buf_str(&text)))
        return 0;
    return credentials_save(path, cor_buf_str(&text), reterr_status);
}
