/* The newest state of each key that waits to be processed, in the order in which keys began to
 * wait: client-go's plain FIFO. A state that is replaced before it was popped is not seen, and
 * neither is a deletion: what is deleted while it waits is passed over. A consumer that needs
 * deletions takes cache/queues/delta_fifo.h.
 *
 * It is a reflector's store.
 * Thread: any.  Owner: the maker. */
#ifndef COR_CACHE_FIFO_H
#define COR_CACHE_FIFO_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cache/reflector/reflector_ops.h"
#include "meta/object.h"

#define COR_FIFO_MAX (16u << 20) /* keys, unless set */

struct cor_fifo;

struct cor_fifo_opts {
    size_t keys_max; /* 0: COR_FIFO_MAX */
    /* Something may be popped, or it was closed. Called without a lock held; may be NULL. */
    void (*on_ready)(void *arg);
    void *arg;
};

/* 0 or -COR_ENOMEM. */
int cor_fifo_new(const struct cor_fifo_opts *opts, struct cor_fifo **ret_fifo);

/* Returns NULL. */
struct cor_fifo *cor_fifo_free(struct cor_fifo *f);
COR_DEFINE_CLEANUP(struct cor_fifo, cor_fifo_free)

/* For cor_reflector_new(); borrowed. What its calls return: 0, -COR_ENOMEM, -COR_EINVAL (an object
 * without a name), -COR_EBUSY (the maximum). */
struct cor_reflector_store *cor_fifo_store(struct cor_fifo *f);

/* Puts the object at the end, unless its key waits: that is newer. Errors as above. */
int cor_fifo_add_if_not_present(struct cor_fifo *f, struct cor_object *object);

/* Returned by a consumer to put the object back, unless its key waits again. */
#define COR_FIFO_REQUEUE 1

/* Runs under the queue's lock: it must not call the queue. `in_initial_list`: the queue had not
 * been synced before this pop. */
typedef int (*cor_fifo_fn)(void *arg, struct cor_str key, struct cor_object *object,
                           bool in_initial_list);

/* Waits for an object and gives it to `fn`. What fn returned, or -COR_ECANCELED: closed, and all
 * was given out. */
int cor_fifo_pop(struct cor_fifo *f, cor_fifo_fn fn, void *arg);

/* The same without waiting. -COR_EBUSY: nothing waits. */
int cor_fifo_try_pop(struct cor_fifo *f, cor_fifo_fn fn, void *arg);

/* True once the first list (or a change that came before it) was consumed. It stays true. */
bool cor_fifo_has_synced(struct cor_fifo *f);

/* Pop gives out what waits and then ends. Objects are still taken. */
void cor_fifo_close(struct cor_fifo *f);
bool cor_fifo_is_closed(struct cor_fifo *f);

#endif
