/* What tests do with the sink of an in-process call: they look at its headers, read slowly, and
 * leave. */
#ifndef COR_TEST_SINKS_H
#define COR_TEST_SINKS_H

#include <assert.h>

#include "server/request/buffer_sink.h"

/* The value of a header, compared with case; p == NULL when there is none. */
static inline struct cor_str sink_header(const struct cor_buffer_sink *sink, const char *name)
{
    struct cor_str rest = cor_buf_str(&sink->headers);

    while (rest.n > 0) {
        struct cor_str value = cor_str_cut(&rest, '\n');
        struct cor_str key = cor_str_cut(&value, ':');

        if (cor_str_eqz(key, name))
            return cor_str_trim(value);
    }
    return (struct cor_str){NULL, 0};
}

/* Makes room for `n` more bytes, after `room` was set, and wakes the writer. */
static inline void sink_drain(struct cor_buffer_sink *sink, size_t n)
{
    assert(sink->room != SIZE_MAX);
    sink->room += n;
    if (sink->cbs)
        sink->cbs->on_writable(sink->cb_arg);
}

/* The caller does not want the answer any more: nothing more is written, and is_done is set. Safe
 * on a zeroed sink. */
static inline void sink_cancel(struct cor_buffer_sink *sink)
{
    const struct cor_sink_cbs *cbs = sink->cbs;

    if (sink->is_done || !sink->sink.ops)
        return;
    sink->sink.ops->abort(&sink->sink);
    if (cbs)
        cbs->on_gone(sink->cb_arg);
}

#endif
