#include "base/ring.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define RING_FIRST_CAP 8

void cor_ring_init(struct cor_ring *r, size_t max)
{
    *r = (struct cor_ring){.max = max};
}

void cor_ring_deinit(struct cor_ring *r)
{
    cor_free(r->items);
    cor_ring_init(r, r->max);
}

static int grow(struct cor_ring *r)
{
    size_t cap = r->cap ? r->cap * 2 : RING_FIRST_CAP;
    size_t first = r->cap - r->head;
    void **items;

    if (cap > r->max)
        cap = r->max;
    items = cor_calloc(cap, sizeof(*items));
    if (!items)
        return -COR_ENOMEM;
    if (r->n > 0) {
        memcpy(items, r->items + r->head, first * sizeof(*items));
        memcpy(items + first, r->items, r->head * sizeof(*items));
    }
    cor_free(r->items);
    r->items = items;
    r->head = 0;
    r->cap = cap;
    return 0;
}

int cor_ring_push(struct cor_ring *r, void *item)
{
    size_t at;
    int ret;

    assert(item);
    if (r->n == r->max)
        return -COR_EBUSY;
    if (r->n == r->cap) {
        ret = grow(r);
        if (ret < 0)
            return ret;
    }
    at = r->head + r->n;
    r->items[at < r->cap ? at : at - r->cap] = item;
    r->n++;
    return 0;
}

void *cor_ring_pop(struct cor_ring *r)
{
    void *item = cor_ring_peek(r);

    if (!item)
        return NULL;
    r->head = r->head + 1 == r->cap ? 0 : r->head + 1;
    r->n--;
    return item;
}

void *cor_ring_peek(const struct cor_ring *r)
{
    return r->n > 0 ? r->items[r->head] : NULL;
}
