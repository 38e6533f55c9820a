#include "coracle/managed_fields.h"

#include <stdio.h>

#include "base/err.h"
#include "coracle/status_is.h"
#include "meta/object/object.h"
#include "meta/status/status.h"
#include "test.h"

static struct cor_object *object_of(const char *json)
{
    struct cor_object *object = NULL;

    assert_int_equal(cor_object_from_json(cor_strz(json), &object, NULL), 0);
    return object;
}

/* What manager "m" has applied through `subresource` of an object with these entries and fields. */
static void expect_extract(const char *entries, const char *subresource, const char *fields,
                           const char *expected)
{
    struct cor_object *object, *mine = NULL;
    char json[8192], wanted[4096];

    snprintf(
        json, sizeof(json),
        "{\"apiVersion\":\"v1\",\"kind\":\"K\",\"metadata\":{\"name\":\"o\",\"namespace\":\"n\","
        "\"uid\":\"u\",\"resourceVersion\":\"5\",\"labels\":{\"a\":\"1\",\"b.c/d\":\"2\"},"
        "\"finalizers\":[\"f/1\",\"f/2\"],\"managedFields\":[%s]},%s}",
        entries, fields);
    snprintf(wanted, sizeof(wanted), "{\"kind\":\"K\",\"apiVersion\":\"v1\",%s}", expected);
    object = object_of(json);
    assert_int_equal(cor_object_extract(object, "m", subresource, &mine, NULL), 0);
    assert_string_equal(cor_object_json(mine).p, wanted);
    cor_object_unref(mine);
    cor_object_unref(object);
}

#define ENTRY(manager, operation, more, fields)                                                    \
    "{\"manager\":\"" manager "\",\"operation\":\"" operation "\",\"apiVersion\":\"v1\"," more     \
    "\"time\":\"2026-01-01T00:00:00Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":" fields "}"
#define APPLIED(fields) ENTRY("m", "Apply", "", fields)
#define NAMES           "\"metadata\":{\"name\":\"o\",\"namespace\":\"n\"}"

/* Contract controllers 5.9.3 */
TEST(managed_fields, extract_takes_the_fields_that_the_manager_applied)
{
    expect_extract(APPLIED("{\"f:data\":{\".\":{},\"f:x.y\":{},\"f:gone\":{}}}"), NULL,
                   "\"data\":{\"other\":\"0\",\"x.y\":\"1\"}", "\"data\":{\"x.y\":\"1\"}," NAMES);
    expect_extract(APPLIED("{\"f:metadata\":{\"f:labels\":{\"f:b.c/d\":{}},"
                           "\"f:finalizers\":{\"v:\\\"f/2\\\"\":{}}},\"f:spec\":{\"f:n\":{}}}"),
                   NULL, "\"spec\":{\"n\":3,\"k\":1}",
                   "\"metadata\":{\"finalizers\":[\"f/2\"],\"labels\":{\"b.c/d\":\"2\"},\"name\":"
                   "\"o\",\"namespace\":\"n\"},\"spec\":{\"n\":3}");
    /* Names with escapes, written in two ways. */
    expect_extract(APPLIED("{\"f:data\":{\"f:\\u003ca\\\"\":{}}}"), NULL,
                   "\"data\":{\"<a\\u0022\":\"1\",\"b\":\"2\"}",
                   "\"data\":{\"<a\\\"\":\"1\"}," NAMES);
}

TEST(managed_fields, extract_finds_items_by_keys_values_and_indexes)
{
    expect_extract(
        APPLIED("{\"f:spec\":{\"f:ports\":{"
                "\"k:{\\\"port\\\":80,\\\"protocol\\\":\\\"TCP\\\"}\":{\".\":{},\"f:port\":{}},"
                "\"k:{\\\"port\\\":53}\":{\".\":{},\"f:port\":{},\"f:protocol\":{}}}}}"),
        NULL,
        "\"spec\":{\"ports\":[{\"port\":80,\"protocol\":\"UDP\"},{\"protocol\":\"TCP\",\"port\":80},"
        "{\"port\":53,\"name\":\"dns\"},{\"port\":53,\"protocol\":\"TCP\"},{\"port\":443}]}",
        NAMES ",\"spec\":{\"ports\":[{\"port\":80},{\"port\":53}]}");
    expect_extract(
        APPLIED("{\"f:spec\":{\"f:l\":{\"v:1\":{},\"v:\\\"\\\\u003ca\\\"\":{},\"v:true\":"
                "{},\"i:4\":{}}}}"),
        NULL, "\"spec\":{\"l\":[2,1,\"<a\",true,[7],[8]]}",
        NAMES ",\"spec\":{\"l\":[1,\"<a\",true,[7]]}");
}

TEST(managed_fields, extract_leaves_out_what_is_not_there_any_more)
{
    expect_extract(APPLIED("{\"f:spec\":{\"f:a\":{\"f:b\":{}},\"f:c\":{\".\":{},\"f:d\":{}},"
                           "\"f:l\":{\"k:{\\\"name\\\":\\\"x\\\"}\":{\"f:v\":{}}},\"f:z\":{}}}"),
                   NULL,
                   "\"spec\":{\"a\":{\"x\":1},\"c\":{\"x\":1},\"l\":[{\"name\":\"x\",\"w\":1}],"
                   "\"z\":true}",
                   NAMES ",\"spec\":{\"c\":{},\"z\":true}");
    expect_extract(APPLIED("{\"f:spec\":{\"f:a\":{}}}"), NULL, "\"x\":1", NAMES);
    expect_extract(APPLIED("{}"), NULL, "\"x\":1", NAMES);
    /* Elements of unknown kinds and malformed ones are ignored. */
    expect_extract(
        APPLIED("{\"f:l\":{\"x:1\":{},\"k:{\":{},\"v:\":{},\"f\":{},\"\":{},\"v:2\":{}}}"), NULL,
        "\"l\":[1,2]", "\"l\":[2]," NAMES);
}

TEST(managed_fields, extract_takes_an_owned_container_with_what_belongs_to_no_other)
{
    const char *fields = "\"spec\":{\"e\":{},\"n\":{\"a\":1},\"l\":[1,2],\"s\":null}";

    expect_extract(APPLIED("{\"f:spec\":{\"f:e\":{},\"f:n\":{},\"f:l\":{},\"f:s\":{}}}"), NULL,
                   fields, NAMES ",\"spec\":{\"e\":{},\"l\":[1,2],\"n\":{\"a\":1},\"s\":null}");
    expect_extract(APPLIED("{\"f:spec\":{\"f:e\":{},\"f:n\":{},\"f:l\":{}}}") "," ENTRY(
                       "other", "Update", "",
                       "{\"f:spec\":{\"f:n\":{\"f:a\":{}},\"f:l\":{\"v:1\":{},\"v:2\":{}}}}"),
                   NULL, fields, NAMES ",\"spec\":{\"e\":{},\"l\":[],\"n\":{}}");
    /* Another owner of the same container as a whole changes nothing. */
    expect_extract(APPLIED("{\"f:spec\":{\"f:n\":{}}}") "," ENTRY("other", "Apply", "",
                                                                  "{\"f:spec\":{\"f:n\":{}}}"),
                   NULL, fields, NAMES ",\"spec\":{\"n\":{\"a\":1}}");
}

TEST(managed_fields, extract_knows_an_entry_by_manager_operation_and_subresource)
{
    const char *entries = ENTRY("m", "Update", "", "{\"f:a\":{}}") "," ENTRY(
        "other", "Apply", "", "{\"f:b\":{}}") "," ENTRY("m", "Apply", "\"subresource\":\"status\",",
                                                        "{\"f:status\":{\"f:c\":{}}}");

    expect_extract(entries, "status", "\"a\":1,\"b\":2,\"status\":{\"c\":3,\"d\":4}",
                   NAMES ",\"status\":{\"c\":3}");
    expect_extract(entries, NULL, "\"a\":1,\"b\":2", NAMES);
    expect_extract(entries, "", "\"a\":1,\"b\":2", NAMES);
    expect_extract(entries, "scale", "\"a\":1,\"b\":2", NAMES);
    expect_extract("", NULL, "\"a\":1", NAMES);
}

TEST(managed_fields, entries_are_read_one_after_the_other)
{
    struct cor_object *object = object_of("{\"metadata\":{\"managedFields\":[" APPLIED(
        "{\"f:a\":{}}") ",{\"subresource\":\"status\"}]}}");
    struct cor_object *bare = object_of("{\"metadata\":{\"name\":\"o\"}}");
    struct cor_managed_fields entry;

    assert_true(cor_object_managed_fields(object, 0, &entry));
    assert_str(entry.manager, "m");
    assert_str(entry.operation, "Apply");
    assert_str(entry.api_version, "v1");
    assert_str(entry.subresource, "");
    assert_str(entry.time, "2026-01-01T00:00:00Z");
    assert_true(cor_view_exists(cor_view_member(entry.fields, COR_STR("f:a"))));
    assert_true(cor_object_managed_fields(object, 1, &entry));
    assert_str(entry.manager, "");
    assert_str(entry.subresource, "status");
    assert_false(cor_view_exists(entry.fields));
    assert_false(cor_object_managed_fields(object, 2, &entry));
    assert_false(cor_object_managed_fields(bare, 0, &entry));
    cor_object_unref(object);
    cor_object_unref(bare);
}

#define MANY 2000

/* A walk that compares every item with every element would take minutes here. */
TEST(managed_fields, extract_takes_many_fields_and_items)
{
    struct cor_object *object, *mine = NULL;
    struct cor_buf json;
    struct cor_view view;

    cor_buf_init(&json, 8u << 20);
    cor_buf_addz(&json, "{\"metadata\":{\"name\":\"o\",\"managedFields\":[{\"manager\":\"m\","
                        "\"operation\":\"Apply\",\"fieldsV1\":{\"f:data\":{");
    for (int i = 0; i < MANY; i++)
        cor_buf_addf(&json, "%s\"f:k%d\":{}", i ? "," : "", i);
    cor_buf_addz(&json, "},\"f:list\":{");
    for (int i = 0; i < MANY; i++)
        cor_buf_addf(&json, "%s\"k:{\\\"name\\\":\\\"i%d\\\"}\":{\"f:name\":{}}", i ? "," : "", i);
    cor_buf_addz(&json, "}}}]},\"data\":{");
    for (int i = 0; i < 2 * MANY; i++)
        cor_buf_addf(&json, "%s\"k%d\":\"v\"", i ? "," : "", i);
    cor_buf_addz(&json, "},\"list\":[");
    for (int i = 2 * MANY; i-- > 0;)
        cor_buf_addf(&json, "{\"name\":\"i%d\"}%s", i, i ? "," : "");
    assert_int_equal(cor_buf_addz(&json, "]}"), 0);
    object = object_of(cor_buf_z(&json));
    assert_int_equal(cor_object_extract(object, "m", NULL, &mine, NULL), 0);
    view = cor_object_view(mine);
    assert_int_equal(cor_view_len(cor_view_member(view, COR_STR("data"))), MANY);
    assert_int_equal(cor_view_len(cor_view_member(view, COR_STR("list"))), MANY);
    cor_object_unref(mine);
    cor_object_unref(object);
    cor_buf_deinit(&json);
}

TEST(managed_fields, extract_survives_failed_allocations)
{
    struct cor_object *object = object_of(
        "{\"apiVersion\":\"v1\",\"kind\":\"K\",\"metadata\":{\"name\":\"o\",\"managedFields\":[" APPLIED(
            "{\"f:l\":{\"k:{\\\"n\\\":1}\":{\"f:n\":{}},\"v:\\\"x\\\"\":{}},\"f:d\":{\"f:e\":{}}}") "]},\"l\":[{\"n\":1,\"o\":2},\"x\"],\"d\":{\"e\":1}}");

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_status why = {0};
        struct cor_object *mine = NULL;
        int r;

        test_fail_alloc(n, false);
        r = cor_object_extract(object, "m", NULL, &mine, &why);
        if (r == 0)
            assert_string_equal(cor_object_json(mine).p,
                                "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"d\":{\"e\":1},\"l\":"
                                "[{\"n\":1},\"x\"],\"metadata\":{\"name\":\"o\"}}");
        else
            assert_int_equal(r, -COR_ENOMEM);
        cor_object_unref(mine);
        cor_status_deinit(&why);
    }
    test_fail_alloc(0, false);
    cor_object_unref(object);
}

#define CAUSE(message, field)                                                                      \
    "{\"reason\":\"FieldManagerConflict\",\"message\":\"" message "\",\"field\":\"" field "\"}"

/* Contract apply 9.2, 9.3, 9.8 */
TEST(managed_fields, a_conflict_names_manager_subresource_version_and_field)
{
    static const char body[] =
        "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Conflict\",\"code\":409,"
        "\"message\":\"m\",\"details\":{\"causes\":[" CAUSE("conflict with \\\"kubectl\\\"", ".data.k") "," CAUSE(
            "conflict with \\\"a \\\\\\\"b\\\\\\\\c\\\" using apps/v1",
            ".spec.replicas") "," CAUSE("conflict with \\\"kcm\\\" with subresource \\\"status\\\" using v1",
                                        ".status.a") ","
                                                     "{\"reason\":\"Other\",\"message\":\"x\",\"field\":\"y\"}," CAUSE(
                                                         "something else", "") "]}}";
    static const struct {
        const char *manager, *subresource, *version, *field;
    } rows[] = {{"kubectl", "", "", ".data.k"},
                {"a \"b\\c", "", "apps/v1", ".spec.replicas"},
                {"kcm", "status", "v1", ".status.a"},
                {"", "", "", ""}};
    struct cor_field_conflict conflict;
    struct cor_status st = {0};

    assert_false(cor_status_is_field_conflict(&st));
    assert_false(cor_status_field_conflict(&st, 0, &conflict));
    cor_status_read(&st, 409, cor_strz(body));
    assert_true(cor_status_is_conflict(&st));
    assert_true(cor_status_is_field_conflict(&st));
    for (size_t i = 0; i < 4; i++) {
        assert_true(cor_status_field_conflict(&st, i, &conflict));
        assert_string_equal(conflict.manager, rows[i].manager);
        assert_string_equal(conflict.subresource, rows[i].subresource);
        assert_string_equal(conflict.api_version, rows[i].version);
        assert_string_equal(conflict.field, rows[i].field);
    }
    assert_false(cor_status_field_conflict(&st, 4, &conflict));
    cor_status_deinit(&st);
}

TEST(managed_fields, the_texts_of_a_conflict_are_truncated_and_broken_ones_are_ignored)
{
    static const char *const broken[] = {"conflict with \"a", "conflict with a\"", "conflict with",
                                         "", "conflict with \"a\\"};
    struct cor_field_conflict conflict;
    struct cor_status st = {0};
    char message[1200];

    snprintf(message, sizeof(message),
             "conflict with \"%0500d\" with subresource \"%0400d\" using "
             "%0200d",
             0, 0, 0);
    assert_int_equal(cor_status_set(&st, -COR_ECONFLICT, "m"), -COR_ECONFLICT);
    assert_int_equal(cor_status_add_cause(&st, "FieldManagerConflict", message, ".a"), 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(broken); i++)
        assert_int_equal(cor_status_add_cause(&st, "FieldManagerConflict", broken[i], ".a"), 0);
    assert_true(cor_status_field_conflict(&st, 0, &conflict));
    assert_int_equal(strlen(conflict.manager), COR_CONFLICT_MANAGER_MAX - 1);
    assert_int_equal(strlen(conflict.subresource), COR_CONFLICT_TEXT_MAX - 1);
    assert_int_equal(strlen(conflict.api_version), 200);
    for (size_t i = 0; i < COR_ARRAY_LEN(broken); i++) {
        assert_true(cor_status_field_conflict(&st, i + 1, &conflict));
        assert_string_equal(conflict.manager, "");
    }
    cor_status_deinit(&st);
}
