/* Internals of the indexer. Each object is in the tree of all objects, by its key, and once in an
 * index's tree for each value that the index function gives for it, by "length of value, value,
 * key".
 *
 * Invariant, between writes: the entries of an index are those that its function gives for the
 * objects in `all`. While `stale`, entries may be missing or left over, and the next write first
 * rebuilds all indexes. */
#ifndef COR_CACHE_INDEXER_INT_H
#define COR_CACHE_INDEXER_INT_H

#include <stdatomic.h>

#include "base/btree.h"
#include "base/lock.h"
#include "base/ref.h"
#include "cache/store/indexer.h"
#include "cache/store/object_key.h"

/* An entry of an index's tree; immutable. The tree of all holds the objects themselves, which carry
 * their keys (cor_object_with_key()). */
struct cor_indexed {
    struct cor_ref ref;
    uint16_t len;    /* of `bytes` */
    uint16_t key_at; /* where the object's key begins */
    struct cor_object *object;
    char bytes[];
};

struct cor_index {
    char *name;
    cor_index_fn fn;
    void *arg;
    struct cor_btree *tree;
};

struct cor_indexer {
    struct cor_lock lock; /* writers; a leaf, except for index functions */
    struct cor_btree *all;
    struct cor_index indexes[COR_INDEXES_MAX];
    _Atomic size_t nindexes; /* grows only: readers see whole indexes */
    struct cor_keyer keyer;  /* fixed once an object is stored */
    bool stale;
};

/* NULL: no such index. */
const struct cor_index *cor_indexer_find(struct cor_indexer *ix, struct cor_str name);

/* What all keys of a value in an index begin with: two bytes of length and the value. */
#define COR_INDEX_PREFIX_MAX (2 + COR_INDEX_VALUE_MAX)
size_t cor_index_prefix(struct cor_str value, char to[COR_INDEX_PREFIX_MAX]);

#endif
