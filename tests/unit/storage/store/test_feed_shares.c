#include "storage/store/feed_shares.h"

#include <stdio.h>

#include "base/err.h"
#include "test.h"

/* However many users take all they get, there is one left for the next. */
TEST(feed_shares, always_leave_one_for_a_user_who_has_none)
{
    struct cor_feed_shares shares;
    struct cor_feed_share *taken[1024];
    size_t n = 0;

    cor_feed_shares_init(&shares, 1024, "too many");
    for (unsigned user = 0; user < 10; user++) {
        char name[16];

        snprintf(name, sizeof(name), "user%u", user);
        while (cor_feed_share_take(&shares, cor_strz(name), &taken[n], NULL) == 0)
            n++;
        assert_int_equal(n, 1024 - (1024 >> (user + 1)));
    }
    assert_int_equal(cor_feed_share_take(&shares, COR_STR("last"), &taken[n++], NULL), 0);
    assert_int_equal(cor_feed_share_take(&shares, COR_STR("more"), &taken[n], NULL), -COR_EBUSY);
    for (size_t i = 0; i < n; i++)
        assert_null(cor_feed_share_give(&shares, taken[i]));
    assert_int_equal(shares.used, 0);
    cor_feed_shares_deinit(&shares);
}

/* Who is left with a feed has it, also beside as many as may be taken. */
TEST(feed_shares, move_to_another_user_and_count_there)
{
    struct cor_feed_shares shares;
    struct cor_feed_share *taken[8];

    cor_feed_shares_init(&shares, 8, "too many");
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(cor_feed_share_take(&shares, COR_STR("a"), &taken[i], NULL), 0);
    assert_true(cor_feed_shares_are_out(&shares, COR_STR("a")));
    for (size_t i = 4; i < 6; i++)
        assert_int_equal(cor_feed_share_take(&shares, COR_STR("b"), &taken[i], NULL), 0);
    assert_true(cor_feed_shares_are_out(&shares, COR_STR("b")));
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(cor_feed_share_move(&shares, &taken[i], COR_STR("b")), 0);
    assert_int_equal(cor_feed_shares_used(&shares), 6);
    assert_false(cor_feed_shares_are_out(&shares, COR_STR("a")));
    assert_true(cor_feed_shares_are_out(&shares, COR_STR("b")));
    for (size_t i = 0; i < 6; i++)
        assert_null(cor_feed_share_give(&shares, taken[i]));
    assert_int_equal(cor_map_len(&shares.users), 0);
    cor_feed_shares_deinit(&shares);
}

TEST(feed_shares, that_are_refused_say_when_to_come_again)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    struct cor_feed_shares shares;
    struct cor_feed_share *share;

    cor_status_init(&status);
    cor_feed_shares_init(&shares, 0, "too many");
    assert_int_equal(cor_feed_share_take(&shares, COR_STR("a"), &share, &status), -COR_EBUSY);
    assert_int_equal(status.code, 429);
    assert_int_equal(status.retry_after_s, 1);
    assert_string_equal(status.message, "too many");
    cor_feed_shares_deinit(&shares);
}

TEST(feed_shares, survive_every_failed_allocation)
{
    struct cor_feed_shares shares;

    cor_feed_shares_init(&shares, 8, "too many");
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_feed_share *share;
        int r = cor_feed_share_take(&shares, COR_STR("a"), &share, NULL);

        assert_true(r == 0 || r == -COR_ENOMEM);
        assert_int_equal(shares.used, r == 0);
        if (r == 0 && cor_feed_share_move(&shares, &share, COR_STR("b")) < 0)
            assert_false(cor_feed_shares_are_out(&shares, COR_STR("b")));
        assert_int_equal(shares.used, r == 0);
        if (r == 0)
            cor_feed_share_give(&shares, share);
        assert_int_equal(cor_map_len(&shares.users), 0);
    }
    cor_feed_shares_deinit(&shares);
}
