/* Finds out who sends a request, in this order: a verified client certificate with a common name; a
 * bearer token (a wrong one is refused and never anonymous); an unverified certificate is refused;
 * the credentials of a Unix socket's peer; otherwise the caller is anonymous.
 * Thread: any (no state of its own). */
#include "server/access/authenticator.h"

#include <assert.h>
#include <stdio.h>
#include <strings.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/peer.h"

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
    const struct cor_user *user;
    struct cor_str token;
    int r = 0;

    assert(peer);
    if (peer->cert && peer->cert->is_verified && peer->cert->common_name.n > 0) {
        r = identify_cert(peer->cert, &id);
    } else if (header.p && read_bearer_token(header, &token)) {
        user = auth->tokens ? cor_token_table_find(auth->tokens, token) : NULL;
        if (!user)
            return -COR_EUNAUTHORIZED;
        id.user = *user;
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
