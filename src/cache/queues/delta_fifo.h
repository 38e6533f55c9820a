/* The delta FIFO (coracle/delta_fifo.h) for informers: waits for its first list and for revisions,
 * and the changes that its consumer refused. When the queue is closed, whoever waits is called with
 * -COR_ECANCELED.
 * Thread: any.  Owner: the controller that made it. */
#ifndef COR_CACHE_DELTA_FIFO_H
#define COR_CACHE_DELTA_FIFO_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cache/queues/cache_waiters.h"
#include "cache/reflector/reflector_ops.h"
#include "cache/store/indexer.h"
#include "coracle/delta_fifo.h"
#include "meta/object/object.h"

COR_DEFINE_CLEANUP(struct cor_delta_fifo, cor_delta_fifo_free)

/* Calls back once the queue is synced, or once every change up to a resourceVersion was consumed;
 * bookmarks and lists count as changes. 0; 1 when that is already the case, and then `fn` is not
 * called; -COR_ECANCELED (closed), -COR_ENOMEM, -COR_EBUSY (COR_CACHE_WAITERS_MAX), -COR_EINVAL (no
 * revision), or what the change of this very revision was refused with: by its consumer, by the
 * transform, or by the reflector. `fn` gets a refusal that comes later. A change that is put back
 * to be tried again is awaited. For all other waits a refused change counts as consumed. */
int cor_delta_fifo_wait_synced(struct cor_delta_fifo *f, cor_cache_wait_fn fn, void *arg,
                               uint64_t *ret_id);
int cor_delta_fifo_wait_rv(struct cor_delta_fifo *f, struct cor_str rv, cor_cache_wait_fn fn,
                           void *arg, uint64_t *ret_id);

/* False: it was called, or is about to be on another thread. */
bool cor_delta_fifo_cancel_wait(struct cor_delta_fifo *f, uint64_t id);

/* Copies the revision that the queue has reached to `to`, with a NUL; "" before the first list.
 * What is pending may not be consumed yet. */
void cor_delta_fifo_last_rv(struct cor_delta_fifo *f, char to[COR_CACHE_WAITER_RV_MAX + 1]);

/* Of the pending changes, those that were put back by their consumer, and the others. */
size_t cor_delta_fifo_retries(struct cor_delta_fifo *f);
size_t cor_delta_fifo_fresh(struct cor_delta_fifo *f);

#endif
