/* Every change by itself: the cases of client-go's the_real_fifo_test (contract client 1.7). */
#include "base/err.h"
#include "delta_log.h"
#include "test.h"

/* Contract client 1.7.1, 1.7.13. */
TEST(delta_fifo_in_order, gives_each_change_in_the_order_of_arrival)
{
    struct delta_log log;

    delta_log_begin(&log, false, "");
    delta_log_add(&log, "a", 1);
    delta_log_add(&log, "b", 2);
    delta_log_update(&log, "a", 3);
    delta_log_delete(&log, "a", 4);
    assert_int_equal(cor_delta_fifo_len(log.fifo), 4);
    assert_string_equal(delta_log_pop_all(&log), "a:Added1 b:Added2 a:Updated3 a:Deleted4");
    delta_log_end(&log);
}

/* Contract client 1.7.3. */
TEST(delta_fifo_in_order, deletions_are_given_out_whoever_knows_the_object)
{
    struct delta_log log;

    delta_log_begin(&log, false, "");
    delta_log_delete(&log, "a", 1);
    delta_log_delete(&log, "a", 2);
    assert_string_equal(delta_log_pop_all(&log), "a:Deleted1 a:Deleted2");
    delta_log_end(&log);
}

/* Contract client 1.7.5. */
TEST(delta_fifo_in_order, a_list_buries_first_what_it_lacks)
{
    struct delta_log log;

    delta_log_begin(&log, false, "k l m");
    delta_log_update(&log, "l", 7);
    delta_log_add(&log, "c", 8);
    delta_log_delete(&log, "m", 9);
    delta_log_add(&log, "e", 2);
    delta_log_replace(&log, "e3 f4");
    assert_string_equal(delta_log_pop_all(&log),
                        "l:Updated7 c:Added8 m:Deleted9 e:Added2 l:Lost7 c:Lost8 k:Lost1 "
                        "e:Replaced3 f:Replaced4");
    delta_log_end(&log);
}

/* Contract client 1.7.5. */
TEST(delta_fifo_in_order, a_list_buries_in_the_order_of_what_is_still_pending)
{
    struct delta_log log;

    delta_log_begin(&log, false, "");
    delta_log_add(&log, "a", 1);
    delta_log_add(&log, "b", 2);
    delta_log_update(&log, "a", 3);
    assert_string_equal(delta_log_pop(&log), "a:Added1");
    delta_log_replace(&log, "");
    assert_string_equal(delta_log_pop_all(&log), "b:Added2 a:Updated3 b:Lost2 a:Lost3");
    delta_log_end(&log);
}

TEST(delta_fifo_in_order, a_list_buries_all_that_it_lacks_or_fails)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        struct delta_log log;

        delta_log_begin(&log, by_key, "k l");
        FOR_EACH_FAILED_ALLOC(n) {
            int r = delta_log_replace(&log, "");

            assert_true(r == 0 || (r == -COR_ENOMEM && test_alloc_failed()));
            assert_int_equal(cor_delta_fifo_len(log.fifo), r == 0 ? 2 : 0);
            test_fail_alloc(0, false);
            delta_log_pop_all(&log);
        }
        delta_log_end(&log);
    }
}

/* Contract client 1.4.5, 1.7.8, 1.7.12. */
TEST(delta_fifo_in_order, the_first_list_counts_all_that_is_pending)
{
    struct delta_log log;

    delta_log_begin(&log, false, "gone");
    delta_log_replace(&log, "a1 b2 a3");
    assert_string_equal(delta_log_pop(&log), "gone:Lost1!");
    assert_string_equal(delta_log_pop(&log), "a:Replaced1!");
    assert_string_equal(delta_log_pop(&log), "b:Replaced2!");
    assert_false(cor_delta_fifo_has_synced(log.fifo));
    assert_string_equal(delta_log_pop(&log), "a:Replaced3!");
    assert_true(cor_delta_fifo_has_synced(log.fifo));
    delta_log_replace(&log, "a4");
    assert_string_equal(delta_log_pop_all(&log), "gone:Lost1 a:Replaced4");
    delta_log_end(&log);
}

/* Contract client 1.7.7. */
TEST(delta_fifo_in_order, two_lists_repeat_themselves)
{
    struct delta_log log;

    delta_log_begin(&log, false, "x");
    delta_log_replace(&log, "x2");
    delta_log_replace(&log, "x3");
    assert_string_equal(delta_log_pop_all(&log), "x:Replaced2! x:Replaced3");
    delta_log_end(&log);
}

/* Contract client 1.7.9. */
TEST(delta_fifo_in_order, resync_repeats_what_is_known_and_not_pending)
{
    struct delta_log log;

    delta_log_begin(&log, false, "a b");
    delta_log_update(&log, "a", 2);
    delta_log_resync(&log);
    assert_string_equal(delta_log_pop_all(&log), "a:Updated2 b:Sync1");
    delta_log_end(&log);
}

static int refuse_r(void *arg, struct cor_object **object, struct cor_status *reterr)
{
    int *calls = arg;

    (*calls)++;
    if (cor_str_eqz(cor_object_name(*object), "r"))
        return cor_status_set(reterr, -COR_EINVALID, "refused");
    return 0;
}

/* Unlike client-go's, which keeps what came before it. */
TEST(delta_fifo_in_order, a_list_with_an_object_that_is_refused_changes_nothing)
{
    struct delta_log log = {0};
    int calls = 0;
    struct cor_delta_fifo_opts opts = {COR_DELTA_FIFO_OPTS, .transform = refuse_r, .arg = &calls};

    assert_int_equal(cor_delta_fifo_new(&opts, &log.fifo), 0);
    assert_int_equal(delta_log_replace(&log, "a1 r2 b3"), -COR_EINVALID);
    assert_int_equal(delta_log_add(&log, "r", 1), -COR_EINVALID);
    assert_int_equal(calls, 3);
    assert_string_equal(delta_log_pop_all(&log), "");
    assert_int_equal(delta_log_replace(&log, "a1"), 0);
    assert_int_equal(calls, 4);
    assert_string_equal(delta_log_pop_all(&log), "a:Replaced1");
    delta_log_end(&log);
}

TEST(delta_fifo_in_order, has_a_maximum)
{
    struct delta_log log = {0};
    struct cor_delta_fifo_opts opts = {COR_DELTA_FIFO_OPTS, .deltas_max = 2};

    assert_int_equal(cor_delta_fifo_new(&opts, &log.fifo), 0);
    assert_int_equal(delta_log_add(&log, "a", 1), 0);
    assert_int_equal(delta_log_replace(&log, "b1 c1"), -COR_EBUSY);
    assert_int_equal(delta_log_add(&log, "b", 1), 0);
    assert_int_equal(delta_log_add(&log, "c", 1), -COR_EBUSY);
    assert_string_equal(delta_log_pop_all(&log), "a:Added1 b:Added1");
    delta_log_end(&log);
}

TEST(delta_fifo_in_order, takes_no_more_of_a_list_than_it_could_queue)
{
    struct delta_log log = {0};
    int calls = 0;
    struct cor_delta_fifo_opts opts = {COR_DELTA_FIFO_OPTS, .transform = refuse_r, .deltas_max = 2,
                                       .arg = &calls};

    assert_int_equal(cor_delta_fifo_new(&opts, &log.fifo), 0);
    assert_int_equal(delta_log_replace(&log, "a1 b2 c3 d4"), -COR_EBUSY);
    assert_int_equal(calls, 2);
    assert_int_equal(delta_log_replace(&log, "a1 b2"), 0);
    delta_log_end(&log);
}

static int lack_memory(void *arg, struct cor_str key, const struct cor_delta *deltas, size_t n,
                       bool in_initial_list)
{
    assert_true(in_initial_list);
    return -COR_ENOMEM;
}

TEST(delta_fifo_in_order, a_consumer_without_memory_leaves_the_changes_where_they_are)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        struct delta_log log;

        delta_log_begin(&log, by_key, "");
        delta_log_replace(&log, "a1 b2");
        assert_int_equal(cor_delta_fifo_try_pop(log.fifo, lack_memory, NULL), -COR_ENOMEM);
        assert_int_equal(cor_delta_fifo_try_pop(log.fifo, lack_memory, NULL), -COR_ENOMEM);
        assert_int_equal(cor_delta_fifo_len(log.fifo), 2);
        assert_false(cor_delta_fifo_has_synced(log.fifo));
        assert_string_equal(delta_log_pop_all(&log), "a:Replaced1! b:Replaced2!");
        assert_true(cor_delta_fifo_has_synced(log.fifo));
        delta_log_end(&log);
    }
}

TEST(delta_fifo_in_order, shows_no_half_of_a_list_when_memory_runs_out)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        struct delta_log log;

        delta_log_begin(&log, by_key, "k l");
        FOR_EACH_FAILED_ALLOC(n) {
            int added = delta_log_add(&log, "a", 1), listed = delta_log_replace(&log, "e1 f2 g3");

            assert_true((added == 0 && listed == 0) || test_alloc_failed());
            test_fail_alloc(0, false);
            assert_int_equal(cor_delta_fifo_len(log.fifo),
                             (added == 0) + (listed == 0 ? 5 + (added == 0) : 0));
            delta_log_pop_all(&log);
        }
        delta_log_end(&log);
    }
}
