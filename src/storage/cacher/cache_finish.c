/* How a watch ends with a revision that its owner names (cor_watch_finish()): it is given
 * everything up to there, and then the end.
 *
 * A watch that is behind, or replayed, sees by itself that its next event is of a later revision
 * (dispatch.c, replay.c). An idle one ends after the dispatch with which its loop has reached that
 * revision. When the caches have not, as those of a server that has heard of the revision in
 * another way, the loop waits for them as a read does (fresh_wait.c), because no event of this
 * cache need come.
 *
 * What fails: without memory for the wait, or when it takes too long, the watch goes on until the
 * next dispatch, or until its owner ends it.
 * Thread: the reader's loop. */
#include "storage/cacher/cache_watch_int.h"

void cor_cacher_watch_set_finish(struct cacher_watch *w, cor_rev rev)
{
    struct cacher_reader *reader = w->reader;

    reader->finishing += (rev > 0) - (w->finish_rev > 0);
    w->finish_rev = rev;
    if (reader->finishing == 0)
        cor_fresh_wait_cancel(&reader->finish_wait);
}

static void finish_on_fresh(struct fresh_wait *wait, bool in_time)
{
    if (in_time)
        cor_cacher_dispatch(COR_CONTAINER_OF(wait, struct cacher_reader, finish_wait));
}

/* A dispatch that has more to do comes back by itself. */
static void finish_wait_for(struct cacher_reader *reader, cor_rev rev)
{
    if (rev == 0 || reader->turn.is_posted)
        return;
    cor_fresh_wait_cancel(&reader->finish_wait);
    (void)cor_fresh_wait_begin(&reader->finish_wait, reader->loop, rev, finish_on_fresh);
}

void cor_cacher_watches_end_finished(struct cacher_reader *reader)
{
    cor_rev next = 0;

    COR_DLIST_FOREACH_SAFE(link, &reader->watches) {
        struct cacher_watch *w = COR_CONTAINER_OF(link, struct cacher_watch, all);

        if (w->finish_rev == 0 || w->state != WATCH_IDLE)
            continue;
        if (w->finish_rev <= reader->done_rev)
            cor_cacher_watch_end(w, NULL);
        else if (next == 0 || w->finish_rev < next)
            next = w->finish_rev;
    }
    finish_wait_for(reader, next);
}
