/* Lists and watches one collection through an API port, for a reflector: its driver
 * (cache/reflector/reflector_ops.h). Each item of a list goes to the reflector as it arrives; no
 * answer is held as a whole.
 *
 * The port has no timer, and neither has this: `wake_at` is passed on.
 * Thread: the port's loop, for every function and callback.  Owner: whoever embeds it. */
#ifndef COR_KIT_PORT_LIST_WATCH_H
#define COR_KIT_PORT_LIST_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "cache/reflector/reflector.h"
#include "kit/api_port.h"

/* How long after the time at which the server should end a watch the port gives it up. */
#define COR_PORT_WATCH_SLACK_MS 30000

/* Which objects are followed. */
struct cor_collection {
    struct cor_resource_path at; /* a resource, in one namespace or in all */
    struct cor_str label_selector, field_selector;
    bool metadata_only; /* objects come as PartialObjectMetadata */
};

struct cor_port_list_watch;

struct cor_port_list_watch_request {
    struct cor_api_request req;
    struct cor_port_list_watch *lw;
};

struct cor_port_list_watch {
    struct cor_reflector_driver driver;
    struct cor_reflector *reflector; /* the owner sets it before it starts the reflector */
    struct cor_api_port *port;
    const struct cor_clock *clock;
    struct cor_collection what; /* with copies of the strings, in `strings` */
    char *strings;
    void (*wake_at)(void *arg, uint64_t at_ms);
    void *arg;
    /* The reflector may cancel a request inside one of its callbacks and send the next one. The
     * next one therefore takes the other struct. */
    struct cor_port_list_watch_request reqs[2];
    unsigned current; /* which of the two was sent last */
};

/* The strings of `what` are copied; port and clock must stay valid. 0 or -COR_ENOMEM. */
int cor_port_list_watch_init(struct cor_port_list_watch *lw, struct cor_api_port *port,
                             const struct cor_clock *clock, const struct cor_collection *what,
                             void (*wake_at)(void *arg, uint64_t at_ms), void *arg);

/* The reflector is stopped. Safe on a zeroed struct. */
void cor_port_list_watch_deinit(struct cor_port_list_watch *lw);

#endif
