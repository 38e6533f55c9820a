#include "client/rest_client.h"

#include <assert.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/mem.h"
#include "coracle/version.h"
#include "client/rest_int.h"
#include "loop/loop.h"
#include "net/crypto.h"
#include "net/net.h"
#include "net/tls.h"

#define AUTHORIZATION_MAX (64u * 1024)

#if defined(__x86_64__)
#define ARCH "amd64"
#elif defined(__aarch64__)
#define ARCH "arm64"
#elif defined(__riscv)
#define ARCH "riscv64"
#else
#define ARCH "unknown"
#endif

const char *cor_rest_user_agent(void)
{
    return "coracle/" COR_VERSION " (linux/" ARCH ")";
}

static void free_client(struct cor_rest_client *rc)
{
    cor_server_url_deinit(&rc->url);
    cor_header_list_deinit(&rc->headers);
    cor_header_list_deinit(&rc->authorization);
    cor_rest_throttle_deinit(&rc->throttle);
    cor_warner_deinit(&rc->warner);
    cor_free(rc);
}

void cor_rest_client_look_closed(struct cor_rest_client *rc)
{
    void (*on_closed)(void *arg) = rc->on_closed;
    void *arg = rc->closed_arg;

    if (!rc->is_closing || rc->http || !cor_list_empty(&rc->requests))
        return;
    free_client(rc);
    if (on_closed)
        on_closed(arg);
}

static void on_http_closed(void *arg)
{
    struct cor_rest_client *rc = arg;

    rc->http = NULL;
    cor_rest_client_look_closed(rc);
}

void cor_rest_client_close(struct cor_rest_client *rc, void (*on_closed)(void *arg), void *arg)
{
    assert(!rc->is_closing && cor_loop_is_current(rc->loop));
    rc->is_closing = true;
    rc->on_closed = on_closed;
    rc->closed_arg = arg;
    COR_LIST_FOREACH(it, &rc->requests)
        cor_rest_request_end_soon(cor_rest_request_of(it), -COR_ECANCELED, "context canceled");
    cor_http_client_close(rc->http, on_http_closed, rc);
}

static int set_basic(struct cor_rest_client *rc, const struct cor_client_config *c)
{
    COR_CLEANUP(cor_secret_buf_deinit) struct cor_buf plain, value;
    int r;

    cor_buf_init(&plain, AUTHORIZATION_MAX);
    cor_buf_init(&value, AUTHORIZATION_MAX);
    r = cor_buf_addf(&plain, "%s:%s", c->username, c->password ? c->password : "");
    if (r == 0)
        r = cor_buf_addz(&value, "Basic ");
    if (r == 0)
        r = cor_base64_encode(COR_BASE64_STD, cor_buf_str(&plain), &value);
    return r < 0 ? r
                 : cor_header_list_add(&rc->authorization, COR_STR("Authorization"),
                                       cor_buf_str(&value));
}

static int set_authorization(struct cor_rest_client *rc, const struct cor_client_config *c)
{
    COR_CLEANUP(cor_secret_buf_deinit) struct cor_buf value;
    int r;

    cor_buf_init(&value, AUTHORIZATION_MAX);
    if (c->username && c->username[0])
        return set_basic(rc, c);
    if (!c->token || !c->token[0])
        return 0;
    r = cor_buf_addf(&value, "Bearer %s", c->token);
    return r < 0 ? r
                 : cor_header_list_add(&rc->authorization, COR_STR("Authorization"),
                                       cor_buf_str(&value));
}

static int set_headers(struct cor_rest_client *rc, const struct cor_rest_client_opts *opts)
{
    const char *agent = opts->user_agent ? opts->user_agent : cor_rest_user_agent();
    int r = cor_header_list_add(&rc->headers, COR_STR("User-Agent"), cor_strz(agent));

    if (r == 0)
        r = cor_header_list_impersonate(&rc->headers, opts->config);
    return r < 0 ? r : set_authorization(rc, opts->config);
}

static int make_tls(const struct cor_client_config *c, struct cor_tls **ret,
                    struct cor_status *reterr)
{
    static const char *const alpn[] = {"http/1.1"};
    struct cor_tls_opts opts = {.role = COR_TLS_CLIENT,
                                .cert_pem = cor_strz(c->client_cert_pem),
                                .key_pem = cor_strz(c->client_key_pem),
                                .ca_pem = cor_strz(c->ca_pem),
                                .is_insecure = c->insecure_skip_tls_verify,
                                .alpn = alpn,
                                .nalpn = COR_ARRAY_LEN(alpn)};
    int r = cor_tls_new(&opts, ret);

    if (r == -COR_EINVAL)
        return cor_status_set(reterr, r,
                              "certificate-authority, client-certificate or client-key: no PEM, or "
                              "certificate and key do not belong together");
    return r;
}

static int open_http(struct cor_rest_client *rc, struct cor_net *net,
                     const struct cor_client_config *c, struct cor_status *reterr)
{
    COR_CLEANUP(cor_tls_unrefp) struct cor_tls *tls = NULL;
    struct cor_http_client_opts opts = {.host = rc->url.host,
                                        .port = rc->url.port,
                                        .unix_path = rc->url.unix_path,
                                        .server_name = c->tls_server_name};
    int r = rc->url.is_tls ? make_tls(c, &tls, reterr) : 0;

    if (r < 0)
        return r;
    opts.tls = tls;
    return cor_http_client_open(net, &opts, &rc->http);
}

int cor_rest_client_open(struct cor_net *net, const struct cor_rest_client_opts *opts,
                         struct cor_rest_client **ret_client, struct cor_status *reterr)
{
    struct cor_rest_client *rc = cor_calloc(1, sizeof(*rc));
    int r = rc ? 0 : -COR_ENOMEM;

    if (r < 0)
        return cor_status_set(reterr, r, "no memory for a client");
    rc->loop = cor_net_loop(net);
    rc->timeout_ms = opts->timeout_ms;
    rc->retries_max = opts->retries_max == 0 ? COR_REST_RETRIES : opts->retries_max;
    cor_list_init(&rc->requests);
    cor_warner_init(&rc->warner, opts->on_warning, opts->warning_arg, opts->warns_once);
    r = cor_server_url_parse(opts->config, &rc->url, reterr);
    if (r == 0)
        r = cor_rest_throttle_init(&rc->throttle, rc->loop, opts->qps, opts->burst);
    if (r == 0)
        r = set_headers(rc, opts);
    if (r == -COR_ETOOBIG)
        cor_status_set(reterr, r, "impersonation: too many groups and extras");
    if (r == 0)
        r = open_http(rc, net, opts->config, reterr);
    if (r == -COR_ENOMEM)
        cor_status_set(reterr, r, "no memory for a client");
    if (r < 0) {
        free_client(rc);
        return r;
    }
    *ret_client = rc;
    return 0;
}
