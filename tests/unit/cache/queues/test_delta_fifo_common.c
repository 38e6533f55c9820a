/* What both orders of a delta FIFO have in common: names, bookmarks, and that nothing is lost. */
#include <stdio.h>

#include "base/err.h"
#include "delta_log.h"
#include "test.h"

#define STEPS 4000

/* Contract client 1.6.2: a bookmark tells of no object. */
TEST(delta_fifo_common, a_bookmark_is_no_change)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        char rv[COR_CACHE_WAITER_RV_MAX + 1];
        struct cor_reflector_store *store;
        struct delta_log log;

        delta_log_begin(&log, by_key, "a");
        store = cor_delta_fifo_store(log.fifo);
        store->ops->bookmark(store, cor_reflector_at(COR_STR("7")));
        cor_delta_fifo_last_rv(log.fifo, rv);
        assert_string_equal(rv, "7");
        assert_int_equal(cor_delta_fifo_len(log.fifo), 0);
        assert_false(cor_delta_fifo_has_synced(log.fifo));
        delta_log_update(&log, "a", 8);
        store->ops->bookmark(store, cor_reflector_at(COR_STR("9")));
        assert_string_equal(delta_log_pop_all(&log), "a:Updated8");
        delta_log_end(&log);
    }
}

/* Contract client 1.3.2: a name that the driver tells is the key, whatever it looks like. */
TEST(delta_fifo_common, a_key_that_is_told_is_taken_as_it_is)
{
    static const char *const expected[] = {"x/y /z:Added1 x/y /z:Lost?", "x/y /z:Added1,Lost?"};
    struct cor_object *o;

    assert_int_equal(
        cor_object_from_json(COR_STR("{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}}"),
                             &o, NULL),
        0);
    for (int by_key = 0; by_key < 2; by_key++) {
        struct cor_reflector_store *store;
        struct delta_log log;

        delta_log_begin(&log, by_key, NULL);
        store = cor_delta_fifo_store(log.fifo);
        assert_int_equal(
            store->ops->add(store, COR_STR("x/y /z"), o, cor_reflector_at(COR_STR("1")), NULL), 0);
        assert_int_equal(
            store->ops->del(store, COR_STR("x/y /z"), NULL, cor_reflector_at(COR_STR("2")), NULL),
            0);
        assert_string_equal(delta_log_pop_all(&log), expected[by_key]);
        delta_log_end(&log);
    }
    cor_object_unref(o);
}

/* Objects by their names; 0, or what refused one of them. */
static int list_names(struct delta_log *log, const char *const names[], size_t n)
{
    struct cor_reflector_store *store = cor_delta_fifo_store(log->fifo);
    int r = store->ops->replace_begin(store, NULL);

    for (size_t i = 0; r == 0 && i < n; i++) {
        struct cor_object *o;
        char json[64];

        snprintf(json, sizeof(json), "{\"metadata\":{\"name\":\"%s\"}}", names[i]);
        assert_int_equal(cor_object_from_json(cor_strz(json), &o, NULL), 0);
        r = store->ops->replace_add(store, COR_STR(""), o, NULL);
        cor_object_unref(o);
    }
    if (r == 0)
        return store->ops->replace_commit(store, cor_reflector_at(COR_STR("1")), NULL);
    store->ops->replace_abort(store);
    return r;
}

/* Contract client 1.2.2, 1.7.4, 1.7.6. */
TEST(delta_fifo_common, an_object_without_a_name_is_refused_when_it_comes)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        struct delta_log log;

        delta_log_begin(&log, by_key, NULL);
        assert_int_equal(delta_log_add(&log, "", 1), -COR_EINVAL);
        assert_int_equal(delta_log_update(&log, "", 1), -COR_EINVAL);
        assert_int_equal(delta_log_delete(&log, "", 1), -COR_EINVAL);
        assert_int_equal(list_names(&log, (const char *const[]){"a", "", "b"}, 3), -COR_EINVAL);
        assert_false(cor_delta_fifo_has_synced(log.fifo));
        assert_string_equal(delta_log_pop_all(&log), "");
        delta_log_end(&log);
    }
}

TEST(delta_fifo_common, nothing_need_be_known)
{
    static const char *const expected[] = {"a:Added1 b:Added2 a:Lost1 b:Replaced3",
                                           "a:Added1,Lost1 b:Added2,Replaced3"};

    for (int by_key = 0; by_key < 2; by_key++) {
        struct delta_log log;

        delta_log_begin(&log, by_key, NULL);
        delta_log_add(&log, "a", 1);
        delta_log_add(&log, "b", 2);
        delta_log_replace(&log, "b3");
        assert_int_equal(delta_log_resync(&log), 0);
        assert_string_equal(delta_log_pop_all(&log), expected[by_key]);
        delta_log_end(&log);
    }
}

/* Contract client 1.7.11: the object goes with its pop, not with the last one of its list. */
TEST(delta_fifo_common, what_was_given_out_is_let_go_at_once)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        struct delta_log log;

        delta_log_begin(&log, by_key, "");
        delta_log_replace(&log, "a1 b2 c3");
        delta_log_add(&log, "d", 4);
        for (const char *const *word = (const char *const[]){"a:Replaced1!", "b:Replaced2!",
                                                             "c:Replaced3!", "d:Added4", NULL};
             *word; word++) {
            size_t before = test_live_allocs();

            assert_string_equal(delta_log_pop(&log), *word);
            assert_true(test_live_allocs() < before);
        }
        delta_log_end(&log);
    }
}

/* What a pop gave. */
struct given {
    char key[8];
    size_t n;
    int answer;
};

static int take(void *arg, struct cor_str key, const struct cor_delta *deltas, size_t n,
                bool in_initial_list)
{
    struct given *given = arg;

    snprintf(given->key, sizeof(given->key), "%.*s", COR_STR_ARG(key));
    given->n = n;
    return given->answer;
}

/* True when something was popped; the key of the one before is in `last`, or "". */
static bool pop_checked(struct delta_log *log, bool by_key, int answer, char last[8])
{
    size_t before = cor_delta_fifo_len(log->fifo), after;
    struct given given = {.answer = answer};
    int r = cor_delta_fifo_try_pop(log->fifo, take, &given);

    assert_int_equal(r, before > 0 ? answer : -COR_EBUSY);
    if (before == 0)
        return false;
    after = cor_delta_fifo_len(log->fifo);
    assert_true(given.n >= 1 && (by_key || given.n == 1));
    assert_true(after == before - given.n || (answer == COR_DELTA_REQUEUE && after == before));
    /* By key, a pop has all of its key. */
    assert_false(by_key && last[0] && strcmp(last, given.key) == 0);
    snprintf(last, 8, "%s", answer == 0 ? given.key : "");
    return true;
}

static void change_at_random(struct delta_log *log, int rv)
{
    char name[2] = {(char)('a' + test_random() % 5), '\0'}, list[32];

    switch (test_random() % 8) {
    case 0:
        snprintf(list, sizeof(list), "%s%d c%d %s%d", name, rv, rv, name, rv + 1);
        assert_int_equal(delta_log_replace(log, test_random() % 4 ? list : ""), 0);
        break;
    case 1:
        assert_int_equal(delta_log_resync(log), 0);
        break;
    case 2:
    case 3:
        assert_int_equal(delta_log_delete(log, name, rv), 0);
        break;
    case 4:
        assert_int_equal(delta_log_add(log, name, rv), 0);
        break;
    default:
        assert_int_equal(delta_log_update(log, name, rv), 0);
    }
}

/* Contract client 1.4.1, 1.6.18: every change that is counted is given out, and no key stands
 * without one. */
TEST(delta_fifo_common, gives_out_what_it_counts_through_a_long_random_history)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        struct delta_log log;
        char last[8] = "";

        delta_log_begin(&log, by_key, "a k");
        for (int i = 1; i < STEPS; i++) {
            if (test_random() % 2) {
                change_at_random(&log, i);
                last[0] = '\0';
            } else {
                pop_checked(&log, by_key, test_random() % 4 ? 0 : COR_DELTA_REQUEUE, last);
            }
        }
        while (pop_checked(&log, by_key, 0, last))
            ;
        assert_int_equal(cor_delta_fifo_len(log.fifo), 0);
        assert_true(cor_delta_fifo_has_synced(log.fifo));
        delta_log_end(&log);
    }
}
