/* A hash map from byte strings to pointers. It borrows its keys: the bytes belong to the value (or
 * to whoever owns the value) and stay unchanged while the entry is in the map. The hash is keyed at
 * random per process, so that chosen keys cannot make it slow; the order of iteration does not
 * depend on it: the same calls give the same order in every run. Owner: whoever embeds it; values
 * are never freed here.  Thread: one at a time. */
#ifndef COR_BASE_MAP_H
#define COR_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct cor_map_entry;

struct cor_map {
    struct cor_map_entry *entries; /* the first n are in use */
    uint32_t *slots;               /* index into entries plus 1; 0: free */
    size_t n;
    size_t cap;       /* entries allocated */
    size_t slot_mask; /* number of slots less 1 */
    size_t max;       /* n never exceeds it */
};

/* Cannot fail; nothing is allocated before the first entry. `max` is at most 2^31. */
void cor_map_init(struct cor_map *m, size_t max);

/* Frees the table, not the values; safe on a zeroed struct. */
void cor_map_deinit(struct cor_map *m);

/* Forgets all entries, keeps the memory. */
void cor_map_clear(struct cor_map *m);

/* Adds an entry, or replaces key and value of an equal one. `value` is not NULL. `ret_old` may be
 * NULL; it gets the replaced value, or NULL. 0, -COR_ENOMEM, -COR_ETOOBIG (the maximum would be
 * passed); the map is unchanged on failure, and replacing cannot fail. */
int cor_map_put(struct cor_map *m, struct cor_str key, void *value, void **ret_old);

/* The value, or NULL. */
void *cor_map_peek(const struct cor_map *m, struct cor_str key);

/* The value that was removed, or NULL. Memory is kept. */
void *cor_map_remove(struct cor_map *m, struct cor_str key);

static inline size_t cor_map_len(const struct cor_map *m)
{
    return m->n;
}

/* Iteration, newest first unless something was removed. The current entry may be removed, no other,
 * and nothing may be added. */
struct cor_map_iter {
    struct cor_str key;
    void *value;
    size_t left; /* entries still to come */
};

static inline struct cor_map_iter cor_map_iter(const struct cor_map *m)
{
    return (struct cor_map_iter){.left = m->n};
}

/* False at the end. */
bool cor_map_next(const struct cor_map *m, struct cor_map_iter *it);

/* COR_MAP_FOREACH(it, map) { use it.key and it.value } */
#define COR_MAP_FOREACH(it, m)                                                                     \
    for (struct cor_map_iter it = cor_map_iter(m); cor_map_next((m), &it);)

#endif
