#include "base/err.h"
#include "test.h"
#include "json/write/writer.h"

static void write_all(struct cor_json_writer *w)
{
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("kind"), COR_STR("Status"));
    cor_json_key(w, COR_STR("list"));
    cor_json_begin_array(w);
    cor_json_u64(w, UINT64_MAX);
    cor_json_i64(w, INT64_MIN);
    cor_json_i64(w, 7);
    cor_json_bool(w, true);
    cor_json_bool(w, false);
    cor_json_null(w);
    cor_json_raw(w, COR_STR("[1.50]"));
    cor_json_begin_object(w);
    cor_json_end_object(w);
    cor_json_begin_array(w);
    cor_json_end_array(w);
    cor_json_end_array(w);
    cor_json_key(w, COR_STR("a\"b"));
    cor_json_string(w, COR_STR("x"));
    cor_json_end_object(w);
}

static const char all[] =
    "{\"kind\":\"Status\",\"list\":[18446744073709551615,-9223372036854775808,7,"
    "true,false,null,[1.50],{},[]],\"a\\\"b\":\"x\"}";

TEST(writer, puts_commas_and_escapes_where_they_belong)
{
    struct cor_json_writer w;
    struct cor_buf b;

    cor_buf_init(&b, 1000);
    cor_json_writer_init(&w, &b);
    write_all(&w);
    assert_int_equal(cor_json_writer_finish(&w), 0);
    assert_string_equal(cor_buf_z(&b), all);
    cor_buf_deinit(&b);
}

TEST(writer, quotes_any_bytes_into_valid_json)
{
    struct cor_buf b;

    cor_buf_init(&b, 1000);
    assert_int_equal(
        cor_json_quote(&b, COR_STR("\"\\\b\f\n\r\t\x01\x1f\x7f/<\xc3\xa9\xf0\x9f\x98\x80")), 0);
    assert_string_equal(cor_buf_z(&b),
                        "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\x7f/<\xc3\xa9\xf0\x9f\x98\x80\"");
    cor_buf_reset(&b);
    assert_int_equal(cor_json_quote(&b, COR_STR("a\xff"
                                                "b\xe2\x82"
                                                "c\xed\xa0\x80")),
                     0);
    assert_string_equal(cor_buf_z(&b), "\"a\xef\xbf\xbd"
                                       "b\xef\xbf\xbd\xef\xbf\xbd"
                                       "c\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    cor_buf_reset(&b);
    assert_int_equal(cor_json_quote(&b, cor_str(NULL, 0)), 0);
    assert_string_equal(cor_buf_z(&b), "\"\"");
    cor_buf_deinit(&b);
}

TEST(writer, remembers_the_first_failure)
{
    for (size_t max = 0; max < sizeof(all) - 1; max++) {
        struct cor_json_writer w;
        struct cor_buf b;

        cor_buf_init(&b, max);
        cor_json_writer_init(&w, &b);
        write_all(&w);
        assert_int_equal(cor_json_writer_finish(&w), -COR_ETOOBIG);
        assert_memory_equal(cor_buf_z(&b), all, b.n);
        cor_buf_deinit(&b);
    }
}

TEST(writer, survives_every_failed_allocation)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_json_writer w;
        struct cor_buf b;

        cor_buf_init(&b, 1000);
        cor_json_writer_init(&w, &b);
        write_all(&w);
        assert_int_equal(cor_json_writer_finish(&w), test_alloc_failed() ? -COR_ENOMEM : 0);
        cor_buf_deinit(&b);
    }
}
