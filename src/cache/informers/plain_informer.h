/* A cache of one collection for one handler: client-go's NewInformer and NewIndexerInformer. The
 * handler runs inside the controller's step, under the queue's lock: a slow handler delays the
 * reflector, and a handler must not call the controller. For several handlers, or slow ones, use
 * cache/informers/shared_informer.h.
 *
 * on_update is also called when a relist brought an object that did not change; a handler that does
 * not want this compares resourceVersions.
 * Thread: as cache/informers/controller.h.  Owner: the program. */
#ifndef COR_CACHE_PLAIN_INFORMER_H
#define COR_CACHE_PLAIN_INFORMER_H

#include "base/cleanup.h"
#include "cache/informers/controller.h"
#include "cache/informers/handler_fns.h"

struct cor_plain_informer;

/* `handler` is copied; its on_behind is never called, because nothing waits for the handler. 0,
 * -COR_ENOMEM, or as cor_indexer_add_indexes(). */
int cor_plain_informer_new(const struct cor_cache_controller_opts *opts,
                           const struct cor_handler_fns *handler,
                           struct cor_plain_informer **ret_informer);

/* After its controller was stopped, or before it was started. Returns NULL. */
struct cor_plain_informer *cor_plain_informer_free(struct cor_plain_informer *inf);
COR_DEFINE_CLEANUP(struct cor_plain_informer, cor_plain_informer_free)

/* The controller, for starting, stepping and stopping; borrowed. */
struct cor_cache_controller *cor_plain_informer_controller(struct cor_plain_informer *inf);

/* The cache, for reading; borrowed. It follows the changes. */
struct cor_indexer *cor_plain_informer_indexer(struct cor_plain_informer *inf);

/* Starts the controller with the period of its options. */
void cor_plain_informer_start(struct cor_plain_informer *inf);

#endif
