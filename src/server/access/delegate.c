/* One loop's client of the server that decides for this one.
 *
 * Attempts are of the one HTTP client (http/http_client.h); a pause between them is upstream's
 * backoff for webhooks (500 ms, times 1.5, 20 % jitter, 5 attempts), or longer when the answer says
 * so. Credentials are the kubeconfig's: a token, a file with one that is read again each 50 seconds
 * (as client-go does), a user name and a password, a certificate as data or as files. */
#include "server/access/delegate.h"

#include <assert.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "http/http_client.h"
#include "kit/config/kubeconfig.h"
#include "kit/config/server_url.h"
#include "loop/loop.h"
#include "net/stream/net.h"
#include "net/stream/tls.h"
#include "net/stream/tls_files.h"
#include "json/text/json.h"
#include "json/text/scan.h"

#define TOKEN_FRESH_MS 50000
#define TOKEN_MAX      (64u * 1024)
#define TEXT_MAX       2048
#define TARGET_MAX     8192

struct cor_delegate_config {
    struct cor_client_config client;
    struct cor_server_url url;
};

static const struct cor_circuit_opts circuit_opts = {.failures = COR_DELEGATE_FAILURES,
                                                     .open_ms = COR_DELEGATE_OPEN_MS,
                                                     .open_max_ms = COR_DELEGATE_OPEN_MAX_MS};

struct cor_delegate {
    const struct cor_delegate_config *config;
    struct cor_net *net;
    struct cor_loop *loop;
    struct cor_http_client *client;
    struct cor_tls_files *tls_files; /* NULL: the certificate is no file */
    struct cor_buf authorization;    /* secret */
    uint64_t token_read_ms;
    size_t ncalls;
    struct cor_circuit circuit;
    char why[TEXT_MAX]; /* of the last failure */
    struct cor_rand rand;
    void (*on_closed)(void *arg);
    void *arg;
};

/* --- the configuration ------------------------------------------------------------------------ */

static int check_config(const struct cor_client_config *c, const char *path, const char *flag,
                        struct cor_status *st)
{
    if (c->exec.command)
        return cor_status_set(st, -COR_EINVAL,
                              "--%s %s: credential plugins (exec) are not supported here", flag,
                              path);
    if (cor_config_has(c->impersonate_user) || cor_config_has(c->impersonate_uid) ||
        c->impersonate_groups.n > 0 || c->impersonate_extra.n > 0)
        return cor_status_set(st, -COR_EINVAL, "--%s %s: impersonation is not supported here", flag,
                              path);
    return 0;
}

int cor_delegate_config_load(const char *path, const char *flag,
                             struct cor_delegate_config **ret_config,
                             struct cor_status *reterr_status)
{
    const struct cor_kubeconfig_files files = {.explicit_path = path};
    COR_CLEANUP(cor_delegate_config_freep)
    struct cor_delegate_config *config = cor_calloc(1, sizeof(*config));
    COR_CLEANUP(cor_kubeconfig_freep) struct cor_kubeconfig *kc = cor_kubeconfig_new();
    int r;

    if (!config || !kc)
        return cor_status_no_memory(reterr_status);
    r = cor_kubeconfig_load(kc, &files, NULL, reterr_status);
    if (r == 0)
        r = cor_kubeconfig_resolve(kc, NULL, &config->client, reterr_status);
    if (r == 0)
        r = check_config(&config->client, path, flag, reterr_status);
    if (r == 0)
        r = cor_server_url_parse(&config->client, &config->url, reterr_status);
    if (r < 0)
        return r;
    *ret_config = COR_STEAL(config);
    return 0;
}

struct cor_delegate_config *cor_delegate_config_free(struct cor_delegate_config *config)
{
    if (!config)
        return NULL;
    cor_client_config_deinit(&config->client);
    cor_server_url_deinit(&config->url);
    return cor_free(config);
}

/* --- the client ------------------------------------------------------------------------------- */

static int set_basic(struct cor_delegate *d, const struct cor_client_config *c)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf plain = {0};
    int r;

    cor_buf_init_secret(&plain, TOKEN_MAX);
    r = cor_buf_addf(&plain, "%s:%s", c->username, c->password ? c->password : "");
    if (r == 0)
        r = cor_buf_addz(&d->authorization, "Basic ");
    return r == 0 ? cor_base64_encode(COR_BASE64_STD, cor_buf_str(&plain), &d->authorization) : r;
}

/* Fills in the Authorization header. A token file that cannot be read leaves the token of before.
 */
static int set_authorization(struct cor_delegate *d)
{
    const struct cor_client_config *c = &d->config->client;
    char *text = NULL;
    const char *token = c->token;
    int r = 0;

    if (cor_config_has(c->token_file)) {
        r = cor_client_config_read(c->token_file, &text);
        if (r < 0 || !cor_config_has(text)) {
            COR_LOG_WARN("the token file of the delegate cannot be used",
                         COR_F_STR("path", c->token_file));
            cor_free(text);
            if (d->authorization.n > 0)
                return 0;
        } else {
            token = text;
        }
        d->token_read_ms = cor_loop_now_ms(d->loop);
    }
    cor_buf_reset(&d->authorization);
    r = 0;
    if (cor_config_has(token))
        r = cor_buf_addf(&d->authorization, "Bearer %s", token);
    else if (cor_config_has(c->username))
        r = set_basic(d, c);
    if (text && token == text) {
        explicit_bzero(text, strlen(text));
        cor_free(text);
    }
    return r;
}

struct cor_str cor_delegate_authorization(struct cor_delegate *d)
{
    if (cor_config_has(d->config->client.token_file) &&
        cor_loop_now_ms(d->loop) - d->token_read_ms > TOKEN_FRESH_MS)
        (void)set_authorization(d);
    return cor_buf_str(&d->authorization);
}

static struct cor_str text_of(const char *s)
{
    return s ? cor_strz(s) : (struct cor_str){0};
}

static int make_tls(struct cor_delegate *d, struct cor_tls **ret_tls)
{
    static const char *const alpn[] = {"h2", "http/1.1"};
    const struct cor_client_config *c = &d->config->client;
    struct cor_tls_opts opts = {.role = COR_TLS_CLIENT,
                                .ca_pem = text_of(c->ca_pem),
                                .is_insecure = c->insecure_skip_tls_verify,
                                .alpn = alpn,
                                .nalpn = COR_ARRAY_LEN(alpn)};

    *ret_tls = NULL;
    if (!d->config->url.is_tls)
        return 0;
    if (cor_config_has(c->client_cert_file))
        return cor_tls_files_new(&opts, c->client_cert_file, c->client_key_file, &d->tls_files);
    opts.cert_pem = text_of(c->client_cert_pem);
    opts.key_pem = text_of(c->client_key_pem);
    return cor_tls_new(&opts, ret_tls);
}

static struct cor_delegate *delegate_free(struct cor_delegate *d)
{
    cor_tls_files_free(d->tls_files);
    cor_buf_deinit(&d->authorization);
    return cor_free(d);
}

int cor_delegate_open(struct cor_net *net, const struct cor_delegate_config *config,
                      struct cor_delegate **ret_delegate)
{
    struct cor_delegate *d = cor_calloc(1, sizeof(*d));
    struct cor_tls *tls = NULL;
    int r;

    if (!d)
        return -COR_ENOMEM;
    d->config = config;
    d->net = net;
    d->loop = cor_net_loop(net);
    cor_rand_init(&d->rand);
    cor_circuit_init(&d->circuit, &circuit_opts);
    cor_buf_init_secret(&d->authorization, 2 * TOKEN_MAX);
    r = set_authorization(d);
    if (r == 0)
        r = make_tls(d, &tls);
    if (r == 0) {
        const struct cor_http_client_opts opts = {
            .host = config->url.host,
            .port = config->url.port,
            .unix_path = config->url.unix_path,
            .tls = tls,
            .tls_files = d->tls_files,
            .server_name = config->client.tls_server_name,
            .connect_timeout_ms = COR_DELEGATE_TIMEOUT_MS,
            .proxy_url =
                config->url.unix_path ? NULL : cor_server_url_proxy(&config->url, &config->client)};

        r = cor_http_client_open(net, &opts, &d->client);
    }
    cor_tls_unref(tls);
    if (r < 0) {
        delegate_free(d);
        return r;
    }
    *ret_delegate = d;
    return 0;
}

static void delegate_on_client_closed(void *arg)
{
    struct cor_delegate *d = arg;
    void (*on_closed)(void *arg) = d->on_closed;
    void *closed_arg = d->arg;

    delegate_free(d);
    on_closed(closed_arg);
}

void cor_delegate_close(struct cor_delegate *d, void (*on_closed)(void *arg), void *arg)
{
    assert(d->ncalls == 0);
    d->on_closed = on_closed;
    d->arg = arg;
    cor_http_client_close(d->client, delegate_on_client_closed, d);
}

struct cor_loop *cor_delegate_loop(const struct cor_delegate *d)
{
    return d->loop;
}

struct cor_http_client *cor_delegate_client(struct cor_delegate *d)
{
    return d->client;
}

const char *cor_delegate_why(const struct cor_delegate *d)
{
    return d->why;
}

const char *cor_delegate_prefix(const struct cor_delegate *d)
{
    return d->config->url.prefix;
}

/* --- a call ----------------------------------------------------------------------------------- */

/* An attempt has ended without an answer. */
static void call_note_failure(struct cor_delegate_call *call, const char *why)
{
    struct cor_delegate *d = call->delegate;

    snprintf(d->why, sizeof(d->why), "%s", why);
    if (cor_circuit_failed(&d->circuit, &call->pass, cor_loop_now_ms(d->loop)))
        COR_LOG_ERROR("the delegate does not answer; it is asked now and then",
                      COR_F_STR("server", d->config->url.origin), COR_F_STR("error", why));
}

static void call_note_answer(struct cor_delegate_call *call)
{
    struct cor_delegate *d = call->delegate;

    if (cor_circuit_answered(&d->circuit, &call->pass))
        COR_LOG_INFO("the delegate answers again", COR_F_STR("server", d->config->url.origin));
}

static void call_release(struct cor_delegate_call *call)
{
    struct cor_delegate *d = call->delegate;

    cor_circuit_left(&d->circuit, &call->pass);
    cor_timer_cancel(&call->timer);
    cor_buf_deinit(&call->target);
    cor_buf_deinit(&call->body);
    call->delegate = NULL;
    d->ncalls--;
}

static void call_finish(struct cor_delegate_call *call, int r, const char *text)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf answer = call->answer;

    assert(!call->http);
    call_release(call);
    call->answer = answer;
    call->on_done(call, r, text); /* which may free the call, and not the answer */
}

/* Ends the call, or tries again after a pause. */
static void call_fail(struct cor_delegate_call *call, int r, bool may_retry, const char *text)
{
    struct cor_delegate *d = call->delegate;
    uint64_t now_ms = cor_loop_now_ms(d->loop), delay_ms;

    if (may_retry && cor_backoff_retry(&call->backoff, now_ms, &d->rand, &delay_ms)) {
        if (delay_ms < call->retry_after_ms)
            delay_ms = call->retry_after_ms;
        if (now_ms + delay_ms < call->until_ms && cor_timer_set(&call->timer, delay_ms) == 0) {
            cor_circuit_left(&d->circuit, &call->pass);
            return;
        }
    }
    call_finish(call, r, text);
}

static int call_on_head(void *arg, int status, const struct cor_http_header *headers,
                        size_t nheaders)
{
    struct cor_delegate_call *call = arg;

    call->status = status;
    call->says_retry = false;
    call->retry_after_ms = 0;
    for (size_t i = 0; i < nheaders; i++) {
        uint64_t s;

        if (!cor_header_name_eq(headers[i].name, COR_STR("retry-after")))
            continue;
        call->says_retry = true;
        if (cor_str_to_u64(headers[i].value, &s) == 0 && s < 3600)
            call->retry_after_ms = s * 1000;
    }
    return 0;
}

static int call_on_body(void *arg, struct cor_str piece)
{
    struct cor_delegate_call *call = arg;

    return cor_buf_adds(&call->answer, piece);
}

/* The words of a refusal: the message of its Status, or its code. */
static void describe_refusal(const struct cor_delegate_call *call, char text[TEXT_MAX])
{
    static const struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;
    struct cor_str body = cor_buf_str(&call->answer), value, raw, message;
    char room[TEXT_MAX];
    bool is_canonical;

    if (body.n > 0 && cor_json_check(body, &limits, &is_canonical, NULL) == 0 &&
        cor_json_type(body) == COR_JSON_OBJECT &&
        cor_json_get(body, COR_STR("message"), COR_JSON_ANY_ORDER, &value) == 0 &&
        cor_json_to_raw(value, &raw) == 0 && raw.n > 0 &&
        cor_json_unescape(raw, room, sizeof(room), &message) == 0)
        snprintf(text, TEXT_MAX, "%.*s", COR_STR_ARG(message));
    else
        snprintf(text, TEXT_MAX, "the server answered %d", call->status);
}

static void call_on_done(void *arg, int r, const char *why)
{
    struct cor_delegate_call *call = arg;
    struct cor_delegate *d = call->delegate;
    char text[TEXT_MAX];

    call->http = NULL;
    if (r == 0 && call->status >= 200 && call->status < 300) {
        call_note_answer(call);
        call_finish(call, 0, "");
        return;
    }
    if (r == 0) {
        bool may_retry =
            call->status == 500 || call->status == 504 || call->status == 429 || call->says_retry;

        call_note_answer(call);
        describe_refusal(call, text);
        call_fail(call, -COR_EINTERNAL, may_retry, text);
        return;
    }
    snprintf(text, sizeof(text), "%s \"%s%s\": %s", call->is_post ? "Post" : "Get",
             d->config->url.origin, cor_buf_z(&call->target), why);
    if (r != -COR_ENOMEM && r != -COR_ETOOBIG)
        call_note_failure(call, text);
    call_fail(call, r, r == -COR_EBROKEN, text);
}

static const struct cor_http_call_cbs call_cbs = {
    .on_head = call_on_head, .on_body = call_on_body, .on_done = call_on_done};

static int call_open(struct cor_delegate_call *call, uint64_t timeout_ms)
{
    struct cor_delegate *d = call->delegate;
    struct cor_http_header headers[3] = {{COR_STR("accept"), COR_STR("application/json")}};
    size_t n = 1;
    struct cor_str authorization = cor_delegate_authorization(d);

    if (call->is_post)
        headers[n++] =
            (struct cor_http_header){COR_STR("content-type"), COR_STR("application/json")};
    if (authorization.n > 0)
        headers[n++] = (struct cor_http_header){COR_STR("authorization"), authorization};
    return cor_http_call_open(
        d->client,
        &(struct cor_http_call_opts){.method = call->is_post ? COR_STR("POST") : COR_STR("GET"),
                                     .target = cor_buf_str(&call->target),
                                     .headers = headers,
                                     .nheaders = n,
                                     .body = cor_buf_str(&call->body),
                                     .deadline_ms = timeout_ms,
                                     .cbs = &call_cbs,
                                     .arg = call},
        &call->http);
}

/* 0; -COR_EUNREACHABLE: the circuit is open; or as cor_http_call_open(). */
static int call_attempt(struct cor_delegate_call *call)
{
    struct cor_delegate *d = call->delegate;
    uint64_t now_ms = cor_loop_now_ms(d->loop), left_ms;
    int r;

    if (!cor_circuit_enter(&d->circuit, &call->pass, now_ms))
        return -COR_EUNREACHABLE;
    call->status = 0;
    cor_buf_reset(&call->answer);
    left_ms = call->until_ms > now_ms ? call->until_ms - now_ms : 1;
    r = call_open(call, left_ms < COR_DELEGATE_TIMEOUT_MS ? left_ms : COR_DELEGATE_TIMEOUT_MS);
    if (r < 0)
        call->http = NULL;
    return r;
}

static void call_on_timer(struct cor_timer *timer)
{
    struct cor_delegate_call *call = COR_CONTAINER_OF(timer, struct cor_delegate_call, timer);
    int r = call_attempt(call);

    if (r < 0)
        call_finish(call, r, r == -COR_EUNREACHABLE ? call->delegate->why : cor_err_text(r));
}

int cor_delegate_send(struct cor_delegate *d, struct cor_delegate_call *call, const char *path,
                      struct cor_str body, uint64_t limit_ms)
{
    static const struct cor_backoff_opts backoff = {
        .initial_ms = 500, .factor = 1.5, .jitter = 0.2, .steps = 5};
    uint64_t now_ms = cor_loop_now_ms(d->loop);
    int r;

    assert(call->on_done && !call->delegate);
    if (d->ncalls == COR_DELEGATE_CALLS_MAX)
        return -COR_EBUSY;
    cor_buf_init(&call->target, TARGET_MAX);
    cor_buf_init_secret(&call->body, COR_HTTP_CLIENT_BODY_MAX);
    cor_buf_init(&call->answer, COR_DELEGATE_ANSWER_MAX);
    cor_timer_init(&call->timer, d->loop, call_on_timer);
    cor_backoff_init(&call->backoff, &backoff, now_ms);
    call->is_post = body.n > 0;
    call->until_ms = now_ms + limit_ms;
    r = cor_buf_addf(&call->target, "%s%s", d->config->url.prefix, path);
    if (r == 0)
        r = cor_buf_adds(&call->body, body);
    call->delegate = d;
    d->ncalls++;
    if (r == 0)
        r = call_attempt(call);
    if (r < 0)
        call_release(call);
    return r;
}

void cor_delegate_call_cancel(struct cor_delegate_call *call)
{
    if (!call->delegate)
        return;
    if (call->http)
        cor_http_call_cancel(call->http);
    call->http = NULL;
    cor_buf_deinit(&call->answer);
    call_release(call);
}
