/* Keeps a busy program from flooding a server with events, as client-go's EventCorrelator does:
 * equal events become one Event with a count; when ten different messages of one reason have come,
 * no more than ten minutes apart, the next ones become one combined Event; and for an object with
 * too many events, further events are skipped for a while.
 * Thread: one at a time.  Owner: the recorder. */
#ifndef COR_KIT_EVENT_CORRELATOR_H
#define COR_KIT_EVENT_CORRELATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "kit/events/event.h"

struct cor_event_correlator;

#define COR_EVENT_CACHE_MAX     4096 /* of each of its three memories */
#define COR_EVENT_SIMILAR_MAX   10   /* messages of a group before they are combined */
#define COR_EVENT_SIMILAR_MS    600000
#define COR_EVENT_SPAM_BURST    25  /* events about one object */
#define COR_EVENT_SPAM_PERIOD_S 300 /* for each one more */

/* 0 or -COR_ENOMEM. */
int cor_event_correlator_new(struct cor_event_correlator **ret_correlator);

/* Returns NULL. */
struct cor_event_correlator *cor_event_correlator_free(struct cor_event_correlator *c);
COR_DEFINE_CLEANUP(struct cor_event_correlator, cor_event_correlator_free)

/* Returned for an event that is not to be sent. */
#define COR_EVENT_SKIP 1

/* Decides what to send for a new event, whose name, times and count are set: the event itself, or
 * the event with the name, count and message of the Event that the server has for it. A count above
 * 1 means that the server has that Event already. The result borrows strings from `event`, and from
 * the correlator until the next call. 0, COR_EVENT_SKIP, -COR_ENOMEM. */
int cor_event_correlate(struct cor_event_correlator *c, const struct cor_event *event,
                        uint64_t now_ms, struct cor_event *ret_event);

#endif
