/* The Events that one controller inside the server records: the kit's event sender over the
 * controller's port, with a timer of the loop. The sender is made with the first event, since most
 * controllers record none.
 * Thread: the port's loop.  Owner: whoever embeds it. */
#ifndef COR_SERVER_CONTROLLERS_HOST_CONTROLLER_EVENTS_H
#define COR_SERVER_CONTROLLERS_HOST_CONTROLLER_EVENTS_H

#include "kit/api_port.h"
#include "kit/events/event_sender.h"
#include "loop/timer.h"

struct cor_controller_events {
    struct cor_api_port *port;
    const char *component;
    const struct cor_clock *clock;
    struct cor_rand *rand;
    struct cor_event_sender *sender; /* NULL: there was no event yet */
    struct cor_timer timer;          /* set while there is a sender */
    uint64_t wake_ms;                /* of the sender's tick */
    bool is_ready;                   /* the sender has something to send */
};

/* All that is given must stay valid. Cannot fail. */
void cor_controller_events_init(struct cor_controller_events *events, struct cor_api_port *port,
                                const char *component, const struct cor_clock *clock,
                                struct cor_rand *rand);

/* Cancels the request under way and drops what is queued. */
void cor_controller_events_deinit(struct cor_controller_events *events);

/* Queues an event about an object; what fails is logged, and the event is lost. */
void cor_controller_events_record(struct cor_controller_events *events,
                                  const struct cor_event_told *told);

#endif
