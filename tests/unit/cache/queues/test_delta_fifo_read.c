/* Reading a delta FIFO without popping. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "delta_log.h"
#include "test.h"

struct reading {
    char text[128];
    const char *until; /* the key that ends it; "" for none */
};

static int note_changes(void *arg, struct cor_str key, const struct cor_delta *deltas, size_t n)
{
    static const char *const types[] = {"A", "U", "D", "R", "S"};
    struct reading *to = arg;
    size_t at = strlen(to->text);

    at += (size_t)snprintf(to->text + at, sizeof(to->text) - at, "%.*s:", COR_STR_ARG(key));
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(
            to->text + at, sizeof(to->text) - at, "%s%.*s", types[deltas[i].type],
            COR_STR_ARG(deltas[i].object ? cor_object_resource_version(deltas[i].object)
                                         : COR_STR("?")));
    snprintf(to->text + at, sizeof(to->text) - at, " ");
    return cor_str_eqz(key, to->until) ? 7 : 0;
}

static struct reading read_all(struct delta_log *log, const char *until, int want)
{
    struct reading to = {.until = until};

    assert_int_equal(cor_delta_fifo_each(log->fifo, note_changes, &to), want);
    return to;
}

/* Contract client 1.4.1: upstream's queue can be read in its tests alone. In order a change waits
 * by itself, and is read with the others of its key. */
TEST(delta_fifo_read, shows_the_changes_of_each_key_and_keeps_them)
{
    static const char *const popped[] = {"a:Added1 b:Added2 a:Updated3 b:Deleted4",
                                         "a:Added1,Updated3 b:Added2,Deleted4"};

    for (int by_key = 0; by_key < 2; by_key++) {
        struct reading to = {.until = ""};
        struct delta_log log;

        delta_log_begin(&log, by_key, NULL);
        assert_string_equal(read_all(&log, "", 0).text, "");
        delta_log_add(&log, "a", 1);
        delta_log_add(&log, "b", 2);
        delta_log_update(&log, "a", 3);
        delta_log_delete(&log, "b", 4);
        assert_string_equal(read_all(&log, "", 0).text, "a:A1U3 b:A2D4 ");
        assert_string_equal(read_all(&log, "a", 7).text, "a:A1U3 ");
        assert_int_equal(cor_delta_fifo_read(log.fifo, COR_STR("b"), note_changes, &to), 0);
        assert_string_equal(to.text, "b:A2D4 ");
        to.until = "b";
        assert_int_equal(cor_delta_fifo_read(log.fifo, COR_STR("b"), note_changes, &to), 7);
        assert_int_equal(cor_delta_fifo_read(log.fifo, COR_STR("c"), note_changes, &to),
                         -COR_ENOTFOUND);
        assert_int_equal(cor_delta_fifo_len(log.fifo), 4);
        assert_string_equal(delta_log_pop_all(&log), popped[by_key]);
        assert_string_equal(read_all(&log, "", 0).text, "");
        delta_log_end(&log);
    }
}

/* The objects of a list wait in an array of their own until somebody looks at them. */
TEST(delta_fifo_read, shows_a_list_that_waits_and_keeps_its_place)
{
    struct reading to = {.until = ""};
    struct delta_log log;

    delta_log_begin(&log, false, "");
    delta_log_add(&log, "c", 1);
    delta_log_replace(&log, "c1 a5 b6");
    delta_log_update(&log, "a", 7);
    assert_int_equal(cor_delta_fifo_read(log.fifo, COR_STR("a"), note_changes, &to), 0);
    assert_string_equal(to.text, "a:R5U7 ");
    assert_string_equal(delta_log_pop_all(&log),
                        "c:Added1 c:Replaced1 a:Replaced5 b:Replaced6 a:Updated7");
    delta_log_end(&log);
}

TEST(delta_fifo_read, changes_nothing_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct reading to = {.until = ""}, one = {.until = ""};
        struct delta_log log;
        int r, r_one;

        test_fail_alloc(0, false);
        delta_log_begin(&log, false, "");
        delta_log_replace(&log, "a1 b2");
        delta_log_update(&log, "a", 3);
        test_fail_alloc(n, false);
        r_one = cor_delta_fifo_read(log.fifo, COR_STR("a"), note_changes, &one);
        r = cor_delta_fifo_each(log.fifo, note_changes, &to);
        test_fail_alloc(0, false);
        assert_true((r == 0 || r == -COR_ENOMEM) && (r_one == 0 || r_one == -COR_ENOMEM));
        assert_true(test_alloc_failed() || (r == 0 && r_one == 0));
        if (r_one == 0)
            assert_string_equal(one.text, "a:R1U3 ");
        assert_int_equal(cor_delta_fifo_len(log.fifo), 3);
        assert_string_equal(delta_log_pop_all(&log), "a:Replaced1! b:Replaced2! a:Updated3");
        delta_log_end(&log);
    }
}
