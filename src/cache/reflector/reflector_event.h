/* What a lister-watcher delivers, over a storage engine and over HTTP alike: pages of a list, and
 * events of a watch. Nothing here owns; all is borrowed for the call it is passed to.
 * Thread: any (values). */
#ifndef COR_CACHE_REFLECTOR_EVENT_H
#define COR_CACHE_REFLECTOR_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "meta/names/watch_type.h"
#include "meta/object/object.h"
#include "meta/status/status.h"

struct cor_reflector_event {
    enum cor_watch_type type;
    struct cor_str key;              /* what the driver calls it; empty: the object tells */
    struct cor_object *object;       /* NULL: an error, a bookmark that is only a revision, or a
                                      * deletion that is only a key */
    struct cor_str resource_version; /* empty: the object's own */
    const struct cor_status *status; /* of an error, else NULL */
};

/* The resourceVersion that the event moves its reader to; empty when it has none. */
struct cor_str cor_reflector_event_rv(const struct cor_reflector_event *event);

/* Is it the bookmark that ends the initial events? */
bool cor_reflector_event_ends_initial(const struct cor_reflector_event *event);

/* One answer to a list request, or a part of one, so that no answer need be held as a whole. */
struct cor_list_page {
    struct cor_object **objects;
    const struct cor_str *keys; /* what the driver calls them; NULL: the objects tell */
    size_t n;
    bool more_parts; /* of this answer; what follows is read from its last part only */
    struct cor_str resource_version; /* of the list */
    struct cor_str continue_token;   /* empty: the list is complete */
};

#endif
