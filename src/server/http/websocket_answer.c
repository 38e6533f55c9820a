/* Joins the session of a WebSocket (net/session/ws.h) and the HTTP connection that it takes over:
 * the functions of struct cor_http_upgrade. Failures: without memory in the middle of a message the
 * connection is broken by the HTTP layer. */
#include "server/http/websocket_answer.h"

#include <assert.h>

#include "base/mem.h"
#include "net/session/ws.h"

struct cor_websocket_answer {
    struct cor_http_upgrade upgrade; /* the first member: the connection's view of it */
    struct cor_ws *ws;
    bool is_binary;
    struct cor_websocket_handshake handshake;
};

static int answer_feed(struct cor_http_upgrade *upgrade, struct cor_str bytes, struct cor_buf *out);

static struct cor_websocket_answer *answer_of(struct cor_http_upgrade *upgrade)
{
    struct cor_websocket_answer *answer =
        COR_CONTAINER_OF(upgrade, struct cor_websocket_answer, upgrade);

    assert(upgrade->feed == answer_feed);
    return answer;
}

static int answer_feed(struct cor_http_upgrade *upgrade, struct cor_str bytes, struct cor_buf *out)
{
    return cor_ws_feed(answer_of(upgrade)->ws, bytes, out);
}

static int answer_begin(struct cor_http_upgrade *upgrade, size_t n, struct cor_buf *out)
{
    struct cor_websocket_answer *answer = answer_of(upgrade);

    return cor_ws_begin(answer->ws, answer->is_binary, n, out);
}

static int answer_end(struct cor_http_upgrade *upgrade, struct cor_buf *out)
{
    return cor_ws_end(answer_of(upgrade)->ws, out);
}

static void answer_free(struct cor_http_upgrade *upgrade)
{
    (void)cor_websocket_answer_free(answer_of(upgrade));
}

struct cor_websocket_answer *cor_websocket_answer_free(struct cor_websocket_answer *answer)
{
    if (!answer)
        return NULL;
    cor_ws_free(answer->ws);
    return cor_free(answer);
}

struct cor_websocket_answer *cor_websocket_answer_new(const struct cor_http_request *req,
                                                      bool is_by_token)
{
    struct cor_websocket_answer *answer = cor_calloc(1, sizeof(*answer));

    if (!answer)
        return NULL;
    answer->upgrade = (struct cor_http_upgrade){answer_feed, answer_begin, answer_end, answer_free};
    answer->ws = cor_ws_new();
    if (!answer->ws || cor_websocket_shake(req, is_by_token, &answer->handshake) < 0)
        return cor_websocket_answer_free(answer);
    return answer;
}

const struct cor_websocket_handshake *
cor_websocket_answer_handshake(const struct cor_websocket_answer *answer)
{
    return &answer->handshake;
}

void cor_websocket_answer_start(struct cor_websocket_answer *take_answer,
                                struct cor_http_response *response, bool is_binary)
{
    const struct cor_websocket_handshake *shake = &take_answer->handshake;
    const struct cor_http_header headers[] = {
        {COR_STR("Upgrade"), COR_STR("websocket")},
        {COR_STR("Connection"), COR_STR("Upgrade")},
        {COR_STR("Sec-WebSocket-Accept"), cor_strz(shake->accept)},
        {COR_STR("Sec-WebSocket-Protocol"), cor_strz(shake->protocol)},
    };
    size_t n = COR_ARRAY_LEN(headers) - (shake->protocol[0] == '\0');

    assert(shake->refusal == 0);
    take_answer->is_binary = is_binary;
    cor_http_response_upgrade(response, headers, n, &take_answer->upgrade);
}
