/* Waiting until something has happened to objects: client-go's Until functions. Both wait, and
 * cor_client_stop() ends both with -COR_ECANCELED.
 * Thread: any but inside a callback; cor_client_sync_until() not inside a handler either
 * (coracle/runtime.h has the table).  Owner: nothing stays after the call. */
#ifndef CORACLE_UNTIL_H
#define CORACLE_UNTIL_H

#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/client.h"
#include "coracle/informer.h"
#include "coracle/informers.h"
#include "coracle/request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Is this event what was waited for? Positive: it is; 0: not yet; negative ends the wait with that
 * code. Never an ERROR event. One call at a time. Of a watch on the runtime's I/O thread, of a
 * cache where handlers run, or inside the pump. */
typedef int (*cor_watch_condition_fn)(void *arg, const struct cor_watch_event *event);

/* Sends a watch and waits until each of the `n` conditions was met, one after the other; an event
 * that met one is shown to the next before another is read. With a request that `resumes` every
 * event is seen in its order (Until); another watch may end too early (UntilWithoutRetry).
 * `ret_object` (NULL: not wanted) gets the object of the last event. 0; -COR_EBROKEN (the watch
 * ended before), -COR_ETIMEOUT (after the request's timeout_ms; 0: it waits without end), what a
 * condition returned, the error of an ERROR event, or as cor_client_do(). */
COR_API int cor_client_watch_until(struct cor_client *client, const struct cor_request *req,
                                   const cor_watch_condition_fn *conditions, size_t n, void *arg,
                                   struct cor_object **ret_object, struct cor_status *reterr);

struct cor_sync_until_opts {
    size_t size; /* of this struct: COR_SYNC_UNTIL_OPTS sets it (coracle/api.h) */
    const struct cor_informer_opts *scope; /* what is cached and watched meanwhile */
    /* Looks at the cache when its first list is there, before any condition, on the calling thread.
     * Positive: nothing has to be waited for; negative ends it with that code; 0: conditions see
     * what has come in since the beginning. NULL: they see it as it comes in. */
    int (*precondition)(void *arg, struct cor_informer *informer);
    const cor_watch_condition_fn *conditions; /* each object of the first list is ADDED */
    size_t n;
    void *arg;           /* of both */
    uint64_t timeout_ms; /* 0: without end */
};

#define COR_SYNC_UNTIL_OPTS .size = sizeof(struct cor_sync_until_opts)

/* The same over a cache of its own, which survives everything that an informer does: it lists again
 * after a 410, and may miss what was between (UntilWithSync). `ret_object` gets NULL when the
 * precondition was enough. 0; -COR_ETIMEOUT (the message has the last error of a list or watch),
 * what a condition or the precondition returned, -COR_EINVAL (no condition, no resource, inside a
 * callback or a handler), -COR_ENOMEM. The client must not be freed meanwhile. */
COR_API int cor_client_sync_until(struct cor_client *client, const struct cor_sync_until_opts *opts,
                                  struct cor_object **ret_object, struct cor_status *reterr);

#ifdef __cplusplus
}
#endif

#endif
