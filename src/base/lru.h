/* A cache of named entries that keeps those used most recently: links that their users embed, and a
 * map. When it is full, the least recently used entry is dropped.
 * Owner: whoever embeds it; what is linked is freed by `drop`.  Thread: one at a time. */
#ifndef COR_BASE_LRU_H
#define COR_BASE_LRU_H

#include "base/dlist.h"
#include "base/map.h"
#include "base/str.h"

struct cor_lru_link {
    struct cor_dlist link;
    struct cor_str key; /* belongs to what embeds this */
};

struct cor_lru {
    struct cor_map map;
    struct cor_dlist order; /* least recently used first */
    size_t max;
    void (*drop)(struct cor_lru_link *take);
};

/* Cannot fail; `max` is at least 1. */
void cor_lru_init(struct cor_lru *l, size_t max, void (*drop)(struct cor_lru_link *take));

/* Drops all. */
void cor_lru_deinit(struct cor_lru *l);

/* The entry of this name, which becomes the most recently used; NULL: there is none. */
struct cor_lru_link *cor_lru_use(struct cor_lru *l, struct cor_str key);

/* Adds an entry whose key is set and not present. 0, or -COR_ENOMEM (it was not taken). */
int cor_lru_add(struct cor_lru *l, struct cor_lru_link *link);

/* Drops one that is there. */
void cor_lru_drop(struct cor_lru *l, struct cor_lru_link *link);

static inline size_t cor_lru_len(const struct cor_lru *l)
{
    return cor_map_len(&l->map);
}

#endif
