/* Reading an indexer: every call takes a snapshot of one tree and walks it without a lock. A call
 * fails when there is no memory for the snapshot, or when an index function that it calls does.
 * Thread: any. */
#include "base/err.h"
#include "cache/store/indexer.h"
#include "cache/store/indexer_int.h"

#include <string.h>

#include "cache/store/index_values.h"
#include "cache/store/object_key.h"
#include "meta/select/label_selector.h"

static int begin_all(struct cor_indexer *ix, struct cor_object_iter *it)
{
    *it = (struct cor_object_iter){0};
    return cor_btree_snapshot(ix->all, &it->snap);
}

static int begin_index(const struct cor_index *index, struct cor_object_iter *it)
{
    *it = (struct cor_object_iter){.of_index = true};
    return cor_btree_snapshot(index->tree, &it->snap);
}

void cor_object_iter_deinit(struct cor_object_iter *it)
{
    if (it->snap)
        it->snap = cor_btree_snap_unref(it->snap);
}

bool cor_object_iter_next(struct cor_object_iter *it, struct cor_object **ret_object,
                          struct cor_str *ret_key)
{
    if (!cor_btree_iter_next_covering(&it->it, it->mask))
        return false;
    *ret_object =
        it->of_index ? ((const struct cor_indexed *)it->it.entry.item)->object : it->it.entry.item;
    if (ret_key)
        *ret_key = cor_object_own_key(*ret_object);
    return true;
}

size_t cor_object_iter_left(const struct cor_object_iter *it)
{
    return cor_btree_iter_remaining(&it->it);
}

size_t cor_indexer_len(struct cor_indexer *ix)
{
    struct cor_object_iter it;
    size_t n;

    if (cor_indexer_list(ix, &it) < 0)
        return 0;
    n = cor_object_iter_left(&it);
    cor_object_iter_deinit(&it);
    return n;
}

int cor_indexer_get(struct cor_indexer *ix, struct cor_str key, struct cor_object **ret_object)
{
    struct cor_btree_entry entry;
    struct cor_btree_snap *snap;
    int r = cor_btree_snapshot(ix->all, &snap);

    if (r < 0)
        return r;
    if (cor_btree_peek(cor_btree_snap_view(snap), key, &entry))
        *ret_object = cor_object_ref(entry.item);
    else
        r = -COR_ENOTFOUND;
    cor_btree_snap_unref(snap);
    return r;
}

int cor_indexer_list(struct cor_indexer *ix, struct cor_object_iter *ret_it)
{
    int r = begin_all(ix, ret_it);

    if (r == 0)
        cor_btree_iter_range(&ret_it->it, cor_btree_snap_view(ret_it->snap), COR_STR(""),
                             (struct cor_str){0});
    return r;
}

static void show_none(struct cor_object_iter *it)
{
    cor_btree_iter_range(&it->it, cor_btree_snap_view(it->snap), COR_STR(""), COR_STR(""));
}

int cor_indexer_list_namespace(struct cor_indexer *ix, struct cor_str ns,
                               struct cor_object_iter *ret_it)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf prefix = {0};
    int r;

    cor_buf_init(&prefix, COR_OBJECT_KEY_MAX);
    if (ns.n >= COR_OBJECT_KEY_MAX) {
        r = begin_all(ix, ret_it);
        if (r == 0)
            show_none(ret_it);
        return r;
    }
    r = cor_buf_adds(&prefix, ns);
    if (r == 0)
        r = cor_buf_addc(&prefix, '/');
    if (r == 0)
        r = begin_all(ix, ret_it);
    if (r == 0)
        cor_btree_iter_prefix(&ret_it->it, cor_btree_snap_view(ret_it->snap), cor_buf_str(&prefix));
    return r;
}

int cor_indexer_by_index(struct cor_indexer *ix, struct cor_str index, struct cor_str value,
                         struct cor_object_iter *ret_it)
{
    const struct cor_index *found = cor_indexer_find(ix, index);
    char prefix[COR_INDEX_PREFIX_MAX];
    int r;

    if (!found)
        return -COR_ENOTFOUND;
    r = begin_index(found, ret_it);
    if (r == 0 && value.n > COR_INDEX_VALUE_MAX)
        show_none(ret_it);
    else if (r == 0)
        cor_btree_iter_prefix(&ret_it->it, cor_btree_snap_view(ret_it->snap),
                              cor_str(prefix, cor_index_prefix(value, prefix)));
    return r;
}

int cor_indexer_each_by_index(struct cor_indexer *ix, struct cor_str index, struct cor_str value,
                              cor_each_fn fn, void *arg)
{
    struct cor_object_iter it;
    struct cor_object *object;
    int r = cor_indexer_by_index(ix, index, value, &it);

    if (r < 0)
        return r;
    while (r == 0 && cor_object_iter_next(&it, &object, NULL))
        r = fn(arg, object);
    cor_object_iter_deinit(&it);
    return r;
}

int cor_indexer_get_by_index(struct cor_indexer *ix, struct cor_str index, struct cor_str value,
                             struct cor_object **ret_object)
{
    struct cor_object *first = NULL, *second = NULL;
    struct cor_object_iter it;
    int r = cor_indexer_by_index(ix, index, value, &it);

    if (r < 0)
        return r == -COR_ENOTFOUND ? -COR_EINVAL : r;
    if (!cor_object_iter_next(&it, &first, NULL))
        r = -COR_ENOTFOUND;
    else if (cor_object_iter_next(&it, &second, NULL))
        r = -COR_ECONFLICT;
    else
        *ret_object = cor_object_ref(first);
    cor_object_iter_deinit(&it);
    return r;
}

int cor_indexer_each(struct cor_indexer *ix, struct cor_str ns,
                     const struct cor_label_selector *selector, cor_each_fn fn, void *arg)
{
    COR_CLEANUP(cor_object_iter_deinit) struct cor_object_iter it = {0};
    bool by_prefix = ns.n > 0 && !ix->keyer.fn;
    struct cor_object *object;
    int r;

    if (selector && selector->nothing)
        return 0;
    r = by_prefix ? cor_indexer_list_namespace(ix, ns, &it) : cor_indexer_list(ix, &it);
    if (r < 0)
        return r;
    it.mask = selector ? selector->mask : 0;
    while (r == 0 && cor_object_iter_next(&it, &object, NULL)) {
        if (ns.n > 0 && !by_prefix && !cor_str_eq(cor_object_namespace(object), ns))
            continue;
        if (!selector || selector->n == 0 ||
            cor_label_selector_matches(selector, cor_object_labels(object)))
            r = fn(arg, object);
    }
    return r;
}

int cor_indexer_each_key(struct cor_indexer *ix, int (*fn)(void *arg, struct cor_str key),
                         void *arg)
{
    struct cor_object_iter it;
    struct cor_object *object;
    struct cor_str key;
    int r = cor_indexer_list(ix, &it);

    if (r < 0)
        return r;
    while (r == 0 && cor_object_iter_next(&it, &object, &key))
        r = fn(arg, key);
    cor_object_iter_deinit(&it);
    return r;
}

static bool has_value(struct cor_btree_view view, struct cor_str value, struct cor_str key)
{
    char at[COR_INDEX_PREFIX_MAX + COR_OBJECT_KEY_MAX];
    size_t n = cor_index_prefix(value, at);
    struct cor_btree_entry entry;

    memcpy(at + n, key.p, key.n);
    return cor_btree_peek(view, cor_str(at, n + key.n), &entry);
}

/* Those with the `i`-th value that have none of the values before it. */
static int each_new(struct cor_object_iter *it, const struct cor_index_values *values, size_t i,
                    int (*fn)(void *arg, struct cor_object *object), void *arg)
{
    struct cor_btree_view view = cor_btree_snap_view(it->snap);
    char prefix[COR_INDEX_PREFIX_MAX];
    struct cor_object *object;
    struct cor_str key;
    int r = 0;

    cor_btree_iter_prefix(
        &it->it, view, cor_str(prefix, cor_index_prefix(cor_index_values_at(values, i), prefix)));
    while (r == 0 && cor_object_iter_next(it, &object, &key)) {
        bool seen = false;

        for (size_t k = 0; k < i && !seen; k++)
            seen = has_value(view, cor_index_values_at(values, k), key);
        if (!seen)
            r = fn(arg, object);
    }
    return r;
}

int cor_indexer_each_sharing(struct cor_indexer *ix, struct cor_str index,
                             const struct cor_object *object, cor_each_fn fn, void *arg)
{
    COR_CLEANUP(cor_index_values_deinit) struct cor_index_values values;
    COR_CLEANUP(cor_object_iter_deinit) struct cor_object_iter it = {0};
    const struct cor_index *found = cor_indexer_find(ix, index);
    int r;

    cor_index_values_init(&values);
    if (!found)
        return -COR_ENOTFOUND;
    r = found->fn(found->arg, object, &values);
    if (r == 0)
        r = begin_index(found, &it);
    for (size_t i = 0; r == 0 && i < values.n; i++)
        r = each_new(&it, &values, i, fn, arg);
    return r;
}

int cor_indexer_each_value(struct cor_indexer *ix, struct cor_str index,
                           int (*fn)(void *arg, struct cor_str value), void *arg)
{
    const struct cor_index *found = cor_indexer_find(ix, index);
    struct cor_btree_view view;
    struct cor_object_iter it;
    int r = found ? begin_index(found, &it) : 0;

    if (!found || r < 0)
        return r;
    view = cor_btree_snap_view(it.snap);
    cor_btree_iter_range(&it.it, view, COR_STR(""), (struct cor_str){0});
    while (r == 0 && cor_btree_iter_next(&it.it)) {
        const struct cor_indexed *e = it.it.entry.item;
        struct cor_str prefix = cor_str(e->bytes, e->key_at);

        r = fn(arg, cor_str_from(prefix, 2));
        cor_btree_iter_seek_rank(&it.it, cor_btree_rank_past(view, prefix));
    }
    cor_object_iter_deinit(&it);
    return r;
}
