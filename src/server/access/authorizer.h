/* What a user may do. system:masters may do everything, everybody may read health and version, and
 * the mode decides about the rest.
 * Thread: any (no state). */
#ifndef COR_SERVER_AUTHORIZER_H
#define COR_SERVER_AUTHORIZER_H

#include "base/str.h"
#include "meta/status/status.h"
#include "server/access/authenticator.h"
#include "server/request/request_info.h"

/* kube-apiserver's words. Without a mode only system:masters may do anything. DELEGATED: another
 * server is asked (delegation.h); the functions here then only know what it need not be asked for.
 */
enum cor_authz_mode {
    COR_AUTHZ_MASTERS,
    COR_AUTHZ_ALWAYS_ALLOW,
    COR_AUTHZ_ALWAYS_DENY,
    COR_AUTHZ_DELEGATED,
};

/* /healthz, /livez, /readyz and /version. Not the paths below them: a single check shows more. */
bool cor_path_is_public(struct cor_str path);

/* What somebody wants to do: a verb on a resource, or on another path. */
struct cor_authz_request {
    bool is_resource;
    struct cor_str verb, group, resource, subresource; /* empty: none */
    struct cor_str path;
};

/* May `user` do this? `ret_reason`: why not, or NULL. */
bool cor_authz_allows(enum cor_authz_mode mode, const struct cor_user *user,
                      const struct cor_authz_request *request, const char **ret_reason);

/* `verb` is the API's ("get", "list"), or for other paths the method in small letters. 0,
 * -COR_EUNAUTHORIZED (an anonymous caller asks for what is not public), -COR_EFORBIDDEN with
 * upstream's words. */
int cor_authorize(enum cor_authz_mode mode, const struct cor_identity *identity,
                  const struct cor_request_info *info, const char *verb,
                  struct cor_status *reterr_status);

/* The 403 in upstream's words; `reason` (NULL: none) is added. -COR_EFORBIDDEN. */
int cor_authorize_refuse(const struct cor_user *user, const struct cor_request_info *info,
                         const char *verb, const char *reason, struct cor_status *reterr_status);

#endif
