/* clang-format off */
/* The queue between a reflector and its consumer: changes of objects, oldest first. It has one of
 * two orders, which is chosen when it is made:
 *
 *   in order  each change by itself, in the order of arrival: client-go's RealFIFO, its default
 *   by key all pending changes of a key together, at the position of the first: its DeltaFIFO
 *
 * A reflector fills it through cor_delta_fifo_store(); a program writes into it by the functions of
 * coracle/store.h. Differences from client-go: docs/internals/delta_fifo.md.
 * Owner: the maker.  Thread: any. */
/* clang-format on */
#ifndef CORACLE_DELTA_FIFO_H
#define CORACLE_DELTA_FIFO_H

#include <stdbool.h>
#include <stddef.h>

#include "coracle/api.h"
#include "coracle/indexer.h"
#include "coracle/object.h"
#include "coracle/object_key.h"
#include "coracle/store.h"
#include "coracle/str.h"
#include "coracle/transform.h"

#ifdef __cplusplus
extern "C" {
#endif

#define COR_DELTA_FIFO_MAX (32u << 20) /* changes that wait, unless the options set a maximum */

enum cor_delta_type {
    COR_DELTA_ADDED,
    COR_DELTA_UPDATED,
    COR_DELTA_DELETED,
    COR_DELTA_REPLACED, /* the object was in a list */
    COR_DELTA_SYNC,     /* a resync repeats the cached object */
};

struct cor_delta {
    enum cor_delta_type type;
    bool is_tombstone; /* DELETED: the object was missing from a list, and `object` is the last
                          known state */
    struct cor_object *object; /* NULL: a tombstone of an object whose state is not known */
};

struct cor_delta_fifo;

struct cor_delta_fifo_opts {
    size_t size;               /* of this struct: COR_DELTA_FIFO_OPTS sets it (coracle/api.h) */
    bool by_key;               /* false: in order */
    struct cor_indexer *known; /* the consumer's objects: those missing from a list are deleted, and
                                  a resync repeats them. Must stay valid. NULL: there are none */
    cor_transform_fn transform; /* may be NULL */
    size_t deltas_max;          /* 0: COR_DELTA_FIFO_MAX */
    /* A change can be popped, or the queue was closed. Called on the thread of the writer, without
     * a lock held; may be NULL. */
    void (*on_ready)(void *arg);
    void *arg;      /* of transform and on_ready */
    cor_key_fn key; /* NULL: "namespace/name"; `known` must have the same */
    void *key_arg;
};

#define COR_DELTA_FIFO_OPTS .size = sizeof(struct cor_delta_fifo_opts)

/* `opts` may be NULL. 0, -COR_ENOMEM, -COR_EINVAL, -COR_ENOTSUP (coracle/api.h). */
COR_API int cor_delta_fifo_new(const struct cor_delta_fifo_opts *opts,
                               struct cor_delta_fifo **ret_fifo);

/* Changes that wait are dropped. NULL is fine; returns NULL. */
COR_API struct cor_delta_fifo *cor_delta_fifo_free(struct cor_delta_fifo *f);

/* For a reflector and for coracle/store.h; borrowed. Its calls return 0, -COR_ENOMEM, -COR_EINVAL
 * (an object without a name), -COR_EBUSY (the maximum), or what the transform or the key function
 * returned. */
COR_API struct cor_reflector_store *cor_delta_fifo_store(struct cor_delta_fifo *f);

/* Returned by a consumer to put the changes back at the end, unless the key has newer ones that
 * wait. */
#define COR_DELTA_REQUEUE 1

/* Puts changes that were popped back at the end, unless the key has newer ones that wait. 0,
 * -COR_ENOMEM, -COR_EBUSY (the maximum). */
COR_API int cor_delta_fifo_add_if_not_present(struct cor_delta_fifo *f, struct cor_str key,
                                              const struct cor_delta *deltas, size_t n);

/* Consumes changes of one key, oldest first (a single one, when in order). Returns 0,
 * COR_DELTA_REQUEUE, or a negative code: it refused the changes, and they are dropped; but after
 * -COR_ENOMEM they stay where they were, and the next pop passes them again, before any other.
 * `in_initial_list`: the queue was not synced before this pop. Called with the queue's lock held:
 * it must not call the queue. */
typedef int (*cor_delta_fn)(void *arg, struct cor_str key, const struct cor_delta *deltas, size_t n,
                            bool in_initial_list);

/* Waits for a change and passes it to `fn`. Returns what fn returned, -COR_ENOMEM (nothing was
 * passed), or -COR_ECANCELED: the queue is closed and empty. */
COR_API int cor_delta_fifo_pop(struct cor_delta_fifo *f, cor_delta_fn fn, void *arg);

/* The same without waiting. -COR_EBUSY: nothing waits. */
COR_API int cor_delta_fifo_try_pop(struct cor_delta_fifo *f, cor_delta_fn fn, void *arg);

/* Receives the changes of a key that wait, oldest first; there is at least one. They still wait.
 * Called with the queue's lock held: it must not call the queue. */
typedef int (*cor_deltas_fn)(void *arg, struct cor_str key, const struct cor_delta *deltas,
                             size_t n);

/* Calls back with the changes of this key. -COR_ENOTFOUND (none waits), -COR_ENOMEM, or what `fn`
 * returned. */
COR_API int cor_delta_fifo_read(struct cor_delta_fifo *f, struct cor_str key, cor_deltas_fn fn,
                                void *arg);

/* Calls back for each key that has changes, in no stated order: client-go's List, which has the
 * newest change of each, and ListKeys. A return other than 0 ends the iteration, which returns it;
 * or -COR_ENOMEM. */
COR_API int cor_delta_fifo_each(struct cor_delta_fifo *f, cor_deltas_fn fn, void *arg);

/* True once the first list, or a change that came before it, was consumed. It stays true. */
COR_API bool cor_delta_fifo_has_synced(struct cor_delta_fifo *f);

/* Pop returns the changes that wait, and -COR_ECANCELED after the last. Changes are still accepted.
 */
COR_API void cor_delta_fifo_close(struct cor_delta_fifo *f);
COR_API bool cor_delta_fifo_is_closed(struct cor_delta_fifo *f);

COR_API size_t cor_delta_fifo_len(struct cor_delta_fifo *f); /* changes that wait */

#ifdef __cplusplus
}
#endif

#endif
