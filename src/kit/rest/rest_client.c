/* clang-format off */
/* The REST client itself: what is made of a configuration, and how it closes.
 *
 *   open: check_config() ──► copy ──► settle_cert() ──► URL ──► throttles ──► headers
 *         ──► credentials ──► TLS ──► HTTP client; nothing is connected yet
 *   close: every request ends with -COR_ECANCELED in a later turn; the HTTP client and the plugin
 *         of the credentials close; when all is done, the memory is freed and on_closed called
 *
 * A failure to open releases what was made, and names the field that is wrong. When a plugin brings
 * a new certificate, the HTTP client gets it before the next request (cor_rest_client_renew).
 * Thread: the loop. */
/* clang-format on */
#include "kit/rest/rest_client.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "coracle/version.h"
#include "kit/rest/rest_int.h"
#include "loop/loop.h"
#include "net/crypto/cert.h"
#include "net/stream/net.h"
#include "net/stream/tls.h"
#include "net/stream/tls_files.h"

#if defined(__x86_64__)
#define ARCH "amd64"
#elif defined(__aarch64__)
#define ARCH "arm64"
#elif defined(__riscv)
#define ARCH "riscv64"
#else
#define ARCH "unknown"
#endif

struct cor_loop *cor_rest_client_loop(const struct cor_rest_client *rc)
{
    return rc->loop;
}

const char *cor_rest_client_host(const struct cor_rest_client *rc)
{
    const char *host = strstr(rc->url.origin, "://");

    assert(host);
    return host + strlen("://");
}

const struct cor_rest_metrics *cor_rest_client_metrics(const struct cor_rest_client *rc)
{
    return &rc->metrics;
}

uint64_t cor_rest_client_end_ms(const struct cor_rest_client *rc, uint64_t timeout_ms)
{
    uint64_t now = cor_loop_now_ms(rc->loop);

    return timeout_ms > 0 && timeout_ms < UINT64_MAX - now ? now + timeout_ms : 0;
}

int cor_rest_client_left_ms(const struct cor_rest_client *rc, uint64_t end_ms,
                            uint64_t *ret_left_ms)
{
    uint64_t now = cor_loop_now_ms(rc->loop);

    if (end_ms > 0 && end_ms <= now)
        return -COR_ETIMEOUT;
    *ret_left_ms = end_ms > 0 ? end_ms - now : 0;
    return 0;
}

const char *cor_rest_user_agent(void)
{
    return "coracle/" COR_VERSION " (linux/" ARCH ")";
}

static void rest_client_free(struct cor_rest_client *rc)
{
    cor_server_url_deinit(&rc->url);
    cor_header_list_deinit(&rc->headers);
    cor_credentials_deinit(&rc->credentials);
    cor_client_config_deinit(&rc->config);
    cor_tls_files_free(rc->tls_files);
    cor_rest_throttle_deinit(&rc->throttle);
    cor_rest_throttle_deinit(&rc->discovery_throttle);
    cor_warner_deinit(&rc->warner);
    cor_free(rc);
}

void cor_rest_client_look_closed(struct cor_rest_client *rc)
{
    void (*on_closed)(void *arg) = rc->on_closed;
    void *arg = rc->closed_arg;

    if (!rc->is_closing || rc->nclosing > 0 || !cor_dlist_empty(&rc->requests))
        return;
    rest_client_free(rc);
    if (on_closed)
        on_closed(arg);
}

static void on_part_closed(void *arg)
{
    struct cor_rest_client *rc = arg;

    rc->nclosing--;
    cor_rest_client_look_closed(rc);
}

void cor_rest_client_close(struct cor_rest_client *rc, void (*on_closed)(void *arg), void *arg)
{
    assert(!rc->is_closing && cor_loop_is_current(rc->loop));
    rc->is_closing = true;
    rc->on_closed = on_closed;
    rc->closed_arg = arg;
    COR_DLIST_FOREACH(it, &rc->requests)
        cor_rest_request_end_soon(cor_rest_request_of(it), -COR_ECANCELED, "context canceled");
    rc->nclosing = 1;
    cor_http_client_close(rc->http, on_part_closed, rc);
    rc->nclosing += cor_credentials_close(&rc->credentials, on_part_closed, rc);
}

static int64_t env_seconds(const char *name)
{
    int64_t seconds;

    if (cor_str_to_i64(cor_strz(getenv(name)), &seconds) < 0)
        return -1;
    return seconds < COR_REST_WAIT_MAX_S ? seconds : COR_REST_WAIT_MAX_S;
}

/* client-go's back-off between requests to one server, which only these two variables turn on;
 * without a maximum it does not grow. */
static struct cor_backoff_opts read_backoff(void)
{
    int64_t base_s = env_seconds("KUBE_CLIENT_BACKOFF_BASE");
    int64_t max_s = env_seconds("KUBE_CLIENT_BACKOFF_DURATION");

    if (base_s < 0 || max_s < 0)
        return (struct cor_backoff_opts){0};
    return (struct cor_backoff_opts){.initial_ms = (uint64_t)base_s * 1000,
                                     .max_ms = (uint64_t)max_s * 1000,
                                     .reset_ms = (uint64_t)max_s * 2000,
                                     .factor = max_s > 0 ? 2 : 0,
                                     .steps = COR_BACKOFF_STEPS_MAX};
}

static int rest_client_set_headers(struct cor_rest_client *rc,
                                   const struct cor_rest_client_opts *opts)
{
    const char *agent = opts->user_agent ? opts->user_agent : cor_rest_user_agent();
    int r = cor_header_list_add(&rc->headers, COR_STR("User-Agent"), cor_strz(agent));

    return r < 0 ? r : cor_header_list_impersonate(&rc->headers, opts->config);
}

static int check_config(const struct cor_client_config *c, struct cor_status *reterr)
{
    if (cor_config_has(c->ca_pem) && c->insecure_skip_tls_verify)
        return cor_status_set(reterr, -COR_EINVAL,
                              "certificate-authority: specifying a root certificates file with the "
                              "insecure flag is not allowed");
    if (cor_config_has(c->username) && (cor_config_has(c->token) || cor_config_has(c->token_file)))
        return cor_status_set(reterr, -COR_EINVAL,
                              "username/password or bearer token may be set, but not both");
    return 0;
}

/* When only one of certificate and key is a file, that file is read now and becomes data. */
static int settle_cert(struct cor_client_config *c, struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    bool is_cert = c->client_cert_file && !c->client_key_file;
    char **path = is_cert ? &c->client_cert_file : &c->client_key_file;
    char **pem = is_cert ? &c->client_cert_pem : &c->client_key_pem;
    int r;

    cor_buf_init_secret(&text, COR_PEM_MAX);
    if (!c->client_cert_file == !c->client_key_file)
        return 0;
    r = cor_pem_load(*path, &text);
    if (r < 0 && r != -COR_ENOMEM)
        return cor_status_set(reterr, -COR_EINVAL, "unable to read %s: %s", *path, cor_err_text(r));
    if (r == 0)
        *pem = cor_strndup(cor_buf_z(&text), text.n);
    *path = cor_free(*path);
    return *pem ? 0 : -COR_ENOMEM;
}

static struct cor_tls_opts tls_opts(const struct cor_rest_client *rc)
{
    static const char *const alpn[] = {"h2", "http/1.1"};
    size_t first = rc->is_h1_only ? 1 : 0;

    return (struct cor_tls_opts){.role = COR_TLS_CLIENT,
                                 .cert_pem = cor_strz(rc->config.client_cert_pem),
                                 .key_pem = cor_strz(rc->config.client_key_pem),
                                 .ca_pem = cor_strz(rc->config.ca_pem),
                                 .is_insecure = rc->config.insecure_skip_tls_verify,
                                 .alpn = alpn + first,
                                 .nalpn = COR_ARRAY_LEN(alpn) - first};
}

static int tls_mistake(int r, const struct cor_client_config *c, struct cor_status *reterr)
{
    if (r == -COR_ENOMEM)
        return r;
    if (r == -COR_EINVAL)
        return cor_status_set(reterr, r,
                              "certificate-authority, client-certificate or client-key: no PEM, or "
                              "certificate and key do not belong together");
    return cor_status_set(reterr, -COR_EINVAL, "unable to read %s or %s: %s", c->client_cert_file,
                          c->client_key_file, cor_err_text(r));
}

static int rest_client_make_tls(struct cor_rest_client *rc, struct cor_tls **ret,
                                struct cor_status *reterr)
{
    const struct cor_client_config *c = &rc->config;
    struct cor_tls_opts opts = tls_opts(rc);
    int r = c->client_cert_file
                ? cor_tls_files_new(&opts, c->client_cert_file, c->client_key_file, &rc->tls_files)
                : cor_tls_new(&opts, ret);

    return r < 0 ? tls_mistake(r, c, reterr) : 0;
}

/* As client-go reads it: what is not a number means the default; 0 means no pings. */
static uint64_t read_silence_ms(void)
{
    int64_t seconds = env_seconds("HTTP2_READ_IDLE_TIMEOUT_SECONDS");

    return seconds < 0 ? 0 : seconds == 0 ? COR_REST_NEVER : (uint64_t)seconds * 1000;
}

static uint64_t read_ping_ms(void)
{
    int64_t seconds = env_seconds("HTTP2_PING_TIMEOUT_SECONDS");

    return seconds < 0 ? 0 : (uint64_t)seconds * 1000;
}

static int rest_client_open_http(struct cor_rest_client *rc, struct cor_net *net,
                                 const struct cor_rest_client_opts *o, struct cor_status *reterr)
{
    COR_CLEANUP(cor_tls_unrefp) struct cor_tls *tls = NULL;
    struct cor_http_client_opts opts = {.host = rc->url.host,
                                        .port = rc->url.port,
                                        .unix_path = rc->url.unix_path,
                                        .server_name = rc->config.tls_server_name,
                                        .proxy_url = cor_server_url_proxy(&rc->url, &rc->config),
                                        .silence_ms = read_silence_ms(),
                                        .ping_ms = read_ping_ms(),
                                        .resolve = o->resolve,
                                        .resolve_arg = o->resolve_arg};
    int r = rc->url.is_tls ? rest_client_make_tls(rc, &tls, reterr) : 0;

    if (r < 0)
        return r;
    opts.tls = tls;
    opts.tls_files = rc->tls_files;
    r = cor_http_client_open(net, &opts, &rc->http);
    if (r == -COR_EINVAL || r == -COR_ENOTSUP)
        return cor_status_set(reterr, -COR_EINVAL, "proxy-url: a URL of http or https is expected");
    return r;
}

int cor_rest_client_renew(struct cor_rest_client *rc, struct cor_status *reterr)
{
    COR_CLEANUP(cor_tls_unrefp) struct cor_tls *tls = NULL;
    struct cor_tls_opts opts = tls_opts(rc);
    int r;

    if (!rc->url.is_tls || rc->cert_version == rc->credentials.cert_version)
        return 0;
    opts.cert_pem = cor_buf_str(&rc->credentials.cert_pem);
    opts.key_pem = cor_buf_str(&rc->credentials.key_pem);
    r = cor_tls_new(&opts, &tls);
    if (r < 0)
        return tls_mistake(r, &rc->config, reterr);
    rc->cert_version = rc->credentials.cert_version;
    cor_http_client_set_tls(rc->http, tls);
    return 0;
}

static int rest_client_fill(struct cor_rest_client *rc, struct cor_net *net,
                            const struct cor_rest_client_opts *opts, struct cor_status *reterr)
{
    int r = check_config(opts->config, reterr);

    if (r == 0)
        r = cor_client_config_copy(&rc->config, opts->config);
    if (r == 0)
        r = settle_cert(&rc->config, reterr);
    if (r == 0)
        r = cor_server_url_parse(&rc->config, &rc->url, reterr);
    if (r == 0)
        r = cor_rest_throttle_init(&rc->throttle, rc->loop, opts->qps, opts->burst);
    if (r == 0)
        r = cor_rest_throttle_init(&rc->discovery_throttle, rc->loop, opts->qps,
                                   opts->burst ? opts->burst : COR_REST_DISCOVERY_BURST);
    if (r == 0)
        r = rest_client_set_headers(rc, opts);
    if (r == -COR_ETOOBIG)
        cor_status_set(reterr, r, "impersonation: too many groups and extras");
    if (r < 0)
        return r;
    r = cor_credentials_init(&rc->credentials, rc->loop, &rc->config);
    if (r == -COR_ETOOBIG)
        return cor_status_set(reterr, -COR_EINVAL, "token, username and password: too long");
    if (r < 0 && r != -COR_ENOMEM)
        return cor_status_set(reterr, -COR_EINVAL, "token_file: no token in %s: %s",
                              rc->config.token_file,
                              r == -COR_EINVALID ? "it is empty" : cor_err_text(r));
    return r < 0 ? r : rest_client_open_http(rc, net, opts, reterr);
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
    rc->body_max = opts->body_max ? opts->body_max : COR_REST_BODY_MAX;
    rc->backoff = read_backoff();
    rc->is_h1_only = cor_config_has(getenv("DISABLE_HTTP2"));
    cor_dlist_init(&rc->requests);
    cor_warner_init(&rc->warner, opts->on_warning, opts->arg, opts->warns_once);
    rc->on_retry = opts->on_retry;
    rc->retry_arg = opts->arg;
    r = rest_client_fill(rc, net, opts, reterr);
    if (r == -COR_ENOMEM)
        cor_status_set(reterr, r, "no memory for a client");
    if (r < 0) {
        rest_client_free(rc);
        return r;
    }
    *ret_client = rc;
    return 0;
}
