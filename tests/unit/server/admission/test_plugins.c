/* The server's plugins, through the API. */
#include "server/admission/plugins.h"

#include <stdio.h>

#include "api_fixture.h"

#define CORE    "/api/v1"
#define STORAGE "/apis/storage.k8s.io/v1"
#define CLAIMS  CORE "/namespaces/default/persistentvolumeclaims"
#define CLAIM                                                                                      \
    "\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":"      \
    "\"1Gi\"}}}"

/* Contract access 4.0.1. */
TEST(plugins, stand_in_upstreams_order)
{
    static const char *const names[] = {"NamespaceLifecycle", "StorageObjectInUseProtection"};

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
