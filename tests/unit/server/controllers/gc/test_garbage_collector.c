/* The garbage collector inside a server without a network: deletions with each policy, wrong
 * references, cycles. Its graph: test_gc_graph.c; random histories: simulation/garbage_collector.
 */
#include "../host_fixture.h"

#define LIST       "garbage-collector-controller"
#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define SECRETS    "/api/v1/namespaces/default/secrets"
#define EVENTS     "/api/v1/namespaces/default/events"
#define PODS       "/api/v1/namespaces/default/pods"

/* Creates an object, and copies its uid. `refs` is a list of owner references without brackets. */
static void make(struct hfx *h, const char *collection, const char *name, const char *refs,
                 char uid[64])
{
    char body[2048];
    const char *answer, *at;

    snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"%s\",\"ownerReferences\":[%s]}}", name,
             refs);
    answer = hfx_do(h, 201, "POST", collection, body);
    at = strstr(answer, "\"uid\":\"");
    while (at && strstr(at + 1, "\"uid\":\""))
        at = strstr(at + 1, "\"uid\":\"");
    assert_non_null(at);
    snprintf(uid, 64, "%.36s", at + strlen("\"uid\":\""));
}

static const char *ref(char to[512], const char *kind, const char *name, const char *uid,
                       bool blocks)
{
    snprintf(to, 512,
             "{\"apiVersion\":\"v1\",\"kind\":\"%s\",\"name\":\"%s\",\"uid\":\"%s\","
             "\"blockOwnerDeletion\":%s}",
             kind, name, uid, blocks ? "true" : "false");
    return to;
}

static void delete_with(struct hfx *h, const char *path, const char *policy)
{
    char body[128];

    snprintf(body, sizeof(body), "{\"propagationPolicy\":\"%s\"}", policy);
    hfx_do(h, 200, "DELETE", path, body);
}

static void await_gone(struct hfx *h, const char *path)
{
    hfx_await(h, path, "metadata.name", "");
}

/* Waits until the collector has seen the ConfigMaps that exist: an object whose owner never existed
 * is created after them, and goes. */
static void await_seen(struct hfx *h)
{
    char uid[64], to[512];

    make(h, CONFIGMAPS, "probe",
         ref(to, "ConfigMap", "nobody", "00000000-0000-4000-8000-000000000002", false), uid);
    await_gone(h, CONFIGMAPS "/probe");
}

/* Contract controllers 2.4.4, 2.5.8, 2.11 TestCascadingDeletion. */
TEST(garbage_collector, dependents_go_when_their_last_owner_is_gone)
{
    struct hfx h;
    char a[64], b[64], dependent[64], refs[1100], to[512], to2[512];

    hfx_open(&h, LIST);
    make(&h, CONFIGMAPS, "a", "", a);
    make(&h, CONFIGMAPS, "b", "", b);
    make(&h, SECRETS, "of-a", ref(to, "ConfigMap", "a", a, false), dependent);
    snprintf(refs, sizeof(refs), "%s,%s", ref(to, "ConfigMap", "a", a, false),
             ref(to2, "ConfigMap", "b", b, false));
    make(&h, SECRETS, "of-both", refs, dependent);
    make(&h, SECRETS, "of-none", "", dependent);
    delete_with(&h, CONFIGMAPS "/a", "Background");
    await_gone(&h, SECRETS "/of-a");
    /* The reference to the owner that is gone is patched away. */
    hfx_await(&h, SECRETS "/of-both", "metadata.ownerReferences[0].name", "b");
    hfx_do(&h, 200, "GET", SECRETS "/of-none", NULL);
    delete_with(&h, CONFIGMAPS "/b", "Background");
    await_gone(&h, SECRETS "/of-both");
    hfx_do(&h, 200, "GET", SECRETS "/of-none", NULL);
    hfx_close(&h);
}

/* Contract controllers 2.7.1 to 2.7.4, 2.7.8. */
TEST(garbage_collector, a_foreground_deletion_waits_for_dependents_that_block)
{
    struct hfx h;
    char owner[64], child[64], grandchild[64], to[512];

    hfx_open(&h, LIST);
    make(&h, CONFIGMAPS, "owner", "", owner);
    make(&h, CONFIGMAPS, "child", ref(to, "ConfigMap", "owner", owner, true), child);
    make(&h, SECRETS, "grandchild", ref(to, "ConfigMap", "child", child, true), grandchild);
    hfx_do(&h, 200, "PATCH", SECRETS "/grandchild",
           "{\"metadata\":{\"finalizers\":[\"example.com/hold\"]}}");
    delete_with(&h, CONFIGMAPS "/owner", "Foreground");
    /* The child is deleted in the foreground, too, and waits for the grandchild's finalizer. */
    hfx_await(&h, CONFIGMAPS "/child", "metadata.finalizers[0]", "foregroundDeletion");
    hfx_await(&h, SECRETS "/grandchild", "metadata.deletionGracePeriodSeconds", "0");
    hfx_await(&h, CONFIGMAPS "/owner", "metadata.finalizers[0]", "foregroundDeletion");
    hfx_do(&h, 200, "PATCH", SECRETS "/grandchild", "{\"metadata\":{\"finalizers\":null}}");
    await_gone(&h, CONFIGMAPS "/owner");
    hfx_do(&h, 404, "GET", CONFIGMAPS "/child", NULL);
    hfx_do(&h, 404, "GET", SECRETS "/grandchild", NULL);
    hfx_close(&h);
}

/* Contract controllers 2.8.1, 2.8.2, 2.11 TestOrphaning. */
TEST(garbage_collector, an_orphan_deletion_leaves_dependents_without_references)
{
    struct hfx h;
    char owner[64], dependent[64], to[512];

    hfx_open(&h, LIST);
    make(&h, CONFIGMAPS, "owner", "", owner);
    make(&h, SECRETS, "one", ref(to, "ConfigMap", "owner", owner, true), dependent);
    make(&h, SECRETS, "two", ref(to, "ConfigMap", "owner", owner, false), dependent);
    delete_with(&h, CONFIGMAPS "/owner", "Orphan");
    await_gone(&h, CONFIGMAPS "/owner");
    hfx_await(&h, SECRETS "/one", "metadata.ownerReferences[0].name", "");
    hfx_do(&h, 200, "GET", SECRETS "/one", NULL);
    hfx_await(&h, SECRETS "/two", "metadata.ownerReferences[0].name", "");
    hfx_do(&h, 200, "GET", SECRETS "/two", NULL);
    hfx_close(&h);
}

/* Contract controllers 2.5.14, 2.11 TestCreateWithNonExistentOwner. */
TEST(garbage_collector, an_object_whose_owner_never_existed_goes)
{
    struct hfx h;
    char uid[64], to[512];

    hfx_open(&h, LIST);
    make(&h, SECRETS, "lost",
         ref(to, "ConfigMap", "nobody", "00000000-0000-4000-8000-000000000001", false), uid);
    await_gone(&h, SECRETS "/lost");
    /* A uid that no server makes is the uid of nobody, too. */
    make(&h, SECRETS, "odd", ref(to, "ConfigMap", "nobody", "a/b", false), uid);
    await_gone(&h, SECRETS "/odd");
    hfx_close(&h);
}

/* Contract controllers 2.9.1, 2.9.3, 2.9.4: the owner is observed first. */
TEST(garbage_collector, an_owner_in_another_namespace_is_reported_and_the_dependent_goes)
{
    struct hfx h;
    char owner[64], dependent[64], to[512];
    const char *events;

    hfx_open(&h, LIST);
    hfx_do(&h, 201, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"other\"}}");
    make(&h, "/api/v1/namespaces/other/configmaps", "owner", "", owner);
    await_seen(&h);
    make(&h, SECRETS, "dependent", ref(to, "ConfigMap", "owner", owner, false), dependent);
    await_gone(&h, SECRETS "/dependent");
    events = hfx_await(&h, EVENTS, "items[0].reason", "OwnerRefInvalidNamespace");
    assert_at(events, "items[0].type", "Warning");
    assert_at(events, "items[0].involvedObject.uid", dependent);
    snprintf(to, sizeof(to),
             "ownerRef [v1/ConfigMap, namespace: default, name: owner, uid: %s] does not exist in "
             "namespace ",
             owner);
    assert_non_null(strstr(events, to));
    hfx_do(&h, 200, "GET", "/api/v1/namespaces/other/configmaps/owner", NULL);
    hfx_close(&h);
}

/* Contract controllers 2.9.2, 2.9.5: the event is in the namespace default, and the object stays.
 */
TEST(garbage_collector, a_cluster_object_with_a_namespaced_owner_is_reported_and_stays)
{
    static const char roles[] = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    struct hfx h;
    char owner[64], role[64], to[512], expected[512];
    const char *event;

    hfx_open(&h, LIST);
    make(&h, CONFIGMAPS, "owner", "", owner);
    make(&h, roles, "role", ref(to, "ConfigMap", "owner", owner, false), role);
    snprintf(expected, sizeof(expected),
             "ownerRef [v1/ConfigMap, namespace: , name: owner, uid: %s] does not exist in "
             "namespace \"\"",
             owner);
    event = hfx_await(&h, EVENTS, "items[0].message", expected);
    assert_at(event, "items[0].metadata.namespace", "default");
    assert_at(event, "items[0].involvedObject.kind", "ClusterRole");
    assert_at(event, "items[0].involvedObject.uid", role);
    await_seen(&h);
    hfx_do(&h, 200, "GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/role", NULL);
    hfx_close(&h);
}

/* Contract controllers 2.7.6. */
TEST(garbage_collector, a_cycle_is_deleted_in_the_foreground)
{
    struct hfx h;
    char c1[64], c2[64], to[512], body[600];

    hfx_open(&h, LIST);
    make(&h, CONFIGMAPS, "c1", "", c1);
    make(&h, CONFIGMAPS, "c2", ref(to, "ConfigMap", "c1", c1, true), c2);
    snprintf(body, sizeof(body), "{\"metadata\":{\"ownerReferences\":[%s]}}",
             ref(to, "ConfigMap", "c2", c2, true));
    hfx_do(&h, 200, "PATCH", CONFIGMAPS "/c1", body);
    delete_with(&h, CONFIGMAPS "/c1", "Foreground");
    await_gone(&h, CONFIGMAPS "/c1");
    await_gone(&h, CONFIGMAPS "/c2");
    hfx_close(&h);
}

/* Contract controllers 2.4.3: what was begun before the collector started is finished. */
TEST(garbage_collector, a_restart_resumes_deletions)
{
    struct hfx h;
    char owner[64], dependent[64], to[512];

    hfx_open(&h, LIST);
    hfx_stop(&h);
    make(&h, CONFIGMAPS, "orphans", "", owner);
    make(&h, SECRETS, "kept", ref(to, "ConfigMap", "orphans", owner, true), dependent);
    delete_with(&h, CONFIGMAPS "/orphans", "Orphan");
    make(&h, CONFIGMAPS, "waits", "", owner);
    make(&h, SECRETS, "goes", ref(to, "ConfigMap", "waits", owner, true), dependent);
    delete_with(&h, CONFIGMAPS "/waits", "Foreground");
    make(&h, CONFIGMAPS, "gone", "", owner);
    make(&h, SECRETS, "left", ref(to, "ConfigMap", "gone", owner, true), dependent);
    delete_with(&h, CONFIGMAPS "/gone", "Background");
    hfx_start(&h, LIST);
    await_gone(&h, CONFIGMAPS "/orphans");
    hfx_do(&h, 200, "GET", SECRETS "/kept", NULL);
    await_gone(&h, CONFIGMAPS "/waits");
    hfx_do(&h, 404, "GET", SECRETS "/goes", NULL);
    await_gone(&h, SECRETS "/left");
    hfx_close(&h);
}

/* Copies the watch's i-th event, which is there already. */
static void copy_event(const struct fx_call *watch, size_t i, char *out, size_t size)
{
    struct cor_str rest = cor_buf_str(&watch->sink.body), line = COR_STR("");

    for (size_t n = 0; n <= i; n++)
        line = cor_str_cut(&rest, '\n');
    snprintf(out, size, "%.*s", COR_STR_ARG(line));
}

/* As kube-apiserver: nobody waits for a pod that no node runs, and whoever follows pods is told by
 * the mark and by the end that it was deleted. */
TEST(garbage_collector, a_pod_that_no_node_runs_is_marked_before_it_goes)
{
    struct hfx h;
    struct fx_call watch;
    char owner[64], to[512], body[1024], marked[8192], deleted[8192];

    hfx_open(&h, LIST);
    make(&h, CONFIGMAPS, "owner", "", owner);
    fx_start(&h.p.a.fx, &watch, "GET", PODS "?watch=true", "", NULL);
    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"p\",\"ownerReferences\":[%s]},\"spec\":{" FX_CONTAINERS
             "}}",
             ref(to, "ConfigMap", "owner", owner, false));
    hfx_do(&h, 201, "POST", PODS, body);
    delete_with(&h, CONFIGMAPS "/owner", "Background");
    await_gone(&h, PODS "/p");
    /* Its deletion is delivered before a later pod is. */
    hfx_do(&h, 201, "POST", PODS,
           "{\"metadata\":{\"name\":\"later\"},\"spec\":{" FX_CONTAINERS "}}");
    while (!strstr(cor_buf_z(&watch.sink.body), "\"later\""))
        (void)cor_loop_run_until(h.p.a.fx.loop, hfx_never, NULL, 1);
    copy_event(&watch, 1, marked, sizeof(marked));
    copy_event(&watch, 2, deleted, sizeof(deleted));
    assert_at(marked, "type", "MODIFIED");
    assert_at(deleted, "type", "DELETED");
    assert_at(marked, "object.metadata.deletionGracePeriodSeconds", "0");
    assert_at(deleted, "object.metadata.deletionGracePeriodSeconds", "0");
    assert_string_not_equal(fx_at(marked, "object.metadata.deletionTimestamp"), "");
    assert_at(deleted, "object.metadata.deletionTimestamp",
              fx_at(marked, "object.metadata.deletionTimestamp"));
    fx_call_deinit(&watch);
    hfx_close(&h);
}
