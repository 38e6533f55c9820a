#include "test.h"

#include "meta/select/predicate.h"

static const struct cor_field_label pod_rows[] = {
    {.label = "metadata.name"},
    {.label = "metadata.namespace"},
    {.label = "spec.nodeName"},
};
static const struct cor_field_labels pods = {pod_rows, COR_ARRAY_LEN(pod_rows), NULL};

static struct cor_predicate predicate(const char *labels, const char *fields)
{
    struct cor_predicate p = {0};
    struct cor_status status = {0};

    if (cor_predicate_parse(cor_strz(labels), cor_strz(fields), &pods, &p, &status) < 0)
        fail_msg("%s", cor_status_message(&status));
    return p;
}

static void assert_match(const char *labels, const char *fields, bool want)
{
    struct cor_predicate p = predicate(labels, fields);
    struct cor_object *object = NULL;

    assert_int_equal(
        cor_object_from_stored(
            COR_STR("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"labels\":{"
                    "\"app\":\"web\",\"tier\":\"front\"},\"name\":\"a\",\"namespace\":"
                    "\"ns\"},\"spec\":{\"nodeName\":\"n1\"}}"),
            9, &object, NULL, NULL),
        0);
    assert_int_equal(cor_predicate_matches(&p, object), want);
    cor_object_unref(object);
    cor_predicate_deinit(&p);
}

TEST(predicate, wants_both_labels_and_fields)
{
    assert_match("", "", true);
    assert_match("app=web", "", true);
    assert_match("", "metadata.name=a", true);
    assert_match("app=web,!x", "metadata.name=a,spec.nodeName=n1", true);
    assert_match("app=api", "metadata.name=a", false);
    assert_match("app=web", "metadata.name=b", false);
    assert_match("app!=web", "", false);
    assert_match("absent", "", false);
}

TEST(predicate, is_empty_when_it_selects_everything)
{
    static const struct {
        const char *labels, *fields;
        bool empty;
    } cases[] = {{"", "", true},
                 {"", ",", true},
                 {" ", "", true},
                 {"a", "", false},
                 {"", "metadata.name=a", false}};
    struct cor_predicate zeroed = {0};

    assert_true(cor_predicate_empty(&zeroed));
    assert_int_equal(cor_predicate_mask(&zeroed), 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_predicate p = predicate(cases[i].labels, cases[i].fields);

        assert_int_equal(cor_predicate_empty(&p), cases[i].empty);
        cor_predicate_deinit(&p);
        assert_true(cor_predicate_empty(&p));
    }
}

TEST(predicate, names_the_value_that_an_index_can_use)
{
    struct cor_predicate p = predicate("app=web", "spec.nodeName=n1,metadata.namespace!=x");
    struct cor_predicate none = {0};
    struct cor_str value;

    assert_true(cor_predicate_requires(&p, COR_STR("spec.nodeName"), &value));
    assert_str(value, "n1");
    assert_false(cor_predicate_requires(&p, COR_STR("metadata.name"), &value));
    assert_false(cor_predicate_requires(&p, COR_STR("metadata.namespace"), &value));
    assert_false(cor_predicate_requires(&none, COR_STR("metadata.name"), &value));
    assert_int_equal(cor_predicate_mask(&p), p.labels->mask);
    cor_predicate_deinit(&p);
}

static size_t cost_of(const char *labels, const char *fields, size_t label_bytes, size_t spec_bytes)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 1u << 20};
    struct cor_predicate p = predicate(labels, fields);
    struct cor_object *object = NULL;
    size_t cost;

    cor_buf_addz(&json,
                 "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"labels\":{\"app\":\"");
    for (size_t i = 0; i < label_bytes; i++)
        cor_buf_addc(&json, 'x');
    cor_buf_addz(&json, "\"},\"name\":\"a\"},\"spec\":{\"x\":\"");
    for (size_t i = 0; i < spec_bytes; i++)
        cor_buf_addc(&json, 'x');
    assert_int_equal(cor_buf_addz(&json, "\"}}"), 0);
    assert_int_equal(cor_object_from_stored(cor_buf_str(&json), 9, &object, NULL, NULL), 0);
    cost = cor_predicate_cost(&p, object);
    cor_object_unref(object);
    cor_predicate_deinit(&p);
    return cost;
}

/* A list looks at so many ordinary objects in one turn of its loop; what costs more counts more. */
TEST(predicate, costs_more_for_large_objects_and_selectors_of_many_terms)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf many = {.max = 1u << 20};

    for (int i = 0; i < 160; i++)
        cor_buf_addf(&many, "%sk%d=v", i ? "," : "", i);
    assert_int_equal(cost_of("", "", 10, 100000), 1);
    assert_int_equal(cost_of("app=web", "", 10, 10), 1);
    assert_int_equal(cost_of("", "spec.nodeName=n1", 10, 10), 1);
    /* Labels alone do not read the rest of the object. */
    assert_int_equal(cost_of("app=web", "", 10, 100000), 1);
    assert_uint_in_range(cost_of("app=web", "", 51200, 10), 100, 102);
    assert_int_equal(cost_of(cor_buf_z(&many), "", 10, 10), 11);
    assert_uint_in_range(cost_of("", "spec.nodeName=n1", 10, 51200), 101, 102);
    /* Each field reads the object again, however many terms are about it. */
    assert_uint_in_range(cost_of("", "spec.nodeName=n1,spec.nodeName!=n2", 10, 51200), 101, 102);
    assert_uint_in_range(cost_of("", "spec.nodeName=n1,metadata.name=a", 10, 51200), 201, 203);
}

TEST(predicate, tells_the_first_mistake)
{
    struct cor_predicate p = {0};
    struct cor_status status = {0};

    assert_int_equal(cor_predicate_parse(COR_STR("a in"), COR_STR("b"), NULL, &p, &status),
                     -COR_EINVAL);
    assert_string_equal(cor_status_message(&status),
                        "unable to parse requirement: found '' expected: '('");
    assert_int_equal(cor_predicate_parse(COR_STR("a"), COR_STR("b"), NULL, &p, &status),
                     -COR_EINVAL);
    assert_string_equal(cor_status_message(&status), "invalid selector: 'b'; can't understand 'b'");
    assert_true(cor_predicate_empty(&p));
    cor_status_deinit(&status);
}

TEST(predicate, survives_failed_allocations)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_predicate p = {0};
        int r = cor_predicate_parse(COR_STR("a=b"), COR_STR("metadata.name=x"), NULL, &p, NULL);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        assert_int_equal(r == 0, !cor_predicate_empty(&p));
        cor_predicate_deinit(&p);
    }
}
