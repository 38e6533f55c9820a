#include "storage/cacher/watch_cache.h"

#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/rand.h"
#include "storage/cacher/snapshot.h"
#include "test.h"

#define KEYS 40
#define REVS 1500

/* The value of every key at every revision; 0: absent. */
static uint32_t model[REVS + 1][KEYS];
static struct cor_pin_totals totals;

static void key_of(unsigned i, char out[16])
{
    snprintf(out, 16, "/r/%u/k%02u", i % 2, i);
}

static struct cor_cache_entry *entry(unsigned key, uint32_t value)
{
    struct cor_object *object;
    char json[128], name[16];

    key_of(key, name);
    snprintf(json, sizeof(json), "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"metadata\":{},\"v\":%u}",
             value);
    if (cor_object_from_stored(cor_strz(json), value, &object, NULL, NULL) < 0)
        return NULL;
    return cor_cache_entry_new(cor_strz(name), object, NULL);
}

/* 0 or -COR_ENOMEM. */
static int change(struct cor_watch_cache *c, unsigned key, bool deleted, cor_rev rev)
{
    struct cor_cache_entry *now = NULL;
    char name[16];
    int r;

    key_of(key, name);
    if (!deleted) {
        now = entry(key, (uint32_t)rev);
        if (!now)
            return -COR_ENOMEM;
    }
    cor_lock_acquire(&c->lock);
    r = cor_watch_cache_apply_locked(c, cor_strz(name), now, rev, 0);
    cor_lock_release(&c->lock);
    return r;
}

/* Some revisions change many keys. */
static void random_changes(struct cor_watch_cache *c, struct cor_rand *rand)
{
    memset(model, 0, sizeof(model));
    assert_int_equal(cor_watch_cache_replace(c, NULL, 0, 0, NULL, 1), 0);
    for (cor_rev rev = 2; rev <= REVS; rev++) {
        unsigned key = (unsigned)cor_rand_below(rand, KEYS);
        unsigned n = cor_rand_below(rand, 10) == 0 ? (unsigned)cor_rand_below(rand, KEYS) : 1;

        memcpy(model[rev], model[rev - 1], sizeof(model[rev]));
        for (; n > 0; n--, key = (key + 1) % KEYS) {
            bool deleted = cor_rand_below(rand, 3) == 0;

            model[rev][key] = deleted ? 0 : (uint32_t)rev;
            assert_int_equal(change(c, key, deleted, rev), 0);
        }
    }
}

/* In key order: even numbers first, then odd ones. */
static unsigned nth_key(unsigned i)
{
    return i < KEYS / 2 ? 2 * i : 2 * (i - KEYS / 2) + 1;
}

static void check_state(const struct cor_cache_snapshot *s, cor_rev rev, const char *prefix,
                        unsigned first, unsigned last)
{
    struct cor_cache_iter it;
    struct cor_cache_entry *e;
    char from[16];
    size_t count = 0;

    key_of(nth_key(first), from);
    cor_cache_iter_init(&it, s, cor_strz(prefix), cor_strz(from), NULL);
    for (unsigned i = first; i < last; i++) {
        char name[16];

        if (model[rev][nth_key(i)] == 0)
            continue;
        key_of(nth_key(i), name);
        e = cor_cache_iter_next(&it);
        assert_non_null(e);
        assert_str(cor_cache_entry_key(e), name);
        assert_int_equal(e->object->rev, model[rev][nth_key(i)]);
        count++;
    }
    assert_null(cor_cache_iter_next(&it));
    assert_int_equal(cor_cache_snapshot_count(s, cor_strz(prefix), cor_strz(from)), count);
}

TEST(cache_entry, finds_its_triggers_inside_and_outside_of_metadata)
{
    static const char *const fields[] = {"metadata.name", "metadata.x", "metadata",
                                         "data.name",     "x",          NULL};
    static const char *const found[] = {"n", "", "", "d", "y"};
    struct cor_triggers triggers;
    struct cor_cache_entry *e;
    struct cor_object *object;

    assert_int_equal(cor_object_from_stored(
                         COR_STR("{\"kind\":\"K\",\"apiVersion\":\"v1\",\"data\":{"
                                 "\"name\":\"d\"},\"metadata\":{\"name\":\"n\"},\"x\":\"y\"}"),
                         7, &object, NULL, NULL),
                     0);
    assert_int_equal(cor_triggers_init(&triggers, fields), 0);
    e = cor_cache_entry_new(COR_STR("/k"), object, &triggers);
    assert_non_null(e);
    assert_int_equal(e->ntriggers, COR_ARRAY_LEN(found));
    for (size_t i = 0; i < COR_ARRAY_LEN(found); i++)
        assert_str(cor_cache_entry_trigger(e, i), found[i]);
    assert_str(cor_cache_entry_key(e), "/k");
    cor_cache_entry_unref(e);
    cor_triggers_deinit(&triggers);
}

TEST(triggers, are_no_more_than_their_maximum)
{
    static const char *const fields[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", NULL};
    struct cor_triggers triggers;

    assert_int_equal(cor_triggers_init(&triggers, fields), 0);
    assert_int_equal(triggers.n, COR_TRIGGERS_MAX);
    cor_triggers_deinit(&triggers);
    assert_int_equal(cor_triggers_init(&triggers, NULL), 0);
    assert_int_equal(triggers.n, 0);
    cor_triggers_deinit(&triggers);
}

TEST(triggers, survive_every_failed_allocation)
{
    static const char *const fields[] = {"spec.nodeName", "status.phase", NULL};

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_triggers triggers;
        int r = cor_triggers_init(&triggers, fields);

        assert_true(r == 0 || r == -COR_ENOMEM);
        cor_triggers_deinit(&triggers);
    }
}

TEST(watch_cache, exact_reads_at_every_revision_equal_a_model)
{
    struct cor_watch_cache c;
    struct cor_rand rand;

    cor_rand_init_seeded(&rand, test_random());
    assert_int_equal(cor_watch_cache_init(&c, NULL, &totals), 0);
    random_changes(&c, &rand);
    for (cor_rev rev = 1; rev <= REVS; rev++) {
        struct cor_cache_snapshot s;

        assert_int_equal(cor_cache_snapshot_at(&c, rev, NULL, &s), 0);
        assert_int_equal(s.rev, rev);
        assert_true(s.noverlay < COR_KEPT_ROOT_EVENTS);
        check_state(&s, rev, "/r/", 0, KEYS);
        check_state(&s, rev, "/r/1/", KEYS / 2, KEYS);
        check_state(&s, rev, "/r/", (unsigned)cor_rand_below(&rand, KEYS), KEYS);
        cor_cache_snapshot_deinit(&s);
    }
    while (cor_btree_reclaim(c.tree, 64))
        ;
    cor_watch_cache_deinit(&c);
}

TEST(watch_cache, eviction_takes_the_roots_that_need_the_events)
{
    struct cor_watch_cache c;
    struct cor_rand rand;
    struct cor_cache_snapshot s;
    size_t bytes;

    cor_rand_init_seeded(&rand, test_random());
    assert_int_equal(cor_watch_cache_init(&c, NULL, &totals), 0);
    random_changes(&c, &rand);
    bytes = cor_watch_cache_history_bytes(&c);
    while (cor_watch_cache_evict(&c)) {
        cor_rev base = c.window.base;

        assert_int_equal(cor_cache_snapshot_at(&c, 1, NULL, &s), -COR_EEXPIRED);
        for (cor_rev rev = base; rev <= REVS; rev += 17) {
            int r = cor_cache_snapshot_at(&c, rev, NULL, &s);

            /* The window may begin before its first root, and end before the next. */
            if (c.nroots == 0 || c.roots[0].rev > rev)
                assert_int_equal(r, rev == REVS ? 0 : -COR_EEXPIRED);
            else
                assert_int_equal(r, 0);
            if (r == 0) {
                check_state(&s, rev, "/r/", 0, KEYS);
                cor_cache_snapshot_deinit(&s);
            }
        }
    }
    assert_true(c.window.next - c.window.first >= COR_WINDOW_EVENTS_MIN);
    while (cor_btree_reclaim(c.tree, 64))
        ;
    assert_true(cor_watch_cache_history_bytes(&c) < bytes);
    cor_watch_cache_deinit(&c);
}

/* Roots are further apart than the events that stay at least. */
TEST(watch_cache, a_window_without_a_root_serves_its_newest_state_only)
{
    cor_rev last = COR_KEPT_ROOT_EVENTS + COR_WINDOW_SEGMENT_EVENTS + COR_WINDOW_EVENTS_MIN + 1;
    struct cor_watch_cache c;
    struct cor_cache_snapshot s;

    assert_int_equal(cor_watch_cache_init(&c, NULL, &totals), 0);
    assert_int_equal(cor_watch_cache_replace(&c, NULL, 0, 0, NULL, 1), 0);
    for (cor_rev rev = 2; rev <= last; rev++)
        assert_int_equal(change(&c, (unsigned)(rev % KEYS), false, rev), 0);
    while (cor_watch_cache_evict(&c))
        ;
    assert_int_equal(c.nroots, 0);
    assert_true(c.window.base < last - 1);
    assert_int_equal(cor_cache_snapshot_at(&c, last - 1, NULL, &s), -COR_EEXPIRED);
    assert_int_equal(cor_cache_snapshot_at(&c, last, NULL, &s), 0);
    assert_int_equal(cor_cache_snapshot_count(&s, cor_strz("/r/"), cor_strz("/r/")), KEYS);
    cor_cache_snapshot_deinit(&s);
    cor_watch_cache_deinit(&c);
}

TEST(watch_cache, compaction_ends_exact_reads_below_it)
{
    struct cor_watch_cache c;
    struct cor_rand rand;
    struct cor_cache_snapshot s;

    cor_rand_init_seeded(&rand, test_random());
    assert_int_equal(cor_watch_cache_init(&c, NULL, &totals), 0);
    random_changes(&c, &rand);
    cor_watch_cache_compact(&c, 700);
    assert_int_equal(cor_cache_snapshot_at(&c, 699, NULL, &s), -COR_EEXPIRED);
    assert_int_equal(cor_cache_snapshot_at(&c, 700, NULL, &s), 0);
    check_state(&s, 700, "/r/", 0, KEYS);
    cor_cache_snapshot_deinit(&s);
    while (cor_btree_reclaim(c.tree, 64))
        ;
    cor_watch_cache_deinit(&c);
}

TEST(watch_cache, a_failed_allocation_leaves_the_event_out_and_the_cache_as_it_was)
{
    struct cor_watch_cache c;

    assert_int_equal(cor_watch_cache_init(&c, NULL, &totals), 0);
    assert_int_equal(cor_watch_cache_replace(&c, NULL, 0, 0, NULL, 1), 0);
    for (cor_rev rev = 2; rev < 700; rev++) {
        FOR_EACH_FAILED_ALLOC(n) {
            uint64_t next = c.window.next;
            int r;

            if (c.rev >= rev)
                break;
            r = change(&c, (unsigned)(rev % KEYS), rev % 5 == 0, rev);
            test_fail_alloc(0, false);
            if (r < 0) {
                assert_int_equal(r, -COR_ENOMEM);
                assert_int_equal(c.window.next, next);
                assert_true(c.rev < rev);
            }
        }
        test_fail_alloc(0, false);
        if (c.rev < rev)
            assert_int_equal(change(&c, (unsigned)(rev % KEYS), rev % 5 == 0, rev), 0);
    }
    while (cor_btree_reclaim(c.tree, 64))
        ;
    cor_watch_cache_deinit(&c);
}

TEST(watch_cache, a_snapshot_of_the_past_survives_every_failed_allocation)
{
    struct cor_watch_cache c;
    struct cor_rand rand;

    cor_rand_init_seeded(&rand, test_random());
    assert_int_equal(cor_watch_cache_init(&c, NULL, &totals), 0);
    random_changes(&c, &rand);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_cache_snapshot s;
        int r = cor_cache_snapshot_at(&c, 1000, NULL, &s);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r == 0)
            cor_cache_snapshot_deinit(&s);
    }
    while (cor_btree_reclaim(c.tree, 64))
        ;
    cor_watch_cache_deinit(&c);
}

TEST(watch_cache, history_in_front_of_the_window_moves_its_base)
{
    struct cor_watch_cache c;
    struct cor_window_event events[300];
    size_t bytes[300];

    assert_int_equal(cor_watch_cache_init(&c, NULL, &totals), 0);
    assert_int_equal(cor_watch_cache_replace(&c, NULL, 0, 0, NULL, 1000), 0);
    assert_int_equal(change(&c, 1, false, 1001), 0);
    for (unsigned i = 0; i < 300; i++) {
        events[i] = (struct cor_window_event){.now = entry(i % KEYS, i + 1), .rev = 700 + i};
        bytes[i] = cor_cache_entry_bytes(events[i].now);
    }
    assert_int_equal(cor_watch_cache_prepend(&c, events, bytes, 300, 650), 0);
    assert_int_equal(c.window.base, 650);
    assert_int_equal(c.window.next - c.window.first, 301);
    assert_int_equal(cor_window_after(&c.window, 650), c.window.first);
    assert_int_equal(cor_window_after(&c.window, 998), c.window.next - 2);
    assert_int_equal(cor_window_after(&c.window, 1001), c.window.next);
    assert_true(cor_watch_cache_evict(&c));
    assert_true(c.window.base >= 700);
    cor_watch_cache_deinit(&c);
}

/* The window, and what it lost, is a revision of 200 events each; readers hold its oldest segment.
 */
TEST(watch_cache, history_of_large_revisions_is_put_in_front_whole_or_not_at_all)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_watch_cache c;
        struct cor_window_event events[400];
        size_t bytes[400], left, window_bytes;
        struct cor_window_segment *held;

        test_fail_alloc(0, false);
        assert_int_equal(cor_watch_cache_init(&c, NULL, &totals), 0);
        assert_int_equal(cor_watch_cache_replace(&c, NULL, 0, 0, NULL, 8), 0);
        for (unsigned i = 0; i < 700; i++)
            assert_int_equal(change(&c, i % KEYS, false, i < 200 ? 9 : i < 400 ? 10 : 11), 0);
        assert_true(cor_watch_cache_evict(&c));
        assert_true(cor_watch_cache_evict(&c));
        assert_int_equal(c.window.base, 10);
        assert_int_equal(c.window.next - c.window.first, 300);
        window_bytes = c.window.bytes;
        held = cor_window_get(&c.window, c.window.first);
        for (unsigned i = 0; i < 400; i++) {
            events[i] =
                (struct cor_window_event){.now = entry(i % KEYS, i + 1), .rev = i < 200 ? 9 : 10};
            bytes[i] = cor_cache_entry_bytes(events[i].now);
        }
        test_fail_alloc(n, false);
        left = cor_watch_cache_prepend(&c, events, bytes, 400, 8);
        test_fail_alloc(0, false);
        assert_true(left % 200 == 0);
        assert_int_equal(c.window.base, 8 + left / 200);
        assert_int_equal(c.window.next - c.window.first, 700 - left);
        assert_int_equal(cor_window_after(&c.window, c.window.base), c.window.first);
        assert_int_equal(c.window.bytes - window_bytes, c.history_bytes);
        assert_int_equal(cor_window_segment_at(held, held->number)->rev, 10);
        for (size_t i = 0; i < left; i++)
            cor_cache_entry_unref(events[i].now);
        cor_window_segment_unref(held);
        while (cor_watch_cache_evict(&c))
            ;
        assert_int_equal(c.history_bytes, 0);
        while (cor_btree_reclaim(c.tree, 64))
            ;
        cor_watch_cache_deinit(&c);
    }
}

/* A value that cannot be decoded is among the unreadable ones and in the window, or nothing has
 * changed. */
TEST(watch_cache, an_unreadable_change_survives_every_failed_allocation)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_watch_cache c;
        struct cor_kv *kv;
        bool unreadable;
        int r;

        test_fail_alloc(0, false);
        assert_int_equal(cor_watch_cache_init(&c, NULL, &totals), 0);
        assert_int_equal(cor_watch_cache_replace(&c, NULL, 0, 0, NULL, 1), 0);
        assert_int_equal(change(&c, 1, false, 2), 0);
        {
            COR_CLEANUP(cor_cache_entry_unrefp) struct cor_cache_entry *known = entry(1, 2);

            kv = cor_kv_new(cor_cache_entry_key(known), COR_STR("junk"), 2, 3, 0);
        }
        assert_non_null(kv);
        test_fail_alloc(n, false);
        r = cor_watch_cache_apply_unreadable_locked(&c, kv, 0);
        test_fail_alloc(0, false);
        assert_null(cor_watch_cache_get(&c, COR_STR("/none"), &unreadable));
        assert_false(unreadable);
        if (r < 0) {
            struct cor_object *object = cor_watch_cache_get(&c, cor_kv_key(kv), &unreadable);

            assert_int_equal(r, -COR_ENOMEM);
            assert_non_null(object);
            assert_int_equal(c.rev, 2);
            assert_int_equal(c.window.next - c.window.first, 1);
            cor_object_unref(object);
        } else {
            assert_null(cor_watch_cache_get(&c, cor_kv_key(kv), &unreadable));
            assert_true(unreadable);
            assert_true(cor_watch_cache_is_blind(&c, cor_kv_key(kv), false, 3));
            assert_false(cor_watch_cache_is_blind(&c, COR_STR("/none"), true, 3));
            assert_int_equal(change(&c, 1, true, 4), 0);
            assert_false(cor_watch_cache_is_blind(&c, cor_kv_key(kv), false, 4));
            assert_true(cor_watch_cache_is_blind(&c, COR_STR("/none"), true, 3));
        }
        cor_kv_unref(kv);
        while (cor_btree_reclaim(c.tree, 64))
            ;
        cor_watch_cache_deinit(&c);
    }
}
