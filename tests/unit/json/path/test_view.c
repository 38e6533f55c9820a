#include <locale.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "coracle/view.h"
#include "test.h"
#include "json/path/path.h"
#include "json/write/view_set.h"

/* In the order in which kube-apiserver writes it, not in the canonical one. */
static const struct cor_str pod = COR_STR(
    "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"web-0\",\"labels\":{\"app\":\"web\",\"a\\/b\":\"s\"},"
    "\"annotations\":{\"note\":\"a\\\"b\\u00e9\"}},"
    "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"a\",\"ports\":[1,2]},{\"name\":\"b\"}],"
    "\"priority\":-5,\"ratio\":1.5e1,\"hostNetwork\":true,\"none\":null,\"huge\":9223372036854775808},"
    "\"status\":{\"phase\":\"Running\",\"phase\":\"Failed\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");

static struct cor_view at(const char *text)
{
    COR_CLEANUP(cor_json_path_freep) struct cor_json_path *path = NULL;

    assert_int_equal(cor_json_path_new(cor_strz(text), &path, NULL), 0);
    return cor_view_at(cor_view(pod), path);
}

TEST(view, reads_typed_fields)
{
    struct cor_str text;
    int64_t i;
    double d;
    bool b;

    assert_int_equal(cor_view_raw(at("spec.nodeName"), &text), 0);
    assert_str(text, "n1");
    assert_int_equal(cor_view_int(at("spec.priority"), &i), 0);
    assert_int_equal(i, -5);
    assert_int_equal(cor_view_double(at("spec.ratio"), &d), 0);
    assert_true(d == 15.0);
    assert_int_equal(cor_view_double(at("spec.priority"), &d), 0);
    assert_true(d == -5.0);
    assert_int_equal(cor_view_bool(at("spec.hostNetwork"), &b), 0);
    assert_true(b);
    assert_str(at("spec.containers[0].ports").json, "[1,2]");
    assert_int_equal(cor_view_type(at("spec.none")), COR_JSON_NULL);
    assert_true(cor_view_exists(at("spec.none")));
}

TEST(view, unescapes_into_the_callers_buffer)
{
    struct cor_view note = at("metadata.annotations.note");
    char buf[16];
    struct cor_str text;

    assert_int_equal(cor_view_raw(note, &text), 0);
    assert_str(text, "a\\\"b\\u00e9");
    assert_int_equal(cor_view_text(note, buf, sizeof(buf), &text), 0);
    assert_str(text, "a\"b\xc3\xa9");
    assert_int_equal(cor_view_text(note, buf, 2, &text), -COR_ETOOBIG);
    assert_int_equal(cor_view_text(cor_view(COR_STR("\"\\n\"")), NULL, 0, &text), -COR_ETOOBIG);
    assert_int_equal(cor_view_text(at("metadata.name"), NULL, 0, &text), 0);
    assert_str(text, "web-0");
    assert_str(cor_view_text_or(at("metadata.labels['a/b']"), NULL, 0, ""), "s");
    assert_str(cor_view_text_or(note, buf, sizeof(buf), ""), "a\"b\xc3\xa9");
    assert_str(cor_view_text_or(note, NULL, 0, "none"), "none");
}

TEST(view, says_why_there_is_no_such_value)
{
    struct cor_str text;
    int64_t i;
    double d;
    bool b;

    assert_int_equal(cor_view_raw(at("spec.missing"), &text), -COR_ENOTFOUND);
    assert_int_equal(cor_view_raw(at("spec.priority"), &text), -COR_EINVAL);
    assert_int_equal(cor_view_int(at("spec.none"), &i), -COR_EINVAL);
    assert_int_equal(cor_view_int(at("spec.ratio"), &i), -COR_EINVAL);
    assert_int_equal(cor_view_int(at("spec.huge"), &i), -COR_ETOOBIG);
    assert_int_equal(cor_view_double(at("spec.nodeName"), &d), -COR_EINVAL);
    assert_int_equal(cor_view_double(cor_view(COR_STR("1e999")), &d), -COR_ETOOBIG);
    assert_int_equal(cor_view_bool(at("spec.missing"), &b), -COR_ENOTFOUND);
}

TEST(view, takes_a_default)
{
    assert_str(cor_view_text_or(at("spec.missing"), NULL, 0, "d"), "d");
    assert_int_equal(cor_view_int_or(at("spec.missing"), 7), 7);
    assert_int_equal(cor_view_int_or(at("spec.priority"), 7), -5);
    assert_true(cor_view_double_or(at("spec.none"), 0.5) == 0.5);
    assert_true(cor_view_bool_or(at("spec.none"), true));
}

TEST(view, nothing_holds_nothing)
{
    struct cor_view nothing = at("spec.missing");
    struct cor_view_iter it = cor_view_iter(nothing);

    assert_false(cor_view_exists(nothing));
    assert_int_equal(cor_view_type(nothing), COR_JSON_NONE);
    assert_false(cor_view_exists(cor_view_member(nothing, COR_STR("x"))));
    assert_false(cor_view_next(&it));
    assert_int_equal(cor_view_len(nothing), 0);
    assert_false(cor_view_exists(cor_view(COR_STR(""))));
    assert_false(cor_view_exists(cor_view(COR_STR("  "))));
    assert_false(cor_view_exists(cor_view((struct cor_str){NULL, 0})));
}

TEST(view, iterates_over_arrays_and_objects)
{
    struct cor_view_iter it = cor_view_iter(at("spec.containers"));

    assert_true(cor_view_next(&it));
    assert_str(cor_view_text_or(cor_view_member(it.value, COR_STR("name")), NULL, 0, ""), "a");
    assert_true(cor_view_next(&it));
    assert_str(it.value.json, "{\"name\":\"b\"}");
    assert_false(cor_view_next(&it));
    it = cor_view_iter(at("metadata.labels"));
    assert_true(cor_view_next(&it));
    assert_str(it.key, "app");
    assert_str(it.value.json, "\"web\"");
    assert_true(cor_view_next(&it));
    assert_str(it.key, "a\\/b");
    assert_false(cor_view_next(&it));
    assert_int_equal(cor_view_len(at("spec.containers")), 2);
    assert_int_equal(cor_view_len(at("spec")), 7);
    assert_int_equal(cor_view_len(at("kind")), 0);
}

static bool count_until_two(void *arg, struct cor_view match)
{
    assert_true(cor_view_exists(match));
    return ++*(int *)arg < 2;
}

TEST(view, visits_every_match_until_told_to_stop)
{
    COR_CLEANUP(cor_json_path_freep) struct cor_json_path *path = NULL;
    int n = 0;

    assert_int_equal(cor_json_path_new(COR_STR("spec.*"), &path, NULL), 0);
    cor_view_each(cor_view(pod), path, count_until_two, &n);
    assert_int_equal(n, 2);
}

TEST(view, the_first_of_equal_keys_counts)
{
    assert_str(cor_view_text_or(at("status.phase"), NULL, 0, ""), "Running");
}

TEST(view, numbers_are_read_alike_in_every_locale)
{
    /* A machine may lack it; then there is nothing to be misled by. */
    setlocale(LC_NUMERIC, "de_DE.UTF-8");
    assert_true(cor_view_double_or(cor_view(COR_STR("1.5")), 0) == 1.5);
    setlocale(LC_NUMERIC, "C");
}

static const char *const texts[] = {
    "metadata.name",
    "spec.nodeName",
    "status.conditions[?(@.type==\"Ready\")].status",
    "spec",
    "spec.containers[-1]",
    "missing.field",
    "metadata.name",
    "spec.none",
    "metadata.labels['a/b']",
    "metadata",
    "status.phase",
    "kind",
    "kind.not.there",
    "spec.containers[*].x",
    ".",
};

static struct cor_view_set *set_new(void)
{
    struct cor_str paths[COR_ARRAY_LEN(texts)];
    struct cor_view_set *set = NULL;

    for (size_t i = 0; i < COR_ARRAY_LEN(texts); i++)
        paths[i] = cor_strz(texts[i]);
    return cor_view_set_new(paths, COR_ARRAY_LEN(texts), &set, NULL, NULL) == 0 ? set : NULL;
}

TEST(view_set, reads_what_single_paths_read)
{
    COR_CLEANUP(cor_view_set_freep) struct cor_view_set *set = set_new();
    struct cor_view found[COR_ARRAY_LEN(texts)];

    assert_non_null(set);
    cor_view_set_read(set, cor_view(pod), found);
    for (size_t i = 0; i < COR_ARRAY_LEN(texts); i++) {
        struct cor_str want = at(texts[i]).json;

        if (found[i].json.p != want.p || found[i].json.n != want.n)
            fail_msg("%s: %.*s", texts[i], COR_STR_ARG(found[i].json));
    }
    cor_view_set_read(set, cor_view(COR_STR("[]")), found);
    assert_false(cor_view_exists(found[0]));
    assert_str(found[14].json, "[]");
    cor_view_set_read(set, cor_view(COR_STR("")), found);
    assert_false(cor_view_exists(found[14]));
}

TEST(view_set, names_the_path_that_is_wrong)
{
    struct cor_str paths[] = {COR_STR("kind"), COR_STR("a..b")};
    struct cor_str many[COR_VIEW_SET_MAX + 1];
    struct cor_json_error err;
    struct cor_view_set *set;
    size_t index;

    assert_int_equal(cor_view_set_new(paths, 2, &set, &index, &err), -COR_EINVAL);
    assert_int_equal(index, 1);
    assert_int_equal(err.offset, 2);
    for (size_t i = 0; i < COR_ARRAY_LEN(many); i++)
        many[i] = COR_STR("kind");
    assert_int_equal(cor_view_set_new(many, COR_ARRAY_LEN(many), &set, NULL, &err), -COR_ETOOBIG);
    assert_int_equal(cor_view_set_new(many, COR_VIEW_SET_MAX, &set, NULL, &err), 0);
    cor_view_set_free(set);
}

TEST(view_set, survives_failed_allocations)
{
    FOR_EACH_FAILED_ALLOC(n) {
        cor_view_set_free(set_new());
    }
}
