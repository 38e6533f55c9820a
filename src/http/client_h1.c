/* HTTP/1.1 on a connection of a client: one call after the other. */
#include "base/err.h"
#include "base/mem.h"
#include "http/client_int.h"
#include "net/stream.h"

#define OUT_MAX (COR_HTTP_CLIENT_BODY_MAX + COR_H1_HEAD_MAX)

static struct cor_http_call *call_of(const struct cor_http_link *l)
{
    return cor_dlist_empty(&l->calls) ? NULL
                                      : COR_CONTAINER_OF(l->calls.next, struct cor_http_call, link);
}

static int on_head(const struct cor_h1_head *head, void *arg)
{
    struct cor_http_link *l = arg;
    struct cor_http_call *call = call_of(l);

    l->keep_alive = head->keep_alive;
    return call ? cor_http_call_head(call, head->status, head->headers, head->nheaders)
                : -COR_ECANCELED;
}

static int on_body(struct cor_str piece, void *arg)
{
    struct cor_http_call *call = call_of(arg);

    return call ? cor_http_call_body(call, piece) : -COR_ECANCELED;
}

static int on_end(void *arg)
{
    return 0;
}

static const struct cor_h1_limits limits = {
    .head_max = COR_H1_HEAD_MAX, .headers_max = COR_H1_HEADERS_MAX, .body_max = UINT64_MAX};
static const struct cor_h1_cbs h1_cbs = {on_head, on_body, on_end};

/* A server that answers before it has the whole request may never read the rest of it. */
static bool has_unsent(const struct cor_http_link *l)
{
    return cor_stream_room(l->stream) < OUT_MAX;
}

/* The connection waits for its next call, or ends. */
static void rest(struct cor_http_link *l)
{
    struct cor_http_client *client = l->client;

    if (!l->keep_alive || l->is_stale || client->is_closing || has_unsent(l) ||
        client->nidle == COR_HTTP_CLIENT_IDLE_MAX) {
        cor_http_link_close(l);
        return;
    }
    cor_h1_next(l->h1, false);
    client->nidle++;
    cor_dlist_push_front(&client->ready, &l->ready_link);
    cor_timer_set(&l->timer, COR_HTTP_CLIENT_IDLE_MS);
}

static void complete(struct cor_http_link *l)
{
    struct cor_http_client *client = l->client;
    struct cor_http_call *call = call_of(l);

    if (call)
        cor_http_call_whole(call);
    rest(l);
    cor_http_client_pump(client);
}

static void on_stream_data(struct cor_stream *s, struct cor_str bytes, void *arg)
{
    struct cor_http_link *l = arg;
    size_t used = 0;
    int r;

    if (cor_dlist_empty(&l->calls)) {
        cor_http_link_close(l); /* Nobody asked: what it means cannot be known. */
        return;
    }
    r = cor_h1_feed(l->h1, bytes, &used);
    if (l->state == COR_HTTP_LINK_CLOSING)
        return;
    if (r < 0) {
        cor_http_link_fail(l, r, cor_h1_error(l->h1)->text);
        return;
    }
    if (!cor_h1_is_done(l->h1))
        return;
    if (used < bytes.n)
        l->keep_alive = false;
    complete(l);
}

static void on_stream_end(struct cor_stream *s, int why, void *arg)
{
    struct cor_http_link *l = arg;

    if (why == 0 && !cor_dlist_empty(&l->calls) && cor_h1_is_begun(l->h1) &&
        cor_h1_finish(l->h1) == 0 && cor_h1_is_done(l->h1)) {
        l->keep_alive = false;
        complete(l);
        return;
    }
    cor_http_link_fail(l, why == 0 ? -COR_EIO : why,
                       why == -COR_ETLS       ? "TLS failed"
                       : why == -COR_ETIMEOUT ? "the server took no data"
                                              : "the connection broke");
}

static void on_stream_nothing(struct cor_stream *s, void *arg)
{
}

static const struct cor_stream_cbs stream_cbs = {
    on_stream_nothing, on_stream_data, on_stream_nothing, on_stream_end, on_stream_nothing};

int cor_http_h1_speak(struct cor_http_link *l, struct cor_stream *stream)
{
    l->h1 = cor_h1_new(COR_H1_CLIENT, &limits, &h1_cbs, l);
    if (!l->h1)
        return -COR_ENOMEM;
    l->stream = stream;
    cor_stream_hand_over(stream, &stream_cbs, l, OUT_MAX);
    cor_http_link_set_open(l);
    return 0;
}

static int write_head(const struct cor_http_call *call, struct cor_buf *out)
{
    struct cor_http_header headers[COR_HTTP_CLIENT_HEADERS_MAX + 1];
    struct cor_h1_message msg = {.peer_minor = 1, .keep_alive = true, .length = call->body.n};
    enum cor_h1_framing framing;

    headers[0] = (struct cor_http_header){COR_STR("Host"), cor_buf_str(&call->client->authority)};
    for (size_t i = 0; i < call->nheaders; i++)
        headers[i + 1] = call->headers[i];
    msg.headers = headers;
    msg.nheaders = call->nheaders + 1;
    return cor_h1_write_request(out, call->method, call->target, &msg, &framing);
}

int cor_http_h1_start(struct cor_http_link *l, struct cor_http_call *call)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf head;
    struct cor_str spans[2];
    int r;

    cor_buf_init_secret(&head, COR_H1_HEAD_MAX);
    r = write_head(call, &head);
    if (r < 0)
        return r;
    spans[0] = cor_buf_str(&head);
    spans[1] = call->body;
    r = cor_stream_write(l->stream, spans, 2);
    if (r < 0)
        return r == -COR_EBUSY ? -COR_ETOOBIG : r;
    cor_h1_next(l->h1, cor_str_eqz(call->method, "HEAD"));
    cor_http_link_retire(l);
    return 0;
}
