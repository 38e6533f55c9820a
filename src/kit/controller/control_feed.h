/* Follows one collection through an API port, and feeds a source of a control loop with what
 * changes: a reflector (cache/reflector) over the port, with a small store (feed_store.h). It
 * lists, watches, resumes after the end of a watch, lists again after 410 and after an event that
 * could not be queued, and waits between failures.
 *
 * A program that needs more than keys, for example a graph, gives a reflector's store of its own in
 * place of a source (cache/reflector/reflector_ops.h).
 *
 * The feed has no timer; whoever runs it calls cor_control_feed_tick() at the time that `wake_at`
 * names. The port controller (port_controller.h) does that.
 * Thread: the port's loop, for every function and callback.  Owner: its maker. */
#ifndef COR_KIT_CONTROL_FEED_H
#define COR_KIT_CONTROL_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/rand.h"
#include "kit/controller/control_loop.h"
#include "kit/controller/port_list_watch.h"

struct cor_control_feed;

/* What a feed follows, and what it keeps. */
struct cor_feed_what {
    struct cor_collection of; /* the strings are copied */
    /* The last known state of each object is kept, by reference. Without it the feed keeps keys and
     * versions: then an update has no `old`, and a deletion that no watch has shown has an object
     * of nothing but name and namespace. A source OWNS needs the objects. */
    bool keeps_objects;
    uint64_t resync_ms; /* each object that is kept is an update again after this time; 0: never */
};

struct cor_control_feed_opts {
    struct cor_feed_what what;
    struct cor_api_port *port;     /* must stay valid, as must clock and generator */
    const struct cor_clock *clock; /* NULL: the machine's */
    struct cor_rand *rand;
    /* Either what is fed, which marks the source as synced after the first list; … */
    struct cor_control_loop *loop;
    struct cor_control_source *source;
    /* … or a store of the caller's; it must stay valid. */
    struct cor_reflector_store *store;

    /* Call tick at this time of the clock or later, in a later turn; this replaces the time given
     * before. UINT64_MAX: not at all. */
    void (*wake_at)(void *arg, uint64_t at_ms);
    /* A list failed, or a watch could not be opened; another try follows after a pause. May be
     * NULL. */
    void (*on_error)(void *arg, const struct cor_status *error);
    void *arg;
};

/* 0, -COR_EINVAL (the message names the option), -COR_ENOMEM. */
int cor_control_feed_new(const struct cor_control_feed_opts *opts,
                         struct cor_control_feed **ret_feed, struct cor_status *reterr);

/* Stops it first. Not from inside a callback of the feed or of its store. Returns NULL; NULL is
 * allowed. */
struct cor_control_feed *cor_control_feed_free(struct cor_control_feed *feed);
COR_DEFINE_CLEANUP(struct cor_control_feed, cor_control_feed_free)

void cor_control_feed_start(struct cor_control_feed *feed); /* once */
void cor_control_feed_tick(struct cor_control_feed *feed);

/* The request under way is cancelled, and nothing is fed any more. A second call does nothing. */
void cor_control_feed_stop(struct cor_control_feed *feed);

/* Has the first list been fed completely? Only for a feed without a store of the caller's. */
bool cor_control_feed_is_synced(const struct cor_control_feed *feed);

/* What was delivered last, as in feed_store.h: it may be older than the server's state. Only for a
 * feed without a store of the caller's; `peek` only for one that keeps objects. */
bool cor_control_feed_has(const struct cor_control_feed *feed, struct cor_str ns,
                          struct cor_str name);
struct cor_object *cor_control_feed_peek(const struct cor_control_feed *feed, struct cor_str ns,
                                         struct cor_str name);

#endif
