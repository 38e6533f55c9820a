#include "server/request/request_info.h"

#include "base/err.h"
#include "test.h"

static const struct {
    const char *path, *query;
    enum cor_http_method method;
    bool is_resource;
    const char *verb, *group, *version, *ns, *resource, *name, *sub;
} cases[] = {
    {"/api/v1/pods", "", COR_HTTP_GET, true, "list", "", "v1", "", "pods", "", ""},
    {"//api/v1/pods//", "watch", COR_HTTP_GET, true, "watch", "", "v1", "", "pods", "", ""},
    {"/api/v1/pods", "watch=0", COR_HTTP_GET, true, "list", "", "v1", "", "pods", "", ""},
    {"/api/v1/pods", "watch=False", COR_HTTP_GET, true, "list", "", "v1", "", "pods", "", ""},
    {"/api/v1/pods", "%77atch=1", COR_HTTP_GET, true, "watch", "", "v1", "", "pods", "", ""},
    {"/api/v1/pods", "watch=%66alse", COR_HTTP_GET, true, "list", "", "v1", "", "pods", "", ""},
    {"/api/v1/pods", "watch=%zz", COR_HTTP_GET, true, "list", "", "v1", "", "pods", "", ""},
    {"/api/v1/namespaces/ns/pods/p%20q", "", COR_HTTP_HEAD, true, "get", "", "v1", "ns", "pods",
     "p q", ""},
    {"/api/v1/namespaces/ns", "", COR_HTTP_PUT, true, "update", "", "v1", "ns", "namespaces", "ns",
     ""},
    {"/api/v1/namespaces/ns/status", "", COR_HTTP_PATCH, true, "patch", "", "v1", "ns",
     "namespaces", "ns", "status"},
    {"/api/v1/namespaces/ns/finalize", "", COR_HTTP_PUT, true, "update", "", "v1", "ns",
     "namespaces", "ns", "finalize"},
    {"/api/v1/namespaces", "", COR_HTTP_POST, true, "create", "", "v1", "", "namespaces", "", ""},
    {"/apis/apps/v1/namespaces/ns/deployments/d/scale", "", COR_HTTP_GET, true, "get", "apps", "v1",
     "ns", "deployments", "d", "scale"},
    {"/apis/apps/v1/namespaces/ns/deployments", "", COR_HTTP_DELETE, true, "deletecollection",
     "apps", "v1", "ns", "deployments", "", ""},
    {"/apis/apps/v1/namespaces/ns/deployments/d", "", COR_HTTP_DELETE, true, "delete", "apps", "v1",
     "ns", "deployments", "d", ""},
    {"/api/v1/watch/namespaces/ns/pods/p", "", COR_HTTP_GET, true, "watch", "", "v1", "ns", "pods",
     "p", ""},
    {"/api/v1/pods", "", COR_HTTP_OPTIONS, true, "", "", "v1", "", "pods", "", ""},
    {"/api/v1", "", COR_HTTP_GET, false, "", "", "", "", "", "", ""},
    {"/apis/apps/v1", "", COR_HTTP_GET, false, "", "", "", "", "", "", ""},
    {"/healthz", "", COR_HTTP_GET, false, "", "", "", "", "", "", ""},
    {"/other/v1/pods/x", "", COR_HTTP_GET, false, "", "", "", "", "", "", ""},
    {"/", "", COR_HTTP_GET, false, "", "", "", "", "", "", ""},
};

TEST(request_info, reads_paths_as_upstream_does)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cor_request_info info;

        assert_int_equal(cor_request_info_init(&info, cases[i].method, cor_strz(cases[i].path),
                                               cor_strz(cases[i].query)),
                         0);
        assert_int_equal(info.is_resource, cases[i].is_resource);
        assert_string_equal(cor_api_verb_name(info.verb), cases[i].verb);
        assert_str(info.group, cases[i].group);
        assert_str(info.version, cases[i].version);
        assert_str(info.ns, cases[i].ns);
        assert_str(info.resource, cases[i].resource);
        assert_str(info.name, cases[i].name);
        assert_str(info.subresource, cases[i].sub);
        cor_request_info_deinit(&info);
    }
}

TEST(request_info, a_failed_reading_leaves_nothing_behind)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_request_info info;
        int r = cor_request_info_init(&info, COR_HTTP_GET, COR_STR("/apis/apps/v1/deployments"),
                                      COR_STR("watch=1"));

        if (r == 0) {
            assert_str(info.resource, "deployments");
            assert_int_equal(info.verb, COR_API_VERB_WATCH);
        } else {
            assert_int_equal(r, -COR_ENOMEM);
            assert_false(info.is_resource);
            assert_true(!info.path.p && !info.group.p && !info.version.p && !info.resource.p);
        }
        cor_request_info_deinit(&info);
    }
}

TEST(request_info, refuses_bad_escapes)
{
    struct cor_request_info info;

    assert_int_equal(
        cor_request_info_init(&info, COR_HTTP_GET, COR_STR("/api/v1/%zz"), COR_STR("")),
        -COR_EINVAL);
}
