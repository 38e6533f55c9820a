/* A handler that hears only of objects that a filter passes: client-go's
 * FilteringResourceEventHandler. An object that an update brings into the filter is added, one that
 * it takes out is deleted, as its last state that passed.
 * Thread: the handler's.  Owner: the program; it must outlive the registration. */
#ifndef COR_CACHE_FILTERING_HANDLER_H
#define COR_CACHE_FILTERING_HANDLER_H

#include <stdbool.h>

#include "cache/event_handler.h"

struct cor_filtering_handler {
    /* `object` is NULL for a deletion of what is not known any more. */
    bool (*passes)(void *arg, const struct cor_object *object);
    void *arg;
    struct cor_event_handler to; /* hears what passes; it has an arg of its own */
};

/* What to register; points to `filter`. */
struct cor_event_handler cor_filtering_handler(struct cor_filtering_handler *filter);

#endif
