/* Semantic equality of JSON values (coracle/equality.h). */
#include "base/cleanup.h"
#include "base/err.h"
#include "meta/value/equality.h"
#include "test.h"

static bool equal(const char *a, const char *b)
{
    bool is_equal = false, is_equal_turned = false;

    assert_int_equal(cor_view_equal(cor_view(cor_strz(a)), cor_view(cor_strz(b)), &is_equal), 0);
    assert_int_equal(cor_view_equal(cor_view(cor_strz(b)), cor_view(cor_strz(a)), &is_equal_turned),
                     0);
    assert_int_equal(is_equal, is_equal_turned);
    return is_equal;
}

struct pair {
    const char *a, *b;
};

static void all_equal(const struct pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!equal(pairs[i].a, pairs[i].b))
            fail_msg("%s and %s differ", pairs[i].a, pairs[i].b);
}

static void all_differ(const struct pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (equal(pairs[i].a, pairs[i].b))
            fail_msg("%s and %s are equal", pairs[i].a, pairs[i].b);
}

TEST(equality, how_a_value_is_written_does_not_count)
{
    static const struct pair same[] = {
        {"{\"a\":1,\"b\":[true,null]}", " { \"b\" : [true, null], \"a\" : 1 } "},
        {"{\"kind\":\"A\",\"apiVersion\":\"v1\",\"a\":1}",
         "{\"a\":1,\"apiVersion\":\"v1\",\"kind\":\"A\"}"},
        {"{\"x\":{\"apiVersion\":\"v1\",\"kind\":\"A\"}}",
         "{\"x\":{\"kind\":\"A\",\"apiVersion\":\"v1\"}}"},
        {"\"a\\u0062\"", "\"ab\""},
        {"1", "1.0"},
        {"{\"a\":10}", "{\"a\":1e1}"},
        {"9007199254740993", "9007199254740993"},
    };
    static const struct pair other[] = {
        {"1", "2"},
        {"1", "\"1\""},
        {"true", "false"},
        {"true", "1"},
        {"[1,2]", "[2,1]"},
        {"[1]", "[1,2]"},
        {"{\"a\":[1]}", "{\"a\":{\"b\":1}}"},
        {"{\"a\":1}", "{\"b\":1}"},
        {"{\"kind\":\"A\"}", "{\"apiVersion\":\"A\"}"},
        {"{\"kind\":\"A\",\"apiVersion\":\"v1\"}", "{\"kind\":\"A\"}"},
        {"9007199254740993", "9007199254740992"}, /* one double */
    };

    all_equal(same, COR_ARRAY_LEN(same));
    all_differ(other, COR_ARRAY_LEN(other));
}

/* Contract controllers 6.9.3: nil and empty are the same. */
TEST(equality, nothing_null_and_an_empty_list_or_map_are_the_same)
{
    static const struct pair same[] = {
        {"{\"a\":[]}", "{}"},
        {"{\"a\":null}", "{}"},
        {"{\"a\":null}", "{\"a\":[]}"},
        {"{\"metadata\":{\"labels\":{}}}", "{\"metadata\":{\"labels\":null}}"},
        {"{\"metadata\":{\"annotations\":{},\"name\":\"a\"}}", "{\"metadata\":{\"name\":\"a\"}}"},
        {"{\"resources\":{\"limits\":{}}}", "{\"resources\":{\"limits\":null}}"},
    };
    static const struct pair other[] = {
        {"{\"emptyDir\":{}}", "{}"},
        {"{\"namespaceSelector\":{}}", "{\"namespaceSelector\":null}"},
        {"{\"a\":\"\"}", "{}"},
        {"{\"a\":0}", "{}"},
        {"{\"a\":false}", "{}"},
        {"{\"a\":[null]}", "{\"a\":[]}"},
        {"{\"labels\":{\"a\":\"\"}}", "{\"labels\":{}}"},
    };
    bool is_equal = false;

    all_equal(same, COR_ARRAY_LEN(same));
    all_differ(other, COR_ARRAY_LEN(other));
    /* Views of nothing. */
    assert_int_equal(cor_view_equal((struct cor_view){0}, cor_view(COR_STR("[]")), &is_equal), 0);
    assert_true(is_equal);
    assert_int_equal(cor_view_equal((struct cor_view){0}, (struct cor_view){0}, &is_equal), 0);
    assert_true(is_equal);
    assert_int_equal(cor_view_equal((struct cor_view){0}, cor_view(COR_STR("{}")), &is_equal), 0);
    assert_false(is_equal);
}

/* Contract controllers 6.9.3. */
TEST(equality, quantities_are_compared_by_value)
{
    static const struct pair same[] = {
        {"{\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}",
         "{\"limits\":{\"memory\":\"1024Mi\",\"cpu\":\"1000m\"}}"},
        {"{\"requests\":{\"cpu\":1}}", "{\"requests\":{\"cpu\":\"1\"}}"},
        {"{\"sizeLimit\":\"1Ki\"}", "{\"sizeLimit\":\"1024\"}"},
        {"{\"validValues\":[\"1\",\"2\"]}", "{\"validValues\":[\"1000m\",\"2\"]}"},
        {"{\"limits\":[{\"max\":{\"cpu\":\"2\"}}]}",
         "{\"limits\":[{\"max\":{\"cpu\":\"2000m\"}}]}"},
    };
    static const struct pair other[] = {
        {"{\"limits\":{\"cpu\":\"1\"}}", "{\"limits\":{\"cpu\":\"2\"}}"},
        {"{\"limits\":{\"cpu\":\"1\"}}", "{\"limits\":{}}"},
        {"{\"limits\":{\"cpu\":\"x\"}}", "{\"limits\":{\"cpu\":\"y\"}}"},
        {"{\"limits\":{\"cpu\":true}}", "{\"limits\":{\"cpu\":\"1\"}}"},
        /* Texts that look like quantities. */
        {"{\"env\":[{\"value\":\"1\"}]}", "{\"env\":[{\"value\":\"1000m\"}]}"},
        {"{\"data\":{\"limits\":\"1\"}}", "{\"data\":{\"limits\":\"1000m\"}}"},
        {"{\"annotations\":{\"max\":\"1\"}}", "{\"annotations\":{\"max\":\"1.0\"}}"},
        {"{\"labels\":{\"v\":\"1\"}}", "{\"labels\":{\"v\":\"1.0\"}}"},
        {"[\"1\"]", "[\"1000m\"]"},
        {"{\"limits\":{\"x\":{\"note\":\"1\"}}}", "{\"limits\":{\"x\":{\"note\":\"1.0\"}}}"},
    };

    all_equal(same, COR_ARRAY_LEN(same));
    all_differ(other, COR_ARRAY_LEN(other));
}

/* Contract controllers 6.9.3. */
TEST(equality, times_are_compared_by_instant)
{
    static const struct pair same[] = {
        {"{\"lastTransitionTime\":\"2025-01-01T10:00:00Z\"}",
         "{\"lastTransitionTime\":\"2025-01-01T12:00:00+02:00\"}"},
        {"{\"renewTime\":\"2025-01-01T10:00:00.500000Z\"}",
         "{\"renewTime\":\"2025-01-01T10:00:00.5Z\"}"},
        {"{\"startedAt\":\"2025-01-01T10:00:00Z\"}", "{\"startedAt\":\"2025-01-01T10:00:00.0Z\"}"},
    };
    static const struct pair other[] = {
        {"{\"lastTransitionTime\":\"2025-01-01T10:00:00Z\"}",
         "{\"lastTransitionTime\":\"2025-01-01T10:00:01Z\"}"},
        {"{\"renewTime\":\"2025-01-01T10:00:00.000001Z\"}",
         "{\"renewTime\":\"2025-01-01T10:00:00.000002Z\"}"},
        {"{\"lastTransitionTime\":\"x\"}", "{\"lastTransitionTime\":\"y\"}"},
        {"{\"annotations\":{\"startTime\":\"2025-01-01T10:00:00Z\"}}",
         "{\"annotations\":{\"startTime\":\"2025-01-01T10:00:00.0Z\"}}"},
        {"{\"note\":\"2025-01-01T10:00:00Z\"}", "{\"note\":\"2025-01-01T10:00:00.0Z\"}"},
    };

    all_equal(same, COR_ARRAY_LEN(same));
    all_differ(other, COR_ARRAY_LEN(other));
}

TEST(equality, objects_are_compared_with_metadata_and_status)
{
    static const char *const texts[] = {
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"labels\":{}},"
        "\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"500m\"}}}]}}",
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"spec\":{\"containers\":[{\"resources\":{"
        "\"limits\":{\"cpu\":\"0.5\"}}}]},\"metadata\":{\"name\":\"a\"}}",
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"spec\":{\"containers\":[{\"resources\":{"
        "\"limits\":{\"cpu\":\"0.5\"}}}]},\"metadata\":{\"name\":\"a\"},\"status\":{\"phase\":"
        "\"Running\"}}",
    };
    struct cor_object *objects[COR_ARRAY_LEN(texts)];
    bool is_equal = false;

    for (size_t i = 0; i < COR_ARRAY_LEN(texts); i++)
        assert_int_equal(cor_object_from_json(cor_strz(texts[i]), &objects[i], NULL), 0);
    assert_int_equal(cor_object_equal(objects[0], objects[1], &is_equal), 0);
    assert_true(is_equal);
    assert_int_equal(cor_object_equal(objects[1], objects[2], &is_equal), 0);
    assert_false(is_equal);
    for (size_t i = 0; i < COR_ARRAY_LEN(texts); i++)
        cor_object_unref(objects[i]);
}

TEST(equality, what_is_no_json_is_refused)
{
    bool is_equal = false;

    assert_int_equal(
        cor_view_equal(cor_view(COR_STR("{\"a\":")), cor_view(COR_STR("1")), &is_equal),
        -COR_EINVAL);
    assert_int_equal(cor_view_equal(cor_view(COR_STR("1")), cor_view(COR_STR("[1")), &is_equal),
                     -COR_EINVAL);
}

TEST(equality, fails_cleanly_without_memory)
{
    FOR_EACH_FAILED_ALLOC(n) {
        bool is_equal = false;
        int r = cor_view_equal(cor_view(COR_STR("{\"b\":1,\"a\":\"\\u0041\"}")),
                               cor_view(COR_STR("{\"a\":\"A\",\"b\":1}")), &is_equal);

        if (r == 0)
            assert_true(is_equal);
        else
            assert_int_equal(r, -COR_ENOMEM);
    }
}
