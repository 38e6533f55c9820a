/* The service account controller. Contract controllers 3.1. */
#include "host_fixture.h"

#define LIST     "serviceaccount-controller"
#define ACCOUNT  "/api/v1/namespaces/team/serviceaccounts/default"
#define ACCOUNTS "/api/v1/namespaces/team/serviceaccounts"

static void create_team(struct hfx *h, const char *json)
{
    hfx_do(h, 201, "POST", "/api/v1/namespaces", json);
}

/* Contract controllers 3.1.1, 3.1.2, 3.1.4. */
TEST(service_accounts, every_active_namespace_gets_a_default_account)
{
    struct hfx h;
    const char *account;

    hfx_open(&h, LIST);
    /* Of the namespaces that exist before the start … */
    hfx_await(&h, "/api/v1/namespaces/kube-system/serviceaccounts/default", "metadata.name",
              "default");
    hfx_await(&h, "/api/v1/namespaces/default/serviceaccounts/default", "metadata.name", "default");
    /* … and of new ones. It has nothing but a name. */
    create_team(&h, "{\"metadata\":{\"name\":\"team\"}}");
    account = hfx_await(&h, ACCOUNT, "metadata.name", "default");
    assert_at(account, "metadata.namespace", "team");
    assert_at(account, "secrets", "");
    assert_at(account, "metadata.labels", "");
    hfx_close(&h);
}

/* Contract controllers 3.1.1, 3.1.6. */
TEST(service_accounts, a_default_account_that_is_deleted_comes_back_with_another_uid)
{
    struct hfx h;
    char uid[64];

    hfx_open(&h, LIST);
    create_team(&h, "{\"metadata\":{\"name\":\"team\"}}");
    snprintf(uid, sizeof(uid), "%s",
             fx_at(hfx_await(&h, ACCOUNT, "metadata.name", "default"), "metadata.uid"));
    hfx_do(&h, 200, "DELETE", ACCOUNT, "");
    assert_string_not_equal(
        fx_at(hfx_await(&h, ACCOUNT, "metadata.name", "default"), "metadata.uid"), uid);
    hfx_close(&h);
}

/* Contract controllers 3.1.4, 3.1.6: an account that exists stays as it is. */
TEST(service_accounts, an_account_that_exists_is_not_changed)
{
    const struct fx_headers merge = {.content_type = "application/merge-patch+json"};
    struct hfx h;
    char version[32];

    pfx_open(&h.p, true);
    create_team(&h, "{\"metadata\":{\"name\":\"team\"}}");
    snprintf(version, sizeof(version), "%s",
             fx_at(hfx_do(&h, 201, "POST", ACCOUNTS,
                          "{\"metadata\":{\"name\":\"default\"},\"imagePullSecrets\":[{\"name\":"
                          "\"mine\"}],\"automountServiceAccountToken\":false}"),
                   "metadata.resourceVersion"));
    hfx_start(&h, LIST);
    fx_do_with(&h.p.a.fx, 200, "PATCH", "/api/v1/namespaces/team",
               "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", &merge);
    create_team(&h, "{\"metadata\":{\"name\":\"later\"}}");
    hfx_await(&h, "/api/v1/namespaces/later/serviceaccounts/default", "metadata.name", "default");
    assert_at(hfx_do(&h, 200, "GET", ACCOUNT, ""), "metadata.resourceVersion", version);
    hfx_close(&h);
}

/* Contract controllers 3.1.3. */
TEST(service_accounts, a_namespace_that_terminates_gets_no_account)
{
    struct hfx h;

    hfx_open(&h, LIST);
    create_team(&h, "{\"metadata\":{\"name\":\"team\"}}");
    hfx_await(&h, ACCOUNT, "metadata.name", "default");
    hfx_do(&h, 200, "DELETE", "/api/v1/namespaces/team", "");
    hfx_do(&h, 200, "DELETE", ACCOUNT, "");
    /* The keys are reconciled in their order: a later namespace has its account when the deletion
     * was looked at. */
    create_team(&h, "{\"metadata\":{\"name\":\"later\"}}");
    hfx_await(&h, "/api/v1/namespaces/later/serviceaccounts/default", "metadata.name", "default");
    hfx_do(&h, 404, "GET", ACCOUNT, "");
    hfx_close(&h);
}
