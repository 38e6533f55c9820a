/* Keeps an answer in two buffers. Tests may limit the room to act like a slow reader. A buffer that
 * is full, or without memory, marks the answer as aborted, and the rest of it is swallowed.
 * Thread: the call's loop. */
#include "server/request/buffer_sink.h"

#include <assert.h>

#include "base/err.h"

#define HEADERS_BYTES_MAX (64u * 1024)

static void buffer_sink_finish(struct cor_buffer_sink *own, bool aborted)
{
    assert(!own->is_done);
    own->is_done = true;
    own->is_aborted = own->is_aborted || aborted;
    own->cbs = NULL;
    if (own->on_done)
        own->on_done(own);
}

static const struct cor_sink_ops buffer_ops;

static struct cor_buffer_sink *buffer_sink_of(struct cor_sink *sink)
{
    struct cor_buffer_sink *own = COR_CONTAINER_OF(sink, struct cor_buffer_sink, sink);

    assert(sink->ops == &buffer_ops);
    return own;
}

static void buffer_sink_set_cbs(struct cor_sink *sink, const struct cor_sink_cbs *cbs, void *arg)
{
    struct cor_buffer_sink *own = buffer_sink_of(sink);

    own->cbs = cbs;
    own->cb_arg = arg;
}

static void buffer_sink_start(struct cor_sink *sink, int status,
                              const struct cor_http_header *headers, size_t nheaders,
                              uint64_t length)
{
    struct cor_buffer_sink *own = buffer_sink_of(sink);

    own->status = status;
    for (size_t i = 0; i < nheaders; i++) {
        if (cor_buf_addf(&own->headers, "%.*s: %.*s\n", COR_STR_ARG(headers[i].name),
                         COR_STR_ARG(headers[i].value)) < 0)
            own->is_aborted = true;
    }
}

static size_t buffer_sink_writev(struct cor_sink *sink, const struct cor_str *spans, size_t nspans,
                                 size_t skip)
{
    struct cor_buffer_sink *own = buffer_sink_of(sink);
    size_t taken = 0;

    for (size_t i = 0; i < nspans; i++) {
        struct cor_str span = spans[i];

        if (skip >= span.n) {
            skip -= span.n;
            continue;
        }
        span = cor_str_from(span, skip);
        skip = 0;
        if (own->room != SIZE_MAX && span.n > own->room)
            span.n = own->room;
        if (cor_buf_adds(&own->body, span) < 0)
            own->is_aborted = true;
        taken += span.n;
        if (own->room != SIZE_MAX)
            own->room -= span.n;
        if (own->room == 0)
            break;
    }
    return taken;
}

static void buffer_sink_end(struct cor_sink *sink)
{
    buffer_sink_finish(buffer_sink_of(sink), false);
}

static void buffer_sink_abort(struct cor_sink *sink)
{
    buffer_sink_finish(buffer_sink_of(sink), true);
}

static void buffer_sink_no_deadline(struct cor_sink *sink)
{
}

static const struct cor_sink_ops buffer_ops = {
    .set_cbs = buffer_sink_set_cbs,
    .start = buffer_sink_start,
    .writev = buffer_sink_writev,
    .end = buffer_sink_end,
    .abort = buffer_sink_abort,
    .no_deadline = buffer_sink_no_deadline,
};

void cor_buffer_sink_init(struct cor_buffer_sink *sink, size_t body_max,
                          void (*on_done)(struct cor_buffer_sink *sink))
{
    assert(body_max > 0);
    *sink = (struct cor_buffer_sink){.sink.ops = &buffer_ops, .room = SIZE_MAX, .on_done = on_done};
    cor_buf_init(&sink->headers, HEADERS_BYTES_MAX);
    cor_buf_init(&sink->body, body_max);
}

void cor_buffer_sink_deinit(struct cor_buffer_sink *sink)
{
    cor_buf_deinit(&sink->headers);
    cor_buf_deinit(&sink->body);
}
