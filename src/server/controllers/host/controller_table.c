#include "server/controllers/host/controller_table.h"

#include "base/buf.h"
#include "base/err.h"
#include "server/controllers/host/builtin.h"

#define NAMES_MAX 4096

const struct cor_server_controller_ops *const cor_server_controllers[] = {
    &cor_namespaces_ops,         &cor_service_accounts_ops,  &cor_root_ca_ops,
    &cor_claim_protection_ops,   &cor_volume_protection_ops, &cor_class_protection_ops,
    &cor_ttl_after_finished_ops, &cor_role_aggregation_ops,  &cor_garbage_collector_ops,
    &cor_resource_quota_ops,     &cor_service_repair_ops,
};
const size_t cor_nserver_controllers = COR_ARRAY_LEN(cor_server_controllers);

_Static_assert(COR_ARRAY_LEN(cor_server_controllers) <= COR_SERVER_CONTROLLERS_MAX,
               "the host has a slot for each controller");

bool cor_server_controller_is_enabled(const char *list, const char *name)
{
    struct cor_str rest = cor_strz(list ? list : "*");
    bool has_star = false;

    while (rest.n > 0) {
        struct cor_str item = cor_str_trim(cor_str_cut(&rest, ','));

        if (cor_str_eqz(item, name))
            return true;
        if (item.n > 0 && item.p[0] == '-' && cor_str_eqz(cor_str_from(item, 1), name))
            return false;
        has_star = has_star || cor_str_eqz(item, "*");
    }
    return has_star;
}

static bool is_known(struct cor_str name)
{
    for (size_t i = 0; i < cor_nserver_controllers; i++)
        if (cor_str_eqz(name, cor_server_controllers[i]->name))
            return true;
    return false;
}

static int refuse_name(struct cor_str name, struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf names;

    cor_buf_init(&names, NAMES_MAX);
    for (size_t i = 0; i < cor_nserver_controllers; i++)
        (void)cor_buf_addf(&names, "%s%s", i > 0 ? ", " : "", cor_server_controllers[i]->name);
    return cor_status_set(reterr, -COR_EINVAL,
                          "--controllers: \"%.*s\" is not in the list of known controllers; this "
                          "server has %.*s",
                          COR_STR_ARG(name), COR_STR_ARG(cor_buf_str(&names)));
}

int cor_server_controllers_check(const char *list, struct cor_status *reterr)
{
    struct cor_str rest = cor_strz(list ? list : "*");

    while (rest.n > 0) {
        struct cor_str item = cor_str_trim(cor_str_cut(&rest, ','));
        struct cor_str name = item.n > 0 && item.p[0] == '-' ? cor_str_from(item, 1) : item;

        if (!cor_str_eqz(name, "*") && !is_known(name))
            return refuse_name(name, reterr);
    }
    return 0;
}
