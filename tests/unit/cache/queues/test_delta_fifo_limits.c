/* What a delta FIFO refuses or is given back, in both of its orders, and who may go on waiting. */
#include <stdio.h>

#include "base/err.h"
#include "cache/queues/delta_fifo.h"
#include "test.h"

static int nwoken;

static void on_reached(void *arg, int r)
{
    assert_int_equal(r, 0);
    nwoken++;
}

static struct cor_delta_fifo *begin(bool by_key, size_t deltas_max)
{
    const struct cor_delta_fifo_opts opts = {COR_DELTA_FIFO_OPTS, .by_key = by_key,
                                             .deltas_max = deltas_max};
    struct cor_delta_fifo *f;

    nwoken = 0;
    assert_int_equal(cor_delta_fifo_new(&opts, &f), 0);
    return f;
}

static int add(struct cor_delta_fifo *f, const char *name, const char *rv, struct cor_status *why)
{
    struct cor_reflector_store *store = cor_delta_fifo_store(f);
    struct cor_object *o;
    char json[128];
    int r;

    snprintf(json, sizeof(json), "{\"metadata\":{\"name\":\"%s\",\"resourceVersion\":\"%s\"}}",
             name, rv);
    assert_int_equal(cor_object_from_json(cor_strz(json), &o, NULL), 0);
    r = store->ops->add(store, COR_STR(""), o, cor_reflector_at(cor_strz(rv)), why);
    cor_object_unref(o);
    return r;
}

static void wait_for(struct cor_delta_fifo *f, const char *rv)
{
    uint64_t id;

    assert_int_equal(cor_delta_fifo_wait_rv(f, cor_strz(rv), on_reached, NULL, &id), 0);
}

/* The versions it was given, oldest first; returns what `arg` points at. */
static char given[128];

static int take(void *arg, struct cor_str key, const struct cor_delta *deltas, size_t n, bool first)
{
    for (size_t i = 0; i < n; i++)
        snprintf(given + strlen(given), sizeof(given) - strlen(given), "%.*s%.*s ",
                 COR_STR_ARG(key), COR_STR_ARG(cor_object_resource_version(deltas[i].object)));
    return *(int *)arg;
}

static const char *pop(struct cor_delta_fifo *f, int answer)
{
    given[0] = '\0';
    assert_int_equal(cor_delta_fifo_try_pop(f, take, &answer), answer);
    return given;
}

TEST(delta_fifo_limits, one_change_more_than_the_maximum_is_refused)
{
    static const char *const third[] = {"a", "c"}; /* of a key that is pending, and of another */

    for (int i = 0; i < 4; i++) {
        struct cor_delta_fifo *f = begin(i / 2, 2);
        struct cor_status why = {0};

        assert_int_equal(add(f, "a", "1", NULL), 0);
        assert_int_equal(add(f, "b", "2", NULL), 0);
        assert_int_equal(add(f, third[i % 2], "3", &why), -COR_EBUSY);
        assert_string_equal(cor_status_message(&why), "2 changes wait for their consumer");
        cor_status_deinit(&why);
        assert_int_equal(cor_delta_fifo_len(f), 2);
        assert_string_equal(pop(f, 0), "a1 ");
        assert_int_equal(add(f, third[i % 2], "3", NULL), 0);
        assert_string_equal(pop(f, 0), "b2 ");
        assert_string_equal(pop(f, 0), i % 2 ? "c3 " : "a3 ");
        cor_delta_fifo_free(f);
    }
}

/* The reflector will bring it again; who waits for it must not go and look now. */
TEST(delta_fifo_limits, nobody_is_told_of_a_change_that_was_refused)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        struct cor_delta_fifo *f = begin(by_key, 1);

        assert_int_equal(add(f, "a", "1", NULL), 0);
        wait_for(f, "2");
        assert_int_equal(add(f, "b", "2", NULL), -COR_EBUSY);
        assert_string_equal(pop(f, 0), "a1 ");
        assert_int_equal(nwoken, 0);
        assert_int_equal(add(f, "b", "2", NULL), 0);
        assert_int_equal(nwoken, 0);
        assert_string_equal(pop(f, 0), "b2 ");
        assert_int_equal(nwoken, 1);
        cor_delta_fifo_free(f);
    }
}

TEST(delta_fifo_limits, what_comes_back_is_dropped_when_newer_is_pending)
{
    struct cor_delta_fifo *f = begin(false, 0);

    assert_int_equal(add(f, "a", "1", NULL), 0);
    assert_int_equal(add(f, "b", "2", NULL), 0);
    assert_int_equal(add(f, "a", "3", NULL), 0);
    assert_string_equal(pop(f, COR_DELTA_REQUEUE), "a1 ");
    assert_int_equal(cor_delta_fifo_len(f), 2);
    assert_string_equal(pop(f, 0), "b2 ");
    assert_string_equal(pop(f, COR_DELTA_REQUEUE), "a3 ");
    assert_int_equal(cor_delta_fifo_len(f), 1);
    assert_string_equal(pop(f, 0), "a3 ");
    cor_delta_fifo_free(f);
}

/* To who waits for another one, a change that its consumer refused counts as consumed. */
TEST(delta_fifo_limits, what_comes_back_holds_up_nobody)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        struct cor_delta_fifo *f = begin(by_key, 0);

        assert_int_equal(add(f, "a", "1", NULL), 0);
        assert_int_equal(add(f, "b", "2", NULL), 0);
        wait_for(f, "2");
        assert_string_equal(pop(f, COR_DELTA_REQUEUE), "a1 ");
        assert_int_equal(nwoken, 0);
        assert_string_equal(pop(f, 0), "b2 ");
        assert_int_equal(nwoken, 1);
        assert_string_equal(pop(f, 0), "a1 ");
        cor_delta_fifo_free(f);
    }
}

static int refused_with;

static void on_refused(void *arg, int r)
{
    refused_with = r;
}

TEST(delta_fifo_limits, who_waits_for_a_refused_change_hears_of_it_and_nobody_else)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        struct cor_delta_fifo *f = begin(by_key, 0);
        uint64_t id;

        assert_int_equal(add(f, "a", "1", NULL), 0);
        assert_int_equal(add(f, "b", "2", NULL), 0);
        assert_int_equal(cor_delta_fifo_wait_rv(f, COR_STR("1"), on_refused, NULL, &id), 0);
        wait_for(f, "2");
        refused_with = 0;
        assert_string_equal(pop(f, -COR_ENOTSUP), "a1 ");
        assert_int_equal(refused_with, -COR_ENOTSUP);
        assert_string_equal(pop(f, 0), "b2 ");
        assert_int_equal(nwoken, 1);
        assert_int_equal(cor_delta_fifo_wait_rv(f, COR_STR("1"), on_refused, NULL, &id),
                         -COR_ENOTSUP);
        assert_int_equal(cor_delta_fifo_wait_rv(f, COR_STR("2"), on_refused, NULL, &id), 1);
        assert_int_equal(add(f, "a", "3", NULL), 0);
        assert_string_equal(pop(f, 0), "a3 ");
        assert_int_equal(cor_delta_fifo_wait_rv(f, COR_STR("1"), on_refused, NULL, &id), 1);
        cor_delta_fifo_free(f);
    }
}

TEST(delta_fifo_limits, a_change_that_comes_back_is_waited_for)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        struct cor_delta_fifo *f = begin(by_key, 0);

        assert_int_equal(add(f, "a", "1", NULL), 0);
        wait_for(f, "1");
        assert_string_equal(pop(f, COR_DELTA_REQUEUE), "a1 ");
        wait_for(f, "1");
        assert_int_equal(cor_delta_fifo_retries(f), 1);
        assert_int_equal(cor_delta_fifo_fresh(f), 0);
        assert_string_equal(pop(f, COR_DELTA_REQUEUE), "a1 ");
        assert_int_equal(nwoken, 0);
        assert_string_equal(pop(f, 0), "a1 ");
        assert_int_equal(nwoken, 2);
        assert_int_equal(cor_delta_fifo_retries(f), 0);
        cor_delta_fifo_free(f);
    }
}

/* What is gone is not refused any more: deleted, or not in the next list. */
TEST(delta_fifo_limits, a_refused_object_that_is_gone_is_forgotten)
{
    for (int by_key = 0; by_key < 2; by_key++)
        for (int by_list = 0; by_list < 2; by_list++) {
            struct cor_delta_fifo *f = begin(by_key, 0);
            struct cor_reflector_store *store = cor_delta_fifo_store(f);
            uint64_t id;

            assert_int_equal(add(f, "a", "1", NULL), 0);
            assert_string_equal(pop(f, -COR_ENOTSUP), "a1 ");
            assert_int_equal(cor_delta_fifo_wait_rv(f, COR_STR("1"), on_refused, NULL, &id),
                             -COR_ENOTSUP);
            if (by_list) {
                assert_int_equal(store->ops->replace_begin(store, NULL), 0);
                assert_int_equal(
                    store->ops->replace_commit(store, cor_reflector_at(COR_STR("9")), NULL), 0);
            } else {
                struct cor_object *o;

                assert_int_equal(cor_object_from_json(
                                     COR_STR("{\"metadata\":{\"name\":\"a\",\"resourceVersion\":"
                                             "\"2\"}}"),
                                     &o, NULL),
                                 0);
                assert_int_equal(
                    store->ops->del(store, COR_STR(""), o, cor_reflector_at(COR_STR("2")), NULL),
                    0);
                cor_object_unref(o);
                if (!by_key)
                    assert_string_equal(pop(f, 0), "a2 ");
            }
            assert_int_equal(cor_delta_fifo_wait_rv(f, COR_STR("1"), on_refused, NULL, &id), 1);
            cor_delta_fifo_free(f);
        }
}

/* Without memory to remember it, the change is given again. */
TEST(delta_fifo_limits, a_refusal_is_remembered_or_the_change_comes_again)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_delta_fifo *f;
        int refuse = -COR_ENOTSUP, r;
        uint64_t id;

        test_fail_alloc(0, false);
        f = begin(false, 0);
        assert_int_equal(add(f, "a", "1", NULL), 0);
        given[0] = '\0';
        test_fail_alloc(n, false);
        r = cor_delta_fifo_try_pop(f, take, &refuse);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : -COR_ENOTSUP);
        test_fail_alloc(0, false);
        if (r == -COR_ENOMEM)
            assert_string_equal(pop(f, -COR_ENOTSUP), "a1 ");
        assert_int_equal(cor_delta_fifo_wait_rv(f, COR_STR("1"), on_refused, NULL, &id),
                         -COR_ENOTSUP);
        cor_delta_fifo_free(f);
    }
}
