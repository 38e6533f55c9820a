/* A list on its way through the queue, while it comes in and while it waits to be consumed: one
 * array, and no block of memory for each object. A block for each would be a large part of the heap
 * while a list waits, and later allocations would keep the C library from returning it.  Owner: the
 * queue that embeds it. Thread: one at a time. */
#ifndef COR_CACHE_DELTA_LIST_H
#define COR_CACHE_DELTA_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "meta/object/object.h"

struct cor_delta_listed {
    struct cor_object *object; /* transformed */
    char *key;                 /* NULL: the one that the object carries */
    size_t key_len;
};

struct cor_delta_list {
    struct cor_delta_listed *v;
    size_t at, n, cap; /* [at, n) wait */
    uint64_t seq;      /* of the first that waits, when it is queued; they are numbered in a row */
};

/* All that waits is dropped, and the memory. Safe on a zeroed struct. */
void cor_delta_list_clear(struct cor_delta_list *l);

static inline size_t cor_delta_list_len(const struct cor_delta_list *l)
{
    return l->n - l->at;
}

/* Reserves room for another object, so that cor_delta_list_add() cannot fail for want of it. 0 or
 * -COR_ENOMEM. */
int cor_delta_list_reserve(struct cor_delta_list *l);

/* Takes the object when it succeeds; there is room. `key` is the name before the transform, and
 * copied if the object does not carry it. 0 or -COR_ENOMEM. */
int cor_delta_list_add(struct cor_delta_list *l, struct cor_str key, struct cor_object *take);

static inline struct cor_str cor_delta_listed_key(const struct cor_delta_listed *e)
{
    return e->key ? cor_str(e->key, e->key_len) : cor_object_own_key(e->object);
}

/* The first that waits; there is one. */
static inline const struct cor_delta_listed *cor_delta_list_first(const struct cor_delta_list *l)
{
    return &l->v[l->at];
}

/* The memory goes with the last one. */
void cor_delta_list_drop_first(struct cor_delta_list *l);

#endif
