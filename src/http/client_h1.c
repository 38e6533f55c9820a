/* HTTP/1.1 on a connection of a client: one call after the other. */
#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "http/http_client_int.h"
#include "net/stream/stream.h"

#define OUT_MAX (COR_HTTP_CLIENT_BODY_MAX + COR_H1_HEAD_MAX)
/* The same when its caller writes the body piece by piece. */
#define STREAM_OUT_MAX (COR_HTTP_CALL_OUT_MAX + COR_H1_HEAD_MAX)
/* Room for a chunk's frame, and for the last chunk. */
#define CHUNK_BYTES 32u

static struct cor_http_call *call_of(const struct cor_http_link *l)
{
    return cor_dlist_empty(&l->calls) ? NULL
                                      : COR_CONTAINER_OF(l->calls.next, struct cor_http_call, link);
}

static int on_head(const struct cor_h1_head *head, void *arg)
{
    struct cor_http_link *l = arg;
    struct cor_http_call *call = call_of(l);
    int r;

    l->keep_alive = head->keep_alive;
    if (!call)
        return -COR_ECANCELED;
    if (head->status == 101) {
        call->is_tunnel = true;
        call->body_left = COR_HTTP_LENGTH_UNKNOWN;
        if (call->wants_writable)
            cor_http_call_set_started(call);
    }
    r = cor_http_call_head(call, head->status, head->headers, head->nheaders);
    return r == 0 && call->is_paused && head->length > 0 ? COR_H1_PAUSE : r;
}

static int on_body(struct cor_str piece, void *arg)
{
    struct cor_http_call *call = call_of(arg);
    int r = call ? cor_http_call_show(call, piece) : -COR_ECANCELED;

    return r == 0 && call->is_paused ? COR_H1_PAUSE : r;
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
    return cor_stream_room(l->stream) < l->out_max;
}

/* The connection waits for its next call, or ends. */
static void rest(struct cor_http_link *l)
{
    struct cor_http_client *client = l->client;

    if (!l->keep_alive || l->is_stale || l->is_own || client->is_closing || has_unsent(l) ||
        client->nidle == COR_HTTP_CLIENT_IDLE_MAX) {
        cor_http_link_close(l);
        return;
    }
    cor_h1_next(l->h1, false);
    cor_stream_read_start(l->stream);
    client->nidle++;
    cor_dlist_push_front(&client->ready, &l->ready_link);
    cor_timer_set(&l->timer, COR_HTTP_CLIENT_IDLE_MS);
}

static void complete(struct cor_http_link *l)
{
    struct cor_http_client *client = l->client;
    struct cor_http_call *call = call_of(l);

    if (l->peer_ended || (call && cor_http_call_is_writing(call)))
        l->keep_alive = false;
    if (call)
        cor_http_call_whole(call);
    rest(l);
    cor_http_client_pump(client);
}

/* Keeps what its call does not want now. */
static void keep(struct cor_http_link *l, struct cor_http_call *call, struct cor_str bytes)
{
    int r = cor_http_call_keep(call, bytes);

    cor_stream_read_stop(l->stream);
    if (r < 0)
        cor_http_link_fail(l, r, "no room for the answer");
}

/* Bytes of the other protocol. */
static void take_raw(struct cor_http_link *l, struct cor_http_call *call, struct cor_str bytes)
{
    if (call->is_paused)
        keep(l, call, bytes);
    else if (bytes.n > 0)
        cor_http_call_show(call, bytes);
}

/* The call's on_done comes after the last byte. */
static void end_tunnel(struct cor_http_link *l)
{
    struct cor_http_client *client = l->client;

    cor_http_call_whole(call_of(l));
    cor_http_link_close(l);
    cor_http_client_pump(client);
}

static void take_data(struct cor_http_link *l, struct cor_str bytes)
{
    struct cor_http_call *call = call_of(l);
    size_t used = 0;
    int r;

    if (call->is_tunnel) {
        take_raw(l, call, bytes);
        return;
    }
    r = cor_h1_feed(l->h1, bytes, &used);
    if (l->state == COR_HTTP_LINK_CLOSING)
        return;
    if (r < 0) {
        cor_http_link_fail(l, r, cor_h1_error(l->h1)->text);
        return;
    }
    bytes = cor_str_from(bytes, used);
    if (call_of(l) == call && call->is_tunnel) {
        take_raw(l, call, bytes);
        return;
    }
    if (cor_h1_is_paused(l->h1)) {
        keep(l, call, bytes);
        return;
    }
    if (!cor_h1_is_done(l->h1))
        return;
    if (bytes.n > 0)
        l->keep_alive = false;
    complete(l);
}

static void on_stream_data(struct cor_stream *s, struct cor_str bytes, void *arg)
{
    struct cor_http_link *l = arg;
    struct cor_http_call *call = call_of(l);

    if (!call)
        cor_http_link_close(l); /* Nobody asked: what it means cannot be known. */
    else if (call->kept.n > 0 || (call->is_paused && call->has_head) || cor_h1_is_paused(l->h1))
        keep(l, call, bytes);
    else
        take_data(l, bytes);
}

/* The server has ended its side, and all it sent has been shown. */
static void finish_input(struct cor_http_link *l)
{
    struct cor_http_call *call = call_of(l);

    if (call && call->is_tunnel) {
        end_tunnel(l);
    } else if (call && cor_h1_is_begun(l->h1) && cor_h1_finish(l->h1) == 0 &&
               cor_h1_is_done(l->h1)) {
        l->keep_alive = false;
        complete(l);
    } else {
        cor_http_link_fail(l, -COR_EIO, "the connection broke");
    }
}

static void on_stream_end(struct cor_stream *s, int why, void *arg)
{
    struct cor_http_link *l = arg;
    struct cor_http_call *call = call_of(l);

    /* What fails after the server's end is our output: its answer has come, and waits. */
    if (l->peer_ended)
        return;
    if (why == 0 && call && (call->kept.n > 0 || call->is_paused))
        l->peer_ended = true;
    else if (why == 0)
        finish_input(l);
    else
        cor_http_link_fail(l, why,
                           why == -COR_ETLS       ? "TLS failed"
                           : why == -COR_ETIMEOUT ? "the server took no data"
                                                  : "the connection broke");
}

static void on_stream_writable(struct cor_stream *s, void *arg)
{
    struct cor_http_call *call = call_of(arg);

    if (call)
        cor_http_call_writable(call);
}

static void on_stream_nothing(struct cor_stream *s, void *arg)
{
}

static const struct cor_stream_cbs stream_cbs = {
    on_stream_nothing, on_stream_data, on_stream_writable, on_stream_end, on_stream_nothing};

/* Sets how many bytes of the stream may wait to be sent from now on. */
static void set_out_max(struct cor_http_link *l, size_t out_max)
{
    l->out_max = out_max;
    cor_stream_hand_over(l->stream, &stream_cbs, l, out_max);
}

int cor_http_h1_speak(struct cor_http_link *l, struct cor_stream *stream)
{
    struct cor_http_call *call = call_of(l);
    int r;

    l->h1 = cor_h1_new(COR_H1_CLIENT, &limits, &h1_cbs, l);
    if (!l->h1)
        return -COR_ENOMEM;
    l->stream = stream;
    set_out_max(l, OUT_MAX);
    cor_http_link_set_open(l);
    if (!l->is_own)
        return 0;
    assert(call);
    l->nserved++;
    r = cor_http_h1_start(l, call);
    if (r < 0)
        cor_http_call_end(call, r, cor_err_text(r));
    return 0;
}

void cor_http_h1_pause(struct cor_http_call *call)
{
    /* Before the head has come its end must be noticed, and a call has nothing to stop. */
    if (call->has_head)
        cor_stream_read_stop(call->at->stream);
}

void cor_http_h1_resume(struct cor_http_call *call)
{
    struct cor_http_link *l = call->at;
    struct cor_buf kept = call->kept;

    cor_buf_init(&call->kept, kept.max);
    if (kept.n > 0 || cor_h1_is_paused(l->h1))
        take_data(l, cor_buf_str(&kept));
    cor_buf_deinit(&kept);
    if (l->state == COR_HTTP_LINK_CLOSING || call_of(l) != call || call->is_paused)
        return;
    if (l->peer_ended)
        finish_input(l);
    else
        cor_stream_read_start(l->stream);
}

size_t cor_http_h1_write(struct cor_http_call *call, struct cor_str bytes)
{
    struct cor_stream *stream = call->at->stream;
    bool is_chunked = !call->is_tunnel && call->body_left == COR_HTTP_LENGTH_UNKNOWN;
    size_t room = stream ? cor_stream_room(stream) : 0, n = bytes.n;
    char chunk_head[COR_H1_CHUNK_HEAD_MAX];
    struct cor_str spans[3] = {{0}, {bytes.p, n}, {0}};
    int r;

    if (!stream) /* it is being dialled */
        return 0;
    room = room > CHUNK_BYTES ? room - CHUNK_BYTES : 0;
    spans[1].n = n = n < room ? n : room;
    if (is_chunked && n > 0) {
        spans[0] = cor_str(chunk_head, cor_h1_chunk_head(chunk_head, n));
        spans[2] = COR_STR(COR_H1_CHUNK_END);
    }
    r = n > 0 ? cor_stream_write(stream, spans, 3) : 0;
    if (r == -COR_ENOMEM)
        cor_stream_fail(stream, r);
    if (r < 0)
        return 0;
    if (n < bytes.n)
        cor_stream_want_writable(stream);
    return n;
}

void cor_http_h1_end_body(struct cor_http_call *call)
{
    struct cor_stream *stream = call->at->stream;
    struct cor_str last = COR_STR(COR_H1_LAST_CHUNK);

    if (call->is_tunnel)
        cor_stream_end(stream);
    else if (call->body_left == COR_HTTP_LENGTH_UNKNOWN &&
             cor_stream_write(stream, &last, 1) == -COR_ENOMEM)
        cor_stream_fail(stream, -COR_ENOMEM);
}

static int write_head(const struct cor_http_call *call, struct cor_buf *out)
{
    struct cor_http_header headers[COR_HTTP_CLIENT_HEADERS_MAX + 1];
    struct cor_h1_message msg = {.peer_minor = 1,
                                 .keep_alive = true,
                                 .length = call->streams_body ? call->body_left : call->body.n};
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
    if (call->streams_body && call->body_ended && call->body_left == COR_HTTP_LENGTH_UNKNOWN)
        spans[1] = COR_STR(COR_H1_LAST_CHUNK);
    if (l->out_max != OUT_MAX)
        set_out_max(l, OUT_MAX);
    r = cor_stream_write(l->stream, spans, 2);
    if (r < 0)
        return r == -COR_EBUSY ? -COR_ETOOBIG : r;
    if (call->streams_body || call->wants_upgrade)
        set_out_max(l, STREAM_OUT_MAX);
    cor_h1_next(l->h1, cor_str_eqz(call->method, "HEAD"));
    if (call->wants_upgrade)
        cor_h1_take_upgrade(l->h1);
    cor_http_link_retire(l);
    return 0;
}
