/* The strategies of kinds: the tables, semantic equality, and every hook with every allocation
 * failing once. What clients see of them is in tests/cases/strategies.cases. */
#include "schema/types/strategy.h"

#include "base/err.h"
#include "schema/convert/conversion.h"
#include "schema/strategies/strategy_hooks.h"
#include "schema/walk/equal.h"
#include "test.h"

#define NOW   1767312000 /* 2026-01-02T00:00:00Z */
#define TIME  "\"2026-01-02T00:00:00Z\""
#define EARLY "\"2001-01-01T00:00:00Z\""

static const struct {
    enum cor_strategy_hook hook;
    enum cor_strategy_on on;
    const char *type;
    const char *object, *old; /* `old` NULL: a create */
    const char *value;        /* NULL: absent */
    const char *made;         /* NULL: the member stays */
    const char *sender;
    unsigned nwarnings;
} rows[] = {
    /* Contract types 4.3.1, 4.3.2, 4.3.3. */
    {COR_STRATEGY_HOOK_pod_birth, COR_ON_CREATE, "core_v1.Pod", "{\"spec\":{}}", NULL, NULL,
     "{\"phase\":\"Pending\",\"qosClass\":\"BestEffort\"}"},
    {COR_STRATEGY_HOOK_pod_birth, COR_ON_CREATE, "core_v1.Pod",
     "{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},"
     "\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}},{\"resources\":{\"limits\":{\"cpu\":\"1\","
     "\"memory\":\"1\"},\"requests\":{\"cpu\":\"1000m\",\"memory\":\"1\"}}}],"
     "\"schedulingGates\":[{\"name\":\"g\"}]}}",
     NULL, "{\"message\":\"m\"}",
     "{\"conditions\":[{\"lastProbeTime\":null,\"lastTransitionTime\":" TIME
     ",\"message\":\"Scheduling is blocked due to non-empty scheduling gates\",\"reason\":"
     "\"SchedulingGated\",\"status\":\"False\",\"type\":\"PodScheduled\"}],\"phase\":\"Pending\","
     "\"qosClass\":\"Guaranteed\"}"},
    {COR_STRATEGY_HOOK_pod_birth, COR_ON_CREATE, "core_v1.Pod",
     "{\"spec\":{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}", NULL, NULL,
     "{\"phase\":\"Pending\",\"qosClass\":\"Burstable\"}"},
    /* Contract types 4.3.4. */
    {COR_STRATEGY_HOOK_pod_scheduling, COR_ON_CREATE, "core_v1.Pod",
     "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", NULL, "{\"affinity\":{\"nodeAffinity\":{}}}",
     NULL},
    {COR_STRATEGY_HOOK_pod_scheduling, COR_ON_CREATE, "core_v1.Pod",
     "{\"metadata\":{\"labels\":{\"a\":\"b\",\"c\":\"d\"}}}", NULL,
     "{\"affinity\":{\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":["
     "{\"labelSelector\":{},\"matchLabelKeys\":[\"a\",\"z\"],\"mismatchLabelKeys\":[\"c\"]}]}},"
     "\"topologySpreadConstraints\":[{\"labelSelector\":{\"matchExpressions\":[{\"key\":\"x\","
     "\"operator\":\"Exists\"}]},\"matchLabelKeys\":[\"c\"]},{\"matchLabelKeys\":[\"a\"]}]}",
     "{\"affinity\":{\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":["
     "{\"labelSelector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":["
     "\"b\"]},{\"key\":\"c\",\"operator\":\"NotIn\",\"values\":[\"d\"]}]},\"matchLabelKeys\":"
     "[\"a\",\"z\"],\"mismatchLabelKeys\":[\"c\"]}]}},\"topologySpreadConstraints\":[{"
     "\"labelSelector\":{\"matchExpressions\":[{\"key\":\"x\",\"operator\":\"Exists\"},{\"key\":"
     "\"c\",\"operator\":\"In\",\"values\":[\"d\"]}]},\"matchLabelKeys\":[\"c\"]},{"
     "\"matchLabelKeys\":[\"a\"]}]}"},
    /* Contract types 4.3.5. */
    {COR_STRATEGY_HOOK_pod_app_armor, COR_ON_CREATE, "core_v1.Pod",
     "{\"metadata\":{\"annotations\":{\"container.apparmor.security.beta.kubernetes.io/c\":"
     "\"localhost/p\",\"container.apparmor.security.beta.kubernetes.io/d\":\"nonsense\"}}}",
     NULL, "{\"containers\":[{\"name\":\"c\"},{\"name\":\"d\"},{\"name\":\"e\"}]}",
     "{\"containers\":[{\"name\":\"c\",\"securityContext\":{\"appArmorProfile\":{"
     "\"localhostProfile\":\"p\",\"type\":\"Localhost\"}}},{\"name\":\"d\"},{\"name\":\"e\"}]}",
     .nwarnings = 2},
    /* Contract types 4.2 Pod. */
    {COR_STRATEGY_HOOK_pod_status, COR_ON_STATUS, "core_v1.Pod", "{}",
     "{\"status\":{\"conditions\":[{\"observedGeneration\":4,\"type\":\"A\"},{\"type\":\"A\"}],"
     "\"observedGeneration\":3,\"qosClass\":\"Burstable\"}}",
     "{\"conditions\":[{\"type\":\"A\"},{\"type\":\"A\"},{\"type\":\"B\"}]}",
     "{\"conditions\":[{\"observedGeneration\":4,\"type\":\"A\"},{\"type\":\"A\"},{\"type\":"
     "\"B\"}],\"observedGeneration\":3,\"qosClass\":\"Burstable\"}"},
    /* Contract types 4.3.7. */
    {COR_STRATEGY_HOOK_pod_ephemeral_containers, COR_ON_EPHEMERALCONTAINERS, "core_v1.Pod", "{}",
     "{\"spec\":{\"nodeName\":\"n\"}}", "{\"ephemeralContainers\":[{}],\"nodeName\":\"m\"}",
     "{\"ephemeralContainers\":[{}],\"nodeName\":\"n\"}"},
    {COR_STRATEGY_HOOK_pod_resize, COR_ON_RESIZE, "core_v1.Pod", "{}",
     "{\"spec\":{\"containers\":[{\"image\":\"i\",\"name\":\"c\"}]}}",
     "{\"containers\":[{\"image\":\"j\",\"name\":\"c\",\"resources\":{}}]}",
     "{\"containers\":[{\"image\":\"i\",\"name\":\"c\",\"resources\":{}}]}"},
    {COR_STRATEGY_HOOK_pod_resize, COR_ON_RESIZE, "core_v1.Pod", "{}",
     "{\"spec\":{\"containers\":[{\"name\":\"c\"}]}}", "{\"containers\":[{\"name\":\"d\"}]}",
     "{\"containers\":[{\"name\":\"d\"}]}"},
    {COR_STRATEGY_HOOK_pod_resize, COR_ON_RESIZE, "core_v1.Pod", "{}",
     "{\"spec\":{\"containers\":[{\"name\":\"c\"}]}}", "{\"containers\":[]}", NULL},
    /* Contract types 4.2 Service. */
    {COR_STRATEGY_HOOK_service_status, COR_ON_UPDATE, "core_v1.Service",
     "{\"spec\":{\"type\":\"ClusterIP\"}}", "{}", "{\"loadBalancer\":{\"ingress\":[]}}",
     "{\"loadBalancer\":{}}"},
    /* Contract types 4.4.1. */
    {COR_STRATEGY_HOOK_namespace_finalizer, COR_ON_CREATE, "core_v1.Namespace", "{}", NULL, NULL,
     "{\"finalizers\":[\"kubernetes\"]}"},
    {COR_STRATEGY_HOOK_namespace_finalizer, COR_ON_CREATE, "core_v1.Namespace", "{}", NULL,
     "{\"finalizers\":[\"a/b\"]}", "{\"finalizers\":[\"a/b\",\"kubernetes\"]}"},
    {COR_STRATEGY_HOOK_namespace_name, COR_ON_UPDATE, "core_v1.Namespace", "{}", "{}",
     "{\"kubernetes.io/metadata.name\":\"x\"}", "{\"kubernetes.io/metadata.name\":\"one\"}"},
    {COR_STRATEGY_HOOK_namespace_name, COR_ON_UPDATE, "core_v1.Namespace", "{}", "{}",
     "{\"kubernetes.io/metadata.name\":\"one\"}", NULL},
    /* Contract types 4.6.3. */
    {COR_STRATEGY_HOOK_volume_birth, COR_ON_CREATE, "core_v1.PersistentVolume", "{}", NULL, NULL,
     "{\"lastPhaseTransitionTime\":" TIME ",\"phase\":\"Pending\"}"},
    {COR_STRATEGY_HOOK_volume_phase_time, COR_ON_STATUS, "core_v1.PersistentVolume", "{}",
     "{\"status\":{\"lastPhaseTransitionTime\":" EARLY ",\"phase\":\"Bound\"}}",
     "{\"phase\":\"Bound\"}", "{\"lastPhaseTransitionTime\":" EARLY ",\"phase\":\"Bound\"}"},
    {COR_STRATEGY_HOOK_volume_phase_time, COR_ON_STATUS, "core_v1.PersistentVolume", "{}",
     "{\"status\":{\"lastPhaseTransitionTime\":" EARLY ",\"phase\":\"Bound\"}}",
     "{\"lastPhaseTransitionTime\":" EARLY ",\"phase\":\"Failed\"}",
     "{\"lastPhaseTransitionTime\":" TIME ",\"phase\":\"Failed\"}"},
    {COR_STRATEGY_HOOK_volume_phase_time, COR_ON_STATUS, "core_v1.PersistentVolume", "{}",
     "{\"status\":{\"phase\":\"Bound\"}}", "{\"lastPhaseTransitionTime\":" EARLY "}", NULL},
    /* Contract types 4.6.1. */
    {COR_STRATEGY_HOOK_claim_sources, COR_ON_CREATE, "core_v1.PersistentVolumeClaim", "{}", NULL,
     "{\"dataSourceRef\":{\"apiGroup\":\"g\",\"kind\":\"K\",\"name\":\"n\"}}",
     "{\"dataSource\":{\"apiGroup\":\"g\",\"kind\":\"K\",\"name\":\"n\"},\"dataSourceRef\":{"
     "\"apiGroup\":\"g\",\"kind\":\"K\",\"name\":\"n\"}}"},
    {COR_STRATEGY_HOOK_claim_sources, COR_ON_CREATE, "core_v1.PersistentVolumeClaim", "{}", NULL,
     "{\"dataSource\":{\"kind\":\"K\",\"name\":\"n\"}}", "{}"},
    {COR_STRATEGY_HOOK_claim_sources, COR_ON_UPDATE, "core_v1.PersistentVolumeClaim", "{}",
     "{\"spec\":{\"dataSourceRef\":{\"kind\":\"K\",\"name\":\"n\",\"namespace\":\"o\"}}}",
     "{\"dataSourceRef\":{\"kind\":\"K\",\"name\":\"n\",\"namespace\":\"o\"}}", NULL},
    /* Contract types 4.2 ServiceAccount. */
    {COR_STRATEGY_HOOK_secret_names, COR_ON_CREATE, "core_v1.ServiceAccount", "{}", NULL,
     "[{\"kind\":\"Secret\",\"name\":\"s\"},{\"kind\":\"Secret\"}]", "[{\"name\":\"s\"},{}]"},
    /* Contract types 4.2 DaemonSet. */
    {COR_STRATEGY_HOOK_template_generation, COR_ON_CREATE, "apps_v1.DaemonSet", "{}", NULL, NULL,
     "{\"deprecated.daemonset.template.generation\":\"1\"}"},
    {COR_STRATEGY_HOOK_template_generation, COR_ON_UPDATE, "apps_v1.DaemonSet",
     "{\"spec\":{\"template\":{\"spec\":{\"nodeName\":\"n\"}}}}",
     "{\"metadata\":{\"annotations\":{\"deprecated.daemonset.template.generation\":\"4\"}},"
     "\"spec\":{\"template\":{\"spec\":{}}}}",
     "{\"a\":\"b\",\"deprecated.daemonset.template.generation\":\"9\"}",
     "{\"a\":\"b\",\"deprecated.daemonset.template.generation\":\"5\"}"},
    /* Contract types 4.6.4. */
    {COR_STRATEGY_HOOK_job_selector, COR_ON_CREATE, "batch_v1.Job", "{}", NULL,
     "{\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\",\"job-name\":\"mine\"}}}}",
     "{\"selector\":{\"matchLabels\":{\"batch.kubernetes.io/controller-uid\":\"u\"}},\"template\":{"
     "\"metadata\":{\"labels\":{\"a\":\"b\",\"batch.kubernetes.io/controller-uid\":\"u\","
     "\"batch.kubernetes.io/job-name\":\"one\",\"controller-uid\":\"u\",\"job-name\":\"mine\"}}}}"},
    {COR_STRATEGY_HOOK_job_selector, COR_ON_CREATE, "batch_v1.Job", "{}", NULL,
     "{\"manualSelector\":true}", NULL},
    /* Contract types 4.2 EndpointSlice. */
    {COR_STRATEGY_HOOK_endpoint_topology, COR_ON_UPDATE, "discovery_v1.EndpointSlice", "{}",
     "{\"endpoints\":[{\"addresses\":[\"a\"],\"deprecatedTopology\":{\"kubernetes.io/hostname\":"
     "\"h\"}}]}",
     "[{\"deprecatedTopology\":{\"kubernetes.io/hostname\":\"h\"}},{\"deprecatedTopology\":{"
     "\"kubernetes.io/hostname\":\"i\"}}]",
     "[{\"nodeName\":\"h\"},{}]"},
    {COR_STRATEGY_HOOK_endpoint_topology, COR_ON_UPDATE, "discovery_v1.EndpointSlice", "{}",
     "{\"endpoints\":[{\"deprecatedTopology\":{\"kubernetes.io/hostname\":\"h\"}}]}",
     "[{\"deprecatedTopology\":{\"kubernetes.io/hostname\":\"h\"}}]", NULL},
    /* Contract types 4.2 CSR, 4.6.6. */
    {COR_STRATEGY_HOOK_requester, COR_ON_CREATE, "certificates_v1.CertificateSigningRequest", "{}",
     NULL, "{\"extra\":{\"a\":[\"b\"]},\"request\":\"\",\"uid\":\"x\",\"username\":\"me\"}",
     "{\"groups\":[\"g\"],\"request\":\"\",\"username\":\"u\"}",
     "{\"groups\":[\"g\"],\"username\":\"u\"}"},
    {COR_STRATEGY_HOOK_decided_conditions, COR_ON_STATUS,
     "certificates_v1.CertificateSigningRequest", "{}",
     "{\"status\":{\"conditions\":[{\"message\":\"m\",\"type\":\"Approved\"}]}}",
     "{\"conditions\":[{\"type\":\"Failed\"},{\"message\":\"n\",\"type\":\"Approved\"}]}",
     "{\"conditions\":[{\"type\":\"Failed\"},{\"message\":\"m\",\"type\":\"Approved\"}]}"},
    {COR_STRATEGY_HOOK_approval, COR_ON_APPROVAL, "certificates_v1.CertificateSigningRequest", "{}",
     "{\"status\":{\"certificate\":\"YQ==\"}}",
     "{\"certificate\":\"Yg==\",\"conditions\":[{\"type\":\"Approved\"}]}",
     "{\"certificate\":\"YQ==\",\"conditions\":[{\"type\":\"Approved\"}]}"},
    {COR_STRATEGY_HOOK_condition_times, COR_ON_STATUS, "certificates_v1.CertificateSigningRequest",
     "{}",
     "{\"status\":{\"conditions\":[{\"lastTransitionTime\":" EARLY ",\"status\":\"True\",\"type\":"
     "\"A\"}]}}",
     "{\"conditions\":[{\"lastUpdateTime\":null,\"status\":\"True\",\"type\":\"A\"},{\"status\":"
     "\"False\",\"type\":\"A\"}]}",
     "{\"conditions\":[{\"lastTransitionTime\":" EARLY ",\"lastUpdateTime\":" TIME ",\"status\":"
     "\"True\",\"type\":\"A\"},{\"lastTransitionTime\":" TIME ",\"lastUpdateTime\":" TIME
     ",\"status\":\"False\",\"type\":\"A\"}]}"},
    /* Contract types 4.2 CRD. */
    {COR_STRATEGY_HOOK_stored_version, COR_ON_UPDATE, "apiextensions_v1.CustomResourceDefinition",
     "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"storage\":false},{\"name\":\"v2\",\"storage\":"
     "true}]}}",
     "{}", "{\"storedVersions\":[\"v1\"]}", "{\"storedVersions\":[\"v1\",\"v2\"]}"},
    /* Contract types 4.2 APIService. */
    {COR_STRATEGY_HOOK_local_api_service, COR_ON_CREATE, "apiregistration_v1.APIService",
     "{\"spec\":{}}", NULL, "{}",
     "{\"conditions\":[{\"lastTransitionTime\":" TIME ",\"message\":\"Local APIServices are always "
     "available\",\"reason\":\"Local\",\"status\":\"True\",\"type\":\"Available\"}]}"},
    {COR_STRATEGY_HOOK_local_api_service, COR_ON_CREATE, "apiregistration_v1.APIService",
     "{\"spec\":{\"service\":{}}}", NULL, "{}", NULL},
    /* Contract types 4.2 ResourceClaim. */
    {COR_STRATEGY_HOOK_allocated_devices, COR_ON_STATUS, "resource_v1.ResourceClaim", "{}",
     "{\"status\":{\"allocation\":{\"devices\":{\"results\":[{\"device\":\"d\",\"driver\":\"r\","
     "\"pool\":\"p\"},{\"device\":\"e\",\"driver\":\"r\",\"pool\":\"p\"}]}}}}",
     "{\"allocation\":{\"devices\":{\"results\":[{\"device\":\"e\",\"driver\":\"r\",\"pool\":"
     "\"p\"}]}},\"devices\":[{\"device\":\"d\",\"driver\":\"r\",\"pool\":\"p\"},{\"device\":\"e\","
     "\"driver\":\"r\",\"pool\":\"p\"},{\"device\":\"f\",\"driver\":\"r\",\"pool\":\"p\"}]}",
     "{\"allocation\":{\"devices\":{\"results\":[{\"device\":\"e\",\"driver\":\"r\",\"pool\":"
     "\"p\"}]}},\"devices\":[{\"device\":\"e\",\"driver\":\"r\",\"pool\":\"p\"},{\"device\":\"f\","
     "\"driver\":\"r\",\"pool\":\"p\"}]}"},
};

static struct cor_str text_or_none(const char *text)
{
    return text ? cor_strz(text) : (struct cor_str){NULL, 0};
}

static int count_warning(void *arg, struct cor_str text)
{
    unsigned *n = arg;

    assert_true(text.n > 0);
    (*n)++;
    return 0;
}

TEST(strategy, hooks_make_their_members_and_survive_failed_allocations)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        FOR_EACH_FAILED_ALLOC(n) {
            COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1u << 20};
            unsigned nwarnings = 0;
            struct cor_prepare prepare = {
                .on = rows[i].on,
                .type = cor_type_named(cor_strz(rows[i].type)),
                .object = cor_strz(rows[i].object),
                .spec = cor_convert_member(cor_strz(rows[i].object), "spec"),
                .old = text_or_none(rows[i].old),
                .name = COR_STR("\"one\""),
                .uid = COR_STR("\"u\""),
                .now_s = NOW,
                .sender = text_or_none(rows[i].sender),
                .warn = count_warning,
                .arg = &nwarnings,
            };
            int r;

            assert_non_null(prepare.type);
            r = cor_strategy_hook_run(rows[i].hook, &prepare, text_or_none(rows[i].value), &out);
            if (test_alloc_failed()) {
                assert_int_equal(r, -COR_ENOMEM);
                continue;
            }
            assert_int_equal(r, rows[i].made != NULL);
            if (rows[i].made)
                assert_string_equal(cor_buf_z(&out), rows[i].made);
            assert_int_equal(nwarnings, rows[i].nwarnings);
        }
    }
}

/* Contract types 4.1.7. */
TEST(strategy, equality_is_semantic)
{
    static const struct {
        const char *type, *a, *b;
        bool is_equal;
    } pairs[] = {
        {"core_v1.PodSpec", "{\"nodeName\":\"a\"}", "{\"nodeName\":\"a\"}", true},
        {"core_v1.PodSpec", "{\"nodeName\":\"a\"}", "{\"nodeName\":\"b\"}", false},
        {"core_v1.PodSpec", "{\"tolerations\":[]}", "{}", true},
        {"core_v1.PodSpec", "{\"containers\":null}", "{\"containers\":[]}", true},
        {"core_v1.PodSpec", "{\"nodeSelector\":{}}", "{\"nodeName\":\"\"}", true},
        {"core_v1.PodSpec", "{\"nodeSelector\":{}}", "{}", true},
        {"core_v1.PodSpec", "{\"nodeSelector\":{\"a\":\"\"}}", "{}", false},
        {"core_v1.PodSpec", "{\"nodeSelector\":{\"a\":\"\"}}", "{\"nodeSelector\":{\"b\":\"\"}}",
         false},
        /* A struct behind a pointer is something, even an empty one. */
        {"core_v1.PodSpec", "{\"affinity\":{}}", "{}", false},
        {"core_v1.ResourceRequirements", "{\"limits\":{\"memory\":\"1Ki\"}}",
         "{\"limits\":{\"memory\":\"1024\"}}", true},
        {"core_v1.ResourceRequirements", "{\"limits\":{\"memory\":\"1Ki\"}}",
         "{\"limits\":{\"memory\":\"1k\"}}", false},
        {"core_v1.PodSpec", "{\"tolerations\":[{\"key\":\"a\"}]}",
         "{\"tolerations\":[{\"key\":\"a\"},{\"key\":\"b\"}]}", false},
        {"core_v1.PodSpec", NULL, "{}", true},
        {"core_v1.PodSpec", NULL, "{\"nodeName\":\"a\"}", false},
        {"core_v1.PodSpec", NULL, NULL, true},
        {"core_v1.Secret", "{\"data\":{\"a\":\"\"}}", "{\"data\":{\"a\":null}}", true},
    };

    bool turned;

    for (size_t i = 0; i < COR_ARRAY_LEN(pairs); i++) {
        const struct cor_type *type = cor_type_named(cor_strz(pairs[i].type));
        struct cor_str a = text_or_none(pairs[i].a), b = text_or_none(pairs[i].b);

        assert_non_null(type);
        FOR_EACH_FAILED_ALLOC(n) {
            bool is_equal;
            int r = cor_equal(type, a, b, &is_equal);

            assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
            assert_true(r < 0 || is_equal == pairs[i].is_equal);
        }
        assert_int_equal(cor_equal(type, b, a, &turned), 0);
        assert_int_equal(turned, pairs[i].is_equal);
    }
    assert_int_equal(cor_equal(NULL, COR_STR("1"), COR_STR("1.0"), &turned), 0);
    assert_false(turned);
    assert_int_equal(cor_equal(NULL, COR_STR("{}"), COR_STR("{}"), &turned), 0);
    assert_true(turned);
}

/* Contract types 4.1.7. */
TEST(strategy, empty_lists_and_maps_are_found_in_what_was_sent)
{
    static const struct {
        const char *json;
        bool has_empty;
    } specs[] = {
        {"{}", false},
        {"{\"podSelector\":{}}", false},
        {"{\"egress\":[]}", true},
        {"{\"egress\":null}", false},
        {"{\"podSelector\":{\"matchLabels\":{}}}", true},
        {"{\"podSelector\":{\"matchLabels\":{\"a\":\"b\"}}}", false},
        {"{\"ingress\":[{\"from\":[{\"podSelector\":{}}]},{\"ports\":[]}]}", true},
        {"{\"ingress\":[{}],\"unknown\":[]}", false},
    };
    const struct cor_type *type = cor_type_named(COR_STR("networking_v1.NetworkPolicySpec"));

    assert_non_null(type);
    for (size_t i = 0; i < COR_ARRAY_LEN(specs); i++)
        assert_int_equal(cor_has_empty(type, cor_strz(specs[i].json)), specs[i].has_empty);
}

/* Contract apply 10.1. */
TEST(strategy, masks_the_fields_that_an_endpoint_keeps)
{
    static const struct {
        const char *type;
        enum cor_strategy_on on;
        const char *mask;
    } cases[] = {
        {"core_v1.Pod", COR_ON_UPDATE, "{\"f:status\":{}}"},
        {"core_v1.Pod", COR_ON_STATUS,
         "{\"f:metadata\":{\"f:deletionTimestamp\":{},\"f:ownerReferences\":{}},\"f:spec\":{}}"},
        {"core_v1.Pod", COR_ON_RESIZE, "{}"},
        {"core_v1.Pod", COR_ON_EPHEMERALCONTAINERS, "{}"},
        {"core_v1.Namespace", COR_ON_UPDATE, "{\"f:status\":{}}"},
        {"core_v1.Namespace", COR_ON_FINALIZE, "{\"f:status\":{}}"},
        {"apps_v1.Deployment", COR_ON_STATUS, "{\"f:metadata\":{\"f:labels\":{}},\"f:spec\":{}}"},
        {"certificates_v1.CertificateSigningRequest", COR_ON_UPDATE,
         "{\"f:spec\":{},\"f:status\":{}}"},
        {"certificates_v1.CertificateSigningRequest", COR_ON_STATUS,
         "{\"f:spec\":{},\"f:status\":{\"f:conditions\":{}}}"},
        {"certificates_v1.CertificateSigningRequest", COR_ON_APPROVAL,
         "{\"f:spec\":{},\"f:status\":{\"f:certificate\":{}}}"},
        {"flowcontrol_v1.FlowSchema", COR_ON_STATUS, "{\"f:metadata\":{},\"f:spec\":{}}"},
        {"apiextensions_v1.CustomResourceDefinition", COR_ON_STATUS,
         "{\"f:metadata\":{},\"f:spec\":{}}"},
        {"networking_v1.ServiceCIDR", COR_ON_UPDATE, ""},
        {"networking_v1.ServiceCIDR", COR_ON_STATUS, "{}"},
        {"resource_v1.ResourceClaim", COR_ON_STATUS, "{\"f:spec\":{}}"},
        {"core_v1.ConfigMap", COR_ON_UPDATE, ""},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        const struct cor_type *type = cor_type_named(cor_strz(cases[i].type));
        struct cor_str mask = cor_strategy_mask(cor_strategy_of(type), cases[i].on);

        assert_non_null(type);
        assert_true(cor_str_eqz(mask, cases[i].mask));
    }
}

TEST(strategy, every_strategy_is_found_by_its_kind)
{
    size_t nsteps = 0;

    for (size_t i = 0; i < cor_types_count(); i++) {
        const struct cor_strategy *strategy = cor_strategy_of(cor_type_at(i));

        if (!strategy)
            continue;
        assert_true(cor_type_is(cor_type_at(i), COR_TYPE_KIND));
        assert_int_equal(strategy->type, i);
        for (size_t s = 0; s < strategy->nsteps; s++) {
            const struct cor_strategy_step *step = cor_strategy_step(strategy, s);

            assert_int_equal(cor_strategy_step_name(step).n > 0, step->does != COR_STRATEGY_MASK);
            /* Nothing is kept from an object that does not exist yet. */
            assert_false(step->on == COR_ON_CREATE && step->does == COR_STRATEGY_KEEP);
        }
        nsteps += strategy->nsteps;
    }
    assert_true(nsteps > 0);
    assert_null(cor_strategy_of(NULL));
    assert_null(cor_strategy_of(cor_type_named(COR_STR("core_v1.ConfigMap"))));
    assert_true(
        cor_strategy_of(cor_type_named(COR_STR("certificates_v1.CertificateSigningRequest")))
            ->needs_sender);
}
