/* A handle that cancels calls: when it is triggered, all calls that were given the handle end with
 * -COR_ECANCELED, including those that block a thread, and so does every later call with it.
 *
 *   cor_cancel_new(&cancel);
 *   const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_GET, ..., .cancel = cancel};
 *   r = cor_client_do(client, &req, &object, &why);
 *
 * Another thread may call cor_cancel_trigger() meanwhile. One handle may be in any number of calls,
 * of any number of clients. A signal handler must not call these functions; let a thread wait for
 * signals and call them (sigwait, signalfd, a pipe).
 * Thread: any.  Owner: reference counted; a call holds a reference until it has ended. */
#ifndef CORACLE_CANCEL_H
#define CORACLE_CANCEL_H

#include <stdbool.h>

#include "coracle/api.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_cancel;

/* 0, -COR_ENOMEM. */
COR_API int cor_cancel_new(struct cor_cancel **ret_cancel);

COR_API struct cor_cancel *cor_cancel_ref(struct cor_cancel *cancel);   /* returns it */
COR_API struct cor_cancel *cor_cancel_unref(struct cor_cancel *cancel); /* NULL is fine; returns
                                                                           NULL */

/* Cancels the calls, for good, and returns at once; a second call does nothing. A callback may call
 * this. */
COR_API void cor_cancel_trigger(struct cor_cancel *cancel);

COR_API bool cor_cancel_is_triggered(const struct cor_cancel *cancel);

#ifdef __cplusplus
}
#endif

#endif
