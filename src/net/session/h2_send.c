/* What goes out: heads, bodies, resets. A body's bytes go from the writer's spans to `send` while
 * cor_h2_write() runs; only inside a callback, when nghttp2 may not send, they are copied first. */
#include <assert.h>
#include <limits.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/session/h2_int.h"

/* A DATA frame's head and so many spans go to `send` at once. */
#define SPANS_AT_ONCE 32
/* A response's values of this length are one of a kind, such as its Audit-Id: in the table they
 * would only push out what comes again. */
#define NO_INDEX_FROM 32

struct cor_h2_stream *cor_h2_stream_new(struct cor_h2 *h, int32_t id)
{
    struct cor_h2_stream *s = cor_calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->h = h;
    s->id = id;
    cor_dlist_init(&s->end_link);
    cor_dlist_init(&s->wait_link);
    cor_dlist_init(&s->gone_link);
    cor_dlist_push(&h->streams, &s->link);
    cor_buf_init(&s->pending, SIZE_MAX / 2);
    h->nstreams++;
    return s;
}

static void stop_waiting(struct cor_h2_stream *s)
{
    if (cor_dlist_empty(&s->wait_link))
        return;
    cor_dlist_remove(&s->wait_link);
    s->h->nwaiting--;
}

static void drop_pending(struct cor_h2_stream *s)
{
    s->h->pending_n -= s->pending.n - s->pending_done;
    cor_buf_deinit(&s->pending);
    s->pending_done = 0;
}

struct cor_h2_stream *cor_h2_stream_free(struct cor_h2_stream *s)
{
    struct cor_h2 *h = s->h;

    stop_waiting(s);
    drop_pending(s);
    cor_dlist_remove(&s->end_link);
    cor_dlist_remove(&s->gone_link);
    cor_dlist_remove(&s->link);
    if (--h->nstreams == 0 && !h->in_recv)
        cor_h2_block_trim(&h->block);
    return cor_free(s);
}

static void queue_gone(struct cor_h2_stream *s)
{
    struct cor_h2 *h = s->h;

    cor_dlist_push(&h->gone, &s->gone_link);
    if (!h->is_calling)
        h->cbs->want_turn(h->arg);
}

void cor_h2_stream_closed(struct cor_h2_stream *s, uint32_t code)
{
    nghttp2_session_set_stream_user_data(s->h->ng, s->id, NULL);
    s->is_gone = true;
    s->code = s->is_broken ? NGHTTP2_PROTOCOL_ERROR : s->lacks_memory ? COR_H2_NO_MEMORY : code;
    stop_waiting(s);
    if (code != NGHTTP2_NO_ERROR)
        cor_dlist_remove(&s->end_link);
    if (s->is_busy)
        return;
    if (s->is_held)
        queue_gone(s);
    else
        cor_h2_stream_free(s);
}

static void release(struct cor_h2_stream *s)
{
    s->is_held = false;
    stop_waiting(s);
    cor_dlist_remove(&s->end_link);
    if (s->is_gone)
        cor_h2_stream_free(s);
}

/* Sends. The stream may be closed by that, so it is looked at only here. */
void cor_h2_flush_busy(struct cor_h2_stream *s)
{
    s->is_busy = true;
    cor_h2_flush(s->h);
    s->is_busy = false;
}

void cor_h2_after_call(struct cor_h2_stream *s)
{
    if (s->h->role == COR_H2_SERVER && s->out == COR_H2_OUT_ENDED)
        release(s);
    else if (s->is_gone && cor_dlist_empty(&s->gone_link))
        queue_gone(s);
}

/* Fields as nghttp2 takes them; it copies them, and writes names in lower case. */
struct fields {
    size_t n;
    size_t no_index_from; /* values of this length are not kept in the peer's table; 0: all are */
    struct cor_buf clean;
    nghttp2_nv nv[COR_H2_SEND_HEADERS_MAX + 4];
};

/* The array is large, and what is not used of it stays as it is. */
static void fields_init(struct fields *f, size_t no_index_from)
{
    f->n = 0;
    f->no_index_from = no_index_from;
    cor_buf_init(&f->clean, 0);
}

static void fields_deinit(struct fields *f)
{
    cor_buf_deinit(&f->clean);
}

static void add_field(struct fields *f, struct cor_str name, struct cor_str value)
{
    f->nv[f->n++] = (nghttp2_nv){.name = (uint8_t *)name.p,
                                 .namelen = name.n,
                                 .value = (uint8_t *)value.p,
                                 .valuelen = value.n,
                                 .flags = f->no_index_from > 0 && value.n >= f->no_index_from
                                              ? NGHTTP2_NV_FLAG_NO_INDEX
                                              : NGHTTP2_NV_FLAG_NONE};
}

/* Whether there may be a CR, LF or NUL. The least byte says so, and the compiler finds that by 16
 * bytes at once. */
static bool is_dirty(struct cor_str s)
{
    unsigned char least = UCHAR_MAX;

    for (size_t i = 0; i < s.n; i++)
        least = (unsigned char)s.p[i] < least ? (unsigned char)s.p[i] : least;
    return least <= '\r';
}

static struct cor_str cleaned(struct fields *f, struct cor_str s)
{
    char *p = f->clean.p + f->clean.n;

    for (size_t i = 0; i < s.n; i++)
        p[i] = s.p[i] == '\r' || s.p[i] == '\n' || s.p[i] == '\0' ? ' ' : s.p[i];
    f->clean.n += s.n;
    return cor_str(p, s.n);
}

static int add_fields(struct fields *f, const struct cor_http_header *headers, size_t n)
{
    size_t dirty = 0;

    if (n > COR_H2_SEND_HEADERS_MAX)
        return -COR_ETOOBIG;
    for (size_t i = 0; i < n; i++)
        dirty += is_dirty(headers[i].value) ? headers[i].value.n : 0;
    cor_buf_init(&f->clean, dirty);
    if (dirty > 0 && cor_buf_reserve(&f->clean, dirty) < 0)
        return -COR_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        bool clean = dirty == 0 || !is_dirty(headers[i].value);

        add_field(f, headers[i].name, clean ? headers[i].value : cleaned(f, headers[i].value));
    }
    return 0;
}

static ssize_t on_read(nghttp2_session *ng, int32_t id, uint8_t *buf, size_t max, uint32_t *flags,
                       nghttp2_data_source *source, void *arg)
{
    struct cor_h2_stream *s = source->ptr;
    size_t left = s->pending.n > 0 ? s->pending.n - s->pending_done : s->source.left;

    if (left == 0 && s->out != COR_H2_OUT_ENDED)
        return NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (left <= max && s->out == COR_H2_OUT_ENDED)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)(left < max ? left : max);
}

/* The next `n` bytes at most, as far as one span has them. */
static struct cor_str next_piece(struct cor_h2_stream *s, size_t n)
{
    struct cor_h2_source *source = &s->source;
    struct cor_str piece;

    if (s->pending.n > 0) {
        piece = cor_str(s->pending.p + s->pending_done, n);
        s->pending_done += n;
        s->h->pending_n -= n;
        return piece;
    }
    while (source->skip == source->spans->n) {
        source->spans++;
        source->skip = 0;
    }
    piece = cor_str_from(*source->spans, source->skip);
    piece.n = piece.n < n ? piece.n : n;
    source->skip += piece.n;
    source->left -= piece.n;
    return piece;
}

static int send_spans(struct cor_h2 *h, const struct cor_str *spans, size_t n)
{
    int r = h->cbs->send(spans, n, h->arg);

    if (r == 0)
        return 0;
    cor_h2_fail(h, r == -COR_EBUSY ? -COR_EIO : r, "a frame could not be sent");
    return NGHTTP2_ERR_CALLBACK_FAILURE;
}

static void earn_credit(struct cor_h2 *h, uint64_t n)
{
    uint64_t max = (uint64_t)COR_H2_CONTROL_BURST * COR_H2_CONTROL_BYTES;

    h->credit = h->credit + n < max ? h->credit + n : max;
}

static int on_send_data(nghttp2_session *ng, nghttp2_frame *frame, const uint8_t *frame_head,
                        size_t n, nghttp2_data_source *source, void *arg)
{
    struct cor_h2_stream *s = source->ptr;
    struct cor_str batch[SPANS_AT_ONCE];
    size_t nbatch = 1;
    int e;

    batch[0] = cor_str((const char *)frame_head, COR_H2_FRAME_HEAD);
    earn_credit(s->h, n);
    while (n > 0) {
        if (nbatch == SPANS_AT_ONCE) {
            e = send_spans(s->h, batch, nbatch);
            if (e < 0)
                return e;
            nbatch = 0;
        }
        batch[nbatch] = next_piece(s, n);
        n -= batch[nbatch++].n;
    }
    e = send_spans(s->h, batch, nbatch);
    if (s->pending.n > 0 && s->pending_done == s->pending.n)
        drop_pending(s);
    return e;
}

static ssize_t on_send(nghttp2_session *ng, const uint8_t *data, size_t n, int flags, void *arg)
{
    struct cor_h2 *h = arg;
    struct cor_str span = {(const char *)data, n};
    int r = h->cbs->send(&span, 1, h->arg);

    if (r == 0)
        return (ssize_t)n;
    if (r == -COR_EBUSY) {
        h->is_blocked = true;
        return NGHTTP2_ERR_WOULDBLOCK;
    }
    cor_h2_fail(h, r, "a frame could not be sent");
    return NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* A response that ends before its request did: the rest of that is not wanted. */
static int refuse_rest(nghttp2_session *ng, struct cor_h2_stream *s)
{
    if (!s || s->h->role == COR_H2_CLIENT ||
        nghttp2_session_get_stream_remote_close(ng, s->id) != 0)
        return 0;
    s->is_reset = true;
    return nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_NO_ERROR);
}

static int on_frame_sent(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
    struct cor_h2 *h = arg;
    struct cor_h2_stream *s = NULL;
    bool is_message = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;

    if (frame->hd.stream_id > 0)
        s = nghttp2_session_get_stream_user_data(ng, frame->hd.stream_id);
    if (is_message && h->role == COR_H2_CLIENT)
        earn_credit(h, COR_H2_CONTROL_BYTES);
    if (is_message && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return refuse_rest(ng, s);
    if (frame->hd.type == NGHTTP2_RST_STREAM)
        h->has_reset = true;
    /* A failure from here would leave nghttp2 unable to send the GOAWAY. */
    if (frame->hd.type == NGHTTP2_RST_STREAM && !(s && s->is_reset))
        (void)cor_h2_count_reset(h);
    if (frame->hd.type == NGHTTP2_HEADERS && s && !cor_dlist_empty(&s->wait_link))
        h->cbs->want_turn(h->arg);
    if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR) {
        h->has_said_goaway = true;
        cor_h2_fail(
            h, frame->goaway.error_code == NGHTTP2_ENHANCE_YOUR_CALM ? -COR_EBUSY : -COR_EINVAL,
            h->error[0] ? h->error : nghttp2_http2_strerror(frame->goaway.error_code));
    }
    return 0;
}

void cor_h2_set_send_callbacks(nghttp2_session_callbacks *cbs)
{
    nghttp2_session_callbacks_set_send_callback(cbs, on_send);
    nghttp2_session_callbacks_set_send_data_callback(cbs, on_send_data);
    nghttp2_session_callbacks_set_on_frame_send_callback(cbs, on_frame_sent);
}

int cor_h2_open(struct cor_h2 *h, const struct cor_h2_request *req,
                const struct cor_h2_stream_cbs *cbs, void *arg, struct cor_h2_stream **ret_stream)
{
    COR_CLEANUP(fields_deinit) struct fields f;
    nghttp2_data_provider body = {.read_callback = on_read};
    struct cor_h2_stream *s;
    int r;

    assert(h->role == COR_H2_CLIENT);
    fields_init(&f, 0);
    if (h->r < 0 || h->is_shutting || !nghttp2_session_check_request_allowed(h->ng))
        return -COR_ECANCELED;
    if (h->nstreams >= h->limits->streams_max)
        return -COR_EBUSY;
    add_field(&f, COR_STR(":method"), req->method);
    add_field(&f, COR_STR(":scheme"), req->scheme);
    add_field(&f, COR_STR(":authority"), req->authority);
    add_field(&f, COR_STR(":path"), req->path);
    r = add_fields(&f, req->headers, req->nheaders);
    if (r < 0)
        return r;
    s = cor_h2_stream_new(h, 0);
    if (!s)
        return -COR_ENOMEM;
    body.source.ptr = s;
    s->id = nghttp2_submit_request(h->ng, NULL, f.nv, f.n, req->has_body ? &body : NULL, s);
    if (s->id < 0) {
        r = s->id == NGHTTP2_ERR_NOMEM ? -COR_ENOMEM : -COR_ECANCELED;
        cor_h2_stream_free(s);
        return r;
    }
    s->cbs = cbs;
    s->arg = arg;
    s->is_held = true;
    s->out = req->has_body ? COR_H2_OUT_OPEN : COR_H2_OUT_ENDED;
    cor_h2_flush_busy(s);
    cor_h2_after_call(s);
    *ret_stream = s;
    return 0;
}

void cor_h2_stream_set_cbs(struct cor_h2_stream *s, const struct cor_h2_stream_cbs *cbs, void *arg)
{
    s->cbs = cbs;
    s->arg = arg;
}

uint32_t cor_h2_stream_id(const struct cor_h2_stream *s)
{
    return (uint32_t)s->id;
}

int cor_h2_respond(struct cor_h2_stream *s, int status, const struct cor_http_header *headers,
                   size_t nheaders, bool has_body)
{
    COR_CLEANUP(fields_deinit) struct fields f;
    nghttp2_data_provider body = {.source.ptr = s, .read_callback = on_read};
    char digits[] = {(char)('0' + status / 100), (char)('0' + status / 10 % 10),
                     (char)('0' + status % 10)};
    int r;

    assert(s->h->role == COR_H2_SERVER && s->out == COR_H2_OUT_NONE);
    assert(status >= 200 && status <= 999);
    fields_init(&f, NO_INDEX_FROM);
    add_field(&f, COR_STR(":status"), cor_str(digits, 3));
    r = add_fields(&f, headers, nheaders);
    if (r < 0)
        return r;
    if (!s->is_gone && nghttp2_submit_response(s->h->ng, s->id, f.nv, f.n,
                                               has_body ? &body : NULL) == NGHTTP2_ERR_NOMEM)
        return -COR_ENOMEM;
    s->out = has_body ? COR_H2_OUT_OPEN : COR_H2_OUT_ENDED;
    cor_h2_flush_busy(s);
    cor_h2_after_call(s);
    return 0;
}

int cor_h2_continue(struct cor_h2_stream *s)
{
    nghttp2_nv nv = {(uint8_t *)":status", (uint8_t *)"100", 7, 3, NGHTTP2_NV_FLAG_NONE};

    if (s->is_gone)
        return 0;
    if (nghttp2_submit_headers(s->h->ng, NGHTTP2_FLAG_NONE, s->id, NULL, &nv, 1, NULL) < 0)
        return -COR_ENOMEM;
    cor_h2_flush_busy(s);
    cor_h2_after_call(s);
    return 0;
}

/* Copies `n` bytes of the source to where they wait until nghttp2 may send. */
static void write_pending(struct cor_h2_stream *s, size_t n)
{
    struct cor_buf *pending = &s->pending;

    if (cor_buf_reserve(pending, n) < 0) {
        cor_h2_fail(s->h, -COR_ENOMEM, "out of memory");
        return;
    }
    s->h->pending_n += n;
    while (n > 0) {
        struct cor_h2_source *source = &s->source;
        size_t k = source->spans->n - source->skip;

        k = k < n ? k : n;
        cor_buf_add(pending, source->spans->p + source->skip, k);
        n -= k;
        source->left -= k;
        source->skip = 0;
        source->spans++;
    }
}

static void wait_for_room(struct cor_h2_stream *s, size_t wanted, bool by_output)
{
    s->wanted = wanted;
    if (cor_dlist_empty(&s->wait_link)) {
        cor_dlist_push(&s->h->waiting, &s->wait_link);
        s->h->nwaiting++;
    }
    if (by_output)
        s->h->cbs->want_turn(s->h->arg);
}

/* Sends `n` bytes, for which there is room, and the end if it is said. */
static size_t send_body(struct cor_h2_stream *s, const struct cor_str *spans, size_t skip, size_t n)
{
    size_t left;

    while (n > 0 && skip >= spans->n)
        skip -= (spans++)->n;
    s->source = (struct cor_h2_source){spans, skip, n};
    if (n > 0 && (s->h->in_recv || s->pending.n > 0))
        write_pending(s, n);
    if (nghttp2_session_resume_data(s->h->ng, s->id) == NGHTTP2_ERR_NOMEM)
        cor_h2_fail(s->h, -COR_ENOMEM, "out of memory");
    cor_h2_flush_busy(s);
    left = s->source.left;
    s->source = (struct cor_h2_source){0};
    return n - left;
}

size_t cor_h2_write(struct cor_h2_stream *s, const struct cor_str *spans, size_t nspans,
                    size_t skip, bool is_last)
{
    size_t n = 0, room, taken;
    bool by_output;

    assert(s->out == COR_H2_OUT_OPEN || s->is_gone || s->h->r < 0);
    for (size_t i = 0; i < nspans; i++)
        n += spans[i].n;
    assert(skip <= n);
    n -= skip;
    if (s->is_gone || s->h->r < 0) {
        if (is_last && n == 0 && s->h->role == COR_H2_SERVER)
            release(s);
        return 0;
    }
    if (n == 0 && !is_last)
        return 0;
    room = cor_h2_stream_room(s, &by_output);
    if (is_last && n <= room)
        s->out = COR_H2_OUT_ENDED;
    taken = send_body(s, spans, skip, n < room ? n : room);
    if (taken < n && !s->is_gone) {
        s->out = COR_H2_OUT_OPEN;
        wait_for_room(s, n - taken, by_output);
    }
    cor_h2_after_call(s);
    return taken;
}

int cor_h2_write_trailers(struct cor_h2_stream *s, const struct cor_http_header *headers,
                          size_t nheaders)
{
    COR_CLEANUP(fields_deinit) struct fields f;
    int r;

    assert(s->h->role == COR_H2_SERVER && s->out == COR_H2_OUT_OPEN && !s->h->in_recv);
    fields_init(&f, NO_INDEX_FROM);
    r = add_fields(&f, headers, nheaders);
    if (r < 0)
        return r;
    if (s->pending.n > 0)
        return -COR_EBUSY;
    if (!s->is_gone && nghttp2_submit_trailer(s->h->ng, s->id, f.nv, f.n) == NGHTTP2_ERR_NOMEM)
        return -COR_ENOMEM;
    s->out = COR_H2_OUT_ENDED;
    cor_h2_flush_busy(s);
    cor_h2_after_call(s);
    return 0;
}

void cor_h2_reset(struct cor_h2_stream *s, uint32_t code)
{
    struct cor_h2 *h = s->h;
    bool is_gone = s->is_gone;

    assert(s->is_held);
    s->is_reset = true;
    release(s);
    if (is_gone || h->r < 0)
        return;
    drop_pending(s);
    if (nghttp2_submit_rst_stream(h->ng, NGHTTP2_FLAG_NONE, s->id, code) < 0)
        cor_h2_fail(h, -COR_ENOMEM, "out of memory");
    cor_h2_flush(h);
}
