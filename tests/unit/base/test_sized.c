#include "base/sized.h"

#include <stdint.h>

#include "base/err.h"
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

TEST(sized, no_struct_is_all_defaults)
{
    struct ours to = {1, 2, 3, "x"};

    assert_int_equal(cor_sized_copy(&to, sizeof(to), NULL), 0);
    assert_int_equal(to.size, sizeof(to));
    assert_int_equal(to.a, 0);
    assert_null(to.c);
}
