#include <stdio.h>

#include "base/err.h"
#include "test.h"
#include "json/text/splitter.h"

static char seen[1024];

static int note_value(void *arg, struct cor_str value)
{
    size_t n = strlen(seen);

    snprintf(seen + n, sizeof(seen) - n, "<%.*s>", COR_STR_ARG(value));
    return cor_str_eqz(value, "\"stop\"") ? -COR_ECANCELED : 0;
}

static int note_member(void *arg, struct cor_str raw_key, struct cor_str value)
{
    size_t n = strlen(seen);

    snprintf(seen + n, sizeof(seen) - n, "%.*s=%.*s;", COR_STR_ARG(raw_key), COR_STR_ARG(value));
    return 0;
}

static const struct cor_json_splitter_cbs cbs = {note_value, note_member};

/* Feeds the text in pieces of `step` bytes, each from memory of its own. */
static int split(enum cor_json_split kind, const char *text, size_t step, size_t max)
{
    struct cor_json_splitter s;
    struct cor_str rest = cor_strz(text);
    int r = 0;

    seen[0] = '\0';
    cor_json_splitter_init(&s, kind, max, &cbs, NULL);
    while (r == 0 && rest.n > 0) {
        size_t n = rest.n < step ? rest.n : step;
        char *piece = malloc(n);

        memcpy(piece, rest.p, n);
        r = cor_json_splitter_feed(&s, cor_str(piece, n));
        free(piece);
        rest = cor_str_from(rest, n);
    }
    if (r == 0)
        r = cor_json_splitter_end(&s);
    cor_json_splitter_deinit(&s);
    return r;
}

TEST(splitter, documents_come_out_whole_however_they_came_in)
{
    const char *text = "{\"a\":\"}\\\"{\"}\n{\"b\":[1,{\"c\":[]}]}[]  \"x\\\\\" 12\ntrue";

    for (size_t step = 1; step < 60; step++) {
        assert_int_equal(split(COR_JSON_SPLIT_DOCUMENTS, text, step, 100), 0);
        assert_string_equal(
            seen, "<{\"a\":\"}\\\"{\"}><{\"b\":[1,{\"c\":[]}]}><[]><\"x\\\\\"><12><true>");
    }
}

TEST(splitter, a_list_is_cut_into_its_items)
{
    const char *text =
        "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\"}, \"items\" : [ "
        "{\"n\":\"a]\"} ,{\"n\":1}],\"remaining\":3}";

    for (size_t step = 1; step < 120; step++) {
        assert_int_equal(split(COR_JSON_SPLIT_ITEMS, text, step, 100), 0);
        assert_string_equal(seen, "kind=\"PodList\";metadata={\"resourceVersion\":\"7\"};"
                                  "<{\"n\":\"a]\"}><{\"n\":1}>remaining=3;");
    }
}

static int note_checked(void *arg, struct cor_str value)
{
    const struct cor_json_splitter *s = arg;
    size_t n = strlen(seen);

    snprintf(seen + n, sizeof(seen) - n, "<%.*s>%s", COR_STR_ARG(value),
             !s->is_checked    ? ""
             : s->is_canonical ? "canonical"
                               : "checked");
    return 0;
}

TEST(splitter, items_that_lie_in_one_piece_are_checked)
{
    static const struct cor_json_splitter_cbs checked_cbs = {note_checked, note_member};
    const char *text = "{\"items\":[{\"a\":1,\"b\":2},{\"b\":1,\"a\":2},7,{\"a\":+},{\"a\":3}]}";
    struct cor_json_splitter s;

    seen[0] = '\0';
    cor_json_splitter_init(&s, COR_JSON_SPLIT_ITEMS, 100, &checked_cbs, &s);
    s.checks = true;
    assert_int_equal(cor_json_splitter_feed(&s, cor_str(text, strlen(text) - 4)), 0);
    assert_int_equal(cor_json_splitter_feed(&s, cor_strz(text + strlen(text) - 4)), 0);
    assert_int_equal(cor_json_splitter_end(&s), 0);
    assert_string_equal(seen, "<{\"a\":1,\"b\":2}>canonical<{\"b\":1,\"a\":2}>checked<7><{\"a\":+}>"
                              "<{\"a\":3}>");
    cor_json_splitter_deinit(&s);
}

TEST(splitter, a_checked_item_has_the_same_maximum)
{
    const char *text = "{\"items\":[{\"a\":1234}]}";
    struct cor_json_splitter s;

    for (size_t max = 9; max <= 10; max++) {
        cor_json_splitter_init(&s, COR_JSON_SPLIT_ITEMS, max, &cbs, &s);
        s.checks = true;
        assert_int_equal(cor_json_splitter_feed(&s, cor_strz(text)), max == 10 ? 0 : -COR_ETOOBIG);
        cor_json_splitter_deinit(&s);
    }
}

TEST(splitter, lists_may_be_empty_and_items_null)
{
    assert_int_equal(split(COR_JSON_SPLIT_ITEMS, "{}", 9, 100), 0);
    assert_string_equal(seen, "");
    assert_int_equal(split(COR_JSON_SPLIT_ITEMS, "{\"items\":[]}", 3, 100), 0);
    assert_string_equal(seen, "");
    assert_int_equal(split(COR_JSON_SPLIT_ITEMS, "{\"items\":null}", 3, 100), 0);
    assert_string_equal(seen, "items=null;");
}

TEST(splitter, what_is_not_a_list_is_refused)
{
    static const char *const texts[] = {
        "[]",  "{\"a\" 1}",      "{\"items\":[1", "{\"a\":1",  "{\"a\":1}x",
        "{,}", "{\"items\":[1}", "{\"a\":}",      "{\"a\":,}", "{\"items\":[,1]}"};

    for (size_t i = 0; i < COR_ARRAY_LEN(texts); i++)
        assert_int_equal(split(COR_JSON_SPLIT_ITEMS, texts[i], 2, 100), -COR_EINVAL);
    assert_int_equal(split(COR_JSON_SPLIT_DOCUMENTS, "{\"a\":", 2, 100), -COR_EINVAL);
}

TEST(splitter, a_document_does_not_begin_with_an_end)
{
    static const char *const texts[] = {"}", "{}]", "1,2", "\"a\"}", " ,"};

    for (size_t i = 0; i < COR_ARRAY_LEN(texts); i++)
        for (size_t step = 1; step < 4; step++)
            assert_int_equal(split(COR_JSON_SPLIT_DOCUMENTS, texts[i], step, 100), -COR_EINVAL);
}

TEST(splitter, no_bytes_are_no_end)
{
    struct cor_json_splitter s;

    seen[0] = '\0';
    cor_json_splitter_init(&s, COR_JSON_SPLIT_DOCUMENTS, 100, &cbs, NULL);
    assert_int_equal(cor_json_splitter_feed(&s, (struct cor_str){0}), 0);
    assert_int_equal(cor_json_splitter_feed(&s, COR_STR("[1")), 0);
    assert_int_equal(cor_json_splitter_feed(&s, (struct cor_str){0}), 0);
    assert_int_equal(cor_json_splitter_feed(&s, COR_STR("]")), 0);
    assert_string_equal(seen, "<[1]>");
    assert_int_equal(cor_json_splitter_end(&s), 0);
    cor_json_splitter_deinit(&s);
}

TEST(splitter, a_value_has_a_maximum)
{
    for (size_t step = 1; step < 20; step++) {
        assert_int_equal(split(COR_JSON_SPLIT_DOCUMENTS, "{\"a\":1234}", step, 10), 0);
        assert_int_equal(split(COR_JSON_SPLIT_DOCUMENTS, "{\"a\":1234}", step, 9), -COR_ETOOBIG);
    }
}

TEST(splitter, a_callback_ends_it)
{
    assert_int_equal(split(COR_JSON_SPLIT_DOCUMENTS, "1 \"stop\" 2", 3, 100), -COR_ECANCELED);
    assert_string_equal(seen, "<1><\"stop\">");
}

TEST(splitter, says_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        int r =
            split(COR_JSON_SPLIT_ITEMS, "{\"metadata\":{\"a\":1},\"items\":[{\"b\":2}]}", 4, 100);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
    }
}
