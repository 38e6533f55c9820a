/* Events about objects, for people to read (kubectl describe shows them): client-go's
 * EventRecorder, with its aggregation, so that a busy controller does not flood the server.
 * Recording never waits and may lose an Event: a server that cannot be reached is tried again for
 * two minutes, one that refuses is not. They are Events of core/v1 or, with `series`, of
 * events.k8s.io/v1. Owner: the maker.  Thread: any. */
#ifndef CORACLE_EVENTS_H
#define CORACLE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "coracle/api.h"
#include "coracle/client.h"
#include "coracle/object.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_events;

#define COR_EVENT_QUEUE_MAX 1000 /* waiting to be sent */

enum cor_event_type { COR_EVENT_NORMAL, COR_EVENT_WARNING };

/* An Event that nobody will read: what it was about, and what it said. */
struct cor_lost_event {
    struct cor_str about_kind, about_ns, about_name;
    struct cor_str reason, message;
};

struct cor_events_opts {
    size_t size;           /* of this struct: COR_EVENTS_OPTS sets it (coracle/api.h) */
    const char *component; /* who says so, such as "my-controller" */
    const char *host;      /* where; may be NULL */
    /* Events of events.k8s.io/v1, where the server serves it, which is asked before the first is
     * sent; else, and when it does not answer twelve times, of core/v1. An Event that repeats, of
     * the same objects, type, reason and action, is written at once the first and the second time;
     * from then on the count is written every half hour, and when the Event did not come for six
     * minutes. Its message stays the first one's. What was counted since is lost with the events.
     * They are reported by "component-host", where without a host the machine's name is taken. */
    bool series;
    /* An Event was given up: the server refused it, or could not be reached; `r` is why. On the
     * runtime's I/O thread or inside the pump: it must not block, nor free the events. NULL: nobody
     * listens. */
    void (*on_given_up)(void *arg, const struct cor_lost_event *event, int r);
    void *arg;
};

#define COR_EVENTS_OPTS .size = sizeof(struct cor_events_opts)

/* The texts are copied. 0, -COR_ECANCELED (the client was stopped), -COR_ENOMEM. */
COR_API int cor_events_new(struct cor_client *client, const struct cor_events_opts *opts,
                           struct cor_events **ret_events);

/* Waits: each queued Event is tried once, within the client's end_ms; what is left then is dropped,
 * and on_given_up is not called for it. Not inside a callback (coracle/runtime.h). Returns NULL;
 * NULL is allowed. */
COR_API struct cor_events *cor_events_free(struct cor_events *events);

/* `reason` is one word in CamelCase; a long reason or message is cut. In a series it is the action,
 * too. 0, -COR_EINVAL (the object has no kind or no name), -COR_EBUSY (COR_EVENT_QUEUE_MAX wait),
 * -COR_ENOMEM. */
COR_API int cor_events_record(struct cor_events *events, const struct cor_object *about,
                              enum cor_event_type type, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* The same with what events.k8s.io/v1 adds: what was done, one word in CamelCase, and a second
 * object, which may be NULL; one without a kind or a name is left out. An Event of core/v1 has
 * neither. */
COR_API int cor_events_record_action(struct cor_events *events, const struct cor_object *about,
                                     const struct cor_object *related, enum cor_event_type type,
                                     const char *reason, const char *action, const char *fmt, ...)
    __attribute__((format(printf, 7, 8)));

#ifdef __cplusplus
}
#endif

#endif
