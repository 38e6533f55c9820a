/* clang-format off */
/* The rules of allocation, in upstream's order (contract types 4.5, validation 8.2):
 *
 *   create:  clusterIP → clusterIPs ──► families ──► addresses of all families ──► node ports
 *   update:  complete the old ──► copy what the client left out ──► clusterIP ↔ clusterIPs ──►
 *            families ──► addresses that come or go ──► node ports that come or go
 *
 * The rules of families (service_families.c) refuse with field errors, and the first set of errors
 * ends the plan: what follows relies on values that are well-formed.
 * Work is linear in the number of ports: equal numbers and names are found by maps.
 * Thread: any (pure). */
/* clang-format on */
#include "server/alloc/service_plan.h"

#include <assert.h>

#include "base/array.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "server/alloc/service_families.h"

#define PORTS_MAX ((size_t)1 << 24)

void cor_service_plan_deinit(struct cor_service_plan *plan)
{
    cor_free(plan->release_ips.v);
    cor_free(plan->wants);
    cor_free(plan->want_of);
    cor_free(plan->release_ports);
    *plan = (struct cor_service_plan){.duplicate = SIZE_MAX};
}

/* ---- clusterIP and clusterIPs ---- */

static int plan_sync_ips(struct cor_service *service, const struct cor_service *old)
{
    bool is_same, is_same_ip;

    if (!old) {
        if (service->cluster_ip.n > 0 && service->cluster_ips.n == 0)
            return cor_texts_add(&service->cluster_ips, service->cluster_ip);
        return 0;
    }
    is_same_ip = cor_str_eq(old->cluster_ip, service->cluster_ip);
    if (is_same_ip && old->cluster_ips.n > 0 && service->cluster_ips.n == 0)
        return cor_texts_copy(&service->cluster_ips, &old->cluster_ips);
    is_same = cor_texts_same(&old->cluster_ips, &service->cluster_ips);
    if (is_same_ip || !is_same)
        return 0;
    service->cluster_ips.n = 0;
    if (old->cluster_ip.n > 0 && service->cluster_ip.n == 0)
        return 0;
    return cor_texts_add(&service->cluster_ips, service->cluster_ip);
}

/* A Service that was stored before there were several addresses and families gets those fields. */
static int plan_complete_old(struct cor_service *old, const struct cor_service_cluster *cluster)
{
    enum cor_addr_family other = cluster->primary == COR_IPV4 ? COR_IPV6 : COR_IPV4;
    bool is_headless;
    int r = plan_sync_ips(old, NULL);

    if (r < 0 || !cor_service_needs_ip(old) || old->families.n > 0)
        return r;
    is_headless = cor_str_eq(old->cluster_ip, COR_SERVICE_NO_IP);
    old->policy = COR_SINGLE_STACK;
    if (is_headless) {
        r = cor_texts_add(&old->families, cor_addr_family_name(cluster->primary));
        if (r == 0 && !old->has_selector) {
            old->policy = COR_REQUIRE_DUAL;
            r = cor_texts_add(&old->families, cor_addr_family_name(other));
        }
        return r;
    }
    for (size_t i = 0; i < old->cluster_ips.n && r == 0; i++) {
        struct cor_addr ip;
        bool is_v6 =
            cor_addr_parse(old->cluster_ips.v[i], &ip) == 0 && cor_addr_family(ip) == COR_IPV6;

        r = cor_texts_add(&old->families, cor_addr_family_name(is_v6 ? COR_IPV6 : COR_IPV4));
    }
    if (old->families.n == 2)
        old->policy = COR_REQUIRE_DUAL;
    return r;
}

/* ---- what the client left out ---- */

static struct cor_str number_key(const int64_t *number)
{
    return cor_str((const char *)number, sizeof(*number));
}

/* The node ports of the old Service, by the names of its ports; those that the new Service has for
 * some port already are not given to another. */
static int plan_keep_ports(struct cor_service *service, const struct cor_service *old)
{
    struct cor_map names, used;
    int r = 0;

    cor_map_init(&names, PORTS_MAX);
    cor_map_init(&used, PORTS_MAX);
    for (size_t i = 0; i < service->nports && r == 0; i++)
        if (service->ports[i].node_port != 0)
            r = cor_map_put(&used, number_key(&service->ports[i].node_port), &service->ports[i],
                            NULL);
    for (size_t i = 0; i < old->nports && r == 0; i++)
        r = cor_map_put(&names, old->ports[i].name, &old->ports[i], NULL);
    for (size_t i = 0; i < service->nports && r == 0; i++) {
        struct cor_service_port *port = &service->ports[i];
        const struct cor_service_port *before = cor_map_peek(&names, port->name);

        if (port->node_port == 0 && before && !cor_map_peek(&used, number_key(&before->node_port)))
            port->node_port = before->node_port;
    }
    cor_map_deinit(&names);
    cor_map_deinit(&used);
    return r;
}

static int plan_keep_values(struct cor_service *service, const struct cor_service *old)
{
    int r = 0;

    if (cor_service_needs_ip(old) && cor_service_needs_ip(service)) {
        if (service->cluster_ip.n == 0)
            service->cluster_ip = old->cluster_ip;
        if (service->cluster_ips.n == 0)
            r = cor_texts_copy(&service->cluster_ips, &old->cluster_ips);
    }
    if (r == 0 && cor_service_allocates_ports(old) && cor_service_allocates_ports(service))
        r = plan_keep_ports(service, old);
    if (cor_service_needs_health_port(old) && cor_service_needs_health_port(service) &&
        service->health_port == 0)
        service->health_port = old->health_port;
    return r;
}

/* ---- addresses ---- */

/* Marks all addresses of the Service as wanted; those that are missing become "". */
static int plan_all_ips(struct cor_service *service, struct cor_service_plan *plan)
{
    int r = 0;

    if (!cor_service_needs_ip(service) || cor_service_is_headless(service))
        return 0;
    assert(service->families.n <= 2);
    for (size_t i = 0; i < service->families.n && r == 0; i++) {
        if (i >= service->cluster_ips.n)
            r = cor_texts_add(&service->cluster_ips, COR_STR(""));
        plan->wants_ip[i] = true;
    }
    return r;
}

static int plan_ip_changes(struct cor_service *service, const struct cor_service *old,
                           struct cor_service_plan *plan)
{
    int r = 0;

    if (cor_service_is_unchanged_preference(service, old))
        return 0;
    if (!cor_service_needs_ip(old) && cor_service_needs_ip(service))
        return plan_all_ips(service, plan);
    if (cor_service_is_headless(old))
        return 0;
    if (cor_service_needs_ip(old) && !cor_service_needs_ip(service))
        return cor_texts_copy(&plan->release_ips, &old->cluster_ips);
    /* A Service that was stored before there were allocators gets what a new one gets. */
    if (old->cluster_ips.n == 0 && old->cluster_ip.n == 0)
        return plan_all_ips(service, plan);
    if (old->families.n == 1 && service->families.n == 2) {
        while (r == 0 && service->cluster_ips.n < 2)
            r = cor_texts_add(&service->cluster_ips, COR_STR(""));
        plan->wants_ip[1] = true;
    } else if (old->families.n == 2 && service->families.n == 1 && old->cluster_ips.n == 2) {
        r = cor_texts_add(&plan->release_ips, old->cluster_ips.v[1]);
    }
    return r;
}

/* What is reserved may not be exchanged for something else: validation compares the lists of the
 * old and the new Service. A Service that was stored before there were lists has none to compare:
 * its one address is compared here. */
static int check_only_ip(struct cor_field_errors *errs, const struct cor_service *service,
                         const struct cor_service *old)
{
    if (cor_service_needs_ip(service) && cor_service_needs_ip(old) && old->cluster_ip.n > 0 &&
        !cor_str_eq(service->cluster_ip, old->cluster_ip))
        cor_service_add_ips_error(errs, service, 0, "may not change once set");
    return errs->n > 0 || errs->error < 0 ? -COR_EINVALID : 0;
}

/* ---- node ports ---- */

static int plan_want(struct cor_service_plan *plan, size_t of, int64_t number)
{
    int r = COR_ARRAY_RESERVE(&plan->wants, plan->nwants, &plan->wants_cap, PORTS_MAX);

    if (r == 0)
        r = COR_ARRAY_RESERVE(&plan->want_of, plan->nwants, &plan->want_of_cap, PORTS_MAX);
    if (r < 0)
        return r == -COR_ETOOBIG ? -COR_ENOMEM : r;
    /* What is not a port at all is outside every range. */
    plan->wants[plan->nwants].number =
        number < 0 || number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
    plan->want_of[plan->nwants++] = of;
    return 0;
}

static int plan_release_port(struct cor_service_plan *plan, int64_t number)
{
    int r;

    if (number <= 0 || number > 65535)
        return 0;
    r = COR_ARRAY_RESERVE(&plan->release_ports, plan->nrelease_ports, &plan->release_ports_cap,
                          PORTS_MAX);
    if (r == 0)
        plan->release_ports[plan->nrelease_ports++] = (uint32_t)number;
    return r == -COR_ETOOBIG ? -COR_ENOMEM : r;
}

/* Ports with one number and several protocols share a node port: the first of them wants the number
 * that any of them names, the others want only another number that they name. */
static int plan_new_ports(struct cor_service *service, struct cor_service_plan *plan)
{
    bool allocates = cor_service_allocates_ports(service);
    struct cor_map named, first;
    int r = 0;

    cor_map_init(&named, PORTS_MAX);
    cor_map_init(&first, PORTS_MAX);
    /* The first that names a number counts: the last one put in wins, so they come backwards. */
    for (size_t i = service->nports; i-- > 0 && r == 0;)
        if (service->ports[i].node_port != 0)
            r = cor_map_put(&named, number_key(&service->ports[i].port), &service->ports[i], NULL);
    for (size_t i = 0; i < service->nports && r == 0; i++) {
        struct cor_service_port *port = &service->ports[i];
        const struct cor_service_port *sharer = cor_map_peek(&first, number_key(&port->port));
        const struct cor_service_port *namer = cor_map_peek(&named, number_key(&port->port));

        if (port->node_port == 0 && !allocates)
            continue;
        if (!sharer) {
            if (namer)
                port->node_port = namer->node_port;
            r = plan_want(plan, i, port->node_port);
            if (r == 0)
                r = cor_map_put(&first, number_key(&port->port), port, NULL);
        } else if (port->node_port != 0 && port->node_port != sharer->node_port) {
            r = plan_want(plan, i, port->node_port);
        }
    }
    cor_map_deinit(&named);
    cor_map_deinit(&first);
    return r;
}

/* The protocol and the number of a node port, as a key. */
struct port_use {
    int64_t node_port;
    uint64_t protocol;
};

static uint64_t protocol_number(struct cor_str protocol)
{
    return cor_str_eq(protocol, COR_STR("TCP"))    ? 0
           : cor_str_eq(protocol, COR_STR("UDP"))  ? 1
           : cor_str_eq(protocol, COR_STR("SCTP")) ? 2
                                                   : 3;
}

static int plan_changed_ports(struct cor_service *service, const struct cor_service *old,
                              struct cor_service_plan *plan)
{
    bool allocates = cor_service_allocates_ports(service);
    struct cor_map had, has, uses;
    struct port_use *use = cor_calloc(service->nports + 1, sizeof(*use));
    int r = use ? 0 : -COR_ENOMEM;

    cor_map_init(&had, PORTS_MAX);
    cor_map_init(&has, PORTS_MAX);
    cor_map_init(&uses, PORTS_MAX);
    /* A type without node ports may carry numbers that are not reserved for it. */
    for (size_t i = 0; cor_service_has_node_ports(old) && i < old->nports && r == 0; i++)
        if (old->ports[i].node_port != 0)
            r = cor_map_put(&had, number_key(&old->ports[i].node_port), &old->ports[i], NULL);
    for (size_t i = 0; i < service->nports && r == 0; i++) {
        struct cor_service_port *port = &service->ports[i];

        if (port->node_port == 0) {
            if (allocates)
                r = plan_want(plan, i, 0);
            continue;
        }
        if (!cor_map_peek(&had, number_key(&port->node_port)) &&
            !cor_map_peek(&has, number_key(&port->node_port)))
            r = plan_want(plan, i, port->node_port);
        if (r == 0)
            r = cor_map_put(&has, number_key(&port->node_port), port, NULL);
        use[i] = (struct port_use){port->node_port, protocol_number(port->protocol)};
        if (r == 0 && cor_map_peek(&uses, cor_str((char *)&use[i], sizeof(use[i])))) {
            plan->duplicate = i;
            break;
        }
        if (r == 0)
            r = cor_map_put(&uses, cor_str((char *)&use[i], sizeof(use[i])), port, NULL);
    }
    for (size_t i = 0; i < old->nports && r == 0 && plan->duplicate == SIZE_MAX; i++)
        if (!cor_map_peek(&has, number_key(&old->ports[i].node_port)))
            r = plan_release_port(plan, old->ports[i].node_port);
    cor_map_deinit(&had);
    cor_map_deinit(&has);
    cor_map_deinit(&uses);
    cor_free(use);
    return r;
}

static int plan_release_all_ports(const struct cor_service *service, struct cor_service_plan *plan)
{
    int r = 0;

    for (size_t i = 0; i < service->nports && r == 0; i++)
        r = plan_release_port(plan, service->ports[i].node_port);
    return r;
}

static int plan_ports(struct cor_service *service, const struct cor_service *old,
                      struct cor_service_plan *plan)
{
    bool needed_health = old && cor_service_needs_health_port(old);
    bool needs_health = cor_service_needs_health_port(service);
    int r = 0;

    if (!old && cor_service_has_node_ports(service))
        r = plan_new_ports(service, plan);
    if (old && cor_service_has_node_ports(old) &&
        (service->type == COR_SERVICE_CLUSTER_IP || service->type == COR_SERVICE_EXTERNAL_NAME))
        r = plan_release_all_ports(old, plan);
    if (r == 0 && old && cor_service_has_node_ports(service))
        r = plan_changed_ports(service, old, plan);
    if (r < 0 || plan->duplicate != SIZE_MAX)
        return r;
    if (needs_health && (!needed_health || old->health_port == 0))
        r = plan_want(plan, COR_PLAN_HEALTH, service->health_port);
    if (needed_health && !needs_health)
        r = plan_release_port(plan, old->health_port);
    return r;
}

/* ---- the whole ---- */

int cor_service_plan(struct cor_service *service, struct cor_service *old,
                     const struct cor_service_cluster *cluster, struct cor_field_errors *errs,
                     struct cor_service_plan *ret_plan)
{
    bool has_only_ip = old && old->cluster_ips.n == 0;
    int r = 0;

    *ret_plan = (struct cor_service_plan){.duplicate = SIZE_MAX};
    if (old)
        r = plan_complete_old(old, cluster);
    if (r == 0 && old)
        r = plan_keep_values(service, old);
    if (r == 0)
        r = plan_sync_ips(service, old);
    if (r == 0)
        r = cor_service_plan_families(service, old, cluster, errs);
    if (r == 0)
        r = old ? plan_ip_changes(service, old, ret_plan) : plan_all_ips(service, ret_plan);
    if (r == 0 && has_only_ip)
        r = check_only_ip(errs, service, old);
    return r == 0 ? plan_ports(service, old, ret_plan) : r;
}

int cor_service_plan_set_ports(const struct cor_service_plan *plan, bool is_create,
                               struct cor_service *service)
{
    struct cor_map first;
    int r = 0;

    for (size_t i = 0; i < plan->nwants; i++) {
        if (plan->want_of[i] == COR_PLAN_HEALTH)
            service->health_port = plan->wants[i].number;
        else
            service->ports[plan->want_of[i]].node_port = plan->wants[i].number;
    }
    if (!is_create || !cor_service_allocates_ports(service))
        return 0;
    cor_map_init(&first, PORTS_MAX);
    for (size_t i = 0; i < service->nports && r == 0; i++) {
        struct cor_service_port *port = &service->ports[i];
        const struct cor_service_port *sharer = cor_map_peek(&first, number_key(&port->port));

        if (!sharer)
            r = cor_map_put(&first, number_key(&port->port), port, NULL);
        else if (port->node_port == 0)
            port->node_port = sharer->node_port;
    }
    cor_map_deinit(&first);
    return r;
}

int cor_service_plan_removal(const struct cor_service *service, struct cor_service_plan *ret_plan)
{
    int r = 0;

    *ret_plan = (struct cor_service_plan){.duplicate = SIZE_MAX};
    if (cor_service_needs_ip(service) && !cor_service_is_headless(service))
        r = cor_texts_copy(&ret_plan->release_ips, &service->cluster_ips);
    /* Of a Service that was stored before it had several addresses. */
    if (r == 0 && cor_service_needs_ip(service) && service->cluster_ips.n == 0 &&
        service->cluster_ip.n > 0)
        r = cor_texts_add(&ret_plan->release_ips, service->cluster_ip);
    if (r == 0 && cor_service_has_node_ports(service))
        r = plan_release_all_ports(service, ret_plan);
    if (r == 0 && cor_service_needs_health_port(service))
        r = plan_release_port(ret_plan, service->health_port);
    return r;
}

/* ---- what a change of the type leaves behind ---- */

static bool is_external(const struct cor_service *service)
{
    return cor_service_has_node_ports(service) ||
           (service->type == COR_SERVICE_CLUSTER_IP && service->has_external_ips);
}

static bool same_json(struct cor_str a, struct cor_str b)
{
    return cor_str_eq(a.p ? a : COR_STR(""), b.p ? b : COR_STR(""));
}

/* Has the old Service each node port of the new one? -COR_ENOMEM. */
static int has_no_new_ports(const struct cor_service *service, const struct cor_service *old)
{
    struct cor_map had;
    int r = 0;

    cor_map_init(&had, PORTS_MAX);
    for (size_t i = 0; i < old->nports && r == 0; i++)
        r = cor_map_put(&had, number_key(&old->ports[i].node_port), &old->ports[i], NULL);
    r = r == 0 ? 1 : r;
    for (size_t i = 0; i < service->nports && r == 1; i++)
        if (service->ports[i].node_port != 0 &&
            !cor_map_peek(&had, number_key(&service->ports[i].node_port)))
            r = 0;
    cor_map_deinit(&had);
    return r;
}

int cor_service_drop_stale(struct cor_service *service, const struct cor_service *old)
{
    bool was_balancer = old->type == COR_SERVICE_LOAD_BALANCER;
    bool is_balancer = service->type == COR_SERVICE_LOAD_BALANCER;

    if (cor_service_needs_ip(old) && !cor_service_needs_ip(service)) {
        if (cor_str_eq(old->cluster_ip, service->cluster_ip) &&
            cor_texts_same(&old->cluster_ips, &service->cluster_ips)) {
            service->cluster_ip = COR_STR("");
            service->cluster_ips.n = 0;
        }
        if (cor_texts_same(&old->families, &service->families))
            service->families.n = 0;
        if (same_json(old->policy, service->policy))
            service->policy = (struct cor_str){NULL, 0};
    }
    if (cor_service_has_node_ports(old) && !cor_service_has_node_ports(service)) {
        int r = has_no_new_ports(service, old);

        for (size_t i = 0; r == 1 && i < service->nports; i++)
            service->ports[i].node_port = 0;
        if (r < 0)
            return r;
    }
    if (cor_service_needs_health_port(old) && !cor_service_needs_health_port(service) &&
        old->health_port == service->health_port)
        service->health_port = 0;
    if (was_balancer && !is_balancer && same_json(old->allocate_ports, service->allocate_ports))
        service->allocate_ports = (struct cor_str){NULL, 0};
    if (was_balancer && !is_balancer &&
        same_json(old->load_balancer_class, service->load_balancer_class))
        service->load_balancer_class = (struct cor_str){NULL, 0};
    if (is_external(old) && !is_external(service) &&
        cor_str_eq(old->external_policy, service->external_policy))
        service->external_policy = COR_STR("");
    return 0;
}
