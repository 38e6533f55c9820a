/* The store of a feed (control_feed.h): it turns what a reflector delivers into events of a control
 * loop's source. For each object it keeps the key and the version, and the object itself only if
 * that is wanted; it needs them to tell a creation from an update, and to find deletions that no
 * watch has shown.
 *
 * An event that the loop could not queue is not lost: the store then returns the error, keeps what
 * it had before the event, and the reflector lists again.
 * Thread: the control loop's.  Owner: whoever embeds it. */
#ifndef COR_KIT_FEED_STORE_H
#define COR_KIT_FEED_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "cache/reflector/reflector_ops.h"
#include "kit/controller/control_loop.h"

#define COR_FEED_OBJECTS_MAX (16u * 1024 * 1024)

struct cor_feed_store {
    struct cor_reflector_store store;
    struct cor_control_loop *loop;
    struct cor_control_source *source;
    bool keeps_objects;
    bool is_synced;     /* the first list is complete */
    struct cor_map map; /* "namespace/name" or "name" -> struct feed_entry */
    struct cor_buf key; /* of the call under way */
    uint32_t list;      /* counts the lists: an entry that the last one did not have is deleted */
};

/* The loop and its source must stay valid. Cannot fail. */
void cor_feed_store_init(struct cor_feed_store *s, struct cor_control_loop *loop,
                         struct cor_control_source *source, bool keeps_objects);
void cor_feed_store_deinit(struct cor_feed_store *s);

/* Is there an object of this name, by what was delivered last? `ns` is empty for objects without a
 * namespace. */
bool cor_feed_store_has(const struct cor_feed_store *s, struct cor_str ns, struct cor_str name);

/* The object as it was delivered last, or NULL. Only for a store that keeps objects. Borrowed until
 * the next event. */
struct cor_object *cor_feed_store_peek(const struct cor_feed_store *s, struct cor_str ns,
                                       struct cor_str name);

#endif
