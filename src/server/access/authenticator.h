/* Who sends a request: a user whom a front proxy names, the owner of a verified client certificate
 * or of a bearer token, the peer of a Unix socket as the kernel names it, or an anonymous caller.
 * Owner: the server.  Thread: any once made (immutable). */
#ifndef COR_SERVER_AUTHENTICATOR_H
#define COR_SERVER_AUTHENTICATOR_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "http/request.h"
#include "server/access/identity.h"
#include "server/access/token_table.h"

struct cor_client_trust;

struct cor_authenticator {
    const struct cor_token_table *tokens; /* NULL: none are accepted */
    uid_t server_uid;               /* this user and root are system:masters on a Unix socket */
    struct cor_client_trust *trust; /* NULL: no client certificate is believed */
    bool asks_delegate; /* the delegate is asked about a token that is not in the table */
};

/* Where a request has a token. */
enum cor_token_place { COR_TOKEN_BEARER, COR_TOKEN_WEBSOCKET, COR_TOKEN_PLACES };

/* The tokens of one request that a delegate is asked about. Zeroed at first.
 * Owner: the request. */
struct cor_token_questions {
    struct {
        bool is_answered;
        struct cor_kept_user *user; /* a reference; NULL: the token is not accepted */
    } answers[COR_TOKEN_PLACES];
    enum cor_token_place place; /* of the question */
    struct cor_buf token;       /* of the question; secret */
};

/* Wipes the token. Safe on a zeroed struct. */
void cor_token_questions_deinit(struct cor_token_questions *questions);

/* cor_authenticate(): the delegate must be asked first. */
#define COR_AUTHN_ASKS 1

/* The order is upstream's: front proxy, certificate, token, token of a WebSocket
 * (server/request/websocket.h), then (an addition of ours) Unix credentials, and else
 * system:anonymous. A wrong token is never anonymous, and neither is a certificate that no
 * authority has signed or that is not an allowed proxy's. The identity borrows from the request,
 * its connection and the tokens.
 *
 * 0, -COR_EUNAUTHORIZED, -COR_ENOMEM; COR_AUTHN_ASKS: `questions` has a token. The caller notes the
 * answer there and calls again, with the same request. Only with `asks_delegate`; otherwise
 * `questions` may be NULL. */
int cor_authenticate(const struct cor_authenticator *auth, const struct cor_http_request *req,
                     struct cor_token_questions *questions, struct cor_identity *ret_identity);

#endif
