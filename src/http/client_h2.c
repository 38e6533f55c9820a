/* HTTP/2 on a connection of a client: calls are its streams. */
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "http/http_client_int.h"
#include "net/session/h2.h"

static int on_head(struct cor_h2_stream *s, const struct cor_h2_head *head, void *arg)
{
    cor_http_call_head(arg, head->status, head->headers, head->nheaders);
    return 0;
}

static int on_body(struct cor_h2_stream *s, struct cor_str piece, void *arg)
{
    struct cor_http_call *call = arg;
    int r;

    if (!call->is_paused && call->kept.n == 0) {
        cor_h2_consume(s, piece.n);
        cor_http_call_show(call, piece);
        return 0;
    }
    r = cor_http_call_keep(call, piece);
    if (r < 0)
        cor_http_call_end(call, r, "no room for the answer");
    return 0;
}

static void write_body(struct cor_http_call *call)
{
    if (call->written < call->body.n)
        call->written += cor_h2_write(call->stream, &call->body, 1, call->written, true);
}

static void on_writable(struct cor_h2_stream *s, void *arg)
{
    struct cor_http_call *call = arg;

    if (call->streams_body)
        cor_http_call_writable(call);
    else
        write_body(call);
}

/* A link without calls idles. */
static void settle(struct cor_http_link *l)
{
    if (cor_dlist_empty(&l->calls) && l->state == COR_HTTP_LINK_OPEN && !l->is_stale)
        cor_timer_set(&l->timer, COR_HTTP_CLIENT_IDLE_MS);
    cor_http_client_pump(l->client);
}

/* The answer is whole, but not all of it has been shown: it needs its connection no more. */
static void leave_link(struct cor_http_call *call)
{
    struct cor_h2_stream *stream = COR_STEAL(call->stream);

    cor_dlist_remove(&call->link);
    cor_dlist_push(&call->client->kept, &call->link);
    call->state = COR_HTTP_CALL_KEPT;
    call->at = NULL;
    if (stream)
        cor_h2_reset(stream, COR_H2_CANCEL);
}

static void finish(struct cor_http_call *call)
{
    struct cor_http_link *l = call->at;

    if (call->is_paused || call->kept.n > 0)
        leave_link(call);
    else
        cor_http_call_whole(call);
    settle(l);
}

void cor_http_h2_resume(struct cor_http_call *call)
{
    struct cor_http_client *client = call->client;
    struct cor_buf kept = call->kept;
    int r = 0;

    cor_buf_init(&call->kept, kept.max);
    if (kept.n > 0) {
        if (call->stream)
            cor_h2_consume(call->stream, kept.n);
        r = cor_http_call_show(call, cor_buf_str(&kept));
    }
    cor_buf_deinit(&kept);
    if (r == 0 && call->state == COR_HTTP_CALL_KEPT && !call->is_paused) {
        cor_http_call_whole(call);
        cor_http_client_pump(client);
    }
}

/* A server that has answered need not take the rest of the request. */
static void on_end(struct cor_h2_stream *s, void *arg)
{
    struct cor_http_call *call = arg;

    call->is_ended = true;
    if (call->written < call->body.n || cor_http_call_is_writing(call))
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

/* A server that begins by refusing all streams would be dialled forever. */
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
                                        .limits = &l->client->h2_limits,
                                        .cbs = &conn_cbs,
                                        .arg = l};
    int r = cor_client_conn_adopt(l->client->net, &opts, stream, &l->conn);

    if (r == 0)
        l->state = COR_HTTP_LINK_GREETING;
    return r;
}

static uint64_t body_length(const struct cor_http_call *call)
{
    return call->streams_body ? call->body_left : call->body.n;
}

static bool says_length(const struct cor_http_call *call)
{
    if (body_length(call) == COR_HTTP_LENGTH_UNKNOWN)
        return false;
    return body_length(call) > 0 || cor_str_eqz(call->method, "POST") ||
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
                                 .has_body = body_length(call) > 0 && !call->body_ended};
    int r;

    for (size_t i = 0; i < call->nheaders; i++)
        headers[i] = call->headers[i];
    if (says_length(call)) {
        int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)body_length(call));

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

size_t cor_http_h2_write(struct cor_http_call *call, struct cor_str bytes)
{
    return call->stream ? cor_h2_write(call->stream, &bytes, 1, 0, bytes.n == call->body_left) : 0;
}

void cor_http_h2_end_body(struct cor_http_call *call)
{
    /* The last byte of a known length was the end. */
    if (call->stream && call->body_left == COR_HTTP_LENGTH_UNKNOWN)
        cor_h2_write(call->stream, NULL, 0, 0, true);
}
