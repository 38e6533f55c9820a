/* The authorizer's frame, the modes that ask nobody, and the words of a refusal. One that asks
 * another server: http/test_delegation.c. */
#include "server/access/authorizer.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "test.h"
#include "json/write/writer.h"

static const struct cor_str masters[] = {COR_STR("system:masters")};
static const struct cor_str authenticated[] = {COR_STR("system:authenticated")};
static const struct cor_user ann = {.name = COR_STR("ann")};
static const struct cor_user root = {.name = COR_STR("root"), .groups = masters, .ngroups = 1};
static const struct cor_user nobody = {.name = COR_STR("system:anonymous")};

static const enum cor_authz_mode modes[] = {COR_AUTHZ_MASTERS, COR_AUTHZ_ALWAYS_ALLOW,
                                            COR_AUTHZ_ALWAYS_DENY};

static const struct cor_attributes pod = {.user = &ann,
                                          .is_resource = true,
                                          .verb = COR_STR("get"),
                                          .version = COR_STR("v1"),
                                          .resource = COR_STR("pods"),
                                          .subresource = COR_STR("status"),
                                          .ns = COR_STR("prod"),
                                          .name = COR_STR("web")};

/* As the filters of HTTP ask: 0, or what the refusal returns. */
static int ask(enum cor_authz_mode mode, const struct cor_attributes *a, struct cor_status *st)
{
    struct cor_authz_answer answer;

    assert_int_equal(cor_authorizer_ask(cor_authorizer_of_mode(mode), 0, a, NULL, &answer), 0);
    return answer.r == 0 && answer.decision == COR_AUTHZ_ALLOWED ? 0
                                                                 : cor_authz_refuse(a, &answer, st);
}

static void check_forbidden(const struct cor_attributes *a, enum cor_authz_mode mode,
                            const char *message)
{
    struct cor_status st = {0};

    assert_int_equal(ask(mode, a, &st), -COR_EFORBIDDEN);
    assert_string_equal(cor_status_message(&st), message);
    assert_int_equal(st.code, 403);
    assert_string_equal(st.reason, "Forbidden");
    cor_status_deinit(&st);
}

TEST(authorizer, masters_may_do_everything_in_every_mode)
{
    struct cor_attributes a = pod;

    a.user = &root;
    for (size_t i = 0; i < COR_ARRAY_LEN(modes); i++)
        assert_int_equal(ask(modes[i], &a, NULL), 0);
}

TEST(authorizer, others_are_refused_in_upstreams_words)
{
    struct cor_attributes list = pod;
    struct cor_attributes path = {
        .user = &ann, .verb = COR_STR("get"), .path = COR_STR("/metrics")};

    check_forbidden(
        &pod, COR_AUTHZ_MASTERS,
        "pods \"web\" is forbidden: User \"ann\" cannot get resource \"pods/status\" in "
        "API group \"\" in the namespace \"prod\"");
    list.subresource = list.name = list.ns = COR_STR("");
    list.verb = COR_STR("list");
    list.group = COR_STR("apps");
    list.resource = COR_STR("deployments");
    check_forbidden(&list, COR_AUTHZ_MASTERS,
                    "deployments.apps is forbidden: User \"ann\" cannot list resource "
                    "\"deployments\" in API group \"apps\" at the cluster scope");
    check_forbidden(&path, COR_AUTHZ_MASTERS,
                    "forbidden: User \"ann\" cannot get path \"/metrics\"");
    path.path = COR_STR("/<b>&");
    check_forbidden(&path, COR_AUTHZ_ALWAYS_DENY,
                    "forbidden: User \"ann\" cannot get path \"/&lt;b&gt;&amp;\": Everything is "
                    "forbidden.");
}

TEST(authorizer, details_name_the_resource)
{
    struct cor_status st = {0};

    assert_int_equal(ask(COR_AUTHZ_MASTERS, &pod, &st), -COR_EFORBIDDEN);
    assert_string_equal(st.name, "web");
    assert_string_equal(st.kind, "pods");
    cor_status_deinit(&st);
}

TEST(authorizer, always_allow_lets_every_known_user_in)
{
    assert_int_equal(ask(COR_AUTHZ_ALWAYS_ALLOW, &pod, NULL), 0);
}

TEST(authorizer, who_is_authenticated_may_ask_about_themselves)
{
    static const struct cor_user eve = {
        .name = COR_STR("eve"), .groups = authenticated, .ngroups = 1};
    struct cor_attributes a = {.user = &eve,
                               .is_resource = true,
                               .verb = COR_STR("create"),
                               .group = COR_STR("authorization.k8s.io"),
                               .version = COR_STR("v1"),
                               .resource = COR_STR("selfsubjectaccessreviews")};

    assert_int_equal(ask(COR_AUTHZ_MASTERS, &a, NULL), 0);
    assert_int_equal(ask(COR_AUTHZ_ALWAYS_DENY, &a, NULL), -COR_EFORBIDDEN);
    a.user = &ann;
    assert_int_equal(ask(COR_AUTHZ_MASTERS, &a, NULL), -COR_EFORBIDDEN);
    a.user = &eve;
    a.subresource = COR_STR("status");
    assert_int_equal(ask(COR_AUTHZ_MASTERS, &a, NULL), -COR_EFORBIDDEN);
    a.subresource = COR_STR("");
    a.verb = COR_STR("get");
    assert_int_equal(ask(COR_AUTHZ_MASTERS, &a, NULL), -COR_EFORBIDDEN);
    a.verb = COR_STR("create");
    a.resource = COR_STR("subjectaccessreviews");
    assert_int_equal(ask(COR_AUTHZ_MASTERS, &a, NULL), -COR_EFORBIDDEN);
}

TEST(authorizer, nobody_sees_only_health_and_version)
{
    static const char *const open[] = {"/healthz", "/livez", "/readyz", "/version", "/version/"};
    static const char *const closed[] = {"/",        "/healthzz", "/healthz/ping", "/readyz/etcd",
                                         "/metrics", "/api",      "/version/x"};
    struct cor_attributes a = {.user = &nobody, .is_anonymous = true, .verb = COR_STR("get")};
    struct cor_status st = {0};

    for (size_t i = 0; i < COR_ARRAY_LEN(open); i++) {
        a.path = cor_strz(open[i]);
        for (size_t m = 0; m < COR_ARRAY_LEN(modes); m++)
            assert_int_equal(ask(modes[m], &a, NULL), 0);
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(closed); i++) {
        a.path = cor_strz(closed[i]);
        for (size_t m = 0; m < COR_ARRAY_LEN(modes); m++)
            assert_int_equal(ask(modes[m], &a, &st), -COR_EUNAUTHORIZED);
    }
    assert_int_equal(st.code, 401);
    assert_string_equal(st.reason, "Unauthorized");
    assert_string_equal(cor_status_message(&st), "Unauthorized");
    cor_status_deinit(&st);
    /* A path that is public names no resource. */
    a.is_resource = true;
    a.path = COR_STR("/version");
    assert_int_equal(ask(COR_AUTHZ_ALWAYS_ALLOW, &a, NULL), -COR_EUNAUTHORIZED);
}

static void check_rules(enum cor_authz_mode mode, const struct cor_user *user, const char *has)
{
    const struct cor_attributes a = {.user = user, .ns = COR_STR("prod")};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    struct cor_json_writer w;

    cor_buf_init(&text, 4096);
    cor_json_writer_init(&w, &text);
    cor_authorizer_write_rules(cor_authorizer_of_mode(mode), &a, &w);
    assert_int_equal(cor_json_writer_finish(&w), 0);
    assert_non_null(strstr(cor_buf_z(&text), has));
}

TEST(authorizer, lists_everything_for_those_who_may_do_everything)
{
    check_rules(COR_AUTHZ_MASTERS, &root, "\"resources\":[\"*\"]");
    check_rules(COR_AUTHZ_ALWAYS_DENY, &root, "\"resources\":[\"*\"]");
    check_rules(COR_AUTHZ_ALWAYS_ALLOW, &ann, "\"resources\":[\"*\"]");
    check_rules(COR_AUTHZ_MASTERS, &ann, "\"resources\":[\"selfsubjectreviews\"]");
    check_rules(COR_AUTHZ_ALWAYS_DENY, &ann, "\"resources\":[\"selfsubjectreviews\"]");
}

/* What another authorizer may say. */
TEST(authorizer, a_refusal_shows_the_reason_of_a_decision_and_not_of_a_failure)
{
    static const struct {
        struct cor_authz_answer answer;
        const char *end;
    } cases[] = {
        {{.decision = COR_AUTHZ_NO_OPINION}, "in the namespace \"prod\""},
        {{.decision = COR_AUTHZ_NO_OPINION, .reason = "<why>"}, "\"prod\": <why>"},
        {{.decision = COR_AUTHZ_DENIED, .reason = "no"}, "in the namespace \"prod\": no"},
        {{.r = -COR_EUNREACHABLE, .reason = "gone"}, "in the namespace \"prod\""},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_status st = {0};
        const char *message;

        assert_int_equal(cor_authz_refuse(&pod, &cases[i].answer, &st), -COR_EFORBIDDEN);
        message = cor_status_message(&st);
        assert_true(strlen(message) > strlen(cases[i].end));
        assert_string_equal(message + strlen(message) - strlen(cases[i].end), cases[i].end);
        cor_status_deinit(&st);
    }
}

TEST(authorizer, without_memory_a_refusal_is_shorter_and_never_an_approval)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_status st = {0};

        assert_int_equal(ask(COR_AUTHZ_MASTERS, &pod, &st), -COR_EFORBIDDEN);
        assert_int_equal(st.code, 403);
        if (!test_alloc_failed())
            assert_non_null(strstr(cor_status_message(&st), "\"pods/status\""));
        cor_status_deinit(&st);
    }
}

TEST(authorizer, a_question_that_nobody_was_asked_is_left_without_harm)
{
    struct cor_authz_question question = {0};

    cor_authz_question_leave(&question);
}
