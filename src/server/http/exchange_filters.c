/* clang-format off */
/* The filters of an exchange: they decide about a request when its head has come, before a byte of
 * its body is read. cor_exchange_filter() runs them in upstream's order:
 *
 *   request info ──► authentication ──► impersonation ──► deadline ──► in-flight limits ──►
 *   authorization ──► WebSocket: is a watch asked for over one (websocket_answer.h)?
 *
 * Each filter returns 0, or the failure that ends the row:
 *   - -COR_EBUSY: too many requests are in flight, or too much is held for the sender; the answer is
 *     a 429;
 *   - any other: the answer is the Status that the filter has set (400, 401, 403; 500 without
 *     memory). `is_plain` says that the message of that Status is the whole answer.
 *
 * Authentication, impersonation and authorization may wait for a delegate (exchange_wait.h): the row
 * stops there, and goes on with the same filter when the answer has come.
 * Thread: the connection's loop. */
/* clang-format on */
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "loop/loop.h"
#include "server/access/impersonation.h"
#include "server/access/review_selectors.h"
#include "server/http/exchange_int.h"
#include "server/http/exchange_wait.h"
#include "server/http/websocket_answer.h"
#include "server/request/query_options.h"

/* One pass over the headers: the first header of each name counts. The names differ in length, so
 * that one comparison decides. */
void cor_exchange_read_head(struct cor_exchange *ex)
{
    struct cor_server_request *req = &ex->request;

    req->query = ex->http->query;
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
static void filter_set_row(struct cor_exchange *ex)
{
    const struct cor_request_info *info = &ex->request.info;
    const struct cor_served *served = cor_api_loop(ex->server->api, ex->shard)->served;
    const struct cor_resource_row *row =
        info->is_resource
            ? cor_served_find(served, info->group, info->version, info->resource, NULL)
            : NULL;

    ex->row = row ? cor_row_ref(row) : NULL;
    if (!row)
        cor_exchange_set_remote(ex, served);
}

static int filter_request_info(struct cor_exchange *ex)
{
    const struct cor_http_request *http = ex->http;
    struct cor_server_request *req = &ex->request;
    int r;

    req->method = http->method;
    cor_exchange_read_head(ex);
    req->user = &ex->identity.user;
    ex->is_dry_run =
        http->query.n > 0 && memmem(http->query.p, http->query.n, "dryRun=All", 10) != NULL;
    r = cor_request_info_init(&req->info, http->method, http->path, http->query);
    if (r < 0)
        return cor_status_set(&ex->status, r, "%s",
                              r == -COR_EINVAL ? "invalid URL escape" : cor_err_text(r));
    filter_set_row(ex);
    return 0;
}

/* What the connection holds is charged to the caller, not to the user whom the caller impersonates;
 * that of a front proxy, which brings the requests of many users, to the proxy.
 * A caller who is unknown or not authenticated stays charged to the address; also then a sender for
 * whom too much is held gets a 429 (-COR_EBUSY) in place of the 401. */
static int filter_authenticate(struct cor_exchange *ex)
{
    const struct cor_user *user = &ex->identity.user;
    enum cor_http_rank rank = COR_HTTP_UNKNOWN;
    int r = ex->server->authenticator.asks_delegate
                ? cor_exchange_authenticate(ex)
                : cor_authenticate(&ex->server->authenticator, ex->http, NULL, &ex->identity);
    int charged;

    if (r == COR_EXCHANGE_WAITS)
        return r;
    if (r == 0 && ex->identity.sender.n > 0)
        rank = COR_HTTP_MASTER;
    else if (r == 0 && !ex->identity.is_anonymous)
        rank = cor_user_is_in(user, COR_STR(COR_GROUP_MASTERS)) ? COR_HTTP_MASTER : COR_HTTP_USER;
    charged = cor_http_response_set_sender(
        ex->response, rank, ex->identity.sender.n > 0 ? ex->identity.sender : user->name);
    if (charged < 0)
        r = charged;
    return r < 0 ? cor_status_set_err(&ex->status, r) : 0;
}

static int filter_may_impersonate(void *arg, const struct cor_attributes *a, struct cor_status *st)
{
    struct cor_exchange *ex = arg;

    assert(st == &ex->status);
    return cor_exchange_authorize(ex, a, true);
}

static int filter_impersonate(struct cor_exchange *ex)
{
    int r;

    if (!ex->may_impersonate)
        return 0;
    cor_exchange_begin_checks(ex);
    r = cor_impersonate(filter_may_impersonate, ex, ex->http, &ex->identity, &ex->status);
    ex->is_plain = r == -COR_EINVAL;
    if (r == 0)
        cor_exchange_end_checks(ex);
    return r;
}

static bool filter_is_reading(const struct cor_exchange *ex)
{
    const struct cor_request_info *info = &ex->request.info;

    if (!info->is_resource)
        return ex->request.method == COR_HTTP_GET || ex->request.method == COR_HTTP_HEAD;
    return info->verb == COR_API_VERB_GET || info->verb == COR_API_VERB_LIST ||
           info->verb == COR_API_VERB_WATCH;
}

/* ?timeout= may shorten the time that a request has. A watch has timeoutSeconds instead. */
static int filter_deadline(struct cor_exchange *ex)
{
    uint64_t timeout_ms = ex->server->request_timeout_ms;
    uint64_t now_ms = cor_loop_now_ms(cor_http_response_loop(ex->response));
    int64_t ns;
    int r;

    if (cor_exchange_is_long(ex))
        return 0;
    r = cor_api_query_timeout(ex->http->query, &ns, &ex->status);
    if (r < 0)
        return r;
    if (ns > 0 && (uint64_t)ns / 1000000 < timeout_ms) {
        timeout_ms = (uint64_t)ns / 1000000;
        cor_http_response_set_deadline(ex->response, now_ms + timeout_ms);
    }
    if (!filter_is_reading(ex) && ex->request.info.verb != COR_API_VERB_DELETECOLLECTION &&
        timeout_ms > COR_WRITE_TIMEOUT_MS)
        timeout_ms = COR_WRITE_TIMEOUT_MS;
    ex->timeout_ms = timeout_ms;
    return 0;
}

struct cor_flight *cor_exchange_flight(const struct cor_exchange *ex)
{
    struct cor_str path = ex->request.info.path;
    bool is_probe = !ex->request.info.is_resource && ex->request.method == COR_HTTP_GET &&
                    (cor_str_eqz(path, "/livez") || cor_str_eqz(path, "/readyz") ||
                     cor_str_eqz(path, "/healthz"));

    if (cor_exchange_is_long(ex) || is_probe)
        return NULL;
    return filter_is_reading(ex) ? &ex->server->reading : &ex->server->mutating;
}

/* Only looks whether there is a place, so that a body which would be refused is not read. No place
 * is taken before the body is whole: clients that dribble their bodies would hold all places. */
static int filter_in_flight(struct cor_exchange *ex)
{
    const struct cor_flight *flight = cor_exchange_flight(ex);

    return !flight || cor_flight_has_place(flight, &ex->identity.user) ? 0 : -COR_EBUSY;
}

/* With what the request selects, as upstream's RequestInfo has it: a list or watch of one name has
 * that name. */
static int filter_ask_with_selectors(struct cor_exchange *ex, struct cor_attributes *a)
{
    struct cor_review_selectors selectors;
    int r;

    if (cor_review_selectors_read(&ex->request.info, ex->http->query, &selectors) < 0)
        return cor_status_no_memory(&ex->status);
    if (selectors.name.n > 0)
        a->name = selectors.name;
    a->selectors = &selectors;
    r = cor_exchange_authorize(ex, a, false);
    cor_review_selectors_deinit(&selectors);
    return r;
}

static int filter_authorize(struct cor_exchange *ex)
{
    struct cor_attributes a = cor_attributes_of_request(&ex->request.info, &ex->identity);
    char method[sizeof(ex->method_name)];
    int r;

    a.is_dry_run = ex->is_dry_run;
    if (!a.is_resource) {
        size_t n = 0;

        for (; ex->method_name[n]; n++)
            method[n] = (char)tolower((unsigned char)ex->method_name[n]);
        a.verb = cor_str(method, n);
    }
    cor_exchange_begin_checks(ex);
    r = cor_authorizer_reads_selectors(cor_api_settings(ex->server->api)->authorizer)
            ? filter_ask_with_selectors(ex, &a)
            : cor_exchange_authorize(ex, &a, false);
    ex->is_plain = r == -COR_EINTERNAL;
    return r;
}

/* Is it a watch over WebSocket? Other requests that ask for one are answered without. */
static int filter_websocket(struct cor_exchange *ex)
{
    bool is_asked = !ex->remote && ex->upgrade.n > 0 && cor_exchange_is_long(ex) &&
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

static int filter_first(struct cor_exchange *ex)
{
    int r = filter_request_info(ex);

    if (r < 0 && cor_http_response_set_sender(ex->response, COR_HTTP_UNKNOWN, COR_STR("")) < 0)
        r = -COR_EBUSY;
    return r;
}

int cor_exchange_filter(struct cor_exchange *ex)
{
    int r;

    assert(ex->http && !ex->sink_cbs);
    switch (ex->step) {
    case COR_EXCHANGE_FIRST:
        r = filter_first(ex);
        if (r < 0)
            return r;
        ex->step = COR_EXCHANGE_AUTHENTICATE;
        __attribute__((fallthrough));
    case COR_EXCHANGE_AUTHENTICATE:
        r = filter_authenticate(ex);
        if (r != 0)
            return r;
        ex->step = COR_EXCHANGE_IMPERSONATE;
        __attribute__((fallthrough));
    case COR_EXCHANGE_IMPERSONATE:
        r = filter_impersonate(ex);
        if (r == 0)
            r = filter_deadline(ex);
        if (r == 0)
            r = filter_in_flight(ex);
        if (r != 0)
            return r;
        ex->step = COR_EXCHANGE_AUTHORIZE;
        __attribute__((fallthrough));
    case COR_EXCHANGE_AUTHORIZE:
        r = filter_authorize(ex);
        if (r == 0)
            r = filter_websocket(ex);
        return r;
    }
    return -COR_EINTERNAL;
}
