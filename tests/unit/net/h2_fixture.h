/* Two sessions back to back in memory: what one sends is kept until pump() feeds it to the other.
 * Each end writes what it is told to a log: "req 1 GET /x" and so on. */
#ifndef COR_TEST_H2_FIXTURE_H
#define COR_TEST_H2_FIXTURE_H

#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/session/h2.h"
#include "test.h"

#define H2_STREAMS 40

struct h2_end;

struct h2_stream {
    struct h2_end *end;
    struct cor_h2_stream *s; /* NULL: not held */
    struct cor_buf body;     /* what came */
    size_t to_write;         /* bytes of 'x' still to write; then the end */
    size_t written;
    bool holds_back; /* does not consume */
};

struct h2_end {
    struct cor_h2 *h;
    struct cor_buf out;
    size_t out_max; /* what `room` is made from */
    bool wants_turn;
    int send_r; /* what `send` answers; 0: takes it */
    struct cor_buf log;
    struct h2_stream streams[H2_STREAMS];
    size_t nstreams;
    int request_r;         /* what on_request answers */
    bool answers_in_place; /* from inside on_request */
    size_t answer_bytes;
    bool has_trailers;
    int pongs, goaways;
};

static const struct cor_h2_limits h2_limits = {.streams_max = 32,
                                               .window = COR_H2_WINDOW,
                                               .head_max = COR_H2_HEAD_MAX,
                                               .headers_max = COR_H2_HEADERS_MAX};

/* The log is the test's, not the code's: its growth does not count as an allocation to fail. */
#define H2_LOG_MAX 65536

__attribute__((format(printf, 2, 3))) static void h2_log(struct h2_end *e, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    if (e->log.p)
        cor_buf_addv(&e->log, fmt, ap);
    va_end(ap);
}

static size_t h2_room(void *arg)
{
    struct h2_end *e = arg;

    return e->out.n < e->out_max ? e->out_max - e->out.n : 0;
}

static int h2_send(const struct cor_str *spans, size_t n, void *arg)
{
    struct h2_end *e = arg;
    int r = e->send_r;

    for (size_t i = 0; i < n && r == 0; i++)
        r = cor_buf_adds(&e->out, spans[i]);
    return r == -COR_ETOOBIG ? -COR_EBUSY : r;
}

static void h2_want_turn(void *arg)
{
    ((struct h2_end *)arg)->wants_turn = true;
}

static const char h2_bytes[65536] = {0};

/* Writes on until the stream is full. */
static void h2_pour(struct h2_stream *t)
{
    while (t->s) {
        size_t n = t->to_write < sizeof(h2_bytes) ? t->to_write : sizeof(h2_bytes);
        struct cor_str spans[] = {{h2_bytes, n / 3}, {h2_bytes, 0}, {h2_bytes, n - n / 3}};
        bool is_last = n == t->to_write && !t->end->has_trailers;
        size_t took = cor_h2_write(t->s, spans, 3, 0, is_last);

        t->to_write -= took;
        t->written += took;
        if (took < n)
            return;
        if (t->to_write == 0)
            break;
    }
    if (t->s && t->end->has_trailers) {
        static const struct cor_http_header trailers[] = {
            {COR_STR("grpc-status"), COR_STR("0")}, {COR_STR("Grpc-Message"), COR_STR("a\r\nb")}};

        if (cor_h2_write_trailers(t->s, trailers, 2) < 0)
            cor_h2_reset(t->s, COR_H2_INTERNAL_ERROR);
        t->s = NULL;
    } else if (t->end->answer_bytes != SIZE_MAX) {
        t->s = NULL;
    }
}

static void h2_answer(struct h2_stream *t)
{
    static const struct cor_http_header headers[] = {{COR_STR("Content-Type"), COR_STR("a/b")}};
    struct h2_end *e = t->end;
    bool has_body = e->answer_bytes > 0 || e->has_trailers;

    if (!t->s)
        return;
    if (cor_h2_respond(t->s, 200, headers, 1, has_body) < 0) {
        cor_h2_reset(t->s, COR_H2_INTERNAL_ERROR);
        t->s = NULL;
        return;
    }
    t->to_write = e->answer_bytes;
    if (has_body)
        h2_pour(t);
    else
        t->s = NULL;
}

static int h2_on_head(struct cor_h2_stream *s, const struct cor_h2_head *head, void *arg)
{
    struct h2_stream *t = arg;

    h2_log(t->end, "head %u %d%s|", cor_h2_stream_id(s), head->status,
           head->is_last ? " last" : "");
    for (size_t i = 0; i < head->nheaders; i++)
        h2_log(t->end, "%.*s=%.*s|", COR_STR_ARG(head->headers[i].name),
               COR_STR_ARG(head->headers[i].value));
    return 0;
}

static int h2_on_body(struct cor_h2_stream *s, struct cor_str piece, void *arg)
{
    struct h2_stream *t = arg;
    int r = cor_buf_adds(&t->body, piece);

    if (r < 0)
        t->s = NULL;
    else if (!t->holds_back)
        cor_h2_consume(s, piece.n);
    return r;
}

static int h2_on_trailers(struct cor_h2_stream *s, const struct cor_http_header *headers, size_t n,
                          void *arg)
{
    struct h2_stream *t = arg;

    h2_log(t->end, "trailers %u|", cor_h2_stream_id(s));
    for (size_t i = 0; i < n; i++)
        h2_log(t->end, "%.*s=%.*s|", COR_STR_ARG(headers[i].name), COR_STR_ARG(headers[i].value));
    return 0;
}

static void h2_on_end(struct cor_h2_stream *s, void *arg)
{
    struct h2_stream *t = arg;

    h2_log(t->end, "end %u %zu|", cor_h2_stream_id(s), t->body.n);
    if (t->end->answer_bytes != SIZE_MAX && !t->end->answers_in_place)
        h2_answer(t);
}

static void h2_on_writable(struct cor_h2_stream *s, void *arg)
{
    h2_pour(arg);
}

static void h2_on_closed(struct cor_h2_stream *s, uint32_t code, void *arg)
{
    struct h2_stream *t = arg;

    h2_log(t->end, "closed %u %u|", cor_h2_stream_id(s), code);
    t->s = NULL;
}

static const struct cor_h2_stream_cbs h2_stream_cbs = {h2_on_head, h2_on_body,     h2_on_trailers,
                                                       h2_on_end,  h2_on_writable, h2_on_closed};

static struct h2_stream *h2_stream_slot(struct h2_end *e)
{
    struct h2_stream *t = &e->streams[e->nstreams++ % H2_STREAMS];

    assert_null(t->s);
    cor_buf_deinit(&t->body);
    *t = (struct h2_stream){.end = e};
    cor_buf_init(&t->body, 8u << 20);
    return t;
}

static int h2_on_request(struct cor_h2_stream *s, const struct cor_h2_head *head, void *arg)
{
    struct h2_end *e = arg;
    struct h2_stream *t;

    h2_log(e, "req %u %.*s %.*s %.*s len=%lld|", cor_h2_stream_id(s), COR_STR_ARG(head->method),
           COR_STR_ARG(head->authority), COR_STR_ARG(head->path), (long long)head->length);
    if (e->request_r < 0)
        return e->request_r;
    t = h2_stream_slot(e);
    t->s = s;
    cor_h2_stream_set_cbs(s, &h2_stream_cbs, t);
    if (e->answers_in_place)
        h2_answer(t);
    return 0;
}

static void h2_on_pong(void *arg)
{
    ((struct h2_end *)arg)->pongs++;
}

static void h2_on_goaway(uint32_t code, void *arg)
{
    struct h2_end *e = arg;

    e->goaways++;
    h2_log(e, "goaway %u|", code);
}

static const struct cor_h2_cbs h2_cbs = {h2_room,       h2_send,    h2_want_turn,
                                         h2_on_request, h2_on_pong, h2_on_goaway};

static int h2_end_init(struct h2_end *e, enum cor_h2_role role, const struct cor_h2_limits *limits)
{
    *e = (struct h2_end){.out_max = 256u * 1024,
                         .answer_bytes = role == COR_H2_CLIENT ? SIZE_MAX : 0};
    cor_buf_init(&e->out, 512u * 1024);
    cor_buf_init(&e->log, H2_LOG_MAX);
    return cor_h2_new(role, limits, &h2_cbs, e, &e->h);
}

static void h2_end_deinit(struct h2_end *e)
{
    e->h = cor_h2_free(e->h);
    cor_buf_deinit(&e->out);
    cor_buf_deinit(&e->log);
    for (size_t i = 0; i < H2_STREAMS; i++)
        cor_buf_deinit(&e->streams[i].body);
}

/* Moves what `from` has sent, in pieces of `cut` bytes. */
static int h2_move(struct h2_end *from, struct h2_end *to, size_t cut, uint64_t now_ms)
{
    struct cor_buf bytes = from->out;
    struct cor_str in;
    int r = 0;

    cor_buf_init(&from->out, from->out.max);
    in = cor_buf_str(&bytes);
    while (in.n > 0 && r == 0) {
        size_t n = in.n < cut ? in.n : cut;

        r = cor_h2_feed(to->h, cor_str(in.p, n), now_ms);
        in = cor_str_from(in, n);
    }
    cor_buf_deinit(&bytes);
    return r;
}

/* Until both are silent. The first failure ends it. */
static int h2_pump_cut(struct h2_end *a, struct h2_end *b, size_t cut)
{
    int r = 0;

    do {
        struct h2_end *ends[] = {a, b};

        for (int i = 0; i < 2 && r == 0; i++) {
            ends[i]->wants_turn = false;
            r = cor_h2_turn(ends[i]->h, 0);
            if (r == 0)
                r = h2_move(ends[i], ends[!i], cut, 0);
        }
    } while (r == 0 && (a->out.n > 0 || b->out.n > 0 || a->wants_turn || b->wants_turn ||
                        cor_h2_owes_pong(a->h) || cor_h2_owes_pong(b->h)));
    return r;
}

static int h2_pump(struct h2_end *a, struct h2_end *b)
{
    return h2_pump_cut(a, b, SIZE_MAX);
}

/* A request; `bytes` of body, or none. */
static int h2_request(struct h2_end *e, const char *path, size_t bytes, struct h2_stream **ret)
{
    static const struct cor_http_header headers[] = {{COR_STR("User-Agent"), COR_STR("t")}};
    struct cor_h2_request req = {
        COR_STR("GET"), COR_STR("https"), COR_STR("host"), cor_strz(path), headers, 1, bytes > 0};
    struct h2_stream *t = h2_stream_slot(e);
    int r;

    r = cor_h2_open(e->h, &req, &h2_stream_cbs, t, &t->s);
    if (r < 0)
        return r;
    t->to_write = bytes;
    if (bytes > 0)
        h2_pour(t);
    if (ret)
        *ret = t;
    return 0;
}

#endif
