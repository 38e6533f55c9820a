/* Finds out who sends a request, in this order: a verified client certificate with a common name; a
 * bearer token; the token among the subprotocols of a WebSocket, also beside a wrong bearer token;
 * a wrong token of either kind is refused and never anonymous; an unverified certificate is
 * refused; the credentials of a Unix socket's peer; otherwise the caller is anonymous. Thread: any
 * (no state of its own). */
#include "server/access/authenticator.h"

#include <assert.h>
#include <stdio.h>
#include <strings.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/peer.h"
#include "server/request/websocket.h"

/* No token is longer: heads are not. */
#define TOKEN_BYTES_MAX (64u * 1024)

bool cor_user_is_in(const struct cor_user *user, struct cor_str group)
{
    for (size_t i = 0; i < user->ngroups; i++)
        if (cor_str_eq(user->groups[i], group))
            return true;
    return false;
}

static int identify_cert(const struct cor_peer_cert *cert, struct cor_identity *id)
{
    id->groups = cor_calloc(cert->norgs + 1, sizeof(*id->groups));
    if (!id->groups)
        return -COR_ENOMEM;
    if (cert->norgs)
        memcpy(id->groups, cert->orgs, cert->norgs * sizeof(*id->groups));
    id->groups[cert->norgs] = COR_STR("system:authenticated");
    id->user = (struct cor_user){
        .name = cert->common_name, .groups = id->groups, .ngroups = cert->norgs + 1};
    return 0;
}

/* "Bearer TOKEN", with the scheme in any case; what follows a second space is ignored. False: the
 * header is of another scheme. */
static bool read_bearer_token(struct cor_str header, struct cor_str *ret_token)
{
    struct cor_str rest = cor_str_trim(header), scheme = cor_str_cut(&rest, ' ');

    if (scheme.n != 6 || strncasecmp(scheme.p, "bearer", 6) != 0 || !rest.p)
        return false;
    *ret_token = cor_str_cut(&rest, ' ');
    return ret_token->n > 0;
}

static const struct cor_user *find_token(const struct cor_authenticator *auth, struct cor_str token)
{
    return auth->tokens ? cor_token_table_find(auth->tokens, token) : NULL;
}

/* The user of the token among the subprotocols of a WebSocket. 1; 0: there is no such token;
 * -COR_EUNAUTHORIZED, -COR_ENOMEM. */
static int find_websocket_user(const struct cor_authenticator *auth,
                               const struct cor_http_request *req, const struct cor_user **ret_user)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf token = {0};
    int r;

    if (!cor_websocket_is_asked(req))
        return 0;
    cor_buf_init_secret(&token, TOKEN_BYTES_MAX);
    r = cor_websocket_token(req, &token);
    if (r <= 0)
        return r == -COR_EINVAL ? -COR_EUNAUTHORIZED : r;
    *ret_user = find_token(auth, cor_buf_str(&token));
    return *ret_user ? 1 : -COR_EUNAUTHORIZED;
}

static void identify_unix(const struct cor_authenticator *auth, const struct cor_peer *peer,
                          struct cor_identity *id)
{
    static const struct cor_str groups[] = {{"system:authenticated", 20}, {COR_GROUP_MASTERS, 14}};
    bool is_master = peer->uid == 0 || peer->uid == auth->server_uid;

    snprintf(id->name, sizeof(id->name), "system:unix:%lu", (unsigned long)peer->uid);
    id->user = (struct cor_user){
        .name = cor_strz(id->name), .groups = groups, .ngroups = is_master ? 2 : 1};
}

static void identify_nobody(struct cor_identity *id)
{
    static const struct cor_str groups[] = {{"system:unauthenticated", 22}};

    id->is_anonymous = true;
    id->user =
        (struct cor_user){.name = COR_STR("system:anonymous"), .groups = groups, .ngroups = 1};
}

int cor_authenticate(const struct cor_authenticator *auth, const struct cor_http_request *req,
                     struct cor_identity *ret_identity)
{
    struct cor_str header = cor_http_request_header(req, COR_STR("authorization"));
    const struct cor_peer *peer = req->peer;
    struct cor_identity id = {0};
    const struct cor_user *user = NULL;
    bool has_bearer;
    struct cor_str token;
    int r = 0;

    assert(peer);
    has_bearer = header.p && read_bearer_token(header, &token);
    if (peer->cert && peer->cert->is_verified && peer->cert->common_name.n > 0) {
        r = identify_cert(peer->cert, &id);
    } else if (has_bearer && (user = find_token(auth, token))) {
        id.user = *user;
    } else if ((r = find_websocket_user(auth, req, &user)) != 0 || has_bearer) {
        if (r <= 0)
            return r == -COR_ENOMEM ? r : -COR_EUNAUTHORIZED;
        id.user = *user;
        id.is_by_websocket = true;
        r = 0;
    } else if (peer->cert && !peer->cert->is_verified) {
        return -COR_EUNAUTHORIZED;
    } else if (peer->is_unix) {
        identify_unix(auth, peer, &id);
    } else {
        identify_nobody(&id);
    }
    if (r < 0)
        return r;
    *ret_identity = id;
    if (id.name[0]) /* the name is in the struct itself, which was copied */
        ret_identity->user.name = cor_strz(ret_identity->name);
    return 0;
}

void cor_identity_deinit(struct cor_identity *identity)
{
    identity->groups = cor_free(identity->groups);
    identity->extras = cor_free(identity->extras);
    identity->text = cor_free(identity->text);
}
