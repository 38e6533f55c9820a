#include "server/http/http_sink.h"

static void on_writable(struct cor_http_response *response, void *arg)
{
    struct cor_http_sink *own = arg;

    own->cbs->on_writable(own->cb_arg);
}

static void on_gone(struct cor_http_response *response, int why, void *arg)
{
    struct cor_http_sink *own = arg;

    own->cbs->on_gone(own->cb_arg);
    own->on_over(own);
}

static void on_drain(struct cor_http_response *response, void *arg)
{
    struct cor_http_sink *own = arg;

    own->cbs->on_drain(own->cb_arg);
}

static const struct cor_http_response_cbs response_cbs = {on_writable, on_gone, on_drain};

static void sink_set_cbs(struct cor_sink *sink, const struct cor_sink_cbs *cbs, void *arg)
{
    struct cor_http_sink *own = (struct cor_http_sink *)sink;

    own->cbs = cbs;
    own->cb_arg = arg;
    cor_http_response_set_cbs(own->response, &response_cbs, own);
}

static void sink_start(struct cor_sink *sink, int status, const struct cor_http_header *headers,
                       size_t nheaders, uint64_t length)
{
    struct cor_http_sink *own = (struct cor_http_sink *)sink;

    own->status = status;
    cor_http_response_start(own->response, status, headers, nheaders, length);
    if (own->on_started)
        own->on_started(own);
}

static size_t sink_writev(struct cor_sink *sink, const struct cor_str *spans, size_t nspans,
                          size_t skip)
{
    struct cor_http_sink *own = (struct cor_http_sink *)sink;
    size_t taken = cor_http_response_writev(own->response, spans, nspans, skip);

    own->bytes += taken;
    return taken;
}

static void sink_end(struct cor_sink *sink)
{
    struct cor_http_sink *own = (struct cor_http_sink *)sink;

    cor_http_response_end(own->response);
    own->on_over(own);
}

static void sink_abort(struct cor_sink *sink)
{
    struct cor_http_sink *own = (struct cor_http_sink *)sink;

    cor_http_response_abort(own->response);
    own->on_over(own);
}

static void sink_no_deadline(struct cor_sink *sink)
{
    cor_http_response_set_deadline(((struct cor_http_sink *)sink)->response, COR_HTTP_NO_DEADLINE);
}

static const struct cor_sink_ops http_ops = {
    .set_cbs = sink_set_cbs,
    .start = sink_start,
    .writev = sink_writev,
    .end = sink_end,
    .abort = sink_abort,
    .no_deadline = sink_no_deadline,
};

void cor_http_sink_init(struct cor_http_sink *sink, struct cor_http_response *response,
                        void (*on_over)(struct cor_http_sink *sink))
{
    *sink = (struct cor_http_sink){.sink.ops = &http_ops, .response = response, .on_over = on_over};
}
