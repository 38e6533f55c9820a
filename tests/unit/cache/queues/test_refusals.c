#include <stdio.h>

#include "base/err.h"
#include "cache/queues/refusals.h"
#include "test.h"

static int add(struct cor_refusals *r, const char *key, const char *version, int err)
{
    return cor_refusals_add(r, cor_strz(key), cor_strz(version), err, false);
}

static int err_of(const struct cor_refusals *r, const char *version)
{
    const struct cor_refusal *refusal = cor_refusals_of_version(r, cor_strz(version));

    return refusal ? cor_refusal_err(refusal) : 0;
}

TEST(refusals, are_found_by_version_until_their_key_is_removed)
{
    struct cor_refusals r;

    cor_refusals_init(&r);
    assert_int_equal(add(&r, "a", "1", -COR_EINVAL), 0);
    assert_int_equal(add(&r, "b", "2", -COR_ENOTSUP), 0);
    assert_int_equal(add(&r, "a", "3", -COR_EINVALID), 0);
    assert_int_equal(err_of(&r, "1"), -COR_EINVALID);
    assert_int_equal(err_of(&r, "2"), -COR_ENOTSUP);
    assert_int_equal(err_of(&r, "3"), -COR_EINVALID);
    assert_int_equal(err_of(&r, "4"), 0);
    assert_int_equal(cor_refusals_len(&r), 2);
    cor_refusals_remove(&r, COR_STR("a"));
    cor_refusals_remove(&r, COR_STR("a"));
    assert_int_equal(err_of(&r, "1"), 0);
    assert_int_equal(err_of(&r, "3"), 0);
    assert_int_equal(err_of(&r, "2"), -COR_ENOTSUP);
    cor_refusals_deinit(&r);
}

TEST(refusals, of_a_key_the_newest_versions_are_kept)
{
    struct cor_refusals r;
    char version[16];

    cor_refusals_init(&r);
    for (int i = 0; i <= COR_REFUSAL_VERSIONS_MAX; i++) {
        snprintf(version, sizeof(version), "%d", i);
        assert_int_equal(add(&r, "a", version, -COR_EINVAL), 0);
    }
    assert_int_equal(err_of(&r, "0"), 0);
    assert_int_equal(err_of(&r, "1"), -COR_EINVAL);
    assert_int_equal(err_of(&r, version), -COR_EINVAL);
    cor_refusals_deinit(&r);
}

/* One version of two objects belongs to the first of them. */
TEST(refusals, two_keys_may_share_a_version)
{
    struct cor_refusals r;

    cor_refusals_init(&r);
    assert_int_equal(add(&r, "a", "1", -COR_EINVAL), 0);
    assert_int_equal(add(&r, "b", "1", -COR_ENOTSUP), 0);
    cor_refusals_remove(&r, COR_STR("b"));
    assert_int_equal(err_of(&r, "1"), -COR_EINVAL);
    cor_refusals_deinit(&r);
}

TEST(refusals, are_as_they_were_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_refusals r;
        int rc;

        test_fail_alloc(0, false);
        cor_refusals_init(&r);
        assert_int_equal(add(&r, "a", "1", -COR_EINVAL), 0);
        test_fail_alloc(n, false);
        rc = add(&r, "b", "2", -COR_EINVAL);
        assert_int_equal(rc, test_alloc_failed() ? -COR_ENOMEM : 0);
        assert_int_equal(cor_refusals_len(&r), rc == 0 ? 2 : 1);
        assert_int_equal(err_of(&r, "1"), -COR_EINVAL);
        assert_int_equal(err_of(&r, "2"), rc == 0 ? -COR_EINVAL : 0);
        cor_refusals_deinit(&r);
    }
}
