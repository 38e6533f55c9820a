/* Reads a watch as it arrives: each document becomes an event.
 * Owner: whoever embeds it.  Thread: one at a time. */
#ifndef COR_KIT_WATCH_READER_H
#define COR_KIT_WATCH_READER_H

#include "base/buf.h"
#include "base/str.h"
#include "coracle/request.h"
#include "coracle/wire.h"
#include "meta/object/object.h"
#include "meta/status/status.h"
#include "json/text/splitter.h"

/* Gets each event, borrowed for the call. A negative return ends the reading with that code. */
typedef int (*cor_watch_event_cb)(void *arg, const struct cor_watch_event *event);

struct cor_watch_reader {
    cor_watch_event_cb on_event;
    void *arg;
    struct cor_json_splitter splitter;
    const struct cor_wire_type *wire; /* the stream is protobuf, with objects of this kind */
    struct cor_buf pending;           /* of a frame in protobuf */
};

/* Cannot fail. */
void cor_watch_reader_init(struct cor_watch_reader *wr, cor_watch_event_cb on_event, void *arg);
void cor_watch_reader_deinit(struct cor_watch_reader *wr); /* safe on a zeroed struct */

/* Reads a piece. 0, -COR_EPROTOCOL (not an event, or its object is not an object), -COR_ETOOBIG,
 * -COR_ENOMEM, or what on_event returned; `reterr` is written for all but the last. After a failure
 * only deinit may be called. */
int cor_watch_reader_feed(struct cor_watch_reader *wr, struct cor_str piece,
                          struct cor_status *reterr);

#endif
