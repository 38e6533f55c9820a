/* A gRPC call as the rest of the engine sees it: counted by the session, with the login in its
 * metadata, and with a failure whose text ends in NUL.
 *
 * The session counts the streams, because the channel takes only so many; a stream that ends posts
 * a turn when somebody waits for its place. A stream is freed before its last callback, so that the
 * callback may close the session. Thread: the engine's loop. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "storage/etcd/etcd_session_int.h"

struct etcd_stream {
    struct etcd_session *session;
    struct cor_grpc_call *call;
    const struct etcd_stream_cbs *cbs;
    etcd_reply_cb on_reply; /* of a call of one message; else `cbs` is set */
    void *arg;
};

static void stream_free(struct etcd_stream *stream)
{
    struct etcd_session *s = stream->session;

    s->nstreams--;
    if (cor_etcd_session_can_start(s))
        cor_etcd_session_post_turn(s);
    cor_free(stream);
}

/* gRPC's text has a length; the engine's failures are C strings. A longer text is cut. */
static void stream_copy_text(char *to, size_t size, struct cor_str from)
{
    size_t n = from.n < size ? from.n : size - 1;

    if (n > 0)
        memcpy(to, from.p, n);
    to[n] = '\0';
}

static void on_message(struct cor_grpc_call *call, struct cor_str message, void *arg)
{
    struct etcd_stream *stream = arg;

    stream->cbs->on_message(stream->arg, message);
}

static void on_done(struct cor_grpc_call *call, const struct cor_grpc_status *status, void *arg)
{
    struct etcd_stream *stream = arg;
    const struct etcd_stream_cbs *cbs = stream->cbs;
    void *user = stream->arg;
    char text[ETCD_TROUBLE_MAX];

    stream_copy_text(text, sizeof(text), status->message);
    stream_free(stream);
    cbs->on_closed(user, &(struct etcd_failure){status->code, text, status->is_untouched});
}

static void on_unary(const struct cor_grpc_status *status, struct cor_str message, void *arg)
{
    struct etcd_stream *stream = arg;
    etcd_reply_cb on_reply = stream->on_reply;
    void *user = stream->arg;
    char text[ETCD_TROUBLE_MAX];
    const struct etcd_failure why = {status->code, text, status->is_untouched};

    stream_copy_text(text, sizeof(text), status->message);
    stream_free(stream);
    on_reply(user, status->code == COR_GRPC_OK ? NULL : &why, message);
}

static int stream_new(struct etcd_session *s, struct etcd_stream **ret_stream)
{
    struct etcd_stream *stream;

    if (s->state != ETCD_SESSION_UP)
        return -COR_ECANCELED;
    if (s->nstreams >= ETCD_STREAMS_MAX)
        return -COR_EBUSY;
    stream = cor_calloc(1, sizeof(*stream));
    if (!stream)
        return -COR_ENOMEM;
    stream->session = s;
    s->nstreams++;
    *ret_stream = stream;
    return 0;
}

int cor_etcd_session_unary(struct etcd_session *s, const char *method, struct cor_str message,
                           uint64_t timeout_ms, etcd_reply_cb on_reply, void *arg,
                           struct etcd_stream **ret_stream)
{
    struct cor_http_header headers[2];
    const struct cor_grpc_call_opts opts = {.method = cor_strz(method),
                                            .metadata = headers,
                                            .nmetadata = cor_etcd_session_metadata(s, headers),
                                            .timeout_ms = timeout_ms};
    struct etcd_stream *stream;
    int r = stream_new(s, &stream);

    if (r < 0)
        return r;
    stream->on_reply = on_reply;
    stream->arg = arg;
    r = cor_grpc_unary(s->channel, &opts, &message, 1, on_unary, stream, &stream->call);
    if (r < 0)
        stream_free(stream);
    else
        *ret_stream = stream;
    return r;
}

int cor_etcd_session_open_stream(struct etcd_session *s, const char *method,
                                 const struct etcd_stream_cbs *cbs, void *arg,
                                 struct etcd_stream **ret_stream)
{
    static const struct cor_grpc_call_cbs call_cbs = {.on_message = on_message, .on_done = on_done};
    struct cor_http_header headers[2];
    const struct cor_grpc_call_opts opts = {.method = cor_strz(method),
                                            .metadata = headers,
                                            .nmetadata = cor_etcd_session_metadata(s, headers)};
    struct etcd_stream *stream;
    int r = stream_new(s, &stream);

    if (r < 0)
        return r;
    stream->cbs = cbs;
    stream->arg = arg;
    r = cor_grpc_call_open(s->channel, &opts, &call_cbs, stream, &stream->call);
    if (r < 0)
        stream_free(stream);
    else
        *ret_stream = stream;
    return r;
}

int cor_etcd_stream_send(struct etcd_stream *stream, struct cor_str message)
{
    return cor_grpc_call_send(stream->call, &message, 1);
}

void cor_etcd_stream_cancel(struct etcd_stream *stream)
{
    cor_grpc_call_cancel(stream->call);
    stream_free(stream);
}
