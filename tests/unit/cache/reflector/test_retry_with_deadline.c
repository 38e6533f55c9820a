#include "cache/reflector/retry_with_deadline.h"
#include "test.h"

/* client-go's TestRetryWithDeadline, and the rest of its rules. */

/* Contract client 1.15.7. */
TEST(retry_with_deadline, never_retries_when_the_duration_is_zero)
{
    struct cor_retry_with_deadline retry;

    cor_retry_with_deadline_init(&retry, 0);
    assert_false(cor_retry_with_deadline_should(&retry, 1000));
    cor_retry_with_deadline_after(&retry, 1000);
    assert_false(cor_retry_with_deadline_should(&retry, 1000));
}

/* Contract client 1.15.7. */
TEST(retry_with_deadline, retries_up_to_and_at_the_duration_since_the_first_failure)
{
    struct cor_retry_with_deadline retry;

    cor_retry_with_deadline_init(&retry, 1000);
    cor_retry_with_deadline_after(&retry, 1000);
    assert_true(cor_retry_with_deadline_should(&retry, 1000));
    cor_retry_with_deadline_after(&retry, 2000);
    assert_true(cor_retry_with_deadline_should(&retry, 2000));
    cor_retry_with_deadline_after(&retry, 3000);
    assert_false(cor_retry_with_deadline_should(&retry, 3000));
}

TEST(retry_with_deadline, does_not_retry_before_a_failure)
{
    struct cor_retry_with_deadline retry;

    cor_retry_with_deadline_init(&retry, 1000);
    assert_false(cor_retry_with_deadline_should(&retry, 500));
}

/* Contract client 1.15.7. */
TEST(retry_with_deadline, opens_anew_once_it_was_exceeded)
{
    struct cor_retry_with_deadline retry;

    cor_retry_with_deadline_init(&retry, 1000);
    cor_retry_with_deadline_after(&retry, 0);
    cor_retry_with_deadline_after(&retry, 2000);
    assert_false(cor_retry_with_deadline_should(&retry, 2000));
    cor_retry_with_deadline_after(&retry, 2500);
    assert_true(cor_retry_with_deadline_should(&retry, 2500));
}

/* Contract client 1.15.7. */
TEST(retry_with_deadline, opens_anew_after_a_quiet_minute)
{
    struct cor_retry_with_deadline retry;

    cor_retry_with_deadline_init(&retry, 1000);
    cor_retry_with_deadline_after(&retry, 0);
    cor_retry_with_deadline_after(&retry, 59999);
    assert_false(cor_retry_with_deadline_should(&retry, 59999));

    cor_retry_with_deadline_init(&retry, 1000);
    cor_retry_with_deadline_after(&retry, 0);
    cor_retry_with_deadline_after(&retry, 60000);
    assert_true(cor_retry_with_deadline_should(&retry, 60000));
}
