/* Who is in a replay, and which client it counts for.
 *
 * A watch joins the nearest replay that has not passed its place. One whose place is far from that
 * of every replay begins one of its own while there are few, so that it need not wait for all that
 * lies in between, nor for those who read that slowly.
 *
 * A replay is counted among those of the client whose watch began it (feed_shares.h), and when that
 * watch leaves, among those of another watch that is left. Of all replays, and of those of a
 * reader, a client may have as many as are free besides, so there is one for every other client.
 *
 * What fails: a watch that finds no replay is refused (429) when it begins, and ends plainly when
 * it was put aside; inside a revision that end is a 410.
 *
 * Thread: the reader's loop. */
#include "base/limits.h"
#include "storage/cacher/replay_int.h"

/* A watch that is farther from a replay than this does not join it, unless more than one part in
 * APART_SHARE of all replays are open: the others are for watches that no replay can serve. */
#define JOIN_REVS   4096
#define APART_SHARE 2

size_t cor_cacher_replay_held(const struct cacher_watch *w)
{
    const struct replay *r = w->sync ? w->sync->replay : NULL;

    return r ? (r->backlog.bytes + r->change_bytes) / r->nwatches : 0;
}

struct replay_place cor_cacher_replay_place(const struct cacher_watch *w)
{
    const struct replay *r = w->sync->replay;

    return r && place_is_before(w->sync->place, r->at) ? r->at : w->sync->place;
}

bool cor_cacher_replay_is_inside(const struct cacher_watch *w)
{
    return w->rev > 0 && cor_cacher_replay_place(w).rev == w->rev;
}

/* The client of a watch that is left pays from now on, even for more replays than it might begin;
 * without memory the former client does. Watches leave in the order of the list where all of them
 * do, so the last one is taken. */
static void replay_change_payer(struct replay *r)
{
    struct cacher_sync *sync = COR_CONTAINER_OF(r->watches.prev, struct cacher_sync, of_replay);

    assert(!cor_dlist_empty(&r->watches));
    r->payer = sync->watch;
    (void)cor_feed_share_move(&r->reader->cacher->cachers->replays, &r->share, r->payer->client);
}

void cor_cacher_replay_leave(struct cacher_watch *w)
{
    struct replay *r = w->sync ? w->sync->replay : NULL;

    if (!r)
        return;
    w->sync->place = cor_cacher_replay_place(w);
    w->sync->replay = NULL;
    w->sync->is_held = false;
    cor_dlist_remove(&w->sync->of_replay);
    cor_dlist_remove(&w->link);
    if (--r->nwatches == 0) {
        cor_cacher_replay_end(r, w);
        return;
    }
    if (r->payer == w)
        replay_change_payer(r);
    if (r->held_at_ms > 0)
        replay_schedule(r); /* it may be the one that the others waited for */
}

static cor_rev distance(const struct replay *r, struct replay_place place)
{
    return place.rev > r->at.rev ? place.rev - r->at.rev : r->at.rev - place.rev;
}

/* The nearest replay that has not passed the place, or has not begun; NULL: there is none. */
static struct replay *find_replay(const struct cacher_reader *reader, struct replay_place place)
{
    struct replay *found = NULL;

    COR_DLIST_FOREACH(link, &reader->replays) {
        struct replay *r = COR_CONTAINER_OF(link, struct replay, link);

        if (r->err < 0 || (!r->is_gathering && place_is_before(place, r->at)))
            continue;
        if (!found || distance(r, place) < distance(found, place))
            found = r;
    }
    return found;
}

/* May the client have no more replays of this reader? As of all replays: see feed_shares.h. */
static bool reader_is_full(const struct cacher_reader *reader, struct cor_str client)
{
    size_t own = 0;

    COR_DLIST_FOREACH(link, &reader->replays)
        own += cor_str_eq(COR_CONTAINER_OF(link, struct replay, link)->payer->client, client);
    return reader->nreplays >= COR_REPLAYS_OF_READER_MAX ||
           own >= COR_REPLAYS_OF_READER_MAX - reader->nreplays;
}

bool cor_cacher_replay_is_full(const struct cacher_watch *w, cor_rev rev)
{
    const struct cacher_reader *reader = w->reader;

    return !find_replay(reader, (struct replay_place){rev + 1, 0}) &&
           (reader_is_full(reader, w->client) ||
            cor_feed_shares_are_out(&reader->cacher->cachers->replays, w->client));
}

/* May a watch begin a replay although it could join another one? */
static bool may_be_apart(const struct cacher_reader *reader)
{
    return reader->nreplays < COR_REPLAYS_OF_READER_MAX / APART_SHARE &&
           cor_feed_shares_used(&reader->cacher->cachers->replays) < COR_REPLAYS_MAX / APART_SHARE;
}

static int replay_begin(struct cacher_watch *w, struct replay **ret_replay)
{
    struct cor_feed_shares *shares = &w->reader->cacher->cachers->replays;
    struct cor_feed_share *share;
    int err;

    if (reader_is_full(w->reader, w->client))
        return -COR_EBUSY;
    err = cor_feed_share_take(shares, w->client, &share, NULL);
    if (err < 0)
        return err;
    err = cor_cacher_replay_new(w, share, ret_replay);
    if (err < 0)
        cor_feed_share_give(shares, share);
    return err;
}

int cor_cacher_replay_join(struct cacher_watch *w)
{
    struct cacher_reader *reader = w->reader;
    struct replay *r = find_replay(reader, w->sync->place);
    int err = 0;

    assert(cor_loop_is_current(reader->loop->loop) && !w->sync->replay && w->sync->place.rev > 0);
    w->state = WATCH_REPLAYING;
    if (!r || (distance(r, w->sync->place) > JOIN_REVS && may_be_apart(reader)))
        err = replay_begin(w, &r);
    if (!r)
        return err;
    if (w->sync->place.rev < r->at.rev) {
        assert(r->is_gathering);
        r->at.rev = w->sync->place.rev;
    }
    w->sync->replay = r;
    w->sync->is_held = false;
    replay_note_finishing(r, w);
    r->nwatches++;
    cor_dlist_push(&r->watches, &w->sync->of_replay);
    cor_dlist_push(&w->bucket->replaying, &w->link);
    return 0;
}

void cor_cacher_replay_rejoin(struct cacher_watch *w)
{
    int r = cor_cacher_replay_join(w);

    if (r == -COR_EBUSY)
        cor_cacher_watch_end(w, NULL);
    else if (r < 0)
        cor_cacher_replay_fail_watch(w, r, 0);
}
