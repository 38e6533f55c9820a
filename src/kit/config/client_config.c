/* A client's configuration as a value: copying it, releasing it, and making it of what a pod has.
 *
 * In a pod: KUBERNETES_SERVICE_HOST and _PORT give the server; the folder of the service account
 * has `token` (required), `ca.crt` (without it the system's authorities are used) and `namespace`
 * (POD_NAMESPACE is asked first; "default" when neither exists).
 *
 * Texts that are secret (keys, tokens, passwords, proxies with a password) are overwritten before
 * they are freed. A failure leaves nothing to release, and the result untouched.
 * Thread: any (values). */
#include "kit/config/client_config.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "net/crypto/cert.h"

#define SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"
#define FILE_MAX        (1u << 20)

void cor_strings_deinit(struct cor_strings *s)
{
    for (size_t i = 0; i < s->n; i++)
        cor_free(s->items[i]);
    cor_free(s->items);
}

static void free_pairs(struct cor_string_pairs *p)
{
    for (size_t i = 0; i < p->n; i++) {
        cor_free(p->items[i].key);
        cor_free_secret(p->items[i].value);
    }
    cor_free(p->items);
}

void cor_client_config_deinit(struct cor_client_config *c)
{
    cor_free(c->server);
    cor_free(c->tls_server_name);
    cor_free(c->ca_pem);
    cor_free_secret(c->proxy_url); /* a proxy's URL may contain a password */
    cor_free(c->ns);
    cor_free(c->client_cert_pem);
    cor_free_secret(c->client_key_pem);
    cor_free(c->client_cert_file);
    cor_free(c->client_key_file);
    cor_free_secret(c->token);
    cor_free(c->token_file);
    cor_free(c->username);
    cor_free_secret(c->password);
    cor_free(c->exec.command);
    cor_free(c->exec.api_version);
    cor_free(c->exec.interactive_mode);
    cor_free(c->exec.install_hint);
    cor_free(c->exec.cluster_config);
    cor_strings_deinit(&c->exec.args);
    free_pairs(&c->exec.env);
    cor_free(c->impersonate_user);
    cor_free(c->impersonate_uid);
    cor_strings_deinit(&c->impersonate_groups);
    free_pairs(&c->impersonate_extra);
    *c = (struct cor_client_config){0};
}

static int copy_text(char **to, const char *from)
{
    *to = from ? cor_strdup(from) : NULL;
    return from && !*to ? -COR_ENOMEM : 0;
}

int cor_strings_copy(struct cor_strings *to, const struct cor_strings *from)
{
    int r = 0;

    to->items = cor_calloc(from->n, sizeof(*to->items));
    if (!to->items)
        return -COR_ENOMEM;
    for (; r == 0 && to->n < from->n; to->n++)
        r = copy_text(&to->items[to->n], from->items[to->n]);
    return r;
}

static int copy_pairs(struct cor_string_pairs *to, const struct cor_string_pairs *from)
{
    int r = 0;

    to->items = cor_calloc(from->n, sizeof(*to->items));
    if (!to->items)
        return -COR_ENOMEM;
    for (; r == 0 && to->n < from->n; to->n++) {
        r = copy_text(&to->items[to->n].key, from->items[to->n].key);
        if (r == 0)
            r = copy_text(&to->items[to->n].value, from->items[to->n].value);
    }
    return r;
}

static int copy_texts(struct cor_client_config *to, const struct cor_client_config *from)
{
    /* clang-format off */
    struct { char **to; const char *from; } texts[] = {
        {&to->server, from->server},
        {&to->tls_server_name, from->tls_server_name},
        {&to->ca_pem, from->ca_pem},
        {&to->proxy_url, from->proxy_url},
        {&to->ns, from->ns},
        {&to->client_cert_pem, from->client_cert_pem},
        {&to->client_key_pem, from->client_key_pem},
        {&to->client_cert_file, from->client_cert_file},
        {&to->client_key_file, from->client_key_file},
        {&to->token, from->token},
        {&to->token_file, from->token_file},
        {&to->username, from->username},
        {&to->password, from->password},
        {&to->exec.command, from->exec.command},
        {&to->exec.api_version, from->exec.api_version},
        {&to->exec.interactive_mode, from->exec.interactive_mode},
        {&to->exec.install_hint, from->exec.install_hint},
        {&to->exec.cluster_config, from->exec.cluster_config},
        {&to->impersonate_user, from->impersonate_user},
        {&to->impersonate_uid, from->impersonate_uid},
    };
    /* clang-format on */
    int r = 0;

    for (size_t i = 0; r == 0 && i < COR_ARRAY_LEN(texts); i++)
        r = copy_text(texts[i].to, texts[i].from);
    return r;
}

int cor_client_config_copy(struct cor_client_config *ret, const struct cor_client_config *from)
{
    COR_CLEANUP(cor_client_config_deinit) struct cor_client_config to = {0};
    int r = copy_texts(&to, from);

    to.insecure_skip_tls_verify = from->insecure_skip_tls_verify;
    to.disable_compression = from->disable_compression;
    to.exec.provide_cluster_info = from->exec.provide_cluster_info;
    if (r == 0)
        r = cor_strings_copy(&to.exec.args, &from->exec.args);
    if (r == 0)
        r = copy_pairs(&to.exec.env, &from->exec.env);
    if (r == 0)
        r = cor_strings_copy(&to.impersonate_groups, &from->impersonate_groups);
    if (r == 0)
        r = copy_pairs(&to.impersonate_extra, &from->impersonate_extra);
    if (r < 0)
        return r;
    *ret = to;
    to = (struct cor_client_config){0};
    return 0;
}

int cor_client_config_read(const char *path, char **ret_text)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    struct cor_str trimmed;
    char *copy;
    int r;

    cor_buf_init_secret(&text, FILE_MAX);
    r = cor_pem_load(path, &text);
    if (r < 0)
        return r;
    trimmed = cor_str_trim(cor_buf_str(&text));
    copy = cor_strndup(trimmed.p, trimmed.n);
    if (!copy)
        return -COR_ENOMEM;
    *ret_text = copy;
    return 0;
}

/* Reads a file of the service account; `ret_path` (may be NULL) gets its path. 0, -COR_ENOMEM, or
 * as cor_client_config_read(). */
static int account_load(const char *folder, const char *name, char **ret_path, char **ret_text)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf path;
    int r;

    cor_buf_init(&path, FILE_MAX);
    r = cor_buf_addf(&path, "%s/%s", folder, name);
    if (r == 0)
        r = cor_client_config_read(path.p, ret_text);
    if (r == 0 && ret_path) {
        *ret_path = cor_strndup(path.p, path.n);
        r = *ret_path ? 0 : -COR_ENOMEM;
    }
    return r;
}

static int account_set_server(struct cor_client_config *c, const char *host, const char *port)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf url;
    bool is_v6 = strchr(host, ':') != NULL;
    int r;

    cor_buf_init(&url, 4096);
    r = cor_buf_addf(&url, is_v6 ? "https://[%s]:%s" : "https://%s:%s", host, port);
    if (r == 0)
        c->server = cor_strndup(url.p, url.n);
    return c->server ? 0 : -COR_ENOMEM;
}

static int account_set_namespace(struct cor_client_config *c, const char *folder)
{
    const char *from_env = getenv("POD_NAMESPACE");
    int r;

    if (from_env && from_env[0]) {
        c->ns = cor_strdup(from_env);
    } else {
        r = account_load(folder, "namespace", NULL, &c->ns);
        if (r == -COR_ENOMEM)
            return r;
        if (r < 0 || !c->ns || !c->ns[0]) {
            cor_free(c->ns);
            c->ns = cor_strdup("default");
        }
    }
    return c->ns ? 0 : -COR_ENOMEM;
}

int cor_client_config_in_cluster(const char *folder, struct cor_client_config *ret_config,
                                 struct cor_status *reterr)
{
    COR_CLEANUP(cor_client_config_deinit) struct cor_client_config c = {0};
    const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
    int r;

    folder = folder ? folder : SERVICE_ACCOUNT;
    if (!host || !host[0] || !port || !port[0])
        return cor_status_set(
            reterr, -COR_ENOTFOUND,
            "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and "
            "KUBERNETES_SERVICE_PORT must be defined");
    r = account_load(folder, "token", &c.token_file, &c.token);
    if (r == -COR_ENOTFOUND)
        return cor_status_set(reterr, r, "the service account has no token: %s/token", folder);
    if (r == 0)
        r = account_set_server(&c, host, port);
    if (r == 0)
        r = account_set_namespace(&c, folder);
    /* Without a readable CA the system's roots are used, as client-go does. */
    if (r == 0 && account_load(folder, "ca.crt", NULL, &c.ca_pem) == -COR_ENOMEM)
        r = -COR_ENOMEM;
    if (r < 0)
        return cor_status_set(reterr, r, "the service account under %s: %s", folder,
                              cor_err_text(r));
    *ret_config = c;
    c = (struct cor_client_config){0};
    return 0;
}
