/* Checks of definitions and their objects without a server, with every allocation failing once.
 * What the program prints is in tests/cli/test_usage.py. */
#include "schema/custom/custom_check.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "test.h"

#define OUT_MAX (1u << 20)

static const char definition[] =
    "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":"
    "{\"name\":\"kettles.shop.example.org\"},\"spec\":{\"group\":\"shop.example.org\",\"scope\":"
    "\"Cluster\",\"names\":{\"plural\":\"kettles\",\"kind\":\"Kettle\"},\"versions\":[{\"name\":\"v1\","
    "\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
    "\"properties\":{\"n\":{\"type\":\"integer\",\"default\":1}}}}},{\"name\":\"v2\",\"served\":false,"
    "\"storage\":false,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}";
static const char kettle[] = "{\"apiVersion\":\"shop.example.org/v1\",\"kind\":\"Kettle\","
                             "\"metadata\":{\"name\":\"k\"},\"n\":1,\"n\":\"x\",\"z\":1}";

static void on_finding(void *arg, bool is_warning, struct cor_str path, struct cor_str words)
{
    char *all = arg;
    size_t n = strlen(all);

    snprintf(all + n, 1000 - n, "%s %.*s: %.*s\n", is_warning ? "warning" : "error",
             COR_STR_ARG(path), COR_STR_ARG(words));
}

TEST(custom_check, finds_the_definition_of_an_object)
{
    static const struct {
        const char *object;
        bool is_defined;
    } rows[] = {
        {"{\"apiVersion\":\"shop.example.org/v1\",\"kind\":\"Kettle\"}", true},
        {"{\"apiVersion\":\"shop.example.org/v2\",\"kind\":\"Kettle\"}", false},
        {"{\"apiVersion\":\"shop.example.org/v1\",\"kind\":\"Pot\"}", false},
        {"{\"apiVersion\":\"example.org/v1\",\"kind\":\"Kettle\"}", false},
        {"{\"kind\":\"Kettle\"}", false},
        {"{\"apiVersion\":1,\"kind\":[]}", false},
        {"[]", false},
    };

    COR_CLEANUP(cor_buf_deinit) struct cor_buf whole = {.max = OUT_MAX};
    char all[1000] = "";
    struct cor_custom_report report = {.on_finding = on_finding, .arg = all};

    assert_int_equal(cor_custom_check_definition(cor_strz(definition), &report, &whole), 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        assert_int_equal(cor_custom_defines(cor_buf_str(&whole), cor_strz(rows[i].object)),
                         rows[i].is_defined);
    assert_true(cor_custom_is_definition(cor_strz(definition)));
    assert_false(cor_custom_is_definition(cor_strz(kettle)));
    assert_false(cor_custom_is_definition(COR_STR("null")));
}

TEST(custom_check, looks_into_embedded_resources)
{
    static const char embedding[] =
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":"
        "{\"name\":\"pots.example.org\"},\"spec\":{\"group\":\"example.org\",\"scope\":\"Cluster\",\"names\":"
        "{\"plural\":\"pots\",\"kind\":\"Pot\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
        "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"t\":{\"type\":\"object\","
        "\"x-kubernetes-embedded-resource\":true,\"x-kubernetes-preserve-unknown-fields\":true}}}}}]}}";
    static const struct {
        const char *t, *findings;
    } rows[] = {
        {"{\"apiVersion\":\"v1\",\"kind\":\"X\",\"metadata\":{\"colour\":\"red\"}}",
         "warning t.metadata.colour: unknown field\n"},
        {"{\"kind\":\"X\"}", "error t.apiVersion: Required value\n"},
        {"{\"apiVersion\":\"v1\",\"kind\":\"X\",\"kind\":\"Y\"}",
         "warning t.kind: duplicate field\n"},
        {"{\"apiVersion\":5,\"kind\":\"X\"}",
         "error : t.apiVersion: Invalid value: 5: must be a string\n"},
    };
    COR_CLEANUP(cor_buf_deinit) struct cor_buf whole = {.max = OUT_MAX};
    char all[1000] = "";
    struct cor_custom_report report = {.on_finding = on_finding, .arg = all};

    assert_int_equal(cor_custom_check_definition(cor_strz(embedding), &report, &whole), 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf pot = {.max = OUT_MAX};

        all[0] = '\0';
        assert_int_equal(cor_buf_addf(&pot,
                                      "{\"apiVersion\":\"example.org/v1\",\"kind\":\"Pot\","
                                      "\"metadata\":{\"name\":\"p\"},\"t\":%s}",
                                      rows[i].t),
                         0);
        assert_int_equal(cor_custom_check_object(cor_buf_str(&whole), cor_buf_str(&pot), &report),
                         0);
        assert_string_equal(all, rows[i].findings);
    }
}

TEST(custom_check, looks_at_no_status_that_is_a_subresource)
{
    static const char with_status[] =
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":"
        "{\"name\":\"pots.example.org\"},\"spec\":{\"group\":\"example.org\",\"scope\":\"Cluster\",\"names\":"
        "{\"plural\":\"pots\",\"kind\":\"Pot\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
        "\"subresources\":{\"status\":{}},\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":"
        "{\"status\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}}}}}]}}";
    COR_CLEANUP(cor_buf_deinit) struct cor_buf whole = {.max = OUT_MAX};
    char all[1000] = "";
    struct cor_custom_report report = {.on_finding = on_finding, .arg = all};

    assert_int_equal(cor_custom_check_definition(cor_strz(with_status), &report, &whole), 0);
    assert_int_equal(
        cor_custom_check_object(cor_buf_str(&whole),
                                COR_STR("{\"apiVersion\":\"example.org/v1\",\"kind\":\"Pot\","
                                        "\"metadata\":{\"name\":\"p\"},\"status\":{\"n\":\"x\"}}"),
                                &report),
        0);
    assert_string_equal(all, "");
}

TEST(custom_check, survives_every_failed_allocation)
{
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf whole = {.max = OUT_MAX};
        char all[1000] = "";
        struct cor_custom_report report = {.on_finding = on_finding, .arg = all};
        int r = cor_custom_check_definition(cor_strz(definition), &report, &whole);

        if (r == 0) {
            assert_string_equal(all, "");
            assert_non_null(strstr(cor_buf_z(&whole), "\"listKind\":\"KettleList\""));
            r = cor_custom_check_object(cor_buf_str(&whole), cor_strz(kettle), &report);
        }
        assert_true(r == 0 || r == -COR_ENOMEM);
        assert_int_equal(r == -COR_ENOMEM, test_alloc_failed());
        if (r == 0)
            assert_string_equal(all, "warning n: duplicate field\nwarning z: unknown field\n"
                                     "error n: Invalid value: \"string\": n in body must be of "
                                     "type integer: \"string\"\n");
    }
}
