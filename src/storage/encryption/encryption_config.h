/* Kubernetes' EncryptionConfiguration (apiserver.config.k8s.io/v1), in YAML or JSON, decoded
 * strictly and checked with upstream's rules and words. encryption.h turns it into transformers; it
 * is not kept afterwards. Thread: one at a time.  Owner: whoever embeds it. */
#ifndef COR_STORAGE_ENCRYPTION_ENCRYPTION_CONFIG_H
#define COR_STORAGE_ENCRYPTION_ENCRYPTION_CONFIG_H

#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "meta/status/gvk.h"
#include "meta/status/status.h"

#define COR_ENCRYPTION_FILE_MAX (1u << 20)
/* The maximum of resource names in all rules together: every name is compared with every other. */
#define COR_ENCRYPTION_NAMES_MAX 4096

enum cor_encryption_provider_kind {
    COR_PROVIDER_AESGCM,
    COR_PROVIDER_AESCBC,
    COR_PROVIDER_SECRETBOX,
    COR_PROVIDER_IDENTITY,
    COR_PROVIDER_KMS, /* known by name, and refused */
    COR_PROVIDER_KIND_COUNT,
};

struct cor_encryption_key {
    struct cor_str name;
    struct cor_str secret; /* still base64 */
};

/* One element of a list of providers. */
struct cor_encryption_provider {
    unsigned kinds; /* a bit per kind; a checked configuration has exactly one */
    enum cor_encryption_provider_kind kind; /* the first of them */
    struct cor_encryption_key *keys;
    size_t nkeys;
};

/* Resources and the providers for them. */
struct cor_encryption_rule {
    struct cor_str *resources; /* as written: "secrets", "*.apps", "*.*" */
    size_t nresources;
    struct cor_str resources_json;
    struct cor_encryption_provider *providers;
    size_t nproviders;
};

struct cor_encryption_config {
    struct cor_encryption_rule *rules;
    size_t nrules, nnames;
    struct cor_buf text, strings; /* what the rest points into; wiped in the end */
};

/* Decodes and checks. -COR_EINVAL with upstream's message, which contains no secret, -COR_ETOOBIG,
 * -COR_ENOMEM; there is nothing to release on failure. */
int cor_encryption_config_read(struct cor_str file, struct cor_encryption_config *ret_config,
                               struct cor_status *reterr_status);

void cor_encryption_config_deinit(struct cor_encryption_config *config); /* safe when zeroed */

/* Upstream's validation, of what was decoded. 0, -COR_EINVAL, -COR_ENOMEM. */
int cor_encryption_config_check(const struct cor_encryption_config *config,
                                struct cor_status *reterr_status);

/* "secrets" is of the core group, "deployments.apps" of apps, "*." all of the core group. */
struct cor_gr cor_encryption_gr(struct cor_str resource);

#endif
