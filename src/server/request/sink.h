/* Where a verb's answer goes: an HTTP response or a buffer of an in-process caller.
 *
 * A sink may be used from the call that gets it until end(), abort() or on_gone, and not
 * afterwards. No function here calls back before it returns. Thread: the call's loop.  Owner:
 * whoever made the call. */
#ifndef COR_SERVER_SINK_H
#define COR_SERVER_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "http/response.h"

struct cor_sink_cbs {
    /* A write was short, and there is room again. */
    void (*on_writable)(void *arg);
    /* The reader is gone, or the deadline has passed. Request and sink are freed when this returns.
     */
    void (*on_gone)(void *arg);
    /* The server shuts down: end streams soon. */
    void (*on_drain)(void *arg);
};

struct cor_sink;

struct cor_sink_ops {
    void (*set_cbs)(struct cor_sink *sink, const struct cor_sink_cbs *cbs, void *arg);
    void (*start)(struct cor_sink *sink, int status, const struct cor_http_header *headers,
                  size_t nheaders, uint64_t length);
    size_t (*writev)(struct cor_sink *sink, const struct cor_str *spans, size_t nspans,
                     size_t skip);
    void (*end)(struct cor_sink *sink);
    void (*abort)(struct cor_sink *sink);
    void (*no_deadline)(struct cor_sink *sink);
};

/* Embedded as the first part of an implementation. */
struct cor_sink {
    const struct cor_sink_ops *ops;
};

static inline void cor_sink_set_cbs(struct cor_sink *sink, const struct cor_sink_cbs *cbs,
                                    void *arg)
{
    sink->ops->set_cbs(sink, cbs, arg);
}

/* `length`: of the body, or COR_HTTP_LENGTH_UNKNOWN. */
static inline void cor_sink_start(struct cor_sink *sink, int status,
                                  const struct cor_http_header *headers, size_t nheaders,
                                  uint64_t length)
{
    sink->ops->start(sink, status, headers, nheaders, length);
}

/* The spans as one run, of which `skip` bytes were taken before. Returns how many were taken; fewer
 * than there are means that on_writable comes later. */
static inline size_t cor_sink_writev(struct cor_sink *sink, const struct cor_str *spans,
                                     size_t nspans, size_t skip)
{
    return sink->ops->writev(sink, spans, nspans, skip);
}

static inline void cor_sink_end(struct cor_sink *sink)
{
    sink->ops->end(sink);
}

/* After start(): what was written is not the whole answer. */
static inline void cor_sink_abort(struct cor_sink *sink)
{
    sink->ops->abort(sink);
}

/* For watches, which have an end of their own. */
static inline void cor_sink_no_deadline(struct cor_sink *sink)
{
    sink->ops->no_deadline(sink);
}

#endif
