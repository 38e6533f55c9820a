/* A store of objects by key, and by what index functions name: client-go's Store (without indexes)
 * and Indexer. An informer has one; a program can make its own, and let a reflector fill it
 * (coracle/reflector.h) or write into it itself.
 *
 * One lock orders the writers. Readers take a snapshot: they never wait for a writer, nor a writer
 * for them. One read shows one instant; two reads may show two.
 * Owner: the maker.  Thread: any.  The store holds a reference to each object; objects are shared
 * with readers and are never changed. */
#ifndef CORACLE_INDEXER_H
#define CORACLE_INDEXER_H

#include <stddef.h>

#include "coracle/api.h"
#include "coracle/indexes.h"
#include "coracle/label_selector.h"
#include "coracle/object.h"
#include "coracle/object_key.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_indexer;

#define COR_INDEXER_OBJECTS_MAX (16u << 20)

/* Makes an empty store; `n` may be 0. 0, -COR_ENOMEM, or as cor_indexer_add_indexes(). */
COR_API int cor_indexer_new(const struct cor_index_def *defs, size_t n,
                            struct cor_indexer **ret_indexer);

/* No call may be under way on another thread. NULL is fine; returns NULL. */
COR_API struct cor_indexer *cor_indexer_free(struct cor_indexer *ix);

/* Names objects by `fn` instead of "namespace/name". Only before the first object is stored;
 * `arg` must stay valid until the store is freed. */
COR_API void cor_indexer_set_key_fn(struct cor_indexer *ix, cor_key_fn fn, void *arg);

/* Adds indexes at any time; the objects that are stored are indexed at once. All or nothing:
 * -COR_EEXIST (a name is taken), -COR_ETOOBIG (too many), -COR_ENOMEM, or what an index function
 * returned. */
COR_API int cor_indexer_add_indexes(struct cor_indexer *ix, const struct cor_index_def *defs,
                                    size_t n);

/* Stores the object, in place of one with the same key. `ret_old` (NULL: not wanted) gets the
 * replaced object, which the caller unrefs, or NULL. 0, -COR_ENOMEM, -COR_EINVAL (the object has no
 * name), -COR_ETOOBIG, or what the key or an index function returned. After a failure
 * cor_indexer_get() returns the old object; an index may show either until the next write, which
 * repairs it first. */
COR_API int cor_indexer_put(struct cor_indexer *ix, struct cor_object *object,
                            struct cor_object **ret_old);

/* Removes the object with this key; `ret_old` as above. Also 0 when there is none. Errors as
 * above. */
COR_API int cor_indexer_remove(struct cor_indexer *ix, struct cor_str key,
                               struct cor_object **ret_old);

/* Makes these objects the whole content, in one step for any reader; of objects with the same key
 * the last counts. All or nothing; errors as above. */
COR_API int cor_indexer_replace(struct cor_indexer *ix, struct cor_object *const *objects,
                                size_t n);

COR_API size_t cor_indexer_len(struct cor_indexer *ix);

/* The object with one reference. 0, -COR_ENOTFOUND, -COR_ENOMEM. */
COR_API int cor_indexer_get(struct cor_indexer *ix, struct cor_str key,
                            struct cor_object **ret_object);

/* Receives each object, borrowed for the call. A return other than 0 ends the iteration, which
 * returns it. It may call the store. */
typedef int (*cor_each_fn)(void *arg, struct cor_object *object);

/* Calls back for each object of a namespace (empty: all) that a selector (NULL: everything)
 * matches, in the order of keys. 0, -COR_ENOMEM, or what `fn` returned. */
COR_API int cor_indexer_each(struct cor_indexer *ix, struct cor_str ns,
                             const struct cor_label_selector *selector, cor_each_fn fn, void *arg);

/* Calls back for each key, in the order of keys. A return other than 0 ends the iteration, which
 * returns it; or -COR_ENOMEM. It may call the store. */
COR_API int cor_indexer_each_key(struct cor_indexer *ix, int (*fn)(void *arg, struct cor_str key),
                                 void *arg);

/* Calls back for each object with this value in an index, in the order of keys. Also
 * -COR_ENOTFOUND: no such index. */
COR_API int cor_indexer_each_by_index(struct cor_indexer *ix, struct cor_str index,
                                      struct cor_str value, cor_each_fn fn, void *arg);

/* The one object that has this value in an index, with a reference. 0, -COR_ENOTFOUND (no object
 * has it), -COR_ECONFLICT (several have it), -COR_EINVAL (no such index), -COR_ENOMEM. */
COR_API int cor_indexer_get_by_index(struct cor_indexer *ix, struct cor_str index,
                                     struct cor_str value, struct cor_object **ret_object);

/* Calls back once for each object that has a value of the index in common with `object`, which need
 * not be stored. The index function runs on this thread, without a lock; its error is returned, or
 * -COR_ENOTFOUND (no such index), -COR_ENOMEM, or what `fn` returned. */
COR_API int cor_indexer_each_sharing(struct cor_indexer *ix, struct cor_str index,
                                     const struct cor_object *object, cor_each_fn fn, void *arg);

/* Calls back once for each value that some object has in an index, in no stated order; for none
 * when there is no such index. 0, -COR_ENOMEM, or what `fn` returned. */
COR_API int cor_indexer_each_value(struct cor_indexer *ix, struct cor_str index,
                                   int (*fn)(void *arg, struct cor_str value), void *arg);

#ifdef __cplusplus
}
#endif

#endif
