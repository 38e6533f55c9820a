/* The rules of upstream's validation of an EncryptionConfiguration: at least one resource and one
 * provider in a rule, names of resources that can be matched and do not overlap within a rule, one
 * kind in a provider, keys with a name and a secret of a length that the cipher takes. All mistakes
 * are collected as field errors and returned in one message; a secret is never printed. Out of
 * memory is reported as such, whatever was found before. Thread: any; nothing is changed. */
#include <stdio.h>

#include "base/base64.h"
#include "base/err.h"
#include "meta/names/field_error.h"
#include "storage/encryption/encryption_config.h"

#define SECRET_MAX  4096
#define MESSAGE_MAX (64u * 1024)

struct cor_gr cor_encryption_gr(struct cor_str resource)
{
    struct cor_str group = resource, plural = cor_str_cut(&group, '.');

    return (struct cor_gr){.group = group.p ? group : COR_STR(""), .resource = plural};
}

static bool is_any(struct cor_str s)
{
    return cor_str_eq(s, COR_STR("*"));
}

static void check_overlap(const struct cor_encryption_rule *rule, const struct cor_field_path *path,
                          struct cor_field_errors *errs)
{
    bool repeats = false, overlaps = false;

    for (size_t i = 0; i < rule->nresources; i++) {
        struct cor_gr a = cor_encryption_gr(rule->resources[i]);

        for (size_t j = 0; j < rule->nresources; j++) {
            struct cor_gr b = cor_encryption_gr(rule->resources[j]);

            if (i == j)
                continue;
            if (!repeats && cor_gr_eq(&a, &b))
                repeats = true;
            else if (is_any(a.group) && is_any(a.resource))
                overlaps = true;
            else if (cor_str_eq(a.group, b.group) && (is_any(a.resource) || is_any(b.resource)))
                overlaps = true;
        }
    }
    if (repeats)
        cor_field_errors_add(errs, COR_FIELD_INVALID, path, cor_field_json(rule->resources_json),
                             "the same resource cannot be specified multiple times");
    if (overlaps)
        cor_field_errors_add(errs, COR_FIELD_INVALID, path, cor_field_json(rule->resources_json),
                             "using overlapping resources such as 'secrets' and '*.' in the same "
                             "resource list is not allowed as they will be masked");
}

static bool has_capital(struct cor_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] >= 'A' && s.p[i] <= 'Z')
            return true;
    }
    return false;
}

/* NULL: nothing is wrong with it. */
static const char *wrong_with(struct cor_str resource)
{
    static const char *const hidden[] = {"apiserveripinfo", "serviceipallocations",
                                         "servicenodeportallocations"};
    struct cor_gr gr = cor_encryption_gr(resource);

    if (has_capital(resource))
        return "resource name should not contain capital letters";
    if (is_any(resource))
        return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all "
               "resources";
    for (size_t i = 0; i < COR_ARRAY_LEN(hidden); i++) {
        if (cor_str_eqz(resource, hidden[i]))
            return "resources which do not have REST API/s cannot be encrypted";
    }
    if (cor_str_eq(gr.group, COR_STR("events.k8s.io")))
        return "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use "
               "'events' instead in the config file";
    if (cor_str_eq(gr.group, COR_STR("extensions")))
        return "'extensions' group has been removed and cannot be used for encryption";
    if (is_any(gr.group) && !is_any(gr.resource))
        return "encrypting the same resource across groups is not supported";
    return NULL;
}

static void check_secret(const struct cor_encryption_key *key, bool aes,
                         const struct cor_field_path *path, struct cor_field_errors *errs)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf secret;
    const struct cor_field_value redacted = cor_field_string(COR_STR("REDACTED"));
    char detail[128];
    int r;

    cor_buf_init_secret(&secret, SECRET_MAX);
    r = cor_base64_decode(COR_BASE64_STD, key->secret, &secret, NULL);
    if (r == -COR_ENOMEM) {
        errs->error = r;
        return;
    }
    if (r == -COR_EINVAL) {
        cor_field_errors_add(errs, COR_FIELD_INVALID, path, redacted,
                             "secrets must be base64 encoded");
        return;
    }
    if (r == 0 && (secret.n == 32 || (aes && (secret.n == 16 || secret.n == 24))))
        return;
    snprintf(detail, sizeof(detail),
             "secret is not of the expected length, got %zu, expected one of %s",
             r == 0 ? secret.n : key->secret.n / 4 * 3, aes ? "[16 24 32]" : "[32]");
    cor_field_errors_add(errs, COR_FIELD_INVALID, path, redacted, detail);
}

static void check_key(const struct cor_encryption_key *key, bool aes,
                      const struct cor_field_path *path, struct cor_field_errors *errs)
{
    struct cor_field_path name = cor_field_child(path, COR_STR("name"));
    struct cor_field_path secret = cor_field_child(path, COR_STR("secret"));

    if (key->name.n == 0)
        cor_field_errors_add(errs, COR_FIELD_REQUIRED, &name, cor_field_none(),
                             "name is a mandatory field for a key");
    if (key->secret.n == 0)
        cor_field_errors_add(errs, COR_FIELD_REQUIRED, &secret, cor_field_none(),
                             "secret is a mandatory field for a key");
    else
        check_secret(key, aes, &secret, errs);
}

static void check_keys(const struct cor_encryption_provider *p, const char *name,
                       const struct cor_field_path *path, struct cor_field_errors *errs)
{
    struct cor_field_path own = cor_field_child(path, cor_strz(name));
    struct cor_field_path keys = cor_field_child(&own, COR_STR("keys"));

    if (p->nkeys == 0)
        cor_field_errors_add(errs, COR_FIELD_REQUIRED, &keys, cor_field_none(),
                             "at least one keys is required");
    for (size_t i = 0; i < p->nkeys; i++) {
        struct cor_field_path at = cor_field_index(&keys, i);

        check_key(&p->keys[i], p->kind != COR_PROVIDER_SECRETBOX, &at, errs);
    }
}

static void check_provider(const struct cor_encryption_provider *p,
                           const struct cor_field_path *path, struct cor_field_errors *errs)
{
    static const char *const names[] = {
        [COR_PROVIDER_AESGCM] = "aesgcm",
        [COR_PROVIDER_AESCBC] = "aescbc",
        [COR_PROVIDER_SECRETBOX] = "secretbox",
    };
    struct cor_field_path kms = cor_field_child(path, COR_STR("kms"));

    /* Upstream prints the provider here, keys and all. */
    if (p->kinds == 0) {
        cor_field_errors_add(errs, COR_FIELD_INVALID, path, cor_field_string(COR_STR("REDACTED")),
                             "provider does not contain any of the expected providers: KMS, "
                             "AESGCM, AESCBC, Secretbox, Identity");
        return;
    }
    if (p->kinds & (p->kinds - 1))
        cor_field_errors_add(errs, COR_FIELD_INVALID, path, cor_field_string(COR_STR("REDACTED")),
                             "more than one provider specified in a single element, should split "
                             "into different list elements");
    if (p->kind == COR_PROVIDER_KMS)
        cor_field_errors_add(errs, COR_FIELD_FORBIDDEN, &kms, cor_field_none(),
                             "KMS providers are not supported by this server; use aesgcm, aescbc "
                             "or secretbox");
    else if (p->kind != COR_PROVIDER_IDENTITY)
        check_keys(p, names[p->kind], path, errs);
}

static void require_one(const struct cor_field_path *path, struct cor_field_errors *errs)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf detail;
    int r;

    cor_buf_init(&detail, 256);
    r = cor_buf_addz(&detail, "at least one ");
    if (r == 0)
        r = cor_field_path_print(path, &detail);
    if (r == 0)
        r = cor_buf_addz(&detail, " is required");
    if (r < 0)
        errs->error = r;
    else
        cor_field_errors_add(errs, COR_FIELD_REQUIRED, path, cor_field_none(), cor_buf_z(&detail));
}

static void check_rule(const struct cor_encryption_rule *rule, const struct cor_field_path *path,
                       struct cor_field_errors *errs)
{
    struct cor_field_path resources = cor_field_child(path, COR_STR("resources"));
    struct cor_field_path providers = cor_field_child(path, COR_STR("providers"));

    if (rule->nresources == 0)
        require_one(&resources, errs);
    check_overlap(rule, &resources, errs);
    for (size_t i = 0; i < rule->nresources; i++) {
        struct cor_field_path at = cor_field_index(&resources, i);
        const char *wrong = wrong_with(rule->resources[i]);

        if (wrong)
            cor_field_errors_add(errs, COR_FIELD_INVALID, &at, cor_field_string(rule->resources[i]),
                                 wrong);
    }
    if (rule->nproviders == 0)
        require_one(&providers, errs);
    for (size_t i = 0; i < rule->nproviders; i++) {
        struct cor_field_path at = cor_field_index(&providers, i);

        check_provider(&rule->providers[i], &at, errs);
    }
}

int cor_encryption_config_check(const struct cor_encryption_config *config,
                                struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    struct cor_field_path root = cor_field_root(COR_STR("resources"));

    cor_field_errors_init(&errs);
    cor_buf_init(&text, MESSAGE_MAX);
    if (config->nrules == 0)
        require_one(&root, &errs);
    for (size_t i = 0; i < config->nrules; i++) {
        struct cor_field_path at = cor_field_index(&root, i);

        check_rule(&config->rules[i], &at, &errs);
    }
    if (errs.error < 0 || (errs.n > 0 && cor_field_errors_print(&errs, &text) == -COR_ENOMEM))
        return cor_status_no_memory(reterr_status);
    return errs.n > 0 ? cor_status_set(reterr_status, -COR_EINVAL, "%s", cor_buf_z(&text)) : 0;
}
