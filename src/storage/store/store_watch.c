/* clang-format off */
/* One watch. Its life:
 *
 *   READING ──► SYNCING ──► SYNCED ──► LIVE ──┐
 *      ▲            │ next page        │      ▼
 *      └────────────┘     any ──► FAILED ──► ENDED ──► CLOSING (from any of them)
 *
 * READING: a range request is under way; the first one also says what the current revision is.
 * SYNCING: the initial state's page is being delivered. SYNCED: its end bookmark is due, then the
 * feed is opened. LIVE: batches of the feed are delivered. FAILED: the ERROR event is due. */
/* clang-format on */
#include "storage/store/store_watch.h"

#include "base/mem.h"
#include "base/rand.h"
#include "loop/timer.h"
#include "meta/key.h"
#include "storage/store/store_event.h"
#include "storage/store/store_feed.h"

#define KEY_MAX (2 * COR_KEY_BYTES_MAX)
/* Before the first event nobody knows how large they are. */
#define FIRST_CREDIT 16

enum state { READING, SYNCING, SYNCED, LIVE, FAILED, ENDED, CLOSING };
enum progress { PROGRESS_IDLE, PROGRESS_ASKED, PROGRESS_QUEUED };

struct cor_store_watch {
    struct cor_store *store;
    struct store_key key;
    const struct cor_predicate *predicate; /* NULL: everything */
    bool recursive;
    bool initial;     /* the current state comes first */
    bool end_mark;    /* with a bookmark after it */
    cor_rev want_rev; /* as asked for; 0: none */
    cor_watch_cb on_event;
    void (*on_held)(void *arg);
    void *arg;

    enum state state;
    bool paused;
    bool is_finishing; /* it ends with the revision `seen` */
    bool turn_posted;
    struct cor_mail turn;

    struct cor_range_req range;
    bool reading;        /* it is under way; also while CLOSING */
    struct cor_buf from; /* where the page begins */
    size_t at;           /* the page's next key */
    size_t page_bytes;   /* of the whole page, until it is let go */
    cor_rev rev;         /* of the initial state; the feed goes on from it */

    struct store_feed feed;
    struct cor_dlist batches; /* not delivered yet */
    size_t batch_at;          /* next event of the first one */
    size_t batch_bytes;       /* of their events */
    cor_rev seen;             /* of the last event that was delivered from a batch */
    size_t ahead;   /* events that the feed may send or has sent, and were not delivered */
    size_t largest; /* event lately, in bytes */

    uint64_t progress_ms;
    struct cor_timer timer;
    enum progress progress;

    int err; /* of a broken feed, or of FAILED */
    struct cor_status status;
    struct cor_mail closed_mail;
    void (*on_closed)(void *arg);
    void *closed_arg;
};

static void on_read(struct cor_engine_req *req);

static void watch_free(struct cor_store_watch *w)
{
    w->store->busy--;
    cor_range_req_deinit(&w->range);
    cor_buf_deinit(&w->from);
    cor_status_deinit(&w->status);
    store_key_deinit(&w->key);
    cor_free(w);
}

static void drop_batches(struct cor_store_watch *w)
{
    struct cor_dlist *link;

    while ((link = cor_dlist_pop(&w->batches)))
        cor_store_feed_batch_free(COR_CONTAINER_OF(link, struct store_feed_batch, link));
    w->batch_bytes = 0;
}

size_t cor_store_watch_held(const struct cor_store_watch *w)
{
    return w->page_bytes + w->batch_bytes;
}

static void tell_held(struct cor_store_watch *w)
{
    if (w->paused && w->on_held)
        w->on_held(w->arg);
}

static bool is_open(const struct cor_store_watch *w)
{
    return w->state != ENDED && w->state != CLOSING;
}

static void schedule(struct cor_store_watch *w)
{
    if (w->turn_posted || w->paused || !is_open(w))
        return;
    w->turn_posted = true;
    cor_loop_post_always(w->store->loop, &w->turn);
}

/* What is queued counts no more: after an error nothing may follow it. */
static void fail(struct cor_store_watch *w, int err, struct cor_status *status)
{
    drop_batches(w);
    w->err = err;
    if (status != &w->status)
        cor_status_move(&w->status, status);
    w->state = FAILED;
}

static int expired(struct cor_status *reterr_status)
{
    return cor_status_expired(reterr_status,
                              "The resourceVersion for the provided watch is too old.");
}

static void deliver(struct cor_store_watch *w, struct cor_reader_event *event)
{
    w->on_event(w->arg, event);
    cor_object_unref(event->object);
}

static void deliver_error(struct cor_store_watch *w)
{
    struct cor_reader_event event = {.type = COR_WATCH_ERROR, .status = &w->status};

    w->state = ENDED;
    w->on_event(w->arg, &event);
}

static void deliver_bookmark(struct cor_store_watch *w, cor_rev rev, bool initial_end)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    struct cor_reader_event event;
    int r;

    cor_status_init(&status);
    r = cor_store_event_bookmark(w->store, rev, initial_end, &event, &status);
    if (r < 0)
        fail(w, r, &status);
    else
        deliver(w, &event);
}

static void deliver_change(struct cor_store_watch *w, const struct cor_feed_event *change,
                           bool initial)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    struct cor_reader_event event;
    bool seen;
    int r;

    cor_status_init(&status);
    if (initial)
        r = cor_store_event_initial(w->store, w->predicate, change->kv, &seen, &event, &status);
    else
        r = cor_store_event_read(w->store, w->predicate, change, &seen, &event, &status);
    /* Inside a revision only a client that lists anew loses nothing. */
    if (r < 0 && !initial && change->kv->mod_rev == w->seen)
        r = expired(&status);
    if (r < 0) {
        fail(w, r, &status);
    } else if (seen) {
        w->seen = initial ? 0 : event.rev;
        deliver(w, &event);
    }
}

static size_t kv_bytes(const struct cor_kv *kv)
{
    return sizeof(*kv) + kv->key_len + kv->value_len;
}

/* The initial state. */

static void read_page(struct cor_store_watch *w)
{
    w->state = READING;
    w->reading = true;
    w->at = 0;
    w->page_bytes = 0;
    cor_range_req_deinit(&w->range);
    cor_range_req_init(&w->range, w->store->loop, on_read);
    w->range.key = cor_buf_str(&w->from);
    if (w->initial && w->recursive)
        w->range.end = store_key_end(&w->key);
    w->range.keys_only = !w->initial;
    w->range.at = w->rev;
    cor_engine_range(w->store->engine, &w->range);
}

/* Upstream spreads the clients' next attempts over one to four seconds. */
static int too_large(struct cor_store_watch *w, struct cor_status *reterr_status)
{
    struct cor_rand rand;

    cor_rand_init(&rand);
    return cor_status_too_large_rv(reterr_status, w->want_rev, w->range.ret_rev,
                                   1 + (int64_t)cor_rand_below(&rand, 3));
}

static void on_read(struct cor_engine_req *req)
{
    struct cor_store_watch *w = COR_CONTAINER_OF(req, struct cor_store_watch, range.req);
    int r = 0;

    w->reading = false;
    if (w->state == CLOSING) {
        cor_loop_post_always(w->store->loop, &w->closed_mail);
        return;
    }
    if (req->result == -COR_EEXPIRED)
        r = expired(&w->status);
    else if (req->result < 0)
        r = cor_store_engine_failure(&w->key, req, &w->status);
    else if (w->initial && w->want_rev > w->range.ret_rev)
        r = too_large(w, &w->status);
    if (r < 0)
        fail(w, r, &w->status);
    else
        w->state = SYNCING;
    if (w->rev == 0)
        w->rev = w->range.ret_rev;
    for (size_t i = 0; i < w->range.ret_nkvs; i++)
        w->page_bytes += kv_bytes(w->range.ret_kvs[i]);
    tell_held(w);
    schedule(w);
}

static int after_last_key(struct cor_store_watch *w)
{
    struct cor_kv *last = w->range.ret_kvs[w->range.ret_nkvs - 1];
    int r;

    cor_buf_reset(&w->from);
    r = cor_buf_adds(&w->from, cor_kv_key(last));
    return r < 0 ? r : cor_buf_addc(&w->from, 0);
}

/* Delivers one object of the page, or goes on to what comes after the page. */
static size_t step_syncing(struct cor_store_watch *w)
{
    struct cor_feed_event initial = {0};
    int r = 0;

    if (w->at < w->range.ret_nkvs) {
        initial.kv = w->range.ret_kvs[w->at++];
        deliver_change(w, &initial, true);
        return initial.kv->value_len;
    }
    if (!w->range.ret_more) {
        w->state = SYNCED;
        return 0;
    }
    r = after_last_key(w);
    if (r < 0)
        fail(w, cor_status_set(&w->status, r, "%s", cor_err_text(r)), &w->status);
    else
        read_page(w);
    return 0;
}

/* The feed. */

static void ask_progress(struct cor_store_watch *w)
{
    if (w->state != LIVE || w->progress != PROGRESS_IDLE)
        return;
    w->progress = PROGRESS_ASKED;
    cor_feed_progress(w->feed.feed);
}

static void set_timer(struct cor_store_watch *w)
{
    if (w->progress_ms > 0 && cor_timer_set(&w->timer, w->progress_ms) < 0)
        fail(w, cor_store_no_memory(&w->status), &w->status);
}

static void on_timer(struct cor_timer *timer)
{
    struct cor_store_watch *w = COR_CONTAINER_OF(timer, struct cor_store_watch, timer);

    if (!is_open(w))
        return;
    ask_progress(w);
    set_timer(w);
    schedule(w);
}

static void step_synced(struct cor_store_watch *w)
{
    struct cor_str end = w->recursive ? store_key_end(&w->key) : cor_str("", 0);
    cor_rev from = w->rev;
    int r;

    if (w->end_mark) {
        w->end_mark = false;
        deliver_bookmark(w, w->rev, true);
        return;
    }
    /* A revision that lies in the future is waited for, as etcd does it. */
    if (!w->initial && w->want_rev > 0 && w->want_rev < from)
        from = w->want_rev;
    w->page_bytes = 0;
    cor_range_req_deinit(&w->range);
    cor_range_req_init(&w->range, w->store->loop, on_read);
    w->ahead = FIRST_CREDIT;
    r = cor_store_feed_open(&w->feed, w->store->engine, w->store->loop, store_key_str(&w->key), end,
                            from, FIRST_CREDIT);
    if (r < 0) {
        fail(w, cor_status_set(&w->status, r, "%s", cor_err_text(r)), &w->status);
        return;
    }
    w->state = LIVE;
    set_timer(w);
}

static size_t event_bytes(const struct cor_feed_event *change)
{
    return kv_bytes(change->kv) + (change->prev ? change->prev->value_len : 0);
}

/* How many events of the size that is usual lately the feed may be ahead. */
static size_t window(const struct cor_store_watch *w)
{
    size_t fit = COR_STORE_WATCH_BYTES_MAX / (w->largest > 0 ? w->largest : 1);

    if (fit == 0)
        return 1;
    return fit < COR_STORE_WATCH_EVENTS_MAX ? fit : COR_STORE_WATCH_EVENTS_MAX;
}

/* Credit is given in steps of half a window. A feed may pass its credit: it splits no revision. */
static void consume(struct cor_store_watch *w, size_t bytes)
{
    size_t most;

    w->largest -= w->largest / 16;
    w->largest = bytes > w->largest ? bytes : w->largest;
    most = window(w);
    if (w->ahead > 0)
        w->ahead--;
    if (w->ahead > most / 2)
        return;
    cor_feed_credit(w->feed.feed, most - w->ahead);
    w->ahead = most;
}

static void drop_first_batch(struct cor_store_watch *w)
{
    struct cor_dlist *link = cor_dlist_pop(&w->batches);

    w->batch_at = 0;
    cor_store_feed_batch_free(COR_CONTAINER_OF(link, struct store_feed_batch, link));
}

/* The revision of the next event; 0: none is there, and the one before is complete. */
static cor_rev next_rev(const struct cor_store_watch *w)
{
    const struct store_feed_batch *batch;

    if (cor_dlist_empty(&w->batches))
        return 0;
    batch = COR_CONTAINER_OF(w->batches.next, struct store_feed_batch, link);
    return batch->nevents > 0 ? batch->events[w->batch_at].kv->mod_rev : 0;
}

/* A batch never splits a revision. */
static bool is_inside_revision(const struct cor_store_watch *w)
{
    return w->state == LIVE && w->seen > 0 && next_rev(w) == w->seen;
}

/* Delivers one event. False: there is none. */
static bool step_live(struct cor_store_watch *w, size_t *ret_bytes)
{
    struct store_feed_batch *batch;
    struct cor_feed_event change;

    if (w->is_finishing && !is_inside_revision(w)) {
        w->state = ENDED;
        w->on_event(w->arg, NULL);
        return false;
    }
    if (cor_dlist_empty(&w->batches)) {
        if (w->err < 0)
            w->state = FAILED;
        return w->err < 0;
    }
    batch = COR_CONTAINER_OF(w->batches.next, struct store_feed_batch, link);
    if (batch->nevents == 0) {
        cor_rev upto = batch->upto;

        drop_first_batch(w);
        w->progress = PROGRESS_IDLE;
        if (upto >= w->want_rev)
            deliver_bookmark(w, upto, false);
        return true;
    }
    change = batch->events[w->batch_at];
    batch->events[w->batch_at++] = (struct cor_feed_event){0};
    if (w->batch_at == batch->nevents)
        drop_first_batch(w);
    *ret_bytes = event_bytes(&change);
    w->batch_bytes -= *ret_bytes;
    consume(w, *ret_bytes);
    if (change.kv->mod_rev > w->want_rev)
        deliver_change(w, &change, false);
    cor_kv_unref(change.kv);
    cor_kv_unref(change.prev);
    return true;
}

static void on_batch(struct store_feed *feed, struct store_feed_batch *take_batch)
{
    struct cor_store_watch *w = COR_CONTAINER_OF(feed, struct cor_store_watch, feed);

    if (w->state != LIVE || (take_batch->nevents == 0 && w->progress != PROGRESS_ASKED)) {
        cor_store_feed_batch_free(take_batch);
        return;
    }
    if (take_batch->nevents == 0)
        w->progress = PROGRESS_QUEUED;
    for (size_t i = 0; i < take_batch->nevents; i++) {
        size_t bytes = event_bytes(&take_batch->events[i]);

        w->largest = bytes > w->largest ? bytes : w->largest;
        w->batch_bytes += bytes;
    }
    cor_dlist_push(&w->batches, &take_batch->link);
    tell_held(w);
    schedule(w);
}

static void on_broken(struct store_feed *feed, int err, const char *message)
{
    struct cor_store_watch *w = COR_CONTAINER_OF(feed, struct cor_store_watch, feed);

    if (w->state != LIVE)
        return;
    w->err = err;
    if (err == -COR_EEXPIRED)
        expired(&w->status);
    else if (err == -COR_ENOMEM)
        cor_store_no_memory(&w->status);
    else
        cor_storage_internal(&w->status, "%s", message);
    schedule(w);
}

/* The turn: events are delivered one by one, for each may pause or close the watch. */

static bool step(struct cor_store_watch *w, size_t *ret_bytes)
{
    *ret_bytes = 0;
    switch (w->state) {
    case SYNCING:
        *ret_bytes = step_syncing(w);
        return true;
    case SYNCED:
        step_synced(w);
        return true;
    case LIVE:
        return step_live(w, ret_bytes);
    case FAILED:
        deliver_error(w);
        return false;
    case READING:
    case ENDED:
    case CLOSING:
        break;
    }
    return false;
}

static void on_turn(struct cor_mail *mail)
{
    struct cor_store_watch *w = COR_CONTAINER_OF(mail, struct cor_store_watch, turn);
    size_t items = 0, bytes = 0, n;

    w->turn_posted = false;
    while (!w->paused && step(w, &n)) {
        bytes += n;
        if (++items == STORE_TURN_ITEMS_MAX || bytes >= STORE_TURN_BYTES_MAX) {
            schedule(w);
            return;
        }
    }
}

void cor_store_watch_pause(struct cor_store_watch *w)
{
    w->paused = true;
}

void cor_store_watch_resume(struct cor_store_watch *w)
{
    w->paused = false;
    schedule(w);
}

void cor_store_watch_progress(struct cor_store_watch *w)
{
    assert(*w->store->kind);
    ask_progress(w);
}

bool cor_store_watch_finish(struct cor_store_watch *w)
{
    if (w->state == FAILED)
        return false;
    w->is_finishing = is_inside_revision(w);
    return !w->is_finishing;
}

static void finish_close(struct cor_store_watch *w)
{
    void (*on_closed)(void *arg) = w->on_closed;
    void *arg = w->closed_arg;

    drop_batches(w);
    watch_free(w);
    if (on_closed)
        on_closed(arg);
}

static void on_feed_closed(struct store_feed *feed)
{
    finish_close(COR_CONTAINER_OF(feed, struct cor_store_watch, feed));
}

static void on_closed_mail(struct cor_mail *mail)
{
    finish_close(COR_CONTAINER_OF(mail, struct cor_store_watch, closed_mail));
}

/* The feed's last call, or the read's answer, or else a mail to itself ends it. */
void cor_store_watch_close(struct cor_store_watch *w, void (*on_closed)(void *arg), void *arg)
{
    assert(w->state != CLOSING && cor_loop_is_current(w->store->loop));
    w->state = CLOSING;
    w->on_closed = on_closed;
    w->closed_arg = arg;
    cor_timer_cancel(&w->timer);
    drop_batches(w);
    if (w->feed.feed)
        cor_store_feed_close(&w->feed);
    else if (!w->reading)
        cor_loop_post_always(w->store->loop, &w->closed_mail);
}

static int read_options(struct cor_store_watch *w, struct cor_str key,
                        const struct cor_store_watch_opts *opts, struct cor_status *reterr_status)
{
    struct cor_watch_plan plan;
    int r = cor_store_key_init(&w->key, w->store, key, w->recursive, reterr_status);

    if (r < 0)
        return r;
    r = cor_watch_options_resolve(&opts->options, &plan, reterr_status);
    if (r < 0)
        return r;
    if (opts->progress_ms > 0 && !*w->store->kind)
        return cor_status_internal(reterr_status,
                                   "progressNotify for watch is unsupported by the etcd storage "
                                   "because no newFunc was provided");
    w->want_rev = plan.rev;
    w->initial = plan.initial_events;
    w->end_mark = plan.end_bookmark;
    if (opts->predicate && !cor_predicate_empty(opts->predicate))
        w->predicate = opts->predicate;
    if (cor_buf_adds(&w->from, store_key_str(&w->key)) < 0)
        return cor_store_no_memory(reterr_status);
    return 0;
}

int cor_store_watch_open(struct cor_store *store, struct cor_str key,
                         const struct cor_store_watch_opts *opts,
                         struct cor_store_watch **ret_watch, struct cor_status *reterr_status)
{
    struct cor_store_watch *w = cor_calloc(1, sizeof(*w));
    int r;

    assert(cor_loop_is_current(store->loop));
    if (!w)
        return cor_store_no_memory(reterr_status);
    *w = (struct cor_store_watch){
        .store = store,
        .recursive = opts->options.recursive,
        .progress_ms = opts->progress_ms,
        .on_event = opts->on_event,
        .on_held = opts->on_held,
        .arg = opts->arg,
        .turn.on_mail = on_turn,
        .closed_mail.on_mail = on_closed_mail,
        .feed = {.with_prev = true,
                 .on_batch = on_batch,
                 .on_broken = on_broken,
                 .on_closed = on_feed_closed},
    };
    store->busy++;
    cor_dlist_init(&w->batches);
    cor_buf_init(&w->from, KEY_MAX);
    cor_status_init(&w->status);
    cor_range_req_init(&w->range, store->loop, on_read);
    cor_timer_init(&w->timer, store->loop, on_timer);
    r = read_options(w, key, opts, reterr_status);
    if (r < 0) {
        watch_free(w);
        return r;
    }
    read_page(w);
    *ret_watch = w;
    return 0;
}
