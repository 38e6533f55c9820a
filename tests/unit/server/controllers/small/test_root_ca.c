/* The root CA publisher. Contract controllers 3.2. */
#include "../host_fixture.h"

#define LIST "root-ca-certificate-publisher-controller"
#define MAPS "/api/v1/namespaces/team/configmaps"
#define MAP  MAPS "/kube-root-ca.crt"
#define DESCRIPTION                                                                                \
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "      \
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "      \
    "guaranteed across distributions of Kubernetes clusters."
#define DATA "{\"ca.crt\":\"-----BEGIN CERTIFICATE-----\\nMIIB\\n-----END CERTIFICATE-----\\n\"}"

static void create_namespace(struct hfx *h, const char *name)
{
    char json[128];

    snprintf(json, sizeof(json), "{\"metadata\":{\"name\":\"%s\"}}", name);
    hfx_do(h, 201, "POST", "/api/v1/namespaces", json);
}

static void patch(struct hfx *h, const char *path, const char *body)
{
    const struct fx_headers headers = {.content_type = "application/merge-patch+json"};

    fx_do_with(&h->p.a.fx, 200, "PATCH", path, body, &headers);
}

/* Contract controllers 3.2.1, 3.2.2, 3.2.6, 3.2.7. */
TEST(root_ca, every_namespace_has_the_certificate_in_a_config_map)
{
    struct hfx h;
    const char *map;

    hfx_open(&h, LIST);
    hfx_await(&h, "/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt", "data", DATA);
    create_namespace(&h, "team");
    map = hfx_await(&h, MAP, "data", DATA);
    assert_at(map, "metadata.annotations['kubernetes.io/description']", DESCRIPTION);
    assert_at(map, "metadata.labels", "");
    assert_at(hfx_do(&h, 200, "GET", MAPS, ""), "items[1]", "");
    hfx_close(&h);
}

/* Contract controllers 3.2.2, 3.2.3, 3.2.4. */
TEST(root_ca, a_config_map_that_was_changed_or_deleted_is_put_right)
{
    struct hfx h;

    hfx_open(&h, LIST);
    create_namespace(&h, "team");
    hfx_await(&h, MAP, "data", DATA);
    patch(&h, MAP, "{\"data\":{\"other\":\"x\"},\"metadata\":{\"labels\":{\"mine\":\"stays\"}}}");
    hfx_await(&h, MAP, "data", DATA);
    assert_at(hfx_do(&h, 200, "GET", MAP, ""), "metadata.labels", "{\"mine\":\"stays\"}");
    patch(&h, MAP, "{\"data\":{\"ca.crt\":\"forged\"}}");
    hfx_await(&h, MAP, "data", DATA);
    patch(&h, MAP, "{\"metadata\":{\"annotations\":null}}");
    hfx_await(&h, MAP, "metadata.annotations['kubernetes.io/description']", DESCRIPTION);
    hfx_do(&h, 200, "DELETE", MAP, "");
    hfx_await(&h, MAP, "data", DATA);
    hfx_close(&h);
}

/* Contract controllers 3.2.3. */
TEST(root_ca, another_description_is_accepted)
{
    struct hfx h;
    char version[32];

    hfx_open(&h, LIST);
    create_namespace(&h, "team");
    hfx_await(&h, MAP, "data", DATA);
    patch(&h, MAP, "{\"metadata\":{\"annotations\":{\"kubernetes.io/description\":\"mine\"}}}");
    snprintf(version, sizeof(version), "%s",
             fx_at(hfx_do(&h, 200, "GET", MAP, ""), "metadata.resourceVersion"));
    create_namespace(&h, "later");
    hfx_await(&h, "/api/v1/namespaces/later/configmaps/kube-root-ca.crt", "data", DATA);
    assert_at(hfx_do(&h, 200, "GET", MAP, ""), "metadata.resourceVersion", version);
    hfx_close(&h);
}

/* Contract controllers 3.2.2, 3.2.5: the creation in a namespace that terminates is refused, and
 * not tried again. */
TEST(root_ca, a_namespace_that_terminates_keeps_its_deletion)
{
    struct hfx h;

    hfx_open(&h, LIST);
    create_namespace(&h, "team");
    hfx_await(&h, MAP, "data", DATA);
    hfx_do(&h, 200, "DELETE", "/api/v1/namespaces/team", "");
    hfx_do(&h, 200, "DELETE", MAP, "");
    create_namespace(&h, "later");
    hfx_await(&h, "/api/v1/namespaces/later/configmaps/kube-root-ca.crt", "data", DATA);
    hfx_do(&h, 404, "GET", MAP, "");
    hfx_close(&h);
}

/* Contract controllers 3.2.5: the namespace is not there any more when the creation comes. */
TEST(root_ca, a_namespace_that_does_not_exist_is_no_failure)
{
    struct hfx h;

    hfx_open(&h, LIST);
    create_namespace(&h, "team");
    hfx_await(&h, MAP, "data", DATA);
    hfx_do(&h, 200, "DELETE", "/api/v1/namespaces/team", "");
    hfx_do(
        &h, 200, "PUT", "/api/v1/namespaces/team/finalize",
        "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"team\"},\"spec\":{}}");
    hfx_do(&h, 404, "GET", "/api/v1/namespaces/team", "");
    hfx_do(&h, 200, "DELETE", MAP, "");
    create_namespace(&h, "later");
    hfx_await(&h, "/api/v1/namespaces/later/configmaps/kube-root-ca.crt", "data", DATA);
    hfx_do(&h, 404, "GET", MAP, "");
    hfx_close(&h);
}
