/* A server's address, from the configuration: https:// or http:// URL, host:port, or unix:// path.
 * Without a scheme it is TLS when the configuration has anything of TLS, as client-go decides. A
 * URL with user information, a query or a fragment is refused with -COR_EINVAL; the message has no
 * password that may be in it.
 * Thread: any (values). */
#include "kit/config/server_url.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/http_proxy.h"
#include "net/host/host.h"

static int url_mistake(const struct cor_client_config *config, struct cor_status *reterr)
{
    if (strchr(config->server, '@'))
        return cor_status_set(reterr, -COR_EINVAL,
                              "server: user information in the URL is not supported");
    return cor_status_set(reterr, -COR_EINVAL,
                          "server: host must be a URL or a host:port pair: \"%s\"", config->server);
}

static bool wants_tls(const struct cor_client_config *c)
{
    return c->insecure_skip_tls_verify || cor_config_has(c->ca_pem) ||
           cor_config_has(c->client_cert_pem) || cor_config_has(c->client_cert_file);
}

static bool url_skip(struct cor_str *s, const char *prefix)
{
    if (!cor_str_starts(*s, cor_strz(prefix)))
        return false;
    *s = cor_str_from(*s, strlen(prefix));
    return true;
}

static char *url_copy(struct cor_str s)
{
    return cor_strndup(s.p, s.n);
}

static int url_set_origin(struct cor_server_url *url, struct cor_str authority)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int r;

    cor_buf_init(&text, authority.n + sizeof("https://"));
    r = cor_buf_addf(&text, "%s://%.*s", url->is_tls ? "https" : "http", COR_STR_ARG(authority));
    if (r == 0)
        url->origin = cor_buf_steal(&text, NULL);
    return url->origin ? 0 : -COR_ENOMEM;
}

static int url_parse(struct cor_str text, const struct cor_client_config *config, bool has_scheme,
                     struct cor_server_url *url, struct cor_status *reterr)
{
    struct cor_str path, authority = text, host;
    size_t n = 0;

    while (n < text.n && text.p[n] != '/' && text.p[n] != '?' && text.p[n] != '#')
        n++;
    authority.n = n;
    path = cor_str_from(text, n);
    while (cor_str_ends(path, COR_STR("/")))
        path.n--;
    if (cor_str_find(path, '?') >= 0 || cor_str_find(path, '#') >= 0 ||
        cor_str_find(path, ' ') >= 0 || (path.n > 0 && !has_scheme) ||
        cor_str_find(authority, '@') >= 0 ||
        cor_host_split(authority, url->is_tls ? 443 : 80, &host, &url->port) < 0)
        return url_mistake(config, reterr);
    url->host = url_copy(host);
    url->prefix = url_copy(path);
    return url->host && url->prefix ? url_set_origin(url, authority) : -COR_ENOMEM;
}

int cor_server_url_parse(const struct cor_client_config *config, struct cor_server_url *ret_url,
                         struct cor_status *reterr)
{
    COR_CLEANUP(cor_server_url_deinit) struct cor_server_url url = {0};
    struct cor_str text =
        cor_config_has(config->server) ? cor_strz(config->server) : COR_STR("localhost");
    bool has_scheme = true;
    int r;

    if (url_skip(&text, "unix://")) {
        if (text.n == 0 || text.p[0] != '/')
            return url_mistake(config, reterr);
        url.unix_path = url_copy(text);
        url.prefix = cor_strdup("");
        url.origin = cor_strdup(config->server);
        r = url.unix_path && url.prefix && url.origin ? 0 : -COR_ENOMEM;
    } else {
        if (url_skip(&text, "https://"))
            url.is_tls = true;
        else if (!url_skip(&text, "http://"))
            has_scheme = false;
        if (!has_scheme)
            url.is_tls = wants_tls(config);
        r = url_parse(text, config, has_scheme, &url, reterr);
    }
    if (r == -COR_ENOMEM)
        return cor_status_set(reterr, r, "no memory for a server's address");
    if (r < 0)
        return r;
    *ret_url = url;
    url = (struct cor_server_url){0};
    return 0;
}

const char *cor_server_url_proxy(const struct cor_server_url *url,
                                 const struct cor_client_config *config)
{
    struct cor_proxy_env env = cor_proxy_env_peek();

    if (!url->host)
        return NULL;
    return cor_config_has(config->proxy_url)
               ? config->proxy_url
               : cor_proxy_for(&env, url->is_tls, url->host, url->port);
}

void cor_server_url_deinit(struct cor_server_url *url)
{
    cor_free(url->host);
    cor_free(url->unix_path);
    cor_free(url->prefix);
    cor_free(url->origin);
    *url = (struct cor_server_url){0};
}
