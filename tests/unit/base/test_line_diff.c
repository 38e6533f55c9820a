#include "base/line_diff.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "test.h"

/* What Python's difflib.unified_diff() makes of both texts, without the names of files. */
static const struct {
    const char *before, *after, *diff;
} rows[] = {
    {"a\nb", "a\nb", ""},
    {"a", "b", "@@ -1 +1 @@\n-a\n+b\n"},
    {"a", "a\nb", "@@ -1 +1,2 @@\n a\n+b\n"},
    {"a\nb", "b", "@@ -1,2 +1 @@\n-a\n b\n"},
    {"1\n2\n3\n4\n5\n6", "1\n2\n3\n4\nx\n6", "@@ -2,5 +2,5 @@\n 2\n 3\n 4\n-5\n+x\n 6\n"},
    /* Six lines between two changes are one group, seven are two. */
    {"a\n1\n2\n3\n4\n5\n6\nb", "c\n1\n2\n3\n4\n5\n6\nd",
     "@@ -1,8 +1,8 @@\n-a\n+c\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+d\n"},
    {"a\n1\n2\n3\n4\n5\n6\n7\nb", "c\n1\n2\n3\n4\n5\n6\n7\nd",
     "@@ -1,4 +1,4 @@\n-a\n+c\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+d\n"},
    /* The longest run stays, of equally long ones the first. */
    {"x\ny\nx\ny\nz", "y\nz\nx\ny", "@@ -1,5 +1,4 @@\n+y\n+z\n x\n y\n-x\n-y\n-z\n"},
    {"q\nb\nr\nb\ns", "b\nt\nb", "@@ -1,5 +1,3 @@\n-q\n b\n-r\n+t\n b\n-s\n"},
    {"1\n2\n3\n4\n5\n6\n7\n8", "1\n2\n3\n4\n5\n6\n7", "@@ -5,4 +5,3 @@\n 5\n 6\n 7\n-8\n"},
};

TEST(line_diff, shows_what_changed_with_three_lines_around_it)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 4096};

        assert_int_equal(cor_line_diff(cor_strz(rows[i].before), cor_strz(rows[i].after), &out), 0);
        assert_string_equal(cor_buf_z(&out), rows[i].diff);
    }
}

/* A text of `n` lines, in which the lines with an even number are all the same. Line `changed` has
 * the text "changed". */
static void add_lines(struct cor_buf *out, size_t n, size_t changed)
{
    for (size_t i = 0; i < n; i++) {
        int r = i == changed ? cor_buf_adds(out, COR_STR("changed\n"))
                : i % 2      ? cor_buf_addf(out, "%zu\n", i)
                             : cor_buf_adds(out, COR_STR("same\n"));

        assert_int_equal(r, 0);
    }
}

TEST(line_diff, finds_a_change_among_frequent_lines)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf before = {.max = 1u << 20};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf after = {.max = 1u << 20};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 4096};

    add_lines(&before, 10000, SIZE_MAX);
    add_lines(&after, 10000, 5000);
    assert_int_equal(cor_line_diff(cor_buf_str(&before), cor_buf_str(&after), &out), 0);
    assert_string_equal(cor_buf_z(&out), "@@ -4998,7 +4998,7 @@\n 4997\n same\n 4999\n-same\n"
                                         "+changed\n 5001\n same\n 5003\n");
}

/* Lines that are equal 20 times in each text are not too frequent for a search, which would look at
 * many millions of pairs. */
TEST(line_diff, ends_early_when_the_search_gets_long)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf before = {.max = 1u << 24};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf after = {.max = 1u << 24};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1u << 24};

    for (size_t i = 0; i < 100000; i++) {
        assert_int_equal(cor_buf_addf(&before, "%zu\n", i % 300), 0);
        assert_int_equal(cor_buf_addf(&after, "%zu\n", i < 5 ? i : 299 - i % 300), 0);
    }
    assert_int_equal(cor_line_diff(cor_buf_str(&before), cor_buf_str(&after), &out), 0);
    assert_true(cor_str_starts(cor_buf_str(&out),
                               COR_STR("@@ -3,99999 +3,99999 @@\n 2\n 3\n 4\n-5\n-6\n")));
}

TEST(line_diff, keeps_the_lines_that_fit)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 20};

    assert_int_equal(cor_line_diff(COR_STR("a\nb"), COR_STR("a\nlonger line"), &out), -COR_ETOOBIG);
    assert_string_equal(cor_buf_z(&out), "@@ -1,2 +1,2 @@\n a\n");
}

TEST(line_diff, fails_without_memory)
{
    FOR_EACH_FAILED_ALLOC(fail) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 4096};
        int r = cor_line_diff(cor_strz(rows[7].before), cor_strz(rows[7].after), &out);

        if (r == 0)
            assert_string_equal(cor_buf_z(&out), rows[7].diff);
        else
            assert_int_equal(r, -COR_ENOMEM);
    }
}
