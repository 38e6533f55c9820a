/* The rules of allocation: what a Service that is created or changed gets, keeps and releases.
 * Pure: nothing is reserved here (allocation.h does that).
 * Owner: whoever embeds the plan.  Thread: one at a time. */
#ifndef COR_SERVER_SERVICE_PLAN_H
#define COR_SERVER_SERVICE_PLAN_H

#include "meta/names/field_error.h"
#include "server/alloc/ports.h"
#include "server/alloc/service_fields.h"

/* The families that the cluster has ranges for, as its flags say. */
struct cor_service_cluster {
    enum cor_addr_family primary;
    bool has[COR_ADDR_FAMILIES];
};

struct cor_service_plan {
    bool wants_ip[2]; /* cluster_ips[i] is to be reserved; "" stands for any of families[i] */
    struct cor_texts release_ips; /* after the Service is stored */

    /* In this order. want_of[i] is the port of the Service that wants[i] is for: its number is
     * set when it was reserved; COR_PLAN_HEALTH: the health check's. */
    struct cor_port_want *wants;
    size_t *want_of;
    size_t nwants, wants_cap, want_of_cap;
    uint32_t *release_ports; /* after the Service is stored */
    size_t nrelease_ports, release_ports_cap;
    size_t duplicate; /* the port whose node port another port has; no port after it is wanted;
                       * SIZE_MAX: none */
};

#define COR_PLAN_HEALTH SIZE_MAX

/* Completes `service` and plans what is to be reserved. `old`: what is stored; NULL: the Service is
 * created. `old` is completed too, when it was stored before its fields were. 0; -COR_EINVALID: the
 * errors say why; -COR_ENOMEM. Deinit follows in any case. */
int cor_service_plan(struct cor_service *service, struct cor_service *old,
                     const struct cor_service_cluster *cluster, struct cor_field_errors *errs,
                     struct cor_service_plan *ret_plan);
void cor_service_plan_deinit(struct cor_service_plan *plan); /* safe on a zeroed struct */

/* All wants have their numbers: gives them to the ports, and to those that share them. 0,
 * -COR_ENOMEM. */
int cor_service_plan_set_ports(const struct cor_service_plan *plan, bool is_create,
                               struct cor_service *service);

/* What a change of the type leaves behind and the client did not change goes (upstream's
 * dropTypeDependentFields). 0, -COR_ENOMEM. */
int cor_service_drop_stale(struct cor_service *service, const struct cor_service *old);

/* The addresses and ports that a Service has, which are released when it is gone. 0, -COR_ENOMEM.
 * Deinit follows in any case. */
int cor_service_plan_removal(const struct cor_service *service, struct cor_service_plan *ret_plan);

#endif
