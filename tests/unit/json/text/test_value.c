/* What generated views call: values of which only the beginning is known. */
#include "base/err.h"
#include "coracle/value.h"
#include "test.h"
#include "json/text/scan.h"

#define TEXT                                                                                       \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"data\":{\"a\":\"1\",\"b\\n\":\"x\\ny\",\"c\":{}},"  \
    "\"flags\":[true,false],\"lists\":[[1,2],[],[\"]\"]],"                                         \
    "\"numbers\":[1,-9223372036854775808,1.5,\"2\"],\"objects\":[{\"name\":\"a\",\"v\":1},"        \
    "{\"name\":\"b\",\"v\":2},null,3],\"ratio\":1.5,\"small\":2147483648,\"texts\":[\"a\",\"\"],"  \
    "\"void\":null,\"yes\":true}"

/* The same bytes with and without knowing that the keys are sorted. */
static const int orders[] = {COR_JSON_SORTED, COR_JSON_FIRST};

static struct cor_value whole(int order)
{
    struct cor_view view = {COR_STR(TEXT), order};

    return cor_value(view);
}

#define KEY(k) (k), sizeof(k) - 1

TEST(value, reads_members_by_their_types)
{
    for (size_t i = 0; i < 2; i++) {
        struct cor_value v = whole(orders[i]);

        assert_true(cor_text_is(cor_value_string(v, KEY("kind")), "Pod"));
        assert_true(cor_value_bool(v, KEY("yes")));
        assert_true(cor_value_double(v, KEY("ratio")) == 1.5);
        assert_int_equal(cor_value_int64(v, KEY("small")), 2147483648);
        assert_str(cor_value_any(v, KEY("flags")).json, "[true,false]");
        assert_true(cor_value_has(v, KEY("ratio")));
        assert_str(cor_value_view(v).json, TEXT);
    }
}

TEST(value, reads_absent_null_and_other_types_as_nothing)
{
    for (size_t i = 0; i < 2; i++) {
        struct cor_value v = whole(orders[i]), none = cor_value_member(v, KEY("void"));

        assert_false(cor_value_exists(none));
        assert_false(cor_value_has(v, KEY("void")));
        assert_false(cor_value_has(v, KEY("absent")));
        assert_false(cor_value_exists(cor_value_member(none, KEY("deeper"))));
        assert_false(cor_view_exists(cor_value_view(none)));
        assert_false(cor_text_exists(cor_value_string(v, KEY("ratio"))));
        assert_false(cor_value_bool(v, KEY("kind")));
        assert_int_equal(cor_value_int64(v, KEY("ratio")), 0);
        assert_int_equal(cor_value_int32(v, KEY("small")), 0);
        assert_true(cor_value_double(v, KEY("kind")) == 0);
        assert_int_equal(cor_value_len(none), 0);
        assert_int_equal(cor_value_len(cor_value_member(v, KEY("ratio"))), 0);
    }
    assert_false(cor_value_exists(cor_value(cor_view(COR_STR("")))));
}

TEST(value, iterates_over_lists_of_objects)
{
    struct cor_value array = cor_value_member(whole(COR_JSON_SORTED), KEY("objects"));
    struct cor_value it = array, element;

    assert_int_equal(cor_value_len(array), 4);
    assert_true(cor_value_next(&it, &element));
    assert_int_equal(cor_value_int64(element, KEY("v")), 1);
    assert_int_equal(cor_value_len(it), 3);
    assert_true(cor_value_next(&it, &element));
    assert_true(cor_text_is(cor_value_string(element, KEY("name")), "b"));
    assert_true(cor_value_next(&it, &element));
    assert_false(cor_value_exists(element));
    assert_true(cor_value_next(&it, &element));
    assert_false(cor_value_next(&it, &element));
    assert_false(cor_value_next(&it, &element));
    element = cor_value_find(array, KEY("name"), COR_STR("b"));
    assert_int_equal(cor_value_int64(element, KEY("v")), 2);
    assert_false(cor_value_exists(cor_value_find(array, KEY("name"), COR_STR("c"))));
    assert_false(cor_value_exists(cor_value_find(array, KEY("name"), COR_STR(""))));
}

TEST(value, iterates_over_lists_of_texts_numbers_and_others)
{
    struct cor_value v = whole(COR_JSON_SORTED);
    struct cor_text_array texts = {cor_value_member(v, KEY("texts"))};
    struct cor_int_array numbers = {cor_value_member(v, KEY("numbers"))};
    struct cor_view_array lists = {cor_value_member(v, KEY("lists"))};
    struct cor_text text;
    struct cor_view view;
    int64_t number;

    assert_true(cor_text_array_has(texts, COR_STR("a")));
    assert_true(cor_text_array_has(texts, COR_STR("")));
    assert_false(cor_text_array_has(texts, COR_STR("b")));
    assert_true(cor_text_array_next(&texts, &text));
    assert_true(cor_text_is(text, "a"));
    assert_true(cor_text_array_next(&texts, &text));
    assert_true(cor_text_exists(text) && cor_text_is(text, ""));
    assert_false(cor_text_array_next(&texts, &text));
    assert_true(cor_int_array_next(&numbers, &number) && number == 1);
    assert_true(cor_int_array_next(&numbers, &number) && number == INT64_MIN);
    assert_true(cor_int_array_next(&numbers, &number) && number == 0);
    assert_true(cor_int_array_next(&numbers, &number) && number == 0);
    assert_false(cor_int_array_next(&numbers, &number));
    assert_true(cor_view_array_next(&lists, &view));
    assert_str(view.json, "[1,2]");
    assert_true(cor_view_array_next(&lists, &view));
    assert_str(view.json, "[]");
    assert_true(cor_view_array_next(&lists, &view));
    assert_str(view.json, "[\"]\"]");
    assert_false(cor_view_array_next(&lists, &view));
}

TEST(value, iterates_over_maps_and_finds_their_entries)
{
    for (size_t i = 0; i < 2; i++) {
        struct cor_text_map map = {cor_value_member(whole(orders[i]), KEY("data"))}, it = map;
        struct cor_view_map views = {map.at};
        struct cor_text key, text;
        struct cor_view view;
        struct cor_str got;
        char buf[8];

        assert_true(cor_text_is(cor_text_map_get(map, COR_STR("a")), "1"));
        assert_true(cor_text_is(cor_text_map_get(map, COR_STR("b\n")), "x\ny"));
        assert_false(cor_text_exists(cor_text_map_get(map, COR_STR("c"))));
        assert_str(cor_view_map_get(views, COR_STR("c")).json, "{}");
        assert_true(cor_text_map_next(&it, &key, &text));
        assert_true(cor_text_is(key, "a") && cor_text_is(text, "1"));
        assert_true(cor_text_map_next(&it, &key, &text));
        assert_int_equal(cor_text_get(key, buf, sizeof(buf), &got), 0);
        assert_str(got, "b\n");
        assert_int_equal(cor_text_get(text, buf, 2, &got), -COR_ETOOBIG);
        assert_int_equal(cor_value_len(it.at), 1);
        assert_true(cor_text_map_next(&it, &key, &text));
        assert_false(cor_text_exists(text));
        assert_int_equal(cor_text_get(text, buf, sizeof(buf), &got), -COR_ENOTFOUND);
        assert_false(cor_text_map_next(&it, &key, &text));
        assert_int_equal(cor_value_len(map.at), 3);
        assert_true(cor_view_map_next(&views, &key, &view));
        assert_str(view.json, "\"1\"");
    }
}

/* A list where a map is expected, and the reverse. */
TEST(value, iterates_over_nothing_of_another_type)
{
    struct cor_value v = whole(COR_JSON_SORTED), element;
    struct cor_value array = cor_value_member(v, KEY("objects")), object = v;
    struct cor_text key;

    assert_false(cor_value_next(&object, &element));
    assert_false(cor_value_next_member(&array, &key, &element));
}

/* Bytes that the fast way does not take: spaces, escapes in keys, an empty object, keys that are
 * the beginning of others, bytes that end too soon. */
TEST(value, finds_members_in_bytes_of_any_form)
{
    static const struct {
        const char *json, *key, *want;
    } rows[] = {
        {"{ \"a\" : \"1\" , \"b\" : \"2\" }", "b", "2"},
        {"{\"a\":\"1\", \"b\":\"2\"}", "b", "2"},
        {"{\"a\":\"1\",\"b\": \"2\"}", "b", "2"},
        {"{\"a\\u0062\":\"1\",\"c\":\"2\"}", "ab", "1"},
        {"{\"a\\u0062\":\"1\",\"c\":\"2\"}", "c", "2"},
        {"{\"a\":\"x\\\"y\",\"b\":\"2\"}", "b", "2"},
        {"{\"a\":[{\"b\":\"1\"}],\"b\":\"2\"}", "b", "2"},
        {"{\"aa\":\"1\",\"aaa\":\"2\"}", "aaa", "2"},
        {"{\"aa\":\"1\",\"aaa\":\"2\"}", "a", NULL},
        {"{\"a\":\"1\",\"c\":\"3\"}", "b", NULL},
        {"{\"kind\":\"1\",\"apiVersion\":\"2\",\"a\":\"3\"}", "a", "3"},
        {"{\"kind\":\"1\",\"apiVersion\":\"2\",\"a\":\"3\"}", "apiVersion", "2"},
        {"{\"\":\"1\"}", "", "1"},
        {"{}", "a", NULL},
        {"{", "a", NULL},
        {"{\"a", "a", NULL},
        {"{\"a\"", "a", NULL},
        {"{\"a\":", "a", NULL},
        {"{\"a\":\"1", "b", NULL},
        {"{\"a\":\"1\\", "b", NULL},
        {"{\"a\":1,", "b", NULL},
        {"[\"a\"]", "a", NULL},
        {"1", "a", NULL},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (size_t j = 0; j < 2; j++) {
            /* A copy of its own, so that a sanitizer sees what is read behind the end. */
            size_t n = strlen(rows[i].json);
            char *copy = malloc(n);
            struct cor_view view = {{copy, n}, orders[j]};
            struct cor_text text;

            memcpy(copy, rows[i].json, n);
            text = cor_value_string(cor_value(view), rows[i].key, strlen(rows[i].key));
            assert_int_equal(cor_text_exists(text), rows[i].want != NULL);
            if (rows[i].want && !cor_text_is(text, rows[i].want))
                fail_msg("row %zu: %.*s", i, COR_STR_ARG(text.raw));
            free(copy);
        }
    }
}
