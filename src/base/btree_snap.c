/* Snapshots, and what becomes of a node or an item that leaves the tree.
 *
 * Each snapshot has the epoch in which it was taken, each node that of its last edit, and a node
 * once shared is not edited: so a snapshot shows exactly the nodes of its own or an earlier epoch
 * that had not left the tree when it was taken. A node that leaves is put on the list of the newest
 * snapshot. When a snapshot is released, its list falls to the next older one, which shows the
 * nodes of its own or an earlier epoch; the others are shown by nobody. Sorting them is left to
 * reclaim, so that a release is O(1).
 *
 * The tree owns one reference to each of its items, whatever number of leaf versions shows it. An
 * item that leaves goes with its reference to the newest snapshot that shows it, as a bit in the
 * leaf; when that leaf is freed, to the next older one, if it shows the item, and so on.
 *
 * Only the writer frees nodes, so a root it once saw stays readable to it until it does. */
#include "base/btree_int.h"

#include "base/err.h"
#include "base/mem.h"

static void nodes_push(struct cor_btree_nodes *l, struct cor_btree_node *node)
{
    node->next = l->head;
    l->head = node;
    if (!l->tail)
        l->tail = node;
}

static struct cor_btree_node *nodes_pop(struct cor_btree_nodes *l)
{
    struct cor_btree_node *node = l->head;

    if (node) {
        l->head = node->next;
        if (!l->head)
            l->tail = NULL;
    }
    return node;
}

static void nodes_splice(struct cor_btree_nodes *to, struct cor_btree_nodes *from)
{
    if (!from->head)
        return;
    from->tail->next = to->head;
    if (!to->head)
        to->tail = from->tail;
    to->head = from->head;
    *from = (struct cor_btree_nodes){NULL, NULL};
}

struct cor_btree_node *cor_btree_node_new(struct cor_btree *t, unsigned level, uint64_t epoch)
{
    struct cor_btree_node *node = cor_alloc(sizeof(*node));

    if (!node)
        return NULL;
    t->nodes++;
    node->epoch = epoch;
    node->next = NULL;
    node->doomed = 0;
    node->n = 0;
    node->level = (uint8_t)level;
    node->whole = false;
    return node;
}

struct cor_btree_node *cor_btree_node_free(struct cor_btree *t, struct cor_btree_node *node)
{
    t->nodes--;
    return cor_free(node);
}

struct cor_btree_snap *cor_btree_newest_locked(const struct cor_btree *t)
{
    if (cor_dlist_empty(&t->snaps))
        return NULL;
    return COR_CONTAINER_OF(t->snaps.prev, struct cor_btree_snap, link);
}

/* The list for nodes that left the state after `s`, to be sorted later. */
static struct cor_btree_nodes *unsorted_of_locked(struct cor_btree *t, struct cor_btree_snap *s)
{
    if (!s)
        return &t->garbage;
    if (cor_dlist_empty(&s->work))
        cor_dlist_push(&t->work, &s->work);
    return &s->unsorted;
}

void cor_btree_retire_locked(struct cor_btree *t, struct cor_btree_node *node)
{
    struct cor_btree_snap *newest = cor_btree_newest_locked(t);

    if (newest && node->epoch <= newest->epoch)
        nodes_push(&newest->held, node);
    else
        cor_btree_node_free(t, node);
}

void cor_btree_swap_root(struct cor_btree *t, struct cor_btree_node *root)
{
    cor_lock_acquire(&t->lock);
    if (t->root) {
        t->root->whole = true;
        nodes_push(unsorted_of_locked(t, cor_btree_newest_locked(t)), t->root);
    }
    t->root = root;
    t->epoch++;
    cor_lock_release(&t->lock);
}

bool cor_btree_bequeath(const struct cor_btree_type *type, struct cor_btree_node *heir,
                        const void *item)
{
    struct cor_btree_path path;
    uint64_t bit;

    if (!heir || !cor_btree_path_find(&path, type, heir, type->key(item)) ||
        path.node[0]->item[path.at[0]] != item)
        return false;
    bit = UINT64_C(1) << path.at[0];
    /* The same item may have left twice: one reference keeps it for the leaf. */
    if (path.node[0]->doomed & bit)
        return false;
    path.node[0]->doomed |= bit;
    return true;
}

int cor_btree_snapshot(struct cor_btree *t, struct cor_btree_snap **ret_snap)
{
    COR_CLEANUP(cor_freep) struct cor_btree_snap *fresh = cor_alloc(sizeof(*fresh));
    struct cor_btree_snap *s;

    if (!fresh)
        return -COR_ENOMEM;
    cor_lock_acquire(&t->lock);
    s = cor_btree_newest_locked(t);
    if (s && s->epoch == t->epoch) {
        s->refs++;
    } else {
        s = COR_STEAL(fresh);
        *s = (struct cor_btree_snap){.tree = t, .root = t->root, .epoch = t->epoch, .refs = 1};
        cor_dlist_init(&s->work);
        cor_dlist_push(&t->snaps, &s->link);
        t->nsnaps++;
    }
    cor_lock_release(&t->lock);
    *ret_snap = s;
    return 0;
}

struct cor_btree_snap *cor_btree_snap_ref(struct cor_btree_snap *s)
{
    cor_lock_acquire(&s->tree->lock);
    s->refs++;
    cor_lock_release(&s->tree->lock);
    return s;
}

static struct cor_btree_snap *next_older_locked(const struct cor_btree_snap *s)
{
    if (s->link.prev == &s->tree->snaps)
        return NULL;
    return COR_CONTAINER_OF(s->link.prev, struct cor_btree_snap, link);
}

struct cor_btree_snap *cor_btree_snap_unref(struct cor_btree_snap *s)
{
    struct cor_btree *t;
    bool last;

    if (!s)
        return NULL;
    t = s->tree;
    cor_lock_acquire(&t->lock);
    last = --s->refs == 0;
    if (last) {
        struct cor_btree_nodes left = {NULL, NULL};

        nodes_splice(&left, &s->held);
        nodes_splice(&left, &s->unsorted);
        if (left.head)
            nodes_splice(unsorted_of_locked(t, next_older_locked(s)), &left);
        cor_dlist_remove(&s->link);
        cor_dlist_remove(&s->work);
        t->nsnaps--;
    }
    cor_lock_release(&t->lock);
    return last ? cor_free(s) : NULL;
}

struct cor_btree_view cor_btree_snap_view(const struct cor_btree_snap *s)
{
    return (struct cor_btree_view){s->tree->type, s->root};
}

size_t cor_btree_snapshots(struct cor_btree *t)
{
    return COR_LOCKED(&t->lock, t->nsnaps);
}

static bool has_dead(struct cor_btree *t)
{
    return COR_LOCKED(&t->lock, t->garbage.head || !cor_dlist_empty(&t->work));
}

/* Takes one dead node off a list. `ret_node` is NULL when the node was sorted to a snapshot that
 * shows it; otherwise nobody shows it, and `ret_heir` is the next older state. False when there is
 * no dead node. */
static bool take_dead_locked(struct cor_btree *t, struct cor_btree_node **ret_node,
                             struct cor_btree_node **ret_heir)
{
    struct cor_btree_nodes *from = &t->garbage;
    struct cor_btree_snap *s = NULL;
    struct cor_btree_node *node;

    if (!from->head) {
        if (cor_dlist_empty(&t->work))
            return false;
        s = COR_CONTAINER_OF(t->work.next, struct cor_btree_snap, work);
        from = &s->unsorted;
    }
    node = nodes_pop(from);
    if (s && node->epoch <= s->epoch) {
        nodes_push(&s->held, node);
        node = NULL;
    } else if (node->whole && node->level > 0) {
        for (unsigned i = 0; i < node->n; i++) {
            node->child[i]->whole = true;
            nodes_push(from, node->child[i]);
        }
    }
    if (s && !from->head)
        cor_dlist_remove(&s->work);
    *ret_node = node;
    *ret_heir = s ? s->root : NULL;
    return true;
}

/* Passes on or drops the references that a leaf owns: one for each doomed item, and one for each of
 * all its items when it died whole. */
static void settle_leaf(struct cor_btree *t, struct cor_btree_node *leaf,
                        struct cor_btree_node *heir)
{
    for (unsigned i = 0; i < leaf->n; i++) {
        unsigned owned = (leaf->doomed >> i & 1) + (leaf->whole ? 1 : 0);

        for (; owned > 0; owned--)
            if (!cor_btree_bequeath(t->type, heir, leaf->item[i]))
                t->type->unref(leaf->item[i]);
    }
}

bool cor_btree_reclaim(struct cor_btree *t, size_t max_nodes)
{
    struct cor_btree_node *node, *heir;
    bool more = true;

    for (size_t i = 0; i < max_nodes && more; i++) {
        cor_lock_acquire(&t->lock);
        more = take_dead_locked(t, &node, &heir);
        cor_lock_release(&t->lock);
        if (!more || !node)
            continue;
        if (node->level == 0)
            settle_leaf(t, node, heir);
        cor_btree_node_free(t, node);
    }
    return more && has_dead(t);
}
