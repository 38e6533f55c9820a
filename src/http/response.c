#include "http/response.h"

#include <assert.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "http/server_int.h"

#define SPANS_AT_ONCE 32

void cor_http_response_set_cbs(struct cor_http_response *resp,
                               const struct cor_http_response_cbs *cbs, void *arg)
{
    resp->cbs = cbs;
    resp->arg = arg;
}

const struct cor_http_request *cor_http_response_request(const struct cor_http_response *resp)
{
    return &resp->request;
}

struct cor_loop *cor_http_response_loop(const struct cor_http_response *resp)
{
    return cor_response_conn(resp)->worker->loop;
}

uint64_t cor_http_response_deadline(const struct cor_http_response *resp)
{
    return resp->deadline_ms;
}

void cor_http_response_set_deadline(struct cor_http_response *resp, uint64_t deadline_ms)
{
    resp->deadline_ms = deadline_ms;
    cor_conn_settle(cor_response_conn(resp));
}

bool cor_http_response_is_started(const struct cor_http_response *resp)
{
    return resp->state == COR_RESPONSE_STARTED;
}

uint64_t cor_http_response_bytes(const struct cor_http_response *resp)
{
    return resp->bytes;
}

void cor_response_reset(struct cor_http_response *resp)
{
    size_t tail_max = resp->tail.max;

    cor_buf_deinit(&resp->tail);
    *resp = (struct cor_http_response){.tail.max = tail_max};
}

/* Written once per second and loop. */
static struct cor_str date_of(struct cor_http_worker *w)
{
    uint64_t now_s = cor_loop_now_ms(w->loop) / 1000;
    time_t wall_s;
    struct tm tm;

    if (now_s != w->date_s || !w->date[0]) {
        wall_s = (time_t)(cor_clock_wall_ms(cor_clock_real()) / 1000);
        gmtime_r(&wall_s, &tm);
        strftime(w->date, sizeof(w->date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
        w->date_s = now_s;
    }
    return cor_strz(w->date);
}

static void write_out(struct cor_conn *c, const struct cor_str *spans, size_t n)
{
    int r = cor_stream_write(c->stream, spans, n);

    if (r < 0 && r != -COR_ECANCELED)
        cor_stream_fail(c->stream, -COR_ENOMEM);
}

void cor_http_response_start(struct cor_http_response *resp, int status,
                             const struct cor_http_header *headers, size_t nheaders,
                             uint64_t length)
{
    struct cor_conn *c = cor_response_conn(resp);
    struct cor_http_worker *w = c->worker;
    struct cor_h1_message msg = {.to_head = resp->request.method == COR_HTTP_HEAD && c->has_head,
                                 .peer_minor = cor_h1_head(c->h1)->minor,
                                 .keep_alive = c->keep_alive,
                                 .length = length,
                                 .date = date_of(w),
                                 .headers = headers,
                                 .nheaders = nheaders};
    struct cor_str head;

    assert(resp->state == COR_RESPONSE_HELD && cor_loop_is_current(w->loop));
    resp->state = COR_RESPONSE_STARTED;
    resp->left = length;
    cor_buf_reset(&w->head);
    if (cor_h1_write_response(&w->head, status, &msg, &resp->framing) < 0) {
        cor_stream_fail(c->stream, -COR_ENOMEM);
        return;
    }
    if (resp->framing == COR_H1_UNTIL_CLOSE)
        c->keep_alive = false;
    head = cor_buf_str(&w->head);
    write_out(c, &head, 1);
}

size_t cor_http_response_room(const struct cor_http_response *resp)
{
    size_t room = cor_stream_room(cor_response_conn(resp)->stream);

    return room > COR_HTTP_OUT_SLACK ? room - COR_HTTP_OUT_SLACK : 0;
}

/* Copies `n` bytes of the spans after the first `skip`, framed. */
static void write_body(struct cor_conn *c, const struct cor_str *spans, size_t skip, size_t n)
{
    bool chunked = c->resp.framing == COR_H1_CHUNKED;
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

size_t cor_http_response_writev(struct cor_http_response *resp, const struct cor_str *spans,
                                size_t nspans, size_t skip)
{
    struct cor_conn *c = cor_response_conn(resp);
    size_t n = 0, room, take;

    assert(resp->state == COR_RESPONSE_STARTED && cor_loop_is_current(c->worker->loop));
    for (size_t i = 0; i < nspans; i++)
        n += spans[i].n;
    assert(skip <= n);
    n -= skip;
    if (n == 0)
        return 0;
    if (resp->framing == COR_H1_NO_BODY) {
        resp->bytes += n;
        return n;
    }
    room = cor_http_response_room(resp);
    take = n < room ? n : room;
    if (take > 0) {
        if (resp->framing == COR_H1_LENGTH) {
            assert(take <= resp->left);
            resp->left -= take;
        }
        write_body(c, spans, skip, take);
        resp->bytes += take;
    }
    if (take < n) {
        resp->is_short = true;
        cor_stream_want_writable(c->stream);
    }
    return take;
}

size_t cor_http_response_write(struct cor_http_response *resp, struct cor_str bytes)
{
    return cor_http_response_writev(resp, &bytes, 1, 0);
}

void cor_http_response_end(struct cor_http_response *resp)
{
    struct cor_conn *c = cor_response_conn(resp);
    struct cor_str last = COR_STR(COR_H1_LAST_CHUNK);

    assert(resp->state == COR_RESPONSE_STARTED && cor_loop_is_current(c->worker->loop));
    if (resp->framing == COR_H1_CHUNKED)
        write_out(c, &last, 1);
    else if (resp->framing == COR_H1_LENGTH && resp->left > 0)
        cor_stream_fail(c->stream, -COR_EIO);
    resp->state = COR_RESPONSE_NONE;
    cor_conn_finish(c);
}

void cor_http_response_abort(struct cor_http_response *resp)
{
    cor_conn_cut(cor_response_conn(resp));
}

void cor_response_pump(struct cor_http_response *resp)
{
    struct cor_str rest = cor_str_from(cor_buf_str(&resp->tail), resp->tail_done);

    resp->state = COR_RESPONSE_STARTED;
    resp->is_short = false;
    resp->tail_done += cor_http_response_write(resp, rest);
    if (resp->tail_done == resp->tail.n)
        cor_http_response_end(resp);
    else
        resp->state = COR_RESPONSE_ENDED;
}

void cor_http_response_send(struct cor_http_response *resp, int status,
                            const struct cor_http_header *headers, size_t nheaders,
                            struct cor_str body)
{
    struct cor_conn *c = cor_response_conn(resp);
    size_t taken;

    cor_http_response_start(resp, status, headers, nheaders, body.n);
    taken = cor_http_response_write(resp, body);
    if (taken == body.n) {
        cor_http_response_end(resp);
        return;
    }
    resp->state = COR_RESPONSE_ENDED;
    if (cor_buf_adds(&resp->tail, cor_str_from(body, taken)) < 0)
        cor_stream_fail(c->stream, -COR_ENOMEM);
}
