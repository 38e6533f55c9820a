/* A peer that is gone for good (a reset, or both sides shut) fails its stream with -COR_EIO: what
 * it sent before and nobody has read is of no use to anybody. A peer that has ended its side only
 * may still read, and what it sent before counts: the user is told by on_left, in the second look
 * that finds the stream so, because input may be stopped for a moment only.
 *
 * Failures: an error of the system's answer counts as no change. */
#include "net/stream/unread.h"

#include <assert.h>
#include <poll.h>

#include "base/err.h"
#include "net/stream/net_int.h"

#define GONE (POLLERR | POLLHUP | POLLNVAL)

static void set_timer(struct cor_unread *unread, uint64_t delay_ms)
{
    if (unread->n > 0 && !cor_timer_is_set(&unread->timer))
        (void)cor_timer_set(&unread->timer, delay_ms);
}

void cor_unread_enter(struct cor_stream *s)
{
    struct cor_unread *unread = &s->net->unread;

    if (!s->cbs->on_left || s->state != COR_STREAM_OPEN || !cor_dlist_empty(&s->unread_link))
        return;
    cor_dlist_push(&unread->streams, &s->unread_link);
    unread->n++;
    s->left_seen = false;
    set_timer(unread, COR_UNREAD_EACH_MS);
}

void cor_unread_leave(struct cor_stream *s)
{
    struct cor_unread *unread = &s->net->unread;

    if (cor_dlist_empty(&s->unread_link))
        return;
    cor_dlist_remove(&s->unread_link);
    unread->n--;
    if (unread->n == 0)
        cor_timer_cancel(&unread->timer);
}

static void judge(struct cor_stream *s, short events)
{
    if (events & GONE) {
        cor_stream_over(s, -COR_EIO);
    } else if ((events & POLLRDHUP) && s->left_seen) {
        s->left_is_due = true;
        cor_stream_set_wake(s);
    } else {
        s->left_seen = events & POLLRDHUP;
    }
}

/* Asks about the first `n` streams, which go to the end of the list. */
static void look(struct cor_unread *unread, size_t n)
{
    struct pollfd fds[COR_UNREAD_STEP];
    struct cor_stream *streams[COR_UNREAD_STEP];

    assert(n <= COR_UNREAD_STEP);
    for (size_t i = 0; i < n; i++) {
        struct cor_dlist *link = cor_dlist_pop(&unread->streams);
        uv_os_fd_t fd = -1;

        streams[i] = COR_CONTAINER_OF(link, struct cor_stream, unread_link);
        cor_dlist_push(&unread->streams, link);
        (void)uv_fileno(&streams[i]->uv.handle, &fd);
        fds[i] = (struct pollfd){.fd = fd, .events = POLLRDHUP};
    }
    if (poll(fds, n, 0) <= 0)
        return;
    for (size_t i = 0; i < n; i++)
        judge(streams[i], fds[i].revents);
}

static void on_timer(struct cor_timer *timer)
{
    struct cor_unread *unread = COR_CONTAINER_OF(timer, struct cor_unread, timer);
    size_t n;

    if (unread->nleft == 0 || unread->nleft > unread->n)
        unread->nleft = unread->n;
    n = unread->nleft < COR_UNREAD_STEP ? unread->nleft : COR_UNREAD_STEP;
    unread->nleft -= n;
    look(unread, n);
    set_timer(unread, unread->nleft > 0 ? COR_UNREAD_PAUSE_MS : COR_UNREAD_EACH_MS);
}

void cor_unread_init(struct cor_unread *unread, struct cor_loop *loop)
{
    *unread = (struct cor_unread){0};
    cor_dlist_init(&unread->streams);
    cor_timer_init(&unread->timer, loop, on_timer);
}

void cor_unread_deinit(struct cor_unread *unread)
{
    assert(unread->n == 0);
    cor_timer_cancel(&unread->timer);
}
