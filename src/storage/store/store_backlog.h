/* The events of a feed that a watch has not delivered yet, and the credit that bounds them: at most
 * COR_STORE_WATCH_EVENTS_MAX events, or about COR_STORE_WATCH_BYTES_MAX.
 *
 * A feed sends as many events as it has credit for. When an event has been delivered, the watch
 * gives credit again, in steps of half of what may be on its way. How many events may be on their
 * way follows from the size of the largest one lately. A feed may exceed its credit by the rest of
 * a revision, because a batch never splits one.
 *
 * Thread: the loop's.  Owner: the watch that embeds it. */
#ifndef COR_STORAGE_STORE_BACKLOG_H
#define COR_STORAGE_STORE_BACKLOG_H

#include "storage/store/store_feed.h"

/* The credit to open a feed with: before the first event nobody knows how large events are. Two of
 * 1 MB, each with the version before it, are the bound. */
#define STORE_BACKLOG_FIRST_CREDIT 2

struct store_backlog {
    struct cor_dlist batches; /* oldest first */
    size_t at;                /* next event of the first batch */
    size_t bytes;             /* of all events in it */
    size_t ahead;             /* events that the feed may still send, or has sent and are here */
    size_t largest;           /* event lately, in bytes; it shrinks with each one that is smaller */
};

void cor_store_backlog_init(struct store_backlog *backlog);
/* Frees all batches. The credit stays as it is. */
void cor_store_backlog_clear(struct store_backlog *backlog);

/* Cannot fail. A batch without events is a mark: the answer to a request for progress. */
void cor_store_backlog_push(struct store_backlog *backlog, struct store_feed_batch *take_batch);

static inline bool store_backlog_is_empty(const struct store_backlog *backlog)
{
    return cor_dlist_empty(&backlog->batches);
}

/* The revision of the next event; 0: no event is next, so the revision before it is complete. */
cor_rev cor_store_backlog_next_rev(const struct store_backlog *backlog);

/* True: a mark is next. It is removed, and `ret_upto` gets its revision. */
bool cor_store_backlog_pop_mark(struct store_backlog *backlog, cor_rev *ret_upto);

/* Removes the next event, which exists, with its references. Returns its size. */
size_t cor_store_backlog_pop(struct store_backlog *backlog, struct cor_feed_event *ret_event);

/* The credit that the feed is to be given after an event of this size was removed; 0: none yet. */
size_t cor_store_backlog_credit(struct store_backlog *backlog, size_t bytes);

#endif
