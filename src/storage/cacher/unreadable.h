/* The values of a resource that cannot be decoded, by key. A watch cache has no object for them, so
 * what would contain them is read from the store, which fails with their key: leaving them out
 * would be a deletion to every informer. The stored values are kept, so that they can be tried
 * again when the keys of encryption change. Thread: its owner's.  Owner: the watch cache (under its
 * lock), or the list that is gathered. */
#ifndef COR_STORAGE_CACHER_UNREADABLE_H
#define COR_STORAGE_CACHER_UNREADABLE_H

#include "storage/engine/kv.h"

/* In key order. No maximum of its own: it holds no more than the cache would hold of the values. */
struct cor_unreadable {
    struct cor_kv **kvs;
    size_t n, cap;
};

/* Releases all values. Safe on a zeroed struct, which is what it leaves. */
void cor_unreadable_deinit(struct cor_unreadable *u);

/* Makes room for one more value: the next cor_unreadable_put() cannot fail. 0 or -COR_ENOMEM. */
int cor_unreadable_reserve(struct cor_unreadable *u);
/* Takes a reference; replaces the value of the same key. Room was reserved. */
void cor_unreadable_put(struct cor_unreadable *u, struct cor_kv *kv);
/* False: the key was not there. */
bool cor_unreadable_remove(struct cor_unreadable *u, struct cor_str key);

/* Is this very value there: the same key at the same revision? */
bool cor_unreadable_has(const struct cor_unreadable *u, const struct cor_kv *kv);

/* Is `key` there, or, with `recursive`, a key that begins with it? */
bool cor_unreadable_covers(const struct cor_unreadable *u, struct cor_str key, bool recursive);

#endif
