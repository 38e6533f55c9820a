/* What hears of an informer's changes: client-go's ResourceEventHandler, with the detail of its
 * DetailedFuncs. A function that is NULL is not called.
 * Thread: where it is drained.  Owner: a value; `arg` must outlive its registration. */
#ifndef COR_CACHE_EVENT_HANDLER_H
#define COR_CACHE_EVENT_HANDLER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "meta/object.h"

/* Objects are borrowed for the call, shared with the cache, and never changed. */
struct cor_event_handler {
    void (*on_add)(void *arg, struct cor_object *object, bool in_initial_list);
    void (*on_update)(void *arg, struct cor_object *old, struct cor_object *object);
    /* `final_state_unknown`: the deletion itself was missed and `object` is the last state seen, or
     * NULL when even that is gone. */
    void (*on_delete)(void *arg, struct cor_str key, struct cor_object *object,
                      bool final_state_unknown);
    /* What waits has passed its bound, for the first time since the handler had caught up: from now
     * on updates are folded. On the pusher's thread, with an informer's locks held: it must not
     * call the informer. */
    void (*on_behind)(void *arg, size_t pending_bytes);
    void *arg;
};

enum cor_change_kind { COR_CHANGE_ADD, COR_CHANGE_UPDATE, COR_CHANGE_DELETE };

/* One change of a cache, as handlers are told of it. All is borrowed. */
struct cor_change {
    enum cor_change_kind kind;
    bool flag; /* add: in the initial list; delete: final state unknown */
    struct cor_str key;
    struct cor_object *old;    /* of an update */
    struct cor_object *object; /* NULL: a deletion of what is not known any more */
};

void cor_event_handler_tell(const struct cor_event_handler *handler,
                            const struct cor_change *change);

#endif
