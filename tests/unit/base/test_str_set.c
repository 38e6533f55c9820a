#include "base/str_set.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "test.h"

static char texts[1000][24];

static struct cor_str text(size_t i)
{
    snprintf(texts[i], sizeof(texts[i]), "%zu", i);
    return cor_strz(texts[i]);
}

static void fill(struct cor_str_set *set, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool is_new;

        assert_int_equal(cor_str_set_add(set, text(i), &is_new), 0);
        assert_true(is_new);
    }
}

TEST(str_set, knows_what_was_added_among_few_and_among_many)
{
    for (size_t n = 0; n < 1000; n = n * 3 + 1) {
        struct cor_str_set set;
        bool is_new;

        cor_str_set_init(&set, 1000);
        fill(&set, n);
        for (size_t i = 0; i < 1000; i++)
            assert_int_equal(cor_str_set_has(&set, text(i)), i < n);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(cor_str_set_add(&set, text(i), &is_new), 0);
            assert_false(is_new);
        }
        cor_str_set_deinit(&set);
    }
}

TEST(str_set, refuses_a_string_past_its_maximum)
{
    static const size_t maxima[] = {3, COR_STR_SET_FEW, 20};

    for (size_t i = 0; i < COR_ARRAY_LEN(maxima); i++) {
        struct cor_str_set set;
        bool is_new;

        cor_str_set_init(&set, maxima[i]);
        fill(&set, maxima[i]);
        assert_int_equal(cor_str_set_add(&set, text(maxima[i]), &is_new), -COR_ETOOBIG);
        assert_int_equal(cor_str_set_add(&set, text(0), &is_new), 0);
        assert_false(is_new);
        cor_str_set_deinit(&set);
    }
}

TEST(str_set, is_unchanged_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(fail) {
        struct cor_str_set set;
        size_t n = 0;
        bool is_new;

        cor_str_set_init(&set, 1000);
        while (n < 40 && cor_str_set_add(&set, text(n), &is_new) == 0)
            n++;
        for (size_t i = 0; i < 40; i++)
            assert_int_equal(cor_str_set_has(&set, text(i)), i < n);
        cor_str_set_deinit(&set);
    }
}
