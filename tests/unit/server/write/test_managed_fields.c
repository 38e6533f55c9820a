/* metadata.managedFields of creates, updates and patches: who owns which field, since when, and
 * what a client can do to the list itself. The scenarios are those of the contract apply, section
 * 16; tests/cases/apply.cases has most of them as requests. What ownership is by itself is in
 * tests/unit/schema/apply/test_field_managers.c. */
#include <stdio.h>
#include <string.h>

#include "api_fixture.h"
#include "server/write/last_applied.h"

#define CONFIGMAPS  "/api/v1/namespaces/default/configmaps"
#define C           CONFIGMAPS "/c"
#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"
#define D           DEPLOYMENTS "/d"

static const struct fx_headers merge = {.content_type = "application/merge-patch+json"};
static const struct fx_headers json_patch = {.content_type = "application/json-patch+json"};

static void open_ready(struct fx *fx)
{
    *fx = (struct fx){0};
    fx_open(fx);
    fx_bootstrap(fx);
}

static void pass_second(struct fx *fx)
{
    cor_clock_manual_advance(&fx->clock, 1000);
}

/* The entries of an object as a text: "manager/operation/subresource@seconds: fields", each in a
 * line of its own; without a time the seconds are "-". */
static const char *entries(const char *json)
{
    static char text[16384];
    size_t n = 0;

    text[0] = '\0';
    for (int i = 0;; i++) {
        char path[64];
        const char *time, *sub, *who;

        snprintf(path, sizeof(path), "metadata.managedFields[%d].manager", i);
        who = fx_at(json, path);
        if (!who[0])
            return text;
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i > 0 ? "\n" : "", who);
        snprintf(path, sizeof(path), "metadata.managedFields[%d].operation", i);
        n += (size_t)snprintf(text + n, sizeof(text) - n, "/%c", fx_at(json, path)[0]);
        snprintf(path, sizeof(path), "metadata.managedFields[%d].subresource", i);
        sub = fx_at(json, path);
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", sub[0] ? "/" : "", sub);
        snprintf(path, sizeof(path), "metadata.managedFields[%d].time", i);
        time = fx_at(json, path);
        n += (size_t)snprintf(text + n, sizeof(text) - n, "@%.2s",
                              time[0] ? time + strlen("2025-01-01T00:00:") : "-");
        snprintf(path, sizeof(path), "metadata.managedFields[%d].fieldsV1", i);
        n += (size_t)snprintf(text + n, sizeof(text) - n, ": %s", fx_at(json, path));
    }
}

#define assert_entries(json, expected) assert_string_equal(entries(json), (expected))

#define OF_K                                                                                       \
    "k/U@00: {\"f:data\":{\".\":{},\"f:a\":{}},\"f:metadata\":{\"f:labels\":{\".\":{},\"f:x\":{}}}}"

/* Scenario 47. */
static const char *create_c(struct fx *fx)
{
    return fx_do(fx, 201, "POST", CONFIGMAPS "?fieldManager=k",
                 "{\"metadata\":{\"name\":\"c\",\"labels\":{\"x\":\"1\"}},\"data\":{\"a\":\"1\"}}");
}

TEST(managed_fields, of_a_create_are_what_the_client_sent_and_what_it_defaulted)
{
    struct fx fx;
    const char *answer;

    open_ready(&fx);
    answer = create_c(&fx);
    assert_entries(answer, OF_K);
    assert_at(answer, "metadata.managedFields[0].apiVersion", "v1");
    assert_at(answer, "metadata.managedFields[0].fieldsType", "FieldsV1");
    assert_at(answer, "metadata.managedFields[0].time", "2025-01-01T00:00:00Z");
    /* Scenario 54. */
    answer =
        fx_do(&fx, 201, "POST", DEPLOYMENTS "?fieldManager=kubectl-create",
              "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":2,\"selector\":{"
              "\"matchLabels\":{\"app\":\"x\"}},\"template\":{\"metadata\":{\"labels\":{"
              "\"app\":\"x\"}},\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"i\"}]}}}}");
    assert_entries(
        answer,
        "kubectl-create/U@00: "
        "{\"f:spec\":{\"f:progressDeadlineSeconds\":{},\"f:replicas\":{},\"f:revisionHistoryLimit\":"
        "{},\"f:selector\":{},\"f:strategy\":{\"f:rollingUpdate\":{\".\":{},\"f:maxSurge\":{},"
        "\"f:maxUnavailable\":{}},\"f:type\":{}},\"f:template\":{\"f:metadata\":{\"f:labels\":{"
        "\".\":{},\"f:app\":{}}},\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"a\\\"}\":{"
        "\".\":{},\"f:image\":{},\"f:imagePullPolicy\":{},\"f:name\":{},\"f:resources\":{},"
        "\"f:terminationMessagePath\":{},\"f:terminationMessagePolicy\":{}}},\"f:dnsPolicy\":{},"
        "\"f:restartPolicy\":{},\"f:schedulerName\":{},\"f:securityContext\":{},"
        "\"f:terminationGracePeriodSeconds\":{}}}}}");
    /* What is not stored is not owned. */
    answer =
        fx_do(&fx, 201, "POST", CONFIGMAPS "?fieldManager=k",
              "{\"metadata\":{\"name\":\"e\",\"deletionTimestamp\":\"2025-01-01T00:00:00Z\"}}");
    assert_entries(answer, "");
    fx_close(&fx);
}

/* Contract apply 16.3.67, 3.1.4, 3.1.5. */
TEST(managed_fields, name_the_manager_or_the_user_agent)
{
    static const struct {
        const char *agent, *query, *manager;
    } cases[] = {
        {"my-tool/1.2 (x)", "", "my-tool"},
        {"my-tool/1.2 (x)", "?fieldManager=other", "other"},
        {"no slash", "", "no slash"},
        {"", "", "unknown"},
        {"/", "", "unknown"},
        {"a\tb\x01/1", "", "ab"},
        {"a\"b/1", "", "a\"b"},
    };
    struct fx fx;

    open_ready(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        const struct fx_headers headers = {.user_agent = cases[i].agent};
        char target[128], body[128];

        snprintf(target, sizeof(target), CONFIGMAPS "%s", cases[i].query);
        snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"c%zu\"},\"data\":{\"a\":\"1\"}}",
                 i);
        assert_at(fx_do_with(&fx, 201, "POST", target, body, &headers),
                  "metadata.managedFields[0].manager", cases[i].manager);
    }
    fx_close(&fx);
}

TEST(managed_fields, of_an_update_move_with_the_fields_that_changed)
{
    struct fx fx;
    const char *answer, *rv;

    open_ready(&fx);
    create_c(&fx);
    pass_second(&fx);
    /* Scenario 48. */
    answer = fx_do(&fx, 200, "PUT", C "?fieldManager=l",
                   "{\"metadata\":{\"name\":\"c\",\"labels\":{\"x\":\"1\",\"y\":\"1\"}},\"data\":{"
                   "\"a\":\"1\"}}");
    assert_entries(answer, OF_K "\nl/U@01: {\"f:metadata\":{\"f:labels\":{\"f:y\":{}}}}");
    pass_second(&fx);
    /* A patch takes a field; k keeps its time. */
    answer = fx_do_with(&fx, 200, "PATCH", C "?fieldManager=m", "{\"data\":{\"a\":\"2\"}}", &merge);
    assert_entries(answer, "k/U@00: {\"f:data\":{},\"f:metadata\":{\"f:labels\":{\".\":{},"
                           "\"f:x\":{}}}}\n"
                           "l/U@01: {\"f:metadata\":{\"f:labels\":{\"f:y\":{}}}}\n"
                           "m/U@02: {\"f:data\":{\"f:a\":{}}}");
    pass_second(&fx);
    /* Contract apply 6.4.3, 8.4.3: what changes no value moves nothing, and is not written. */
    rv = fx_at(answer, "metadata.resourceVersion");
    answer = fx_do_with(&fx, 200, "PATCH", C "?fieldManager=n", "{\"data\":{\"a\":\"2\"}}", &merge);
    assert_at(answer, "metadata.resourceVersion", rv);
    /* The requester's own field: only its time changes. */
    answer = fx_do_with(&fx, 200, "PATCH", C "?fieldManager=m", "{\"data\":{\"a\":\"3\"}}", &merge);
    assert_at(answer, "metadata.managedFields[2].time", "2025-01-01T00:00:03Z");
    /* Scenario 49: what goes leaves all sets, and makes no entry. */
    answer = fx_do(&fx, 200, "PUT", C "?fieldManager=o", "{\"metadata\":{\"name\":\"c\"}}");
    assert_entries(answer, "");
    fx_close(&fx);
}

/* Scenarios 60 to 62 and 64; Contract apply 8.1.1 to 8.1.4. */
TEST(managed_fields, can_be_reset_renamed_and_never_be_broken_by_a_client)
{
    static const char *const resets[] = {
        "{\"metadata\":{\"managedFields\":[{}]}}",
        "{\"metadata\":{\"managedFields\":[]}}",
    };
    struct fx fx;
    const char *answer;

    open_ready(&fx);
    create_c(&fx);
    pass_second(&fx);
    fx_do_with(&fx, 200, "PATCH", C, "{\"metadata\":{\"managedFields\":null}}", &merge);
    answer = fx_do(&fx, 200, "PUT", C,
                   "{\"metadata\":{\"name\":\"c\",\"labels\":{\"x\":\"1\"},\"managedFields\":[{"
                   "\"manager\":\"z\",\"operation\":\"Foo\"}]},\"data\":{\"a\":\"1\"}}");
    assert_entries(answer, OF_K);
    answer = fx_do_with(&fx, 200, "PATCH", C "?fieldManager=y",
                        "[{\"op\":\"replace\",\"path\":\"/metadata/managedFields/0/manager\","
                        "\"value\":\"z\"}]",
                        &json_patch);
    assert_entries(answer, "z/U@00: {\"f:data\":{\".\":{},\"f:a\":{}},"
                           "\"f:metadata\":{\"f:labels\":{\".\":{},\"f:x\":{}}}}");
    for (size_t i = 0; i < COR_ARRAY_LEN(resets); i++) {
        fx_do(&fx, 200, "DELETE", C, NULL);
        create_c(&fx);
        answer = fx_do_with(&fx, 200, "PATCH", C, resets[i], &merge);
        assert_entries(answer, "");
        assert_null(strstr(answer, "managedFields"));
        /* It stays untracked until somebody applies. */
        answer = fx_do_with(&fx, 200, "PATCH", C, "{\"data\":{\"b\":\"1\"}}", &merge);
        assert_null(strstr(answer, "managedFields"));
    }
    fx_close(&fx);
}

/* Scenario 65, Contract apply 7.2.7. */
TEST(managed_fields, of_more_than_ten_updates_are_joined)
{
    struct fx fx;
    const char *answer = NULL;

    open_ready(&fx);
    create_c(&fx);
    for (int i = 1; i <= 10; i++) {
        char target[64], body[64];

        pass_second(&fx);
        snprintf(target, sizeof(target), C "?fieldManager=u%d", i);
        snprintf(body, sizeof(body), "{\"metadata\":{\"labels\":{\"l%d\":\"1\"}}}", i);
        answer = fx_do_with(&fx, 200, "PATCH", target, body, &merge);
    }
    assert_at(answer, "metadata.managedFields[0].manager", "ancient-changes");
    assert_at(answer, "metadata.managedFields[0].time", "2025-01-01T00:00:01Z");
    assert_at(answer, "metadata.managedFields[9].manager", "u10");
    assert_at(answer, "metadata.managedFields[10].manager", "");
    fx_close(&fx);
}

/* Contract apply 10.1, 10.1.1, 5.2.8, 6.1.1, 8.1.6; scenarios 57 and 63. */
TEST(managed_fields, of_a_subresource_have_its_name_and_what_it_can_change)
{
    struct fx fx;
    const char *answer;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", DEPLOYMENTS "?fieldManager=k",
          "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":2," FX_WORKLOAD
          "},\"status\":{\"replicas\":7}}");
    pass_second(&fx);
    /* The spec and the managedFields of a write to /status do not count. */
    answer = fx_do_with(&fx, 200, "PATCH", D "/status?fieldManager=s",
                        "{\"metadata\":{\"managedFields\":[{}]},\"spec\":{\"replicas\":9},"
                        "\"status\":{\"replicas\":3}}",
                        &merge);
    assert_at(answer, "spec.replicas", "2");
    assert_at(answer, "metadata.managedFields[0].manager", "k");
    assert_at(answer, "metadata.managedFields[1].manager", "s");
    assert_at(answer, "metadata.managedFields[1].subresource", "status");
    assert_at(answer, "metadata.managedFields[1].fieldsV1", "{\"f:status\":{\"f:replicas\":{}}}");
    assert_non_null(strstr(fx_at(answer, "metadata.managedFields[0].fieldsV1"), "\"f:replicas\""));
    assert_null(strstr(fx_at(answer, "metadata.managedFields[0].fieldsV1"), "f:status"));
    fx_do_with(&fx, 200, "PATCH", D "/scale?fieldManager=t", "{\"spec\":{\"replicas\":5}}", &merge);
    answer = fx_do(&fx, 200, "GET", D, NULL);
    assert_at(answer, "metadata.managedFields[0].manager", "t");
    assert_at(answer, "metadata.managedFields[0].subresource", "scale");
    assert_at(answer, "metadata.managedFields[0].apiVersion", "apps/v1");
    assert_at(answer, "metadata.managedFields[0].time", "");
    assert_at(answer, "metadata.managedFields[0].fieldsV1", "{\"f:spec\":{\"f:replicas\":{}}}");
    assert_null(strstr(fx_at(answer, "metadata.managedFields[1].fieldsV1"), "\"f:replicas\""));
    fx_close(&fx);
}

/* Contract apply 6.1.2, 6.1.3; kube-apiserver does the same. */
TEST(managed_fields, of_another_version_are_compared_in_it_and_those_of_another_group_go)
{
    static const char hpa[] = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
    struct fx fx;
    const char *answer;

    open_ready(&fx);
    answer = fx_do(
        &fx, 201, "POST", hpa,
        "{\"metadata\":{\"name\":\"h\"},\"spec\":{\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"D\","
        "\"name\":\"d\"},\"maxReplicas\":3,\"targetCPUUtilizationPercentage\":50}}");
    assert_at(answer, "metadata.managedFields[0].apiVersion", "autoscaling/v1");
    answer = fx_do_with(
        &fx, 200, "PATCH",
        "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/h?fieldManager=l",
        "{\"spec\":{\"maxReplicas\":5}}", &merge);
    assert_entries(answer,
                   "l/U@00: {\"f:spec\":{\"f:maxReplicas\":{}}}\n"
                   "unknown/U@00: {\"f:spec\":{\"f:minReplicas\":{},\"f:scaleTargetRef\":{},"
                   "\"f:targetCPUUtilizationPercentage\":{}}}");
    fx_do(&fx, 201, "POST", "/apis/events.k8s.io/v1/namespaces/default/events",
          "{\"metadata\":{\"name\":\"e\"},\"eventTime\":\"2025-01-01T00:00:00.000000Z\","
          "\"reportingController\":\"a.b/c\",\"reportingInstance\":\"i\",\"action\":\"a\","
          "\"reason\":\"r\",\"type\":\"Normal\",\"regarding\":{\"kind\":\"Pod\",\"name\":\"p\","
          "\"namespace\":\"default\"}}");
    answer = fx_do_with(&fx, 200, "PATCH", "/api/v1/namespaces/default/events/e?fieldManager=l",
                        "{\"message\":\"m\"}", &merge);
    assert_entries(answer, "l/U@00: {\"f:message\":{}}");
    fx_close(&fx);
}

#define OWNER "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"o\",\"uid\":\"u\"}"
#define ENTRY(name)                                                                                \
    "{\"manager\":\"" name                                                                         \
    "\",\"operation\":\"Update\",\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\","               \
    "\"fieldsV1\":{\"f:data\":{\"f:" name "\":{}}}}"
#define ENTRIES(name)                                                                              \
    ENTRY(name "1") "," ENTRY(name "2") "," ENTRY(name "3") "," ENTRY(name "4") "," ENTRY(name "1")

TEST(managed_fields, survive_every_failed_allocation)
{
    struct fx fx;

    open_ready(&fx);
    create_c(&fx);
    fx_fail_each_alloc(&fx, "PUT", C "?dryRun=All&fieldManager=l",
                       "{\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":\"5\",\"b\":\"1\"}}", NULL);
    fx_fail_each_alloc(&fx, "POST", CONFIGMAPS "?dryRun=All",
                       "{\"metadata\":{\"name\":\"n\"},\"data\":{\"a\":\"5\"}}", NULL);
    /* Owners that are repeated, entries of other managers, more than ten updates. */
    fx_fail_each_alloc(&fx, "PUT", C "?dryRun=All&fieldManager=l",
                       "{\"metadata\":{\"name\":\"c\",\"ownerReferences\":[" OWNER "," OWNER
                       "],\"managedFields\":[" ENTRIES("a") "," ENTRIES("b") "," ENTRIES(
                           "c") "," ENTRIES("d") "]}}",
                       NULL);
    /* A scale, and entries of another version. */
    fx_do(&fx, 201, "POST", DEPLOYMENTS "?fieldManager=k",
          "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":2," FX_WORKLOAD "}}");
    fx_fail_each_alloc(&fx, "PATCH", D "/scale?dryRun=All&fieldManager=s",
                       "{\"spec\":{\"replicas\":5}}", &merge);
    fx_do(&fx, 201, "POST", "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
          "{\"metadata\":{\"name\":\"h\"},\"spec\":{\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\","
          "\"kind\":\"D\",\"name\":\"d\"},\"maxReplicas\":3}}");
    fx_fail_each_alloc(&fx, "PATCH",
                       "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/h?"
                       "dryRun=All&fieldManager=l",
                       "{\"spec\":{\"maxReplicas\":5}}", &merge);
    fx_close(&fx);
}

/* ---- apply ---- */

static const struct fx_headers apply = {.content_type = "application/apply-patch+yaml"};

#define TYPE "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
#define META "\"metadata\":{\"name\":\"c\"}"

static const char *apply_c(struct fx *fx, int status, const char *query, const char *rest)
{
    char target[128], body[512];

    snprintf(target, sizeof(target), C "?%s", query);
    snprintf(body, sizeof(body), "{" TYPE META "%s%s}", rest[0] ? "," : "", rest);
    return fx_do_with(fx, status, "PATCH", target, body, &apply);
}

/* Scenarios 1 to 23 as far as a ConfigMap shows them. */
TEST(apply, creates_takes_shares_and_gives_up_fields)
{
    struct fx fx;
    const char *answer, *rv;

    open_ready(&fx);
    answer = apply_c(&fx, 201, "fieldManager=a", "\"data\":{\"a\":\"1\",\"b\":\"2\"}");
    assert_entries(answer, "a/A@00: {\"f:data\":{\"f:a\":{},\"f:b\":{}}}");
    rv = fx_at(answer, "metadata.resourceVersion");
    pass_second(&fx);
    /* The same again is not written. */
    answer = apply_c(&fx, 200, "fieldManager=a", "\"data\":{\"a\":\"1\",\"b\":\"2\"}");
    assert_at(answer, "metadata.resourceVersion", rv);
    /* A conflict has a cause for each field. */
    answer = apply_c(&fx, 409, "fieldManager=b", "\"data\":{\"a\":\"5\"}");
    assert_at(answer, "message", "Apply failed with 1 conflict: conflict with \"a\": .data.a");
    assert_at(answer, "reason", "Conflict");
    assert_at(answer, "details",
              "{\"causes\":[{\"reason\":\"FieldManagerConflict\",\"message\":\"conflict with "
              "\\\"a\\\"\",\"field\":\".data.a\"}]}");
    apply_c(&fx, 409, "fieldManager=b&force=false", "\"data\":{\"a\":\"5\"}");
    apply_c(&fx, 409, "fieldManager=b&dryRun=All", "\"data\":{\"a\":\"5\"}");
    /* The present value makes a co-owner without a time. */
    answer = apply_c(&fx, 200, "fieldManager=b", "\"data\":{\"a\":\"1\"}");
    assert_entries(answer, "b/A@-: {\"f:data\":{\"f:a\":{}}}\n"
                           "a/A@00: {\"f:data\":{\"f:a\":{},\"f:b\":{}}}");
    answer = apply_c(&fx, 409, "fieldManager=c", "\"data\":{\"a\":\"9\"}");
    assert_at(answer, "message",
              "Apply failed with 2 conflicts: conflicts with \"a\":\n- .data.a\nconflicts with "
              "\"b\":\n- .data.a");
    answer = apply_c(&fx, 200, "fieldManager=c&force=true", "\"data\":{\"a\":\"9\"}");
    assert_at(answer, "data", "{\"a\":\"9\",\"b\":\"2\"}");
    assert_entries(answer, "a/A@00: {\"f:data\":{\"f:b\":{}}}\nc/A@01: {\"f:data\":{\"f:a\":{}}}");
    /* What nobody applies any more goes. */
    answer = apply_c(&fx, 200, "fieldManager=c", "");
    assert_at(answer, "data", "{\"b\":\"2\"}");
    assert_entries(answer, "a/A@00: {\"f:data\":{\"f:b\":{}}}");
    fx_close(&fx);
}

/* Scenarios 51 and 52, Contract apply 7.2.3. */
TEST(apply, to_an_object_without_managers_finds_those_before_it)
{
    struct fx fx;
    const char *answer;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS,
          "{\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":\"1\",\"b\":\"2\"}}");
    fx_do_with(&fx, 200, "PATCH", C, "{\"metadata\":{\"managedFields\":[{}]}}", &merge);
    answer = apply_c(&fx, 409, "fieldManager=a", "\"data\":{\"a\":\"3\"}");
    assert_at(answer, "message",
              "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: "
              ".data.a");
    answer = apply_c(&fx, 200, "fieldManager=a", "\"data\":{\"a\":\"1\"}");
    assert_entries(answer, "a/A@-: {\"f:data\":{\"f:a\":{}}}\n"
                           "before-first-apply/U@00: "
                           "{\"f:data\":{\".\":{},\"f:a\":{},\"f:b\":{}}}");
    fx_close(&fx);
}

/* Contract apply 1.1.9, 1.2.4, 1.2.6, 2.1.1, 2.1.2, 2.1.4, 2.1.11, 2.2.2. */
TEST(apply, is_refused_in_upstreams_words)
{
    static const struct {
        int status;
        const char *target, *body, *message;
    } cases[] = {
        {422, C, "{}",
         "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for "
         "apply patch"},
        {400, C "?fieldManager=m", "{}", "invalid object type: /, Kind="},
        {400, C "?fieldManager=m", "null", "invalid object type: /, Kind="},
        {400, C "?fieldManager=m", "kind: Pod\napiVersion: v1\n",
         "invalid object type: /v1, Kind=Pod"},
        {400, C "?fieldManager=m", "kind: Deployment\napiVersion: apps/v1\n",
         "invalid object type: apps/v1, Kind=Deployment"},
        {400, C "?fieldManager=m", "{" TYPE "\"metadata\":{\"managedFields\":[]}}",
         "metadata.managedFields must be nil"},
        {400, C "?fieldManager=m", "{" TYPE "\"data\":{\"a\":\"1\"}}",
         "the name of the object (c based on URL) was undeterminable: name must be provided"},
        {400, C "?fieldManager=m", "{" TYPE "\"metadata\":{\"name\":\"d\"}}",
         "the name of the object (d) does not match the name on the URL (c)"},
        {409, C "?fieldManager=m", "{" TYPE "\"metadata\":{\"name\":\"c\",\"uid\":\"u\"}}",
         "Operation cannot be fulfilled on configmaps \"c\": uid mismatch: the provided object "
         "specified uid u, and no existing object was found"},
        {500, C "?fieldManager=m", "{" TYPE META ",\"foo\":1}",
         "failed to create typed patch object (/c; /v1, Kind=ConfigMap): .foo: field not declared "
         "in schema"},
        {404, D "/status?fieldManager=m",
         "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"d\"}}",
         "deployments.apps \"d\" not found"},
        {400, C "?fieldManager=m&fieldValidation=Strict",
         "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: x\n  a: w\n",
         "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  "
         "line 7: key \"a\" already set in map"},
    };
    struct fx fx;
    const char *answer;

    open_ready(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        answer = fx_do_with(&fx, cases[i].status, "PATCH", cases[i].target, cases[i].body, &apply);
        assert_at(answer, "message", cases[i].message);
    }
    /* In YAML, with a repeated key that counts for the last time. */
    answer = fx_do_with(&fx, 201, "PATCH", C "?fieldManager=m&fieldValidation=Ignore",
                        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: x\n"
                        "  a: w\n",
                        &apply);
    assert_at(answer, "data", "{\"a\":\"w\"}");
    fx_close(&fx);
}

/* Scenarios 55 and 56, Contract apply 10.2. */
TEST(apply, of_a_workload_owns_what_was_sent_and_not_the_defaults)
{
#define APPLIED                                                                                    \
    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: d\nspec:\n  selector:\n    "        \
    "matchLabels: {app: x}\n  template:\n    metadata:\n      labels: {app: x}\n    spec:\n      " \
    "containers:\n      - {name: a, image: i}\n"
    struct fx fx;
    const char *answer;

    open_ready(&fx);
    answer = fx_do_with(&fx, 201, "PATCH", D "?fieldManager=a", APPLIED "  replicas: 2\n", &apply);
    assert_at(answer, "spec.replicas", "2");
    assert_entries(answer,
                   "a/A@00: {\"f:spec\":{\"f:replicas\":{},\"f:selector\":{},\"f:template\":{"
                   "\"f:metadata\":{\"f:labels\":{\"f:app\":{}}},\"f:spec\":{\"f:containers\":{"
                   "\"k:{\\\"name\\\":\\\"a\\\"}\":{\".\":{},\"f:image\":{},\"f:name\":{}}}}}}}");
    answer = fx_do_with(&fx, 200, "PATCH", D "?fieldManager=a", APPLIED, &apply);
    assert_at(answer, "spec.replicas", "1");
    assert_at(answer, "metadata.generation", "2");
    /* Through /status, only the status is owned. */
    answer = fx_do_with(&fx, 200, "PATCH", D "/status?fieldManager=s",
                        APPLIED "  replicas: 7\nstatus: {replicas: 3}\n", &apply);
    assert_at(answer, "spec.replicas", "1");
    assert_at(answer, "status.replicas", "3");
    assert_at(answer, "metadata.managedFields[1].subresource", "status");
    assert_at(answer, "metadata.managedFields[1].fieldsV1", "{\"f:status\":{\"f:replicas\":{}}}");
    answer = fx_do_with(&fx, 409, "PATCH", D "/status?fieldManager=t",
                        "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"status\":{"
                        "\"replicas\":4}}",
                        &apply);
    assert_at(answer, "message",
              "Apply failed with 1 conflict: conflict with \"s\" with subresource \"status\": "
              ".status.replicas");
    fx_close(&fx);
}

static const char *apply_scale(struct fx *fx, int status, const char *query, int replicas)
{
    char target[128], body[128];

    snprintf(target, sizeof(target), D "/scale?%s", query);
    snprintf(body, sizeof(body),
             "{\"apiVersion\":\"autoscaling/v1\",\"kind\":\"Scale\",\"spec\":{\"replicas\":%d}}",
             replicas);
    return fx_do_with(fx, status, "PATCH", target, body, &apply);
}

#define OF_SCALE "{\"f:spec\":{\"f:replicas\":{}}}"
#define LITTLE                                                                                     \
    "{\"f:spec\":{\"f:selector\":{},\"f:template\":{\"f:metadata\":{\"f:labels\":{"                \
    "\"f:app\":{}}},\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"a\\\"}\":{\".\":{},"       \
    "\"f:image\":{},\"f:name\":{}}}}}}}"

/* Scenarios 57 to 59, Contract apply 10.4.1 to 10.4.4, 10.4.7, 10.4.10 and 2.2.2. */
TEST(apply, to_a_scale_takes_the_replicas_of_the_object)
{
    struct fx fx;
    const char *answer;

    open_ready(&fx);
    answer = apply_scale(&fx, 404, "fieldManager=t", 2);
    assert_at(answer, "message", "deployments.apps \"d\" not found");
    fx_do_with(&fx, 201, "PATCH", D "?fieldManager=a", APPLIED "  replicas: 2\n", &apply);
    pass_second(&fx);
    fx_do_with(&fx, 200, "PATCH", D "/scale?fieldManager=s", "{\"spec\":{\"replicas\":5}}", &merge);
    answer = fx_do(&fx, 200, "GET", D, NULL);
    assert_entries(answer, "a/A@00: " LITTLE "\ns/U/scale@-: " OF_SCALE);
    /* The other way round, the scale is named by its object's version. */
    answer = fx_do_with(&fx, 409, "PATCH", D "?fieldManager=a", APPLIED "  replicas: 2\n", &apply);
    assert_at(answer, "message",
              "Apply failed with 1 conflict: conflict with \"s\" with subresource \"scale\" using "
              "apps/v1: .spec.replicas");
    answer = apply_scale(&fx, 409, "fieldManager=t", 7);
    assert_at(answer, "message",
              "Apply failed with 1 conflict: conflict with \"s\" with subresource \"scale\" using "
              "autoscaling/v1: .spec.replicas");
    fx_do_with(&fx, 200, "PATCH", D "?fieldManager=a&force=true", APPLIED "  replicas: 2\n",
               &apply);
    answer = apply_scale(&fx, 409, "fieldManager=t", 17);
    assert_at(answer, "message",
              "Apply failed with 1 conflict: conflict with \"a\": .spec.replicas");
    answer = apply_scale(&fx, 200, "fieldManager=t&force=true", 17);
    assert_at(answer, "kind", "Scale");
    assert_at(answer, "spec.replicas", "17");
    assert_null(strstr(answer, "managedFields"));
    answer = fx_do(&fx, 200, "GET", D, NULL);
    assert_at(answer, "spec.replicas", "17");
    assert_entries(answer, "t/A/scale@-: " OF_SCALE "\na/A@01: " LITTLE);
    assert_at(answer, "metadata.managedFields[0].apiVersion", "apps/v1");
    /* The same number makes a co-owner; the same again is not written. */
    apply_scale(&fx, 200, "fieldManager=u", 17);
    answer = fx_do(&fx, 200, "GET", D, NULL);
    assert_entries(answer, "t/A/scale@-: " OF_SCALE "\nu/A/scale@-: " OF_SCALE "\na/A@01: " LITTLE);
    assert_at(apply_scale(&fx, 200, "fieldManager=u", 17), "metadata.resourceVersion",
              fx_at(answer, "metadata.resourceVersion"));
    answer = fx_do_with(&fx, 400, "PATCH", D "/scale?fieldManager=a", APPLIED, &apply);
    assert_at(answer, "message", "invalid object type: apps/v1, Kind=Deployment");
    answer = apply_scale(&fx, 422, "fieldManager=u&force=true", -1);
    assert_at(answer, "message",
              "Scale.autoscaling \"d\" is invalid: spec.replicas: Invalid value: -1: must be "
              "greater than or equal to 0");
    fx_fail_each_alloc(&fx, "PATCH", D "/scale?fieldManager=v&force=true&dryRun=All",
                       "{\"apiVersion\":\"autoscaling/v1\",\"kind\":\"Scale\",\"spec\":{"
                       "\"replicas\":3}}",
                       &apply);
    fx_close(&fx);
}

/* Contract apply 10.4.12 and 10.4.13. */
TEST(apply, to_a_scale_whose_replicas_nobody_owns_conflicts_with_those_before_it)
{
    struct fx fx;
    const char *answer;

    open_ready(&fx);
    fx_do_with(&fx, 201, "PATCH", D "?fieldManager=a", APPLIED, &apply);
    /* An update of the scale is not tracked then. */
    fx_do_with(&fx, 200, "PATCH", D "/scale?fieldManager=s", "{\"spec\":{\"replicas\":5}}", &merge);
    assert_entries(fx_do(&fx, 200, "GET", D, NULL), "a/A@00: " LITTLE);
    answer = apply_scale(&fx, 409, "fieldManager=t", 6);
    assert_at(answer, "message",
              "Apply failed with 1 conflict: conflict with \"before-first-apply\" with subresource "
              "\"scale\" using autoscaling/v1: .spec.replicas");
    /* An update that keeps the replicas gets a second entry of the same name without a time, and
     * the next write to the object forgets that one. */
    fx_do_with(&fx, 200, "PATCH", D "?fieldManager=k",
               "{\"metadata\":{\"labels\":{\"x\":\"1\"}},\"spec\":{\"replicas\":7}}", &merge);
    fx_do_with(&fx, 200, "PATCH", D "/scale?fieldManager=s",
               "{\"spec\":{\"replicas\":7},\"status\":{\"replicas\":9}}", &merge);
    answer = fx_do(&fx, 200, "GET", D, NULL);
    assert_entries(answer, "a/A@00: " LITTLE "\nk/U@-: " OF_SCALE
                           "\nk/U@00: {\"f:metadata\":{\"f:labels\":{\".\":{},\"f:x\":{}}}}");
    pass_second(&fx);
    answer = fx_do_with(&fx, 200, "PATCH", D "?fieldManager=l", "{}", &merge);
    assert_entries(answer, "a/A@00: " LITTLE
                           "\nk/U@00: {\"f:metadata\":{\"f:labels\":{\".\":{},\"f:x\":{}}}}");
    fx_close(&fx);
}

/* clang-format off */
#define CSRS "/apis/certificates.k8s.io/v1/certificatesigningrequests"
static const char csr[] =
    "{\"apiVersion\":\"certificates.k8s.io/v1\",\"kind\":\"CertificateSigningRequest\",\"metada"
    "ta\":{\"name\":\"r\"},\"spec\":{\"request\":\"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0t"
    "LS0KTUlISU1IQUNBUUF3RGpFTU1Bb0dBMVVFQXd3RFlXNXVNRmt3RXdZSEtvWkl6ajBDQVFZSUtvWkl6ajBEQVFjRA"
    "pRZ0FFQVk1d0lLQVNPV296UmRvRnVRSzBqcHltZ1k3YWVkRHU2c0IvLy9CbExKcktCWDBGa1Q1NDhETzN0K3o2Ck1n"
    "QloxSkRFeFUzUnoxcUlLYkNlSkRhOEY2QUFNQW9HQ0NxR1NNNDlCQU1DQTBnQU1FVUNJRXBwZkVrTFRLVWEKeDFCc3"
    "J4MGpuTVRzQnNqSjllUEd5THNjNUNzWGtwMmhBaUVBNUMzTlZyM0cwQ1NPU1N1Y2F6cFltQzhHR1AzRQphUHkydS9M"
    "aDZNV1lZY1U9Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=\",\"signerName\":\"example.co"
    "m/s\",\"usages\":[\"client auth\"]}}";
/* clang-format on */

TEST(apply, creates_with_the_user_who_sent_the_request)
{
    struct fx fx;
    const char *answer;
    char user[256], groups[256];

    open_ready(&fx);
    answer = fx_do(&fx, 201, "POST", CSRS "?dryRun=All", csr);
    snprintf(user, sizeof(user), "%s", fx_at(answer, "spec.username"));
    snprintf(groups, sizeof(groups), "%s", fx_at(answer, "spec.groups"));
    assert_true(user[0] && groups[0]);
    answer = fx_do_with(&fx, 201, "PATCH", CSRS "/r?fieldManager=a", csr, &apply);
    assert_at(answer, "spec.username", user);
    assert_at(answer, "spec.groups", groups);
    fx_close(&fx);
}

/* Scenario 71, Contract apply 6.3.2 and 6.6.1: what the last apply owned is looked up in the
 * version of that apply, also when nothing of the metadata is left there. */
TEST(apply, in_another_version_goes_on_from_the_version_before)
{
#define HPA(version) "/apis/autoscaling/" version "/namespaces/default/horizontalpodautoscalers/h"
#define HPA_BODY(version, rest)                                                                     \
    "{\"apiVersion\":\"autoscaling/" version                                                        \
    "\",\"kind\":\"HorizontalPodAutoscaler\",\"metadata\":{"                                        \
    "\"name\":\"h\",\"annotations\":{\"n\":\"\"}},\"spec\":{\"maxReplicas\":3,\"scaleTargetRef\":{" \
    "\"apiVersion\":\"apps/v1\",\"kind\":\"D\",\"name\":\"d\"}" rest "}}"
    struct fx fx;
    const char *answer;

    open_ready(&fx);
    fx_do_with(&fx, 201, "PATCH", HPA("v1") "?fieldManager=m",
               HPA_BODY("v1", ",\"minReplicas\":2,\"targetCPUUtilizationPercentage\":50"), &apply);
    fx_fail_each_alloc(&fx, "PATCH", HPA("v2") "?dryRun=All&fieldManager=m", HPA_BODY("v2", ""),
                       &apply);
    answer = fx_do_with(&fx, 200, "PATCH", HPA("v2") "?fieldManager=m", HPA_BODY("v2", ""), &apply);
    assert_at(answer, "spec.minReplicas", "1");
    assert_at(answer, "spec.metrics[0].resource.target.averageUtilization", "50");
    assert_at(answer, "metadata.managedFields[0].apiVersion", "autoscaling/v2");
    assert_entries(answer, "m/A@00: {\"f:metadata\":{\"f:annotations\":{\"f:n\":{}}},\"f:spec\":{"
                           "\"f:maxReplicas\":{},\"f:scaleTargetRef\":{\"f:apiVersion\":{},"
                           "\"f:kind\":{},\"f:name\":{}}}}");
    /* A resourceVersion of the configuration counts after the conversion too. */
    answer = fx_do_with(&fx, 409, "PATCH", HPA("v1") "?fieldManager=m&force=true",
                        "{\"apiVersion\":\"autoscaling/v1\",\"kind\":\"HorizontalPodAutoscaler\","
                        "\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":{\"maxReplicas\":4}}",
                        &apply);
    assert_non_null(strstr(fx_at(answer, "message"), "the object has been modified"));
    fx_close(&fx);
}

/* The labels of a Job are by default those of its pods. */
TEST(managed_fields, of_defaults_that_copy_what_was_sent_are_the_clients)
{
#define JOBS "/apis/batch/v1/namespaces/default/jobs"
#define JOB(metadata)                                                                              \
    "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"template\":{\"metadata\":{" metadata               \
    "},\"spec\":{"                                                                                 \
    "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}"
    struct fx fx;
    const char *answer;

    open_ready(&fx);
    answer = fx_do(&fx, 201, "POST", JOBS "?dryRun=All", JOB("\"labels\":{\"x\":\"1\"}"));
    assert_non_null(strstr(fx_at(answer, "metadata.managedFields[0].fieldsV1"),
                           "\"f:metadata\":{\"f:labels\":{\".\":{},\"f:x\":{}}}"));
    /* What the server has added to the pods is nobody's. */
    answer = fx_do(&fx, 201, "POST", JOBS "?dryRun=All", JOB(""));
    assert_non_null(strstr(fx_at(answer, "metadata.labels"), "job-name"));
    assert_null(strstr(fx_at(answer, "metadata.managedFields[0].fieldsV1"), "f:labels"));
    fx_close(&fx);
}

/* Writes that are under way together read the same state; the one that is stored second is judged
 * again from its first stage. Which of them that is does not matter. Contract apply 1.2.1, 1.2.2.
 */
TEST(apply, after_a_lost_compare_is_judged_against_the_newer_object)
{
    static const char of_a[] = "{" TYPE META ",\"data\":{\"a\":\"1\",\"s\":\"1\"}}";
    static const char of_b[] = "{" TYPE META ",\"data\":{\"b\":\"1\",\"s\":\"1\"}}";
    static const char other_s[] = "{" TYPE META ",\"data\":{\"c\":\"1\",\"s\":\"2\"}}";
    struct fx fx;
    const char *now;

    open_ready(&fx);
    /* Both find no object: the second one is merged into that of the first. */
    {
        FX_CALL one, two;

        fx_start(&fx, &one, "PATCH", C "?fieldManager=a", of_a, &apply);
        fx_start(&fx, &two, "PATCH", C "?fieldManager=b", of_b, &apply);
        fx_wait(&one);
        fx_wait(&two);
        assert_int_equal(one.sink.status + two.sink.status, 201 + 200);
    }
    now = fx_do(&fx, 200, "GET", C, NULL);
    assert_at(now, "data", "{\"a\":\"1\",\"b\":\"1\",\"s\":\"1\"}");
    assert_entries(now, "a/A@00: {\"f:data\":{\"f:a\":{},\"f:s\":{}}}\n"
                        "b/A@00: {\"f:data\":{\"f:b\":{},\"f:s\":{}}}");
    /* A conflict that the newer object makes is reported. */
    fx_do(&fx, 200, "DELETE", C, NULL);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"c\"}}");
    {
        FX_CALL one, two;
        bool is_one_first;

        fx_start(&fx, &one, "PATCH", C "?fieldManager=a", of_a, &apply);
        fx_start(&fx, &two, "PATCH", C "?fieldManager=c", other_s, &apply);
        fx_wait(&one);
        fx_wait(&two);
        is_one_first = one.sink.status == 200;
        assert_int_equal(one.sink.status + two.sink.status, 200 + 409);
        assert_at(cor_buf_z(is_one_first ? &two.sink.body : &one.sink.body), "message",
                  is_one_first ? "Apply failed with 1 conflict: conflict with \"a\": .data.s"
                               : "Apply failed with 1 conflict: conflict with \"c\": .data.s");
    }
    /* A PUT takes from the newer object's managers what it changes. */
    fx_do(&fx, 200, "DELETE", C, NULL);
    apply_c(&fx, 201, "fieldManager=a", "\"data\":{\"s\":\"1\"}");
    {
        FX_CALL one, two;

        fx_start(&fx, &one, "PATCH", C "?fieldManager=b&force=true", other_s, &apply);
        fx_start(&fx, &two, "PUT", C "?fieldManager=k",
                 "{\"metadata\":{\"name\":\"c\"},\"data\":{\"c\":\"1\",\"s\":\"3\"}}", NULL);
        fx_wait(&one);
        fx_wait(&two);
        assert_int_equal(one.sink.status + two.sink.status, 200 + 200);
    }
    now = fx_do(&fx, 200, "GET", C, NULL);
    if (strcmp(fx_at(now, "data.s"), "3") == 0) {
        assert_entries(now, "b/A@00: {\"f:data\":{\"f:c\":{}}}\nk/U@00: {\"f:data\":{\"f:s\":{}}}");
    } else {
        assert_entries(now, "b/A@00: {\"f:data\":{\"f:c\":{},\"f:s\":{}}}\n"
                            "k/U@00: {\"f:data\":{\"f:c\":{}}}");
    }
    fx_close(&fx);
}

/* Contract apply 1.2.8: a patch that names a revision is not based on a newer one. */
TEST(patch, with_a_revision_that_loses_the_compare_is_a_conflict)
{
    char patch[128];
    struct fx fx;

    open_ready(&fx);
    snprintf(patch, sizeof(patch),
             "{\"metadata\":{\"resourceVersion\":\"%s\"},\"data\":{\"a\":\"2\"}}",
             fx_at(fx_do(&fx, 201, "POST", CONFIGMAPS,
                         "{\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":\"1\"}}"),
                   "metadata.resourceVersion"));
    {
        FX_CALL one, two;

        fx_start(&fx, &one, "PATCH", C, patch, &merge);
        fx_start(&fx, &two, "PATCH", C, patch, &merge);
        fx_wait(&one);
        fx_wait(&two);
        assert_int_equal(one.sink.status + two.sink.status, 200 + 409);
    }
    fx_close(&fx);
}

/* Contract apply 8.4.1, 8.4.5: an apply that changes only how a quantity is written is not stored,
 * unless its new time moves its entry behind another one. kube-apiserver does the same. */
TEST(apply, that_only_moves_its_entry_is_written)
{
#define LIMITED                                                                                    \
    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: d\nspec:\n  selector:\n    "        \
    "matchLabels: {app: x}\n  template:\n    metadata:\n      labels: {app: x}\n    spec:\n      " \
    "containers:\n      - {name: a, image: i, resources: {limits: {cpu: 1000m}}}\n"
    char revision[32];
    struct fx fx;
    const char *answer;

    open_ready(&fx);
    snprintf(revision, sizeof(revision), "%s",
             fx_at(fx_do_with(&fx, 201, "PATCH", D "?fieldManager=a", LIMITED, &apply),
                   "metadata.resourceVersion"));
    pass_second(&fx);
    assert_at(fx_do_with(&fx, 200, "PATCH", D "?fieldManager=a", LIMITED, &apply),
              "metadata.resourceVersion", revision);
    answer = fx_do_with(
        &fx, 200, "PATCH", D "?fieldManager=b",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, labels: {z: \"1\"}}", &apply);
    assert_at(answer, "metadata.managedFields[1].manager", "b");
    snprintf(revision, sizeof(revision), "%s", fx_at(answer, "metadata.resourceVersion"));
    pass_second(&fx);
    answer = fx_do_with(&fx, 200, "PATCH", D "?fieldManager=a", LIMITED, &apply);
    assert_at(answer, "metadata.managedFields[1].manager", "a");
    assert_string_not_equal(fx_at(answer, "metadata.resourceVersion"), revision);
    fx_close(&fx);
#undef LIMITED
}

TEST(apply, survives_every_failed_allocation)
{
    struct fx fx;

    open_ready(&fx);
    fx_fail_each_alloc(&fx, "PATCH", C "?dryRun=All&fieldManager=m",
                       "{" TYPE META ",\"data\":{\"a\":\"1\"}}", &apply);
    create_c(&fx);
    fx_fail_each_alloc(&fx, "PATCH", C "?dryRun=All&fieldManager=m&force=true",
                       "apiVersion: v1\nkind: ConfigMap\ndata: {a: x}\n", &apply);
    fx_close(&fx);
}

/* Scenarios 68 and 69, Contract apply 7.1. */
TEST(apply, of_kubectl_goes_on_from_what_it_has_applied_by_itself)
{
#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"
    struct fx fx;
    const char *answer;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS "?fieldManager=kubectl-client-side-apply",
          "{\"metadata\":{\"name\":\"c\",\"annotations\":{\"" LAST_APPLIED
          "\":\"{\\\"apiVersion\\\":\\\"v1\\\",\\\"kind\\\":\\\"ConfigMap\\\",\\\"data\\\":{"
          "\\\"a\\\":\\\"1\\\"},\\\"metadata\\\":{\\\"name\\\":\\\"c\\\"}}\"}},"
          "\"data\":{\"a\":\"1\",\"b\":\"1\"}}");
    /* Another manager has no such past, and b was not in the annotation. */
    answer = apply_c(&fx, 409, "fieldManager=flux", "\"data\":{\"a\":\"2\"}");
    assert_at(answer, "message",
              "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using v1: "
              ".data.a");
    answer = apply_c(&fx, 409, "fieldManager=kubectl", "\"data\":{\"a\":\"2\",\"b\":\"2\"}");
    assert_at(answer, "message",
              "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using v1: "
              ".data.b");
    fx_fail_each_alloc(&fx, "PATCH", C "?dryRun=All&fieldManager=kubectl",
                       "{" TYPE META ",\"data\":{\"a\":\"<2\"}}", &apply);
    answer = apply_c(&fx, 200, "fieldManager=kubectl", "\"data\":{\"a\":\"<2\"}");
    assert_at(answer, "data.a", "<2");
    assert_at(answer, "metadata.managedFields[0].fieldsV1", "{\"f:data\":{\"f:a\":{}}}");
    assert_at(answer, "metadata.annotations",
              "{\"" LAST_APPLIED
              "\":\"{\\\"apiVersion\\\":\\\"v1\\\",\\\"data\\\":{\\\"a\\\":\\\"\\\\u003c2\\\"},"
              "\\\"kind\\\":\\\"ConfigMap\\\",\\\"metadata\\\":{\\\"name\\\":\\\"c\\\"}}\\n\"}");
    /* What somebody else has changed since is a conflict. */
    fx_do_with(&fx, 200, "PATCH", C "?fieldManager=other", "{\"data\":{\"a\":\"3\"}}", &merge);
    answer = apply_c(&fx, 409, "fieldManager=kubectl", "\"data\":{\"a\":\"4\"}");
    assert_at(answer, "message",
              "Apply failed with 1 conflict: conflict with \"other\" using v1: .data.a");
    fx_close(&fx);
}

/* A custom resource may have any number of members. */
TEST(last_applied, keeps_all_members_of_a_configuration)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf config = {.max = 8192}, want = {.max = 8192};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf object = {.max = 8192};
    int r = cor_buf_addz(&config, "{\"kind\":\"W\",\"apiVersion\":\"g/v1\"");

    assert_int_equal(cor_buf_addz(&want, "{\"metadata\":{\"annotations\":{\"" LAST_APPLIED
                                         "\":\"{\\\"apiVersion\\\":\\\"g/v1\\\""),
                     0);
    for (int i = 10; i < 90 && r == 0; i++) {
        if (i == 50)
            r = cor_buf_addz(&want, ",\\\"kind\\\":\\\"W\\\"");
        r |= cor_buf_addf(&config, ",\"%c%d\":1", i < 50 ? 'b' : 'm', i);
        r |= cor_buf_addf(&want, ",\\\"%c%d\\\":1", i < 50 ? 'b' : 'm', i);
    }
    r |= cor_buf_addc(&config, '}');
    r |= cor_buf_addz(&want, "}\\n\"}}}");
    r |= cor_buf_addz(&object, "{\"metadata\":{\"annotations\":{\"" LAST_APPLIED "\":\"{}\"}}}");
    assert_int_equal(r, 0);
    assert_int_equal(cor_last_applied_renew(cor_buf_str(&config), &object), 0);
    assert_string_equal(cor_buf_z(&object), cor_buf_z(&want));
}
