#include "storage/cacher/cachers.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "storage/cacher/cacher_int.h"

#define TICK_MS 5000

/* All keys there are: the last byte of UTF-8 text is below 0xff. */
#define KEYS_BEGIN COR_STR("\0")
#define KEYS_END   COR_STR("\xff")

static void set_max(_Atomic cor_rev *to, cor_rev rev)
{
    cor_rev now = atomic_load(to);

    while (now < rev && !atomic_compare_exchange_weak(to, &now, rev))
        ;
}

void cor_cachers_saw(struct cor_cachers *c, cor_rev rev)
{
    set_max(&c->seen, rev);
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
        .seen = atomic_load(&c->seen),
        .rev = atomic_load(&c->rev),
    };
}

/* The writer's half. */

/* A feed answers a request for progress on the engine thread. False: there is none, or it is being
 * closed. */
static bool wake_feed(struct cor_cachers *c)
{
    bool woken;

    pthread_mutex_lock(&c->feed_lock);
    woken = c->feed != NULL;
    if (woken)
        cor_feed_progress(c->feed);
    pthread_mutex_unlock(&c->feed_lock);
    return woken;
}

static void mail_home(struct cor_cachers *c)
{
    if (!atomic_exchange(&c->more_posted, true))
        cor_loop_post_always(c->home, &c->more_mail);
}

/* Without a feed the home loop writes; while one is being closed, when that is done. */
static void wake_writer(void *arg)
{
    struct cor_cachers *c = arg;

    if (!wake_feed(c))
        mail_home(c);
}

void cor_cachers_command(struct cor_cachers *c, struct cor_mail *mail)
{
    cor_mailbox_post_always(&c->commands, mail);
}

void cor_cachers_list_error(struct cor_cachers *c, int err, struct cor_status *reterr_status)
{
    bool is_feed = err == -COR_EUNREACHABLE || err == -COR_EIO;

    pthread_mutex_lock(&c->feed_lock);
    cor_status_set(reterr_status, err, "%s",
                   is_feed && c->feed_error[0] ? c->feed_error : cor_err_text(err));
    pthread_mutex_unlock(&c->feed_lock);
}

void cor_cachers_answer(struct cor_cachers *c, struct cor_mail *mail)
{
    cor_loop_post_always(c->home, mail);
}

/* Position of the first cacher whose prefix is above `key`. */
static size_t upper(const struct cor_cachers *c, struct cor_str key)
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

static struct cor_cacher *find(const struct cor_cachers *c, struct cor_str key)
{
    size_t at = upper(c, key);

    if (at == 0 || !cor_str_starts(key, store_key_str(&c->sorted[at - 1]->prefix)))
        return NULL;
    return c->sorted[at - 1];
}

int cor_cachers_add(struct cor_cachers *c, struct cor_cacher *cacher)
{
    struct cor_str prefix = store_key_str(&cacher->prefix);
    size_t at = upper(c, prefix);

    assert(!find(c, prefix));
    assert(at == c->nsorted || !cor_str_starts(store_key_str(&c->sorted[at]->prefix), prefix));
    if (c->nsorted == c->cap) {
        size_t cap = c->cap ? c->cap * 2 : 64;
        struct cor_cacher **cachers = cor_realloc(c->sorted, cap * sizeof(*cachers));

        if (!cachers)
            return -COR_ENOMEM;
        c->sorted = cachers;
        c->cap = cap;
    }
    memmove(&c->sorted[at + 1], &c->sorted[at], (c->nsorted - at) * sizeof(*c->sorted));
    c->sorted[at] = cacher;
    c->nsorted++;
    return 0;
}

void cor_cachers_remove(struct cor_cachers *c, struct cor_cacher *cacher)
{
    size_t at = upper(c, store_key_str(&cacher->prefix)) - 1;

    assert(c->sorted[at] == cacher);
    c->nsorted--;
    memmove(&c->sorted[at], &c->sorted[at + 1], (c->nsorted - at) * sizeof(*c->sorted));
    atomic_fetch_sub(&c->bytes, cacher->bytes);
}

/* A loop is mailed once however many of its readers have news, and only when one has, or when a
 * read waits for the revision. */
static void tell_loops(struct cor_cachers *c, bool advanced)
{
    for (size_t l = 0; l < c->nloops; l++) {
        struct cachers_loop *loop = &c->loops[l];
        bool post = false;

        for (size_t i = 0; i < c->nsorted; i++) {
            struct cor_cacher *cacher = c->sorted[i];

            if (!cacher->touched)
                continue;
            pthread_mutex_lock(&cacher->cache.lock);
            if (cacher->readers[l])
                post |= cor_cacher_reader_mark_locked(cacher->readers[l], loop);
            pthread_mutex_unlock(&cacher->cache.lock);
        }
        pthread_mutex_lock(&loop->lock);
        post = (post || (advanced && loop->waiting > 0)) && !loop->posted;
        loop->posted |= post;
        pthread_mutex_unlock(&loop->lock);
        if (post)
            cor_loop_post_always(loop->loop, &loop->mail);
    }
    for (size_t i = 0; i < c->nsorted; i++)
        c->sorted[i]->touched = false;
}

static void finish_batch(struct cor_cachers *c, bool advanced)
{
    bool more = cor_cachers_evict(c);

    tell_loops(c, advanced);
    if (more)
        mail_home(c);
}

static bool ends_revision(const struct cor_feed_batch *batch, size_t i)
{
    return i + 1 == batch->nevents ||
           batch->events[i + 1].kv->mod_rev != batch->events[i].kv->mod_rev;
}

/* Changes of one revision are seen together: the last one of a cacher lets its lock go. */
static bool is_last_of(struct cor_cachers *c, const struct cor_feed_batch *batch, size_t i,
                       const struct cor_cacher *cacher)
{
    while (!ends_revision(batch, i)) {
        i++;
        if (find(c, cor_kv_key(batch->events[i].kv)) == cacher)
            return false;
    }
    return true;
}

/* What the engine can no longer read at, no cache may show either. */
static void learn_compaction(struct cor_cachers *c, const struct cor_feed_event *event)
{
    cor_rev rev;

    if (event->deleted || cor_str_to_u64(cor_kv_value(event->kv), &rev) < 0 ||
        rev <= c->compact_rev)
        return;
    c->compact_rev = rev;
    c->sweep = true;
}

static void on_batch(void *arg, const struct cor_feed_batch *batch)
{
    struct cor_cachers *c = arg;
    bool advanced = batch->upto > atomic_load(&c->rev);

    cor_cachers_saw(c, batch->upto);
    for (size_t i = 0; i < batch->nevents; i++) {
        struct cor_str key = cor_kv_key(batch->events[i].kv);
        struct cor_cacher *cacher = find(c, key);

        if (cor_str_eq(key, COR_COMPACT_KEY))
            learn_compaction(c, &batch->events[i]);
        if (cacher)
            cor_cacher_change(cacher, &batch->events[i], is_last_of(c, batch, i, cacher));
    }
    set_max(&c->rev, batch->upto);
    cor_mailbox_deliver(&c->commands);
    finish_batch(c, advanced);
}

static void on_broken(void *arg, int err, const char *message)
{
    struct cor_cachers *c = arg;

    c->broken = true;
    pthread_mutex_lock(&c->feed_lock);
    snprintf(c->feed_error, sizeof(c->feed_error), "%s", message);
    pthread_mutex_unlock(&c->feed_lock);
    for (size_t i = 0; i < c->nsorted; i++)
        cor_cacher_fail(c->sorted[i], message);
    finish_batch(c, false);
    cor_loop_post_always(c->home, &c->broken_mail);
}

static void on_feed_closed(void *arg)
{
    struct cor_cachers *c = arg;

    c->broken = true;
    cor_loop_post_always(c->home, &c->feed_closed_mail);
}

static void on_sweep_answer(struct cor_mail *mail);

static void on_sweep(struct cor_mail *mail)
{
    struct cor_cachers *c = COR_CONTAINER_OF(mail, struct cor_cachers, sweep_mail);

    c->sweep = true;
    mail->on_mail = on_sweep_answer;
    cor_cachers_answer(c, mail);
}

/* The home loop's half. */

static int open_feed(struct cor_cachers *c)
{
    struct cor_feed_opts opts = {
        .key = KEYS_BEGIN,
        .end = KEYS_END,
        .credit = SIZE_MAX,
        .in_step = true,
        .on_batch = on_batch,
        .on_broken = on_broken,
        .on_closed = on_feed_closed,
        .arg = c,
    };
    struct cor_feed *feed;
    int r;

    c->broken = false;
    r = cor_feed_open(c->engine, &opts, &feed);
    if (r < 0) {
        c->broken = true;
        return r;
    }
    c->has_feed = true;
    pthread_mutex_lock(&c->feed_lock);
    c->feed = feed;
    cor_feed_progress(feed);
    pthread_mutex_unlock(&c->feed_lock);
    return 0;
}

static void close_feed(struct cor_cachers *c)
{
    struct cor_feed *feed;

    pthread_mutex_lock(&c->feed_lock);
    feed = COR_STEAL(c->feed);
    pthread_mutex_unlock(&c->feed_lock);
    if (feed)
        cor_feed_close(feed);
}

static void cachers_free(struct cor_cachers *c)
{
    for (size_t i = 0; i < c->nloops; i++)
        pthread_mutex_destroy(&c->loops[i].lock);
    cor_mailbox_deinit(&c->commands);
    pthread_mutex_destroy(&c->feed_lock);
    cor_free(c->sorted);
    cor_free(c->loops);
    cor_free(c);
}

static void on_last_reply(struct cor_mail *mail)
{
    struct cachers_loop *loop = COR_CONTAINER_OF(mail, struct cachers_loop, last_mail);
    struct cor_cachers *c = loop->cachers;
    void (*on_closed)(void *arg) = c->on_closed;
    void *arg = c->closed_arg;

    if (--c->last_mails > 0)
        return;
    cachers_free(c);
    if (on_closed)
        on_closed(arg);
}

void cor_cachers_loop_last(struct cachers_loop *loop)
{
    loop->last_mail.on_mail = on_last_reply;
    cor_cachers_answer(loop->cachers, &loop->last_mail);
}

static void on_last_mail(struct cor_mail *mail)
{
    struct cachers_loop *loop = COR_CONTAINER_OF(mail, struct cachers_loop, last_mail);

    loop->last_waits = loop->is_asking;
    if (!loop->last_waits)
        cor_cachers_loop_last(loop);
}

/* Nothing writes any more. What was mailed before the last mail has arrived when that has. */
static void finish_close(struct cor_cachers *c)
{
    if (c->has_feed || c->sweeping || atomic_load(&c->more_posted))
        return;
    c->last_mails = c->nloops;
    for (size_t i = 0; i < c->nloops; i++) {
        c->loops[i].last_mail.on_mail = on_last_mail;
        cor_loop_post_always(c->loops[i].loop, &c->loops[i].last_mail);
    }
}

static void on_broken_mail(struct cor_mail *mail)
{
    close_feed(COR_CONTAINER_OF(mail, struct cor_cachers, broken_mail));
}

/* It is set, or its callback has just begun: either way its place in the heap is there. */
static void set_timer(struct cor_cachers *c, uint64_t delay_ms)
{
    int r = cor_timer_set(&c->timer, delay_ms);

    assert(r == 0);
    (void)r;
}

/* There is no feed: the home loop is the writer. */
static void write_here(struct cor_cachers *c)
{
    cor_mailbox_deliver(&c->commands);
    finish_batch(c, false);
}

static void on_feed_closed_mail(struct cor_mail *mail)
{
    struct cor_cachers *c = COR_CONTAINER_OF(mail, struct cor_cachers, feed_closed_mail);

    c->has_feed = false;
    write_here(c);
    if (c->is_closing)
        finish_close(c);
    else
        set_timer(c, RETRY_MS);
}

static void sweep(struct cor_cachers *c)
{
    if (c->sweeping)
        return;
    c->sweeping = true;
    c->sweep_mail.on_mail = on_sweep;
    cor_cachers_command(c, &c->sweep_mail);
}

static void on_sweep_answer(struct cor_mail *mail)
{
    struct cor_cachers *c = COR_CONTAINER_OF(mail, struct cor_cachers, sweep_mail);

    c->sweeping = false;
    if (c->is_closing)
        finish_close(c);
}

void cor_cachers_retry_soon(struct cor_cachers *c)
{
    set_timer(c, RETRY_MS);
}

static void retry_lists(struct cor_cachers *c)
{
    struct cor_dlist due, *link;

    cor_dlist_init(&due);
    cor_dlist_splice(&due, &c->retries);
    while ((link = cor_dlist_pop(&due))) {
        cor_cacher_source_tick(COR_CONTAINER_OF(link, struct cor_cacher, retry));
    }
}

/* One at a time. */
static void check_one(struct cor_cachers *c)
{
    COR_DLIST_FOREACH(link, &c->members)
    {
        if (COR_CONTAINER_OF(link, struct cor_cacher, member)->check.under_way)
            return;
    }
    COR_DLIST_FOREACH(link, &c->members)
    {
        struct cor_cacher *cacher = COR_CONTAINER_OF(link, struct cor_cacher, member);

        cor_cacher_consistency_tick(cacher);
        if (cacher->check.under_way)
            return;
    }
}

static void on_timer(struct cor_timer *timer)
{
    struct cor_cachers *c = COR_CONTAINER_OF(timer, struct cor_cachers, timer);

    set_timer(c, TICK_MS);
    retry_lists(c);
    check_one(c);
    if (c->has_feed)
        sweep(c);
    else if (open_feed(c) < 0)
        set_timer(c, RETRY_MS);
}

static void on_more(struct cor_mail *mail)
{
    struct cor_cachers *c = COR_CONTAINER_OF(mail, struct cor_cachers, more_mail);

    atomic_store(&c->more_posted, false);
    if (!c->has_feed)
        write_here(c);
    else
        wake_feed(c);
    if (c->is_closing)
        finish_close(c);
}

static void on_loop_mail(struct cor_mail *mail)
{
    cor_cachers_loop_news(COR_CONTAINER_OF(mail, struct cachers_loop, mail));
}

static int init_loops(struct cor_cachers *c, const struct cor_cachers_opts *opts)
{
    c->loops = cor_calloc(opts->nloops, sizeof(*c->loops));
    if (!c->loops)
        return -COR_ENOMEM;
    c->nloops = opts->nloops;
    for (size_t i = 0; i < c->nloops; i++) {
        struct cachers_loop *loop = &c->loops[i];

        loop->loop = opts->loops[i];
        loop->cachers = c;
        loop->mail.on_mail = on_loop_mail;
        pthread_mutex_init(&loop->lock, NULL);
        cor_dlist_init(&loop->dirty);
        cor_dlist_init(&loop->waits);
        cor_dlist_init(&loop->asked);
        cor_dlist_init(&loop->asking);
    }
    return 0;
}

int cor_cachers_open(const struct cor_cachers_opts *opts, struct cor_cachers **ret_cachers)
{
    struct cor_cachers *c = cor_calloc(1, sizeof(*c));
    int r;

    if (!c)
        return -COR_ENOMEM;
    c->engine = opts->engine;
    c->home = opts->loops[0];
    c->clock = opts->clock ? opts->clock : cor_clock_real();
    c->bytes_max = opts->bytes_max ? opts->bytes_max : COR_CACHERS_BYTES_DEFAULT;
    c->broken_mail.on_mail = on_broken_mail;
    c->feed_closed_mail.on_mail = on_feed_closed_mail;
    c->more_mail.on_mail = on_more;
    cor_mailbox_init(&c->commands, SIZE_MAX, wake_writer, c);
    pthread_mutex_init(&c->feed_lock, NULL);
    cor_time_budget_init(&c->time_budget, cor_clock_mono_us(c->clock));
    cor_timer_init(&c->timer, c->home, on_timer);
    cor_dlist_init(&c->members);
    cor_dlist_init(&c->retries);
    r = init_loops(c, opts);
    if (r == 0)
        r = cor_timer_set(&c->timer, TICK_MS);
    if (r == 0)
        r = open_feed(c);
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
        close_feed(c);
    else
        finish_close(c);
}
