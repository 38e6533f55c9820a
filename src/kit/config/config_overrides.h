/* What a program's flags say (cor_client_config_overrides) over a configuration that is being read.
 * What they leave open stays as it is. All return 0, -COR_EINVAL (the message names the override
 * and what is wrong with it) or -COR_ENOMEM.
 * Thread: one at a time.  Owner: of the texts, the configuration. */
#ifndef COR_CLIENT_CONFIG_OVERRIDES_H
#define COR_CLIENT_CONFIG_OVERRIDES_H

#include "kit/config/client_config.h"

/* One text; NULL and "" leave it. */
int cor_override_text(char **field, const char *with, struct cor_status *reterr);

/* The CA and whether it is looked at: either takes the place of both. */
bool cor_overrides_have_trust(const struct cor_client_config_overrides *o);
int cor_override_trust(struct cor_client_config *c, const struct cor_client_config_overrides *o,
                       struct cor_status *reterr);

/* The token and its file: either takes the place of both. */
bool cor_overrides_have_token(const struct cor_client_config_overrides *o);
int cor_override_token(struct cor_client_config *c, const struct cor_client_config_overrides *o,
                       struct cor_status *reterr);

int cor_override_impersonation(struct cor_client_config *c,
                               const struct cor_client_config_overrides *o,
                               struct cor_status *reterr);

/* Who impersonates is missing, and something else of it is there: what is said of that. */
bool cor_impersonates_nobody(const struct cor_client_config *c);
#define COR_NOBODY_TEXT                                                                            \
    "requesting uid, groups or user-extra without impersonating a user is not allowed"

/* All that may be said over a pod's service account; no user name, password or certificate. */
int cor_override_pod(struct cor_client_config *c, const struct cor_client_config_overrides *o,
                     struct cor_status *reterr);

#endif
