/* clang-format off */
/* The store of a feed (cor_port_controller_follow(), struct cor_control_feed_opts) for a program that
 * keeps what it follows in a form of its own, for example a table or a graph. It turns what the
 * reflector calls into four functions:
 *
 *   list: begin ──► show each object ──► listed      watch: show what was created or changed, gone
 *
 * Each list has a number, `list`. A program that notes the number with each object that is shown
 * knows in `listed` which objects are gone: those with another number. A failure of a function
 * makes the reflector list again, after a pause.
 * Thread: that of the feed.  Owner: whoever embeds it. */
/* clang-format on */
#ifndef COR_KIT_FEED_HANDLER_H
#define COR_KIT_FEED_HANDLER_H

#include <stdint.h>

#include "cache/reflector/reflector_ops.h"

struct cor_feed_handler;

/* Functions that return int: 0 or a negative COR_E…. Objects are borrowed. */
struct cor_feed_handler_ops {
    /* The object is there: it was created, has changed, or is in the list, perhaps unchanged. */
    int (*show)(struct cor_feed_handler *h, struct cor_object *object);
    /* The object was deleted; this is its last state. */
    int (*gone)(struct cor_feed_handler *h, struct cor_object *object);
    /* A list begins, which may end without `listed`. May be NULL. */
    void (*begin)(struct cor_feed_handler *h);
    /* All objects of the list were shown. May be NULL. */
    int (*listed)(struct cor_feed_handler *h);
};

struct cor_feed_handler {
    struct cor_reflector_store store; /* what the feed is given */
    const struct cor_feed_handler_ops *ops;
    uint32_t list; /* the number of the last list that has begun; it may wrap around */
    cor_rev rev;   /* of the store, of what `gone` or `listed` is called for; 0: it is not known */
};

/* `ops` must stay valid. Cannot fail. */
void cor_feed_handler_init(struct cor_feed_handler *h, const struct cor_feed_handler_ops *ops);

#endif
