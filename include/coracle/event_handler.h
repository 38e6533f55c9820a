/* What hears of an informer's changes: client-go's ResourceEventHandler, with the detail of its
 * DetailedFuncs. A function that is NULL is not called.
 *
 * Handlers are told of levels as edges: what they are told may be old by the time they look, so a
 * controller puts the key into a work queue and reads the cache when it works on it.
 * Thread: where the runtime runs handlers, one at a time for each.  Owner: a value; `arg` must stay
 * valid until on_removed. */
#ifndef CORACLE_EVENT_HANDLER_H
#define CORACLE_EVENT_HANDLER_H

#include <stdbool.h>
#include <stddef.h>

#include "coracle/object.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Objects are borrowed for the call, shared with the cache, and never changed. */
struct cor_event_handler {
    void (*on_add)(void *arg, struct cor_object *object, bool in_initial_list);
    void (*on_update)(void *arg, struct cor_object *old, struct cor_object *object);
    /* `final_state_unknown`: the deletion itself was missed and `object` is the last state seen, or
     * NULL when even that is gone. `key` is "namespace/name", or the name. */
    void (*on_delete)(void *arg, struct cor_str key, struct cor_object *object,
                      bool final_state_unknown);
    /* What waits has passed its bound, for the first time since the handler had caught up: from now
     * on updates are folded. On the pusher's thread, with an informer's locks held: it must not
     * call the informer. */
    void (*on_behind)(void *arg, size_t pending_bytes);
    void *arg;
};

#ifdef __cplusplus
}
#endif

#endif
