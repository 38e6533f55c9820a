/* How the controller that keeps the reservations of Services asks the allocators for a pass
 * (server/alloc/repair.h has what a pass does). The controller decides when; the allocators have
 * what a pass needs, on the API's first loop.
 *
 * Owner: the allocators, for as long as the API is open.  Thread: any, for both functions. */
#ifndef COR_SERVER_REPAIR_PORT_H
#define COR_SERVER_REPAIR_PORT_H

#include <stdint.h>

#include "base/dlist.h"
#include "loop/mailbox.h"

struct cor_loop;
struct cor_repair_port;

/* One ask. It belongs to its maker, who leaves it alone until on_done is called. */
struct cor_repair_ask {
    struct cor_loop *loop; /* where on_done is called; must run until then */
    void (*on_done)(struct cor_repair_ask *ask);

    int err;          /* 0, the first failure of the pass, or -COR_ECANCELED: the server stops */
    uint64_t next_ms; /* when the next pass is due, from the end of this one */

    struct cor_repair_port *port; /* the rest is the port's */
    struct cor_mail mail;
    struct cor_dlist link;
};

struct cor_repair_port {
    /* Makes a pass, or joins the one that is under way. Before the allocators have read what there
     * is, the ask waits for the first pass of the start. on_done follows, never before this
     * returns. */
    void (*ask)(struct cor_repair_port *port, struct cor_repair_ask *ask);
    /* How long until a pass is due by what the last one has found; 0: now, or no pass has ended. */
    uint64_t (*due_in_ms)(struct cor_repair_port *port);
};

#endif
