/* clang-format off */
/* History in front of the window, for watches from before it: so clients resume after a restart of
 * the server. What does not fit there is read for the watches themselves (replay.c).
 *
 *   want ──► status (what was compacted) ──► feed … ──► PREPEND (writer) ──► readers look again
 *
 *   1. A watch wants events after a revision that is below the window's base
 *      (cor_cacher_history_want_locked()). Watches that come before the home loop has begun share the
 *      reading; later ones wait for the next.
 *   2. The home loop asks the engine which revision was compacted, and opens a feed from the revision
 *      that is wanted, or SPAN_REVS before the base if that is earlier: others are likely to come.
 *   3. The feed's events up to the base become window events; values that must be brought into the
 *      form of the schema are decoded by an offload thread (decoder.h), in order. A version that is
 *      still the present one is the tree's own entry. Only as many events are kept as fit into
 *      their share of the byte budget and into what is free of it, whole revisions, the youngest ones.
 *      A value that cannot be decoded ends the reading backwards: only later revisions are kept, and
 *      watches from before are answered by the store (`blind`).
 *   4. The writer puts them in front of the window, if its base has not moved meanwhile. Otherwise
 *      nothing fits, and the watches ask again.
 *   5. The readers are notified, and each watch looks whether the window reaches back far enough now.
 *
 * What fails: no memory, too many feeds, an engine that does not answer. The failure is for the
 * watches that waited for this reading, and is forgotten with the next.
 * What stays until the next list is `floor`, below which everything was compacted, and `fits`, below
 * which nothing fits into the budget. When another server has compacted what was read to spare, the
 * reading begins again at what was wanted.
 *
 * Threads: want on any; on_prepend() and on_give_up() on the writer; reading_add_batch() and what it
 * calls also on an offload thread; the rest on the home loop. */
/* clang-format on */
#include "storage/cacher/cacher_int.h"

#include "base/array.h"
#include "base/map.h"
#include "base/mem.h"

/* Revisions before the window's base that are read in any case. */
#define SPAN_REVS 4096
#define CREDIT    256
/* One part in so many of the byte budget may be in front of a window at a time; and it is not worth
 * a reading when only one part in so many is left for it. */
#define BYTES_SHARE     4
#define BYTES_SHARE_MIN 64
#define KEYS_MAX        (1u << 24)

struct history_reading {
    struct cor_cacher *cacher;
    struct cor_engine_status_req status;
    struct store_feed feed;
    struct cor_mail mail; /* the command, then its answer */
    uint64_t generation;
    cor_rev asked;       /* what the watches want to begin after; `start` is that or earlier */
    cor_rev start, base; /* events after `start` up to `base` are read */
    struct cor_window_event *events;
    size_t *bytes;
    size_t events_cap, bytes_cap;
    size_t begin, n; /* [begin, n) are still there */
    size_t total_bytes, bytes_max;
    struct cor_map latest; /* by key: the event that wrote its last version; index plus 1 */
    bool complete, stopped, expired;
    struct cor_dlist batches;          /* of the feed, that are to be read */
    struct store_feed_batch *decoding; /* the one that a thread has, with the events, `latest`,
                                        * `start`, `blind` and `err`; NULL: none */
    struct cor_decode_job job;
    _Atomic bool stops;        /* for that thread: nothing more need be decoded */
    bool is_broken, is_closed; /* the feed is, behind the batches */
    int broken_err;
    cor_rev floor; /* nothing below it can be had; 0: not known */
    cor_rev fits;  /* nothing below it fits in front of the window; 0: not known */
    cor_rev blind; /* the last revision with a value that cannot be decoded; 0: none */
    int err;
    cor_rev err_at; /* as in struct history_wants */
};

static void on_answer(struct cor_mail *mail);

/* The event that wrote the last version of the key, as far as it is still there; `n`: none. */
static size_t reading_last_write(const struct history_reading *h, struct cor_str key)
{
    uintptr_t last = (uintptr_t)cor_map_peek(&h->latest, key);

    return last > 0 ? last - 1 : h->n;
}

static void reading_drop_event(struct history_reading *h, size_t i)
{
    struct cor_cache_entry *now = h->events[i].now;

    if (now && reading_last_write(h, cor_cache_entry_key(now)) == i)
        cor_map_remove(&h->latest, cor_cache_entry_key(now));
    cor_cache_entry_unref(now);
    cor_cache_entry_unref(h->events[i].old);
}

static void reading_drop_batches(struct history_reading *h)
{
    struct cor_dlist *link;

    while ((link = cor_dlist_pop(&h->batches)))
        cor_store_feed_batch_free(COR_CONTAINER_OF(link, struct store_feed_batch, link));
}

static void reading_free(struct history_reading *h)
{
    assert(!h->decoding);
    reading_drop_batches(h);
    for (size_t i = h->begin; i < h->n; i++)
        reading_drop_event(h, i);
    cor_map_deinit(&h->latest);
    cor_engine_req_deinit(&h->status.req);
    cor_free(h->events);
    cor_free(h->bytes);
    cor_free(h);
}

/* On the writer: the reading is over, and the watches that wait for it look again. */
static void reading_finish(struct cor_cacher *cacher, cor_rev floor, cor_rev fits, int err,
                           cor_rev err_at)
{
    struct history_wants *wants = &cacher->history;

    cor_lock_acquire(&cacher->cache.lock);
    wants->done = wants->asked;
    wants->err = err;
    wants->err_at = err_at;
    if (floor > wants->floor)
        wants->floor = floor;
    if (fits > wants->fits)
        wants->fits = fits;
    cor_lock_release(&cacher->cache.lock);
    cor_cacher_touch(cacher);
}

/* `err_at` 0: the failure is for every watch that waits, whatever revision it wants. */
static void reading_fail(struct history_reading *h, int err, cor_rev err_at)
{
    h->err = err;
    h->err_at = err_at ? err_at : UINT64_MAX;
}

static void reading_put_in_front(struct history_reading *h)
{
    struct cor_watch_cache *cache = &h->cacher->cache;
    cor_rev start = h->begin > 0 ? h->events[h->begin - 1].rev : h->start;
    size_t n = h->n - h->begin;

    cor_map_clear(&h->latest); /* Its keys are those of entries that are given away. */
    n = cor_watch_cache_prepend(cache, n ? &h->events[h->begin] : NULL,
                                n ? &h->bytes[h->begin] : NULL, n, start);
    h->n = h->begin + n;
    if (n > 0)
        reading_fail(h, -COR_ENOMEM, cache->window.base - 1);
    else if (h->begin > 0)
        h->fits = start;
}

/* The writer's. */
static void on_prepend(struct cor_mail *mail)
{
    struct history_reading *h = COR_CONTAINER_OF(mail, struct history_reading, mail);
    struct cor_cacher *cacher = h->cacher;
    bool is_same =
        cacher->ready.generation == h->generation && cacher->cache.window.base == h->base;

    if (is_same && h->blind > 0) {
        cor_lock_acquire(&cacher->cache.lock);
        cor_watch_cache_set_blind_locked(&cacher->cache, h->blind);
        cor_lock_release(&cacher->cache.lock);
    }
    if (is_same && h->complete && cacher->phase == PHASE_APPLYING)
        reading_put_in_front(h);
    reading_finish(cacher, h->floor, h->fits, h->err, h->err_at);
    mail->on_mail = on_answer;
    cor_cachers_answer(cacher->cachers, mail);
}

static void on_give_up(struct cor_mail *mail)
{
    struct cor_cacher *cacher = COR_CONTAINER_OF(mail, struct cor_cacher, history_mail);

    cor_cacher_history_init(cacher);
    reading_finish(cacher, 0, 0, -COR_ENOMEM, UINT64_MAX);
}

/* The home loop's. */

static void reading_begin(struct cor_cacher *cacher);

static void on_answer(struct cor_mail *mail)
{
    struct history_reading *h = COR_CONTAINER_OF(mail, struct history_reading, mail);
    struct cor_cacher *cacher = h->cacher;

    cacher->reading = NULL;
    reading_free(h);
    if (cacher->reads_again)
        reading_begin(cacher);
    cor_cacher_ended(cacher);
}

static void reading_prepend(struct history_reading *h)
{
    h->mail.on_mail = on_prepend;
    cor_cachers_command(h->cacher->cachers, &h->mail);
}

/* Adds to `bytes` what the entry weighs, unless it is the tree's. */
static int reading_entry(struct history_reading *h, const struct cor_kv *kv,
                         struct cor_cache_entry **ret_entry, size_t *bytes)
{
    struct cor_cacher *cacher = h->cacher;
    struct cor_object *object;
    int r;

    *ret_entry = cor_watch_cache_get_version(&cacher->cache, cor_kv_key(kv), kv->mod_rev);
    if (*ret_entry)
        return 0;
    r = cor_store_try_decode(cacher->store, kv, 0, &object, NULL, NULL);
    if (r < 0)
        return r;
    *ret_entry = cor_cache_entry_new(cor_kv_key(kv), object, &cacher->triggers);
    if (!*ret_entry)
        return -COR_ENOMEM;
    *bytes += cor_cache_entry_bytes(*ret_entry);
    return 0;
}

/* The version before a change is mostly the one that an earlier event brought: it is shared then.
 * Its weight moves to the later event, which keeps it when the earlier one leaves the window. */
static int reading_old_entry(struct history_reading *h, const struct cor_kv *prev,
                             struct cor_cache_entry **ret_entry, size_t *bytes)
{
    size_t wrote = reading_last_write(h, cor_kv_key(prev)), weight;
    struct cor_cache_entry *known = wrote < h->n ? h->events[wrote].now : NULL;

    if (!known || known->object->rev != prev->mod_rev)
        return reading_entry(h, prev, ret_entry, bytes);
    *ret_entry = cor_cache_entry_ref(known);
    weight = cor_cache_entry_bytes(known);
    assert(h->bytes[wrote] >= weight); /* It was replaced before the base: the tree has it not. */
    h->bytes[wrote] -= weight;
    h->total_bytes -= weight;
    *bytes += weight;
    return 0;
}

static int reading_grow(struct history_reading *h)
{
    int r = COR_ARRAY_RESERVE(&h->events, h->n, &h->events_cap, COR_ARRAY_NO_MAX);

    return r < 0 ? r : COR_ARRAY_RESERVE(&h->bytes, h->n, &h->bytes_cap, COR_ARRAY_NO_MAX);
}

static int reading_add(struct history_reading *h, const struct cor_feed_event *change, unsigned nth)
{
    struct cor_window_event event = {
        .rev = change->kv->mod_rev, .nth = nth, .at_ms = cor_cachers_now_ms(h->cacher->cachers)};
    size_t bytes = 0;
    int r = reading_grow(h);

    if (r == 0 && change->prev)
        r = reading_old_entry(h, change->prev, &event.old, &bytes);
    if (r == 0 && !change->deleted)
        r = reading_entry(h, change->kv, &event.now, &bytes);
    if (r == 0 && event.now)
        r = cor_map_put(&h->latest, cor_cache_entry_key(event.now), (void *)(h->n + 1), NULL);
    if (r < 0 || (!event.now && !event.old)) {
        cor_cache_entry_unref(event.now);
        cor_cache_entry_unref(event.old);
        return r;
    }
    h->events[h->n] = event;
    h->bytes[h->n++] = bytes;
    h->total_bytes += bytes;
    return 0;
}

static bool reading_begins_inside_revision(const struct history_reading *h)
{
    return h->begin > 0 && h->events[h->begin].rev == h->events[h->begin - 1].rev;
}

/* Drops the oldest events that exceed the budget. A batch has whole revisions, and what is left has
 * whole revisions too. */
static void reading_drop_oldest(struct history_reading *h)
{
    while (h->begin < h->n &&
           (h->total_bytes > h->bytes_max || reading_begins_inside_revision(h))) {
        h->total_bytes -= h->bytes[h->begin];
        reading_drop_event(h, h->begin++);
    }
}

static void reading_drop_all(struct history_reading *h)
{
    for (size_t i = h->begin; i < h->n; i++)
        reading_drop_event(h, i);
    h->begin = h->n = 0;
    h->total_bytes = 0;
}

/* Adds the events of a batch, which has whole revisions. On the home loop, or on the thread that
 * decodes the batch: the other one touches none of what this touches. */
static void reading_add_batch(struct history_reading *h, const struct store_feed_batch *batch)
{
    cor_rev last = 0;
    unsigned nth = 0;

    for (size_t i = 0; i < batch->nevents && h->err == 0; i++) {
        cor_rev rev = batch->events[i].kv->mod_rev;
        int r = 0;

        nth = cor_window_next_nth(last, nth, rev);
        last = rev;
        if (atomic_load_explicit(&h->stops, memory_order_relaxed))
            return;
        if (rev <= h->base && rev > h->blind)
            r = reading_add(h, &batch->events[i], nth);
        if (r == -COR_EINTERNAL) {
            reading_drop_all(h);
            h->start = h->blind = rev;
            r = 0;
        }
        if (r < 0)
            reading_fail(h, r, r == -COR_ENOMEM ? 0 : h->asked);
    }
}

/* Batches may be read after the feed has closed. */
static void reading_close_feed(struct history_reading *h)
{
    if (!h->is_closed)
        cor_store_feed_close(&h->feed);
}

/* The events of the batch are added. */
static void reading_end_batch(struct history_reading *h, struct store_feed_batch *take_batch)
{
    struct store_feed *feed = &h->feed;

    reading_drop_oldest(h);
    if (!feed->is_closing && take_batch->nevents > 0)
        cor_feed_credit(feed->feed, take_batch->nevents);
    if (take_batch->upto >= h->base || h->err < 0 || h->stopped) {
        h->complete = take_batch->upto >= h->base && h->err == 0 && !h->stopped;
        reading_close_feed(h);
    }
    cor_store_feed_batch_free(take_batch);
}

static bool batch_must_renew(const struct history_reading *h, const struct store_feed_batch *batch)
{
    const struct cor_store *store = h->cacher->store;

    for (size_t i = 0; i < batch->nevents; i++) {
        if (cor_store_decodes_event_slowly(store, &batch->events[i]))
            return true;
    }
    return false;
}

static size_t batch_bytes(const struct store_feed_batch *batch)
{
    size_t n = 0;

    for (size_t i = 0; i < batch->nevents; i++)
        n += batch->events[i].kv->value_len +
             (batch->events[i].prev ? batch->events[i].prev->value_len : 0);
    return n;
}

static void reading_run_job(struct cor_decode_job *job)
{
    struct history_reading *h = COR_CONTAINER_OF(job, struct history_reading, job);

    reading_add_batch(h, h->decoding);
}

static void reading_go_on(struct history_reading *h);

static void reading_on_job_done(struct cor_decode_job *job)
{
    struct history_reading *h = COR_CONTAINER_OF(job, struct history_reading, job);

    reading_end_batch(h, COR_STEAL(h->decoding));
    reading_go_on(h);
}

static bool reading_begin_later(struct history_reading *h);

/* Reads the batches that are here, in order: values that must be brought into the form of the
 * schema on a thread (decoder.h), one batch at a time, and the others here. Then comes what follows
 * the batches: that the feed is broken, and that it is closed. */
static void reading_go_on(struct history_reading *h)
{
    struct cor_decoder *decoder = &h->cacher->cachers->decoder;
    struct cor_dlist *link;

    while (!h->decoding && (link = cor_dlist_pop(&h->batches))) {
        struct store_feed_batch *batch = COR_CONTAINER_OF(link, struct store_feed_batch, link);

        if (decoder->offload && !h->stopped && batch_must_renew(h, batch)) {
            h->decoding = batch;
            h->job.run = reading_run_job;
            h->job.on_done = reading_on_job_done;
            cor_decoder_submit(decoder, &h->job, batch_bytes(batch));
        } else {
            reading_add_batch(h, batch);
            reading_end_batch(h, batch);
        }
    }
    if (h->decoding)
        return;
    if (h->is_broken) {
        h->is_broken = false;
        h->expired = h->broken_err == -COR_EEXPIRED;
        if (!h->expired)
            reading_fail(h, h->broken_err, 0);
        reading_close_feed(h);
    }
    if (!h->is_closed)
        return;
    h->is_closed = false;
    if (!reading_begin_later(h))
        reading_prepend(h);
}

static void on_batch(struct store_feed *feed, struct store_feed_batch *take_batch)
{
    struct history_reading *h = COR_CONTAINER_OF(feed, struct history_reading, feed);

    cor_dlist_push(&h->batches, &take_batch->link);
    reading_go_on(h);
}

static void on_broken(struct store_feed *feed, int err, const char *message)
{
    struct history_reading *h = COR_CONTAINER_OF(feed, struct history_reading, feed);

    h->is_broken = true;
    h->broken_err = err;
    reading_go_on(h);
}

static int reading_open_feed(struct history_reading *h)
{
    int r = cor_store_feed_open(&h->feed, h->cacher->cachers->engine, h->cacher->cachers->home,
                                store_key_str(&h->cacher->prefix),
                                store_key_end(&h->cacher->prefix), h->start, CREDIT);

    if (r == 0)
        cor_feed_progress(h->feed.feed);
    return r;
}

/* The feed was refused as too old. Another server may have compacted what is only read to spare:
 * then the reading begins again at the revision that is wanted. False: it does not begin again. */
static bool reading_begin_later(struct history_reading *h)
{
    int r;

    if (!h->expired || h->stopped)
        return false;
    if (h->start >= h->asked) {
        h->floor = h->asked + 1;
        reading_fail(h, -COR_EEXPIRED, h->asked);
        return false;
    }
    reading_drop_all(h);
    h->expired = false;
    h->feed.feed = NULL; /* the old one is gone, and the next may not come to be */
    h->start = h->asked;
    r = reading_open_feed(h);
    if (r < 0)
        reading_fail(h, r, 0);
    return r == 0;
}

static void on_closed(struct store_feed *feed)
{
    struct history_reading *h = COR_CONTAINER_OF(feed, struct history_reading, feed);

    h->is_closed = true;
    reading_go_on(h);
}

static void on_status(struct cor_engine_req *req)
{
    struct history_reading *h = COR_CONTAINER_OF(req, struct history_reading, status.req);
    cor_rev oldest = h->status.ret_compact_rev ? h->status.ret_compact_rev : 1;
    cor_rev spare = h->base > SPAN_REVS ? h->base - SPAN_REVS : 1;
    int r = req->result;

    h->start = h->start < spare ? h->start : spare;
    h->start = h->start > oldest ? h->start : oldest;
    if (r == 0)
        h->floor = oldest;
    if (r == 0 && !h->stopped && h->start < h->base) {
        r = reading_open_feed(h);
        if (r == 0)
            return;
    }
    if (r < 0)
        reading_fail(h, r, 0);
    reading_prepend(h);
}

/* Bytes that may still be put in front of the window. History makes no room for itself, because
 * what has to leave is what other watches may need. */
static size_t history_room_locked(const struct cor_cacher *cacher)
{
    struct cor_cachers *cachers = cacher->cachers;
    size_t share = cachers->bytes_max / BYTES_SHARE, own = cacher->cache.history_bytes;
    size_t used = atomic_load(&cachers->bytes) + atomic_load(&cachers->pins.held);
    size_t room = cachers->bytes_max > used ? cachers->bytes_max - used : 0;

    share -= share < own ? share : own;
    return share < room ? share : room;
}

bool cor_cacher_history_must_replay_locked(const struct cor_cacher *cacher, cor_rev from)
{
    return from < cacher->history.fits ||
           history_room_locked(cacher) <= cacher->cachers->bytes_max / BYTES_SHARE_MIN;
}

static void reading_begin(struct cor_cacher *cacher)
{
    struct history_reading *h;

    cacher->reads_again = false;
    if (cacher->is_closing)
        return;
    h = cor_calloc(1, sizeof(*h));
    if (!h) {
        cacher->history_mail.on_mail = on_give_up;
        cor_cachers_command(cacher->cachers, &cacher->history_mail);
        return;
    }
    h->cacher = cacher;
    cor_map_init(&h->latest, KEYS_MAX);
    cor_dlist_init(&h->batches);
    h->feed.with_prev = true;
    h->feed.on_batch = on_batch;
    h->feed.on_broken = on_broken;
    h->feed.on_closed = on_closed;
    cor_engine_req_init(&h->status.req, cacher->cachers->home, on_status);
    cor_lock_acquire(&cacher->cache.lock);
    h->asked = h->start = cacher->history.from;
    h->base = cacher->cache.window.base;
    h->generation = cacher->ready.generation;
    h->bytes_max = history_room_locked(cacher);
    cor_lock_release(&cacher->cache.lock);
    cacher->reading = h;
    cor_engine_status(cacher->cachers->engine, &h->status);
}

/* A watch of another loop may know that a reading is over before the writer's answer is here: the
 * next one waits for it, because a cacher has one reading. */
static void on_wanted(struct cor_mail *mail)
{
    struct cor_cacher *cacher = COR_CONTAINER_OF(mail, struct cor_cacher, history_mail);

    cacher->reads_again = cacher->reading != NULL;
    if (!cacher->reads_again)
        reading_begin(cacher);
}

void cor_cacher_history_init(struct cor_cacher *cacher)
{
    cacher->history_mail.on_mail = on_wanted;
}

/* While the mail is on its way to the home loop, an earlier revision may still be asked for. */
uint64_t cor_cacher_history_want_locked(struct cor_cacher *cacher, cor_rev from)
{
    struct history_wants *wants = &cacher->history;

    assert(from < cacher->cache.window.base);
    if (wants->asked == wants->done) {
        wants->asked++;
        wants->from = from;
        cor_loop_post_always(cacher->cachers->home, &cacher->history_mail);
    } else if (from < wants->from) {
        wants->from = from;
    }
    return wants->asked;
}

void cor_cacher_history_stop(struct cor_cacher *cacher)
{
    struct history_reading *h = cacher->reading;
    bool is_cancelled;

    if (!h)
        return;
    h->stopped = true;
    atomic_store_explicit(&h->stops, true, memory_order_relaxed);
    is_cancelled = h->decoding && cor_decoder_cancel(&h->job);
    if (is_cancelled)
        h->decoding = cor_store_feed_batch_free(h->decoding);
    /* Without a feed and without a job nothing else would end the reading. */
    if (h->feed.feed)
        cor_store_feed_close(&h->feed);
    else if (is_cancelled)
        reading_go_on(h);
}
