/* clang-format off */
/* Flow control: how much the peer may send, and how much it lets us send.
 *
 *   comes in    the connection's window is opened again as soon as bytes arrive; a stream's by
 *               cor_h2_consume(), when somebody has taken them ──► what waits is bounded by the streams' windows
 *   goes out    the smallest of the stream's window, the connection's, the output's room, and the stream's
 *               share of it ──► a writer that got less waits in h->waiting ──► cor_h2_tell_writable()
 *
 * nghttp2 counts the windows and sends the frames (WINDOW_UPDATE).
 * Thread: the session's. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "net/session/h2_int.h"

/* What the connection as a whole may send before it is taken: a stream that is not read must not
 * stop the others, so this window is opened as soon as bytes arrive, and the streams' windows bound
 * what is kept. */
#define CONNECTION_WINDOW (8u << 20)
/* A writer that waits is called when its window and the output have this much room. */
#define WINDOW_LOW 16384u
#define OUTPUT_LOW 1024u

int cor_h2_open_window(struct cor_h2 *h)
{
    return nghttp2_session_set_local_window_size(h->ng, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW);
}

int cor_h2_reopen_window(nghttp2_session *ng, size_t n)
{
    return nghttp2_session_consume_connection(ng, n);
}

void cor_h2_consume(struct cor_h2_stream *s, size_t n)
{
    assert(n <= s->unconsumed);
    s->unconsumed -= n;
    if (s->is_gone || s->h->r < 0)
        return;
    if (nghttp2_session_consume_stream(s->h->ng, s->id, n) == NGHTTP2_ERR_NOMEM)
        cor_h2_fail(s->h, -COR_ENOMEM, "out of memory");
    cor_h2_flush_busy(s);
    cor_h2_after_call(s);
}

size_t cor_h2_stream_room(const struct cor_h2_stream *s, bool *ret_by_output)
{
    struct cor_h2 *h = s->h;
    int64_t stream = nghttp2_session_get_stream_remote_window_size(h->ng, s->id);
    int64_t window = nghttp2_session_get_remote_window_size(h->ng);
    size_t out, frames;

    *ret_by_output = false;
    if (s->out != COR_H2_OUT_OPEN || s->is_gone || h->r < 0)
        return 0;
    stream -= (int64_t)(s->pending.n - s->pending_done);
    window -= (int64_t)h->pending_n;
    window = window < stream ? window : stream;
    if (window <= 0)
        return 0;
    out = h->cbs->room(h->arg);
    frames = (out / COR_H2_FRAME_MAX + 2) * COR_H2_FRAME_HEAD;
    out = out > frames + h->pending_n ? out - frames - h->pending_n : 0;
    out = out < h->share_max ? out : h->share_max;
    *ret_by_output = out <= (size_t)window;
    return out < (size_t)window ? out : (size_t)window;
}

size_t cor_h2_room(const struct cor_h2_stream *s)
{
    bool by_output;

    return cor_h2_stream_room(s, &by_output);
}

/* From when it is worth while to go on: what is wanted; or of a window a frame's worth, or half of
 * what the peer ever opens; or of the output something. */
static bool has_room(const struct cor_h2_stream *s, bool *ret_by_output)
{
    uint32_t window =
        nghttp2_session_get_remote_settings(s->h->ng, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE);
    size_t room = cor_h2_stream_room(s, ret_by_output);
    size_t low = window / 2 < WINDOW_LOW ? window / 2 : WINDOW_LOW;

    low = *ret_by_output ? OUTPUT_LOW : low;
    return room > 0 && (room >= low || room >= s->wanted);
}

void cor_h2_tell_writable(struct cor_h2 *h)
{
    size_t n = h->nwaiting, room = h->cbs->room(h->arg);
    struct cor_dlist batch, *link;

    if (n == 0)
        return;
    h->share_max = room / n > WINDOW_LOW ? room / n : WINDOW_LOW;
    cor_dlist_init(&batch);
    cor_dlist_splice(&batch, &h->waiting);
    while ((link = cor_dlist_pop(&batch))) {
        struct cor_h2_stream *s = COR_CONTAINER_OF(link, struct cor_h2_stream, wait_link);
        bool by_output;

        if (h->r == 0 && has_room(s, &by_output)) {
            h->nwaiting--;
            s->cbs->on_writable(s, s->arg);
        } else {
            cor_dlist_push(&h->waiting, link);
            if (h->r == 0 && by_output)
                h->cbs->want_turn(h->arg);
        }
    }
    h->share_max = SIZE_MAX;
}
