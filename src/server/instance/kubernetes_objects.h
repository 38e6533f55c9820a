/* What the Service `default/kubernetes`, its Endpoints and its EndpointSlice should be, and whether
 * an object that was read is so. Nothing here sends requests: kubernetes_service.c does. Owner:
 * whoever embeds the struct.  Thread: its owner's. */
#ifndef COR_SERVER_KUBERNETES_OBJECTS_H
#define COR_SERVER_KUBERNETES_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "meta/status/gvk.h"
#include "server/alloc/addr.h"

#define COR_KUBERNETES_NAMESPACE "default"
#define COR_KUBERNETES_NAME      "kubernetes" /* of all three */

enum cor_kubernetes_part {
    COR_KUBERNETES_SERVICE,
    COR_KUBERNETES_ENDPOINTS,
    COR_KUBERNETES_SLICE,
    COR_KUBERNETES_PARTS
};

struct cor_kubernetes_objects {
    struct cor_addr ip; /* of the Service */
    uint16_t port;      /* that the server listens on */
    /* The ports of Endpoints that exist are left as they are; set after the first pass, so that
     * servers with different ports do not overwrite one another forever. */
    bool keeps_ports;
    struct cor_buf addresses; /* of the endpoints: a JSON list of texts, ordered */
    struct cor_buf ports;     /* of the endpoints: a JSON list */
};

/* Cannot fail. */
void cor_kubernetes_objects_init(struct cor_kubernetes_objects *o, struct cor_addr ip,
                                 uint16_t port);
void cor_kubernetes_objects_deinit(struct cor_kubernetes_objects *o);

/* Before a pass over the three objects, which judges them in the order of the enum: the ports are
 * those of this server. 0, -COR_ENOMEM. */
int cor_kubernetes_objects_begin(struct cor_kubernetes_objects *o);

/* The endpoints have this address only; NULL: none. 0, -COR_ENOMEM. */
int cor_kubernetes_objects_set_address(struct cor_kubernetes_objects *o,
                                       const struct cor_addr *address);

static inline bool cor_kubernetes_objects_has_addresses(const struct cor_kubernetes_objects *o)
{
    return o->addresses.n > sizeof("[]") - 1;
}

struct cor_gvr cor_kubernetes_resource(enum cor_kubernetes_part part);

/* Is the object, in JSON, as it should be? The Service always is: it is only created. What the
 * Endpoints object has and may keep (ports, the order of addresses) is noted for the slice. 1, 0,
 * -COR_ENOMEM. */
int cor_kubernetes_objects_judge(struct cor_kubernetes_objects *o, enum cor_kubernetes_part part,
                                 struct cor_str object);

/* Is the object a slice of another family than the addresses? Its type cannot be changed. */
bool cor_kubernetes_objects_is_other_family(const struct cor_kubernetes_objects *o,
                                            enum cor_kubernetes_part part, struct cor_str object);

/* The body that creates the object or, with the resourceVersion `rv` of the state that is changed,
 * the merge patch that changes it. `body` is emptied first. 0, -COR_ENOMEM. */
int cor_kubernetes_objects_write(const struct cor_kubernetes_objects *o,
                                 enum cor_kubernetes_part part, struct cor_str rv,
                                 struct cor_buf *body);

#endif
