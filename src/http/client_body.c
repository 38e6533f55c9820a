/* clang-format off */
/* The bodies of a call that a caller handles piece by piece: what it writes, and when it wants no
 * more of the answer for a while.
 *
 *   cor_http_call_write ──► short ──► on_writable ──► …        cor_http_call_end_body
 *   on_body ──► cor_http_call_pause ──► (kept) ──► cor_http_call_resume ──► on_body
 *
 * No function calls back: a call that is resumed, or that may write because it has a connection
 * now, is put on client->woken, and looked at when the timer client->soon fires, at once.
 * Thread: the loop's of the client. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "http/http_client_int.h"
#include "loop/loop.h"
#include "net/stream/net.h"

static void assert_thread(const struct cor_http_call *call)
{
    assert(cor_loop_is_current(cor_net_loop(call->client->net)));
}

void cor_http_call_wake(struct cor_http_call *call)
{
    if (cor_dlist_empty(&call->woken_link))
        cor_dlist_push(&call->client->woken, &call->woken_link);
    cor_timer_set(&call->client->soon, 0);
}

void cor_http_call_set_started(struct cor_http_call *call)
{
    call->is_started = true;
    cor_http_call_wake(call);
}

size_t cor_http_call_write(struct cor_http_call *call, struct cor_str bytes)
{
    size_t taken = 0;

    assert_thread(call);
    assert(call->streams_body || call->wants_upgrade);
    assert(!call->body_ended);
    if (bytes.n == 0)
        return 0;
    if (call->state == COR_HTTP_CALL_RUNNING && (call->streams_body || call->is_tunnel)) {
        assert(bytes.n <= call->body_left);
        taken = call->at->h1 ? cor_http_h1_write(call, bytes) : cor_http_h2_write(call, bytes);
    }
    call->body_begun = call->body_begun || taken > 0;
    call->wants_writable = taken < bytes.n;
    if (call->body_left != COR_HTTP_LENGTH_UNKNOWN)
        call->body_left -= taken;
    return taken;
}

void cor_http_call_end_body(struct cor_http_call *call)
{
    assert_thread(call);
    assert((call->streams_body || call->is_tunnel) && !call->body_ended);
    if (call->state == COR_HTTP_CALL_DUE)
        return;
    assert(call->body_left == 0 || call->body_left == COR_HTTP_LENGTH_UNKNOWN);
    call->body_ended = true;
    call->wants_writable = false;
    if (call->state != COR_HTTP_CALL_RUNNING)
        return;
    if (call->at->h1)
        cor_http_h1_end_body(call);
    else
        cor_http_h2_end_body(call);
}

void cor_http_call_pause(struct cor_http_call *call)
{
    assert_thread(call);
    call->is_paused = true;
    if (call->state == COR_HTTP_CALL_RUNNING && call->at->h1)
        cor_http_h1_pause(call);
}

void cor_http_call_resume(struct cor_http_call *call)
{
    assert_thread(call);
    if (!call->is_paused)
        return;
    call->is_paused = false;
    call->is_resumed = true;
    if (call->state == COR_HTTP_CALL_RUNNING || call->state == COR_HTTP_CALL_KEPT)
        cor_http_call_wake(call);
}

int cor_http_call_show(struct cor_http_call *call, struct cor_str piece)
{
    struct cor_http_client *c = call->client;
    bool is_alive;
    int r;

    if (call->redirect)
        return 0;
    c->current = call;
    r = call->cbs->on_body(call->arg, piece);
    is_alive = c->current == call;
    c->current = NULL;
    if (r < 0 && is_alive)
        cor_http_call_end(call, r, cor_err_text(r));
    return is_alive ? r : -COR_ECANCELED;
}

void cor_http_call_writable(struct cor_http_call *call)
{
    if (!call->wants_writable || call->state != COR_HTTP_CALL_RUNNING)
        return;
    call->wants_writable = false;
    if (call->cbs->on_writable)
        call->cbs->on_writable(call->arg);
}

int cor_http_call_keep(struct cor_http_call *call, struct cor_str bytes)
{
    size_t before = call->kept.cap;
    int r = cor_buf_adds(&call->kept, bytes);

    if (r == 0 && call->kept.cap != before && call->cbs->on_kept)
        r = call->cbs->on_kept(call->arg, call->kept.cap);
    return r;
}

/* One callback at a time: the call may be gone after it. */
static void look_at(struct cor_http_call *call)
{
    bool is_h1 = call->state == COR_HTTP_CALL_RUNNING && call->at->h1;

    if (call->is_started) {
        call->is_started = false;
        if (call->is_resumed)
            cor_http_call_wake(call);
        cor_http_call_writable(call);
        return;
    }
    call->is_resumed = false;
    if (!call->is_paused && is_h1)
        cor_http_h1_resume(call);
    else if (!call->is_paused)
        cor_http_h2_resume(call);
}

void cor_http_client_run_woken(struct cor_http_client *c)
{
    struct cor_dlist batch, *link;

    cor_dlist_init(&batch);
    cor_dlist_splice(&batch, &c->woken);
    while ((link = cor_dlist_pop(&batch)))
        look_at(COR_CONTAINER_OF(link, struct cor_http_call, woken_link));
}
