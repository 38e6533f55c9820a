#include "base/due_heap.h"
#include "base/array.h"

#include "base/err.h"
#include "base/mem.h"

#define FIRST_CAP 16

static bool is_before(const struct cor_due *a, const struct cor_due *b)
{
    return a->at < b->at || (a->at == b->at && a->seq < b->seq);
}

static void place(struct cor_due_heap *h, size_t slot, struct cor_due *due)
{
    h->slots[slot] = due;
    due->slot = slot;
}

static void sift_up(struct cor_due_heap *h, struct cor_due *due)
{
    size_t slot = due->slot;

    while (slot > 0 && is_before(due, h->slots[(slot - 1) / 2])) {
        place(h, slot, h->slots[(slot - 1) / 2]);
        slot = (slot - 1) / 2;
    }
    place(h, slot, due);
}

static void sift_down(struct cor_due_heap *h, struct cor_due *due)
{
    size_t slot = due->slot, child;

    while ((child = 2 * slot + 1) < h->n) {
        if (child + 1 < h->n && is_before(h->slots[child + 1], h->slots[child]))
            child++;
        if (!is_before(h->slots[child], due))
            break;
        place(h, slot, h->slots[child]);
        slot = child;
    }
    place(h, slot, due);
}

static int append(struct cor_due_heap *h, struct cor_due *due)
{
    int r = COR_ARRAY_RESERVE(&h->slots, h->n, &h->cap, COR_ARRAY_NO_MAX);

    if (r < 0)
        return r;
    place(h, h->n++, due);
    return 0;
}

void cor_due_heap_deinit(struct cor_due_heap *h)
{
    h->slots = cor_free(h->slots);
    h->n = h->cap = 0;
}

int cor_due_heap_put(struct cor_due_heap *h, struct cor_due *due, uint64_t at)
{
    if (!cor_due_is_set(due)) {
        int r = append(h, due);

        if (r < 0)
            return r;
    }
    due->at = at;
    due->seq = h->next_seq++;
    sift_up(h, due);
    sift_down(h, due);
    return 0;
}

void cor_due_heap_remove(struct cor_due_heap *h, struct cor_due *due)
{
    struct cor_due *last;

    if (!cor_due_is_set(due))
        return;
    last = h->slots[--h->n];
    if (last != due) {
        place(h, due->slot, last);
        sift_up(h, last);
        sift_down(h, last);
    }
    due->slot = SIZE_MAX;
}
