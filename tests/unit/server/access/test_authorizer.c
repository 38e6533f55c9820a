#include "server/access/authorizer.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "test.h"

static struct cor_identity who(const char *name, const struct cor_str *groups, size_t ngroups)
{
    return (struct cor_identity){
        .user = {.name = cor_strz(name), .groups = groups, .ngroups = ngroups}};
}

static const struct cor_str masters[] = {{"system:masters", 14}};
static const struct cor_request_info pod = {.is_resource = true,
                                            .verb = COR_API_VERB_GET,
                                            .version = {"v1", 2},
                                            .resource = {"pods", 4},
                                            .subresource = {"status", 6},
                                            .ns = {"prod", 4},
                                            .name = {"web", 3}};

static void check_forbidden(const struct cor_request_info *info, const char *verb,
                            enum cor_authz_mode mode, const char *message)
{
    struct cor_identity ann = who("ann", NULL, 0);
    struct cor_status st = {0};

    assert_int_equal(cor_authorize(mode, &ann, info, verb, &st), -COR_EFORBIDDEN);
    assert_string_equal(cor_status_message(&st), message);
    assert_int_equal(st.code, 403);
    assert_string_equal(st.reason, "Forbidden");
    cor_status_deinit(&st);
}

TEST(authorizer, masters_may_do_everything)
{
    struct cor_identity root = who("root", masters, 1);

    assert_int_equal(cor_authorize(COR_AUTHZ_MASTERS, &root, &pod, "get", NULL), 0);
    assert_int_equal(cor_authorize(COR_AUTHZ_ALWAYS_DENY, &root, &pod, "get", NULL), 0);
}

TEST(authorizer, others_are_refused_in_upstreams_words)
{
    struct cor_request_info list = pod, path = {.path = {"/metrics", 8}};

    check_forbidden(
        &pod, "get", COR_AUTHZ_MASTERS,
        "pods \"web\" is forbidden: User \"ann\" cannot get resource \"pods/status\" in "
        "API group \"\" in the namespace \"prod\"");
    list.subresource = list.name = list.ns = COR_STR("");
    list.group = COR_STR("apps");
    list.resource = COR_STR("deployments");
    check_forbidden(&list, "list", COR_AUTHZ_MASTERS,
                    "deployments.apps is forbidden: User \"ann\" cannot list resource "
                    "\"deployments\" in API group \"apps\" at the cluster scope");
    check_forbidden(&path, "get", COR_AUTHZ_MASTERS,
                    "forbidden: User \"ann\" cannot get path \"/metrics\"");
    path.path = COR_STR("/<b>&");
    check_forbidden(&path, "get", COR_AUTHZ_ALWAYS_DENY,
                    "forbidden: User \"ann\" cannot get path \"/&lt;b&gt;&amp;\": Everything is "
                    "forbidden.");
}

TEST(authorizer, details_name_the_resource)
{
    struct cor_identity ann = who("ann", NULL, 0);
    struct cor_status st = {0};

    assert_int_equal(cor_authorize(COR_AUTHZ_MASTERS, &ann, &pod, "get", &st), -COR_EFORBIDDEN);
    assert_string_equal(st.name, "web");
    assert_string_equal(st.kind, "pods");
    cor_status_deinit(&st);
}

TEST(authorizer, always_allow_lets_every_known_user_in)
{
    struct cor_identity ann = who("ann", NULL, 0);

    assert_int_equal(cor_authorize(COR_AUTHZ_ALWAYS_ALLOW, &ann, &pod, "get", NULL), 0);
}

TEST(authorizer, nobody_sees_only_health_and_version)
{
    static const char *const open[] = {"/healthz", "/livez", "/readyz", "/version", "/version/"};
    static const char *const closed[] = {"/",        "/healthzz", "/healthz/ping", "/readyz/etcd",
                                         "/metrics", "/api",      "/version/x"};
    struct cor_identity nobody = who("system:anonymous", NULL, 0);
    struct cor_status st = {0};

    nobody.is_anonymous = true;
    for (size_t i = 0; i < COR_ARRAY_LEN(open); i++) {
        struct cor_request_info info = {.path = cor_strz(open[i])};

        assert_int_equal(cor_authorize(COR_AUTHZ_ALWAYS_DENY, &nobody, &info, "get", NULL), 0);
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(closed); i++) {
        struct cor_request_info info = {.path = cor_strz(closed[i])};

        assert_int_equal(cor_authorize(COR_AUTHZ_ALWAYS_ALLOW, &nobody, &info, "get", &st),
                         -COR_EUNAUTHORIZED);
    }
    assert_int_equal(st.code, 401);
    assert_string_equal(st.reason, "Unauthorized");
    assert_string_equal(cor_status_message(&st), "Unauthorized");
    cor_status_deinit(&st);
}
