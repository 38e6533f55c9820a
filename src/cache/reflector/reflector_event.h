/* What a lister-watcher delivers, over a storage engine and over HTTP alike: pages of a list, and
 * events of a watch. Nothing here is owned; everything is borrowed for the call that it is passed
 * to.
 * Thread: any (values). */
#ifndef COR_CACHE_REFLECTOR_EVENT_H
#define COR_CACHE_REFLECTOR_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "meta/names/watch_type.h"
#include "meta/object/object.h"
#include "meta/status/revision.h"
#include "meta/status/status.h"

/* Where a source is. Its resourceVersion is opaque: never parsed, never compared. A source that
 * counts its revisions has the number beside it, or alone, so that a store of such a source reads
 * no text.
 */
struct cor_reflector_at {
    struct cor_str rv; /* empty: it has none */
    cor_rev rev;       /* 0: it has none */
};

/* Of a source that has the text alone. */
static inline struct cor_reflector_at cor_reflector_at(struct cor_str rv)
{
    return (struct cor_reflector_at){.rv = rv};
}

struct cor_reflector_event {
    enum cor_watch_type type;
    struct cor_str key;              /* the driver's name for it; empty: the object's own */
    struct cor_object *object;       /* NULL: an error, a bookmark that is only a revision, or a
                                      * deletion that is only a key */
    struct cor_str resource_version; /* empty: the object's own */
    cor_rev rev;                     /* the same as a number; 0: it has none */
    const struct cor_status *status; /* of an error, else NULL */
};

/* Where the event moves its reader to; it may have neither a text nor a number. */
struct cor_reflector_at cor_reflector_event_at(const struct cor_reflector_event *event);

/* Is it the bookmark that ends the initial events? */
bool cor_reflector_event_ends_initial(const struct cor_reflector_event *event);

/* One answer to a list request, or a part of one, so that no answer need be held as a whole. */
struct cor_list_page {
    struct cor_object **objects;
    const struct cor_str *keys; /* the driver's names for them; NULL: the objects' own */
    size_t n;
    bool more_parts; /* of this answer; what follows is read from its last part only */
    struct cor_str resource_version; /* of the list */
    cor_rev rev;                     /* the same as a number; 0: it has none */
    struct cor_str continue_token;   /* empty: the list is complete */
};

#endif
