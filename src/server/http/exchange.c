/* clang-format off */
/* A request's way through the server, as one state machine on the connection's loop:
 *
 *   HTTP layer                     here                                   outcome
 *   head is complete  ──► cor_exchange_on_head: the filters ──► refused: answered at once, no body
 *                                    │  ▲   (exchange_filters.c)          byte is read (exchange_reply.c)
 *                                    │  └── a filter that waits for a delegate (exchange_wait.c): the body
 *                                    │      is held back, and cor_exchange_resume() goes on
 *                                    ├──► an aggregated server answers: the proxy (exchange_proxy.c)
 *                                    │
 *   body is complete  ──► cor_exchange_on_request: a place in flight ──► none free: 429
 *                                    │
 *                         the verb (cor_api_call) writes its answer into the sink of the exchange
 *                                    │      (exchange_sink.c)
 *                         cor_exchange_end: counted, freed
 *
 * After the filters the HTTP layer frees the head, and the exchange keeps copies of what a verb reads
 * of it (the query and five headers). A watch releases these copies once its answer has begun.
 *
 * What can fail, and what happens:
 *   - no memory for the exchange: 500 with plain text; for anything later: 500 with a Status;
 *   - a filter refuses: its Status is the answer (400, 401, 403), or plain text for impersonation;
 *   - too many requests in flight, or too much held for the sender: 429 with Retry-After;
 *   - the client leaves, or the deadline passes: on_gone, and nothing more is written. Before the
 *     verb has the sink this frees the exchange at once; afterwards the verb hears of it first.
 *
 * Every exchange ends exactly once, in cor_exchange_end(), which counts it (code 0: no answer was
 * begun). */
/* clang-format on */
#include "server/http/exchange.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "codec/gzip.h"
#include "loop/loop.h"
#include "meta/status/storage_error.h"
#include "server/http/exchange_int.h"
#include "server/http/exchange_wait.h"
#include "server/http/websocket_answer.h"

/* What a watch costs beside its exchange: its call, and its place in the watch cache. */
#define WATCH_BYTES 4096u

static struct cor_exchange *exchange_new(struct cor_server *s, const struct cor_http_request *http,
                                         struct cor_http_response *resp)
{
    struct cor_exchange *ex = cor_alloc(sizeof(*ex));
    struct cor_str method = http->method_name;

    if (!ex)
        return NULL;
    memset(ex, 0, offsetof(struct cor_exchange, few));
    ex->sink.ops = &cor_exchange_sink_ops;
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

void cor_exchange_end(struct cor_exchange *ex, int code)
{
    struct cor_server *s = ex->server;
    uint64_t now_us = cor_clock_mono_us(cor_clock_real());

    cor_request_metrics_done(&s->request_metrics, ex->shard, &ex->request.info, ex->row, ex->method,
                             ex->is_dry_run, code, now_us - ex->received_us, ex->body_bytes);
    if (ex->is_watching)
        cor_request_metrics_long(&s->request_metrics, ex->shard, &ex->request.info, ex->row, -1);
    ex->wait = cor_exchange_wait_free(ex->wait);
    cor_flight_leave(&ex->place);
    cor_websocket_answer_free(ex->websocket);
    cor_row_unref(ex->row);
    cor_api_service_unref(ex->remote);
    cor_request_info_deinit(&ex->request.info);
    cor_identity_deinit(&ex->identity);
    cor_status_deinit(&ex->status);
    cor_free(ex->kept);
    cor_free(ex);
}

size_t cor_exchange_held(const struct cor_exchange *ex, size_t kept)
{
    size_t n = sizeof(*ex) + ex->request.info.text.cap + kept;

    if (ex->request.is_websocket)
        n += COR_WEBSOCKET_ANSWER_BYTES;
    return cor_exchange_is_long(ex) ? n + WATCH_BYTES + ex->query_bytes : n;
}

void cor_exchange_release_strings(struct cor_exchange *ex)
{
    struct cor_server_request *req = &ex->request;

    ex->kept = cor_free(ex->kept);
    req->query = req->accept = req->content_type = (struct cor_str){0};
    req->user_agent = req->if_none_match = req->audit_id = (struct cor_str){0};
}

/* Which answers are compressed for a client that accepts gzip, as upstream has it: those of the API
 * when they are large, the OpenAPI document of version 2 and the metrics; no watch, no document of
 * version 3, and nothing else. */
static void exchange_set_gzip(struct cor_exchange *ex)
{
    struct cor_str path = ex->request.info.path, accepted = ex->accept_encoding;

    ex->accept_encoding = (struct cor_str){0};
    if (accepted.n == 0 || cor_exchange_is_long(ex) || ex->request.method == COR_HTTP_HEAD)
        return;
    if (cor_str_eqz(path, "/openapi/v2"))
        ex->request.takes_gzip_docs = cor_gzip_is_accepted(accepted);
    else if (cor_str_eqz(path, "/metrics"))
        ex->takes_gzip = ex->omits_vary = cor_gzip_is_accepted(accepted);
    else if (cor_str_starts(path, COR_STR("/api")))
        ex->takes_gzip = cor_gzip_is_named(accepted);
}

/* The step after the filters: copies what the verb reads of the head, which the HTTP layer frees,
 * and charges the sender for the exchange. */
static int exchange_keep_head(struct cor_exchange *ex)
{
    struct cor_server_request *req = &ex->request;
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
    if (cor_http_response_hold(ex->response, cor_exchange_held(ex, n)) < 0)
        return -COR_EBUSY;
    at = ex->few;
    if (n > sizeof(ex->few))
        at = ex->kept = cor_alloc(n);
    if (!at) {
        cor_exchange_release_strings(ex);
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

static void exchange_on_gone_early(struct cor_http_response *resp, int why, void *arg)
{
    cor_exchange_end(arg, 0);
}

/* Between the filters and the verb, while the body is being received. */
static const struct cor_http_response_cbs waiting_cbs = {.on_gone = exchange_on_gone_early};

/* The filters have run as far as they could, with this result. */
static void exchange_decide(struct cor_exchange *ex, int r)
{
    if (r == 0 && ex->remote) {
        if (!ex->wait || !cor_exchange_wait_has_head(ex->wait))
            cor_http_response_hold_body(ex->response);
        cor_exchange_proxy(ex);
        return;
    }
    if (r == 0)
        r = exchange_keep_head(ex);
    if (r == -COR_EBUSY) {
        cor_exchange_reply_busy(ex);
    } else if (r < 0) {
        cor_exchange_reply_status(ex);
    } else {
        bool is_held = ex->wait && cor_exchange_wait_has_head(ex->wait);

        ex->wait = cor_exchange_wait_free(ex->wait);
        cor_http_response_set_cbs(ex->response, &waiting_cbs, ex);
        if (is_held)
            cor_http_response_collect_body(ex->response);
    }
}

void cor_exchange_resume(struct cor_exchange *ex)
{
    int r = cor_exchange_filter(ex);

    if (r != COR_EXCHANGE_WAITS)
        exchange_decide(ex, r);
}

void cor_exchange_on_head(const struct cor_http_request *http, struct cor_http_response *resp,
                          void *arg)
{
    struct cor_exchange *ex = exchange_new(arg, http, resp);
    int r;

    assert(cor_loop_is_current(cor_http_response_loop(resp)));
    if (!ex) {
        cor_http_response_send(resp, 500, NULL, 0, COR_STR("out of memory\n"));
        return;
    }
    r = cor_exchange_filter(ex);
    if (r == COR_EXCHANGE_WAITS) {
        r = cor_exchange_wait_keep_head(ex);
        if (r == 0) {
            cor_http_response_set_cbs(resp, &waiting_cbs, ex);
            cor_http_response_hold_body(resp);
            return;
        }
    }
    exchange_decide(ex, r);
}

static bool exchange_is_metrics(const struct cor_exchange *ex)
{
    return !ex->request.info.is_resource && ex->request.method == COR_HTTP_GET &&
           cor_str_eqz(ex->request.info.path, "/metrics");
}

/* The verb has all of its time, however long the body took. When that time ends before the
 * response's own deadline, which counts from the head, the client is answered then: the verb may be
 * waiting for a thread or for the store, and what it has sent to the store may still happen. */
static void exchange_begin_verb_time(struct cor_exchange *ex, struct cor_http_response *resp)
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
    struct cor_exchange *ex = cor_http_response_arg(resp);
    struct cor_flight *flight;

    assert(ex && arg && ex->server == arg && !ex->http && ex->code == 0);
    flight = cor_exchange_flight(ex);
    ex->request.body = http->body;
    if (ex->timeout_ms > 0)
        exchange_begin_verb_time(ex, resp);
    if (flight && !cor_flight_enter(flight, &ex->identity.user, &ex->place)) {
        cor_exchange_reply_busy(ex);
        return;
    }
    if (exchange_is_metrics(ex)) {
        cor_exchange_reply_metrics(ex);
        return;
    }
    if (ex->websocket && cor_websocket_answer_handshake(ex->websocket)->refusal != 0) {
        cor_exchange_reply_no_websocket(ex);
        return;
    }
    if (cor_exchange_is_long(ex)) {
        ex->is_watching = true;
        cor_request_metrics_long(&ex->server->request_metrics, ex->shard, &ex->request.info,
                                 ex->row, 1);
    }
    cor_api_call(cor_api_loop(ex->server->api, ex->shard), &ex->request, &ex->sink);
}
