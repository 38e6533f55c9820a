/* clang-format off */
/* A request to a fake:
 *
 *   HTTP ──► recorded, when it is about a resource ──► the reactors, the last added first ──► the API
 *                                                          │ answered or failed               │
 *                                                          ▼                                  ▼
 *                                                        HTTP response  ◄── the sink of the exchange
 *
 * There are no filters: every sender is an administrator. The texts of the request are the HTTP
 * layer's, which keeps the head until the response is over, since the server has no on_head.
 *
 * What can fail: no memory, or too many actions: 500 with a Status; the client leaves, or the
 * deadline passes: on_gone of the verb, and the exchange ends.
 * Thread: the fake's loop.  Owner: the response. */
/* clang-format on */
#include <assert.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/request.h"
#include "loop/loop.h"
#include "meta/names/api_verb.h"
#include "meta/status/status.h"
#include "testing/testing_int.h"
#include "json/text/json.h"
#include "json/text/scan.h"

#define STATUS_BYTES_MAX (1u << 20)
#define EVENT_BYTES_MAX  (8u << 20) /* as a client reads */
#define REQUEST_MS       60000

static const struct cor_str user_groups[] = {COR_STR_INIT("system:masters"),
                                             COR_STR_INIT("system:authenticated")};
const struct cor_user cor_testing_user = {.name = COR_STR_INIT("kubernetes-admin"),
                                          .groups = user_groups,
                                          .ngroups = COR_ARRAY_LEN(user_groups)};

struct exchange {
    struct cor_sink sink;
    struct cor_http_response *response;
    struct cor_server_request request;
    const struct cor_sink_cbs *cbs; /* the verb's */
    void *arg;
};

static void exchange_free(struct exchange *ex)
{
    cor_request_info_deinit(&ex->request.info);
    cor_free(ex);
}

static void on_writable(struct cor_http_response *response, void *arg)
{
    struct exchange *ex = arg;

    ex->cbs->on_writable(ex->arg);
}

static void on_gone(struct cor_http_response *response, int why, void *arg)
{
    struct exchange *ex = arg;

    ex->cbs->on_gone(ex->arg);
    exchange_free(ex);
}

static void on_drain(struct cor_http_response *response, void *arg)
{
    struct exchange *ex = arg;

    ex->cbs->on_drain(ex->arg);
}

static const struct cor_http_response_cbs response_cbs = {on_writable, on_gone, on_drain};

static void sink_set_cbs(struct cor_sink *sink, const struct cor_sink_cbs *cbs, void *arg)
{
    struct exchange *ex = (struct exchange *)sink;

    ex->cbs = cbs;
    ex->arg = arg;
    cor_http_response_set_cbs(ex->response, &response_cbs, ex);
}

static void sink_start(struct cor_sink *sink, int status, const struct cor_http_header *headers,
                       size_t nheaders, uint64_t length)
{
    cor_http_response_start(((struct exchange *)sink)->response, status, headers, nheaders, length);
}

static size_t sink_writev(struct cor_sink *sink, const struct cor_str *spans, size_t nspans,
                          size_t skip)
{
    return cor_http_response_writev(((struct exchange *)sink)->response, spans, nspans, skip);
}

static void sink_end(struct cor_sink *sink)
{
    cor_http_response_end(((struct exchange *)sink)->response);
    exchange_free((struct exchange *)sink);
}

static void sink_abort(struct cor_sink *sink)
{
    cor_http_response_abort(((struct exchange *)sink)->response);
    exchange_free((struct exchange *)sink);
}

static void sink_no_deadline(struct cor_sink *sink)
{
    cor_http_response_set_deadline(((struct exchange *)sink)->response, COR_HTTP_NO_DEADLINE);
}

static const struct cor_sink_ops sink_ops = {
    .set_cbs = sink_set_cbs,
    .start = sink_start,
    .writev = sink_writev,
    .end = sink_end,
    .abort = sink_abort,
    .no_deadline = sink_no_deadline,
};

static void send_json(struct cor_http_response *response, int code, struct cor_str json)
{
    static const struct cor_http_header type = {COR_STR_INIT("Content-Type"),
                                                COR_STR_INIT("application/json")};

    cor_http_response_send(response, code, &type, 1, json);
}

/* Answers with the Status of an error code. */
static void send_failure(struct cor_http_response *response, int err, struct cor_str message)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;

    cor_buf_init(&json, STATUS_BYTES_MAX);
    if (message.n == 0)
        message = cor_strz(cor_err_text(err));
    cor_status_set(&status, err, "%.*s", COR_STR_ARG(message));
    if (cor_status_write(&status, &json) < 0)
        cor_http_response_abort(response);
    else
        send_json(response, status.code, cor_buf_str(&json));
}

/* Is it an event of a watch, as JSON? */
static bool is_event(struct cor_str line)
{
    const struct cor_json_limits limits = {EVENT_BYTES_MAX, COR_JSON_DEPTH_MAX, true};
    struct cor_str type, object;
    bool is_canonical;

    return cor_json_check(line, &limits, &is_canonical, NULL) == 0 &&
           cor_json_type(line) == COR_JSON_OBJECT &&
           cor_json_get(line, COR_STR("type"), COR_JSON_ANY_ORDER, &type) == 0 &&
           cor_json_get(line, COR_STR("object"), COR_JSON_ANY_ORDER, &object) == 0;
}

/* A watch is answered with events, a line each; the stream ends behind them. */
static bool are_events(struct cor_str lines)
{
    while (lines.n > 0) {
        struct cor_str line = cor_str_cut(&lines, '\n');

        if (line.n > 0 && !is_event(line))
            return false;
    }
    return true;
}

/* Did a reactor answer? */
static bool is_reacted(struct cor_testing *testing, const struct cor_testing_action *action,
                       struct cor_http_response *response)
{
    const struct cor_testing_reaction *r = cor_testing_first_reaction(testing);

    for (; r; r = r->next) {
        struct cor_testing_answer answer = {{NULL, 0}, {NULL, 0}};
        int said;

        if (!cor_testing_matches(&r->pattern, action))
            continue;
        cor_lock_assert_none();
        said = r->fn(r->arg, action, &answer);
        if (said == 0)
            continue;
        if (said < 0)
            send_failure(response, said, answer.message);
        else if (cor_str_eqz(action->verb, "watch") && !are_events(answer.json))
            send_failure(response, -COR_EINTERNAL,
                         COR_STR("a reactor answers a watch with events, a line each: "
                                 "{\"type\":\"ADDED\",\"object\":{...}}"));
        else
            send_json(response, cor_str_eqz(action->verb, "create") ? 201 : 200, answer.json);
        return true;
    }
    return false;
}

static void fill_request(struct exchange *ex, const struct cor_http_request *http)
{
    struct cor_server_request *req = &ex->request;

    req->method = http->method;
    req->query = http->query;
    req->accept = cor_http_request_header(http, COR_STR("Accept"));
    req->content_type = cor_http_request_header(http, COR_STR("Content-Type"));
    req->user_agent = cor_http_request_header(http, COR_STR("User-Agent"));
    req->if_none_match = cor_http_request_header(http, COR_STR("If-None-Match"));
    req->body = http->body;
    req->user = &cor_testing_user;
    req->deadline_ms = cor_loop_now_ms(cor_http_response_loop(ex->response)) + REQUEST_MS;
}

static struct cor_testing_action action_of(const struct cor_server_request *req)
{
    const struct cor_request_info *info = &req->info;

    return (struct cor_testing_action){.verb = cor_strz(cor_api_verb_name(info->verb)),
                                       .group = info->group,
                                       .version = info->version,
                                       .resource = info->resource,
                                       .subresource = info->subresource,
                                       .ns = info->ns,
                                       .name = info->name,
                                       .query = req->query,
                                       .content_type = req->content_type,
                                       .body = req->body};
}

/* Records the request and asks the reactors. 0: the API answers it; 1: a reactor has; or a
 * failure. */
static int react(struct cor_testing *testing, const struct cor_server_request *req,
                 struct cor_http_response *response)
{
    struct cor_testing_action action = action_of(req);
    char *texts = NULL;
    int r = cor_testing_note(testing, &action);

    if (r == 0 && cor_testing_first_reaction(testing)) {
        r = cor_testing_keep(&action, &texts);
        if (r == 0)
            r = is_reacted(testing, &action, response);
    }
    cor_free(texts);
    return r;
}

void cor_testing_on_request(const struct cor_http_request *http, struct cor_http_response *resp,
                            void *arg)
{
    struct exchange *ex = cor_calloc(1, sizeof(*ex));
    struct cor_testing *testing = arg;
    int r = -COR_ENOMEM;

    if (ex) {
        ex->sink.ops = &sink_ops;
        ex->response = resp;
        fill_request(ex, http);
        r = cor_request_info_init(&ex->request.info, http->method, http->path, http->query);
    }
    if (r == 0 && ex->request.info.is_resource)
        r = react(testing, &ex->request, resp);
    if (r == 0) {
        cor_api_call(cor_api_loop(testing->api, 0), &ex->request, &ex->sink);
        return;
    }
    if (r == -COR_ETOOBIG)
        send_failure(resp, -COR_EINTERNAL, COR_STR("the fake has recorded too many actions"));
    else if (r < 0)
        send_failure(resp, r, COR_STR(""));
    if (ex)
        exchange_free(ex);
}
