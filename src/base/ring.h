/* A first-in, first-out queue of pointers with a maximum. It grows as needed and keeps its memory.
 * Owner: whoever embeds it; what it points at is never freed here.  Thread: one at a time. */
#ifndef COR_BASE_RING_H
#define COR_BASE_RING_H

#include <stddef.h>

struct cor_ring {
    void **items;
    size_t head; /* index of the oldest */
    size_t n;
    size_t cap;
    size_t max; /* n never exceeds it */
};

/* Cannot fail; nothing is allocated before the first item. */
void cor_ring_init(struct cor_ring *r, size_t max);

/* Safe on a zeroed struct. */
void cor_ring_deinit(struct cor_ring *r);

/* `item` is not NULL. 0, -COR_EBUSY (full), -COR_ENOMEM; the ring is unchanged on failure. */
int cor_ring_push(struct cor_ring *r, void *item);

/* The oldest, removed; NULL when empty. */
void *cor_ring_pop(struct cor_ring *r);

/* The oldest, left in place; NULL when empty. */
void *cor_ring_peek(const struct cor_ring *r);

static inline size_t cor_ring_len(const struct cor_ring *r)
{
    return r->n;
}

#endif
