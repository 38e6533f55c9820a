/* Changes that wait because the queue of their controller is full. They are fed again, in their
 * order, whenever a run begins or ends, for there may be room then; a later change waits behind
 * them. A change costs a few pointers: the objects are shared with the informer. Owner: the
 * controller.  Thread: the loop. */
#ifndef COR_CLIENT_HELD_CHANGES_H
#define COR_CLIENT_HELD_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dlist.h"
#include "base/str.h"
#include "coracle/control_event.h"

struct cor_controller;
struct cor_controller_source;

struct cor_held_changes {
    struct cor_dlist list;
};

void cor_held_changes_init(struct cor_held_changes *held);
/* Drops all of them. */
void cor_held_changes_deinit(struct cor_held_changes *held);

/* Feed an event of a source, or a key, to the control loop, or hold it. Errors as of
 * cor_control_loop_event() and cor_control_loop_enqueue(), but not -COR_EBUSY; -COR_ENOMEM: it is
 * not held either. */
int cor_controller_feed_event(struct cor_controller_source *source,
                              const struct cor_control_event *event);
int cor_controller_feed_key(struct cor_controller *c, struct cor_str ns, struct cor_str name,
                            uint64_t delay_ms);

/* Feeds what waits, until the queue is full again. */
void cor_controller_feed_held(struct cor_controller *c);

#endif
