/* What a lister-watcher delivers, over a storage engine and over HTTP alike: pages of a list, and
 * events of a watch. Nothing here owns; all is borrowed for the call it is passed to.
 * Thread: any (values). */
#ifndef COR_CACHE_WATCH_EVENT_H
#define COR_CACHE_WATCH_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "meta/object.h"
#include "meta/status.h"

/* A bookmark with this annotation, and the value "true", ends the initial events of a watch. */
#define COR_INITIAL_EVENTS_END "k8s.io/initial-events-end"

enum cor_watch_type {
    COR_WATCH_ADDED,
    COR_WATCH_MODIFIED,
    COR_WATCH_DELETED, /* the object is the last state, at the deletion's resourceVersion */
    COR_WATCH_BOOKMARK,
    COR_WATCH_ERROR,
    COR_WATCH_UNKNOWN, /* a type that this version does not know */
};

struct cor_watch_event {
    enum cor_watch_type type;
    struct cor_object *object;       /* NULL: an error, or a bookmark that is only a revision */
    struct cor_str resource_version; /* empty: the object's own */
    const struct cor_status *status; /* of an error, else NULL */
};

/* The resourceVersion that the event moves its reader to; empty when it has none. */
struct cor_str cor_watch_event_rv(const struct cor_watch_event *event);

/* Is it the bookmark that ends the initial events? */
bool cor_watch_event_ends_initial(const struct cor_watch_event *event);

/* One answer to a list request, or a part of one, so that no answer need be held as a whole. */
struct cor_list_page {
    struct cor_object **objects;
    size_t n;
    bool more_parts; /* of this answer; what follows is read from its last part only */
    struct cor_str resource_version; /* of the list */
    struct cor_str continue_token;   /* empty: the list is complete */
};

#endif
