/* Input: what an etcd might send on a watch stream that two watches share, and what happens
 * meanwhile: records of one byte (what), one (length), and as many bytes. Whatever comes, a watch
 * delivers whole revisions after its position, in order, and its position never goes back. */
#include <stdlib.h>

#include "base/err.h"
#include "fuzz.h"
#include "loop/loop.h"
#include "storage/etcd/etcd_watch.h"

struct etcd_stream {
    struct etcd_session *session;
    const struct etcd_stream_cbs *cbs;
    void *arg;
};

struct etcd_session {
    struct cor_loop *loop;
    struct cor_dlist waiting;
    struct etcd_stream *stream; /* the last that was opened; NULL: it was closed */
};

struct cor_loop *cor_etcd_session_loop(const struct etcd_session *s)
{
    return s->loop;
}

void cor_etcd_waiter_init(struct etcd_waiter *waiter, void (*on_up)(struct etcd_waiter *waiter))
{
    cor_dlist_init(&waiter->link);
    waiter->on_up = on_up;
}

void cor_etcd_waiter_leave(struct etcd_waiter *waiter)
{
    cor_dlist_remove(&waiter->link);
}

void cor_etcd_session_wait(struct etcd_session *s, struct etcd_waiter *waiter,
                           enum etcd_wait_when when)
{
    cor_dlist_push(&s->waiting, &waiter->link);
}

bool cor_etcd_session_wants_login(const struct etcd_session *s, const char *message)
{
    return message[0] == 'l';
}

void cor_etcd_session_blame_member(struct etcd_session *s, const struct etcd_failure *why)
{
}

bool cor_etcd_is_refusal(const char *message)
{
    return message[0] == 'p';
}

int cor_etcd_session_open_stream(struct etcd_session *s, const char *method,
                                 const struct etcd_stream_cbs *cbs, void *arg,
                                 struct etcd_stream **ret_stream)
{
    struct etcd_stream *stream = calloc(1, sizeof(*stream));

    FUZZ_CHECK(stream && !s->stream);
    *stream = (struct etcd_stream){s, cbs, arg};
    *ret_stream = s->stream = stream;
    return 0;
}

int cor_etcd_stream_send(struct etcd_stream *stream, struct cor_str message)
{
    return 0;
}

void cor_etcd_stream_cancel(struct etcd_stream *stream)
{
    FUZZ_CHECK(stream->session->stream == stream);
    stream->session->stream = NULL;
    free(stream);
}

/* One of the two watches. */
struct subject {
    struct etcd_watch watch;
    cor_rev pos;
};

static void on_events(struct etcd_watch *w, const struct cor_feed_event *events, size_t n)
{
    struct subject *s = COR_CONTAINER_OF(w, struct subject, watch);
    cor_rev last = s->pos + 1;

    FUZZ_CHECK(n > 0 && events[0].kv->mod_rev > s->pos);
    for (size_t i = 0; i < n; i++) {
        FUZZ_CHECK(events[i].kv->mod_rev >= last || i == 0);
        last = events[i].kv->mod_rev;
    }
    FUZZ_CHECK(w->pos == last && !w->with_prev);
    s->pos = w->pos;
}

static void on_progress(struct etcd_watch *w)
{
    struct subject *s = COR_CONTAINER_OF(w, struct subject, watch);

    FUZZ_CHECK(w->pos >= s->pos && w->nheld == 0);
    s->pos = w->pos;
}

static void on_broken(struct etcd_watch *w, int err, const char *message)
{
    FUZZ_CHECK(err == -COR_EEXPIRED || err == -COR_EFORBIDDEN);
    cor_etcd_watch_close(w);
}

static void open_watch(struct subject *s, struct etcd_watch_streams *streams, struct cor_str key)
{
    cor_etcd_watch_init(&s->watch, streams);
    s->watch.key = key;
    s->watch.on_events = on_events;
    s->watch.on_progress = on_progress;
    s->watch.on_broken = on_broken;
    s->watch.pos = s->pos = 4;
    cor_etcd_watch_open(&s->watch);
}

static void run_waiting(struct etcd_session *s)
{
    struct cor_dlist told, *link;

    cor_dlist_init(&told);
    cor_dlist_splice(&told, &s->waiting);
    while ((link = cor_dlist_pop(&told))) {
        struct etcd_waiter *waiter = COR_CONTAINER_OF(link, struct etcd_waiter, link);

        waiter->on_up(waiter);
    }
}

static void cut(struct etcd_session *s, struct cor_str text)
{
    char message[256] = "";
    struct etcd_failure why = {COR_GRPC_UNAVAILABLE, message, false};
    struct etcd_stream *stream = s->stream;
    struct etcd_stream copy;

    if (!stream)
        return;
    memcpy(message, text.p, text.n < sizeof(message) ? text.n : sizeof(message) - 1);
    copy = *stream;
    s->stream = NULL;
    free(stream);
    copy.cbs->on_closed(copy.arg, &why);
}

static void play(struct etcd_session *s, struct subject *subjects, uint8_t what,
                 struct cor_str bytes)
{
    struct subject *subject = &subjects[what & 1];

    switch (what % 8 / 2) {
    case 0:
        if (s->stream)
            s->stream->cbs->on_message(s->stream->arg, bytes);
        break;
    case 1:
        cut(s, bytes);
        break;
    case 2:
        cor_etcd_watch_close(&subject->watch);
        cor_etcd_watch_open(&subject->watch);
        break;
    default:
        cor_etcd_watch_ask_progress(&subject->watch);
        break;
    }
    run_waiting(s);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct etcd_session session = {.stream = NULL};
    struct etcd_watch_streams streams;
    struct subject subjects[2] = {0};

    FUZZ_CHECK(cor_loop_new(8, &session.loop) == 0);
    cor_dlist_init(&session.waiting);
    cor_etcd_watch_streams_init(&streams, &session);
    open_watch(&subjects[0], &streams, COR_STR("/a"));
    open_watch(&subjects[1], &streams, COR_STR("/b"));
    run_waiting(&session);
    while (size >= 2) {
        size_t n = data[1] < size - 2 ? data[1] : size - 2;

        play(&session, subjects, data[0], cor_str((const char *)data + 2, n));
        data += 2 + n;
        size -= 2 + n;
    }
    cor_etcd_watch_close(&subjects[0].watch);
    cor_etcd_watch_close(&subjects[1].watch);
    FUZZ_CHECK(!session.stream && !streams.shared && streams.nlone == 0);
    cor_loop_free(session.loop);
    return 0;
}
