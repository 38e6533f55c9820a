/* clang-format off */
/* Where a configuration comes from when a program names nothing, or only a part:
 *
 *   an explicit kubeconfig, or a context, cluster, user or server of the flags ──► kubeconfig files
 *   else, in a pod, when no file has a current context                         ──► service account
 *   else                                                                       ──► kubeconfig files
 *
 * The files are KUBECONFIG's list, or ~/.kube/config. Flags are applied over either source. Without
 * any file, and without a server among the flags, the result is -COR_ENOTFOUND, and the message
 * names what was looked for.
 * Thread: one at a time (the environment is read). */
/* clang-format on */
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sized.h"
#include "kit/config/client_config.h"
#include "kit/config/config_overrides.h"
#include "kit/config/kubeconfig.h"

static bool is_pod(void)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");

    return host && *host;
}

static int load_service_account(const struct cor_client_config_overrides *o,
                                struct cor_client_config *ret_config, struct cor_status *reterr)
{
    COR_CLEANUP(cor_client_config_deinit) struct cor_client_config c = {0};
    int r = cor_client_config_in_cluster(NULL, &c, reterr);

    if (r == 0)
        r = cor_override_pod(&c, o, reterr);
    if (r < 0)
        return r;
    *ret_config = c;
    c = (struct cor_client_config){0};
    return 0;
}

/* Files without a current context count as empty, as upstream's do: a pod's account is used then.
 */
int cor_client_config_load_with(const char *kubeconfig,
                                const struct cor_client_config_overrides *overrides,
                                struct cor_client_config *ret_config, struct cor_status *reterr)
{
    COR_CLEANUP(cor_kubeconfig_freep) struct cor_kubeconfig *kc = cor_kubeconfig_new();
    struct cor_kubeconfig_files files = cor_kubeconfig_files_from_env();
    struct cor_client_config_overrides o;
    bool is_named;
    bool has_list = cor_config_has(files.list);
    size_t nread = 0;
    int r = cor_sized_copy(&o, sizeof(o), overrides);

    if (r < 0)
        return cor_status_set(reterr, r, "read the configuration: %s", cor_sized_text(r));
    if (!kc)
        return cor_status_set(reterr, -COR_ENOMEM, "read the configuration");
    is_named = kubeconfig || cor_config_has(o.context) || cor_config_has(o.cluster) ||
               cor_config_has(o.user) || cor_config_has(o.server);
    files.explicit_path = kubeconfig;
    r = cor_kubeconfig_load(kc, &files, &nread, reterr);
    if (r < 0)
        return r;
    if (!is_named && is_pod() && cor_kubeconfig_current_context(kc).n == 0)
        return load_service_account(&o, ret_config, reterr);
    if (nread == 0 && !cor_config_has(o.server))
        return cor_status_set(reterr, -COR_ENOTFOUND,
                              "no configuration: there is no %s%s, and this is no pod",
                              has_list ? files.list : "~/.kube/config",
                              has_list ? " (KUBECONFIG)" : ", KUBECONFIG is not set");
    return cor_kubeconfig_resolve(kc, &o, ret_config, reterr);
}

int cor_client_config_load(const char *kubeconfig, const char *context,
                           struct cor_client_config *ret_config, struct cor_status *reterr)
{
    const struct cor_client_config_overrides overrides = {COR_CLIENT_CONFIG_OVERRIDES,
                                                          .context = context};

    return cor_client_config_load_with(kubeconfig, &overrides, ret_config, reterr);
}

int cor_client_config_set(char **field, const char *text)
{
    char *copy = text ? cor_strdup(text) : NULL;

    if (text && !copy)
        return -COR_ENOMEM;
    cor_free_secret(*field);
    *field = copy;
    return 0;
}
