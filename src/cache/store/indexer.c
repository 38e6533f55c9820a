/* Writing into an indexer. A put or remove: the key, the index functions, the trees of the indexes,
 * and at last the tree of all objects; a replace builds everything beside the trees and then
 * exchanges the content of each.
 *
 * Failures: until the first tree is touched nothing has changed. Memory that runs out later leaves
 * `stale` set, and the next write rebuilds the indexes from the tree of all objects, which is
 * always right. Thread: any; one lock orders the writers, and index functions run under it. */
#include "cache/store/indexer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "cache/store/index_values.h"
#include "cache/store/indexer_int.h"
#include "cache/store/object_key.h"

#define RECLAIM_PER_WRITE 16 /* nodes; more than a write leaves behind */

static struct cor_str item_key(const void *item)
{
    const struct cor_indexed *e = item;

    return cor_str(e->bytes, e->len);
}

static void item_ref(void *item)
{
    cor_ref_get(&((struct cor_indexed *)item)->ref);
}

static void item_unref(void *item)
{
    struct cor_indexed *e = item;

    if (e && cor_ref_put(&e->ref)) {
        cor_object_unref(e->object);
        cor_free(e);
    }
}

static void item_unrefp(struct cor_indexed **e)
{
    item_unref(*e);
}

static const struct cor_btree_type item_type = {item_key, item_ref, item_unref};

static struct cor_str object_item_key(const void *item)
{
    return cor_object_own_key(item);
}

static void object_item_ref(void *item)
{
    cor_object_ref(item);
}

static void object_item_unref(void *item)
{
    cor_object_unref(item);
}

static const struct cor_btree_type object_type = {object_item_key, object_item_ref,
                                                  object_item_unref};

size_t cor_index_prefix(struct cor_str value, char to[COR_INDEX_PREFIX_MAX])
{
    to[0] = (char)(value.n >> 8);
    to[1] = (char)(value.n & 0xff);
    if (value.n > 0)
        memcpy(to + 2, value.p, value.n);
    return 2 + value.n;
}

static struct cor_indexed *item_new(struct cor_object *object, struct cor_str prefix,
                                    struct cor_str key)
{
    struct cor_indexed *e = cor_alloc(sizeof(*e) + prefix.n + key.n);

    if (!e)
        return NULL;
    cor_ref_init(&e->ref);
    e->len = (uint16_t)(prefix.n + key.n);
    e->key_at = (uint16_t)prefix.n;
    e->object = cor_object_ref(object);
    if (prefix.n > 0)
        memcpy(e->bytes, prefix.p, prefix.n);
    memcpy(e->bytes + prefix.n, key.p, key.n);
    return e;
}

int cor_indexer_new(const struct cor_index_def *defs, size_t n, struct cor_indexer **ret_indexer)
{
    struct cor_indexer *ix = cor_calloc(1, sizeof(*ix));
    int r;

    if (!ix)
        return -COR_ENOMEM;
    cor_lock_init(&ix->lock, COR_LOCK_INDEXER);
    ix->all = cor_btree_new(&object_type);
    r = ix->all ? cor_indexer_add_indexes(ix, defs, n) : -COR_ENOMEM;
    if (r < 0) {
        cor_indexer_free(ix);
        return r;
    }
    *ret_indexer = ix;
    return 0;
}

void cor_indexer_set_key_fn(struct cor_indexer *ix, cor_key_fn fn, void *arg)
{
    assert(cor_indexer_len(ix) == 0);
    ix->keyer = (struct cor_keyer){fn, arg};
}

int cor_indexer_key(const struct cor_indexer *ix, const struct cor_object *object,
                    struct cor_buf *out)
{
    return cor_keyer_print(&ix->keyer, object, out);
}

static void index_deinit(struct cor_index *index)
{
    index->name = cor_free(index->name);
    if (index->tree)
        index->tree = cor_btree_free(index->tree);
}

struct cor_indexer *cor_indexer_free(struct cor_indexer *ix)
{
    if (!ix)
        return NULL;
    for (size_t i = 0; i < COR_INDEXES_MAX; i++)
        index_deinit(&ix->indexes[i]);
    if (ix->all)
        cor_btree_free(ix->all);
    cor_lock_deinit(&ix->lock);
    return cor_free(ix);
}

const struct cor_index *cor_indexer_find(struct cor_indexer *ix, struct cor_str name)
{
    size_t n = atomic_load_explicit(&ix->nindexes, memory_order_acquire);

    for (size_t i = 0; i < n; i++)
        if (cor_str_eqz(name, ix->indexes[i].name))
            return &ix->indexes[i];
    return NULL;
}

/* Entries gathered for one tree, with a reference to each. */
struct batch {
    const struct cor_btree_type *type;
    struct cor_btree_entry *entries;
    size_t n, cap;
};

static void batch_deinit(struct batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        b->type->unref(b->entries[i].item);
    cor_free(b->entries);
}

static int batch_add(struct batch *b, void *take, uint64_t fingerprint)
{
    int r = COR_ARRAY_RESERVE(&b->entries, b->n, &b->cap, COR_ARRAY_NO_MAX);

    if (r < 0) {
        b->type->unref(take);
        return r;
    }
    b->entries[b->n++] = (struct cor_btree_entry){.item = take, .fingerprint = fingerprint};
    return 0;
}

static int batch_add_object(struct batch *b, struct cor_object *take)
{
    return batch_add(b, take, take->fingerprint);
}

static int by_value(const void *a, const void *b)
{
    const struct cor_btree_entry *x = a, *y = b;

    return cor_str_cmp(item_key(x->item), item_key(y->item));
}

static int by_key(const void *a, const void *b)
{
    const struct cor_btree_entry *x = a, *y = b;

    return cor_str_cmp(cor_object_own_key(x->item), cor_object_own_key(y->item));
}

static int by_key_and_place(const void *a, const void *b)
{
    const struct cor_btree_entry *x = a, *y = b;
    int order = by_key(a, b);

    return order != 0 ? order
                      : (x->fingerprint > y->fingerprint) - (x->fingerprint < y->fingerprint);
}

/* By key, of equal ones the last that was added: qsort() need not keep their order, so their place
 * is where the fingerprint will. */
static void batch_sort(struct batch *b)
{
    size_t kept = 0;

    if (b->n == 0)
        return;
    for (size_t i = 0; i < b->n; i++)
        b->entries[i].fingerprint = i;
    qsort(b->entries, b->n, sizeof(b->entries[0]), by_key_and_place);
    for (size_t i = 0; i < b->n; i++) {
        struct cor_object *object = b->entries[i].item;

        if (i + 1 < b->n && by_key(&b->entries[i], &b->entries[i + 1]) == 0)
            cor_object_unref(object);
        else
            b->entries[kept++] = (struct cor_btree_entry){object, object->fingerprint};
    }
    b->n = kept;
}

static struct cor_indexed *item_of_value(struct cor_object *object, struct cor_str value)
{
    char prefix[COR_INDEX_PREFIX_MAX];
    size_t n = cor_index_prefix(value, prefix);

    return item_new(object, cor_str(prefix, n), cor_object_own_key(object));
}

static int batch_add_values(struct batch *b, struct cor_index *index, struct cor_object *object)
{
    COR_CLEANUP(cor_index_values_deinit) struct cor_index_values values;
    int r;

    cor_index_values_init(&values);
    r = index->fn(index->arg, object, &values);
    for (size_t i = 0; r == 0 && i < values.n; i++) {
        struct cor_indexed *e = item_of_value(object, cor_index_values_at(&values, i));

        r = e ? batch_add(b, e, object->fingerprint) : -COR_ENOMEM;
    }
    return r;
}

/* The index's tree anew, from the tree of all or from what is to become it. */
static int build_index(struct cor_index *index, const struct batch *objects, struct batch *out)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < objects->n; i++)
        r = batch_add_values(out, index, objects->entries[i].item);
    if (r == 0 && out->n > 0)
        qsort(out->entries, out->n, sizeof(out->entries[0]), by_value);
    return r;
}

static int gather_all(struct cor_indexer *ix, struct batch *out)
{
    struct cor_btree_iter it;
    int r = 0;

    cor_btree_iter_range(&it, cor_btree_live(ix->all), COR_STR(""), (struct cor_str){0});
    while (r == 0 && cor_btree_iter_next(&it))
        r = batch_add_object(out, cor_object_ref(it.entry.item));
    return r;
}

static int fill_index(struct cor_index *index, const struct batch *objects)
{
    COR_CLEANUP(batch_deinit) struct batch values = {&item_type};
    int r = build_index(index, objects, &values);

    return r < 0 ? r : cor_btree_replace(index->tree, values.entries, values.n);
}

static int freshen_locked(struct cor_indexer *ix)
{
    COR_CLEANUP(batch_deinit) struct batch all = {&object_type};
    int r;

    if (!ix->stale)
        return 0;
    r = gather_all(ix, &all);
    for (size_t i = 0; r == 0 && i < ix->nindexes; i++)
        r = fill_index(&ix->indexes[i], &all);
    if (r == 0)
        ix->stale = false;
    return r;
}

static int index_init(struct cor_index *index, const struct cor_index_def *def)
{
    *index = (struct cor_index){.fn = def->fn, .arg = def->arg};
    index->name = cor_strndup(def->name.p, def->name.n);
    index->tree = cor_btree_new(&item_type);
    return index->name && index->tree ? 0 : -COR_ENOMEM;
}

static int add_indexes_locked(struct cor_indexer *ix, const struct cor_index_def *defs, size_t n)
{
    COR_CLEANUP(batch_deinit) struct batch all = {&object_type};
    size_t had = ix->nindexes;
    int r = 0;

    for (size_t i = 0; i < n; i++) {
        if (cor_indexer_find(ix, defs[i].name))
            return -COR_EEXIST;
        for (size_t k = 0; k < i; k++)
            if (cor_str_eq(defs[i].name, defs[k].name))
                return -COR_EEXIST;
    }
    if (n > COR_INDEXES_MAX - had)
        return -COR_ETOOBIG;
    r = gather_all(ix, &all);
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = index_init(&ix->indexes[had + i], &defs[i]);
        if (r == 0)
            r = fill_index(&ix->indexes[had + i], &all);
    }
    for (size_t i = 0; r < 0 && i < n; i++)
        index_deinit(&ix->indexes[had + i]);
    if (r == 0)
        atomic_store_explicit(&ix->nindexes, had + n, memory_order_release);
    return r;
}

int cor_indexer_add_indexes(struct cor_indexer *ix, const struct cor_index_def *defs, size_t n)
{
    return COR_LOCKED(&ix->lock, add_indexes_locked(ix, defs, n));
}

/* Adds what the index says of `new` (NULL: gone) and takes out what it said of `old` only.
 * `touched`: the tree may have changed. */
static int update_index(struct cor_index *index, struct cor_object *old, struct cor_object *new,
                        bool *touched)
{
    COR_CLEANUP(cor_index_values_deinit) struct cor_index_values before, after;
    int r;

    cor_index_values_init(&before);
    cor_index_values_init(&after);
    r = new ? index->fn(index->arg, new, &after) : 0;
    if (r == 0 && old)
        r = index->fn(index->arg, old, &before);
    *touched |= r == 0;
    for (size_t i = 0; r == 0 && new &&i < after.n; i++) {
        COR_CLEANUP(item_unrefp)
        struct cor_indexed *e = item_of_value(new, cor_index_values_at(&after, i));

        r = e ? cor_btree_put(index->tree, e, e->object->fingerprint, NULL) : -COR_ENOMEM;
    }
    for (size_t i = 0; r == 0 && i < before.n; i++) {
        struct cor_str value = cor_index_values_at(&before, i);
        COR_CLEANUP(item_unrefp) struct cor_indexed *e = NULL;

        if (cor_index_values_has(&after, value))
            continue;
        e = item_of_value(old, value);
        r = e ? cor_btree_remove(index->tree, item_key(e), NULL) : -COR_ENOMEM;
        if (r == -COR_ENOTFOUND)
            r = 0;
    }
    cor_btree_reclaim(index->tree, RECLAIM_PER_WRITE);
    return r;
}

static int update_indexes_locked(struct cor_indexer *ix, struct cor_object *old,
                                 struct cor_object *new)
{
    bool touched = false;
    int r = 0;

    for (size_t i = 0; r == 0 && i < ix->nindexes; i++)
        r = update_index(&ix->indexes[i], old, new, &touched);
    ix->stale = r < 0 && touched;
    return r;
}

static struct cor_object *peek_locked(struct cor_indexer *ix, struct cor_str key)
{
    struct cor_btree_entry entry;

    return cor_btree_peek(cor_btree_live(ix->all), key, &entry) ? entry.item : NULL;
}

static int put_locked(struct cor_indexer *ix, struct cor_object *object, void **ret_replaced)
{
    struct cor_object *old = peek_locked(ix, cor_object_own_key(object));
    int r = freshen_locked(ix);

    if (r == 0 && !old && cor_btree_count(cor_btree_live(ix->all)) >= COR_INDEXER_OBJECTS_MAX)
        r = -COR_ETOOBIG;
    if (r == 0)
        r = update_indexes_locked(ix, old, object);
    if (r == 0) {
        r = cor_btree_put(ix->all, object, object->fingerprint, ret_replaced);
        ix->stale = r < 0;
    }
    cor_btree_reclaim(ix->all, RECLAIM_PER_WRITE);
    return r;
}

/* The object that left the tree is the caller's, or nobody's. */
static void give_old(int r, struct cor_object *take_old, struct cor_object **ret_old)
{
    if (r == 0 && ret_old)
        *ret_old = take_old;
    else
        cor_object_unref(take_old);
}

int cor_indexer_put(struct cor_indexer *ix, struct cor_object *object, struct cor_object **ret_old)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *own = NULL;
    void *replaced = NULL;
    int r = cor_keyer_apply(&ix->keyer, object, &own);

    if (r < 0)
        return r;
    cor_lock_acquire(&ix->lock);
    r = put_locked(ix, own, &replaced);
    give_old(r, replaced, ret_old);
    cor_lock_release(&ix->lock);
    return r;
}

int cor_indexer_remove(struct cor_indexer *ix, struct cor_str key, struct cor_object **ret_old)
{
    struct cor_object *old;
    void *removed = NULL;
    int r;

    cor_lock_acquire(&ix->lock);
    r = freshen_locked(ix);
    old = peek_locked(ix, key);
    if (r == 0 && old) {
        r = update_indexes_locked(ix, old, NULL);
        if (r == 0) {
            r = cor_btree_remove(ix->all, key, &removed);
            ix->stale = r < 0;
        }
    }
    give_old(r, removed, ret_old);
    cor_btree_reclaim(ix->all, RECLAIM_PER_WRITE);
    cor_lock_release(&ix->lock);
    return r;
}

static void reclaim_all_locked(struct cor_indexer *ix)
{
    while (cor_btree_reclaim(ix->all, SIZE_MAX))
        ;
    for (size_t i = 0; i < ix->nindexes; i++)
        while (cor_btree_reclaim(ix->indexes[i].tree, SIZE_MAX))
            ;
}

static int replace_locked(struct cor_indexer *ix, const struct batch *all)
{
    struct batch values[COR_INDEXES_MAX] = {0};
    size_t n = ix->nindexes;
    int r = 0;

    for (size_t i = 0; i < n; i++)
        values[i].type = &item_type;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = build_index(&ix->indexes[i], all, &values[i]);
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = cor_btree_replace(ix->indexes[i].tree, values[i].entries, values[i].n);
        ix->stale = true;
    }
    if (r == 0)
        r = cor_btree_replace(ix->all, all->entries, all->n);
    if (r == 0)
        ix->stale = false;
    for (size_t i = 0; i < n; i++)
        batch_deinit(&values[i]);
    reclaim_all_locked(ix);
    return r;
}

int cor_indexer_replace(struct cor_indexer *ix, struct cor_object *const *objects, size_t n)
{
    COR_CLEANUP(batch_deinit) struct batch all = {&object_type};
    int r = n > COR_INDEXER_OBJECTS_MAX ? -COR_ETOOBIG : 0;

    assert(objects || n == 0);
    for (size_t i = 0; r == 0 && i < n; i++) {
        struct cor_object *own;

        r = cor_keyer_apply(&ix->keyer, objects[i], &own);
        if (r == 0)
            r = batch_add_object(&all, own);
    }
    if (r < 0)
        return r;
    batch_sort(&all);
    cor_lock_acquire(&ix->lock);
    r = replace_locked(ix, &all);
    cor_lock_release(&ix->lock);
    return r;
}
