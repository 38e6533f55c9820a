/* The interpreter of validation, through the programs of real kinds. Rows give JSON with ' in place
 * of ", and what is wrong as upstream's aggregate prints it. */
#include "schema/validate/validate.h"

#include <stdio.h>

#include "../rows.h"
#include "base/err.h"
#include "base/mem.h"
#include "schema/types/types_int.h"
#include "schema/validate/validate_int.h"

#define REQUIRED "'requiredDuringSchedulingIgnoredDuringExecution'"
#define META     "'metadata':{'name':'n','namespace':'ns','resourceVersion':'1'}"
/* The spec of a template with the defaults that rules look at, up to its restartPolicy. */
#define POD                                                                                        \
    "'containers':[{'image':'i','imagePullPolicy':'Always','name':'c','terminationMessagePolicy':" \
    "'File'}],'dnsPolicy':'Default'"
#define POD_SPEC "{" POD ",'restartPolicy':'Always','terminationGracePeriodSeconds':30}"
#define TEMPLATE "'template':{'metadata':{'labels':{'a':'b'}},'spec':" POD_SPEC "}"
#define ROLLING                                                                                    \
    "'strategy':{'rollingUpdate':{'maxSurge':1,'maxUnavailable':1},'type':'RollingUpdate'}"

/* Runs a program; `old` may be NULL. */
static void validate(const char *type, enum cor_check_operation operation, const char *object,
                     const char *old, struct cor_field_errors *errors)
{
    char in[JSON_MAX], before[JSON_MAX];
    struct cor_validation validation = {
        .type = named(type),
        .operation = operation,
        .object = quoted(object, in),
        .meta = {COR_NAME_DNS1123_SUBDOMAIN, true, false},
    };

    if (old)
        validation.old = quoted(old, before);
    (void)cor_validate(&validation, errors);
}

struct row {
    const char *type;
    enum cor_check_operation operation;
    const char *object, *old; /* `old` is NULL on create */
    const char *wrong;        /* in upstream's words; "" for a valid object */
};

static void check_row(const struct row *row)
{
    struct cor_field_errors errors = {0};
    char want[JSON_MAX];
    struct cor_buf text;

    cor_buf_init(&text, JSON_MAX);
    validate(row->type, row->operation, row->object, row->old, &errors);
    assert_int_equal(errors.error, 0);
    if (errors.n > 0)
        assert_int_equal(cor_field_errors_print(&errors, &text), 0);
    for (size_t i = 0; i < text.n; i++)
        text.p[i] = (char)(text.p[i] == '\'' ? '"' : text.p[i]);
    if (!cor_str_eq(cor_buf_str(&text), quoted(row->wrong, want)))
        fail_msg("%s\n is wrong for\n%s\n instead of\n%s", row->object, cor_buf_z(&text), want);
    cor_buf_deinit(&text);
    cor_field_errors_deinit(&errors);
}

#define MAP      "core_v1.ConfigMap"
#define POD_KIND "core_v1.Pod"
#define SECRET   "core_v1.Secret"
#define DEPLOY   "apps_v1.Deployment"
#define REPLICA  "apps_v1.ReplicaSet"

/* Contract validation 7.1, 7.2. */
TEST(validate, config_maps_and_secrets)
{
    static const struct row rows[] = {
        {MAP, COR_CHECK_CREATE, "{" META "}", NULL, ""},
        {MAP, COR_CHECK_CREATE,
         "{'binaryData':{'c':'','e':''},'data':{'a':'','b':'','c':'','d':''}," META "}", NULL,
         "data[c]: Invalid value: 'c': duplicate of key present in binaryData"},
        {MAP, COR_CHECK_CREATE, "{'data':{'..':''}," META "}", NULL,
         "data[..]: Invalid value: '..': must not be '..'"},
        {MAP, COR_CHECK_UPDATE, "{'data':{'a':'2'}," META "}",
         "{'data':{'a':'1'},'immutable':true," META "}",
         "[immutable: Forbidden: field is immutable when `immutable` is set, data: Forbidden: "
         "field is immutable when `immutable` is set]"},
        {MAP, COR_CHECK_UPDATE, "{'data':{'a':'2'}," META "}",
         "{'data':{'a':'1'},'immutable':false," META "}", ""},
        {SECRET, COR_CHECK_CREATE, "{'data':{'tls.crt':''}," META ",'type':'kubernetes.io/tls'}",
         NULL, "data[tls.key]: Required value"},
        {SECRET, COR_CHECK_CREATE, "{" META ",'type':'kubernetes.io/basic-auth'}", NULL,
         "[data[username]: Required value, data[password]: Required value]"},
        {SECRET, COR_CHECK_CREATE,
         "{'data':{'ssh-privatekey':''}," META ",'type':'kubernetes.io/ssh-auth'}", NULL,
         "data[ssh-privatekey]: Required value"},
        {SECRET, COR_CHECK_CREATE, "{" META ",'type':'kubernetes.io/service-account-token'}", NULL,
         "metadata.annotations[kubernetes.io/service-account.name]: Required value"},
        {SECRET, COR_CHECK_CREATE, "{" META ",'type':'kubernetes.io/dockercfg'}", NULL,
         "data[.dockercfg]: Required value"},
        {SECRET, COR_CHECK_CREATE,
         "{'data':{'.dockercfg':'eA=='}," META ",'type':'kubernetes.io/dockercfg'}", NULL,
         "data[.dockercfg]: Invalid value: '<secret contents redacted>': invalid character 'x' "
         "looking for beginning of value"},
        {SECRET, COR_CHECK_CREATE,
         "{'data':{'.dockerconfigjson':'e30='}," META ",'type':'kubernetes.io/dockerconfigjson'}",
         NULL, ""},
        {SECRET, COR_CHECK_UPDATE, "{" META ",'type':'a'}", "{" META ",'type':'b'}",
         "type: Invalid value: 'a': field is immutable"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        check_row(&rows[i]);
}

/* Contract validation 5.1. */
TEST(validate, deployments_and_replica_sets)
{
    static const struct row rows[] = {
        {DEPLOY, COR_CHECK_CREATE,
         "{" META ",'spec':{'replicas':1,'selector':{'matchLabels':{'a':'b'}}," ROLLING "," TEMPLATE
         "}}",
         NULL, ""},
        {DEPLOY, COR_CHECK_UPDATE,
         "{" META ",'spec':{'replicas':-1,'selector':{'matchLabels':{'a':'c'}}," ROLLING
         ",'template':"
         "{'metadata':{'labels':{'a':'b'}},'spec':" POD_SPEC "}}}",
         "{" META ",'spec':{'selector':{'matchLabels':{'a':'b'}}," TEMPLATE "}}",
         "[spec.replicas: Invalid value: -1: must be greater than or equal to 0, "
         "spec.template.metadata.labels: Invalid value: {'a':'b'}: `selector` does not match "
         "template `labels`, spec.selector: Invalid value: {'matchLabels':{'a':'c'}}: field is "
         "immutable]"},
        {DEPLOY, COR_CHECK_STATUS, "{" META ",'status':{'readyReplicas':2,'replicas':1}}",
         "{" META ",'status':{'collisionCount':1}}",
         "[status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas, "
         "status.collisionCount: Invalid value: 0: cannot be decremented]"},
        {REPLICA, COR_CHECK_CREATE,
         "{" META ",'spec':{'selector':{},'template':{'spec':" POD_SPEC "}}}", NULL,
         "spec.selector: Invalid value: {}: empty selector is invalid for deployment"},
        {REPLICA, COR_CHECK_CREATE,
         "{" META ",'spec':{'selector':{'matchExpressions':[{'key':'a','operator':'x'}]}}}", NULL,
         "[spec.selector.matchExpressions[0].operator: Invalid value: 'x': not a valid selector "
         "operator, spec.selector: Invalid value: "
         "{'matchExpressions':[{'key':'a','operator':'x'}]}: invalid label selector]"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        check_row(&rows[i]);
}

#define STATEFUL "apps_v1.StatefulSet"
#define DAEMON   "apps_v1.DaemonSet"
#define RC       "core_v1.ReplicationController"
#define REVISION "apps_v1.ControllerRevision"
#define BUDGET   "policy_v1.PodDisruptionBudget"
#define SELECTOR "'selector':{'matchLabels':{'a':'b'}}"

/* Contract validation 5.2, 5.3. */
TEST(validate, stateful_and_daemon_sets)
{
    static const struct row rows[] = {
        {STATEFUL, COR_CHECK_CREATE,
         "{" META ",'spec':{'ordinals':{'start':-1},'podManagementPolicy':'x'," SELECTOR
         ",'serviceName':'a.b'," TEMPLATE
         ",'updateStrategy':{'rollingUpdate':{'partition':-1},'type':'RollingUpdate'}}}",
         NULL,
         "[spec.podManagementPolicy: Invalid value: 'x': must be 'OrderedReady' or 'Parallel', "
         "spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or "
         "equal to 0, spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0, "
         "spec.serviceName: Invalid value: 'a.b': must not contain dots]"},
        {STATEFUL, COR_CHECK_UPDATE,
         "{" META ",'spec':{'podManagementPolicy':'Parallel','replicas':2," SELECTOR
         ",'serviceName':'a.b'," TEMPLATE ",'updateStrategy':{'type':'OnDelete'}}}",
         "{" META ",'spec':{'podManagementPolicy':'Parallel','replicas':1," SELECTOR
         ",'serviceName':'a.b'," TEMPLATE ",'updateStrategy':{'type':'RollingUpdate'}}}",
         ""},
        {STATEFUL, COR_CHECK_UPDATE,
         "{" META ",'spec':{'podManagementPolicy':'Parallel'," SELECTOR "," TEMPLATE
         ",'updateStrategy':{'type':'OnDelete'}}}",
         "{" META ",'spec':{'podManagementPolicy':'Parallel'," SELECTOR
         ",'serviceName':'s'," TEMPLATE ",'updateStrategy':{'type':'OnDelete'}}}",
         "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', "
         "'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
         "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"},
        {DAEMON, COR_CHECK_CREATE,
         "{" META ",'spec':{" TEMPLATE ",'updateStrategy':{'rollingUpdate':{'maxSurge':0,"
         "'maxUnavailable':'0%'},'type':'RollingUpdate'}}}",
         NULL,
         "[spec.template.metadata.labels: Invalid value: {'a':'b'}: `selector` does not match "
         "template `labels`, spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: "
         "cannot be 0 when maxSurge is 0]"},
        {DAEMON, COR_CHECK_UPDATE,
         "{" META
         ",'spec':{'selector':{'matchExpressions':[{'key':'a','operator':'In','values':['b "
         "c']}]},'template':{'spec':" POD_SPEC "},'updateStrategy':{'type':'OnDelete'"
         "}}}",
         "{" META
         ",'spec':{'selector':{'matchExpressions':[{'key':'a','operator':'In','values':['b "
         "c']}]}}}",
         ""},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        check_row(&rows[i]);
}

/* Contract validation 5.4, 5.7. */
TEST(validate, controllers_revisions_and_budgets)
{
    static const struct row rows[] = {
        {RC, COR_CHECK_CREATE, "{" META ",'spec':{'selector':{'a':'b','c':'d'}," TEMPLATE "}}",
         NULL,
         "[spec.replicas: Required value, spec.template.metadata.labels: Invalid value: {'a':'b'}: "
         "`selector` does not match template `labels`]"},
        {RC, COR_CHECK_CREATE, "{" META ",'spec':{'replicas':1,'selector':{'a':'b'}," TEMPLATE "}}",
         NULL, ""},
        {RC, COR_CHECK_CREATE, "{" META ",'spec':{'replicas':-1}}", NULL,
         "[spec.selector: Required value, spec.replicas: Invalid value: -1: must be greater than or "
         "equal to 0, spec.template: Required value]"},
        {REVISION, COR_CHECK_CREATE, "{" META ",'revision':-1}", NULL,
         "[revision: Invalid value: -1: must be greater than or equal to 0, data: Required value: "
         "data is mandatory]"},
        {REVISION, COR_CHECK_CREATE, "{'data':[]," META ",'revision':1}", NULL,
         "data: Required value: data must be a valid JSON object"},
        {REVISION, COR_CHECK_UPDATE, "{'data':{'a':1}," META "}", "{'data':{'a':2}," META "}",
         "data: Invalid value: {'a':1}: field is immutable"},
        {BUDGET, COR_CHECK_CREATE,
         "{'spec':{'maxUnavailable':'101%','selector':{},'unhealthyPodEvictionPolicy':'x'}}", NULL,
         "[spec.maxUnavailable: Invalid value: '101%': must not be greater than 100%, "
         "spec.unhealthyPodEvictionPolicy: Unsupported value: 'x': supported values: 'AlwaysAllow', "
         "'IfHealthyBudget']"},
        {BUDGET, COR_CHECK_STATUS,
         "{'status':{'conditions':[{'lastTransitionTime':'2025-01-01T00:00:00Z','reason':'r','status':"
         "'True','type':'t'},{'lastTransitionTime':null,'reason':'','status':'x','type':'t'}],"
         "'currentHealthy':-1}}",
         "{}",
         "[status.conditions[1].type: Duplicate value: 't', status.conditions[1].status: "
         "Unsupported value: 'x': supported values: 'False', 'True', 'Unknown', "
         "status.conditions[1].lastTransitionTime: Required value, status.conditions[1].reason: "
         "Required value, status.currentHealthy: Invalid value: -1: must be greater than or equal "
         "to 0]"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        check_row(&rows[i]);
}

/* The answer to a change of a pod's spec ends with the difference of the internal forms. */
TEST(validate, shows_the_lines_of_a_pod_that_may_not_change)
{
    static const struct row row = {
        POD_KIND, COR_CHECK_UPDATE,
        "{" META ",'spec':{" POD ",'hostNetwork':true,'hostname':'<h>','restartPolicy':'Always',"
        "'securityContext':{},'terminationGracePeriodSeconds':30}}",
        "{" META ",'spec':{" POD ",'restartPolicy':'Always','securityContext':{},"
        "'terminationGracePeriodSeconds':30}}",
        ""};
    struct cor_field_errors errors = {0};
    const char *lines;

    validate(row.type, row.operation, row.object, row.old, &errors);
    assert_int_equal(errors.error, 0);
    assert_int_equal(errors.n, 2); /* the other one is about the hostname */
    assert_string_equal(errors.v[1].field, "spec");
    lines = strchr(errors.v[1].body, '\n');
    assert_non_null(lines);
    assert_string_equal(lines, "\n@@ -44,7 +44,7 @@\n"
                               "  \"AutomountServiceAccountToken\": null,\n"
                               "  \"NodeName\": \"\",\n"
                               "  \"SecurityContext\": {\n"
                               "-  \"HostNetwork\": false,\n"
                               "+  \"HostNetwork\": true,\n"
                               "   \"HostPID\": false,\n"
                               "   \"HostIPC\": false,\n"
                               "   \"ShareProcessNamespace\": null,\n"
                               "@@ -64,7 +64,7 @@\n"
                               "   \"SELinuxChangePolicy\": null\n"
                               "  },\n"
                               "  \"ImagePullSecrets\": null,\n"
                               "- \"Hostname\": \"\",\n"
                               "+ \"Hostname\": \"\\u003ch\\u003e\",\n"
                               "  \"Subdomain\": \"\",\n"
                               "  \"SetHostnameAsFQDN\": null,\n"
                               "  \"Affinity\": null,\n");
    cor_field_errors_deinit(&errors);
}

/* A template with more members of its spec than POD_SPEC has, and of its annotations. */
#define WITH(first, last, notes)                                                                   \
    "{" META ",'spec':{'replicas':1,'selector':{'matchLabels':{'a':'b'}}," ROLLING                 \
    ",'template':{'metadata':{'annotations':{" notes "},'labels':{'a':'b'}},'spec':{" first        \
    "'containers':[{'image':'i','imagePullPolicy':'Always','name':'c'" last                        \
    "}],'dnsPolicy':'Default'"
#define WITH_END ",'restartPolicy':'Always','terminationGracePeriodSeconds':30"
#define SELECTOR_OF(value)                                                                         \
    "'labelSelector':{'matchExpressions':[{'key':'k','operator':'In','values':['" value "']}]}"

/* Contract validation 1.2.11: a mistake that the pod spec before the update has, in whatever place,
 * passes; the same mistake is reported when the old spec does not have it. */
TEST(validate, mistakes_of_the_old_pod_spec_pass)
{
    static const struct {
        const char *fine, *wrong, *other; /* two wrong ones, and what is wrong with the second */
        const char *report;
    } rows[] = {
        {WITH("", "", "") WITH_END "}}}}",
         WITH(
             "'affinity':{'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{" SELECTOR_OF(
                 "-x") ",'topologyKey':'t'}]}},",
             "", "") WITH_END "}}}}",
         WITH(
             "'affinity':{'podAntiAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'podAffinityTerm':{" SELECTOR_OF(
                 "-y") ",'topologyKey':'t'},'weight':1}]}},",
             "", "") WITH_END "}}}}",
         "spec.template.spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector.matchExpressions[0].values[0]"},
        {WITH("", "", "") WITH_END "}}}}",
         WITH(
             "'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'k','operator':'In','values':['-x']}]}]}}},",
             "", "") WITH_END "}}}}",
         WITH(
             "'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{},{'matchExpressions':[{'key':'k','operator':'In','values':['-y']}]}]}}},",
             "", "") WITH_END "}}}}",
         "spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1].matchExpressions[0].values[0]"},
        {WITH("", "", "") WITH_END "}}}}",
         WITH("", "", "") WITH_END ",'topologySpreadConstraints':[{" SELECTOR_OF(
             "-x") ",'maxSkew':1,'topologyKey':'t','whenUnsatisfiable':'DoNotSchedule'}]}}}}",
         WITH("", "", "") WITH_END ",'topologySpreadConstraints':[{" SELECTOR_OF(
             "-y") ",'maxSkew':2,'topologyKey':'u','whenUnsatisfiable':'DoNotSchedule'}]}}}}",
         "spec.template.spec.topologySpreadConstraints[0].labelSelector.matchExpressions[0].values[0]"},
        {WITH("", "", "") WITH_END "}}}}",
         WITH(
             "", "",
             "") ",'hostNetwork':true,'restartPolicy':'Always','securityContext':{'sysctls':[{'name':'net.a','value':'1'}]},'terminationGracePeriodSeconds':30}}}}",
         WITH(
             "", "",
             "") ",'hostNetwork':true,'restartPolicy':'Always','securityContext':{'sysctls':[{'name':'net.b','value':'1'}]},'terminationGracePeriodSeconds':30}}}}",
         "spec.template.spec.securityContext.sysctls[0].name"},
        {WITH("", ",'terminationMessagePolicy':'File'", "") WITH_END "}}}}",
         WITH(
             "",
             ",'resources':{'limits':{'cpu':'1','hugepages-2Mi':'1Mi'},'requests':{'cpu':'1','hugepages-2Mi':'1Mi'}},'terminationMessagePolicy':'File'",
             "") WITH_END "}}}}",
         WITH(
             "",
             ",'resources':{'limits':{'cpu':'1','hugepages-2Mi':'3Mi'},'requests':{'cpu':'1','hugepages-2Mi':'3Mi'}},'terminationMessagePolicy':'File'",
             "") WITH_END "}}}}",
         "spec.template.spec.containers[0].resources.limits[hugepages-2Mi]"},
        {WITH("", "", "") ",'hostUsers':false" WITH_END "}}}}",
         WITH("", ",'volumeDevices':[{'devicePath':'/a','name':'v'}]",
              "") ",'hostUsers':false" WITH_END
                  ",'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'c'}}]}}}}",
         WITH("", ",'volumeDevices':[{'devicePath':'/b','name':'v'}]",
              "") ",'hostUsers':false" WITH_END
                  ",'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'c'}}]}}}}",
         "spec.template.spec.containers[0].volumeDevices"},
        {WITH("", "", "") WITH_END "}}}}",
         WITH("", "", "'controller.kubernetes.io/pod-deletion-cost':'x'") WITH_END "}}}}",
         WITH("", "", "'controller.kubernetes.io/pod-deletion-cost':'+1'") WITH_END "}}}}",
         "spec.template.annotations[controller.kubernetes.io/pod-deletion-cost]"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_field_errors errors = {0}, others = {0};
        size_t found = 0, forgiven = 0;

        validate(DEPLOY, COR_CHECK_UPDATE, rows[i].other, rows[i].fine, &errors);
        validate(DEPLOY, COR_CHECK_UPDATE, rows[i].other, rows[i].wrong, &others);
        assert_int_equal(errors.error, 0);
        assert_int_equal(others.error, 0);
        for (size_t e = 0; e < errors.n; e++)
            found += strcmp(errors.v[e].field, rows[i].report) == 0;
        for (size_t e = 0; e < others.n; e++)
            forgiven += strcmp(others.v[e].field, rows[i].report) == 0;
        if (found == 0 || forgiven > 0)
            fail_msg("row %zu: %zu errors at %s, %zu with the old mistake", i, found,
                     rows[i].report, forgiven);
        cor_field_errors_deinit(&errors);
        cor_field_errors_deinit(&others);
    }
}

#define WEBHOOK(versions, name, selector, effects)                                                 \
    "{'admissionReviewVersions':[" versions "],'clientConfig':{'url':'https://a.b/'},"             \
    "'failurePolicy':'Fail','matchPolicy':'Exact','name':'" name                                   \
    "','namespaceSelector':{" selector "},'objectSelector':{},'sideEffects':'" effects             \
    "','timeoutSeconds':5}"
#define WEBHOOKS(list) "{" META ",'webhooks':[" list "]}"
#define BAD_SELECTOR   "'matchExpressions':[{'key':'k','operator':'In','values':['-x']}]"

/* Contract validation 1.2.11: the same of webhooks, whose old mistakes pass in any webhook. */
TEST(validate, mistakes_of_old_webhooks_pass)
{
    static const char hooks[] = "admissionregistration_v1.ValidatingWebhookConfiguration";
    static const struct row rows[] = {
        {hooks, COR_CHECK_UPDATE, WEBHOOKS(WEBHOOK("'v1'", "a.b.c", "", "Some")),
         WEBHOOKS(WEBHOOK("'v1'", "a.b.c", "", "None")),
         "webhooks[0].sideEffects: Unsupported value: 'Some': supported values: 'None', "
         "'NoneOnDryRun'"},
        {hooks, COR_CHECK_UPDATE, WEBHOOKS(WEBHOOK("'v1'", "a.b.c", "", "Some")),
         WEBHOOKS(WEBHOOK("'v1'", "d.e.f", "", "Unknown")), ""},
        {hooks, COR_CHECK_UPDATE, WEBHOOKS(WEBHOOK("'v1'", "a.b.c", "", "Few")),
         WEBHOOKS(WEBHOOK("'v1'", "d.e.f", "", "Unknown")),
         "webhooks[0].sideEffects: Unsupported value: 'Few': supported values: 'None', "
         "'NoneOnDryRun', 'Some', 'Unknown'"},
        {hooks, COR_CHECK_UPDATE, WEBHOOKS(WEBHOOK("'v3'", "a.b.c", "", "None")),
         WEBHOOKS(WEBHOOK("'v1'", "a.b.c", "", "None")),
         "webhooks[0].admissionReviewVersions: Invalid value: ['v3']: must include at least one of "
         "v1, v1beta1"},
        {hooks, COR_CHECK_UPDATE, WEBHOOKS(WEBHOOK("'v3'", "a.b.c", "", "None")),
         WEBHOOKS(WEBHOOK("'v2'", "a.b.c", "", "None")), ""},
        {hooks, COR_CHECK_UPDATE,
         WEBHOOKS(WEBHOOK("'v1'", "a.b.c", "", "None") "," WEBHOOK("'v1'", "a.b.c", "", "None")),
         WEBHOOKS(WEBHOOK("'v1'", "a.b.c", "", "None")),
         "webhooks[1].name: Duplicate value: 'a.b.c'"},
        {hooks, COR_CHECK_UPDATE,
         WEBHOOKS(WEBHOOK("'v1'", "a.b.c", "", "None") "," WEBHOOK("'v1'", "a.b.c", "", "None")),
         WEBHOOKS(WEBHOOK("'v1'", "d.e.f", "", "None") "," WEBHOOK("'v1'", "d.e.f", "", "None")),
         ""},
        {hooks, COR_CHECK_UPDATE, WEBHOOKS(WEBHOOK("'v1'", "a.b.c", BAD_SELECTOR, "None")),
         WEBHOOKS(WEBHOOK("'v1'", "a.b.c", "'matchLabels':{'k':'-y'}", "None")), ""},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        check_row(&rows[i]);
}

#define DEFINITION(more, version, versions)                                                        \
    "{'metadata':{'name':'ones.x.k8s.io','namespace':'ns','resourceVersion':'1'},'spec':{" more    \
    "'group':'x.k8s.io','names':{'kind':'One','listKind':'OneList','plural':'ones','singular':"    \
    "'one'},'scope':'Cluster','versions':[{'name':'v1'," version                                   \
    "'served':true,'storage':true}" versions "]},'status':{'storedVersions':['v1']}}"
#define SCHEMA "'schema':{'openAPIV3Schema':{'type':'object'}},"
#define CONVERSION(version)                                                                        \
    "'conversion':{'strategy':'Webhook','webhook':{'clientConfig':{'url':'https://a'},"            \
    "'conversionReviewVersions':['" version "']}},"

/* Contract crd 1.4.2, 1.4.4, 1.4.6, 1.12.3. The group needs an annotation that the old object lacks
 * as well. */
TEST(validate, mistakes_of_an_old_custom_resource_definition_pass)
{
    static const char type[] = "apiextensions_v1.CustomResourceDefinition";
    static const struct row rows[] = {
        {type, COR_CHECK_UPDATE, DEFINITION("", SCHEMA, ""), DEFINITION("", SCHEMA, ""), ""},
        {type, COR_CHECK_UPDATE, DEFINITION("", "", ""), DEFINITION("", SCHEMA, ""),
         "spec.versions[0].schema.openAPIV3Schema: Required value"},
        {type, COR_CHECK_UPDATE, DEFINITION("", "", ",{'name':'v2'}"), DEFINITION("", "", ""),
         "spec.versions[0].schema.openAPIV3Schema: Required value: because otherwise all fields are "
         "pruned"},
        {type, COR_CHECK_UPDATE, DEFINITION(CONVERSION("v9"), SCHEMA, ""),
         DEFINITION(CONVERSION("v8"), SCHEMA, ""), ""},
        {type, COR_CHECK_UPDATE, DEFINITION(CONVERSION("v9"), SCHEMA, ""),
         DEFINITION(CONVERSION("v1"), SCHEMA, ""),
         "spec.conversion.conversionReviewVersions: Invalid value: ['v9']: must include at least one "
         "of v1, v1beta1"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        check_row(&rows[i]);
}

#define SLICE(value)                                                                               \
    "{" META ",'spec':{'driver':'d.e','nodeSelector':{'nodeSelectorTerms':[{'matchExpressions':[{" \
    "'key':'k','operator':'In','values':['" value "']}]}]},'pool':{'generation':0,'name':'p',"     \
    "'resourceSliceCount':1}}}"

/* The selectors of resource.k8s.io have been strict from the beginning. */
TEST(validate, mistakes_of_an_old_resource_slice_do_not_pass)
{
    static const char slice[] = "resource_v1.ResourceSlice";
    static const struct {
        const char *now, *before;
        size_t errors;
    } rows[] = {
        {SLICE("x"), SLICE("-x"), 0},
        {SLICE("-x"), SLICE("x"), 1},
        {SLICE("-x"), SLICE("-x"), 1},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_field_errors errors = {0};

        validate(slice, COR_CHECK_UPDATE, rows[i].now, rows[i].before, &errors);
        assert_int_equal(errors.error, 0);
        assert_int_equal(errors.n, rows[i].errors);
        if (errors.n > 0)
            assert_string_equal(
                errors.v[0].field,
                "spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].values[0]");
        cor_field_errors_deinit(&errors);
    }
}

/* Adds JSON with ' in place of " and with `n` times the letter a in place of each @. */
static void add_json(struct cor_buf *json, const char *text, size_t n)
{
    for (; *text; text++) {
        for (size_t i = 0; *text == '@' && i < n; i++)
            assert_int_equal(cor_buf_addc(json, 'a'), 0);
        if (*text != '@')
            assert_int_equal(cor_buf_addc(json, *text == '\'' ? '"' : *text), 0);
    }
}

/* Texts of 70,000 bytes that differ in their last one, and texts that differ behind a NUL, are
 * different; a long text in a message is cut, and the answer is still a list of what is wrong. */
TEST(validate, long_texts_and_texts_with_nul_are_compared_whole)
{
    static const struct {
        const char *type, *object;
        const char *field; /* where the only error with `body` is; NULL: no error has it */
        const char *body;  /* what it begins with */
    } rows[] = {
        {"core_v1.Node",
         "{'metadata':{'name':'n'},'spec':{'taints':[{'effect':'NoExecute','key':'@b'},{'effect':'NoExecute','key':'@c'},{'effect':'NoExecute','key':'@b'}]}}",
         "metadata.taints[2]", "Duplicate value"},
        {"core_v1.Node",
         "{'metadata':{'name':'n'},'spec':{'taints':[{'effect':'NoExecute','key':'a\\u0000b'},{'effect':'NoExecute','key':'a\\u0000c'}]}}",
         NULL, "Duplicate value"},
        {"core_v1.Service",
         "{'metadata':{'name':'n'},'spec':{'ports':[{'name':'a','port':1,'protocol':'@b'},{'name':'b','port':1,'protocol':'@c'}],'type':'ClusterIP'}}",
         NULL, "Duplicate value"},
        {"core_v1.Service",
         "{'metadata':{'name':'n'},'spec':{'ports':[{'name':'a','port':1,'protocol':'\\u0000b'},{'name':'b','port':1,'protocol':'\\u0000c'}],'type':'ClusterIP'}}",
         NULL, "Duplicate value"},
        {"core_v1.Pod",
         "{'metadata':{'name':'n'},'spec':{'containers':[{'name':'c','ports':[{'containerPort':1,'hostIP':'@b','hostPort':1},{'containerPort':1,'hostIP':'@c','hostPort':1},{'containerPort':1,'hostIP':'@c','hostPort':1}]}]}}",
         "spec.containers[0].ports[2].hostPort", "Duplicate value"},
        {"core_v1.Pod",
         "{'metadata':{'name':'n'},'spec':{'containers':[{'name':'c','resources':{'claims':[{'name':'@','request':'b'},{'name':'@','request':'c'},{'name':'@','request':'b'}]}}]}}",
         "spec.containers[0].resources.claims[2]", "Duplicate value"},
        {"core_v1.Pod",
         "{'metadata':{'name':'n'},'spec':{'topologySpreadConstraints':[{'topologyKey':'@b','whenUnsatisfiable':'x'},{'topologyKey':'@c','whenUnsatisfiable':'x'},{'topologyKey':'@b','whenUnsatisfiable':'x'}]}}",
         "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}", "Duplicate value"},
        {"core_v1.Pod",
         "{'metadata':{'name':'n'},'spec':{'topologySpreadConstraints':[{'maxSkew':1,'minDomains':1,'topologyKey':'t','whenUnsatisfiable':'@'}]}}",
         "spec.topologySpreadConstraints[0].minDomains",
         "Invalid value: 1: can only use minDomains"},
        {"node_v1.RuntimeClass",
         "{'handler':'h','metadata':{'name':'n'},'scheduling':{'tolerations':[{'key':'@b','operator':'Exists'},{'key':'@c','operator':'Exists'},{'key':'@b','operator':'Exists'}]}}",
         "scheduling.tolerations[2]", "Duplicate value"},
        {"batch_v1.Job",
         "{'metadata':{'name':'n'},'spec':{'completionMode':'Indexed','completions':3,'successPolicy':{'rules':[{'succeededIndexes':'@'}]}}}",
         "spec.successPolicy.rules[0].succeededIndexes",
         "Invalid value: error parsing succeededIndexes"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 1u << 20};
        COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errors = {0};
        struct cor_validation validation = {.type = named(rows[i].type),
                                            .operation = COR_CHECK_CREATE,
                                            .meta = {COR_NAME_DNS1123_SUBDOMAIN, false, false}};
        size_t found = 0;

        add_json(&json, rows[i].object, 70000);
        validation.object = cor_buf_str(&json);
        (void)cor_validate(&validation, &errors);
        assert_int_equal(errors.error, 0);
        for (size_t e = 0; e < errors.n; e++) {
            if (!cor_str_starts(cor_strz(errors.v[e].body), cor_strz(rows[i].body)))
                continue;
            found++;
            if (rows[i].field)
                assert_string_equal(errors.v[e].field, rows[i].field);
        }
        if (found != (rows[i].field ? 1 : 0))
            fail_msg("row %zu: %zu errors begin with %s", i, found, rows[i].body);
    }
}

/* Runs one row that no rule file has, at the value to which `member` of the object leads, and
 * returns how many errors it adds. With `in_map` the row runs at the first entry of that value. */
static size_t run_row(const struct cor_validate_row *row, const struct cor_validate_tables *with,
                      const char *object, const char *old, const char *member, bool in_map)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errors = {0};
    struct cor_validate_tables tables = *with;
    struct cor_place root, field, entry;
    char in[JSON_MAX], before[JSON_MAX];
    struct cor_check check;
    struct cor_each each;

    tables.rows = row;
    assert_int_equal(cor_check_init(&check, quoted(object, in),
                                    old ? quoted(old, before) : cor_str(NULL, 0), &errors),
                     0);
    check.tables = &tables;
    root = cor_check_root(named(MAP), &check);
    cor_place_field(&check, &root, member, &field);
    each = cor_each(&check, &field);
    if (in_map)
        assert_true(cor_each_next(&check, &each, &entry));
    cor_validate_run(&check, in_map ? &entry : &field, 0, 1);
    cor_check_deinit(&check);
    assert_int_equal(errors.error, 0);
    return errors.n;
}

/* A key is a text without a node: statements read the key, not the object that is node 0. */
TEST(validate, a_statement_about_a_key_reads_the_key)
{
    static const uint32_t steps[] = {COR_VALIDATE_STEP_OWN_KEY};
    static const int64_t numbers[] = {3};
    uint32_t values[] = {named(MAP)->name};
    struct cor_validate_tables tables = {.steps = steps, .values = values, .numbers = numbers};
    struct cor_validate_row row = {.path = {.depth = 1}, .nvalues = 1, .nnumbers = 1};
    char object[JSON_MAX];

    row.op = COR_VALIDATE_OP_LENGTH;
    assert_int_equal(run_row(&row, &tables, "{'data':{'abc':'long value'}}", NULL, "data", true),
                     0);
    assert_int_equal(run_row(&row, &tables, "{'data':{'abcd':''}}", NULL, "data", true), 1);
    row.op = COR_VALIDATE_OP_ENUM;
    snprintf(object, sizeof(object), "{'data':{'%s':''}}", cor_type_pool + values[0]);
    assert_int_equal(run_row(&row, &tables, object, NULL, "data", true), 0);
    assert_int_equal(run_row(&row, &tables, "{'data':{'':''}}", NULL, "data", true), 1);
    row.op = COR_VALIDATE_OP_REQUIRED;
    assert_int_equal(run_row(&row, &tables, "{'data':{'':'x'}}", NULL, "data", true), 1);
    assert_int_equal(run_row(&row, &tables, "{'data':{'x':''}}", NULL, "data", true), 0);
}

/* `old_bad` at the block itself asks about the old value of the block, not about the new one. */
TEST(validate, old_bad_at_the_block_itself_looks_at_the_old_value)
{
    static const int64_t numbers[] = {1};
    struct cor_validate_tables tables = {.numbers = numbers};
    struct cor_validate_row row = {
        .op = COR_VALIDATE_OP_ITEMS, .nnumbers = 1, .flags = COR_VALIDATE_OLD_BAD};

    assert_int_equal(run_row(&row, &tables, "{'data':{'a':'','b':''}}", NULL, "data", false), 1);
    assert_int_equal(
        run_row(&row, &tables, "{'data':{'a':'','b':''}}", "{'data':{'a':''}}", "data", false), 1);
    assert_int_equal(run_row(&row, &tables, "{'data':{'a':'','b':''}}", "{'data':{'c':'','d':''}}",
                             "data", false),
                     0);
    assert_int_equal(
        run_row(&row, &tables, "{'data':{'a':'','b':''}}", "{'metadata':{}}", "data", false), 1);
}

/* Texts are remembered by the list that they are from: an absent list is one of its own, and so is
 * the list of the old object that has the same node. */
TEST(validate, texts_are_remembered_by_their_list)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errors = {0};
    struct cor_place root, data, old, absent;
    struct cor_check check;
    char text[16][2];

    assert_int_equal(
        cor_check_init(&check, COR_STR("{\"data\":{}}"), COR_STR("{\"data\":{}}"), &errors), 0);
    root = cor_check_root(named(MAP), &check);
    assert_true(cor_place_field(&check, &root, "data", &data));
    assert_false(cor_place_field(&check, &root, "binaryData", &absent));
    old = cor_place_old(&data);
    for (size_t i = 0; i < COR_ARRAY_LEN(text); i++) {
        text[i][0] = (char)('a' + i);
        assert_true(cor_check_see(&check, COR_SEEN_VOLUMES, &absent, cor_str(text[i], 1)));
        assert_false(cor_check_see(&check, COR_SEEN_VOLUMES, &absent, cor_str(text[i], 1)));
    }
    assert_true(cor_check_see(&check, COR_SEEN_VOLUMES, &data, COR_STR("a")));
    assert_true(cor_check_see(&check, COR_SEEN_VOLUMES, &old, COR_STR("a")));
    assert_true(cor_check_see(&check, COR_SEEN_VOLUMES, &data, COR_STR("a")));
    assert_int_equal(errors.error, 0);
    cor_check_deinit(&check);
}

/* Contract validation 1.4.4. The object is in normal form, which has no empty lists and maps; what
 * was sent has them, and lacks defaults. */
TEST(validate, shows_lists_and_maps_that_were_sent_empty)
{
    static const char object[] =
        "{'metadata':{'name':'n','namespace':'ns'},'spec':{'containers':[{'args':['a'],'name':'c'},"
        "{'name':'d'}],'nodeSelector':{'a':'b'}}}";
    static const char old[] =
        "{'metadata':{'name':'n','namespace':'ns'},'spec':{'affinity':{'nodeAffinity':{" REQUIRED
        ":{'nodeSelectorTerms':[{'matchExpressions':[{'key':'a','operator':'Exists'}]}]}}},"
        "'containers':[{'args':['a'],'name':'c'},{'env':[{'name':'e'}],'name':'d'}],'nodeSelector':{"
        "'a':'c'},'schedulingGates':[{'name':'a/b'}]}}";
    static const char sent[] =
        "{'metadata':{'name':'n','namespace':'ns'},'spec':{'affinity':{'nodeAffinity':{" REQUIRED
        ":{'nodeSelectorTerms':[]}}},'containers':[{'args':['a'],'command':[],'name':'c'},{'env':"
        "[],'name':'d'}],'nodeSelector':{'a':'b'}}}";
    char in[JSON_MAX], before[JSON_MAX], whole[JSON_MAX];
    struct cor_validation validation = {.type = named(POD_KIND),
                                        .operation = COR_CHECK_UPDATE,
                                        .object = quoted(object, in),
                                        .old = quoted(old, before),
                                        .sent = quoted(sent, whole),
                                        .meta = {COR_NAME_DNS1123_SUBDOMAIN, true, false}};

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_field_errors errors = {0};
        const char *body;

        (void)cor_validate(&validation, &errors);
        if (test_alloc_failed()) {
            assert_int_equal(errors.error, -COR_ENOMEM);
        } else {
            assert_int_equal(errors.error, 0);
            assert_true(errors.n > 2);
            body = errors.v[errors.n - 1].body;
            assert_string_equal(errors.v[errors.n - 1].field, "spec");
            assert_non_null(strstr(body, "\n+   \"Command\": [],\n"));
            assert_non_null(strstr(body, "\n+   \"Env\": [],\n"));
            assert_non_null(strstr(errors.v[errors.n - 2].body, "Invalid value: []: no additions"));
        }
        cor_field_errors_deinit(&errors);
    }
}

/* A long text with an escape, each part of which is a mistake: it is read once, and what follows
 * the last error that an answer has room for is not looked at. */
TEST(validate, many_mistakes_in_a_long_text_cost_no_more_than_few)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 1u << 20};
    struct cor_field_errors errors = {0};
    struct cor_validation validation = {.type = named(POD_KIND),
                                        .operation = COR_CHECK_CREATE,
                                        .meta = {COR_NAME_DNS1123_SUBDOMAIN, true, false}};

    assert_int_equal(cor_buf_addz(&json, "{\"metadata\":{\"name\":\"n\",\"namespace\":\"ns\"},"
                                         "\"spec\":{\"volumes\":[{\"name\":\"v\",\"quobyte\":{"
                                         "\"registry\":\"\\\""),
                     0);
    for (size_t i = 0; i < 300000; i++)
        assert_int_equal(cor_buf_addc(&json, ','), 0);
    assert_int_equal(cor_buf_addz(&json, "\",\"volume\":\"x\"}}]}}"), 0);
    validation.object = cor_buf_str(&json);
    (void)cor_validate(&validation, &errors);
    assert_int_equal(errors.error, 0);
    assert_int_equal(errors.n, COR_STATUS_CAUSES_MAX);
    cor_field_errors_deinit(&errors);
}

/* Lists whose names the hooks remember, and updates that compare parts of the old object. */
TEST(validate, finds_all_or_fails_without_memory)
{
    static const struct row rows[] = {
        {MAP, COR_CHECK_CREATE,
         "{'data':{'..':'','a\\nb':''},'binaryData':{'..':''},'metadata':{'name':'N'}}", NULL, ""},
        {"admissionregistration_v1.ValidatingWebhookConfiguration", COR_CHECK_UPDATE,
         WEBHOOKS(WEBHOOK("'-'", "a", BAD_SELECTOR, "Few") "," WEBHOOK("", "a", "", "")),
         WEBHOOKS(WEBHOOK("'v2'", "b", BAD_SELECTOR, "Some")), ""},
        {"apiextensions_v1.CustomResourceDefinition", COR_CHECK_UPDATE,
         "{'metadata':{'name':'N'},'spec':{'conversion':{'strategy':'Webhook','webhook':{"
         "'conversionReviewVersions':['v9','v9']}},'group':'x.k8s.io','names':{'kind':'A_',"
         "'listKind':'A_','plural':'A_'},'preserveUnknownFields':true,'versions':[{'name':'\\n',"
         "'schema':{'openAPIV3Schema':{'not':{'type':'x'},'properties':{'a':{'items':{'properties':"
         "{'k':{'type':'object'}},'type':'object'},'type':'array','x-kubernetes-list-map-keys':"
         "['k','k','l'],'x-kubernetes-list-type':'map'},'metadata':{'default':{},'title':'t'}},"
         "'type':'object'}},'selectableFields':[{'jsonPath':'a'},{'jsonPath':'.a'},{'jsonPath':"
         "'.a'}],'storage':true},{'name':'\\n','schema':{'openAPIV3Schema':{'$schema':'x','type':"
         "'object'}},'storage':true}]},'status':{'storedVersions':['v1','\\n']}}",
         "{'metadata':{'name':'N'},'spec':{'group':'x.k8s.io','names':{'kind':'B','plural':'b'},"
         "'versions':[{'name':'v1','schema':{'openAPIV3Schema':{}}}]},'status':{'conditions':[{"
         "'status':'True','type':'Established'}]}}",
         ""},
        {"storage_v1.StorageClass", COR_CHECK_CREATE,
         "{'allowedTopologies':[{'matchLabelExpressions':[{'key':'a\\tb','values':['c','c']}]},"
         "{'matchLabelExpressions':[{'key':'a\\tb','values':['c']}]},{}],'metadata':{'name':'N'},"
         "'provisioner':'A b'}",
         NULL, ""},
        {"storage_v1.CSIDriver", COR_CHECK_CREATE,
         "{'metadata':{'name':'N'},'spec':{'tokenRequests':[{'audience':'a'},{'audience':'a'}],"
         "'volumeLifecycleModes':['x']}}",
         NULL, ""},
        {"storage_v1.CSINode", COR_CHECK_UPDATE,
         "{'metadata':{'name':'N'},'spec':{'drivers':[{'name':'d','nodeID':'m','topologyKeys':"
         "['','']},{'name':'d','nodeID':''}]}}",
         "{'metadata':{'name':'N'},'spec':{'drivers':[{'name':'d','nodeID':'n'}]}}", ""},
        {"core_v1.PersistentVolume", COR_CHECK_UPDATE,
         "{'metadata':{'name':'N'},'spec':{'capacity':{'storage':'-1'},'hostPath':{'path':'/a'},"
         "'iscsi':{'initiatorName':'x'},'nodeAffinity':{'required':{'nodeSelectorTerms':[{"
         "'matchExpressions':[{'key':'b','operator':'Exists'}]}]}}}}",
         "{'metadata':{'name':'N'},'spec':{'hostPath':{'path':'/b'},'nodeAffinity':{'required':{"
         "'nodeSelectorTerms':[{'matchExpressions':[{'key':'a','operator':'Exists'}]}]}}}}",
         ""},
        {"core_v1.PersistentVolumeClaim", COR_CHECK_UPDATE,
         "{'metadata':{'name':'N'},'spec':{'dataSource':{'kind':'A','name':''},'dataSourceRef':{"
         "'kind':'B','name':''},'resources':{'requests':{'storage':'1'}}}}",
         "{'metadata':{'annotations':{'volume.beta.kubernetes.io/storage-class':'a'},'name':'N'},"
         "'spec':{'resources':{'requests':{'storage':'2'}}},'status':{'capacity':{'storage':'2'}}}",
         ""},
        {POD_KIND, COR_CHECK_CREATE,
         "{'metadata':{'name':'N'},'spec':{'volumes':[{'name':'a','ephemeral':{"
         "'volumeClaimTemplate':{'metadata':{'name':'m'},'spec':{}}}},{'name':'b',"
         "'persistentVolumeClaim':{'claimName':'N-a'}},{'name':'c','projected':{'sources':[{"
         "'secret':{'items':[{'key':'k','path':'p'},{'key':'k','path':'p'}],'name':'s'}},{"
         "'serviceAccountToken':{'path':'../t'}}]}},{'name':'c','emptyDir':{},'secret':{}}]}}",
         NULL, ""},
        {POD_KIND, COR_CHECK_UPDATE,
         "{'metadata':{'annotations':{'kubernetes.io/config.mirror':'y'},'name':'n','namespace':"
         "'ns'},'spec':{'affinity':{'nodeAffinity':{" REQUIRED ":{'nodeSelectorTerms':[{"
         "'matchExpressions':[{'key':'b','operator':'Exists'}]}]}}},'containers':[{'image':'',"
         "'name':'c'}],'hostname':'h','nodeSelector':{'a':'c'},'schedulingGates':[{'name':'c/d'}],"
         "'tolerations':[{'key':'x\\ty','operator':'Exists'}]}}",
         "{'metadata':{'annotations':{'kubernetes.io/config.mirror':'x'},'name':'n','namespace':"
         "'ns'},'spec':{'affinity':{'nodeAffinity':{" REQUIRED ":{'nodeSelectorTerms':[{"
         "'matchExpressions':[{'key':'a','operator':'Exists'}]}]}}},'containers':[{'image':'i',"
         "'name':'c'}],'nodeSelector':{'a':'b'},'schedulingGates':[{'name':'a/b'}],"
         "'tolerations':[{'key':'x','operator':'Exists'}]}}",
         ""},
        {POD_KIND, COR_CHECK_EPHEMERAL_CONTAINERS,
         "{'metadata':{'name':'n','namespace':'ns'},'spec':{'ephemeralContainers':[{'image':'j',"
         "'name':'e'}]}}",
         "{'metadata':{'name':'n','namespace':'ns'},'spec':{'ephemeralContainers':[{'image':'i',"
         "'name':'e'},{'image':'i','name':'f'}]}}",
         ""},
        {POD_KIND, COR_CHECK_RESIZE,
         "{'metadata':{'name':'n','namespace':'ns'},'spec':{'containers':[{'image':'i','name':'c',"
         "'resources':{'requests':{'ephemeral-storage':'2'}}}]}}",
         "{'metadata':{'name':'n','namespace':'ns'},'spec':{'containers':[{'image':'i','name':'c',"
         "'resources':{'requests':{'cpu':'1','ephemeral-storage':'1'}}}]}}",
         ""},
        {POD_KIND, COR_CHECK_STATUS,
         "{'metadata':{'name':'n','namespace':'ns'},'spec':{'initContainers':[{'name':'d',"
         "'restartPolicy':'Always'}],'restartPolicy':'Never'},'status':{'containerStatuses':[{"
         "'name':'c\\td','state':{}}],'initContainerStatuses':[{'name':'d','state':{}}],'podIPs':[{"
         "'ip':'x'},{'ip':'1.2.3.4'}],'resourceClaimStatuses':[{'name':'a','resourceClaimName':"
         "'B'},{'name':'a'}]}}",
         "{'metadata':{'name':'n','namespace':'ns'},'spec':{'initContainers':[{'name':'d',"
         "'restartPolicy':'Always'}],'restartPolicy':'Never'},'status':{'containerStatuses':[{"
         "'name':'c\\td','state':{'terminated':{'exitCode':0}}}],'initContainerStatuses':[{'name':"
         "'d','state':{'terminated':{'exitCode':0}}}]}}",
         ""},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        const struct row *row = &rows[i];
        struct cor_field_errors errors = {0};
        size_t all;

        validate(row->type, row->operation, row->object, row->old, &errors);
        all = errors.n;
        assert_true(all > 3);
        cor_field_errors_deinit(&errors);
        FOR_EACH_FAILED_ALLOC(n) {
            validate(row->type, row->operation, row->object, row->old, &errors);
            if (errors.error == 0)
                assert_int_equal(errors.n, all);
            else
                assert_int_equal(errors.error, -COR_ENOMEM);
            cor_field_errors_deinit(&errors);
        }
    }
}
