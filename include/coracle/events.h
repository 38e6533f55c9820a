/* Records Events about objects, for people to read (kubectl describe shows them): client-go's
 * EventRecorder, with its aggregation, so that a busy controller does not flood the server.
 * Recording never blocks and may lose an Event: sending is tried again for two minutes while the
 * server cannot be reached, and is not tried again when the server refuses. Events are of core/v1
 * or, with `series`, of events.k8s.io/v1. Owner: the maker.  Thread: any. */
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

/* An Event that was not written: the object that it was about, and its texts. */
struct cor_lost_event {
    struct cor_str about_kind, about_ns, about_name;
    struct cor_str reason, message;
};

struct cor_events_opts {
    size_t size;           /* of this struct: COR_EVENTS_OPTS sets it (coracle/api.h) */
    const char *component; /* the program that reports, such as "my-controller" */
    const char *host;      /* the machine on which it runs; may be NULL */
    /* True: Events are of events.k8s.io/v1 if the server serves that version; the server is asked
     * before the first Event is sent. If it does not serve it, or has not answered twelve times,
     * Events are of core/v1. An Event with the same objects, type, reason and action as an earlier
     * one is a repetition. The first and the second are written at once; from then on the count is
     * written every half hour, and when no repetition has come for six minutes. The message stays
     * that of the first. Repetitions that are not written yet are lost when the events are freed.
     * The reporting instance is "component-host"; without `host`, the machine's name. */
    bool series;
    /* An Event was dropped because the server refused it or could not be reached; `r` is the error.
     * Called on the runtime's I/O thread or inside the pump: it must not block, nor free the
     * events. May be NULL. */
    void (*on_given_up)(void *arg, const struct cor_lost_event *event, int r);
    void *arg;
};

#define COR_EVENTS_OPTS .size = sizeof(struct cor_events_opts)

/* The texts are copied. 0, -COR_ECANCELED (the client was stopped), -COR_ENOMEM. */
COR_API int cor_events_new(struct cor_client *client, const struct cor_events_opts *opts,
                           struct cor_events **ret_events);

/* Blocks while each queued Event is tried once, for at most the client's end_ms. Events that are
 * left then are dropped, without a call of on_given_up. It must not be called inside a callback
 * (coracle/runtime.h). Returns NULL; NULL is allowed. */
COR_API struct cor_events *cor_events_free(struct cor_events *events);

/* Queues an Event. `reason` is one word in CamelCase, and with `series` the action too; a long
 * reason or message is cut. 0, -COR_EINVAL (the object has no kind or no name), -COR_EBUSY
 * (COR_EVENT_QUEUE_MAX wait), -COR_ENOMEM. */
COR_API int cor_events_record(struct cor_events *events, const struct cor_object *about,
                              enum cor_event_type type, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* The same with the two fields that events.k8s.io/v1 adds: the action, one word in CamelCase, and a
 * second object, which may be NULL; an object without a kind or a name is left out. An Event of
 * core/v1 has neither field. */
COR_API int cor_events_record_action(struct cor_events *events, const struct cor_object *about,
                                     const struct cor_object *related, enum cor_event_type type,
                                     const char *reason, const char *action, const char *fmt, ...)
    __attribute__((format(printf, 7, 8)));

#ifdef __cplusplus
}
#endif

#endif
