/* A watch that goes on when its stream ends or breaks, from the last event that was given:
 * client-go's RetryWatcher. watch_resumption.h has the rules.
 * Owner: the REST client that it runs on.  Thread: that one's loop. No function calls back before
 * it returns. */
#ifndef COR_KIT_RESUMING_WATCH_H
#define COR_KIT_RESUMING_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/dynamic/dynamic_client.h"
#include "kit/dynamic/watch_reader.h"

struct cor_resuming_watch;

struct cor_resuming_watch_opts {
    struct cor_rest_client *client;
    /* A watch, whose strings must stay valid; its resourceVersion is where the first one begins. */
    struct cor_api_operation op;
    bool tells_bookmarks; /* bookmarks are given to on_event; they are always requested */
    uint64_t restart_ms;  /* 0: COR_WATCH_RESTART_MS */
    /* Each event. The only ERROR event is the last one, which says why the watch has ended. A
     * negative return ends the watch with that code. */
    cor_watch_event_cb on_event;
    /* Called once, always with an error; the watch is freed after it. */
    void (*on_done)(void *arg, const struct cor_status *error);
    void *arg;
};

/* 0; -COR_EINVAL (no resourceVersion to begin at, initial events), -COR_ENOMEM, or as
 * cor_dynamic_send(): then nothing is called. */
int cor_resuming_watch_open(const struct cor_resuming_watch_opts *opts,
                            struct cor_resuming_watch **ret_watch, struct cor_status *reterr);

/* Why the last watch failed, unless an event has come since; "" when none has. Borrowed until the
 * loop's next turn. */
const char *cor_resuming_watch_failure(const struct cor_resuming_watch *watch);

/* Ends the watch without a callback, and frees it. Not inside its callbacks. */
void cor_resuming_watch_cancel(struct cor_resuming_watch *watch);

#endif
