/* Who sends a request: the owner of a verified client certificate or of a bearer token, the peer of
 * a Unix socket as the kernel names it, or an anonymous caller. Owner: the server.  Thread: any
 * once made (immutable). */
#ifndef COR_SERVER_AUTHENTICATOR_H
#define COR_SERVER_AUTHENTICATOR_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "http/request.h"
#include "server/access/token_table.h"
#include "server/access/user.h"

#define COR_GROUP_MASTERS "system:masters"

struct cor_authenticator {
    const struct cor_token_table *tokens; /* NULL: none are accepted */
    uid_t server_uid; /* this user and root are system:masters on a Unix socket */
};

/* What was found out about one request. */
struct cor_identity {
    struct cor_user user;
    bool is_anonymous;
    bool is_by_websocket;          /* by the token among the subprotocols of a WebSocket */
    struct cor_str *groups;        /* owned; NULL when the user's groups are borrowed */
    struct cor_user_extra *extras; /* owned; NULL when there are none */
    char *text;    /* owned: the names of an impersonated user; NULL: they are borrowed */
    char name[48]; /* of a user that has no name of its own */
};

/* The order is upstream's: certificate, token, token of a WebSocket (server/request/websocket.h),
 * then (ours) Unix credentials, then nobody, which is
 * system:anonymous. A wrong token is never anonymous. The identity borrows from the request and the
 * tokens. 0, -COR_EUNAUTHORIZED, -COR_ENOMEM. */
int cor_authenticate(const struct cor_authenticator *auth, const struct cor_http_request *req,
                     struct cor_identity *ret_identity);

/* Safe on a zeroed struct. */
void cor_identity_deinit(struct cor_identity *identity);

bool cor_user_is_in(const struct cor_user *user, struct cor_str group);

#endif
