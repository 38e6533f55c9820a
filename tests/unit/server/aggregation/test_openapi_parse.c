/* OpenAPI documents of other servers: what is taken of them, and their conversion to version 3.
 * Expected values are those of upstream's FilterSpecByPaths() and ConvertV2ToV3(), where no comment
 * says otherwise. */
#include "base/limits.h"
#include "server/aggregation/openapi_parse.h"

#include "server/aggregation/openapi_convert.h"
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "test.h"

#define OP(ref)                                                                                    \
    "{\"get\":{\"responses\":{\"200\":{\"schema\":{\"$ref\":\"#/definitions/" ref "\"}}}}}"

static int take(const char *json, struct cor_buf *out)
{
    struct cor_openapi_remote remote;
    int r = cor_openapi_remote_init(&remote, cor_strz(json));

    cor_buf_init(out, 1 << 20);
    if (r == 0)
        r = cor_openapi_remote_write(&remote, COR_STR("g.example.com"), COR_STR("v1"), out);
    cor_openapi_remote_deinit(&remote);
    return r;
}

/* Contract extension 4.5.5. A definition that no path has ever needed stays. */
TEST(openapi_parse, keeps_the_paths_of_a_version_and_what_they_need)
{
    static const char json[] =
        "{\"swagger\":\"2.0\",\"info\":{\"title\":\"t\",\"version\":\"1\"},\"host\":\"h\",\"paths\":{"
        "\"/apis/g.example.com/\":" OP("Group") ",\"/apis/g.example.com/v1/as\":" OP(
            "A") ","
                 "\"/apis/g.example.com/v1beta1/as\":" OP("Beta") ",\"/api/v1/pods\":" OP(
                     "Pod") "},"
                            "\"parameters\":{\"p\":{\"name\":\"p\",\"in\":\"query\",\"type\":\"string\"}},"
                            "\"definitions\":{\"A\":{\"properties\":{\"b\":{\"$ref\":\"#/definitions/B\"},"
                            "\"$ref\":{\"type\":\"string\"},\"default\":{\"$ref\":\"#/definitions/C\"}}},"
                            "\"B\":{\"items\":{\"$ref\":\"#/definitions/A\"},\"default\":{\"$ref\":\"#/definitions/No\"}},"
                            "\"C\":{},\"Beta\":{},\"Pod\":{},\"Group\":{},\"Never\":{}}}";
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {0};

    assert_int_equal(take(json, &out), 0);
    assert_string_equal(
        cor_buf_z(&out),
        "{\"definitions\":{\"A\":{\"properties\":{\"$ref\":{\"type\":\"string\"},\"b\":{\"$ref\":"
        "\"#/definitions/B\"},\"default\":{\"$ref\":\"#/definitions/C\"}}},\"B\":{\"default\":{\"$ref\":"
        "\"#/definitions/No\"},\"items\":{\"$ref\":\"#/definitions/A\"}},\"C\":{},\"Never\":{}},"
        "\"info\":{\"title\":\"t\",\"version\":\"1\"},\"parameters\":{\"p\":{\"in\":\"query\",\"name\":"
        "\"p\",\"type\":\"string\"}},\"paths\":{\"/apis/g.example.com/v1/as\":" OP(
            "A") "},"
                 "\"swagger\":\"2.0\"}");
}

TEST(openapi_parse, refuses_documents_that_clients_could_not_read)
{
    static const char *const wrong[] = {
        "",
        "[]",
        "7",
        "{\"paths\":[]}",
        "{\"paths\":{\"/a\":7}}",
        "{\"paths\":{\"/a\":{\"get\":[]}}}",
        "{\"paths\":{\"/a\":{\"get\":{\"tags\":\"x\"}}}}",
        "{\"paths\":{\"/a\":{\"get\":{\"tags\":[7]}}}}",
        "{\"paths\":{\"/a\":{\"get\":{\"responses\":{\"200\":7}}}}}",
        "{\"paths\":{\"/a\":{\"parameters\":{}}}}",
        "{\"definitions\":{\"A\":\"x\"}}",
        "{\"definitions\":{\"A\":{\"properties\":[]}}}",
        "{\"definitions\":{\"A\":{\"properties\":{\"p\":7}}}}",
        "{\"definitions\":{\"A\":{\"type\":7}}}",
        "{\"definitions\":{\"A\":{\"type\":[7]}}}",
        "{\"definitions\":{\"A\":{\"items\":7}}}",
        "{\"definitions\":{\"A\":{\"required\":{}}}}",
        "{\"definitions\":{\"A\":{\"minimum\":\"x\"}}}",
        "{\"definitions\":{\"A\":{\"maxLength\":1.5}}}",
        "{\"definitions\":{\"A\":{\"additionalProperties\":7}}}",
        "{\"definitions\":{\"A\":{\"$ref\":\"#/definitions/No\"}}}",
        "{\"paths\":{\"/a\":" OP("No") "}}",
        "{\"paths\":{\"/a\":{\"parameters\":[{\"$ref\":\"#/parameters/no\"}]}}}",
        "{\"info\":{\"title\":{}}}",
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(wrong); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {0};

        assert_int_equal(take(wrong[i], &out), -COR_EINVAL);
    }
}

/* Members that OpenAPI does not have, and those that are null, disturb nobody. */
TEST(openapi_parse, takes_members_that_it_does_not_know)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {0};

    assert_int_equal(
        take("{\"odd\":[],\"paths\":{\"x-a\":7,\"/a\":{\"odd\":7,\"get\":null}},"
             "\"definitions\":{\"A\":{\"odd\":7,\"type\":[\"string\",\"null\"],\"items\":[{},{}],"
             "\"x-kubernetes-odd\":[{}],\"additionalProperties\":false}}}",
             &out),
        0);
}

TEST(openapi_parse, follows_long_chains_and_circles)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 4u << 20}, out = {0};
    const size_t n = 20000;

    assert_int_equal(cor_buf_addz(&json, "{\"paths\":{\"/apis/g.example.com/v1/a\":" OP(
                                             "d0") "},"
                                                   "\"definitions\":{"),
                     0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(cor_buf_addf(&json,
                                      "%s\"d%zu\":{\"items\":{\"$ref\":\"#/definitions/d%zu\"}}",
                                      i > 0 ? "," : "", i, (i + 1) % n),
                         0);
    assert_int_equal(cor_buf_addz(&json, "}}"), 0);
    assert_int_equal(take(cor_buf_z(&json), &out), 0);
    assert_non_null(strstr(cor_buf_z(&out), "\"d19999\":"));
}

static void check_convert(const char *json, const char *expected)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf v2 = {0}, v3 = {.max = 1 << 20};

    assert_int_equal(take(json, &v2), 0);
    assert_int_equal(cor_openapi_convert(cor_buf_str(&v2), &v3), 0);
    assert_string_equal(cor_buf_z(&v3), expected);
}

/* Contract extension 4.5.6. */
TEST(openapi_convert, makes_a_document_of_version_3)
{
    check_convert(
        "{\"swagger\":\"2.0\",\"info\":{\"title\":\"t\"},\"securityDefinitions\":{\"BearerToken\":"
        "{\"type\":\"apiKey\"}},\"paths\":{\"/apis/g.example.com/v1/as\":{\"post\":{"
        "\"consumes\":[\"application/json\",\"application/yaml\"],\"produces\":[\"application/json\"],"
        "\"operationId\":\"createA\",\"tags\":[\"g\"],\"x-kubernetes-action\":\"post\",\"schemes\":"
        "[\"https\"],\"parameters\":[{\"in\":\"body\",\"name\":\"body\",\"required\":true,\"schema\":"
        "{\"$ref\":\"#/definitions/A\"}},{\"in\":\"query\",\"name\":\"dryRun\",\"type\":\"string\","
        "\"uniqueItems\":true}],\"responses\":{\"200\":{\"description\":\"OK\",\"schema\":{\"$ref\":"
        "\"#/definitions/A\"}},\"401\":{\"description\":\"no\"}}}}},\"definitions\":{\"A\":{"
        "\"properties\":{\"b\":{\"$ref\":\"#/definitions/B\",\"description\":\"d\"},\"c\":{\"type\":"
        "\"array\",\"items\":{\"$ref\":\"#/definitions/B\"}}}},\"B\":{\"additionalProperties\":true}}}",
        "{\"openapi\":\"3.0.0\",\"info\":{\"title\":\"t\"},\"paths\":{\"/apis/g.example.com/v1/as\":"
        "{\"post\":{\"tags\":[\"g\"],\"operationId\":\"createA\",\"parameters\":[{\"name\":\"dryRun\","
        "\"in\":\"query\",\"schema\":{\"type\":\"string\",\"uniqueItems\":true}}],\"requestBody\":"
        "{\"content\":{\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/A\"}},"
        "\"application/yaml\":{\"schema\":{\"$ref\":\"#/components/schemas/A\"}}}},\"responses\":"
        "{\"200\":{\"description\":\"OK\",\"content\":{\"application/json\":{\"schema\":{\"$ref\":"
        "\"#/components/schemas/A\"}}}},\"401\":{\"description\":\"no\"}},\"x-kubernetes-action\":"
        "\"post\"}}},\"components\":{\"schemas\":{\"A\":{\"properties\":{\"b\":{\"allOf\":[{\"$ref\":"
        "\"#/components/schemas/B\"}],\"description\":\"d\"},\"c\":{\"items\":{\"$ref\":"
        "\"#/components/schemas/B\"},\"type\":\"array\"}}},\"B\":{\"additionalProperties\":true}},"
        "\"securitySchemes\":{\"BearerToken\":{\"type\":\"apiKey\"}}}}");
}

/* Upstream leaves references to parameters behind that its result does not have. */
TEST(openapi_convert, writes_parameters_where_they_are_referred_to)
{
    check_convert(
        "{\"paths\":{\"/apis/g.example.com/v1/as\":{\"parameters\":[{\"$ref\":\"#/parameters/n\"},"
        "{\"$ref\":\"#/parameters/b\"}],\"put\":{\"consumes\":[\"*/*\"],\"responses\":{}}}},"
        "\"parameters\":{\"n\":{\"name\":\"name\",\"in\":\"path\",\"required\":true,\"type\":\"string\"},"
        "\"b\":{\"name\":\"body\",\"in\":\"body\",\"schema\":{\"type\":\"object\"}}}}",
        "{\"openapi\":\"3.0.0\",\"paths\":{\"/apis/g.example.com/v1/as\":{\"parameters\":[{\"name\":"
        "\"name\",\"in\":\"path\",\"required\":true,\"schema\":{\"type\":\"string\"}}],\"put\":"
        "{\"requestBody\":{\"content\":{\"*/*\":{\"schema\":{\"type\":\"object\"}}}},\"responses\":{}}}},"
        "\"components\":{\"schemas\":{}}}");
    /* Nothing is made of a reference to something else. */
    check_convert(
        "{\"paths\":{\"/apis/g.example.com/v1/as\":{\"parameters\":[{\"$ref\":"
        "\"#/definitions/A\"}]}},\"definitions\":{\"A\":{}}}",
        "{\"openapi\":\"3.0.0\",\"paths\":{\"/apis/g.example.com/v1/as\":{\"parameters\":["
        "{\"schema\":{}}]}},\"components\":{\"schemas\":{\"A\":{}}}}");
}

/* The work follows the size of the document: a long parameter that many paths refer to is read
 * once. Read for each reference, this document would take minutes. */
TEST(openapi_convert, reads_a_parameter_once_however_often_it_is_referred_to)
{
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf v2 = {.max = COR_REMOTE_OPENAPI_BYTES}, v3 = {.max = COR_REMOTE_OPENAPI_BYTES};
    int r = cor_buf_addz(&v2, "{\"definitions\":{},\"parameters\":{\"p\":{");

    for (unsigned i = 0; i < 100000; i++)
        r |= cor_buf_addf(&v2, "\"a%06u\":0,", i);
    r |= cor_buf_addz(&v2, "\"in\":\"query\",\"name\":\"n\"}},\"paths\":{\"/p\":{\"parameters\":[");
    for (unsigned i = 0; i < 100000; i++)
        r |= cor_buf_addz(&v2,
                          i ? ",{\"$ref\":\"#/parameters/p\"}" : "{\"$ref\":\"#/parameters/p\"}");
    r |= cor_buf_addz(&v2, "]}}}");
    assert_int_equal(r, 0);
    assert_int_equal(cor_openapi_convert(cor_buf_str(&v2), &v3), 0);
    assert_true(v3.n > 100000 * 38);
}

TEST(openapi_parse, finds_documents_in_an_index)
{
    static const char index[] =
        "{\"paths\":{\"apis/g/v1\":{\"serverRelativeURL\":\"/openapi/v3/apis/g/v1?hash=12AB\"},"
        "\"apis/g/v2\":{\"serverRelativeURL\":7},\"apis/g/v3\":{}}}";
    char hash[COR_REMOTE_INDEX_HASH_MAX];

    assert_int_equal(cor_openapi_index_find(cor_strz(index), COR_STR("apis/g/v1"), hash), 0);
    assert_string_equal(hash, "openapi/v3/apis/g/v1?hash=12AB");
    assert_int_equal(cor_openapi_index_find(cor_strz(index), COR_STR("apis/g/v2"), hash),
                     -COR_EINVAL);
    assert_int_equal(cor_openapi_index_find(cor_strz(index), COR_STR("apis/g/v3"), hash),
                     -COR_EINVAL);
    assert_int_equal(cor_openapi_index_find(cor_strz(index), COR_STR("apis/g/v4"), hash),
                     -COR_ENOTFOUND);
    assert_int_equal(cor_openapi_index_find(COR_STR("{}"), COR_STR("apis/g/v1"), hash),
                     -COR_EINVAL);
    assert_int_equal(cor_openapi_index_find(COR_STR("x"), COR_STR("apis/g/v1"), hash), -COR_EINVAL);
}

TEST(openapi_parse, checks_documents_of_version_3)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = COR_REMOTE_OPENAPI_BYTES};

    assert_int_equal(
        cor_openapi_take_3(COR_STR("{ \"openapi\":\"3.0.0\", \"info\":{}, \"odd\": 1 }"), &out), 0);
    assert_string_equal(cor_buf_z(&out), "{\"info\":{},\"odd\":1,\"openapi\":\"3.0.0\"}");
    cor_buf_reset(&out);
    assert_int_equal(cor_openapi_take_3(COR_STR("{\"components\":{\"schemas\":[]}}"), &out),
                     -COR_EINVAL);
    assert_int_equal(
        cor_openapi_take_3(COR_STR("{\"components\":{\"schemas\":{\"A\":{\"allOf\":{}}}}}"), &out),
        -COR_EINVAL);
    assert_int_equal(cor_openapi_take_3(COR_STR("[]"), &out), -COR_EINVAL);
    assert_int_equal(out.n, 0);
}

TEST(openapi_parse, survives_every_failed_allocation)
{
    static const char json[] =
        "{\"info\":{\"title\":\"t\"},\"paths\":{\"/apis/g.example.com/v1/as\":" OP(
            "A") "},\"definitions\":{\"A\":{\"items\":{\"$ref\":\"#/definitions/B\"}},\"B\":{}}}";

    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf v2 = {0}, v3 = {.max = 1 << 20};
        int r = take(json, &v2);

        if (r == 0)
            r = cor_openapi_convert(cor_buf_str(&v2), &v3);
        if (r == 0)
            r = cor_openapi_take_3(cor_buf_str(&v3), &v2);
        assert_true(r == 0 || r == -COR_ENOMEM);
    }
}
