/* The bookmarks of a watch: every COR_READER_BOOKMARK_MS, and shortly before its deadline, the
 * revision up to which it is complete. The one that ends the first state is cache_watch_begin.c's.
 *
 * One that is due while the watch is paused, or has not caught up, is sent when it can take it.
 * What fails: a bookmark that cannot be made is left out; without its timer the watch ends plainly.
 * Thread: the reader's loop. */
#include "storage/cacher/cache_watch_int.h"
#include "storage/store/store_event.h"

/* So long before the deadline the last one is sent. */
#define BOOKMARK_DEADLINE_MS 2000

void cor_cacher_watch_set_bookmark_timer(struct cacher_watch *w)
{
    uint64_t now = cor_loop_now_ms(w->reader->loop->loop);
    uint64_t at = now + COR_READER_BOOKMARK_MS;

    if (w->deadline_ms > 0 && w->deadline_ms - BOOKMARK_DEADLINE_MS < at)
        at = w->deadline_ms - BOOKMARK_DEADLINE_MS;
    if (!w->bookmarks || at <= now ||
        (w->deadline_ms > 0 && w->deadline_ms <= BOOKMARK_DEADLINE_MS))
        return;
    if (cor_timer_set(&w->bookmark_timer, at - now) < 0)
        cor_cacher_watch_end(w, NULL);
}

/* The bookmark is at the revision that the loop has dispatched. When that is behind the watch,
 * which may have begun later or have been delivered more, there is no bookmark this time. */
void cor_cacher_watch_bookmark(struct cacher_watch *w)
{
    cor_rev rev = w->reader->done_rev;

    if (!w->bookmark_due || w->paused || w->state != WATCH_IDLE)
        return;
    w->bookmark_due = false;
    if (rev >= w->min_rev && rev >= w->rev)
        (void)cor_store_event_deliver_bookmark(w->reader->store, rev, false, w->on_event, w->arg,
                                               NULL);
}

void cor_cacher_watch_on_bookmark_timer(struct cor_timer *timer)
{
    struct cacher_watch *w = COR_CONTAINER_OF(timer, struct cacher_watch, bookmark_timer);

    w->bookmark_due = true;
    cor_cacher_watch_set_bookmark_timer(w);
    cor_cacher_dispatch(w->reader);
    cor_cacher_watch_bookmark(w);
}
