/* Readers take, read and release snapshots on threads of their own while the writer goes on. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/btree.h"
#include "btree_fixture.h"

#define READERS 3
#define KEYS    4000

struct shared {
    struct cor_btree *t;
    _Atomic bool done;
    _Atomic size_t reads, faults;
};

static bool read_once(struct cor_btree_view v, uint64_t mask)
{
    struct cor_btree_iter it;
    struct cor_str last = {NULL, 0};
    size_t n = 0, covering = 0, found = 0;

    cor_btree_iter_prefix(&it, v, COR_STR("/k/"));
    for (; cor_btree_iter_next(&it); n++) {
        const struct item *item = it.entry.item;

        if (item->alive != ITEM_ALIVE || it.entry.fingerprint != item->version)
            return false;
        if (last.p && cor_str_cmp(last, item_key(item)) >= 0)
            return false;
        last = item_key(item);
        covering += (it.entry.fingerprint & mask) == mask;
    }
    cor_btree_iter_seek_rank(&it, 0);
    while (cor_btree_iter_next_covering(&it, mask))
        found++;
    return n == cor_btree_count(v) && found == covering;
}

static void *reader(void *arg)
{
    struct shared *shared = arg;

    while (!atomic_load(&shared->done)) {
        struct cor_btree_snap *s, *again;

        if (cor_btree_snapshot(shared->t, &s) < 0) {
            atomic_fetch_add(&shared->faults, 1);
            continue;
        }
        again = cor_btree_snap_ref(s);
        if (!read_once(cor_btree_snap_view(s), 5))
            atomic_fetch_add(&shared->faults, 1);
        cor_btree_snap_unref(s);
        if (!read_once(cor_btree_snap_view(again), 3))
            atomic_fetch_add(&shared->faults, 1);
        cor_btree_snap_unref(again);
        atomic_fetch_add(&shared->reads, 1);
    }
    return NULL;
}

static void change(struct cor_btree *t, unsigned version)
{
    unsigned number = (unsigned)(test_random() % KEYS);
    struct item *it = item_new(number, version);

    if (version % 3 == 0)
        (void)cor_btree_remove(t, item_key(it), NULL);
    else
        assert_int_equal(cor_btree_put(t, it, version, NULL), 0);
    item_unref(it);
}

static void refill(struct cor_btree *t, unsigned version)
{
    struct keyspace ks = keyspace_new(KEYS);
    struct cor_btree_entry *entries = cor_calloc(KEYS, sizeof(*entries));

    for (size_t i = 0; i < KEYS; i++) {
        ks.by_place[i]->version = version;
        entries[i] = (struct cor_btree_entry){ks.by_place[i], version};
    }
    assert_int_equal(cor_btree_replace(t, entries, KEYS), 0);
    cor_free(entries);
    keyspace_free(&ks);
}

TEST(btree_threads, readers_see_whole_states_while_the_writer_edits)
{
    const unsigned changes = SANITIZED ? 30000 : 200000;
    struct shared shared = {.t = cor_btree_new(&item_type)};
    pthread_t threads[READERS];

    refill(shared.t, 1);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, reader, &shared), 0);
    for (unsigned i = 2; i < changes || atomic_load(&shared.reads) < READERS; i++) {
        change(shared.t, i);
        if (i % 16 == 0)
            cor_btree_reclaim(shared.t, 64);
        if (i % 5000 == 0)
            refill(shared.t, i);
    }
    atomic_store(&shared.done, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&shared.faults), 0);
    assert_int_equal(cor_btree_snapshots(shared.t), 0);
    assert_false(cor_btree_reclaim(shared.t, SIZE_MAX));
    check_no_waste(shared.t);
    assert_int_equal(items_alive, cor_btree_count(cor_btree_live(shared.t)));
    cor_btree_free(shared.t);
}
