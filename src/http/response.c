#include "http/response.h"

#include <assert.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "http/http_server_int.h"

/* How long requests may take of one turn of a loop. Those that are left wait for the next turn. */
#define REQUESTS_US 4000

void cor_response_init(struct cor_http_response *resp, struct cor_conn *c,
                       const struct cor_response_ops *ops)
{
    *resp = (struct cor_http_response){.ops = ops, .conn = c};
    cor_buf_init(&resp->body, cor_conn_limits(c)->body_max);
    cor_buf_init(&resp->tail, COR_HTTP_TAIL_MAX);
}

void cor_response_reset(struct cor_http_response *resp)
{
    size_t charged = resp->body_charged + resp->tail_charged + resp->handler_charged;

    if (charged > 0)
        cor_budget_give(&resp->conn->share, charged);
    cor_buf_deinit(&resp->body);
    cor_buf_deinit(&resp->tail);
    cor_response_init(resp, resp->conn, resp->ops);
}

void cor_http_response_set_cbs(struct cor_http_response *resp,
                               const struct cor_http_response_cbs *cbs, void *arg)
{
    resp->cbs = cbs;
    resp->arg = arg;
}

void *cor_http_response_arg(const struct cor_http_response *resp)
{
    return resp->arg;
}

struct cor_loop *cor_http_response_loop(const struct cor_http_response *resp)
{
    return resp->conn->worker->loop;
}

int cor_http_response_set_sender(struct cor_http_response *resp, enum cor_http_rank rank,
                                 struct cor_str name)
{
    int r = rank == COR_HTTP_UNKNOWN ? 0 : cor_conn_set_sender(resp->conn, rank, name);

    return r == 0 ? cor_budget_check(&resp->conn->share) : r;
}

int cor_http_response_hold(struct cor_http_response *resp, size_t bytes)
{
    return cor_conn_charge(resp->conn, &resp->handler_charged, bytes);
}

uint64_t cor_http_response_deadline(const struct cor_http_response *resp)
{
    return resp->deadline_ms;
}

void cor_http_response_set_timeout_text(struct cor_http_response *resp, const char *text)
{
    resp->timeout_text = text;
}

void cor_http_response_set_deadline(struct cor_http_response *resp, uint64_t deadline_ms)
{
    resp->deadline_ms = deadline_ms;
    resp->ops->settle(resp);
}

bool cor_worker_has_time(struct cor_http_worker *w, bool has_waited)
{
    return cor_turn_share_take(&w->turn_share, w->loop, REQUESTS_US, has_waited);
}

struct cor_str cor_worker_date(struct cor_http_worker *w)
{
    uint64_t now_s = cor_loop_now_ms(w->loop) / 1000;
    time_t wall_s;
    struct tm tm;

    if (now_s != w->date_s || !w->date[0]) {
        wall_s = (time_t)(cor_clock_wall_ms(cor_clock_real()) / 1000);
        gmtime_r(&wall_s, &tm);
        strftime(w->date, sizeof(w->date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
        w->date_s = now_s;
    }
    return cor_strz(w->date);
}

static void assert_state(const struct cor_http_response *resp, enum cor_http_response_state state)
{
    assert(resp->state == state && cor_loop_is_current(resp->conn->worker->loop));
}

void cor_http_response_start(struct cor_http_response *resp, int status,
                             const struct cor_http_header *headers, size_t nheaders,
                             uint64_t length)
{
    assert_state(resp, COR_RESPONSE_HELD);
    resp->state = COR_RESPONSE_STARTED;
    resp->left = length;
    resp->is_bodiless = status == 204 || status == 304 ||
                        (resp->has_request && resp->request.method == COR_HTTP_HEAD);
    resp->ops->start(resp, status, headers, nheaders, length);
}

bool cor_http_response_can_upgrade(const struct cor_http_response *resp)
{
    return resp->ops->upgrade != NULL && resp->body_length == 0;
}

void cor_http_response_upgrade(struct cor_http_response *resp,
                               const struct cor_http_header *headers, size_t nheaders,
                               struct cor_http_upgrade *take_upgrade)
{
    assert_state(resp, COR_RESPONSE_HELD);
    assert(cor_http_response_can_upgrade(resp));
    resp->state = COR_RESPONSE_STARTED;
    resp->left = COR_HTTP_LENGTH_UNKNOWN;
    resp->ops->upgrade(resp, headers, nheaders, take_upgrade);
}

void cor_http_response_tunnel(struct cor_http_response *resp, const struct cor_http_header *headers,
                              size_t nheaders)
{
    assert_state(resp, COR_RESPONSE_HELD);
    assert(cor_http_response_can_upgrade(resp) && resp->intake == COR_INTAKE_STREAM);
    resp->state = COR_RESPONSE_STARTED;
    resp->left = COR_HTTP_LENGTH_UNKNOWN;
    resp->ops->tunnel(resp, headers, nheaders);
}

size_t cor_http_response_writev(struct cor_http_response *resp, const struct cor_str *spans,
                                size_t nspans, size_t skip)
{
    size_t n = 0, taken;

    assert_state(resp, COR_RESPONSE_STARTED);
    for (size_t i = 0; i < nspans; i++)
        n += spans[i].n;
    assert(skip <= n);
    n -= skip;
    if (n == 0)
        return 0;
    if (resp->is_bodiless) {
        return n;
    }
    assert(n <= resp->left);
    taken = resp->ops->write(resp, spans, nspans, skip, n);
    if (resp->left != COR_HTTP_LENGTH_UNKNOWN)
        resp->left -= taken;
    resp->is_short = taken < n;
    return taken;
}

size_t cor_http_response_write(struct cor_http_response *resp, struct cor_str bytes)
{
    return cor_http_response_writev(resp, &bytes, 1, 0);
}

void cor_http_response_end(struct cor_http_response *resp)
{
    bool is_whole = resp->is_bodiless || resp->left == 0 || resp->left == COR_HTTP_LENGTH_UNKNOWN;

    assert_state(resp, COR_RESPONSE_STARTED);
    resp->state = COR_RESPONSE_NONE;
    if (is_whole)
        resp->ops->end(resp);
    else
        resp->ops->cut(resp);
}

void cor_http_response_abort(struct cor_http_response *resp)
{
    resp->state = COR_RESPONSE_NONE;
    resp->ops->cut(resp);
}

void cor_response_pump(struct cor_http_response *resp)
{
    struct cor_str rest = cor_str_from(cor_buf_str(&resp->tail), resp->tail_done);

    resp->state = COR_RESPONSE_STARTED;
    resp->tail_done += cor_http_response_write(resp, rest);
    if (resp->tail_done == resp->tail.n)
        cor_http_response_end(resp);
    else
        resp->state = COR_RESPONSE_ENDED;
}

void cor_http_response_send(struct cor_http_response *resp, int status,
                            const struct cor_http_header *headers, size_t nheaders,
                            struct cor_str body)
{
    size_t taken;

    cor_http_response_start(resp, status, headers, nheaders, body.n);
    taken = cor_http_response_write(resp, body);
    if (taken == body.n) {
        cor_http_response_end(resp);
        return;
    }
    resp->state = COR_RESPONSE_ENDED;
    if (cor_buf_adds(&resp->tail, cor_str_from(body, taken)) < 0) {
        resp->ops->cut(resp);
        return;
    }
    resp->tail_charged = resp->tail.cap;
    cor_budget_add(&resp->conn->share, resp->tail_charged);
}
