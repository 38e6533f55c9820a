/* Node ports: reserved and released in the one object that all servers on the store share, by
 * compare-and-swap. Operations of all loops wait in one queue, and one write of the object serves
 * all that wait when it begins.
 *
 * Owner: the allocator.  Thread: cor_ports_submit() from any loop; the rest on the home loop, which
 * is the API's first. */
#ifndef COR_SERVER_PORTS_H
#define COR_SERVER_PORTS_H

#include "loop/loop.h"
#include "loop/mailbox.h"
#include "meta/status/status.h"
#include "server/alloc/port_map.h"
#include "server/api/api_loop.h"

struct cor_ports;

/* What an operation wants: the port `number`, or any (0), which it gets. */
struct cor_port_want {
    uint32_t number;
    bool is_any; /* the queue's: any number was wanted */
};

enum cor_port_refusal {
    COR_PORT_OK,
    COR_PORT_TAKEN,
    COR_PORT_OUTSIDE, /* not in the range */
    COR_PORT_FULL,    /* all are taken */
    COR_PORT_UNREADY, /* the object is missing until it is repaired */
};

/* One operation: all its ports are reserved, or none. It belongs to its maker, who leaves it alone
 * until on_done is called. */
struct cor_port_op {
    struct cor_loop *loop; /* where on_done is called */
    void (*on_done)(struct cor_port_op *op);
    struct cor_port_want *wants;
    size_t nwants;
    bool gives_back;          /* the ports of the wants are released again */
    const uint32_t *releases; /* free or not in the range: harmless */
    size_t nreleases;
    uint64_t until_ms; /* nothing is released after this time of the API's monotonic clock: ports
                        * have no owner, and the repair of another server may have given them to
                        * somebody else; 0: always */
    cor_rev at_rev; /* nothing is released unless the object is still at this revision; 0: at any */
    const uint32_t *repairs; /* set without asking: ports that Services have */
    size_t nrepairs;
    bool is_dry;     /* nothing is reserved; any port is COR_PORT_DRY or a number after it */
    bool may_create; /* the object is made when it is missing */

    int err;                       /* of the store; 0 also when a want is refused */
    struct cor_status status;      /* err < 0: why; the maker inits and frees it */
    bool has_released;             /* neither until_ms nor at_rev has prevented it */
    enum cor_port_refusal refusal; /* why nothing was reserved */
    size_t refused;                /* which of the wants */

    struct cor_ports *ports; /* the rest is the queue's */
    struct cor_mail mail;
    struct cor_dlist link;
};

/* What upstream shows for the first port of a dry run. */
#define COR_PORT_DRY 32769

/* 0, -COR_ENOMEM. */
int cor_ports_new(struct cor_api *api, struct cor_port_range range, struct cor_ports **ret_ports,
                  struct cor_status *reterr_status);
/* No operation may be under way. Returns NULL; NULL is fine. */
struct cor_ports *cor_ports_free(struct cor_ports *ports);

struct cor_port_range cor_ports_range(const struct cor_ports *ports);

/* on_done follows, never before this returns. */
void cor_ports_submit(struct cor_ports *ports, struct cor_port_op *op);

/* Ports that an operation has reserved are held until their maker lets them go, because the Service
 * was stored or the ports were released: a repair leaves held ports alone. From any thread. */
void cor_ports_let_go(struct cor_ports *ports, uint32_t port);
bool cor_ports_is_held(struct cor_ports *ports, uint32_t port);

/* Reads the ports that are taken. `on_read` gets 0, -COR_ENOTFOUND (there is no object) or the
 * store's failure, and the revision of the object. 0, or a failure and no call. On the home loop.
 */
typedef void (*cor_ports_on_read)(void *arg, int err, const struct cor_port_map *map, cor_rev rev);
int cor_ports_read(struct cor_ports *ports, cor_ports_on_read on_read, void *arg,
                   struct cor_status *reterr_status);

#endif
