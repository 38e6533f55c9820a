#include "storage/engine/feed_index.h"

#include <assert.h>
#include <stdint.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"

void cor_feed_range_copy(struct cor_feed_range *range, char *bytes, struct cor_str key,
                         struct cor_str end)
{
    memcpy(bytes, key.p ? key.p : "", key.n);
    bytes[key.n] = '\0';
    range->key = cor_str(bytes, key.n);
    if (end.n == 0) {
        range->end = cor_str(bytes, key.n + 1);
        return;
    }
    memcpy(bytes + key.n + 1, end.p, end.n);
    range->end = cor_str(bytes + key.n + 1, end.n);
}

/* The number of ranges that start at `key` or before it. */
static size_t starts_upto(const struct cor_feed_index *ix, struct cor_str key)
{
    size_t low = 0, high = ix->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (cor_str_cmp(ix->slots[mid].range->key, key) <= 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

int cor_feed_index_add(struct cor_feed_index *ix, struct cor_feed_range *range)
{
    size_t at;

    if (COR_ARRAY_RESERVE(&ix->slots, ix->n, &ix->cap, COR_ARRAY_NO_MAX) < 0)
        return -COR_ENOMEM;
    at = starts_upto(ix, range->key);
    memmove(ix->slots + at + 1, ix->slots + at, (ix->n - at) * sizeof(*ix->slots));
    ix->slots[at].range = range;
    ix->n++;
    ix->stale = true;
    return 0;
}

void cor_feed_index_remove(struct cor_feed_index *ix, struct cor_feed_range *range)
{
    size_t at = starts_upto(ix, range->key);

    do {
        assert(at > 0);
        at--;
    } while (ix->slots[at].range != range);
    ix->n--;
    memmove(ix->slots + at, ix->slots + at + 1, (ix->n - at) * sizeof(*ix->slots));
    ix->stale = true;
}

void cor_feed_index_deinit(struct cor_feed_index *ix)
{
    assert(ix->n == 0);
    ix->slots = cor_free(ix->slots);
    ix->cap = 0;
}

/* The parent of a slot is the nearest slot before it whose range holds the slot's start. It is
 * found among slot i-1 and the parents of that one: any other slot before i-1 ends at or before the
 * start of i-1, and so before the start of i. */
static void find_parents(struct cor_feed_index *ix)
{
    for (size_t i = 0; i < ix->n; i++) {
        size_t p = i ? i - 1 : SIZE_MAX;

        while (p != SIZE_MAX && cor_str_cmp(ix->slots[p].range->end, ix->slots[i].range->key) <= 0)
            p = ix->slots[p].parent;
        ix->slots[i].parent = p;
    }
    ix->stale = false;
}

struct cor_feed_range *cor_feed_index_next(struct cor_feed_index *ix, struct cor_str key,
                                           size_t *at)
{
    size_t i;

    if (*at == SIZE_MAX) {
        if (ix->stale)
            find_parents(ix);
        i = starts_upto(ix, key);
        i = i ? i - 1 : SIZE_MAX;
    } else {
        i = ix->slots[*at].parent;
    }
    while (i != SIZE_MAX && cor_str_cmp(key, ix->slots[i].range->end) >= 0)
        i = ix->slots[i].parent;
    if (i == SIZE_MAX)
        return NULL;
    *at = i;
    return ix->slots[i].range;
}
