#include "net/stream/net.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/stream/net_int.h"

/* What callbacks take of the end of a turn. */
#define CALLS_US 2000

struct cor_block *cor_net_block_get(struct cor_net *net)
{
    struct cor_block *block = net->free_blocks;

    if (block) {
        net->free_blocks = block->next;
        net->nfree--;
    } else {
        block = cor_alloc(sizeof(*block));
        if (!block)
            return NULL;
    }
    block->next = NULL;
    block->n = 0;
    net->nused++;
    net->nfresh++;
    return block;
}

void cor_net_block_put(struct cor_net *net, struct cor_block *block)
{
    net->nused--;
    if (net->nfree == COR_BLOCKS_KEPT_MAX) {
        cor_free(block);
        return;
    }
    block->next = net->free_blocks;
    net->free_blocks = block;
    net->nfree++;
}

static void call_back(struct cor_stream *s)
{
    size_t waiting;
    bool has_room;

    if (s->open_is_due) {
        s->open_is_due = false;
        if (s->ssl)
            cor_tls_session_start(s);
        else
            s->cbs->on_open(s, s->arg);
    }
    has_room = s->wants_writable && cor_stream_room(s) >= s->out_max / 2;
    if ((has_room || s->wants_turn) && !s->is_failed) {
        s->wants_turn = false;
        s->wants_writable = s->wants_writable && !has_room;
        s->cbs->on_writable(s, s->arg);
    }
    if (s->left_is_due && s->state == COR_STREAM_OPEN && !cor_dlist_empty(&s->unread_link))
        s->cbs->on_left(s, s->arg);
    s->left_is_due = false;
    if (s->end_is_due && s->state == COR_STREAM_ENDED) {
        s->end_is_due = false;
        s->cbs->on_end(s, s->why, s->arg);
    }
    if (s->failure < 0 && s->state == COR_STREAM_ENDED) {
        int failure = s->failure;

        s->failure = 0;
        s->cbs->on_end(s, failure, s->arg);
    }
    if (s->drained_is_due && s->state != COR_STREAM_CLOSING) {
        s->drained_is_due = false;
        s->cbs->on_drained(s, s->arg);
    }
    waiting = s->out_n + s->in_flight;
    if (waiting != s->told_waiting && s->cbs->on_waiting && s->state != COR_STREAM_CLOSING) {
        s->told_waiting = waiting;
        s->cbs->on_waiting(s, waiting, s->arg);
    }
}

static void on_busy(uv_idle_t *busy)
{
}

/* Streams that a callback adds here wait for the next turn, so that one with much to send leaves
 * the others their share. After callbacks the idle handle keeps the loop from sleeping: there may
 * be new output, and other handlers of the turn's end have run already. */
void cor_net_keep_awake(struct cor_net *net)
{
    uv_idle_start(&net->busy, on_busy);
}

/* A callback may write 256 KB. Those for which the turn has no time come first in the next one. */
static void call_all_back(struct cor_net *net)
{
    struct cor_dlist batch;

    cor_dlist_init(&batch);
    cor_dlist_splice(&batch, &net->wakes);
    while (!cor_dlist_empty(&batch) && cor_turn_share_take(&net->calls, net->loop, CALLS_US, true))
        call_back(COR_CONTAINER_OF(cor_dlist_pop(&batch), struct cor_stream, wake_link));
    cor_dlist_splice(&batch, &net->wakes);
    cor_dlist_splice(&net->wakes, &batch);
}

static void on_before_poll(uv_prepare_t *prepare)
{
    struct cor_net *net = prepare->data;

    cor_net_flush(net);
    if (cor_dlist_empty(&net->wakes) && cor_dlist_empty(&net->dirty)) {
        uv_idle_stop(&net->busy);
    } else {
        uv_idle_start(&net->busy, on_busy);
        call_all_back(net);
    }
    cor_handshakes_call(net);
    net->turn++;
}

static void free_net(struct cor_net *net)
{
    struct cor_block *block;

    while ((block = net->free_blocks)) {
        net->free_blocks = block->next;
        cor_free(block);
    }
    cor_free(net->in);
    cor_free(net->plain);
    cor_free(net->cipher);
    cor_free(net);
}

int cor_net_open(struct cor_loop *loop, struct cor_net **ret_net)
{
    struct cor_net *net = cor_calloc(1, sizeof(*net));

    if (!net)
        return -COR_ENOMEM;
    net->in = cor_alloc(COR_IN_BYTES);
    net->plain = cor_alloc(COR_BLOCK_BYTES);
    net->cipher = cor_alloc(COR_CIPHER_BYTES);
    if (!net->in || !net->plain || !net->cipher) {
        free_net(net);
        return -COR_ENOMEM;
    }
    net->loop = loop;
    net->sends.are_alike = true;
    cor_dlist_init(&net->dirty);
    cor_dlist_init(&net->wakes);
    cor_handshakes_init(&net->handshakes);
    cor_unread_init(&net->unread, loop);
    uv_prepare_init(cor_loop_uv(loop), &net->before_poll);
    uv_idle_init(cor_loop_uv(loop), &net->busy);
    net->before_poll.data = net->busy.data = net;
    uv_prepare_start(&net->before_poll, on_before_poll);
    *ret_net = net;
    return 0;
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct cor_net *net = handle->data;
    void (*on_closed)(void *arg) = net->on_closed;
    void *arg = net->arg;

    if (--net->nclosing > 0)
        return;
    free_net(net);
    if (on_closed)
        on_closed(arg);
}

void cor_net_close(struct cor_net *net, void (*on_closed)(void *arg), void *arg)
{
    assert(cor_loop_is_current(net->loop));
    assert(net->nhandles == 0 && net->nused == 0);
    cor_unread_deinit(&net->unread);
    net->on_closed = on_closed;
    net->arg = arg;
    net->nclosing = 2;
    uv_close((uv_handle_t *)&net->before_poll, on_handle_closed);
    uv_close((uv_handle_t *)&net->busy, on_handle_closed);
}

uint64_t cor_net_turn(const struct cor_net *net)
{
    return net->turn;
}

void cor_net_use_dns(struct cor_net *net, const char *servers)
{
    net->has_dns = true;
    net->dns_servers = servers;
}

struct cor_loop *cor_net_loop(const struct cor_net *net)
{
    return net->loop;
}
