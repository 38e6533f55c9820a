/* The functions of a handler, which an informer calls for each change of its cache: client-go's
 * ResourceEventHandler, with the detail of its DetailedFuncs. A function that is NULL is not
 * called.
 *
 * A change may be old by the time a handler is called. A controller therefore only puts the key
 * into a work queue, and reads the cache when it works on the key. Thread: where the runtime runs
 * handlers, one at a time for each.  Owner: a value; `arg` must stay valid until on_removed. */
#ifndef CORACLE_HANDLER_FNS_H
#define CORACLE_HANDLER_FNS_H

#include <stdbool.h>
#include <stddef.h>

#include "coracle/object.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Objects are borrowed for the call, shared with the cache, and never changed. */
struct cor_handler_fns {
    void (*on_add)(void *arg, struct cor_object *object, bool in_initial_list);
    void (*on_update)(void *arg, struct cor_object *old, struct cor_object *object);
    /* `final_state_unknown`: the deletion itself was missed and `object` is the last state seen, or
     * NULL when even that is gone. `key` is "namespace/name", or the name. */
    void (*on_delete)(void *arg, struct cor_str key, struct cor_object *object,
                      bool final_state_unknown);
    /* The changes that wait for the handler have passed their bound, for the first time since the
     * handler had caught up: from now on updates of one object are folded into one. Called on the
     * thread that fills the cache, with the informer's locks held: it must not call the informer.
     */
    void (*on_behind)(void *arg, size_t pending_bytes);
    void *arg;
};

#ifdef __cplusplus
}
#endif

#endif
