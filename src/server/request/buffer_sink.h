/* The sink of an in-process caller: it keeps the whole answer.
 * Owner: whoever embeds it.  Thread: the call's loop. */
#ifndef COR_SERVER_BUFFER_SINK_H
#define COR_SERVER_BUFFER_SINK_H

#include <stdbool.h>

#include "base/buf.h"
#include "server/request/sink.h"

struct cor_buffer_sink {
    struct cor_sink sink;
    int status;             /* 0: not started */
    struct cor_buf headers; /* "Name: value\n" */
    struct cor_buf body;
    bool is_done;    /* ended or aborted */
    bool is_aborted; /* or out of memory */
    size_t room;     /* bytes that writes may still take; SIZE_MAX: any number */
    const struct cor_sink_cbs *cbs;
    void *cb_arg;
    void (*on_done)(struct cor_buffer_sink *sink); /* NULL: not wanted; after is_done was set */
};

/* `body_max` is the maximum of the body; a longer answer counts as aborted. */
void cor_buffer_sink_init(struct cor_buffer_sink *sink, size_t body_max,
                          void (*on_done)(struct cor_buffer_sink *sink));
void cor_buffer_sink_deinit(struct cor_buffer_sink *sink);

#endif
