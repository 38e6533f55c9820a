/* What goes in and out of a credential plugin: ExecCredential of client.authentication.k8s.io, v1
 * and v1beta1. No process here. Thread: one at a time.  Owner: whoever embeds it. */
#ifndef COR_KIT_EXEC_CREDENTIAL_H
#define COR_KIT_EXEC_CREDENTIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "kit/config/client_config.h"
#include "meta/status/status.h"

#define COR_EXEC_OUTPUT_MAX (1u << 20)

/* A token, or a certificate and its key, or both. */
struct cor_exec_credential {
    char *token; /* NULL: none */
    char *cert_pem, *key_pem;
    bool expires;
    int64_t expires_at_s; /* Unix time */
};

/* Safe on a zeroed struct. Secrets are wiped. */
void cor_exec_credential_deinit(struct cor_exec_credential *c);

/* Appends the value of KUBERNETES_EXEC_INFO. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_exec_credential_write_info(const struct cor_client_config *config, bool interactive,
                                   struct cor_buf *out);

/* Reads a plugin's output. -COR_EINVAL: the message names the field, and quotes nothing of the
 * output but its version; -COR_ENOMEM. */
int cor_exec_credential_read(struct cor_str output, const char *api_version,
                             struct cor_exec_credential *ret, struct cor_status *reterr);

#endif
