#include "base/err.h"
#include "base/limits.h"
#include "meta/metadata/object_meta.h"
#include "test.h"

static const struct cor_object_meta_rules pod_rules = {COR_NAME_DNS1123_SUBDOMAIN, true};
static const struct cor_object_meta_rules node_rules = {COR_NAME_DNS1123_SUBDOMAIN, false};

static void check(const struct cor_object_meta_rules *rules, struct cor_str metadata,
                  const char *want)
{
    struct cor_field_errors errs = {0};
    struct cor_buf b;

    cor_buf_init(&b, 1u << 20);
    cor_object_meta_check(metadata, rules, &errs);
    assert_int_equal(errs.error, 0);
    assert_int_equal(cor_field_errors_print(&errs, &b), 0);
    assert_string_equal(cor_buf_z(&b), want);
    cor_field_errors_deinit(&errs);
    cor_buf_deinit(&b);
}

/* `more` is put among the members of a valid object's metadata, before its name. */
static void check_with(const char *more, const char *want)
{
    struct cor_buf b;

    cor_buf_init(&b, 1u << 20);
    assert_int_equal(cor_buf_addf(&b, "{%s,\"name\":\"web\",\"namespace\":\"default\"}", more), 0);
    check(&pod_rules, cor_buf_str(&b), want);
    cor_buf_deinit(&b);
}

#define LABEL_RULE                                                                                 \
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "    \
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "         \
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define VALUE_RULE                                                                                 \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "    \
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value', " \
    " or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
#define SUBDOMAIN_RULE                                                                             \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "   \
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "  \
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

TEST(object_meta, a_complete_object_is_fine)
{
    check_with("\"annotations\":{\"A.io/x\":\"any\\ntext\"},\"finalizers\":[\"a.io/b\"],"
               "\"generateName\":\"web-\",\"generation\":1,\"labels\":{\"app\":\"web\","
               "\"empty\":\"\",\"null\":null}",
               "");
    check_with("\"annotations\":null,\"finalizers\":null,\"labels\":null", "");
}

TEST(object_meta, names_and_namespaces)
{
    check(&pod_rules, COR_STR("{\"namespace\":\"default\"}"),
          "metadata.name: Required value: name or generateName is required");
    check(&pod_rules, COR_STR("{\"name\":\"web\"}"), "metadata.namespace: Required value");
    check(&node_rules, COR_STR("{\"name\":\"n\",\"namespace\":\"default\"}"),
          "metadata.namespace: Forbidden: not allowed on this type");
    check(&node_rules, COR_STR("{\"name\":\"n\",\"namespace\":\"\"}"), "");
    check(&node_rules, COR_STR("{\"name\":\"a\\\"B\"}"),
          "metadata.name: Invalid value: \"a\\\"B\": " SUBDOMAIN_RULE);
    check(&node_rules, COR_STR("{\"generateName\":\"A-\",\"name\":\"a\"}"), "");
    check(&node_rules, COR_STR("{\"generateName\":\"AB-\",\"name\":\"a\"}"),
          "metadata.generateName: Invalid value: \"AB-\": " SUBDOMAIN_RULE);
    check(&pod_rules, COR_STR("{\"name\":\"a\",\"namespace\":\"a.b\"}"),
          "metadata.namespace: Invalid value: \"a.b\": must not contain dots");
}

TEST(object_meta, labels)
{
    check_with("\"labels\":{\"b!\":\"x\"}",
               "metadata.labels: Invalid value: \"b!\": name part " LABEL_RULE);
    check_with("\"labels\":{\"a\":\"-x\"}", "metadata.labels: Invalid value: \"-x\": " VALUE_RULE);
    check_with("\"labels\":{\"a\":\"\\n\"}",
               "metadata.labels: Invalid value: \"\\n\": " VALUE_RULE);
    check_with("\"labels\":{\"a\":5}", "metadata.labels[a]: Invalid value: 5: must be a string");
    check_with("\"labels\":[]", "metadata.labels: Invalid value: []: must be a map of strings");
}

TEST(object_meta, annotations_have_a_total_size)
{
    struct cor_buf b;

    cor_buf_init(&b, 1u << 20);
    for (size_t over = 0; over < 2; over++) {
        /* The key counts one byte, an escaped quote two on the wire and one here. */
        cor_buf_reset(&b);
        assert_int_equal(cor_buf_addz(&b, "\"annotations\":{\"k\":\"\\\"\\\""), 0);
        for (size_t i = 0; i < COR_ANNOTATIONS_BYTES_MAX - 3 + over; i++)
            assert_int_equal(cor_buf_addc(&b, 'v'), 0);
        assert_int_equal(cor_buf_addz(&b, "\"}"), 0);
        check_with(cor_buf_z(&b),
                   over ? "metadata.annotations: Too long: may not be more than 262144 bytes" : "");
    }
    cor_buf_deinit(&b);
    check_with("\"annotations\":{\"b!\":\"x\"}",
               "metadata.annotations: Invalid value: \"b!\": name part " LABEL_RULE);
}

TEST(object_meta, generation_is_not_negative)
{
    check_with("\"generation\":-1",
               "metadata.generation: Invalid value: -1: must be greater than or equal to 0");
    check_with("\"generation\":\"1\"",
               "metadata.generation: Invalid value: \"1\": must be an integer");
}

TEST(object_meta, finalizers)
{
    check_with("\"finalizers\":[\"orphan\"]", "");
    check_with(
        "\"finalizers\":[\"\"]",
        "[metadata.finalizers: Invalid value: \"\": name part must be non-empty, "
        "metadata.finalizers: Invalid value: \"\": name part " LABEL_RULE
        ", metadata.finalizers[0]: Invalid value: \"\": name is neither a standard finalizer "
        "name nor is it fully qualified]");
    check_with(
        "\"finalizers\":[\"a.io/b\",\"mine\"]",
        "metadata.finalizers[1]: Invalid value: \"mine\": name is neither a standard finalizer "
        "name nor is it fully qualified");
    check_with("\"finalizers\":[\"orphan\",\"foregroundDeletion\"]",
               "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer "
               "orphan and foregroundDeletion cannot be both set");
    check_with("\"finalizers\":{}",
               "metadata.finalizers: Invalid value: {}: must be a list of strings");
    check_with("\"finalizers\":[1]", "metadata.finalizers: Invalid value: 1: must be a string");
}

static void check_owners(const char *refs, const char *want)
{
    struct cor_buf b;

    cor_buf_init(&b, 1u << 16);
    assert_int_equal(cor_buf_addf(&b,
                                  "{\"name\":\"web\",\"namespace\":\"default\","
                                  "\"ownerReferences\":%s}",
                                  refs),
                     0);
    check(&pod_rules, cor_buf_str(&b), want);
    cor_buf_deinit(&b);
}

TEST(object_meta, owner_references)
{
    check_owners("[{\"apiVersion\":\"apps/v1\",\"controller\":true,\"kind\":\"ReplicaSet\","
                 "\"name\":\"r\",\"uid\":\"1\"},{\"apiVersion\":\"v1\",\"controller\":false,"
                 "\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"2\"}]",
                 "");
    check_owners("[{}]",
                 "[metadata.ownerReferences.apiVersion: Invalid value: \"\": version must not be "
                 "empty, metadata.ownerReferences.kind: Invalid value: \"\": must not be empty, "
                 "metadata.ownerReferences.name: Invalid value: \"\": must not be empty, "
                 "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty]");
    check_owners("[{\"apiVersion\":\"a/b/c\",\"kind\":\"K\",\"name\":\"n\",\"uid\":\"1\"}]",
                 "metadata.ownerReferences.apiVersion: Invalid value: \"a/b/c\": version must not "
                 "be empty");
    check_owners("[{\"apiVersion\":\"v1\",\"blockOwnerDeletion\":true,\"kind\":\"Event\","
                 "\"name\":\"n\",\"uid\":\"1\"}]",
                 "metadata.ownerReferences: Invalid value: "
                 "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"name\":\"n\",\"uid\":\"1\","
                 "\"blockOwnerDeletion\":true}: /v1, Kind=Event is disallowed from being an owner");
    check_owners("[{\"apiVersion\":\"v1\",\"controller\":true,\"kind\":\"A\",\"name\":\"a\","
                 "\"uid\":\"1\"},{\"apiVersion\":\"v1\",\"controller\":true,\"kind\":\"B\","
                 "\"name\":\"b\",\"uid\":\"2\"}]",
                 "metadata.ownerReferences: Invalid value: [{\"apiVersion\":\"v1\",\"kind\":\"A\","
                 "\"name\":\"a\",\"uid\":\"1\",\"controller\":true},{\"apiVersion\":\"v1\","
                 "\"kind\":\"B\",\"name\":\"b\",\"uid\":\"2\",\"controller\":true}]: Only one "
                 "reference can have Controller set to true. Found \"true\" in references for A/a "
                 "and B/b");
    check_owners("7", "metadata.ownerReferences: Invalid value: 7: must be a list");
}

TEST(object_meta, a_lost_check_is_never_taken_for_a_valid_object)
{
    static const char bad[] =
        "{\"annotations\":{\"a\\n\":\"\\n\"},\"finalizers\":[\"orphan\",\"foregroundDeletion\"],"
        "\"labels\":{\"a\":\"\\n\"},\"name\":\"A\\n\",\"ownerReferences\":[{\"apiVersion\":\"v1\","
        "\"controller\":true,\"kind\":\"Event\",\"name\":\"a\",\"uid\":\"1\"},{\"apiVersion\":"
        "\"v1\",\"controller\":true,\"kind\":\"B\",\"name\":\"b\",\"uid\":\"2\"}]}";

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_field_errors errs = {0};

        cor_object_meta_check(cor_strz(bad), &node_rules, &errs);
        assert_true(errs.error == -COR_ENOMEM || errs.n == 6);
        cor_field_errors_deinit(&errs);
    }
}

static void check_update(const struct cor_object_meta_rules *rules, const char *want)
{
    static const char old[] = "{\"deletionTimestamp\":\"t\",\"finalizers\":[\"a.example/b\"],"
                              "\"name\":\"web\",\"uid\":\"1\"}";
    static const char metadata[] = "{\"deletionGracePeriodSeconds\":3,\"finalizers\":[\"short\"],"
                                   "\"labels\":{\"-\":\"\"},\"name\":\"web\",\"uid\":\"2\"}";
    struct cor_field_errors errs = {0};
    struct cor_buf b;

    cor_buf_init(&b, 1u << 20);
    cor_object_meta_check_update(COR_STR(metadata), COR_STR(old), rules, &errs);
    assert_int_equal(errs.error, 0);
    assert_int_equal(cor_field_errors_print(&errs, &b), 0);
    assert_string_equal(cor_buf_z(&b), want);
    cor_field_errors_deinit(&errs);
    cor_buf_deinit(&b);
}

#define FINALIZER_WRONG                                                                            \
    "metadata.finalizers[0]: Invalid value: \"short\": name is neither a standard finalizer name " \
    "nor is it fully qualified"
#define UPDATE_WRONG                                                                               \
    "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being "       \
    "deleted, found new finalizers []string{\"short\"}, metadata.uid: Invalid value: \"2\": "      \
    "field is immutable, metadata.deletionTimestamp: Invalid value: null: field is immutable, "    \
    "metadata.deletionGracePeriodSeconds: Invalid value: 3: field is immutable"

TEST(object_meta, an_update_that_was_checked_is_checked_for_what_the_rules_of_its_kind_add)
{
    struct cor_object_meta_rules rules = {COR_NAME_DNS1123_SUBDOMAIN, .is_namespaced = true};

    check_update(&rules,
                 "[" UPDATE_WRONG ", metadata.labels: Invalid value: \"-\": name part " LABEL_RULE
                 ", " FINALIZER_WRONG "]");
    rules.is_checked = true;
    check_update(&rules, "[" UPDATE_WRONG ", " FINALIZER_WRONG "]");
    rules.is_update_checked = true;
    check_update(&rules, FINALIZER_WRONG);
    rules.any_finalizer = true;
    check_update(&rules, "");
}
