/* Random operations on a tree and on an array, which must agree; and so must every snapshot with
 * the array as it was. */
#include "base/btree.h"
#include "btree_fixture.h"

#define SNAPS_MAX 24

struct run {
    struct keyspace ks;
    struct cor_btree *t;
    struct model_entry *model;
    unsigned version;
    struct {
        struct cor_btree_snap *s;
        struct model_entry *model;
    } snap[SNAPS_MAX];
};

static size_t below(size_t n)
{
    return (size_t)(test_random() % n);
}

static struct model_entry *copy_model(const struct run *run)
{
    struct model_entry *copy = cor_memdup(run->model, run->ks.n * sizeof(*copy));

    assert_non_null(copy);
    return copy;
}

static void step_put(struct run *run)
{
    size_t place = below(run->ks.n);
    unsigned before = run->model[place].version;
    struct item *it = item_new(run->ks.by_place[place]->number, ++run->version);
    void *old = NULL;

    run->model[place] = (struct model_entry){run->version, test_random()};
    assert_int_equal(cor_btree_put(run->t, it, run->model[place].fingerprint, &old), 0);
    assert_int_equal(old != NULL, before != 0);
    if (old) {
        assert_int_equal(((struct item *)old)->version, before);
        item_unref(old);
    }
    item_unref(it);
}

/* A run of neighbours goes, so that nodes empty and join. */
static void step_remove(struct run *run)
{
    size_t from = below(run->ks.n), n = 1 + below(below(40) == 0 ? 300 : 3);

    for (size_t i = from; i < from + n && i < run->ks.n; i++) {
        int r = cor_btree_remove(run->t, keyspace_key(&run->ks, i), NULL);

        assert_int_equal(r, run->model[i].version ? 0 : -COR_ENOTFOUND);
        run->model[i].version = 0;
    }
}

static void step_replace(struct run *run)
{
    struct cor_btree_entry *entries = cor_calloc(run->ks.n, sizeof(*entries));
    size_t n = 0, one_in = 1 + below(3);

    for (size_t i = 0; i < run->ks.n; i++) {
        run->model[i].version = 0;
        if (below(one_in) > 0)
            continue;
        run->model[i] = (struct model_entry){++run->version, test_random()};
        entries[n++] = (struct cor_btree_entry){
            item_new(run->ks.by_place[i]->number, run->version),
            run->model[i].fingerprint,
        };
    }
    assert_int_equal(cor_btree_replace(run->t, entries, n), 0);
    for (size_t i = 0; i < n; i++)
        item_unref(entries[i].item);
    cor_free(entries);
}

static void step_clear(struct run *run)
{
    cor_btree_clear(run->t);
    memset(run->model, 0, run->ks.n * sizeof(*run->model));
}

static void release(struct run *run, size_t i)
{
    check_view(cor_btree_snap_view(run->snap[i].s), &run->ks, run->snap[i].model);
    run->snap[i].s = cor_btree_snap_unref(run->snap[i].s);
    run->snap[i].model = cor_free(run->snap[i].model);
}

static void step_snapshot(struct run *run)
{
    size_t i = below(SNAPS_MAX);

    if (run->snap[i].s)
        release(run, i);
    if (below(3) == 0)
        return;
    assert_int_equal(cor_btree_snapshot(run->t, &run->snap[i].s), 0);
    run->snap[i].model = copy_model(run);
}

static void run_steps(struct run *run, size_t steps)
{
    for (size_t i = 0; i < steps; i++) {
        size_t dice = below(1000);

        if (dice < 650)
            step_put(run);
        else if (dice < 970)
            step_remove(run);
        else if (dice < 990)
            step_snapshot(run);
        else if (dice < 999)
            cor_btree_reclaim(run->t, below(30));
        else if (below(8) > 0)
            check_tree(run->t);
        else if (below(4) > 0)
            step_replace(run);
        else
            step_clear(run);
    }
}

TEST(btree_model, every_state_is_the_one_of_a_sorted_array)
{
    for (size_t keys = 4; keys <= 12000; keys = keys * 3 + 200) {
        struct run run = {.ks = keyspace_new(keys), .t = cor_btree_new(&item_type)};
        size_t entries = 0;

        run.model = cor_calloc(keys, sizeof(*run.model));
        if (keys > 1000)
            step_replace(&run);
        run_steps(&run, SANITIZED ? 8000 : 60000);
        check_view(cor_btree_live(run.t), &run.ks, run.model);
        for (size_t i = 0; i < SNAPS_MAX; i++)
            if (run.snap[i].s)
                release(&run, i);
        assert_false(cor_btree_reclaim(run.t, SIZE_MAX));
        check_no_waste(run.t);
        for (size_t i = 0; i < keys; i++)
            entries += run.model[i].version != 0;
        assert_int_equal(items_alive, keys + entries);
        cor_btree_free(run.t);
        keyspace_free(&run.ks);
        cor_free(run.model);
        assert_int_equal(items_alive, 0);
    }
}

/* Ranks by the array: rank[i] is how many entries stand before place i. */
static size_t *ranks_of(const struct run *run)
{
    size_t *rank = cor_calloc(run->ks.n + 1, sizeof(*rank));

    for (size_t i = 0; i < run->ks.n; i++)
        rank[i + 1] = rank[i] + (run->model[i].version != 0);
    return rank;
}

static void check_range(const struct run *run, const size_t *rank, size_t from, size_t to)
{
    struct cor_btree_view v = cor_btree_live(run->t);
    struct cor_btree_iter it;

    cor_btree_iter_range(&it, v, keyspace_key(&run->ks, from), keyspace_key(&run->ks, to));
    assert_int_equal(cor_btree_iter_remaining(&it), rank[to] - rank[from]);
    for (size_t i = from; i < to; i++) {
        if (run->model[i].version == 0)
            continue;
        assert_true(cor_btree_iter_next(&it));
        assert_int_equal(((struct item *)it.entry.item)->version, run->model[i].version);
    }
    assert_false(cor_btree_iter_next(&it));
}

static void check_prefix(const struct run *run, const size_t *rank, size_t place)
{
    struct cor_btree_view v = cor_btree_live(run->t);
    struct cor_str prefix = keyspace_key(&run->ks, place);
    struct cor_btree_iter it;
    size_t from, to;

    prefix.n = below(prefix.n + 1);
    for (from = place; from > 0 && cor_str_starts(keyspace_key(&run->ks, from - 1), prefix);)
        from--;
    for (to = place; to < run->ks.n && cor_str_starts(keyspace_key(&run->ks, to), prefix);)
        to++;
    assert_int_equal(cor_btree_rank(v, prefix), rank[from]);
    assert_int_equal(cor_btree_rank_past(v, prefix), rank[to]);
    cor_btree_iter_prefix(&it, v, prefix);
    assert_int_equal(cor_btree_iter_remaining(&it), rank[to] - rank[from]);
    assert_int_equal(cor_btree_iter_next(&it), rank[to] > rank[from]);
}

static void check_covering(const struct run *run, uint64_t mask)
{
    struct cor_btree_iter it;

    cor_btree_iter_prefix(&it, cor_btree_live(run->t), COR_STR("/k/"));
    for (size_t i = 0; i < run->ks.n; i++) {
        if (run->model[i].version == 0 || (run->model[i].fingerprint & mask) != mask)
            continue;
        assert_true(cor_btree_iter_next_covering(&it, mask));
        assert_int_equal(((struct item *)it.entry.item)->version, run->model[i].version);
    }
    assert_false(cor_btree_iter_next_covering(&it, mask));
}

TEST(btree_model, ranks_ranges_and_prefixes_are_those_of_a_sorted_array)
{
    struct run run = {.ks = keyspace_new(9000), .t = cor_btree_new(&item_type)};
    struct cor_btree_entry e;
    size_t *rank;

    run.model = cor_calloc(run.ks.n, sizeof(*run.model));
    for (int i = 0; i < 12000; i++) {
        step_put(&run);
        if (i % 4 == 0)
            step_remove(&run);
    }
    rank = ranks_of(&run);
    for (size_t i = 0; i < run.ks.n; i++) {
        bool found = cor_btree_peek(cor_btree_live(run.t), keyspace_key(&run.ks, i), &e);

        assert_int_equal(found, run.model[i].version != 0);
        assert_int_equal(cor_btree_rank(cor_btree_live(run.t), keyspace_key(&run.ks, i)), rank[i]);
        if (!found)
            continue;
        assert_true(cor_btree_peek_nth(cor_btree_live(run.t), rank[i], &e));
        assert_int_equal(((struct item *)e.item)->version, run.model[i].version);
        assert_int_equal(e.fingerprint, run.model[i].fingerprint);
    }
    assert_false(cor_btree_peek_nth(cor_btree_live(run.t), rank[run.ks.n], &e));
    for (int i = 0; i < 200; i++) {
        size_t from = below(run.ks.n);

        check_range(&run, rank, from, from + below(run.ks.n - from));
        check_prefix(&run, rank, from);
        check_covering(&run, test_random() & test_random() & test_random());
    }
    cor_free(rank);
    cor_btree_free(run.t);
    keyspace_free(&run.ks);
    cor_free(run.model);
}
