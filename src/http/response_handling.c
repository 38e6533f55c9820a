/* What the server does with a response around its handler: from a head that was read to the
 * handler's call, and what the handler is told. */
#include <assert.h>

#include "base/clock.h"
#include "base/err.h"
#include "http/http_server_int.h"

#define ERROR_BODY_MAX   (64u * 1024)
#define BODY_FIRST_BYTES (64u * 1024)

static void count(_Atomic uint64_t *counter)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

bool cor_response_is_held(const struct cor_http_response *resp)
{
    return resp->state == COR_RESPONSE_HELD || resp->state == COR_RESPONSE_STARTED ||
           (resp->state == COR_RESPONSE_ACCEPTED && resp->cbs);
}

bool cor_response_waits_for_peer(const struct cor_http_response *resp)
{
    if (resp->state == COR_RESPONSE_HELD)
        return cor_response_is_streaming(resp) && !resp->is_blocked && !resp->body_ended;
    return resp->state != COR_RESPONSE_STARTED || resp->is_short;
}

int cor_response_begin(struct cor_http_response *resp, struct cor_str method, struct cor_str target)
{
    struct cor_conn *c = resp->conn;
    struct cor_http_request *req = &resp->request;

    resp->has_request = true;
    resp->deadline_ms = cor_conn_now_ms(c) + cor_conn_limits(c)->request_timeout_ms;
    resp->timeout_text = "request did not complete within the allotted timeout";
    req->peer = cor_stream_peer(c->stream);
    req->received_us = cor_clock_mono_us(cor_clock_real());
    req->loop = c->worker->index;
    return cor_request_set_target(req, method, target);
}

/* The handler has taken what it needs of the head. */
static void forget_head(struct cor_http_response *resp)
{
    struct cor_http_request *req = &resp->request;

    resp->lacks_head = true;
    req->method_name = req->target = req->path = req->query = (struct cor_str){0};
    req->headers = NULL;
    req->nheaders = 0;
}

/* Room for `n` more bytes of the body. What is allocated is what is charged. */
static int make_room(struct cor_http_response *resp, size_t n)
{
    int r = cor_buf_reserve(&resp->body, n);

    if (r < 0 || resp->body.cap == resp->body_charged)
        return r;
    return cor_conn_charge(resp->conn, &resp->body_charged, resp->body.cap);
}

static int expect_body(struct cor_http_response *resp, uint64_t length)
{
    size_t first;

    if (length == COR_HTTP_LENGTH_UNKNOWN)
        return 0;
    if (length > cor_conn_limits(resp->conn)->body_max)
        return -COR_ETOOBIG;
    length -= resp->body.n < length ? resp->body.n : length;
    first = length < BODY_FIRST_BYTES ? (size_t)length : BODY_FIRST_BYTES;
    return first > 0 ? make_room(resp, first) : 0;
}

void cor_response_accept(struct cor_http_response *resp)
{
    int r = cor_budget_check(&resp->conn->share);

    resp->state = COR_RESPONSE_ACCEPTED;
    resp->body.max = cor_conn_limits(resp->conn)->body_max;
    if (r == 0 && resp->body.n > resp->body.max)
        r = -COR_ETOOBIG;
    if (r == 0)
        r = expect_body(resp, resp->body_length);
    if (r < 0)
        cor_response_refuse(resp, r);
}

/* The handler holds the response from on_head on, and its body back, or takes it as a stream. */
static void begin_intake(struct cor_http_response *resp)
{
    int r = resp->state == COR_RESPONSE_HELD ? cor_budget_check(&resp->conn->share) : 0;

    assert(resp->cbs && resp->cbs->on_gone);
    if (r < 0)
        cor_response_refuse(resp, r);
    else if (resp->conn->worker->is_draining)
        cor_response_tell_drain(resp);
}

void cor_response_show_head(struct cor_http_response *resp, uint64_t length)
{
    struct cor_http_worker *w = resp->conn->worker;
    const struct cor_http_server_opts *opts = &w->server->opts;

    count(&w->requests);
    resp->body_length = length;
    if (opts->on_head) {
        resp->state = COR_RESPONSE_HELD;
        resp->in_head = true;
        opts->on_head(&resp->request, resp, opts->arg);
        resp->in_head = false;
        if (resp->has_request)
            forget_head(resp);
        if (resp->intake != COR_INTAKE_COLLECT && cor_response_is_held(resp)) {
            begin_intake(resp);
            return;
        }
        if (resp->state != COR_RESPONSE_HELD)
            return;
        assert(resp->cbs && resp->cbs->on_gone);
    }
    cor_response_accept(resp);
}

int cor_response_take_body(struct cor_http_response *resp, struct cor_str piece)
{
    int r = make_room(resp, piece.n);

    return r == 0 ? cor_buf_adds(&resp->body, piece) : r;
}

void cor_response_dispatch(struct cor_http_response *resp)
{
    struct cor_http_worker *w = resp->conn->worker;
    const struct cor_http_server_opts *opts = &w->server->opts;

    assert(resp->state == COR_RESPONSE_ACCEPTED);
    resp->state = COR_RESPONSE_HELD;
    resp->request.body = cor_buf_str(&resp->body);
    opts->on_request(&resp->request, resp, opts->arg);
    assert(!cor_response_is_held(resp) || resp->cbs);
    if (w->is_draining)
        cor_response_tell_drain(resp);
}

void cor_response_writable(struct cor_http_response *resp)
{
    if (resp->state == COR_RESPONSE_ENDED) {
        cor_response_pump(resp);
    } else if (resp->is_short) {
        resp->is_short = false;
        if (resp->cbs && resp->cbs->on_writable)
            resp->cbs->on_writable(resp, resp->arg);
    }
}

void cor_response_tell_gone(struct cor_http_response *resp, int why)
{
    if (!cor_response_is_held(resp))
        return;
    assert(resp->cbs->on_gone);
    resp->state = COR_RESPONSE_NONE;
    resp->cbs->on_gone(resp, why, resp->arg);
}

void cor_response_tell_drain(struct cor_http_response *resp)
{
    if (cor_response_is_held(resp) && resp->cbs->on_drain)
        resp->cbs->on_drain(resp, resp->arg);
}

static const char *error_body(struct cor_http_response *resp, int status, const char *message,
                              struct cor_buf *out)
{
    const struct cor_http_server_opts *opts = &resp->conn->worker->server->opts;
    const char *type = NULL;

    if (opts->on_error)
        type = opts->on_error(resp->has_request ? &resp->request : NULL, status, message, out,
                              opts->arg);
    if (type)
        return type;
    cor_buf_reset(out);
    cor_buf_addf(out, "%d %s: %s\n", status, cor_h1_status_text(status), message);
    return "text/plain; charset=utf-8";
}

void cor_response_error(struct cor_http_response *resp, int status, const char *message)
{
    struct cor_http_header headers[] = {{.name = COR_STR("Content-Type")},
                                        {COR_STR("Retry-After"), COR_STR("1")}};
    struct cor_buf body;

    count(&resp->conn->worker->errors);
    cor_buf_init(&body, ERROR_BODY_MAX);
    headers[0].value = cor_strz(error_body(resp, status, message, &body));
    resp->state = COR_RESPONSE_HELD;
    cor_http_response_send(resp, status, headers, status == 429 ? 2 : 1, cor_buf_str(&body));
    cor_buf_deinit(&body);
}

void cor_response_time_out(struct cor_http_response *resp)
{
    cor_response_tell_gone(resp, -COR_ETIMEOUT);
    cor_response_error(resp, 504, resp->timeout_text);
}

void cor_response_refuse(struct cor_http_response *resp, int r)
{
    cor_response_tell_gone(resp, -COR_ECANCELED);
    if (r == -COR_EINVAL)
        cor_response_error(resp, 400, "malformed request target");
    else if (r == -COR_EBUSY)
        cor_response_error(resp, 429, "too many requests of this client are being read");
    else if (r == -COR_ETOOBIG)
        cor_response_error(resp, 413, "body too large");
    else
        cor_response_error(resp, 503, "out of memory");
}
