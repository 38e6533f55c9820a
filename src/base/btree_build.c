/* Builds the nodes of a tree from sorted entries, level by level: as few leaves as hold the
 * entries, filled evenly, then the branches above them, until one node is left. The nodes of a
 * level are linked by `next` until the level above them is made. When an allocation fails, what
 * was made is freed. Thread: the one that changes the tree. */
#include "base/btree_int.h"

#include <string.h>

#include "base/err.h"

/* The nodes of one level, in order, linked by `next`. */
struct level {
    struct cor_btree_node *head;
    size_t n;
};

void cor_btree_free_subtree(struct cor_btree *t, struct cor_btree_node *node)
{
    for (unsigned i = 0; node->level > 0 && i < node->n; i++)
        cor_btree_free_subtree(t, node->child[i]);
    cor_btree_node_free(t, node);
}

static void free_level(struct cor_btree *t, struct cor_btree_node *head)
{
    while (head) {
        struct cor_btree_node *next = head->next;

        cor_btree_free_subtree(t, head);
        head = next;
    }
}

/* As few nodes as hold `n` slots, empty. */
static int new_level(struct cor_btree *t, unsigned number, uint64_t epoch, size_t n,
                     struct level *ret)
{
    unsigned max = number == 0 ? BTREE_LEAF_MAX : BTREE_BRANCH_MAX;
    struct level made = {NULL, 0};

    for (size_t want = (n + max - 1) / max; made.n < want; made.n++) {
        struct cor_btree_node *node = cor_btree_node_new(t, number, epoch);

        if (!node) {
            free_level(t, made.head);
            return -COR_ENOMEM;
        }
        node->next = made.head;
        made.head = node;
    }
    *ret = made;
    return 0;
}

/* The share of node `k` when `n` slots are dealt evenly. */
static unsigned share(size_t n, size_t nodes, size_t k)
{
    return (unsigned)(n / nodes + (k < n % nodes));
}

static void fill_leaves(struct level leaves, const struct cor_btree_entry *entries, size_t n)
{
    size_t k = 0;

    for (struct cor_btree_node *leaf = leaves.head; leaf; leaf = leaf->next) {
        leaf->n = (uint16_t)share(n, leaves.n, k++);
        for (unsigned i = 0; i < leaf->n; i++, entries++) {
            leaf->item[i] = entries->item;
            leaf->fingerprint[i] = entries->fingerprint;
        }
    }
}

static void fill_branches(struct level branches, struct level children)
{
    struct cor_btree_node *child = children.head;
    size_t k = 0;

    for (struct cor_btree_node *branch = branches.head; branch; branch = branch->next) {
        branch->n = (uint16_t)share(children.n, branches.n, k++);
        for (unsigned i = 0; i < branch->n; i++, child = child->next)
            cor_btree_set_child(branch, i, child);
    }
}

int cor_btree_build(struct cor_btree *t, const struct cor_btree_entry *entries, size_t n,
                    uint64_t epoch, struct cor_btree_node **ret_root)
{
    struct level below;
    int r;

    if (n == 0) {
        *ret_root = NULL;
        return 0;
    }
    r = new_level(t, 0, epoch, n, &below);
    if (r < 0)
        return r;
    fill_leaves(below, entries, n);
    for (unsigned number = 1; below.n > 1; number++) {
        struct level above;

        r = new_level(t, number, epoch, below.n, &above);
        if (r < 0) {
            free_level(t, below.head);
            return r;
        }
        fill_branches(above, below);
        below = above;
    }
    *ret_root = below.head;
    return 0;
}
