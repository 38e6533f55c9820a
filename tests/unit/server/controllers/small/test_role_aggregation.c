/* The cluster role aggregation controller. Contract controllers 3.6. */
#include "../host_fixture.h"

#define LIST       "clusterrole-aggregation-controller"
#define ROLES      "/apis/rbac.authorization.k8s.io/v1/clusterroles"
#define RULE(verb) "{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"" verb "\"]}"

static void create_role(struct hfx *h, const char *name, const char *label, const char *rules)
{
    char text[1024];

    snprintf(text, sizeof(text),
             "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"to\":\"%s\"}},\"rules\":[%s]}", name,
             label, rules);
    hfx_do(h, 201, "POST", ROLES, text);
}

static void create_sum(struct hfx *h, const char *name, const char *selectors)
{
    char text[1024];

    snprintf(text, sizeof(text),
             "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"to\":\"x\"}},\"aggregationRule\":{"
             "\"clusterRoleSelectors\":[%s]}}",
             name, selectors);
    hfx_do(h, 201, "POST", ROLES, text);
}

/* Contract controllers 3.6.1, 3.6.2, 3.6.3. */
TEST(role_aggregation, has_the_rules_of_each_selector_sorted_by_name_and_without_repetition)
{
    const struct fx_headers merge = {.content_type = "application/merge-patch+json"};
    struct hfx h;
    const char *role;

    hfx_open(&h, LIST);
    create_role(&h, "b", "x", RULE("get") "," RULE("list"));
    create_role(&h, "a", "x", RULE("watch") "," RULE("get"));
    create_role(&h, "c", "y", RULE("create"));
    /* The role itself matches its second selector, and is skipped. */
    create_sum(&h, "sum", "{\"matchLabels\":{\"to\":\"y\"}},{\"matchLabels\":{\"to\":\"x\"}}");
    role = hfx_await(&h, ROLES "/sum", "rules",
                     "[" RULE("create") "," RULE("watch") "," RULE("get") "," RULE("list") "]");
    assert_at(role, "aggregationRule.clusterRoleSelectors[0].matchLabels.to", "y");
    assert_at(role, "metadata.labels.to", "x");
    /* A change of any role counts, and so does a rule that somebody else has written. */
    hfx_do(&h, 200, "DELETE", ROLES "/b", "");
    hfx_await(&h, ROLES "/sum", "rules", "[" RULE("create") "," RULE("watch") "," RULE("get") "]");
    fx_do_with(&h.p.a.fx, 200, "PATCH", ROLES "/sum", "{\"rules\":[" RULE("delete") "]}", &merge);
    hfx_await(&h, ROLES "/sum", "rules", "[" RULE("create") "," RULE("watch") "," RULE("get") "]");
    hfx_close(&h);
}

/* Contract controllers 3.6.3: by force, and the manager owns nothing but the rules. */
TEST(role_aggregation, applies_the_rules_and_owns_nothing_else)
{
    struct hfx h;
    const char *role;

    pfx_open(&h.p, true);
    create_role(&h, "a", "x", RULE("get"));
    hfx_do(&h, 201, "POST", ROLES "?fieldManager=me",
           "{\"metadata\":{\"name\":\"sum\",\"labels\":{\"own\":\"1\"}},\"aggregationRule\":{"
           "\"clusterRoleSelectors\":[{\"matchLabels\":{\"to\":\"x\"}}]},\"rules\":[" RULE(
               "delete") "]}");
    hfx_start(&h, LIST);
    role = hfx_await(&h, ROLES "/sum", "rules", "[" RULE("get") "]");
    assert_at(role, "metadata.labels.own", "1");
    assert_at(role, "metadata.managedFields[0].manager", "clusterrole-aggregation-controller");
    assert_at(role, "metadata.managedFields[0].operation", "Apply");
    assert_at(role, "metadata.managedFields[0].fieldsV1", "{\"f:rules\":{}}");
    /* The creator had them before. */
    assert_at(role, "metadata.managedFields[1].manager", "me");
    assert_null(strstr(fx_at(role, "metadata.managedFields[1].fieldsV1"), "f:rules"));
    hfx_close(&h);
}

/* Contract controllers 3.6.3: an apply creates what is missing, but not a role that was deleted
 * while the controller had it in its list. */
TEST(role_aggregation, a_role_that_is_deleted_meanwhile_does_not_come_back)
{
    struct hfx h;

    pfx_open(&h.p, true);
    create_role(&h, "a", "x", RULE("get"));
    create_sum(&h, "sum", "{\"matchLabels\":{\"to\":\"x\"}}");
    /* The apply reads the role from the store. */
    pfx_hold(&h.p, COR_ENGINE_WRITE, "clusterroles/sum");
    hfx_start(&h, LIST);
    afx_wait_held(&h.p.a, &h.p.hold);
    hfx_do(&h, 200, "DELETE", ROLES "/sum", "");
    pfx_let_go(&h.p);
    /* The reconcile has come to an end, and to the next one. */
    create_sum(&h, "later", "{\"matchLabels\":{\"to\":\"x\"}}");
    hfx_await(&h, ROLES "/later", "rules", "[" RULE("get") "]");
    hfx_do(&h, 404, "GET", ROLES "/sum", "");
    hfx_close(&h);
}

/* Contract controllers 3.6.4. */
TEST(role_aggregation, a_role_that_selects_nothing_has_no_rules)
{
    struct hfx h;

    pfx_open(&h.p, true);
    create_role(&h, "a", "x", RULE("get"));
    create_sum(&h, "sum", "{\"matchLabels\":{\"to\":\"x\"}}");
    hfx_start(&h, LIST);
    hfx_await(&h, ROLES "/sum", "rules", "[" RULE("get") "]");
    hfx_stop(&h);
    hfx_do(&h, 200, "DELETE", ROLES "/a", "");
    hfx_start(&h, LIST);
    hfx_await(&h, ROLES "/sum", "rules", "null");
    hfx_close(&h);
}

/* Contract controllers 3.6.1: roles that aggregate aggregated roles, as admin does with edit. */
TEST(role_aggregation, sums_of_sums_are_put_right)
{
    struct hfx h;

    hfx_open(&h, LIST);
    create_sum(&h, "all", "{\"matchLabels\":{\"to\":\"x\"}}");
    create_sum(&h, "part", "{\"matchLabels\":{\"to\":\"y\"}}");
    create_role(&h, "a", "y", RULE("get"));
    hfx_await(&h, ROLES "/part", "rules", "[" RULE("get") "]");
    hfx_await(&h, ROLES "/all", "rules", "[" RULE("get") "]");
    hfx_close(&h);
}

/* Two roles that aggregate each other have the same rules in the end, and are not written for ever.
 */
TEST(role_aggregation, roles_that_aggregate_each_other_come_to_rest)
{
    const char *const texts[] = {
        "{\"metadata\":{\"name\":\"a\",\"labels\":{\"to\":\"q\"}},\"aggregationRule\":{"
        "\"clusterRoleSelectors\":[{\"matchLabels\":{\"to\":\"p\"}}]},\"rules\":[" RULE("get") "]}",
        "{\"metadata\":{\"name\":\"b\",\"labels\":{\"to\":\"p\"}},\"aggregationRule\":{"
        "\"clusterRoleSelectors\":[{\"matchLabels\":{\"to\":\"q\"}}]},\"rules\":[" RULE(
            "list") "]}"};
    struct hfx h;
    char version[32];

    pfx_open(&h.p, true);
    for (size_t i = 0; i < COR_ARRAY_LEN(texts); i++)
        hfx_do(&h, 201, "POST", ROLES, texts[i]);
    hfx_start(&h, LIST);
    hfx_await(&h, ROLES "/a", "rules", "[" RULE("list") "]");
    create_role(&h, "other", "z", RULE("watch"));
    create_sum(&h, "c", "{\"matchLabels\":{\"to\":\"z\"}}");
    hfx_await(&h, ROLES "/c", "rules", "[" RULE("watch") "]");
    snprintf(version, sizeof(version), "%s",
             fx_at(hfx_do(&h, 200, "GET", ROLES "/a", ""), "metadata.resourceVersion"));
    /* Each reconcile that writes `c` looks at `a` and `b` before. */
    create_role(&h, "other2", "z", RULE("create"));
    hfx_await(&h, ROLES "/c", "rules", "[" RULE("watch") "," RULE("create") "]");
    assert_at(hfx_do(&h, 200, "GET", ROLES "/a", ""), "metadata.resourceVersion", version);
    assert_at(hfx_do(&h, 200, "GET", ROLES "/b", ""), "rules", "[" RULE("list") "]");
    hfx_close(&h);
}

/* The API does not limit the length of a role's name. */
TEST(role_aggregation, a_role_with_a_very_long_name_does_not_stop_the_controller)
{
    struct hfx h;
    char name[2048], text[4096];

    memset(name, 'n', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"%s\"}}", name);
    pfx_open(&h.p, true);
    hfx_do(&h, 201, "POST", ROLES, text);
    hfx_start(&h, LIST);
    create_role(&h, "a", "y", RULE("get"));
    create_sum(&h, "sum", "{\"matchLabels\":{\"to\":\"y\"}}");
    hfx_await(&h, ROLES "/sum", "rules", "[" RULE("get") "]");
    hfx_close(&h);
}

/* Contract controllers 3.6.2: what is equal is not written. */
TEST(role_aggregation, writes_nothing_while_nothing_differs)
{
    struct hfx h;
    char version[32];

    hfx_open(&h, LIST);
    create_role(&h, "a", "y", RULE("get"));
    create_sum(&h, "sum", "{\"matchLabels\":{\"to\":\"y\"}}");
    snprintf(version, sizeof(version), "%s",
             fx_at(hfx_await(&h, ROLES "/sum", "rules", "[" RULE("get") "]"),
                   "metadata.resourceVersion"));
    create_role(&h, "other", "z", RULE("list"));
    create_sum(&h, "marker", "{\"matchLabels\":{\"to\":\"z\"}}");
    hfx_await(&h, ROLES "/marker", "rules", "[" RULE("list") "]");
    /* `marker` comes before `sum`: a write of `sum` would follow in the same reconcile. */
    create_role(&h, "other2", "z", RULE("watch"));
    hfx_await(&h, ROLES "/marker", "rules", "[" RULE("list") "," RULE("watch") "]");
    assert_at(hfx_do(&h, 200, "GET", ROLES "/sum", ""), "metadata.resourceVersion", version);
    hfx_close(&h);
}

/* Whatever allocation fails after the change, the rules become right. */
TEST(role_aggregation, is_put_right_although_an_allocation_fails)
{
    struct hfx h;

    hfx_open(&h, LIST);
    create_sum(&h, "sum", "{\"matchLabels\":{\"to\":\"y\"}}");
    FOR_EACH_FAILED_ALLOC(n) {
        test_fail_alloc(0, false);
        create_role(&h, "a", "y", RULE("get"));
        test_fail_alloc(n, false);
        hfx_run_to_failure(&h);
        hfx_await(&h, ROLES "/sum", "rules", "[" RULE("get") "]");
        hfx_do(&h, 200, "DELETE", ROLES "/a", "");
        hfx_await(&h, ROLES "/sum", "rules", "null");
    }
    hfx_close(&h);
}
