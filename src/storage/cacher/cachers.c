/* clang-format off */
/* The one feed of the whole store, and what it drives.
 *
 * A batch of the feed, on the engine thread (cachers_on_batch()):
 *   1. `seen` becomes the batch's revision: clients may see it from now on.
 *   2. Each change goes to the cachers that have its key. Changes of one revision are applied under
 *      one hold of that cacher's lock.
 *   3. `rev` becomes the batch's revision: all ready watch caches are complete up to it.
 *   4. Commands of other threads run: this thread is the only writer of all watch caches.
 *   5. History that exceeds its time or its bytes is evicted, and the loops are mailed.
 * The engine acknowledges the writes of the batch when the callback returns.
 *
 * What fails:
 *   a change cannot be applied   that cacher's round is over, and it lists again (cacher.c)
 *   the feed breaks              all cachers are PENDING at once. The home loop closes the feed,
 *                                writes in its place, and opens another after RETRY_MS
 *   no feed can be opened        at the start: cor_cachers_open() fails. Later: tried every
 * RETRY_MS
 *
 * The home loop's timer ticks every TICK_MS, or sooner when something is to be tried again. A tick
 * begins the rounds that are due, begins a consistency check when one is due, and has the writer
 * sweep: look at every cacher, so that events leave by their age also where nothing changes.
 *
 * Close: the feed is closed, then every loop is asked to end (cachers_loop.c), then the memory is
 * freed. All cachers are closed before. */
/* clang-format on */
#include "storage/cacher/cachers.h"

#include <stdio.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "storage/cacher/cacher_int.h"

#define TICK_MS 5000

/* The range of all keys. No byte of UTF-8 text is 0xff. */
#define KEYS_BEGIN COR_STR("\0")
#define KEYS_END   COR_STR("\xff")

static void rev_raise(_Atomic cor_rev *to, cor_rev rev)
{
    cor_rev now = atomic_load(to);

    while (now < rev && !atomic_compare_exchange_weak(to, &now, rev))
        ;
}

void cor_cachers_saw(struct cor_cachers *c, cor_rev rev)
{
    rev_raise(&c->seen, rev);
}

uint64_t cor_cachers_now_ms(const struct cor_cachers *c)
{
    return cor_clock_mono_ms(c->clock);
}

struct cor_cachers_stats cor_cachers_stats(const struct cor_cachers *c)
{
    return (struct cor_cachers_stats){
        .bytes = atomic_load(&c->bytes),
        .bytes_max = c->bytes_max,
        .pinned = atomic_load(&c->pins.held) + atomic_load(&c->pins.leaving),
        .ended_lists = atomic_load(&c->ended_lists),
        .ended_watches = atomic_load(&c->ended_watches),
        .evicted = atomic_load(&c->evicted),
        .put_off = atomic_load(&c->put_off),
        .replays = cor_feed_shares_used(&c->replays),
        .seen = atomic_load(&c->seen),
        .rev = atomic_load(&c->rev),
    };
}

void cor_cachers_list_error(struct cor_cachers *c, int err, struct cor_status *reterr_status)
{
    bool is_feed = err == -COR_EUNREACHABLE || err == -COR_EIO;

    cor_lock_acquire(&c->feed_lock);
    cor_status_set(reterr_status, err, "%s",
                   is_feed && c->feed_error[0] ? c->feed_error : cor_err_text(err));
    cor_lock_release(&c->feed_lock);
}

/* Commands. A feed answers a request for progress with a callback on the engine thread, which then
 * runs the commands. Without a feed the home loop runs them; while the feed is being closed, they
 * wait until that is done. */

/* False: there is no feed, or it is being closed. */
static bool feed_wake(struct cor_cachers *c)
{
    bool woken;

    cor_lock_acquire(&c->feed_lock);
    woken = c->feed != NULL;
    if (woken)
        cor_feed_progress(c->feed);
    cor_lock_release(&c->feed_lock);
    return woken;
}

static void home_wake(struct cor_cachers *c)
{
    if (!atomic_exchange(&c->more_posted, true))
        cor_loop_post_always(c->home, &c->more_mail);
}

static void writer_wake(void *arg)
{
    struct cor_cachers *c = arg;

    if (!feed_wake(c))
        home_wake(c);
}

void cor_cachers_command(struct cor_cachers *c, struct cor_mail *mail)
{
    cor_mailbox_post_always(&c->commands, mail);
}

void cor_cachers_answer(struct cor_cachers *c, struct cor_mail *mail)
{
    cor_loop_post_always(c->home, mail);
}

/* The cachers by key prefix. No prefix begins with another, so the cacher of a key is the last one
 * whose prefix is not above the key, or none. Two cachers may have the same prefix for a time,
 * while a custom resource with a new schema replaces one: those are neighbours, and each gets all
 * changes.
 */

/* Position of the first cacher whose prefix is above `key`. */
static size_t sorted_upper(const struct cor_cachers *c, struct cor_str key)
{
    size_t lo = 0, hi = c->nsorted;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (cor_str_cmp(store_key_str(&c->sorted[mid]->prefix), key) <= 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* How many cachers, down from position `at`, have the key. */
static size_t sorted_count(const struct cor_cachers *c, size_t at, struct cor_str key)
{
    size_t n = 0;

    while (n < at && cor_str_starts(key, store_key_str(&c->sorted[at - 1 - n]->prefix)))
        n++;
    return n;
}

int cor_cachers_add(struct cor_cachers *c, struct cor_cacher *cacher)
{
    struct cor_str prefix = store_key_str(&cacher->prefix);
    size_t at = sorted_upper(c, prefix);

    assert(c->is_writing);
    assert(sorted_count(c, at, prefix) == 0 ||
           cor_str_eq(store_key_str(&c->sorted[at - 1]->prefix), prefix));
    assert(at == c->nsorted || !cor_str_starts(store_key_str(&c->sorted[at]->prefix), prefix));
    if (COR_ARRAY_RESERVE(&c->sorted, c->nsorted, &c->cap, COR_ARRAY_NO_MAX) < 0)
        return -COR_ENOMEM;
    memmove(&c->sorted[at + 1], &c->sorted[at], (c->nsorted - at) * sizeof(*c->sorted));
    c->sorted[at] = cacher;
    c->nsorted++;
    return 0;
}

void cor_cachers_remove(struct cor_cachers *c, struct cor_cacher *cacher)
{
    size_t at = sorted_upper(c, store_key_str(&cacher->prefix)) - 1;

    while (c->sorted[at] != cacher)
        at--;
    assert(c->is_writing);
    c->nsorted--;
    memmove(&c->sorted[at], &c->sorted[at + 1], (c->nsorted - at) * sizeof(*c->sorted));
    atomic_fetch_sub(&c->bytes, cacher->bytes);
}

/* The writer: the callbacks of the feed on the engine thread, or the home loop without a feed. */

/* Every visit of the writer ends so: with what may have been changed evicted and announced. */
static void writer_finish(struct cor_cachers *c, bool advanced)
{
    bool more = cor_cachers_evict(c);

    cor_cachers_loops_notify(c, advanced);
    c->is_writing = false;
    if (more)
        home_wake(c);
}

/* Does no later event of the same revision belong to this cacher? Then its lock may be released:
 * the changes of one revision become visible together. */
static bool is_last_of_revision(const struct cor_feed_batch *batch, size_t i,
                                const struct cor_cacher *cacher)
{
    cor_rev rev = batch->events[i].kv->mod_rev;

    for (i++; i < batch->nevents && batch->events[i].kv->mod_rev == rev; i++) {
        if (cor_str_starts(cor_kv_key(batch->events[i].kv), store_key_str(&cacher->prefix)))
            return false;
    }
    return true;
}

/* The engine cannot be read below its compacted revision, so no watch cache may show it either. The
 * next eviction tells all of them. */
static void learn_compaction(struct cor_cachers *c, const struct cor_feed_event *event)
{
    cor_rev rev;

    if (event->deleted || cor_str_to_u64(cor_kv_value(event->kv), &rev) < 0 ||
        rev <= c->compact_rev)
        return;
    c->compact_rev = rev;
    c->sweep = true;
}

static void cachers_on_batch(void *arg, const struct cor_feed_batch *batch)
{
    struct cor_cachers *c = arg;
    bool advanced = batch->upto > atomic_load(&c->rev);

    assert(!c->is_writing);
    c->is_writing = true;
    cor_cachers_saw(c, batch->upto);
    for (size_t i = 0; i < batch->nevents; i++) {
        struct cor_str key = cor_kv_key(batch->events[i].kv);
        size_t at = sorted_upper(c, key);

        if (cor_str_eq(key, COR_COMPACT_KEY))
            learn_compaction(c, &batch->events[i]);
        for (size_t n = sorted_count(c, at, key); n > 0; n--)
            cor_cacher_change(c->sorted[at - n], &batch->events[i],
                              is_last_of_revision(batch, i, c->sorted[at - n]));
    }
    rev_raise(&c->rev, batch->upto);
    cor_mailbox_deliver(&c->commands);
    writer_finish(c, advanced);
}

static void cachers_on_broken(void *arg, int err, const char *message)
{
    struct cor_cachers *c = arg;

    assert(!c->is_writing);
    c->is_writing = true;
    c->broken = true;
    cor_lock_acquire(&c->feed_lock);
    snprintf(c->feed_error, sizeof(c->feed_error), "%s", message);
    cor_lock_release(&c->feed_lock);
    for (size_t i = 0; i < c->nsorted; i++)
        cor_cacher_fail(c->sorted[i], message);
    writer_finish(c, false);
    cor_loop_post_always(c->home, &c->broken_mail);
}

static void cachers_on_feed_closed(void *arg)
{
    struct cor_cachers *c = arg;

    c->broken = true;
    cor_loop_post_always(c->home, &c->feed_closed_mail);
}

/* There is no feed: the home loop is the writer. */
static void home_write(struct cor_cachers *c)
{
    assert(!c->has_feed && !c->is_writing && cor_loop_is_current(c->home));
    c->is_writing = true;
    cor_mailbox_deliver(&c->commands);
    writer_finish(c, false);
}

/* The home loop. */

static int feed_open(struct cor_cachers *c)
{
    struct cor_feed_opts opts = {
        .key = KEYS_BEGIN,
        .end = KEYS_END,
        .credit = SIZE_MAX,
        .in_step = true,
        .on_batch = cachers_on_batch,
        .on_broken = cachers_on_broken,
        .on_closed = cachers_on_feed_closed,
        .arg = c,
    };
    struct cor_feed *feed;
    int r;

    /* The engine thread may call before cor_feed_open() returns. */
    c->broken = false;
    r = cor_feed_open(c->engine, &opts, &feed);
    if (r < 0) {
        c->broken = true;
        return r;
    }
    c->has_feed = true;
    cor_lock_acquire(&c->feed_lock);
    c->feed = feed;
    /* Commands that came while there was no feed are run by the answer to this. */
    cor_feed_progress(feed);
    cor_lock_release(&c->feed_lock);
    return 0;
}

static void feed_close(struct cor_cachers *c)
{
    struct cor_feed *feed;

    cor_lock_acquire(&c->feed_lock);
    feed = COR_STEAL(c->feed);
    cor_lock_release(&c->feed_lock);
    if (feed)
        cor_feed_close(feed);
}

static void on_broken_mail(struct cor_mail *mail)
{
    feed_close(COR_CONTAINER_OF(mail, struct cor_cachers, broken_mail));
}

/* The timer is set, or its callback has just begun: its place in the heap exists, so setting it
 * allocates nothing and cannot fail. */
static void timer_set(struct cor_cachers *c, uint64_t delay_ms)
{
    int r = cor_timer_set(&c->timer, delay_ms);

    assert(r == 0);
    (void)r;
}

void cor_cachers_retry_soon(struct cor_cachers *c)
{
    assert(cor_loop_is_current(c->home) && !c->is_closing);
    timer_set(c, RETRY_MS);
}

static void cachers_free(struct cor_cachers *c)
{
    cor_cachers_loops_deinit(c);
    cor_mailbox_deinit(&c->commands);
    cor_lock_deinit(&c->feed_lock);
    cor_feed_shares_deinit(&c->replays);
    cor_free(c->sorted);
    cor_free(c);
}

static void on_loop_ended(struct cor_mail *mail)
{
    struct cor_cachers *c = COR_CONTAINER_OF(mail, struct cachers_loop, end_mail)->cachers;
    void (*on_closed)(void *arg) = c->on_closed;
    void *arg = c->closed_arg;

    if (--c->loops_left > 0)
        return;
    cachers_free(c);
    if (on_closed)
        on_closed(arg);
}

/* Called whenever one of the three things that a close waits for has ended. */
static void close_go_on(struct cor_cachers *c)
{
    if (c->has_feed || c->sweeping || atomic_load(&c->more_posted))
        return;
    c->loops_left = c->nloops;
    for (size_t i = 0; i < c->nloops; i++)
        cor_cachers_loop_end(&c->loops[i], on_loop_ended);
}

static void on_feed_closed_mail(struct cor_mail *mail)
{
    struct cor_cachers *c = COR_CONTAINER_OF(mail, struct cor_cachers, feed_closed_mail);

    c->has_feed = false;
    home_write(c);
    if (c->is_closing)
        close_go_on(c);
    else
        timer_set(c, RETRY_MS);
}

/* The writer asked to be called again: it has more to free. */
static void on_more_mail(struct cor_mail *mail)
{
    struct cor_cachers *c = COR_CONTAINER_OF(mail, struct cor_cachers, more_mail);

    atomic_store(&c->more_posted, false);
    if (!c->has_feed)
        home_write(c);
    else
        feed_wake(c);
    if (c->is_closing)
        close_go_on(c);
}

static void on_sweep_answer(struct cor_mail *mail)
{
    struct cor_cachers *c = COR_CONTAINER_OF(mail, struct cor_cachers, sweep_mail);

    c->sweeping = false;
    if (c->is_closing)
        close_go_on(c);
}

/* On the writer. */
static void on_sweep_command(struct cor_mail *mail)
{
    struct cor_cachers *c = COR_CONTAINER_OF(mail, struct cor_cachers, sweep_mail);

    c->sweep = true;
    mail->on_mail = on_sweep_answer;
    cor_cachers_answer(c, mail);
}

/* Begins a check of one cacher, if one is due and none is under way: one at a time is enough. */
static void check_one(struct cor_cachers *c)
{
    COR_DLIST_FOREACH(link, &c->members) {
        if (COR_CONTAINER_OF(link, struct cor_cacher, member)->check.under_way)
            return;
    }
    COR_DLIST_FOREACH(link, &c->members) {
        struct cor_cacher *cacher = COR_CONTAINER_OF(link, struct cor_cacher, member);

        cor_cacher_consistency_tick(cacher);
        if (cacher->check.under_way)
            return;
    }
}

static void cachers_on_timer(struct cor_timer *timer)
{
    struct cor_cachers *c = COR_CONTAINER_OF(timer, struct cor_cachers, timer);
    struct cor_dlist due, *link;

    timer_set(c, TICK_MS);
    /* A round that fails at once is put among the retries again: it waits for the next tick. */
    cor_dlist_init(&due);
    cor_dlist_splice(&due, &c->retries);
    while ((link = cor_dlist_pop(&due)))
        cor_cacher_source_tick(COR_CONTAINER_OF(link, struct cor_cacher, retry));
    cor_decoder_go_on(&c->decoder);
    COR_DLIST_FOREACH(member, &c->members)
        cor_cacher_unreadable_tick(COR_CONTAINER_OF(member, struct cor_cacher, member));
    check_one(c);
    if (!c->has_feed) {
        if (feed_open(c) < 0)
            timer_set(c, RETRY_MS);
    } else if (!c->sweeping) {
        c->sweeping = true;
        c->sweep_mail.on_mail = on_sweep_command;
        cor_cachers_command(c, &c->sweep_mail);
    }
}

int cor_cachers_open(const struct cor_cachers_opts *opts, struct cor_cachers **ret_cachers)
{
    struct cor_cachers *c = cor_calloc(1, sizeof(*c));
    int r;

    assert(opts->engine && opts->nloops > 0);
    if (!c)
        return -COR_ENOMEM;
    c->engine = opts->engine;
    c->home = opts->loops[0];
    c->clock = opts->clock ? opts->clock : cor_clock_real();
    c->bytes_max = opts->bytes_max ? opts->bytes_max : COR_WATCH_CACHE_BYTES;
    c->broken_mail.on_mail = on_broken_mail;
    c->feed_closed_mail.on_mail = on_feed_closed_mail;
    c->more_mail.on_mail = on_more_mail;
    cor_mailbox_init(&c->commands, SIZE_MAX, writer_wake, c);
    cor_lock_init(&c->feed_lock, COR_LOCK_CACHERS_FEED);
    cor_feed_shares_init(&c->replays, COR_REPLAYS_MAX,
                         "this user has too many watches from different revisions of long ago");
    cor_time_budget_init(&c->time_budget, cor_clock_mono_us(c->clock));
    cor_timer_init(&c->timer, c->home, cachers_on_timer);
    cor_dlist_init(&c->members);
    cor_dlist_init(&c->retries);
    cor_decoder_init(&c->decoder, c, opts->offload);
    r = cor_cachers_loops_init(c, opts->loops, opts->nloops);
    if (r == 0)
        r = cor_timer_set(&c->timer, TICK_MS);
    if (r == 0)
        r = feed_open(c);
    if (r < 0) {
        cor_timer_cancel(&c->timer);
        cachers_free(c);
        return r;
    }
    *ret_cachers = c;
    return 0;
}

void cor_cachers_close(struct cor_cachers *c, void (*on_closed)(void *arg), void *arg)
{
    assert(c->open == 0 && !c->is_closing && cor_loop_is_current(c->home));
    c->is_closing = true;
    c->on_closed = on_closed;
    c->closed_arg = arg;
    cor_timer_cancel(&c->timer);
    if (c->has_feed)
        feed_close(c);
    else
        close_go_on(c);
}
