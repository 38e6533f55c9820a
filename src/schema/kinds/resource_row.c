/* The built-in resources of Kubernetes 1.34 that are served by default: the GA versions. One row
 * each; what a row leaves out is the common case. */
#include "schema/kinds/resource_row.h"

#include <assert.h>

#include "base/cleanup.h"
#include "schema/kinds/custom_row.h"

#define GET_PATCH_UPDATE                                                                           \
    (COR_API_VERB_BIT(GET) | COR_API_VERB_BIT(PATCH) | COR_API_VERB_BIT(UPDATE))

#define FIELDS(name, gvk, ...)                                                                     \
    static const struct cor_field_label name##_v[] = {__VA_ARGS__};                                \
    static const struct cor_field_labels name = {name##_v, COR_ARRAY_LEN(name##_v), gvk, NULL}

#define METADATA                                                                                   \
    {.label = "metadata.name"},                                                                    \
    {                                                                                              \
        .label = "metadata.namespace"                                                              \
    }

FIELDS(pod_fields, NULL, METADATA, {.label = "spec.nodeName"},
       {.label = "spec.host", .field = "spec.nodeName"}, {.label = "spec.restartPolicy"},
       {.label = "spec.schedulerName"}, {.label = "spec.serviceAccountName"},
       {.label = "spec.hostNetwork", .kind = COR_FIELD_KIND_BOOL}, {.label = "status.phase"},
       {.label = "status.podIP", .path = "status.podIPs[0].ip"},
       {.label = "status.podIPs", .path = "status.podIPs[0].none"},
       {.label = "status.nominatedNodeName"});
FIELDS(node_fields, NULL, {.label = "metadata.name"},
       {.label = "spec.unschedulable", .kind = COR_FIELD_KIND_BOOL});
FIELDS(namespace_fields, NULL, {.label = "metadata.name"}, {.label = "status.phase"});
FIELDS(secret_fields, NULL, METADATA, {.label = "type"});
FIELDS(service_fields, NULL, METADATA, {.label = "spec.clusterIP"}, {.label = "spec.type"});
FIELDS(rc_fields, NULL, METADATA, {.label = "status.replicas", .kind = COR_FIELD_KIND_INT});
static const struct cor_field_label job_fields_v[] = {
    METADATA,
    {.label = "status.successful", .path = "status.succeeded", .kind = COR_FIELD_KIND_INT}};
static const struct cor_field_labels job_fields = {job_fields_v, COR_ARRAY_LEN(job_fields_v), NULL,
                                                   "Job"};
FIELDS(event_fields, NULL, METADATA, {.label = "involvedObject.kind"},
       {.label = "involvedObject.namespace"}, {.label = "involvedObject.name"},
       {.label = "involvedObject.uid"}, {.label = "involvedObject.apiVersion"},
       {.label = "involvedObject.resourceVersion"}, {.label = "involvedObject.fieldPath"},
       {.label = "reason"}, {.label = "reportingComponent"},
       {.label = "source", .path = "source.component", .otherwise = "reportingComponent"},
       {.label = "type"});
FIELDS(new_event_fields, NULL, METADATA,
       {.label = "regarding.kind", .field = "involvedObject.kind"},
       {.label = "regarding.namespace", .field = "involvedObject.namespace"},
       {.label = "regarding.name", .field = "involvedObject.name"},
       {.label = "regarding.uid", .field = "involvedObject.uid"},
       {.label = "regarding.apiVersion", .field = "involvedObject.apiVersion"},
       {.label = "regarding.resourceVersion", .field = "involvedObject.resourceVersion"},
       {.label = "regarding.fieldPath", .field = "involvedObject.fieldPath"}, {.label = "reason"},
       {.label = "reportingController", .field = "reportingComponent"}, {.label = "type"});
FIELDS(csr_fields, NULL, {.label = "metadata.name"}, {.label = "spec.signerName"});
FIELDS(slice_fields, "resource.k8s.io/v1, Kind=ResourceSlice", {.label = "metadata.name"},
       {.label = "spec.nodeName"}, {.label = "spec.driver"});

/* What watches and lists are indexed by: the fields that watches of upstream's are. */
static const char *const by_name[] = {"metadata.name", NULL};
static const char *const by_node[] = {"spec.nodeName", NULL};

/* What kube-apiserver itself would do with these objects, and this server does not yet. */
#define NO_WEBHOOKS "webhooks are not called"
#define NO_POLICIES "admission policies are not evaluated"
#define NO_RBAC     "roles are not evaluated"
#define NO_QUOTA    "quotas are not enforced"
#define NO_LIMITS   "limits are not enforced"

#define NAMES(g, v, k, p, s)                                                                       \
    .group = COR_STR(g), .version = COR_STR(v), .kind = COR_STR(k), .plural = COR_STR(p),          \
    .singular = COR_STR(s), .list_kind = COR_STR(k "List"),                                        \
    .api_version = {&g "/" v[sizeof(g) == 1], sizeof(g "/" v) - 1 - (sizeof(g) == 1)}
#define SUBS(v) .subresources = (v), .nsubresources = COR_ARRAY_LEN(v)
/* kube-apiserver 1.34 keeps the kind in this version, which has the same fields. */
#define KEPT_SAME(v) .kept_as = COR_STR(v), .from_kept = cor_convert_version_alone

/* Kinds that only subresources speak of. */
static const struct cor_resource_row binding_type = {
    NAMES("", "v1", "Binding", "bindings", "binding"), .action = COR_ACTION_BINDING};
static const struct cor_resource_row eviction_type = {
    NAMES("policy", "v1", "Eviction", "evictions", "eviction"), .action = COR_ACTION_EVICTION};
static const struct cor_resource_row scale_type = {
    NAMES("autoscaling", "v1", "Scale", "scales", "scale")};

static const struct cor_api_subresource namespace_subs[] = {
    {.name = "finalize",
     .part = COR_PART_FINALIZERS,
     .verbs = COR_API_VERB_BIT(UPDATE),
     .is_served = true},
    {.name = "status", .verbs = GET_PATCH_UPDATE, .part = COR_PART_STATUS, .is_served = true},
};
static const struct cor_api_subresource node_subs[] = {
    {.name = "proxy",
     .verbs = COR_API_VERB_BIT(CREATE) | COR_API_VERB_BIT(DELETE) | COR_API_VERB_BIT(GET) |
              COR_API_VERB_BIT(PATCH) | COR_API_VERB_BIT(UPDATE),
     .kind = "NodeProxyOptions",
     .connect = COR_CONNECT_NODE_PROXY,
     .takes_path = true,
     .is_served = true},
    {.name = "status", .verbs = GET_PATCH_UPDATE, .part = COR_PART_STATUS, .is_served = true},
};
static const struct cor_api_subresource status_only[] = {
    {.name = "status", .verbs = GET_PATCH_UPDATE, .part = COR_PART_STATUS, .is_served = true},
};
static const struct cor_api_subresource pod_subs[] = {
    {.name = "attach",
     .verbs = COR_API_VERB_BIT(CREATE) | COR_API_VERB_BIT(GET),
     .kind = "PodAttachOptions",
     .connect = COR_CONNECT_CONTAINER,
     .is_served = true},
    {.name = "binding",
     .verbs = COR_API_VERB_BIT(CREATE),
     .kind = "Binding",
     .type = &binding_type,
     .is_served = true},
    {.name = "ephemeralcontainers",
     .part = COR_PART_EPHEMERAL_CONTAINERS,
     .verbs = GET_PATCH_UPDATE,
     .is_served = true},
    {.name = "eviction",
     .verbs = COR_API_VERB_BIT(CREATE),
     .group = "policy",
     .version = "v1",
     .kind = "Eviction",
     .type = &eviction_type,
     .is_served = true},
    {.name = "exec",
     .verbs = COR_API_VERB_BIT(CREATE) | COR_API_VERB_BIT(GET),
     .kind = "PodExecOptions",
     .connect = COR_CONNECT_CONTAINER,
     .is_served = true},
    {.name = "log",
     .verbs = COR_API_VERB_BIT(GET),
     .connect = COR_CONNECT_LOG,
     .options = "PodLogOptions",
     .is_served = true},
    {.name = "portforward",
     .verbs = COR_API_VERB_BIT(CREATE) | COR_API_VERB_BIT(GET),
     .kind = "PodPortForwardOptions",
     .connect = COR_CONNECT_POD,
     .is_served = true},
    {.name = "proxy",
     .verbs = COR_API_VERB_BIT(CREATE) | COR_API_VERB_BIT(DELETE) | COR_API_VERB_BIT(GET) |
              COR_API_VERB_BIT(PATCH) | COR_API_VERB_BIT(UPDATE),
     .kind = "PodProxyOptions",
     .connect = COR_CONNECT_POD_PROXY,
     .takes_path = true,
     .is_served = true},
    {.name = "resize", .part = COR_PART_RESOURCES, .verbs = GET_PATCH_UPDATE, .is_served = true},
    {.name = "status", .verbs = GET_PATCH_UPDATE, .part = COR_PART_STATUS, .is_served = true},
};
static const struct cor_api_subresource scalable_subs[] = {
    {.name = "scale",
     .part = COR_PART_SCALE,
     .verbs = GET_PATCH_UPDATE,
     .group = "autoscaling",
     .version = "v1",
     .kind = "Scale",
     .type = &scale_type,
     .conversion = &cor_scale_conversion,
     .is_served = true},
    {.name = "status", .verbs = GET_PATCH_UPDATE, .part = COR_PART_STATUS, .is_served = true},
};
static const struct cor_api_subresource serviceaccount_subs[] = {
    {.name = "token",
     .verbs = COR_API_VERB_BIT(CREATE),
     .group = "authentication.k8s.io",
     .version = "v1",
     .kind = "TokenRequest"},
};
static const struct cor_api_subresource service_subs[] = {
    {.name = "proxy",
     .verbs = COR_API_VERB_BIT(CREATE) | COR_API_VERB_BIT(DELETE) | COR_API_VERB_BIT(GET) |
              COR_API_VERB_BIT(PATCH) | COR_API_VERB_BIT(UPDATE),
     .kind = "ServiceProxyOptions",
     .connect = COR_CONNECT_SERVICE_PROXY,
     .takes_path = true,
     .is_served = true},
    {.name = "status", .verbs = GET_PATCH_UPDATE, .part = COR_PART_STATUS, .is_served = true},
};
static const struct cor_api_subresource certificatesigningrequest_subs[] = {
    {.name = "approval", .part = COR_PART_APPROVAL, .verbs = GET_PATCH_UPDATE, .is_served = true},
    {.name = "status", .verbs = GET_PATCH_UPDATE, .part = COR_PART_STATUS, .is_served = true},
};

static const struct cor_data_limit configmap_data = {
    .text = "data", .base64 = "binaryData", .path = "[]"};
/* A Secret's stringData replaces values of its data. */
static const struct cor_data_limit secret_data = {
    .text = "stringData", .base64 = "data", .text_replaces = true, .path = "data"};

#define JOBS_ORPHAN                                                                                \
    "child pods are preserved by default when jobs are deleted; set "                              \
    "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress "     \
    "this warning"

static const struct cor_resource_row builtins[] = {
    /* v1 */
    {NAMES("", "v1", "Binding", "bindings", "binding"), .action = COR_ACTION_BINDING,
     .flags = COR_API_NAMESPACED | COR_API_VIRTUAL, .verbs = COR_API_VERB_BIT(CREATE)},
    {NAMES("", "v1", "ComponentStatus", "componentstatuses", "componentstatus"),
     .deprecation = "v1 ComponentStatus is deprecated in v1.19+",
     .action = COR_ACTION_COMPONENT_STATUS, .flags = COR_API_VIRTUAL,
     .verbs = COR_API_VERB_BIT(GET) | COR_API_VERB_BIT(LIST), .short_names = {"cs"}},
    {NAMES("", "v1", "ConfigMap", "configmaps", "configmap"), .data_limit = &configmap_data,
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL, .verbs = COR_API_VERBS_ALL,
     .short_names = {"cm"}, .hash = "qFsyl6wFWjQ=", .trigger_fields = by_name},
    {NAMES("", "v1", "Endpoints", "endpoints", "endpoints"), .role = COR_ROLE_ENDPOINTS,
     .deprecation = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL | COR_API_CREATE_ON_UPDATE,
     .verbs = COR_API_VERBS_ALL, .short_names = {"ep"}, .hash = "fWeeMqaN/OA="},
    {NAMES("", "v1", "Event", "events", "event"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL | COR_API_CREATE_ON_UPDATE |
              COR_API_NO_GC | COR_API_TTL | COR_API_NO_CACHE,
     .verbs = COR_API_VERBS_ALL, .short_names = {"ev"},
     .hash = "r2yiGXH7wu8=", .name_rule = COR_NAME_PATH_SEGMENT, .field_labels = &event_fields},
    {NAMES("", "v1", "LimitRange", "limitranges", "limitrange"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL | COR_API_CREATE_ON_UPDATE,
     .inert = NO_LIMITS, .verbs = COR_API_VERBS_ALL, .short_names = {"limits"},
     .hash = "EBKMFVe6cwo="},
    {NAMES("", "v1", "Namespace", "namespaces", "namespace"), .role = COR_ROLE_NAMESPACES,
     .flags = COR_API_UNCONDITIONAL | COR_API_RETURN_DELETED,
     .verbs = COR_API_VERBS_ALL & ~COR_API_VERB_BIT(DELETECOLLECTION), .short_names = {"ns"},
     .hash = "Q3oi5N2YM8M=", .name_rule = COR_NAME_DNS1123_LABEL, .field_labels = &namespace_fields,
     SUBS(namespace_subs)},
    {NAMES("", "v1", "Node", "nodes", "node"), .role = COR_ROLE_NODES,
     .flags = COR_API_UNCONDITIONAL, .verbs = COR_API_VERBS_ALL, .short_names = {"no"},
     .hash = "XwShjMxG9Fs=", .field_labels = &node_fields, .trigger_fields = by_name,
     SUBS(node_subs)},
    {NAMES("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "persistentvolumeclaim"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL | COR_API_RETURN_DELETED,
     .verbs = COR_API_VERBS_ALL, .short_names = {"pvc"},
     .in_use_finalizer = "kubernetes.io/pvc-protection", .hash = "QWTyNDq0dC4=", SUBS(status_only)},
    {NAMES("", "v1", "PersistentVolume", "persistentvolumes", "persistentvolume"),
     .flags = COR_API_UNCONDITIONAL | COR_API_RETURN_DELETED, .verbs = COR_API_VERBS_ALL,
     .short_names = {"pv"}, .in_use_finalizer = "kubernetes.io/pv-protection",
     .hash = "HN/zwEC+JgM=", SUBS(status_only)},
    {NAMES("", "v1", "Pod", "pods", "pod"), .role = COR_ROLE_PODS,
     .flags =
         COR_API_NAMESPACED | COR_API_UNCONDITIONAL | COR_API_RETURN_DELETED | COR_API_GRACEFUL,
     .verbs = COR_API_VERBS_ALL, .short_names = {"po"}, .category = "all", .hash = "xPOwRZ+Yhw8=",
     .field_labels = &pod_fields, .trigger_fields = by_node, SUBS(pod_subs)},
    {NAMES("", "v1", "PodTemplate", "podtemplates", "podtemplate"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL | COR_API_RETURN_DELETED,
     .verbs = COR_API_VERBS_ALL, .hash = "LIXB2x4IFpk="},
    {NAMES("", "v1", "ReplicationController", "replicationcontrollers", "replicationcontroller"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL | COR_API_ORPHAN,
     .verbs = COR_API_VERBS_ALL, .short_names = {"rc"}, .category = "all",
     .hash = "Jond2If31h0=", .field_labels = &rc_fields, SUBS(scalable_subs)},
    {NAMES("", "v1", "ResourceQuota", "resourcequotas", "resourcequota"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL | COR_API_RETURN_DELETED,
     .inert = NO_QUOTA, .verbs = COR_API_VERBS_ALL, .short_names = {"quota"},
     .hash = "8uhSgffRX6w=", SUBS(status_only)},
    {NAMES("", "v1", "Secret", "secrets", "secret"), .data_limit = &secret_data,
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL | COR_API_STRING_DATA,
     .verbs = COR_API_VERBS_ALL, .hash = "S6u1pOWzb84=", .field_labels = &secret_fields,
     .trigger_fields = by_name},
    {NAMES("", "v1", "ServiceAccount", "serviceaccounts", "serviceaccount"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL | COR_API_RETURN_DELETED,
     .verbs = COR_API_VERBS_ALL, .short_names = {"sa"},
     .hash = "pbx9ZvyFpBE=", SUBS(serviceaccount_subs)},
    {NAMES("", "v1", "Service", "services", "service"), .role = COR_ROLE_SERVICES,
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL | COR_API_CREATE_ON_UPDATE |
              COR_API_RETURN_DELETED,
     .verbs = COR_API_VERBS_ALL, .short_names = {"svc"}, .category = "all", .hash = "0/CO1lhkEBI=",
     .name_rule = COR_NAME_DNS1035_LABEL, .field_labels = &service_fields, SUBS(service_subs)},
    /* apiregistration.k8s.io/v1 */
    {NAMES("apiregistration.k8s.io", "v1", "APIService", "apiservices", "apiservice"),
     .flags = COR_API_ANY_FINALIZER, .verbs = COR_API_VERBS_ALL, .category = "api-extensions",
     .hash = "InPBPD7+PqM=", .name_rule = COR_NAME_PATH_SEGMENT, SUBS(status_only)},
    /* apps/v1 */
    {NAMES("apps", "v1", "ControllerRevision", "controllerrevisions", "controllerrevision"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL, .verbs = COR_API_VERBS_ALL,
     .hash = "85nkx63pcBU="},
    {NAMES("apps", "v1", "DaemonSet", "daemonsets", "daemonset"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL, .verbs = COR_API_VERBS_ALL,
     .short_names = {"ds"}, .category = "all", .hash = "dd7pWHUlMKQ=", SUBS(status_only)},
    {NAMES("apps", "v1", "Deployment", "deployments", "deployment"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL, .verbs = COR_API_VERBS_ALL,
     .short_names = {"deploy"}, .category = "all", .hash = "8aSe+NMegvE=", SUBS(scalable_subs)},
    {NAMES("apps", "v1", "ReplicaSet", "replicasets", "replicaset"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL, .verbs = COR_API_VERBS_ALL,
     .short_names = {"rs"}, .category = "all", .hash = "P1RzHs8/mWQ=", SUBS(scalable_subs)},
    {NAMES("apps", "v1", "StatefulSet", "statefulsets", "statefulset"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL, .verbs = COR_API_VERBS_ALL,
     .short_names = {"sts"}, .category = "all",
     .hash = "H+vl74LkKdo=", .name_rule = COR_NAME_DNS1123_LABEL, SUBS(scalable_subs)},
    /* events.k8s.io/v1 */
    {NAMES("events.k8s.io", "v1", "Event", "events", "event"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL | COR_API_CREATE_ON_UPDATE |
              COR_API_NO_GC | COR_API_TTL | COR_API_NO_CACHE,
     .verbs = COR_API_VERBS_ALL, .short_names = {"ev"},
     .hash = "r2yiGXH7wu8=", .field_labels = &new_event_fields, .conversion = &cor_event_conversion,
     .stored_as = COR_STR("v1")},
    /* authentication.k8s.io/v1 */
    {NAMES("authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews",
           "selfsubjectreview"),
     .action = COR_ACTION_SELF_REVIEW, .flags = COR_API_VIRTUAL, .verbs = COR_API_VERB_BIT(CREATE)},
    {NAMES("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", "tokenreview"),
     .action = COR_ACTION_TOKEN_REVIEW, .flags = COR_API_VIRTUAL,
     .verbs = COR_API_VERB_BIT(CREATE)},
    /* authorization.k8s.io/v1 */
    {NAMES("authorization.k8s.io", "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews",
           "localsubjectaccessreview"),
     .action = COR_ACTION_ACCESS_REVIEW, .flags = COR_API_NAMESPACED | COR_API_VIRTUAL,
     .verbs = COR_API_VERB_BIT(CREATE)},
    {NAMES("authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews",
           "selfsubjectaccessreview"),
     .action = COR_ACTION_SELF_ACCESS_REVIEW, .flags = COR_API_VIRTUAL,
     .verbs = COR_API_VERB_BIT(CREATE)},
    {NAMES("authorization.k8s.io", "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews",
           "selfsubjectrulesreview"),
     .action = COR_ACTION_RULES_REVIEW, .flags = COR_API_VIRTUAL,
     .verbs = COR_API_VERB_BIT(CREATE)},
    {NAMES("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews",
           "subjectaccessreview"),
     .action = COR_ACTION_ACCESS_REVIEW, .flags = COR_API_VIRTUAL,
     .verbs = COR_API_VERB_BIT(CREATE)},
    /* autoscaling/v2 */
    {NAMES("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers",
           "horizontalpodautoscaler"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL, .verbs = COR_API_VERBS_ALL,
     .short_names = {"hpa"}, .category = "all", .hash = "qwQve8ut294=", SUBS(status_only)},
    /* autoscaling/v1 */
    {NAMES("autoscaling", "v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers",
           "horizontalpodautoscaler"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL, .verbs = COR_API_VERBS_ALL,
     .short_names = {"hpa"}, .category = "all", .hash = "qwQve8ut294=",
     .conversion = &cor_hpa_conversion, .stored_as = COR_STR("autoscaling/v2"), SUBS(status_only)},
    /* batch/v1 */
    {NAMES("batch", "v1", "CronJob", "cronjobs", "cronjob"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL, .verbs = COR_API_VERBS_ALL,
     .short_names = {"cj"}, .category = "all", .hash = "sd5LIXh4Fjs=", SUBS(status_only)},
    {NAMES("batch", "v1", "Job", "jobs", "job"), .orphan_warning = JOBS_ORPHAN,
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL | COR_API_ORPHAN,
     .verbs = COR_API_VERBS_ALL, .category = "all",
     .hash = "mudhfqk/qZY=", .field_labels = &job_fields, SUBS(status_only)},
    /* certificates.k8s.io/v1 */
    {NAMES("certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests",
           "certificatesigningrequest"),
     .flags = COR_API_UNCONDITIONAL, .verbs = COR_API_VERBS_ALL, .short_names = {"csr"},
     .hash = "95fRKMXA+00=", .name_rule = COR_NAME_PATH_SEGMENT, .field_labels = &csr_fields,
     SUBS(certificatesigningrequest_subs)},
    /* networking.k8s.io/v1 */
    {NAMES("networking.k8s.io", "v1", "IngressClass", "ingressclasses", "ingressclass"),
     .flags = COR_API_UNCONDITIONAL, .verbs = COR_API_VERBS_ALL, .hash = "l/iqIbDgFyQ="},
    {NAMES("networking.k8s.io", "v1", "Ingress", "ingresses", "ingress"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL, .verbs = COR_API_VERBS_ALL,
     .short_names = {"ing"}, .hash = "39NQlfNR+bo=", SUBS(status_only)},
    {NAMES("networking.k8s.io", "v1", "IPAddress", "ipaddresses", "ipaddress"),
     .role = COR_ROLE_ADDRESSES, .name_rule = COR_NAME_PATH_SEGMENT, .flags = COR_API_UNCONDITIONAL,
     .verbs = COR_API_VERBS_ALL, .short_names = {"ip"}, .hash = "3f/plJFChNE="},
    {NAMES("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "networkpolicy"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL, .verbs = COR_API_VERBS_ALL,
     .short_names = {"netpol"}, .hash = "YpfwF18m1G8="},
    {NAMES("networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs", "servicecidr"),
     .role = COR_ROLE_RANGES, .flags = COR_API_UNCONDITIONAL, .verbs = COR_API_VERBS_ALL,
     .hash = "gNLvruQhW2g=", SUBS(status_only)},
    /* policy/v1 */
    {NAMES("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "poddisruptionbudget"),
     .role = COR_ROLE_BUDGETS, .flags = COR_API_NAMESPACED, .verbs = COR_API_VERBS_ALL,
     .short_names = {"pdb"}, .hash = "EVWiDmWqyJw=", SUBS(status_only)},
    /* rbac.authorization.k8s.io/v1 */
    {NAMES("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings",
           "clusterrolebinding"),
     .flags = COR_API_UNCONDITIONAL | COR_API_CREATE_ON_UPDATE, .inert = NO_RBAC,
     .verbs = COR_API_VERBS_ALL, .hash = "48tpQ8gZHFc=", .name_rule = COR_NAME_PATH_SEGMENT},
    {NAMES("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", "clusterrole"),
     .flags = COR_API_UNCONDITIONAL | COR_API_CREATE_ON_UPDATE, .inert = NO_RBAC,
     .verbs = COR_API_VERBS_ALL, .hash = "bYE5ZWDrJ44=", .name_rule = COR_NAME_PATH_SEGMENT},
    {NAMES("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", "rolebinding"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL | COR_API_CREATE_ON_UPDATE,
     .inert = NO_RBAC, .verbs = COR_API_VERBS_ALL,
     .hash = "eGsCzGH6b1g=", .name_rule = COR_NAME_PATH_SEGMENT},
    {NAMES("rbac.authorization.k8s.io", "v1", "Role", "roles", "role"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL | COR_API_CREATE_ON_UPDATE,
     .inert = NO_RBAC, .verbs = COR_API_VERBS_ALL,
     .hash = "7FuwZcIIItM=", .name_rule = COR_NAME_PATH_SEGMENT},
    /* storage.k8s.io/v1 */
    {NAMES("storage.k8s.io", "v1", "CSIDriver", "csidrivers", "csidriver"),
     .flags = COR_API_RETURN_DELETED, .verbs = COR_API_VERBS_ALL, .hash = "hL6j/rwBV5w="},
    {NAMES("storage.k8s.io", "v1", "CSINode", "csinodes", "csinode"),
     .flags = COR_API_RETURN_DELETED, .verbs = COR_API_VERBS_ALL, .hash = "Pe62DkZtjuo="},
    {NAMES("storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities",
           "csistoragecapacity"),
     .flags = COR_API_NAMESPACED, .verbs = COR_API_VERBS_ALL, .hash = "xeVl+2Ly1kE="},
    {NAMES("storage.k8s.io", "v1", "StorageClass", "storageclasses", "storageclass"),
     .flags = COR_API_UNCONDITIONAL | COR_API_RETURN_DELETED, .verbs = COR_API_VERBS_ALL,
     .short_names = {"sc"}, .hash = "K+m6uJwbjGY="},
    {NAMES("storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", "volumeattachment"),
     .flags = COR_API_RETURN_DELETED, .verbs = COR_API_VERBS_ALL,
     .hash = "tJx/ezt6UDU=", SUBS(status_only)},
    {NAMES("storage.k8s.io", "v1", "VolumeAttributesClass", "volumeattributesclasses",
           "volumeattributesclass"),
     .flags = COR_API_UNCONDITIONAL | COR_API_RETURN_DELETED, .verbs = COR_API_VERBS_ALL,
     .short_names = {"vac"}, .in_use_finalizer = "kubernetes.io/vac-protection",
     .hash = "Bl3MtjZ/n/s=", KEPT_SAME("storage.k8s.io/v1beta1")},
    /* admissionregistration.k8s.io/v1 */
    {NAMES("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration",
           "mutatingwebhookconfigurations", "mutatingwebhookconfiguration"),
     .flags = COR_API_ANY_FINALIZER, .inert = NO_WEBHOOKS, .verbs = COR_API_VERBS_ALL,
     .category = "api-extensions", .hash = "Sqi0GUgDaX0="},
    {NAMES("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy",
           "validatingadmissionpolicies", "validatingadmissionpolicy"),
     .flags = COR_API_ANY_FINALIZER, .inert = NO_POLICIES, .verbs = COR_API_VERBS_ALL,
     .category = "api-extensions", .hash = "6OxvlMmQ6is=", SUBS(status_only)},
    {NAMES("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding",
           "validatingadmissionpolicybindings", "validatingadmissionpolicybinding"),
     .flags = COR_API_ANY_FINALIZER, .inert = NO_POLICIES, .verbs = COR_API_VERBS_ALL,
     .category = "api-extensions", .hash = "v9715VZqakg="},
    {NAMES("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration",
           "validatingwebhookconfigurations", "validatingwebhookconfiguration"),
     .flags = COR_API_ANY_FINALIZER, .inert = NO_WEBHOOKS, .verbs = COR_API_VERBS_ALL,
     .category = "api-extensions", .hash = "B0wHjQmsGNk="},
    /* apiextensions.k8s.io/v1 */
    {NAMES("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions",
           "customresourcedefinition"),
     .flags = COR_API_ANY_FINALIZER, .role = COR_ROLE_DEFINITIONS, .verbs = COR_API_VERBS_ALL,
     .short_names = {"crd", "crds"}, .category = "api-extensions",
     .hash = "jfWCUB31mvA=", SUBS(status_only), .kept_as = COR_STR("apiextensions.k8s.io/v1beta1"),
     .from_kept = cor_crd_from_v1beta1},
    /* scheduling.k8s.io/v1 */
    {NAMES("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "priorityclass"),
     .flags = COR_API_UNCONDITIONAL, .verbs = COR_API_VERBS_ALL, .short_names = {"pc"},
     .hash = "1QwjyaZjj3Y="},
    /* coordination.k8s.io/v1 */
    {NAMES("coordination.k8s.io", "v1", "Lease", "leases", "lease"),
     .flags = COR_API_ANY_FINALIZER | COR_API_NAMESPACED | COR_API_CREATE_ON_UPDATE,
     .verbs = COR_API_VERBS_ALL, .hash = "gqkMMb/YqFM="},
    /* node.k8s.io/v1 */
    {NAMES("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", "runtimeclass"),
     .flags = COR_API_ANY_FINALIZER | COR_API_CREATE_ON_UPDATE, .verbs = COR_API_VERBS_ALL,
     .hash = "WQTu1GL3T2Q="},
    /* discovery.k8s.io/v1 */
    {NAMES("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", "endpointslice"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL, .verbs = COR_API_VERBS_ALL,
     .hash = "qgS0xkrxYAI="},
    /* resource.k8s.io/v1 */
    {NAMES("resource.k8s.io", "v1", "DeviceClass", "deviceclasses", "deviceclass"),
     .flags = COR_API_UNCONDITIONAL | COR_API_RETURN_DELETED, .verbs = COR_API_VERBS_ALL,
     .hash = "weQRMT6DeYM=", KEPT_SAME("resource.k8s.io/v1beta2")},
    {NAMES("resource.k8s.io", "v1", "ResourceClaim", "resourceclaims", "resourceclaim"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL | COR_API_RETURN_DELETED,
     .verbs = COR_API_VERBS_ALL, .hash = "EJAWH5WrAYg=", SUBS(status_only),
     KEPT_SAME("resource.k8s.io/v1beta2")},
    {NAMES("resource.k8s.io", "v1", "ResourceClaimTemplate", "resourceclaimtemplates",
           "resourceclaimtemplate"),
     .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL | COR_API_RETURN_DELETED,
     .verbs = COR_API_VERBS_ALL, .hash = "24m0okHrUtk=", KEPT_SAME("resource.k8s.io/v1beta2")},
    {NAMES("resource.k8s.io", "v1", "ResourceSlice", "resourceslices", "resourceslice"),
     .flags = COR_API_UNCONDITIONAL | COR_API_RETURN_DELETED, .verbs = COR_API_VERBS_ALL,
     .hash = "z6Bc9vgk6yE=", .field_labels = &slice_fields, KEPT_SAME("resource.k8s.io/v1beta2")},
    /* flowcontrol.apiserver.k8s.io/v1 */
    {NAMES("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", "flowschemas", "flowschema"),
     .flags = COR_API_UNCONDITIONAL, .verbs = COR_API_VERBS_ALL,
     .hash = "GJVAJZSZBIw=", SUBS(status_only)},
    {NAMES("flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration",
           "prioritylevelconfigurations", "prioritylevelconfiguration"),
     .flags = COR_API_UNCONDITIONAL, .verbs = COR_API_VERBS_ALL,
     .hash = "Kir5PVfvNeI=", SUBS(status_only)},
};

const struct cor_resource_row *cor_api_builtins(size_t *ret_n)
{
    *ret_n = COR_ARRAY_LEN(builtins);
    return builtins;
}

const struct cor_type *cor_row_schema(const struct cor_resource_row *row)
{
    return row->schema ? row->schema : cor_type_of_kind(row->group, row->version, row->kind);
}

size_t cor_row_place(const struct cor_resource_row *row)
{
    if (row->life)
        return row->life->place;
    assert(row >= builtins && row < builtins + COR_ARRAY_LEN(builtins));
    return (size_t)(row - builtins);
}

const struct cor_resource_row *cor_api_builtin(struct cor_str group, struct cor_str version,
                                               struct cor_str plural)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(builtins); i++) {
        const struct cor_resource_row *r = &builtins[i];

        if (cor_str_eq(r->plural, plural) && cor_str_eq(r->group, group) &&
            cor_str_eq(r->version, version))
            return r;
    }
    return NULL;
}

const struct cor_resource_row *cor_api_kept(struct cor_str api_version, struct cor_str kind)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(builtins); i++) {
        if (builtins[i].from_kept && cor_str_eq(builtins[i].kept_as, api_version) &&
            cor_str_eq(builtins[i].kind, kind))
            return &builtins[i];
    }
    return NULL;
}

struct cor_str cor_api_kept_as(struct cor_str api_version, struct cor_str kind)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(builtins); i++) {
        if (cor_str_eq(builtins[i].api_version, api_version) && cor_str_eq(builtins[i].kind, kind))
            return builtins[i].kept_as;
    }
    return COR_STR("");
}

const struct cor_resource_row *cor_api_stored(const struct cor_resource_row *resource)
{
    if (!resource->conversion)
        return resource;
    if (resource->custom)
        return resource->custom->stored;
    for (size_t i = 0; i < COR_ARRAY_LEN(builtins); i++) {
        if (cor_str_eq(builtins[i].plural, resource->plural) &&
            cor_str_eq(builtins[i].api_version, resource->stored_as))
            return &builtins[i];
    }
    return resource;
}

const struct cor_api_subresource *cor_api_subresource(const struct cor_resource_row *resource,
                                                      struct cor_str name)
{
    for (size_t i = 0; i < resource->nsubresources; i++) {
        if (cor_str_eqz(name, resource->subresources[i].name))
            return &resource->subresources[i];
    }
    return NULL;
}

const struct cor_resource_row *cor_api_scale_type(void)
{
    return &scale_type;
}

const struct cor_resource_row *cor_api_of_role(enum cor_api_role role)
{
    size_t i = 0;

    assert(role != COR_ROLE_NONE);
    while (builtins[i].role != role)
        i++;
    return &builtins[i];
}

bool cor_api_has_part(const struct cor_resource_row *resource, enum cor_api_part part)
{
    for (size_t i = 0; i < resource->nsubresources; i++) {
        if (resource->subresources[i].part == part)
            return true;
    }
    return false;
}
