#include "schema/walk/normalize.h"

#include "../rows.h"
#include "base/err.h"
#include "meta/object/object.h"
#include "meta/value/quantity.h"
#include "schema/types/raw_values.h"
#include "schema/walk/rewrite.h"
#include "json/text/json.h"

#define BYTES_MAX (1u << 20)

/* Normalises canonical bytes, checks that a second time changes nothing, and returns the result in
 * `out`, which the caller frees. */
static const char *normal_form(const char *type, const char *json, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf again = {.max = BYTES_MAX};
    int r;

    cor_buf_init(out, BYTES_MAX);
    r = cor_normalize(named(type), cor_strz(json), out);
    assert_true(r == 0 || r == 1);
    if (r == 0) {
        assert_int_equal(out->n, 0);
        assert_int_equal(cor_buf_addz(out, json), 0);
    }
    if (cor_normalize(named(type), cor_buf_str(out), &again) != 0)
        fail_msg("%s\nis not normal: %s", cor_buf_z(out), cor_buf_z(&again));
    return cor_buf_z(out);
}

struct normal_case {
    const char *type, *in, *out; /* `out` NULL: nothing is to be done */
};

static void check_cases(const struct normal_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {0};
        const char *want = cases[i].out ? cases[i].out : cases[i].in;
        bool is_canonical;

        assert_int_equal(
            cor_json_check(cor_strz(cases[i].in), &COR_JSON_LIMITS_DEFAULT, &is_canonical, NULL),
            0);
        if (strcmp(normal_form(cases[i].type, cases[i].in, &out), want) != 0)
            fail_msg("%s %s\ngot  %s\nwant %s", cases[i].type, cases[i].in, cor_buf_z(&out), want);
    }
}
#define CHECK_CASES(cases) check_cases(cases, COR_ARRAY_LEN(cases))

/* Contract types 2.6.2, 2.6.3, 2.6.8. */
TEST(normalize, leaves_out_what_was_never_set)
{
    static const struct normal_case cases[] = {
        {"core_v1.ConfigMap", "{\"data\":{\"a\":\"b\"},\"metadata\":{\"name\":\"x\"}}", NULL},
        {"core_v1.ConfigMap",
         "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"data\":{},\"immutable\":false,"
         "\"metadata\":{\"annotations\":{},\"finalizers\":[],\"generation\":0,\"labels\":null,"
         "\"name\":\"\",\"uid\":\"u\"}}",
         /* A pointer to false was set. */
         "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"immutable\":false,"
         "\"metadata\":{\"uid\":\"u\"}}"},
        /* All members go, the first, the last, those in the middle. */
        {"meta_v1.ObjectMeta", "{\"annotations\":{},\"labels\":{},\"name\":\"\"}", "{}"},
        {"meta_v1.ObjectMeta", "{\"annotations\":{},\"labels\":{\"a\":\"b\"},\"name\":\"\"}",
         "{\"labels\":{\"a\":\"b\"}}"},
        {"meta_v1.ObjectMeta", "{\"annotations\":{\"a\":\"b\"},\"labels\":{},\"name\":\"x\"}",
         "{\"annotations\":{\"a\":\"b\"},\"name\":\"x\"}"},
        {"core_v1.Container", "{\"name\":\"c\",\"resources\":{},\"stdin\":false,\"tty\":true}",
         "{\"name\":\"c\",\"resources\":{},\"tty\":true}"},
        {"core_v1.PodSpec",
         "{\"activeDeadlineSeconds\":0,\"containers\":[{\"name\":\"c\",\"resources\":{}}],"
         "\"hostNetwork\":false,\"priority\":0,\"securityContext\":{}}",
         "{\"activeDeadlineSeconds\":0,\"containers\":[{\"name\":\"c\",\"resources\":{}}],"
         "\"priority\":0,\"securityContext\":{}}"},
    };

    CHECK_CASES(cases);
}

/* Contract types 2.6.3, 2.6.5, 2.6.6, 2.6.7, 1.5.5. */
TEST(normalize, writes_what_go_always_writes)
{
    static const struct normal_case cases[] = {
        {"core_v1.Pod", "{}", "{\"metadata\":{},\"spec\":{\"containers\":null},\"status\":{}}"},
        {"core_v1.Pod", "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}",
         "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{},\"spec\":{\"containers\":null},"
         "\"status\":{}}"},
        {"apps_v1.Deployment", "{\"metadata\":{\"name\":\"d\"},\"spec\":null}",
         "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"selector\":null,\"strategy\":{},"
         "\"template\":{\"metadata\":{},\"spec\":{\"containers\":null}}},\"status\":{}}"},
        {"apps_v1.ReplicaSetStatus", "{}", "{\"replicas\":0}"},
        {"apps_v1.StatefulSetStatus", "{\"replicas\":3}",
         "{\"availableReplicas\":0,\"replicas\":3}"},
        {"apps_v1.DaemonSetStatus", "{\"numberReady\":1}",
         "{\"currentNumberScheduled\":0,\"desiredNumberScheduled\":0,\"numberMisscheduled\":0,"
         "\"numberReady\":1}"},
        {"core_v1.PodCondition", "{\"status\":\"True\",\"type\":\"Ready\"}",
         "{\"lastProbeTime\":null,\"lastTransitionTime\":null,\"status\":\"True\","
         "\"type\":\"Ready\"}"},
        {"core_v1.Event", "{\"involvedObject\":{},\"metadata\":{}}",
         "{\"eventTime\":null,\"firstTimestamp\":null,\"involvedObject\":{},"
         "\"lastTimestamp\":null,\"metadata\":{},\"reportingComponent\":\"\","
         "\"reportingInstance\":\"\",\"source\":{}}"},
        {"rbac_v1.Role", "{\"metadata\":{\"name\":\"r\"},\"rules\":[]}",
         "{\"metadata\":{\"name\":\"r\"},\"rules\":null}"},
        {"rbac_v1.RoleBinding", "{\"metadata\":{\"name\":\"r\"}}",
         "{\"metadata\":{\"name\":\"r\"},\"roleRef\":{\"apiGroup\":\"\",\"kind\":\"\","
         "\"name\":\"\"}}"},
        {"core_v1.ServicePort", "{\"port\":80}", "{\"port\":80,\"targetPort\":0}"},
        {"core_v1.ResourceFieldSelector", "{\"resource\":\"limits.cpu\"}",
         "{\"divisor\":\"0\",\"resource\":\"limits.cpu\"}"},
        {"core_v1.TypedLocalObjectReference", "{\"kind\":\"k\",\"name\":\"n\"}",
         "{\"apiGroup\":null,\"kind\":\"k\",\"name\":\"n\"}"},
        {"admissionregistration_v1.ValidatingWebhook",
         "{\"admissionReviewVersions\":[],\"clientConfig\":{},\"name\":\"w\"}",
         "{\"admissionReviewVersions\":null,\"clientConfig\":{},\"name\":\"w\","
         "\"sideEffects\":null}"},
        {"apps_v1.ControllerRevision", "{\"metadata\":{}}",
         "{\"data\":null,\"metadata\":{},\"revision\":0}"},
        {"certificates_v1.CertificateSigningRequestSpec", "{\"request\":null,\"signerName\":\"\"}",
         "{\"request\":null,\"signerName\":\"\"}"},
    };

    CHECK_CASES(cases);
}

/* Contract types 2.6.4. */
TEST(normalize, leaves_out_a_creation_time_that_is_zero)
{
    static const struct normal_case cases[] = {
        {"meta_v1.ObjectMeta", "{\"creationTimestamp\":null}", "{}"},
        {"meta_v1.ObjectMeta", "{\"creationTimestamp\":\"0001-01-01T00:00:00Z\"}", "{}"},
        {"meta_v1.ObjectMeta", "{\"creationTimestamp\":\"0001-01-01T01:00:00+01:00\"}", "{}"},
        {"meta_v1.ObjectMeta", "{\"creationTimestamp\":\"0001-01-01T00:00:00.5Z\"}", "{}"},
        {"core_v1.PodTemplateSpec",
         "{\"metadata\":{\"creationTimestamp\":null},\"spec\":{\"containers\":null}}",
         "{\"metadata\":{},\"spec\":{\"containers\":null}}"},
    };

    CHECK_CASES(cases);
}

/* Contract types 2.1.9, 2.2.1. */
TEST(normalize, drops_fields_that_the_type_does_not_have)
{
    static const struct normal_case cases[] = {
        {"core_v1.ConfigMap",
         "{\"Data\":{},\"data\":{\"a\":\"b\"},\"metaData\":{},\"metadata\":{},\"spec\":{\"x\":[1]}}",
         "{\"data\":{\"a\":\"b\"},\"metadata\":{}}"},
        {"core_v1.ConfigMap", "{\"a\":1,\"metadata\":{\"clusterName\":\"c\",\"kind\":\"k\"}}",
         "{\"metadata\":{}}"},
        /* The name of no field has escapes, whatever the order of the text. */
        {"apiextensions_v1.JSONSchemaProps",
         "{\"\\n\":1,\"$ref\":\"r\",\"\\\\\":2,\"type\":\"string\"}",
         "{\"$ref\":\"r\",\"type\":\"string\"}"},
        {"core_v1.Pod",
         "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"0\":0,\"metadata\":{\"name\":\"p\"},"
         "\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{},\"x\":1}],\"z\":[]},"
         "\"status\":{},\"zz\":null}",
         "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\"},"
         "\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{}}]},\"status\":{}}"},
        /* Members of an inlined struct are known. */
        {"core_v1.Volume", "{\"emptyDir\":{},\"foo\":1,\"name\":\"v\"}",
         "{\"emptyDir\":{},\"name\":\"v\"}"},
    };

    CHECK_CASES(cases);
}

/* Contract types 2.3.6. */
TEST(normalize, takes_null_for_a_zero_value)
{
    static const struct normal_case cases[] = {
        {"core_v1.ConfigMap",
         "{\"binaryData\":{\"b\":null},\"data\":{\"a\":null},\"metadata\":null}",
         "{\"binaryData\":{\"b\":\"\"},\"data\":{\"a\":\"\"},\"metadata\":{}}"},
        {"core_v1.PodSpec", "{\"containers\":[null],\"hostNetwork\":null,\"priority\":null}",
         "{\"containers\":[{\"name\":\"\",\"resources\":{}}]}"},
        {"core_v1.ServicePort", "{\"name\":null,\"port\":null,\"targetPort\":null}",
         "{\"port\":0,\"targetPort\":0}"},
        {"core_v1.ResourceRequirements", "{\"limits\":{\"cpu\":null}}",
         "{\"limits\":{\"cpu\":\"0\"}}"},
        {"core_v1.Container", "{\"args\":[null,\"a\"],\"name\":\"c\",\"resources\":null}",
         "{\"args\":[\"\",\"a\"],\"name\":\"c\",\"resources\":{}}"},
    };

    CHECK_CASES(cases);
}

/* Contract types 2.4.1, 2.4.2. */
TEST(normalize, prints_times_in_utc)
{
    static const struct normal_case cases[] = {
        {"meta_v1.ObjectMeta", "{\"creationTimestamp\":\"2024-01-02T03:04:05Z\"}", NULL},
        {"meta_v1.ObjectMeta", "{\"creationTimestamp\":\"2024-01-02T03:04:05.999Z\"}",
         "{\"creationTimestamp\":\"2024-01-02T03:04:05Z\"}"},
        {"meta_v1.ObjectMeta", "{\"deletionTimestamp\":\"2024-01-02T03:04:05+02:30\"}",
         "{\"deletionTimestamp\":\"2024-01-02T00:34:05Z\"}"},
        {"coordination_v1.LeaseSpec", "{\"renewTime\":\"2024-01-02T03:04:05.000001Z\"}", NULL},
        {"coordination_v1.LeaseSpec", "{\"renewTime\":\"2024-01-02T03:04:05.123456+01:00\"}",
         "{\"renewTime\":\"2024-01-02T02:04:05.123456Z\"}"},
        {"meta_v1.ObjectMeta", "{\"deletionTimestamp\":\"0001-01-01T00:00:00Z\"}", "{}"},
        {"meta_v1.Condition",
         "{\"lastTransitionTime\":\"0001-01-01T00:00:00Z\",\"message\":\"\",\"reason\":\"\","
         "\"status\":\"\",\"type\":\"\"}",
         "{\"lastTransitionTime\":null,\"message\":\"\",\"reason\":\"\",\"status\":\"\","
         "\"type\":\"\"}"},
    };

    CHECK_CASES(cases);
}

/* Contract types 2.3.8, 2.6.10. */
TEST(normalize, prints_base64_as_go_does)
{
    static const struct normal_case cases[] = {
        {"core_v1.Secret", "{\"data\":{\"a\":\"QUJD\",\"b\":\"\",\"c\":\"QQ==\"},\"metadata\":{}}",
         NULL},
        {"core_v1.Secret",
         "{\"data\":{\"a\":\"QU\\nJD\\r\\n\",\"b\":\"QR==\",\"c\":\"QUJ=\"},"
         "\"metadata\":{}}",
         "{\"data\":{\"a\":\"QUJD\",\"b\":\"QQ==\",\"c\":\"QUI=\"},\"metadata\":{}}"},
        {"core_v1.Secret", "{\"data\":{\"a\":[65,66,null],\"b\":[]},\"metadata\":{}}",
         "{\"data\":{\"a\":\"QUIA\",\"b\":\"\"},\"metadata\":{}}"},
        {"apiregistration_v1.ServiceReference", "{\"name\":\"a\"}", NULL},
        {"admissionregistration_v1.WebhookClientConfig", "{\"caBundle\":\"\",\"url\":\"u\"}",
         "{\"url\":\"u\"}"},
    };

    CHECK_CASES(cases);
}

/* Contract types 2.4.4, 2.4.11. */
TEST(normalize, prints_numbers_as_go_does)
{
    static const struct normal_case cases[] = {
        {"core_v1.ServicePort", "{\"port\":-0,\"targetPort\":-0}", "{\"port\":0,\"targetPort\":0}"},
        {"core_v1.ServicePort", "{\"nodePort\":-0,\"port\":80,\"targetPort\":\"80\"}",
         "{\"port\":80,\"targetPort\":\"80\"}"},
        {"apiextensions_v1.JSONSchemaProps",
         "{\"maximum\":1.0,\"minimum\":-1e3,\"multipleOf\":0.0000001}",
         "{\"maximum\":1,\"minimum\":-1000,\"multipleOf\":1e-7}"},
        {"apiextensions_v1.JSONSchemaProps",
         "{\"maximum\":1e21,\"minimum\":123456789012345680000,\"multipleOf\":0.25}",
         "{\"maximum\":1e+21,\"minimum\":123456789012345680000,\"multipleOf\":0.25}"},
        {"apiextensions_v1.JSONSchemaProps",
         "{\"maximum\":0.000001,\"minimum\":-0.1250,\"multipleOf\":0}",
         "{\"maximum\":0.000001,\"minimum\":-0.125,\"multipleOf\":0}"},
    };

    CHECK_CASES(cases);
}

/* Contract types 2.4.5, 2.2.4. */
TEST(normalize, keeps_the_bytes_of_raw_values_and_escapes_them_as_go_does)
{
    static const struct normal_case cases[] = {
        {"apps_v1.ControllerRevision",
         "{\"data\":{\"spec\":{\"command\":[\"a && b < c > d\"]}},\"metadata\":{},\"revision\":1}",
         "{\"data\":{\"spec\":{\"command\":[\"a \\u0026\\u0026 b \\u003c c \\u003e d\"]}},"
         "\"metadata\":{},\"revision\":1}"},
        {"apps_v1.ControllerRevision",
         "{\"data\":{ \"z\" : 1.0 ,\t\"a\":\"\\\\ \\\"\",\"z\":null},\"metadata\":{},"
         "\"revision\":1}",
         "{\"data\":{\"z\":1.0,\"a\":\"\\\\ \\\"\",\"z\":null},\"metadata\":{},\"revision\":1}"},
        {"apps_v1.ControllerRevision",
         "{\"data\":\"\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa\",\"metadata\":{},\"revision\":1}",
         "{\"data\":\"\\u2028\\u2029\xe2\x80\xaa\",\"metadata\":{},\"revision\":1}"},
        {"meta_v1.ManagedFieldsEntry", "{\"fieldsV1\":{\"f:b\":{},\"f:a\":{\"x\":[]}}}", NULL},
        {"apiextensions_v1.JSONSchemaProps",
         "{\"default\":null,\"enum\":[null,\"<\",{\"b\":1,\"a\":2}],\"example\":{}}",
         "{\"enum\":[null,\"\\u003c\",{\"b\":1,\"a\":2}],\"example\":{}}"},
        /* A text that is no raw value keeps the canonical form. */
        {"core_v1.ConfigMap", "{\"data\":{\"a\":\"<&>\"},\"metadata\":{}}", NULL},
    };

    CHECK_CASES(cases);
}

/* Contract types 1.3. */
TEST(normalize, walks_schemas_and_what_may_stand_in_their_place)
{
    static const struct normal_case cases[] = {
        {"apiextensions_v1.JSONSchemaProps",
         "{\"additionalProperties\":{\"foo\":1,\"type\":\"string\"},\"items\":{\"x\":1}}",
         "{\"additionalProperties\":{\"type\":\"string\"},\"items\":{}}"},
        {"apiextensions_v1.JSONSchemaProps",
         "{\"additionalProperties\":false,\"items\":[{\"x\":1},{\"type\":\"a\"}]}",
         "{\"additionalProperties\":false,\"items\":[{},{\"type\":\"a\"}]}"},
        {"apiextensions_v1.JSONSchemaProps",
         "{\"dependencies\":{\"a\":[\"b\"],\"c\":{\"x\":1},\"d\":[]},\"items\":[]}",
         "{\"dependencies\":{\"a\":[\"b\"],\"c\":{},\"d\":null}}"},
        {"apiextensions_v1.JSONSchemaProps",
         "{\"properties\":{\"a\":{\"properties\":{\"b\":{\"nullable\":false}}}}}",
         "{\"properties\":{\"a\":{\"properties\":{\"b\":{}}}}}"},
    };

    CHECK_CASES(cases);
}

TEST(normalize, leaves_a_value_of_another_type_as_it_is)
{
    static const struct normal_case cases[] = {
        {"core_v1.ConfigMap", "{\"data\":[1],\"immutable\":\"x\",\"metadata\":3}", NULL},
        {"core_v1.Pod",
         "{\"metadata\":{\"creationTimestamp\":\"soon\"},\"spec\":{\"containers\":{\"a\":1}},"
         "\"status\":\"s\"}",
         NULL},
        {"core_v1.ResourceRequirements", "{\"limits\":{\"cpu\":\"a\",\"memory\":[]}}", NULL},
        {"apiextensions_v1.JSONSchemaProps", "{\"maximum\":\"a\",\"minimum\":[]}", NULL},
        {"core_v1.Secret", "{\"data\":{\"a\":\"*\",\"b\":[256],\"c\":{}},\"metadata\":{}}", NULL},
    };

    CHECK_CASES(cases);
}

/* Contract types 2.4.6 to 2.4.10; the texts were compared with a kube-apiserver's. */
TEST(quantity, is_printed_as_upstream_prints_it)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"0", "0"},
        {"1000m", "1"},
        {"1024Mi", "1Gi"},
        {"0.5", "500m"},
        {"1.5Gi", "1536Mi"},
        {"0.5Gi", "512Mi"},
        {"1000", "1k"},
        {"100000", "100k"},
        {"1500M", "1500M"},
        {"1e3", "1e3"},
        {"1000e3", "1e6"},
        {"12e1", "120"},
        {"1E6", "1E6"},
        {"1e+5", "100e3"},
        {"0Gi", "0"},
        {"-0", "0"},
        {"1.5", "1500m"},
        {".5Mi", "512Ki"},
        {"0.5Ki", "512"},
        {"0.1Ki", "102400m"},
        {"8Ki", "8Ki"},
        {"+5", "+5"},
        {"05", "05"},
        {"0100m", "0100m"},
        {"1.500", "1.500"},
        {".", "0"},
        {"Gi", "0"},
        {"0.1n", "1n"},
        {"1e-10", "1e-9"},
        {"9999999999999999999999", "9999999999999999999999"},
        {"8Ei", "9223372036854775807"},
        {"7.9Ei", "9108079886394091110400m"},
        {"-1.5Gi", "-1536Mi"},
        {"0.00000000001Ki", "11n"},
        {"1000E", "1"},
        {"1e4294967297", "10"},
        {"1e999999999", "1e999999999"},
        {"123456789012345678901Ki", "9223372036854775807"},
        {"99999999999999999999999999999999999999999.9",
         "99999999999999999999999999999999999999999900m"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 128};
        int r = cor_quantity_rewrite(cor_strz(cases[i].in), 0, &out, NULL);

        assert_int_equal(r, strcmp(cases[i].in, cases[i].out) != 0);
        if (r == 1)
            assert_string_equal(cor_buf_z(&out), cases[i].out);
        cor_buf_reset(&out);
        assert_int_equal(cor_quantity_rewrite(cor_strz(cases[i].out), 0, &out, NULL), 0);
    }
}

/* Contract types 3.1.3, 2.4.10. */
TEST(quantity, is_rounded_up_to_thousandths_where_asked)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"100u", "1m"}, {"1.0005", "1001m"}, {"-100u", "-1m"},
        {"1n", "1m"},   {"1.500", "1.500"},  {"1Gi", "1Gi"},
        {"2m", "2m"},   {"999.9995", "1k"},  {"1e-6", "1e-3"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 128};
        int r = cor_quantity_rewrite(cor_strz(cases[i].in), COR_QUANTITY_MILLI, &out, NULL);

        assert_int_equal(r, strcmp(cases[i].in, cases[i].out) != 0);
        if (r == 1)
            assert_string_equal(cor_buf_z(&out), cases[i].out);
    }
}

TEST(quantity, is_added_and_compared)
{
    static const struct {
        const char *a, *b, *sum; /* NULL: they cannot be added */
        int order;
    } cases[] = {
        {"1", "1", "2", 0},
        {"500m", "500m", "1", 0},
        {"1Gi", "1Mi", "1025Mi", 1},
        {"1", "1Ki", "1025", -1},
        {"1Ki", "1", "1025", 1},
        {"0", "1Ki", "1Ki", -1},
        {"1e3", "1", "1001", 1},
        {"1u", "1n", "1001n", 1},
        {"999", "1", "1k", 1},
        {"-1", "1", "0", -1},
        {"-5", "3", "-2", -1},
        {"3", "-5", "-2", 1},
        {"-1", "-2", "-3", 1},
        {"0", "-0", "0", 0},
        {"0", "500m", "500m", -1},
        {"500m", "0", "500m", 1},
        {"100m", "1", "1100m", -1},
        {"1E", "1n", "1000000000000000000000000001n", 1},
        /* A sum may be more than an int64, which one quantity of the binary family never is. */
        {"1Ki", "100000000000000000000", "97656250000000001Ki", -1},
        {"97656250000000001Ki", "1Ki", "97656250000000002Ki", 1},
        {"9223372036854775807", "9223372036854775807", "18446744073709551614", 0},
        {"1Ki", "18446744073709551615", "18446744073709552639", -1},
        {"7Ei", "9Ei", "16Ei", -1},
        {"-1Ki", "-100000000000000000000", "-97656250000000001Ki", 1},
        {"1Ki", "9671406556917033397648384", "8388608Ei", -1},
        {"1048576Ei", "1Ei", "1048577Ei", 1},
        {"x", "1", NULL, 0},
        {"1e200", "1", NULL, 0},
        {"1", "111111111111111111111111111111111111111111111111111111111111111111111111111111111",
         NULL, 0},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 128};
        int order = 7, r = cor_quantity_add(cor_strz(cases[i].a), cor_strz(cases[i].b), &out);

        assert_true(cases[i].sum ? r == 0 : r == -COR_EINVAL || r == -COR_ETOOBIG);
        assert_string_equal(cor_buf_z(&out), cases[i].sum ? cases[i].sum : "");
        assert_int_equal(cor_quantity_cmp(cor_strz(cases[i].a), cor_strz(cases[i].b), &order), r);
        if (r == 0)
            assert_int_equal((order > 0) - (order < 0), cases[i].order);
    }
}

/* Contract types 2.4.6. */
TEST(quantity, is_refused_in_upstreams_words)
{
    static const struct {
        const char *in, *why;
    } cases[] = {
        {"", "regular expression"},
        {"1.2.3", "regular expression"},
        {"1 Gi", "regular expression"},
        {"1GB", "regular expression"},
        {"1Kk", "suffix"},
        {"1mi", "suffix"},
        {"1e", "suffix"},
        {"1e-", "suffix"},
        {"1e99999999999999999999", "suffix"},
        {"1+5", "suffix"},
        {"1e+-5", "regular expression"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 128};
        const char *why = "";

        assert_int_equal(cor_quantity_rewrite(cor_strz(cases[i].in), 0, &out, &why), -COR_EINVAL);
        if (!strstr(why, cases[i].why))
            fail_msg("%s: %s", cases[i].in, why);
        assert_int_equal(out.n, 0);
    }
}

/* Contract types 2.4.6. */
TEST(normalize, reads_quantities_from_texts_and_numbers)
{
    static const struct normal_case cases[] = {
        {"core_v1.ResourceRequirements",
         "{\"limits\":{\"a\":1,\"b\":0.5,\"c\":\" 1Gi \",\"d\":\"1024Mi\",\"e\":\"2\",\"f\":1e3}}",
         "{\"limits\":{\"a\":\"1\",\"b\":\"500m\",\"c\":\"1Gi\",\"d\":\"1Gi\",\"e\":\"2\","
         "\"f\":\"1e3\"}}"},
    };

    CHECK_CASES(cases);
}

TEST(normalize, fails_whole_when_memory_is_short)
{
    static const char in[] =
        "{\"data\":{\"a\":\"QU\\nJD\",\"b\":[1,2]},\"immutable\":null,\"metadata\":"
        "{\"creationTimestamp\":null,\"labels\":{\"a\":null}},\"x\":1}";
    static const char want[] =
        "{\"data\":{\"a\":\"QUJD\",\"b\":\"AQI=\"},\"metadata\":{\"labels\":{\"a\":\"\"}},"
        "\"type\":\"Opaque\"}";
    static const char long_quantity[] =
        "{\"limits\":{\"cpu\":\"99999999999999999999999999999999999999999999999999.9\"}}";

    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = BYTES_MAX};
        int r = cor_rewrite(named("core_v1.Secret"), cor_strz(in), &out);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 1);
        assert_string_equal(cor_buf_z(&out), r == 1 ? want : "");
    }
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = BYTES_MAX};
        int r = cor_normalize(named("core_v1.ResourceRequirements"), cor_strz(long_quantity), &out);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 1);
    }
}

TEST(normalize, refuses_a_result_beyond_the_buffers_maximum)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 40};

    assert_int_equal(cor_normalize(named("core_v1.Pod"), COR_STR("{}"), &out), -COR_ETOOBIG);
    assert_int_equal(out.n, 0);
}

/* A zero object of every kind is normal as it is written, and so is what is made of {}. */
TEST(normalize, is_done_once_for_every_type)
{
    for (size_t i = 0; i < cor_types_count(); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf first = {.max = BYTES_MAX};
        COR_CLEANUP(cor_buf_deinit) struct cor_buf again = {.max = BYTES_MAX};
        const struct cor_type *type = cor_type_at(i);
        int r;

        if (cor_type_shape(type) != COR_SHAPE_STRUCT)
            continue;
        r = cor_normalize(type, COR_STR("{}"), &first);
        assert_true(r == 0 || r == 1);
        if (r == 1 && cor_normalize(type, cor_buf_str(&first), &again) != 0)
            fail_msg("%.*s: %s became %s", COR_STR_ARG(cor_type_go_name(type)), cor_buf_z(&first),
                     cor_buf_z(&again));
    }
}

TEST(normalize, goes_as_deep_as_json_may)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf in = {.max = BYTES_MAX}, out = {.max = BYTES_MAX};
    bool is_canonical;

    for (int i = 0; i < COR_JSON_DEPTH_MAX - 1; i++)
        assert_int_equal(cor_buf_addz(&in, "{\"not\":"), 0);
    assert_int_equal(cor_buf_addz(&in, "{\"x\":1}"), 0);
    for (int i = 0; i < COR_JSON_DEPTH_MAX - 1; i++)
        assert_int_equal(cor_buf_addc(&in, '}'), 0);
    assert_int_equal(
        cor_json_check(cor_buf_str(&in), &COR_JSON_LIMITS_DEFAULT, &is_canonical, NULL), 0);
    assert_int_equal(
        cor_normalize(named("apiextensions_v1.JSONSchemaProps"), cor_buf_str(&in), &out), 1);
    assert_int_equal(out.n, in.n - sizeof("\"x\":1") + 1);
}

/* Contract types 2.4.5. */
TEST(raw_values, keep_their_bytes_in_a_stored_object)
{
    static const struct {
        const char *stored;
        bool is_rewritten;
    } cases[] = {
        {"{\"kind\":\"ControllerRevision\",\"apiVersion\":\"apps/v1\",\"data\":{\"z\":\"a "
         "\\u0026\\u0026 b\",\"a\":1},\"metadata\":{\"name\":\"r\"},\"revision\":1}",
         false},
        /* Upstream's order of FieldsV1 is that of its numbers and texts. */
        {"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"managedFields\":[{\"fieldsV1\":{"
         "\"k:{\\\"port\\\":80}\":{},\"k:{\\\"port\\\":443}\":{}}}],\"name\":\"r\"}}",
         false},
        {"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"annotations\":{\"fieldsV1\":\"\",\"b\":"
         "\"\"},\"name\":\"r\"}}",
         true},
        /* Without a kind nothing is raw. */
        {"{\"data\":{\"z\":1,\"a\":1},\"metadata\":{\"name\":\"r\"},\"revision\":1}", true},
        {"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"data\":{\"z\":\"\\u0026\"},\"metadata\":"
         "{\"name\":\"r\"}}",
         true},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
        bool is_rewritten;

        assert_int_equal(cor_object_read_stored(cor_strz(cases[i].stored), 0, &cor_raw_values,
                                                &object, &is_rewritten, NULL),
                         0);
        assert_int_equal(is_rewritten, cases[i].is_rewritten);
        assert_int_equal(strcmp(object->bytes, cases[i].stored) != 0, cases[i].is_rewritten);
    }
}

TEST(raw_values, are_found_in_lists_maps_and_schemas)
{
    static const struct {
        const char *type, *in, *out;
    } cases[] = {
        {"resource_v1.ResourceClaim",
         "{\"spec\":{\"devices\":{\"config\":[{\"requests\":[\"a\"],\"opaque\":{\"parameters\":{\"b\":1,"
         "\"a\":2},\"driver\":\"d\"}}]}}}",
         "{\"spec\":{\"devices\":{\"config\":[{\"opaque\":{\"driver\":\"d\",\"parameters\":{\"b\":1,"
         "\"a\":2}},\"requests\":[\"a\"]}]}}}"},
        {"apiextensions_v1.JSONSchemaProps",
         "{\"properties\":{\"p\":{\"items\":{\"enum\":[{\"b\":1,\"a\":2}, 1],\"default\":{\"d\":1,"
         "\"c\":1}}}},\"additionalProperties\":{\"example\":{\"f\":1,\"e\":1}}}",
         "{\"additionalProperties\":{\"example\":{\"f\":1,\"e\":1}},\"properties\":{\"p\":{\"items\":"
         "{\"default\":{\"d\":1,\"c\":1},\"enum\":[{\"b\":1,\"a\":2},1]}}}}"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = BYTES_MAX};
        const struct cor_json_limits limits = {BYTES_MAX, COR_JSON_DEPTH_MAX, false,
                                               &cor_raw_values,
                                               cor_raw_values_of(named(cases[i].type))};

        assert_int_equal(cor_json_canonicalize(cor_strz(cases[i].in), &limits, &out, NULL, NULL),
                         0);
        assert_string_equal(cor_buf_z(&out), cases[i].out);
    }
    /* What most kinds have are managedFields alone, which do not count. */
    assert_null(cor_raw_values_of(named("core_v1.ConfigMap")));
    assert_null(cor_raw_values_of(named("core_v1.Pod")));
}

/* Contract types 4.3.6. */
TEST(normalize, fields_of_gates_that_are_off_are_noted)
{
    static const struct {
        const char *type, *json;
        bool has_gated;
    } rows[] = {
        {"core_v1.Pod", "{\"spec\":{\"hostname\":\"h\"}}", false},
        {"core_v1.Pod", "{\"spec\":{\"hostnameOverride\":\"h\"}}", true},
        {"core_v1.Pod", "{\"spec\":{\"hostnameOverride\":null}}", false},
        {"core_v1.Pod", "{\"spec\":{\"volumes\":[{\"image\":{}}]}}", true},
        {"core_v1.ConfigMap", "{\"data\":{\"image\":\"i\"}}", false},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = BYTES_MAX};
        struct cor_normalize_notes notes = {.has_gated = !rows[i].has_gated};

        assert_true(
            cor_normalize_noting(named(rows[i].type), cor_strz(rows[i].json), &out, &notes) >= 0);
        assert_int_equal(notes.has_gated, rows[i].has_gated);
    }
}

/* Contract validation 1.4.4. */
TEST(normalize, lists_and_maps_that_it_drops_are_noted)
{
    static const struct {
        const char *type, *json;
        bool has_empty;
    } rows[] = {
        {"core_v1.Pod", "{\"spec\":{\"nodeSelector\":{\"a\":\"b\"}}}", false},
        {"core_v1.Pod", "{\"spec\":{\"nodeSelector\":{}}}", true},
        {"core_v1.Pod", "{\"spec\":{\"nodeSelector\":null,\"hostname\":\"\"}}", false},
        {"core_v1.Pod", "{\"spec\":{\"containers\":[]}}", true},
        {"core_v1.Pod", "{\"spec\":{\"containers\":[{\"args\":[]}]}}", true},
        {"core_v1.ConfigMap", "{\"data\":{\"a\":\"[]\"}}", false},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = BYTES_MAX};
        struct cor_normalize_notes notes = {.has_empty = !rows[i].has_empty};

        assert_true(
            cor_normalize_noting(named(rows[i].type), cor_strz(rows[i].json), &out, &notes) >= 0);
        assert_int_equal(notes.has_empty, rows[i].has_empty);
    }
}
