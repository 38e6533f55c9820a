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

/* Makes room for `n` more bytes, after `room` was set, and wakes the writer. */
void cor_buffer_sink_drain(struct cor_buffer_sink *sink, size_t n);

/* The caller does not want the answer any more: nothing more is written, and is_done is set. */
void cor_buffer_sink_cancel(struct cor_buffer_sink *sink);

/* The value of a header, compared with case; p == NULL when there is none. */
struct cor_str cor_buffer_sink_header(const struct cor_buffer_sink *sink, const char *name);

#endif
