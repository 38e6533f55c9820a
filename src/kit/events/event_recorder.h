/* Records events about objects: client-go's EventRecorder, with its queue, correlator and retries,
 * without I/O. Recording never waits; whoever runs the recorder sends one request at a time
 * (event_sender.h does). The events are of core/v1, or of events.k8s.io/v1 with series, as in
 * client-go's tools/events.
 *
 * When a server cannot be reached, an event is tried twelve times in all, ten seconds apart; an
 * event that a server refuses is given up.
 * Thread: cor_event_record() and shutdown from any; the rest, and all callbacks but on_ready, on
 * one thread at a time, the recorder's.  Owner: whoever made it. */
#ifndef COR_KIT_EVENT_RECORDER_H
#define COR_KIT_EVENT_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/rand.h"
#include "coracle/events.h"
#include "kit/events/event.h"

struct cor_event_recorder;

#define COR_EVENT_TRIES_MAX 12
#define COR_EVENT_RETRY_MS  10000

struct cor_event_request {
    bool is_series; /* of events.k8s.io/v1; else of core/v1 */
    bool is_patch;  /* a strategic merge patch of `name`; else a create */
    struct cor_str ns, name;
    struct cor_str body;
};

struct cor_event_recorder_opts {
    struct cor_str component, host; /* who reports the events; copied */
    bool series;                    /* events.k8s.io/v1 */
    struct cor_str instance;        /* who reports a series, in place of the host; copied */
    const struct cor_clock *clock;  /* NULL: the machine's */
    struct cor_rand *rand;          /* NULL: the kernel's; must stay valid */
    /* Sends a request, which is borrowed for the call. The answer goes to
     * cor_event_recorder_answered(), after `send` has returned. */
    void (*send)(void *arg, const struct cor_event_request *request);
    /* Call step at this time of the clock, or later. */
    void (*wake_at)(void *arg, uint64_t at_ms);
    /* There is something for step to do. Any thread; may be NULL. */
    void (*on_ready)(void *arg);
    /* An event was given up; `r` is why. May be NULL. */
    void (*on_given_up)(void *arg, const struct cor_event *event, int r);
    void *arg;
};

/* 0 or -COR_ENOMEM. */
int cor_event_recorder_new(const struct cor_event_recorder_opts *opts,
                           struct cor_event_recorder **ret_recorder);

/* What is queued is dropped. Returns NULL. */
struct cor_event_recorder *cor_event_recorder_free(struct cor_event_recorder *rec);
COR_DEFINE_CLEANUP(struct cor_event_recorder, cor_event_recorder_free)

struct cor_event_told {
    const struct cor_object *about;
    const struct cor_object *related; /* may be NULL; without a kind or a name it is left out */
    enum cor_event_type type;
    const char *reason, *message;
    const char *action; /* NULL: the reason */
};

/* Queues an event; long texts are cut. 0, -COR_EINVAL (the object has no kind or no name),
 * -COR_EBUSY (COR_EVENT_QUEUE_MAX wait), -COR_ECANCELED (after shutdown), -COR_ENOMEM. */
int cor_event_record(struct cor_event_recorder *rec, const struct cor_event_told *told);

/* The server does not serve events.k8s.io/v1: all events are sent as core/v1, without action and
 * related object. Before the first step. */
void cor_event_recorder_fall_back(struct cor_event_recorder *rec);

/* Sends the next event, if none is under way and one is due. */
void cor_event_recorder_step(struct cor_event_recorder *rec);

/* The answer to `send`: 0, or an error. `is_final`: another try would end the same way, as when the
 * server has refused the event by a Status. */
void cor_event_recorder_answered(struct cor_event_recorder *rec, int r, bool is_final);

/* No event is accepted any more; each queued one is tried once. Any thread. */
void cor_event_recorder_shutdown(struct cor_event_recorder *rec);

/* Is nothing queued, sent or waiting for its next try? Series that are counted do not matter. */
bool cor_event_recorder_is_idle(struct cor_event_recorder *rec);

#endif
