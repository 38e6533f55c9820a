/* What a Service says about its addresses and node ports: read from its canonical JSON, changed by
 * the rules of allocation (service_plan.h), and written back.
 *
 * Texts are borrowed from the object that was read, or from whoever set them, as raw JSON text:
 * none of the values that are valid here has escapes.
 * Owner: whoever embeds it.  Thread: one at a time. */
#ifndef COR_SERVER_ALLOC_SERVICE_FIELDS_H
#define COR_SERVER_ALLOC_SERVICE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "meta/object/object.h"
#include "server/alloc/addr.h"

enum cor_service_type {
    COR_SERVICE_CLUSTER_IP,
    COR_SERVICE_NODE_PORT,
    COR_SERVICE_LOAD_BALANCER,
    COR_SERVICE_EXTERNAL_NAME,
    COR_SERVICE_OTHER, /* no type that there is: validation refuses it */
};

/* A list of texts. */
struct cor_texts {
    struct cor_str *v;
    size_t n, cap;
};

struct cor_service_port {
    struct cor_str json; /* the element as it was read */
    struct cor_str name, protocol;
    int64_t port, node_port; /* 0: not set */
};

struct cor_service {
    enum cor_service_type type;
    struct cor_str cluster_ip; /* "": not set */
    struct cor_texts cluster_ips, families;
    struct cor_str policy; /* p == NULL: not set */
    struct cor_service_port *ports;
    size_t nports, ports_cap;
    int64_t health_port;                                /* healthCheckNodePort; 0: not set */
    struct cor_str external_policy;                     /* externalTrafficPolicy; "": not set */
    struct cor_str load_balancer_class, allocate_ports; /* JSON; p == NULL: not set */
    struct cor_str spec;                                /* as it was read */
    bool has_selector, has_external_ips;
    bool has_ports; /* there is a list, perhaps an empty one */
};

/* 0, -COR_ENOMEM. Deinit follows in any case. */
int cor_service_read(const struct cor_object *object, struct cor_service *ret_service);
void cor_service_deinit(struct cor_service *service); /* safe on a zeroed struct */

/* Appends the spec with the changed fields. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_service_write_spec(const struct cor_service *service, struct cor_buf *out);

/* Appends the texts as a JSON list. Results as above. */
int cor_texts_write(const struct cor_texts *texts, struct cor_buf *out);
int cor_texts_add(struct cor_texts *texts, struct cor_str text); /* 0, -COR_ENOMEM */
bool cor_texts_same(const struct cor_texts *a, const struct cor_texts *b);
/* Replaces the texts of `to`. 0, -COR_ENOMEM. */
int cor_texts_copy(struct cor_texts *to, const struct cor_texts *from);

#define COR_SERVICE_NO_IP COR_STR("None")

/* clusterIP "None", and clusterIPs that begin with it. */
static inline bool cor_service_is_headless(const struct cor_service *service)
{
    return service->cluster_ips.n > 0 && cor_str_eq(service->cluster_ips.v[0], COR_SERVICE_NO_IP);
}

static inline bool cor_service_needs_ip(const struct cor_service *service)
{
    return service->type != COR_SERVICE_EXTERNAL_NAME;
}

/* Returns whether its type exposes ports on the nodes. */
static inline bool cor_service_has_node_ports(const struct cor_service *service)
{
    return service->type == COR_SERVICE_NODE_PORT || service->type == COR_SERVICE_LOAD_BALANCER;
}

/* Does each of its ports get one? A load balancer may do without. */
bool cor_service_allocates_ports(const struct cor_service *service);
/* Returns whether it has a port on which a load balancer asks whether a node has its endpoints. */
bool cor_service_needs_health_port(const struct cor_service *service);

#endif
