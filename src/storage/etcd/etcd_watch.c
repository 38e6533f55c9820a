/* clang-format off */
/* One watch of etcd that goes on after failures. etcd_watch.h has its states.
 *
 *   WAITING ──► the session is up: join a stream from `pos` ──► OPEN
 *   OPEN: each message's events are held until their revision is whole ──► on_events, `pos` moves
 *
 * etcd may split the events of one revision over messages (fragments), so the last revision of a
 * fragment is kept back until the next message. `pos` moves only with whole revisions; after any
 * failure the watch joins again from there, and what was held comes again.
 *
 * Failures.
 *   the stream is lost, cannot be joined, or there is no memory   WAITING again, after a pause
 *   events are out of order                                       the same
 *   another watch of the stream holds this one up                 WAITING, for a stream of its own
 *   compacted, or a revision is missing in a watch over all keys  BROKEN with -COR_EEXPIRED
 *   etcd refuses the user                                         BROKEN with -COR_EFORBIDDEN
 *
 * Thread: the engine's loop. */
/* clang-format on */
#include "storage/etcd/etcd_watch.h"

#include <assert.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "storage/etcd/etcd_messages.h"

#define COMPACTED "required revision has been compacted"

static void watch_drop_held(struct etcd_watch *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cor_kv_unref(w->held[i].kv);
        cor_kv_unref(w->held[i].prev);
    }
    w->nheld -= n;
    if (w->nheld > 0)
        memmove(w->held, w->held + n, w->nheld * sizeof(*w->held));
}

/* Leaves the stream and the queue of the session, whichever it is in. */
static void watch_stop(struct etcd_watch *w)
{
    cor_etcd_place_leave(&w->place);
    cor_etcd_waiter_leave(&w->waiter);
    watch_drop_held(w, w->nheld);
    w->held = cor_free(w->held);
    w->held_cap = 0;
}

static void watch_break(struct etcd_watch *w, int err, const char *message)
{
    watch_stop(w);
    w->state = ETCD_WATCH_BROKEN;
    w->on_broken(w, err, message);
}

/* Joins again from `pos`. What was held of a later revision is dropped, because etcd sends it
 * again. */
static void watch_restart(struct etcd_watch *w, enum etcd_wait_when when)
{
    watch_stop(w);
    w->state = ETCD_WATCH_WAITING;
    cor_etcd_session_wait(w->streams->session, &w->waiter, when);
}

void cor_etcd_watch_ask_progress(struct etcd_watch *w)
{
    w->wants_progress = true;
    if (w->state == ETCD_WATCH_OPEN)
        cor_etcd_place_ask_progress(&w->place);
}

/* Both ends are etcd's notation for all keys. */
static bool watch_is_over_all_keys(const struct etcd_watch *w)
{
    return cor_str_eq(w->key, ETCD_ALL_KEYS) && cor_str_eq(w->end, ETCD_ALL_KEYS);
}

/* Takes the events, which are references, out of the answer. -COR_EINTERNAL: they are out of order.
 * -COR_EEXPIRED: a revision is missing in a watch over all keys. Every revision changes some key,
 * so etcd has lost events without saying so. Before 3.4.31 and 3.5.13 it does that when it cannot
 * tell a watch at once that its revision is compacted, because the queue of the stream is full.
 * Before 3.4.34 and 3.5.16 it also forgets a deletion at the very revision of a compaction. */
static int watch_hold(struct etcd_watch *w, struct etcd_watch_answer *a)
{
    bool has_every_revision = watch_is_over_all_keys(w);

    if (COR_ARRAY_RESERVE_MORE(&w->held, w->nheld, a->nevents, &w->held_cap, COR_ARRAY_NO_MAX) < 0)
        return -COR_ENOMEM;
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
static size_t watch_count_whole(const struct etcd_watch *w, bool is_fragment)
{
    size_t n = w->nheld;

    if (!is_fragment || n == 0)
        return n;
    while (n > 0 && w->held[n - 1].kv->mod_rev == w->held[w->nheld - 1].kv->mod_rev)
        n--;
    return n;
}

static void watch_deliver(struct etcd_watch *w, size_t n)
{
    struct cor_feed_event *events = w->held;
    size_t total = w->nheld, cap = w->held_cap;

    if (n == 0)
        return;
    /* on_events may close the watch, or close and open it: the array is taken out of the watch
     * before, and put back only if the watch is still open. */
    w->held = NULL;
    w->nheld = w->held_cap = 0;
    w->pos = events[n - 1].kv->mod_rev;
    w->on_events(w, events, n);
    if (w->state == ETCD_WATCH_OPEN) {
        w->held = events;
        w->nheld = total;
        w->held_cap = cap;
        watch_drop_held(w, n);
        return;
    }
    for (size_t i = 0; i < total; i++) {
        cor_kv_unref(events[i].kv);
        cor_kv_unref(events[i].prev);
    }
    cor_free(events);
}

/* The revision of the first event that comes without what was before it; 0: there is none. */
static cor_rev watch_find_lack_of_prev(const struct etcd_watch *w,
                                       const struct etcd_watch_answer *a)
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
        watch_break(w, -COR_EEXPIRED, COMPACTED);
        return;
    }
    w->lacked_prev_at = rev;
    watch_restart(w, ETCD_WAIT_RETRY);
}

static struct etcd_watch *of_place(struct etcd_place *place)
{
    return COR_CONTAINER_OF(place, struct etcd_watch, place);
}

static void on_events(struct etcd_place *place, struct etcd_watch_answer *a)
{
    struct etcd_watch *w = of_place(place);
    cor_rev lack = watch_find_lack_of_prev(w, a);
    int r;

    if (lack > 0) {
        on_lack_of_prev(w, lack);
        return;
    }
    r = watch_hold(w, a);
    if (r == -COR_EEXPIRED)
        watch_break(w, r, COMPACTED);
    else if (r < 0)
        watch_restart(w, ETCD_WAIT_RETRY);
    else
        watch_deliver(w, watch_count_whole(w, a->is_fragment));
}

/* Progress while a revision is not whole yet says nothing about that revision: ask again. */
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
    watch_break(of_place(place), err, message);
}

static void on_lost(struct etcd_place *place, enum etcd_wait_when when)
{
    watch_restart(of_place(place), when);
}

static void on_held_up(struct etcd_place *place)
{
    struct etcd_watch *w = of_place(place);

    w->is_alone = true;
    watch_restart(w, ETCD_WAIT_CONNECTION);
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
        watch_restart(w, ETCD_WAIT_RETRY);
        return;
    }
    w->state = ETCD_WATCH_OPEN;
    if (w->wants_progress)
        cor_etcd_place_ask_progress(&w->place);
}

void cor_etcd_watch_init(struct etcd_watch *w, struct etcd_watch_streams *streams)
{
    assert(w->state == ETCD_WATCH_CLOSED && !w->held);
    w->streams = streams;
    cor_etcd_waiter_init(&w->waiter, on_up);
}

void cor_etcd_watch_open(struct etcd_watch *w)
{
    assert(w->state == ETCD_WATCH_CLOSED && w->key.n > 0);
    assert(w->on_events && w->on_progress && w->on_broken);
    w->wants_progress = false;
    w->state = ETCD_WATCH_WAITING;
    cor_etcd_session_wait(w->streams->session, &w->waiter, ETCD_WAIT_CONNECTION);
}

void cor_etcd_watch_close(struct etcd_watch *w)
{
    watch_stop(w);
    w->state = ETCD_WATCH_CLOSED;
}
