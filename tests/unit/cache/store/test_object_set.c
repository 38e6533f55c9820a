#include "cache/store/object_set.h"
#include "script.h"

static int add_rev(void *arg, struct cor_object *object)
{
    *(cor_rev *)arg += object->rev;
    return 0;
}

static cor_rev sum(const struct cor_object_set *set)
{
    cor_rev total = 0;

    assert_int_equal(cor_object_set_each(set, add_rev, &total), 0);
    return total;
}

static int put(struct cor_object_set *set, const char *key, cor_rev rev)
{
    struct cor_object *object = script_object(key, rev);
    int r = cor_object_set_put(set, object);

    cor_object_unref(object);
    return r;
}

static int rm(struct cor_object_set *set, const char *key)
{
    struct cor_object *object = script_object(key, 99);
    int r = cor_object_set_remove(set, object);

    cor_object_unref(object);
    return r;
}

TEST(object_set, keeps_one_object_per_namespace_and_name)
{
    struct cor_object_set set;

    cor_object_set_init(&set, 10);
    assert_int_equal(put(&set, "a", 1), 0);
    assert_int_equal(put(&set, "n/a", 10), 0);
    assert_int_equal(put(&set, "m/a", 100), 0);
    assert_int_equal(put(&set, "n/a", 20), 0);
    assert_int_equal(cor_object_set_len(&set), 3);
    assert_int_equal(sum(&set), 121);
    assert_int_equal(rm(&set, "m/a"), 0);
    assert_int_equal(rm(&set, "m/a"), 0);
    assert_int_equal(sum(&set), 21);
    cor_object_set_clear(&set);
    assert_int_equal(cor_object_set_len(&set), 0);
    assert_int_equal(put(&set, "a", 5), 0);
    assert_int_equal(sum(&set), 5);
    cor_object_set_deinit(&set);
}

TEST(object_set, refuses_more_than_its_maximum_but_replaces)
{
    struct cor_object_set set;

    cor_object_set_init(&set, 1);
    assert_int_equal(put(&set, "a", 1), 0);
    assert_int_equal(put(&set, "b", 1), -COR_ETOOBIG);
    assert_int_equal(put(&set, "a", 2), 0);
    assert_int_equal(sum(&set), 2);
    cor_object_set_deinit(&set);
}

static int fail_first(void *arg, struct cor_object *object)
{
    (*(int *)arg)++;
    return -COR_ENOMEM;
}

TEST(object_set, each_stops_at_the_first_failure)
{
    struct cor_object_set set;
    int calls = 0;

    cor_object_set_init(&set, 2);
    assert_int_equal(put(&set, "a", 1), 0);
    assert_int_equal(put(&set, "b", 1), 0);
    assert_int_equal(cor_object_set_each(&set, fail_first, &calls), -COR_ENOMEM);
    assert_int_equal(calls, 1);
    cor_object_set_deinit(&set);
}

TEST(object_set, is_unchanged_by_failed_allocations)
{
    struct cor_object *a = script_object("a", 1), *b = script_object("b", 10);

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_object_set set;
        cor_rev want = 0;

        cor_object_set_init(&set, 2);
        if (cor_object_set_put(&set, a) == 0)
            want += 1;
        if (cor_object_set_put(&set, b) == 0)
            want += 10;
        assert_int_equal(sum(&set), want);
        if (cor_object_set_remove(&set, a) == 0)
            want -= want & 1;
        assert_int_equal(sum(&set), want);
        cor_object_set_deinit(&set);
    }
    cor_object_unref(a);
    cor_object_unref(b);
}
