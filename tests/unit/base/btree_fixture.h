/* What the tests of the B-tree share: an item that counts the living, a sorted array to compare
 * with, and the check of everything that must hold inside the tree. */
#ifndef BTREE_FIXTURE_H
#define BTREE_FIXTURE_H

#include "test.h"

#include <stdio.h>

#include "base/btree_int.h"
#include "base/err.h"
#include "base/mem.h"

#define ITEM_ALIVE 0x600d

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

struct item {
    unsigned alive, refs, number, version, key_n;
    char key[20];
};

static size_t items_alive; /* the writer's thread makes and drops them */

/* One reference, the caller's. Keys are of several lengths, and one may begin with another. */
static inline struct item *item_new(unsigned number, unsigned version)
{
    struct item *it = cor_alloc(sizeof(*it));

    assert_non_null(it);
    *it = (struct item){.alive = ITEM_ALIVE, .refs = 1, .number = number, .version = version};
    it->key_n = (unsigned)snprintf(it->key, sizeof(it->key), "/k/%x", number);
    items_alive++;
    return it;
}

static inline struct cor_str item_key(const void *p)
{
    const struct item *it = p;

    return cor_str(it->key, it->key_n);
}

static inline void item_ref(void *p)
{
    struct item *it = p;

    assert(it->alive == ITEM_ALIVE);
    it->refs++;
}

static inline void item_unref(void *p)
{
    struct item *it = p;

    assert(it->alive == ITEM_ALIVE && it->refs > 0);
    if (--it->refs > 0)
        return;
    it->alive = 0;
    items_alive--;
    cor_free(it);
}

static const struct cor_btree_type item_type = {item_key, item_ref, item_unref};

/* The numbers whose keys are tried, in key order, so that the model needs no comparison of its
 * own: the model is indexed by place in this order. */
struct model_entry {
    unsigned version; /* 0: absent */
    uint64_t fingerprint;
};

struct keyspace {
    size_t n;
    struct item **by_place; /* one item per key, in key order */
    unsigned *place;        /* by number */
};

static inline int compare_items(const void *a, const void *b)
{
    const struct item *x = *(struct item *const *)a, *y = *(struct item *const *)b;

    return strcmp(x->key, y->key);
}

static inline struct keyspace keyspace_new(size_t n)
{
    struct keyspace ks = {n, cor_calloc(n, sizeof(struct item *)), cor_calloc(n, sizeof(unsigned))};

    for (unsigned i = 0; i < n; i++)
        ks.by_place[i] = item_new(i, 0);
    qsort(ks.by_place, n, sizeof(ks.by_place[0]), compare_items);
    for (unsigned i = 0; i < n; i++)
        ks.place[ks.by_place[i]->number] = i;
    return ks;
}

static inline void keyspace_free(struct keyspace *ks)
{
    for (size_t i = 0; i < ks->n; i++)
        item_unref(ks->by_place[i]);
    cor_free(ks->by_place);
    cor_free(ks->place);
}

static inline struct cor_str keyspace_key(const struct keyspace *ks, size_t place)
{
    return item_key(ks->by_place[place]);
}

/* What must hold in a subtree of the live tree, and how many nodes it has. */
static inline size_t check_subtree(const struct cor_btree_node *node)
{
    size_t nodes = 1;

    assert_true(node->n >= 1);
    assert_false(node->whole);
    assert_true(node->level > 0 || node->doomed == 0);
    if (node->level == 0) {
        assert_true(node->n <= BTREE_LEAF_MAX);
        for (unsigned i = 0; i < node->n; i++)
            assert_int_equal(((struct item *)node->item[i])->alive, ITEM_ALIVE);
        for (unsigned i = 1; i < node->n; i++)
            assert_true(cor_str_cmp(item_key(node->item[i - 1]), item_key(node->item[i])) < 0);
        return 1;
    }
    assert_true(node->n <= BTREE_BRANCH_MAX);
    for (unsigned i = 0; i < node->n; i++) {
        const struct cor_btree_node *child = node->child[i];

        assert_int_equal(child->level + 1, node->level);
        assert_true(child->epoch <= node->epoch);
        assert_int_equal(node->count[i], cor_btree_node_count(child));
        assert_ptr_equal(node->first[i], child->level ? child->first[0] : child->item[0]);
        nodes += check_subtree(child);
    }
    return nodes;
}

/* Returns how many nodes the live tree needs. */
static inline size_t check_tree(const struct cor_btree *t)
{
    struct cor_btree_iter it;
    struct cor_str last = {NULL, 0};
    size_t n = 0;

    assert_true(!t->root || t->root->level == 0 || t->root->n > 1);
    cor_btree_iter_range(&it, cor_btree_live(t), COR_STR(""), (struct cor_str){NULL, 0});
    for (; cor_btree_iter_next(&it); n++) {
        assert_true(!last.p || cor_str_cmp(last, item_key(it.entry.item)) < 0);
        last = item_key(it.entry.item);
    }
    assert_int_equal(n, cor_btree_count(cor_btree_live(t)));
    return t->root ? check_subtree(t->root) : 0;
}

/* Nothing dead is left: the tree has the nodes it needs and its spares. */
static inline void check_no_waste(const struct cor_btree *t)
{
    assert_int_equal(t->nodes, check_tree(t) + t->spares);
    assert_true(t->spares <= 2 * BTREE_HEIGHT_MAX);
}

/* The view shows exactly what the model has. */
static inline void check_view(struct cor_btree_view v, const struct keyspace *ks,
                              const struct model_entry *model)
{
    struct cor_btree_iter it;

    cor_btree_iter_range(&it, v, COR_STR(""), (struct cor_str){NULL, 0});
    for (size_t i = 0; i < ks->n; i++) {
        const struct item *item;

        if (model[i].version == 0)
            continue;
        assert_true(cor_btree_iter_next(&it));
        item = it.entry.item;
        assert_int_equal(item->alive, ITEM_ALIVE);
        assert_int_equal(item->number, ks->by_place[i]->number);
        assert_int_equal(item->version, model[i].version);
        assert_int_equal(it.entry.fingerprint, model[i].fingerprint);
    }
    assert_false(cor_btree_iter_next(&it));
}

#endif
