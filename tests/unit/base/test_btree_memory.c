/* What the tree costs, by the bytes that pass the allocator seam. */
#include "base/btree.h"
#include "btree_fixture.h"

#define MANY (SANITIZED ? 20000u : 100000u)

static size_t bytes_before;

/* From here on the tree's bytes are counted: the items stand in arrays that were there before. */
static struct cor_btree *new_tree(const struct cor_btree_type *type)
{
    bytes_before = test_live_bytes();
    return cor_btree_new(type);
}

static size_t tree_bytes(void)
{
    return test_live_bytes() - bytes_before;
}

static void count_ref(void *p)
{
    ((struct item *)p)->refs++;
}

static void count_unref(void *p)
{
    struct item *it = p;

    assert(it->refs > 0);
    it->refs--;
}

static const struct cor_btree_type static_type = {item_key, count_ref, count_unref};

static struct item *static_items(unsigned n, unsigned version)
{
    struct item *items = cor_alloc(n * sizeof(*items));

    assert_non_null(items);
    for (unsigned i = 0; i < n; i++) {
        items[i] = (struct item){ITEM_ALIVE, 0, i, version, 0, ""};
        items[i].key_n = (unsigned)snprintf(items[i].key, sizeof(items[i].key), "/k/%06u", i);
    }
    return items;
}

static void put(struct cor_btree *t, struct item *it)
{
    assert_int_equal(cor_btree_put(t, it, it->version, NULL), 0);
}

static void check_cost(const struct cor_btree *t, double max_per_entry)
{
    double per_entry = (double)tree_bytes() / MANY;

    assert_int_equal(cor_btree_count(cor_btree_live(t)), MANY);
    if (per_entry > max_per_entry)
        fail_msg("%.1f bytes per entry, more than %.1f", per_entry, max_per_entry);
}

TEST(btree_memory, a_hundred_thousand_entries_cost_under_32_bytes_each)
{
    struct item *items = static_items(MANY, 1);
    unsigned *order = cor_alloc(MANY * sizeof(*order));
    struct cor_btree_entry *entries = cor_alloc(MANY * sizeof(*entries));
    struct cor_btree *t;

    t = new_tree(&static_type);
    for (unsigned i = 0; i < MANY; i++)
        put(t, &items[i]);
    check_cost(t, 18);

    cor_btree_clear(t);
    cor_btree_reclaim(t, SIZE_MAX);
    for (unsigned i = 0; i < MANY; i++)
        order[i] = i;
    for (unsigned i = MANY - 1; i > 0; i--) {
        unsigned j = (unsigned)(test_random() % (i + 1)), swap = order[i];

        order[i] = order[j];
        order[j] = swap;
    }
    for (unsigned i = 0; i < MANY; i++)
        put(t, &items[order[i]]);
    check_cost(t, 32);

    cor_btree_clear(t);
    cor_btree_reclaim(t, SIZE_MAX);
    for (unsigned i = 0; i < MANY; i++)
        put(t, &items[MANY - 1 - i]);
    check_cost(t, 40);

    for (unsigned i = 0; i < MANY; i++)
        entries[i] = (struct cor_btree_entry){&items[i], 0};
    assert_int_equal(cor_btree_replace(t, entries, MANY), 0);
    cor_btree_reclaim(t, SIZE_MAX);
    check_cost(t, 18);

    cor_btree_free(t);
    assert_int_equal(tree_bytes(), 0);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(items[i].refs, 0);
    cor_free(entries);
    cor_free(order);
    cor_free(items);
}

TEST(btree_memory, keys_that_descend_towards_a_full_node_cost_no_more)
{
    struct item *items = static_items(MANY, 1);
    struct cor_btree *t;

    t = new_tree(&static_type);
    for (unsigned i = 0; i < 10 * BTREE_LEAF_MAX; i++)
        put(t, &items[i]);
    for (unsigned i = MANY - 1; i >= 10 * BTREE_LEAF_MAX; i--)
        put(t, &items[i]);
    check_cost(t, 40);
    cor_btree_free(t);
    cor_free(items);
}

TEST(btree_memory, entries_left_by_random_removal_cost_under_120_bytes_each)
{
    struct item *items = static_items(MANY, 1);
    struct cor_btree *t;

    t = new_tree(&static_type);
    for (unsigned i = 0; i < MANY; i++)
        put(t, &items[i]);
    for (unsigned left = MANY; left > MANY / 20;) {
        struct item *it = &items[test_random() % MANY];

        if (cor_btree_remove(t, item_key(it), NULL) == 0)
            left--;
    }
    assert_true(tree_bytes() / (MANY / 20) < 120);
    cor_btree_free(t);
    assert_int_equal(tree_bytes(), 0);
    cor_free(items);
}

TEST(btree_memory, a_snapshot_outlasts_a_million_changes_and_gives_its_memory_back)
{
    const unsigned n = 20000, changes = SANITIZED ? 100000 : 1000000;
    struct item *first = static_items(n, 1), *later = static_items(n, 2);
    struct cor_btree_snap *s, *late = NULL;
    struct cor_btree_iter it;
    struct cor_btree *t;
    unsigned seen = 0;

    t = new_tree(&static_type);
    for (unsigned i = 0; i < n; i++)
        put(t, &first[i]);
    assert_int_equal(cor_btree_snapshot(t, &s), 0);

    for (unsigned i = 0; i < changes; i++) {
        unsigned k = (unsigned)(test_random() % n);

        if (i % 3 == 0)
            (void)cor_btree_remove(t, item_key(&later[k]), NULL);
        else
            put(t, &later[k]);
        if (i % 1000 == 0) {
            cor_btree_snap_unref(late);
            assert_int_equal(cor_btree_snapshot(t, &late), 0);
            cor_btree_reclaim(t, 1000);
        }
    }
    cor_btree_snap_unref(late);
    cor_btree_reclaim(t, SIZE_MAX);
    /* What is held is the old state and the live tree, however many states lay between. */
    assert_true(tree_bytes() < n * 80);

    cor_btree_iter_prefix(&it, cor_btree_snap_view(s), COR_STR("/k/"));
    for (; cor_btree_iter_next(&it); seen++) {
        assert_ptr_equal(it.entry.item, &first[seen]);
        assert_int_equal(it.entry.fingerprint, 1);
        assert_true(first[seen].refs == 1);
    }
    assert_int_equal(seen, n);

    cor_btree_snap_unref(s);
    assert_false(cor_btree_reclaim(t, SIZE_MAX));
    check_no_waste(t);
    assert_true(tree_bytes() < n * 45);
    for (unsigned i = 0; i < n; i++)
        assert_true(first[i].refs + later[i].refs <= 1);
    cor_btree_free(t);
    assert_int_equal(tree_bytes(), 0);
    cor_free(first);
    cor_free(later);
}
