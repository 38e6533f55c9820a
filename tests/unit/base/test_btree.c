#include "base/btree.h"
#include "btree_fixture.h"

static void put(struct cor_btree *t, unsigned number, unsigned version, uint64_t fingerprint)
{
    struct item *it = item_new(number, version);

    assert_int_equal(cor_btree_put(t, it, fingerprint, NULL), 0);
    item_unref(it);
}

static struct cor_str key_of(unsigned number)
{
    static char text[20];

    return cor_str(text, (size_t)snprintf(text, sizeof(text), "/k/%x", number));
}

static unsigned version_of(struct cor_btree_view v, unsigned number)
{
    struct cor_btree_entry e;

    return cor_btree_peek(v, key_of(number), &e) ? ((struct item *)e.item)->version : 0;
}

/* Numbers [from, from + n) at version 1, keys of one length, by replace: every node full. */
static void fill(struct cor_btree *t, unsigned from, size_t n)
{
    struct cor_btree_entry *entries = cor_calloc(n, sizeof(*entries));

    for (unsigned i = 0; i < n; i++)
        entries[i] = (struct cor_btree_entry){item_new(from + i, 1), i};
    assert_int_equal(cor_btree_replace(t, entries, n), 0);
    for (unsigned i = 0; i < n; i++)
        item_unref(entries[i].item);
    cor_free(entries);
}

TEST(btree, is_empty_at_first)
{
    struct cor_btree *t = cor_btree_new(&item_type);
    struct cor_btree_view v = cor_btree_live(t);
    struct cor_btree_iter it;
    struct cor_btree_entry e;

    assert_int_equal(cor_btree_count(v), 0);
    assert_int_equal(cor_btree_bytes(t), 0);
    assert_false(cor_btree_peek(v, COR_STR("a"), &e));
    assert_false(cor_btree_peek_nth(v, 0, &e));
    assert_int_equal(cor_btree_rank(v, COR_STR("a")), 0);
    cor_btree_iter_prefix(&it, v, COR_STR(""));
    assert_false(cor_btree_iter_next(&it));
    assert_int_equal(cor_btree_remove(t, COR_STR("a"), NULL), -COR_ENOTFOUND);
    cor_btree_clear(t);
    assert_false(cor_btree_reclaim(t, 1));
    cor_btree_free(t);
    assert_null(cor_btree_free(NULL));
}

TEST(btree, put_hands_the_previous_item_to_the_caller)
{
    struct cor_btree *t = cor_btree_new(&item_type);
    struct item *a = item_new(1, 1), *b = item_new(1, 2);
    void *old = a;

    assert_int_equal(cor_btree_put(t, a, 5, &old), 0);
    assert_null(old);
    assert_int_equal(a->refs, 2);
    assert_int_equal(cor_btree_put(t, b, 6, &old), 0);
    assert_ptr_equal(old, a);
    item_unref(old);
    assert_int_equal(a->refs, 1);
    assert_int_equal(cor_btree_remove(t, item_key(b), &old), 0);
    assert_ptr_equal(old, b);
    item_unref(old);
    assert_int_equal(b->refs, 1);
    item_unref(a);
    item_unref(b);
    cor_btree_free(t);
}

TEST(btree, an_item_put_again_over_itself_keeps_one_reference)
{
    struct cor_btree *t = cor_btree_new(&item_type);
    struct item *a = item_new(1, 1);
    struct cor_btree_snap *s;
    struct cor_btree_entry e;

    assert_int_equal(cor_btree_put(t, a, 1, NULL), 0);
    assert_int_equal(cor_btree_put(t, a, 2, NULL), 0);
    assert_int_equal(a->refs, 2);
    assert_int_equal(cor_btree_snapshot(t, &s), 0);
    /* Leaves and comes back under a snapshot, again and again. */
    for (int i = 0; i < 5; i++) {
        assert_int_equal(cor_btree_put(t, a, 3, NULL), 0);
        assert_int_equal(cor_btree_remove(t, item_key(a), NULL), 0);
        assert_int_equal(cor_btree_put(t, a, 4, NULL), 0);
    }
    assert_int_equal(a->refs, 3);
    assert_true(cor_btree_peek(cor_btree_snap_view(s), item_key(a), &e));
    assert_int_equal(e.fingerprint, 2);
    cor_btree_snap_unref(s);
    assert_false(cor_btree_reclaim(t, 100));
    assert_int_equal(a->refs, 2);
    cor_btree_free(t);
    assert_int_equal(a->refs, 1);
    item_unref(a);
}

TEST(btree, without_a_snapshot_nothing_is_copied)
{
    struct cor_btree *t = cor_btree_new(&item_type);
    struct cor_btree_snap *s;
    size_t before;

    fill(t, 0x1000, 3000);
    /* A snapshot that has come and gone makes no copies either. */
    put(t, 0x1234, 2, 0);
    assert_int_equal(cor_btree_snapshot(t, &s), 0);
    put(t, 0x1234, 3, 0);
    cor_btree_snap_unref(s);
    cor_btree_reclaim(t, SIZE_MAX);
    before = test_live_allocs();
    test_fail_alloc(1, true);
    for (unsigned i = 0; i < 3000; i++) {
        struct cor_btree_entry e;

        assert_true(cor_btree_peek(cor_btree_live(t), key_of(0x1000 + i), &e));
        assert_int_equal(cor_btree_put(t, e.item, ~(uint64_t)i, NULL), 0);
    }
    test_fail_alloc(0, false);
    assert_int_equal(test_live_allocs(), before);
    cor_btree_free(t);
}

TEST(btree, a_snapshot_copies_only_the_path_of_a_change)
{
    struct cor_btree *t = cor_btree_new(&item_type);
    struct cor_btree_snap *s;
    size_t before;

    fill(t, 0x1000, 2000);
    before = cor_btree_bytes(t);
    assert_int_equal(cor_btree_snapshot(t, &s), 0);
    put(t, 0x1234, 2, 0);
    assert_int_equal(cor_btree_bytes(t), before + 2 * BTREE_NODE_BYTES);
    put(t, 0x1234, 3, 0);
    assert_int_equal(cor_btree_bytes(t), before + 2 * BTREE_NODE_BYTES);
    assert_int_equal(version_of(cor_btree_snap_view(s), 0x1234), 1);
    assert_int_equal(version_of(cor_btree_live(t), 0x1234), 3);
    cor_btree_snap_unref(s);
    cor_btree_reclaim(t, SIZE_MAX);
    assert_int_equal(cor_btree_bytes(t), before);
    cor_btree_free(t);
}

TEST(btree, nodes_of_a_replace_are_not_shared_with_an_older_snapshot)
{
    struct cor_btree *t = cor_btree_new(&item_type);
    struct cor_btree_snap *s;
    size_t before;

    fill(t, 0x1000, 2000);
    assert_int_equal(cor_btree_snapshot(t, &s), 0);
    fill(t, 0x1000, 2000);
    before = cor_btree_bytes(t);
    put(t, 0x1234, 2, 0);
    assert_int_equal(cor_btree_bytes(t), before);
    assert_int_equal(version_of(cor_btree_snap_view(s), 0x1234), 1);
    cor_btree_snap_unref(s);
    cor_btree_free(t);
}

TEST(btree, a_node_edited_in_place_joins_the_epoch_of_its_new_children)
{
    struct cor_btree *t = cor_btree_new(&item_type);
    struct cor_btree_snap *s;

    fill(t, 0x1000, BTREE_LEAF_MAX * (BTREE_BRANCH_MAX + 1));
    assert_int_equal(t->root->level, 2);
    assert_int_equal(cor_btree_snapshot(t, &s), 0);
    put(t, 0x1000, 2, 0);
    cor_btree_snap_unref(s);
    /* The second branch is of the epoch before; a full leaf below it is cut. */
    put(t, 0x19000, 1, 0);
    check_tree(t);
    cor_btree_free(t);
}

TEST(btree, snapshots_of_one_state_are_one)
{
    struct cor_btree *t = cor_btree_new(&item_type);
    struct cor_btree_snap *a, *b, *c;

    put(t, 1, 1, 0);
    assert_int_equal(cor_btree_snapshot(t, &a), 0);
    assert_int_equal(cor_btree_snapshot(t, &b), 0);
    assert_ptr_equal(a, b);
    assert_int_equal(cor_btree_snapshots(t), 1);
    put(t, 1, 2, 0);
    assert_int_equal(cor_btree_snapshot(t, &c), 0);
    assert_ptr_not_equal(a, c);
    cor_btree_snap_unref(b);
    assert_int_equal(cor_btree_snapshots(t), 2);
    assert_int_equal(version_of(cor_btree_snap_view(a), 1), 1);
    b = cor_btree_snap_ref(a);
    cor_btree_snap_unref(a);
    assert_int_equal(version_of(cor_btree_snap_view(b), 1), 1);
    cor_btree_snap_unref(b);
    cor_btree_snap_unref(c);
    assert_int_equal(cor_btree_snapshots(t), 0);
    cor_btree_free(t);
}

TEST(btree, a_dropped_item_lives_as_long_as_the_last_snapshot_that_shows_it)
{
    struct cor_btree *t = cor_btree_new(&item_type);
    struct item *a = item_new(7, 1), *b = item_new(7, 2);
    struct cor_btree_snap *s[4];

    /* Snapshot 0 lacks a; 1 and 2 show it in two versions of the leaf; 3 shows b. */
    put(t, 1, 1, 0);
    assert_int_equal(cor_btree_snapshot(t, &s[0]), 0);
    assert_int_equal(cor_btree_put(t, a, 0, NULL), 0);
    assert_int_equal(cor_btree_snapshot(t, &s[1]), 0);
    put(t, 1, 2, 0);
    assert_int_equal(cor_btree_snapshot(t, &s[2]), 0);
    assert_int_equal(cor_btree_put(t, b, 0, NULL), 0);
    assert_int_equal(cor_btree_snapshot(t, &s[3]), 0);
    assert_int_equal(a->refs, 2);

    cor_btree_snap_unref(s[2]);
    cor_btree_reclaim(t, SIZE_MAX);
    assert_int_equal(a->refs, 2);
    cor_btree_snap_unref(s[1]);
    assert_int_equal(a->refs, 2);
    cor_btree_reclaim(t, SIZE_MAX);
    assert_int_equal(a->refs, 1);
    assert_int_equal(b->refs, 2);
    cor_btree_snap_unref(s[0]);
    cor_btree_snap_unref(s[3]);
    cor_btree_reclaim(t, SIZE_MAX);
    check_no_waste(t);
    item_unref(a);
    item_unref(b);
    cor_btree_free(t);
}

TEST(btree, an_item_that_no_snapshot_shows_is_dropped_at_once)
{
    struct cor_btree *t = cor_btree_new(&item_type);
    struct cor_btree_snap *s;
    struct item *a;

    put(t, 1, 1, 0);
    assert_int_equal(cor_btree_snapshot(t, &s), 0);
    a = item_new(1, 2);
    assert_int_equal(cor_btree_put(t, a, 0, NULL), 0);
    assert_int_equal(cor_btree_remove(t, item_key(a), NULL), 0);
    assert_int_equal(a->refs, 1);
    item_unref(a);
    cor_btree_snap_unref(s);
    cor_btree_free(t);
}

TEST(btree, release_frees_no_node_and_reclaim_keeps_to_its_bound)
{
    struct cor_btree *t = cor_btree_new(&item_type);
    struct cor_btree_snap *s;
    size_t bytes, steps = 0, alive;

    fill(t, 0x1000, 5000);
    assert_int_equal(cor_btree_snapshot(t, &s), 0);
    cor_btree_clear(t);
    assert_int_equal(cor_btree_count(cor_btree_live(t)), 0);
    while (cor_btree_reclaim(t, 1))
        ;
    assert_int_equal(cor_btree_count(cor_btree_snap_view(s)), 5000);
    bytes = cor_btree_bytes(t);
    alive = items_alive;
    cor_btree_snap_unref(s);
    assert_int_equal(cor_btree_bytes(t), bytes);
    assert_int_equal(items_alive, alive);
    for (bool more = true; more; steps++) {
        more = cor_btree_reclaim(t, 3);
        assert_true(bytes - cor_btree_bytes(t) <= 3 * BTREE_NODE_BYTES);
        assert_true(alive - items_alive <= 3 * BTREE_LEAF_MAX);
        bytes = cor_btree_bytes(t);
        alive = items_alive;
    }
    assert_true(steps > 20);
    assert_int_equal(bytes, 0);
    assert_int_equal(items_alive, 0);
    cor_btree_free(t);
}

TEST(btree, replace_refuses_keys_out_of_order)
{
    struct cor_btree *t = cor_btree_new(&item_type);
    struct item *a = item_new(1, 1), *b = item_new(2, 1);
    struct cor_btree_entry falling[] = {{b, 0}, {a, 0}}, twice[] = {{a, 0}, {a, 0}};

    put(t, 3, 1, 0);
    assert_int_equal(cor_btree_replace(t, falling, 2), -COR_EINVAL);
    assert_int_equal(cor_btree_replace(t, twice, 2), -COR_EINVAL);
    assert_int_equal(version_of(cor_btree_live(t), 3), 1);
    item_unref(a);
    item_unref(b);
    cor_btree_free(t);
}

TEST(btree, replace_with_the_items_that_are_there_keeps_their_references_right)
{
    struct cor_btree *t = cor_btree_new(&item_type);
    struct cor_btree_entry entries[200];
    struct cor_btree_snap *s;

    for (unsigned i = 0; i < 200; i++)
        entries[i] = (struct cor_btree_entry){item_new(0x100 + i, 1), i};
    assert_int_equal(cor_btree_replace(t, entries, 200), 0);
    assert_int_equal(cor_btree_snapshot(t, &s), 0);
    assert_int_equal(cor_btree_replace(t, entries, 200), 0);
    /* The old leaf has not been looked at yet when its item leaves a second time. */
    assert_int_equal(cor_btree_remove(t, key_of(0x107), NULL), 0);
    cor_btree_reclaim(t, SIZE_MAX);
    assert_int_equal(cor_btree_count(cor_btree_snap_view(s)), 200);
    cor_btree_snap_unref(s);
    cor_btree_reclaim(t, SIZE_MAX);
    check_no_waste(t);
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(((struct item *)entries[i].item)->refs, i == 7 ? 1 : 2);
    cor_btree_free(t);
    for (unsigned i = 0; i < 200; i++)
        item_unref(entries[i].item);
}

TEST(btree, iterates_a_range_and_counts_it)
{
    struct cor_btree *t = cor_btree_new(&item_type);
    struct cor_btree_view v;
    struct cor_btree_iter it;
    unsigned n = 0;

    fill(t, 0x1000, 0x1000);
    v = cor_btree_live(t);
    cor_btree_iter_range(&it, v, COR_STR("/k/1100"), COR_STR("/k/1200"));
    assert_int_equal(cor_btree_iter_remaining(&it), 0x100);
    while (cor_btree_iter_next(&it))
        assert_int_equal(((struct item *)it.entry.item)->number, 0x1100 + n++);
    assert_int_equal(n, 0x100);

    cor_btree_iter_prefix(&it, v, COR_STR("/k/12"));
    assert_int_equal(cor_btree_iter_remaining(&it), 0x100);
    cor_btree_iter_seek(&it, COR_STR("/k/12f0"));
    assert_int_equal(cor_btree_iter_remaining(&it), 0x10);
    assert_true(cor_btree_iter_next(&it));
    assert_int_equal(((struct item *)it.entry.item)->number, 0x12f0);
    cor_btree_iter_seek(&it, COR_STR("/k/3"));
    assert_false(cor_btree_iter_next(&it));
    cor_btree_iter_seek_rank(&it, 0);
    assert_true(cor_btree_iter_next(&it));
    assert_int_equal(((struct item *)it.entry.item)->number, 0x1200);

    cor_btree_iter_range(&it, v, COR_STR("/k/1200"), COR_STR("/k/1100"));
    assert_false(cor_btree_iter_next(&it));
    assert_int_equal(cor_btree_iter_remaining(&it), 0);
    cor_btree_free(t);
}

TEST(btree, a_prefix_of_the_highest_bytes_has_an_end)
{
    struct cor_btree *t = cor_btree_new(&item_type);
    struct item *it = item_new(1, 1), *last = item_new(2, 1);
    struct cor_btree_view v;

    it->key_n = 3;
    memcpy(it->key, "\xff\xff\x01", 3);
    last->key_n = 4;
    memcpy(last->key, "\xff\xff\xff\xff", 4);
    assert_int_equal(cor_btree_put(t, it, 0, NULL), 0);
    assert_int_equal(cor_btree_put(t, last, 0, NULL), 0);
    v = cor_btree_live(t);
    assert_int_equal(cor_btree_rank_past(v, COR_STR("\xff\xff")), 2);
    assert_int_equal(cor_btree_rank_past(v, COR_STR("\xff\xff\x01")), 1);
    assert_int_equal(cor_btree_rank_past(v, COR_STR("\xff\xff\xff\xff\xff")), 2);
    assert_int_equal(cor_btree_rank(v, COR_STR("\xff\xff\xff")), 1);
    item_unref(it);
    item_unref(last);
    cor_btree_free(t);
}

static struct cor_str refuse_to_look(const void *item)
{
    fail_msg("the item was touched");
    return item_key(item);
}

TEST(btree, skips_by_fingerprint_without_touching_items)
{
    static const struct cor_btree_type blind = {refuse_to_look, item_ref, item_unref};
    struct cor_btree *t = cor_btree_new(&item_type);
    struct cor_btree_iter it;
    unsigned expected = 0;

    fill(t, 0x1000, 3000);
    cor_btree_iter_prefix(&it, cor_btree_live(t), COR_STR("/k/1"));
    it.type = &blind;
    while (cor_btree_iter_next_covering(&it, 0x41)) {
        while ((expected & 0x41) != 0x41)
            expected++;
        assert_int_equal(it.entry.fingerprint, expected);
        expected++;
    }
    while (expected < 3000)
        assert_true((expected++ & 0x41) != 0x41);
    assert_int_equal(cor_btree_iter_remaining(&it), 0);
    cor_btree_free(t);
}

TEST(btree, creation_survives_lack_of_memory)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_btree *t = cor_btree_new(&item_type);
        struct cor_btree_snap *s = NULL;

        assert_int_equal(t == NULL, test_alloc_failed());
        if (t) {
            int r = cor_btree_snapshot(t, &s);

            assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        }
        cor_btree_snap_unref(s);
        cor_btree_free(t);
    }
}

/* A tree in which every node is full, and a snapshot that shares all of it: an insertion copies two
 * nodes, cuts both, and makes a root. */
struct full {
    struct keyspace ks;
    struct model_entry *model;
    struct cor_btree *t;
    struct cor_btree_snap *s;
};

static struct full full_new(void)
{
    size_t n = BTREE_LEAF_MAX * BTREE_BRANCH_MAX;
    struct full f = {.ks = keyspace_new(n + 1), .t = cor_btree_new(&item_type)};
    struct cor_btree_entry *entries = cor_calloc(n, sizeof(*entries));
    size_t filled = 0;

    f.model = cor_calloc(n + 1, sizeof(*f.model));
    for (size_t i = 0; i < n + 1; i++) {
        if (i == n / 2)
            continue;
        entries[filled++] = (struct cor_btree_entry){item_new(f.ks.by_place[i]->number, 1), i};
        f.model[i] = (struct model_entry){1, i};
    }
    assert_int_equal(cor_btree_replace(f.t, entries, n), 0);
    for (size_t i = 0; i < n; i++)
        item_unref(entries[i].item);
    cor_free(entries);
    assert_int_equal(cor_btree_snapshot(f.t, &f.s), 0);
    return f;
}

static void full_free(struct full *f)
{
    cor_btree_snap_unref(f->s);
    cor_btree_reclaim(f->t, SIZE_MAX);
    check_no_waste(f->t);
    cor_btree_free(f->t);
    keyspace_free(&f->ks);
    cor_free(f->model);
    assert_int_equal(items_alive, 0);
}

TEST(btree, a_put_without_memory_changes_nothing)
{
    size_t failures = 0;

    FOR_EACH_FAILED_ALLOC(n) {
        test_fail_alloc(0, false);
        struct full f = full_new();
        size_t hole = f.ks.n / 2;
        struct item *it = item_new(f.ks.by_place[hole]->number, 2);
        void *old = &f;
        int r;

        test_fail_alloc(n, false);
        r = cor_btree_put(f.t, it, 7, &old);
        test_fail_alloc(0, false);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        check_tree(f.t);
        check_view(cor_btree_snap_view(f.s), &f.ks, f.model);
        if (r < 0) {
            failures++;
            assert_ptr_equal(old, &f);
            assert_int_equal(it->refs, 1);
            check_view(cor_btree_live(f.t), &f.ks, f.model);
            assert_int_equal(cor_btree_put(f.t, it, 7, NULL), 0);
        }
        f.model[hole] = (struct model_entry){2, 7};
        check_view(cor_btree_live(f.t), &f.ks, f.model);
        item_unref(it);
        full_free(&f);
    }
    assert_int_equal(failures, 5);
}

TEST(btree, a_remove_without_memory_changes_nothing)
{
    size_t failures = 0;

    FOR_EACH_FAILED_ALLOC(n) {
        test_fail_alloc(0, false);
        struct full f = full_new();
        void *old = &f;
        int r;

        test_fail_alloc(n, false);
        r = cor_btree_remove(f.t, keyspace_key(&f.ks, 100), &old);
        test_fail_alloc(0, false);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        check_tree(f.t);
        check_view(cor_btree_snap_view(f.s), &f.ks, f.model);
        if (r < 0) {
            failures++;
            assert_ptr_equal(old, &f);
            check_view(cor_btree_live(f.t), &f.ks, f.model);
            assert_int_equal(cor_btree_remove(f.t, keyspace_key(&f.ks, 100), &old), 0);
        }
        item_unref(old);
        f.model[100].version = 0;
        check_view(cor_btree_live(f.t), &f.ks, f.model);
        full_free(&f);
    }
    assert_int_equal(failures, 2);
}

TEST(btree, a_replace_without_memory_changes_nothing)
{
    size_t failures = 0;

    FOR_EACH_FAILED_ALLOC(n) {
        test_fail_alloc(0, false);
        struct full f = full_new();
        size_t count = 40 * BTREE_LEAF_MAX, before = cor_btree_bytes(f.t);
        struct cor_btree_entry *entries = cor_calloc(count, sizeof(*entries));
        int r;

        for (size_t i = 0; i < count; i++)
            entries[i] = (struct cor_btree_entry){f.ks.by_place[i], 0};
        test_fail_alloc(n, false);
        r = cor_btree_replace(f.t, entries, count);
        test_fail_alloc(0, false);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        check_view(cor_btree_snap_view(f.s), &f.ks, f.model);
        if (r < 0) {
            failures++;
            assert_int_equal(cor_btree_bytes(f.t), before);
            check_view(cor_btree_live(f.t), &f.ks, f.model);
        } else {
            assert_int_equal(cor_btree_count(cor_btree_live(f.t)), count);
        }
        cor_free(entries);
        full_free(&f);
    }
    assert_int_equal(failures, 41);
}

TEST(btree, an_entry_that_is_owned_is_replaced_or_removed_without_memory)
{
    size_t failures = 0;

    FOR_EACH_FAILED_ALLOC(n) {
        test_fail_alloc(0, false);
        struct full f = full_new();
        struct item *it = item_new(f.ks.by_place[100]->number, 2);
        int r;

        test_fail_alloc(n, false);
        r = cor_btree_own(f.t, keyspace_key(&f.ks, 100));
        if (test_alloc_failed()) {
            failures++;
            assert_int_equal(r, -COR_ENOMEM);
        } else {
            assert_int_equal(r, 0);
            test_fail_alloc(1, true);
            assert_int_equal(cor_btree_put(f.t, it, 7, NULL), 0);
            assert_int_equal(cor_btree_remove(f.t, keyspace_key(&f.ks, 100), NULL), 0);
        }
        test_fail_alloc(0, false);
        check_tree(f.t);
        check_view(cor_btree_snap_view(f.s), &f.ks, f.model);
        if (r == 0)
            f.model[100].version = 0;
        check_view(cor_btree_live(f.t), &f.ks, f.model);
        assert_int_equal(cor_btree_own(f.t, keyspace_key(&f.ks, f.ks.n / 2)), -COR_ENOTFOUND);
        item_unref(it);
        full_free(&f);
    }
    assert_int_equal(failures, 2);
}

TEST(btree, staged_content_is_taken_over_whole_or_leaves_no_trace)
{
    for (unsigned is_committed = 0; is_committed < 2; is_committed++) {
        struct full f = full_new();
        size_t count = 40 * BTREE_LEAF_MAX, before = cor_btree_bytes(f.t);
        struct cor_btree_entry *entries = cor_calloc(count, sizeof(*entries));
        struct cor_btree_staged staged;

        for (size_t i = 0; i < count; i++)
            entries[i] = (struct cor_btree_entry){f.ks.by_place[i], 0};
        assert_int_equal(cor_btree_stage(f.t, entries, count, &staged), 0);
        check_view(cor_btree_live(f.t), &f.ks, f.model);
        if (is_committed) {
            cor_btree_commit(f.t, staged);
            assert_int_equal(cor_btree_count(cor_btree_live(f.t)), count);
        } else {
            cor_btree_discard(f.t, staged);
            assert_int_equal(cor_btree_bytes(f.t), before);
            check_view(cor_btree_live(f.t), &f.ks, f.model);
        }
        check_tree(f.t);
        check_view(cor_btree_snap_view(f.s), &f.ks, f.model);
        cor_free(entries);
        full_free(&f);
    }
}
