/* Waits until something has happened to objects: client-go's Until functions. Both functions block,
 * and cor_client_stop() ends both with -COR_ECANCELED.
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
 * code. An ERROR event is never passed. There is one call at a time: for a watch on the runtime's
 * I/O thread, for a cache where handlers run, and without threads inside the pump. */
typedef int (*cor_watch_condition_fn)(void *arg, const struct cor_watch_event *event);

/* Sends a watch and waits until each of the `n` conditions was met, one after the other. An event
 * that meets a condition is passed to the next condition too, before another event is read. With a
 * request that `resumes`, conditions get every event in its order (Until); a watch without it may
 * end too early (UntilWithoutRetry).
 * `ret_object` (NULL: not wanted) gets the object of the last event. 0; -COR_EBROKEN (the watch
 * ended before), -COR_ETIMEOUT (after the request's timeout_ms; 0: it waits without end), what a
 * condition returned, the error of an ERROR event, or as cor_client_do(). */
COR_API int cor_client_watch_until(struct cor_client *client, const struct cor_request *req,
                                   const cor_watch_condition_fn *conditions, size_t n, void *arg,
                                   struct cor_object **ret_object, struct cor_status *reterr);

struct cor_sync_until_opts {
    size_t size; /* of this struct: COR_SYNC_UNTIL_OPTS sets it (coracle/api.h) */
    const struct cor_informer_opts *scope; /* what is cached and watched meanwhile */
    /* Called on the calling thread when the first list is cached, before any condition. Positive:
     * the wait is over; negative ends it with that code; 0: the conditions get all events since the
     * beginning. NULL: the conditions get events as they arrive. */
    int (*precondition)(void *arg, struct cor_informer *informer);
    const cor_watch_condition_fn *conditions; /* each object of the first list is ADDED */
    size_t n;
    void *arg;           /* of both */
    uint64_t timeout_ms; /* 0: without end */
};

#define COR_SYNC_UNTIL_OPTS .size = sizeof(struct cor_sync_until_opts)

/* The same with a cache of its own, which continues where an informer does: after a 410 it lists
 * again, and may miss what happened in between (UntilWithSync). `ret_object` gets NULL when the
 * precondition ended the wait. 0; -COR_ETIMEOUT (the message has the last error of a list or
 * watch), what a condition or the precondition returned, -COR_EINVAL (no condition, no resource,
 * inside a callback or a handler), -COR_ENOMEM. The client must not be freed meanwhile. */
COR_API int cor_client_sync_until(struct cor_client *client, const struct cor_sync_until_opts *opts,
                                  struct cor_object **ret_object, struct cor_status *reterr);

#ifdef __cplusplus
}
#endif

#endif
