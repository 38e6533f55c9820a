/* Output: cor_stream_write() copies into blocks and puts the stream on the loop's dirty list; at
 * the turn's end the blocks are encrypted and sent together. What the socket does not take goes to
 * libuv, and nothing more is encrypted for the stream until that has gone out.
 *
 * A thousand sockets may take output at once, 256 KB each. So the end of a turn sends for SENDS_US,
 * and the streams that are left come first at the end of the next. */
#include <assert.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/stream/net_int.h"

#define SENDS_US 2000

struct rest {
    uv_write_t req;
    struct cor_stream *stream;
    size_t n;
    char bytes[];
};

void cor_stream_mark_dirty(struct cor_stream *s)
{
    if (cor_dlist_empty(&s->dirty_link))
        cor_dlist_push(&s->net->dirty, &s->dirty_link);
    cor_net_keep_awake(s->net);
}

void cor_stream_set_wake(struct cor_stream *s)
{
    if (cor_dlist_empty(&s->wake_link))
        cor_dlist_push(&s->net->wakes, &s->wake_link);
    cor_net_keep_awake(s->net);
}

void cor_stream_set_drained(struct cor_stream *s)
{
    if (s->is_drained)
        return;
    s->is_drained = s->drained_is_due = true;
    cor_stream_set_wake(s);
}

size_t cor_stream_room(const struct cor_stream *s)
{
    size_t waiting = s->out_n + s->in_flight;

    return s->is_failed || s->says_end || waiting > s->out_max ? 0 : s->out_max - waiting;
}

static void set_wake_if_writable(struct cor_stream *s)
{
    if (s->wants_writable && cor_stream_room(s) >= s->out_max / 2)
        cor_stream_set_wake(s);
}

/* At the end of a turn; the user is told from there, because a write may flush. */
static void set_wake_if_waiting(struct cor_stream *s)
{
    if (s->out_n + s->in_flight != s->told_waiting && s->cbs->on_waiting && !s->is_failed)
        cor_stream_set_wake(s);
}

void cor_stream_want_writable(struct cor_stream *s)
{
    s->wants_writable = true;
    set_wake_if_writable(s);
}

void cor_stream_want_turn(struct cor_stream *s)
{
    s->wants_turn = true;
    cor_stream_set_wake(s);
}

/* Makes the blocks first, so that a failure changes nothing. */
static int add_blocks(struct cor_stream *s, size_t n)
{
    size_t room = s->out_last ? COR_BLOCK_BYTES - s->out_last->n : 0;
    struct cor_block *first = NULL, *block;

    for (; room < n; room += COR_BLOCK_BYTES) {
        block = cor_net_block_get(s->net);
        if (!block)
            break;
        block->next = first;
        first = block;
    }
    if (room < n) {
        while ((block = first)) {
            first = block->next;
            cor_net_block_put(s->net, block);
        }
        return -COR_ENOMEM;
    }
    if (s->out_last)
        s->out_last->next = first;
    else
        s->out = s->out_last = first;
    return 0;
}

static void copy_in(struct cor_stream *s, struct cor_str bytes)
{
    while (bytes.n > 0) {
        struct cor_block *block = s->out_last;
        size_t n;

        assert(block);
        n = COR_BLOCK_BYTES - block->n;
        if (n == 0) {
            s->out_last = block->next;
            continue;
        }
        n = n < bytes.n ? n : bytes.n;
        memcpy(block->bytes + block->n, bytes.p, n);
        block->n += n;
        s->out_n += n;
        bytes = cor_str_from(bytes, n);
    }
}

int cor_stream_write(struct cor_stream *s, const struct cor_str *spans, size_t nspans)
{
    size_t n = 0;
    int r;

    if (s->is_failed || s->says_end)
        return -COR_ECANCELED;
    for (size_t i = 0; i < nspans; i++)
        n += spans[i].n;
    if (n > cor_stream_room(s))
        return -COR_EBUSY;
    if (n == 0)
        return 0;
    r = add_blocks(s, n);
    if (r < 0)
        return r;
    for (size_t i = 0; i < nspans; i++)
        copy_in(s, spans[i]);
    cor_stream_mark_dirty(s);
    if (s->net->nfresh >= COR_BLOCKS_KEPT_MAX)
        cor_net_flush_early(s->net);
    return 0;
}

static void on_rest_sent(uv_write_t *req, int status)
{
    struct rest *rest = COR_CONTAINER_OF(req, struct rest, req);
    struct cor_stream *s = rest->stream;

    s->in_flight -= rest->n;
    cor_free(rest);
    if (s->state == COR_STREAM_CLOSING)
        return;
    if (status < 0) {
        cor_stream_over(s, -COR_EIO);
        return;
    }
    cor_timer_cancel(&s->stall);
    if (s->in_flight > 0 && s->stall_ms > 0 && cor_timer_set(&s->stall, s->stall_ms) < 0)
        cor_stream_over(s, -COR_ENOMEM);
    if (s->in_flight == 0 && (s->out_n > 0 || s->says_end))
        cor_stream_mark_dirty(s);
    set_wake_if_waiting(s);
    set_wake_if_writable(s);
}

static int queue_rest(struct cor_stream *s, struct cor_str bytes)
{
    struct rest *rest = cor_alloc(sizeof(*rest) + bytes.n);
    uv_buf_t buf;

    if (!rest)
        return -COR_ENOMEM;
    if (s->stall_ms > 0 && !cor_timer_is_set(&s->stall) &&
        cor_timer_set(&s->stall, s->stall_ms) < 0) {
        cor_free(rest);
        return -COR_ENOMEM;
    }
    rest->stream = s;
    rest->n = bytes.n;
    memcpy(rest->bytes, bytes.p, bytes.n);
    buf = uv_buf_init(rest->bytes, (unsigned)bytes.n);
    if (uv_write(&rest->req, &s->uv.stream, &buf, 1, on_rest_sent) < 0) {
        cor_free(rest);
        return -COR_EIO;
    }
    s->in_flight += bytes.n;
    return 0;
}

void cor_stream_send(struct cor_stream *s, struct cor_str bytes)
{
    int n, r;

    if (s->is_failed || bytes.n == 0)
        return;
    if (s->in_flight == 0) {
        uv_buf_t buf = uv_buf_init((char *)bytes.p, (unsigned)bytes.n);

        n = uv_try_write(&s->uv.stream, &buf, 1);
        if (n < 0 && n != UV_EAGAIN) {
            cor_stream_over(s, -COR_EIO);
            return;
        }
        bytes = cor_str_from(bytes, n > 0 ? (size_t)n : 0);
    }
    if (bytes.n > 0 && s->in_flight > s->out_max + COR_CIPHER_BYTES)
        r = -COR_EIO;
    else
        r = bytes.n > 0 ? queue_rest(s, bytes) : 0;
    if (r < 0)
        cor_stream_over(s, r);
}

/* Moves up to COR_SEND_BLOCKS blocks to net->cipher: encrypted, or as they are. */
static bool gather(struct cor_stream *s)
{
    struct cor_net *net = s->net;
    bool ok = true;

    assert(net->cipher_n == 0);
    for (int i = 0; i < COR_SEND_BLOCKS && s->out && ok; i++) {
        struct cor_block *block = s->out;

        if (s->ssl) {
            ok = cor_tls_session_encrypt(s, cor_str(block->bytes, block->n));
        } else {
            memcpy(net->cipher + net->cipher_n, block->bytes, block->n);
            net->cipher_n += block->n;
        }
        s->out = block->next;
        s->out_n -= block->n;
        cor_net_block_put(net, block);
    }
    if (!s->out)
        s->out_last = NULL;
    return ok;
}

static void say_end(struct cor_stream *s)
{
    uv_os_fd_t fd;

    if (s->ssl && !s->has_said_end)
        cor_tls_session_say_end(s);
    s->has_said_end = true;
    if (s->in_flight > 0)
        return;
    if (uv_fileno(&s->uv.handle, &fd) == 0)
        shutdown(fd, SHUT_WR);
    cor_stream_set_drained(s);
}

static void flush(struct cor_stream *s)
{
    struct cor_net *net = s->net;

    if (s->state == COR_STREAM_CONNECTING || s->state == COR_STREAM_HANDSHAKE)
        return;
    while (s->out_n > 0 && s->in_flight == 0 && !s->is_failed) {
        bool ok = gather(s);

        cor_stream_send(s, cor_str(net->cipher, net->cipher_n));
        net->cipher_n = 0;
        if (!ok)
            cor_stream_over(s, -COR_EIO);
    }
    if (s->says_end && s->out_n == 0 && s->in_flight == 0 && !s->is_failed)
        say_end(s);
    set_wake_if_waiting(s);
    set_wake_if_writable(s);
}

static void flush_first(struct cor_net *net)
{
    flush(COR_CONTAINER_OF(cor_dlist_pop(&net->dirty), struct cor_stream, dirty_link));
}

void cor_net_flush(struct cor_net *net)
{
    while (!cor_dlist_empty(&net->dirty) &&
           cor_turn_share_take(&net->sends, net->loop, SENDS_US, true))
        flush_first(net);
    net->nfresh = 0;
}

void cor_net_flush_early(struct cor_net *net)
{
    size_t before = net->nused > net->nfresh ? net->nused - net->nfresh : 0;

    while (!cor_dlist_empty(&net->dirty) && net->nused > before)
        flush_first(net);
    net->nfresh = 0;
}
