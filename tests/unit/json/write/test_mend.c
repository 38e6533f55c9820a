#include "base/err.h"
#include "test.h"
#include "json/text/json.h"

static const struct {
    const char *in, *want; /* NULL: nothing is wrong with its strings */
} cases[] = {
    {"", NULL},
    {"{\"a\":\"\xc3\xa9\"}", NULL},
    {"[\xff]", NULL},
    {"{\"a\":\"x\xff\xc3y\"}", "{\"a\":\"x\xef\xbf\xbd\xef\xbf\xbdy\"}"},
    {"{\"\xff\":\"\\\"\xff\"}\xff", "{\"\xef\xbf\xbd\":\"\\\"\xef\xbf\xbd\"}\xff"},
    {"[\"\xed\xa0\x80\"]", "[\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"]"},
    {"[\"\\\xff\"]", "[\"\\\xef\xbf\xbd\"]"},
    {"[\"\xff", "[\"\xef\xbf\xbd"},
};

TEST(mend, puts_the_replacement_character_in_place_of_each_bad_byte_of_a_string)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1024};

        assert_int_equal(cor_json_mend(cor_strz(cases[i].in), &out), cases[i].want != NULL);
        assert_string_equal(cor_buf_z(&out), cases[i].want ? cases[i].want : "");
    }
}

TEST(mend, leaves_nothing_behind_when_it_fails)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 4};

    assert_int_equal(cor_json_mend(COR_STR("[\"\xff\"]"), &out), -COR_ETOOBIG);
    assert_int_equal(out.n, 0);
}
