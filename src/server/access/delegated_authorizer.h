/* The authorizer of a server that delegates: another server is asked, by the delegation's clients
 * of the asker's loop. No question is needed for the paths that everybody may read
 * (--authorization-always-allow-paths).
 * Owner: its maker.  Thread: any; a question belongs to its loop. */
#ifndef COR_SERVER_DELEGATED_AUTHORIZER_H
#define COR_SERVER_DELEGATED_AUTHORIZER_H

#include "server/access/authorizer.h"

struct cor_delegation;

struct cor_delegated_authorizer {
    struct cor_authorizer authorizer; /* the first member */
    struct cor_delegation *delegation;
};

/* The delegation must have a kubeconfig for authorization, and outlive the authorizer. */
void cor_delegated_authorizer_init(struct cor_delegated_authorizer *da,
                                   struct cor_delegation *delegation);

#endif
