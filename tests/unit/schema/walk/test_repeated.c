/* What is left of repeated members: kube-apiserver 1.34.1 showed these objects for these bodies. */
#include "schema/walk/repeated.h"

#include "../rows.h"
#include "base/err.h"
#include "base/mem.h"
#include "json/text/json.h"

#define BYTES_MAX (1u << 20)

/* Merges, and returns the canonical form of the result in `out`, which the caller frees. */
static const char *merged(const char *type, const char *json, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = BYTES_MAX};

    cor_buf_init(out, BYTES_MAX);
    assert_int_equal(cor_repeated_merge(cor_strz(json), named(type), &text), 0);
    assert_true(text.n <= strlen(json));
    assert_int_equal(
        cor_json_canonicalize(cor_buf_str(&text), &COR_JSON_LIMITS_DEFAULT, out, NULL, NULL), 0);
    return cor_buf_z(out);
}

struct merge_case {
    const char *type, *in, *out;
};

static void check_cases(const struct merge_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {0};

        if (strcmp(merged(cases[i].type, cases[i].in, &out), cases[i].out) != 0)
            fail_msg("%s\ngot  %s\nwant %s", cases[i].in, cor_buf_z(&out), cases[i].out);
    }
}
#define CHECK_CASES(cases) check_cases(cases, COR_ARRAY_LEN(cases))

/* clang-format off */
/* Contract types 2.2.5. */
TEST(repeated, structs_are_merged_member_by_member)
{
    static const struct merge_case cases[] = {
        {"core_v1.Pod", "{\"spec\":{\"hostNetwork\":true,\"nodeName\":\"m\"},\"spec\":{\"nodeName\":\"n\"}}",
         "{\"spec\":{\"hostNetwork\":true,\"nodeName\":\"n\"}}"},
        {"core_v1.Pod", "{ \"spec\" : {\"securityContext\":{\"runAsUser\":1}, \"securityContext\": {\"runAsGroup\": 2}} }",
         "{\"spec\":{\"securityContext\":{\"runAsGroup\":2,\"runAsUser\":1}}}"},
        {"core_v1.Pod", "{\"sp\\u0065c\":{\"hostIPC\":true},\"spec\":{\"hostPID\":true},\"spec\":{\"hostIPC\":false}}",
         "{\"spec\":{\"hostIPC\":false,\"hostPID\":true}}"},
        {"core_v1.Pod", "{\"unknown\":1,\"spec\":{\"unknown\":{}},\"unknown\":2}", "{\"spec\":{}}"},
    };

    CHECK_CASES(cases);
}

TEST(repeated, null_clears_only_what_can_be_nil)
{
    static const struct merge_case cases[] = {
        {"core_v1.Pod", "{\"spec\":{\"nodeName\":\"n\",\"nodeName\":null},\"spec\":null}", "{\"spec\":{\"nodeName\":\"n\"}}"},
        {"core_v1.Pod", "{\"spec\":{\"securityContext\":{\"runAsUser\":1},\"securityContext\":null,\"securityContext\":{\"runAsGroup\":2}}}",
         "{\"spec\":{\"securityContext\":{\"runAsGroup\":2}}}"},
        {"core_v1.Pod", "{\"spec\":{\"terminationGracePeriodSeconds\":5,\"terminationGracePeriodSeconds\":null}}",
         "{\"spec\":{\"terminationGracePeriodSeconds\":null}}"},
        {"core_v1.ConfigMap", "{\"data\":{\"a\":\"b\"},\"data\":null,\"data\":{\"c\":\"d\"}}", "{\"data\":{\"c\":\"d\"}}"},
        {"coordination_v1.Lease", "{\"spec\":{\"renewTime\":\"2024-01-01T00:00:00.123456Z\",\"renewTime\":null}}",
         "{\"spec\":{\"renewTime\":null}}"},
        {"core_v1.Event", "{\"firstTimestamp\":\"2024-01-01T00:00:00Z\",\"firstTimestamp\":null}", "{\"firstTimestamp\":null}"},
        {"core_v1.HTTPGetAction", "{\"port\":\"http\",\"port\":null}", "{\"port\":0}"},
        {"core_v1.HTTPGetAction", "{\"port\":7,\"port\":null}", "{\"port\":7}"},
        {"apps_v1.ControllerRevision", "{\"data\":{\"a\":1},\"data\":{\"b\":2},\"data\":null}", "{\"data\":{\"b\":2}}"},
    };

    CHECK_CASES(cases);
}

TEST(repeated, maps_gain_keys_and_replace_elements)
{
    static const struct merge_case cases[] = {
        {"core_v1.PodSpec", "{\"nodeSelector\":{\"a\":\"1\",\"b\":\"2\"},\"nodeSelector\":{\"b\":\"3\",\"c\":null}}",
         "{\"nodeSelector\":{\"a\":\"1\",\"b\":\"3\",\"c\":null}}"},
        {"core_v1.ConfigMap", "{\"data\":{\"a\":\"x\",\"\\u0061\":\"y\"},\"d\\u0061ta\":{\"b\":\"z\"}}", "{\"data\":{\"a\":\"y\",\"b\":\"z\"}}"},
        {"apiextensions_v1.JSONSchemaProps", "{\"properties\":{\"a\":{\"type\":\"string\",\"title\":\"t\"}},\"properties\":{\"a\":{\"type\":\"object\"}}}",
         "{\"properties\":{\"a\":{\"type\":\"object\"}}}"},
    };

    CHECK_CASES(cases);
}

/* An element of a list is decoded into the one that is there, or that was there before the list became shorter. */
TEST(repeated, elements_of_lists_are_merged_by_their_places)
{
    static const struct merge_case cases[] = {
        {"core_v1.Container", "{\"ports\":[{\"containerPort\":1},{\"containerPort\":2}],\"ports\":[{\"hostPort\":5}]}",
         "{\"ports\":[{\"containerPort\":1,\"hostPort\":5}]}"},
        {"core_v1.Container", "{\"ports\":[{\"containerPort\":1},{\"containerPort\":2}],\"ports\":[{\"name\":\"x\"}],\"ports\":[{\"name\":\"y\"},{\"protocol\":\"UDP\"},{}]}",
         "{\"ports\":[{\"containerPort\":1,\"name\":\"y\"},{\"containerPort\":2,\"protocol\":\"UDP\"},{}]}"},
        {"core_v1.Container", "{\"ports\":[{\"containerPort\":1}],\"ports\":[],\"ports\":[{\"hostPort\":5}]}", "{\"ports\":[{\"hostPort\":5}]}"},
        {"core_v1.Container", "{\"ports\":[{\"containerPort\":1}],\"ports\":null,\"ports\":[{\"hostPort\":5}]}", "{\"ports\":[{\"hostPort\":5}]}"},
        {"core_v1.Container", "{\"ports\":[{\"containerPort\":1}],\"ports\":[]}", "{\"ports\":[]}"},
        {"meta_v1.ObjectMeta", "{\"finalizers\":[\"a\",\"b\",\"c\"],\"finalizers\":[\"f\"],\"finalizers\":[null,\"g\"]}", "{\"finalizers\":[\"f\",\"g\"]}"},
    };

    CHECK_CASES(cases);
}

/* A type with a decoder of its own makes a new value of each text. */
TEST(repeated, schemas_behind_a_decoder_are_replaced)
{
    static const struct merge_case cases[] = {
        {"apiextensions_v1.JSONSchemaProps", "{\"items\":{\"type\":\"string\"},\"items\":{\"title\":\"t\",\"title\":null,\"items\":{\"type\":\"a\"}}}",
         "{\"items\":{\"items\":{\"type\":\"a\"},\"title\":\"t\"}}"},
        {"apiextensions_v1.JSONSchemaProps", "{\"items\":[{\"not\":{\"type\":\"x\"},\"not\":{\"title\":\"t\"}},{}]}",
         "{\"items\":[{\"not\":{\"title\":\"t\",\"type\":\"x\"}},{}]}"},
        {"apiextensions_v1.JSONSchemaProps", "{\"additionalProperties\":{\"type\":\"string\"},\"additionalProperties\":true}",
         "{\"additionalProperties\":true}"},
        {"apiextensions_v1.JSONSchemaProps", "{\"dependencies\":{\"a\":[\"b\"],\"a\":[\"c\"]}}", "{\"dependencies\":{\"a\":[\"c\"]}}"},
    };

    CHECK_CASES(cases);
}
/* clang-format on */

TEST(repeated, a_failed_allocation_leaves_the_buffer_as_it_was)
{
    static const char pod[] =
        "{\"spec\":{\"containers\":[{\"name\":\"a\",\"env\":[{\"name\":\"E\"}]}],"
        "\"containers\":[{\"image\":\"i\"}]},\"metadata\":{\"labels\":{\"a\":\"b\"},"
        "\"labels\":{\"c\":\"d\"}}}";

    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = BYTES_MAX};
        int r = cor_repeated_merge(cor_strz(pod), named("core_v1.Pod"), &out);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r < 0)
            assert_int_equal(out.n, 0);
        else
            assert_string_equal(cor_buf_z(&out),
                                "{\"metadata\":{\"labels\":{\"a\":\"b\",\"c\":\"d\"}},\"spec\":{"
                                "\"containers\":[{\"env\":[{\"name\":\"E\"}],\"image\":\"i\","
                                "\"name\":\"a\"}]}}");
    }
}
