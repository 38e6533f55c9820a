/* clang-format off */
/* One watch over the store: the current state first, if it was asked for, then the events of a feed.
 *
 *   READING ──► SYNCING ──► SYNCED ──► LIVE ──┐
 *      ▲            │ next page        │      ▼
 *      └────────────┘     any ──► FAILED ──► ENDED ──► CLOSING (from any of them)
 *
 *   READING   a range request is under way; the first one also tells the current revision
 *   SYNCING   the objects of a page of the current state are being delivered
 *   SYNCED    the bookmark that ends the current state is due; then the feed is opened
 *   LIVE      the events of the feed are delivered as they come
 *   FAILED    the ERROR event is due
 *   ENDED     the last event was delivered
 *
 * Events are delivered one by one in turns of the loop (watch_on_turn()), because each callback may
 * pause or close the watch. What comes meanwhile waits in the backlog, whose size the feed's credit
 * bounds.
 *
 * What fails: a read or a feed that fails, an object that cannot be decoded, and an allocation all
 * lead to FAILED; after the ERROR event nothing is delivered. When the watch is inside a revision
 * then, the ERROR says 410: only a client that lists again loses nothing.
 *
 * Close: a read or a feed that is under way ends first; on_closed follows in any case. */
/* clang-format on */
#include "storage/store/store_watch.h"

#include "base/mem.h"
#include "base/rand.h"
#include "loop/timer.h"
#include "storage/store/store_backlog.h"
#include "storage/store/store_event.h"
#include "storage/store/store_feed.h"

enum watch_state { READING, SYNCING, SYNCED, LIVE, FAILED, ENDED, CLOSING };
enum watch_progress { PROGRESS_IDLE, PROGRESS_ASKED, PROGRESS_QUEUED };

/* How often a watch that finishes asks again how far its feed is, when the answer was older than
 * the revision that it waits for: a feed may know less than the one that told of that revision. */
#define FINISH_ASKS_MS 100

struct cor_store_watch {
    struct cor_store *store;
    struct store_key key;
    const struct cor_predicate *predicate; /* NULL: everything */
    bool recursive;
    bool initial;     /* the current state comes first */
    bool end_mark;    /* a bookmark follows the current state */
    cor_rev want_rev; /* as asked for; 0: none */
    cor_watch_cb on_event;
    void (*on_held)(void *arg);
    void *arg;

    enum watch_state state;
    bool paused;
    cor_rev finish_rev; /* it ends when it has delivered everything up to it; 0: it goes on */
    struct store_turn turn;

    struct store_pages pages; /* of the current state */
    bool reading;             /* a page is with the engine; also while CLOSING */
    size_t at;                /* the page's next key */
    size_t page_bytes;        /* of the whole page, until it is freed */
    cor_rev rev;              /* of the current state; the feed goes on from it */

    struct store_feed feed;
    struct store_backlog backlog;
    cor_rev seen; /* of the last event of the feed that was delivered */
    cor_rev told; /* the feed has said that everything up to it has been delivered */

    uint64_t progress_ms;
    struct cor_timer timer; /* of progress bookmarks */
    enum watch_progress progress;

    int err; /* of a broken feed, or of FAILED */
    struct cor_status status;
    struct cor_mail closed_mail;
    void (*on_closed)(void *arg);
    void *closed_arg;
};

static void watch_free(struct cor_store_watch *w)
{
    w->store->busy--;
    cor_store_pages_deinit(&w->pages);
    cor_status_deinit(&w->status);
    store_key_deinit(&w->key);
    cor_free(w);
}

size_t cor_store_watch_held(const struct cor_store_watch *w)
{
    return w->page_bytes + w->backlog.bytes;
}

static void watch_report_held(struct cor_store_watch *w)
{
    if (w->paused && w->on_held)
        w->on_held(w->arg);
}

static bool watch_is_open(const struct cor_store_watch *w)
{
    return w->state != ENDED && w->state != CLOSING;
}

static void watch_schedule(struct cor_store_watch *w)
{
    if (!w->paused && watch_is_open(w))
        store_turn_post(&w->turn);
}

/* The backlog is dropped: nothing may follow an error. */
static void watch_fail(struct cor_store_watch *w, int err, struct cor_status *status)
{
    assert(err < 0 && watch_is_open(w));
    cor_store_backlog_clear(&w->backlog);
    w->err = err;
    if (status != &w->status)
        cor_status_move(&w->status, status);
    w->state = FAILED;
}

static void watch_fail_no_memory(struct cor_store_watch *w)
{
    watch_fail(w, cor_store_no_memory(&w->status), &w->status);
}

static int watch_expired(struct cor_status *reterr_status)
{
    return cor_status_expired(reterr_status,
                              "The resourceVersion for the provided watch is too old.");
}

static void watch_deliver_bookmark(struct cor_store_watch *w, cor_rev rev, bool initial_end)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    int r;

    cor_status_init(&status);
    r = cor_store_event_deliver_bookmark(w->store, rev, initial_end, w->on_event, w->arg, &status);
    if (r < 0)
        watch_fail(w, r, &status);
}

/* An object of the current state (`initial`), or a change of the feed. */
static void watch_deliver(struct cor_store_watch *w, const struct cor_feed_event *change,
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
    /* Inside a revision only a client that lists again loses nothing. */
    if (r < 0 && !initial && change->kv->mod_rev == w->seen)
        r = watch_expired(&status);
    if (r < 0) {
        watch_fail(w, r, &status);
    } else if (seen) {
        w->seen = initial ? 0 : event.rev;
        w->on_event(w->arg, &event);
        cor_object_unref(event.object);
    }
}

/* The current state. */

static void watch_read_page(struct cor_store_watch *w)
{
    w->state = READING;
    w->reading = true;
    w->at = 0;
    w->page_bytes = 0;
    w->pages.range.keys_only = !w->initial;
    cor_store_pages_read(&w->pages, w->store->engine,
                         w->initial && w->recursive ? store_key_end(&w->key) : cor_str("", 0),
                         w->rev);
}

static void watch_on_read(struct cor_engine_req *req)
{
    struct cor_store_watch *w = COR_CONTAINER_OF(req, struct cor_store_watch, pages.range.req);
    const struct cor_range_req *page = &w->pages.range;
    struct cor_rand rand;
    int r = 0;

    w->reading = false;
    if (w->state == CLOSING) {
        cor_loop_post_always(w->store->loop, &w->closed_mail);
        return;
    }
    if (req->result == -COR_EEXPIRED) {
        r = watch_expired(&w->status);
    } else if (req->result < 0) {
        r = cor_store_engine_failure(&w->key, req, &w->status);
    } else if (w->initial && w->want_rev > page->ret_rev) {
        /* Upstream spreads the next attempts of clients over one to four seconds. */
        cor_rand_init(&rand);
        r = cor_status_too_large_rv(&w->status, w->want_rev, page->ret_rev,
                                    1 + (int64_t)cor_rand_below(&rand, 3));
    }
    if (r < 0)
        watch_fail(w, r, &w->status);
    else
        w->state = SYNCING;
    if (w->rev == 0)
        w->rev = page->ret_rev;
    for (size_t i = 0; i < page->ret_nkvs; i++)
        w->page_bytes +=
            sizeof(struct cor_kv) + page->ret_kvs[i]->key_len + page->ret_kvs[i]->value_len;
    watch_report_held(w);
    watch_schedule(w);
}

/* How many times its bytes the event counts in a turn. */
static size_t watch_cost(const struct cor_store_watch *w, const struct cor_feed_event *event)
{
    return cor_store_decodes_event_slowly(w->store, event) ? STORE_RENEW_COST : 1;
}

/* Delivers one object of the page, or goes on to the next page or state. Returns the object's size.
 */
static size_t watch_step_syncing(struct cor_store_watch *w)
{
    const struct cor_range_req *page = &w->pages.range;
    struct cor_feed_event initial = {0};

    if (w->at < page->ret_nkvs) {
        initial.kv = page->ret_kvs[w->at++];
        watch_deliver(w, &initial, true);
        return initial.kv->value_len * watch_cost(w, &initial);
    }
    if (!page->ret_more)
        w->state = SYNCED;
    else if (cor_store_pages_go_on(&w->pages, cor_kv_key(page->ret_kvs[page->ret_nkvs - 1])) < 0)
        watch_fail_no_memory(w);
    else
        watch_read_page(w);
    return 0;
}

/* The feed. */

static void watch_ask_progress(struct cor_store_watch *w)
{
    if (w->state != LIVE || w->progress != PROGRESS_IDLE)
        return;
    w->progress = PROGRESS_ASKED;
    cor_feed_progress(w->feed.feed);
}

static void watch_set_timer(struct cor_store_watch *w)
{
    uint64_t ms = w->finish_rev > 0 ? FINISH_ASKS_MS : w->progress_ms;

    if (ms > 0 && cor_timer_set(&w->timer, ms) < 0)
        watch_fail_no_memory(w);
}

static void watch_on_timer(struct cor_timer *timer)
{
    struct cor_store_watch *w = COR_CONTAINER_OF(timer, struct cor_store_watch, timer);

    if (!watch_is_open(w))
        return;
    watch_ask_progress(w);
    watch_set_timer(w);
    watch_schedule(w);
}

static void watch_step_synced(struct cor_store_watch *w)
{
    struct cor_str end = w->recursive ? store_key_end(&w->key) : cor_str("", 0);
    cor_rev from = w->rev;
    int r;

    if (w->end_mark) {
        w->end_mark = false;
        watch_deliver_bookmark(w, w->rev, true);
        return;
    }
    /* A revision that lies in the future is waited for, as etcd does it. */
    if (!w->initial && w->want_rev > 0 && w->want_rev < from)
        from = w->want_rev;
    w->page_bytes = 0;
    cor_store_pages_deinit(&w->pages);
    w->pages = (struct store_pages){0};
    r = cor_store_feed_open(&w->feed, w->store->engine, w->store->loop, store_key_str(&w->key), end,
                            from, STORE_BACKLOG_FIRST_CREDIT);
    if (r < 0) {
        watch_fail(w, cor_status_set_err(&w->status, r), &w->status);
        return;
    }
    w->state = LIVE;
    w->told = from;
    watch_set_timer(w);
    if (w->finish_rev > 0)
        watch_ask_progress(w);
}

/* Has it delivered a part of a revision? A batch never splits one, so the rest is here. */
static bool watch_is_inside_revision(const struct cor_store_watch *w)
{
    return w->state == LIVE && w->seen > 0 && cor_store_backlog_next_rev(&w->backlog) == w->seen;
}

/* Returns whether it has delivered everything up to this revision and is between two revisions.
 * Only the answer to a request for progress shows that nothing more comes. */
static bool watch_is_complete(const struct cor_store_watch *w, cor_rev upto)
{
    return w->state == LIVE && !watch_is_inside_revision(w) &&
           (w->told >= upto || w->seen >= upto || cor_store_backlog_next_rev(&w->backlog) > upto);
}

/* A mark of the feed: everything up to `upto` has been delivered. Before the end of a watch that
 * finishes there is no bookmark, for which its client may not have asked. */
static void watch_take_mark(struct cor_store_watch *w, cor_rev upto)
{
    w->progress = PROGRESS_IDLE;
    w->told = upto > w->told ? upto : w->told;
    if (w->finish_rev == 0 && upto >= w->want_rev)
        watch_deliver_bookmark(w, upto, false);
}

/* Delivers one event. False: there is none. */
static bool watch_step_live(struct cor_store_watch *w, size_t *ret_bytes)
{
    struct cor_feed_event change;
    size_t credit;
    cor_rev upto;

    if (w->finish_rev > 0 && watch_is_complete(w, w->finish_rev)) {
        w->state = ENDED;
        w->on_event(w->arg, NULL);
        return false;
    }
    if (store_backlog_is_empty(&w->backlog)) {
        if (w->err < 0)
            w->state = FAILED;
        return w->err < 0;
    }
    if (cor_store_backlog_pop_mark(&w->backlog, &upto)) {
        watch_take_mark(w, upto);
        return true;
    }
    *ret_bytes = cor_store_backlog_pop(&w->backlog, &change);
    credit = cor_store_backlog_credit(&w->backlog, *ret_bytes);
    if (credit > 0)
        cor_feed_credit(w->feed.feed, credit);
    *ret_bytes *= watch_cost(w, &change);
    if (change.kv->mod_rev > w->want_rev)
        watch_deliver(w, &change, false);
    cor_kv_unref(change.kv);
    cor_kv_unref(change.prev);
    return true;
}

/* Of batches without events only the answer to the last request for progress is kept, and what a
 * watch that finishes can be told: an engine may answer at once, and again when it knows more. */
static void watch_on_batch(struct store_feed *feed, struct store_feed_batch *take_batch)
{
    struct cor_store_watch *w = COR_CONTAINER_OF(feed, struct cor_store_watch, feed);

    if (w->state != LIVE ||
        (take_batch->nevents == 0 && w->progress != PROGRESS_ASKED && w->finish_rev == 0)) {
        cor_store_feed_batch_free(take_batch);
        return;
    }
    if (take_batch->nevents == 0)
        w->progress = PROGRESS_QUEUED;
    cor_store_backlog_push(&w->backlog, take_batch);
    watch_report_held(w);
    watch_schedule(w);
}

/* The error is delivered when the backlog is empty. */
static void watch_on_broken(struct store_feed *feed, int err, const char *message)
{
    struct cor_store_watch *w = COR_CONTAINER_OF(feed, struct cor_store_watch, feed);

    if (w->state != LIVE)
        return;
    w->err = err;
    if (err == -COR_EEXPIRED)
        watch_expired(&w->status);
    else if (err == -COR_ENOMEM)
        cor_store_no_memory(&w->status);
    else
        cor_storage_internal(&w->status, "%s", message);
    watch_schedule(w);
}

/* One step of a turn. False: there is nothing more to do now. `ret_bytes`: what it cost. */
static bool watch_step(struct cor_store_watch *w, size_t *ret_bytes)
{
    struct cor_reader_event error = {.type = COR_WATCH_ERROR, .status = &w->status};

    *ret_bytes = 0;
    switch (w->state) {
    case SYNCING:
        *ret_bytes = watch_step_syncing(w);
        return true;
    case SYNCED:
        watch_step_synced(w);
        return true;
    case LIVE:
        return watch_step_live(w, ret_bytes);
    case FAILED:
        w->state = ENDED;
        w->on_event(w->arg, &error);
        return false;
    case READING:
    case ENDED:
    case CLOSING:
        break;
    }
    return false;
}

static void watch_on_turn(struct store_turn *turn)
{
    struct cor_store_watch *w = COR_CONTAINER_OF(turn, struct cor_store_watch, turn);
    size_t items = 0, bytes = 0, n;

    while (!w->paused && watch_step(w, &n)) {
        bytes += n;
        if (++items == STORE_TURN_ITEMS_MAX || bytes >= STORE_TURN_BYTES_MAX) {
            watch_schedule(w);
            return;
        }
    }
}

void cor_store_watch_pause(struct cor_store_watch *w)
{
    assert(cor_loop_is_current(w->store->loop));
    w->paused = true;
}

void cor_store_watch_resume(struct cor_store_watch *w)
{
    assert(cor_loop_is_current(w->store->loop));
    w->paused = false;
    watch_schedule(w);
}

void cor_store_watch_progress(struct cor_store_watch *w)
{
    assert(cor_loop_is_current(w->store->loop) && *w->store->kind);
    watch_ask_progress(w);
}

/* Before it is LIVE it can be ended at any time, but it cannot have delivered what it was not given
 * yet. */
bool cor_store_watch_finish(struct cor_store_watch *w, cor_rev upto)
{
    assert(cor_loop_is_current(w->store->loop) && w->state != CLOSING);
    if (w->state == FAILED)
        return false;
    if (w->finish_rev > 0 && w->finish_rev < upto)
        upto = w->finish_rev;
    if (watch_is_inside_revision(w))
        w->finish_rev = w->seen > upto ? w->seen : upto;
    else
        w->finish_rev = w->state == ENDED || watch_is_complete(w, upto) ? 0 : upto;
    if (w->finish_rev == 0)
        return true;
    if (upto > 0 && w->state == LIVE) {
        watch_ask_progress(w);
        watch_set_timer(w);
        watch_schedule(w);
    }
    return false;
}

bool cor_store_watch_waits(const struct cor_store_watch *w)
{
    return w->state == READING && w->rev == 0;
}

static void watch_finish_close(struct cor_store_watch *w)
{
    void (*on_closed)(void *arg) = w->on_closed;
    void *arg = w->closed_arg;

    cor_store_backlog_clear(&w->backlog);
    watch_free(w);
    if (on_closed)
        on_closed(arg);
}

static void watch_on_feed_closed(struct store_feed *feed)
{
    watch_finish_close(COR_CONTAINER_OF(feed, struct cor_store_watch, feed));
}

static void watch_on_closed_mail(struct cor_mail *mail)
{
    watch_finish_close(COR_CONTAINER_OF(mail, struct cor_store_watch, closed_mail));
}

/* The last call of the feed ends the watch, or the answer of the read, or else a mail to itself. */
void cor_store_watch_close(struct cor_store_watch *w, void (*on_closed)(void *arg), void *arg)
{
    assert(w->state != CLOSING && cor_loop_is_current(w->store->loop));
    w->state = CLOSING;
    w->on_closed = on_closed;
    w->closed_arg = arg;
    cor_timer_cancel(&w->timer);
    cor_store_backlog_clear(&w->backlog);
    if (w->feed.feed)
        cor_store_feed_close(&w->feed);
    else if (!w->reading)
        cor_loop_post_always(w->store->loop, &w->closed_mail);
}

static int watch_read_options(struct cor_store_watch *w, struct cor_str key,
                              const struct cor_store_watch_opts *opts,
                              struct cor_status *reterr_status)
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
    if (cor_store_pages_begin(&w->pages, w->store->loop, watch_on_read, store_key_str(&w->key)) < 0)
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
        .closed_mail.on_mail = watch_on_closed_mail,
        .feed = {.with_prev = true,
                 .on_batch = watch_on_batch,
                 .on_broken = watch_on_broken,
                 .on_closed = watch_on_feed_closed},
    };
    store->busy++;
    cor_store_backlog_init(&w->backlog);
    cor_status_init(&w->status);
    store_turn_init(&w->turn, store->loop, watch_on_turn);
    cor_timer_init(&w->timer, store->loop, watch_on_timer);
    r = watch_read_options(w, key, opts, reterr_status);
    if (r < 0) {
        watch_free(w);
        return r;
    }
    watch_read_page(w);
    *ret_watch = w;
    return 0;
}
