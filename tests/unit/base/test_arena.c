#include "base/arena.h"

#include <stdint.h>

#include "base/err.h"
#include "test.h"

TEST(arena, memory_is_aligned_and_stays_until_the_end)
{
    struct cor_arena arena;
    char *first, *p;

    cor_arena_init(&arena, 1u << 20);
    first = cor_arena_alloc(&arena, 3);
    assert_non_null(first);
    memcpy(first, "abc", 3);
    for (size_t i = 0; i < 5000; i++) {
        p = cor_arena_alloc(&arena, i % 50);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % sizeof(void *), 0);
        memset(p, 0, i % 50);
    }
    assert_memory_equal(first, "abc", 3);
    assert_str(cor_arena_copy(&arena, COR_STR("text")), "text");
    cor_arena_deinit(&arena);
}

TEST(arena, the_first_failure_sticks)
{
    struct cor_arena arena;

    cor_arena_init(&arena, 96);
    assert_non_null(cor_arena_alloc(&arena, 96));
    assert_null(cor_arena_alloc(&arena, 1));
    assert_int_equal(arena.error, -COR_ETOOBIG);
    assert_null(cor_arena_copy(&arena, COR_STR("")).p);
    cor_arena_deinit(&arena);

    cor_arena_init(&arena, 96);
    assert_null(cor_arena_alloc(&arena, SIZE_MAX));
    assert_int_equal(arena.error, -COR_ETOOBIG);
    cor_arena_deinit(&arena);

    test_fail_alloc(1, false);
    assert_null(cor_arena_alloc(&arena, 1));
    assert_int_equal(arena.error, -COR_ENOMEM);
    assert_null(cor_arena_alloc(&arena, 1));
    cor_arena_deinit(&arena);
}
