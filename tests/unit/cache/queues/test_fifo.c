/* Contract client 1.4 and 1.5. */
#include <pthread.h>
#include <stdio.h>

#include "base/err.h"
#include "cache/queues/fifo.h"
#include "coracle/store.h"
#include "fake_server.h"
#include "test.h"

#define MANY 500 /* of each producer */

static char trace[TRACE_MAX];

static struct cor_fifo *begin(size_t keys_max)
{
    struct cor_fifo *f;

    trace[0] = '\0';
    assert_int_equal(cor_fifo_new(&(struct cor_fifo_opts){COR_FIFO_OPTS, .keys_max = keys_max}, &f),
                     0);
    return f;
}

static int take(void *arg, struct cor_str key, struct cor_object *o, bool in_initial_list)
{
    trace_note(trace, "%.*s%.*s%s", COR_STR_ARG(key), COR_STR_ARG(cor_object_resource_version(o)),
               in_initial_list ? "!" : "");
    return arg ? *(int *)arg : 0;
}

static void pop_all(struct cor_fifo *f)
{
    trace[0] = '\0';
    while (cor_fifo_try_pop(f, take, NULL) == 0)
        ;
}

static int put(struct cor_fifo *f, const char *name, int rv)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_reflector_store *s = cor_fifo_store(f);
    struct cor_object *o = fake_object(name, rv);
    int r = s->ops->add(s, COR_STR(""), o, cor_reflector_at(COR_STR("1")), &status);

    cor_object_unref(o);
    return r;
}

static void del(struct cor_fifo *f, const char *name)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_reflector_store *s = cor_fifo_store(f);

    assert_int_equal(s->ops->del(s, cor_strz(name), NULL, cor_reflector_at(COR_STR("1")), &status),
                     0);
}

static void replace(struct cor_fifo *f, const char *names)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_reflector_store *s = cor_fifo_store(f);

    assert_int_equal(s->ops->replace_begin(s, &status), 0);
    for (; *names; names++) {
        char name[2] = {*names, '\0'};
        struct cor_object *o = fake_object(name, 9);

        assert_int_equal(s->ops->replace_add(s, COR_STR(""), o, &status), 0);
        cor_object_unref(o);
    }
    assert_int_equal(s->ops->replace_commit(s, cor_reflector_at(COR_STR("9")), &status), 0);
}

/* Contract client 1.5.1. */
TEST(fifo, keeps_the_newest_state_at_the_first_place)
{
    struct cor_fifo *f = begin(0);

    put(f, "a", 1);
    put(f, "b", 2);
    put(f, "a", 3);
    pop_all(f);
    assert_string_equal(trace, "a3 b2");
    put(f, "a", 4);
    put(f, "b", 5);
    assert_int_equal(cor_fifo_try_pop(f, take, NULL), 0);
    put(f, "a", 6);
    pop_all(f);
    assert_string_equal(trace, "b5 a6");
    cor_fifo_free(f);
}

/* Contract client 1.5.2. */
TEST(fifo, passes_over_what_was_deleted)
{
    struct cor_fifo *f = begin(0);

    put(f, "a", 1);
    put(f, "b", 2);
    put(f, "c", 3);
    del(f, "a");
    del(f, "b");
    del(f, "unknown");
    put(f, "b", 4);
    pop_all(f);
    assert_string_equal(trace, "b4 c3");
    assert_int_equal(cor_fifo_try_pop(f, take, NULL), -COR_EBUSY);
    cor_fifo_free(f);
    f = begin(0);
    replace(f, "ab");
    del(f, "a");
    del(f, "b");
    assert_false(cor_fifo_has_synced(f));
    assert_int_equal(cor_fifo_try_pop(f, take, NULL), -COR_EBUSY);
    assert_true(cor_fifo_has_synced(f));
    cor_fifo_free(f);
}

/* Contract client 1.5.3. */
TEST(fifo, a_list_takes_the_place_of_all_that_waits)
{
    struct cor_fifo *f = begin(0);

    put(f, "x", 1);
    replace(f, "ab");
    assert_true(cor_fifo_has_synced(f));
    pop_all(f);
    assert_string_equal(trace, "a9 b9");
    cor_fifo_free(f);
}

/* Contract client 1.5.4. */
TEST(fifo, a_resync_brings_nothing_back)
{
    struct cor_fifo *f = begin(0);
    struct cor_reflector_store *s = cor_fifo_store(f);

    replace(f, "abcd");
    cor_fifo_try_pop(f, take, NULL);
    del(f, "b");
    assert_int_equal(cor_reflector_store_resync(s, NULL), 0);
    pop_all(f);
    assert_string_equal(trace, "c9! d9!");
    assert_int_equal(cor_reflector_store_resync(s, NULL), 0);
    assert_int_equal(cor_fifo_try_pop(f, take, NULL), -COR_EBUSY);
    cor_fifo_free(f);
}

/* Contract client 1.4.5, 1.4.6, 1.4.8, 1.4.9. */
TEST(fifo, is_synced_when_the_first_list_was_popped)
{
    struct cor_fifo *f = begin(0);

    assert_false(cor_fifo_has_synced(f));
    replace(f, "ab");
    assert_false(cor_fifo_has_synced(f));
    cor_fifo_try_pop(f, take, NULL);
    assert_false(cor_fifo_has_synced(f));
    cor_fifo_try_pop(f, take, NULL);
    assert_true(cor_fifo_has_synced(f));
    assert_string_equal(trace, "a9! b9!");
    replace(f, "c");
    assert_true(cor_fifo_has_synced(f));
    pop_all(f);
    assert_string_equal(trace, "c9");
    cor_fifo_free(f);
    f = begin(0);
    replace(f, "");
    assert_true(cor_fifo_has_synced(f));
    cor_fifo_free(f);
    f = begin(0);
    put(f, "a", 1);
    assert_true(cor_fifo_has_synced(f));
    cor_fifo_free(f);
}

/* Contract client 1.4.10. */
TEST(fifo, puts_back_what_is_not_newer_already)
{
    struct cor_fifo *f = begin(0);
    struct cor_object *old = fake_object("a", 1);
    int again = COR_FIFO_REQUEUE;

    put(f, "a", 2);
    assert_int_equal(cor_fifo_add_if_not_present(f, old), 0);
    put(f, "b", 3);
    assert_int_equal(cor_fifo_try_pop(f, take, &again), COR_FIFO_REQUEUE);
    pop_all(f);
    assert_string_equal(trace, "b3 a2");
    assert_int_equal(cor_fifo_add_if_not_present(f, old), 0);
    pop_all(f);
    assert_string_equal(trace, "a1");
    cor_object_unref(old);
    cor_fifo_free(f);
}

static void *pop_until_closed(void *arg)
{
    int r;

    while ((r = cor_fifo_pop(arg, take, NULL)) == 0)
        ;
    return r == -COR_ECANCELED ? arg : NULL;
}

/* Contract client 1.4.2, 1.4.3. */
TEST(fifo, close_gives_out_what_waits_and_wakes_all)
{
    struct cor_fifo *f = begin(0);
    pthread_t poppers[10];

    for (size_t i = 0; i < 10; i++)
        assert_int_equal(pthread_create(&poppers[i], NULL, pop_until_closed, f), 0);
    put(f, "a", 1);
    assert_false(cor_fifo_is_closed(f));
    cor_fifo_close(f);
    assert_true(cor_fifo_is_closed(f));
    for (size_t i = 0; i < 10; i++) {
        void *ended;

        pthread_join(poppers[i], &ended);
        assert_ptr_equal(ended, f);
    }
    assert_string_equal(trace, "a1");
    assert_int_equal(put(f, "b", 2), 0);
    assert_int_equal(cor_fifo_try_pop(f, take, NULL), 0);
    assert_int_equal(cor_fifo_try_pop(f, take, NULL), -COR_ECANCELED);
    cor_fifo_free(f);
}

struct producer {
    struct cor_fifo *f;
    char letter;
};

static void *produce(void *arg)
{
    const struct producer *p = arg;

    for (int i = 0; i < MANY; i++) {
        char name[16];

        snprintf(name, sizeof(name), "%c%d", p->letter, i);
        if (put(p->f, name, i + 1) < 0)
            return NULL;
    }
    return arg;
}

static int next[2];

static int take_in_order(void *arg, struct cor_str key, struct cor_object *o, bool in_initial_list)
{
    char expected[16];
    int *at = &next[key.p[0] - 'a'];

    snprintf(expected, sizeof(expected), "%c%d", key.p[0], (*at)++);
    assert_str(key, expected);
    return 0;
}

/* Contract client 1.5.5: client-go's TestFIFO_basic. */
TEST(fifo, keeps_the_order_of_each_of_two_producers)
{
    struct cor_fifo *f = begin(0);
    struct producer producers[] = {{f, 'a'}, {f, 'b'}};
    pthread_t threads[2];

    next[0] = next[1] = 0;
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    for (int i = 0; i < 2 * MANY; i++)
        assert_int_equal(cor_fifo_pop(f, take_in_order, NULL), 0);
    for (size_t i = 0; i < 2; i++) {
        void *ended;

        pthread_join(threads[i], &ended);
        assert_ptr_equal(ended, &producers[i]);
    }
    cor_fifo_free(f);
}

/* Contract client 1.2.2. */
TEST(fifo, is_bounded_and_wants_names)
{
    struct cor_fifo *f = begin(2);

    assert_int_equal(put(f, "a", 1), 0);
    assert_int_equal(put(f, "b", 1), 0);
    assert_int_equal(put(f, "c", 1), -COR_EBUSY);
    assert_int_equal(put(f, "a", 2), 0);
    assert_int_equal(put(f, "", 1), -COR_EINVAL);
    cor_fifo_free(f);
}

static int note_key(void *arg, struct cor_str key, struct cor_object *o)
{
    trace_note(trace, "%.*s%.*s", COR_STR_ARG(key), COR_STR_ARG(cor_object_resource_version(o)));
    return cor_str_eqz(key, arg) ? 7 : 0;
}

static const char *waiting(struct cor_fifo *f)
{
    char none[] = "";

    trace[0] = '\0';
    assert_int_equal(cor_fifo_each(f, note_key, none), 0);
    return trace;
}

/* Contract client 1.4.1: upstream's queue can be read in its tests alone. */
TEST(fifo, shows_what_waits_and_keeps_it)
{
    int again = COR_FIFO_REQUEUE;
    struct cor_fifo *f = begin(0);
    struct cor_object *o = NULL;
    char until[] = "b";

    assert_string_equal(waiting(f), "");
    replace(f, "ab");
    put(f, "c", 1);
    put(f, "b", 10);
    del(f, "a");
    del(f, "a");
    assert_string_equal(waiting(f), "b10 c1");
    assert_int_equal(cor_fifo_len(f), 2);
    assert_int_equal(cor_fifo_get(f, COR_STR("a"), &o), -COR_ENOTFOUND); /* deleted */
    assert_int_equal(cor_fifo_get(f, COR_STR("x"), &o), -COR_ENOTFOUND);
    assert_int_equal(cor_fifo_get(f, COR_STR("b"), &o), 0);
    assert_true(cor_str_eqz(cor_object_resource_version(o), "10"));
    cor_object_unref(o);
    trace[0] = '\0';
    assert_int_equal(cor_fifo_each(f, note_key, until), 7); /* ended by the callback */
    assert_string_equal(trace, "b10");

    put(f, "a", 11); /* in its old place */
    assert_string_equal(waiting(f), "a11 b10 c1");
    assert_int_equal(cor_fifo_try_pop(f, take, &again), COR_FIFO_REQUEUE);
    assert_string_equal(waiting(f), "b10 c1 a11");
    assert_int_equal(cor_fifo_len(f), 3);
    pop_all(f);
    assert_int_equal(cor_fifo_len(f), 0);
    replace(f, "xyz");
    assert_int_equal(cor_fifo_len(f), 3);
    replace(f, "");
    assert_int_equal(cor_fifo_len(f), 0);
    cor_fifo_free(f);
}

TEST(fifo, is_as_before_when_memory_runs_out)
{
    struct cor_object *o = fake_object("a", 1);

    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
        struct cor_reflector_store *s;
        struct cor_fifo *f;
        int r;

        if (cor_fifo_new(&(struct cor_fifo_opts){COR_FIFO_OPTS}, &f) < 0)
            continue;
        s = cor_fifo_store(f);
        r = s->ops->add(s, COR_STR(""), o, cor_reflector_at(COR_STR("1")), &status);
        cor_status_deinit(&status);
        if (s->ops->replace_add(s, COR_STR(""), o, &status) < 0)
            s->ops->replace_abort(s);
        assert_int_equal(cor_fifo_try_pop(f, take, NULL), r == 0 ? 0 : -COR_EBUSY);
        cor_fifo_free(f);
    }
    cor_object_unref(o);
}
