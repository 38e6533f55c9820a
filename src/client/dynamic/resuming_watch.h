/* A watch that goes on when its stream ends or breaks, from the last event that was told:
 * client-go's RetryWatcher. watch_resumption.h has the rules.
 * Owner: the REST client that it runs on.  Thread: that one's loop. No function calls back before
 * it returns. */
#ifndef COR_CLIENT_RESUMING_WATCH_H
#define COR_CLIENT_RESUMING_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "client/dynamic/dynamic_client.h"

struct cor_resuming_watch;

struct cor_resuming_watch_opts {
    struct cor_rest_client *client;
    struct cor_resource_path at; /* its strings, and those of the query, must stay valid */
    struct cor_list_query query; /* its resourceVersion is where the first watch begins */
    bool tells_bookmarks;        /* they are always asked for */
    uint64_t restart_ms;         /* 0: COR_WATCH_RESTART_MS */
    /* Events without ERROR but for the one that says why it is over. A negative return ends it with
     * that code. */
    cor_watch_event_cb on_event;
    /* Once; it is gone then. It never ends without an error. */
    void (*on_done)(void *arg, const struct cor_status *error);
    void *arg;
};

/* 0; -COR_EINVAL (no resourceVersion to begin at, initial events), -COR_ENOMEM, or as
 * cor_dynamic_watch(): then nothing is called. */
int cor_resuming_watch_open(const struct cor_resuming_watch_opts *opts,
                            struct cor_resuming_watch **ret_watch, struct cor_status *reterr);

/* No callback after this, and the watch is gone. Not from inside its callbacks. */
void cor_resuming_watch_cancel(struct cor_resuming_watch *watch);

#endif
