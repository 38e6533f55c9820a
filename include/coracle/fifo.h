/* The newest state of each key that waits to be processed, in the order in which the keys began to
 * wait: client-go's FIFO. A state that is replaced before it is popped is not seen, and neither is
 * a deletion: an object that is deleted while it waits is passed over. A consumer that needs
 * deletions takes coracle/delta_fifo.h.
 *
 * A reflector fills it through cor_fifo_store(); a program writes into it by the functions of
 * coracle/store.h.
 * Owner: the maker.  Thread: any. */
#ifndef CORACLE_FIFO_H
#define CORACLE_FIFO_H

#include <stdbool.h>
#include <stddef.h>

#include "coracle/api.h"
#include "coracle/object.h"
#include "coracle/object_key.h"
#include "coracle/store.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
#endif

#define COR_FIFO_MAX (16u << 20) /* keys, unless the options set another maximum */

struct cor_fifo;

struct cor_fifo_opts {
    size_t size;     /* of this struct: COR_FIFO_OPTS sets it (coracle/api.h) */
    size_t keys_max; /* 0: COR_FIFO_MAX */
    /* An object can be popped, or the queue was closed. Called on the thread of the writer, without
     * a lock held; may be NULL. */
    void (*on_ready)(void *arg);
    void *arg;
    cor_key_fn key; /* NULL: "namespace/name" */
    void *key_arg;
};

#define COR_FIFO_OPTS .size = sizeof(struct cor_fifo_opts)

/* `opts` may be NULL. 0, -COR_ENOMEM, -COR_EINVAL, -COR_ENOTSUP (coracle/api.h). */
COR_API int cor_fifo_new(const struct cor_fifo_opts *opts, struct cor_fifo **ret_fifo);

/* Objects that wait are dropped. NULL is fine; returns NULL. */
COR_API struct cor_fifo *cor_fifo_free(struct cor_fifo *f);

/* For a reflector and for coracle/store.h; borrowed. Its calls return 0, -COR_ENOMEM, -COR_EINVAL
 * (an object without a name), -COR_EBUSY (the maximum), or what the key function returned. */
COR_API struct cor_reflector_store *cor_fifo_store(struct cor_fifo *f);

/* Puts the object at the end, unless its key waits already: that state is newer. Errors as above.
 */
COR_API int cor_fifo_add_if_not_present(struct cor_fifo *f, struct cor_object *object);

/* Returned by a consumer to put the object back, unless its key waits again. */
#define COR_FIFO_REQUEUE 1

/* Consumes an object. `in_initial_list`: the queue was not synced before this pop. Called with the
 * queue's lock held: it must not call the queue. */
typedef int (*cor_fifo_fn)(void *arg, struct cor_str key, struct cor_object *object,
                           bool in_initial_list);

/* Waits for an object and passes it to `fn`. Returns what fn returned, or -COR_ECANCELED: the queue
 * is closed and empty. */
COR_API int cor_fifo_pop(struct cor_fifo *f, cor_fifo_fn fn, void *arg);

/* The same without waiting. -COR_EBUSY: nothing waits. */
COR_API int cor_fifo_try_pop(struct cor_fifo *f, cor_fifo_fn fn, void *arg);

/* The state that waits under this key, with a reference; it still waits. 0, -COR_ENOTFOUND. */
COR_API int cor_fifo_get(struct cor_fifo *f, struct cor_str key, struct cor_object **ret_object);

/* Calls back for each object that waits, in the order of pop, with its key: client-go's List and
 * ListKeys. A return other than 0 ends the iteration, which returns it. Called with the queue's
 * lock held: `fn` must not call the queue. */
COR_API int cor_fifo_each(struct cor_fifo *f,
                          int (*fn)(void *arg, struct cor_str key, struct cor_object *object),
                          void *arg);

COR_API size_t cor_fifo_len(struct cor_fifo *f); /* objects that wait */

/* True once the first list, or a change that came before it, was consumed. It stays true. */
COR_API bool cor_fifo_has_synced(struct cor_fifo *f);

/* Pop returns the objects that wait, and -COR_ECANCELED after the last. Objects are still accepted.
 */
COR_API void cor_fifo_close(struct cor_fifo *f);
COR_API bool cor_fifo_is_closed(struct cor_fifo *f);

#ifdef __cplusplus
}
#endif

#endif
