/* clang-format off */
/* HTTP/2 on a connection: each stream is an exchange, a request and its response, with a timer of
 * its own. The session takes what a response writes when windows and output have room, so a
 * response keeps nothing here.
 *
 * A single read may bring thousands of small requests. So that the other connections of the loop
 * have their turn, a connection begins and runs a bounded number of requests in each turn:
 *
 *   input ──► slices of SLICE_BYTES ──► session ──► on_request: the head is shown (at most
 *     │                                    │        HEADS_PER_TURN, then no further slice)
 *     │                                    └──────► on_end: the request is run, or waits in `ready`
 *     └── what is left: `pending`, and the socket is not read
 *   next turn (on_writable): `ready` in its order, then `pending`, then the socket
 *
 * A request that waits has its deadline, as any other. No memory for the input that waits fails the
 * session, and so does a budget that has no room for it. */
/* clang-format on */
#include <assert.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/http_server_int.h"
#include "net/stream/net.h"

/* So many heads are shown, and so many requests run, in one turn; an ordinary request takes 20 to
 * 40 microseconds. */
#define HEADS_PER_TURN 64u
#define RUNS_PER_TURN  64u
/* The second and later requests of a turn are run until this time has passed. */
#define RUN_US 4000u
/* The session is fed so much at once: room for some 300 of the smallest requests. */
#define SLICE_BYTES 4096u

struct exchange {
    struct cor_dlist link;
    struct cor_dlist ready_link; /* conn->ready, while the request waits to be run */
    struct cor_dlist woken_link; /* conn->woken, while its body waits to be looked at */
    struct cor_http_response resp;
    struct cor_h2_stream *stream; /* NULL: its end was said, or it is gone */
    struct cor_timer timer;
    uint64_t stalled_ms; /* since when the client takes nothing of what waits; 0: it does */
    bool is_dispatching; /* the handler runs: the memory stays until it returns */
    bool wants_continue; /* 100 Continue is to be sent when the body is wanted */
    bool is_over;
    size_t charged; /* to the connection's share: its own memory and the stream's */
    struct cor_http_header headers[]; /* of the request, when it is kept; their text follows */
};

static const struct cor_h2_stream_cbs stream_cbs;

static struct exchange *exchange_of(const struct cor_http_response *resp)
{
    return COR_CONTAINER_OF((struct cor_http_response *)resp, struct exchange, resp);
}

static void settle_conn(struct cor_conn *c)
{
    uint64_t wait_ms = c->is_leaving ? COR_HTTP_GOAWAY_MS : cor_conn_limits(c)->idle_timeout_ms;

    if (c->state == COR_CONN_READING)
        cor_conn_set_timer(c, &c->timer,
                           c->nexchanges > 0 ? COR_HTTP_NO_DEADLINE : cor_conn_now_ms(c) + wait_ms);
}

static void free_exchange(struct exchange *x)
{
    cor_budget_give(&x->resp.conn->share, x->charged);
    cor_response_reset(&x->resp);
    cor_free(x);
}

/* Neither handler nor session know it any more. */
static void finish(struct exchange *x)
{
    struct cor_conn *c = x->resp.conn;

    cor_timer_cancel(&x->timer);
    cor_dlist_remove(&x->link);
    cor_dlist_remove(&x->ready_link);
    cor_dlist_remove(&x->woken_link);
    x->resp.state = COR_RESPONSE_NONE;
    x->is_over = true;
    if (!x->is_dispatching)
        free_exchange(x);
    if (--c->nexchanges > 0)
        return;
    settle_conn(c);
    if (c->is_leaving)
        cor_stream_want_writable(c->stream);
}

static void reset(struct exchange *x)
{
    struct cor_h2_stream *stream = COR_STEAL(x->stream);

    if (stream)
        cor_h2_reset(stream, COR_H2_INTERNAL_ERROR);
    finish(x);
}

static void settle(struct cor_http_response *resp)
{
    struct exchange *x = exchange_of(resp);
    uint64_t due_ms = resp->deadline_ms, stalled_ms;

    if (x->stalled_ms > 0) {
        stalled_ms = x->stalled_ms + cor_conn_limits(resp->conn)->request_timeout_ms;
        due_ms = stalled_ms < due_ms ? stalled_ms : due_ms;
    }
    cor_conn_set_timer(resp->conn, &x->timer, due_ms);
}

/* The handler's headers and this layer's. */
static size_t add_fields(struct cor_http_header *fields, const struct cor_http_header *headers,
                         size_t nheaders, struct cor_http_worker *w)
{
    for (size_t i = 0; i < nheaders; i++)
        fields[i] = headers[i];
    fields[nheaders] = (struct cor_http_header){COR_STR("date"), cor_worker_date(w)};
    return nheaders + 1;
}

static void on_start(struct cor_http_response *resp, int status,
                     const struct cor_http_header *headers, size_t nheaders, uint64_t length)
{
    struct exchange *x = exchange_of(resp);
    struct cor_http_worker *w = resp->conn->worker;
    struct cor_http_header fields[COR_H2_SEND_HEADERS_MAX];
    bool has_body = !resp->is_bodiless && length > 0;
    bool says_length = length != COR_HTTP_LENGTH_UNKNOWN && status != 204 && status != 304;
    int r = 0;

    static_assert(COR_HTTP_RESPONSE_HEADERS_MAX + 2 <= COR_H2_SEND_HEADERS_MAX,
                  "the headers of a response are sent with two more");
    assert(nheaders <= COR_HTTP_RESPONSE_HEADERS_MAX);
    /* A request that is answered while it waits for its turn, because its time is up, is not run.
     */
    cor_dlist_remove(&x->ready_link);
    cor_buf_reset(&w->head);
    if (r == 0 && says_length)
        r = cor_buf_addu64(&w->head, length);
    if (r == 0) {
        size_t n = add_fields(fields, headers, nheaders, w);

        if (says_length)
            fields[n++] =
                (struct cor_http_header){COR_STR("content-length"), cor_buf_str(&w->head)};
        r = cor_h2_respond(x->stream, status, fields, n, has_body);
    }
    if (r < 0) {
        cor_h2_reset(x->stream, COR_H2_INTERNAL_ERROR);
        cor_stream_fail(resp->conn->stream, -COR_ENOMEM);
    }
    if (r < 0 || !has_body)
        x->stream = NULL;
}

static size_t on_room(const struct cor_http_response *resp)
{
    const struct exchange *x = exchange_of(resp);

    return x->stream ? cor_h2_room(x->stream) : 0;
}

static size_t on_write(struct cor_http_response *resp, const struct cor_str *spans, size_t nspans,
                       size_t skip, size_t n)
{
    struct exchange *x = exchange_of(resp);
    bool is_last = n == resp->left;
    size_t taken;

    /* Its start failed, and so does the connection. */
    if (!x->stream)
        return 0;
    taken = cor_h2_write(x->stream, spans, nspans, skip, is_last);
    if (is_last && taken == n)
        x->stream = NULL;
    if (taken < n && x->stalled_ms == 0) {
        x->stalled_ms = cor_conn_now_ms(resp->conn);
        settle(resp);
    }
    return taken;
}

static void on_finish(struct cor_http_response *resp)
{
    struct exchange *x = exchange_of(resp);
    struct cor_h2_stream *stream = COR_STEAL(x->stream);

    if (stream)
        cor_h2_write(stream, NULL, 0, 0, true);
    finish(x);
}

static void on_cut(struct cor_http_response *resp)
{
    reset(exchange_of(resp));
}

static void on_wake(struct cor_http_response *resp)
{
    struct exchange *x = exchange_of(resp);

    if (cor_dlist_empty(&x->woken_link))
        cor_dlist_push(&resp->conn->woken, &x->woken_link);
    cor_stream_want_turn(resp->conn->stream);
}

static const struct cor_response_ops h2_ops = {on_start, on_room, on_write, on_finish, on_cut,
                                               settle,   NULL,    NULL,     on_wake};

static void on_timer(struct cor_timer *timer)
{
    struct exchange *x = COR_CONTAINER_OF(timer, struct exchange, timer);
    struct cor_http_response *resp = &x->resp;
    bool is_started = resp->state == COR_RESPONSE_STARTED || resp->state == COR_RESPONSE_ENDED;

    if (!is_started) {
        cor_response_time_out(resp);
        return;
    }
    cor_response_tell_gone(resp, -COR_ETIMEOUT);
    reset(x);
}

static size_t head_text_bytes(const struct cor_h2_head *head)
{
    size_t n = head->method.n + head->path.n;

    for (size_t i = 0; i < head->nheaders; i++)
        n += head->headers[i].name.n + head->headers[i].value.n;
    return n;
}

static struct cor_str keep(char **text, struct cor_str s)
{
    struct cor_str copy = cor_str(*text, s.n);

    if (s.n > 0)
        memcpy(*text, s.p, s.n);
    *text += s.n;
    return copy;
}

static void copy_head(struct exchange *x, const struct cor_h2_head *head)
{
    struct cor_http_request *req = &x->resp.request;
    char *text = (char *)(x->headers + head->nheaders);

    for (size_t i = 0; i < head->nheaders; i++) {
        x->headers[i].name = keep(&text, head->headers[i].name);
        x->headers[i].value = keep(&text, head->headers[i].value);
    }
    req->headers = x->headers;
    req->method_name = keep(&text, head->method);
    req->target = keep(&text, head->path);
}

/* A handler that wants to see the head by itself sees the session's; another one gets a copy that
 * lasts. */
static struct exchange *new_exchange(struct cor_conn *c, const struct cor_h2_head *head)
{
    bool keeps_head = !c->worker->server->opts.on_head;
    size_t n = keeps_head ? head->nheaders * sizeof(head->headers[0]) + head_text_bytes(head) : 0;
    size_t bytes = sizeof(struct exchange) + n;
    struct exchange *x = cor_alloc(bytes);
    struct cor_http_request *req;

    if (!x)
        return NULL;
    memset(x, 0, sizeof(*x));
    cor_dlist_init(&x->ready_link);
    cor_dlist_init(&x->woken_link);
    cor_response_init(&x->resp, c, &h2_ops);
    if (cor_conn_charge(c, &x->charged, bytes + COR_HTTP_STREAM_BYTES) < 0)
        return cor_free(x);
    cor_timer_init(&x->timer, c->worker->loop, on_timer);
    req = &x->resp.request;
    req->headers = head->headers;
    req->nheaders = head->nheaders;
    req->method_name = head->method;
    req->target = head->path;
    if (keeps_head)
        copy_head(x, head);
    cor_dlist_push(&c->exchanges, &x->link);
    c->nexchanges++;
    return x;
}

/* The handler has returned. False: the exchange is over, and its memory gone. */
static bool end_dispatching(struct exchange *x)
{
    x->is_dispatching = false;
    if (!x->is_over)
        return true;
    free_exchange(x);
    return false;
}

/* The body is wanted from now on. */
static void say_continue(struct exchange *x)
{
    if (x->wants_continue && x->stream)
        (void)cor_h2_continue(x->stream);
    x->wants_continue = false;
}

static void show_head(struct exchange *x, const struct cor_h2_head *head)
{
    x->wants_continue = head->expects_continue && head->length > 0;
    x->is_dispatching = true;
    cor_response_show_head(&x->resp, head->length);
    if (end_dispatching(x) &&
        (x->resp.state == COR_RESPONSE_ACCEPTED || cor_response_is_streaming(&x->resp)))
        say_continue(x);
}

/* There is no room for a stream. A client that has authenticated is answered. Others may send it
 * again at once, as REFUSED_STREAM says; a connection that goes on and on ends. */
static int refuse(struct cor_conn *c, struct cor_h2_stream *s)
{
    static const struct cor_http_header later = {COR_STR("retry-after"), COR_STR("1")};

    if (cor_budget_rank(&c->share) != COR_HTTP_UNKNOWN)
        return cor_h2_respond(s, 429, &later, 1, false);
    if (++c->nrefused > COR_HTTP_REFUSALS_MAX)
        cor_h2_end_flood(c->h2, "too many streams at once");
    return -COR_EBUSY;
}

/* The counters are those of the present turn. */
static void enter_turn(struct cor_conn *c)
{
    uint64_t turn = cor_net_turn(c->worker->net);

    if (c->turn == turn)
        return;
    c->turn = turn;
    c->nbegun = c->nrun = 0;
}

/* May one more request be run in this turn? The connection's first one, if the loop has time for
 * requests; most turns have no other, and read no clock. */
static bool may_run(struct cor_conn *c, bool has_waited)
{
    uint64_t now_us;

    enter_turn(c);
    if (c->nrun >= RUNS_PER_TURN || !cor_worker_has_time(c->worker, has_waited))
        return false;
    if (c->nrun == 0)
        return true;
    now_us = cor_clock_mono_us(cor_clock_real());
    if (c->nrun == 1)
        c->ran_since_us = now_us;
    return now_us - c->ran_since_us < RUN_US;
}

static void run(struct exchange *x)
{
    assert(x->resp.state == COR_RESPONSE_ACCEPTED);
    x->resp.conn->nrun++;
    x->is_dispatching = true;
    cor_response_dispatch(&x->resp);
    end_dispatching(x);
}

static void run_ready(struct cor_conn *c)
{
    while (!cor_dlist_empty(&c->ready) && may_run(c, true))
        run(COR_CONTAINER_OF(cor_dlist_pop(&c->ready), struct exchange, ready_link));
}

/* The handler has decided what becomes of a body that was held back. */
static void begin_intake(struct exchange *x)
{
    struct cor_http_response *resp = &x->resp;
    size_t kept = resp->body.n;

    resp->intake_is_due = false;
    if (resp->intake == COR_INTAKE_COLLECT) {
        cor_response_accept(resp);
        if (resp->state != COR_RESPONSE_ACCEPTED)
            return;
        if (kept > 0)
            cor_h2_consume(x->stream, kept);
        if (resp->body_ended)
            cor_dlist_push(&resp->conn->ready, &x->ready_link);
    }
    if (kept == 0 && !resp->body_ended)
        say_continue(x);
}

/* Shows what was kept of a streamed body, and its end. */
static void show_kept(struct exchange *x)
{
    size_t taken = cor_response_show_kept(&x->resp);

    if (taken > 0 && x->stream)
        cor_h2_consume(x->stream, taken);
    if (!x->resp.is_blocked)
        cor_response_show_end(&x->resp);
}

static void run_woken(struct cor_conn *c)
{
    struct cor_dlist batch, *link;

    if (cor_dlist_empty(&c->woken))
        return;
    cor_dlist_init(&batch);
    cor_dlist_splice(&batch, &c->woken);
    while ((link = cor_dlist_pop(&batch))) {
        struct exchange *x = COR_CONTAINER_OF(link, struct exchange, woken_link);

        if (!cor_response_is_held(&x->resp))
            continue;
        x->is_dispatching = true;
        if (x->resp.intake_is_due)
            begin_intake(x);
        if (cor_response_is_streaming(&x->resp) && !x->resp.is_blocked)
            show_kept(x);
        end_dispatching(x);
    }
}

static int on_request(struct cor_h2_stream *s, const struct cor_h2_head *head, void *arg)
{
    struct cor_conn *c = arg;
    struct exchange *x = c->state == COR_CONN_READING ? new_exchange(c, head) : NULL;
    struct cor_http_request *req;
    int r;

    enter_turn(c);
    c->nbegun++;
    if (!x)
        return c->state == COR_CONN_READING ? refuse(c, s) : -COR_EBUSY;
    x->stream = s;
    req = &x->resp.request;
    cor_h2_stream_set_cbs(s, &stream_cbs, x);
    r = cor_response_begin(&x->resp, req->method_name, req->target);
    if (c->nexchanges == 1)
        settle_conn(c);
    settle(&x->resp);
    if (r < 0)
        cor_response_refuse(&x->resp, r);
    else
        show_head(x, head);
    return 0;
}

/* More of a body that is held back or streamed. */
static void pass_body(struct exchange *x, struct cor_str piece)
{
    size_t taken;
    int r;

    x->is_dispatching = true;
    r = cor_response_pass_body(&x->resp, piece, &taken);
    if (r == 0 && taken > 0 && x->stream)
        cor_h2_consume(x->stream, taken);
    if (r < 0 && x->resp.state == COR_RESPONSE_STARTED) {
        cor_response_tell_gone(&x->resp, -COR_ECANCELED);
        reset(x);
    } else if (r < 0) {
        cor_response_refuse(&x->resp, r);
    }
    end_dispatching(x);
}

static int on_body(struct cor_h2_stream *s, struct cor_str piece, void *arg)
{
    struct exchange *x = arg;
    int r;

    if (cor_response_defers_body(&x->resp)) {
        pass_body(x, piece);
        return 0;
    }
    /* It has been refused, and the answer waits for its reader. */
    if (x->resp.state != COR_RESPONSE_ACCEPTED)
        return 0;
    r = cor_response_take_body(&x->resp, piece);
    if (r < 0)
        cor_response_refuse(&x->resp, r);
    else
        cor_h2_consume(s, piece.n);
    return 0;
}

static void on_end(struct cor_h2_stream *s, void *arg)
{
    struct exchange *x = arg;

    x->resp.body_ended = true;
    if (cor_response_is_streaming(&x->resp)) {
        x->is_dispatching = true;
        cor_response_show_end(&x->resp);
        end_dispatching(x);
        return;
    }
    if (x->resp.state != COR_RESPONSE_ACCEPTED)
        return;
    if (cor_dlist_empty(&x->resp.conn->ready) && may_run(x->resp.conn, false))
        run(x);
    else
        cor_dlist_push(&x->resp.conn->ready, &x->ready_link);
}

static void on_stream_writable(struct cor_h2_stream *s, void *arg)
{
    struct exchange *x = arg;

    x->stalled_ms = 0;
    settle(&x->resp);
    cor_response_writable(&x->resp);
}

static void on_closed(struct cor_h2_stream *s, uint32_t code, void *arg)
{
    struct exchange *x = arg;

    x->stream = NULL;
    cor_response_tell_gone(&x->resp, -COR_ECANCELED);
    finish(x);
}

static const struct cor_h2_stream_cbs stream_cbs = {
    .on_body = on_body,
    .on_end = on_end,
    .on_writable = on_stream_writable,
    .on_closed = on_closed,
};

static size_t on_session_room(void *arg)
{
    size_t room = cor_stream_room(((struct cor_conn *)arg)->stream);

    return room > COR_HTTP_OUT_SLACK ? room - COR_HTTP_OUT_SLACK : 0;
}

static int on_session_send(const struct cor_str *spans, size_t nspans, void *arg)
{
    return cor_stream_write(((struct cor_conn *)arg)->stream, spans, nspans);
}

static void on_want_turn(void *arg)
{
    cor_stream_want_writable(((struct cor_conn *)arg)->stream);
}

static const struct cor_h2_cbs session_cbs = {
    .room = on_session_room,
    .send = on_session_send,
    .want_turn = on_want_turn,
    .on_request = on_request,
};

int cor_conn_h2_open(struct cor_conn *c)
{
    return cor_h2_new(COR_H2_SERVER, &c->worker->server->h2_limits, &session_cbs, c, &c->h2);
}

void cor_conn_h2_deinit(struct cor_conn *c)
{
    assert(c->nexchanges == 0);
    cor_h2_free(c->h2);
}

void cor_conn_h2_gone(struct cor_conn *c, int why)
{
    while (!cor_dlist_empty(&c->exchanges)) {
        struct exchange *x = COR_CONTAINER_OF(c->exchanges.next, struct exchange, link);

        x->stream = NULL;
        cor_response_tell_gone(&x->resp, why);
        finish(x);
    }
}

bool cor_conn_h2_waits_for_peer(const struct cor_conn *c)
{
    COR_DLIST_FOREACH(it, &c->exchanges) {
        if (!cor_response_waits_for_peer(&COR_CONTAINER_OF(it, struct exchange, link)->resp))
            return false;
    }
    return true;
}

/* After the session has worked. */
static void look_after(struct cor_conn *c, int r)
{
    if (c->state != COR_CONN_READING)
        return;
    if (r == 0 && cor_conn_charge_input(c, &c->head_charged, cor_h2_bytes(c->h2)) < 0) {
        cor_h2_end_flood(c->h2, "a head that is too large for now");
        r = cor_h2_turn(c->h2, cor_conn_now_ms(c));
    }
    if (r < 0) {
        cor_h2_drop_all(c->h2, COR_H2_INTERNAL_ERROR);
        cor_conn_h2_gone(c, -COR_ECANCELED);
    }
    if (r < 0 || (c->nexchanges == 0 && cor_h2_is_done(c->h2))) {
        cor_conn_end(c);
    } else if (cor_stream_room(c->stream) < COR_HTTP_CONTROL_ROOM || c->pending.n > 0 ||
               !cor_dlist_empty(&c->ready)) {
        cor_stream_read_stop(c->stream);
        cor_stream_want_writable(c->stream);
    }
}

/* Has this turn had its part of the connection's requests? */
static bool has_had_its_part(struct cor_conn *c)
{
    enter_turn(c);
    return c->nbegun >= HEADS_PER_TURN || !cor_dlist_empty(&c->ready);
}

static int keep_for_later(struct cor_conn *c, struct cor_str bytes)
{
    int r = bytes.n > 0 ? cor_buf_adds(&c->pending, bytes) : 0;

    if (r == 0 && cor_conn_charge_input(c, &c->pending_charged, c->pending.cap) < 0) {
        cor_h2_end_flood(c->h2, "too many requests at once");
        r = cor_h2_turn(c->h2, cor_conn_now_ms(c));
    }
    return r;
}

/* 0, as cor_h2_feed(), or -COR_ENOMEM. */
static int feed(struct cor_conn *c, struct cor_str bytes)
{
    int r = 0;

    while (r == 0 && bytes.n > 0 && c->state == COR_CONN_READING && !has_had_its_part(c)) {
        size_t n = bytes.n < SLICE_BYTES ? bytes.n : SLICE_BYTES;

        r = cor_h2_feed(c->h2, cor_str(bytes.p, n), cor_conn_now_ms(c));
        bytes = cor_str_from(bytes, n);
    }
    return r == 0 && c->state == COR_CONN_READING ? keep_for_later(c, bytes) : r;
}

void cor_conn_h2_data(struct cor_conn *c, struct cor_str bytes)
{
    if (c->state != COR_CONN_READING)
        return;
    if (c->pending.n > 0)
        look_after(c, keep_for_later(c, bytes));
    else
        look_after(c, feed(c, bytes));
}

static int feed_pending(struct cor_conn *c)
{
    struct cor_buf pending = c->pending;
    int r;

    cor_buf_init(&c->pending, pending.max);
    cor_conn_charge(c, &c->pending_charged, 0);
    r = feed(c, cor_buf_str(&pending));
    cor_buf_deinit(&pending);
    return r;
}

void cor_conn_h2_writable(struct cor_conn *c)
{
    int r;

    if (c->state != COR_CONN_READING)
        return;
    run_woken(c);
    run_ready(c);
    r = c->state == COR_CONN_READING ? cor_h2_turn(c->h2, cor_conn_now_ms(c)) : 0;
    if (r == 0 && c->state == COR_CONN_READING && c->pending.n > 0)
        r = feed_pending(c);
    if (!c->peer_ended && c->state == COR_CONN_READING && c->pending.n == 0 &&
        cor_dlist_empty(&c->ready))
        cor_stream_read_start(c->stream);
    look_after(c, r);
}

static void leave(struct cor_conn *c)
{
    c->is_leaving = true;
    cor_h2_shutdown(c->h2);
    settle_conn(c);
}

void cor_conn_h2_timer(struct cor_conn *c)
{
    if (c->is_leaving)
        cor_conn_end(c);
    else
        leave(c);
}

void cor_conn_h2_drain(struct cor_conn *c)
{
    struct cor_dlist batch, *link;

    if (c->state != COR_CONN_READING)
        return;
    leave(c);
    cor_dlist_init(&batch);
    cor_dlist_splice(&batch, &c->exchanges);
    while ((link = cor_dlist_pop(&batch))) {
        cor_dlist_push(&c->exchanges, link);
        cor_response_tell_drain(&COR_CONTAINER_OF(link, struct exchange, link)->resp);
    }
}
