/* The common half of a feed: orders from other threads, credit, and the batch that is gathered.
 *
 * Other threads write orders under the engine's lock and call `tell`, which makes the engine thread
 * look soon; it takes them with cor_feed_take_orders(). The engine thread gathers events into
 * `pending`, delivers them as one batch and releases them. An event that finds no memory is
 * refused, and the engine decides what that means for the feed. Thread: see feed.h. */
#include "storage/engine/feed.h"

#include <assert.h>

#include "base/array.h"
#include "base/lock.h"
#include "base/mem.h"

/* A live feed keeps the room for this many events between batches. */
#define PENDING_KEEP 64

void cor_feed_init(struct cor_feed *feed, const struct cor_feed_opts *opts, char *bytes,
                   struct cor_lock *lock, void (*tell)(struct cor_feed *feed))
{
    feed->opts = *opts;
    cor_feed_range_copy(&feed->range, bytes, opts->key, opts->end);
    feed->lock = lock;
    feed->tell = tell;
    feed->pos = opts->from;
    feed->credit = opts->credit;
    cor_dlist_init(&feed->touched);
}

void cor_feed_deinit(struct cor_feed *feed)
{
    cor_free(feed->pending);
}

/* SIZE_MAX means without bound, and stays. */
static size_t credit_add(size_t credit, size_t more)
{
    return more > SIZE_MAX - credit ? SIZE_MAX : credit + more;
}

void cor_feed_credit(struct cor_feed *feed, size_t events)
{
    cor_lock_acquire(feed->lock);
    feed->credit_added = credit_add(feed->credit_added, events);
    feed->tell(feed);
    cor_lock_release(feed->lock);
}

void cor_feed_progress(struct cor_feed *feed)
{
    cor_lock_acquire(feed->lock);
    feed->progress_asked = true;
    feed->tell(feed);
    cor_lock_release(feed->lock);
}

void cor_feed_close(struct cor_feed *feed)
{
    cor_lock_acquire(feed->lock);
    assert(!feed->close_asked);
    feed->close_asked = true;
    feed->tell(feed);
    cor_lock_release(feed->lock);
}

bool cor_feed_take_orders(struct cor_feed *feed)
{
    feed->credit = credit_add(feed->credit, feed->credit_added);
    feed->credit_added = 0;
    feed->wants_progress |= feed->progress_asked;
    feed->progress_asked = false;
    return feed->close_asked;
}

void cor_feed_deliver(struct cor_feed *feed, const struct cor_feed_event *events, size_t n,
                      cor_rev upto)
{
    struct cor_feed_batch batch = {.events = events, .nevents = n, .upto = upto};

    assert(n == 0 || events[n - 1].kv->mod_rev <= upto);
    cor_lock_assert_none();
    feed->pos = upto;
    feed->opts.on_batch(feed->opts.arg, &batch);
}

void cor_feed_spend(struct cor_feed *feed, size_t events)
{
    if (feed->credit != SIZE_MAX)
        feed->credit -= events < feed->credit ? events : feed->credit;
}

static bool feed_make_room(struct cor_feed *feed)
{
    return COR_ARRAY_RESERVE(&feed->pending, feed->npending, &feed->pending_cap,
                             COR_ARRAY_NO_MAX) == 0;
}

bool cor_feed_gather(struct cor_feed *feed, const struct cor_feed_event *event)
{
    if (!feed_make_room(feed))
        return false;
    cor_feed_spend(feed, 1);
    feed->pending[feed->npending++] = *event;
    return true;
}

void cor_feed_release(struct cor_feed *feed)
{
    feed->npending = 0;
    if (feed->pending_cap > PENDING_KEEP) {
        feed->pending = cor_free(feed->pending);
        feed->pending_cap = 0;
    }
}
