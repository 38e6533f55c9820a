/* Things that fall due, earliest first, equal ones in the order they were put: a binary heap of
 * links that its users embed. A link knows its place, so moving and removing cost O(log n).
 * Owner: whoever embeds it; what is linked is never freed here.  Thread: one at a time. */
#ifndef COR_BASE_DUE_HEAP_H
#define COR_BASE_DUE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cor_due {
    uint64_t at;
    uint64_t seq; /* grows with each put of the heap */
    size_t slot;  /* SIZE_MAX when in no heap */
};

struct cor_due_heap {
    struct cor_due **slots; /* slots[0] is the earliest */
    size_t n;
    size_t cap;
    uint64_t next_seq;
};

/* A zeroed heap is empty. Frees the table, not the links. */
void cor_due_heap_deinit(struct cor_due_heap *h);

static inline void cor_due_init(struct cor_due *due)
{
    *due = (struct cor_due){.slot = SIZE_MAX};
}

static inline bool cor_due_is_set(const struct cor_due *due)
{
    return due->slot != SIZE_MAX;
}

/* Links it, or moves it, also when the time is the same: it then comes after its equals.
 * 0, or -COR_ENOMEM (unchanged); moving cannot fail. */
int cor_due_heap_put(struct cor_due_heap *h, struct cor_due *due, uint64_t at);

/* Harmless on a link that is in no heap. */
void cor_due_heap_remove(struct cor_due_heap *h, struct cor_due *due);

/* The earliest, left in place; NULL when empty. */
static inline struct cor_due *cor_due_heap_peek(const struct cor_due_heap *h)
{
    return h->n > 0 ? h->slots[0] : NULL;
}

#endif
