/* One walk notes each container when it is entered, so that the notes are in the order of their
 * starts, and fills in the end when it is left. A note whose container turns out to be small is
 * taken back; it is the last one then, because what it contains is smaller still. Failures: only
 * memory. */
#include "codec/json_extents.h"

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"

static int note(struct cor_json_extents *x, size_t start)
{
    int r = COR_ARRAY_RESERVE(&x->v, x->n, &x->cap, COR_ARRAY_NO_MAX);

    if (r < 0)
        return r;
    x->v[x->n++] = (struct cor_json_extent){.start = (uint32_t)start};
    return 0;
}

/* Walks the container at the current value of `it`, and moves behind it. */
static int walk(struct cor_json_extents *x, struct cor_json_iter *it)
{
    struct cor_str open = cor_json_iter_open_value(it), key;
    struct cor_json_iter inner = cor_json_iter(open);
    bool is_object = cor_json_type(open) == COR_JSON_OBJECT;
    size_t mine = x->n;
    int r = note(x, (size_t)(open.p - x->base));

    while (r == 0 &&
           (is_object ? cor_json_iter_member(&inner, &key) : cor_json_iter_elem(&inner))) {
        enum cor_json_type type = cor_json_type(cor_json_iter_open_value(&inner));

        if (type == COR_JSON_OBJECT || type == COR_JSON_ARRAY)
            r = walk(x, &inner);
    }
    if (r < 0)
        return r;
    cor_json_iter_leave(it, &inner);
    if (it->p - open.p < COR_JSON_EXTENT_MIN)
        x->n = mine;
    else
        x->v[mine].end = (uint32_t)(it->p - x->base);
    return 0;
}

int cor_json_extents_init(struct cor_json_extents *x, struct cor_str json)
{
    struct cor_json_iter it = {json.p, json.p + json.n, json.p};
    enum cor_json_type type = cor_json_type(json);
    int r = 0;

    *x = (struct cor_json_extents){.base = json.p};
    if (type == COR_JSON_OBJECT || type == COR_JSON_ARRAY)
        r = walk(x, &it);
    if (r < 0)
        cor_json_extents_deinit(x);
    return r;
}

void cor_json_extents_deinit(struct cor_json_extents *x)
{
    cor_free(x->v);
    *x = (struct cor_json_extents){.n = 0};
}

static const struct cor_json_extent *find(const struct cor_json_extents *x, size_t start)
{
    size_t low = 0, high = x->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (x->v[mid].start < start)
            low = mid + 1;
        else
            high = mid;
    }
    return low < x->n && x->v[low].start == start ? &x->v[low] : NULL;
}

struct cor_str cor_json_extents_value(const struct cor_json_extents *x, struct cor_json_iter *it)
{
    struct cor_str open = cor_json_iter_open_value(it);
    enum cor_json_type type = cor_json_type(open);
    const struct cor_json_extent *extent = type == COR_JSON_OBJECT || type == COR_JSON_ARRAY
                                               ? find(x, (size_t)(open.p - x->base))
                                               : NULL;

    if (!extent)
        return cor_json_iter_value(it);
    it->p = x->base + extent->end;
    it->value = NULL;
    return cor_str(open.p, extent->end - extent->start);
}
