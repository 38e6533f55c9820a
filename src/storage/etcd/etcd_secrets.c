/* The credentials for etcd, read from the files that the flags name: first the TLS client (CA,
 * certificate and key, each optional, but the last two only together), then the user with the first
 * line of the password file. The first file that cannot be used ends it: the status names the flag,
 * the path and the reason, and what was read before is wiped and freed. Keys and password are in
 * buffers that are wiped. Thread: any; it blocks on files, and is called at start-up. */
#include "storage/etcd/etcd_secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/crypto/cert.h"
#include "net/stream/tls.h"

#define PASSWORD_MAX 4096

static int load(const char *flag, const char *path, struct cor_buf *out,
                struct cor_status *reterr_status)
{
    int r = path ? cor_pem_load(path, out) : 0;

    return r < 0 ? cor_status_set(reterr_status, r, "--%s %s: %s", flag, path, cor_err_text(r)) : 0;
}

static int init_tls(struct etcd_secrets *s, const struct cor_etcd_config *config,
                    struct cor_status *reterr_status)
{
    static const char *const alpn[] = {"h2"};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf ca = {.max = COR_PEM_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf cert = {.max = COR_PEM_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf key = {.max = COR_PEM_MAX, .is_secret = true};
    struct cor_tls_opts opts = {.role = COR_TLS_CLIENT, .alpn = alpn, .nalpn = 1};
    int r;

    if (!config->cert_file != !config->key_file)
        return cor_status_set(reterr_status, -COR_EINVAL,
                              "--etcd-certfile and --etcd-keyfile belong together");
    r = load("etcd-cafile", config->ca_file, &ca, reterr_status);
    if (r == 0)
        r = load("etcd-certfile", config->cert_file, &cert, reterr_status);
    if (r == 0)
        r = load("etcd-keyfile", config->key_file, &key, reterr_status);
    if (r < 0)
        return r;
    opts.ca_pem = cor_buf_str(&ca);
    opts.cert_pem = cor_buf_str(&cert);
    opts.key_pem = cor_buf_str(&key);
    r = cor_tls_new(&opts, &s->tls);
    if (r == -COR_EINVAL)
        return cor_status_set(reterr_status, r,
                              "etcd's CA, certificate or key is not PEM, or certificate and key do "
                              "not belong together");
    return r < 0 ? cor_status_set_err(reterr_status, r) : 0;
}

/* The file's first line. */
static int read_password(const char *path, struct cor_buf *out, struct cor_status *reterr_status)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;
    char *end;

    if (fd >= 0 && cor_buf_reserve(out, PASSWORD_MAX) == 0)
        n = read(fd, out->p, PASSWORD_MAX);
    if (n < 0) {
        int err = errno;

        if (fd >= 0)
            close(fd);
        return cor_status_set(reterr_status, err == ENOENT ? -COR_ENOTFOUND : -COR_EIO,
                              "--etcd-password-file %s: %s", path, strerror(err));
    }
    close(fd);
    end = memchr(out->p, '\n', (size_t)n);
    out->n = end ? (size_t)(end - out->p) : (size_t)n;
    out->p[out->n] = '\0';
    return 0;
}

static int init_login(struct etcd_secrets *s, const struct cor_etcd_config *config,
                      struct cor_status *reterr_status)
{
    if (!config->user != !config->password_file)
        return cor_status_set(reterr_status, -COR_EINVAL,
                              "--etcd-username and --etcd-password-file belong together");
    if (!config->user)
        return 0;
    s->user = cor_strdup(config->user);
    if (!s->user)
        return cor_status_no_memory(reterr_status);
    return read_password(config->password_file, &s->password, reterr_status);
}

int cor_etcd_secrets_init(struct etcd_secrets *secrets, const struct cor_etcd_config *config,
                          struct cor_status *reterr_status)
{
    int r;

    *secrets = (struct etcd_secrets){0};
    cor_buf_init_secret(&secrets->password, PASSWORD_MAX);
    r = init_tls(secrets, config, reterr_status);
    if (r == 0)
        r = init_login(secrets, config, reterr_status);
    if (r < 0)
        cor_etcd_secrets_deinit(secrets);
    return r;
}

void cor_etcd_secrets_deinit(struct etcd_secrets *secrets)
{
    cor_buf_deinit(&secrets->password);
    secrets->user = cor_free(secrets->user);
    secrets->tls = cor_tls_unref(secrets->tls);
}
