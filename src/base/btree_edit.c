/* One change to the tree, in two steps: cor_btree_edit_begin() makes the path the writer's own and
 * gets all memory, then the edit itself cannot fail and compares no keys.
 *
 * A full node is cut in the middle, or, when the insertion is at the tree's end, left full, so that
 * ascending keys fill their nodes. (At the end of any node would be wrong: keys that descend
 * towards a full node would each get a node of their own.) After a deletion a node that is less
 * than half full joins a neighbour if both fill at most three quarters of one node; nothing is
 * borrowed, so a neighbour is never copied. */
#include "base/btree_int.h"

#include <string.h>

#include "base/err.h"

static unsigned node_max(const struct cor_btree_node *node)
{
    return node->level == 0 ? BTREE_LEAF_MAX : BTREE_BRANCH_MAX;
}

/* Moves `n` slots; the counts of both nodes are the caller's. Arrays may overlap. */
static void move_slots(struct cor_btree_node *to, unsigned to_i, const struct cor_btree_node *from,
                       unsigned from_i, unsigned n)
{
    if (to->level == 0) {
        memmove(&to->item[to_i], &from->item[from_i], n * sizeof(to->item[0]));
        memmove(&to->fingerprint[to_i], &from->fingerprint[from_i], n * sizeof(to->fingerprint[0]));
    } else {
        memmove(&to->first[to_i], &from->first[from_i], n * sizeof(to->first[0]));
        memmove(&to->child[to_i], &from->child[from_i], n * sizeof(to->child[0]));
        memmove(&to->count[to_i], &from->count[from_i], n * sizeof(to->count[0]));
    }
}

static void open_slot(struct cor_btree_node *node, unsigned i)
{
    move_slots(node, i + 1, node, i, node->n - i);
    node->n++;
}

static void close_slot(struct cor_btree_node *node, unsigned i)
{
    node->n--;
    move_slots(node, i, node, i + 1, node->n - i);
}

void cor_btree_set_child(struct cor_btree_node *branch, unsigned i, struct cor_btree_node *child)
{
    branch->child[i] = child;
    branch->first[i] = child->level == 0 ? child->item[0] : child->first[0];
    branch->count[i] = cor_btree_node_count(child);
}

static void set_entry(struct cor_btree_node *leaf, unsigned i, struct cor_btree_entry entry)
{
    leaf->item[i] = entry.item;
    leaf->fingerprint[i] = entry.fingerprint;
}

static struct cor_btree_node *take_spare(struct cor_btree *t, unsigned level)
{
    struct cor_btree_node *node = t->spare;

    t->spare = node->next;
    t->spares--;
    node->epoch = t->epoch;
    node->next = NULL;
    node->level = (uint8_t)level;
    return node;
}

static int add_spares(struct cor_btree *t, size_t want)
{
    while (t->spares < want) {
        struct cor_btree_node *node = cor_btree_node_new(t, 0, 0);

        if (!node)
            return -COR_ENOMEM;
        node->next = t->spare;
        t->spare = node;
        t->spares++;
    }
    return 0;
}

static size_t shared_nodes(const struct cor_btree_path *path, const struct cor_btree_snap *newest)
{
    size_t n = 0;

    for (unsigned l = 0; newest && l < path->height; l++)
        n += path->node[l]->epoch <= newest->epoch;
    return n;
}

/* From the root down: copies what the newest snapshot shows, claims the rest for this epoch. */
static void own_path_locked(struct cor_btree *t, struct cor_btree_path *path,
                            const struct cor_btree_snap *newest)
{
    for (unsigned l = path->height; l-- > 0;) {
        struct cor_btree_node *node = path->node[l], *copy;

        if (!newest || node->epoch > newest->epoch) {
            node->epoch = t->epoch;
            continue;
        }
        copy = take_spare(t, l);
        copy->n = node->n;
        move_slots(copy, 0, node, 0, node->n);
        path->node[l] = copy;
        if (l + 1 < path->height)
            path->node[l + 1]->child[path->at[l + 1]] = copy;
        else
            t->root = copy;
        cor_btree_retire_locked(t, node);
    }
}

int cor_btree_edit_begin(struct cor_btree *t, struct cor_btree_path *path, size_t spares,
                         struct cor_btree_node **ret_heir)
{
    struct cor_btree_snap *newest;

    /* A snapshot taken while the lock is open can make the need larger, hence the loop; it ends
     * when the whole path is shared, at the latest. */
    for (;;) {
        size_t need;
        int r;

        cor_lock_acquire(&t->lock);
        newest = cor_btree_newest_locked(t);
        need = spares + shared_nodes(path, newest);
        if (need <= t->spares)
            break;
        cor_lock_release(&t->lock);
        r = add_spares(t, need);
        if (r < 0)
            return r;
    }
    if (newest && newest->epoch == t->epoch)
        t->epoch++;
    own_path_locked(t, path, newest);
    *ret_heir = newest ? newest->root : NULL;
    return 0;
}

void cor_btree_edit_end(struct cor_btree *t)
{
    cor_lock_release(&t->lock);
}

size_t cor_btree_insert_spares(const struct cor_btree_path *path)
{
    unsigned l = 0;

    while (l < path->height && path->node[l]->n == node_max(path->node[l]))
        l++;
    return l == path->height ? l + 1 : l;
}

struct slot {
    struct cor_btree_node *node;
    unsigned i;
};

/* Opens the slot, cutting its node in two if it is full: the right half, if there is one, is the
 * result, and the slot may be in it. */
static struct cor_btree_node *make_room(struct cor_btree *t, struct slot *slot, bool append)
{
    struct cor_btree_node *node = slot->node, *right = NULL;

    if (node->n == node_max(node)) {
        unsigned cut = append ? node->n : node->n / 2;

        right = take_spare(t, node->level);
        right->n = (uint16_t)(node->n - cut);
        move_slots(right, 0, node, cut, right->n);
        node->n = (uint16_t)cut;
        if (slot->i >= cut)
            *slot = (struct slot){right, slot->i - cut};
    }
    open_slot(slot->node, slot->i);
    return right;
}

/* Is the path's place the end of the whole tree? */
static bool is_append(const struct cor_btree_path *path)
{
    for (unsigned l = 1; l < path->height; l++)
        if (path->at[l] + 1 < path->node[l]->n)
            return false;
    return path->at[0] == path->node[0]->n;
}

static void grow_root_locked(struct cor_btree *t, struct cor_btree_node *right)
{
    struct cor_btree_node *root = take_spare(t, t->root->level + 1u);

    assert(root->level < BTREE_HEIGHT_MAX);
    root->n = 2;
    cor_btree_set_child(root, 0, t->root);
    cor_btree_set_child(root, 1, right);
    t->root = root;
}

void cor_btree_insert_locked(struct cor_btree *t, struct cor_btree_path *path,
                             struct cor_btree_entry entry)
{
    struct cor_btree_node *right;
    struct slot slot;
    bool append;

    if (path->height == 0) {
        t->root = take_spare(t, 0);
        t->root->n = 1;
        set_entry(t->root, 0, entry);
        return;
    }
    append = is_append(path);
    slot = (struct slot){path->node[0], path->at[0]};
    right = make_room(t, &slot, append);
    set_entry(slot.node, slot.i, entry);
    for (unsigned l = 1; l < path->height; l++) {
        struct cor_btree_node *branch = path->node[l], *carried = right;

        cor_btree_set_child(branch, path->at[l], branch->child[path->at[l]]);
        if (!carried)
            continue;
        slot = (struct slot){branch, path->at[l] + 1};
        right = make_room(t, &slot, append);
        cor_btree_set_child(slot.node, slot.i, carried);
    }
    if (right)
        grow_root_locked(t, right);
}

static void refresh_path(struct cor_btree_path *path)
{
    for (unsigned l = 1; l < path->height; l++)
        cor_btree_set_child(path->node[l], path->at[l], path->node[l - 1]);
}

void *cor_btree_exchange_locked(struct cor_btree_path *path, struct cor_btree_entry entry)
{
    void *old = path->node[0]->item[path->at[0]];

    set_entry(path->node[0], path->at[0], entry);
    /* Separators are first items; a count never changes here. */
    if (path->at[0] == 0)
        refresh_path(path);
    return old;
}

static bool fit_together(const struct cor_btree_node *a, const struct cor_btree_node *b)
{
    return a->n + b->n <= node_max(a) * 3 / 4;
}

/* Takes in the neighbour at `i` of the branch, if there is one and it fits. */
static bool absorb_locked(struct cor_btree *t, struct cor_btree_node *branch, unsigned i,
                          struct cor_btree_node *node, bool from_left)
{
    struct cor_btree_node *other;

    if (i >= branch->n || !fit_together(node, branch->child[i]))
        return false;
    other = branch->child[i];
    if (from_left) {
        move_slots(node, other->n, node, 0, node->n);
        move_slots(node, 0, other, 0, other->n);
    } else {
        move_slots(node, node->n, other, 0, other->n);
    }
    node->n = (uint16_t)(node->n + other->n);
    close_slot(branch, i);
    cor_btree_retire_locked(t, other);
    return true;
}

/* The child at path->at of level `l` has lost a slot: removes it, joins it, or notes its state. */
static void settle_child_locked(struct cor_btree *t, struct cor_btree_path *path, unsigned l)
{
    struct cor_btree_node *branch = path->node[l], *child = path->node[l - 1];
    unsigned i = path->at[l];

    if (child->n == 0) {
        close_slot(branch, i);
        cor_btree_retire_locked(t, child);
        return;
    }
    if (child->n < node_max(child) / 2 && !absorb_locked(t, branch, i + 1, child, false) && i > 0 &&
        absorb_locked(t, branch, i - 1, child, true))
        i--;
    cor_btree_set_child(branch, i, child);
}

void *cor_btree_delete_locked(struct cor_btree *t, struct cor_btree_path *path)
{
    void *old = path->node[0]->item[path->at[0]];
    struct cor_btree_node *root;

    close_slot(path->node[0], path->at[0]);
    for (unsigned l = 1; l < path->height; l++)
        settle_child_locked(t, path, l);
    while ((root = t->root) && (root->n == 0 || (root->level > 0 && root->n == 1))) {
        t->root = root->n == 0 ? NULL : root->child[0];
        cor_btree_retire_locked(t, root);
    }
    return old;
}
