/* What objects use of a quota. Contract controllers 3.3.5, 3.3.6, 3.3.7. The numbers are those of
 * kube-controller-manager 1.34 for the same objects. */
#include "test.h"

#include <stdio.h>

#include "base/err.h"
#include "server/controllers/quota/quota_pods.h"
#include "server/controllers/quota/quota_table.h"

#define NOW_MS    1735689600000LL /* 2025-01-01T00:00:00Z */
#define POD(spec) "{\"metadata\":{\"name\":\"p\"},\"spec\":{" spec "}}"
/* A container, or an init container, with its requests and limits. */
#define BOX(name, requests, limits)                                                                \
    "{\"name\":\"" name "\",\"resources\":{\"requests\":{" requests "},\"limits\":{" limits "}}}"
#define SIDECAR(name, requests)                                                                    \
    "{\"name\":\"" name "\",\"restartPolicy\":\"Always\",\"resources\":{\"requests\":{" requests   \
    "}}}"

static const struct cor_gvr pods = {COR_STR_INIT(""), COR_STR_INIT("v1"), COR_STR_INIT("pods")};
static const struct cor_gvr services = {COR_STR_INIT(""), COR_STR_INIT("v1"),
                                        COR_STR_INIT("services")};
static const struct cor_gvr claims = {COR_STR_INIT(""), COR_STR_INIT("v1"),
                                      COR_STR_INIT("persistentvolumeclaims")};
static const struct cor_gvr devices = {COR_STR_INIT("resource.k8s.io"), COR_STR_INIT("v1"),
                                       COR_STR_INIT("resourceclaims")};
static const struct cor_gvr secrets = {COR_STR_INIT(""), COR_STR_INIT("v1"),
                                       COR_STR_INIT("secrets")};
static const struct cor_gvr deployments = {COR_STR_INIT("apps"), COR_STR_INIT("v1"),
                                           COR_STR_INIT("deployments")};

static struct cor_object *object(const char *json)
{
    struct cor_object *o = NULL;

    assert_int_equal(cor_object_from_json(cor_strz(json), &o, NULL), 0);
    return o;
}

static int add(const struct cor_quota_rule *rule, enum cor_quota_kind kind,
               const struct cor_object *o, struct cor_quota_amount *sum)
{
    struct cor_quota_facts facts;
    int r = cor_quota_facts_find(kind, o, NOW_MS, &facts);

    if (r == 0)
        r = cor_quota_add(rule, &facts, sum);
    cor_quota_facts_deinit(&facts);
    return r;
}

/* How much of `name` the object uses; "" when the name does not concern its resource. */
static const char *used(const struct cor_gvr *gvr, const char *name, const char *json)
{
    static struct cor_quota_amount sum;
    struct cor_quota_rule rule = cor_quota_rule_of(gvr, cor_strz(name));
    struct cor_object *o;

    if (rule.counter == COR_QUOTA_NOTHING)
        return "";
    sum = (struct cor_quota_amount){"0"};
    o = object(json);
    assert_int_equal(add(&rule, cor_quota_kind_of(gvr), o, &sum), 0);
    cor_object_unref(o);
    return sum.text;
}

static bool is_in(const struct cor_gvr *gvr, const char *spec, const char *json)
{
    struct cor_object *o = object(json);
    struct cor_quota_facts facts;
    bool matches;

    assert_int_equal(cor_quota_facts_find(cor_quota_kind_of(gvr), o, NOW_MS, &facts), 0);
    matches = cor_quota_matches_scopes(&facts, cor_view(cor_strz(spec)));
    cor_quota_facts_deinit(&facts);
    cor_object_unref(o);
    return matches;
}

static uint64_t fingerprint(const struct cor_gvr *gvr, const char *json)
{
    struct cor_object *o = object(json);
    uint64_t h = cor_quota_fingerprint(cor_quota_kind_of(gvr), o, NOW_MS);

    cor_object_unref(o);
    return h;
}

/* Contract controllers 3.3.7: every resource is counted by its group, four also by their name. */
TEST(quota_rules, objects_are_counted_under_their_names)
{
    assert_string_equal(used(&secrets, "secrets", "{}"), "1");
    assert_string_equal(used(&secrets, "count/secrets", "{}"), "1");
    assert_string_equal(used(&secrets, "configmaps", "{}"), "");
    assert_string_equal(used(&secrets, "count/configmaps", "{}"), "");
    assert_string_equal(used(&deployments, "count/deployments.apps", "{}"), "1");
    assert_string_equal(used(&deployments, "count/deployments", "{}"), "");
    assert_string_equal(used(&deployments, "count/deployments.batch", "{}"), "");
    assert_string_equal(used(&deployments, "count/deploymentsxapps", "{}"), "");
    assert_string_equal(used(&deployments, "deployments", "{}"), "");
    assert_string_equal(used(&pods, "count/pods", POD("")), "1");
    assert_string_equal(used(&services, "count/services", "{}"), "1");
    assert_string_equal(used(&services, "pods", "{}"), "");
    assert_string_equal(used(&claims, "count/persistentvolumeclaims", "{}"), "1");
    assert_string_equal(used(&devices, "count/resourceclaims.resource.k8s.io", "{}"), "1");
    assert_string_equal(used(&pods, "requests.storage", POD("")), "");
    assert_string_equal(used(&pods, "requests.kubernetes.io/x", POD("")), "");
}

/* Contract controllers 3.3.7. */
TEST(quota_rules, a_pod_uses_the_sum_of_its_containers)
{
    const char *pod = POD("\"containers\":[" BOX(
        "a", "\"cpu\":\"100m\",\"memory\":\"64Mi\",\"ephemeral-storage\":\"1Gi\"",
        "\"cpu\":\"1\",\"ephemeral-storage\":\"2Gi\"") "," BOX("b",
                                                               "\"cpu\":\"950m\",\"memory\":"
                                                               "\"64M\",\"example.com/gpu\":"
                                                               "\"2\",\"hugepages-2Mi\":"
                                                               "\"4Mi\"",
                                                               "\"memory\":\"1Gi\"") "]");

    assert_string_equal(used(&pods, "pods", pod), "1");
    assert_string_equal(used(&pods, "cpu", pod), "1050m");
    assert_string_equal(used(&pods, "requests.cpu", pod), "1050m");
    assert_string_equal(used(&pods, "limits.cpu", pod), "1");
    assert_string_equal(used(&pods, "memory", pod), "128036Ki");
    assert_string_equal(used(&pods, "limits.memory", pod), "1Gi");
    assert_string_equal(used(&pods, "ephemeral-storage", pod), "1Gi");
    assert_string_equal(used(&pods, "requests.ephemeral-storage", pod), "1Gi");
    assert_string_equal(used(&pods, "limits.ephemeral-storage", pod), "2Gi");
    assert_string_equal(used(&pods, "requests.example.com/gpu", pod), "2");
    assert_string_equal(used(&pods, "requests.example.com/other", pod), "0");
    assert_string_equal(used(&pods, "hugepages-2Mi", pod), "4Mi");
    assert_string_equal(used(&pods, "requests.hugepages-2Mi", pod), "4Mi");
}

/* Contract controllers 3.3.7: the greatest number of what runs at the same time. */
TEST(quota_rules, init_containers_and_sidecars_count_when_they_need_more)
{
    const char *pod = POD(
        "\"containers\":[" BOX("a", "\"cpu\":\"100m\",\"memory\":\"10Mi\"", "") "],\"initContainers\":[" BOX(
            "i1", "\"cpu\":\"2\"",
            "") "," SIDECAR("s", "\"cpu\":"
                                 "\"300m\","
                                 "\"memory\":"
                                 "\"100Mi\"") "," BOX("i2", "\"cpu\":\"1\"",
                                                      "") "," SIDECAR("t", "\"cpu\":\"50m\"") "]");

    assert_string_equal(used(&pods, "cpu", pod), "2");
    assert_string_equal(used(&pods, "memory", pod), "110Mi");
}

/* Contract controllers 3.3.7. */
TEST(quota_rules, resources_of_the_pod_replace_those_of_its_containers_and_overhead_is_added)
{
    const char *pod =
        POD("\"containers\":[" BOX("a", "\"cpu\":\"100m\",\"memory\":\"1Gi\"",
                                   "\"memory\":\"1Gi\"") "],\"overhead\":{\"cpu\":\"10m\","
                                                         "\"memory\":\"1Mi\"},\"resources\":{"
                                                         "\"requests\":{\"cpu\":\"3\"}}");

    assert_string_equal(used(&pods, "cpu", pod), "3010m");
    assert_string_equal(used(&pods, "memory", pod), "1025Mi");
    assert_string_equal(used(&pods, "limits.memory", pod), "1025Mi");
    /* Overhead is not added to a limit that does not exist. */
    assert_string_equal(used(&pods, "limits.cpu", pod), "0");
}

#define RESIZED(conditions)                                                                        \
    "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[" BOX(                               \
        "a", "\"cpu\":\"4\"",                                                                      \
        "\"cpu\":\"5\"") "]},\"status\":{\"conditions\":[" conditions                              \
                         "],\"containerStatuses\":[{\"name\":\"a\",\"allocatedResources\":{"       \
                         "\"cpu\":\"3\"},\"resources\":{\"requests\":{\"cpu\":\"2\"},\"limits\":"  \
                         "{\"cpu\":\"6\"}}}]}}"
#define PENDING(reason) "{\"type\":\"PodResizePending\",\"reason\":\"" reason "\"}"

/* Contract controllers 3.3.7. */
TEST(quota_rules, a_resize_counts_with_the_greatest_of_what_is_wanted_and_what_is_there)
{
    assert_string_equal(used(&pods, "cpu", RESIZED("")), "4");
    assert_string_equal(used(&pods, "limits.cpu", RESIZED("")), "6");
    assert_string_equal(used(&pods, "cpu", RESIZED(PENDING("Deferred"))), "4");
    assert_string_equal(used(&pods, "cpu", RESIZED(PENDING("Infeasible"))), "3");
    assert_string_equal(used(&pods, "limits.cpu", RESIZED(PENDING("Infeasible"))), "6");
}

#define ENDED(metadata, status)                                                                    \
    "{\"metadata\":{\"name\":\"p\"" metadata                                                       \
    "},\"spec\":{\"containers\":[" BOX("a", "\"cpu\":\"1\"", "") "]},\"status\":{" status "}}"

/* Contract controllers 3.3.7: a pod that has ended is only an object, and so is one whose
 * deletion is late by its grace period. */
TEST(quota_rules, pods_that_have_ended_use_nothing)
{
    const char *const ended[] = {
        ENDED("", "\"phase\":\"Succeeded\""), ENDED("", "\"phase\":\"Failed\""),
        ENDED(",\"deletionTimestamp\":\"2024-12-31T23:59:29Z\",\"deletionGracePeriodSeconds\":30",
              "\"phase\":\"Running\"")};

    for (size_t i = 0; i < COR_ARRAY_LEN(ended); i++) {
        assert_string_equal(used(&pods, "pods", ended[i]), "0");
        assert_string_equal(used(&pods, "cpu", ended[i]), "0");
        assert_string_equal(used(&pods, "count/pods", ended[i]), "1");
    }
    assert_string_equal(
        used(&pods, "pods",
             ENDED(",\"deletionTimestamp\":\"2024-12-31T23:59:31Z\",\"deletionGracePeriodSeconds\":"
                   "30",
                   "\"phase\":\"Running\"")),
        "1");
}

#define SERVICE(spec) "{\"metadata\":{\"name\":\"s\"},\"spec\":{" spec "}}"
#define TWO_PORTS     "\"ports\":[{\"port\":1},{\"port\":2,\"nodePort\":30999}]"

/* Contract controllers 3.3.7. */
TEST(quota_rules, services_use_node_ports_and_load_balancers)
{
    const char *plain = SERVICE("\"type\":\"ClusterIP\"," TWO_PORTS);
    const char *node = SERVICE("\"type\":\"NodePort\"," TWO_PORTS);
    const char *balancer = SERVICE("\"type\":\"LoadBalancer\"," TWO_PORTS);
    const char *without =
        SERVICE("\"type\":\"LoadBalancer\",\"allocateLoadBalancerNodePorts\":false," TWO_PORTS);

    assert_string_equal(used(&services, "services", plain), "1");
    assert_string_equal(used(&services, "services.nodeports", plain), "0");
    assert_string_equal(used(&services, "services.nodeports", node), "2");
    assert_string_equal(used(&services, "services.loadbalancers", node), "0");
    assert_string_equal(used(&services, "services.nodeports", balancer), "2");
    assert_string_equal(used(&services, "services.loadbalancers", balancer), "1");
    assert_string_equal(used(&services, "services.nodeports", without), "1");
}

#define CLAIM(annotations, storage, more)                                                          \
    "{\"metadata\":{\"name\":\"c\",\"annotations\":{" annotations                                  \
    "}},\"spec\":{\"resources\":{\"requests\":{" storage "}}" more "}}"
#define GOLD "gold.storageclass.storage.k8s.io/"

/* Contract controllers 3.3.7. */
TEST(quota_rules, claims_use_storage_of_their_class)
{
    const char *gold = CLAIM("", "\"storage\":\"1Gi\"", ",\"storageClassName\":\"gold\"");
    const char *old = CLAIM("\"volume.beta.kubernetes.io/storage-class\":\"gold\"",
                            "\"storage\":\"3M\"", ",\"storageClassName\":\"silver\"");
    const char *part = CLAIM("", "\"storage\":\"1500m\"", "");
    const char *grown = CLAIM("", "\"storage\":\"1Gi\"",
                              "},\"status\":{\"allocatedResources\":{\"storage\":\"2Gi\"}");

    assert_string_equal(used(&claims, "persistentvolumeclaims", gold), "1");
    assert_string_equal(used(&claims, "requests.storage", gold), "1Gi");
    assert_string_equal(used(&claims, GOLD "requests.storage", gold), "1Gi");
    assert_string_equal(used(&claims, GOLD "persistentvolumeclaims", gold), "1");
    assert_string_equal(used(&claims, GOLD "requests.storage", old), "3M");
    assert_string_equal(used(&claims, "silver.storageclass.storage.k8s.io/requests.storage", old),
                        "0");
    assert_string_equal(used(&claims, GOLD "persistentvolumeclaims", part), "0");
    assert_string_equal(used(&claims, "requests.storage", part), "2");
    assert_string_equal(used(&claims, "requests.storage", grown), "2Gi");
    assert_string_equal(used(&claims, "requests.storage", CLAIM("", "", "")), "0");
}

#define ASKS(class, mode, count)                                                                   \
    "{\"deviceClassName\":\"" class "\",\"allocationMode\":\"" mode "\",\"count\":" count "}"

/* Contract controllers 3.3.7. */
TEST(quota_rules, resource_claims_use_devices_of_their_class)
{
    const char *claim =
        "{\"metadata\":{\"name\":\"r\"},\"spec\":{\"devices\":{\"requests\":[{\"exactly\":" ASKS("gpu", "ExactCount", "3") "},{\"exactly\":" ASKS(
            "gpu", "All",
            "0") "},{\"firstAvailable\":[" ASKS("gpu", "ExactCount",
                                                "2") "," ASKS("nic",
                                                              "ExactCo"
                                                              "unt",
                                                              "5") "," ASKS("gpu", "ExactCount",
                                                                            "4") "]},{\"exactly\":" ASKS("gpu",
                                                                                                         "Later",
                                                                                                         "9") "}]}}}";

    assert_string_equal(used(&devices, "gpu.deviceclass.resource.k8s.io/devices", claim), "39");
    assert_string_equal(used(&devices, "nic.deviceclass.resource.k8s.io/devices", claim), "5");
    assert_string_equal(used(&devices, "cpu.deviceclass.resource.k8s.io/devices", claim), "0");
}

#define SELECTOR(scope, how, values)                                                               \
    "{\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"" scope "\",\"operator\":\"" how   \
    "\",\"values\":[" values "]}]}}"
#define PRIORITY(how, values) SELECTOR("PriorityClass", how, values)

/* Contract controllers 3.3.7. */
TEST(quota_rules, pods_are_in_scopes)
{
    const char *plain = POD("\"containers\":[{\"name\":\"a\"}]");
    const char *small = POD("\"containers\":[" BOX("a", "\"memory\":\"1\"", "") "]");
    const char *timed = POD("\"activeDeadlineSeconds\":0");
    const char *high = POD("\"priorityClassName\":\"high\"");
    const char *shown = "{\"spec\":{},\"status\":{\"qosClass\":\"Burstable\"}}";

    assert_true(is_in(&pods, "{}", plain));
    assert_true(is_in(&pods, "{\"scopes\":[\"Terminating\"]}", timed));
    assert_false(is_in(&pods, "{\"scopes\":[\"Terminating\"]}", plain));
    assert_true(is_in(&pods, "{\"scopes\":[\"NotTerminating\",\"BestEffort\"]}", plain));
    assert_false(is_in(&pods, "{\"scopes\":[\"NotTerminating\",\"BestEffort\"]}", timed));
    assert_false(is_in(&pods, "{\"scopes\":[\"BestEffort\"]}", small));
    assert_true(is_in(&pods, "{\"scopes\":[\"NotBestEffort\"]}", small));
    assert_true(is_in(&pods, "{\"scopes\":[\"NotBestEffort\"]}", shown));
    assert_true(is_in(&pods, "{\"scopes\":[\"PriorityClass\"]}", high));
    assert_false(is_in(&pods, "{\"scopes\":[\"PriorityClass\"]}", plain));
    assert_true(is_in(&pods, PRIORITY("In", "\"low\",\"high\""), high));
    assert_false(is_in(&pods, PRIORITY("In", "\"low\""), high));
    assert_false(is_in(&pods, PRIORITY("In", "\"low\""), plain));
    assert_false(is_in(&pods, PRIORITY("NotIn", "\"high\""), high));
    assert_true(is_in(&pods, PRIORITY("NotIn", "\"high\""), plain));
    assert_true(is_in(&pods, PRIORITY("Exists", ""), high));
    assert_false(is_in(&pods, PRIORITY("DoesNotExist", ""), high));
    assert_true(is_in(&pods, PRIORITY("DoesNotExist", ""), plain));
    assert_false(is_in(&pods, "{\"scopes\":[\"VolumeAttributesClass\"]}", plain));
}

#define REQUIRED(kind, term)                                                                       \
    POD("\"affinity\":{\"" kind "\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{" term   \
        "}]}}")
#define PREFERRED(kind, term)                                                                      \
    POD("\"affinity\":{\"" kind                                                                    \
        "\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"podAffinityTerm\":{" term     \
        "}}]}}")

/* Contract controllers 3.3.7. */
TEST(quota_rules, pods_are_in_the_scope_of_affinity_across_namespaces)
{
    static const char scope[] = "{\"scopes\":[\"CrossNamespacePodAffinity\"]}";

    assert_false(is_in(&pods, scope, POD("")));
    assert_false(is_in(&pods, scope, REQUIRED("podAffinity", "\"topologyKey\":\"k\"")));
    assert_true(is_in(&pods, scope, REQUIRED("podAffinity", "\"namespaces\":[\"x\"]")));
    assert_true(is_in(&pods, scope, REQUIRED("podAntiAffinity", "\"namespaceSelector\":{}")));
    assert_true(is_in(&pods, scope, PREFERRED("podAffinity", "\"namespaceSelector\":{}")));
    assert_true(is_in(&pods, scope, PREFERRED("podAntiAffinity", "\"namespaces\":[\"x\"]")));
    assert_false(is_in(&pods, scope, PREFERRED("podAntiAffinity", "\"namespaces\":[]")));
}

#define ATTRIBUTES(how, values) SELECTOR("VolumeAttributesClass", how, values)

/* Contract controllers 3.3.7: claims have one scope, and nothing else has any. */
TEST(quota_rules, claims_are_in_the_scope_of_their_attributes)
{
    const char *none = CLAIM("", "", "");
    const char *fast = CLAIM("", "", ",\"volumeAttributesClassName\":\"fast\"");
    const char *changing = CLAIM("", "",
                                 ",\"volumeAttributesClassName\":\"fast\"},\"status\":{"
                                 "\"currentVolumeAttributesClassName\":\"slow\","
                                 "\"modifyVolumeStatus\":{\"targetVolumeAttributesClassName\":"
                                 "\"other\"}");

    assert_true(is_in(&claims, ATTRIBUTES("Exists", ""), fast));
    assert_false(is_in(&claims, ATTRIBUTES("Exists", ""), none));
    assert_true(is_in(&claims, ATTRIBUTES("DoesNotExist", ""), none));
    assert_true(is_in(&claims, ATTRIBUTES("In", "\"slow\""), changing));
    assert_true(is_in(&claims, ATTRIBUTES("In", "\"other\""), changing));
    assert_false(is_in(&claims, ATTRIBUTES("In", "\"slow\""), fast));
    assert_false(is_in(&claims, "{\"scopes\":[\"Terminating\"]}", fast));
    assert_false(is_in(&services, ATTRIBUTES("DoesNotExist", ""), SERVICE("")));
    assert_false(is_in(&secrets, "{\"scopes\":[\"NotTerminating\"]}", "{}"));
    assert_true(is_in(&secrets, "{}", "{}"));
}

/* Contract controllers 3.3.6. */
TEST(quota_rules, the_fingerprint_changes_with_what_is_used)
{
    static const char pod[] = ENDED("", "\"phase\":\"Running\"");

    assert_int_equal(fingerprint(&pods, pod), fingerprint(&pods, ENDED("", "\"podIP\":\"1\"")));
    assert_int_equal(fingerprint(&pods, pod),
                     fingerprint(&pods, ENDED(",\"labels\":{\"a\":\"b\"}", "")));
    assert_true(fingerprint(&pods, pod) != fingerprint(&pods, ENDED("", "\"phase\":\"Failed\"")));
    assert_true(fingerprint(&pods, POD("")) !=
                fingerprint(&pods, POD("\"activeDeadlineSeconds\":5")));
    assert_true(fingerprint(&pods, RESIZED("")) !=
                fingerprint(&pods, RESIZED(PENDING("Infeasible"))));
    assert_true(
        fingerprint(&pods, pod) !=
        fingerprint(&pods, ENDED("", "\"containerStatuses\":[{\"name\":\"a\",\"resources\":{"
                                     "\"requests\":{\"cpu\":\"2\"}}}]")));
    assert_true(fingerprint(&services, SERVICE("\"type\":\"NodePort\"")) !=
                fingerprint(&services, SERVICE("\"type\":\"ClusterIP\"")));
    assert_int_equal(fingerprint(&services, SERVICE("\"selector\":{\"a\":\"b\"}")),
                     fingerprint(&services, SERVICE("")));
    assert_true(fingerprint(&claims, CLAIM("", "\"storage\":\"1\"", "")) !=
                fingerprint(&claims, CLAIM("", "\"storage\":\"2\"", "")));
    assert_true(fingerprint(&claims, CLAIM("", "", "")) !=
                fingerprint(&claims, CLAIM("", "", ",\"volumeAttributesClassName\":\"a\"")));
    assert_false(cor_quota_follows_updates(cor_quota_kind_of(&secrets)));
    assert_false(cor_quota_follows_updates(cor_quota_kind_of(&devices)));
}

/* Contract controllers 3.3.5. */
TEST(quota_rules, only_stored_namespaced_objects_are_countable)
{
    const unsigned all = COR_API_VERB_BIT(CREATE) | COR_API_VERB_BIT(LIST) |
                         COR_API_VERB_BIT(WATCH) | COR_API_VERB_BIT(DELETE);
    struct cor_port_resource r = {
        .gvr = secrets, .is_namespaced = true, .is_preferred = true, .verbs = all};

    assert_true(cor_quota_is_countable(&r));
    r.verbs = all & ~COR_API_VERB_BIT(WATCH);
    assert_false(cor_quota_is_countable(&r));
    r.verbs = all;
    r.is_namespaced = false;
    assert_false(cor_quota_is_countable(&r));
    r.is_namespaced = true;
    r.is_preferred = false;
    assert_false(cor_quota_is_countable(&r));
    r.is_preferred = true;
    r.gvr.resource = COR_STR("events");
    assert_false(cor_quota_is_countable(&r));
    r.gvr.group = COR_STR("events.k8s.io");
    assert_false(cor_quota_is_countable(&r));
    r.gvr.group = COR_STR("example.com");
    assert_true(cor_quota_is_countable(&r));
}

/* A quantity that cannot be read, and one allocation that fails, leave the sum as it was. */
TEST(quota_rules, a_failure_leaves_the_sum)
{
    struct cor_quota_rule rule = cor_quota_rule_of(&pods, COR_STR("cpu"));
    struct cor_quota_amount sum = {"7"};
    struct cor_object *o = object(POD("\"containers\":[" BOX("a", "\"cpu\":\"x\"", "") "]"));

    assert_true(add(&rule, COR_QUOTA_PODS, o, &sum) < 0);
    assert_string_equal(sum.text, "7");
    cor_object_unref(o);
    o = object(POD(
        "\"containers\":[" BOX("a", "\"cpu\":\"1\"", "") "," BOX("b", "\"cpu\":\"2\"", "") "]"));
    FOR_EACH_FAILED_ALLOC(n) {
        int r;

        sum = (struct cor_quota_amount){"7"};
        r = add(&rule, COR_QUOTA_PODS, o, &sum);
        assert_string_equal(sum.text, r == 0 ? "10" : "7");
        assert_true(r == 0 || r == -COR_ENOMEM);
    }
    cor_object_unref(o);
}

/* The work is linear in the containers, their statuses and the names of the quota, or this test
 * takes minutes. */
TEST(quota_rules, a_pod_of_many_containers_is_added_up_for_many_names)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 8u << 20}, names = {.max = 1u << 20};
    struct cor_quota_facts facts;
    struct cor_object *pod;

    assert_int_equal(
        cor_buf_addz(&json, "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":["), 0);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(cor_buf_addf(&json,
                                      "%s{\"name\":\"c%d\",\"resources\":{\"requests\":{\"cpu\":"
                                      "\"1m\",\"example.org/r%05d\":\"3\"}}}",
                                      i ? "," : "", i, i),
                         0);
    assert_int_equal(cor_buf_addz(&json, "]},\"status\":{\"containerStatuses\":["), 0);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(cor_buf_addf(&json,
                                      "%s{\"name\":\"c%d\",\"resources\":{\"requests\":{\"cpu\":"
                                      "\"2m\"}}}",
                                      i ? "," : "", 9999 - i),
                         0);
    assert_int_equal(cor_buf_addz(&json, "]}}"), 0);
    pod = object(cor_buf_z(&json));
    assert_int_equal(cor_quota_facts_find(COR_QUOTA_PODS, pod, NOW_MS, &facts), 0);
    for (int i = 0; i < 20000; i++) {
        struct cor_quota_amount sum = {"0"};
        struct cor_quota_rule rule;

        cor_buf_reset(&names);
        assert_int_equal(cor_buf_addf(&names, "requests.example.org/r%05d", i), 0);
        rule = cor_quota_rule_of(&pods, cor_buf_str(&names));
        assert_int_equal(cor_quota_add(&rule, &facts, &sum), 0);
        assert_string_equal(sum.text, i < 10000 ? "3" : "0");
    }
    cor_quota_facts_deinit(&facts);
    assert_string_equal(used(&pods, "cpu", cor_buf_z(&json)), "20");
    cor_object_unref(pod);
}

/* The work is linear in the names, or this test takes minutes. */
TEST(quota_rules, lists_with_many_names_are_compared)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf a = {.max = 8u << 20}, b = {.max = 8u << 20};

    for (int i = 0; i < 60000; i++) {
        assert_int_equal(
            cor_buf_addf(&a, "%s\"requests.example.org/r%05d\":\"1\"", i ? "," : "{", i), 0);
        assert_int_equal(
            cor_buf_addf(&b, "%s\"requests.example.org/r%05d\":\"1000m\"", i ? "," : "{", i), 0);
    }
    assert_int_equal(cor_buf_addc(&a, '}'), 0);
    assert_true(cor_quota_lists_equal(cor_view(cor_buf_str(&a)), cor_view(cor_buf_str(&a))));
    assert_false(cor_quota_lists_equal(cor_view(cor_buf_str(&a)), cor_view(COR_STR("{}"))));
    assert_int_equal(cor_buf_addz(&b, ",\"s\":\"1\"}"), 0);
    assert_false(cor_quota_lists_equal(cor_view(cor_buf_str(&a)), cor_view(cor_buf_str(&b))));
    b.n -= sizeof(",\"s\":\"1\"}") - 1;
    assert_int_equal(cor_buf_addc(&b, '}'), 0);
    assert_true(cor_quota_lists_equal(cor_view(cor_buf_str(&a)), cor_view(cor_buf_str(&b))));
}
