/* HTTP/1.1 on a connection: one request at a time to the handler. While a response is made the
 * socket is still read, because a client that goes away would not be noticed otherwise; what a
 * pipelining client sends meanwhile waits, within a limit. The parser pauses between head and body,
 * so that the handler sees the head before a byte of the body is taken; the body of a request that
 * was answered then is read and dropped when it is short, and else the connection ends.
 *
 * A handler that takes the body as a stream (intake.c) is shown it piece by piece: the parser
 * pauses after each, so that the handler is never called from inside it and may end the response.
 * While a piece is not taken whole, the socket is not read. A tunnel is such a stream without a
 * parser.
 *
 * A response may put another protocol in place of HTTP (struct cor_http_upgrade): then what it
 * writes are messages, and what the client sends goes to that protocol. While a message is half
 * written, or the output is nearly full, input waits as that of a pipelining client does
 * (`pending`), because its answers must not come between. */
#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "http/http_server_int.h"

#define SPANS_AT_ONCE 32
/* Input of an upgraded protocol that is taken at once: what it is answered with fits the scratch
 * and the room that responses leave free. */
#define UPGRADE_SLICE (16u * 1024)

static int on_head(const struct cor_h1_head *head, void *arg)
{
    struct cor_conn *c = arg;
    struct cor_http_response *resp = &c->resp;
    int r;

    c->keep_alive = head->keep_alive && !c->worker->is_draining;
    c->wants_continue = head->expects_continue && head->length > 0;
    resp->request.headers = head->headers;
    resp->request.nheaders = head->nheaders;
    r = cor_response_begin(resp, head->method, head->target);
    return r == 0 && head->length > 0 ? COR_H1_PAUSE : r;
}

static int on_body(struct cor_str piece, void *arg)
{
    struct cor_conn *c = arg;

    if (c->is_skipping)
        return 0;
    if (c->resp.intake == COR_INTAKE_COLLECT)
        return cor_response_take_body(&c->resp, piece);
    c->piece = piece;
    return COR_H1_PAUSE;
}

static int on_message_end(void *arg)
{
    return 0;
}

static const struct cor_h1_cbs h1_cbs = {on_head, on_body, on_message_end};

static void settle(struct cor_conn *c)
{
    const struct cor_http_limits *limits = cor_conn_limits(c);
    uint64_t due_ms;

    if (c->state == COR_CONN_RESPONDING || c->resp.has_request)
        due_ms = c->resp.deadline_ms;
    else if (c->begun_ms == 0)
        due_ms = cor_conn_now_ms(c) + limits->idle_timeout_ms;
    else
        due_ms = c->begun_ms + limits->head_timeout_ms;
    cor_conn_set_timer(c, &c->timer, due_ms);
}

static void on_settle(struct cor_http_response *resp)
{
    settle(resp->conn);
}

/* What the head takes now. Becoming less cannot fail. */
static int charge_head(struct cor_conn *c)
{
    size_t n = cor_h1_head_bytes(c->h1);

    return n == c->head_charged ? 0 : cor_conn_charge_input(c, &c->head_charged, n);
}

/* The response is complete: the next request, or the end of the connection. */
static void finish(struct cor_conn *c)
{
    bool was_streaming = c->resp.intake == COR_INTAKE_STREAM;
    size_t used;

    cor_response_reset(&c->resp);
    /* The end of a body is noticed by the parser when it goes on after the last piece. */
    if (was_streaming && cor_h1_body_left(c->h1) == 0 && cor_h1_feed(c->h1, COR_STR(""), &used) < 0)
        c->keep_alive = false;
    if (!c->keep_alive || c->peer_ended) {
        cor_conn_end(c);
        return;
    }
    /* It may have been stopped for a handler that took no more of the body. */
    if (was_streaming && c->pending.n <= COR_HTTP_PENDING_MAX)
        cor_stream_read_start(c->stream);
    c->is_skipping = !cor_h1_is_done(c->h1);
    if (c->is_skipping) {
        cor_h1_release_head(c->h1);
        c->begun_ms = cor_conn_now_ms(c);
    } else {
        cor_h1_next(c->h1, false);
        c->begun_ms = 0;
    }
    charge_head(c);
    c->state = COR_CONN_READING;
    if (c->pending.n > 0)
        cor_stream_want_writable(c->stream);
    settle(c);
}

/* For an answer to a request whose body has not come: returns whether the rest of the body can be
 * skipped. A client that waits for 100 Continue may or may not send its body. */
static bool can_skip(const struct cor_conn *c)
{
    return cor_h1_is_done(c->h1) ||
           (!c->wants_continue && cor_h1_body_left(c->h1) <= COR_BODY_SKIPPED_MAX);
}

static void write_out(struct cor_conn *c, const struct cor_str *spans, size_t n)
{
    int r = cor_stream_write(c->stream, spans, n);

    if (r < 0 && r != -COR_ECANCELED)
        cor_stream_fail(c->stream, -COR_ENOMEM);
}

static void on_start(struct cor_http_response *resp, int status,
                     const struct cor_http_header *headers, size_t nheaders, uint64_t length)
{
    struct cor_conn *c = resp->conn;
    struct cor_buf *out = &c->worker->head;
    struct cor_h1_message msg = {.to_head =
                                     resp->has_request && resp->request.method == COR_HTTP_HEAD,
                                 .peer_minor = cor_h1_head(c->h1)->minor,
                                 .keep_alive = c->keep_alive,
                                 .length = length,
                                 .date = cor_worker_date(c->worker),
                                 .headers = headers,
                                 .nheaders = nheaders};
    struct cor_str head;

    c->keep_alive = msg.keep_alive = c->keep_alive && can_skip(c);
    cor_buf_reset(out);
    if (cor_h1_write_response(out, status, &msg, &c->framing) < 0) {
        cor_stream_fail(c->stream, -COR_ENOMEM);
        return;
    }
    if (c->framing == COR_H1_UNTIL_CLOSE)
        c->keep_alive = false;
    head = cor_buf_str(out);
    write_out(c, &head, 1);
}

static size_t on_room(const struct cor_http_response *resp)
{
    size_t room = cor_stream_room(resp->conn->stream);

    return room > COR_HTTP_OUT_SLACK ? room - COR_HTTP_OUT_SLACK : 0;
}

/* Copies `n` bytes of the spans after the first `skip`, framed. */
static void write_body(struct cor_conn *c, const struct cor_str *spans, size_t skip, size_t n)
{
    bool chunked = c->framing == COR_H1_CHUNKED;
    struct cor_str batch[SPANS_AT_ONCE + 2];
    char chunk_head[COR_H1_CHUNK_HEAD_MAX];
    size_t nbatch = 0;

    if (chunked)
        batch[nbatch++] = cor_str(chunk_head, cor_h1_chunk_head(chunk_head, n));
    for (; n > 0; spans++) {
        struct cor_str span = *spans;
        size_t skipped = skip < span.n ? skip : span.n;

        span = cor_str_from(span, skipped);
        skip -= skipped;
        span.n = span.n < n ? span.n : n;
        n -= span.n;
        if (span.n > 0)
            batch[nbatch++] = span;
        if (nbatch > SPANS_AT_ONCE) {
            write_out(c, batch, nbatch);
            nbatch = 0;
        }
    }
    if (chunked)
        batch[nbatch++] = COR_STR(COR_H1_CHUNK_END);
    write_out(c, batch, nbatch);
}

/* Writes what precedes a message of `n` bytes. False: there is no memory. */
static bool begin_message(struct cor_conn *c, size_t n)
{
    struct cor_buf *out = &c->worker->head;
    struct cor_str head;

    cor_buf_reset(out);
    if (c->upgrade->begin(c->upgrade, n, out) < 0) {
        cor_stream_fail(c->stream, -COR_ENOMEM);
        return false;
    }
    head = cor_buf_str(out);
    write_out(c, &head, 1);
    c->message_left = n;
    return true;
}

static size_t on_write(struct cor_http_response *resp, const struct cor_str *spans, size_t nspans,
                       size_t skip, size_t n)
{
    struct cor_conn *c = resp->conn;
    size_t room = on_room(resp), take = n < room ? n : room;

    if (c->upgrade) {
        assert(c->message_left == 0 || c->message_left == n);
        if (c->message_left == 0 && take > 0 && !begin_message(c, n))
            return n; /* the connection is broken: on_gone follows */
        c->message_left -= c->message_left > 0 ? take : 0;
        if (c->message_left == 0 && c->pending.n > 0)
            cor_stream_want_writable(c->stream);
    }

    if (take > 0)
        write_body(c, spans, skip, take);
    if (take < n)
        cor_stream_want_writable(c->stream);
    return take;
}

static void on_finish(struct cor_http_response *resp)
{
    struct cor_conn *c = resp->conn;
    struct cor_str last = COR_STR(COR_H1_LAST_CHUNK);

    if (c->upgrade) {
        cor_buf_reset(&c->worker->head);
        assert(c->message_left == 0);
        if (c->upgrade->end(c->upgrade, &c->worker->head) == 0) {
            last = cor_buf_str(&c->worker->head);
            write_out(c, &last, 1);
        }
    }
    if (c->framing == COR_H1_CHUNKED)
        write_out(c, &last, 1);
    finish(c);
}

static void on_cut(struct cor_http_response *resp)
{
    cor_conn_cut(resp->conn);
}

/* What is read and written after it is not HTTP. */
static void answer_101(struct cor_conn *c, const struct cor_http_header *headers, size_t nheaders)
{
    struct cor_buf *out = &c->worker->head;
    const struct cor_h1_message msg = {
        .peer_minor = 1, .keep_alive = true, .headers = headers, .nheaders = nheaders};
    struct cor_str head;

    c->keep_alive = false;
    cor_buf_reset(out);
    if (cor_h1_write_response(out, 101, &msg, &c->framing) < 0) {
        cor_stream_fail(c->stream, -COR_ENOMEM);
        return;
    }
    head = cor_buf_str(out);
    write_out(c, &head, 1);
}

static void on_upgrade(struct cor_http_response *resp, const struct cor_http_header *headers,
                       size_t nheaders, struct cor_http_upgrade *take_upgrade)
{
    struct cor_conn *c = resp->conn;

    assert(!c->upgrade && cor_h1_is_done(c->h1));
    c->upgrade = take_upgrade;
    answer_101(c, headers, nheaders);
    /* What the client has sent already is not a request. */
    cor_stream_want_writable(c->stream);
}

static void on_wake(struct cor_http_response *resp)
{
    resp->is_woken = true;
    cor_stream_want_turn(resp->conn->stream);
}

static void on_tunnel(struct cor_http_response *resp, const struct cor_http_header *headers,
                      size_t nheaders)
{
    struct cor_conn *c = resp->conn;

    assert(!c->is_tunnel && cor_h1_is_done(c->h1));
    c->is_tunnel = true;
    resp->body_ended = resp->body_end_told = false;
    answer_101(c, headers, nheaders);
    on_wake(resp);
}

static const struct cor_response_ops h1_ops = {on_start,  on_room,    on_write,  on_finish, on_cut,
                                               on_settle, on_upgrade, on_tunnel, on_wake};

int cor_conn_h1_open(struct cor_conn *c)
{
    c->h1 = cor_h1_new(COR_H1_SERVER, &c->worker->server->h1_limits, &h1_cbs, c);
    if (!c->h1)
        return -COR_ENOMEM;
    cor_response_init(&c->resp, c, &h1_ops);
    return 0;
}

void cor_conn_h1_deinit(struct cor_conn *c)
{
    if (!c->h1)
        return;
    cor_h1_free(c->h1);
    if (c->upgrade)
        c->upgrade->free(c->upgrade);
    cor_response_reset(&c->resp);
}

static void answer_error(struct cor_conn *c, int status, const char *message)
{
    c->keep_alive = false;
    c->state = COR_CONN_RESPONDING;
    cor_response_error(&c->resp, status, message);
}

/* A message that could not be read: what follows it cannot be either. */
static void refuse(struct cor_conn *c, int r)
{
    const struct cor_h1_error *error = cor_h1_error(c->h1);

    if (c->is_skipping) {
        cor_conn_end(c);
        return;
    }
    /* The answer to a body that is streamed may have begun. */
    if (c->resp.state == COR_RESPONSE_STARTED) {
        cor_conn_gone(c, -COR_ECANCELED);
        return;
    }
    cor_response_tell_gone(&c->resp, -COR_ECANCELED);
    if (error->status != 500) {
        answer_error(c, error->status, error->text);
        return;
    }
    c->keep_alive = false;
    c->state = COR_CONN_RESPONDING;
    cor_response_refuse(&c->resp, r);
}

/* There is no room for more of a body that is held back or streamed. */
static void refuse_body(struct cor_conn *c, int r)
{
    c->keep_alive = false;
    if (c->resp.state == COR_RESPONSE_STARTED)
        cor_conn_gone(c, -COR_ECANCELED);
    else
        cor_response_refuse(&c->resp, r);
}

/* The same for one that is collected, while it waits for a turn of the loop with time for it. */
static void refuse_collected(struct cor_conn *c)
{
    c->state = COR_CONN_RESPONDING;
    cor_response_refuse(&c->resp, -COR_EBUSY);
}

/* There is no room for what a pipelining client has sent: this is its last answer. */
static void drop_input(struct cor_conn *c)
{
    bool is_body = cor_response_defers_body(&c->resp) && (c->is_tunnel || !cor_h1_is_done(c->h1));

    cor_buf_deinit(&c->pending);
    cor_conn_charge(c, &c->pending_charged, 0);
    c->keep_alive = false;
    c->drops_input = true;
    if (c->upgrade) /* its messages have a meaning only one after the other */
        cor_conn_gone(c, -COR_ECANCELED);
    else if (is_body)
        refuse_body(c, -COR_EBUSY);
    else if (c->state == COR_CONN_READING && cor_response_is_held(&c->resp))
        refuse_collected(c);
    else if (c->state == COR_CONN_READING)
        cor_conn_end(c);
}

static void keep_for_later(struct cor_conn *c, struct cor_str bytes)
{
    if (bytes.n == 0 || c->drops_input)
        return;
    if (c->upgrade)
        cor_stream_want_writable(c->stream);
    if (cor_buf_adds(&c->pending, bytes) < 0) {
        cor_stream_fail(c->stream, -COR_ENOMEM);
        return;
    }
    if (cor_conn_charge_input(c, &c->pending_charged, c->pending.cap) < 0) {
        drop_input(c);
        return;
    }
    if (c->pending.n > COR_HTTP_PENDING_MAX)
        cor_stream_read_stop(c->stream);
    if (c->state == COR_CONN_READING)
        cor_stream_want_writable(c->stream);
}

static void keep_rest(struct cor_conn *c, struct cor_str bytes)
{
    if (c->state == COR_CONN_READING || c->state == COR_CONN_RESPONDING)
        keep_for_later(c, bytes);
}

static void say_continue(struct cor_conn *c)
{
    struct cor_str go_on = COR_STR(COR_H1_CONTINUE);

    c->wants_continue = false;
    cor_stream_write(c->stream, &go_on, 1);
}

/* The head is complete. True: the request is accepted. */
static bool show_head(struct cor_conn *c)
{
    c->state = COR_CONN_RESPONDING;
    cor_response_show_head(&c->resp, cor_h1_head(c->h1)->length);
    if (c->resp.state != COR_RESPONSE_ACCEPTED)
        return false;
    c->state = COR_CONN_READING;
    return true;
}

/* The body has not come, or the answer is not complete: meanwhile a head that was shown goes,
 * another is charged. */
static int settle_head(struct cor_conn *c)
{
    if (c->resp.lacks_head)
        cor_h1_release_head(c->h1);
    return charge_head(c);
}

static void wait_for_answer(struct cor_conn *c)
{
    (void)settle_head(c);
    settle(c);
}

/* The request is whole, and accepted. */
static void dispatch_request(struct cor_conn *c)
{
    c->state = COR_CONN_RESPONDING;
    if (c->worker->is_draining)
        c->keep_alive = false;
    cor_response_dispatch(&c->resp);
}

/* The body of a request that was answered has been passed over. */
static void end_skipping(struct cor_conn *c)
{
    c->is_skipping = false;
    if (!c->keep_alive) {
        cor_conn_end(c);
        return;
    }
    cor_h1_next(c->h1, false);
    charge_head(c);
    c->begun_ms = 0;
    settle(c);
}

/* The message is not whole yet. */
static void wait_for_more(struct cor_conn *c)
{
    if (settle_head(c) < 0) {
        answer_error(c, 429, "too many requests of this client are being read");
        return;
    }
    if (c->begun_ms == 0)
        c->begun_ms = cor_conn_now_ms(c);
    settle(c);
}

static bool is_streaming(const struct cor_conn *c)
{
    return c->state == COR_CONN_RESPONDING && cor_response_is_streaming(&c->resp);
}

/* The next piece of a streamed body among `bytes`, from which it is removed; empty: more of them
 * are needed, or the body has ended, or cannot be read. */
static struct cor_str next_piece(struct cor_conn *c, struct cor_str *bytes)
{
    size_t used;
    int r;

    c->piece = (struct cor_str){0};
    if (c->is_tunnel) {
        c->piece = *bytes;
        *bytes = (struct cor_str){0};
        c->resp.body_ended = c->piece.n == 0 && c->peer_ended;
        return c->piece;
    }
    r = cor_h1_feed(c->h1, *bytes, &used);
    *bytes = cor_str_from(*bytes, used);
    if (r < 0) {
        bytes->n = 0;
        refuse(c, r);
        return (struct cor_str){0};
    }
    c->resp.body_ended = cor_h1_is_done(c->h1);
    return c->piece;
}

/* Shows a streamed body to its handler, as far as that takes it. */
static void feed_body(struct cor_conn *c, struct cor_str bytes)
{
    while (is_streaming(c) && !c->resp.is_blocked && !c->resp.body_ended) {
        struct cor_str piece = next_piece(c, &bytes);
        size_t taken;
        int r;

        if (piece.n == 0)
            break;
        r = cor_response_pass_body(&c->resp, piece, &taken);
        if (r < 0)
            refuse_body(c, r);
    }
    if (is_streaming(c) && c->resp.is_blocked)
        cor_stream_read_stop(c->stream);
    else if (is_streaming(c))
        cor_response_show_end(&c->resp);
    keep_rest(c, bytes);
}

/* The body is taken as a stream from now on. */
static void begin_stream(struct cor_conn *c)
{
    cor_h1_set_body_max(c->h1, UINT64_MAX);
    c->resp.body_ended = cor_h1_is_done(c->h1) && !c->is_tunnel;
    if (c->wants_continue && c->pending.n == 0)
        say_continue(c);
    c->wants_continue = false;
}

/* The head was shown, and the request is not to be collected, or not yet. */
static void wait_for_handler(struct cor_conn *c, struct cor_str bytes)
{
    if (c->state == COR_CONN_RESPONDING)
        wait_for_answer(c);
    if (!is_streaming(c)) {
        keep_rest(c, bytes);
        return;
    }
    if (bytes.n > 0)
        c->wants_continue = false;
    begin_stream(c);
    feed_body(c, bytes);
}

/* Takes input up to the end of one request. */
static void feed(struct cor_conn *c, struct cor_str bytes)
{
    size_t used;
    int r = cor_h1_feed(c->h1, bytes, &used);

    bytes = cor_str_from(bytes, used);
    if (r == 0 && cor_h1_is_paused(c->h1)) {
        if (!show_head(c)) {
            wait_for_handler(c, bytes);
            return;
        }
        if (c->wants_continue && bytes.n == 0)
            say_continue(c);
        c->wants_continue = false;
        r = cor_h1_feed(c->h1, bytes, &used);
        bytes = cor_str_from(bytes, used);
    }
    if (r < 0) {
        refuse(c, r);
        return;
    }
    if (!cor_h1_is_done(c->h1)) {
        wait_for_more(c);
        return;
    }
    if (c->is_skipping)
        end_skipping(c);
    else if (c->resp.state == COR_RESPONSE_ACCEPTED || show_head(c))
        dispatch_request(c);
    wait_for_handler(c, bytes);
}

/* Returns whether the upgraded protocol may take input now and write its answers. */
static bool can_feed_upgrade(const struct cor_conn *c)
{
    return c->message_left == 0 && cor_stream_room(c->stream) >= COR_HTTP_OUT_SLACK;
}

static void feed_upgrade(struct cor_conn *c, struct cor_str bytes)
{
    struct cor_buf *out = &c->worker->head;
    int r = 0;

    while (r == 0 && bytes.n > 0 && can_feed_upgrade(c)) {
        struct cor_str slice = cor_str(bytes.p, bytes.n < UPGRADE_SLICE ? bytes.n : UPGRADE_SLICE);
        struct cor_str answer;

        bytes = cor_str_from(bytes, slice.n);
        cor_buf_reset(out);
        r = c->upgrade->feed(c->upgrade, slice, out);
        answer = cor_buf_str(out);
        if (answer.n > 0)
            write_out(c, &answer, 1);
    }
    if (r == 0) {
        keep_for_later(c, bytes);
        return;
    }
    cor_response_tell_gone(&c->resp, -COR_ECANCELED);
    if (c->state != COR_CONN_CLOSING)
        cor_conn_end(c);
}

/* Is nothing before what comes now of a streamed body? */
static bool can_stream(const struct cor_http_response *resp)
{
    return !resp->is_blocked && !resp->body_ended && resp->body.n == 0;
}

void cor_conn_h1_data(struct cor_conn *c, struct cor_str bytes)
{
    if (c->upgrade && c->state == COR_CONN_RESPONDING && c->pending.n == 0 && can_feed_upgrade(c))
        feed_upgrade(c, bytes);
    else if (c->state == COR_CONN_READING && c->pending.n == 0 &&
             cor_worker_has_time(c->worker, false))
        feed(c, bytes);
    else if (is_streaming(c) && can_stream(&c->resp) && c->pending.n == 0)
        feed_body(c, bytes);
    else if (c->state == COR_CONN_READING || c->state == COR_CONN_RESPONDING)
        keep_for_later(c, bytes);
}

static void feed_pending(struct cor_conn *c)
{
    struct cor_buf pending = c->pending;

    cor_buf_init(&c->pending, pending.max);
    cor_conn_charge(c, &c->pending_charged, 0);
    if (c->upgrade)
        feed_upgrade(c, cor_buf_str(&pending));
    else if (is_streaming(c))
        feed_body(c, cor_buf_str(&pending));
    else
        feed(c, cor_buf_str(&pending));
    cor_buf_deinit(&pending);
    if (c->state != COR_CONN_CLOSING && c->pending.n <= COR_HTTP_PENDING_MAX && !c->peer_ended &&
        !c->resp.is_blocked)
        cor_stream_read_start(c->stream);
}

/* The handler has decided that a body which was held back is collected. */
static void begin_collect(struct cor_conn *c)
{
    cor_response_accept(&c->resp);
    if (c->resp.state != COR_RESPONSE_ACCEPTED)
        return;
    c->state = COR_CONN_READING;
    if (c->wants_continue && c->pending.n == 0)
        say_continue(c);
    c->wants_continue = false;
    feed_pending(c);
}

/* The handler has decided about the body, or takes more of it. */
static void proceed(struct cor_conn *c)
{
    struct cor_http_response *resp = &c->resp;
    bool is_due = resp->intake_is_due;

    resp->is_woken = resp->intake_is_due = false;
    if (c->state != COR_CONN_RESPONDING || !cor_response_is_held(resp))
        return;
    if (is_due && resp->intake == COR_INTAKE_COLLECT) {
        begin_collect(c);
        return;
    }
    if (is_due)
        begin_stream(c);
    if (is_streaming(c) && !resp->is_blocked)
        cor_response_show_kept(resp);
    if (is_streaming(c) && !resp->is_blocked && !resp->body_ended)
        feed_pending(c);
    else if (is_streaming(c))
        cor_response_show_end(resp);
}

void cor_conn_h1_peer_ended(struct cor_conn *c)
{
    if (is_streaming(c) && can_stream(&c->resp) && c->pending.n == 0)
        feed_body(c, (struct cor_str){0});
}

void cor_conn_h1_writable(struct cor_conn *c)
{
    if (c->resp.is_woken)
        proceed(c);
    if (c->state == COR_CONN_READING && c->pending.n > 0 && !cor_worker_has_time(c->worker, true))
        cor_stream_want_turn(c->stream);
    else if (c->state == COR_CONN_READING && c->pending.n > 0)
        feed_pending(c);
    else if (on_room(&c->resp) > 0)
        cor_response_writable(&c->resp);
    if (c->upgrade && c->state == COR_CONN_RESPONDING && c->pending.n > 0 && can_feed_upgrade(c))
        feed_pending(c);
}

static void on_deadline(struct cor_conn *c)
{
    if (c->resp.state == COR_RESPONSE_STARTED) {
        cor_conn_gone(c, -COR_ETIMEOUT);
        return;
    }
    if (c->state == COR_CONN_READING)
        c->keep_alive = false;
    c->state = COR_CONN_RESPONDING;
    cor_response_time_out(&c->resp);
}

void cor_conn_h1_timer(struct cor_conn *c)
{
    if (c->state == COR_CONN_RESPONDING && c->resp.state == COR_RESPONSE_ENDED)
        cor_conn_cut(c);
    else if (c->state == COR_CONN_RESPONDING || c->resp.has_request)
        on_deadline(c);
    else if (!cor_h1_is_begun(c->h1) || c->is_skipping)
        cor_conn_cut(c);
    else
        answer_error(c, 408, "the request's head took too long");
}

void cor_conn_h1_drain(struct cor_conn *c)
{
    c->keep_alive = false;
    if (c->state == COR_CONN_READING && !cor_h1_is_begun(c->h1) && c->pending.n == 0)
        cor_conn_end(c);
    else
        cor_response_tell_drain(&c->resp);
}
