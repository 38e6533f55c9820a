#include <stdio.h>

#include "base/err.h"
#include "base/map.h"
#include "test.h"

#define KEYS 2000

static char names[KEYS][24];

static struct cor_str key_of(size_t i)
{
    if (!names[i][0])
        snprintf(names[i], sizeof(names[i]), "default/pod-%zu", i);
    return cor_strz(names[i]);
}

TEST(map, finds_what_was_put_and_nothing_else)
{
    struct cor_map m;

    cor_map_init(&m, KEYS);
    assert_null(cor_map_peek(&m, COR_STR("absent")));
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(cor_map_put(&m, key_of(i), names[i], NULL), 0);
    for (size_t i = 0; i < KEYS; i++)
        assert_ptr_equal(cor_map_peek(&m, key_of(i)), names[i]);
    assert_null(cor_map_peek(&m, COR_STR("default/pod-")));
    assert_int_equal(cor_map_len(&m), KEYS);
    cor_map_deinit(&m);
}

/* A large map gives its memory back when the last one has gone, and not before. */
TEST(map, keeps_the_last_one_of_many)
{
    struct cor_map m;

    cor_map_init(&m, KEYS);
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(cor_map_put(&m, key_of(i), names[i], NULL), 0);
    for (size_t i = 1; i < KEYS; i++) {
        assert_ptr_equal(cor_map_remove(&m, key_of(i)), names[i]);
        assert_int_equal(cor_map_len(&m), KEYS - i);
        assert_ptr_equal(cor_map_peek(&m, key_of(0)), names[0]);
    }
    assert_ptr_equal(cor_map_remove(&m, key_of(0)), names[0]);
    assert_int_equal(cor_map_len(&m), 0);
    assert_int_equal(cor_map_put(&m, key_of(1), names[1], NULL), 0);
    assert_ptr_equal(cor_map_peek(&m, key_of(1)), names[1]);
    cor_map_deinit(&m);
}

TEST(map, keys_may_be_empty_and_contain_any_byte)
{
    struct cor_map m;
    char a, b, c;

    cor_map_init(&m, 10);
    assert_int_equal(cor_map_put(&m, COR_STR(""), &a, NULL), 0);
    assert_int_equal(cor_map_put(&m, COR_STR("\0"), &b, NULL), 0);
    assert_int_equal(cor_map_put(&m, COR_STR("\0\0"), &c, NULL), 0);
    assert_ptr_equal(cor_map_peek(&m, cor_str(NULL, 0)), &a);
    assert_ptr_equal(cor_map_peek(&m, COR_STR("\0")), &b);
    assert_ptr_equal(cor_map_remove(&m, COR_STR("\0\0")), &c);
    cor_map_deinit(&m);
}

TEST(map, replacing_hands_back_the_old_value_and_takes_the_new_key)
{
    struct cor_map m;
    char first[] = "k", second[] = "k";
    void *old = &m;

    cor_map_init(&m, 1);
    assert_int_equal(cor_map_put(&m, cor_strz(first), first, &old), 0);
    assert_null(old);
    assert_int_equal(cor_map_put(&m, cor_strz(second), second, &old), 0);
    assert_ptr_equal(old, first);
    first[0] = 'x';
    assert_ptr_equal(cor_map_peek(&m, COR_STR("k")), second);
    assert_int_equal(cor_map_len(&m), 1);
    cor_map_deinit(&m);
}

TEST(map, refuses_more_than_its_maximum_but_still_replaces)
{
    struct cor_map m;

    cor_map_init(&m, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(cor_map_put(&m, key_of(i), names[i], NULL), 0);
    assert_int_equal(cor_map_put(&m, key_of(3), names[3], NULL), -COR_ETOOBIG);
    assert_int_equal(cor_map_put(&m, key_of(1), names[1], NULL), 0);
    assert_ptr_equal(cor_map_remove(&m, key_of(0)), names[0]);
    assert_int_equal(cor_map_put(&m, key_of(3), names[3], NULL), 0);
    cor_map_deinit(&m);
}

TEST(map, agrees_with_an_array_through_random_changes)
{
    struct cor_map m;
    bool present[KEYS] = {false};
    size_t n = 0;

    cor_map_init(&m, KEYS);
    for (int round = 0; round < 50000; round++) {
        size_t i = test_random() % (round < 25000 ? KEYS : 50);

        if (test_random() % 2) {
            assert_int_equal(cor_map_put(&m, key_of(i), names[i], NULL), 0);
            n += !present[i];
            present[i] = true;
        } else {
            assert_ptr_equal(cor_map_remove(&m, key_of(i)), present[i] ? names[i] : NULL);
            n -= present[i];
            present[i] = false;
        }
        assert_int_equal(cor_map_len(&m), n);
    }
    for (size_t i = 0; i < KEYS; i++)
        assert_ptr_equal(cor_map_peek(&m, key_of(i)), present[i] ? names[i] : NULL);
    cor_map_deinit(&m);
}

TEST(map, iteration_visits_each_entry_once_while_the_current_one_is_removed)
{
    struct cor_map m;
    int seen[KEYS] = {0};
    size_t removed = 0;

    cor_map_init(&m, KEYS);
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(cor_map_put(&m, key_of(i), names[i], NULL), 0);
    COR_MAP_FOREACH(it, &m) {
        size_t i = (size_t)((char(*)[24])it.value - names);

        assert_true(cor_str_eq(it.key, key_of(i)));
        seen[i]++;
        if (i % 3) {
            assert_ptr_equal(cor_map_remove(&m, it.key), names[i]);
            removed++;
        }
    }
    for (size_t i = 0; i < KEYS; i++) {
        assert_int_equal(seen[i], 1);
        assert_ptr_equal(cor_map_peek(&m, key_of(i)), i % 3 ? NULL : names[i]);
    }
    assert_int_equal(cor_map_len(&m), KEYS - removed);
    cor_map_deinit(&m);
}

TEST(map, order_of_iteration_follows_the_calls_not_the_hash)
{
    struct cor_map m;
    size_t expected = 100;

    cor_map_init(&m, 100);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(cor_map_put(&m, key_of(i), names[i], NULL), 0);
    COR_MAP_FOREACH(it, &m)
        assert_ptr_equal(it.value, names[--expected]);
    cor_map_deinit(&m);
}

TEST(map, clear_forgets_the_entries_and_can_be_filled_again)
{
    struct cor_map m;

    cor_map_init(&m, 100);
    cor_map_clear(&m);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 100; i++)
            assert_int_equal(cor_map_put(&m, key_of(i), names[i], NULL), 0);
        cor_map_clear(&m);
        assert_int_equal(cor_map_len(&m), 0);
        assert_null(cor_map_peek(&m, key_of(7)));
    }
    cor_map_deinit(&m);
}

TEST(map, is_unchanged_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_map m;
        bool present[200];
        size_t count = 0;

        cor_map_init(&m, KEYS);
        for (size_t i = 0; i < 200; i++) {
            int r = cor_map_put(&m, key_of(i), names[i], NULL);

            assert_true(r == 0 || r == -COR_ENOMEM);
            present[i] = r == 0;
            count += r == 0;
        }
        assert_int_equal(cor_map_len(&m), count);
        for (size_t i = 0; i < 200; i++)
            assert_ptr_equal(cor_map_peek(&m, key_of(i)), present[i] ? names[i] : NULL);
        cor_map_deinit(&m);
    }
}
