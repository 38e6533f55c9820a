/* Inside cacher/: a replay, and what its two files share. replay.c has its events and its end,
 * replay_join.c who is in it and who pays for it. Thread: the reader's loop. */
#ifndef COR_STORAGE_CACHER_REPLAY_INT_H
#define COR_STORAGE_CACHER_REPLAY_INT_H

#include "storage/cacher/cache_watch_int.h"
#include "storage/store/store_backlog.h"

struct replay {
    struct cacher_reader *reader;
    struct cor_dlist link; /* in the reader's replays; in none while it is closing */
    struct cor_dlist watches;
    size_t nwatches;
    struct cacher_watch *payer; /* among the watches: whose client's it is */
    struct cor_feed_share *share;
    struct store_feed feed;
    struct store_backlog backlog;
    struct store_turn turn;
    struct cor_timer timer;      /* runs while it gathers, and while it is held */
    bool is_gathering;           /* it has no feed yet */
    struct cor_mail closed_mail; /* when it never had one */
    uint64_t held_at_ms;         /* since when; 0: it is not held */
    uint64_t released_at_ms;     /* since when it is not */
    uint64_t patience_ms;        /* how long its watches may still hold it */
    struct replay_place at;      /* the next event, or the one in `change` */
    struct replay_place next;    /* what follows that one */
    bool has_change;
    struct cor_window_event change; /* with references */
    size_t change_bytes;
    cor_rev base;       /* of the window, as it was seen last: it cannot be reached before */
    cor_rev finish_rev; /* after it some watch is to end; UINT64_MAX: none */
    size_t visits;
    int err; /* of the broken feed */
    bool is_closing;
    struct cacher_watch *last; /* that left it: waits until the feed is closed */
};

static inline bool place_is_before(struct replay_place a, struct replay_place b)
{
    return a.rev < b.rev || (a.rev == b.rev && a.nth < b.nth);
}

static inline void replay_schedule(struct replay *r)
{
    if (!r->is_closing)
        store_turn_post(&r->turn);
}

/* The watch has joined the replay, or has been told to finish. */
static inline void replay_note_finishing(struct replay *r, const struct cacher_watch *w)
{
    if (w->finish_rev > 0 && w->finish_rev < r->finish_rev)
        r->finish_rev = w->finish_rev;
}

/* The first event that the watch has not been given. */
struct replay_place cor_cacher_replay_place(const struct cacher_watch *w);

/* A replay that gathers from the place of `w` on, with no watch yet. 0 or -COR_ENOMEM: the share is
 * the caller's again. */
int cor_cacher_replay_new(struct cacher_watch *w, struct cor_feed_share *take_share,
                          struct replay **ret_replay);
/* Its last watch has left, which stays until the feed is closed. */
void cor_cacher_replay_end(struct replay *r, struct cacher_watch *last);

/* The watch is in no replay: it joins one again, or ends. */
void cor_cacher_replay_rejoin(struct cacher_watch *w);
/* Ends the watch, which needs what could not be read: between two revisions with an ERROR event.
 * `base`: of the window, for -COR_EEXPIRED. */
void cor_cacher_replay_fail_watch(struct cacher_watch *w, int err, cor_rev base);

#endif
