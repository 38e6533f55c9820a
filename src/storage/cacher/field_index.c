/* The trees of the trigger fields.
 *
 * A put changes several trees and must do all or nothing. First every entry that will be taken out
 * is owned (its path is copied where a root shows it), then the new entry is put in, then the old
 * ones are taken out, which cannot fail any more. A put that fails undoes those before it: their
 * paths are owned since then, because no root is taken meanwhile.
 *
 * New content has to be sorted by value. Its entries come in key order, so those of one value need
 * no comparison of keys: what is sorted are eight bytes of each value behind what all values begin
 * with, and the place. A qsort() of these touches no entry: 100,000 take about 10 ms.
 *
 * What fails: allocations; the function then changed nothing. Thread: the writer's. */
#include "storage/cacher/field_index.h"

#include <assert.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"

#define HEAD_BYTES 8

static void item_ref(void *item)
{
    cor_cache_entry_ref(item);
}

static void item_unref(void *item)
{
    cor_cache_entry_unref(item);
}

/* A tree knows no more of its items than a function that gives their key. */
#define ITEM_KEY(i)                                                                                \
    static struct cor_str item_key_##i(const void *item)                                           \
    {                                                                                              \
        return cor_cache_entry_index_key(item, i);                                                 \
    }
ITEM_KEY(0)
ITEM_KEY(1)
ITEM_KEY(2)
ITEM_KEY(3)
ITEM_KEY(4)
ITEM_KEY(5)
ITEM_KEY(6)
ITEM_KEY(7)

static const struct cor_btree_type types[COR_TRIGGERS_MAX] = {
    {item_key_0, item_ref, item_unref}, {item_key_1, item_ref, item_unref},
    {item_key_2, item_ref, item_unref}, {item_key_3, item_ref, item_unref},
    {item_key_4, item_ref, item_unref}, {item_key_5, item_ref, item_unref},
    {item_key_6, item_ref, item_unref}, {item_key_7, item_ref, item_unref},
};

int cor_field_index_init(struct cor_field_index *ix, size_t n)
{
    assert(n <= COR_TRIGGERS_MAX);
    *ix = (struct cor_field_index){0};
    for (; ix->n < n; ix->n++) {
        ix->trees[ix->n] = cor_btree_new(&types[ix->n]);
        if (!ix->trees[ix->n])
            return -COR_ENOMEM;
    }
    return 0;
}

void cor_field_index_deinit(struct cor_field_index *ix)
{
    for (size_t i = 0; i < ix->n; i++)
        cor_btree_free(ix->trees[i]);
    *ix = (struct cor_field_index){0};
}

/* Is `entry` in index `i`, and not at the place of `other` (NULL: nowhere)? */
static bool leaves(const struct cor_cache_entry *entry, const struct cor_cache_entry *other,
                   size_t i)
{
    return entry && entry->value_len[i] > 0 &&
           (!other ||
            !cor_str_eq(cor_cache_entry_trigger(entry, i), cor_cache_entry_trigger(other, i)));
}

static int own(struct cor_field_index *ix, const struct cor_cache_entry *old,
               const struct cor_cache_entry *now)
{
    int r = 0;

    for (size_t i = 0; i < ix->n && r == 0; i++)
        if (leaves(old, now, i))
            r = cor_btree_own(ix->trees[i], cor_cache_entry_index_key(old, i));
    assert(r != -COR_ENOTFOUND);
    return r;
}

static void take_out(struct cor_btree *tree, struct cor_str key)
{
    int r = cor_btree_remove(tree, key, NULL);

    (void)r;
    assert(r == 0);
}

/* Index `i` as it was before `now` was put in. */
static void undo_put(struct cor_field_index *ix, size_t i, struct cor_cache_entry *old,
                     struct cor_cache_entry *now)
{
    if (leaves(now, old, i)) {
        take_out(ix->trees[i], cor_cache_entry_index_key(now, i));
    } else if (now->value_len[i] > 0) {
        int r = cor_btree_put(ix->trees[i], old, old->object->fingerprint, NULL);

        (void)r;
        assert(r == 0);
    }
}

int cor_field_index_put(struct cor_field_index *ix, struct cor_cache_entry *old,
                        struct cor_cache_entry *now)
{
    int r = old ? own(ix, old, now) : 0;

    if (r < 0)
        return r;
    for (size_t i = 0; i < ix->n; i++) {
        if (now->value_len[i] == 0)
            continue;
        r = cor_btree_put(ix->trees[i], now, now->object->fingerprint, NULL);
        if (r < 0) {
            while (i-- > 0)
                undo_put(ix, i, old, now);
            return r;
        }
    }
    for (size_t i = 0; i < ix->n; i++)
        if (leaves(old, now, i))
            take_out(ix->trees[i], cor_cache_entry_index_key(old, i));
    return 0;
}

int cor_field_index_own(struct cor_field_index *ix, const struct cor_cache_entry *old)
{
    return own(ix, old, NULL);
}

void cor_field_index_remove(struct cor_field_index *ix, const struct cor_cache_entry *old)
{
    for (size_t i = 0; i < ix->n; i++)
        if (leaves(old, NULL, i))
            take_out(ix->trees[i], cor_cache_entry_index_key(old, i));
}

/* New content. */

struct sorted {
    uint64_t head; /* bytes of the value as a number that compares as they do, filled up with 0 */
    struct cor_str key;
    size_t at; /* among the entries */
    bool has_tail;
};

static int by_value(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;

    if (x->head != y->head)
        return x->head < y->head ? -1 : 1;
    if (x->has_tail || y->has_tail)
        return cor_str_cmp(x->key, y->key);
    return x->at < y->at ? -1 : 1;
}

static uint64_t head_of(struct cor_str value)
{
    uint64_t head = 0;

    for (size_t i = 0; i < HEAD_BYTES; i++)
        head = head << 8 | (i < value.n ? (unsigned char)value.p[i] : 0);
    return head;
}

static size_t common(struct cor_str a, struct cor_str b)
{
    size_t n = 0;

    while (n < a.n && n < b.n && a.p[n] == b.p[n])
        n++;
    return n;
}

/* The entries with a value of field `i`, and how many bytes all values begin with. */
static size_t gather(const struct cor_btree_entry *entries, size_t n, size_t i,
                     struct sorted *sorted, size_t *ret_common)
{
    struct cor_str first = {0};
    size_t found = 0;

    for (size_t at = 0; at < n; at++) {
        const struct cor_cache_entry *entry = entries[at].item;
        struct cor_str value;

        assert(entry->ntriggers > i);
        if (entry->value_len[i] == 0)
            continue;
        value = cor_cache_entry_trigger(entry, i);
        first = found == 0 ? value : cor_str(first.p, common(first, value));
        sorted[found++] = (struct sorted){.key = cor_cache_entry_index_key(entry, i), .at = at};
    }
    *ret_common = first.n;
    return found;
}

static void sort(struct sorted *sorted, size_t n, const struct cor_btree_entry *entries, size_t i,
                 size_t skip)
{
    for (size_t k = 0; k < n; k++) {
        struct cor_str value = cor_cache_entry_trigger(entries[sorted[k].at].item, i);

        value = cor_str_from(value, skip);
        sorted[k].head = head_of(value);
        sorted[k].has_tail = value.n > HEAD_BYTES;
    }
    if (n > 1)
        qsort(sorted, n, sizeof(*sorted), by_value);
}

static int stage_one(struct cor_field_index_staged *staged, size_t i,
                     const struct cor_btree_entry *entries, size_t n)
{
    COR_CLEANUP(cor_freep) struct sorted *sorted = cor_alloc((n + 1) * sizeof(*sorted));
    struct cor_btree_entry *made;
    size_t found, skip;

    if (!sorted)
        return -COR_ENOMEM;
    found = gather(entries, n, i, sorted, &skip);
    sort(sorted, found, entries, i, skip);
    made = cor_alloc((found + 1) * sizeof(*made));
    if (!made)
        return -COR_ENOMEM;
    for (size_t k = 0; k < found; k++)
        made[k] = entries[sorted[k].at];
    staged->entries[i] = made;
    return cor_btree_stage(staged->ix->trees[i], made, found, &staged->trees[i]);
}

int cor_field_index_stage(struct cor_field_index *ix, const struct cor_btree_entry *entries,
                          size_t n, struct cor_field_index_staged *ret_staged)
{
    struct cor_field_index_staged staged = {.ix = ix};
    int r = 0;

    for (size_t i = 0; i < ix->n && r == 0; i++) {
        r = stage_one(&staged, i, entries, n);
        assert(r != -COR_EINVAL);
        staged.n += r == 0;
    }
    if (r < 0)
        cor_field_index_staged_deinit(&staged);
    else
        *ret_staged = staged;
    return r;
}

void cor_field_index_commit(struct cor_field_index_staged *staged)
{
    for (size_t i = 0; i < staged->n; i++)
        cor_btree_commit(staged->ix->trees[i], staged->trees[i]);
    staged->n = 0;
}

void cor_field_index_staged_deinit(struct cor_field_index_staged *staged)
{
    for (size_t i = 0; i < staged->n; i++)
        cor_btree_discard(staged->ix->trees[i], staged->trees[i]);
    for (size_t i = 0; i < COR_TRIGGERS_MAX; i++)
        cor_free(staged->entries[i]);
    *staged = (struct cor_field_index_staged){0};
}

void cor_field_index_clear(struct cor_field_index *ix)
{
    for (size_t i = 0; i < ix->n; i++)
        cor_btree_clear(ix->trees[i]);
}

bool cor_field_index_reclaim(struct cor_field_index *ix, size_t max_nodes)
{
    bool more = false;

    for (size_t i = 0; i < ix->n; i++)
        more |= cor_btree_reclaim(ix->trees[i], max_nodes);
    return more;
}

size_t cor_field_index_extra_bytes(const struct cor_field_index *ix, size_t entry_bytes)
{
    size_t extra = 0;

    for (size_t i = 0; i < ix->n; i++) {
        size_t nodes = cor_btree_bytes(ix->trees[i]);
        size_t live = cor_btree_count(cor_btree_live(ix->trees[i])) * entry_bytes;

        extra += nodes > live ? nodes - live : 0;
    }
    return extra;
}

/* Roots. */

int cor_field_roots_take(const struct cor_field_index *ix, unsigned wanted,
                         struct cor_field_roots *ret_roots)
{
    struct cor_field_roots roots = {0};
    int r = 0;

    for (size_t i = 0; i < ix->n && r == 0; i++)
        if (wanted & 1u << i)
            r = cor_btree_snapshot(ix->trees[i], &roots.snaps[i]);
    if (r < 0)
        cor_field_roots_deinit(&roots);
    else
        *ret_roots = roots;
    return r;
}

void cor_field_roots_ref(const struct cor_field_roots *from, unsigned wanted,
                         struct cor_field_roots *ret_roots)
{
    for (size_t i = 0; i < COR_TRIGGERS_MAX; i++)
        ret_roots->snaps[i] =
            from->snaps[i] && wanted & 1u << i ? cor_btree_snap_ref(from->snaps[i]) : NULL;
}

void cor_field_roots_deinit(struct cor_field_roots *roots)
{
    for (size_t i = 0; i < COR_TRIGGERS_MAX; i++)
        roots->snaps[i] = cor_btree_snap_unref(roots->snaps[i]);
}
