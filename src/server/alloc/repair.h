/* The repair of reservations: what a crash, a lost answer or a manual change has left behind. It
 * looks at all Services, IPAddresses and node ports, and
 *
 *   - reserves what a Service has and nobody has reserved;
 *   - releases what is reserved for a Service that is not there, or that does not have it. A write
 *     under way looks the same, so that a leak is released only when it was still there
 *     COR_REPAIR_GRACE_MS after it was first seen. The first pass of a server that is alone on its
 *     store releases a leak at once, as long as no request of this process has reserved anything.
 *
 * Every server makes a pass at its start. Later passes are asked for through the port
 * (server/api/repair_port.h) by the controller ipallocator-repair-controller, each
 * COR_REPAIR_INTERVAL_MS, and sooner when a leak was seen. Repairs of several servers do not
 * disturb one another. Thread: the API's first loop.  Owner: the allocator. */
#ifndef COR_SERVER_REPAIR_H
#define COR_SERVER_REPAIR_H

#include "server/alloc/alloc.h"
#include "server/api/repair_port.h"

#define COR_REPAIR_INTERVAL_MS 180000
#define COR_REPAIR_GRACE_MS    60000

struct cor_repair;

/* 0, -COR_ENOMEM. */
int cor_repair_new(struct cor_alloc *alloc, struct cor_api *api, struct cor_repair **ret_repair);

/* What a pass needs was read: makes the first pass; `on_first` follows, with 0 or the first
 * failure. Passes that were asked for before begin with it. Once. */
void cor_repair_open(struct cor_repair *repair, void (*on_first)(void *arg, int err), void *arg);

/* To ask for a pass, from any thread. Valid as long as the repair is. */
struct cor_repair_port *cor_repair_port(struct cor_repair *repair);

/* Ends the pass under way as soon as its operation ends, without its on_first; asks that wait are
 * answered with -COR_ECANCELED, and so are those that come later. `on_stopped` follows, now or
 * later. Once. */
void cor_repair_stop(struct cor_repair *repair, void (*on_stopped)(void *arg), void *arg);

/* After it has stopped. Returns NULL; NULL is fine. */
struct cor_repair *cor_repair_free(struct cor_repair *repair);

/* What was put right since the start. */
struct cor_repair_counts {
    uint64_t passes, released_addresses, reserved_addresses, released_ports, reserved_ports;
    uint64_t shared_addresses, shared_ports; /* that two Services have: nobody can repair that, and
                                              * each pass logs and counts it */
};
struct cor_repair_counts cor_repair_counts(const struct cor_repair *repair);

#endif
