/* The server's plugins, through the API. */
#include "server/admission/plugins.h"

#include <stdio.h>

#include "api_fixture.h"
#include "server/api/api_loop.h"

#define CORE    "/api/v1"
#define STORAGE "/apis/storage.k8s.io/v1"
#define CLAIMS  CORE "/namespaces/default/persistentvolumeclaims"
#define CLAIM                                                                                      \
    "\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":"      \
    "\"1Gi\"}}}"

/* Contract access 4.0.1. */
TEST(plugins, stand_in_upstreams_order)
{
    static const char *const names[] = {"NamespaceLifecycle", "NamespaceLifecycle",
                                        "StorageObjectInUseProtection"};

    assert_int_equal(cor_admission_plugins.n, COR_ARRAY_LEN(names));
    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        const struct cor_admission_row *row = &cor_admission_plugins.rows[i];

        assert_string_equal(row->plugin, names[i]);
        assert_true(!row->run != !row->start);
    }
}

/* Contract access 4.11.1. */
TEST(plugins, new_storage_objects_are_protected_while_they_are_used)
{
    static const struct {
        const char *target, *body, *finalizers;
    } cases[] = {
        {CLAIMS, "{\"metadata\":{\"name\":\"a\"}," CLAIM "}", "[\"kubernetes.io/pvc-protection\"]"},
        {CLAIMS,
         "{\"metadata\":{\"name\":\"b\",\"finalizers\":[\"example.com/x\",\"example.com/y\"]}," CLAIM
         "}",
         "[\"example.com/x\",\"example.com/y\",\"kubernetes.io/pvc-protection\"]"},
        {CLAIMS,
         "{\"metadata\":{\"name\":\"c\",\"finalizers\":[\"kubernetes.io/pvc-protection\","
         "\"example.com/y\"]}," CLAIM "}",
         "[\"kubernetes.io/pvc-protection\",\"example.com/y\"]"},
        {CORE "/persistentvolumes",
         "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],"
         "\"capacity\":{\"storage\":\"1Gi\"},\"hostPath\":{\"path\":\"/tmp/a\"}}}",
         "[\"kubernetes.io/pv-protection\"]"},
        {STORAGE "/volumeattributesclasses",
         "{\"metadata\":{\"name\":\"a\"},\"driverName\":\"example.com\",\"parameters\":{\"a\":\"b\"}}",
         "[\"kubernetes.io/vac-protection\"]"},
        {STORAGE "/storageclasses",
         "{\"metadata\":{\"name\":\"a\"},\"provisioner\":\"example.com/p\"}", ""},
        {CORE "/namespaces/default/configmaps", "{\"metadata\":{\"name\":\"a\"}}", ""},
    };
    struct fx fx = {0};

    fx_open(&fx);
    fx_bootstrap(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        const char *answer = fx_do(&fx, 201, "POST", cases[i].target, cases[i].body);

        assert_at(answer, "metadata.finalizers", cases[i].finalizers);
    }
    fx_close(&fx);
}

TEST(plugins, an_update_does_not_protect_again)
{
    static const char apply[] =
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: b\n"
        "spec:\n  accessModes: [ReadWriteOnce]\n"
        "  resources:\n    requests:\n      storage: 1Gi\n";
    struct fx fx = {0};
    const char *answer;

    fx_open(&fx);
    fx_bootstrap(&fx);
    (void)fx_do(&fx, 201, "POST", CLAIMS, "{\"metadata\":{\"name\":\"a\"}," CLAIM "}");
    answer = fx_do_with(&fx, 200, "PATCH", CLAIMS "/a", "{\"metadata\":{\"finalizers\":null}}",
                        &(struct fx_headers){.content_type = "application/merge-patch+json"});
    assert_at(answer, "metadata.finalizers", "");
    /* An apply that creates is a creation, and owns what it has sent. */
    answer = fx_do_with(&fx, 201, "PATCH", CLAIMS "/b?fieldManager=me", apply,
                        &(struct fx_headers){.content_type = "application/apply-patch+yaml"});
    assert_at(answer, "metadata.finalizers", "[\"kubernetes.io/pvc-protection\"]");
    assert_null(strstr(fx_at(answer, "metadata.managedFields"), "f:finalizers"));
    fx_close(&fx);
}

TEST(plugins, without_memory_nothing_is_admitted)
{
    struct fx fx = {0};

    fx_open(&fx);
    fx_bootstrap(&fx);
    fx_fail_each_alloc(
        &fx, "POST", CLAIMS "?dryRun=All",
        "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"example.com/x\"]}," CLAIM "}", NULL);
    fx_close(&fx);
}

/* Contract access 4.1.2, 4.1.4. Bindings and evictions are creations in the namespace, and are
 * refused while it ends; an access review must not tell whether there is a namespace. */
TEST(plugins, what_is_created_below_a_pod_needs_its_namespace)
{
    static const struct {
        const char *target, *body;
    } cases[] = {
        {"/pods/p/binding", "{\"metadata\":{\"name\":\"p\"},\"target\":{\"name\":\"n\"}}"},
        {"/bindings", "{\"metadata\":{\"name\":\"p\"},\"target\":{\"name\":\"n\"}}"},
        {"/pods/p/eviction", "{\"metadata\":{\"name\":\"p\"}}"},
    };
    static const char review[] = "{\"metadata\":{\"namespace\":\"none\"},\"spec\":{\"user\":"
                                 "\"u\",\"resourceAttributes\":{\"namespace\":\"none\"}}}";
    struct fx fx = {0};
    char target[128];
    const char *answer;

    fx_open(&fx);
    fx_bootstrap(&fx);
    fx_do(&fx, 201, "POST", CORE "/namespaces", "{\"metadata\":{\"name\":\"ends\"}}");
    fx_do(&fx, 201, "POST", CORE "/namespaces/ends/pods",
          "{\"metadata\":{\"name\":\"p\"},\"spec\":{" FX_CONTAINERS "}}");
    fx_do(&fx, 200, "DELETE", CORE "/namespaces/ends", "");
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        snprintf(target, sizeof(target), CORE "/namespaces/ends%s", cases[i].target);
        answer = fx_do(&fx, 403, "POST", target, cases[i].body);
        assert_at(answer, "details.causes[0].reason", "NamespaceTerminating");
        snprintf(target, sizeof(target), CORE "/namespaces/none%s", cases[i].target);
        answer = fx_do(&fx, 404, "POST", target, cases[i].body);
        assert_at(answer, "message", "namespaces \"none\" not found");
    }
    /* What is there may be deleted. */
    fx_do(&fx, 200, "DELETE", CORE "/namespaces/ends/pods/p", "");
    fx_do(&fx, 201, "POST",
          "/apis/authorization.k8s.io/v1/namespaces/none/localsubjectaccessreviews", review);
    fx_close(&fx);
}

/* Contract access 4.1.1. The 30 seconds in which creations look at the latest state begin with the
 * deletion that was admitted. */
TEST(plugins, the_clusters_namespaces_stay_and_others_are_noted)
{
    struct fx fx = {0};
    struct cor_ending_namespaces *ending;
    uint64_t now_ms;

    fx_open(&fx);
    fx_bootstrap(&fx);
    ending = &cor_api_loop(fx.api, 0)->shared->ending_namespaces;
    now_ms = cor_loop_now_ms(fx.loop);
    fx_do(&fx, 201, "POST", CORE "/namespaces", "{\"metadata\":{\"name\":\"a\"}}");
    assert_at(fx_do(&fx, 403, "DELETE", CORE "/namespaces/default?dryRun=All", ""), "message",
              "namespaces \"default\" is forbidden: this namespace may not be deleted");
    fx_do(&fx, 409, "DELETE", CORE "/namespaces/default",
          "{\"preconditions\":{\"uid\":\"other\"}}");
    fx_do(&fx, 409, "DELETE", CORE "/namespaces/a", "{\"preconditions\":{\"uid\":\"other\"}}");
    assert_false(cor_ending_namespaces_has(ending, COR_STR("a"), now_ms));
    fx_do(&fx, 200, "DELETE", CORE "/namespaces/a", "");
    assert_true(cor_ending_namespaces_has(ending, COR_STR("a"), now_ms));
    fx_close(&fx);
}
