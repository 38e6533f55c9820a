/* What a program's flags change in a configuration: see the header. Two pairs are taken whole,
 * since half of a pair would combine with the other half of the file: the CA with the insecure
 * flag, and the token with its file. A failure leaves the configuration partly changed; whoever
 * builds it releases it. Thread: one at a time. */
#include "kit/config/config_overrides.h"

#include "base/err.h"
#include "base/mem.h"

int cor_override_text(char **field, const char *with, struct cor_status *reterr)
{
    if (cor_config_has(with) && cor_client_config_set(field, with) < 0)
        return cor_status_no_memory(reterr);
    return 0;
}

static int override_load(const char *what, const char *path, char **ret, struct cor_status *reterr)
{
    int r = cor_client_config_read(path, ret);

    if (r == -COR_ENOMEM)
        return cor_status_no_memory(reterr);
    return r < 0 ? cor_status_set(reterr, -COR_EINVAL, "overrides.%s: unable to read %s: %s", what,
                                  path, cor_err_text(r))
                 : 0;
}

bool cor_overrides_have_trust(const struct cor_client_config_overrides *o)
{
    return o->insecure_skip_tls_verify || cor_config_has(o->ca_file);
}

int cor_override_trust(struct cor_client_config *c, const struct cor_client_config_overrides *o,
                       struct cor_status *reterr)
{
    if (!cor_overrides_have_trust(o))
        return 0;
    c->insecure_skip_tls_verify = o->insecure_skip_tls_verify;
    c->ca_pem = cor_free(c->ca_pem);
    return cor_config_has(o->ca_file) ? override_load("ca_file", o->ca_file, &c->ca_pem, reterr)
                                      : 0;
}

bool cor_overrides_have_token(const struct cor_client_config_overrides *o)
{
    return cor_config_has(o->token) || cor_config_has(o->token_file);
}

int cor_override_token(struct cor_client_config *c, const struct cor_client_config_overrides *o,
                       struct cor_status *reterr)
{
    int r;

    if (!cor_overrides_have_token(o))
        return 0;
    c->token = cor_free_secret(c->token);
    c->token_file = cor_free(c->token_file);
    r = cor_override_text(&c->token_file, o->token_file, reterr);
    if (r == 0)
        r = cor_override_text(&c->token, o->token, reterr);
    return r < 0 || c->token ? r : override_load("token_file", o->token_file, &c->token, reterr);
}

static int override_groups(struct cor_client_config *c, const struct cor_client_config_overrides *o,
                           struct cor_status *reterr)
{
    const struct cor_strings from = {(char **)o->impersonate_groups, o->nimpersonate_groups};
    struct cor_strings groups = {0};

    if (from.n == 0)
        return 0;
    if (from.n > COR_STRINGS_MAX)
        return cor_status_set(reterr, -COR_EINVAL,
                              "overrides.impersonate_groups: at most %d are expected",
                              COR_STRINGS_MAX);
    if (cor_strings_copy(&groups, &from) < 0) {
        cor_strings_deinit(&groups);
        return cor_status_no_memory(reterr);
    }
    cor_strings_deinit(&c->impersonate_groups);
    c->impersonate_groups = groups;
    return 0;
}

int cor_override_impersonation(struct cor_client_config *c,
                               const struct cor_client_config_overrides *o,
                               struct cor_status *reterr)
{
    int r = cor_override_text(&c->impersonate_user, o->impersonate_user, reterr);

    if (r == 0)
        r = cor_override_text(&c->impersonate_uid, o->impersonate_uid, reterr);
    return r < 0 ? r : override_groups(c, o, reterr);
}

bool cor_impersonates_nobody(const struct cor_client_config *c)
{
    return !cor_config_has(c->impersonate_user) &&
           (cor_config_has(c->impersonate_uid) || c->impersonate_groups.n > 0 ||
            c->impersonate_extra.n > 0);
}

int cor_override_pod(struct cor_client_config *c, const struct cor_client_config_overrides *o,
                     struct cor_status *reterr)
{
    int r;

    if (cor_config_has(o->username) || cor_config_has(o->password) ||
        cor_config_has(o->client_cert_file) || cor_config_has(o->client_key_file))
        return cor_status_set(reterr, -COR_EINVAL,
                              "overrides: a user name, password or client certificate is not "
                              "expected beside a pod's account");
    r = cor_override_text(&c->ns, o->ns, reterr);
    if (r == 0)
        r = cor_override_text(&c->tls_server_name, o->tls_server_name, reterr);
    if (r == 0)
        r = cor_override_text(&c->proxy_url, o->proxy_url, reterr);
    if (r == 0)
        r = cor_override_trust(c, o, reterr);
    if (r == 0)
        r = cor_override_token(c, o, reterr);
    if (r == 0)
        r = cor_override_impersonation(c, o, reterr);
    if (r == 0 && cor_impersonates_nobody(c))
        return cor_status_set(reterr, -COR_EINVAL, "overrides.impersonate_user: " COR_NOBODY_TEXT);
    return r;
}
