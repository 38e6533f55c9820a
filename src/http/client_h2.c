/* HTTP/2 on a connection of a client: calls are its streams. */
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "http/client_int.h"
#include "net/h2.h"

/* As much as Go's client: what a server may send before it is looked at; nothing of it is kept. */
#define WINDOW (4u << 20)

static const struct cor_h2_limits limits = {.streams_max = COR_HTTP_CLIENT_CALLS_MAX,
                                            .window = WINDOW,
                                            .head_max = COR_H2_HEAD_MAX,
                                            .headers_max = COR_H2_HEADERS_MAX};

static int on_head(struct cor_h2_stream *s, const struct cor_h2_head *head, void *arg)
{
    cor_http_call_head(arg, head->status, head->headers, head->nheaders);
    return 0;
}

static int on_body(struct cor_h2_stream *s, struct cor_str piece, void *arg)
{
    cor_h2_consume(s, piece.n);
    cor_http_call_body(arg, piece);
    return 0;
}

static void write_body(struct cor_http_call *call)
{
    if (call->written < call->body.n)
        call->written += cor_h2_write(call->stream, &call->body, 1, call->written, true);
}

static void on_writable(struct cor_h2_stream *s, void *arg)
{
    write_body(arg);
}

/* A link without calls idles. */
static void settle(struct cor_http_link *l)
{
    if (cor_dlist_empty(&l->calls) && l->state == COR_HTTP_LINK_OPEN && !l->is_stale)
        cor_timer_set(&l->timer, COR_HTTP_CLIENT_IDLE_MS);
    cor_http_client_pump(l->client);
}

static void finish(struct cor_http_call *call)
{
    struct cor_http_link *l = call->at;

    cor_http_call_whole(call);
    settle(l);
}

/* A server that has answered need not take the rest of the request. */
static void on_end(struct cor_h2_stream *s, void *arg)
{
    struct cor_http_call *call = arg;

    call->is_ended = true;
    if (call->written < call->body.n)
        finish(call);
}

static void on_closed(struct cor_h2_stream *s, uint32_t code, void *arg)
{
    struct cor_http_call *call = arg;
    struct cor_http_link *l = call->at;

    call->stream = NULL;
    if (code == COR_H2_LOST)
        return; /* The connection's end comes next, and says why. */
    if (call->is_ended) {
        finish(call);
        return;
    }
    if (code == COR_H2_REFUSED_STREAM)
        cor_http_call_lost(call, -COR_EUNREACHABLE, "the server refused the request", true);
    else if (code == COR_H2_NO_MEMORY)
        cor_http_call_end(call, -COR_ENOMEM, "no memory for the answer");
    else
        cor_http_call_end(call, -COR_EBROKEN, "the server broke the stream off");
    settle(l);
}

static const struct cor_h2_stream_cbs stream_cbs = {on_head, on_body,     NULL,
                                                    on_end,  on_writable, on_closed};

/* A server whose first words are that it takes no streams would be dialled for ever. */
static void on_conn_open(struct cor_client_conn *conn, void *arg)
{
    struct cor_http_link *l = arg;

    if (cor_h2_takes_stream(cor_client_conn_h2(conn)))
        cor_http_link_set_open(l);
    else
        cor_http_link_fail(l, -COR_EUNREACHABLE, "the server takes no requests");
}

static void on_conn_drain(struct cor_client_conn *conn, void *arg)
{
    cor_http_link_retire(arg);
}

static void on_conn_end(struct cor_client_conn *conn, int why, const char *text, void *arg)
{
    cor_http_link_fail(arg, why == 0 || why == -COR_ETIMEOUT ? -COR_EIO : why,
                       *text ? text : "the connection broke");
}

static const struct cor_client_conn_cbs conn_cbs = {on_conn_open, on_conn_drain, on_conn_end};

int cor_http_h2_speak(struct cor_http_link *l, struct cor_stream *stream)
{
    const struct cor_http_client_opts *o = &l->client->opts;
    struct cor_client_conn_opts opts = {.connect_timeout_ms = o->connect_timeout_ms,
                                        .keepalive_ms = o->silence_ms,
                                        .keepalive_timeout_ms = o->ping_ms,
                                        .limits = &limits,
                                        .cbs = &conn_cbs,
                                        .arg = l};
    int r = cor_client_conn_adopt(l->client->net, &opts, stream, &l->conn);

    if (r == 0)
        l->state = COR_HTTP_LINK_GREETING;
    return r;
}

static bool says_length(const struct cor_http_call *call)
{
    return call->body.n > 0 || cor_str_eqz(call->method, "POST") ||
           cor_str_eqz(call->method, "PUT") || cor_str_eqz(call->method, "PATCH");
}

int cor_http_h2_start(struct cor_http_link *l, struct cor_http_call *call)
{
    struct cor_http_header headers[COR_HTTP_CLIENT_HEADERS_MAX + 1];
    char digits[24];
    struct cor_h2_request req = {.method = call->method,
                                 .scheme = l->client->opts.tls ? COR_STR("https") : COR_STR("http"),
                                 .authority = cor_buf_str(&l->client->authority),
                                 .path = call->target,
                                 .headers = headers,
                                 .nheaders = call->nheaders,
                                 .has_body = call->body.n > 0};
    int r;

    for (size_t i = 0; i < call->nheaders; i++)
        headers[i] = call->headers[i];
    if (says_length(call)) {
        int n = snprintf(digits, sizeof(digits), "%zu", call->body.n);

        headers[req.nheaders++] =
            (struct cor_http_header){COR_STR("content-length"), cor_str(digits, (size_t)n)};
    }
    r = cor_h2_open(cor_client_conn_h2(l->conn), &req, &stream_cbs, call, &call->stream);
    if (r < 0)
        return r;
    call->is_ended = false;
    call->written = 0;
    write_body(call);
    return 0;
}
