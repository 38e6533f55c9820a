/* clang-format off */
/* A proxied request as a state machine between two streams:
 *
 *   client ── head ──► remote_headers ──► call ──► service
 *          ── body ──► on_body: what the call takes; the rest stays with the client's connection
 *                      until the call has room (on_writable)
 *   client ◄── head ── on_head: filtered headers (a redirection: 502; 101: a tunnel)
 *          ◄── body ── what the response takes; the rest is kept in `rest`, and the call is paused
 *                      until the response has room
 *
 * What can fail, and what the client gets (contract extension 4.4.3, in the words of kube-apiserver):
 *   - the service is not available, or has no address: 503 `service unavailable`;
 *   - its CA or our certificate cannot be used: 500 with the reason;
 *   - too many requests to it: 503;
 *   - the head that it would get has too many fields or bytes: 431 with a Status, our own limit;
 *   - no connection, TLS, no answer: 503 `error trying to reach service: …`, of an upgrade `error dialing
 *     backend: …`; the target's circuit learns of it;
 *   - the answer breaks off: the response is cut;
 *   - the deadline: the HTTP layer's 504, which reaches us as on_gone.
 * Whatever happens, proxy_finish() runs once; the call and the use have ended before it.
 * Thread: the response's loop. */
/* clang-format on */
#include "server/aggregation/service_proxy.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "http/http_client.h"
#include "loop/loop.h"
#include "net/stream/peer.h"

/* A request for the resources of a group version has so long, as upstream. */
#define DISCOVERY_MS 5000
#define TEXT_MAX     400
#define METHOD_MAX   32
#define AUDIT_ID_MAX 128
_Static_assert(COR_REMOTE_HEADERS_MAX == COR_HTTP_CLIENT_HEADERS_MAX,
               "what is made of a request can be sent");

struct cor_proxied {
    struct cor_target_use use;
    struct cor_api_service *service;
    struct cor_http_response *response;
    struct cor_http_call *call;  /* NULL: not begun, or over */
    struct cor_remote_head head; /* until the call has it */
    char method[METHOD_MAX];
    char audit_id[AUDIT_ID_MAX]; /* a longer one is cut, in our answer only */
    struct cor_buf rest;         /* of the answer: what the response could not take yet */
    size_t rest_at;
    size_t kept;          /* likewise, by the call while it is paused */
    uint64_t body_length; /* of the request */
    uint64_t bytes;       /* of the answer that the response took */
    uint64_t left;        /* of a declared length */
    size_t held;
    int code; /* of the answer; 0: not begun */
    bool is_upgrade, is_tunnel;
    bool is_long, is_discovery, forwards_redirects;
    bool is_call_done;  /* the answer is whole, the response is not */
    bool is_body_ended; /* the request's, or the client's side of a tunnel */
    void (*on_over)(void *arg, int code, uint64_t bytes);
    void *arg;
};

/* The response has ended, or is gone. */
static void proxy_finish(struct cor_proxied *p)
{
    if (p->call)
        cor_http_call_cancel(COR_STEAL(p->call));
    cor_target_use_end(&p->use, -COR_ECANCELED, NULL);
    p->on_over(p->arg, p->code, p->bytes);
    cor_remote_head_deinit(&p->head);
    cor_buf_deinit(&p->rest);
    cor_api_service_unref(p->service);
    cor_free(p);
}

/* An answer of the proxy's own. */
static void proxy_send(struct cor_proxied *p, int code, struct cor_str type, struct cor_str body)
{
    const struct cor_http_header headers[] = {
        {COR_STR("Audit-Id"), cor_strz(p->audit_id)},
        {COR_STR("Cache-Control"), COR_STR("no-cache, private")},
        {COR_STR("Content-Type"), type},
        {COR_STR("X-Content-Type-Options"), COR_STR("nosniff")}};

    p->code = code;
    p->bytes = body.n;
    cor_http_response_send(p->response, code, headers, COR_ARRAY_LEN(headers), body);
    proxy_finish(p);
}

/* The same with a text, as Go's http.Error() writes it. */
static void proxy_reply(struct cor_proxied *p, int code, const char *text)
{
    char body[TEXT_MAX + 64];
    int n = snprintf(body, sizeof(body), "%s\n", text);

    n = n < (int)sizeof(body) ? n : (int)sizeof(body) - 1;
    proxy_send(p, code, COR_STR("text/plain; charset=utf-8"), cor_str(body, (size_t)n));
}

/* Upstream has no such limit, and so no words for it: a Status says what any client shows. */
static void proxy_reply_too_large(struct cor_proxied *p)
{
    char body[TEXT_MAX];
    int n = snprintf(
        body, sizeof(body),
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
        "\"message\":\"the head of the request to the aggregated API server would be too large: it may "
        "have %d header fields, the groups of the user among them, and %u KB\",\"code\":431}\n",
        COR_REMOTE_HEADERS_MAX - 1 /* beside X-Forwarded-Host */, COR_HEAD_BYTES_MAX / 1024);

    assert(n < (int)sizeof(body));
    proxy_send(p, 431, COR_STR("application/json"), cor_str(body, (size_t)n));
}

/* The answer cannot be completed. */
static void proxy_abort(struct cor_proxied *p)
{
    cor_http_response_abort(p->response);
    proxy_finish(p);
}

static void proxy_end(struct cor_proxied *p)
{
    cor_http_response_end(p->response);
    proxy_finish(p);
}

/* --- the answer ------------------------------------------------------------------------------- */

/* Charges the client for what is kept. 0, -COR_EBUSY: that is too much for it. */
static int proxy_charge(struct cor_proxied *p)
{
    return cor_http_response_hold(p->response,
                                  p->held + sizeof(*p) + p->head.text.cap + p->rest.cap + p->kept);
}

/* Sends what was kept. True: all of it went. */
static bool proxy_flush(struct cor_proxied *p)
{
    struct cor_str rest = cor_str_from(cor_buf_str(&p->rest), p->rest_at);
    size_t taken = rest.n ? cor_http_response_write(p->response, rest) : 0;

    p->bytes += taken;
    p->rest_at += taken;
    if (taken < rest.n)
        return false;
    if (p->rest.cap > 0) {
        cor_buf_deinit(&p->rest);
        cor_buf_init(&p->rest, COR_PROXIED_REST_MAX);
        p->rest_at = 0;
        (void)proxy_charge(p);
    }
    return true;
}

/* What the call kept is shown next, and charged again as far as it stays. */
static void proxy_resume(struct cor_proxied *p)
{
    if (p->kept > 0) {
        p->kept = 0;
        (void)proxy_charge(p);
    }
    cor_http_call_resume(p->call);
}

static void proxy_on_writable(struct cor_http_response *response, void *arg)
{
    struct cor_proxied *p = arg;

    if (!proxy_flush(p))
        return;
    if (p->is_call_done)
        proxy_end(p);
    else if (p->call)
        proxy_resume(p);
}

static int proxy_on_answer_body(void *arg, struct cor_str piece)
{
    struct cor_proxied *p = arg;
    size_t taken;
    int r;

    if (p->left != COR_HTTP_LENGTH_UNKNOWN) {
        if (piece.n > p->left)
            return -COR_EPROTOCOL;
        p->left -= piece.n;
    }
    taken = p->rest.n > p->rest_at ? 0 : cor_http_response_write(p->response, piece);
    p->bytes += taken;
    if (taken == piece.n)
        return 0;
    r = cor_buf_adds(&p->rest, cor_str_from(piece, taken));
    if (r == 0)
        r = proxy_charge(p);
    if (r == 0)
        cor_http_call_pause(p->call);
    return r;
}

static int proxy_on_answer_kept(void *arg, size_t bytes)
{
    struct cor_proxied *p = arg;

    p->kept = bytes;
    return proxy_charge(p);
}

static bool is_redirection(int status, const struct cor_http_header *headers, size_t n)
{
    return status >= 300 && status <= 399 && cor_header_find(headers, n, COR_STR("location")).n > 0;
}

/* The response begins with the headers that every answer has, then those of the service. */
static void proxy_begin(struct cor_proxied *p, int status, const struct cor_http_header *headers,
                        size_t nheaders)
{
    struct cor_http_header out[COR_HTTP_RESPONSE_HEADERS_MAX];
    size_t n = 0;

    out[n++] = (struct cor_http_header){COR_STR("Audit-Id"), cor_strz(p->audit_id)};
    out[n++] = (struct cor_http_header){COR_STR("Cache-Control"), COR_STR("no-cache, private")};
    n += cor_remote_answer_headers(headers, nheaders, out + n, COR_ARRAY_LEN(out) - n);
    p->code = status;
    p->left = cor_remote_answer_length(headers, nheaders);
    cor_http_response_start(p->response, status, out, n, p->left);
}

/* The request was answered, and is not sent again. */
static void proxy_drop_head(struct cor_proxied *p)
{
    cor_remote_head_deinit(&p->head);
    (void)proxy_charge(p);
}

static int proxy_begin_tunnel(struct cor_proxied *p, const struct cor_http_header *headers,
                              size_t n)
{
    p->code = 101;
    p->left = COR_HTTP_LENGTH_UNKNOWN;
    p->is_tunnel = true;
    cor_http_response_set_deadline(p->response, COR_HTTP_NO_DEADLINE);
    cor_http_response_tunnel(p->response, headers, n);
    proxy_drop_head(p);
    return 0;
}

static int proxy_on_answer(void *arg, int status, const struct cor_http_header *headers,
                           size_t nheaders)
{
    struct cor_proxied *p = arg;
    char text[64];

    cor_target_use_answered(&p->use);
    if (status == 101 && p->is_upgrade)
        return proxy_begin_tunnel(p, headers, nheaders);
    if (p->is_upgrade && status < 400) {
        snprintf(text, sizeof(text), "invalid upgrade response: status code %d", status);
        proxy_reply(p, 503, text);
        return -COR_ECANCELED;
    }
    if (!p->is_upgrade && !p->forwards_redirects && is_redirection(status, headers, nheaders)) {
        static const char moved[] =
            "the backend attempted to redirect this request, which is not permitted";
        static const struct cor_http_header own[] = {
            {COR_STR("Content-Type"), COR_STR("text/plain; charset=utf-8")},
            {COR_STR("Content-Length"), COR_STR("70")}};

        proxy_begin(p, 502, own, COR_ARRAY_LEN(own));
        p->bytes = cor_http_response_write(p->response, cor_strz(moved));
        proxy_end(p);
        return -COR_ECANCELED;
    }
    proxy_begin(p, status, headers, nheaders);
    proxy_drop_head(p);
    return 0;
}

/* Upstream's words for the failure of a call. */
static void describe(const struct cor_proxied *p, const char *why, char text[TEXT_MAX])
{
    snprintf(text, TEXT_MAX, "%s: %s",
             p->is_upgrade ? "error dialing backend" : "error trying to reach service", why);
}

static void proxy_on_done(void *arg, int r, const char *why)
{
    struct cor_proxied *p = arg;
    char text[TEXT_MAX], reason[COR_TARGET_TEXT_MAX];

    p->call = NULL;
    if (r == 0 || p->is_tunnel) {
        p->is_call_done = true;
        if (p->rest.n == p->rest_at)
            proxy_end(p);
        return;
    }
    if (p->code) {
        proxy_abort(p);
        return;
    }
    if (r == -COR_ETIMEOUT && p->is_discovery)
        snprintf(reason, sizeof(reason), "context deadline exceeded");
    else
        cor_target_use_explain(&p->use, r, why, reason);
    describe(p, reason, text);
    cor_target_use_end(&p->use, r, reason);
    proxy_reply(p, r == -COR_ENOMEM ? 500 : 503, text);
}

/* --- the request's body ----------------------------------------------------------------------- */

static size_t proxy_on_body(struct cor_http_response *response, struct cor_str piece, void *arg)
{
    struct cor_proxied *p = arg;

    /* After the answer is whole the service wants no more of it. */
    return p->call ? cor_http_call_write(p->call, piece) : piece.n;
}

static void proxy_on_body_end(struct cor_http_response *response, void *arg)
{
    struct cor_proxied *p = arg;

    p->is_body_ended = true;
    if (p->is_tunnel)
        proxy_end(p);
    else if (p->call && p->body_length > 0)
        cor_http_call_end_body(p->call);
}

static void proxy_on_call_writable(void *arg)
{
    cor_http_response_resume_body(((struct cor_proxied *)arg)->response);
}

/* --- the request ------------------------------------------------------------------------------ */

static const struct cor_http_call_cbs call_cbs = {.on_head = proxy_on_answer,
                                                  .on_body = proxy_on_answer_body,
                                                  .on_done = proxy_on_done,
                                                  .on_writable = proxy_on_call_writable,
                                                  .on_kept = proxy_on_answer_kept};

static const struct cor_http_body_cbs body_cbs = {.on_body = proxy_on_body,
                                                  .on_body_end = proxy_on_body_end};

static int proxy_call(struct cor_proxied *p)
{
    const struct cor_service_address *at = cor_target_use_address(&p->use);
    struct cor_http_call_opts opts = {.method = cor_strz(p->method),
                                      .target = p->head.target,
                                      .streams_body = p->body_length > 0,
                                      .body_length = p->body_length,
                                      .keeps_redirects = true,
                                      .wants_upgrade = p->is_upgrade,
                                      .deadline_ms = p->is_discovery ? DISCOVERY_MS : 0,
                                      .cbs = &call_cbs,
                                      .arg = p};

    if (!p->is_upgrade)
        cor_remote_head_set_host(&p->head, at->host, at->port);
    opts.headers = p->head.headers;
    opts.nheaders = p->head.nheaders;
    return cor_http_call_open(cor_target_use_client(&p->use), &opts, &p->call);
}

/* The service was not asked. */
static void proxy_refuse(struct cor_proxied *p, int r, const char *why)
{
    char text[TEXT_MAX];

    switch (r) {
    case -COR_EINVAL: /* its trust cannot be set up */
        proxy_reply(p, 500, why);
        break;
    case -COR_ENOMEM:
        proxy_reply(p, 500, why);
        break;
    case -COR_EUNREACHABLE: /* the circuit is open */
    case -COR_EBUSY:
        describe(p, why, text);
        proxy_reply(p, 503, text);
        break;
    default:
        proxy_reply(p, 503, "service unavailable");
    }
}

static void proxy_go(struct cor_proxied *p)
{
    int r = proxy_call(p);

    if (r == -COR_ETOOBIG)
        proxy_reply_too_large(p);
    else if (r < 0)
        proxy_refuse(p, r, cor_err_text(r));
    else
        cor_http_response_stream_body(p->response, &body_cbs, p);
}

static void proxy_on_ready(struct cor_target_use *use, int r, const char *text)
{
    struct cor_proxied *p = COR_CONTAINER_OF(use, struct cor_proxied, use);

    if (r < 0)
        proxy_refuse(p, r, text);
    else
        proxy_go(p);
}

static void proxy_on_gone(struct cor_http_response *response, int why, void *arg)
{
    proxy_finish(arg);
}

/* The server shuts down: a watch ends, as if its time was over. */
static void proxy_on_drain(struct cor_http_response *response, void *arg)
{
    struct cor_proxied *p = arg;

    if (!p->is_long && !p->is_tunnel)
        return;
    if (p->code && p->left == COR_HTTP_LENGTH_UNKNOWN && p->rest.n == p->rest_at)
        proxy_end(p);
    else
        proxy_abort(p);
}

static const struct cor_http_response_cbs response_cbs = {
    .on_writable = proxy_on_writable, .on_gone = proxy_on_gone, .on_drain = proxy_on_drain};

/* Returns whether it asks for the resources of a group version: /apis/GROUP/VERSION. */
static bool is_discovery(struct cor_str path)
{
    size_t n = 0;

    while (path.n > 0)
        n += cor_str_cut(&path, '/').n > 0;
    return n == 3;
}

static struct cor_proxied *proxy_new(const struct cor_proxied_opts *o)
{
    struct cor_proxied *p = cor_calloc(1, sizeof(*p));
    struct cor_str method = o->head->method_name;

    if (!p)
        return NULL;
    p->service = cor_api_service_ref(o->service);
    p->response = o->response;
    p->use.on_ready = proxy_on_ready;
    p->is_long = o->is_long;
    p->is_discovery = is_discovery(o->path);
    p->forwards_redirects = o->forwards_redirects;
    p->body_length = cor_http_response_body_length(o->response);
    /* With a body it is an ordinary request: its Upgrade header stays here. */
    p->is_upgrade = p->body_length == 0 && cor_http_response_can_upgrade(o->response) &&
                    cor_remote_is_upgrade(o->head->headers, o->head->nheaders);
    p->held = o->held;
    p->left = COR_HTTP_LENGTH_UNKNOWN;
    p->on_over = o->on_over;
    p->arg = o->arg;
    snprintf(p->method, sizeof(p->method), "%.*s", (int)method.n, method.p);
    snprintf(p->audit_id, sizeof(p->audit_id), "%.*s", (int)o->audit_id.n, o->audit_id.p);
    cor_buf_init(&p->rest, COR_PROXIED_REST_MAX);
    return p;
}

static int proxy_make_head(struct cor_proxied *p, const struct cor_proxied_opts *o)
{
    const struct cor_remote_head_opts opts = {.headers = o->head->headers,
                                              .nheaders = o->head->nheaders,
                                              .path = o->path,
                                              .query = o->head->query,
                                              .user = o->user,
                                              .audit_id = o->audit_id,
                                              .client_address = o->head->peer->address,
                                              .names = o->names,
                                              .is_upgrade = p->is_upgrade};

    return cor_remote_head_init(&p->head, &opts);
}

static void proxy_begin_use(struct cor_proxied *p, struct cor_targets *targets)
{
    const struct cor_target_spec spec = cor_target_spec_of(p->service);
    const char *text = "";
    int r = cor_target_use_begin(targets, &spec, &p->use, &text);

    if (r < 0)
        proxy_refuse(p, r, text);
    else if (r == 0)
        proxy_go(p);
}

void cor_proxied_start(const struct cor_proxied_opts *opts)
{
    struct cor_proxied *p = proxy_new(opts);
    int r;

    assert(opts->service->is_remote && opts->on_over);
    assert(cor_loop_is_current(cor_http_response_loop(opts->response)));
    if (!p) {
        cor_http_response_send(opts->response, 500, NULL, 0, COR_STR("out of memory\n"));
        opts->on_over(opts->arg, 500, 0);
        return;
    }
    cor_http_response_set_cbs(p->response, &response_cbs, p);
    if (p->is_long)
        cor_http_response_set_deadline(p->response, COR_HTTP_NO_DEADLINE);
    if (!cor_api_service_is_available(p->service)) {
        proxy_reply(p, 503, "service unavailable");
        return;
    }
    r = proxy_make_head(p, opts);
    if (r == -COR_EINVAL) {
        proxy_reply(p, 503, "error trying to reach service: net/http: invalid header field value");
        return;
    }
    if (r == -COR_ETOOBIG) {
        proxy_reply_too_large(p);
        return;
    }
    if (r < 0) {
        proxy_reply(p, 500, cor_err_text(r));
        return;
    }
    if (proxy_charge(p) < 0) {
        proxy_reply(p, 503,
                    "error trying to reach service: the server holds too much for this client");
        return;
    }
    proxy_begin_use(p, opts->targets);
}
