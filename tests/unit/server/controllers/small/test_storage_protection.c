/* The finalizers of storage objects, and the controllers that remove them. Contract
 * controllers 3.9, access 4.11.1. */
#include "../host_fixture.h"

#define LIST                                                                                       \
    "persistentvolumeclaim-protection-controller,persistentvolume-protection-controller,"          \
    "volumeattributesclass-protection-controller"
#define CLAIMS  "/api/v1/namespaces/default/persistentvolumeclaims"
#define PODS    "/api/v1/namespaces/default/pods"
#define VOLUMES "/api/v1/persistentvolumes"
#define CLASSES "/apis/storage.k8s.io/v1/volumeattributesclasses"

#define CLAIM_SPEC                                                                                 \
    "\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}"
#define VOLUME_SPEC                                                                                \
    "\"capacity\":{\"storage\":\"1Gi\"},\"accessModes\":[\"ReadWriteOnce\"],\"csi\":{\"driver\":"  \
    "\"d.example.com\",\"volumeHandle\":\"h\"}"
#define CLASS(name)                                                                                \
    "{\"metadata\":{\"name\":\"" name "\"},\"driverName\":\"d.example.com\",\"parameters\":{"      \
    "\"a\":\"b\"}}"

static void create_claim(struct hfx *h, const char *name, const char *more)
{
    char text[1024];

    snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s" CLAIM_SPEC "}}",
             name, more);
    hfx_do(h, 201, "POST", CLAIMS, text);
}

static void create_pod(struct hfx *h, const char *name, const char *node, const char *volume)
{
    char text[1024];

    snprintf(
        text, sizeof(text),
        "{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s%s%s\"volumes\":[{\"name\":\"v\",%s}]," FX_CONTAINERS
        "}}",
        name, node ? "\"nodeName\":\"" : "", node ? node : "", node ? "\"," : "", volume);
    hfx_do(h, 201, "POST", PODS, text);
}

static void patch(struct hfx *h, const char *path, const char *body)
{
    const struct fx_headers merge = {.content_type = "application/merge-patch+json"};

    fx_do_with(&h->p.a.fx, 200, "PATCH", path, body, &merge);
}

static void await_gone(struct hfx *h, const char *path)
{
    (void)hfx_await(h, path, "metadata.name", "");
}

/* Creates a claim and deletes it, and waits until it is gone: every event from before was looked at
 * by the controller then, as reconciles of claims do not overtake the feed. */
static void await_quiet(struct hfx *h)
{
    create_claim(h, "last", "");
    hfx_do(h, 200, "DELETE", CLAIMS "/last", "");
    await_gone(h, CLAIMS "/last");
}

/* Contract access 4.11.1. */
TEST(storage_protection, new_claims_volumes_and_classes_have_their_finalizer)
{
    struct fx fx = {.engine = NULL};
    const char *answer;

    fx_open(&fx);
    fx_bootstrap(&fx);
    answer = fx_do(&fx, 201, "POST", CLAIMS,
                   "{\"metadata\":{\"name\":\"a\"},\"spec\":{" CLAIM_SPEC "}}");
    assert_at(answer, "metadata.finalizers", "[\"kubernetes.io/pvc-protection\"]");
    answer = fx_do(
        &fx, 201, "POST", CLAIMS,
        "{\"metadata\":{\"name\":\"b\",\"finalizers\":[\"x.example.com/y\"]},\"spec\":{" CLAIM_SPEC
        "}}");
    assert_at(answer, "metadata.finalizers",
              "[\"x.example.com/y\",\"kubernetes.io/pvc-protection\"]");
    answer = fx_do(&fx, 201, "POST", CLAIMS,
                   "{\"metadata\":{\"name\":\"c\",\"finalizers\":[\"kubernetes.io/"
                   "pvc-protection\",\"x.example.com/y\"]},\"spec\":{" CLAIM_SPEC "}}");
    assert_at(answer, "metadata.finalizers",
              "[\"kubernetes.io/pvc-protection\",\"x.example.com/y\"]");
    answer = fx_do(&fx, 201, "POST", VOLUMES,
                   "{\"metadata\":{\"name\":\"a\"},\"spec\":{" VOLUME_SPEC "}}");
    assert_at(answer, "metadata.finalizers", "[\"kubernetes.io/pv-protection\"]");
    answer = fx_do(&fx, 201, "POST", CLASSES, CLASS("a"));
    assert_at(answer, "metadata.finalizers", "[\"kubernetes.io/vac-protection\"]");
    fx_close(&fx);
}

/* Contract controllers 3.9.1: what nobody uses goes. */
TEST(storage_protection, deleted_objects_go_when_nobody_uses_them)
{
    struct hfx h;

    hfx_open(&h, LIST);
    create_claim(&h, "a", "");
    hfx_do(&h, 201, "POST", VOLUMES, "{\"metadata\":{\"name\":\"a\"},\"spec\":{" VOLUME_SPEC "}}");
    hfx_do(&h, 201, "POST", CLASSES, CLASS("a"));
    assert_string_not_equal(
        fx_at(hfx_do(&h, 200, "DELETE", CLAIMS "/a", ""), "metadata.deletionTimestamp"), "");
    hfx_do(&h, 200, "DELETE", VOLUMES "/a", "");
    hfx_do(&h, 200, "DELETE", CLASSES "/a", "");
    await_gone(&h, CLAIMS "/a");
    await_gone(&h, VOLUMES "/a");
    await_gone(&h, CLASSES "/a");
    hfx_close(&h);
}

TEST(storage_protection, a_claim_stays_while_a_scheduled_pod_has_it)
{
    struct hfx h;

    hfx_open(&h, LIST);
    create_claim(&h, "used", "");
    create_claim(&h, "waiting", "");
    create_pod(&h, "runs", "n", "\"persistentVolumeClaim\":{\"claimName\":\"used\"}");
    create_pod(&h, "pends", NULL, "\"persistentVolumeClaim\":{\"claimName\":\"waiting\"}");
    hfx_do(&h, 200, "DELETE", CLAIMS "/used", "");
    hfx_do(&h, 200, "DELETE", CLAIMS "/waiting", "");
    /* No kubelet starts a pod whose claim is being deleted. */
    await_gone(&h, CLAIMS "/waiting");
    await_quiet(&h);
    assert_at(hfx_do(&h, 200, "GET", CLAIMS "/used", ""), "metadata.finalizers",
              "[\"kubernetes.io/pvc-protection\"]");
    hfx_do(&h, 200, "DELETE", PODS "/runs?gracePeriodSeconds=0", "");
    await_gone(&h, CLAIMS "/used");
    hfx_close(&h);
}

/* The API checks only that the name of a pod's claim is not empty. Such a pod must not keep the
 * controller from completing its list of the pods. */
TEST(storage_protection, a_pod_whose_claim_can_not_exist_does_not_stop_the_controller)
{
    struct hfx h;

    pfx_open(&h.p, true);
    create_pod(&h, "odd", NULL, "\"persistentVolumeClaim\":{\"claimName\":\"a/b\"}");
    hfx_start(&h, LIST);
    await_quiet(&h);
    hfx_close(&h);
}

TEST(storage_protection, an_ephemeral_claim_is_used_by_the_pod_that_controls_it)
{
    static const char volume[] =
        "\"ephemeral\":{\"volumeClaimTemplate\":{\"spec\":{" CLAIM_SPEC "}}}";
    struct hfx h;
    char text[512];

    hfx_open(&h, LIST);
    create_pod(&h, "p", "n", volume);
    create_pod(&h, "q", "n", volume);
    create_claim(&h, "p-v", "");
    create_claim(&h, "q-v", "");
    snprintf(text, sizeof(text),
             "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":"
             "\"p\",\"uid\":\"%s\",\"controller\":true}]}}",
             fx_at(hfx_do(&h, 200, "GET", PODS "/p", ""), "metadata.uid"));
    patch(&h, CLAIMS "/p-v", text);
    hfx_do(&h, 200, "DELETE", CLAIMS "/p-v", "");
    hfx_do(&h, 200, "DELETE", CLAIMS "/q-v", "");
    await_gone(&h, CLAIMS "/q-v"); /* has the name, but is not of the pod */
    await_quiet(&h);
    hfx_do(&h, 200, "GET", CLAIMS "/p-v", "");
    hfx_do(&h, 200, "DELETE", PODS "/p?gracePeriodSeconds=0", "");
    await_gone(&h, CLAIMS "/p-v");
    hfx_close(&h);
}

TEST(storage_protection, a_volume_stays_while_it_is_bound)
{
    struct hfx h;

    hfx_open(&h, LIST);
    hfx_do(&h, 201, "POST", VOLUMES, "{\"metadata\":{\"name\":\"a\"},\"spec\":{" VOLUME_SPEC "}}");
    hfx_do(&h, 201, "POST", VOLUMES, "{\"metadata\":{\"name\":\"b\"},\"spec\":{" VOLUME_SPEC "}}");
    patch(&h, VOLUMES "/a/status", "{\"status\":{\"phase\":\"Bound\"}}");
    hfx_do(&h, 200, "DELETE", VOLUMES "/a", "");
    hfx_do(&h, 200, "DELETE", VOLUMES "/b", "");
    await_gone(&h, VOLUMES "/b");
    hfx_do(&h, 200, "GET", VOLUMES "/a", "");
    patch(&h, VOLUMES "/a/status", "{\"status\":{\"phase\":\"Released\"}}");
    await_gone(&h, VOLUMES "/a");
    hfx_close(&h);
}

TEST(storage_protection, a_class_stays_while_a_claim_or_a_volume_names_it)
{
    struct hfx h;

    hfx_open(&h, LIST);
    hfx_do(&h, 201, "POST", CLASSES, CLASS("a"));
    hfx_do(&h, 201, "POST", CLASSES, CLASS("b"));
    create_claim(&h, "c", "\"volumeAttributesClassName\":\"a\",");
    hfx_do(
        &h, 201, "POST", VOLUMES,
        "{\"metadata\":{\"name\":\"v\"},\"spec\":{\"volumeAttributesClassName\":\"b\"," VOLUME_SPEC
        "}}");
    hfx_do(&h, 200, "DELETE", CLASSES "/a", "");
    hfx_do(&h, 200, "DELETE", CLASSES "/b", "");
    hfx_do(&h, 201, "POST", CLASSES, CLASS("c"));
    hfx_do(&h, 200, "DELETE", CLASSES "/c", "");
    await_gone(&h, CLASSES "/c");
    hfx_do(&h, 200, "GET", CLASSES "/a", "");
    hfx_do(&h, 200, "GET", CLASSES "/b", "");
    hfx_do(&h, 200, "DELETE", CLAIMS "/c", "");
    hfx_do(&h, 200, "DELETE", VOLUMES "/v", "");
    await_gone(&h, CLASSES "/a");
    await_gone(&h, CLASSES "/b");
    hfx_close(&h);
}

/* An object from before the finalizers, and a restart in the middle of a deletion. */
TEST(storage_protection, old_objects_get_the_finalizer_and_a_restart_goes_on)
{
    struct hfx h;

    pfx_open(&h.p, true);
    create_claim(&h, "old", "");
    patch(&h, CLAIMS "/old", "{\"metadata\":{\"finalizers\":null}}");
    assert_at(hfx_do(&h, 200, "GET", CLAIMS "/old", ""), "metadata.finalizers", "");
    create_claim(&h, "gone", "");
    hfx_do(&h, 200, "DELETE", CLAIMS "/gone", "");
    hfx_start(&h, LIST);
    hfx_await(&h, CLAIMS "/old", "metadata.finalizers", "[\"kubernetes.io/pvc-protection\"]");
    await_gone(&h, CLAIMS "/gone");
    hfx_stop(&h);
    hfx_do(&h, 200, "DELETE", CLAIMS "/old", "");
    hfx_start(&h, LIST);
    await_gone(&h, CLAIMS "/old");
    hfx_close(&h);
}

/* Whatever allocation fails after the deletion, the claim goes. */
TEST(storage_protection, a_claim_goes_although_an_allocation_fails)
{
    struct hfx h;

    hfx_open(&h, LIST);
    await_quiet(&h);
    FOR_EACH_FAILED_ALLOC(n) {
        test_fail_alloc(0, false);
        create_claim(&h, "a", "");
        hfx_do(&h, 200, "DELETE", CLAIMS "/a", "");
        test_fail_alloc(n, false);
        hfx_run_to_failure(&h);
        await_gone(&h, CLAIMS "/a");
    }
    hfx_close(&h);
}
