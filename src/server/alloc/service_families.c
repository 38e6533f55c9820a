/* clang-format off */
/* The IP families of a Service (service_families.h), in upstream's order:
 *
 *   the fields are well-formed (contract validation 8.1.13 to 8.1.16) ──► the policy fits to the lists
 *   that were given ──► families of the addresses that were given ──► the cluster has these families
 *   ──► what is missing is filled in (contract types 4.5.3)
 *
 * Each step that finds errors ends the plan: the next one relies on what this one has checked.
 * Thread: any (pure). */
/* clang-format on */
#include "server/alloc/service_families.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"

#define ERROR_TEXT    256
#define LIST_TEXT_MAX (4u << 20)

static const struct cor_field_path spec_path = {.name = COR_STR("spec")};

/* An error at spec.<name> or spec.<name>[index] (SIZE_MAX: no index). */
static void add_error(struct cor_field_errors *errs, enum cor_field_error_type type,
                      const char *name, size_t index, struct cor_field_value value,
                      const char *detail)
{
    struct cor_field_path field = cor_field_child(&spec_path, cor_strz(name));
    struct cor_field_path element = cor_field_index(&field, index);

    cor_field_errors_add(errs, type, index == SIZE_MAX ? &field : &element, value, detail);
}

void cor_service_add_ips_error(struct cor_field_errors *errs, const struct cor_service *service,
                               size_t index, const char *detail)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf list = {0};

    cor_buf_init(&list, LIST_TEXT_MAX);
    if (cor_texts_write(&service->cluster_ips, &list) < 0)
        errs->error = -COR_ENOMEM;
    else
        add_error(errs, COR_FIELD_INVALID, "clusterIPs", index, cor_field_json(cor_buf_str(&list)),
                  detail);
}

static void add_policy_error(struct cor_field_errors *errs, const struct cor_service *service,
                             const char *detail)
{
    add_error(errs, COR_FIELD_INVALID, "ipFamilyPolicy", SIZE_MAX,
              cor_field_string(service->policy), detail);
}

static bool has_text(const struct cor_texts *texts, size_t n, struct cor_str text)
{
    for (size_t i = 0; i < n && i < texts->n; i++)
        if (cor_str_eq(texts->v[i], text))
            return true;
    return false;
}

static void check_families(struct cor_field_errors *errs, const struct cor_service *service)
{
    static const char *const families[] = {"IPv4", "IPv6"};
    static const char *const policies[] = {"PreferDualStack", "RequireDualStack", "SingleStack"};
    struct cor_field_path field = cor_field_child(&spec_path, COR_STR("ipFamilies"));
    struct cor_field_path policy = cor_field_child(&spec_path, COR_STR("ipFamilyPolicy"));

    /* Each value after the second is unsupported or a duplicate: the errors bound the work. */
    for (size_t i = 0; i < service->families.n && errs->n < COR_STATUS_CAUSES_MAX; i++) {
        struct cor_field_path element = cor_field_index(&field, i);
        struct cor_field_value value = cor_field_string(service->families.v[i]);
        enum cor_addr_family family;

        if (!cor_addr_family_parse(service->families.v[i], &family))
            cor_field_errors_add_not_supported(errs, &element, value, families,
                                               COR_ARRAY_LEN(families));
        if (has_text(&service->families, i, service->families.v[i]))
            cor_field_errors_add(errs, COR_FIELD_DUPLICATE, &element, value, NULL);
    }
    if (service->policy.p && !cor_str_eq(service->policy, COR_SINGLE_STACK) &&
        !cor_str_eq(service->policy, COR_PREFER_DUAL) &&
        !cor_str_eq(service->policy, COR_REQUIRE_DUAL))
        cor_field_errors_add_not_supported(errs, &policy, cor_field_string(service->policy),
                                           policies, COR_ARRAY_LEN(policies));
}

/* False: one of the addresses is invalid, so the families cannot be determined. */
static bool check_ips(struct cor_field_errors *errs, const struct cor_service *service,
                      const struct cor_service *old)
{
    const struct cor_texts *ips = &service->cluster_ips;
    bool are_valid = true, seen[COR_ADDR_FAMILIES] = {false};

    for (size_t i = 0; i < ips->n && errs->n < COR_STATUS_CAUSES_MAX; i++) {
        struct cor_addr ip;

        if (i == 0 && cor_str_eq(ips->v[i], COR_SERVICE_NO_IP)) {
            if (ips->n > 1) {
                are_valid = false;
                cor_service_add_ips_error(errs, service, SIZE_MAX,
                                          "'None' must be the first and only value");
            }
            continue;
        }
        if (cor_addr_parse(ips->v[i], &ip) == 0) {
            seen[cor_addr_family(ip)] = true;
        } else if (!old || !has_text(&old->cluster_ips, old->cluster_ips.n, ips->v[i])) {
            are_valid = false;
            add_error(errs, COR_FIELD_INVALID, "clusterIPs", i, cor_field_string(ips->v[i]),
                      "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
        }
    }
    if (ips->n > 2)
        cor_service_add_ips_error(errs, service, SIZE_MAX, "may only hold up to 2 values");
    if (are_valid && ips->n > 1 && !(seen[COR_IPV4] && seen[COR_IPV6]))
        cor_service_add_ips_error(errs, service, SIZE_MAX,
                                  "may specify no more than one IP for each IP family");
    return are_valid;
}

/* What must hold before anything is allocated (contract validation 8.1.13 to 8.1.16). */
static void check_ip_fields(struct cor_field_errors *errs, const struct cor_service *service,
                            const struct cor_service *old)
{
    const struct cor_texts *ips = &service->cluster_ips;
    char text[ERROR_TEXT];

    if (service->cluster_ip.n > 0 && ips->n == 0)
        add_error(errs, COR_FIELD_REQUIRED, "clusterIPs", SIZE_MAX, cor_field_none(), NULL);
    else if (service->cluster_ip.n > 0 && !cor_str_eq(ips->v[0], service->cluster_ip))
        cor_service_add_ips_error(errs, service, SIZE_MAX, "first value must match `clusterIP`");
    else if (service->cluster_ip.n == 0 && ips->n > 0)
        cor_service_add_ips_error(errs, service, SIZE_MAX,
                                  "must be empty when `clusterIP` is not specified");
    check_families(errs, service);
    if (!check_ips(errs, service, old) || cor_service_is_headless(service))
        return;
    for (size_t i = 0; i < ips->n && i < service->families.n; i++) {
        enum cor_addr_family family;
        struct cor_addr ip;

        if (!cor_addr_family_parse(service->families.v[i], &family) ||
            cor_addr_parse(ips->v[i], &ip) < 0 || cor_addr_family(ip) == family)
            continue;
        snprintf(text, sizeof(text), "expected an %.*s value as indicated by `ipFamilies[%zu]`",
                 COR_STR_ARG(service->families.v[i]), i);
        add_error(errs, COR_FIELD_INVALID, "clusterIPs", i, cor_field_string(ips->v[i]), text);
    }
}

bool cor_service_is_unchanged_preference(const struct cor_service *service,
                                         const struct cor_service *old)
{
    return old && service->policy.p && old->type == service->type &&
           (service->type == COR_SERVICE_CLUSTER_IP || cor_service_has_node_ports(service)) &&
           cor_str_eq(service->policy, COR_PREFER_DUAL) &&
           (!old->policy.p || cor_str_eq(old->policy, COR_PREFER_DUAL)) &&
           cor_texts_same(&old->cluster_ips, &service->cluster_ips) &&
           cor_texts_same(&old->families, &service->families);
}

static bool is_fewer(const struct cor_texts *now, const struct cor_texts *before)
{
    return now->n > 0 && now->n < before->n;
}

/* Refuses a policy that does not fit to the lists that were given, and shortens lists that a change
 * to SingleStack leaves as they were. */
static void check_policy(struct cor_field_errors *errs, struct cor_service *service,
                         const struct cor_service *old)
{
    bool is_single = cor_str_eq(service->policy, COR_SINGLE_STACK);

    if (old && is_single) {
        if (cor_texts_same(&old->cluster_ips, &service->cluster_ips) && service->cluster_ips.n > 1)
            service->cluster_ips.n = 1;
        if (cor_texts_same(&old->families, &service->families) && service->families.n > 1)
            service->families.n = 1;
    } else if (old) {
        if (is_fewer(&service->cluster_ips, &old->cluster_ips))
            add_policy_error(errs, service,
                             "must be 'SingleStack' to release the secondary cluster IP");
        if (is_fewer(&service->families, &old->families))
            add_policy_error(errs, service,
                             "must be 'SingleStack' to release the secondary IP family");
    }
    if (is_single && service->cluster_ips.n == 2)
        add_policy_error(errs, service,
                         "must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster "
                         "IPs are specified");
    if (is_single && service->families.n == 2)
        add_policy_error(errs, service,
                         "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP "
                         "families are specified");
}

/* Adds the families of addresses that were given without one. */
static int add_families_of_ips(struct cor_field_errors *errs, struct cor_service *service,
                               const struct cor_service_cluster *cluster)
{
    char text[ERROR_TEXT];
    int r = 0;

    for (size_t i = 0; i < service->cluster_ips.n && r == 0; i++) {
        enum cor_addr_family family;
        struct cor_addr ip;

        if (cor_addr_parse(service->cluster_ips.v[i], &ip) < 0)
            break;
        if (i < service->families.n)
            continue;
        family = cor_addr_family(ip);
        if (cluster->has[family]) {
            r = cor_texts_add(&service->families, cor_addr_family_name(family));
            continue;
        }
        snprintf(text, sizeof(text), "%.*s is not configured on this cluster",
                 COR_STR_ARG(cor_addr_family_name(family)));
        cor_service_add_ips_error(errs, service, i, text);
    }
    return r;
}

static int add_other_family(struct cor_service *service)
{
    enum cor_addr_family family;

    (void)cor_addr_family_parse(service->families.v[0], &family);
    return cor_texts_add(&service->families,
                         cor_addr_family_name(family == COR_IPV4 ? COR_IPV6 : COR_IPV4));
}

static void check_cluster_has(struct cor_field_errors *errs, const struct cor_service *service,
                              const struct cor_service_cluster *cluster)
{
    if (cor_str_eq(service->policy, COR_REQUIRE_DUAL) &&
        !(cluster->has[COR_IPV4] && cluster->has[COR_IPV6]))
        add_policy_error(errs, service, "this cluster is not configured for dual-stack services");
    for (size_t i = 0; i < service->families.n; i++) {
        enum cor_addr_family family;

        (void)cor_addr_family_parse(service->families.v[i], &family);
        if (!cluster->has[family])
            add_error(errs, COR_FIELD_INVALID, "ipFamilies", i,
                      cor_field_string(service->families.v[i]), "not configured on this cluster");
    }
}

static bool has_failed(const struct cor_field_errors *errs)
{
    return errs->n > 0 || errs->error < 0;
}

int cor_service_plan_families(struct cor_service *service, const struct cor_service *old,
                              const struct cor_service_cluster *cluster,
                              struct cor_field_errors *errs)
{
    bool is_free = cor_str_eq(service->cluster_ip, COR_SERVICE_NO_IP) && !service->has_selector;
    bool is_dual_cluster = cluster->has[COR_IPV4] && cluster->has[COR_IPV6];
    int r;

    if (!cor_service_needs_ip(service) || cor_service_is_unchanged_preference(service, old))
        return 0;
    if (!service->policy.p)
        service->policy = old && old->policy.p ? old->policy
                          : is_free            ? COR_REQUIRE_DUAL
                                               : COR_SINGLE_STACK;
    check_ip_fields(errs, service, old);
    if (has_failed(errs))
        return -COR_EINVALID;
    check_policy(errs, service, old);
    r = add_families_of_ips(errs, service, cluster);
    if (r < 0)
        return r;
    if (has_failed(errs))
        return -COR_EINVALID;
    /* A headless Service without a selector says by itself which families its endpoints have. */
    if (!is_free) {
        check_cluster_has(errs, service, cluster);
        if (has_failed(errs))
            return -COR_EINVALID;
    }
    if (service->families.n == 0)
        r = cor_texts_add(&service->families, cor_addr_family_name(cluster->primary));
    if (r == 0 && !cor_str_eq(service->policy, COR_SINGLE_STACK) && service->families.n == 1 &&
        (is_free || is_dual_cluster))
        r = add_other_family(service);
    return r;
}
