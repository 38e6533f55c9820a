/* Reads a view of a tree: by key, by rank, and by iteration in both directions. A view is a root
 * whose nodes nobody changes while it is open, since btree.c copies what a snapshot still shows;
 * so nothing in here allocates, locks or fails. Thread: any that may use the view. */
#include "base/btree_int.h"

/* Places of a leaf between the entry that is taken and the item that is fetched. */
#define PREFETCH_AHEAD 6

/* Which keys precede a place: those below the key, those up to and including it, or those up to the
 * end of the prefix. */
enum bound { BOUND_BELOW, BOUND_UPTO, BOUND_PREFIX };

static bool is_before(const struct cor_btree_type *type, const void *item, struct cor_str key,
                      enum bound bound)
{
    struct cor_str k = type->key(item);
    int order;

    if (bound == BOUND_PREFIX && k.n > key.n)
        k.n = key.n;
    order = cor_str_cmp(k, key);
    return order < 0 || (order == 0 && bound != BOUND_BELOW);
}

/* How many of the sorted items precede the place, when the first `lo` are known to. */
static unsigned partition(const struct cor_btree_type *type, void *const *items, unsigned lo,
                          unsigned hi, struct cor_str key, enum bound bound)
{
    while (lo < hi) {
        unsigned mid = lo + (hi - lo) / 2;

        if (is_before(type, items[mid], key, bound))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The child whose range holds the place. What precedes the first separator of a branch is in its
 * first child, so that one is never compared. */
static unsigned choose_child(const struct cor_btree_type *type, const struct cor_btree_node *branch,
                             struct cor_str key, enum bound bound)
{
    return partition(type, branch->first, 1, branch->n, key, bound) - 1;
}

static size_t rank_of(struct cor_btree_view v, struct cor_str key, enum bound bound)
{
    const struct cor_btree_node *node = v.root;
    size_t rank = 0;

    if (!node)
        return 0;
    while (node->level > 0) {
        unsigned c = choose_child(v.type, node, key, bound);

        for (unsigned i = 0; i < c; i++)
            rank += node->count[i];
        node = node->child[c];
    }
    return rank + partition(v.type, node->item, 0, node->n, key, bound);
}

static const struct cor_btree_node *leaf_of_rank(const struct cor_btree_node *node, size_t rank,
                                                 unsigned *ret_i)
{
    while (node->level > 0) {
        unsigned c = 0;

        while (rank >= node->count[c])
            rank -= node->count[c++];
        node = node->child[c];
    }
    *ret_i = (unsigned)rank;
    return node;
}

static struct cor_btree_entry entry_at(const struct cor_btree_node *leaf, unsigned i)
{
    return (struct cor_btree_entry){leaf->item[i], leaf->fingerprint[i]};
}

bool cor_btree_path_find(struct cor_btree_path *path, const struct cor_btree_type *type,
                         struct cor_btree_node *root, struct cor_str key)
{
    struct cor_btree_node *node = root;
    unsigned i;

    path->height = root ? root->level + 1u : 0;
    if (!root)
        return false;
    for (; node->level > 0; node = node->child[i]) {
        i = choose_child(type, node, key, BOUND_UPTO);
        path->node[node->level] = node;
        path->at[node->level] = i;
    }
    i = partition(type, node->item, 0, node->n, key, BOUND_BELOW);
    path->node[0] = node;
    path->at[0] = i;
    return i < node->n && cor_str_eq(type->key(node->item[i]), key);
}

size_t cor_btree_node_count(const struct cor_btree_node *node)
{
    size_t count = 0;

    if (node->level == 0)
        return node->n;
    for (unsigned i = 0; i < node->n; i++)
        count += node->count[i];
    return count;
}

size_t cor_btree_count(struct cor_btree_view v)
{
    return v.root ? cor_btree_node_count(v.root) : 0;
}

bool cor_btree_peek(struct cor_btree_view v, struct cor_str key, struct cor_btree_entry *ret)
{
    const struct cor_btree_node *node = v.root;
    unsigned i;

    if (!node)
        return false;
    while (node->level > 0)
        node = node->child[choose_child(v.type, node, key, BOUND_UPTO)];
    i = partition(v.type, node->item, 0, node->n, key, BOUND_BELOW);
    if (i == node->n || !cor_str_eq(v.type->key(node->item[i]), key))
        return false;
    *ret = entry_at(node, i);
    return true;
}

bool cor_btree_peek_nth(struct cor_btree_view v, size_t rank, struct cor_btree_entry *ret)
{
    const struct cor_btree_node *leaf;
    unsigned i;

    if (rank >= cor_btree_count(v))
        return false;
    leaf = leaf_of_rank(v.root, rank, &i);
    *ret = entry_at(leaf, i);
    return true;
}

size_t cor_btree_rank(struct cor_btree_view v, struct cor_str key)
{
    return rank_of(v, key, BOUND_BELOW);
}

size_t cor_btree_rank_past(struct cor_btree_view v, struct cor_str prefix)
{
    return rank_of(v, prefix, BOUND_PREFIX);
}

/* A range is kept as two ranks, so that no step compares keys. */
static void iter_start(struct cor_btree_iter *it, struct cor_btree_view v, size_t begin, size_t end)
{
    *it = (struct cor_btree_iter){
        .root = v.root,
        .type = v.type,
        .begin = begin,
        .end = end > begin ? end : begin,
        .at = begin,
    };
}

void cor_btree_iter_range(struct cor_btree_iter *it, struct cor_btree_view v, struct cor_str from,
                          struct cor_str end)
{
    iter_start(it, v, cor_btree_rank(v, from), end.p ? cor_btree_rank(v, end) : cor_btree_count(v));
}

void cor_btree_iter_prefix(struct cor_btree_iter *it, struct cor_btree_view v,
                           struct cor_str prefix)
{
    iter_start(it, v, cor_btree_rank(v, prefix), cor_btree_rank_past(v, prefix));
}

void cor_btree_iter_seek(struct cor_btree_iter *it, struct cor_str key)
{
    cor_btree_iter_seek_rank(it, cor_btree_rank((struct cor_btree_view){it->type, it->root}, key));
}

void cor_btree_iter_seek_rank(struct cor_btree_iter *it, size_t rank)
{
    if (rank < it->begin)
        rank = it->begin;
    if (rank > it->end)
        rank = it->end;
    it->at = rank;
    it->leaf = NULL;
}

bool cor_btree_iter_next(struct cor_btree_iter *it)
{
    return cor_btree_iter_next_covering(it, 0);
}

bool cor_btree_iter_next_covering(struct cor_btree_iter *it, uint64_t mask)
{
    while (it->at < it->end) {
        unsigned i, stop;

        if (!it->leaf || it->i == it->leaf->n)
            it->leaf = leaf_of_rank(it->root, it->at, &it->i);
        i = it->i;
        stop = it->leaf->n - i < it->end - it->at ? it->leaf->n : i + (unsigned)(it->end - it->at);
        while (i < stop && (it->leaf->fingerprint[i] & mask) != mask)
            i++;
        it->at += i - it->i;
        it->i = i;
        if (i < stop) {
            /* Whoever takes every entry looks at its item: those a few places on are fetched. */
            if (mask == 0 && i + PREFETCH_AHEAD < stop)
                __builtin_prefetch(it->leaf->item[i + PREFETCH_AHEAD]);
            it->entry = entry_at(it->leaf, i);
            it->at++;
            it->i++;
            return true;
        }
    }
    return false;
}
