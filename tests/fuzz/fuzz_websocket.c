/* Promises of the WebSocket's server side. Frames: not more bytes are answered than came and the
 * end has, and as long as the session goes on they are the same however the input is cut.
 * Handshake: any header values are taken or refused, and what is answered is text. */
#include "base/err.h"
#include "fuzz.h"
#include "net/session/ws.h"
#include "server/request/websocket.h"

#define END_MAX 130

/* Returns how many bytes the session has taken when it ended; SIZE_MAX: it has not. */
static size_t feed(struct cor_str in, size_t step, struct cor_buf *out)
{
    struct cor_ws *ws = cor_ws_new();
    size_t taken = 0;
    int r = 0;

    FUZZ_CHECK(ws);
    cor_buf_init(out, in.n + END_MAX);
    while (r == 0 && taken < in.n) {
        size_t n = in.n - taken < step ? in.n - taken : step;

        r = cor_ws_feed(ws, cor_str(in.p + taken, n), out);
        taken += n;
    }
    FUZZ_CHECK(r == 0 || r == -COR_ECANCELED);
    if (r == 0) {
        FUZZ_CHECK(out->n <= in.n);
        FUZZ_CHECK(cor_ws_begin(ws, in.n % 2, in.n + 1, out) == 0);
        FUZZ_CHECK(cor_ws_end(ws, out) == 0);
    }
    cor_ws_free(ws);
    return r < 0 ? taken : SIZE_MAX;
}

static void shake(struct cor_str in)
{
    static const struct cor_str names[] = {COR_STR("Upgrade"),
                                           COR_STR("Connection"),
                                           COR_STR("Sec-WebSocket-Key"),
                                           COR_STR("Sec-WebSocket-Version"),
                                           COR_STR("Origin"),
                                           COR_STR("Sec-WebSocket-Protocol"),
                                           COR_STR("Sec-WebSocket-Protocol")};
    struct cor_http_header headers[COR_ARRAY_LEN(names)];
    struct cor_http_request req = {.headers = headers};
    struct cor_websocket_handshake handshake;
    struct cor_buf token;
    int r;

    /* A line each, in this order. */
    for (size_t i = 0; i < COR_ARRAY_LEN(names) && in.p; i++)
        headers[req.nheaders++] = (struct cor_http_header){names[i], cor_str_cut(&in, '\n')};
    (void)cor_websocket_is_asked(&req);
    cor_buf_init_secret(&token, 4096);
    r = cor_websocket_token(&req, &token);
    FUZZ_CHECK(r == 1 || r == 0 || r == -COR_EINVAL);
    FUZZ_CHECK(r < 1 || token.n > 0);
    cor_buf_deinit(&token);
    FUZZ_CHECK(cor_websocket_shake(&req, r == 1, &handshake) == 0);
    FUZZ_CHECK(handshake.refusal == 0 || handshake.refusal == 400 || handshake.refusal == 403);
    FUZZ_CHECK(handshake.refusal != 0 || handshake.accept[COR_WS_ACCEPT_MAX - 2] == '=');
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str in = cor_str((const char *)data, size);
    struct cor_buf whole, parts;
    size_t end = feed(in, size ? size : 1, &whole);

    for (size_t step = 1; step < 8; step += 3) {
        size_t at = feed(in, step, &parts);

        /* wslay may notice the end of a session earlier when more comes at once, and then leaves a
         * ping beside it unanswered. */
        FUZZ_CHECK(end != SIZE_MAX || at != SIZE_MAX ||
                   cor_str_eq(cor_buf_str(&whole), cor_buf_str(&parts)));
        cor_buf_deinit(&parts);
    }
    cor_buf_deinit(&whole);
    shake(in);
    return 0;
}
