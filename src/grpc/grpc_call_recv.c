/* What comes in on a call's stream: head, messages, trailers, the end. */
#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/utf8.h"
#include "grpc/grpc_channel_int.h"
#include "http/url.h"

static void learn_message(struct cor_grpc_call *call, struct cor_str text)
{
    struct cor_buf *out = &call->message;

    cor_buf_reset(out);
    if (text.n > out->max)
        text.n = out->max;
    if (cor_url_unescape(text, COR_URL_PATH, out) == 0 &&
        cor_utf8_find_invalid(cor_buf_str(out)) < 0)
        return;
    cor_buf_reset(out);
    if (cor_utf8_find_invalid(text) < 0)
        cor_buf_adds(out, text);
}

static void learn_status(struct cor_grpc_call *call, const struct cor_http_header *headers,
                         size_t n)
{
    struct cor_str code = cor_header_find(headers, n, COR_STR("grpc-status"));
    struct cor_str text = cor_header_find(headers, n, COR_STR("grpc-message"));

    if (!code.p)
        return;
    call->has_status = true;
    call->status.code = cor_grpc_code_parse(code);
    if (text.p)
        learn_message(call, text);
}

/* The call ends here and now, and so may its memory. */
static void fail_now(struct cor_grpc_call *call, enum cor_grpc_code code, const char *text)
{
    cor_grpc_call_fail(call, code, text, false);
    if (!call->is_busy)
        cor_grpc_call_finish(call);
}

static int on_head(struct cor_h2_stream *s, const struct cor_h2_head *head, void *arg)
{
    struct cor_grpc_call *call = arg;
    struct cor_str type = cor_header_find(head->headers, head->nheaders, COR_STR("content-type"));
    char text[96];

    call->http_status = head->status;
    if (head->is_last)
        learn_status(call, head->headers, head->nheaders);
    if (call->has_status)
        return 0;
    if (head->status != 200) {
        snprintf(text, sizeof(text), "the server answered with HTTP status %d", head->status);
        fail_now(call, cor_grpc_code_of_http(head->status), text);
    } else if (!cor_str_starts(type, COR_STR("application/grpc"))) {
        fail_now(call, COR_GRPC_UNKNOWN, "the server does not answer with gRPC");
    }
    return 0;
}

static int on_trailers(struct cor_h2_stream *s, const struct cor_http_header *headers, size_t n,
                       void *arg)
{
    learn_status(arg, headers, n);
    return 0;
}

static void fail_by(struct cor_grpc_call *call, int r)
{
    if (r == -COR_ETOOBIG)
        cor_grpc_call_fail(call, COR_GRPC_RESOURCE_EXHAUSTED, "a message larger than the maximum",
                           false);
    else if (r == -COR_ENOMEM)
        cor_grpc_call_fail(call, COR_GRPC_RESOURCE_EXHAUSTED, "out of memory", false);
    else if (r == -COR_ENOTSUP)
        cor_grpc_call_fail(call, COR_GRPC_INTERNAL, "a compressed message that was not asked for",
                           false);
    else
        cor_grpc_call_fail(call, COR_GRPC_INTERNAL, "a malformed message", false);
}

static int show_messages(struct cor_grpc_call *call)
{
    struct cor_str message;
    bool is_whole = true;
    int r = 0;

    while (!call->is_cancelled && call->state != COR_GRPC_CALL_DONE) {
        r = cor_message_reader_next(&call->reader, &is_whole, &message);
        if (r < 0 || !is_whole)
            break;
        call->cbs->on_message(call, message, call->arg);
    }
    return r;
}

/* A unary reply is read when the call has ended; until then it is kept. */
static void take_reply(struct cor_grpc_call *call)
{
    bool is_whole;
    int r = cor_message_reader_next(&call->reader, &is_whole, &call->reply);

    if (r < 0)
        fail_by(call, r);
    else if (!is_whole)
        cor_grpc_call_fail(call, COR_GRPC_INTERNAL, "a reply without a message", false);
    else if (cor_message_reader_is_midway(&call->reader))
        cor_grpc_call_fail(call, COR_GRPC_INTERNAL, "more than one message in a reply", false);
}

/* The peer has ended, and all messages have been shown. */
static void conclude(struct cor_grpc_call *call)
{
    if (call->has_status && call->status.code == COR_GRPC_OK) {
        if (call->on_reply)
            take_reply(call);
        else if (cor_message_reader_is_midway(&call->reader))
            cor_grpc_call_fail(call, COR_GRPC_INTERNAL, "the last message is cut off", false);
    } else if (!call->has_status) {
        cor_grpc_call_fail(call, COR_GRPC_INTERNAL, "the server ended the call without a status",
                           false);
    }
    call->state = COR_GRPC_CALL_DONE;
}

static void consume(struct cor_grpc_call *call)
{
    size_t n = call->unconsumed;

    call->unconsumed = 0;
    if (call->stream && n > 0)
        cor_h2_consume(call->stream, n);
}

void cor_grpc_call_deliver(struct cor_grpc_call *call)
{
    int r = 0, kept;

    call->is_busy = true;
    if (!call->on_reply)
        r = show_messages(call);
    kept = cor_message_reader_keep(&call->reader);
    call->is_busy = false;
    if (call->is_cancelled) {
        cor_grpc_call_free(call);
        return;
    }
    if (call->state != COR_GRPC_CALL_DONE) {
        if (r < 0 || kept < 0)
            fail_by(call, r < 0 ? r : kept);
        else if (call->peer_ended)
            conclude(call);
        else
            consume(call);
    }
    if (call->state == COR_GRPC_CALL_DONE)
        cor_grpc_call_finish(call);
}

static int on_body(struct cor_h2_stream *s, struct cor_str piece, void *arg)
{
    struct cor_grpc_call *call = arg;
    int r = cor_message_reader_add(&call->reader, piece);

    call->unconsumed += piece.n;
    if (r < 0) {
        fail_by(call, r);
        cor_grpc_call_finish(call);
    } else {
        cor_grpc_call_deliver(call);
    }
    return 0;
}

static void on_end(struct cor_h2_stream *s, void *arg)
{
    struct cor_grpc_call *call = arg;

    cor_h2_reset(COR_STEAL(call->stream), COR_H2_NO_ERROR);
    call->peer_ended = true;
    cor_grpc_call_deliver(call);
}

static void on_writable(struct cor_h2_stream *s, void *arg)
{
    struct cor_grpc_call *call = arg;

    cor_grpc_call_pump(call);
    if (!call->is_short || call->out.n > 0)
        return;
    call->is_short = false;
    if (call->cbs && call->cbs->on_writable)
        call->cbs->on_writable(call, call->arg);
}

static enum cor_grpc_code code_of_reset(uint32_t code)
{
    switch (code) {
    case COR_H2_REFUSED_STREAM:
    case COR_H2_LOST:
        return COR_GRPC_UNAVAILABLE;
    case COR_H2_CANCEL:
        return COR_GRPC_CANCELLED;
    case COR_H2_ENHANCE_YOUR_CALM:
    case COR_H2_NO_MEMORY:
        return COR_GRPC_RESOURCE_EXHAUSTED;
    default:
        return COR_GRPC_INTERNAL;
    }
}

static void on_closed(struct cor_h2_stream *s, uint32_t code, void *arg)
{
    struct cor_grpc_call *call = arg;
    char text[96];

    call->stream = NULL;
    if (code == COR_H2_LOST)
        snprintf(text, sizeof(text), "the connection was lost");
    else if (code == COR_H2_NO_MEMORY)
        snprintf(text, sizeof(text), "no memory for the answer");
    else
        snprintf(text, sizeof(text), "the server reset the stream with code %u", code);
    cor_grpc_call_fail(call, code_of_reset(code), text, code == COR_H2_REFUSED_STREAM);
    if (!call->is_busy)
        cor_grpc_call_finish(call);
}

const struct cor_h2_stream_cbs cor_grpc_stream_cbs = {
    .on_head = on_head,
    .on_body = on_body,
    .on_trailers = on_trailers,
    .on_end = on_end,
    .on_writable = on_writable,
    .on_closed = on_closed,
};
