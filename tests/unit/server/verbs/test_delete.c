#include "api_fixture.h"

#include <stdio.h>

#include "storage/engine/engine_int.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define PODS       "/api/v1/namespaces/default/pods"
#define JOBS       "/apis/batch/v1/namespaces/default/jobs"

static void open_ready(struct fx *fx)
{
    *fx = (struct fx){0};
    fx_open(fx);
    fx_bootstrap(fx);
}

TEST(delete, answers_with_a_status_or_the_object)
{
    struct fx fx;
    const char *cm, *answer;
    char want[512];

    open_ready(&fx);
    cm = fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"c\"}}");
    snprintf(want, sizeof(want),
             "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\","
             "\"details\":{\"name\":\"c\",\"kind\":\"configmaps\",\"uid\":\"%s\"}}",
             fx_at(cm, "metadata.uid"));
    assert_string_equal(fx_do(&fx, 200, "DELETE", CONFIGMAPS "/c", ""), want);
    fx_do(&fx, 404, "DELETE", CONFIGMAPS "/c", "");
    fx_do(&fx, 201, "POST", "/api/v1/namespaces/default/services",
          "{\"metadata\":{\"name\":\"s\"},\"spec\":{" FX_PORTS "}}");
    answer = fx_do(&fx, 200, "DELETE", "/api/v1/namespaces/default/services/s", "");
    assert_at(answer, "kind", "Service");
    fx_close(&fx);
}

TEST(delete, preconditions_must_hold)
{
    struct fx fx;
    const char *cm, *status;
    char body[256];

    open_ready(&fx);
    cm = fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"c\"}}");
    status = fx_do(&fx, 409, "DELETE", CONFIGMAPS "/c", "{\"preconditions\":{\"uid\":\"x\"}}");
    snprintf(body, sizeof(body),
             "Operation cannot be fulfilled on ConfigMap \"c\": the UID in the precondition (x) "
             "does not match the UID in record (%s). The object might have been deleted and then "
             "recreated",
             fx_at(cm, "metadata.uid"));
    assert_at(status, "message", body);
    fx_do(&fx, 409, "DELETE", CONFIGMAPS "/c", "{\"preconditions\":{\"resourceVersion\":\"1\"}}");
    snprintf(body, sizeof(body), "{\"preconditions\":{\"uid\":\"%s\",\"resourceVersion\":\"%s\"}}",
             fx_at(cm, "metadata.uid"), fx_at(cm, "metadata.resourceVersion"));
    fx_do(&fx, 200, "DELETE", CONFIGMAPS "/c", body);
    fx_close(&fx);
}

/* As upstream's conversion of a query: without a body, preconditions stand there by their names. */
TEST(delete, preconditions_of_the_query_must_hold)
{
    static const char *const refused[] = {CONFIGMAPS "/c?uid=x", CONFIGMAPS "/c?resourceVersion=1",
                                          CONFIGMAPS "/c?resourceVersion=abc", CONFIGMAPS "?uid=x",
                                          CONFIGMAPS "?resourceVersion=1"};
    struct fx fx;
    const char *cm;
    char target[256];

    open_ready(&fx);
    cm = fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"c\"}}");
    for (size_t i = 0; i < COR_ARRAY_LEN(refused); i++)
        assert_at(fx_do(&fx, 409, "DELETE", refused[i], ""), "reason", "Conflict");
    snprintf(target, sizeof(target), CONFIGMAPS "/c?uid=%s&resourceVersion=%s",
             fx_at(cm, "metadata.uid"), fx_at(cm, "metadata.resourceVersion"));
    fx_do(&fx, 200, "DELETE", target, "");
    fx_close(&fx);
}

TEST(delete, options_of_the_wrong_type_delete_nothing)
{
#define FIELD(type, path, got, want)                                                               \
    "json: cannot unmarshal " got " into Go struct field " type "." path " of type " want
    static const struct {
        const char *body, *message;
    } rows[] = {
        {"{\"preconditions\":{\"uid\":1}}",
         FIELD("Preconditions", "preconditions.uid", "number", "types.UID")},
        {"{\"preconditions\":{\"resourceVersion\":{}}}",
         FIELD("Preconditions", "preconditions.resourceVersion", "object", "string")},
        {"{\"preconditions\":\"x\"}",
         FIELD("DeleteOptions", "preconditions", "string", "v1.Preconditions")},
        {"{\"ignoreStoreReadErrorWithClusterBreakingPotential\":\"x\"}",
         FIELD("DeleteOptions", "ignoreStoreReadErrorWithClusterBreakingPotential", "string",
               "bool")},
    };
#undef FIELD
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"c\"}}");
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        assert_at(fx_do(&fx, 500, "DELETE", CONFIGMAPS "/c", rows[i].body), "message",
                  rows[i].message);
    /* An empty policy is given, and is none. */
    fx_do(&fx, 422, "DELETE", CONFIGMAPS "/c?propagationPolicy=", "");
    fx_do(&fx, 422, "DELETE", CONFIGMAPS "/c", "{\"propagationPolicy\":\"\"}");
    fx_do(&fx, 200, "GET", CONFIGMAPS "/c", "");
    fx_close(&fx);
}

static const struct {
    const char *what, *target, *query, *body, *finalizers;
} policies[] = {
    {"configmaps go at once", CONFIGMAPS, "", "", NULL},
    {"background", CONFIGMAPS, "?propagationPolicy=Background", "", NULL},
    {"foreground", CONFIGMAPS, "?propagationPolicy=Foreground", "", "[\"foregroundDeletion\"]"},
    {"orphan", CONFIGMAPS, "", "{\"propagationPolicy\":\"Orphan\"}", "[\"orphan\"]"},
    {"orphanDependents", CONFIGMAPS, "?orphanDependents=true", "", "[\"orphan\"]"},
    {"jobs orphan by default", JOBS, "", "", "[\"orphan\"]"},
    {"jobs in the background", JOBS, "", "{\"propagationPolicy\":\"Background\"}", NULL},
    {"events know no policy", "/api/v1/namespaces/default/events", "?propagationPolicy=Orphan", "",
     NULL},
};

TEST(delete, propagation_is_a_finalizer)
{
    struct fx fx;

    open_ready(&fx);
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        char target[256], name[16], body[256];
        bool is_job = strcmp(policies[i].target, JOBS) == 0;
        const char *answer;

        snprintf(name, sizeof(name), "n%zu", i);
        snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"%s\"}%s}", name,
                 is_job ? ",\"spec\":{" FX_JOB "}" : "");
        fx_do(&fx, 201, "POST", policies[i].target, body);
        snprintf(target, sizeof(target), "%s/%s%s", policies[i].target, name, policies[i].query);
        answer = fx_do(&fx, 200, "DELETE", target, policies[i].body);
        snprintf(target, sizeof(target), "%s/%s", policies[i].target, name);
        if (!policies[i].finalizers) {
            fx_do(&fx, 404, "GET", target, "");
            continue;
        }
        assert_at(answer, "metadata.finalizers", policies[i].finalizers);
        assert_at(fx_do(&fx, 200, "GET", target, ""), "metadata.finalizers",
                  policies[i].finalizers);
    }
    fx_close(&fx);
}

TEST(delete, bad_options_are_invalid)
{
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"c\"}}");
    assert_at(fx_do(&fx, 422, "DELETE", CONFIGMAPS "/c", "{\"propagationPolicy\":\"Slow\"}"),
              "message",
              "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: "
              "\"Slow\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"");
    fx_do(&fx, 422, "DELETE", CONFIGMAPS "/c",
          "{\"propagationPolicy\":\"Orphan\",\"orphanDependents\":true}");
    fx_do(&fx, 500, "DELETE", CONFIGMAPS "/c", "{");
    fx_do(&fx, 500, "DELETE", CONFIGMAPS "/c", "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}");
    fx_do(&fx, 200, "DELETE", CONFIGMAPS "/c?dryRun=All", "");
    fx_do(&fx, 200, "GET", CONFIGMAPS "/c", "");
    fx_close(&fx);
}

TEST(delete, a_scheduled_pod_gets_its_grace_period)
{
    struct fx fx;
    const char *pod;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", PODS,
          "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n\"," FX_CONTAINERS "}}");
    pod = fx_do(&fx, 200, "DELETE", PODS "/p", "");
    assert_at(pod, "metadata.deletionTimestamp", "2025-01-01T00:00:30Z");
    assert_at(pod, "metadata.deletionGracePeriodSeconds", "30");
    assert_at(pod, "metadata.generation", "2");
    pod = fx_do(&fx, 200, "DELETE", PODS "/p?gracePeriodSeconds=60", "");
    assert_at(pod, "metadata.deletionGracePeriodSeconds", "30");
    pod = fx_do(&fx, 200, "DELETE", PODS "/p?gracePeriodSeconds=10", "");
    assert_at(pod, "metadata.deletionTimestamp", "2025-01-01T00:00:10Z");
    assert_at(pod, "metadata.deletionGracePeriodSeconds", "10");
    assert_at(pod, "metadata.generation", "2");
    fx_do(&fx, 200, "DELETE", PODS "/p", "{\"gracePeriodSeconds\":0}");
    fx_do(&fx, 404, "GET", PODS "/p", "");
    fx_do(&fx, 201, "POST", PODS, "{\"metadata\":{\"name\":\"q\"},\"spec\":{" FX_CONTAINERS "}}");
    fx_do(&fx, 200, "DELETE", PODS "/q", "");
    fx_do(&fx, 404, "GET", PODS "/q", "");
    fx_close(&fx);
}

TEST(delete, with_finalizers_marks_once)
{
    struct fx fx;
    const char *first, *second;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", "/apis/apps/v1/namespaces/default/deployments",
          "{\"metadata\":{\"name\":\"d\",\"finalizers\":[\"a/b\"]},\"spec\":{" FX_WORKLOAD "}}");
    first = fx_do(&fx, 200, "DELETE", "/apis/apps/v1/namespaces/default/deployments/d", "");
    assert_at(first, "metadata.generation", "2");
    cor_clock_manual_advance(&fx.clock, 5000);
    second = fx_do(&fx, 202, "DELETE", "/apis/apps/v1/namespaces/default/deployments/d",
                   "{\"orphanDependents\":false}");
    assert_string_equal(first, second);
    fx_close(&fx);
}

TEST(delete, the_clusters_namespaces_stay)
{
    struct fx fx;
    const char *status;

    open_ready(&fx);
    status = fx_do(&fx, 403, "DELETE", "/api/v1/namespaces/kube-system", "");
    assert_at(status, "message",
              "namespaces \"kube-system\" is forbidden: this namespace may not be deleted");
    fx_close(&fx);
}

TEST(delete_collection, deletes_what_is_selected)
{
    struct fx fx;
    const char *list;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\"}}}");
    fx_do(&fx, 201, "POST", CONFIGMAPS,
          "{\"metadata\":{\"name\":\"b\",\"labels\":{\"x\":\"1\"},\"finalizers\":[\"a/b\"]}}");
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"c\"}}");
    list = fx_do(&fx, 200, "DELETE", CONFIGMAPS "?labelSelector=x=1", "");
    assert_at(list, "kind", "ConfigMapList");
    assert_at(list, "items[0].metadata.name", "a");
    assert_at(list, "items[1].metadata.deletionTimestamp", "");
    assert_at(list, "items[2]", "");
    fx_do(&fx, 404, "GET", CONFIGMAPS "/a", "");
    assert_at(fx_do(&fx, 200, "GET", CONFIGMAPS "/b", ""), "metadata.deletionTimestamp",
              "2025-01-01T00:00:00Z");
    fx_do(&fx, 200, "GET", CONFIGMAPS "/c", "");
    fx_do(&fx, 405, "DELETE", "/api/v1/configmaps", "");
    fx_do(&fx, 405, "DELETE", "/api/v1/namespaces", "");
    fx_close(&fx);
}

/* More objects than are deleted at a time, one of them too large to be judged on the loop. */
TEST(delete_collection, deletes_many_at_a_time_and_answers_with_all_in_their_order)
{
    enum { N = 200, LARGE = 100 * 1024 };
    char *body = malloc(LARGE + 256), *large = malloc(LARGE + 1);
    char path[64], name[16];
    struct fx fx;
    char *list;

    assert_true(body && large);
    memset(large, 'x', LARGE);
    large[LARGE] = '\0';
    open_ready(&fx);
    for (int i = 0; i < N; i++) {
        snprintf(body, LARGE + 256, "{\"metadata\":{\"name\":\"m%03d\"},\"data\":{\"k\":\"%s\"}}",
                 i, i == 77 ? large : "x");
        fx_do(&fx, 201, "POST", CONFIGMAPS, body);
    }
    /* The fixture keeps the last texts only. */
    list = strdup(fx_do(&fx, 200, "DELETE", CONFIGMAPS, ""));
    for (int i = 0; i < N; i++) {
        snprintf(path, sizeof(path), "items[%d].metadata.name", i);
        snprintf(name, sizeof(name), "m%03d", i);
        assert_at(list, path, name);
    }
    assert_at(list, "items[200]", "");
    assert_at(fx_do(&fx, 200, "GET", CONFIGMAPS, ""), "items[0]", "");
    free(list);
    free(body);
    free(large);
    fx_close(&fx);
}

TEST(delete_collection, ends_with_the_first_failure_when_all_deletions_have_ended)
{
    struct fx fx;
    const char *status;
    char body[64];

    open_ready(&fx);
    for (int i = 0; i < 3; i++) {
        snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"m%d\"}}", i);
        fx_do(&fx, 201, "POST", CONFIGMAPS, body);
    }
    status = fx_do(&fx, 409, "DELETE", CONFIGMAPS, "{\"preconditions\":{\"uid\":\"other\"}}");
    assert_non_null(strstr(fx_at(status, "message"), "\"m0\""));
    assert_at(fx_do(&fx, 200, "GET", CONFIGMAPS, ""), "items[2].metadata.name", "m2");
    fx_close(&fx);
}

/* `a` has no finalizers, `b` has one; 2 is the collection of both. */
static void assert_deleted(struct fx *fx, size_t which, const char *answer)
{
    if (which != 1)
        fx_do(fx, 404, "GET", CONFIGMAPS "/a", "");
    if (which != 0)
        assert_string_not_equal(
            fx_at(fx_do(fx, 200, "GET", CONFIGMAPS "/b", ""), "metadata.deletionTimestamp"), "");
    if (which == 0)
        assert_at(answer, "status", "Success");
    if (which == 1)
        assert_string_not_equal(fx_at(answer, "metadata.deletionTimestamp"), "");
    if (which == 2)
        assert_at(answer, "kind", "ConfigMapList");
}

TEST(delete, survives_every_failed_allocation)
{
    static const char *const bodies[] = {
        "{\"metadata\":{\"name\":\"a\"}}",
        "{\"metadata\":{\"name\":\"b\",\"finalizers\":[\"x/y\"]}}"};
    static const char *const targets[] = {CONFIGMAPS "/a", CONFIGMAPS "/b", CONFIGMAPS};

    for (size_t t = 0; t < 3; t++) {
        struct fx fx;

        open_ready(&fx);
        fx_do(&fx, 201, "POST", CONFIGMAPS, bodies[0]);
        fx_do(&fx, 201, "POST", CONFIGMAPS, bodies[1]);
        FOR_EACH_FAILED_ALLOC(n) {
            FX_CALL call;

            fx_start(&fx, &call, "DELETE", targets[t], "{\"preconditions\":{}}", NULL);
            fx_wait(&call);
            test_fail_alloc(0, false);
            assert_true(call.is_bare || call.sink.is_aborted || call.sink.status == 200 ||
                        call.sink.status == 500);
            if (call.sink.status == 200 && !call.sink.is_aborted)
                assert_deleted(&fx, t, cor_buf_z(&call.sink.body));
            fx_do(&fx, 0, "POST", CONFIGMAPS, bodies[0]);
            fx_do(&fx, 0, "DELETE", CONFIGMAPS "/b", "");
            fx_do(&fx, 0, "PATCH", CONFIGMAPS "/b", "{\"metadata\":{\"finalizers\":null}}");
            fx_do(&fx, 0, "POST", CONFIGMAPS, bodies[1]);
        }
        fx_close(&fx);
    }
}

/* What the request does not say, the finalizers that are there say, and the kind only then. */
TEST(delete, a_policy_that_is_there_already_stays)
{
    static const char job[] = "/apis/batch/v1/namespaces/default/jobs/j";
    struct fx fx;
    const char *answer;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", "/apis/batch/v1/namespaces/default/jobs",
          "{\"metadata\":{\"name\":\"j\",\"finalizers\":[\"foregroundDeletion\"]},\"spec\":{" FX_JOB
          "}}");
    answer = fx_do(&fx, 200, "DELETE", job, "");
    assert_at(answer, "metadata.finalizers", "[\"foregroundDeletion\"]");
    answer = fx_do(&fx, 200, "DELETE", job, "{\"orphanDependents\":false}");
    assert_at(answer, "status", "Success");
    fx_do(&fx, 404, "GET", job, "");
    fx_close(&fx);
}

#define OWNED_BY(refs)                                                                               \
    "{\"metadata\":{\"name\":\"c\",\"finalizers\":[\"a.b/c\",\"orphan\"],\"ownerReferences\":[" refs \
    "]}}"
#define OWNER(name, uid)                                                                           \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"" name "\",\"uid\":\"" uid "\"}"

/* What a garbage collector relies on. Contract controllers 2.10.1: without one nothing ends the
 * deletion. Contract controllers 2.6.1, 2.6.6: the patch that removes references by their uids.
 * Contract controllers 2.6.5, 2.10.5, 2.10.6: each party removes its own finalizer, and the last
 * removal deletes. */
TEST(delete, a_garbage_collector_can_patch_references_and_finalizers)
{
    static const struct fx_headers strategic = {.content_type =
                                                    "application/strategic-merge-patch+json"};
    static const struct fx_headers merge = {.content_type = "application/merge-patch+json"};
    struct fx fx;
    const char *answer;
    char patch[512];

    open_ready(&fx);
    answer = fx_do(&fx, 201, "POST", CONFIGMAPS, OWNED_BY(OWNER("p", "u1") "," OWNER("q", "u2")));
    snprintf(patch, sizeof(patch),
             "{\"metadata\":{\"uid\":\"%s\",\"ownerReferences\":[{\"$patch\":\"delete\","
             "\"uid\":\"u1\"},{\"$patch\":\"delete\",\"uid\":\"never\"}]}}",
             fx_at(answer, "metadata.uid"));
    answer = fx_do_with(&fx, 200, "PATCH", CONFIGMAPS "/c", patch, &strategic);
    assert_at(answer, "metadata.ownerReferences[0].name", "q");
    assert_at(answer, "metadata.ownerReferences[1].name", "");
    /* The uid is a precondition. */
    answer = fx_do_with(&fx, 422, "PATCH", CONFIGMAPS "/c",
                        "{\"metadata\":{\"uid\":\"other\",\"ownerReferences\":[{\"$patch\":"
                        "\"delete\",\"uid\":\"u2\"}]}}",
                        &strategic);
    assert_at(answer, "details.causes[0].field", "metadata.uid");

    answer = fx_do(&fx, 200, "DELETE", CONFIGMAPS "/c", "{\"propagationPolicy\":\"Orphan\"}");
    assert_at(answer, "metadata.finalizers", "[\"a.b/c\",\"orphan\"]");
    answer = fx_do_with(&fx, 422, "PATCH", CONFIGMAPS "/c",
                        "{\"metadata\":{\"finalizers\":[\"a.b/c\",\"orphan\",\"x/y\"]}}", &merge);
    assert_at(answer, "details.causes[0].message",
              "Forbidden: no new finalizers can be added if the object is being deleted, found new "
              "finalizers []string{\"x/y\"}");
    fx_do_with(&fx, 409, "PATCH", CONFIGMAPS "/c",
               "{\"metadata\":{\"resourceVersion\":\"1\",\"finalizers\":[\"a.b/c\"]}}", &merge);
    fx_do_with(&fx, 200, "PATCH", CONFIGMAPS "/c", "{\"metadata\":{\"finalizers\":[\"a.b/c\"]}}",
               &merge);
    fx_do(&fx, 200, "GET", CONFIGMAPS "/c", "");
    answer = fx_do_with(&fx, 200, "PATCH", CONFIGMAPS "/c", "{\"metadata\":{\"finalizers\":null}}",
                        &merge);
    assert_at(answer, "metadata.name", "c");
    fx_do(&fx, 404, "GET", CONFIGMAPS "/c", "");
    fx_close(&fx);
}

TEST(delete, only_what_counts_generations_gets_another_one)
{
    struct fx fx;
    const char *answer;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS,
          "{\"metadata\":{\"name\":\"c\",\"finalizers\":[\"a.b/c\"]}}");
    answer = fx_do(&fx, 200, "DELETE", CONFIGMAPS "/c", "");
    assert_at(answer, "metadata.generation", "");
    assert_at(answer, "metadata.deletionGracePeriodSeconds", "0");
    fx_close(&fx);
}

TEST(delete, less_than_no_grace_is_one_second)
{
    struct fx fx;
    const char *pod;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", PODS,
          "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n\"," FX_CONTAINERS "}}");
    pod = fx_do(&fx, 200, "DELETE", PODS "/p?gracePeriodSeconds=-5", "");
    assert_at(pod, "metadata.deletionGracePeriodSeconds", "1");
    fx_do(&fx, 201, "POST", PODS,
          "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"nodeName\":\"n\"," FX_CONTAINERS "}}");
    fx_do(&fx, 200, "DELETE", PODS "/q", "");
    pod = fx_do(&fx, 200, "DELETE", PODS "/q?gracePeriodSeconds=-5", "");
    assert_at(pod, "metadata.deletionGracePeriodSeconds", "1");
    fx_close(&fx);
}

TEST(delete, a_collection_does_not_miss_what_others_delete)
{
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"b\"}}");
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"c\"}}");
    {
        FX_CALL all, one;

        fx_start(&fx, &all, "DELETE", CONFIGMAPS, "", NULL);
        fx_start(&fx, &one, "DELETE", CONFIGMAPS "/c", "", NULL);
        fx_wait(&all);
        fx_wait(&one);
        assert_int_equal(one.sink.status, 200);
        assert_int_equal(all.sink.status, 200);
        assert_at(cor_buf_z(&all.sink.body), "items[2].metadata.name", "c");
    }
    assert_at(fx_do(&fx, 200, "GET", CONFIGMAPS, ""), "items", "[]");
    fx_close(&fx);
}

#define INTRUSIONS_MAX 8

/* Somebody else at the same store, who comes between the writes of a deletion. */
static struct {
    const struct cor_engine_ops *own;
    const char *plan; /* what it does before each write: 'w' writes the pod, 'r' removes it */
    size_t n, nended;
    struct cor_write_req writes[INTRUSIONS_MAX];
    struct cor_loop *loop;
} intruder;

static void on_intruded(struct cor_engine_req *req)
{
    assert_int_equal(req->result, 0);
    intruder.nended++;
}

static bool has_intruded(void *arg)
{
    return intruder.nended == intruder.n;
}

/* Changes the key just before `next` does, from the state that `next` expects. */
static void intrude(struct cor_engine *engine, const struct cor_write_req *next, bool removes)
{
    struct cor_write_req *write = &intruder.writes[intruder.n++];

    assert_true(intruder.n <= INTRUSIONS_MAX);
    cor_write_req_init(write, intruder.loop, on_intruded);
    write->key = COR_STR("/registry/pods/default/p");
    assert_str(next->key, write->key.p);
    write->value =
        COR_STR("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\","
                "\"namespace\":\"default\",\"uid\":\"other\"},\"spec\":{" FX_CONTAINERS "}}");
    write->is_delete = removes;
    write->expected = next->expected;
    write->req.op = COR_ENGINE_WRITE;
    write->req.engine = engine;
    intruder.own->submit(engine, &write->req);
}

static void submit_after_intruder(struct cor_engine *engine, struct cor_engine_req *req)
{
    char what = req->op == COR_ENGINE_WRITE && *intruder.plan ? *intruder.plan++ : ' ';

    if (what != ' ')
        intrude(engine, COR_CONTAINER_OF(req, struct cor_write_req, req), what == 'r');
    intruder.own->submit(engine, req);
}

/* A request beside the intruder; the answer stays as fx_do()'s. */
static const char *do_beside_intruder(struct fx *fx, const char *plan, int status,
                                      const char *method, const char *target, const char *body)
{
    static const struct fx_headers merge = {.content_type = "application/merge-patch+json"};
    struct cor_engine_ops ops;
    const char *answer;

    intruder.own = fx->engine->ops;
    intruder.plan = plan;
    intruder.n = intruder.nended = 0;
    intruder.loop = fx->loop;
    ops = *intruder.own;
    ops.submit = submit_after_intruder;
    fx->engine->ops = &ops;
    answer = fx_do_with(fx, status, method, target, body, *body ? &merge : NULL);
    fx->engine->ops = intruder.own;
    assert_string_equal(intruder.plan, "");
    assert_true(cor_loop_run_until(fx->loop, has_intruded, NULL, FX_TIMEOUT_MS));
    for (size_t i = 0; i < intruder.n; i++)
        cor_write_req_deinit(&intruder.writes[i]);
    return answer;
}

/* A pod is marked and then removed, by two writes. Whoever comes between, the answer shows what
 * this request itself has done: the pod as it was removed, or, when somebody else has removed it,
 * as it was marked last. It never shows what somebody else has written. */
TEST(delete, answers_with_what_it_did_itself)
{
    static const struct {
        const char *plan; /* before the mark, the removal, the next mark … */
        int status;
        unsigned revision; /* of the answer, after that of the creation; 0: it has none */
        const char *uid;
    } rows[] = {
        {"", 200, 2, ""},          {"r", 404, 0, ""},         {"w", 200, 3, "other"},
        {" r", 200, 1, ""},        {" w", 200, 4, "other"},   {" wr", 200, 1, ""},
        {" w r", 200, 3, "other"}, {" w w", 200, 6, "other"}, {" w wr", 200, 3, "other"},
    };
    struct fx fx;

    open_ready(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        const char *pod = fx_do(&fx, 201, "POST", PODS,
                                "{\"metadata\":{\"name\":\"p\"},\"spec\":{" FX_CONTAINERS "}}");
        const char *answer = do_beside_intruder(&fx, rows[i].plan, rows[i].status, "DELETE",
                                                PODS "/p?gracePeriodSeconds=0", "");
        char revision[24];

        fx_do(&fx, 404, "GET", PODS "/p", "");
        if (rows[i].revision == 0)
            continue;
        snprintf(revision, sizeof(revision), "%llu",
                 strtoull(fx_at(pod, "metadata.resourceVersion"), NULL, 10) + rows[i].revision);
        assert_at(answer, "metadata.resourceVersion", revision);
        assert_at(answer, "metadata.deletionTimestamp", "2025-01-01T00:00:00Z");
        assert_at(answer, "metadata.deletionGracePeriodSeconds", "0");
        assert_at(answer, "metadata.uid",
                  rows[i].uid[0] ? rows[i].uid : fx_at(pod, "metadata.uid"));
    }
    fx_close(&fx);
}

/* Several controllers may remove the last finalizer at the same time: all of them have done it. */
TEST(delete, an_update_succeeds_when_somebody_else_removes_the_object_first)
{
    static const char let_go[] = "{\"metadata\":{\"finalizers\":null,\"labels\":{\"a\":\"b\"}}}";
    const char *marked, *answer;
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", PODS,
          "{\"metadata\":{\"name\":\"p\",\"finalizers\":[\"a.b/c\"]},"
          "\"spec\":{" FX_CONTAINERS "}}");
    marked = fx_do(&fx, 200, "DELETE", PODS "/p?gracePeriodSeconds=0", "");
    answer = do_beside_intruder(&fx, "r", 200, "PATCH", PODS "/p", let_go);
    fx_do(&fx, 404, "GET", PODS "/p", "");
    assert_at(answer, "metadata.uid", fx_at(marked, "metadata.uid"));
    assert_at(answer, "metadata.resourceVersion", fx_at(marked, "metadata.resourceVersion"));
    assert_at(answer, "metadata.labels.a", "b");
    assert_at(answer, "metadata.finalizers", "");
    /* What was there no more before the request is not found. */
    fx_do_with(&fx, 404, "PATCH", PODS "/p", let_go,
               &(struct fx_headers){.content_type = "application/merge-patch+json"});
    fx_close(&fx);
}
