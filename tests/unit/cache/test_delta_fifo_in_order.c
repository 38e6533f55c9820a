/* Every change by itself: the cases of client-go's the_real_fifo_test (contract 1.7). */
#include "base/err.h"
#include "delta_log.h"
#include "test.h"

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

TEST(delta_fifo_in_order, deletions_are_given_out_whoever_knows_the_object)
{
    struct delta_log log;

    delta_log_begin(&log, false, "");
    delta_log_delete(&log, "a", 1);
    delta_log_delete(&log, "a", 2);
    assert_string_equal(delta_log_pop_all(&log), "a:Deleted1 a:Deleted2");
    delta_log_end(&log);
}

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

TEST(delta_fifo_in_order, two_lists_repeat_themselves)
{
    struct delta_log log;

    delta_log_begin(&log, false, "x");
    delta_log_replace(&log, "x2");
    delta_log_replace(&log, "x3");
    assert_string_equal(delta_log_pop_all(&log), "x:Replaced2! x:Replaced3");
    delta_log_end(&log);
}

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

TEST(delta_fifo_in_order, a_list_with_an_object_that_is_refused_changes_nothing)
{
    struct delta_log log = {0};
    int calls = 0;
    struct cor_delta_fifo_opts opts = {.transform = refuse_r, .arg = &calls};

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
    struct cor_delta_fifo_opts opts = {.deltas_max = 2};

    assert_int_equal(cor_delta_fifo_new(&opts, &log.fifo), 0);
    assert_int_equal(delta_log_add(&log, "a", 1), 0);
    assert_int_equal(delta_log_replace(&log, "b1 c1"), -COR_EBUSY);
    assert_int_equal(delta_log_add(&log, "b", 1), 0);
    assert_int_equal(delta_log_add(&log, "c", 1), -COR_EBUSY);
    assert_string_equal(delta_log_pop_all(&log), "a:Added1 b:Added1");
    delta_log_end(&log);
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
