#include "base/btree.h"

#include "base/btree_int.h"
#include "base/err.h"
#include "base/mem.h"

struct cor_btree *cor_btree_new(const struct cor_btree_type *type)
{
    struct cor_btree *t = cor_calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    t->type = type;
    cor_dlist_init(&t->snaps);
    cor_dlist_init(&t->work);
    cor_lock_init(&t->lock, COR_LOCK_BTREE);
    return t;
}

struct cor_btree *cor_btree_free(struct cor_btree *t)
{
    if (!t)
        return NULL;
    assert(cor_btree_snapshots(t) == 0);
    cor_btree_clear(t);
    cor_btree_reclaim(t, SIZE_MAX);
    while (t->spare) {
        struct cor_btree_node *node = t->spare;

        t->spare = node->next;
        cor_btree_node_free(t, node);
    }
    assert(t->nodes == 0);
    cor_lock_deinit(&t->lock);
    return cor_free(t);
}

/* An item left the tree, and `heir` is the newest snapshot's root. */
static void hand_out(struct cor_btree *t, struct cor_btree_node *heir, void *item, void **ret_old)
{
    bool inherited = cor_btree_bequeath(t->type, heir, item);

    if (inherited && ret_old)
        t->type->ref(item);
    if (!inherited && !ret_old)
        t->type->unref(item);
    if (ret_old)
        *ret_old = item;
}

int cor_btree_put(struct cor_btree *t, void *item, uint64_t fingerprint, void **ret_old)
{
    struct cor_btree_entry entry = {item, fingerprint};
    struct cor_btree_node *heir;
    struct cor_btree_path path;
    void *old = NULL;
    bool found;
    int r;

    found = cor_btree_path_find(&path, t->type, t->root, t->type->key(item));
    r = cor_btree_edit_begin(t, &path, found ? 0 : cor_btree_insert_spares(&path), &heir);
    if (r < 0)
        return r;
    if (found)
        old = cor_btree_exchange_locked(&path, entry);
    else
        cor_btree_insert_locked(t, &path, entry);
    cor_btree_edit_end(t);

    t->type->ref(item);
    if (found)
        hand_out(t, heir, old, ret_old);
    else if (ret_old)
        *ret_old = NULL;
    return 0;
}

int cor_btree_remove(struct cor_btree *t, struct cor_str key, void **ret_old)
{
    struct cor_btree_node *heir;
    struct cor_btree_path path;
    void *old;
    int r;

    if (!cor_btree_path_find(&path, t->type, t->root, key))
        return -COR_ENOTFOUND;
    r = cor_btree_edit_begin(t, &path, 0, &heir);
    if (r < 0)
        return r;
    old = cor_btree_delete_locked(t, &path);
    cor_btree_edit_end(t);

    hand_out(t, heir, old, ret_old);
    return 0;
}

static bool is_ascending(const struct cor_btree_type *type, const struct cor_btree_entry *entries,
                         size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (cor_str_cmp(type->key(entries[i - 1].item), type->key(entries[i].item)) >= 0)
            return false;
    return true;
}

int cor_btree_own(struct cor_btree *t, struct cor_str key)
{
    struct cor_btree_node *heir;
    struct cor_btree_path path;
    int r;

    if (!cor_btree_path_find(&path, t->type, t->root, key))
        return -COR_ENOTFOUND;
    r = cor_btree_edit_begin(t, &path, 0, &heir);
    if (r == 0)
        cor_btree_edit_end(t);
    return r;
}

int cor_btree_stage(struct cor_btree *t, const struct cor_btree_entry *entries, size_t n,
                    struct cor_btree_staged *ret_staged)
{
    struct cor_btree_node *root;
    int r;

    if (!is_ascending(t->type, entries, n))
        return -COR_EINVAL;
    /* The next epoch: a snapshot taken meanwhile shows the old state and none of these nodes. */
    r = cor_btree_build(t, entries, n, t->epoch + 1, &root);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        t->type->ref(entries[i].item);
    *ret_staged = (struct cor_btree_staged){root, entries, n};
    return 0;
}

void cor_btree_commit(struct cor_btree *t, struct cor_btree_staged staged)
{
    cor_btree_swap_root(t, staged.root);
}

void cor_btree_discard(struct cor_btree *t, struct cor_btree_staged staged)
{
    for (size_t i = 0; i < staged.n; i++)
        t->type->unref(staged.entries[i].item);
    if (staged.root)
        cor_btree_free_subtree(t, staged.root);
}

int cor_btree_replace(struct cor_btree *t, const struct cor_btree_entry *entries, size_t n)
{
    struct cor_btree_staged staged;
    int r = cor_btree_stage(t, entries, n, &staged);

    if (r == 0)
        cor_btree_commit(t, staged);
    return r;
}

void cor_btree_clear(struct cor_btree *t)
{
    cor_btree_swap_root(t, NULL);
}

size_t cor_btree_bytes(const struct cor_btree *t)
{
    return t->nodes * sizeof(struct cor_btree_node);
}

struct cor_btree_view cor_btree_live(const struct cor_btree *t)
{
    return (struct cor_btree_view){t->type, t->root};
}
