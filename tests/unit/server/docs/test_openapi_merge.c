/* Merging OpenAPI documents of version 2, as upstream's aggregator does it: Contract
 * extension 4.5.5. The expected documents follow from
 * MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(). */
#include "server/docs/openapi_merge.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "test.h"

#define LOCAL(definitions)                                                                         \
    "{\"swagger\":\"2.0\",\"paths\":{\"/api/\":{}},\"definitions\":{" definitions                  \
    "},\"parameters\":{},\"security\":[]}"
#define OTHER(path, ref, definitions)                                                              \
    "{\"definitions\":{" definitions "},\"info\":{},\"parameters\":{},\"paths\":{\"" path          \
    "\":{\"get\":{\"schema\":{\"$ref\":\"#/definitions/" ref "\"}}}},\"swagger\":\"2.0\"}"
#define MERGED(definitions, paths)                                                                 \
    "{\"swagger\":\"2.0\",\"paths\":{\"/api/\":{}" paths "},\"definitions\":{" definitions         \
    "},\"parameters\":{},\"security\":[]}"
#define GET(path, ref) ",\"" path "\":{\"get\":{\"schema\":{\"$ref\":\"#/definitions/" ref "\"}}}"

static void check(const char *local, const char *first, const char *second, const char *expected)
{
    const struct cor_str others[] = {cor_strz(first), cor_strz(second ? second : "")};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1 << 20};

    assert_int_equal(cor_openapi_merge(cor_strz(local), others, second ? 2 : 1, &out), 0);
    assert_string_equal(cor_buf_z(&out), expected);
}

TEST(openapi_merge, adds_paths_and_definitions)
{
    check(LOCAL("\"A\":{}"), OTHER("/apis/g/v1/b", "B", "\"B\":{\"type\":\"object\"}"), NULL,
          MERGED("\"A\":{},\"B\":{\"type\":\"object\"}", GET("/apis/g/v1/b", "B")));
}

/* The words of our own definitions are ours. */
TEST(openapi_merge, shares_definitions_that_differ_in_words_from_ours)
{
    check(
        LOCAL("\"A\":{\"properties\":{\"description\":{\"type\":\"string\",\"description\":\"x\"}},"
              "\"description\":\"ours\",\"type\":\"object\"}"),
        OTHER(
            "/apis/g/v1/a", "A",
            "\"A\":{\"description\":\"theirs\",\"properties\":{\"description\":{\"description\":\"y\","
            "\"type\":\"string\"}},\"type\":\"object\"}"),
        NULL,
        MERGED(
            "\"A\":{\"properties\":{\"description\":{\"type\":\"string\",\"description\":\"x\"}},"
            "\"description\":\"ours\",\"type\":\"object\"}",
            GET("/apis/g/v1/a", "A")));
}

TEST(openapi_merge, renames_definitions_that_differ)
{
    static const char first[] =
        OTHER("/apis/g/v1/a", "A",
              "\"A\":{\"type\":\"string\"},\"C\":{\"items\":{\"$ref\":\"#/definitions/A\"}}");
    static const char second[] =
        OTHER("/apis/h/v1/a", "A", "\"A\":{\"description\":\"d\",\"type\":\"string\"}");

    check(
        LOCAL("\"A\":{\"type\":\"object\"}"), first, NULL,
        MERGED(
            "\"A\":{\"type\":\"object\"},\"A_v2\":{\"type\":\"string\"},\"C\":{\"items\":{\"$ref\":"
            "\"#/definitions/A_v2\"}}",
            GET("/apis/g/v1/a", "A_v2")));
    /* Between others words count, and the next number is taken. */
    check(
        LOCAL("\"A\":{\"type\":\"object\"}"), first, second,
        MERGED(
            "\"A\":{\"type\":\"object\"},\"A_v2\":{\"type\":\"string\"},\"C\":{\"items\":{\"$ref\":"
            "\"#/definitions/A_v2\"}},\"A_v3\":{\"description\":\"d\",\"type\":\"string\"}",
            GET("/apis/g/v1/a", "A_v2") GET("/apis/h/v1/a", "A_v3")));
    /* One that was renamed before is used again. */
    check(
        LOCAL("\"A\":{\"type\":\"object\"}"), first,
        OTHER("/apis/h/v1/a", "A", "\"A\":{\"type\":\"string\"}"),
        MERGED(
            "\"A\":{\"type\":\"object\"},\"A_v2\":{\"type\":\"string\"},\"C\":{\"items\":{\"$ref\":"
            "\"#/definitions/A_v2\"}}",
            GET("/apis/g/v1/a", "A_v2") GET("/apis/h/v1/a", "A_v2")));
    /* A name that the document has itself is not taken. */
    check(
        LOCAL("\"A\":{\"type\":\"object\"}"),
        OTHER("/apis/g/v1/a", "A", "\"A\":{\"type\":\"string\"},\"A_v2\":{\"type\":\"number\"}"),
        NULL,
        MERGED(
            "\"A\":{\"type\":\"object\"},\"A_v3\":{\"type\":\"string\"},\"A_v2\":{\"type\":\"number\"}",
            GET("/apis/g/v1/a", "A_v3")));
}

TEST(openapi_merge, keeps_the_first_of_equal_paths)
{
    static const char first[] = OTHER("/apis/g/v1/a", "A", "\"A\":{}");
    static const char second[] = OTHER("/apis/g/v1/a", "B", "\"B\":{}");

    check(LOCAL(""), first, second, MERGED("\"A\":{}", GET("/apis/g/v1/a", "A")));
}

TEST(openapi_merge, joins_the_kinds_of_equal_definitions)
{
    check(
        LOCAL(
            "\"A\":{\"type\":\"object\",\"x-kubernetes-group-version-kind\":[{\"group\":\"\",\"kind\":\"A\","
            "\"version\":\"v1\"},{\"group\":\"zz\",\"kind\":\"A\",\"version\":\"v1\"}]}"),
        OTHER(
            "/apis/g/v1/a", "A",
            "\"A\":{\"type\":\"object\",\"x-kubernetes-group-version-kind\":[{\"group\":\"g\",\"kind\":\"A\","
            "\"version\":\"v1\"},{\"group\":\"\",\"kind\":\"A\",\"version\":\"v1\"}]}"),
        NULL,
        MERGED(
            "\"A\":{\"type\":\"object\",\"x-kubernetes-group-version-kind\":[{\"group\":\"\",\"kind\":\"A\","
            "\"version\":\"v1\"},{\"group\":\"g\",\"kind\":\"A\",\"version\":\"v1\"},{\"group\":\"zz\","
            "\"kind\":\"A\",\"version\":\"v1\"}]}",
            GET("/apis/g/v1/a", "A")));
}

TEST(openapi_merge, renames_parameters_that_differ)
{
    const struct cor_str other = COR_STR(
        "{\"definitions\":{},\"parameters\":{\"p\":{\"name\":\"b\"},\"q\":{}},\"paths\":{\"/x\":{"
        "\"parameters\":[{\"$ref\":\"#/parameters/p\"},{\"$ref\":\"#/parameters/q\"}]}}}");
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1 << 20};

    assert_int_equal(
        cor_openapi_merge(COR_STR("{\"paths\":{},\"definitions\":{},\"parameters\":{\"p\":"
                                  "{\"name\":\"a\"}}}"),
                          &other, 1, &out),
        0);
    assert_string_equal(
        cor_buf_z(&out),
        "{\"paths\":{\"/x\":{\"parameters\":[{\"$ref\":\"#/parameters/p_v2\"},{\"$ref\":"
        "\"#/parameters/q\"}]}},\"definitions\":{},\"parameters\":{\"p\":{\"name\":\"a\"},"
        "\"p_v2\":{\"name\":\"b\"},\"q\":{}}}");
}

/* Nobody's document fails because another one is large. */
TEST(openapi_merge, leaves_out_what_has_no_room)
{
    static const char first[] = OTHER("/apis/g/v1/a", "A", "\"A\":{\"type\":\"string\"}");
    static const char second[] = OTHER("/apis/h/v1/b", "B", "\"B\":{}");
    const struct cor_str others[] = {COR_STR(first), COR_STR(second)};
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf out = {.max = sizeof(LOCAL("")) + 2 * sizeof(second)};

    assert_int_equal(cor_openapi_merge(COR_STR(LOCAL("")), others, 2, &out), 0);
    assert_string_equal(cor_buf_z(&out), MERGED("\"B\":{}", GET("/apis/h/v1/b", "B")));
}

TEST(openapi_merge, survives_every_failed_allocation)
{
    const struct cor_str others[] = {
        COR_STR(OTHER(
            "/apis/g/v1/a", "A",
            "\"A\":{\"type\":\"string\"},\"D\":{\"x-kubernetes-group-version-kind\":[{\"group\":\"g\","
            "\"kind\":\"D\",\"version\":\"v1\"}]}")),
        COR_STR(OTHER("/apis/h/v1/b", "A", "\"A\":{}")),
    };

    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1 << 20};
        int r = cor_openapi_merge(
            COR_STR(LOCAL(
                "\"A\":{\"type\":\"object\"},\"D\":{\"x-kubernetes-group-version-kind\":[]}")),
            others, 2, &out);

        assert_true(r == 0 || r == -COR_ENOMEM);
    }
}
