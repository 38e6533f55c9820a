#include "base/err.h"
#include "codec/yaml.h"
#include "test.h"

static void check(const char *json, const char *yaml)
{
    struct cor_buf out;

    cor_buf_init(&out, 1u << 16);
    assert_int_equal(cor_yaml_from_json(cor_strz(json), &out), 0);
    assert_string_equal(cor_buf_z(&out), yaml);
    cor_buf_deinit(&out);
}

TEST(yaml_write, objects_are_blocks_with_sorted_keys)
{
    check(
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"b:1\"}]}}",
        "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: b:1\n    name: a\n");
    check("{\"a\":{},\"b\":[],\"c\":null,\"d\":true,\"e\":[[1],[2,3]]}",
          "a: {}\nb: []\nc: null\nd: true\ne:\n- - 1\n- - 2\n  - 3\n");
}

TEST(yaml_write, numbers_in_keys_sort_as_numbers)
{
    check("{\"a10\":1,\"a2\":2,\"A\":3,\"_x\":4,\"a\":5,\"1\":6,\"a02\":7}",
          "_x: 4\n\"1\": 6\nA: 3\na: 5\na2: 2\na02: 7\na10: 1\n");
}

TEST(yaml_write, strings_that_mean_something_else_are_quoted)
{
    check(
        "[\"yes\",\"1\",\"\",\"1.5\",\"null\",\"2024-01-02T03:04:05Z\",\"12:30:45\",\"0x10\",\"y\"]",
        "- \"yes\"\n- \"1\"\n- \"\"\n- \"1.5\"\n- \"null\"\n- \"2024-01-02T03:04:05Z\"\n"
        "- \"12:30:45\"\n- \"0x10\"\n- \"y\"\n");
    check("{\"<<\":1}", "\"<<\": 1\n");
    check("[\"a: b\",\"# c\",\" d\",\"*e\",\"it's\",\"@x\",\"a#b\"]",
          "- 'a: b'\n- '# c'\n- ' d'\n- '*e'\n- it's\n- '@x'\n- a#b\n");
}

TEST(yaml_write, lines_become_literal_blocks)
{
    check("{\"a\":\"x\\ny\\n\",\"b\":\"x\\ny\"}", "a: |\n  x\n  y\nb: |-\n  x\n  y\n");
    check("{\"a\":\"x\\n\\n\"}", "a: |+\n  x\n\n");
    check("{\"t\":\"\\u0001\",\"u\":\"\\u00e9\\u4e16\"}", "t: \"\\x01\"\nu: é世\n");
}

/* A key is sorted and written as what it says, not as JSON escapes it. */
TEST(yaml_write, escaped_keys_are_decoded)
{
    check("{\"a\\u0062\":1,\"aa\":2,\"\\u00e9\":3,\"x\\\"y\":4,\"a\\\\b\":5,\"\\/p\":6}",
          "/p: 6\na\\b: 5\naa: 2\nab: 1\nx\"y: 4\né: 3\n");
    check("{\"\\u0031\":1,\"\\u0079es\":2}", "\"1\": 1\n\"yes\": 2\n");
}

TEST(yaml_write, numbers_keep_their_kind)
{
    check("[1,-5,18446744073709551615,1.50,1000000.0,1e3]",
          "- 1\n- -5\n- 18446744073709551615\n- 1.5\n- 1e+06\n- 1000\n");
}

TEST(yaml_write, what_does_not_fit_is_refused)
{
    struct cor_buf out;

    cor_buf_init(&out, 4);
    assert_int_equal(cor_yaml_from_json(COR_STR("{\"a\":\"long text\"}"), &out), -COR_ETOOBIG);
    assert_int_equal(out.n, 0);
    cor_buf_deinit(&out);
}

TEST(yaml_write, fails_cleanly_without_memory)
{
    int r = -1;

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_buf out;

        cor_buf_init(&out, 1u << 16);
        r = cor_yaml_from_json(COR_STR("{\"a\\n\":[{\"b\":\"c\"}]}"), &out);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        assert_string_equal(cor_buf_z(&out), r == 0 ? "? |\n  a\n: - b: c\n" : "");
        cor_buf_deinit(&out);
    }
    assert_int_equal(r, 0);
}
