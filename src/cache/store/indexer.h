/* The objects of an informer by key, and by what index functions say of them. One lock orders the
 * writers; readers take a snapshot and never wait for a writer, nor a writer for them. A read shows
 * one instant; two reads may show two. Behaviour: client-go's ThreadSafeStore and Indexer.
 *
 * Iteration by namespace needs no index: keys begin with it.
 * Thread: any.  Owner: the maker; objects are held by reference and must not be changed. */
#ifndef COR_CACHE_INDEXER_H
#define COR_CACHE_INDEXER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/btree.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "coracle/indexes.h"
#include "meta/object.h"

struct cor_indexer;

#define COR_INDEXER_OBJECTS_MAX (16u << 20)

/* 0, -COR_ENOMEM, or as cor_indexer_add_indexes(). */
int cor_indexer_new(const struct cor_index_def *defs, size_t n, struct cor_indexer **ret_indexer);

/* No iterator may be left. Returns NULL. */
struct cor_indexer *cor_indexer_free(struct cor_indexer *ix);
COR_DEFINE_CLEANUP(struct cor_indexer, cor_indexer_free)

/* At any time; what is here is indexed at once. All or nothing: -COR_EEXIST (a name is taken),
 * -COR_ETOOBIG (too many), -COR_ENOMEM, or what an index function returned. */
int cor_indexer_add_indexes(struct cor_indexer *ix, const struct cor_index_def *defs, size_t n);

/* Adds the object, or puts it in the place of the one with its key. `ret_old` (NULL: not wanted)
 * gets the replaced one, for the caller to unref, or NULL. 0, -COR_ENOMEM, -COR_EINVAL (no name),
 * -COR_ETOOBIG, or what an index function returned. After a failure get shows the old object; its
 * entries in an index may be of either until the next write, which begins by repairing them. */
int cor_indexer_put(struct cor_indexer *ix, struct cor_object *object, struct cor_object **ret_old);

/* `ret_old` as above. 0 also when there is none. Errors as above. */
int cor_indexer_remove(struct cor_indexer *ix, struct cor_str key, struct cor_object **ret_old);

/* Makes these the whole content, in one step for any reader; of equal keys the last counts. All or
 * nothing; errors as above. */
int cor_indexer_replace(struct cor_indexer *ix, struct cor_object *const *objects, size_t n);

size_t cor_indexer_len(struct cor_indexer *ix);

/* The object with one reference. 0, -COR_ENOTFOUND, -COR_ENOMEM. */
int cor_indexer_get(struct cor_indexer *ix, struct cor_str key, struct cor_object **ret_object);

/* Objects of one instant. Made by the functions below, released by _deinit; what it shows is
 * borrowed until then. */
struct cor_object_iter {
    struct cor_btree_snap *snap;
    struct cor_btree_iter it;
    bool of_index; /* the tree is an index's, see cache/store/indexer_int.h */
    uint64_t mask; /* objects whose fingerprint lacks one of these bits are passed over */
};

void cor_object_iter_deinit(struct cor_object_iter *it); /* safe on a zeroed struct */

/* False at the end. `ret_key` may be NULL. */
bool cor_object_iter_next(struct cor_object_iter *it, struct cor_object **ret_object,
                          struct cor_str *ret_key);

/* How many are left. Of all objects, or those of a namespace; an index's may be fewer. */
size_t cor_object_iter_left(const struct cor_object_iter *it);

/* All, or those of one namespace, by key. 0 or -COR_ENOMEM. */
int cor_indexer_list(struct cor_indexer *ix, struct cor_object_iter *ret_it);
int cor_indexer_list_namespace(struct cor_indexer *ix, struct cor_str ns,
                               struct cor_object_iter *ret_it);

/* Those with this value, by key; none when there is no such value. -COR_ENOTFOUND: no such index;
 * -COR_ENOMEM. */
int cor_indexer_by_index(struct cor_indexer *ix, struct cor_str index, struct cor_str value,
                         struct cor_object_iter *ret_it);

/* Calls back for each object that has a value of the index in common with `object`, which need not
 * be here, once for each and for one instant, until a call returns other than 0, which is returned.
 * -COR_ENOTFOUND: no such index; -COR_ENOMEM, or what the index function returned: it runs on this
 * thread, without a lock. */
int cor_indexer_sharing(struct cor_indexer *ix, struct cor_str index,
                        const struct cor_object *object,
                        int (*fn)(void *arg, struct cor_object *object), void *arg);

/* Calls back for each value that some object has, in no stated order, until a call returns other
 * than 0, which is returned. 0 for an unknown index. */
int cor_indexer_values(struct cor_indexer *ix, struct cor_str index,
                       int (*fn)(void *arg, struct cor_str value), void *arg);

#endif
