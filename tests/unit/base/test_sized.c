#include "base/sized.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "test.h"

/* One struct as three versions of a library have it. */
struct older {
    size_t size;
    long a;
};
struct ours {
    size_t size;
    long a, b;
    const char *c;
};
struct newer {
    size_t size;
    long a, b;
    const char *c, *d;
};

TEST(sized, an_older_struct_is_filled_up_with_zeros)
{
    const struct older from = {sizeof(from), 1};
    struct ours to = {1, 2, 3, "x"};

    assert_int_equal(cor_sized_copy(&to, sizeof(to), &from), 0);
    assert_int_equal(to.size, sizeof(to));
    assert_int_equal(to.a, 1);
    assert_int_equal(to.b, 0);
    assert_null(to.c);
}

TEST(sized, a_newer_struct_may_set_nothing_that_is_not_known)
{
    struct newer from = {sizeof(from), 1, 2, "c", NULL};
    struct ours to = {0};

    assert_int_equal(cor_sized_copy(&to, sizeof(to), &from), 0);
    assert_int_equal(to.size, sizeof(to));
    assert_int_equal(to.b, 2);
    assert_string_equal(to.c, "c");
    from.d = "d";
    to.b = 7;
    assert_int_equal(cor_sized_copy(&to, sizeof(to), &from), -COR_ENOTSUP);
    assert_int_equal(to.b, 7);
}

TEST(sized, a_size_that_was_not_set_is_refused)
{
    static const size_t sizes[] = {0, sizeof(size_t) - 1, COR_SIZED_MAX + 1, SIZE_MAX};
    struct ours from = {0, 1, 2, NULL}, to = {0};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        from.size = sizes[i];
        assert_int_equal(cor_sized_copy(&to, sizeof(to), &from), -COR_EINVAL);
        assert_int_equal(to.a, 0);
    }
    assert_string_not_equal(cor_sized_text(-COR_EINVAL), cor_sized_text(-COR_ENOTSUP));
}

/* A copy behind and before which there is nothing, for ASan to watch. */
static void *alone(const void *from, size_t n)
{
    void *p = cor_alloc(n);

    assert_non_null(p);
    memcpy(p, from, n);
    return p;
}

/* Copies the struct of a program, which has `n` bytes and says `size`. */
static int copy_alone(const void *from, size_t n, size_t size, struct ours *ret)
{
    void *p = alone(from, n);
    int r;

    memcpy(p, &size, sizeof(size));
    r = cor_sized_copy(ret, sizeof(*ret), p);
    cor_free(p);
    return r;
}

TEST(sized, nothing_behind_the_struct_of_a_program_is_read)
{
    const struct newer full = {sizeof(full), 1, 2, "c", NULL}, unknown = {.d = "d"};
    struct ours to;

    for (size_t n = sizeof(size_t); n < sizeof(full); n++)
        assert_int_equal(copy_alone(&full, n, n, &to), 0);
    assert_int_equal(copy_alone(&full, sizeof(full), sizeof(full), &to), 0);
    assert_int_equal(copy_alone(&unknown, sizeof(unknown), sizeof(unknown), &to), -COR_ENOTSUP);
    assert_int_equal(copy_alone(&unknown, sizeof(size_t), 0, &to), -COR_EINVAL);
    assert_int_equal(copy_alone(&unknown, sizeof(size_t), COR_SIZED_MAX + 1, &to), -COR_EINVAL);
}

TEST(sized, an_answer_ends_where_the_struct_of_the_program_does)
{
    const struct ours answer = {sizeof(answer), 1, 2, "c"};
    struct newer newer = {sizeof(newer), 0, 0, NULL, "stays"};

    for (size_t n = sizeof(size_t); n <= sizeof(answer); n++) {
        void *older = alone(&answer, n);

        memset(older, 0, n);
        memcpy(older, &n, sizeof(n));
        cor_sized_answer(older, &answer, sizeof(answer));
        assert_memory_equal((char *)older + sizeof(n), (const char *)&answer + sizeof(n),
                            n - sizeof(n));
        assert_memory_equal(older, &n, sizeof(n));
        cor_free(older);
    }
    cor_sized_answer(&newer, &answer, sizeof(answer));
    assert_int_equal(newer.size, sizeof(newer));
    assert_int_equal(newer.b, 2);
    assert_string_equal(newer.c, "c");
    assert_string_equal(newer.d, "stays");
}

TEST(sized, no_struct_is_all_defaults)
{
    struct ours to = {1, 2, 3, "x"};

    assert_int_equal(cor_sized_copy(&to, sizeof(to), NULL), 0);
    assert_int_equal(to.size, sizeof(to));
    assert_int_equal(to.a, 0);
    assert_null(to.c);
}
