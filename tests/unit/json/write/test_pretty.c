#include "json/write/pretty.h"

#include "base/err.h"
#include "test.h"

TEST(pretty, writes_what_go_writes)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;

    cor_buf_init(&out, 4096);
    assert_int_equal(
        cor_json_pretty(COR_STR("{\"a\":{},\"b\":[1,\"x{,:\\\"}\"],\"c\":[],\"d\":{\"e\":null}}"),
                        0, &out),
        0);
    assert_str(cor_buf_str(&out), "{\n  \"a\": {},\n  \"b\": [\n    1,\n    \"x{,:\\\"}\"\n  ],\n"
                                  "  \"c\": [],\n  \"d\": {\n    \"e\": null\n  }\n}");
}

TEST(pretty, indents_inside_of_others)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;

    cor_buf_init(&out, 4096);
    assert_int_equal(cor_json_pretty(COR_STR("{\"a\":1}"), 2, &out), 0);
    assert_str(cor_buf_str(&out), "{\n      \"a\": 1\n    }");
}

TEST(pretty, leaves_the_buffer_alone_when_it_is_full)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;

    cor_buf_init(&out, 8);
    assert_int_equal(cor_json_pretty(COR_STR("{\"a\":1}"), 0, &out), -COR_ETOOBIG);
    assert_int_equal(out.n, 0);
}

TEST(pretty, indents_by_one_space)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 100};

    assert_int_equal(cor_json_pretty_narrow(COR_STR("{\"a\":{\"b\":[1]}}"), &out), 0);
    assert_string_equal(cor_buf_z(&out), "{\n \"a\": {\n  \"b\": [\n   1\n  ]\n }\n}");
}
