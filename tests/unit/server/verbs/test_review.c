#include "api_fixture.h"

#include <stdio.h>

#include "base/err.h"
#include "server/access/authorizer.h"
#include "server/access/token_table.h"
#include "json/write/writer.h"

#define AUTHN "/apis/authentication.k8s.io/v1"
#define AUTHZ "/apis/authorization.k8s.io/v1"
#define LOCAL AUTHZ "/namespaces/default/localsubjectaccessreviews"

/* As a user of these groups, or as the server itself. */
static const char *ask(struct fx *fx, int status, const struct cor_user *user, const char *target,
                       const char *body)
{
    struct cor_server_request *request;
    static char text[4][4096];
    static size_t turn;
    char *out = text[turn++ % 4];
    FX_CALL call;

    call = (struct fx_call){.fx = fx};
    request = &call.request;
    cor_buffer_sink_init(&call.sink, 1u << 20, NULL);
    request->method = COR_HTTP_POST;
    request->body = cor_strz(body);
    request->user = user;
    assert_int_equal(
        cor_request_info_init(&request->info, COR_HTTP_POST, cor_strz(target), COR_STR("")), 0);
    cor_api_call(cor_api_loop(fx->api, 0), request, &call.sink.sink);
    fx_wait(&call);
    if (call.sink.status != status)
        fail_msg("%s: %d: %s", target, call.sink.status, cor_buf_z(&call.sink.body));
    assert_true(call.sink.body.n < sizeof(text[0]));
    memcpy(out, cor_buf_z(&call.sink.body), call.sink.body.n + 1);
    return out;
}

static const struct cor_str dev_groups[] = {COR_STR("dev"), COR_STR("system:authenticated")};
static const struct cor_user alice = {
    .name = COR_STR("alice"), .uid = COR_STR("u-1"), .groups = dev_groups, .ngroups = 2};
static const struct cor_str master_groups[] = {COR_STR("system:masters")};
static const struct cor_user admin = {
    .name = COR_STR("admin"), .groups = master_groups, .ngroups = 1};

static void open_ready(struct fx *fx)
{
    *fx = (struct fx){0};
    fx_open(fx);
    fx_bootstrap(fx);
}

/* Contract access 2.7.4. */
TEST(review, says_who_asks)
{
    struct fx fx;
    const char *answer;

    open_ready(&fx);
    answer = ask(&fx, 201, &alice, AUTHN "/selfsubjectreviews", "{}");
    assert_at(answer, "kind", "SelfSubjectReview");
    assert_at(answer, "apiVersion", "authentication.k8s.io/v1");
    assert_at(answer, "status.userInfo.username", "alice");
    assert_at(answer, "status.userInfo.uid", "u-1");
    assert_at(answer, "status.userInfo.groups", "[\"dev\",\"system:authenticated\"]");
    assert_at(answer, "metadata.creationTimestamp", "2025-01-01T00:00:00Z");
    fx_close(&fx);
}

TEST(review, says_what_a_user_may)
{
#define PODS "{\"resourceAttributes\":{\"verb\":\"get\",\"resource\":\"pods\"}}"
    static const struct {
        const char *target, *body, *allowed;
        const struct cor_user *user;
    } cases[] = {
        {"/selfsubjectaccessreviews", "{\"spec\":" PODS "}", "true", &admin},
        {"/selfsubjectaccessreviews", "{\"spec\":" PODS "}", "false", &alice},
        {"/selfsubjectaccessreviews",
         "{\"spec\":{\"resourceAttributes\":{\"verb\":\"create\",\"group\":\"authorization.k8s.io\","
         "\"resource\":\"selfsubjectaccessreviews\"}}}",
         "true", &alice},
        {"/selfsubjectaccessreviews",
         "{\"spec\":{\"nonResourceAttributes\":{\"verb\":\"get\",\"path\":\"/healthz\"}}}", "true",
         &alice},
        {"/selfsubjectaccessreviews",
         "{\"spec\":{\"nonResourceAttributes\":{\"verb\":\"get\",\"path\":\"/metrics\"}}}", "false",
         &alice},
        {"/subjectaccessreviews",
         "{\"spec\":{\"user\":\"x\",\"groups\":[\"a\",\"system:\\u006dasters\"],"
         "\"resourceAttributes\":{\"verb\":\"get\"}}}",
         "true", &admin},
        {"/subjectaccessreviews",
         "{\"spec\":{\"user\":\"x\",\"groups\":[\"a\",null],\"resourceAttributes\":{\"verb\":"
         "\"get\"}}}",
         "false", &admin},
        /* As Go clients write it. */
        {"/subjectaccessreviews",
         "{\"metadata\":{\"creationTimestamp\":null,\"name\":\"\"},\"spec\":{\"groups\":"
         "[\"system:masters\"],\"resourceAttributes\":{\"verb\":\"get\"}}}",
         "true", &admin},
        {"/namespaces/default/localsubjectaccessreviews",
         "{\"spec\":{\"groups\":[\"system:masters\"],\"resourceAttributes\":{\"namespace\":"
         "\"default\"}}}",
         "true", &admin},
    };
    struct fx fx;

    open_ready(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        char target[256];
        const char *answer;

        snprintf(target, sizeof(target), AUTHZ "%s", cases[i].target);
        answer = ask(&fx, 201, cases[i].user, target, cases[i].body);
        assert_at(answer, "status.allowed", cases[i].allowed);
        assert_at(answer, "metadata.namespace", strstr(target, "/local") ? "default" : "");
    }
    fx_close(&fx);
}

TEST(review, obeys_the_mode)
{
    static const char pods[] = "{\"spec\":" PODS "}";
    struct fx fx = {.opts.authorizer = cor_authorizer_of_mode(COR_AUTHZ_ALWAYS_ALLOW)};
    const char *answer;

    fx_open(&fx);
    answer = ask(&fx, 201, &alice, AUTHZ "/selfsubjectaccessreviews", pods);
    assert_at(answer, "status", "{\"allowed\":true}");
    answer =
        ask(&fx, 201, &alice, AUTHZ "/selfsubjectrulesreviews", "{\"spec\":{\"namespace\":\"x\"}}");
    assert_at(answer, "status.resourceRules",
              "[{\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]}]");
    fx_close(&fx);
    fx = (struct fx){.opts.authorizer = cor_authorizer_of_mode(COR_AUTHZ_ALWAYS_DENY)};
    fx_open(&fx);
    answer = ask(&fx, 201, &alice, AUTHZ "/selfsubjectaccessreviews", pods);
    assert_at(answer, "status", "{\"allowed\":false,\"reason\":\"Everything is forbidden.\"}");
    fx_close(&fx);
}

/* An authorizer of the test's: says what it was told, and notes what it was asked. */
struct scripted {
    struct cor_authorizer authorizer; /* the first member */
    struct cor_authz_answer *answer;
    struct cor_buf *asked;
};

static void note(const struct scripted *s, struct cor_str value)
{
    assert_int_equal(cor_buf_addf(s->asked, "%.*s|", COR_STR_ARG(value)), 0);
}

static int scripted_ask(const struct cor_authorizer *az, size_t loop_index,
                        const struct cor_attributes *a, struct cor_authz_question *question,
                        struct cor_authz_answer *ret_answer)
{
    const struct scripted *s = (const struct scripted *)az;
    const struct cor_str each[] = {a->user->name,  a->verb, a->group, a->version, a->resource,
                                   a->subresource, a->ns,   a->name,  a->path};

    assert_int_equal(loop_index, 0);
    assert_null(question);
    cor_buf_reset(s->asked);
    note(s, a->is_resource ? COR_STR("resource") : COR_STR("path"));
    for (size_t i = 0; i < COR_ARRAY_LEN(each); i++)
        note(s, each[i]);
    *ret_answer = *s->answer;
    return 0;
}

static void scripted_write_rules(const struct cor_authorizer *az, const struct cor_attributes *a,
                                 struct cor_json_writer *w)
{
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("evaluationError"), a->user->name);
    cor_json_member(w, COR_STR("ns"), a->ns);
    cor_json_end_object(w);
}

/* Contract access 3.4, 3.6. */
TEST(review, asks_the_authorizer_and_shows_what_it_says)
{
    static const struct cor_authorizer_ops ops = {.ask = scripted_ask,
                                                  .write_rules = scripted_write_rules};
    static const char of_bob[] =
        "{\"spec\":{\"user\":\"bob\",\"resourceAttributes\":{\"namespace\":\"n\",\"verb\":\"get\","
        "\"group\":\"g\",\"version\":\"v\",\"resource\":\"r\",\"subresource\":\"s\",\"name\":\"x\"}}}";
    static const char path[] =
        "{\"spec\":{\"nonResourceAttributes\":{\"verb\":\"get\",\"path\":\"/p\"}}}";
    COR_CLEANUP(cor_buf_deinit) struct cor_buf asked;
    struct cor_authz_answer answer = {.decision = COR_AUTHZ_ALLOWED};
    struct scripted s = {{&ops}, &answer, &asked};
    struct fx fx = {.opts.authorizer = &s.authorizer};

    cor_buf_init(&asked, 4096);
    fx_open(&fx);
    assert_at(ask(&fx, 201, &alice, AUTHZ "/subjectaccessreviews", of_bob), "status",
              "{\"allowed\":true}");
    assert_string_equal(cor_buf_z(&asked), "resource|bob|get|g|v|r|s|n|x||");
    answer.reason = "by a rule";
    assert_at(ask(&fx, 201, &alice, AUTHZ "/selfsubjectaccessreviews", path), "status",
              "{\"allowed\":true,\"reason\":\"by a rule\"}");
    assert_string_equal(cor_buf_z(&asked), "path|alice|get|||||||/p|");
    answer = (struct cor_authz_answer){.decision = COR_AUTHZ_DENIED, .reason = "never"};
    assert_at(ask(&fx, 201, &alice, AUTHZ "/selfsubjectaccessreviews", path), "status",
              "{\"allowed\":false,\"denied\":true,\"reason\":\"never\"}");
    answer = (struct cor_authz_answer){.r = -COR_EUNREACHABLE, .reason = "it is gone"};
    assert_at(ask(&fx, 201, &alice, AUTHZ "/selfsubjectaccessreviews", path), "status",
              "{\"allowed\":false,\"evaluationError\":\"it is gone\"}");
    assert_at(
        ask(&fx, 201, &alice, AUTHZ "/selfsubjectrulesreviews", "{\"spec\":{\"namespace\":\"x\"}}"),
        "status", "{\"evaluationError\":\"alice\",\"ns\":\"x\"}");
    fx_close(&fx);
}

TEST(review, lists_what_everybody_may)
{
    struct fx fx;
    const char *answer;

    open_ready(&fx);
    answer = ask(&fx, 201, &alice, AUTHZ "/selfsubjectrulesreviews",
                 "{\"spec\":{\"namespace\":\"default\"}}");
    assert_at(answer, "spec", "{}");
    assert_at(answer, "status.incomplete", "false");
    assert_at(answer, "status.resourceRules[1].resources", "[\"selfsubjectreviews\"]");
    assert_at(ask(&fx, 400, &alice, AUTHZ "/selfsubjectrulesreviews", "{\"spec\":{}}"), "message",
              "no namespace on request");
    fx_close(&fx);
}

/* Upstream's words; the kind is left out there too. */
TEST(review, refuses_questions_that_are_none)
{
    static const struct {
        const char *target, *body, *message;
    } cases[] = {
        {AUTHZ "/selfsubjectaccessreviews", "{\"spec\":{}}",
         ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes: Invalid value: null: "
         "exactly one of nonResourceAttributes or resourceAttributes must be specified"},
        {AUTHZ "/selfsubjectaccessreviews",
         "{\"spec\":{\"nonResourceAttributes\":{\"verb\":\"get\",\"path\":\"/x\"},"
         "\"resourceAttributes\":{}}}",
         ".authorization.k8s.io \"\" is invalid: spec.nonResourceAttributes: Invalid value: "
         "{\"Path\":\"/x\",\"Verb\":\"get\"}: cannot be specified in combination with "
         "resourceAttributes"},
        {AUTHZ "/subjectaccessreviews", "{\"spec\":{\"resourceAttributes\":{}}}",
         ".authorization.k8s.io \"\" is invalid: spec.user: Invalid value: \"\": at least one of "
         "user or group must be specified"},
        {AUTHZ "/subjectaccessreviews",
         "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"user\":\"a\",\"resourceAttributes\":{}}}",
         ".authorization.k8s.io \"\" is invalid: metadata: Invalid value: {\"name\":\"x\"}: must be "
         "empty"},
        {LOCAL, "{\"spec\":{\"user\":\"bob\",\"resourceAttributes\":{\"namespace\":\"other\"}}}",
         ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes.namespace: Invalid value: "
         "\"other\": must match metadata.namespace"},
        {LOCAL, "{\"spec\":{\"user\":\"bob\",\"nonResourceAttributes\":{\"path\":\"/x\"}}}",
         ".authorization.k8s.io \"\" is invalid: spec.nonResourceAttributes: Invalid value: "
         "{\"Path\":\"/x\",\"Verb\":\"\"}: disallowed on this kind of request"},
    };
    struct fx fx;

    open_ready(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++)
        assert_at(ask(&fx, 422, &admin, cases[i].target, cases[i].body), "message",
                  cases[i].message);
    assert_at(fx_do(&fx, 400, "POST", LOCAL, "{\"metadata\":{\"namespace\":\"other\"}}"), "message",
              "the namespace of the provided object does not match the namespace sent on the "
              "request");
    fx_do(&fx, 404, "POST", AUTHZ "/localsubjectaccessreviews", "{}");
    fx_do(&fx, 405, "GET", AUTHZ "/subjectaccessreviews", "");
    fx_do(&fx, 404, "GET", AUTHZ "/subjectaccessreviews/x", "");
    fx_close(&fx);
}

/* Contract access 2.7.3. */
TEST(review, says_whose_token_it_is)
{
    COR_CLEANUP(cor_token_table_freep) struct cor_token_table *tokens = NULL;
    struct fx fx = {0};
    const char *answer;

    assert_int_equal(cor_token_table_new(&tokens), 0);
    assert_int_equal(cor_token_table_add(tokens, COR_STR("secret"), COR_STR("alice"),
                                         COR_STR("u-1"), COR_STR("dev")),
                     0);
    fx.opts.tokens = tokens;
    fx_open(&fx);
    answer = ask(&fx, 201, &admin, AUTHN "/tokenreviews", "{\"spec\":{\"token\":\"secret\"}}");
    assert_at(answer, "status.authenticated", "true");
    assert_at(answer, "status.user.username", "alice");
    assert_at(answer, "status.user.groups", "[\"dev\",\"system:authenticated\"]");
    answer = ask(&fx, 201, &admin, AUTHN "/tokenreviews", "{\"spec\":{\"token\":\"other\"}}");
    assert_at(answer, "status", "{\"error\":\"invalid bearer token\",\"user\":{}}");
    answer = ask(&fx, 201, &admin, AUTHN "/tokenreviews",
                 "{\"spec\":{\"token\":\"secret\",\"audiences\":[\"x\"]}}");
    assert_at(answer, "status.authenticated", "");
    assert_at(ask(&fx, 400, &admin, AUTHN "/tokenreviews", "{\"spec\":{}}"), "message",
              "token is required for TokenReview in authentication");
    assert_at(
        ask(&fx, 400, &admin, AUTHN "/tokenreviews", "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}"),
        "message",
        "Pod in version \"v1\" cannot be handled as a TokenReview: converting (v1.Pod) to "
        "(authentication.TokenReview): unknown conversion");
    fx_close(&fx);
}

TEST(review, is_answered_whole_or_fails_without_memory)
{
    static const struct {
        const char *target, *body;
    } cases[] = {
        {AUTHN "/selfsubjectreviews", "{}"},
        {AUTHN "/tokenreviews", "{\"spec\":{\"token\":\"\\u0061\"}}"},
        {AUTHZ "/subjectaccessreviews",
         "{\"spec\":{\"user\":\"a\",\"groups\":[\"b\",\"c\"],\"resourceAttributes\":{}}}"},
        {LOCAL, "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"nonResourceAttributes\":{}}}"},
        {LOCAL, "{\"spec\":{\"user\":\"a\",\"resourceAttributes\":{\"namespace\":\"default\"}}}"},
        {AUTHZ "/selfsubjectaccessreviews", "{\"spec\":{\"nonResourceAttributes\":{}}}"},
        {AUTHZ "/selfsubjectrulesreviews", "{\"spec\":{\"namespace\":\"default\"}}"},
    };
    struct fx fx;

    open_ready(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        fx_fail_each_alloc(&fx, "POST", cases[i].target, cases[i].body, NULL);
    }
    fx_close(&fx);
}

TEST(component_status, tells_of_the_store)
{
    struct fx fx;
    const char *list;

    open_ready(&fx);
    list = fx_do(&fx, 200, "GET", "/api/v1/componentstatuses", "");
    assert_string_equal(list,
                        "{\"kind\":\"ComponentStatusList\",\"apiVersion\":\"v1\",\"metadata\":{},"
                        "\"items\":[{\"conditions\":[{\"message\":\"ok\",\"status\":\"True\","
                        "\"type\":\"Healthy\"}],\"metadata\":{\"name\":\"etcd-0\"}}]}");
    assert_at(fx_do(&fx, 200, "GET", "/api/v1/componentstatuses/etcd-0", ""), "conditions[0].type",
              "Healthy");
    assert_at(
        fx_do(&fx, 200, "GET", "/api/v1/componentstatuses?fieldSelector=metadata.name%3Dother", ""),
        "items", "[]");
    assert_at(fx_do(&fx, 404, "GET", "/api/v1/componentstatuses/nope", ""), "message",
              "componentstatus \"nope\" not found");
    assert_at(fx_do(&fx, 405, "GET", "/api/v1/componentstatuses?watch=1", ""), "message",
              "watch is not supported on resources of kind \"componentstatuses\"");
    fx_close(&fx);
}

static bool is_never(void *arg, char reterr_why[COR_READY_MESSAGE_MAX])
{
    snprintf(reterr_why, COR_READY_MESSAGE_MAX, "\"m1\" is away");
    return false;
}

TEST(component_status, tells_of_a_store_that_fails)
{
    static const struct cor_health_check checks[] = {{"etcd", is_never, NULL, true, true}};
    struct fx fx = {.opts = {.checks = checks, .nchecks = 1}};

    fx_open(&fx);
    assert_at(fx_do(&fx, 200, "GET", "/api/v1/componentstatuses", ""), "items[0].conditions[0]",
              "{\"message\":\"\\\"m1\\\" is away\",\"status\":\"False\",\"type\":\"Healthy\"}");
    fx_fail_each_alloc(&fx, "GET", "/api/v1/componentstatuses/etcd-0", "", NULL);
    fx_fail_each_alloc(&fx, "GET", "/api/v1/componentstatuses", "", NULL);
    fx_close(&fx);
}
