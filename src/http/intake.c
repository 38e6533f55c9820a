/* clang-format off */
/* The body of a request whose handler does not want it whole: it is held back until the handler
 * decides, or shown in pieces.
 *
 *   on_head ──► hold_body ──► (a later turn) ──► collect_body: as any other request
 *      │                            └──────────► stream_body ─┐
 *      └──► stream_body ──► on_body … on_body_end ◄───────────┘
 *
 * What a handler decides outside on_head is done from a later turn (ops->wake), because no function
 * of a response calls back. What it does not take of a piece waits in resp->body, charged as a
 * collected body is; meanwhile HTTP/1.1 does not read the socket and HTTP/2 does not open the
 * window, so that one read or one window is the most that waits. No room for it: a 429, or the end
 * of a connection whose answer has begun.
 * Thread: the connection's loop. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "http/http_server_int.h"

static void assert_undecided(const struct cor_http_response *resp)
{
    assert(cor_loop_is_current(resp->conn->worker->loop));
    assert(cor_response_is_held(resp) && !resp->intake_is_due);
    assert(resp->in_head || resp->intake == COR_INTAKE_HOLD);
}

/* Outside on_head, who decides is called back later. */
static void decide(struct cor_http_response *resp, enum cor_http_intake intake)
{
    resp->intake = intake;
    if (resp->in_head)
        return;
    resp->intake_is_due = true;
    resp->ops->wake(resp);
}

void cor_http_response_hold_body(struct cor_http_response *resp)
{
    assert_undecided(resp);
    assert(resp->in_head && resp->state == COR_RESPONSE_HELD);
    resp->intake = COR_INTAKE_HOLD;
    resp->body.max = COR_HTTP_KEPT_MAX;
}

void cor_http_response_collect_body(struct cor_http_response *resp)
{
    assert_undecided(resp);
    assert(resp->intake == COR_INTAKE_HOLD && resp->state == COR_RESPONSE_HELD);
    decide(resp, COR_INTAKE_COLLECT);
}

void cor_http_response_stream_body(struct cor_http_response *resp,
                                   const struct cor_http_body_cbs *cbs, void *arg)
{
    assert_undecided(resp);
    assert(cbs->on_body && cbs->on_body_end);
    resp->body.max = COR_HTTP_KEPT_MAX;
    resp->body_cbs = cbs;
    resp->body_arg = arg;
    decide(resp, COR_INTAKE_STREAM);
}

void cor_http_response_resume_body(struct cor_http_response *resp)
{
    assert(cor_loop_is_current(resp->conn->worker->loop) && cor_response_is_held(resp));
    if (!resp->is_blocked)
        return;
    resp->is_blocked = false;
    resp->ops->wake(resp);
}

uint64_t cor_http_response_body_length(const struct cor_http_response *resp)
{
    return resp->body_length;
}

bool cor_response_is_streaming(const struct cor_http_response *resp)
{
    return resp->intake == COR_INTAKE_STREAM && !resp->intake_is_due && cor_response_is_held(resp);
}

bool cor_response_defers_body(const struct cor_http_response *resp)
{
    return (resp->intake != COR_INTAKE_COLLECT || resp->intake_is_due) &&
           cor_response_is_held(resp);
}

/* Drops what the handler has taken, once that is worth the move. */
static void trim_kept(struct cor_http_response *resp)
{
    struct cor_buf *kept = &resp->body;

    if (resp->body_done == kept->n) {
        cor_buf_deinit(kept);
        resp->body_done = 0;
        cor_conn_charge(resp->conn, &resp->body_charged, 0);
    } else if (resp->body_done > kept->n / 2) {
        memmove(kept->p, kept->p + resp->body_done, kept->n - resp->body_done);
        cor_buf_truncate(kept, kept->n - resp->body_done);
        resp->body_done = 0;
    }
}

/* Shows a piece, and returns how much was taken of it; all of it when the response is over. */
static size_t show(struct cor_http_response *resp, struct cor_str piece)
{
    size_t taken = resp->body_cbs->on_body(resp, piece, resp->body_arg);

    if (!cor_response_is_streaming(resp))
        return piece.n;
    assert(taken <= piece.n);
    resp->is_blocked = taken < piece.n;
    return taken;
}

int cor_response_pass_body(struct cor_http_response *resp, struct cor_str piece, size_t *ret_taken)
{
    size_t taken = 0;

    if (cor_response_is_streaming(resp) && !resp->is_blocked && resp->body.n == 0)
        taken = show(resp, piece);
    *ret_taken = taken;
    return taken < piece.n ? cor_response_take_body(resp, cor_str_from(piece, taken)) : 0;
}

size_t cor_response_show_kept(struct cor_http_response *resp)
{
    struct cor_str rest = cor_str_from(cor_buf_str(&resp->body), resp->body_done);
    size_t taken;

    if (rest.n == 0)
        return 0;
    taken = show(resp, rest);
    if (!cor_response_is_streaming(resp))
        return 0;
    resp->body_done += taken;
    trim_kept(resp);
    return taken;
}

void cor_response_show_end(struct cor_http_response *resp)
{
    if (!cor_response_is_streaming(resp) || !resp->body_ended || resp->body_end_told ||
        resp->body.n > 0)
        return;
    resp->body_end_told = true;
    resp->body_cbs->on_body_end(resp, resp->body_arg);
}
