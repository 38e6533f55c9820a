/* The session itself: how it is made, its turns, its end. nghttp2 keeps the protocol's state; this
 * file does the rest: callbacks, limits on input, and as little buffering as possible. */
#include "net/session/h2.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/session/h2_int.h"

/* What a client opens before it knows the server's limit: RFC 9113 wants that to be no lower. */
#define STREAMS_BEFORE_SETTINGS 100

/* Of a head that is sent, as nghttp2 estimates it: the text of the largest one that is read, and
 * what each field adds. A longer one would be dropped without a word. */
#define SEND_BLOCK_MAX (2 * COR_H2_HEAD_MAX)

/* The PING between the two steps of a shutdown. */
static const uint8_t shutdown_ping[8] = {'s', 'h', 'u', 't', 'd', 'o', 'w', 'n'};

static void *mem_alloc(size_t n, void *arg)
{
    return cor_alloc(n);
}

static void mem_free(void *p, void *arg)
{
    cor_free(p);
}

static void *mem_calloc(size_t n, size_t size, void *arg)
{
    return cor_calloc(n, size);
}

static void *mem_realloc(void *p, size_t n, void *arg)
{
    return cor_realloc(p, n);
}

void cor_h2_fail(struct cor_h2 *h, int r, const char *text)
{
    if (h->r < 0)
        return;
    h->r = r;
    if (text != h->error)
        snprintf(h->error, sizeof(h->error), "%s", text);
    if (!h->is_calling)
        h->cbs->want_turn(h->arg);
}

void cor_h2_fail_by(struct cor_h2 *h, int ng_error)
{
    if (ng_error == NGHTTP2_ERR_NOMEM)
        cor_h2_fail(h, -COR_ENOMEM, "out of memory");
    else if (ng_error == NGHTTP2_ERR_FLOODED)
        cor_h2_fail(h, -COR_EBUSY, "too many control frames to answer");
    else
        cor_h2_fail(h, -COR_EINVAL, nghttp2_strerror(ng_error));
}

void cor_h2_flush(struct cor_h2 *h)
{
    int e;

    if (h->in_recv || h->r < 0)
        return;
    h->is_blocked = false;
    h->npongs = 0;
    e = nghttp2_session_send(h->ng);
    if (e < 0)
        cor_h2_fail_by(h, e);
    if (h->is_blocked)
        h->cbs->want_turn(h->arg);
}

static int make_session(struct cor_h2 *h, nghttp2_session_callbacks *cbs, nghttp2_option *option)
{
    nghttp2_mem mem = {NULL, mem_alloc, mem_free, mem_calloc, mem_realloc};

    cor_h2_set_recv_callbacks(cbs);
    cor_h2_set_send_callbacks(cbs);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_max_outbound_ack(option, COR_H2_ACKS_MAX);
    nghttp2_option_set_max_settings(option, COR_H2_SETTINGS_MAX);
    nghttp2_option_set_peer_max_concurrent_streams(option, STREAMS_BEFORE_SETTINGS);
    nghttp2_option_set_max_reserved_remote_streams(option, 0);
    nghttp2_option_set_max_send_header_block_length(option, SEND_BLOCK_MAX);
    if (h->role == COR_H2_SERVER)
        return nghttp2_session_server_new3(&h->ng, cbs, h, option, &mem);
    return nghttp2_session_client_new3(&h->ng, cbs, h, option, &mem);
}

static int new_session(struct cor_h2 *h)
{
    nghttp2_session_callbacks *cbs = NULL;
    nghttp2_option *option = NULL;
    int e = nghttp2_session_callbacks_new(&cbs);

    if (e == 0)
        e = nghttp2_option_new(&option);
    if (e == 0)
        e = make_session(h, cbs, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(cbs);
    return e;
}

/* SETTINGS_NO_RFC7540_PRIORITIES is not said: nghttp2 1.52 then keeps a pointer to freed memory
 * when an allocation fails while it takes a body. */
static int say_settings(struct cor_h2 *h)
{
    bool is_server = h->role == COR_H2_SERVER;
    nghttp2_settings_entry entries[] = {
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, h->limits->window},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)h->limits->head_max},
        {is_server ? NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS : NGHTTP2_SETTINGS_ENABLE_PUSH,
         is_server ? h->limits->streams_max : 0},
    };
    int e = nghttp2_submit_settings(h->ng, NGHTTP2_FLAG_NONE, entries, COR_ARRAY_LEN(entries));

    if (e == 0)
        e = cor_h2_open_window(h);
    return e;
}

int cor_h2_new(enum cor_h2_role role, const struct cor_h2_limits *limits,
               const struct cor_h2_cbs *cbs, void *arg, struct cor_h2 **ret_h2)
{
    struct cor_h2 *h = cor_calloc(1, sizeof(*h));

    if (!h)
        return -COR_ENOMEM;
    h->role = role;
    h->limits = limits;
    h->cbs = cbs;
    h->arg = arg;
    h->share_max = SIZE_MAX;
    cor_dlist_init(&h->streams);
    cor_dlist_init(&h->ended);
    cor_dlist_init(&h->waiting);
    cor_dlist_init(&h->gone);
    cor_buf_init(&h->block.bytes, limits->head_max);
    cor_token_bucket_init(&h->control, COR_H2_CONTROL_PER_S, COR_H2_CONTROL_BURST, 0);
    cor_token_bucket_init(&h->resets, COR_H2_RESETS_PER_S, COR_H2_RESETS_BURST, 0);
    cor_token_bucket_init(&h->expanded, COR_H2_EXPANDED_PER_S, COR_H2_EXPANDED_BURST, 0);
    if (new_session(h) < 0 || say_settings(h) < 0) {
        cor_h2_free(h);
        return -COR_ENOMEM;
    }
    *ret_h2 = h;
    return 0;
}

struct cor_h2 *cor_h2_free(struct cor_h2 *h)
{
    if (!h)
        return NULL;
    nghttp2_session_del(h->ng);
    COR_DLIST_FOREACH_SAFE(link, &h->streams)
        cor_h2_stream_free(COR_CONTAINER_OF(link, struct cor_h2_stream, link));
    cor_h2_block_deinit(&h->block);
    return cor_free(h);
}

static void tell_ended(struct cor_h2 *h)
{
    struct cor_dlist *link;

    while ((link = cor_dlist_pop(&h->ended))) {
        struct cor_h2_stream *s = COR_CONTAINER_OF(link, struct cor_h2_stream, end_link);

        s->cbs->on_end(s, s->arg);
    }
}

static void tell_gone(struct cor_h2 *h)
{
    struct cor_dlist *link;

    while ((link = cor_dlist_pop(&h->gone))) {
        struct cor_h2_stream *s = COR_CONTAINER_OF(link, struct cor_h2_stream, gone_link);

        s->is_held = false;
        s->cbs->on_closed(s, s->code, s->arg);
        cor_h2_stream_free(s);
    }
}

/* After a failure nghttp2 is used once more, for the last word. */
static void say_goaway(struct cor_h2 *h)
{
    uint32_t code = h->r == -COR_EBUSY ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_PROTOCOL_ERROR;
    int r = h->r;

    if (h->has_said_goaway || (r != -COR_EBUSY && r != -COR_EINVAL))
        return;
    h->has_said_goaway = true;
    code = h->goaway_code ? h->goaway_code : code;
    if (nghttp2_session_terminate_session(h->ng, code) == 0)
        nghttp2_session_send(h->ng);
}

/* The last step is again for what the callbacks before it have brought about. */
static int turn(struct cor_h2 *h)
{
    if (!cor_h2_owes_pong(h))
        cor_h2_flush(h);
    tell_ended(h);
    tell_gone(h);
    if (h->r == 0)
        cor_h2_tell_writable(h);
    tell_gone(h);
    if (h->r < 0)
        say_goaway(h);
    h->is_calling = false;
    return h->r;
}

int cor_h2_turn(struct cor_h2 *h, uint64_t now_ms)
{
    assert(!h->is_calling);
    h->now_ms = now_ms;
    h->is_calling = true;
    h->npongs = 0;
    return turn(h);
}

int cor_h2_feed(struct cor_h2 *h, struct cor_str in, uint64_t now_ms)
{
    ssize_t n;

    assert(!h->is_calling);
    if (h->r < 0)
        return h->r;
    h->now_ms = now_ms;
    h->is_calling = true;
    h->in_recv = true;
    n = nghttp2_session_mem_recv(h->ng, (const uint8_t *)in.p, in.n);
    h->in_recv = false;
    if (n < 0)
        cor_h2_fail_by(h, (int)n);
    return turn(h);
}

const char *cor_h2_error(const struct cor_h2 *h)
{
    return h->error;
}

void cor_h2_end_flood(struct cor_h2 *h, const char *text)
{
    cor_h2_fail(h, -COR_EBUSY, text);
}

size_t cor_h2_bytes(const struct cor_h2 *h)
{
    return h->block.bytes.cap + h->block.cap * sizeof(h->block.headers[0]) + h->pending_n;
}

void cor_h2_drop_all(struct cor_h2 *h, uint32_t code)
{
    struct cor_dlist *link;

    assert(!h->is_calling);
    h->is_calling = true;
    if (h->r == 0)
        h->r = -COR_ECANCELED;
    tell_gone(h);
    while ((link = cor_dlist_pop(&h->streams))) {
        struct cor_h2_stream *s = COR_CONTAINER_OF(link, struct cor_h2_stream, link);
        bool was_held = s->is_held;

        s->is_gone = true;
        s->is_held = false;
        nghttp2_session_set_stream_user_data(h->ng, s->id, NULL);
        if (was_held)
            s->cbs->on_closed(s, code, s->arg);
        cor_h2_stream_free(s);
    }
    h->is_calling = false;
}

void cor_h2_shutdown(struct cor_h2 *h)
{
    int e;

    if (h->is_shutting || h->r < 0)
        return;
    h->is_shutting = true;
    if (h->role == COR_H2_CLIENT) {
        e = nghttp2_submit_goaway(h->ng, NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR, NULL, 0);
    } else {
        e = nghttp2_submit_shutdown_notice(h->ng);
        if (e == 0)
            e = nghttp2_submit_ping(h->ng, NGHTTP2_FLAG_NONE, shutdown_ping);
    }
    if (e < 0)
        cor_h2_fail_by(h, e);
    cor_h2_flush(h);
}

void cor_h2_take_pong(struct cor_h2 *h, const uint8_t payload[8])
{
    int e;

    if (!h->is_shutting || memcmp(payload, shutdown_ping, sizeof(shutdown_ping)) != 0) {
        if (h->cbs->on_pong)
            h->cbs->on_pong(h->arg);
        return;
    }
    e = nghttp2_submit_goaway(h->ng, NGHTTP2_FLAG_NONE,
                              nghttp2_session_get_last_proc_stream_id(h->ng), NGHTTP2_NO_ERROR,
                              NULL, 0);
    if (e < 0)
        cor_h2_fail_by(h, e);
}

bool cor_h2_is_done(const struct cor_h2 *h)
{
    return !nghttp2_session_want_read(h->ng) && !nghttp2_session_want_write(h->ng) &&
           cor_dlist_empty(&h->gone);
}

bool cor_h2_owes_pong(const struct cor_h2 *h)
{
    return h->npongs > 0 && h->r == 0 &&
           nghttp2_session_get_outbound_queue_size(h->ng) == h->npongs;
}

bool cor_h2_is_greeted(const struct cor_h2 *h)
{
    return h->is_greeted;
}

int cor_h2_ping(struct cor_h2 *h)
{
    if (h->r == 0 && nghttp2_submit_ping(h->ng, NGHTTP2_FLAG_NONE, NULL) < 0)
        return -COR_ENOMEM;
    cor_h2_flush(h);
    return 0;
}

bool cor_h2_takes_stream(const struct cor_h2 *h)
{
    uint32_t max =
        nghttp2_session_get_remote_settings(h->ng, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);

    max = max < h->limits->streams_max ? max : h->limits->streams_max;
    return h->r == 0 && !h->is_shutting && nghttp2_session_check_request_allowed(h->ng) &&
           h->nstreams < max;
}

size_t cor_h2_nstreams(const struct cor_h2 *h)
{
    return h->nstreams;
}
