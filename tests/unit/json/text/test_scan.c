#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "test.h"
#include "json/text/json.h"
#include "json/text/json_int.h"
#include "json/text/scan.h"

static const struct cor_str spaced = COR_STR(
    " { \"a\" : [ 1 , \"x]\\\"}\" , { } , [ ] , null ] ,\n \"b\" : -1.5e3 , \"c\":true,\"\\u0064\":\"e\\n\" } ");

TEST(scan, iterates_over_members_and_elements)
{
    static const char *const keys[] = {"a", "b", "c", "\\u0064"};
    static const char *const values[] = {"[ 1 , \"x]\\\"}\" , { } , [ ] , null ]", "-1.5e3", "true",
                                         "\"e\\n\""};
    static const char *const elems[] = {"1", "\"x]\\\"}\"", "{ }", "[ ]", "null"};
    struct cor_json_iter it = cor_json_iter(cor_json_first_value(spaced)), sub;
    struct cor_str key;
    size_t i = 0, j = 0;

    while (cor_json_iter_member(&it, &key)) {
        assert_str(key, keys[i]);
        if (i == 0) {
            sub = cor_json_iter(cor_json_iter_open_value(&it));
            for (; cor_json_iter_elem(&sub); j++)
                assert_str(cor_json_iter_value(&sub), elems[j]);
        }
        assert_str(cor_json_iter_value(&it), values[i]);
        i++;
    }
    assert_int_equal(i, 4);
    assert_int_equal(j, 5);
    assert_false(cor_json_iter_member(&it, &key));
}

TEST(scan, skips_values_that_nobody_asked_for)
{
    struct cor_json_iter it = cor_json_iter(cor_json_first_value(spaced));
    struct cor_str key;
    size_t n = 0;

    while (cor_json_iter_member(&it, &key))
        n++;
    assert_int_equal(n, 4);
}

/* Long containers are passed by blocks of 64 bytes: every piece stands once at every place of a
 * block, and is cut off by the end of the text at every length. */
TEST(scan, finds_the_end_of_long_containers)
{
    static const char *const pieces[] = {
        "{}", "[]", "{\"a\":{}}", "\"}]{[\"", "\"\\\"}\"", "\"\\\\\"", "[[{}],[]]", "-1.5",
    };
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = 1u << 16};

    for (size_t i = 0; i < COR_ARRAY_LEN(pieces); i++) {
        for (size_t pad = 0; pad < 70; pad++) {
            size_t n;

            cor_buf_reset(&text);
            assert_int_equal(cor_buf_addz(&text, "[\"a\",\"b\",\"c\",\"d\",\"e\",\""), 0);
            for (size_t k = 0; k < pad; k++)
                assert_int_equal(cor_buf_addc(&text, k % 7 ? 'x' : ']'), 0);
            for (size_t k = 0; k < 5; k++)
                assert_int_equal(cor_buf_addf(&text, "%s%s", k ? "," : "\",", pieces[i]), 0);
            assert_int_equal(cor_buf_addz(&text, ",{\"f:a\":{},\"f:b\":{\"k\":[]}}]"), 0);
            n = text.n;
            assert_int_equal(cor_buf_addf(&text, "%100s", "]"), 0);
            assert_int_equal(cor_json_first_value(cor_buf_str(&text)).n, n);
            for (size_t cut = 0; cut < n; cut++)
                assert_int_equal(cor_json_first_value(cor_str(text.p, cut)).n, cut);
        }
    }
}

/* The end of the container at the start of `text`, byte by byte. */
static size_t plain_end(const char *text)
{
    size_t depth = 0;
    bool in_string = false;

    for (size_t i = 0;; i++) {
        if (in_string && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            in_string = !in_string;
        else if (!in_string && (text[i] == '{' || text[i] == '['))
            depth++;
        else if (!in_string && (text[i] == '}' || text[i] == ']') && --depth == 0)
            return i + 1;
    }
}

/* As the keys of FieldsV1 are: "k:{\"type\":\"Ready\"}". Every length of a run of backslashes meets
 * every place of a block, its end included. */
TEST(scan, finds_the_end_of_long_containers_with_escapes)
{
    char text[600];

    for (size_t lead = 0; lead < 130; lead++)
        for (size_t run = 0; run < 5; run++) {
            int n = snprintf(
                text, sizeof(text),
                "[\"1\",\"2\",\"3\",\"4\",\"%.*s%.*s\\\"}]{%.*s\",{\"b\":\"]\\\\\"},[{}],\"%*s\"]"
                "tail\"]",
                (int)lead,
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
                (int)(2 * run), "\\\\\\\\\\\\\\\\", (int)(2 * run), "\\\\\\\\\\\\\\\\", 150, "");

            assert_uint_in_range(n, 1, sizeof(text) - 1);
            assert_int_equal(cor_json_first_value(cor_str(text, (size_t)n)).n, plain_end(text));
        }
}

TEST(scan, scalars_and_nothing_have_no_members)
{
    static const char *const values[] = {"", "1", "\"{\"", "null", "{}", "[]"};

    for (size_t i = 0; i < COR_ARRAY_LEN(values); i++) {
        struct cor_json_iter it = cor_json_iter(cor_strz(values[i]));
        struct cor_str key;

        assert_false(cor_json_iter_member(&it, &key));
        it = cor_json_iter(cor_strz(values[i]));
        assert_false(cor_json_iter_elem(&it));
    }
}

TEST(scan, knows_types)
{
    assert_int_equal(cor_json_type(COR_STR("")), COR_JSON_NONE);
    assert_int_equal(cor_json_type(COR_STR("null")), COR_JSON_NULL);
    assert_int_equal(cor_json_type(COR_STR("false")), COR_JSON_BOOL);
    assert_int_equal(cor_json_type(COR_STR("-1")), COR_JSON_NUMBER);
    assert_int_equal(cor_json_type(COR_STR("\"\"")), COR_JSON_STRING);
    assert_int_equal(cor_json_type(COR_STR("[]")), COR_JSON_ARRAY);
    assert_int_equal(cor_json_type(COR_STR("{}")), COR_JSON_OBJECT);
}

TEST(scan, gets_the_last_of_equal_keys_in_any_order)
{
    struct cor_str v;

    assert_int_equal(
        cor_json_get(COR_STR("{\"b\":1,\"a\":2,\"b\":[3]}"), COR_STR("b"), COR_JSON_ANY_ORDER, &v),
        0);
    assert_str(v, "[3]");
    assert_int_equal(cor_json_get(COR_STR("{\"\\u0062\":1}"), COR_STR("b"), COR_JSON_ANY_ORDER, &v),
                     0);
    assert_int_equal(cor_json_get(COR_STR("[\"b\"]"), COR_STR("b"), COR_JSON_ANY_ORDER, &v),
                     -COR_ENOTFOUND);
    assert_int_equal(cor_json_get(COR_STR("{}"), COR_STR("b"), COR_JSON_ANY_ORDER, &v),
                     -COR_ENOTFOUND);
}

TEST(scan, gets_from_canonical_bytes_and_stops_early)
{
    struct cor_str object = COR_STR("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"a\":1,\"spec\":{}}"),
                   v;

    assert_int_equal(cor_json_get(object, COR_STR("kind"), COR_JSON_SORTED, &v), 0);
    assert_str(v, "\"Pod\"");
    assert_int_equal(cor_json_get(object, COR_STR("a"), COR_JSON_SORTED, &v), 0);
    assert_str(v, "1");
    assert_int_equal(cor_json_get(object, COR_STR("spec"), COR_JSON_SORTED, &v), 0);
    assert_str(v, "{}");
    assert_int_equal(cor_json_get(object, COR_STR("b"), COR_JSON_SORTED, &v), -COR_ENOTFOUND);
    assert_int_equal(cor_json_get(object, COR_STR("zz"), COR_JSON_SORTED, &v), -COR_ENOTFOUND);
    assert_int_equal(cor_json_get(COR_STR("{\"b\":1,\"a\":2}"), COR_STR("a"), COR_JSON_SORTED, &v),
                     -COR_ENOTFOUND);
}

TEST(scan, gets_several_members_in_one_walk)
{
    static const struct cor_str keys[] = {COR_STR("a"), COR_STR("ab"), COR_STR("c"), COR_STR("x"),
                                          COR_STR("z")};
    struct cor_str v[COR_ARRAY_LEN(keys)];

    cor_json_get_each(COR_STR("{\"A\":[0],\"ab\":{\"c\":1},\"b\":2,\"c\":null,\"z\":\"]\"}"), keys,
                      COR_ARRAY_LEN(keys), v);
    assert_null(v[0].p);
    assert_str(v[1], "{\"c\":1}");
    assert_str(v[2], "null");
    assert_null(v[3].p);
    assert_str(v[4], "\"]\"");
    cor_json_get_each(COR_STR("{\"a\":1}"), keys, COR_ARRAY_LEN(keys), v);
    assert_str(v[0], "1");
    assert_null(v[4].p);
    cor_json_get_each(COR_STR("[\"a\",1]"), keys, COR_ARRAY_LEN(keys), v);
    assert_null(v[0].p);
    cor_json_get_each((struct cor_str){NULL, 0}, keys, COR_ARRAY_LEN(keys), v);
    assert_null(v[0].p);
}

TEST(scan, converts_scalars_of_the_right_type)
{
    struct cor_str raw;
    int64_t i;
    bool b;

    assert_int_equal(cor_json_to_raw(COR_STR("\"a\\n\""), &raw), 0);
    assert_str(raw, "a\\n");
    assert_int_equal(cor_json_to_raw(COR_STR("1"), &raw), -COR_EINVAL);
    assert_int_equal(cor_json_to_bool(COR_STR("true"), &b), 0);
    assert_true(b);
    assert_int_equal(cor_json_to_bool(COR_STR("false"), &b), 0);
    assert_false(b);
    assert_int_equal(cor_json_to_bool(COR_STR("null"), &b), -COR_EINVAL);
    assert_int_equal(cor_json_to_i64(COR_STR("-9223372036854775808"), &i), 0);
    assert_true(i == INT64_MIN);
    assert_int_equal(cor_json_to_i64(COR_STR("9223372036854775808"), &i), -COR_ETOOBIG);
    assert_int_equal(cor_json_to_i64(COR_STR("1.0"), &i), -COR_EINVAL);
    assert_int_equal(cor_json_to_i64(COR_STR("1e3"), &i), -COR_EINVAL);
    assert_int_equal(cor_json_to_i64(COR_STR("\"1\""), &i), -COR_EINVAL);
}

TEST(scan, decodes_escapes_into_the_callers_buffer)
{
    struct cor_str text, raw = COR_STR("a\\u00e9\\ud83d\\ude00\\ud800\\n\\/\\\"");
    char buf[64];

    assert_int_equal(cor_json_unescape(COR_STR("plain"), NULL, 0, &text), 0);
    assert_str(text, "plain");
    assert_int_equal(cor_json_unescape(raw, buf, sizeof(buf), &text), 0);
    assert_str(text, "a\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbd\n/\"");
    for (size_t cap = 0; cap < text.n; cap++)
        assert_int_equal(cor_json_unescape(raw, buf, cap, &text), -COR_ETOOBIG);
}

/* One page, behind which nothing may be read. */
static char *page_with_guard(size_t size)
{
    char *page = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(page, MAP_FAILED);
    assert_int_equal(mprotect(page + size, size, PROT_NONE), 0);
    return page;
}

/* Long enough for each of the steps that strings are read by, one after the other; at every
 * alignment, and up to the end of a page. */
TEST(scan, stops_at_special_bytes_wherever_they_stand)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    char *page = page_with_guard(size);

    for (size_t n = 0; n <= 48; n++) {
        char *text = page + size - n;

        for (size_t at = 0; at <= n; at++) {
            for (int c = 0; c < 256; c++) {
                bool special = at < n && (c < 0x20 || c == '"' || c == '\\');
                bool high = at < n && c >= 0x80;

                memset(text, 'x', n);
                if (at < n)
                    text[at] = (char)c;
                assert_ptr_equal(cor_json_find_special(text, text + n), text + (special ? at : n));
                assert_ptr_equal(cor_json_find_special_or_high(text, text + n),
                                 text + (special || high ? at : n));
            }
        }
    }
    assert_int_equal(munmap(page, 2 * size), 0);
}

TEST(scan, compares_texts_through_escapes)
{
    assert_true(cor_json_raw_cmp_text(COR_STR("\xc3\xa9"), COR_STR("z")) > 0);
    assert_true(cor_json_raw_cmp_text(COR_STR("a\\u0062"), COR_STR("b")) < 0);
    assert_true(cor_json_raw_cmp_text(COR_STR("\\u007a"), COR_STR("b")) > 0);
    assert_true(cor_json_raw_cmp_text(COR_STR(""), COR_STR("b")) < 0);
    assert_true(cor_json_raw_eq(COR_STR("a\\u0062c"), COR_STR("abc")));
    assert_true(cor_json_raw_eq(COR_STR("abc"), COR_STR("abc")));
    assert_false(cor_json_raw_eq(COR_STR("ab"), COR_STR("abc")));
    assert_true(cor_json_raw_eq(COR_STR("\\\\"), COR_STR("\\")));
    assert_true(cor_json_raw_eq(COR_STR(""), COR_STR("")));
    assert_int_equal(cor_json_raw_cmp(COR_STR("a\\n"), COR_STR("a ")), -1);
    assert_int_equal(cor_json_raw_cmp(COR_STR("\\u0061"), COR_STR("a")), 0);
    assert_int_equal(cor_json_raw_cmp(COR_STR("\\u00e9"), COR_STR("z")), 1);
    assert_int_equal(cor_json_raw_cmp_text(COR_STR("\\t"), COR_STR("\\")), -1);
}
