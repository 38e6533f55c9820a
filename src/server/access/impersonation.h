/* Acting as another user: the Impersonate-* headers, as Kubernetes has them. The caller needs the
 * verb `impersonate` for the user, for each group and extra, and for the uid. Afterwards nothing of
 * the caller's own identity is left.
 * Thread: any (no state). */
#ifndef COR_SERVER_IMPERSONATION_H
#define COR_SERVER_IMPERSONATION_H

#include <stdbool.h>

#include "http/request.h"
#include "meta/status/status.h"
#include "server/access/attributes.h"

/* A quick look at the name of a header. False: it is not an impersonation header. */
static inline bool cor_impersonation_may_be(struct cor_str name)
{
    return name.n >= sizeof("impersonate-") - 1 && (name.p[0] | 0x20) == 'i';
}

/* May the caller, the user of the attributes, do this? 0, -COR_EFORBIDDEN or -COR_EUNAUTHORIZED
 * with the Status; 1: it is not known yet. */
typedef int (*cor_impersonation_check)(void *arg, const struct cor_attributes *a,
                                       struct cor_status *reterr_status);

/* Replaces `identity`, which is the caller's, by the user whom the request's headers name. Without
 * such headers nothing changes. The new identity owns its text and borrows nothing from the
 * request. Its size is bounded by the size of the request's head.
 *
 * 0; 1, when a check has returned that: call again with the same request when it is known;
 * -COR_EFORBIDDEN or -COR_EUNAUTHORIZED with the Status of the first part that the caller may
 * not impersonate; -COR_EINVAL when groups, a uid or extras come without a user: upstream answers
 * this with a plain text of code 500, which is the Status' message; -COR_ENOMEM. On failure the
 * identity is still the caller's. */
int cor_impersonate(cor_impersonation_check check, void *arg, const struct cor_http_request *req,
                    struct cor_identity *identity, struct cor_status *reterr_status);

#endif
