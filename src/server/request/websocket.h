/* The handshake of a WebSocket (RFC 6455) as kube-apiserver reads it: which requests ask for one,
 * the bearer token among the subprotocols, and what is answered. Only watches are served so; other
 * requests that ask for it are answered as if they did not.
 * Thread: any (no state). */
#ifndef COR_SERVER_WEBSOCKET_H
#define COR_SERVER_WEBSOCKET_H

#include <stdbool.h>

#include "base/buf.h"
#include "http/request.h"
#include "net/session/ws.h"

/* Longer names of subprotocols are refused. */
#define COR_WEBSOCKET_PROTOCOL_MAX 256

/* Returns whether the request has `Upgrade: websocket`, and `upgrade` somewhere in a Connection
 * header. */
bool cor_websocket_is_asked(const struct cor_http_request *req);

/* Appends the bearer token that is among the subprotocols, as
 * `base64url.bearer.authorization.k8s.io.TOKEN` beside another one. 1: there is one; 0: there is
 * none, or an empty one; -COR_EINVAL: two of them, none beside another subprotocol, or not
 * base64url of UTF-8; -COR_ENOMEM. Of a request that asks for a WebSocket. */
int cor_websocket_token(const struct cor_http_request *req, struct cor_buf *out);

struct cor_websocket_handshake {
    int refusal;         /* 400 or 403; 0: it is accepted */
    const char *text;    /* of a refusal */
    bool is_bad_version; /* the answer names the version that is spoken */
    char accept[COR_WS_ACCEPT_MAX];
    char protocol[COR_WEBSOCKET_PROTOCOL_MAX]; /* the one that is answered; "": none */
};

/* `is_by_token`: the token of the subprotocols has authenticated the request, and is left out of
 * them. 0, -COR_ENOMEM. */
int cor_websocket_shake(const struct cor_http_request *req, bool is_by_token,
                        struct cor_websocket_handshake *ret_handshake);

#endif
