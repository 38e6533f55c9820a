/* What the files of the B-tree share: the node, the tree, and the steps of a change. */
#ifndef COR_BASE_BTREE_INT_H
#define COR_BASE_BTREE_INT_H

#include <assert.h>

#include "base/btree.h"
#include "base/dlist.h"
#include "base/lock.h"

#define BTREE_NODE_BYTES 1024
#define BTREE_LEAF_MAX   62
#define BTREE_BRANCH_MAX 41
/* A node has at least 10 slots in use on average (see btree.md): 10^12 entries fit. */
#define BTREE_HEIGHT_MAX 12

/* One version of a node. Readers of a snapshot look at n, level and the arrays, which never change
 * while a snapshot shows the node; the other fields are the writer's at all times. */
struct cor_btree_node {
    uint64_t epoch;              /* of its last edit: shown by every snapshot from that epoch on */
    struct cor_btree_node *next; /* in a cor_btree_nodes, or among the spares */
    uint64_t doomed;             /* of a dead leaf: bit i, the leaf owns a reference to item[i] */
    uint16_t n;
    uint8_t level; /* 0: a leaf */
    bool whole;    /* dead, and with it everything below */
    union {
        struct {
            void *item[BTREE_LEAF_MAX];
            uint64_t fingerprint[BTREE_LEAF_MAX];
        };
        struct {
            void *first[BTREE_BRANCH_MAX]; /* the first item below: the separator */
            struct cor_btree_node *child[BTREE_BRANCH_MAX];
            size_t count[BTREE_BRANCH_MAX]; /* entries below */
        };
    };
};

static_assert(sizeof(struct cor_btree_node) == BTREE_NODE_BYTES, "one size for leaf and branch");
static_assert(BTREE_LEAF_MAX <= 64, "doomed has a bit for each item");

/* Dead nodes in a row. */
struct cor_btree_nodes {
    struct cor_btree_node *head, *tail;
};

struct cor_btree_snap {
    struct cor_btree *tree;
    struct cor_btree_node *root;
    uint64_t epoch;
    size_t refs;                     /* lock */
    struct cor_dlist link;           /* lock; in tree->snaps */
    struct cor_dlist work;           /* lock; in tree->work while `unsorted` holds something */
    struct cor_btree_nodes held;     /* lock; shown here, and by no younger snapshot or the tree */
    struct cor_btree_nodes unsorted; /* lock; as held, if shown here: nobody has looked yet */
};

struct cor_btree {
    const struct cor_btree_type *type;
    struct cor_btree_node *root;  /* changed under the lock */
    uint64_t epoch;               /* changed under the lock; no snapshot has a later one */
    struct cor_btree_node *spare; /* writer; taken before a change so that it cannot fail */
    size_t spares;                /* writer */
    size_t nodes;                 /* writer; all there are, spares too */
    struct cor_lock lock;
    struct cor_dlist snaps;         /* lock; oldest first */
    struct cor_dlist work;          /* lock; snapshots with unsorted nodes */
    size_t nsnaps;                  /* lock */
    struct cor_btree_nodes garbage; /* lock; shown by nobody */
};

/* From the root to a place in a leaf, by level. */
struct cor_btree_path {
    struct cor_btree_node *node[BTREE_HEIGHT_MAX];
    unsigned at[BTREE_HEIGHT_MAX];
    unsigned height; /* 0: the tree is empty */
};

/* btree_view.c */

/* True when `key` is there; otherwise the path leads to where it belongs. */
bool cor_btree_path_find(struct cor_btree_path *path, const struct cor_btree_type *type,
                         struct cor_btree_node *root, struct cor_str key);
size_t cor_btree_node_count(const struct cor_btree_node *node);

/* btree_snap.c */

struct cor_btree_node *cor_btree_node_new(struct cor_btree *t, unsigned level, uint64_t epoch);
struct cor_btree_node *cor_btree_node_free(struct cor_btree *t, struct cor_btree_node *node);
struct cor_btree_snap *cor_btree_newest_locked(const struct cor_btree *t);

/* The node left the tree and its content did not: frees it, unless a snapshot shows it. */
void cor_btree_retire_locked(struct cor_btree *t, struct cor_btree_node *node);

/* The tree becomes `root`; all that was in it is left to reclaim. */
void cor_btree_swap_root(struct cor_btree *t, struct cor_btree_node *root);

/* An item left the state after `heir` (NULL: there is no older state): its reference goes to the
 * leaf of `heir` that shows it. False when none does, and the reference is the caller's. */
bool cor_btree_bequeath(const struct cor_btree_type *type, struct cor_btree_node *heir,
                        const void *item);

/* btree_edit.c */

/* Puts a child in slot `i`, with the separator and the count that belong to it. */
void cor_btree_set_child(struct cor_btree_node *branch, unsigned i, struct cor_btree_node *child);

/* Takes the lock with every node of the path the writer's own, to be edited in place, and with
 * `spares` more at hand. `ret_heir` is the root of the newest snapshot or NULL. 0, or -COR_ENOMEM,
 * without the lock and with nothing changed. */
int cor_btree_edit_begin(struct cor_btree *t, struct cor_btree_path *path, size_t spares,
                         struct cor_btree_node **ret_heir);
void cor_btree_edit_end(struct cor_btree *t);

/* New nodes that an insertion at the path's place takes. */
size_t cor_btree_insert_spares(const struct cor_btree_path *path);
void cor_btree_insert_locked(struct cor_btree *t, struct cor_btree_path *path,
                             struct cor_btree_entry entry);
void *cor_btree_exchange_locked(struct cor_btree_path *path, struct cor_btree_entry entry);
void *cor_btree_delete_locked(struct cor_btree *t, struct cor_btree_path *path);

/* btree_build.c */

/* Nodes for sorted entries, all of `epoch`; no item is referenced. 0, -COR_ENOMEM. */
int cor_btree_build(struct cor_btree *t, const struct cor_btree_entry *entries, size_t n,
                    uint64_t epoch, struct cor_btree_node **ret_root);
/* Frees nodes that are in no tree; what they hold is not touched. */
void cor_btree_free_subtree(struct cor_btree *t, struct cor_btree_node *node);

#endif
