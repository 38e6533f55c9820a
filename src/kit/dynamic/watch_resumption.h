/* From where and when a watch resumes, and what ends it for good: the rules of client-go's
 * RetryWatcher, without I/O. They keep every event and the order of events; therefore the watch
 * ends when the server has forgotten the revision to resume from. Owner: whoever embeds it (a
 * value).  Thread: one at a time. */
#ifndef COR_KIT_WATCH_RESUMPTION_H
#define COR_KIT_WATCH_RESUMPTION_H

#include <stdint.h>

#include "base/str.h"
#include "coracle/request.h"
#include "meta/status/status.h"

#define COR_WATCH_RESTART_MS 1000
#define COR_WATCH_RV_MAX     127

struct cor_watch_resumption {
    char
        rv[COR_WATCH_RV_MAX + 1]; /* of the last event that was told: the next watch begins there */
    uint64_t begun_ms;            /* the last watch */
    uint64_t restart_ms;          /* from one start to the next, at least */
};

/* 0, or -COR_EINVAL: a watch cannot resume from "" or "0". */
int cor_watch_resumption_init(struct cor_watch_resumption *w, struct cor_str rv,
                              struct cor_status *reterr);

enum cor_watch_verdict {
    COR_WATCH_TELL,     /* give it to the taker, then call cor_watch_resumption_told() */
    COR_WATCH_PROGRESS, /* a bookmark: likewise, but the taker need not get it */
    COR_WATCH_AGAIN,    /* this watch has ended, and another one continues */
    COR_WATCH_END,      /* the end for good; the taker gets an ERROR event */
};

/* Judges an event. `ret_why` is written for COR_WATCH_AGAIN and COR_WATCH_END. */
enum cor_watch_verdict cor_watch_resumption_judge(const struct cor_watch_event *event,
                                                  struct cor_status *ret_why);

/* Judges the end of a watch, or the failure to open it: AGAIN or END. `error` may be NULL. */
enum cor_watch_verdict cor_watch_resumption_judge_end(const struct cor_status *error);

/* Notes the resourceVersion of an event that the taker has had. */
void cor_watch_resumption_told(struct cor_watch_resumption *w, const struct cor_watch_event *event);

void cor_watch_resumption_begun(struct cor_watch_resumption *w, uint64_t now_ms);

/* How long to wait before the next watch: not at all when the last one took longer than restart_ms,
 * unless the server asked for a pause. `why` may be NULL. */
uint64_t cor_watch_resumption_pause_ms(const struct cor_watch_resumption *w, uint64_t now_ms,
                                       const struct cor_status *why);

#endif
