/* A connection of a client, whatever it speaks: it is dialled, idles, ends. */
#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "http/http_client_int.h"
#include "loop/loop.h"
#include "net/stream/net.h"
#include "net/stream/stream.h"

static void finish_close(struct cor_http_link *l)
{
    struct cor_http_client *client = l->client;

    if (l->state != COR_HTTP_LINK_CLOSING || l->nclosing > 0)
        return;
    cor_timer_cancel(&l->timer);
    cor_dlist_remove(&l->link);
    cor_h1_free(l->h1);
    cor_free(l);
    cor_http_client_look_closed(client);
}

void cor_http_link_part_closed(void *arg)
{
    struct cor_http_link *l = arg;

    l->nclosing--;
    finish_close(l);
}

static void close_dial(struct cor_http_link *l)
{
    l->nclosing++;
    cor_dial_close(COR_STEAL(l->dial), cor_http_link_part_closed, l);
}

void cor_http_link_retire(struct cor_http_link *l)
{
    if (l->h1 && !cor_dlist_empty(&l->ready_link))
        l->client->nidle--;
    cor_dlist_remove(&l->ready_link);
}

void cor_http_link_set_stale(struct cor_http_link *l)
{
    if (l->state == COR_HTTP_LINK_CLOSING)
        return;
    cor_http_link_retire(l);
    l->is_stale = true;
    cor_timer_set(&l->timer, 0);
}

static void leave_state(struct cor_http_link *l)
{
    if (l->state < COR_HTTP_LINK_OPEN && !l->is_own)
        l->client->ndialling--;
    cor_http_link_retire(l);
}

void cor_http_link_close(struct cor_http_link *l)
{
    if (l->state == COR_HTTP_LINK_CLOSING)
        return;
    assert(cor_dlist_empty(&l->calls));
    leave_state(l);
    l->client->nlinks--;
    l->state = COR_HTTP_LINK_CLOSING;
    if (l->dial)
        close_dial(l);
    if (l->stream) {
        l->nclosing++;
        cor_stream_close(COR_STEAL(l->stream), cor_http_link_part_closed, l);
    }
    if (l->conn) {
        l->nclosing++;
        cor_client_conn_close(COR_STEAL(l->conn), cor_http_link_part_closed, l);
    }
    if (l->nclosing == 0)
        cor_timer_set(&l->timer, 0);
}

/* A session calls bytes that it cannot read EINVAL, and a stream that broke EIO; for the caller of
 * a request neither is a mistake of its own, nor one of a file. */
void cor_http_link_fail(struct cor_http_link *l, int r, const char *text)
{
    struct cor_http_client *client = l->client;
    struct cor_dlist calls, *it;
    bool was_dialling = l->state < COR_HTTP_LINK_OPEN && !l->is_own;

    if (r == -COR_EINVAL)
        r = -COR_EPROTOCOL;
    else if (r == -COR_EIO)
        r = -COR_EBROKEN;
    if (l->state == COR_HTTP_LINK_CLOSING)
        return;
    cor_dlist_init(&calls);
    cor_dlist_splice(&calls, &l->calls);
    cor_http_link_close(l);
    while ((it = cor_dlist_pop(&calls)))
        cor_http_call_lost(COR_CONTAINER_OF(it, struct cor_http_call, link), r, text, false);
    if (was_dialling)
        cor_http_client_dial_failed(client, r, text);
    cor_http_client_pump(client);
}

void cor_http_link_set_open(struct cor_http_link *l)
{
    struct cor_http_client *client = l->client;

    assert(l->state < COR_HTTP_LINK_OPEN);
    leave_state(l);
    l->state = COR_HTTP_LINK_OPEN;
    if (l->is_own)
        return;
    client->is_h1 = l->h1;
    if (l->is_stale)
        return;
    cor_dlist_push(&client->ready, &l->ready_link);
    client->nidle += l->h1 ? 1 : 0;
    cor_timer_set(&l->timer, COR_HTTP_CLIENT_IDLE_MS);
    cor_http_client_pump(client);
}

static void on_dialled(int r, const char *text, struct cor_stream *take_stream, void *arg)
{
    struct cor_http_link *l = arg;
    bool is_h2 = l->client->opts.knows_h2 && !l->is_own;

    close_dial(l);
    if (r < 0) {
        cor_http_link_fail(l, r, text);
        return;
    }
    if (l->client->opts.tls)
        is_h2 =
            cor_str_eqz(cor_stream_alpn(take_stream), "h2"); /* which an own link did not offer */
    r = is_h2 ? cor_http_h2_speak(l, take_stream) : cor_http_h1_speak(l, take_stream);
    if (r < 0) {
        l->nclosing++;
        cor_stream_close(take_stream, cor_http_link_part_closed, l);
        cor_http_link_fail(l, r, cor_err_text(r));
    }
}

/* Calls that waited for it wait for another one. */
static void end_stale(struct cor_http_link *l)
{
    struct cor_http_client *client = l->client;

    if (l->state == COR_HTTP_LINK_OPEN) {
        cor_http_link_fail(l, -COR_EIO, "the client certificate has changed");
        return;
    }
    cor_http_link_close(l);
    cor_http_client_pump(client);
}

static void on_timer(struct cor_timer *timer)
{
    struct cor_http_link *l = COR_CONTAINER_OF(timer, struct cor_http_link, timer);

    cor_timer_set(timer, COR_HTTP_CLIENT_FAR_MS);
    if (l->state == COR_HTTP_LINK_CLOSING)
        finish_close(l);
    else if (l->is_stale)
        end_stale(l);
    else if (l->state == COR_HTTP_LINK_OPEN && cor_dlist_empty(&l->calls))
        cor_http_link_close(l);
}

static int dial(struct cor_http_link *l)
{
    const struct cor_http_client *c = l->client;
    struct cor_dial_opts opts = {.host = c->host,
                                 .port = c->opts.port,
                                 .unix_path = c->unix_path,
                                 .tls = c->opts.tls,
                                 .server_name = c->server_name,
                                 .is_h1_only = l->is_own,
                                 .proxy = c->proxy.host ? &c->proxy : NULL,
                                 .resolve = c->opts.resolve,
                                 .resolve_arg = c->opts.resolve_arg,
                                 .timeout_ms = c->opts.connect_timeout_ms,
                                 .on_done = on_dialled,
                                 .arg = l};

    return cor_dial_open(c->net, &opts, &l->dial);
}

static int open_link(struct cor_http_client *c, bool is_own, struct cor_http_link **ret_link)
{
    struct cor_http_link *l = cor_calloc(1, sizeof(*l));
    int r;

    if (!l)
        return -COR_ENOMEM;
    l->client = c;
    l->is_own = is_own;
    cor_dlist_init(&l->ready_link);
    cor_dlist_init(&l->calls);
    cor_timer_init(&l->timer, cor_net_loop(c->net), on_timer);
    r = cor_timer_set(&l->timer, COR_HTTP_CLIENT_FAR_MS);
    if (r == 0)
        r = dial(l);
    if (r < 0) {
        cor_timer_cancel(&l->timer);
        cor_free(l);
        return r;
    }
    cor_dlist_push(&c->links, &l->link);
    c->nlinks++;
    *ret_link = l;
    return 0;
}

int cor_http_link_open(struct cor_http_client *c)
{
    struct cor_http_link *l;
    int r = open_link(c, false, &l);

    if (r == 0)
        c->ndialling++;
    return r;
}

int cor_http_link_open_own(struct cor_http_client *c, struct cor_http_call *call)
{
    struct cor_http_link *l;
    int r = open_link(c, true, &l);

    if (r < 0)
        return r;
    call->state = COR_HTTP_CALL_RUNNING;
    call->at = l;
    cor_dlist_push(&l->calls, &call->link);
    return 0;
}
