/* A list that waits in the queue: it takes one block, and whoever looks at it, or puts something
 * behind it, sees the changes that it is made of. */
#include <stdio.h>

#include "base/err.h"
#include "delta_log.h"
#include "meta/object/object_received.h"
#include "test.h"

#define LONG_LIST 1000

static void stage(struct cor_reflector_store *store, int i)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *o = NULL;
    char json[128];

    snprintf(json, sizeof(json), "{\"metadata\":{\"name\":\"o-%d\",\"resourceVersion\":\"7\"}}", i);
    assert_int_equal(cor_object_from_json(cor_strz(json), &o, NULL), 0);
    assert_int_equal(store->ops->replace_add(store, COR_STR(""), o, NULL), 0);
}

static int count(void *arg, struct cor_str key, const struct cor_delta *deltas, size_t n,
                 bool in_initial_list)
{
    ++*(int *)arg;
    return 0;
}

TEST(delta_fifo_list, waits_in_one_block_however_long_it_is)
{
    struct delta_log log;
    struct cor_reflector_store *store;
    size_t before, staged;
    int n = 0;

    delta_log_begin(&log, false, "");
    store = cor_delta_fifo_store(log.fifo);
    before = test_live_allocs();
    assert_int_equal(store->ops->replace_begin(store, NULL), 0);
    for (int i = 0; i < LONG_LIST; i++)
        stage(store, i);
    staged = test_live_allocs();
    assert_true(staged - before <= LONG_LIST + 2); /* the objects, the list, the key at hand */
    assert_int_equal(store->ops->replace_commit(store, cor_reflector_at(COR_STR("7")), NULL), 0);
    assert_int_equal(test_live_allocs(), staged);
    while (cor_delta_fifo_try_pop(log.fifo, count, &n) == 0)
        ;
    assert_int_equal(n, LONG_LIST);
    assert_true(test_live_allocs() <= before + 1);
    delta_log_end(&log);
}

TEST(delta_fifo_list, what_comes_later_stays_behind_it)
{
    struct delta_log log;

    delta_log_begin(&log, false, "");
    delta_log_replace(&log, "a1 b2");
    delta_log_update(&log, "a", 3);
    delta_log_delete(&log, "b", 4);
    delta_log_add(&log, "c", 5);
    assert_int_equal(cor_delta_fifo_len(log.fifo), 5);
    assert_string_equal(delta_log_pop_all(&log),
                        "a:Replaced1! b:Replaced2! a:Updated3 b:Deleted4 c:Added5");
    delta_log_end(&log);
}

TEST(delta_fifo_list, stays_behind_what_came_before)
{
    struct delta_log log;

    delta_log_begin(&log, false, "k");
    delta_log_add(&log, "a", 1);
    delta_log_replace(&log, "a2 b3");
    delta_log_update(&log, "a", 4);
    delta_log_replace(&log, "a5");
    assert_string_equal(delta_log_pop_all(&log),
                        "a:Added1 k:Lost1 a:Replaced2 b:Replaced3 a:Updated4 b:Lost3 a:Replaced5");
    delta_log_end(&log);
}

TEST(delta_fifo_list, a_later_list_buries_what_is_left_of_it)
{
    struct delta_log log;

    delta_log_begin(&log, false, "");
    delta_log_replace(&log, "a1 b2 c3 b4");
    assert_string_equal(delta_log_pop(&log), "a:Replaced1!");
    delta_log_update(&log, "b", 5);
    delta_log_replace(&log, "c6");
    assert_int_equal(cor_delta_fifo_len(log.fifo), 6);
    assert_string_equal(delta_log_pop_all(&log),
                        "b:Replaced2! c:Replaced3! b:Replaced4! b:Updated5 b:Lost5 c:Replaced6");
    delta_log_end(&log);
}

TEST(delta_fifo_list, a_resync_passes_over_what_is_left_of_it)
{
    struct delta_log log;

    delta_log_begin(&log, false, "a b c");
    delta_log_replace(&log, "a2 b3 c4");
    assert_string_equal(delta_log_pop(&log), "a:Replaced2!");
    assert_int_equal(delta_log_resync(&log), 0);
    assert_string_equal(delta_log_pop_all(&log), "b:Replaced3! c:Replaced4! a:Sync1");
    delta_log_end(&log);
}

static int ask_again(void *arg, struct cor_str key, const struct cor_delta *deltas, size_t n,
                     bool in_initial_list)
{
    return COR_DELTA_REQUEUE;
}

TEST(delta_fifo_list, an_object_may_be_put_back_unless_newer_changes_are_pending)
{
    static const struct {
        const char *list, *expected;
        int newer;
    } cases[] = {
        {"a1 b2", "b:Replaced2! a:Replaced1", 0},
        {"a1 b2 a3", "b:Replaced2! a:Replaced3!", 0},
        {"a1 b2", "b:Replaced2! a:Updated4", 4},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct delta_log log;

        delta_log_begin(&log, false, "");
        delta_log_replace(&log, cases[i].list);
        if (cases[i].newer)
            delta_log_update(&log, "a", cases[i].newer);
        assert_int_equal(cor_delta_fifo_try_pop(log.fifo, ask_again, NULL), COR_DELTA_REQUEUE);
        assert_string_equal(delta_log_pop_all(&log), cases[i].expected);
        delta_log_end(&log);
    }
}

TEST(delta_fifo_list, nothing_older_is_put_back_behind_it)
{
    struct delta_log log;

    delta_log_begin(&log, false, "");
    delta_log_add(&log, "a", 1);
    delta_log_replace(&log, "a2");
    assert_int_equal(cor_delta_fifo_try_pop(log.fifo, ask_again, NULL), COR_DELTA_REQUEUE);
    assert_string_equal(delta_log_pop_all(&log), "a:Replaced2");
    delta_log_end(&log);
}

static int put_back(struct delta_log *log)
{
    const struct cor_delta delta = {COR_DELTA_DELETED, true, NULL};

    return cor_delta_fifo_add_if_not_present(log->fifo, COR_STR("b"), &delta, 1);
}

TEST(delta_fifo_list, its_changes_are_newer_than_what_is_put_back)
{
    struct delta_log log;

    delta_log_begin(&log, false, "");
    delta_log_replace(&log, "a1 b2");
    assert_int_equal(put_back(&log), 0);
    assert_string_equal(delta_log_pop(&log), "a:Replaced1!");
    assert_string_equal(delta_log_pop(&log), "b:Replaced2!");
    assert_int_equal(put_back(&log), 0);
    assert_string_equal(delta_log_pop_all(&log), "b:Lost?");
    delta_log_end(&log);
}

static int replace_again(struct delta_log *log)
{
    return delta_log_replace(log, "c6");
}

static int refuse_first(struct delta_log *log)
{
    return cor_delta_fifo_try_pop(log->fifo, ask_again, NULL);
}

TEST(delta_fifo_list, stays_whole_when_memory_runs_out)
{
    static const struct {
        int (*call)(struct delta_log *log);
        const char *expected;
    } cases[] = {
        {replace_again,
         "a:Replaced1! b:Replaced2! b:Updated5 k:Deleted4 a:Lost1 b:Lost5 c:Replaced6"},
        {delta_log_resync, "a:Replaced1! b:Replaced2! b:Updated5 k:Deleted4"},
        {put_back, "a:Replaced1! b:Replaced2! b:Updated5 k:Deleted4"},
        {refuse_first, "b:Replaced2! b:Updated5 k:Deleted4 a:Replaced1"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        FOR_EACH_FAILED_ALLOC(n) {
            struct delta_log log;
            int r;

            test_fail_alloc(0, false);
            delta_log_begin(&log, false, "k");
            delta_log_replace(&log, "k1 a1 b2");
            assert_string_equal(delta_log_pop(&log), "k:Replaced1!");
            delta_log_update(&log, "b", 5);
            delta_log_delete(&log, "k", 4);
            test_fail_alloc(n, false);
            r = cases[i].call(&log);
            assert_true(r >= 0 || (r == -COR_ENOMEM && test_alloc_failed()));
            assert_string_equal(delta_log_pop_all(&log),
                                r >= 0 ? cases[i].expected
                                       : "a:Replaced1! b:Replaced2! b:Updated5 k:Deleted4");
            delta_log_end(&log);
        }
}
