/* clang-format off */
/* The sink of an exchange: what the verb writes goes into the HTTP response, and the response's
 * callbacks go to the verb. Three ways lead there, and sink_start() chooses one:
 *
 *   verb ──► sink ──► response                       most answers
 *   verb ──► gzip sink ──► gzip answer ──► response  large answers, for clients that accept gzip
 *   verb ──► sink ──► WebSocket of the response      a watch over WebSocket (websocket_answer.h)
 *
 * The exchange ends with the response. What can fail, and what happens:
 *   - the client leaves, or the deadline passes: the verb's on_gone, then the end of the exchange;
 *   - no memory to begin to compress: the answer is sent as it is;
 *   - no memory to go on with compressing: the gzip answer has aborted the response; the verb's
 *     on_gone, when it still writes, then the end of the exchange;
 *   - the verb cannot go on: it aborts, and the client sees a cut answer.
 * Thread: the connection's loop. */
/* clang-format on */
#include <assert.h>

#include "server/api/heavy.h"
#include "server/http/exchange_int.h"
#include "server/http/gzip_answer.h"
#include "server/http/websocket_answer.h"

static void sink_on_writable(struct cor_http_response *response, void *arg)
{
    struct cor_exchange *ex = arg;

    if (ex->gzip)
        cor_gzip_answer_on_writable(ex->gzip);
    else
        ex->sink_cbs->on_writable(ex->sink_arg);
}

static void sink_on_gone(struct cor_http_response *response, int why, void *arg)
{
    struct cor_exchange *ex = arg;

    if (ex->gzip)
        cor_gzip_answer_give_up(ex->gzip);
    if (!ex->is_answered)
        ex->sink_cbs->on_gone(ex->sink_arg);
    cor_exchange_end(ex, ex->code);
}

static void sink_on_drain(struct cor_http_response *response, void *arg)
{
    struct cor_exchange *ex = arg;

    if (!ex->is_answered)
        ex->sink_cbs->on_drain(ex->sink_arg);
}

static const struct cor_http_response_cbs sink_response_cbs = {sink_on_writable, sink_on_gone,
                                                               sink_on_drain};

static const struct cor_sink_ops gzip_sink_ops;

static struct cor_exchange *exchange_of(struct cor_sink *sink)
{
    struct cor_exchange *own = COR_CONTAINER_OF(sink, struct cor_exchange, sink);

    assert(sink->ops == &cor_exchange_sink_ops || sink->ops == &gzip_sink_ops);
    return own;
}

static void sink_set_cbs(struct cor_sink *sink, const struct cor_sink_cbs *cbs, void *arg)
{
    struct cor_exchange *ex = exchange_of(sink);

    ex->sink_cbs = cbs;
    ex->sink_arg = arg;
    cor_http_response_set_cbs(ex->response, &sink_response_cbs, ex);
}

/* A compressed answer has room again. */
static void gzip_sink_on_room(void *arg)
{
    struct cor_exchange *ex = arg;

    ex->sink_cbs->on_writable(ex->sink_arg);
}

/* A compressed answer is complete, or there was no memory for the rest of it. */
static void gzip_sink_on_over(void *arg, int r)
{
    struct cor_exchange *ex = arg;

    assert(r < 0 || ex->is_answered);
    if (!ex->is_answered)
        ex->sink_cbs->on_gone(ex->sink_arg);
    cor_exchange_end(ex, ex->code);
}

/* Begins an answer that may have to be compressed. Without memory for it the answer is sent as it
 * is. */
static void sink_start_gzip(struct cor_exchange *ex, int code,
                            const struct cor_http_header *headers, size_t nheaders, uint64_t length)
{
    const struct cor_gzip_answer_opts opts = {
        .response = ex->response,
        .offload = cor_api_settings(ex->server->api)->offload,
        .owner = cor_heavy_owner(&ex->identity.user),
        .held = cor_exchange_held(ex, ex->kept_bytes),
        .sent = &ex->body_bytes,
        .omits_vary = ex->omits_vary,
        .on_room = gzip_sink_on_room,
        .on_over = gzip_sink_on_over,
        .arg = ex,
    };

    assert(!ex->is_watching);
    ex->gzip = cor_gzip_answer_new(&opts, code, headers, nheaders, length);
    if (ex->gzip)
        ex->sink.ops = &gzip_sink_ops;
    else
        cor_http_response_start(ex->response, code, headers, nheaders, length);
}

static bool sink_is_protobuf(const struct cor_http_header *headers, size_t nheaders)
{
    struct cor_str type = cor_header_find(headers, nheaders, COR_STR("Content-Type"));

    return cor_str_starts(type, COR_STR("application/vnd.kubernetes.protobuf"));
}

static void sink_start(struct cor_sink *sink, int code, const struct cor_http_header *headers,
                       size_t nheaders, uint64_t length)
{
    struct cor_exchange *ex = exchange_of(sink);

    assert(ex->code == 0);
    ex->code = code;
    if (ex->takes_gzip && length > COR_GZIP_PLAIN_MAX) {
        sink_start_gzip(ex, code, headers, nheaders, length);
        return;
    }
    if (ex->websocket && code == 200)
        cor_websocket_answer_start(COR_STEAL(ex->websocket), ex->response,
                                   sink_is_protobuf(headers, nheaders));
    else
        cor_http_response_start(ex->response, code, headers, nheaders, length);
    if (!ex->is_watching)
        return;
    /* A watch has read its options: it keeps no strings of the request while it lasts. */
    cor_exchange_release_strings(ex);
    (void)cor_http_response_hold(ex->response, cor_exchange_held(ex, 0));
}

static size_t sink_writev(struct cor_sink *sink, const struct cor_str *spans, size_t nspans,
                          size_t skip)
{
    struct cor_exchange *ex = exchange_of(sink);
    size_t taken = cor_http_response_writev(ex->response, spans, nspans, skip);

    ex->body_bytes += taken;
    return taken;
}

static void sink_end(struct cor_sink *sink)
{
    struct cor_exchange *ex = exchange_of(sink);

    assert(ex->code != 0);
    cor_http_response_end(ex->response);
    cor_exchange_end(ex, ex->code);
}

static void sink_abort(struct cor_sink *sink)
{
    struct cor_exchange *ex = exchange_of(sink);

    cor_http_response_abort(ex->response);
    cor_exchange_end(ex, ex->code);
}

static void sink_no_deadline(struct cor_sink *sink)
{
    cor_http_response_set_deadline(exchange_of(sink)->response, COR_HTTP_NO_DEADLINE);
}

const struct cor_sink_ops cor_exchange_sink_ops = {
    .set_cbs = sink_set_cbs,
    .start = sink_start,
    .writev = sink_writev,
    .end = sink_end,
    .abort = sink_abort,
    .no_deadline = sink_no_deadline,
};

/* The same sink while the answer goes through `gzip`. The metrics count what the client is sent. */

static size_t gzip_sink_writev(struct cor_sink *sink, const struct cor_str *spans, size_t nspans,
                               size_t skip)
{
    return cor_gzip_answer_writev(exchange_of(sink)->gzip, spans, nspans, skip);
}

static void gzip_sink_end(struct cor_sink *sink)
{
    struct cor_exchange *ex = exchange_of(sink);

    ex->is_answered = true;
    if (cor_gzip_answer_end(ex->gzip))
        cor_exchange_end(ex, ex->code);
}

static void gzip_sink_abort(struct cor_sink *sink)
{
    struct cor_exchange *ex = exchange_of(sink);

    cor_gzip_answer_give_up(ex->gzip);
    sink_abort(sink);
}

static const struct cor_sink_ops gzip_sink_ops = {
    .set_cbs = sink_set_cbs,
    .start = sink_start,
    .writev = gzip_sink_writev,
    .end = gzip_sink_end,
    .abort = gzip_sink_abort,
    .no_deadline = sink_no_deadline,
};
