#include "meta/names/field_error.h"
#include "test.h"

static const struct cor_field_path metadata = {.name = COR_STR("metadata")};

static void check_print(const struct cor_field_errors *errs, const char *want)
{
    struct cor_buf b;

    cor_buf_init(&b, 4096);
    assert_int_equal(cor_field_errors_print(errs, &b), 0);
    assert_string_equal(cor_buf_z(&b), want);
    cor_buf_deinit(&b);
}

TEST(field_error, paths_print_names_keys_and_indexes)
{
    struct cor_field_path labels = cor_field_child(&metadata, COR_STR("labels"));
    struct cor_field_path key = cor_field_key(&labels, COR_STR("a.io/b"));
    struct cor_field_path owners = cor_field_child(&metadata, COR_STR("ownerReferences"));
    struct cor_field_path second = cor_field_index(&owners, 1);
    struct cor_field_path name = cor_field_child(&second, COR_STR("name"));
    struct cor_buf b;

    cor_buf_init(&b, 1000);
    assert_int_equal(cor_field_path_print(&key, &b), 0);
    assert_int_equal(cor_buf_addc(&b, ' '), 0);
    assert_int_equal(cor_field_path_print(&name, &b), 0);
    assert_string_equal(cor_buf_z(&b), "metadata.labels[a.io/b] metadata.ownerReferences[1].name");
    cor_buf_deinit(&b);
}

TEST(field_error, each_type_prints_as_upstream_prints_it)
{
    static const struct {
        enum cor_field_error_type type;
        struct cor_field_value value;
        const char *detail, *want;
    } rows[] = {
        {COR_FIELD_NOT_FOUND,
         {COR_FIELD_VALUE_STRING, COR_STR("v")},
         NULL,
         "metadata: Not found: \"v\""},
        {COR_FIELD_REQUIRED,
         {COR_FIELD_VALUE_STRING, COR_STR("v")},
         NULL,
         "metadata: Required value"},
        {COR_FIELD_REQUIRED,
         {COR_FIELD_VALUE_NONE, COR_STR("")},
         "why",
         "metadata: Required value: why"},
        {COR_FIELD_DUPLICATE,
         {COR_FIELD_VALUE_STRING, COR_STR("v")},
         NULL,
         "metadata: Duplicate value: \"v\""},
        {COR_FIELD_INVALID,
         {COR_FIELD_VALUE_STRING, COR_STR("a\"b")},
         "why",
         "metadata: Invalid value: \"a\\\"b\": why"},
        {COR_FIELD_INVALID,
         {COR_FIELD_VALUE_JSON, COR_STR("-1")},
         "why",
         "metadata: Invalid value: -1: why"},
        {COR_FIELD_INVALID,
         {COR_FIELD_VALUE_JSON, COR_STR("[\"a\"]")},
         NULL,
         "metadata: Invalid value: [\"a\"]"},
        {COR_FIELD_FORBIDDEN,
         {COR_FIELD_VALUE_STRING, COR_STR("v")},
         "why",
         "metadata: Forbidden: why"},
        {COR_FIELD_INTERNAL,
         {COR_FIELD_VALUE_STRING, COR_STR("v")},
         "why",
         "metadata: Internal error: why"},
        {COR_FIELD_TYPE_INVALID,
         {COR_FIELD_VALUE_STRING, COR_STR("v")},
         "why",
         "metadata: Invalid value: \"v\": why"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_field_errors errs = {0};

        cor_field_errors_add(&errs, rows[i].type, &metadata, rows[i].value, rows[i].detail);
        check_print(&errs, rows[i].want);
        cor_field_errors_deinit(&errs);
    }
}

TEST(field_error, details_that_belong_to_a_type)
{
    static const char *const supported[] = {"Exact", "NotOlderThan", ""};
    struct cor_field_errors errs = {0};

    cor_field_errors_add_not_supported(&errs, &metadata, cor_field_string(COR_STR("x")), supported,
                                       3);
    check_print(&errs, "metadata: Unsupported value: \"x\": supported values: \"Exact\", "
                       "\"NotOlderThan\", \"\"");
    cor_field_errors_deinit(&errs);
    cor_field_errors_add_too_long(&errs, &metadata, 262144);
    cor_field_errors_add_too_long(&errs, &metadata, 1);
    cor_field_errors_add_too_many(&errs, &metadata, 7, 5);
    check_print(&errs, "[metadata: Too long: may not be more than 262144 bytes, metadata: Too "
                       "long: may not be more than 1 byte, metadata: Too many: 7: must have at "
                       "most 5 items]");
    cor_field_errors_deinit(&errs);
}

TEST(field_error, repeated_errors_are_printed_once)
{
    struct cor_field_errors errs = {0};
    struct cor_field_path name = cor_field_child(&metadata, COR_STR("name"));

    cor_field_errors_add(&errs, COR_FIELD_REQUIRED, &name, cor_field_none(), NULL);
    cor_field_errors_add(&errs, COR_FIELD_REQUIRED, &name, cor_field_none(), NULL);
    check_print(&errs, "metadata.name: Required value");
    cor_field_errors_add(&errs, COR_FIELD_FORBIDDEN, &name, cor_field_none(), "no");
    cor_field_errors_add(&errs, COR_FIELD_REQUIRED, &name, cor_field_none(), NULL);
    check_print(&errs, "[metadata.name: Required value, metadata.name: Forbidden: no]");
    cor_field_errors_deinit(&errs);
}

TEST(field_error, invalid_status_has_a_cause_per_error)
{
    struct cor_gk gk = {COR_STR("apps"), COR_STR("Deployment")};
    struct cor_field_errors errs = {0};
    struct cor_status st = {0};

    assert_int_equal(cor_status_invalid(&st, &gk, COR_STR("A"), &errs), -COR_EINVALID);
    assert_string_equal(cor_status_message(&st), "Deployment.apps \"A\" is invalid");
    cor_field_errors_add(&errs, COR_FIELD_INVALID, &metadata, cor_field_string(COR_STR("A")),
                         "rule");
    cor_field_errors_add(&errs, COR_FIELD_REQUIRED, &metadata, cor_field_none(), "now");
    assert_int_equal(cor_status_invalid(&st, &gk, COR_STR("A"), &errs), -COR_EINVALID);
    assert_int_equal(st.code, 422);
    assert_string_equal(st.reason, "Invalid");
    assert_string_equal(cor_status_message(&st),
                        "Deployment.apps \"A\" is invalid: [metadata: Invalid value: \"A\": rule, "
                        "metadata: Required value: now]");
    assert_string_equal(st.name, "A");
    assert_string_equal(st.group, "apps");
    assert_string_equal(st.kind, "Deployment");
    assert_int_equal(st.ncauses, 2);
    assert_string_equal(st.causes[0].type, "FieldValueInvalid");
    assert_string_equal(st.causes[0].message, "Invalid value: \"A\": rule");
    assert_string_equal(st.causes[0].field, "metadata");
    assert_string_equal(st.causes[1].type, "FieldValueRequired");
    cor_field_errors_deinit(&errs);
    cor_status_deinit(&st);
}

/* A detail that does not fit ends between two characters, where the room ends. */
TEST(field_error, a_long_detail_is_cut_between_characters)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    struct cor_field_path path = cor_field_root(COR_STR("f"));
    static char detail[100001];
    size_t n;

    for (size_t i = 0; i + 1 < sizeof(detail); i += 2)
        memcpy(detail + i, "\xc3\xa9", 2);
    cor_field_errors_add(&errs, COR_FIELD_FORBIDDEN, &path, cor_field_none(), detail);
    cor_field_errors_add(&errs, COR_FIELD_INVALID, &path, cor_field_none(), detail);
    assert_int_equal(errs.error, 0);
    assert_int_equal(errs.n, 2);
    for (size_t i = 0; i < errs.n; i++) {
        n = strlen(errs.v[i].body);
        assert_true(n > 32 * 1024 - 2 && n <= 32 * 1024);
        assert_memory_equal(errs.v[i].body + n - 2, "\xc3\xa9", 2);
    }
}

TEST(field_error, the_list_stops_at_its_maximum)
{
    struct cor_field_errors errs = {0};

    for (size_t i = 0; i < COR_STATUS_CAUSES_MAX + 3; i++)
        cor_field_errors_add(&errs, COR_FIELD_REQUIRED, &metadata, cor_field_none(), NULL);
    assert_int_equal(errs.n, COR_STATUS_CAUSES_MAX);
    assert_int_equal(errs.error, 0);
    cor_field_errors_deinit(&errs);
}

TEST(field_error, a_lost_error_is_never_taken_for_a_valid_object)
{
    static const char *const supported[] = {"a"};
    struct cor_gk gk = {COR_STR(""), COR_STR("Pod")};

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_field_errors errs = {0};
        struct cor_status st = {0};
        int r;

        cor_field_errors_add(&errs, COR_FIELD_INVALID, &metadata, cor_field_string(COR_STR("v")),
                             "why");
        cor_field_errors_add_not_supported(&errs, &metadata, cor_field_string(COR_STR("x")),
                                           supported, 1);
        cor_field_errors_add_too_many(&errs, &metadata, 2, 1);
        r = cor_status_invalid(&st, &gk, COR_STR("p"), &errs);
        assert_true(errs.error == 0 ? r == -COR_EINVALID && errs.n == 3 : r == -COR_ENOMEM);
        assert_int_equal(st.err, r);
        cor_field_errors_deinit(&errs);
        cor_status_deinit(&st);
    }
}
