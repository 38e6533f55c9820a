#include "storage/cacher/watch_index.h"

#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "test.h"

static struct cor_cache_entry *pod(const char *key, const char *node)
{
    static const char *const fields[] = {"spec.nodeName", "spec.zone", NULL};
    struct cor_triggers triggers;
    struct cor_cache_entry *entry;
    struct cor_object *object;
    char json[160];

    snprintf(json, sizeof(json),
             "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{},"
             "\"spec\":{\"nodeName\":\"%s\",\"zone\":\"z%s\"}}",
             node, node);
    assert_int_equal(cor_triggers_init(&triggers, fields), 0);
    assert_int_equal(cor_object_from_stored(cor_strz(json), 5, &object, NULL, NULL), 0);
    entry = cor_cache_entry_new(cor_strz(key), object, &triggers);
    assert_non_null(entry);
    cor_triggers_deinit(&triggers);
    return entry;
}

static bool has(struct watch_bucket **buckets, size_t n, const struct watch_bucket *bucket)
{
    for (size_t i = 0; i < n; i++) {
        if (buckets[i] == bucket)
            return true;
    }
    return false;
}

TEST(watch_index, an_event_finds_the_values_of_each_trigger_field_apart)
{
    _Atomic size_t bytes = 0;
    struct watch_index ix;
    struct watch_bucket *node, *zone, *other, *old_zone, *found[WATCH_BUCKETS_MAX];
    struct cor_cache_entry *old = pod("/r/pods/ns/p", "a"), *now = pod("/r/pods/ns/p", "b");
    struct cor_window_event event = {.now = now, .old = old};
    size_t n;

    cor_cacher_watch_index_init(&ix, COR_STR("/r/pods/"), &bytes);
    assert_int_equal(cor_cacher_watch_index_join(&ix, BUCKET_TRIGGER, COR_STR("b"), &node), 0);
    assert_int_equal(cor_cacher_watch_index_join(&ix, BUCKET_TRIGGER + 1, COR_STR("zb"), &zone), 0);
    /* A node's name that is the value of the other field. */
    assert_int_equal(cor_cacher_watch_index_join(&ix, BUCKET_TRIGGER, COR_STR("zb"), &other), 0);
    assert_int_equal(cor_cacher_watch_index_join(&ix, BUCKET_TRIGGER + 1, COR_STR("za"), &old_zone),
                     0);
    n = cor_cacher_watch_index_match(&ix, &event, found);
    assert_int_equal(n, 3);
    assert_true(has(found, n, node) && has(found, n, zone) && has(found, n, old_zone));
    event.old = NULL;
    assert_int_equal(cor_cacher_watch_index_match(&ix, &event, found), 2);
    cor_cacher_watch_index_leave(&ix, node);
    cor_cacher_watch_index_leave(&ix, zone);
    cor_cacher_watch_index_leave(&ix, other);
    cor_cacher_watch_index_leave(&ix, old_zone);
    cor_cacher_watch_index_deinit(&ix);
    cor_cache_entry_unref(old);
    cor_cache_entry_unref(now);
}

TEST(watch_index, an_event_finds_key_parents_old_and_new_trigger_and_all)
{
    _Atomic size_t bytes = 0;
    struct watch_index ix;
    struct watch_bucket *key, *other, *ns, *a, *b, *z, *all, *found[WATCH_BUCKETS_MAX];
    struct cor_cache_entry *old = pod("/r/pods/ns/p", "a"), *now = pod("/r/pods/ns/p", "b");
    struct cor_window_event event = {.now = now, .old = old};
    size_t n;

    cor_cacher_watch_index_init(&ix, COR_STR("/r/pods/"), &bytes);
    assert_int_equal(cor_cacher_watch_index_match(&ix, &event, found), 0);
    assert_int_equal(cor_cacher_watch_index_join(&ix, BUCKET_KEY, COR_STR("/r/pods/ns/p"), &key),
                     0);
    assert_int_equal(cor_cacher_watch_index_join(&ix, BUCKET_KEY, COR_STR("/r/pods/ns/q"), &other),
                     0);
    assert_int_equal(cor_cacher_watch_index_join(&ix, BUCKET_PREFIX, COR_STR("/r/pods/ns/"), &ns),
                     0);
    assert_int_equal(cor_cacher_watch_index_join(&ix, BUCKET_TRIGGER, COR_STR("a"), &a), 0);
    assert_int_equal(cor_cacher_watch_index_join(&ix, BUCKET_TRIGGER, COR_STR("b"), &b), 0);
    assert_int_equal(cor_cacher_watch_index_join(&ix, BUCKET_TRIGGER, COR_STR("z"), &z), 0);
    assert_int_equal(cor_cacher_watch_index_join(&ix, BUCKET_ALL, COR_STR(""), &all), 0);
    n = cor_cacher_watch_index_match(&ix, &event, found);
    assert_int_equal(n, 5);
    assert_true(has(found, n, key) && has(found, n, ns) && has(found, n, all));
    assert_true(has(found, n, a) && has(found, n, b));
    event.old = NULL;
    n = cor_cacher_watch_index_match(&ix, &event, found);
    assert_int_equal(n, 4);
    assert_false(has(found, n, a));
    cor_cacher_watch_index_leave(&ix, key);
    cor_cacher_watch_index_purge(&ix);
    assert_int_equal(cor_cacher_watch_index_match(&ix, &event, found), 3);
    cor_cacher_watch_index_leave(&ix, other);
    cor_cacher_watch_index_leave(&ix, ns);
    cor_cacher_watch_index_leave(&ix, a);
    cor_cacher_watch_index_leave(&ix, b);
    cor_cacher_watch_index_leave(&ix, z);
    cor_cacher_watch_index_leave(&ix, all);
    cor_cacher_watch_index_deinit(&ix);
    cor_cache_entry_unref(old);
    cor_cache_entry_unref(now);
}

TEST(watch_index, a_bucket_is_shared_and_survives_until_its_last_watch_has_left)
{
    _Atomic size_t bytes = 0;
    struct watch_index ix;
    struct watch_bucket *first, *second;

    cor_cacher_watch_index_init(&ix, COR_STR("/r/pods/"), &bytes);
    assert_int_equal(cor_cacher_watch_index_join(&ix, BUCKET_TRIGGER, COR_STR("a"), &first), 0);
    assert_int_equal(cor_cacher_watch_index_join(&ix, BUCKET_TRIGGER, COR_STR("a"), &second), 0);
    assert_ptr_equal(first, second);
    cor_cacher_watch_index_leave(&ix, first);
    cor_cacher_watch_index_purge(&ix);
    assert_int_equal(first->n, 1);
    cor_cacher_watch_index_leave(&ix, first);
    /* Whoever comes before the purge finds it again. */
    assert_int_equal(cor_cacher_watch_index_join(&ix, BUCKET_TRIGGER, COR_STR("a"), &second), 0);
    cor_cacher_watch_index_purge(&ix);
    assert_ptr_equal(first, second);
    cor_cacher_watch_index_leave(&ix, second);
    cor_cacher_watch_index_deinit(&ix);
}

TEST(watch_index, numbers_are_walked_in_order_and_trimmed_at_the_window)
{
    _Atomic size_t bytes = 0;
    struct watch_index ix;
    struct watch_bucket *b;
    struct cor_dlist lagging;

    cor_cacher_watch_index_init(&ix, COR_STR("/r/pods/"), &bytes);
    assert_int_equal(cor_cacher_watch_index_join(&ix, BUCKET_TRIGGER, COR_STR("a"), &b), 0);
    cor_dlist_init(&lagging);
    cor_dlist_push(&b->lagging, &lagging);
    for (uint64_t i = 0; i < 1000; i++)
        cor_cacher_watch_bucket_push(b, i * 7);
    assert_int_equal(cor_cacher_watch_bucket_after(b, 0), 7);
    assert_int_equal(cor_cacher_watch_bucket_after(b, 6), 7);
    assert_int_equal(cor_cacher_watch_bucket_after(b, 3500), 3507);
    assert_int_equal(cor_cacher_watch_bucket_after(b, 999 * 7), UINT64_MAX);
    assert_int_equal(atomic_load(&bytes), 1024 * sizeof(uint64_t));
    cor_cacher_watch_bucket_trim(b, 700);
    assert_int_equal(b->nnumbers, 900);
    assert_int_equal(cor_cacher_watch_bucket_after(b, 0), 700);
    assert_int_equal(atomic_load(&bytes), 1024 * sizeof(uint64_t));
    /* What the window has lost is given back, also while somebody lags. */
    cor_cacher_watch_bucket_trim(b, 900 * 7);
    assert_int_equal(cor_cacher_watch_bucket_after(b, 0), 900 * 7);
    assert_int_equal(cor_cacher_watch_bucket_after(b, 998 * 7), 999 * 7);
    assert_int_equal(atomic_load(&bytes), 256 * sizeof(uint64_t));
    cor_cacher_watch_bucket_push(b, 1000 * 7);
    assert_int_equal(cor_cacher_watch_bucket_after(b, 999 * 7), 1000 * 7);
    cor_dlist_remove(&lagging);
    cor_cacher_watch_bucket_trim(b, 0);
    assert_int_equal(b->nnumbers, 0);
    assert_null(b->numbers);
    assert_int_equal(atomic_load(&bytes), 0);
    cor_cacher_watch_index_leave(&ix, b);
    cor_cacher_watch_index_deinit(&ix);
}

/* Without memory for a number the window itself is walked, so nothing is missed. */
TEST(watch_index, a_number_that_finds_no_memory_makes_every_number_count)
{
    _Atomic size_t bytes = 0;
    struct watch_index ix;
    struct watch_bucket *b;
    struct cor_dlist lagging;

    cor_cacher_watch_index_init(&ix, COR_STR("/r/pods/"), &bytes);
    assert_int_equal(cor_cacher_watch_index_join(&ix, BUCKET_TRIGGER, COR_STR("a"), &b), 0);
    cor_dlist_init(&lagging);
    cor_dlist_push(&b->lagging, &lagging);
    test_fail_alloc(1, false);
    cor_cacher_watch_bucket_push(b, 5);
    test_fail_alloc(0, false);
    cor_cacher_watch_bucket_push(b, 9);
    assert_int_equal(cor_cacher_watch_bucket_after(b, 5), 6);
    cor_dlist_remove(&lagging);
    cor_cacher_watch_bucket_trim(b, 0);
    assert_false(b->is_partial);
    cor_cacher_watch_index_leave(&ix, b);
    cor_cacher_watch_index_deinit(&ix);
}

TEST(watch_index, joining_survives_every_failed_allocation)
{
    FOR_EACH_FAILED_ALLOC(n) {
        _Atomic size_t bytes = 0;
        struct watch_index ix;
        struct watch_bucket *b;
        int r;

        cor_cacher_watch_index_init(&ix, COR_STR("/r/pods/"), &bytes);
        r = cor_cacher_watch_index_join(&ix, BUCKET_KEY, COR_STR("/r/pods/ns/p"), &b);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r == 0)
            cor_cacher_watch_index_leave(&ix, b);
        cor_cacher_watch_index_deinit(&ix);
    }
}
