/* Reads a watch as it comes in: each document becomes an event.
 * Owner: whoever embeds it.  Thread: one at a time. */
#ifndef COR_CLIENT_WATCH_READER_H
#define COR_CLIENT_WATCH_READER_H

#include "base/str.h"
#include "meta/object.h"
#include "meta/status.h"
#include "meta/watch_type.h"
#include "json/splitter.h"

struct cor_watch_event {
    enum cor_watch_type type;
    struct cor_object *object;       /* NULL for COR_WATCH_ERROR */
    const struct cor_status *status; /* of COR_WATCH_ERROR; else NULL */
};

/* Gets each event, borrowed for the call. A negative return ends the reading with it. */
typedef int (*cor_watch_event_cb)(void *arg, const struct cor_watch_event *event);

struct cor_watch_reader {
    cor_watch_event_cb on_event;
    void *arg;
    struct cor_json_splitter splitter;
};

/* Cannot fail. */
void cor_watch_reader_init(struct cor_watch_reader *wr, cor_watch_event_cb on_event, void *arg);
void cor_watch_reader_deinit(struct cor_watch_reader *wr); /* safe on a zeroed struct */

/* 0, -COR_EINVAL (no event, or an object that is none), -COR_ETOOBIG, -COR_ENOMEM, or what on_event
 * returned. `reterr` is written for all but the last; only deinit may follow a failure. */
int cor_watch_reader_feed(struct cor_watch_reader *wr, struct cor_str piece,
                          struct cor_status *reterr);

#endif
