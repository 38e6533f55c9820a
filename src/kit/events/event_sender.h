/* Sends what an event recorder has queued through an API port, one request at a time. It has no
 * timer and no thread of its own; whoever runs it calls cor_event_sender_step() when on_ready asks
 * for that, and cor_event_sender_tick() at the time that `wake_at` names.
 *
 * For series the server is first asked whether it serves events.k8s.io/v1: an answer decides
 * between series and core/v1. While no answer comes, the question is repeated; after the last try
 * it is core/v1.
 * Thread: the port's loop, for every function and callback but on_ready and recording, which may be
 * on any thread.  Owner: its maker. */
#ifndef COR_KIT_EVENT_SENDER_H
#define COR_KIT_EVENT_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "kit/api_port.h"
#include "kit/events/event_recorder.h"

struct cor_event_sender;

struct cor_event_sender_opts {
    struct cor_api_port *port; /* must stay valid */
    uint64_t timeout_ms;       /* of a request; more than 0, since the events behind it wait */
    struct cor_str component, host, instance; /* as of the recorder; copied */
    bool series;
    const struct cor_clock *clock; /* NULL: the machine's; must stay valid */
    struct cor_rand *rand;         /* NULL: the kernel's randomness; must stay valid */
    /* Call tick at this time of the clock or later; this replaces the time given before. */
    void (*wake_at)(void *arg, uint64_t at_ms);
    /* There is something for step to do. Any thread. */
    void (*on_ready)(void *arg);
    /* An event was given up; `r` is the reason. May be NULL. */
    void (*on_given_up)(void *arg, const struct cor_event *event, int r);
    /* After cor_event_sender_shutdown(), at the end of each step that finds nothing left to send.
     */
    void (*on_idle)(void *arg);
    void *arg;
};

/* 0 or -COR_ENOMEM. */
int cor_event_sender_new(const struct cor_event_sender_opts *opts,
                         struct cor_event_sender **ret_sender);

/* Cancels the request under way and drops what is queued. Returns NULL. */
struct cor_event_sender *cor_event_sender_free(struct cor_event_sender *s);
COR_DEFINE_CLEANUP(struct cor_event_sender, cor_event_sender_free)

/* Any thread, as cor_event_record(). */
int cor_event_sender_record(struct cor_event_sender *s, const struct cor_event_told *told);

void cor_event_sender_step(struct cor_event_sender *s);
void cor_event_sender_tick(struct cor_event_sender *s);

/* Nothing more is taken. Each queued event is tried once, then on_idle is called. */
void cor_event_sender_shutdown(struct cor_event_sender *s);

#endif
