/* What comes in: frames are counted against the floods, header blocks are collected, bodies shown.
 * Everything here runs inside nghttp2_session_mem_recv(). */
#include <assert.h>
#include <stdio.h>

#include "base/array.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/session/h2_int.h"

/* A header block may decode to this many times head_max before the connection is cut rather than
 * the request refused: decoding goes on to the block's end to keep the tables in step. */
#define BLOCK_OVERSIZE 4
/* RFC 9113, 6.5.2: what each field counts beside its bytes. */
#define FIELD_OVERHEAD 32
/* Most heads fit, so they are kept between requests. */
#define BLOCK_FIRST_BYTES  1000
#define BLOCK_FIRST_FIELDS 16
/* A buffer up to this large waits for the next head while streams are open. */
#define BLOCK_KEPT_BYTES  4096
#define BLOCK_KEPT_FIELDS 64

void cor_h2_block_reset(struct cor_h2_block *b)
{
    cor_buf_reset(&b->bytes);
    b->n = 0;
    b->size = 0;
    b->is_too_big = false;
}

void cor_h2_block_deinit(struct cor_h2_block *b)
{
    cor_buf_deinit(&b->bytes);
    b->headers = cor_free(b->headers);
    b->n = b->cap = 0;
}

void cor_h2_block_trim(struct cor_h2_block *b)
{
    if (b->bytes.cap > BLOCK_FIRST_BYTES || b->cap > BLOCK_FIRST_FIELDS)
        cor_h2_block_deinit(b);
}

/* A head has been shown: the memory of a large one does not wait for the end of the streams. */
static void block_shown(struct cor_h2_block *b)
{
    if (b->bytes.cap > BLOCK_KEPT_BYTES || b->cap > BLOCK_KEPT_FIELDS)
        cor_h2_block_deinit(b);
}

static int reserve_field(struct cor_h2_block *b)
{
    return COR_ARRAY_RESERVE(&b->headers, b->n, &b->cap, COR_ARRAY_NO_MAX);
}

static int add_field(struct cor_h2_block *b, struct cor_str name, struct cor_str value)
{
    size_t at = b->bytes.n, n = name.n + value.n;

    if (!b->bytes.p && n < BLOCK_FIRST_BYTES && b->bytes.max >= BLOCK_FIRST_BYTES)
        n = BLOCK_FIRST_BYTES;
    if (reserve_field(b) < 0 || cor_buf_reserve(&b->bytes, n) < 0)
        return -COR_ENOMEM;
    cor_buf_adds(&b->bytes, name);
    cor_buf_adds(&b->bytes, value);
    b->headers[b->n++] = (struct cor_http_header){
        {(const char *)(uintptr_t)at, name.n},
        {(const char *)(uintptr_t)(at + name.n), value.n},
    };
    return 0;
}

static void rebase(struct cor_h2_block *b)
{
    const char *base = b->bytes.p ? b->bytes.p : "";

    for (size_t i = 0; i < b->n; i++) {
        b->headers[i].name.p = base + (uintptr_t)b->headers[i].name.p;
        b->headers[i].value.p = base + (uintptr_t)b->headers[i].value.p;
    }
}

/* Pseudo headers come first: nghttp2 sees to it. */
static struct cor_str take_pseudo(struct cor_h2_block *b, size_t *npseudo, struct cor_str name)
{
    for (size_t i = 0; i < b->n && b->headers[i].name.n > 0 && b->headers[i].name.p[0] == ':';
         i++) {
        *npseudo = i + 1;
        if (cor_str_eq(b->headers[i].name, name))
            return b->headers[i].value;
    }
    return (struct cor_str){0};
}

static void read_head(struct cor_h2 *h, bool is_last, struct cor_h2_head *head)
{
    struct cor_h2_block *b = &h->block;
    struct cor_str status, length, expect;
    uint64_t n = 0;
    size_t npseudo = 0;

    *head = (struct cor_h2_head){.is_last = is_last};
    head->method = take_pseudo(b, &npseudo, COR_STR(":method"));
    head->scheme = take_pseudo(b, &npseudo, COR_STR(":scheme"));
    head->authority = take_pseudo(b, &npseudo, COR_STR(":authority"));
    head->path = take_pseudo(b, &npseudo, COR_STR(":path"));
    status = take_pseudo(b, &npseudo, COR_STR(":status"));
    if (status.p && cor_str_to_u64(status, &n) == 0 && n < 1000)
        head->status = (int)n;
    take_pseudo(b, &npseudo, COR_STR(""));
    head->headers = b->headers + npseudo;
    head->nheaders = b->n - npseudo;
    if (!head->authority.p)
        head->authority = cor_header_find(head->headers, head->nheaders, COR_STR("host"));
    length = cor_header_find(head->headers, head->nheaders, COR_STR("content-length"));
    if (is_last)
        head->length = 0;
    else if (!length.p || cor_str_to_u64(length, &head->length) < 0)
        head->length = COR_H2_LENGTH_UNKNOWN;
    expect = cor_header_find(head->headers, head->nheaders, COR_STR("expect"));
    head->expects_continue = expect.p && cor_header_name_eq(expect, COR_STR("100-continue"));
}

static struct cor_h2_stream *stream_of(nghttp2_session *ng, int32_t id)
{
    return nghttp2_session_get_stream_user_data(ng, id);
}

/* What a stream's callback did not like ends the stream. */
static void refuse(struct cor_h2_stream *s, int r)
{
    if (s->is_held)
        cor_h2_reset(s, r == -COR_EBUSY ? COR_H2_REFUSED_STREAM : COR_H2_INTERNAL_ERROR);
}

/* What the peer sent on it cannot be shown. */
static void break_stream(struct cor_h2_stream *s)
{
    s->is_broken = true;
    if (nghttp2_submit_rst_stream(s->h->ng, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_PROTOCOL_ERROR) < 0)
        cor_h2_fail(s->h, -COR_ENOMEM, "out of memory");
}

static int spend_control(struct cor_h2 *h)
{
    if (h->credit >= COR_H2_CONTROL_BYTES) {
        h->credit -= COR_H2_CONTROL_BYTES;
        return 0;
    }
    if (cor_token_bucket_try(&h->control, h->now_ms))
        return 0;
    cor_h2_fail(h, -COR_EBUSY, "too many control frames");
    return NGHTTP2_ERR_CALLBACK_FAILURE;
}

int cor_h2_count_reset(struct cor_h2 *h)
{
    if (h->role == COR_H2_CLIENT || cor_token_bucket_try(&h->resets, h->now_ms))
        return 0;
    cor_h2_fail(h, -COR_EBUSY, "too many streams were reset");
    return NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* A request whose head is far larger than what came for it: a few dozen bytes that name a large
 * entry of the table again and again cost the server as much as 60 KB would. Heads of real clients
 * do not grow so. */
static int count_expanded(struct cor_h2 *h)
{
    if (h->role == COR_H2_CLIENT || h->block.size <= h->block_wire + COR_H2_EXPANDED_BYTES ||
        cor_token_bucket_try(&h->expanded, h->now_ms))
        return 0;
    cor_h2_fail(h, -COR_EBUSY, "too many heads that compression made large");
    return NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* nghttp2 keeps no closed streams here (they would cost 250 bytes each), and passes over what comes
 * for them: DATA is lost without a word, a new request on an old id is refused. */
static int check_closed(struct cor_h2 *h, const nghttp2_frame_hd *hd)
{
    if (h->role == COR_H2_CLIENT || h->has_reset || hd->stream_id % 2 == 0 ||
        hd->stream_id > h->last_id || nghttp2_session_find_stream(h->ng, hd->stream_id))
        return 0;
    cor_h2_fail(h, -COR_EINVAL, "a frame on a closed stream");
    h->goaway_code = h->has_skipped ? NGHTTP2_PROTOCOL_ERROR : NGHTTP2_STREAM_CLOSED;
    return NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int on_begin_frame(nghttp2_session *ng, const nghttp2_frame_hd *hd, void *arg)
{
    struct cor_h2 *h = arg;

    switch (hd->type) {
    case NGHTTP2_HEADERS:
        h->continuations = 0;
        h->block_wire = hd->length;
        return check_closed(h, hd);
    case NGHTTP2_CONTINUATION:
        h->block_wire += hd->length;
        if (++h->continuations <= COR_H2_CONTINUATIONS_MAX)
            return 0;
        cor_h2_fail(h, -COR_EBUSY, "a header block of too many frames");
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    case NGHTTP2_DATA:
        return hd->length > 0 || (hd->flags & NGHTTP2_FLAG_END_STREAM) ? 0 : spend_control(h);
    case NGHTTP2_RST_STREAM:
        return cor_h2_count_reset(h);
    default:
        return spend_control(h);
    }
}

static int on_begin_headers(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
    struct cor_h2 *h = arg;
    struct cor_h2_stream *s;

    cor_h2_block_reset(&h->block);
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    h->has_skipped |= frame->hd.stream_id > h->last_id + 2;
    h->last_id = frame->hd.stream_id;
    s = cor_h2_stream_new(h, frame->hd.stream_id);
    if (!s)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    nghttp2_session_set_stream_user_data(ng, frame->hd.stream_id, s);
    return 0;
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags, void *arg)
{
    struct cor_h2 *h = arg;
    struct cor_h2_block *b = &h->block;
    struct cor_h2_stream *s;
    struct cor_str n = {(const char *)name, name_n}, v = {(const char *)value, value_n};

    b->size += name_n + value_n + FIELD_OVERHEAD;
    if (b->size > h->limits->head_max * BLOCK_OVERSIZE) {
        cor_h2_fail(h, -COR_EBUSY, "header fields far too large");
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    if (b->size > h->limits->head_max || b->n == h->limits->headers_max)
        b->is_too_big = true;
    if (b->is_too_big || add_field(b, n, v) == 0)
        return 0;
    s = stream_of(ng, frame->hd.stream_id);
    if (s)
        s->lacks_memory = true;
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static void on_request_block(struct cor_h2 *h, struct cor_h2_stream *s, bool is_last)
{
    struct cor_h2_head head;
    int r;

    s->is_held = true;
    if (h->block.is_too_big) {
        if (cor_h2_respond(s, 431, NULL, 0, false) < 0)
            refuse(s, -COR_ENOMEM);
        return;
    }
    rebase(&h->block);
    read_head(h, is_last, &head);
    r = h->cbs->on_request(s, &head, h->arg);
    if (r < 0)
        refuse(s, r);
    assert(!s->is_held || s->cbs);
}

static void on_response_block(struct cor_h2 *h, struct cor_h2_stream *s, bool is_last)
{
    struct cor_h2_head head;
    int r;

    rebase(&h->block);
    read_head(h, is_last, &head);
    if (head.status >= 100 && head.status < 200 && ++s->ninterim <= COR_H2_INTERIM_MAX)
        return;
    if (head.status < 200) {
        break_stream(s);
        return;
    }
    s->has_head = true;
    r = s->cbs->on_head(s, &head, s->arg);
    if (r < 0)
        refuse(s, r);
}

static void on_trailer_block(struct cor_h2 *h, struct cor_h2_stream *s)
{
    int r;

    rebase(&h->block);
    if (!s->cbs->on_trailers)
        return;
    r = s->cbs->on_trailers(s, h->block.headers, h->block.n, s->arg);
    if (r < 0)
        refuse(s, r);
}

static void on_block(struct cor_h2 *h, struct cor_h2_stream *s, const nghttp2_frame *frame)
{
    bool is_last = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        on_request_block(h, s, is_last);
    else if (!s->is_held || s->is_broken)
        return;
    else if (h->block.is_too_big)
        break_stream(s);
    else if (h->role == COR_H2_CLIENT && !s->has_head)
        on_response_block(h, s, is_last);
    else
        on_trailer_block(h, s);
}

static void learn_goaway(struct cor_h2 *h, const nghttp2_goaway *goaway)
{
    struct cor_str why = {(const char *)goaway->opaque_data, goaway->opaque_data_len};

    if (goaway->error_code != NGHTTP2_NO_ERROR)
        snprintf(h->error, sizeof(h->error), "the peer said %s: %.*s",
                 nghttp2_http2_strerror(goaway->error_code), (int)(why.n < 60 ? why.n : 60),
                 why.p ? why.p : "");
    if (h->cbs->on_goaway)
        h->cbs->on_goaway(goaway->error_code, h->arg);
}

static int on_frame_recv(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
    struct cor_h2 *h = arg;
    struct cor_h2_stream *s = NULL;

    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
        if (count_expanded(h) < 0)
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        s = stream_of(ng, frame->hd.stream_id);
        if (s)
            on_block(h, s, frame);
        block_shown(&h->block);
        break;
    case NGHTTP2_DATA:
        s = stream_of(ng, frame->hd.stream_id);
        break;
    case NGHTTP2_SETTINGS:
        h->is_greeted = true;
        break;
    case NGHTTP2_PING:
        if (frame->hd.flags & NGHTTP2_FLAG_ACK)
            cor_h2_take_pong(h, frame->ping.opaque_data);
        else if (h->role == COR_H2_CLIENT)
            h->npongs++;
        break;
    case NGHTTP2_GOAWAY:
        learn_goaway(h, &frame->goaway);
        break;
    default:
        break;
    }
    if (s && s->is_held && !s->is_broken && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        cor_dlist_push(&h->ended, &s->end_link);
    return 0;
}

static int on_data_chunk(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *data,
                         size_t n, void *arg)
{
    struct cor_h2_stream *s = stream_of(ng, id);
    int r;

    if (cor_h2_reopen_window(ng, n) < 0)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (!s || !s->is_held || s->is_broken)
        return 0;
    s->unconsumed += n;
    r = s->cbs->on_body(s, cor_str((const char *)data, n), s->arg);
    if (r < 0)
        refuse(s, r);
    return 0;
}

static int on_stream_close(nghttp2_session *ng, int32_t id, uint32_t code, void *arg)
{
    struct cor_h2_stream *s = stream_of(ng, id);

    if (s)
        cor_h2_stream_closed(s, code);
    return 0;
}

/* A request with a field that HTTP does not allow is refused whole: releases of nghttp2 differ in
 * which of them they leave out without a word. What a server answers is not judged so. */
static int on_invalid_header(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name,
                             size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags,
                             void *arg)
{
    return ((struct cor_h2 *)arg)->role == COR_H2_SERVER ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE
                                                         : 0;
}

static int on_error(nghttp2_session *ng, int e, const char *msg, size_t n, void *arg)
{
    struct cor_h2 *h = arg;

    if (h->r == 0)
        snprintf(h->error, sizeof(h->error), "%.*s", (int)(n < 120 ? n : 120), msg);
    return 0;
}

void cor_h2_set_recv_callbacks(nghttp2_session_callbacks *cbs)
{
    nghttp2_session_callbacks_set_on_begin_frame_callback(cbs, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(cbs, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(cbs, on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(cbs, on_invalid_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cbs, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cbs, on_data_chunk);
    nghttp2_session_callbacks_set_on_stream_close_callback(cbs, on_stream_close);
    nghttp2_session_callbacks_set_error_callback2(cbs, on_error);
}
