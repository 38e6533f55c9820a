/* Where a verb's answer goes: an HTTP response, a buffer, or a request of the server to itself
 * (server/port/).
 *
 * A sink takes bytes. A sink with take_object() gets objects as they are, in place of their bytes:
 * the object of an answer, each item of a list, each event of a watch. All else of such an answer
 * (a Status, the head and tail of a list, the ERROR event of a watch) still comes as bytes.
 *
 * A sink may be used from the call that gets it until end(), abort() or on_gone, and not
 * afterwards. No function here calls back before it returns. Thread: the call's loop.  Owner:
 * whoever made the call. */
#ifndef COR_SERVER_SINK_H
#define COR_SERVER_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/str.h"
#include "coracle/watch_type.h"
#include "http/response.h"
#include "server/request/request_warnings.h"

/* Headers that a verb gives to start(): its warnings, and a few others. */
#define COR_SINK_HEADERS_MAX (COR_WARNING_HEADERS_MAX + 12)
/* The HTTP layer sends them with what a compressed answer adds. */
_Static_assert(COR_SINK_HEADERS_MAX + 2 <= COR_HTTP_RESPONSE_HEADERS_MAX,
               "a response may have fewer headers than a verb gives");

struct cor_sink_cbs {
    /* A write was short, or an object was the last one that had room, and there is room again. */
    void (*on_writable)(void *arg);
    /* The reader is gone, or the deadline has passed. Request and sink are freed when this returns.
     */
    void (*on_gone)(void *arg);
    /* The server shuts down: end streams soon. */
    void (*on_drain)(void *arg);
};

struct cor_object;
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
    bool (*take_object)(struct cor_sink *sink, enum cor_watch_type event,
                        struct cor_object *object); /* NULL: the sink takes bytes only */
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

static inline bool cor_sink_takes_objects(const struct cor_sink *sink)
{
    return sink->ops->take_object != NULL;
}

/* After start(), to a sink that takes objects: always taken, by a reference. `event` is what
 * happened to the object of a watch; of other answers it is COR_WATCH_ADDED. Returns whether there
 * is room for another object; if not, on_writable comes later, and no object may come before. */
static inline bool cor_sink_take_object(struct cor_sink *sink, enum cor_watch_type event,
                                        struct cor_object *object)
{
    return sink->ops->take_object(sink, event, object);
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
