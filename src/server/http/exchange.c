/* clang-format off */
/* A request's way through the server, as one state machine on the connection's loop:
 *
 *   HTTP layer                     here                                   outcome
 *   head is complete  ──► cor_exchange_on_head: the filters ──► refused: answered at once, no body
 *                                    │                                    byte is read
 *   body is complete  ──► cor_exchange_on_request: a place in flight ──► none free: 429
 *                                    │
 *                         the verb (cor_api_call) writes its answer into the sink of the exchange
 *                                    │
 *                         exchange_end: counted, freed
 *
 * The filters run in upstream's order: request info, authentication, impersonation, deadline,
 * in-flight limits, authorization; the last one looks whether a watch is asked for over WebSocket
 * (websocket_answer.h). Then the head is freed by the HTTP layer, and the exchange keeps
 * copies of what a verb reads of it (the query and five headers). A watch releases these copies
 * once its answer has begun.
 *
 * What can fail, and what happens:
 *   - no memory for the exchange: 500 with plain text; for anything later: 500 with a Status;
 *   - a filter refuses: its Status is the answer (400, 401, 403), or plain text for impersonation;
 *   - too many requests in flight, or too much held for the sender: 429 with Retry-After;
 *   - the client leaves, or the deadline passes: on_gone, and nothing more is written. Before the
 *     verb has the sink this frees the exchange at once; afterwards the verb hears of it first.
 *
 * Every exchange ends exactly once, in exchange_end(), which counts it (code 0: no answer was
 * begun). */
/* clang-format on */
#include "server/http/exchange.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "codec/yaml.h"
#include "loop/loop.h"
#include "meta/storage_error.h"
#include "schema/protobuf.h"
#include "server/access/impersonation.h"
#include "server/api/api_int.h"
#include "server/api/heavy.h"
#include "server/http/gzip_answer.h"
#include "server/http/server_int.h"
#include "server/http/websocket_answer.h"
#include "server/request/api_options.h"
#include "server/request/negotiate.h"
#include "json/pretty.h"

#define METRICS_TYPE     "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_MAX      (64u << 20)
#define STATUS_BYTES_MAX (1u << 20)
/* More metrics than this are not compressed. */
#define METRICS_PACKED_MAX (512u << 10)
/* How long a verb that writes may take, counted from when its body is whole; as upstream, except
 * that upstream's time includes the reading of the body. */
#define MUTATING_TIMEOUT_MS (34u * 1000)

/* The query and five headers of most requests are no longer than this together. */
#define KEPT_FEW 192u
/* What a watch costs beside its exchange: its call, and its place in the watch cache. */
#define WATCH_BYTES 4096u

struct exchange {
    struct cor_sink sink; /* the first member: the verb's way to write the answer */
    struct cor_http_response *response;
    const struct cor_sink_cbs *sink_cbs; /* the verb's; NULL: no verb has the sink yet */
    void *sink_arg;
    int code;            /* of the answer; 0: not begun */
    uint64_t body_bytes; /* of the answer's body that were taken so far */
    struct cor_server *server;
    const struct cor_http_request *http;     /* the head; NULL after the filters */
    struct cor_str accept_encoding, upgrade; /* of the head */
    struct cor_api_request request;
    const struct cor_resource_row *row; /* of the request's resource when the head came, a
                                         * reference, for the metrics; NULL: none */
    char *kept; /* the strings of `request`, except path and body, when they do not fit `few` */
    size_t query_bytes, kept_bytes;
    struct cor_identity identity;
    struct cor_status status;
    size_t shard;
    uint64_t received_us;
    uint64_t timeout_ms; /* of the verb; 0: it has none */
    struct cor_str method;
    char method_name[16];
    struct cor_flight_place place;
    bool takes_gzip;              /* a large answer is compressed (gzip_answer.h) */
    struct cor_gzip_answer *gzip; /* between the sink and the response; NULL: nothing is */
    struct cor_websocket_answer *websocket; /* of a watch over WebSocket, before it begins */
    bool is_answered; /* the verb has written everything, and has let go of the sink */
    bool is_watching; /* counted as a long-running request */
    bool is_dry_run;
    bool may_impersonate; /* the name of a header looks like impersonation */
    bool is_plain;        /* the status' message is the whole answer, as text */
    char few[KEPT_FEW];   /* short copies of the strings; not zeroed, so it is the last member */
};

static const struct cor_sink_ops exchange_sink_ops;

/* A watch has no deadline, and does not count against the in-flight limits. */
static bool is_long(const struct exchange *ex)
{
    return ex->request.info.is_resource && ex->request.info.verb == COR_VERB_WATCH;
}

static struct exchange *exchange_new(struct cor_server *s, const struct cor_http_request *http,
                                     struct cor_http_response *resp)
{
    struct exchange *ex = cor_alloc(sizeof(*ex));
    struct cor_str method = http->method_name;

    if (!ex)
        return NULL;
    memset(ex, 0, offsetof(struct exchange, few));
    ex->sink.ops = &exchange_sink_ops;
    ex->response = resp;
    cor_status_init(&ex->status);
    ex->server = s;
    ex->http = http;
    ex->shard = http->loop;
    ex->received_us = http->received_us;
    /* The name is counted at the end, when the HTTP request may be freed. */
    method.n = method.n < sizeof(ex->method_name) ? method.n : sizeof(ex->method_name) - 1;
    if (method.n > 0)
        memcpy(ex->method_name, method.p, method.n);
    ex->method = cor_str(ex->method_name, method.n);
    return ex;
}

/* Counts the exchange under the code of its answer (0: its client went first) and frees it. */
static void exchange_end(struct exchange *ex, int code)
{
    struct cor_server *s = ex->server;
    uint64_t now_us = cor_clock_mono_us(cor_clock_real());

    cor_request_metrics_done(&s->request_metrics, ex->shard, &ex->request.info, ex->row, ex->method,
                             ex->is_dry_run, code, now_us - ex->received_us, ex->body_bytes);
    if (ex->is_watching)
        cor_request_metrics_long(&s->request_metrics, ex->shard, &ex->request.info, ex->row, -1);
    cor_flight_leave(&ex->place);
    cor_websocket_answer_free(ex->websocket);
    cor_row_unref(ex->row);
    cor_request_info_deinit(&ex->request.info);
    cor_identity_deinit(&ex->identity);
    cor_status_deinit(&ex->status);
    cor_free(ex->kept);
    cor_free(ex);
}

/* Answers that are given here, without a verb: refusals, and /metrics. */

struct reply {
    struct cor_http_header headers[6];
    size_t n;
};

static void reply_header(struct reply *reply, struct cor_str name, struct cor_str value)
{
    assert(reply->n < COR_ARRAY_LEN(reply->headers));
    reply->headers[reply->n++] = (struct cor_http_header){name, value};
}

/* Sends the answer with the headers that every answer has, and ends the exchange. */
static void answer(struct exchange *ex, int code, struct reply *reply, struct cor_str body)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf uuid;
    struct cor_str audit_id = ex->request.audit_id;

    assert(code >= 200 && !ex->sink_cbs);
    cor_buf_init(&uuid, 64);
    if (audit_id.n == 0) {
        (void)cor_api_add_uuid(&cor_api_loop(ex->server->api, ex->shard)->rand, &uuid);
        audit_id = cor_buf_str(&uuid);
    }
    reply_header(reply, COR_STR("Audit-Id"), audit_id);
    reply_header(reply, COR_STR("Cache-Control"), COR_STR("no-cache, private"));
    cor_http_response_send(ex->response, code, reply->headers, reply->n, body);
    exchange_end(ex, code);
}

static void answer_text(struct exchange *ex, int code, struct reply *reply, struct cor_str text)
{
    reply_header(reply, COR_STR("Content-Type"), COR_STR("text/plain; charset=utf-8"));
    reply_header(reply, COR_STR("X-Content-Type-Options"), COR_STR("nosniff"));
    answer(ex, code, reply, text);
}

/* Turns the Status in `json` into the form that the request asks for, and says which that is. What
 * cannot be turned stays JSON. */
static const char *status_rewrite(struct exchange *ex, struct cor_buf *json)
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

/* What a filter refused: the Status. */
static void answer_status(struct exchange *ex)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {0};
    struct reply reply = {.n = 0};
    const char *type;

    if (ex->is_plain) {
        answer_text(ex, ex->status.code, &reply, cor_strz(cor_status_message(&ex->status)));
        return;
    }
    cor_buf_init(&body, STATUS_BYTES_MAX);
    (void)cor_status_write(&ex->status, &body);
    type = status_rewrite(ex, &body);
    reply_header(&reply, COR_STR("Content-Type"), cor_strz(type));
    if (ex->status.code == 403)
        reply_header(&reply, COR_STR("X-Content-Type-Options"), COR_STR("nosniff"));
    answer(ex, ex->status.code, &reply, cor_buf_str(&body));
}

static void answer_busy(struct exchange *ex)
{
    struct reply reply = {.n = 0};

    cor_request_metrics_refused(&ex->server->request_metrics, ex->shard, &ex->request.info, ex->row,
                                ex->method, 429);
    reply_header(&reply, COR_STR("Retry-After"), COR_STR("1"));
    answer_text(ex, 429, &reply, COR_STR("Too many requests, please try again later.\n"));
}

static void answer_metrics(struct exchange *ex)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text, packed;
    struct reply reply = {.n = 0};
    struct cor_str body;
    int r;

    cor_buf_init(&text, METRICS_MAX);
    cor_buf_init(&packed, METRICS_MAX);
    r = cor_metrics_write(ex->server->metrics, &text);
    if (r < 0) {
        (void)cor_status_set_err(&ex->status, r);
        answer_status(ex);
        return;
    }
    reply_header(&reply, COR_STR("Content-Type"), COR_STR(METRICS_TYPE));
    body = cor_buf_str(&text);
    /* On the loop, so only what takes a few milliseconds. Without memory they are sent as they are.
     */
    if (ex->takes_gzip && body.n <= METRICS_PACKED_MAX &&
        cor_gzip_pack(body, COR_GZIP_FAST, &packed) == 0) {
        reply_header(&reply, COR_STR("Content-Encoding"), COR_STR("gzip"));
        body = cor_buf_str(&packed);
    }
    answer(ex, 200, &reply, body);
}

/* The filters, in the order in which cor_exchange_on_head() runs them. Each returns 0, -COR_EBUSY
 * (answered with a 429), or another failure whose answer is in `status`. */

/* One pass over the headers: the first header of each name counts. The names differ in length, so
 * that one comparison decides. */
static void read_headers(struct exchange *ex)
{
    struct cor_api_request *req = &ex->request;

    for (size_t i = 0; i < ex->http->nheaders; i++) {
        const struct cor_http_header *header = &ex->http->headers[i];
        struct cor_str name = {0}, *value = NULL;

        switch (header->name.n) {
        case sizeof("accept") - 1:
            name = COR_STR("accept");
            value = &req->accept;
            break;
        case sizeof("audit-id") - 1:
            name = COR_STR("audit-id");
            value = &req->audit_id;
            break;
        case sizeof("user-agent") - 1:
            name = COR_STR("user-agent");
            value = &req->user_agent;
            break;
        case sizeof("content-type") - 1:
            name = COR_STR("content-type");
            value = &req->content_type;
            break;
        case sizeof("if-none-match") - 1:
            name = COR_STR("if-none-match");
            value = &req->if_none_match;
            break;
        case sizeof("upgrade") - 1:
            name = COR_STR("upgrade");
            value = &ex->upgrade;
            break;
        case sizeof("accept-encoding") - 1:
            name = COR_STR("accept-encoding");
            value = &ex->accept_encoding;
            break;
        }
        if (value && !value->p && cor_header_name_eq(header->name, name))
            *value = header->value;
        if (cor_impersonation_may_be(header->name))
            ex->may_impersonate = true;
    }
}

/* Takes the row of the request's resource from the catalog that its loop has now. */
static void exchange_set_row(struct exchange *ex)
{
    const struct cor_request_info *info = &ex->request.info;
    const struct cor_served *served = cor_api_loop(ex->server->api, ex->shard)->served;
    const struct cor_resource_row *row =
        info->is_resource
            ? cor_served_find(served, info->group, info->version, info->resource, NULL)
            : NULL;

    ex->row = row ? cor_row_ref(row) : NULL;
}

static int filter_request_info(struct exchange *ex)
{
    const struct cor_http_request *http = ex->http;
    struct cor_api_request *req = &ex->request;
    int r;

    req->method = http->method;
    req->query = http->query;
    read_headers(ex);
    req->user = &ex->identity.user;
    ex->is_dry_run =
        http->query.n > 0 && memmem(http->query.p, http->query.n, "dryRun=All", 10) != NULL;
    r = cor_request_info_init(&req->info, http->method, http->path, http->query);
    if (r < 0)
        return cor_status_set(&ex->status, r, "%s",
                              r == -COR_EINVAL ? "invalid URL escape" : cor_err_text(r));
    exchange_set_row(ex);
    return 0;
}

/* What the connection holds is charged to the caller, not to the user whom the caller impersonates.
 * A caller who is unknown or not authenticated stays charged to the address; also then a sender for
 * whom too much is held gets a 429 (-COR_EBUSY) in place of the 401. */
static int filter_authenticate(struct exchange *ex)
{
    const struct cor_user *user = &ex->identity.user;
    enum cor_http_rank rank = COR_HTTP_UNKNOWN;
    int r = cor_authenticate(&ex->server->authenticator, ex->http, &ex->identity), charged;

    if (r == 0 && !ex->identity.is_anonymous)
        rank = cor_user_is_in(user, COR_STR(COR_GROUP_MASTERS)) ? COR_HTTP_MASTER : COR_HTTP_USER;
    charged = cor_http_response_set_sender(ex->response, rank, user->name);
    if (charged < 0)
        r = charged;
    return r < 0 ? cor_status_set_err(&ex->status, r) : 0;
}

static int filter_impersonate(struct exchange *ex)
{
    int r = !ex->may_impersonate
                ? 0
                : cor_impersonate(ex->server->authz_mode, ex->http, &ex->identity, &ex->status);

    ex->is_plain = r == -COR_EINVAL;
    return r;
}

static bool is_reading(const struct exchange *ex)
{
    const struct cor_request_info *info = &ex->request.info;

    if (!info->is_resource)
        return ex->request.method == COR_HTTP_GET || ex->request.method == COR_HTTP_HEAD;
    return info->verb == COR_VERB_GET || info->verb == COR_VERB_LIST ||
           info->verb == COR_VERB_WATCH;
}

/* ?timeout= may shorten the time that a request has. A watch has timeoutSeconds instead. */
static int filter_deadline(struct exchange *ex)
{
    uint64_t timeout_ms = ex->server->request_timeout_ms;
    uint64_t now_ms = cor_loop_now_ms(cor_http_response_loop(ex->response));
    int64_t ns;
    int r;

    if (is_long(ex))
        return 0;
    r = cor_api_query_timeout(ex->http->query, &ns, &ex->status);
    if (r < 0)
        return r;
    if (ns > 0 && (uint64_t)ns / 1000000 < timeout_ms) {
        timeout_ms = (uint64_t)ns / 1000000;
        cor_http_response_set_deadline(ex->response, now_ms + timeout_ms);
    }
    if (!is_reading(ex) && ex->request.info.verb != COR_VERB_DELETECOLLECTION &&
        timeout_ms > MUTATING_TIMEOUT_MS)
        timeout_ms = MUTATING_TIMEOUT_MS;
    ex->timeout_ms = timeout_ms;
    return 0;
}

/* The places that the request counts against; NULL: it needs none. Health checks need none, as in
 * upstream's flow schema "probes": they must be answered while the server is busy. */
static struct cor_flight *flight_of(const struct exchange *ex)
{
    struct cor_str path = ex->request.info.path;
    bool is_probe = !ex->request.info.is_resource && ex->request.method == COR_HTTP_GET &&
                    (cor_str_eqz(path, "/livez") || cor_str_eqz(path, "/readyz") ||
                     cor_str_eqz(path, "/healthz"));

    if (is_long(ex) || is_probe)
        return NULL;
    return is_reading(ex) ? &ex->server->reading : &ex->server->mutating;
}

/* Only looks whether there is a place, so that a body which would be refused is not read. No place
 * is taken before the body is whole: clients that dribble their bodies would hold all places. */
static int filter_in_flight(struct exchange *ex)
{
    const struct cor_flight *flight = flight_of(ex);

    return !flight || cor_flight_has_place(flight, &ex->identity.user) ? 0 : -COR_EBUSY;
}

static int filter_authorize(struct exchange *ex)
{
    const struct cor_request_info *info = &ex->request.info;
    char verb[sizeof(ex->method_name)];
    size_t i = 0;

    for (; ex->method_name[i]; i++)
        verb[i] = (char)tolower((unsigned char)ex->method_name[i]);
    verb[i] = '\0';
    return cor_authorize(ex->server->authz_mode, &ex->identity, info,
                         info->is_resource ? cor_api_verb_name(info->verb) : verb, &ex->status);
}

/* Is it a watch over WebSocket? Other requests that ask for one are answered without. */
static int filter_websocket(struct exchange *ex)
{
    bool is_asked = ex->upgrade.n > 0 && is_long(ex) &&
                    cor_http_response_can_upgrade(ex->response) && cor_websocket_is_asked(ex->http);

    ex->upgrade = (struct cor_str){0};
    if (!is_asked)
        return 0;
    ex->websocket = cor_websocket_answer_new(ex->http, ex->identity.is_by_websocket);
    if (!ex->websocket)
        return cor_status_no_memory(&ex->status);
    ex->request.is_websocket = true;
    return 0;
}

/* What the exchange holds, with `kept` bytes of strings. A watch also has a call and its selectors,
 * which are made of the query. */
static size_t held_bytes(const struct exchange *ex, size_t kept)
{
    size_t n = sizeof(*ex) + ex->request.info.text.cap + kept;

    if (ex->request.is_websocket)
        n += COR_WEBSOCKET_ANSWER_BYTES;
    return is_long(ex) ? n + WATCH_BYTES + ex->query_bytes : n;
}

static void release_kept(struct exchange *ex)
{
    struct cor_api_request *req = &ex->request;

    ex->kept = cor_free(ex->kept);
    req->query = req->accept = req->content_type = (struct cor_str){0};
    req->user_agent = req->if_none_match = req->audit_id = (struct cor_str){0};
}

/* Which answers are compressed for a client that accepts gzip, as upstream has it: those of the API
 * when they are large, the OpenAPI document of version 2 and the metrics; no watch, no document of
 * version 3, and nothing else. */
static void exchange_set_gzip(struct exchange *ex)
{
    struct cor_str path = ex->request.info.path, accepted = ex->accept_encoding;

    ex->accept_encoding = (struct cor_str){0};
    if (accepted.n == 0 || is_long(ex) || ex->request.method == COR_HTTP_HEAD)
        return;
    if (cor_str_eqz(path, "/openapi/v2"))
        ex->request.takes_gzip_docs = cor_gzip_is_accepted(accepted);
    else if (cor_str_eqz(path, "/metrics"))
        ex->takes_gzip = cor_gzip_is_accepted(accepted);
    else if (cor_str_starts(path, COR_STR("/api")))
        ex->takes_gzip = cor_gzip_is_named(accepted);
}

/* The last step of the filters: copies what the verb reads of the head, which the HTTP layer frees,
 * and charges the sender for the exchange. */
static int keep_head(struct exchange *ex)
{
    struct cor_api_request *req = &ex->request;
    struct cor_str *const strings[] = {&req->query,      &req->accept,        &req->content_type,
                                       &req->user_agent, &req->if_none_match, &req->audit_id};
    size_t n = 0;
    char *at;

    exchange_set_gzip(ex);
    ex->http = NULL;
    for (size_t i = 0; i < COR_ARRAY_LEN(strings); i++)
        n += strings[i]->n;
    ex->query_bytes = req->query.n;
    ex->kept_bytes = n;
    if (cor_http_response_hold(ex->response, held_bytes(ex, n)) < 0)
        return -COR_EBUSY;
    at = ex->few;
    if (n > sizeof(ex->few))
        at = ex->kept = cor_alloc(n);
    if (!at) {
        release_kept(ex);
        return cor_status_no_memory(&ex->status);
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(strings); i++) {
        if (strings[i]->n == 0)
            continue;
        memcpy(at, strings[i]->p, strings[i]->n);
        strings[i]->p = at;
        at += strings[i]->n;
    }
    return 0;
}

static void on_gone_early(struct cor_http_response *resp, int why, void *arg)
{
    exchange_end(arg, 0);
}

/* Between the filters and the verb, while the body is being received. */
static const struct cor_http_response_cbs waiting_cbs = {.on_gone = on_gone_early};

void cor_exchange_on_head(const struct cor_http_request *http, struct cor_http_response *resp,
                          void *arg)
{
    struct exchange *ex = exchange_new(arg, http, resp);
    int r;

    assert(cor_loop_is_current(cor_http_response_loop(resp)));
    if (!ex) {
        cor_http_response_send(resp, 500, NULL, 0, COR_STR("out of memory\n"));
        return;
    }
    r = filter_request_info(ex);
    if (r == 0)
        r = filter_authenticate(ex);
    else if (cor_http_response_set_sender(resp, COR_HTTP_UNKNOWN, COR_STR("")) < 0)
        r = -COR_EBUSY;
    if (r == 0)
        r = filter_impersonate(ex);
    if (r == 0)
        r = filter_deadline(ex);
    if (r == 0)
        r = filter_in_flight(ex);
    if (r == 0)
        r = filter_authorize(ex);
    if (r == 0)
        r = filter_websocket(ex);
    if (r == 0)
        r = keep_head(ex);
    if (r == -COR_EBUSY)
        answer_busy(ex);
    else if (r == 0)
        cor_http_response_set_cbs(resp, &waiting_cbs, ex);
    else
        answer_status(ex);
}

/* A handshake that cannot be accepted, in upstream's words. */
static void answer_no_websocket(struct exchange *ex)
{
    const struct cor_websocket_handshake *shake = cor_websocket_answer_handshake(ex->websocket);
    struct reply reply = {.n = 0};

    if (shake->is_bad_version)
        reply_header(&reply, COR_STR("Sec-WebSocket-Version"), COR_STR("13"));
    answer_text(ex, shake->refusal, &reply, cor_strz(shake->text));
}

static bool is_metrics(const struct exchange *ex)
{
    return !ex->request.info.is_resource && ex->request.method == COR_HTTP_GET &&
           cor_str_eqz(ex->request.info.path, "/metrics");
}

/* The verb has all of its time, however long the body took. When that time ends before the
 * response's own deadline, which counts from the head, the client is answered then: the verb may be
 * waiting for a thread or for the store, and what it has sent to the store may still happen. */
static void begin_verb_time(struct exchange *ex, struct cor_http_response *resp)
{
    uint64_t due_ms = cor_loop_now_ms(cor_http_response_loop(resp)) + ex->timeout_ms;

    ex->request.deadline_ms = due_ms;
    if (due_ms < cor_http_response_deadline(resp)) {
        cor_http_response_set_deadline(resp, due_ms);
        cor_http_response_set_timeout_text(resp, COR_DEADLINE_TEXT);
    }
}

void cor_exchange_on_request(const struct cor_http_request *http, struct cor_http_response *resp,
                             void *arg)
{
    struct exchange *ex = cor_http_response_arg(resp);
    struct cor_flight *flight;

    assert(ex && arg && ex->server == arg && !ex->http && ex->code == 0);
    flight = flight_of(ex);
    ex->request.body = http->body;
    if (ex->timeout_ms > 0)
        begin_verb_time(ex, resp);
    if (flight && !cor_flight_enter(flight, &ex->identity.user, &ex->place)) {
        answer_busy(ex);
        return;
    }
    if (is_metrics(ex)) {
        answer_metrics(ex);
        return;
    }
    if (ex->websocket && cor_websocket_answer_handshake(ex->websocket)->refusal != 0) {
        answer_no_websocket(ex);
        return;
    }
    if (is_long(ex)) {
        ex->is_watching = true;
        cor_request_metrics_long(&ex->server->request_metrics, ex->shard, &ex->request.info,
                                 ex->row, 1);
    }
    cor_api_call(cor_api_loop(ex->server->api, ex->shard), &ex->request, &ex->sink);
}

/* The sink: what the verb writes goes into the HTTP response, and the response's callbacks go to
 * the verb. The exchange ends with the response. */

static void on_writable(struct cor_http_response *response, void *arg)
{
    struct exchange *ex = arg;

    if (ex->gzip)
        cor_gzip_answer_on_writable(ex->gzip);
    else
        ex->sink_cbs->on_writable(ex->sink_arg);
}

static void on_gone(struct cor_http_response *response, int why, void *arg)
{
    struct exchange *ex = arg;

    if (ex->gzip)
        cor_gzip_answer_give_up(ex->gzip);
    if (!ex->is_answered)
        ex->sink_cbs->on_gone(ex->sink_arg);
    exchange_end(ex, ex->code);
}

static void on_drain(struct cor_http_response *response, void *arg)
{
    struct exchange *ex = arg;

    if (!ex->is_answered)
        ex->sink_cbs->on_drain(ex->sink_arg);
}

static const struct cor_http_response_cbs verb_cbs = {on_writable, on_gone, on_drain};

static void sink_set_cbs(struct cor_sink *sink, const struct cor_sink_cbs *cbs, void *arg)
{
    struct exchange *ex = (struct exchange *)sink;

    ex->sink_cbs = cbs;
    ex->sink_arg = arg;
    cor_http_response_set_cbs(ex->response, &verb_cbs, ex);
}

/* A compressed answer has room again. */
static void on_gzip_room(void *arg)
{
    struct exchange *ex = arg;

    ex->sink_cbs->on_writable(ex->sink_arg);
}

/* A compressed answer is complete, or there was no memory for the rest of it. */
static void on_gzip_over(void *arg, int r)
{
    struct exchange *ex = arg;

    assert(r < 0 || ex->is_answered);
    if (!ex->is_answered)
        ex->sink_cbs->on_gone(ex->sink_arg);
    exchange_end(ex, ex->code);
}

static const struct cor_sink_ops gzip_sink_ops;

/* Begins an answer that may have to be compressed. Without memory for it the answer is sent as it
 * is. */
static void exchange_start_gzip(struct exchange *ex, int code,
                                const struct cor_http_header *headers, size_t nheaders,
                                uint64_t length)
{
    const struct cor_gzip_answer_opts opts = {
        .response = ex->response,
        .offload = cor_api_loop(ex->server->api, ex->shard)->api->offload,
        .owner = cor_heavy_owner(&ex->identity.user),
        .held = held_bytes(ex, ex->kept_bytes),
        .sent = &ex->body_bytes,
        .on_room = on_gzip_room,
        .on_over = on_gzip_over,
        .arg = ex,
    };

    assert(!ex->is_watching);
    ex->gzip = cor_gzip_answer_new(&opts, code, headers, nheaders, length);
    if (ex->gzip)
        ex->sink.ops = &gzip_sink_ops;
    else
        cor_http_response_start(ex->response, code, headers, nheaders, length);
}

static bool is_protobuf(const struct cor_http_header *headers, size_t nheaders)
{
    struct cor_str type = cor_header_find(headers, nheaders, COR_STR("Content-Type"));

    return cor_str_starts(type, COR_STR("application/vnd.kubernetes.protobuf"));
}

static void sink_start(struct cor_sink *sink, int code, const struct cor_http_header *headers,
                       size_t nheaders, uint64_t length)
{
    struct exchange *ex = (struct exchange *)sink;

    assert(ex->code == 0);
    ex->code = code;
    if (ex->takes_gzip && length > COR_GZIP_PLAIN_MAX) {
        exchange_start_gzip(ex, code, headers, nheaders, length);
        return;
    }
    if (ex->websocket && code == 200)
        cor_websocket_answer_start(COR_STEAL(ex->websocket), ex->response,
                                   is_protobuf(headers, nheaders));
    else
        cor_http_response_start(ex->response, code, headers, nheaders, length);
    if (!ex->is_watching)
        return;
    /* A watch has read its options: it keeps no strings of the request while it lasts. */
    release_kept(ex);
    (void)cor_http_response_hold(ex->response, held_bytes(ex, 0));
}

static size_t sink_writev(struct cor_sink *sink, const struct cor_str *spans, size_t nspans,
                          size_t skip)
{
    struct exchange *ex = (struct exchange *)sink;
    size_t taken = cor_http_response_writev(ex->response, spans, nspans, skip);

    ex->body_bytes += taken;
    return taken;
}

static void sink_end(struct cor_sink *sink)
{
    struct exchange *ex = (struct exchange *)sink;

    assert(ex->code != 0);
    cor_http_response_end(ex->response);
    exchange_end(ex, ex->code);
}

static void sink_abort(struct cor_sink *sink)
{
    struct exchange *ex = (struct exchange *)sink;

    cor_http_response_abort(ex->response);
    exchange_end(ex, ex->code);
}

static void sink_no_deadline(struct cor_sink *sink)
{
    cor_http_response_set_deadline(((struct exchange *)sink)->response, COR_HTTP_NO_DEADLINE);
}

static const struct cor_sink_ops exchange_sink_ops = {
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
    return cor_gzip_answer_writev(((struct exchange *)sink)->gzip, spans, nspans, skip);
}

static void gzip_sink_end(struct cor_sink *sink)
{
    struct exchange *ex = (struct exchange *)sink;

    ex->is_answered = true;
    if (cor_gzip_answer_end(ex->gzip))
        exchange_end(ex, ex->code);
}

static void gzip_sink_abort(struct cor_sink *sink)
{
    struct exchange *ex = (struct exchange *)sink;

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
