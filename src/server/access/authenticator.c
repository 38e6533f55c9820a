/* Determines who sends a request, in this order: the user in the headers of a front proxy with a
 * certificate of the proxies' CA; a verified client certificate with a common name; a bearer token;
 * the token among the subprotocols of a WebSocket, also beside a wrong bearer token; the
 * credentials of a Unix socket's peer; otherwise the caller is anonymous.
 *
 * As upstream's chain, this one goes on after a failure: a later credential may be good. When none
 * is, a failure refuses the request, and it is never anonymous: a wrong token of either kind, a
 * certificate that no authority has signed, and, where there is a proxies' CA, one that is not an
 * allowed proxy's.
 *
 * A token that is not in the table may be a question for the delegate. The function returns with
 * the question, and is called again with the answer; what it has found out before the token it
 * finds out again. Thread: the request's loop (no state of its own). */
#include "server/access/authenticator.h"

#include <assert.h>
#include <stdio.h>
#include <strings.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "net/stream/peer.h"
#include "server/access/client_trust.h"
#include "server/request/websocket.h"

/* No token is longer: heads are not. */
#define TOKEN_BYTES_MAX (64u * 1024)

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

/* The user of a token: of the table, or as the delegate has answered. 1; 0: it is not accepted;
 * COR_TOKEN_ASKS: the delegate must be asked; -COR_ENOMEM. */
#define COR_TOKEN_ASKS 2
static int identify_token(const struct cor_authenticator *auth, enum cor_token_place place,
                          struct cor_str token, struct cor_token_questions *questions,
                          struct cor_identity *id)
{
    const struct cor_user *user = auth->tokens ? cor_token_table_find(auth->tokens, token) : NULL;

    if (user) {
        id->user = *user;
        return 1;
    }
    if (!auth->asks_delegate)
        return 0;
    if (questions->answers[place].is_answered) {
        struct cor_kept_user *kept = questions->answers[place].user;

        if (!kept)
            return 0;
        id->user = kept->identity.user;
        id->kept = kept;
        questions->answers[place].user = NULL;
        return 1;
    }
    questions->place = place;
    cor_buf_init_secret(&questions->token, TOKEN_BYTES_MAX);
    return cor_buf_adds(&questions->token, token) < 0 ? -COR_ENOMEM : COR_TOKEN_ASKS;
}

/* The token among the subprotocols of a WebSocket. As identify_token(), and -COR_EINVAL: the
 * protocols are wrong; -COR_ENOTFOUND: there is no such token. */
static int identify_websocket(const struct cor_authenticator *auth,
                              const struct cor_http_request *req,
                              struct cor_token_questions *questions, struct cor_identity *id)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf token = {0};
    int r;

    if (!cor_websocket_is_asked(req))
        return -COR_ENOTFOUND;
    cor_buf_init_secret(&token, TOKEN_BYTES_MAX);
    r = cor_websocket_token(req, &token);
    if (r <= 0)
        return r == 0 ? -COR_ENOTFOUND : r;
    r = identify_token(auth, COR_TOKEN_WEBSOCKET, cor_buf_str(&token), questions, id);
    id->is_by_websocket = r == 1;
    return r;
}

/* 1: identified; 0: there is no token; -COR_EUNAUTHORIZED: none of the tokens is accepted;
 * COR_TOKEN_ASKS, -COR_ENOMEM. */
static int identify_by_tokens(const struct cor_authenticator *auth,
                              const struct cor_http_request *req,
                              struct cor_token_questions *questions, struct cor_identity *id)
{
    struct cor_str header = cor_http_request_header(req, COR_STR("authorization")), token;
    bool has_bearer = header.p && read_bearer_token(header, &token);
    int r = 0;

    if (has_bearer)
        r = identify_token(auth, COR_TOKEN_BEARER, token, questions, id);
    if (r != 0)
        return r;
    r = identify_websocket(auth, req, questions, id);
    if (r == -COR_ENOTFOUND)
        return has_bearer ? -COR_EUNAUTHORIZED : 0;
    return r == 0 || r == -COR_EINVAL ? -COR_EUNAUTHORIZED : r;
}

/* What the certificate proves. 1: identified; 0: nothing, and it is not a fault;
 * -COR_EUNAUTHORIZED: nothing, and the request is refused unless another credential is good;
 * -COR_ENOMEM. */
static int identify_by_cert(const struct cor_authenticator *auth,
                            const struct cor_http_request *req, struct cor_identity *id)
{
    struct cor_peer_cert *cert = req->peer->cert;
    struct cor_client_cas *cas;
    int64_t now_s;
    unsigned by;
    int r = 0;

    if (!cert)
        return 0;
    if (!auth->trust)
        return -COR_EUNAUTHORIZED;
    cas = cor_client_trust_cas(auth->trust);
    now_s = cor_clock_wall_ms(cor_clock_real()) / 1000;
    by = cor_client_cas_judge(cas, cert, now_s);
    if (by & (1u << COR_CA_PROXY)) {
        COR_CLEANUP(cor_front_proxy_unrefp)
        struct cor_front_proxy *proxy = cor_client_trust_get_proxy(auth->trust);

        r = proxy ? cor_front_proxy_identify(proxy, cert, req, id) : 0;
        if (r == 1 || r == -COR_ENOMEM)
            return r;
    } else if (cor_client_cas_has(cas, COR_CA_PROXY)) {
        r = -COR_EUNAUTHORIZED;
    }
    if (by & (1u << COR_CA_CLIENT)) {
        if (cert->common_name.n == 0)
            return r;
        r = identify_cert(cert, id);
        return r < 0 ? r : 1;
    }
    return cor_client_cas_has(cas, COR_CA_CLIENT) ? -COR_EUNAUTHORIZED : r;
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
                     struct cor_token_questions *questions, struct cor_identity *ret_identity)
{
    struct cor_identity id = {0};
    int by_cert, r;

    assert(req->peer && (questions || !auth->asks_delegate));
    by_cert = r = identify_by_cert(auth, req, &id);
    if (r == 0 || r == -COR_EUNAUTHORIZED)
        r = identify_by_tokens(auth, req, questions, &id);
    if (r == COR_TOKEN_ASKS)
        return COR_AUTHN_ASKS;
    if (r == 0 && by_cert < 0)
        r = by_cert;
    if (r < 0)
        return r;
    if (r == 0 && req->peer->is_unix)
        identify_unix(auth, req->peer, &id);
    else if (r == 0)
        identify_nobody(&id);
    *ret_identity = id;
    if (id.name[0]) /* the name is in the struct itself, which was copied */
        ret_identity->user.name = cor_strz(ret_identity->name);
    return 0;
}

void cor_token_questions_deinit(struct cor_token_questions *questions)
{
    for (size_t i = 0; i < COR_TOKEN_PLACES; i++)
        questions->answers[i].user = cor_kept_user_unref(questions->answers[i].user);
    cor_buf_deinit(&questions->token);
}
