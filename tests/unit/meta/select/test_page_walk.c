#include "meta/select/page_walk.h"

#include "base/err.h"
#include "test.h"

TEST(page_walk, goes_from_token_to_token)
{
    struct cor_page_walk w;

    cor_page_walk_init(&w);
    assert_int_equal(w.token.n, 0);
    assert_int_equal(cor_page_walk_next(&w, COR_STR("a"), NULL), 0);
    assert_str(cor_buf_str(&w.token), "a");
    assert_int_equal(cor_page_walk_next(&w, COR_STR("ab"), NULL), 0);
    assert_int_equal(cor_page_walk_next(&w, COR_STR("a"), NULL), 0);
    assert_str(cor_buf_str(&w.token), "a");
    cor_page_walk_reset(&w);
    assert_int_equal(w.token.n, 0);
    assert_int_equal(cor_page_walk_next(&w, COR_STR("a"), NULL), 0);
    cor_page_walk_deinit(&w);
}

TEST(page_walk, a_token_that_leads_to_itself_is_refused)
{
    struct cor_page_walk w;
    struct cor_status why = {0};

    cor_page_walk_init(&w);
    assert_int_equal(cor_page_walk_next(&w, COR_STR("a"), NULL), 0);
    assert_int_equal(cor_page_walk_next(&w, COR_STR("a"), &why), -COR_EINVAL);
    assert_string_equal(cor_status_message(&why),
                        "the list has no end: the server repeats its continue token");
    cor_status_deinit(&why);
    cor_page_walk_deinit(&w);
}

TEST(page_walk, a_circle_of_tokens_ends_at_the_maximum)
{
    struct cor_page_walk w;
    struct cor_status why = {0};
    size_t n = 1; /* the first page has no token */
    int r = 0;

    cor_page_walk_init(&w);
    while (r == 0) {
        r = cor_page_walk_next(&w, n % 2 ? COR_STR("a") : COR_STR("b"), &why);
        n += r == 0;
    }
    assert_int_equal(r, -COR_ETOOBIG);
    assert_int_equal(n, COR_PAGES_MAX);
    assert_non_null(strstr(cor_status_message(&why), "more than 100000 pages"));
    cor_page_walk_reset(&w);
    assert_int_equal(cor_page_walk_next(&w, COR_STR("a"), NULL), 0);
    cor_status_deinit(&why);
    cor_page_walk_deinit(&w);
}

TEST(page_walk, survives_failed_allocations)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_page_walk w;
        int r;

        cor_page_walk_init(&w);
        r = cor_page_walk_next(&w, COR_STR("a"), NULL);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        cor_page_walk_deinit(&w);
    }
}
