/* From the window to the watches of one loop.
 *
 * A dispatch (cor_cacher_dispatch()), on the mail of the writer or in a turn of its own:
 *   1. Look at the cache, once under its lock: is it ready, which events does the window have,
 *      which readings of history are done.
 *   2. End the watches that cannot go on (inside a revision: after it), and resume those that
 * waited for history.
 *   3. Segment by segment, find the buckets of each new event (watch_index.c). Then give each idle
 *      watch of a bucket all its events in a row, so that they leave in one send.
 *   4. After TURN_EVENTS events or TURN_VISITS visits, stop between two revisions and go on in
 *      another turn.
 *
 * A watch that is paused when an event of its own comes is LAGGING: it is not looked at again
 * before its client reads. Then it walks its own events by itself (cor_cacher_watch_catch_up()), in
 * its own turns. So does a watch for which dispatches have no time left in this turn of the loop
 * (DELIVERIES_US): what a large event, or a look at its labels, costs for each of a thousand
 * watches is shared among turns.
 *
 * What fails: nothing here allocates but the numbers that a bucket keeps for lagging watches;
 * without memory for them, those watches walk the whole window instead. When an event that a watch
 * still needs has been evicted, the watch ends, or first reads the rest of its revision.
 *
 * Callbacks may open, pause and close any watch of the reader. Buckets that become empty are freed
 * after the dispatch.
 *
 * Thread: the reader's loop. */
#include "storage/cacher/cache_watch_int.h"

/* Events that are dispatched, and watches that are offered them, before other work of the loop gets
 * its turn. */
#define TURN_EVENTS 256
#define TURN_VISITS 16384
/* How long deliveries may take of one turn of a loop. What is left is delivered in later turns. */
#define DELIVERIES_US 4000
/* Looks at ordinary objects between two looks at the clock, 0.1 ms; see cor_predicate_cost(). */
#define LOOKS_AT_ONCE 256

/* How far one turn has come. */
struct turn {
    uint64_t visits; /* of watches, at most, by the events so far */
    size_t events;
    cor_rev rev; /* of the last event */
};

bool cor_cacher_watch_covers(const struct cacher_watch *w, struct cor_str key)
{
    struct cor_str own = store_key_str(&w->key);

    return w->recursive ? cor_str_starts(key, own) : cor_str_eq(key, own);
}

static bool selects(const struct cacher_watch *w, struct cor_cache_entry *entry)
{
    if (!cor_cacher_watch_covers(w, cor_cache_entry_key(entry)))
        return false;
    assert(entry->object);
    return !w->predicate ||
           cor_predicate_matches_noted(w->predicate, entry->object, &entry->notes, &w->places);
}

bool cor_cacher_watch_sees(const struct cacher_watch *w, const struct cor_window_event *change,
                           struct cor_reader_event *ret_event)
{
    bool is, was;

    if (change->rev <= w->min_rev)
        return false;
    is = change->now && selects(w, change->now);
    was = change->old && selects(w, change->old);
    if (!is && !was)
        return false;
    *ret_event = (struct cor_reader_event){
        .type = !is   ? COR_WATCH_DELETED
                : was ? COR_WATCH_MODIFIED
                      : COR_WATCH_ADDED,
        .object = is ? change->now->object : change->old->object,
        .rev = change->rev,
    };
    return true;
}

void cor_cacher_watch_deliver(struct cacher_watch *w, const struct cor_window_event *change,
                              const struct cor_reader_event *event)
{
    cacher_count(&w->reader->counts.deliveries, 1);
    w->rev = event->rev;
    w->nth = change->nth;
    w->on_event(w->arg, event);
}

/* What the window must keep: `needs` is the lowest place of any watch. It is kept exact, except for
 * a dispatch, which finds it once at its end. A value that is too low only keeps events longer. */

static void settle_needs(struct cacher_reader *reader)
{
    uint64_t needs = UINT64_MAX;

    if (!reader->needs_stale)
        return;
    reader->needs_stale = false;
    COR_DLIST_FOREACH(link, &reader->watches) {
        struct cacher_watch *w = COR_CONTAINER_OF(link, struct cacher_watch, all);

        needs = w->place < needs ? w->place : needs;
    }
    atomic_store(&reader->needs, needs);
}

void cor_cacher_watch_moved(struct cacher_watch *w)
{
    struct cacher_reader *reader = w->reader;
    uint64_t needs = atomic_load(&reader->needs), old = w->place;

    w->place = is_behind(w) ? w->from : UINT64_MAX;
    if (w->place < needs)
        atomic_store(&reader->needs, w->place);
    else if (old == needs && w->place != old)
        reader->needs_stale = true;
    if (!reader->is_dispatching)
        settle_needs(reader);
}

void cor_cacher_watch_unlink(struct cacher_watch *w)
{
    struct cacher_reader *reader = w->reader;

    cor_dlist_remove(&w->link);
    if (w->state == WATCH_IDLE)
        cacher_count(&reader->counts.idle, -1);
    if (w->state != WATCH_LAGGING)
        return;
    cacher_count(&reader->counts.lagging, -1);
    if (cor_dlist_empty(&w->bucket->lagging))
        cor_cacher_watch_bucket_trim(w->bucket, 0);
}

static void become_idle(struct cacher_watch *w)
{
    cor_cacher_watch_unlink(w);
    w->state = WATCH_IDLE;
    cacher_count(&w->reader->counts.idle, 1);
    cor_dlist_push(&w->bucket->idle, &w->link);
    cor_cacher_watch_moved(w);
}

/* The bucket keeps the numbers of the turn's events: its lagging watches walk these numbers instead
 * of the window. */
static void bucket_keep_offers(struct watch_bucket *bucket)
{
    for (const struct watch_offer *o = bucket->offers; o; o = o->next)
        cor_cacher_watch_bucket_push(bucket, o->number);
}

static void become_lagging(struct cacher_watch *w, uint64_t number, cor_rev rev)
{
    if (cor_dlist_empty(&w->bucket->lagging))
        bucket_keep_offers(w->bucket);
    cor_cacher_watch_unlink(w);
    w->state = WATCH_LAGGING;
    cacher_count(&w->reader->counts.lagging, 1);
    cor_dlist_push(&w->bucket->lagging, &w->link);
    w->from = number;
    w->is_inside = rev == w->rev;
    cor_cacher_watch_moved(w);
}

/* Events as they come. */

/* Returns whether this turn of the loop has time for work that costs as much as `looks` looks at an
 * ordinary object. The clock is read once for a few of them. */
static bool has_time(struct cacher_reader *reader, size_t looks)
{
    struct cachers_loop *loop = reader->loop;

    loop->looks += looks;
    if (loop->looks < LOOKS_AT_ONCE)
        return true;
    if (!cor_turn_share_take(&loop->deliveries, loop->loop, DELIVERIES_US, true))
        return false;
    loop->looks = 0;
    return true;
}

static size_t looks_of(const struct cacher_watch *w, const struct cor_window_event *change)
{
    const struct cor_cache_entry *entry = change->now ? change->now : change->old;

    return w->predicate ? cor_predicate_cost(w->predicate, entry->object) : 1;
}

/* Gives an idle watch the turn's events of its bucket. A paused watch becomes LAGGING at the first
 * one that it selects; one for which the turn has no time at the next one, and goes on in a turn of
 * its own. */
static void watch_offer_all(struct cacher_watch *w, const struct watch_offer *offers)
{
    for (const struct watch_offer *o = offers; o && w->state == WATCH_IDLE; o = o->next) {
        bool is_early = has_time(w->reader, looks_of(w, o->change));
        struct cor_reader_event event;

        cacher_count(&w->reader->counts.visits, 1);
        if (o->number < w->from)
            continue;
        if (is_early && !cor_cacher_watch_sees(w, o->change, &event))
            continue;
        is_early = is_early && (w->paused || has_time(w->reader, LOOKS_AT_ONCE));
        if (is_early && !w->paused) {
            cor_cacher_watch_deliver(w, o->change, &event);
            continue;
        }
        become_lagging(w, o->number, o->change->rev);
        if (!is_early)
            cor_cacher_watch_schedule(w);
    }
}

/* A callback may close any watch, and open others: each watch is in one of the two lists, or in
 * none, at any time. */
static void bucket_visit(struct watch_bucket *bucket, uint64_t first)
{
    struct cor_dlist todo, *link;

    if (!cor_dlist_empty(&bucket->lagging)) {
        cor_cacher_watch_bucket_trim(bucket, first);
        bucket_keep_offers(bucket);
    }
    cor_dlist_init(&todo);
    cor_dlist_splice(&todo, &bucket->idle);
    while ((link = cor_dlist_pop(&todo))) {
        cor_dlist_push(&bucket->idle, link);
        watch_offer_all(COR_CONTAINER_OF(link, struct cacher_watch, link), bucket->offers);
    }
    bucket->offers = bucket->last_offer = NULL;
}

/* The segment of an event, with a reference; NULL: it has left the window. */
static struct cor_window_segment *get_segment(struct cacher_reader *reader, uint64_t number)
{
    struct cor_watch_cache *cache = &reader->cacher->cache;
    struct cor_window_segment *segment = NULL;

    cor_lock_acquire(&cache->lock);
    if (number >= cache->window.first && number < cache->window.next)
        segment = cor_window_get(&cache->window, number);
    cor_lock_release(&cache->lock);
    return segment;
}

/* The cache as a loop finds it when it looks once, under the lock. */
struct sight {
    bool ready;
    uint64_t generation;
    uint64_t first, next;
    uint64_t history_done;
    cor_rev published;
};

static struct sight look(struct cacher_reader *reader)
{
    struct cor_cacher *cacher = reader->cacher;
    struct sight s = {.published = atomic_load(&cacher->cachers->rev)};

    cor_lock_acquire(&cacher->cache.lock);
    s.ready = cacher->ready.state == COR_CACHE_READY;
    s.generation = cacher->ready.generation;
    s.first = cacher->cache.window.first;
    s.next = cacher->cache.window.next;
    s.history_done = cacher->history.done;
    if (s.published < cacher->cache.rev)
        s.published = cacher->cache.rev;
    cor_lock_release(&cacher->cache.lock);
    return s;
}

/* Takes the place of the watches that cannot go on: of all of them when the cache was lost or
 * listed again, of those whose next event has left the window, and of the idle ones when the loop
 * itself was too slow.
 */
static void end_lost(struct cacher_reader *reader, const struct sight *s)
{
    bool late = reader->next < s->first;

    COR_DLIST_FOREACH_SAFE(link, &reader->watches) {
        struct cacher_watch *w = COR_CONTAINER_OF(link, struct cacher_watch, all);

        if (w->state == WATCH_STARTING)
            continue;
        if (!s->ready || w->generation != s->generation) {
            cor_cacher_watch_lose_place(w);
        } else if (w->from < s->first && (is_behind(w) || (late && w->state == WATCH_IDLE))) {
            cacher_count(&reader->counts.evicted, 1);
            cor_cacher_watch_lose_place(w);
        }
    }
    if (late)
        reader->next = s->first;
}

/* Resumes the watches that waited for the readings of history up to number `done`. */
static void resume_extended(struct cacher_reader *reader, uint64_t done)
{
    COR_DLIST_FOREACH_SAFE(link, &reader->watches) {
        struct cacher_watch *w = COR_CONTAINER_OF(link, struct cacher_watch, all);

        if (w->state == WATCH_EXTENDING && w->reading <= done)
            cor_cacher_watch_begin(w);
    }
}

/* A value that cannot be decoded was written. No selector can tell whether a watch would see it, so
 * every watch over its key that has not passed the event yet ends, and nothing is offered. An idle
 * watch may have been delivered earlier events of the same revision, from the segment before: for
 * such a watch the revision is cut here, and the watch ends with 410. */
static void end_over_unreadable(struct cacher_reader *reader, const struct cor_window_event *change)
{
    assert(reader->cut_rev == 0);
    reader->cut_rev = change->rev;
    COR_DLIST_FOREACH_SAFE(link, &reader->watches) {
        struct cacher_watch *w = COR_CONTAINER_OF(link, struct cacher_watch, all);

        if (w->started && change->rev > w->min_rev &&
            cor_cacher_watch_covers(w, cor_cache_entry_key(change->now)))
            cor_cacher_watch_end(w, NULL);
    }
    /* The other watches are given the rest of the revision. */
    reader->cut_rev = 0;
}

#define OFFERS_MAX (COR_WINDOW_SEGMENT_EVENTS * WATCH_BUCKETS_MAX)

/* The events of one segment. False: the turn's share is used up. It stops between two revisions, so
 * that a bookmark can tell how far the loop has come. */
static bool dispatch_segment(struct cacher_reader *reader, const struct cor_window_segment *s,
                             uint64_t end, struct turn *turn)
{
    struct watch_bucket *buckets[WATCH_BUCKETS_MAX];
    struct watch_offer offers[OFFERS_MAX];
    struct cor_dlist touched, *link;
    bool more = true;
    size_t n = 0;

    cor_dlist_init(&touched);
    while (reader->next < end) {
        const struct cor_window_event *change = cor_window_segment_at(s, reader->next);
        size_t nbuckets;

        more =
            change->rev == turn->rev || (turn->events < TURN_EVENTS && turn->visits < TURN_VISITS);
        if (!more)
            break;
        if (change->now && !change->now->object) {
            end_over_unreadable(reader, change);
            nbuckets = 0;
        } else {
            nbuckets = cor_cacher_watch_index_match(&reader->index, change, buckets);
        }
        for (size_t i = 0; i < nbuckets; i++, n++) {
            offers[n] = (struct watch_offer){.number = reader->next, .change = change};
            turn->visits += buckets[i]->n;
            if (cor_cacher_watch_bucket_offer(buckets[i], &offers[n]))
                cor_dlist_push(&touched, &buckets[i]->turn);
        }
        cacher_count(&reader->counts.events, 1);
        reader->next++;
        turn->rev = change->rev;
        turn->events++;
    }
    while ((link = cor_dlist_pop(&touched)))
        bucket_visit(COR_CONTAINER_OF(link, struct watch_bucket, turn), reader->first);
    return more;
}

/* True: all events before `next` were dispatched. */
static bool dispatch_upto(struct cacher_reader *reader, uint64_t next)
{
    struct turn turn = {0};
    bool more = true;

    while (reader->next < next && more) {
        COR_CLEANUP(cor_window_segment_unrefp)
        struct cor_window_segment *s = get_segment(reader, reader->next);
        uint64_t end;

        /* The segment was evicted since the look: the turn that follows ends the watches. */
        if (!s) {
            reader->cut_rev = turn.rev;
            return false;
        }
        end = s->number + COR_WINDOW_SEGMENT_EVENTS;
        more = dispatch_segment(reader, s, end < next ? end : next, &turn);
    }
    if (!more)
        reader->done_rev = turn.rev;
    return more;
}

void cor_cacher_dispatch(struct cacher_reader *reader)
{
    struct sight s = look(reader);

    assert(cor_loop_is_current(reader->loop->loop));
    if (reader->is_dispatching) /* A callback of this dispatch wants another one. */
        return;
    reader->is_dispatching = true;
    if (!s.ready || s.generation != reader->generation || s.first > atomic_load(&reader->needs) ||
        (reader->started > 0 && reader->next < s.first))
        end_lost(reader, &s);
    reader->generation = s.generation;
    reader->first = s.first;
    reader->cut_rev = 0;
    if (reader->extending > 0)
        resume_extended(reader, s.history_done);
    if (reader->started > 0 && s.ready) {
        if (dispatch_upto(reader, s.next)) {
            reader->done_rev = s.published;
        } else if (!reader->turn.is_posted) {
            reader->busy++;
            store_turn_post(&reader->turn);
        }
    }
    reader->is_dispatching = false;
    if (reader->finishing > 0)
        cor_cacher_watches_end_finished(reader);
    cor_cacher_watch_index_purge(&reader->index);
    settle_needs(reader);
    /* The events that the loop has still to dispatch are needed as well. */
    if (reader->turn.is_posted && reader->next < atomic_load(&reader->needs))
        atomic_store(&reader->needs, reader->next);
}

void cor_cacher_dispatch_on_turn(struct store_turn *turn)
{
    struct cacher_reader *reader = COR_CONTAINER_OF(turn, struct cacher_reader, turn);

    reader->needs_stale = true;
    reader->busy--;
    cor_cacher_dispatch(reader);
}

/* A watch that is behind. */

/* The number of the next event that it has to look at. */
static uint64_t next_place(const struct cacher_watch *w)
{
    if (w->state == WATCH_LAGGING)
        return cor_cacher_watch_bucket_after(w->bucket, w->from);
    return w->from + 1;
}

/* Looks at the event at `from`, delivers it when the watch sees it, and moves on. False: the watch
 * sees it and is paused, so it stays there. */
static bool watch_pass(struct cacher_watch *w, const struct cor_window_event *change)
{
    struct cor_reader_event event;

    cacher_count(&w->reader->counts.walked, 1);
    if (cor_cacher_watch_sees(w, change, &event)) {
        if (w->paused)
            return false;
        cor_cacher_watch_deliver(w, change, &event);
        if (!is_behind(w))
            return true;
    }
    w->from = next_place(w);
    return true;
}

/* The next event of the watch is of revision `rev`; 0: none is known. True: the watch has been
 * given everything up to the revision that it finishes with, and it has been ended. */
static bool watch_ends_before(struct cacher_watch *w, cor_rev rev)
{
    w->is_inside = w->rev > 0 && rev == w->rev;
    if (w->finish_rev == 0 || w->is_inside)
        return false;
    if (rev > 0 ? rev <= w->finish_rev
                : w->rev < w->finish_rev && w->reader->done_rev < w->finish_rev)
        return false;
    cor_cacher_watch_end(w, NULL);
    return true;
}

/* A paused watch still passes the events that it does not select. So its place is an event that it
 * selects, and events that it does not select cannot end it by pushing its place out of the window.
 */
bool cor_cacher_watch_catch_up(struct cacher_watch *w, size_t max)
{
    while (is_behind(w)) {
        COR_CLEANUP(cor_window_segment_unrefp) struct cor_window_segment *s = NULL;
        cor_rev passed = 0;
        uint64_t end;

        if (w->from >= w->reader->next) {
            if (w->state == WATCH_LAGGING)
                w->from = w->reader->next;
            if (!watch_ends_before(w, w->reader->cut_rev))
                become_idle(w);
            return false;
        }
        s = get_segment(w->reader, w->from);
        if (!s) {
            cacher_count(&w->reader->counts.evicted, 1);
            cor_cacher_watch_lose_place(w);
            return false;
        }
        end = s->number + COR_WINDOW_SEGMENT_EVENTS;
        while (is_behind(w) && w->from < end && w->from < w->reader->next) {
            const struct cor_window_event *change = cor_window_segment_at(s, w->from);

            passed = change->rev;
            if (watch_ends_before(w, passed))
                return false;
            if (max == 0 || !watch_pass(w, change)) {
                cor_cacher_watch_moved(w);
                return max == 0;
            }
            max--;
        }
        /* The next segment will show whether the revision goes on. */
        w->is_inside = w->rev > 0 && w->rev == passed;
    }
    return false;
}
