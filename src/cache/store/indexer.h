/* The indexer (coracle/indexer.h) for the caches: cleanup, and iteration without a callback.
 *
 * Iteration by namespace needs no index: keys begin with it, except for a program's key function.
 * Thread: any.  Owner: the maker. */
#ifndef COR_CACHE_INDEXER_H
#define COR_CACHE_INDEXER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/btree.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "coracle/indexer.h"
#include "meta/object/object.h"

COR_DEFINE_CLEANUP(struct cor_indexer, cor_indexer_free)

/* Appends the key of an object in this store. 0, -COR_ENOMEM, -COR_ETOOBIG, -COR_EINVAL (no name),
 * or what the program's key function returned. */
struct cor_buf;
int cor_indexer_key(const struct cor_indexer *ix, const struct cor_object *object,
                    struct cor_buf *out);

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

/* How many objects are left: exact for all objects and for a namespace, an upper bound for an
 * index. */
size_t cor_object_iter_left(const struct cor_object_iter *it);

/* All objects, or those of one namespace, in the order of keys. The second is only for a store
 * without a key function. 0 or -COR_ENOMEM. */
int cor_indexer_list(struct cor_indexer *ix, struct cor_object_iter *ret_it);
int cor_indexer_list_namespace(struct cor_indexer *ix, struct cor_str ns,
                               struct cor_object_iter *ret_it);

/* The objects with this value, in the order of keys; none when there is no such value.
 * -COR_ENOTFOUND: no such index; -COR_ENOMEM. */
int cor_indexer_by_index(struct cor_indexer *ix, struct cor_str index, struct cor_str value,
                         struct cor_object_iter *ret_it);

#endif
