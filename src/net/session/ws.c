/* A WebSocket session over wslay. Its event API reads the client's frames: it checks masks,
 * opcodes, fragments and UTF-8, answers pings and the end, and keeps no message (no_buffering). Its
 * frame API writes the heads of our messages; their bytes are the caller's.
 *
 * What fails: a frame that breaks the protocol makes wslay queue the end with its code (1002, 1007,
 * 1009); cor_ws_feed() writes it and returns -COR_ECANCELED, as it does after the client's own end.
 * Thread: one at a time. */
#include "net/session/ws.h"

#include <assert.h>
#include <string.h>

#include <wslay/wslay.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/mem.h"
#include "net/crypto/crypto.h"

/* RFC 6455 section 4.2.2. */
#define ACCEPT_GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

struct cor_ws {
    wslay_event_context_ptr events; /* what the client sends */
    wslay_frame_context_ptr frames; /* the heads of what is sent */
    bool is_over;
    uint64_t received;   /* of the message that is being received */
    struct cor_str in;   /* what is left of the bytes that are being taken */
    struct cor_buf *out; /* where the running call writes */
    bool lacks_memory;   /* `out` could not grow */
    bool has_head;       /* of the message that is being begun */
};

static ssize_t ws_recv(wslay_event_context_ptr events, uint8_t *to, size_t max, int flags,
                       void *arg)
{
    struct cor_ws *ws = arg;
    size_t n = ws->in.n < max ? ws->in.n : max;

    (void)flags;
    if (n == 0) {
        wslay_event_set_error(events, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    memcpy(to, ws->in.p, n);
    ws->in = cor_str_from(ws->in, n);
    return (ssize_t)n;
}

/* wslay counts only what it keeps, and it keeps nothing. */
static void ws_on_frame(wslay_event_context_ptr events,
                        const struct wslay_event_on_frame_recv_start_arg *frame, void *arg)
{
    struct cor_ws *ws = arg;

    if (wslay_is_ctrl_frame(frame->opcode))
        return;
    if (frame->opcode != WSLAY_CONTINUATION_FRAME)
        ws->received = 0;
    if (frame->payload_length > COR_WS_MESSAGE_MAX - ws->received) {
        /* Without memory for the code the connection ends without one. */
        (void)wslay_event_queue_close(events, WSLAY_CODE_MESSAGE_TOO_BIG, NULL, 0);
        wslay_event_shutdown_read(events);
        return;
    }
    ws->received += frame->payload_length;
}

static ssize_t ws_send(wslay_event_context_ptr events, const uint8_t *bytes, size_t n, int flags,
                       void *arg)
{
    struct cor_ws *ws = arg;

    (void)flags;
    if (cor_buf_add(ws->out, bytes, n) == 0)
        return (ssize_t)n;
    ws->lacks_memory = true;
    wslay_event_set_error(events, WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

/* The first call for a frame has its head. The bytes after it are written by the caller, and are
 * not looked at here. */
static ssize_t ws_send_frame(const uint8_t *bytes, size_t n, int flags, void *arg)
{
    struct cor_ws *ws = arg;

    (void)flags;
    if (!ws->has_head && cor_buf_add(ws->out, bytes, n) < 0) {
        ws->lacks_memory = true;
        return -1;
    }
    ws->has_head = true;
    return (ssize_t)n;
}

struct cor_ws *cor_ws_new(void)
{
    static const struct wslay_event_callbacks event_cbs = {.recv_callback = ws_recv,
                                                           .send_callback = ws_send,
                                                           .on_frame_recv_start_callback =
                                                               ws_on_frame};
    static const struct wslay_frame_callbacks frame_cbs = {.send_callback = ws_send_frame};
    struct cor_ws *ws = cor_calloc(1, sizeof(*ws));

    if (!ws)
        return NULL;
    if (wslay_event_context_server_init(&ws->events, &event_cbs, ws) != 0) {
        ws->events = NULL;
        return cor_ws_free(ws);
    }
    if (wslay_frame_context_init(&ws->frames, &frame_cbs, ws) != 0) {
        ws->frames = NULL;
        return cor_ws_free(ws);
    }
    wslay_event_config_set_no_buffering(ws->events, 1);
    return ws;
}

struct cor_ws *cor_ws_free(struct cor_ws *ws)
{
    if (!ws)
        return NULL;
    if (ws->events)
        wslay_event_context_free(ws->events);
    if (ws->frames)
        wslay_frame_context_free(ws->frames);
    return cor_free(ws);
}

/* Writes what wslay has to say. 0, -COR_ENOMEM. */
static int ws_flush(struct cor_ws *ws, struct cor_buf *out)
{
    int r = 0;

    ws->out = out;
    ws->lacks_memory = false;
    while (r == 0 && wslay_event_want_write(ws->events))
        r = wslay_event_send(ws->events);
    ws->out = NULL;
    return r == 0 && !ws->lacks_memory ? 0 : -COR_ENOMEM;
}

int cor_ws_feed(struct cor_ws *ws, struct cor_str in, struct cor_buf *out)
{
    int received, r;

    assert(!ws->is_over);
    ws->in = in;
    received = wslay_event_recv(ws->events);
    ws->in = (struct cor_str){0};
    r = received == WSLAY_ERR_NOMEM ? -COR_ENOMEM : ws_flush(ws, out);
    /* What is not a frame makes the reading fail (the end is queued then), or stops it. */
    ws->is_over = r < 0 || received < 0 || wslay_event_get_close_received(ws->events) ||
                  wslay_event_get_close_sent(ws->events) ||
                  !wslay_event_get_read_enabled(ws->events);
    return r < 0 ? r : ws->is_over ? -COR_ECANCELED : 0;
}

int cor_ws_begin(struct cor_ws *ws, bool is_binary, size_t n, struct cor_buf *out)
{
    struct wslay_frame_iocb frame = {.fin = 1,
                                     .opcode = is_binary ? WSLAY_BINARY_FRAME : WSLAY_TEXT_FRAME,
                                     .payload_length = n,
                                     .data = (const uint8_t *)"",
                                     .data_length = n};
    ssize_t sent;

    assert(n > 0 && !ws->is_over);
    ws->out = out;
    ws->has_head = ws->lacks_memory = false;
    sent = wslay_frame_send(ws->frames, &frame);
    ws->out = NULL;
    assert(ws->lacks_memory || sent == (ssize_t)n);
    return ws->lacks_memory || sent != (ssize_t)n ? -COR_ENOMEM : 0;
}

int cor_ws_end(struct cor_ws *ws, struct cor_buf *out)
{
    assert(!ws->is_over);
    ws->is_over = true;
    if (wslay_event_queue_close(ws->events, WSLAY_CODE_NORMAL_CLOSURE, NULL, 0) != 0)
        return -COR_ENOMEM;
    return ws_flush(ws, out);
}

int cor_ws_accept(struct cor_str key, char ret_accept[COR_WS_ACCEPT_MAX])
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text, accept;
    uint8_t digest[COR_SHA1_BYTES];
    int r;

    cor_buf_init(&text, key.n + sizeof(ACCEPT_GUID));
    cor_buf_init(&accept, COR_WS_ACCEPT_MAX);
    r = cor_buf_adds(&text, key);
    if (r == 0)
        r = cor_buf_addz(&text, ACCEPT_GUID);
    if (r == 0)
        r = cor_sha1(cor_buf_str(&text), digest);
    if (r == 0)
        r = cor_base64_encode(COR_BASE64_STD, cor_str((const char *)digest, sizeof(digest)),
                              &accept);
    if (r < 0)
        return r;
    assert(accept.n < COR_WS_ACCEPT_MAX);
    memcpy(ret_accept, accept.p, accept.n + 1);
    return 0;
}
