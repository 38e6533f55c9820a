#include "schema/convert/conversion.h"

#include "base/err.h"
#include "test.h"
#include "json/text/json.h"
#include "json/write/writer.h"

static struct cor_object *served(const char *json)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *parsed = NULL;
    struct cor_object *object;

    assert_int_equal(cor_object_parse(cor_strz(json), NULL, NULL, NULL, &parsed, NULL), 0);
    assert_int_equal(cor_object_at(parsed, 7, &object), 0);
    return object;
}

static struct cor_object *convert(cor_convert_fn fn, const char *version, const char *json)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = served(json);
    struct cor_object *made;

    assert_int_equal(
        cor_convert_object(fn, cor_object_kind(object), cor_strz(version), object, &made), 0);
    return made;
}

static void check(cor_convert_fn fn, const char *version, const char *json, const char *want)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *made = convert(fn, version, json);

    assert_string_equal(made->bytes, want);
}

/* These kinds have no types: what the conversions alone make is compared. */
static const char core_event[] =
    "{\"kind\":\"AnEvent\",\"apiVersion\":\"v1\",\"action\":\"Bind\",\"count\":3,\"eventTime\":null,"
    "\"firstTimestamp\":\"2024-01-01T00:00:00Z\",\"involvedObject\":{\"kind\":\"Pod\"},"
    "\"lastTimestamp\":\"2024-01-02T00:00:00Z\",\"message\":\"m\",\"metadata\":{\"name\":\"a\","
    "\"resourceVersion\":\"7\"},\"reason\":\"R\",\"related\":{\"kind\":\"Node\"},"
    "\"reportingComponent\":\"c\",\"reportingInstance\":\"i\",\"series\":{\"count\":2},"
    "\"source\":{\"component\":\"s\"},\"type\":\"Normal\",\"unknown\":1}";

static const char new_event[] =
    "{\"kind\":\"AnEvent\",\"apiVersion\":\"events.k8s.io/v1\",\"action\":\"Bind\","
    "\"deprecatedCount\":3,\"deprecatedFirstTimestamp\":\"2024-01-01T00:00:00Z\","
    "\"deprecatedLastTimestamp\":\"2024-01-02T00:00:00Z\",\"deprecatedSource\":{\"component\":"
    "\"s\"},\"eventTime\":null,\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"},\"note\":"
    "\"m\",\"reason\":\"R\",\"regarding\":{\"kind\":\"Pod\"},\"related\":{\"kind\":\"Node\"},"
    "\"reportingController\":\"c\",\"reportingInstance\":\"i\",\"series\":{\"count\":2},\"type\":"
    "\"Normal\",\"unknown\":1}";

TEST(conversion, events_have_the_same_content_under_other_names)
{
    check(cor_event_conversion.from_stored, "events.k8s.io/v1", core_event, new_event);
    check(cor_event_conversion.to_stored, "v1", new_event, core_event);
}

TEST(conversion, an_event_keeps_what_only_the_other_version_knows)
{
    static const char mixed[] = "{\"kind\":\"AnEvent\",\"apiVersion\":\"events.k8s.io/v1\","
                                "\"message\":\"not of this version\",\"metadata\":{\"name\":\"a\","
                                "\"resourceVersion\":\"7\"},\"note\":\"n\"}";
    static const char stored[] = "{\"kind\":\"AnEvent\",\"apiVersion\":\"v1\",\"message\":\"n\","
                                 "\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"},\"note\":"
                                 "\"not of this version\"}";

    check(cor_event_conversion.to_stored, "v1", mixed, stored);
    check(cor_event_conversion.from_stored, "events.k8s.io/v1", stored, mixed);
}

/* Contract types 2.6.14. */
TEST(conversion, an_object_is_normal_in_its_new_version)
{
    COR_CLEANUP(cor_object_unrefp)
    struct cor_object *object = served(
        "{\"kind\":\"Event\",\"apiVersion\":\"events.k8s.io/v1\",\"metadata\":{\"name\":\"a\"},"
        "\"note\":\"n\",\"unknown\":1}");
    COR_CLEANUP(cor_object_unrefp) struct cor_object *made = NULL;

    assert_int_equal(cor_convert_object(cor_event_conversion.to_stored, COR_STR("Event"),
                                        COR_STR("v1"), object, &made),
                     0);
    assert_string_equal(
        made->bytes,
        "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"eventTime\":null,\"firstTimestamp\":null,"
        "\"involvedObject\":{},\"lastTimestamp\":null,\"message\":\"n\",\"metadata\":{\"name\":"
        "\"a\",\"resourceVersion\":\"7\"},\"reportingComponent\":\"\",\"reportingInstance\":\"\","
        "\"source\":{}}");
}

static const char v2_cpu[] =
    "{\"kind\":\"AnAutoscaler\",\"apiVersion\":\"autoscaling/v2\",\"metadata\":{\"name\":"
    "\"a\",\"resourceVersion\":\"7\"},\"spec\":{\"maxReplicas\":3,\"metrics\":[{\"resource\":{"
    "\"name\":\"cpu\",\"target\":{\"averageUtilization\":55,\"type\":\"Utilization\"}},\"type\":"
    "\"Resource\"}],\"scaleTargetRef\":{\"name\":\"d\"},\"unknown\":1}}";

static const char v1_cpu[] =
    "{\"kind\":\"AnAutoscaler\",\"apiVersion\":\"autoscaling/v1\",\"metadata\":{\"name\":"
    "\"a\",\"resourceVersion\":\"7\"},\"spec\":{\"maxReplicas\":3,\"scaleTargetRef\":{\"name\":"
    "\"d\"},\"targetCPUUtilizationPercentage\":55,\"unknown\":1}}";

TEST(conversion, the_target_for_the_cpu_is_a_number_in_autoscaling_v1)
{
    check(cor_hpa_conversion.from_stored, "autoscaling/v1", v2_cpu, v1_cpu);
    check(cor_hpa_conversion.to_stored, "autoscaling/v2", v1_cpu, v2_cpu);
}

TEST(conversion, an_autoscaler_without_metrics_gets_80_percent_of_the_cpu)
{
    check(
        cor_hpa_conversion.to_stored, "autoscaling/v2",
        "{\"kind\":\"H\",\"metadata\":{\"annotations\":{\"autoscaling.alpha.kubernetes.io/"
        "metrics\":\"no JSON\",\"x\":\"y\"}},\"spec\":{}}",
        "{\"kind\":\"H\",\"apiVersion\":\"autoscaling/v2\",\"metadata\":{\"annotations\":{\"x\":"
        "\"y\"},\"resourceVersion\":\"7\"},\"spec\":{\"metrics\":[{\"resource\":{\"name\":\"cpu\","
        "\"target\":{\"averageUtilization\":80,\"type\":\"Utilization\"}},\"type\":\"Resource\"}]}"
        "}");
}

/* A metric of each kind, and the words in which kube-apiserver 1.34 answers for them. */
static const struct {
    const char *v2, *v1;
} metrics[] = {
    {"{\"pods\":{\"metric\":{\"name\":\"pps\"},\"target\":{\"averageValue\":\"1k\",\"type\":"
     "\"AverageValue\"}},\"type\":\"Pods\"}",
     "{\"type\":\"Pods\",\"pods\":{\"metricName\":\"pps\",\"targetAverageValue\":\"1k\"}}"},
    {"{\"object\":{\"describedObject\":{\"kind\":\"Service\",\"name\":\"s\"},\"metric\":{\"name\":"
     "\"rps\",\"selector\":{\"matchLabels\":{\"a\":\"b\"}}},\"target\":{\"type\":\"Value\","
     "\"value\":\"10k\"}},\"type\":\"Object\"}",
     "{\"type\":\"Object\",\"object\":{\"target\":{\"kind\":\"Service\",\"name\":\"s\"},"
     "\"metricName\":\"rps\",\"targetValue\":\"10k\",\"selector\":{\"matchLabels\":{\"a\":\"b\"}}}}"},
    {"{\"external\":{\"metric\":{\"name\":\"q\"},\"target\":{\"averageValue\":\"30\",\"type\":"
     "\"AverageValue\"}},\"type\":\"External\"}",
     "{\"type\":\"External\",\"external\":{\"metricName\":\"q\",\"targetAverageValue\":\"30\"}}"},
    {"{\"containerResource\":{\"container\":\"c\",\"name\":\"cpu\",\"target\":{"
     "\"averageUtilization\":20,\"type\":\"Utilization\"}},\"type\":\"ContainerResource\"}",
     "{\"type\":\"ContainerResource\",\"containerResource\":{\"name\":\"cpu\","
     "\"targetAverageUtilization\":20,\"container\":\"c\"}}"},
    {"{\"resource\":{\"name\":\"memory\",\"target\":{\"averageValue\":\"100Mi\",\"type\":"
     "\"AverageValue\"}},\"type\":\"Resource\"}",
     "{\"type\":\"Resource\",\"resource\":{\"name\":\"memory\",\"targetAverageValue\":\"100Mi\"}}"},
    /* What version 1 has no place for. */
    {"{\"new\":1,\"pods\":{\"metric\":{\"name\":\"p\",\"x\":1},\"metricName\":\"?\",\"target\":{"
     "\"averageValue\":\"1\",\"type\":\"Other\",\"y\":2},\"z\":[3]},\"type\":\"Pods\"}",
     "{\"type\":\"Pods\",\"new\":1,\"pods\":{\"metricName\":\"p\",\"targetAverageValue\":\"1\","
     "\"v2\":{\"metric\":{\"x\":1},\"metricName\":\"?\",\"target\":{\"type\":\"Other\",\"y\":2},"
     "\"z\":[3]}}}"},
};

static void write_hpa(struct cor_buf *out, const char *version, const char *annotation,
                      const char *spec_rest)
{
    assert_int_equal(cor_buf_addf(out,
                                  "{\"kind\":\"AnAutoscaler\",\"apiVersion\":\"%s\","
                                  "\"metadata\":{%s\"name\":\"a\",\"resourceVersion\":\"7\"},"
                                  "\"spec\":{\"maxReplicas\":3%s}}",
                                  version, annotation, spec_rest),
                     0);
}

TEST(conversion, other_metrics_travel_in_an_annotation)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(metrics); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf v2 = {.max = 1 << 16}, v1 = {.max = 1 << 16};
        COR_CLEANUP(cor_buf_deinit)
        struct cor_buf array = {.max = 1 << 16}, text = {.max = 1 << 16};

        assert_int_equal(cor_buf_addf(&array, "[%s]", metrics[i].v1), 0);
        assert_int_equal(
            cor_buf_addz(&text, "\"annotations\":{\"autoscaling.alpha.kubernetes.io/metrics\":"),
            0);
        assert_int_equal(cor_json_quote(&text, cor_buf_str(&array)), 0);
        assert_int_equal(cor_buf_addz(&text, "},"), 0);
        write_hpa(&v1, "autoscaling/v1", cor_buf_z(&text), "");
        cor_buf_reset(&text);
        assert_int_equal(cor_buf_addf(&text, ",\"metrics\":[%s]", metrics[i].v2), 0);
        write_hpa(&v2, "autoscaling/v2", "", cor_buf_z(&text));
        check(cor_hpa_conversion.from_stored, "autoscaling/v1", cor_buf_z(&v2), cor_buf_z(&v1));
        check(cor_hpa_conversion.to_stored, "autoscaling/v2", cor_buf_z(&v1), cor_buf_z(&v2));
    }
}

static const char v2_rich[] =
    "{\"kind\":\"AnAutoscaler\",\"apiVersion\":\"autoscaling/v2\",\"metadata\":{"
    "\"annotations\":{\"x\":\"y\"},\"name\":\"a\",\"resourceVersion\":\"7\"},\"spec\":{\"behavior\":"
    "{\"scaleDown\":{\"policies\":[{\"periodSeconds\":15,\"type\":\"Percent\",\"value\":100}],"
    "\"stabilizationWindowSeconds\":60}},\"maxReplicas\":3,\"metrics\":[{\"pods\":{\"metric\":{"
    "\"name\":\"p\"},\"target\":{\"averageValue\":\"1\",\"type\":\"AverageValue\"}},\"type\":"
    "\"Pods\"},{\"resource\":{\"name\":\"cpu\",\"target\":{\"averageUtilization\":40,\"type\":"
    "\"Utilization\"}},\"type\":\"Resource\"}]},\"status\":{\"conditions\":[{\"status\":\"True\","
    "\"type\":\"AbleToScale\"}],\"currentMetrics\":[{\"resource\":{\"current\":{"
    "\"averageUtilization\":33,\"averageValue\":\"10m\"},\"name\":\"cpu\"},\"type\":\"Resource\"},{"
    "\"object\":{\"current\":{\"value\":\"5\"},\"describedObject\":{\"kind\":\"S\"},\"metric\":{"
    "\"name\":\"r\"}},\"type\":\"Object\"}],\"currentReplicas\":1,\"desiredReplicas\":2,\"more\":"
    "true}}";

TEST(conversion, status_and_behavior_come_back_as_they_were)
{
    COR_CLEANUP(cor_object_unrefp)
    struct cor_object *v1 = convert(cor_hpa_conversion.from_stored, "autoscaling/v1", v2_rich);

    assert_string_equal(
        v1->bytes,
        "{\"kind\":\"AnAutoscaler\",\"apiVersion\":\"autoscaling/v1\",\"metadata\":{"
        "\"annotations\":{\"autoscaling.alpha.kubernetes.io/behavior\":\"{\\\"ScaleDown\\\":{"
        "\\\"Policies\\\":[{\\\"PeriodSeconds\\\":15,\\\"Type\\\":\\\"Percent\\\",\\\"Value\\\":100}"
        "],\\\"StabilizationWindowSeconds\\\":60}}\",\"autoscaling.alpha.kubernetes.io/conditions\":"
        "\"[{\\\"status\\\":\\\"True\\\",\\\"type\\\":\\\"AbleToScale\\\"}]\","
        "\"autoscaling.alpha.kubernetes.io/current-metrics\":\"[{\\\"type\\\":\\\"Resource\\\","
        "\\\"resource\\\":{\\\"name\\\":\\\"cpu\\\",\\\"currentAverageUtilization\\\":33,"
        "\\\"currentAverageValue\\\":\\\"10m\\\"}},{\\\"type\\\":\\\"Object\\\",\\\"object\\\":{"
        "\\\"target\\\":{\\\"kind\\\":\\\"S\\\"},\\\"metricName\\\":\\\"r\\\",\\\"currentValue\\\":"
        "\\\"5\\\"}}]\",\"autoscaling.alpha.kubernetes.io/metrics\":\"[{\\\"type\\\":\\\"Pods\\\","
        "\\\"pods\\\":{\\\"metricName\\\":\\\"p\\\",\\\"targetAverageValue\\\":\\\"1\\\"}}]\",\"x\":"
        "\"y\"},\"name\":\"a\",\"resourceVersion\":\"7\"},\"spec\":{\"maxReplicas\":3,"
        "\"targetCPUUtilizationPercentage\":40},\"status\":{\"currentCPUUtilizationPercentage\":33,"
        "\"currentReplicas\":1,\"desiredReplicas\":2,\"more\":true}}");
    check(cor_hpa_conversion.to_stored, "autoscaling/v2", v1->bytes, v2_rich);
}

TEST(conversion, reads_the_annotations_that_kube_apiserver_writes)
{
    check(
        cor_hpa_conversion.to_stored, "autoscaling/v2",
        "{\"kind\":\"H\",\"metadata\":{\"annotations\":{\"autoscaling.alpha.kubernetes.io/"
        "behavior\":\"{\\\"ScaleUp\\\":null,\\\"ScaleDown\\\":{\\\"StabilizationWindowSeconds\\\":"
        "60,\\\"SelectPolicy\\\":\\\"Max\\\",\\\"Policies\\\":null,\\\"Tolerance\\\":null}}\"}},"
        "\"spec\":{\"targetCPUUtilizationPercentage\":1},\"status\":{"
        "\"currentCPUUtilizationPercentage\":5,\"currentReplicas\":0}}",
        "{\"kind\":\"H\",\"apiVersion\":\"autoscaling/v2\",\"metadata\":{\"resourceVersion\":"
        "\"7\"},\"spec\":{\"behavior\":{\"scaleDown\":{\"selectPolicy\":\"Max\","
        "\"stabilizationWindowSeconds\":60}},\"metrics\":[{\"resource\":{\"name\":\"cpu\","
        "\"target\":{\"averageUtilization\":1,\"type\":\"Utilization\"}},\"type\":\"Resource\"}]},"
        "\"status\":{\"currentMetrics\":[{\"resource\":{\"current\":{\"averageUtilization\":5},"
        "\"name\":\"cpu\"},\"type\":\"Resource\"}]}}");
}

/* An annotation may be as deep as JSON may be in an object. */
TEST(conversion, a_deep_annotation_is_read_and_what_it_makes_is_no_deeper_than_json_may_be)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 1 << 20};
    COR_CLEANUP(cor_object_unrefp) struct cor_object *made = NULL;
    struct cor_str found;
    const int deep = COR_JSON_DEPTH_MAX - 20;

    assert_int_equal(
        cor_buf_addz(&json, "{\"kind\":\"AnHpa\",\"apiVersion\":\"autoscaling/v1\",\"metadata\":{"
                            "\"annotations\":{\"autoscaling.alpha.kubernetes.io/metrics\":\"[{"
                            "\\\"type\\\":\\\"Pods\\\",\\\"pods\\\":{\\\"metricName\\\":\\\"m\\\","
                            "\\\"targetAverageValue\\\":\\\"1\\\"},\\\"x\\\":"),
        0);
    for (int i = 0; i < deep; i++)
        assert_int_equal(cor_buf_addc(&json, '['), 0);
    for (int i = 0; i < deep; i++)
        assert_int_equal(cor_buf_addc(&json, ']'), 0);
    assert_int_equal(cor_buf_addz(&json, "}]\"}},\"spec\":{\"maxReplicas\":1}}"), 0);
    made = convert(cor_hpa_conversion.to_stored, "autoscaling/v2", cor_buf_z(&json));
    found = cor_convert_member(cor_convert_member(cor_object_json(made), "spec"), "metrics");
    assert_true(found.p && memmem(found.p, found.n, "\"name\":\"m\"", 10));
    assert_int_equal(
        cor_json_check(cor_object_json(made), &COR_JSON_LIMITS_DEFAULT, &(bool){0}, NULL), 0);
}

TEST(conversion, what_is_of_another_type_passes_through)
{
    static const char odd[] = "{\"kind\":\"H\",\"apiVersion\":\"x\",\"metadata\":{"
                              "\"annotations\":5,\"resourceVersion\":\"7\"},\"spec\":\"s\","
                              "\"status\":[1]}";

    check(cor_hpa_conversion.from_stored, "x", odd, odd);
    check(cor_hpa_conversion.to_stored, "x", odd, odd);
}

/* As kube-apiserver 1.34 keeps definitions that were written in v1: what all versions have alike is
 * in the spec. */
static const char crd_alike[] =
    "{\"kind\":\"CustomResourceDefinition\",\"apiVersion\":\"apiextensions.k8s.io/v1beta1\","
    "\"metadata\":{\"name\":\"as.x.io\"},\"spec\":{\"additionalPrinterColumns\":[{\"JSONPath\":\".a\","
    "\"name\":\"A\",\"type\":\"string\"}],\"conversion\":{\"conversionReviewVersions\":[\"v1\"],"
    "\"strategy\":\"Webhook\",\"webhookClientConfig\":{\"url\":\"https://u\"}},\"group\":\"x.io\","
    "\"names\":{\"kind\":\"A\",\"plural\":\"as\"},\"preserveUnknownFields\":false,\"scope\":"
    "\"Cluster\",\"subresources\":{\"status\":{}},\"validation\":{\"openAPIV3Schema\":{\"type\":"
    "\"object\"}},\"version\":\"v1\",\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true},"
    "{\"name\":\"v2\",\"served\":true,\"storage\":false}]}}";

TEST(conversion, a_definition_that_kube_apiserver_keeps_in_v1beta1_becomes_v1)
{
#define OF_ALL                                                                                     \
    "{\"additionalPrinterColumns\":[{\"jsonPath\":\".a\",\"name\":\"A\",\"type\":\"string\"}],\"name\":"
#define SCHEMA "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}},\"served\":true,\"storage\":"
    check(cor_crd_from_v1beta1, "apiextensions.k8s.io/v1", crd_alike,
          "{\"kind\":\"CustomResourceDefinition\",\"apiVersion\":\"apiextensions.k8s.io/v1\","
          "\"metadata\":{\"name\":\"as.x.io\",\"resourceVersion\":\"7\"},\"spec\":{\"conversion\":{"
          "\"strategy\":\"Webhook\",\"webhook\":{\"clientConfig\":{\"url\":\"https://u\"},"
          "\"conversionReviewVersions\":[\"v1\"]}},\"group\":\"x.io\",\"names\":{\"kind\":\"A\","
          "\"plural\":\"as\"},\"scope\":\"Cluster\",\"versions\":[" OF_ALL "\"v1\"," SCHEMA
          "true,\"subresources\":{\"status\":{}}}," OF_ALL "\"v2\"," SCHEMA
          "false,\"subresources\":{\"status\":{}}}]},\"status\":{\"acceptedNames\":{\"kind\":\"\","
          "\"plural\":\"\"},\"conditions\":null,\"storedVersions\":null}}");
#undef OF_ALL
#undef SCHEMA
}

/* Versions that differ keep their own; a definition of long ago has no list of versions. */
TEST(conversion, a_definition_of_v1beta1_gets_its_only_version_and_the_defaults_of_that_time)
{
    COR_CLEANUP(cor_object_unrefp)
    struct cor_object *made = convert(
        cor_crd_from_v1beta1, "apiextensions.k8s.io/v1",
        "{\"kind\":\"CustomResourceDefinition\",\"apiVersion\":\"apiextensions.k8s.io/v1beta1\","
        "\"metadata\":{\"name\":\"a\"},\"spec\":{\"conversion\":{\"strategy\":\"Webhook\"},\"version\":"
        "\"v7\",\"validation\":{}}}");

    assert_non_null(strstr(made->bytes,
                           "\"versions\":[{\"name\":\"v7\",\"schema\":{},\"served\":true,"
                           "\"storage\":true}]"));
    assert_non_null(strstr(made->bytes, "\"preserveUnknownFields\":true"));
    assert_non_null(
        strstr(made->bytes, "\"webhook\":{\"conversionReviewVersions\":[\"v1beta1\"]}"));
    made = cor_object_unref(made);
    made = convert(
        cor_crd_from_v1beta1, "apiextensions.k8s.io/v1",
        "{\"kind\":\"CustomResourceDefinition\",\"apiVersion\":\"apiextensions.k8s.io/"
        "v1beta1\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"versions\":[{\"name\":\"v1\","
        "\"additionalPrinterColumns\":[{\"name\":\"B\",\"JSONPath\":\".b\"}],\"schema\":{}}]}}");
    assert_non_null(strstr(made->bytes, "\"jsonPath\":\".b\""));
    assert_non_null(strstr(made->bytes, "\"schema\":{}"));
    made = cor_object_unref(made);
    made = convert(cor_crd_from_v1beta1, "apiextensions.k8s.io/v1",
                   "{\"kind\":\"CustomResourceDefinition\",\"apiVersion\":\"apiextensions.k8s.io/"
                   "v1beta1\",\"metadata\":{\"name\":\"a\"},\"spec\":7}");
    assert_non_null(made);
}

static void fail_each_allocation(cor_convert_fn fn, const char *json)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = served(json);

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_object *made = NULL;
        int r = cor_convert_object(fn, COR_STR("K"), COR_STR("v"), object, &made);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        assert_int_equal(r == 0, made != NULL);
        cor_object_unref(made);
    }
}

TEST(conversion, survives_failed_allocations)
{
    COR_CLEANUP(cor_object_unrefp)
    struct cor_object *v1 = convert(cor_hpa_conversion.from_stored, "autoscaling/v1", v2_rich);

    fail_each_allocation(cor_event_conversion.from_stored, core_event);
    fail_each_allocation(cor_crd_from_v1beta1, crd_alike);
    fail_each_allocation(cor_convert_version_alone, core_event);
    fail_each_allocation(cor_hpa_conversion.from_stored, v2_rich);
    fail_each_allocation(cor_hpa_conversion.to_stored, v1->bytes);
}
