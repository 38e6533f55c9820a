/* Acting as another user: the Impersonate-* headers, as Kubernetes has them. The caller needs the
 * verb `impersonate` on every single thing that it wants to be; of the caller itself nothing is
 * left afterwards.
 * Thread: any (no state). */
#ifndef COR_SERVER_IMPERSONATION_H
#define COR_SERVER_IMPERSONATION_H

#include <stdbool.h>

#include "http/request.h"
#include "meta/status.h"
#include "server/access/authenticator.h"
#include "server/access/authorizer.h"

/* A quick look at a header's name. False: cor_impersonate() has no use for it. */
static inline bool cor_impersonation_may_be(struct cor_str name)
{
    return name.n >= sizeof("impersonate-") - 1 && (name.p[0] | 0x20) == 'i';
}

/* Replaces `identity`, which is the caller's, by the user that the request's headers name. Without
 * such headers nothing changes. The new identity owns its text and borrows nothing of the request.
 * Its size is bounded by that of the request's head.
 *
 * 0; -COR_EFORBIDDEN or -COR_EUNAUTHORIZED with the Status of the first thing that the caller may
 * not be; -COR_EINVAL when groups, a uid or extras come without a user: upstream answers that with
 * a plain text of code 500, which is the Status' message; -COR_ENOMEM. The identity is the
 * caller's still when it fails. */
int cor_impersonate(enum cor_authz_mode mode, const struct cor_http_request *req,
                    struct cor_identity *identity, struct cor_status *reterr_status);

#endif
