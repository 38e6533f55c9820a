/* The answers that an exchange gives without a verb: the Status of a filter, 429, the refusal of a
 * WebSocket, and the metrics. Each is sent at once and as a whole, with the headers that every
 * answer has, and ends the exchange; only metrics of more than COR_GZIP_PLAIN_MAX bytes, for a
 * client that accepts gzip, go through the sink, as a large answer of a verb does.
 *
 * A Status is sent in the form that the request accepts (JSON, YAML, protobuf), and as JSON when
 * there is no memory for the other form. Metrics that cannot be written are answered with a Status;
 * those that cannot be compressed are sent as they are.
 * Thread: the connection's loop. */
#include <assert.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "codec/gzip.h"
#include "codec/yaml.h"
#include "meta/status/storage_error.h"
#include "schema/protobuf/protobuf.h"
#include "server/http/exchange_int.h"
#include "server/http/gzip_answer.h"
#include "server/http/websocket_answer.h"
#include "server/request/negotiate.h"
#include "json/write/pretty.h"

#define METRICS_TYPE     "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_MAX      (64u << 20)
#define STATUS_BYTES_MAX (1u << 20)
/* Of metrics that are compressed at once. */
#define METRICS_PACKED_MAX (2 * COR_GZIP_PLAIN_MAX)

struct reply {
    struct cor_http_header headers[6];
    size_t n;
};

static void reply_header(struct reply *reply, struct cor_str name, struct cor_str value)
{
    assert(reply->n < COR_ARRAY_LEN(reply->headers));
    reply->headers[reply->n++] = (struct cor_http_header){name, value};
}

/* Adds the headers that every answer has. `uuid` is empty, and has the bytes of one of them. */
static void reply_common_headers(struct cor_exchange *ex, struct reply *reply, struct cor_buf *uuid)
{
    struct cor_str audit_id = ex->request.audit_id;

    if (audit_id.n == 0) {
        (void)cor_uuid_add(&cor_api_loop(ex->server->api, ex->shard)->rand, uuid);
        audit_id = cor_buf_str(uuid);
    }
    reply_header(reply, COR_STR("Audit-Id"), audit_id);
    reply_header(reply, COR_STR("Cache-Control"), COR_STR("no-cache, private"));
}

/* Sends the answer with the headers that every answer has, and ends the exchange. */
static void reply_send(struct cor_exchange *ex, int code, struct reply *reply, struct cor_str body)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf uuid;

    assert(code >= 200 && !ex->sink_cbs);
    cor_buf_init(&uuid, 64);
    reply_common_headers(ex, reply, &uuid);
    cor_http_response_send(ex->response, code, reply->headers, reply->n, body);
    cor_exchange_end(ex, code);
}

static void reply_text(struct cor_exchange *ex, int code, struct reply *reply, struct cor_str text)
{
    reply_header(reply, COR_STR("Content-Type"), COR_STR("text/plain; charset=utf-8"));
    reply_header(reply, COR_STR("X-Content-Type-Options"), COR_STR("nosniff"));
    reply_send(ex, code, reply, text);
}

/* Turns the Status in `json` into the form that the request asks for, and says which that is. What
 * cannot be turned stays JSON. */
static const char *reply_rewrite_status(struct cor_exchange *ex, struct cor_buf *json)
{
    struct cor_accept accept = cor_negotiate_failure(ex->request.accept);
    struct cor_buf text;
    int r;

    cor_buf_init(&text, 4 * STATUS_BYTES_MAX);
    if (accept.is_protobuf)
        r = cor_protobuf_from_json(COR_STR("v1"), COR_STR("Status"),
                                   cor_type_named(COR_STR("meta_v1.Status")), cor_buf_str(json),
                                   &text, NULL);
    else if (accept.is_yaml)
        r = cor_yaml_from_json(cor_buf_str(json), &text);
    else if (accept.is_pretty || cor_wants_pretty(COR_UNSET, ex->request.user_agent))
        r = cor_json_pretty(cor_buf_str(json), 0, &text);
    else
        r = cor_buf_addc(json, '\n') < 0 ? -COR_ENOMEM : 1;
    if (r == 0) {
        cor_buf_deinit(json);
        *json = text;
    } else {
        cor_buf_deinit(&text);
    }
    return r == 0 && accept.is_protobuf ? "application/vnd.kubernetes.protobuf"
           : r == 0 && accept.is_yaml   ? "application/yaml"
                                        : "application/json";
}

void cor_exchange_reply_status(struct cor_exchange *ex)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {0};
    struct reply reply = {.n = 0};
    const char *type;

    if (ex->is_plain) {
        reply_text(ex, ex->status.code, &reply, cor_strz(cor_status_message(&ex->status)));
        return;
    }
    cor_buf_init(&body, STATUS_BYTES_MAX);
    (void)cor_status_write(&ex->status, &body);
    type = reply_rewrite_status(ex, &body);
    reply_header(&reply, COR_STR("Content-Type"), cor_strz(type));
    if (ex->status.code == 403)
        reply_header(&reply, COR_STR("X-Content-Type-Options"), COR_STR("nosniff"));
    reply_send(ex, ex->status.code, &reply, cor_buf_str(&body));
}

void cor_exchange_reply_busy(struct cor_exchange *ex)
{
    struct reply reply = {.n = 0};

    cor_request_metrics_refused(&ex->server->request_metrics, ex->shard, &ex->request.info, ex->row,
                                ex->method, 429);
    reply_header(&reply, COR_STR("Retry-After"), COR_STR("1"));
    reply_text(ex, 429, &reply, COR_STR("Too many requests, please try again later.\n"));
}

/* The text of the metrics while it is sent through the sink of the exchange, which compresses it.
 */
struct metrics_reply {
    struct cor_exchange *ex;
    struct cor_buf text;
    size_t done; /* bytes that the sink has taken */
};

static void metrics_free(struct metrics_reply *metrics)
{
    cor_buf_deinit(&metrics->text);
    cor_free(metrics);
}

/* Writes as much as the sink takes. With the last byte the exchange ends, now or when all of it is
 * compressed. */
static void metrics_write(void *arg)
{
    struct metrics_reply *metrics = arg;
    struct cor_sink *sink = &metrics->ex->sink;
    struct cor_str rest = cor_str_from(cor_buf_str(&metrics->text), metrics->done);

    metrics->done += cor_sink_writev(sink, &rest, 1, 0);
    if (metrics->done < metrics->text.n)
        return;
    metrics_free(metrics);
    cor_sink_end(sink);
}

static void metrics_on_gone(void *arg)
{
    metrics_free(arg);
}

static void metrics_on_drain(void *arg)
{
}

static const struct cor_sink_cbs metrics_cbs = {metrics_write, metrics_on_gone, metrics_on_drain};

/* Sends a long text in slices, which the offload threads compress. False: there is no memory for
 * that, or too much is held for the sender; nothing has happened. */
static bool metrics_send_slices(struct cor_exchange *ex, struct reply *reply, struct cor_buf *text)
{
    struct metrics_reply *metrics = cor_calloc(1, sizeof(*metrics));
    size_t held = ex->kept_bytes + text->cap;

    if (!metrics || cor_http_response_hold(ex->response, cor_exchange_held(ex, held)) < 0) {
        cor_free(metrics);
        return false;
    }
    ex->kept_bytes = held;
    metrics->ex = ex;
    metrics->text = *text;
    cor_buf_init(text, METRICS_MAX);
    cor_sink_set_cbs(&ex->sink, &metrics_cbs, metrics);
    cor_sink_start(&ex->sink, 200, reply->headers, reply->n, metrics->text.n);
    metrics_write(metrics);
    return true;
}

void cor_exchange_reply_metrics(struct cor_exchange *ex)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text, packed, uuid;
    struct reply reply = {.n = 0};
    struct cor_str body;
    int r;

    cor_buf_init(&text, METRICS_MAX);
    cor_buf_init(&packed, METRICS_PACKED_MAX);
    cor_buf_init(&uuid, 64);
    r = cor_metrics_write(ex->server->metrics, &text);
    if (r < 0) {
        (void)cor_status_set_err(&ex->status, r);
        cor_exchange_reply_status(ex);
        return;
    }
    reply_header(&reply, COR_STR("Content-Type"), COR_STR(METRICS_TYPE));
    reply_common_headers(ex, &reply, &uuid);
    body = cor_buf_str(&text);
    if (ex->takes_gzip && body.n > COR_GZIP_PLAIN_MAX && metrics_send_slices(ex, &reply, &text))
        return;
    /* On the loop, because this takes a millisecond. Without memory they are sent as they are. */
    if (ex->takes_gzip && body.n <= COR_GZIP_PLAIN_MAX &&
        cor_gzip_pack(body, COR_GZIP_FAST, &packed) == 0) {
        reply_header(&reply, COR_STR("Content-Encoding"), COR_STR("gzip"));
        body = cor_buf_str(&packed);
    }
    cor_http_response_send(ex->response, 200, reply.headers, reply.n, body);
    cor_exchange_end(ex, 200);
}

void cor_exchange_reply_no_websocket(struct cor_exchange *ex)
{
    const struct cor_websocket_handshake *shake = cor_websocket_answer_handshake(ex->websocket);
    struct reply reply = {.n = 0};

    if (shake->is_bad_version)
        reply_header(&reply, COR_STR("Sec-WebSocket-Version"), COR_STR("13"));
    reply_text(ex, shake->refusal, &reply, cor_strz(shake->text));
}
