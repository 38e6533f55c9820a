/* clang-format off */
/* What a reflector writes into: client-go's Store as its Reflector sees it. There are four kinds:
 *
 *   cor_indexer_store_new()     an indexer, which a program reads      (coracle/indexer.h)
 *   cor_fifo_store()            the newest state of each key, to pop   (coracle/fifo.h)
 *   cor_delta_fifo_store()      changes, to pop                        (coracle/delta_fifo.h)
 *   cor_reflector_store_new()   functions of the program's own
 *
 * A program can also write into a store itself, by the functions below, as a reflector does.
 * Thread: a reflector writes on its runtime's I/O thread, or inside the pump; only one writer may
 * call a store at a time.  Owner: the maker, and it outlives the reflector that writes into it. */
/* clang-format on */
#ifndef CORACLE_STORE_H
#define CORACLE_STORE_H

#include <stddef.h>

#include "coracle/api.h"
#include "coracle/indexer.h"
#include "coracle/object.h"
#include "coracle/status.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_reflector_store;

/* A store of the program. Objects and texts are borrowed for the call. A function returns 0, or a
 * negative code with `reterr` filled or left alone: an event that is refused is skipped (or, when
 * the code is one that cor_err_retryable() knows, comes again with a new list), a list that is
 * refused fails and is tried again. Each is called on the writer's thread. */
struct cor_reflector_store_fns {
    size_t size; /* of this struct: COR_REFLECTOR_STORE_FNS sets it (coracle/api.h) */
    /* An add may be of an object that is stored already, an update of one that is not. */
    int (*add)(void *arg, struct cor_object *object, struct cor_status *reterr);
    int (*update)(void *arg, struct cor_object *object, struct cor_status *reterr);
    /* `object` is the last state; NULL when only the key is known, else `key` may be empty. */
    int (*remove)(void *arg, struct cor_str key, struct cor_object *object,
                  struct cor_status *reterr);
    /* Replaces the whole content by the objects of a list at this resourceVersion. */
    int (*replace)(void *arg, struct cor_object *const *objects, size_t n, struct cor_str version,
                   struct cor_status *reterr);
    /* The resync period is over; may be NULL. */
    int (*resync)(void *arg, struct cor_status *reterr);
    /* Nothing has changed up to this resourceVersion; may be NULL. */
    void (*bookmark)(void *arg, struct cor_str version);
    void *arg;
};

#define COR_REFLECTOR_STORE_FNS .size = sizeof(struct cor_reflector_store_fns)

/* 0, -COR_ENOMEM, -COR_EINVAL (one of the first four functions is missing; coracle/api.h),
 * -COR_ENOTSUP (coracle/api.h). */
COR_API int cor_reflector_store_new(const struct cor_reflector_store_fns *fns,
                                    struct cor_reflector_store **ret_store);

/* A store over an indexer, which must stay valid. Its calls fail as the indexer's do. 0 or
 * -COR_ENOMEM. */
COR_API int cor_indexer_store_new(struct cor_indexer *indexer,
                                  struct cor_reflector_store **ret_store);

/* Only of a store that the two functions above made; the indexer and `arg` stay. NULL is fine;
 * returns NULL. */
COR_API struct cor_reflector_store *cor_reflector_store_free(struct cor_reflector_store *store);

/* Each passes one change to the store, in place of a reflector. 0, or what the store returned, with
 * `reterr` (may be NULL) filled. */
COR_API int cor_reflector_store_add(struct cor_reflector_store *store, struct cor_object *object,
                                    struct cor_status *reterr);
COR_API int cor_reflector_store_update(struct cor_reflector_store *store, struct cor_object *object,
                                       struct cor_status *reterr);
COR_API int cor_reflector_store_remove(struct cor_reflector_store *store, struct cor_object *object,
                                       struct cor_status *reterr);

/* Makes these objects the whole content; `version` is the resourceVersion of their list. All or
 * nothing. */
COR_API int cor_reflector_store_replace(struct cor_reflector_store *store,
                                        struct cor_object *const *objects, size_t n,
                                        struct cor_str version, struct cor_status *reterr);

COR_API int cor_reflector_store_resync(struct cor_reflector_store *store,
                                       struct cor_status *reterr);

#ifdef __cplusplus
}
#endif

#endif
