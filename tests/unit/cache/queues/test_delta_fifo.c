/* Changes by key: the cases of client-go's delta_fifo_test (contract client 1.4, 1.6). */
#include <pthread.h>

#include "base/err.h"
#include "delta_log.h"
#include "test.h"

/* Contract client 1.6.1. */
TEST(delta_fifo, gathers_the_changes_of_a_key_at_its_first_place)
{
    struct delta_log log;

    delta_log_begin(&log, true, NULL);
    delta_log_add(&log, "a", 1);
    delta_log_add(&log, "b", 2);
    delta_log_update(&log, "a", 3);
    delta_log_delete(&log, "a", 4);
    delta_log_add(&log, "a", 5);
    assert_string_equal(delta_log_pop_all(&log), "a:Added1,Updated3,Deleted4,Added5 b:Added2");
    delta_log_end(&log);
}

/* Contract client 1.6.1. */
TEST(delta_fifo, a_key_that_was_popped_goes_to_the_end)
{
    struct delta_log log;

    delta_log_begin(&log, true, NULL);
    delta_log_add(&log, "a", 1);
    delta_log_add(&log, "b", 1);
    delta_log_add(&log, "c", 1);
    assert_string_equal(delta_log_pop(&log), "a:Added1");
    delta_log_add(&log, "a", 2);
    assert_string_equal(delta_log_pop_all(&log), "b:Added1 c:Added1 a:Added2");
    delta_log_end(&log);
}

/* Contract client 1.6.6. */
TEST(delta_fifo, drops_deletions_of_what_nobody_knows)
{
    struct delta_log log;

    delta_log_begin(&log, true, NULL);
    delta_log_delete(&log, "a", 1);
    assert_true(cor_delta_fifo_has_synced(log.fifo));
    assert_string_equal(delta_log_pop_all(&log), "");
    delta_log_add(&log, "a", 2);
    delta_log_delete(&log, "a", 3);
    assert_string_equal(delta_log_pop_all(&log), "a:Added2,Deleted3");
    delta_log_end(&log);
    delta_log_begin(&log, true, "a");
    delta_log_delete(&log, "a", 2);
    delta_log_delete(&log, "b", 2);
    assert_string_equal(delta_log_pop_all(&log), "a:Deleted2");
    delta_log_end(&log);
}

/* Contract client 1.6.5, 1.6.8. */
TEST(delta_fifo, of_deletions_in_a_row_the_one_with_the_true_last_state_stays)
{
    struct delta_log log;

    delta_log_begin(&log, true, "a");
    delta_log_delete(&log, "a", 2);
    delta_log_delete(&log, "a", 3);
    delta_log_replace(&log, "");
    assert_string_equal(delta_log_pop_all(&log), "a:Deleted2");
    delta_log_end(&log);
    delta_log_begin(&log, true, "a");
    delta_log_replace(&log, "");
    delta_log_delete(&log, "a", 3);
    assert_string_equal(delta_log_pop_all(&log), "a:Deleted3!");
    delta_log_end(&log);
}

/* Contract client 1.6.7, 1.6.9. */
TEST(delta_fifo, a_list_buries_what_it_lacks)
{
    struct delta_log log;

    delta_log_begin(&log, true, "a b c");
    delta_log_delete(&log, "b", 5);
    delta_log_replace(&log, "d9");
    assert_string_equal(delta_log_pop_all(&log), "b:Deleted5 d:Replaced9 a:Lost1 c:Lost1");
    delta_log_end(&log);
    delta_log_begin(&log, true, "");
    delta_log_add(&log, "p", 2);
    delta_log_update(&log, "p", 3);
    delta_log_replace(&log, "q4");
    assert_string_equal(delta_log_pop_all(&log), "p:Added2,Updated3,Lost3 q:Replaced4");
    delta_log_end(&log);
}

/* Contract client 1.6.10. */
TEST(delta_fifo, a_list_after_a_pending_deletion_brings_the_key_back)
{
    struct delta_log log;

    delta_log_begin(&log, true, "a");
    delta_log_delete(&log, "a", 1);
    delta_log_replace(&log, "a2");
    assert_string_equal(delta_log_pop_all(&log), "a:Deleted1,Replaced2");
    delta_log_end(&log);
}

/* Contract client 1.6.14. */
TEST(delta_fifo, resync_repeats_what_is_known_and_not_pending)
{
    struct delta_log log;

    delta_log_begin(&log, true, "a b");
    delta_log_update(&log, "a", 2);
    delta_log_resync(&log);
    assert_string_equal(delta_log_pop_all(&log), "a:Updated2 b:Sync1");
    delta_log_end(&log);
    delta_log_begin(&log, true, NULL);
    assert_int_equal(delta_log_resync(&log), 0);
    assert_string_equal(delta_log_pop_all(&log), "");
    delta_log_end(&log);
}

/* Contract client 1.4.6, 1.6.11. */
TEST(delta_fifo, is_synced_when_the_first_list_was_consumed)
{
    struct delta_log log;

    delta_log_begin(&log, true, "gone");
    assert_false(cor_delta_fifo_has_synced(log.fifo));
    delta_log_replace(&log, "a1 b2 a3");
    assert_string_equal(delta_log_pop(&log), "a:Replaced1,Replaced3!");
    assert_string_equal(delta_log_pop(&log), "b:Replaced2!");
    assert_false(cor_delta_fifo_has_synced(log.fifo));
    assert_string_equal(delta_log_pop(&log), "gone:Lost1!");
    assert_true(cor_delta_fifo_has_synced(log.fifo));
    delta_log_replace(&log, "a4");
    assert_true(cor_delta_fifo_has_synced(log.fifo));
    delta_log_end(&log);
    delta_log_begin(&log, true, NULL);
    delta_log_replace(&log, "");
    assert_true(cor_delta_fifo_has_synced(log.fifo));
    delta_log_end(&log);
    delta_log_begin(&log, true, NULL);
    delta_log_add(&log, "a", 1);
    assert_true(cor_delta_fifo_has_synced(log.fifo));
    delta_log_replace(&log, "a1 b2");
    assert_true(cor_delta_fifo_has_synced(log.fifo));
    delta_log_end(&log);
}

static int ask_again(void *arg, struct cor_str key, const struct cor_delta *deltas, size_t n,
                     bool in_initial_list)
{
    return COR_DELTA_REQUEUE;
}

/* Contract client 1.4.10. */
TEST(delta_fifo, a_consumer_may_put_the_changes_back)
{
    struct delta_log log;

    delta_log_begin(&log, true, NULL);
    delta_log_add(&log, "a", 1);
    delta_log_update(&log, "a", 2);
    delta_log_add(&log, "b", 3);
    assert_int_equal(cor_delta_fifo_try_pop(log.fifo, ask_again, NULL), COR_DELTA_REQUEUE);
    assert_string_equal(delta_log_pop_all(&log), "b:Added3 a:Added1,Updated2");
    delta_log_end(&log);
}

/* What a consumer keeps beyond the pop. */
struct kept {
    struct cor_delta deltas[4];
    size_t n;
};

static int keep(void *arg, struct cor_str key, const struct cor_delta *deltas, size_t n,
                bool in_initial_list)
{
    struct kept *kept = arg;

    for (kept->n = 0; kept->n < n; kept->n++) {
        kept->deltas[kept->n] = deltas[kept->n];
        cor_object_ref(deltas[kept->n].object);
    }
    return 0;
}

static void kept_deinit(struct kept *kept)
{
    while (kept->n > 0)
        cor_object_unref(kept->deltas[--kept->n].object);
}

/* client-go's AddIfNotPresent, which it had up to 1.32. */
TEST(delta_fifo, takes_changes_back_unless_newer_ones_are_pending)
{
    struct delta_log log;
    struct kept kept;

    delta_log_begin(&log, true, NULL);
    delta_log_add(&log, "a", 1);
    delta_log_update(&log, "a", 2);
    assert_int_equal(cor_delta_fifo_try_pop(log.fifo, keep, &kept), 0);
    delta_log_add(&log, "b", 3);
    assert_int_equal(cor_delta_fifo_add_if_not_present(log.fifo, COR_STR("a"), kept.deltas, kept.n),
                     0);
    assert_int_equal(cor_delta_fifo_add_if_not_present(log.fifo, COR_STR("b"), kept.deltas, kept.n),
                     0);
    assert_int_equal(cor_delta_fifo_add_if_not_present(log.fifo, COR_STR("c"), kept.deltas, 0), 0);
    assert_string_equal(delta_log_pop_all(&log), "b:Added3 a:Added1,Updated2");
    kept_deinit(&kept);
    delta_log_end(&log);
}

TEST(delta_fifo, takes_all_changes_back_or_none_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct delta_log log;
        struct kept kept;
        int r;

        test_fail_alloc(0, false);
        delta_log_begin(&log, true, NULL);
        delta_log_add(&log, "a", 1);
        delta_log_update(&log, "a", 2);
        assert_int_equal(cor_delta_fifo_try_pop(log.fifo, keep, &kept), 0);
        test_fail_alloc(n, false);
        r = cor_delta_fifo_add_if_not_present(log.fifo, COR_STR("a"), kept.deltas, kept.n);
        test_fail_alloc(0, false);
        assert_string_equal(delta_log_pop_all(&log), r == 0 ? "a:Added1,Updated2" : "");
        kept_deinit(&kept);
        delta_log_end(&log);
    }
}

static int nothing(void *arg, struct cor_str key, const struct cor_delta *deltas, size_t n,
                   bool in_initial_list)
{
    return 0;
}

static void *pop_one(void *arg)
{
    return (void *)(intptr_t)cor_delta_fifo_pop(arg, nothing, NULL);
}

/* Contract client 1.4.2, 1.7.12. */
TEST(delta_fifo, close_gives_out_what_is_pending_and_wakes_all_who_wait)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        struct delta_log log;
        pthread_t waiting[10];

        delta_log_begin(&log, by_key, NULL);
        for (size_t i = 0; i < 10; i++)
            assert_int_equal(pthread_create(&waiting[i], NULL, pop_one, log.fifo), 0);
        cor_delta_fifo_close(log.fifo);
        for (size_t i = 0; i < 10; i++) {
            void *r;

            pthread_join(waiting[i], &r);
            assert_int_equal((intptr_t)r, -COR_ECANCELED);
        }
        assert_true(cor_delta_fifo_is_closed(log.fifo));
        assert_int_equal(delta_log_add(&log, "a", 1), 0);
        assert_int_equal(cor_delta_fifo_pop(log.fifo, nothing, NULL), 0);
        assert_int_equal(cor_delta_fifo_pop(log.fifo, nothing, NULL), -COR_ECANCELED);
        delta_log_end(&log);
    }
}
