/* clang-format off */
/* The queue between a reflector and what consumes it: changes of objects, oldest first. Two orders,
 * one choice when it is made:
 *
 *   in order  every change by itself, in the order of arrival: client-go's RealFIFO, its default
 *   by key    all pending changes of a key together, at the place of the first: its DeltaFIFO
 *
 * It is a reflector's store. Differences from client-go are in
 * docs/internals/delta_fifo.md. Thread: any.  Owner: the informer that made it. */
/* clang-format on */
#ifndef COR_CACHE_DELTA_FIFO_H
#define COR_CACHE_DELTA_FIFO_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cache/queues/cache_waiters.h"
#include "cache/reflector/reflector_ops.h"
#include "cache/store/indexer.h"
#include "coracle/informers.h"
#include "meta/object.h"

#define COR_DELTA_FIFO_MAX (32u << 20) /* pending changes, unless set */

enum cor_delta_type {
    COR_DELTA_ADDED,
    COR_DELTA_UPDATED,
    COR_DELTA_DELETED,
    COR_DELTA_REPLACED, /* seen by a list */
    COR_DELTA_SYNC,     /* repeated from the cache by a resync */
};

struct cor_delta {
    enum cor_delta_type type;
    bool is_tombstone; /* DELETED that only a list told of: `object` is the last state known */
    struct cor_object *object; /* NULL: a tombstone of an object that is not known any more */
};

struct cor_delta_fifo;

struct cor_delta_fifo_opts {
    bool by_key;                /* false: in order */
    struct cor_indexer *known;  /* what the consumer has; must stay valid. NULL: nothing */
    cor_transform_fn transform; /* may be NULL */
    size_t deltas_max;          /* 0: COR_DELTA_FIFO_MAX */
    /* Something may be popped, or it was closed. Called without a lock held; may be NULL. */
    void (*on_ready)(void *arg);
    void *arg; /* of both */
};

/* 0 or -COR_ENOMEM. */
int cor_delta_fifo_new(const struct cor_delta_fifo_opts *opts, struct cor_delta_fifo **ret_fifo);

/* Returns NULL. */
struct cor_delta_fifo *cor_delta_fifo_free(struct cor_delta_fifo *f);
COR_DEFINE_CLEANUP(struct cor_delta_fifo, cor_delta_fifo_free)

/* For cor_reflector_new(); borrowed. What its calls return: 0, -COR_ENOMEM, -COR_EINVAL (an object
 * without a name), -COR_EBUSY (the maximum), or the transform's. */
struct cor_reflector_store *cor_delta_fifo_store(struct cor_delta_fifo *f);

/* Returned by a consumer that refused the changes, to put them back, at the end, unless the key has
 * others pending. */
#define COR_DELTA_REQUEUE 1

/* Puts changes that were popped back at the end, unless the key has others pending: those are
 * newer. 0, -COR_ENOMEM, -COR_EBUSY (the maximum). */
int cor_delta_fifo_add_if_not_present(struct cor_delta_fifo *f, struct cor_str key,
                                      const struct cor_delta *deltas, size_t n);

/* Consumes changes of one key, oldest first (one, when in order). 0, COR_DELTA_REQUEUE, or
 * negative: it refused them, and they are dropped. Runs under the queue's lock: it must not call
 * the queue. `in_initial_list`: the queue had not been synced before this pop. After -COR_ENOMEM
 * the changes are where they were and the next pop gives them again, before any other.
 */
typedef int (*cor_delta_fn)(void *arg, struct cor_str key, const struct cor_delta *deltas, size_t n,
                            bool in_initial_list);

/* Waits for a change and gives it to `fn`. What fn returned, -COR_ENOMEM (nothing was given), or
 * -COR_ECANCELED: closed, and all was given out. */
int cor_delta_fifo_pop(struct cor_delta_fifo *f, cor_delta_fn fn, void *arg);

/* The same without waiting. -COR_EBUSY: nothing is pending. */
int cor_delta_fifo_try_pop(struct cor_delta_fifo *f, cor_delta_fn fn, void *arg);

/* True once the first list (or a change that came before it) was consumed. It stays true. */
bool cor_delta_fifo_has_synced(struct cor_delta_fifo *f);

/* Pop gives out what is pending and then ends. Changes are still taken; whoever waits is told that
 * it was in vain. */
void cor_delta_fifo_close(struct cor_delta_fifo *f);
bool cor_delta_fifo_is_closed(struct cor_delta_fifo *f);

/* Calls back once the queue is synced, or once every change up to a resourceVersion was consumed;
 * bookmarks and lists count as changes do. 0; 1 when it is so already, and then `fn` is not called;
 * -COR_ECANCELED (closed), -COR_ENOMEM, -COR_EBUSY (COR_CACHE_WAITERS_MAX), -COR_EINVAL (no
 * revision), or what the change of this very revision was refused with: by its consumer, by the
 * transform, or by the reflector. `fn` is told a refusal that comes later. One that is put back to
 * be tried again is waited for. To all other waits a refused change counts as consumed. */
int cor_delta_fifo_wait_synced(struct cor_delta_fifo *f, cor_cache_wait_fn fn, void *arg,
                               uint64_t *ret_id);
int cor_delta_fifo_wait_rv(struct cor_delta_fifo *f, struct cor_str rv, cor_cache_wait_fn fn,
                           void *arg, uint64_t *ret_id);

/* False: it was called, or is about to be on another thread. */
bool cor_delta_fifo_cancel_wait(struct cor_delta_fifo *f, uint64_t id);

/* The revision that the queue was brought to, copied to `to` with a NUL; "" before the first list.
 * What is pending may not be consumed yet. */
void cor_delta_fifo_last_rv(struct cor_delta_fifo *f, char to[COR_CACHE_WAITER_RV_MAX + 1]);

size_t cor_delta_fifo_len(struct cor_delta_fifo *f); /* of pending changes */

/* Of the pending changes, those that were put back by their consumer, and the others. */
size_t cor_delta_fifo_retries(struct cor_delta_fifo *f);
size_t cor_delta_fifo_fresh(struct cor_delta_fifo *f);

/* Objects whose newest change was refused. */
size_t cor_delta_fifo_refused(struct cor_delta_fifo *f);

#endif
