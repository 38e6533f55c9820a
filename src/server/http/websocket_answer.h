/* The answer to a watch over WebSocket: the handshake, and the protocol that the connection speaks
 * afterwards (net/session/ws.h). Owner: the exchange, until it is started.  Thread: the response's
 * loop. */
#ifndef COR_SERVER_WEBSOCKET_ANSWER_H
#define COR_SERVER_WEBSOCKET_ANSWER_H

#include "http/response.h"
#include "server/request/websocket.h"

struct cor_websocket_answer;

/* What an answer holds, from its handshake to its end. */
#define COR_WEBSOCKET_ANSWER_BYTES (COR_WS_BYTES + 1024u)

/* Of a request that asks for a WebSocket (cor_websocket_is_asked()); `is_by_token` as for
 * cor_websocket_shake(). NULL: out of memory. */
struct cor_websocket_answer *cor_websocket_answer_new(const struct cor_http_request *req,
                                                      bool is_by_token);
/* NULL is fine; returns NULL. */
struct cor_websocket_answer *cor_websocket_answer_free(struct cor_websocket_answer *answer);

/* What the client asked for; a refusal is to be answered in place of the watch. */
const struct cor_websocket_handshake *
cor_websocket_answer_handshake(const struct cor_websocket_answer *answer);

/* Answers 101. Each write is a message from now on, text or binary. The connection has the answer.
 */
void cor_websocket_answer_start(struct cor_websocket_answer *take_answer,
                                struct cor_http_response *response, bool is_binary);

#endif
