#include "test.h"

#include "meta/names/field_error.h"
#include "meta/select/label_selector.h"

static const char both[] =
    "{\"matchExpressions\":[{\"key\":\"b\",\"operator\":\"In\",\"values\":[\"2\","
    "\"1\",\"2\"]},{\"key\":\"a\",\"operator\":\"NotIn\",\"values\":[\"x\"]},"
    "{\"key\":\"c\",\"operator\":\"Exists\"},{\"key\":\"d\",\"operator\":"
    "\"DoesNotExist\",\"values\":[]}],\"matchLabels\":{\"app\":\"web\"}}";

static struct cor_label_selector *read_selector(const char *json)
{
    struct cor_field_path path = cor_field_root(COR_STR("spec"));
    struct cor_label_selector *selector = NULL;
    struct cor_field_errors errs;

    cor_field_errors_init(&errs);
    assert_int_equal(cor_label_selector_read(cor_strz(json), &path, &errs, &selector), 0);
    assert_int_equal(errs.n, 0);
    cor_field_errors_deinit(&errs);
    return selector;
}

static void assert_refused(const char *json, const char *want)
{
    struct cor_field_path root = cor_field_root(COR_STR("spec"));
    struct cor_field_path path = cor_field_child(&root, COR_STR("selector"));
    struct cor_label_selector *selector = NULL;
    struct cor_field_errors errs;
    struct cor_buf out;

    cor_field_errors_init(&errs);
    cor_buf_init(&out, 64 * 1024);
    assert_int_equal(cor_label_selector_read(cor_strz(json), &path, &errs, &selector),
                     -COR_EINVALID);
    assert_null(selector);
    assert_int_equal(cor_field_errors_print(&errs, &out), 0);
    assert_string_equal(cor_buf_z(&out), want);
    cor_buf_deinit(&out);
    cor_field_errors_deinit(&errs);
}

static void assert_prints(const struct cor_label_selector *selector, const char *want)
{
    struct cor_buf out;

    cor_buf_init(&out, 1024);
    assert_int_equal(cor_label_selector_print(selector, &out), 0);
    assert_string_equal(cor_buf_z(&out), want);
    cor_buf_deinit(&out);
}

TEST(label_reader, labels_and_expressions_are_one_conjunction)
{
    struct cor_label_selector *selector = read_selector(both);

    assert_prints(selector, "a notin (x),app=web,b in (1,2),c,!d");
    assert_true(
        cor_label_selector_matches(selector, COR_STR("{\"app\":\"web\",\"b\":\"1\",\"c\":\"\"}")));
    assert_false(cor_label_selector_matches(
        selector, COR_STR("{\"a\":\"x\",\"app\":\"web\",\"b\":\"1\",\"c\":\"\"}")));
    cor_label_selector_free(selector);
}

TEST(label_reader, an_empty_selector_selects_everything_and_an_absent_one_nothing)
{
    static const struct {
        const char *json;
        bool everything;
    } cases[] = {
        {"{}", true},
        {"{\"matchExpressions\":[],\"matchLabels\":{}}", true},
        {"{\"matchExpressions\":null,\"matchLabels\":null}", true},
        {"null", false},
        {"", false},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_label_selector *selector = read_selector(cases[i].json);

        assert_int_equal(cor_label_selector_matches(selector, COR_STR("{\"a\":\"b\"}")),
                         cases[i].everything);
        assert_int_equal(selector->mask, 0);
        cor_label_selector_free(selector);
    }
}

TEST(label_reader, operators_say_whether_they_want_values)
{
    assert_refused(
        "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\"}]}",
        "spec.selector.matchExpressions[0].values: Required value: must be specified when "
        "`operator` is 'In' or 'NotIn'");
    assert_refused("{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\"},{\"key\":\"a\","
                   "\"operator\":\"DoesNotExist\",\"values\":[\"x\"]}]}",
                   "spec.selector.matchExpressions[1].values: Forbidden: may not be specified when "
                   "`operator` is 'Exists' or 'DoesNotExist'");
    assert_refused(
        "{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Gt\",\"values\":[\"1\"]}]}",
        "spec.selector.matchExpressions[0].operator: Invalid value: \"Gt\": not a valid "
        "selector operator");
}

TEST(label_reader, all_mistakes_are_told)
{
    assert_refused(
        "{\"matchExpressions\":[{\"key\":\"/x\",\"operator\":\"in\"}],\"matchLabels\":{\"/y\":"
        "\"\"}}",
        "[spec.selector.matchLabels: Invalid value: \"/y\": prefix part must be non-empty, "
        "spec.selector.matchExpressions[0].operator: Invalid value: \"in\": not a valid "
        "selector operator, spec.selector.matchExpressions[0].key: Invalid value: \"/x\": "
        "prefix part must be non-empty]");
    assert_refused(
        "{\"matchExpressions\":[{\"key\":\"x\",\"operator\":\"In\",\"values\":[\"ok\",\"a\\\"b\"]}]}",
        "spec.selector.matchExpressions[0].values[1]: Invalid value: \"a\\\"b\": a valid label must be an "
        "empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end "
        "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
        "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
}

TEST(label_reader, other_types_are_refused)
{
    assert_refused("5", "spec.selector: Invalid value: 5: must be an object");
    assert_refused("{\"matchLabels\":{\"a\":5}}",
                   "spec.selector.matchLabels[a]: Invalid value: 5: must be a string");
    assert_refused("{\"matchLabels\":[]}",
                   "spec.selector.matchLabels: Invalid value: []: must be an object");
    assert_refused("{\"matchExpressions\":{}}",
                   "spec.selector.matchExpressions: Invalid value: {}: must be a list");
}

TEST(label_reader, has_the_maxima_of_a_selector)
{
    struct cor_buf json;

    cor_buf_init(&json, 1 << 20);
    assert_int_equal(cor_buf_addz(&json, "{\"matchExpressions\":["), 0);
    for (int i = 0; i <= COR_LABEL_SELECTOR_REQUIREMENTS_MAX; i++)
        assert_int_equal(
            cor_buf_addf(&json, "%s{\"key\":\"a\",\"operator\":\"Exists\"}", i > 0 ? "," : ""), 0);
    assert_int_equal(cor_buf_addz(&json, "]}"), 0);
    assert_refused(cor_buf_z(&json), "spec.selector: Too many: 1025: must have at most 1024 items");
    cor_buf_deinit(&json);
}

TEST(label_reader, survives_failed_allocations)
{
    static const char *const texts[] = {both, "{\"matchLabels\":{\"-\":\"-\"}}"};

    for (size_t i = 0; i < COR_ARRAY_LEN(texts); i++) {
        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_field_path path = cor_field_root(COR_STR("spec"));
            struct cor_label_selector *selector = NULL;
            struct cor_field_errors errs;
            int r;

            cor_field_errors_init(&errs);
            r = cor_label_selector_read(cor_strz(texts[i]), &path, &errs, &selector);
            assert_true(r == (i == 0 ? 0 : -COR_EINVALID) ||
                        (r == -COR_ENOMEM && test_alloc_failed()));
            assert_int_equal(r == 0, selector != NULL);
            if (selector) {
                test_fail_alloc(0, false);
                assert_prints(selector, "a notin (x),app=web,b in (1,2),c,!d");
            }
            cor_label_selector_free(selector);
            cor_field_errors_deinit(&errs);
        }
    }
}
