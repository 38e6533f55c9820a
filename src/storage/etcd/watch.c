#include "storage/etcd/watch.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "storage/etcd/messages.h"

#define COMPACTED "required revision has been compacted"

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
    cor_etcd_place_leave(&w->place);
    cor_etcd_waiter_leave(&w->waiter);
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
    cor_etcd_session_wait(w->streams->session, &w->waiter, when);
}

void cor_etcd_watch_ask_progress(struct etcd_watch *w)
{
    w->wants_progress = true;
    if (w->state == ETCD_WATCH_OPEN)
        cor_etcd_place_ask_progress(&w->place);
}

/* In etcd's own words. */
static bool is_over_all_keys(const struct etcd_watch *w)
{
    return cor_str_eq(w->key, ETCD_ALL_KEYS) && cor_str_eq(w->end, ETCD_ALL_KEYS);
}

/* Takes the events, which are references, out of the answer. -COR_EINTERNAL: they are out of order.
 * -COR_EEXPIRED: a revision is missing in a watch over all keys. Every revision changes some key,
 * so etcd has lost events without saying so. Before 3.4.31 and 3.5.13 it does that when it cannot
 * tell a watch at once that its revision is compacted, because the queue of the stream is full.
 * Before 3.4.34 and 3.5.16 it also forgets a deletion at the very revision of a compaction. */
static int hold(struct etcd_watch *w, struct etcd_watch_answer *a)
{
    size_t need = w->nheld + a->nevents, cap = w->held_cap ? w->held_cap : 16;
    bool has_every_revision = is_over_all_keys(w);

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
        cor_rev rev = a->events[i].kv->mod_rev;
        cor_rev last = w->nheld > 0 ? w->held[w->nheld - 1].kv->mod_rev : w->pos;

        if (rev <= w->pos)
            continue;
        if (rev < last)
            return -COR_EINTERNAL;
        if (has_every_revision && rev > last + 1)
            return -COR_EEXPIRED;
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

/* The revision of the first event that comes without what was before it; 0: there is none. */
static cor_rev find_lack_of_prev(const struct etcd_watch *w, const struct etcd_watch_answer *a)
{
    for (size_t i = 0; w->with_prev && i < a->nevents; i++) {
        const struct cor_kv *kv = a->events[i].kv;

        if (!a->events[i].prev && (a->events[i].deleted || kv->create_rev != kv->mod_rev))
            return kv->mod_rev;
    }
    return 0;
}

/* An event without its previous value has one of two reasons. etcd still has the event at the
 * compacted revision itself, but not what was before it; then it lacks it again when the watch is
 * made anew. Or the event was sent while the watch was being created, before etcd had noted that
 * previous values are wanted; then it comes whole. */
static void on_lack_of_prev(struct etcd_watch *w, cor_rev rev)
{
    if (w->lacked_prev_at == rev) {
        break_watch(w, -COR_EEXPIRED, COMPACTED);
        return;
    }
    w->lacked_prev_at = rev;
    restart(w, ETCD_WAIT_RETRY);
}

static struct etcd_watch *of_place(struct etcd_place *place)
{
    return COR_CONTAINER_OF(place, struct etcd_watch, place);
}

static void on_events(struct etcd_place *place, struct etcd_watch_answer *a)
{
    struct etcd_watch *w = of_place(place);
    cor_rev lack = find_lack_of_prev(w, a);
    int r;

    if (lack > 0) {
        on_lack_of_prev(w, lack);
        return;
    }
    r = hold(w, a);
    if (r == -COR_EEXPIRED)
        break_watch(w, r, COMPACTED);
    else if (r < 0)
        restart(w, ETCD_WAIT_RETRY);
    else
        deliver(w, count_whole(w, a->is_fragment));
}

static void on_progress(struct etcd_place *place, cor_rev rev)
{
    struct etcd_watch *w = of_place(place);

    if (w->nheld > 0) {
        cor_etcd_place_ask_progress(place);
        return;
    }
    w->wants_progress = false;
    if (rev > w->pos)
        w->pos = rev;
    w->on_progress(w);
}

static void on_end(struct etcd_place *place, int err, const char *message)
{
    break_watch(of_place(place), err, message);
}

static void on_lost(struct etcd_place *place, enum etcd_wait_when when)
{
    restart(of_place(place), when);
}

static void on_held_up(struct etcd_place *place)
{
    struct etcd_watch *w = of_place(place);

    w->is_alone = true;
    restart(w, ETCD_WAIT_CONNECTION);
}

static void on_up(struct etcd_waiter *waiter)
{
    static const struct etcd_place_cbs cbs = {.on_events = on_events,
                                              .on_progress = on_progress,
                                              .on_end = on_end,
                                              .on_lost = on_lost,
                                              .on_held_up = on_held_up};
    struct etcd_watch *w = COR_CONTAINER_OF(waiter, struct etcd_watch, waiter);
    const struct etcd_watch_create create = {
        .key = w->key, .end = w->end, .from = w->pos, .with_prev = w->with_prev};

    if (cor_etcd_watch_streams_join(w->streams, w->is_alone, &create, &cbs, &w->place) < 0) {
        restart(w, ETCD_WAIT_RETRY);
        return;
    }
    w->state = ETCD_WATCH_OPEN;
    if (w->wants_progress)
        cor_etcd_place_ask_progress(&w->place);
}

void cor_etcd_watch_init(struct etcd_watch *w, struct etcd_watch_streams *streams)
{
    w->streams = streams;
    cor_etcd_waiter_init(&w->waiter, on_up);
}

void cor_etcd_watch_open(struct etcd_watch *w)
{
    assert(w->state == ETCD_WATCH_CLOSED);
    w->wants_progress = false;
    w->state = ETCD_WATCH_WAITING;
    cor_etcd_session_wait(w->streams->session, &w->waiter, ETCD_WAIT_CONNECTION);
}

void cor_etcd_watch_close(struct etcd_watch *w)
{
    stop(w);
    w->state = ETCD_WATCH_CLOSED;
}
