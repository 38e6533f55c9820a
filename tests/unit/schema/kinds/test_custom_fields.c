/* Selectable fields of custom resources. */
#include "schema/kinds/custom_fields.h"

#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "field_selectors.h"
#include "test.h"

static const struct cor_str list = COR_STR("[{\"jsonPath\":\".spec.colour\"},{\"jsonPath\":"
                                           "\".spec.deep.n\"},{\"jsonPath\":\".flag\"}]");

static struct cor_field_selector *parse(const char *text, bool is_namespaced, char *reterr,
                                        size_t max)
{
    struct cor_field_selector *selector = NULL;
    struct cor_field_labels *labels;
    struct cor_status status = {0};
    int r;

    assert_int_equal(cor_custom_fields_new(list, is_namespaced, &labels), 0);
    r = cor_field_selector_parse(cor_strz(text), labels, &selector, &status);
    if (r < 0) {
        assert_int_equal(r, -COR_EINVAL);
        snprintf(reterr, max, "%s", status.message);
    }
    cor_status_deinit(&status);
    cor_free(labels);
    return selector;
}

static bool matches(const char *text, const char *object)
{
    char why[200] = "";
    struct cor_field_selector *selector = parse(text, true, why, sizeof(why));
    bool is_match;

    assert_non_null(selector);
    is_match = field_selector_matches(selector, cor_strz(object));
    cor_field_selector_free(selector);
    return is_match;
}

/* Contract crd 4.13.1, 4.13.2, G5, G6. */
TEST(custom_fields, select_by_the_printed_value)
{
    static const char red[] = "{\"flag\":true,\"metadata\":{\"name\":\"k\",\"namespace\":\"n\"},"
                              "\"spec\":{\"colour\":\"red\",\"deep\":{\"n\":5}}}";
    static const char bare[] =
        "{\"metadata\":{\"name\":\"k\",\"namespace\":\"n\"},\"spec\":{\"colour\":null}}";
    char why[200];

    assert_true(matches("spec.colour=red", red));
    assert_false(matches("spec.colour=blue", red));
    assert_true(matches("spec.colour!=blue", red));
    assert_true(matches("spec.deep.n=5", red));
    assert_true(matches("flag=true,metadata.name=k", red));
    assert_false(matches("flag=true,metadata.name=j", red));
    assert_true(matches("spec.colour=,spec.deep.n=,flag=", bare));
    assert_false(matches("flag=false", bare));
    assert_null(parse("spec.size=5", true, why, sizeof(why)));
    assert_string_equal(why, "field label not supported: spec.size");
    assert_null(parse("metadata.namespace=n", false, why, sizeof(why)));
    assert_string_equal(why, "field label not supported: metadata.namespace");
}

TEST(custom_fields, index_watchers_by_each_of_them)
{
    const char *triggers[COR_CUSTOM_FIELDS_MAX + 1];
    struct cor_field_labels *labels;

    for (int is_namespaced = 0; is_namespaced < 2; is_namespaced++) {
        assert_int_equal(cor_custom_fields_new(list, is_namespaced, &labels), 0);
        cor_custom_fields_triggers(labels, is_namespaced, triggers);
        assert_string_equal(triggers[0], "spec.colour");
        assert_string_equal(triggers[1], "spec.deep.n");
        assert_string_equal(triggers[2], "flag");
        assert_null(triggers[3]);
        cor_free(labels);
        assert_int_equal(cor_custom_fields_new(cor_str(NULL, 0), is_namespaced, &labels), 0);
        cor_custom_fields_triggers(labels, is_namespaced, triggers);
        assert_null(triggers[0]);
        cor_free(labels);
    }
}

TEST(custom_fields, survive_every_failed_allocation)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_field_labels *labels = NULL;
        int r = cor_custom_fields_new(list, true, &labels);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r == 0)
            assert_int_equal(labels->n, 5);
        cor_free(labels);
    }
}
