#include "schema/kinds/resource_row.h"

#include "meta/select/predicate.h"
#include "test.h"

static const struct cor_resource_row *find(const char *group, const char *version,
                                           const char *plural)
{
    return cor_api_builtin(cor_strz(group), cor_strz(version), cor_strz(plural));
}

TEST(api_resource, every_ga_resource_of_1_34_is_there_once)
{
    size_t n;
    const struct cor_resource_row *v = cor_api_builtins(&n);

    assert_int_equal(n, 66);
    for (size_t i = 0; i < n; i++) {
        assert_ptr_equal(cor_api_builtin(v[i].group, v[i].version, v[i].plural), &v[i]);
        assert_true(v[i].verbs != 0);
        assert_true(cor_str_ends(v[i].api_version, v[i].version));
        assert_true(cor_str_ends(v[i].list_kind, COR_STR("List")));
    }
    assert_null(find("", "v1", "nothing"));
}

TEST(api_resource, names_a_version_with_its_group)
{
    assert_str(find("", "v1", "pods")->api_version, "v1");
    assert_str(find("apps", "v1", "deployments")->api_version, "apps/v1");
    assert_str(find("apps", "v1", "deployments")->list_kind, "DeploymentList");
}

TEST(api_resource, groups_and_versions_stand_together)
{
    size_t n;
    const struct cor_resource_row *v = cor_api_builtins(&n);

    for (size_t i = 1; i < n; i++) {
        bool same = cor_str_eq(v[i].api_version, v[i - 1].api_version);

        assert_true(!same || cor_str_cmp(v[i - 1].plural, v[i].plural) < 0 ||
                    cor_str_eqz(v[i].plural, "persistentvolumes") ||
                    cor_str_eqz(v[i].plural, "resourceclaimtemplates"));
        for (size_t j = i + 1; !same && j < n; j++)
            assert_false(cor_str_eq(v[j].api_version, v[i - 1].api_version));
    }
}

TEST(api_resource, knows_who_needs_a_resource_version_on_update)
{
    assert_false(find("coordination.k8s.io", "v1", "leases")->flags & COR_API_UNCONDITIONAL);
    assert_true(find("coordination.k8s.io", "v1", "leases")->flags & COR_API_CREATE_ON_UPDATE);
    assert_true(find("", "v1", "configmaps")->flags & COR_API_UNCONDITIONAL);
    assert_false(find("", "v1", "configmaps")->flags & COR_API_CREATE_ON_UPDATE);
}

TEST(api_resource, field_labels_are_upstreams)
{
    static const struct {
        const char *group, *plural, *selector;
        int r;
    } cases[] = {
        {"", "pods", "spec.nodeName=a,status.phase!=Running,spec.host=b", 0},
        {"", "pods", "spec.hostNetwork=true,status.podIP=1.2.3.4", 0},
        {"", "pods", "spec.containers=a", -COR_EINVAL},
        {"", "nodes", "spec.unschedulable=false", 0},
        {"", "nodes", "metadata.namespace=a", -COR_EINVAL},
        {"", "namespaces", "status.phase=Active", 0},
        {"", "secrets", "type=Opaque", 0},
        {"", "configmaps", "metadata.name=a,metadata.namespace=b", 0},
        {"", "configmaps", "type=a", -COR_EINVAL},
        {"", "events", "involvedObject.uid=1,reason=x,source=y", 0},
        {"batch", "jobs", "status.successful=1", 0},
        {"apps", "replicasets", "status.replicas=1", -COR_EINVAL},
        {"resource.k8s.io", "resourceslices", "spec.driver=a", 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct cor_resource_row *r = find(cases[i].group, "v1", cases[i].plural);
        struct cor_predicate predicate = {0};
        struct cor_status status = {0};

        assert_int_equal(cor_predicate_parse(COR_STR(""), cor_strz(cases[i].selector),
                                             r->field_labels, &predicate, &status),
                         cases[i].r);
        cor_predicate_deinit(&predicate);
        cor_status_deinit(&status);
    }
}

TEST(api_resource, finds_subresources)
{
    const struct cor_resource_row *pods = find("", "v1", "pods");
    const struct cor_resource_row *accounts = find("", "v1", "serviceaccounts");

    assert_true(cor_api_subresource(pods, COR_STR("status"))->is_served);
    assert_false(cor_api_subresource(accounts, COR_STR("token"))->is_served);
    assert_null(cor_api_subresource(pods, COR_STR("scale")));
    assert_string_equal(cor_api_verb_name(COR_API_VERB_DELETECOLLECTION), "deletecollection");
}
