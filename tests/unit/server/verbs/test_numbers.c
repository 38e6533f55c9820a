/* Numbers at the edges of what integers and doubles hold, in every place that takes a number.
 *
 * Whatever a client sends, the server's answer must be readable by a strict client: each number is
 * finite, the integers of metadata are int64, times are RFC 3339, revisions are decimal. An object
 * that the server accepted is accepted again as the server showed it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api_fixture.h"
#include "base/base64.h"
#include "meta/value/time_text.h"
#include "json/text/scan.h"

#define NS      "/namespaces/default"
#define MAPS    "/api/v1" NS "/configmaps"
#define PODS    "/api/v1" NS "/pods"
#define DEPLOYS "/apis/apps/v1" NS "/deployments"
#define HPAS1   "/apis/autoscaling/v1" NS "/horizontalpodautoscalers"
#define HPAS2   "/apis/autoscaling/v2" NS "/horizontalpodautoscalers"
#define TARGET                                                                                     \
    "\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"d\"},"
#define BUDGETS "/apis/policy/v1" NS "/poddisruptionbudgets"

#define MERGE     "application/merge-patch+json"
#define STRATEGIC "application/strategic-merge-patch+json"
#define JSON      "application/json-patch+json"

static const char *const numbers[] = {
    "0",
    "-0",
    "1",
    "-1",
    "1.0",
    "1e3",
    "2147483647",
    "2147483648",
    "-2147483648",
    "-2147483649",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740992",
    "9223372036",
    "9223372037",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "-1e308",
    "1e400",
    "-1e400",
};

static void open_ready(struct fx *fx)
{
    *fx = (struct fx){0};
    fx_open(fx);
    fx_bootstrap(fx);
}

/* ---- The strict client ---- */

static bool is_one_of(struct cor_str key, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (cor_str_eqz(key, names[i]))
            return true;
    }
    return false;
}

/* Members whose Go type is an int64, wherever the server writes them. */
static const char *const integers[] = {"generation",         "deletionGracePeriodSeconds",
                                       "remainingItemCount", "code",
                                       "retryAfterSeconds",  "observedGeneration"};
static const char *const times[] = {"creationTimestamp", "deletionTimestamp", "lastTransitionTime",
                                    "time"};

static void read_member(struct cor_str key, struct cor_str value, const char *what)
{
    struct cor_str raw;
    int64_t ignored;
    uint64_t rev;

    if (is_one_of(key, integers, COR_ARRAY_LEN(integers)) && cor_json_to_i64(value, &ignored) < 0)
        fail_msg("%s: %.*s is no int64: %.*s", what, COR_STR_ARG(key), COR_STR_ARG(value));
    if (is_one_of(key, times, COR_ARRAY_LEN(times)) && cor_json_type(value) != COR_JSON_NULL &&
        (cor_json_to_raw(value, &raw) < 0 || cor_time_parse(raw, &ignored) < 0))
        fail_msg("%s: %.*s is no time: %.*s", what, COR_STR_ARG(key), COR_STR_ARG(value));
    if (cor_str_eqz(key, "resourceVersion") &&
        (cor_json_to_raw(value, &raw) < 0 ||
         (raw.n > 0 && (cor_str_to_u64(raw, &rev) < 0 || rev > INT64_MAX))))
        fail_msg("%s: %.*s is no revision", what, COR_STR_ARG(value));
}

static void read_strictly(struct cor_str value, const char *what)
{
    struct cor_json_iter it = cor_json_iter(value);
    struct cor_str key;
    char number[512];

    switch (cor_json_type(value)) {
    case COR_JSON_OBJECT:
        while (cor_json_iter_member(&it, &key)) {
            struct cor_str member = cor_json_iter_value(&it);

            read_member(key, member, what);
            read_strictly(member, what);
        }
        break;
    case COR_JSON_ARRAY:
        while (cor_json_iter_elem(&it))
            read_strictly(cor_json_iter_value(&it), what);
        break;
    case COR_JSON_NUMBER:
        snprintf(number, sizeof(number), "%.*s", COR_STR_ARG(value));
        if (!isfinite(strtod(number, NULL)))
            fail_msg("%s: no double holds %s", what, number);
        break;
    case COR_JSON_NONE:
        fail_msg("%s: there is nothing", what);
        break;
    default:
        break;
    }
}

/* Sends a request; its answer has been read. Returns the status. */
static int send(struct fx *fx, const char *method, const char *target, const char *body,
                const char *type, const char **ret_answer)
{
    const struct fx_headers headers = {.content_type = type};
    char what[2048];
    FX_CALL call;
    struct cor_str answer;

    snprintf(what, sizeof(what), "%s %s %s", method, target, body);
    fx_start(fx, &call, method, target, body, &headers);
    fx_wait(&call);
    answer = cor_str_trim(cor_buf_str(&call.sink.body));
    read_strictly(answer, what);
    if (ret_answer) {
        static char text[64 * 1024];

        snprintf(text, sizeof(text), "%.*s", COR_STR_ARG(answer));
        *ret_answer = text;
    }
    return call.sink.status;
}

/* ---- Objects ---- */

/* `%s` in the body is the number. */
static const struct creation {
    const char *target, *body;
} creations[] = {
    {MAPS, "{\"metadata\":{\"name\":\"n\",\"generation\":%s}}"},
    {MAPS, "{\"metadata\":{\"name\":\"n\",\"finalizers\":[\"a/b\"],\"generation\":%s}}"},
    {MAPS, "{\"metadata\":{\"name\":\"n\",\"deletionGracePeriodSeconds\":%s}}"},
    {MAPS, "{\"metadata\":{\"name\":\"n\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":"
           "\"A\",\"name\":\"a\",\"uid\":%s}]}}"},
    {MAPS, "{\"metadata\":{\"name\":\"n\",\"labels\":{\"a\":%s}}}"},
    {MAPS, "{\"metadata\":{\"name\":\"n\"},\"more\":{\"deep\":[[{\"x\":%s}]]}}"},
    {PODS, "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"nodeName\":\"a\","
           "\"terminationGracePeriodSeconds\":%s,\"priority\":1," FX_CONTAINERS "}}"},
    {PODS,
     "{\"metadata\":{\"name\":\"n\",\"generation\":%s},\"spec\":{\"nodeName\":\"a\"," FX_CONTAINERS
     "}}"},
    {PODS,
     "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"activeDeadlineSeconds\":%s," FX_CONTAINERS "}}"},
    {DEPLOYS, "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"replicas\":%s," FX_WORKLOAD "}}"},
    {DEPLOYS,
     "{\"metadata\":{\"name\":\"n\",\"generation\":%s},\"spec\":{\"replicas\":1," FX_WORKLOAD "}}"},
    {"/api/v1" NS "/services",
     "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"ports\":[{\"port\":%s,\"targetPort\":1}]}}"},
    {"/api/v1" NS "/events", "{\"metadata\":{\"name\":\"n\"},\"count\":%s}"},
    {"/apis/coordination.k8s.io/v1" NS "/leases",
     "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"leaseDurationSeconds\":%s}}"},
    {"/apis/batch/v1" NS "/jobs",
     "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"ttlSecondsAfterFinished\":%s}}"},
    {"/apis/certificates.k8s.io/v1/certificatesigningrequests",
     "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"expirationSeconds\":%s}}"},
    {BUDGETS, "{\"metadata\":{\"name\":\"n\",\"generation\":%s},\"spec\":{\"minAvailable\":1}}"},
    {BUDGETS, "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"minAvailable\":%s}}"},
    {HPAS1,
     "{\"metadata\":{\"name\":\"n\"},\"spec\":{" TARGET "\"minReplicas\":%s,\"maxReplicas\":9,"
     "\"targetCPUUtilizationPercentage\":50}}"},
    {HPAS1, "{\"metadata\":{\"name\":\"n\"},\"spec\":{" TARGET "\"maxReplicas\":9,"
            "\"targetCPUUtilizationPercentage\":%s}}"},
    {HPAS1, "{\"metadata\":{\"name\":\"n\",\"annotations\":{"
            "\"autoscaling.alpha.kubernetes.io/metrics\":\"[{\\\"type\\\":\\\"Resource\\\","
            "\\\"resource\\\":{\\\"name\\\":\\\"m\\\",\\\"targetAverageUtilization\\\":%s}}]\"}},"
            "\"spec\":{" TARGET "\"maxReplicas\":9}}"},
    {HPAS2,
     "{\"metadata\":{\"name\":\"n\"},\"spec\":{" TARGET "\"maxReplicas\":%s,\"metrics\":[{\"type\":"
     "\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":\"Utilization\","
     "\"averageUtilization\":5}}}]}}"},
    {HPAS2,
     "{\"metadata\":{\"name\":\"n\"},\"spec\":{" TARGET "\"maxReplicas\":3,\"metrics\":[{\"type\":"
     "\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":\"Utilization\","
     "\"averageUtilization\":%s}}}],\"behavior\":{\"scaleUp\":{"
     "\"stabilizationWindowSeconds\":%s}}}}"},
};

static void print(char *out, size_t size, const char *format, const char *number)
{
    size_t n = 0;

    for (const char *p = format; *p && n + 1 < size; p++) {
        if (p[0] == '%' && p[1] == 's') {
            n += (size_t)snprintf(out + n, size - n, "%s", number);
            p++;
        } else {
            out[n++] = *p;
        }
    }
    assert_true(n + 1 < size);
    out[n] = '\0';
}

/* What the server shows of an object is taken back, in each version that shows it. */
static void put_back(struct fx *fx, const char *path)
{
    const char *shown, *again;
    char copy[64 * 1024];
    int status = send(fx, "GET", path, "", NULL, &shown);

    if (status == 404)
        return;
    assert_int_equal(status, 200);
    snprintf(copy, sizeof(copy), "%s", shown);
    if ((status = send(fx, "PUT", path, copy, NULL, &again)) != 200)
        fail_msg("PUT %s: %d %s\nof its own answer %s", path, status, again, copy);
}

static const char *const patches[][2] = {
    {MERGE, "{\"metadata\":{\"generation\":%s}}"},
    {MERGE, "{\"more\":{\"a\":[%s]}}"},
    {STRATEGIC, "{\"metadata\":{\"generation\":%s}}"},
    {STRATEGIC, "{\"more\":{\"b\":[%s]}}"},
    {STRATEGIC, "{\"metadata\":{\"deletionGracePeriodSeconds\":%s}}"},
    {JSON, "[{\"op\":\"add\",\"path\":\"/metadata/generation\",\"value\":%s}]"},
    {JSON, "[{\"op\":\"add\",\"path\":\"/c\",\"value\":{\"a\":[%s]}}]"},
    {JSON, "[{\"op\":\"add\",\"path\":\"/c\",\"value\":%s},{\"op\":\"copy\",\"from\":\"/c\","
           "\"path\":\"/d\"}]"},
    {JSON, "[{\"op\":\"test\",\"path\":\"/c\",\"value\":%s}]"},
    {MERGE, "{\"metadata\":{\"annotations\":{\"a\":\"%s\"}}}"},
};

/* Creation, updates, the three kinds of patches, and both ways to say how to delete. */
static void run_life(struct fx *fx, const struct creation *row, const char *number)
{
    char body[4096], path[256], query[512];
    const char *left;
    int status;

    print(body, sizeof(body), row->body, number);
    status = send(fx, "POST", row->target, body, NULL, NULL);
    if (status != 201 && status != 400 && status != 422)
        fail_msg("POST %s %s: %d", row->target, body, status);
    if (strstr(number, "e400"))
        assert_int_not_equal(status == 201 && !strstr(row->body, "annotations"), 1);
    snprintf(path, sizeof(path), "%s/n", row->target);
    put_back(fx, path);
    if (strstr(path, "horizontal")) {
        put_back(fx, HPAS1 "/n");
        put_back(fx, HPAS2 "/n");
    }
    for (size_t i = 0; status == 201 && i < COR_ARRAY_LEN(patches); i++) {
        int patched;

        print(body, sizeof(body), patches[i][1], number);
        patched = send(fx, "PATCH", path, body, patches[i][0], NULL);
        if (patched != 200 && patched != 400 && patched != 422)
            fail_msg("PATCH %s %s: %d", path, body, patched);
        put_back(fx, path);
    }
    assert_int_equal(send(fx, "GET", row->target, "", NULL, NULL), 200);
    snprintf(query, sizeof(query), "%s?gracePeriodSeconds=%s", path, number);
    status = send(fx, "DELETE", query, "", NULL, NULL);
    if (status != 200 && status != 400 && status != 404)
        fail_msg("DELETE %s: %d", query, status);
    put_back(fx, path);
    assert_int_equal(send(fx, "GET", row->target, "", NULL, NULL), 200);
    (void)send(fx, "PATCH", path, "{\"metadata\":{\"finalizers\":null}}", MERGE, NULL);
    (void)send(fx, "DELETE", path,
               "{\"gracePeriodSeconds\":0,\"propagationPolicy\":\"Background\"}", NULL, NULL);
    if (send(fx, "GET", path, "", NULL, &left) != 404)
        fail_msg("%s with %s stays: %s", path, number, left);
}

TEST(numbers, in_an_object_are_refused_or_can_be_read_and_put_back)
{
    struct fx fx;

    open_ready(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(creations); i++) {
        for (size_t j = 0; j < COR_ARRAY_LEN(numbers); j++)
            run_life(&fx, &creations[i], numbers[j]);
    }
    fx_close(&fx);
}

/* ---- Deletion ---- */

static const char *make_pod(struct fx *fx, const char *spec)
{
    char body[512];

    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n\"," FX_CONTAINERS "%s}}",
             spec);
    return fx_do(fx, 201, "POST", PODS, body);
}

static void drop_pod(struct fx *fx)
{
    fx_do(fx, 200, "DELETE", PODS "/p?gracePeriodSeconds=0", "");
    fx_do(fx, 404, "GET", PODS "/p", "");
}

/* What kube-apiserver writes for these periods: Go multiplies seconds to nanoseconds, which wrap.
 */
TEST(numbers, of_a_grace_period_give_a_time_that_can_be_read)
{
    static const struct {
        const char *asked, *at, *seconds;
    } rows[] = {
        {"30", "2025-01-01T00:00:30Z", "30"},
        {"-1", "2025-01-01T00:00:01Z", "1"},
        {"-9223372036854775808", "2025-01-01T00:00:01Z", "1"},
        {"4294967296", "2161-02-07T06:28:16Z", "4294967296"},
        {"9223372036", "2317-04-12T23:47:16Z", "9223372036"},
        {"9223372037", "1732-09-22T00:12:43Z", "9223372037"},
        {"10000000000", "1757-05-02T18:12:06Z", "10000000000"},
        {"9223372036854775807", "2024-12-31T23:59:59Z", "9223372036854775807"},
    };
    struct fx fx;

    open_ready(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        const char *pod;
        char text[128];

        make_pod(&fx, "");
        snprintf(text, sizeof(text), PODS "/p?gracePeriodSeconds=%s", rows[i].asked);
        pod = fx_do(&fx, 200, "DELETE", text, "");
        assert_at(pod, "metadata.deletionTimestamp", rows[i].at);
        assert_at(pod, "metadata.deletionGracePeriodSeconds", rows[i].seconds);
        put_back(&fx, PODS "/p");
        drop_pod(&fx);
        snprintf(text, sizeof(text), ",\"terminationGracePeriodSeconds\":%s", rows[i].asked);
        make_pod(&fx, text);
        pod = fx_do(&fx, 200, "DELETE", PODS "/p", "");
        assert_at(pod, "metadata.deletionTimestamp", rows[i].at);
        assert_at(pod, "metadata.deletionGracePeriodSeconds", rows[i].seconds);
        drop_pod(&fx);
    }
    fx_close(&fx);
}

TEST(numbers, of_a_shorter_grace_period_never_end_in_the_past)
{
    const char *pod;
    struct fx fx;

    open_ready(&fx);
    make_pod(&fx, "");
    fx_do(&fx, 200, "DELETE", PODS "/p?gracePeriodSeconds=9223372036854775807", "");
    pod = fx_do(&fx, 200, "DELETE", PODS "/p?gracePeriodSeconds=100", "");
    assert_at(pod, "metadata.deletionTimestamp", "2025-01-01T00:01:40Z");
    pod = fx_do(&fx, 200, "DELETE", PODS "/p?gracePeriodSeconds=200", "");
    assert_at(pod, "metadata.deletionGracePeriodSeconds", "100");
    cor_clock_manual_advance(&fx.clock, 60000);
    pod = fx_do(&fx, 200, "DELETE", PODS "/p?gracePeriodSeconds=50", "");
    assert_at(pod, "metadata.deletionTimestamp", "2025-01-01T00:01:00Z");
    assert_at(pod, "metadata.deletionGracePeriodSeconds", "1");
    drop_pod(&fx);
    /* Each step back and forth adds centuries; the years stay ones that can be written. */
    make_pod(&fx, "");
    fx_do(&fx, 200, "DELETE", PODS "/p?gracePeriodSeconds=9223372036854775000", "");
    for (long long n = 9223372036854775000LL, i = 0; i < 60; i++) {
        char target[128];

        n -= i % 2 ? 9223372037LL : 2;
        snprintf(target, sizeof(target), PODS "/p?gracePeriodSeconds=%lld", n);
        assert_int_equal(send(&fx, "DELETE", target, "", NULL, NULL), 200);
    }
    put_back(&fx, PODS "/p");
    fx_close(&fx);
}

TEST(numbers, of_options_are_refused_in_words_that_name_them)
{
    static const struct {
        const char *body, *message;
    } rows[] = {
        {"{\"gracePeriodSeconds\":1e3}",
         "json: cannot unmarshal number 1e3 into Go struct field DeleteOptions.gracePeriodSeconds "
         "of type int64"},
        {"{\"gracePeriodSeconds\":1e400}",
         "json: cannot unmarshal number 1e400 into Go struct field "
         "DeleteOptions.gracePeriodSeconds of type int64"},
        {"{\"gracePeriodSeconds\":9223372036854775808}",
         "json: cannot unmarshal number 9223372036854775808 into Go struct field "
         "DeleteOptions.gracePeriodSeconds of type int64"},
        {"{\"preconditions\":{\"resourceVersion\":5}}",
         "json: cannot unmarshal number into Go struct field "
         "Preconditions.preconditions.resourceVersion of type string"},
    };
    struct fx fx;

    open_ready(&fx);
    make_pod(&fx, "");
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        assert_at(fx_do(&fx, 500, "DELETE", PODS "/p", rows[i].body), "message", rows[i].message);
    fx_do(&fx, 200, "DELETE", PODS "/p?dryRun=All", "{\"dryRun\":[\"All\"],\"more\":1e400}");
    drop_pod(&fx);
    fx_close(&fx);
}

/* ---- Generations ---- */

/* Kubernetes wraps to -9223372036854775808 here, and then refuses every change of the object. */
TEST(numbers, of_a_generation_stay_at_the_largest)
{
    static const char max[] = "9223372036854775807";
    const char *object;
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", MAPS,
          "{\"metadata\":{\"name\":\"c\",\"finalizers\":[\"a/b\"],\"generation\":"
          "9223372036854775807}}");
    object = fx_do(&fx, 200, "DELETE", MAPS "/c", "");
    assert_at(object, "metadata.generation", max);
    fx_do(&fx, 200, "PATCH", MAPS "/c", "{\"metadata\":{\"finalizers\":null}}");
    fx_do(&fx, 404, "GET", MAPS "/c", "");
    fx_do(&fx, 422, "POST", MAPS, "{\"metadata\":{\"name\":\"c\",\"generation\":-1}}");
    fx_close(&fx);
}

/* ---- Times ---- */

TEST(numbers, of_times_are_refused_as_go_refuses_them)
{
    static const struct {
        const char *time, *message;
    } rows[] = {
        {"\"10000-01-01T00:00:00Z\"",
         "parsing time \"10000-01-01T00:00:00Z\" as \"2006-01-02T15:04:05Z07:00\": cannot parse "
         "\"0-01-01T00:00:00Z\" as \"-\""},
        {"\"2020-13-01T00:00:00Z\"", "parsing time \"2020-13-01T00:00:00Z\": month out of range"},
        {"\"2020-02-30T00:00:00Z\"", "parsing time \"2020-02-30T00:00:00Z\": day out of range"},
        {"\"\"", "parsing time \"\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as "
                 "\"2006\""},
        {"5", "json: cannot unmarshal number into Go struct field "
              "ManagedFieldsEntry.metadata.managedFields.time of type string"},
    };
    struct fx fx;

    open_ready(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        char body[256], message[512];

        snprintf(body, sizeof(body),
                 "{\"metadata\":{\"name\":\"c\",\"managedFields\":[{\"time\":%s}]}}", rows[i].time);
        snprintf(message, sizeof(message),
                 "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: %s",
                 rows[i].message);
        assert_at(fx_do(&fx, 400, "POST", MAPS, body), "message", message);
    }
    fx_close(&fx);
}

/* ---- Numbers that no double holds ---- */

TEST(numbers, that_no_double_holds_are_refused_in_the_words_of_the_decoder)
{
    static const struct {
        const char *method, *type, *body, *message;
    } rows[] = {
        {"POST", NULL, "{\"metadata\":{\"name\":\"d\"},\"x\":1e400}",
         "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal "
         "number 1e400 into Go value of type float64"},
        {"POST", NULL, "{\"metadata\":{\"name\":\"d\",\"generation\":1e400}}",
         "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal "
         "number 1e400 into Go struct field ObjectMeta.metadata.generation of type int64"},
        {"PUT", NULL, "{\"metadata\":{\"name\":\"c\"},\"x\":[-1e400]}",
         "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal "
         "number -1e400 into Go value of type float64"},
        {"PATCH", MERGE, "{\"x\":1e400}",
         "error decoding patch: json: cannot unmarshal number 1e400 into Go value of type "
         "float64"},
        {"PATCH", STRATEGIC, "{\"x\":1e400}",
         "json: cannot unmarshal number 1e400 into Go value of type float64"},
        {"PATCH", JSON, "[{\"op\":\"add\",\"path\":\"/x\",\"value\":1e400}]",
         "error decoding patch: json: cannot unmarshal number 1e400 into Go struct field "
         "jsonPatchOp.value of type float64"},
        {"POST", "application/yaml", "{metadata: {name: d}, x: .inf}",
         "the object provided is unrecognized (must be of type ConfigMap): json: unsupported "
         "value: +Inf ({metadata: {name: d}, x: .inf})"},
    };
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", MAPS, "{\"metadata\":{\"name\":\"c\"}}");
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        bool is_new = strcmp(rows[i].method, "POST") == 0;
        const struct fx_headers headers = {.content_type = rows[i].type};
        const char *answer = fx_do_with(&fx, 400, rows[i].method, is_new ? MAPS : MAPS "/c",
                                        rows[i].body, rows[i].type ? &headers : NULL);

        assert_at(answer, "message", rows[i].message);
        assert_at(answer, "reason", "BadRequest");
    }
    assert_int_equal(send(&fx, "GET", MAPS, "", NULL, NULL), 200);
    fx_close(&fx);
}

/* A YAML decoder in Go makes a string of a number that no double holds. */
TEST(numbers, of_yaml_that_no_double_holds_are_strings)
{
    const struct fx_headers yaml = {.content_type = "application/yaml"};
    struct fx fx;

    open_ready(&fx);
    assert_at(fx_do_with(&fx, 201, "POST", MAPS, "{metadata: {name: c}, data: {x: 1e400}}", &yaml),
              "data.x", "1e400");
    put_back(&fx, MAPS "/c");
    fx_close(&fx);
}

/* ---- Parts of objects ---- */

TEST(numbers, of_replicas_are_an_int32)
{
    static const struct {
        const char *number;
        int put, patch;
    } rows[] = {
        {"0", 200, 200},          {"-0", 200, 200},
        {"2147483647", 200, 200}, {"2147483648", 400, 422},
        {"-1", 422, 422},         {"-2147483649", 400, 422},
        {"1.0", 400, 422},        {"1e400", 400, 400},
        {"\"many\"", 400, 422},   {"18446744073709551615", 400, 422},
    };
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", DEPLOYS,
          "{\"metadata\":{\"name\":\"d\",\"generation\":9223372036854775807},"
          "\"spec\":{\"replicas\":1," FX_WORKLOAD "}}");
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        char body[256];
        int status;

        print(body, sizeof(body), "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":%s}}",
              rows[i].number);
        status = send(&fx, "PUT", DEPLOYS "/d/scale", body, NULL, NULL);
        if (status != rows[i].put)
            fail_msg("PUT %s: %d", rows[i].number, status);
        status = send(&fx, "PATCH", DEPLOYS "/d/scale", body, MERGE, NULL);
        if (status != rows[i].patch)
            fail_msg("PATCH %s: %d", rows[i].number, status);
        put_back(&fx, DEPLOYS "/d/scale");
        put_back(&fx, DEPLOYS "/d");
    }
    fx_close(&fx);
}

/* Bodies of actions; `%s` is the number. None of them may end in a failure of the server. */
TEST(numbers, of_actions_are_refused_or_done)
{
    static const char *const actions[][2] = {
        {PODS "/p/eviction",
         "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"p\"},"
         "\"deleteOptions\":{\"gracePeriodSeconds\":%s}}"},
        {PODS "/p/eviction",
         "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"p\"},"
         "\"deleteOptions\":{\"preconditions\":{\"resourceVersion\":\"%s\"}}}"},
        {PODS "/p/binding",
         "{\"kind\":\"Binding\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\"},\"target\":{"
         "\"name\":%s}}"},
        {PODS "/p/binding",
         "{\"kind\":\"Binding\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\"},\"target\":%s}"},
        {"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
         "{\"spec\":{\"resourceAttributes\":{\"verb\":\"get\",\"resource\":%s}}}"},
        {"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
         "{\"spec\":{\"resourceAttributes\":{\"verb\":\"get\"}},\"status\":{\"x\":%s}}"},
        {"/apis/authentication.k8s.io/v1/tokenreviews", "{\"spec\":{\"token\":%s}}"},
    };
    struct fx fx;

    open_ready(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(actions); i++) {
        for (size_t j = 0; j < COR_ARRAY_LEN(numbers); j++) {
            char body[512];
            int status;

            (void)send(
                &fx, "POST", PODS,
                "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"schedulerName\":\"s\"," FX_CONTAINERS
                "}}",
                NULL, NULL);
            print(body, sizeof(body), actions[i][1], numbers[j]);
            status = send(&fx, "POST", actions[i][0], body, NULL, NULL);
            if (status >= 500 || (strstr(numbers[j], "e400") && !strstr(body, "\"1e400") &&
                                  !strstr(body, "\"-1e400") && status < 400))
                fail_msg("POST %s %s: %d", actions[i][0], body, status);
            put_back(&fx, PODS "/p");
            (void)send(&fx, "DELETE", PODS "/p?gracePeriodSeconds=0", "", NULL, NULL);
        }
    }
    fx_close(&fx);
}

/* ---- Parameters ---- */

static void print_token(char *out, size_t size, const char *number)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf token = {.max = 1024};
    char json[256];

    snprintf(json, sizeof(json), "{\"v\":\"meta.k8s.io/v1\",\"rv\":%s,\"start\":\"a\"}", number);
    assert_int_equal(cor_base64_encode(COR_BASE64_RAW_URL, cor_strz(json), &token), 0);
    snprintf(out, size, "%s", cor_buf_z(&token));
}

/* Each parameter that takes a number, and its family of more than one verb. A revision that is no
 * uint64 answers 500 for single objects and watches, as in kube-apiserver. */
TEST(numbers, of_parameters_are_refused_or_obeyed)
{
    static const struct {
        const char *method, *target;
        bool is_revision;
    } rows[] = {
        {"GET", MAPS "?limit=%s", false},
        {"GET", MAPS "?timeoutSeconds=%s", false},
        {"GET", MAPS "?resourceVersion=%s", true},
        {"GET", MAPS "?resourceVersion=%s&resourceVersionMatch=Exact", true},
        {"GET", MAPS "?resourceVersion=%s&resourceVersionMatch=NotOlderThan", true},
        {"GET", MAPS "?resourceVersion=%s&limit=1", true},
        {"GET", MAPS "?fieldSelector=metadata.name%3Dc&resourceVersion=%s", true},
        {"GET", MAPS "/c?resourceVersion=%s", true},
        {"GET", PODS "?labelSelector=a%3E%s", false},
        {"DELETE", MAPS "?dryRun=All&gracePeriodSeconds=%s", false},
        {"DELETE", MAPS "?dryRun=All&limit=%s", false},
        {"DELETE", MAPS "?dryRun=All&resourceVersion=%s", true},
        {"DELETE", MAPS "/c?dryRun=All&gracePeriodSeconds=%s", false},
        {"GET", MAPS "?limit=1&continue=%s", true},
    };
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", MAPS, "{\"metadata\":{\"name\":\"c\"}}");
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        for (size_t j = 0; j < COR_ARRAY_LEN(numbers); j++) {
            char target[512], token[512];
            const char *answer;
            int status;

            print_token(token, sizeof(token), numbers[j]);
            print(target, sizeof(target), rows[i].target,
                  strstr(rows[i].target, "continue") ? token : numbers[j]);
            status = send(&fx, rows[i].method, target, "", NULL, &answer);
            if (status == 500 && (!rows[i].is_revision || !strstr(answer, "strconv.ParseUint")))
                fail_msg("%s %s: %s", rows[i].method, target, answer);
            if (rows[i].is_revision && strstr(numbers[j], "18446744073709551615") &&
                !strstr(target, "continue") && status != 504)
                fail_msg("%s %s: %d %s", rows[i].method, target, status, answer);
        }
    }
    fx_close(&fx);
}

/* ---- Patches that grow ---- */

static void fill(struct cor_buf *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(cor_buf_addc(out, 'x'), 0);
}

/* Copies of a value that has 100,000 bytes. */
static void print_copies(struct cor_buf *out, const char *from, const char *to, size_t n)
{
    assert_int_equal(cor_buf_addc(out, '['), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(cor_buf_addf(out, "%s{\"op\":\"copy\",\"from\":\"%s\",\"path\":\"%s%zu\"}",
                                      i > 0 ? "," : "", from, to, i),
                         0);
    assert_int_equal(cor_buf_addc(out, ']'), 0);
}

/* The code, reason and message of kube-apiserver, but that it answers 500 with etcd's words for an
 * object of another kind that is too large for the store. */
TEST(numbers, of_bytes_that_copies_add_are_limited_as_upstream)
{
    static const char rejected[] = "the server rejected our request due to an error in our request";
    static const struct {
        const char *what, *target, *from, *to;
        size_t n;
        int status;
        const char *reason, *message;
    } rows[] = {
        {"over 1 MiB of data", MAPS "/n", "/data/a", "/data/b", 20, 422, "Invalid",
         "ConfigMap \"n\" is invalid: []: Too long: may not be more than 1048576 bytes"},
        {"just below 3 MiB of copies", MAPS "/n", "/data/a", "/data/b", 31, 422, "Invalid",
         "ConfigMap \"n\" is invalid: []: Too long: may not be more than 1048576 bytes"},
        {"over 3 MiB of copies", MAPS "/n", "/data/a", "/data/b", 32, 422, "Invalid", rejected},
        {"doubling", MAPS "/n", "/data", "/data/b", 12, 422, "Invalid", rejected},
        {"too many", MAPS "/n", "/data/a", "/data/b", 10001, 413, "RequestEntityTooLarge",
         "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got "
         "10001"},
        {"too large for the store", PODS "/n", "/metadata/annotations/a", "/metadata/annotations/b",
         20, 413, "RequestEntityTooLarge", "the object is longer than 1572864 bytes"},
    };
    const struct fx_headers json = {.content_type = JSON};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 8u << 20};
    struct fx fx;

    open_ready(&fx);
    assert_int_equal(cor_buf_addz(&body, "{\"metadata\":{\"name\":\"n\"},\"data\":{\"a\":\""), 0);
    fill(&body, 100000);
    assert_int_equal(cor_buf_addz(&body, "\"}}"), 0);
    fx_do(&fx, 201, "POST", MAPS, cor_buf_z(&body));
    cor_buf_reset(&body);
    assert_int_equal(cor_buf_addz(&body, "{\"metadata\":{\"name\":\"n\",\"annotations\":{\"a\":\""),
                     0);
    fill(&body, 100000);
    assert_int_equal(cor_buf_addz(&body, "\"}},\"spec\":{" FX_CONTAINERS "}}"), 0);
    fx_do(&fx, 201, "POST", PODS, cor_buf_z(&body));
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        const char *answer;

        cor_buf_reset(&body);
        print_copies(&body, rows[i].from, rows[i].to, rows[i].n);
        answer = fx_do_with(&fx, 0, "PATCH", rows[i].target, cor_buf_z(&body), &json);
        if (strcmp(fx_at(answer, "message"), rows[i].message) != 0)
            fail_msg("%s: %.300s", rows[i].what, answer);
        assert_at(answer, "reason", rows[i].reason);
        assert_int_equal(strtol(fx_at(answer, "code"), NULL, 10), rows[i].status);
    }
    fx_close(&fx);
}

/* Contract of ConfigMaps and Secrets: a mebibyte of values, whatever the keys. */
TEST(numbers, of_bytes_in_configmaps_and_secrets_are_limited)
{
    static const struct {
        const char *target, *member;
        size_t most;
        const char *message;
    } rows[] = {
        {MAPS, "data", 1048576,
         "ConfigMap \"n\" is invalid: []: Too long: may not be more than 1048576 bytes"},
        {"/api/v1" NS "/secrets", "data", 1398100,
         "Secret \"n\" is invalid: data: Too long: may not be more than 1048576 bytes"},
        {MAPS, "binaryData", 1398100,
         "ConfigMap \"n\" is invalid: []: Too long: may not be more than 1048576 bytes"},
    };
    struct fx fx;

    open_ready(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 8u << 20};
        char target[128];

        assert_int_equal(
            cor_buf_addf(&body, "{\"metadata\":{\"name\":\"n\"},\"%s\":{\"a\":\"", rows[i].member),
            0);
        fill(&body, rows[i].most);
        assert_int_equal(cor_buf_addz(&body, "\"}}"), 0);
        snprintf(target, sizeof(target), "%s/n", rows[i].target);
        fx_do(&fx, 201, "POST", rows[i].target, cor_buf_z(&body));
        fx_do(&fx, 200, "DELETE", target, "");
        cor_buf_truncate(&body, body.n - 3);
        fill(&body, 4);
        assert_int_equal(cor_buf_addz(&body, "\"}}"), 0);
        assert_at(fx_do(&fx, 422, "POST", rows[i].target, cor_buf_z(&body)), "message",
                  rows[i].message);
    }
    fx_close(&fx);
}

/* stringData replaces what data has of the same key. */
TEST(numbers, of_bytes_in_a_secret_count_a_key_once)
{
    static const struct {
        const char *key;
        int status;
    } rows[] = {{"a", 201}, {"b", 422}};
    struct fx fx;

    open_ready(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 8u << 20};

        assert_int_equal(cor_buf_addz(&body, "{\"metadata\":{\"name\":\"n\"},\"data\":{\"a\":\""),
                         0);
        fill(&body, 800000);
        assert_int_equal(cor_buf_addf(&body, "\"},\"stringData\":{\"%s\":\"", rows[i].key), 0);
        fill(&body, 600000);
        assert_int_equal(cor_buf_addz(&body, "\"}}"), 0);
        fx_do(&fx, rows[i].status, "POST", "/api/v1" NS "/secrets", cor_buf_z(&body));
    }
    fx_close(&fx);
}

/* What all clients of a ConfigMap read is of the type that they read. */
TEST(numbers, are_no_values_of_a_configmap)
{
    struct fx fx;

    open_ready(&fx);
    assert_at(
        fx_do(&fx, 400, "POST", MAPS, "{\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":1e400}}"),
        "message",
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal "
        "number into Go struct field ConfigMap.data of type string");
    fx_do(&fx, 400, "POST", MAPS, "{\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":{}}}");
    fx_do(&fx, 400, "POST", MAPS, "{\"metadata\":{\"name\":\"c\"},\"binaryData\":5}");
    fx_do(&fx, 201, "POST", MAPS, "{\"metadata\":{\"name\":\"c\"},\"data\":null}");
    fx_do(&fx, 422, "PATCH", MAPS "/c", "{\"data\":{\"a\":1}}");
    fx_close(&fx);
}

/* ---- Without memory ---- */

TEST(numbers, are_treated_the_same_when_memory_runs_out)
{
    const struct fx_headers json = {.content_type = JSON}, merge = {.content_type = MERGE};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 8u << 20};
    struct fx fx;

    open_ready(&fx);
    make_pod(&fx, "");
    fx_do(&fx, 201, "POST", DEPLOYS,
          "{\"metadata\":{\"name\":\"d\",\"generation\":9223372036854775807},"
          "\"spec\":{\"replicas\":1," FX_WORKLOAD "}}");
    fx_fail_each_alloc(&fx, "DELETE", PODS "/p?dryRun=All&gracePeriodSeconds=9223372036854775807",
                       "", NULL);
    fx_fail_each_alloc(&fx, "GET", "/api/v1/namespaces/%2e%2e/configmaps", "", NULL);
    fx_fail_each_alloc(&fx, "GET", "/api/v1/namespaces/%2e%2e/configmaps/x", "", NULL);
    fx_fail_each_alloc(&fx, "PATCH", DEPLOYS "/d/scale?dryRun=All",
                       "{\"spec\":{\"replicas\":2147483647}}", &merge);
    fx_fail_each_alloc(&fx, "PATCH", DEPLOYS "/d?dryRun=All",
                       "[{\"op\":\"add\",\"path\":\"/spec/a\",\"value\":1e308}]", &json);
    fx_fail_each_alloc(&fx, "PATCH", DEPLOYS "/d",
                       "[{\"op\":\"add\",\"path\":\"/spec/a\",\"value\":1e400}]", &json);
    fx_fail_each_alloc(&fx, "POST", MAPS, "{\"metadata\":{\"name\":\"c\"},\"x\":1e400}", NULL);
    assert_int_equal(cor_buf_addz(&body, "{\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":\""), 0);
    fill(&body, 1048577);
    assert_int_equal(cor_buf_addz(&body, "\"}}"), 0);
    fx_fail_each_alloc(&fx, "POST", MAPS, cor_buf_z(&body), NULL);
    fx_close(&fx);
}
