#include "storage/etcd/watch.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "storage/etcd/messages.h"

#define METHOD_WATCH      "/etcdserverpb.Watch/Watch"
#define WATCH_ID          1
#define PROGRESS_RETRY_MS 100
#define CREATE_BYTES_MAX  16384
#define COMPACTED         "required revision has been compacted"

static void drop_held(struct etcd_watch *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cor_kv_unref(w->held[i].kv);
        cor_kv_unref(w->held[i].prev);
    }
    w->nheld -= n;
    if (w->nheld > 0)
        memmove(w->held, w->held + n, w->nheld * sizeof(*w->held));
}

static void stop(struct etcd_watch *w)
{
    if (w->stream)
        etcd_stream_close(COR_STEAL(w->stream));
    etcd_waiter_leave(&w->waiter);
    cor_timer_cancel(&w->timer);
    drop_held(w, w->nheld);
    w->held = cor_free(w->held);
    w->held_cap = 0;
}

static void break_watch(struct etcd_watch *w, int err, const char *message)
{
    stop(w);
    w->state = ETCD_WATCH_BROKEN;
    w->on_broken(w, err, message);
}

/* What was held of a revision comes again. */
static void restart(struct etcd_watch *w, enum etcd_wait_when when)
{
    stop(w);
    w->state = ETCD_WATCH_WAITING;
    etcd_session_wait(w->session, &w->waiter, when);
}

static int send_progress(struct etcd_watch *w)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
    int r;

    cor_buf_init(&out, CREATE_BYTES_MAX);
    r = etcd_encode_watch_progress(&out);
    if (r == 0)
        r = etcd_stream_send(w->stream, cor_buf_str(&out));
    if (r == 0)
        r = cor_timer_set(&w->timer, PROGRESS_RETRY_MS);
    return r;
}

static void on_timer(struct cor_timer *timer)
{
    struct etcd_watch *w = COR_CONTAINER_OF(timer, struct etcd_watch, timer);

    if (w->state == ETCD_WATCH_OPEN && w->wants_progress && send_progress(w) < 0)
        restart(w, ETCD_WAIT_RETRY);
}

void etcd_watch_ask_progress(struct etcd_watch *w)
{
    bool asked = w->wants_progress;

    w->wants_progress = true;
    if (w->state == ETCD_WATCH_OPEN && !asked && send_progress(w) < 0)
        restart(w, ETCD_WAIT_RETRY);
}

/* Takes the events, which are references, out of the answer. */
static int hold(struct etcd_watch *w, struct etcd_watch_answer *a)
{
    size_t need = w->nheld + a->nevents, cap = w->held_cap ? w->held_cap : 16;

    while (cap < need)
        cap *= 2;
    if (cap > w->held_cap) {
        struct cor_feed_event *held = cor_realloc(w->held, cap * sizeof(*held));

        if (!held)
            return -COR_ENOMEM;
        w->held = held;
        w->held_cap = cap;
    }
    for (size_t i = 0; i < a->nevents; i++) {
        if (a->events[i].kv->mod_rev <= w->pos)
            continue;
        w->held[w->nheld++] = a->events[i];
        a->events[i] = (struct cor_feed_event){0};
    }
    return 0;
}

/* Held events that belong to whole revisions: after a fragment the last one may go on. */
static size_t count_whole(const struct etcd_watch *w, bool is_fragment)
{
    size_t n = w->nheld;

    if (!is_fragment || n == 0)
        return n;
    while (n > 0 && w->held[n - 1].kv->mod_rev == w->held[w->nheld - 1].kv->mod_rev)
        n--;
    return n;
}

static void deliver(struct etcd_watch *w, size_t n)
{
    struct cor_feed_event *events = w->held;
    size_t total = w->nheld, cap = w->held_cap;

    if (n == 0)
        return;
    /* The watch may be closed from inside: the array is ours meanwhile. */
    w->held = NULL;
    w->nheld = w->held_cap = 0;
    w->pos = events[n - 1].kv->mod_rev;
    w->on_events(w, events, n);
    if (w->state == ETCD_WATCH_OPEN) {
        w->held = events;
        w->nheld = total;
        w->held_cap = cap;
        drop_held(w, n);
        return;
    }
    for (size_t i = 0; i < total; i++) {
        cor_kv_unref(events[i].kv);
        cor_kv_unref(events[i].prev);
    }
    cor_free(events);
}

static void take_progress(struct etcd_watch *w, cor_rev rev)
{
    if (!w->wants_progress || w->nheld > 0)
        return;
    w->wants_progress = false;
    cor_timer_cancel(&w->timer);
    if (rev > w->pos)
        w->pos = rev;
    if (w->on_progress)
        w->on_progress(w);
}

static void take_canceled(struct etcd_watch *w, const struct etcd_watch_answer *a)
{
    if (a->compact_rev > 0)
        break_watch(w, -COR_EEXPIRED, COMPACTED);
    else if (etcd_session_wants_login(w->session, a->reason))
        restart(w, ETCD_WAIT_LOGIN);
    else if (etcd_is_refusal(a->reason))
        break_watch(w, -COR_EINTERNAL, a->reason);
    else
        restart(w, ETCD_WAIT_RETRY);
}

/* etcd still has the event at the compacted revision itself, but not what was before it. */
static bool lacks_prev(const struct etcd_watch *w, const struct etcd_watch_answer *a)
{
    for (size_t i = 0; w->with_prev && i < a->nevents; i++) {
        const struct cor_kv *kv = a->events[i].kv;

        if (!a->events[i].prev && (a->events[i].deleted || kv->create_rev != kv->mod_rev))
            return true;
    }
    return false;
}

static void take_answer(struct etcd_watch *w, struct etcd_watch_answer *a)
{
    if (a->canceled) {
        take_canceled(w, a);
    } else if (lacks_prev(w, a)) {
        break_watch(w, -COR_EEXPIRED, COMPACTED);
    } else if (a->nevents > 0) {
        if (hold(w, a) < 0)
            restart(w, ETCD_WAIT_RETRY);
        else
            deliver(w, count_whole(w, a->is_fragment));
    } else if (!a->created) {
        take_progress(w, a->rev);
    }
}

static void on_message(void *arg, struct cor_str message)
{
    struct etcd_watch *w = arg;
    struct etcd_watch_answer answer;

    if (etcd_decode_watch(message, &answer) < 0) {
        restart(w, ETCD_WAIT_RETRY);
        return;
    }
    take_answer(w, &answer);
    etcd_watch_answer_deinit(&answer);
}

static void on_closed(void *arg, const struct etcd_failure *why)
{
    struct etcd_watch *w = arg;

    w->stream = NULL;
    if (etcd_is_refusal(why->message))
        break_watch(w, -COR_EINTERNAL, why->message);
    else
        restart(w, etcd_session_wants_login(w->session, why->message) ? ETCD_WAIT_LOGIN
                                                                      : ETCD_WAIT_RETRY);
}

static int open_stream(struct etcd_watch *w)
{
    static const struct etcd_stream_cbs cbs = {.on_message = on_message, .on_closed = on_closed};
    const struct etcd_watch_create create = {
        .id = WATCH_ID, .key = w->key, .end = w->end, .from = w->pos, .with_prev = w->with_prev};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
    int r;

    cor_buf_init(&out, CREATE_BYTES_MAX);
    r = etcd_encode_watch_create(&create, &out);
    if (r == 0)
        r = etcd_session_open_stream(w->session, METHOD_WATCH, &cbs, w, &w->stream);
    if (r == 0)
        r = etcd_stream_send(w->stream, cor_buf_str(&out));
    if (r == 0 && w->wants_progress)
        r = send_progress(w);
    return r;
}

static void on_up(struct etcd_waiter *waiter)
{
    struct etcd_watch *w = COR_CONTAINER_OF(waiter, struct etcd_watch, waiter);

    w->state = ETCD_WATCH_OPEN;
    if (open_stream(w) < 0)
        restart(w, ETCD_WAIT_RETRY);
}

void etcd_watch_init(struct etcd_watch *w, struct etcd_session *session, struct cor_loop *loop)
{
    w->session = session;
    etcd_waiter_init(&w->waiter, on_up);
    cor_timer_init(&w->timer, loop, on_timer);
}

void etcd_watch_open(struct etcd_watch *w)
{
    assert(w->state == ETCD_WATCH_CLOSED);
    w->wants_progress = false;
    w->state = ETCD_WATCH_WAITING;
    etcd_session_wait(w->session, &w->waiter, ETCD_WAIT_CONNECTION);
}

void etcd_watch_close(struct etcd_watch *w)
{
    stop(w);
    w->state = ETCD_WATCH_CLOSED;
}
