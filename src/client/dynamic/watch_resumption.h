/* Where a watch that is to go on goes on, when, and what ends it: the rules of client-go's
 * RetryWatcher, without I/O. They keep every event and their order, and therefore cannot pass over
 * a revision that the server has forgotten.
 * Owner: whoever embeds it (a value).  Thread: one at a time. */
#ifndef COR_CLIENT_WATCH_RESUMPTION_H
#define COR_CLIENT_WATCH_RESUMPTION_H

#include <stdint.h>

#include "base/str.h"
#include "coracle/request.h"
#include "meta/status.h"

#define COR_WATCH_RESTART_MS 1000
#define COR_WATCH_RV_MAX     127

struct cor_watch_resumption {
    char
        rv[COR_WATCH_RV_MAX + 1]; /* of the last event that was told: the next watch begins there */
    uint64_t begun_ms;            /* the last watch */
    uint64_t restart_ms;          /* from one start to the next, at least */
};

/* -COR_EINVAL: "" and "0" are no place to go on from. */
int cor_watch_resumption_init(struct cor_watch_resumption *w, struct cor_str rv,
                              struct cor_status *reterr);

enum cor_watch_verdict {
    COR_WATCH_TELL,     /* the taker hears of it; then cor_watch_resumption_told() */
    COR_WATCH_PROGRESS, /* a bookmark: likewise, but the taker need not hear of it */
    COR_WATCH_AGAIN,    /* this watch is over, and the next one goes on */
    COR_WATCH_END,      /* it is over for good; an ERROR event is told of it */
};

/* Of an event. `ret_why` is written for COR_WATCH_AGAIN and COR_WATCH_END. */
enum cor_watch_verdict cor_watch_resumption_judge(const struct cor_watch_event *event,
                                                  struct cor_status *ret_why);

/* Of the end of a watch, or that it could not be opened: AGAIN or END. `error` may be NULL. */
enum cor_watch_verdict cor_watch_resumption_judge_end(const struct cor_status *error);

/* The taker has had the event. */
void cor_watch_resumption_told(struct cor_watch_resumption *w, const struct cor_watch_event *event);

void cor_watch_resumption_begun(struct cor_watch_resumption *w, uint64_t now_ms);

/* How long to wait before the next watch begins: not at all when the last one was longer than
 * restart_ms, unless the server asked for it. `why` may be NULL. */
uint64_t cor_watch_resumption_pause_ms(const struct cor_watch_resumption *w, uint64_t now_ms,
                                       const struct cor_status *why);

#endif
