#include "json/write/edits.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "test.h"

static void check(const struct cor_edits *edits, const char *json, const char *want)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1024};

    assert_int_equal(cor_edits_apply(edits, cor_strz(json), &out), 0);
    assert_string_equal(cor_buf_z(&out), want);
}

TEST(edits, replace_add_and_drop_members_in_order)
{
    struct cor_edits edits = {.n = 0};

    check(&edits, "{\"a\":1,\"c\":{\"d\":2}}", "{\"a\":1,\"c\":{\"d\":2}}");
    cor_edits_set(&edits, COR_STR("z"), COR_STR("[9]"));
    cor_edits_set(&edits, COR_STR("b"), COR_STR("5"));
    cor_edits_set(&edits, COR_STR("c"), COR_STR("null"));
    cor_edits_drop(&edits, COR_STR("a"));
    cor_edits_drop(&edits, COR_STR("nothing"));
    check(&edits, "{\"a\":1,\"c\":{\"d\":2}}", "{\"b\":5,\"c\":null,\"z\":[9]}");
    check(&edits, "{}", "{\"b\":5,\"c\":null,\"z\":[9]}");
}

TEST(edits, the_last_of_equal_keys_counts)
{
    struct cor_edits edits = {.n = 0};

    cor_edits_set(&edits, COR_STR("a"), COR_STR("1"));
    cor_edits_drop(&edits, COR_STR("a"));
    cor_edits_set(&edits, COR_STR("b"), COR_STR("1"));
    cor_edits_set(&edits, COR_STR("b"), COR_STR("2"));
    assert_int_equal(edits.n, 2);
    check(&edits, "{\"a\":0}", "{\"b\":2}");
}

TEST(edits, keys_are_compared_by_their_text)
{
    struct cor_edits edits = {.n = 0};

    cor_edits_set(&edits, COR_STR("a\"b"), COR_STR("1"));
    check(&edits, "{\"a\\\"b\":0,\"c\":1}", "{\"a\\\"b\":1,\"c\":1}");
}

TEST(edits, survive_failed_allocations)
{
    struct cor_edits edits = {.n = 0};

    cor_edits_set(&edits, COR_STR("a"), COR_STR("1"));
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1024};
        int r = cor_edits_apply(&edits, COR_STR("{\"b\":[1,2,3]}"), &out);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
    }
}
