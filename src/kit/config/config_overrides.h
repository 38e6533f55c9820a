/* Applies a program's flags (cor_client_config_overrides) to a configuration that is being read.
 * What the flags do not set stays as it is. All return 0, -COR_EINVAL (the message names the
 * override and what is wrong with it) or -COR_ENOMEM. Thread: one at a time.  Owner: the
 * configuration owns the texts. */
#ifndef COR_KIT_CONFIG_OVERRIDES_H
#define COR_KIT_CONFIG_OVERRIDES_H

#include "kit/config/client_config.h"

/* Sets one text; NULL and "" leave it as it is. */
int cor_override_text(char **field, const char *with, struct cor_status *reterr);

/* The CA, and whether certificates are checked at all: setting either replaces both. */
bool cor_overrides_have_trust(const struct cor_client_config_overrides *o);
int cor_override_trust(struct cor_client_config *c, const struct cor_client_config_overrides *o,
                       struct cor_status *reterr);

/* The token and its file: setting either replaces both. */
bool cor_overrides_have_token(const struct cor_client_config_overrides *o);
int cor_override_token(struct cor_client_config *c, const struct cor_client_config_overrides *o,
                       struct cor_status *reterr);

int cor_override_impersonation(struct cor_client_config *c,
                               const struct cor_client_config_overrides *o,
                               struct cor_status *reterr);

/* Does the configuration have a group, uid or extra to impersonate, but no user? COR_NOBODY_TEXT is
 * the message for that. */
bool cor_impersonates_nobody(const struct cor_client_config *c);
#define COR_NOBODY_TEXT                                                                            \
    "requesting uid, groups or user-extra without impersonating a user is not allowed"

/* Applies what may be set over a pod's service account; a user name, password or certificate may
 * not
 * (-COR_EINVAL). */
int cor_override_pod(struct cor_client_config *c, const struct cor_client_config_overrides *o,
                     struct cor_status *reterr);

#endif
