/* The read walk. The words are those that kube-apiserver 1.34.1 answered to these bodies, without
 * the frame around them. */
#include "schema/walk/read.h"

#include <stdio.h>

#include "../rows.h"
#include "base/err.h"
#include "base/mem.h"
#include "schema/walk/restore.h"
#include "json/text/json.h"

struct row {
    const char *type, *body, *words;
};

/* clang-format off */
/* Contract types 2.3.2, 2.3.3, 2.3.4, 2.3.5, 2.3.8, 2.4.1, 2.4.2, 2.4.4, 2.4.6. Without words, the
 * type holds the body. */
static const struct row mistakes[] = {
    {"apps_v1.Deployment", "{\"spec\":{\"replicas\":\"3\"}}",
     "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"},
    {"apps_v1.Deployment", "{\"spec\":{\"replicas\":1.0}}",
     "json: cannot unmarshal number 1.0 into Go struct field DeploymentSpec.spec.replicas of type int32"},
    {"apps_v1.Deployment", "{\"spec\":{\"replicas\":3000000000}}",
     "json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32"},
    {"apps_v1.Deployment", "{\"spec\":{\"replicas\":1e3}}",
     "json: cannot unmarshal number 1e3 into Go struct field DeploymentSpec.spec.replicas of type int32"},
    {"apps_v1.Deployment", "{\"spec\":[]}",
     "json: cannot unmarshal array into Go struct field Deployment.spec of type v1.DeploymentSpec"},
    {"apps_v1.Deployment", "{\"spec\":{\"replicas\":\"x\",\"template\":{\"spec\":{\"containers\":{}}}}}",
     "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"},
    {"apps_v1.Deployment", "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"env\":[{\"name\":1,\"value\":true}]}]}}},\"metadata\":{\"name\":\"a\"}}",
     "json: cannot unmarshal number into Go struct field EnvVar.spec.template.spec.containers.env.name of type string"},
    {"apps_v1.Deployment", "{\"spec\":{\"selector\":\"a\"}}",
     "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.selector of type v1.LabelSelector"},
    {"apps_v1.Deployment", "{\"spec\":{\"strategy\":{\"rollingUpdate\":{\"maxSurge\":1.5}}}}",
     "json: cannot unmarshal number 1.5 into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32"},
    {"apps_v1.Deployment", "{\"spec\":{\"strategy\":{\"rollingUpdate\":{\"maxSurge\":true}}}}",
     "json: cannot unmarshal bool into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32"},
    {"apps_v1.Deployment", "{\"spec\":{\"strategy\":{\"rollingUpdate\":{\"maxSurge\":2147483648}}}}",
     "json: cannot unmarshal number 2147483648 into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32"},
    {"apps_v1.Deployment", "{\"spec\":{\"replicas\":\"x\",\"strategy\":{\"rollingUpdate\":{\"maxUnavailable\":{}}}}}",
     "json: cannot unmarshal object into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxUnavailable of type int32"},
    {"apps_v1.Deployment", "{\"spec\":{\"paused\":\"yes\"}}",
     "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.paused of type bool"},
    {"apps_v1.Deployment", "{\"spec\":{\"paused\":0,\"replicas\":\"x\"}}",
     "json: cannot unmarshal number into Go struct field DeploymentSpec.spec.paused of type bool"},
    {"apps_v1.Deployment", "{\"spec\":{\"selector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":5,\"values\":[1]}]}}}",
     "json: cannot unmarshal number into Go struct field LabelSelectorRequirement.spec.selector.matchExpressions.operator of type v1.LabelSelectorOperator"},
    {"apps_v1.Deployment", "{\"status\":{\"conditions\":[{\"lastUpdateTime\":\"yesterday\"}]}}",
     "parsing time \"yesterday\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"yesterday\" as \"2006\""},
    {"apps_v1.Deployment", "{\"spec\":{\"revisionHistoryLimit\":-3000000000}}",
     "json: cannot unmarshal number -3000000000 into Go struct field DeploymentSpec.spec.revisionHistoryLimit of type int32"},
    {"apps_v1.Deployment", "{\"spec\":{\"progressDeadlineSeconds\":{\"a\":1}}}",
     "json: cannot unmarshal object into Go struct field DeploymentSpec.spec.progressDeadlineSeconds of type int32"},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":1}}",
     "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string"},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":1}}}",
     "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"labels\":[]}}",
     "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string"},
    {"core_v1.ConfigMap", "{\"data\":{\"a\":1}}",
     "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"},
    {"core_v1.ConfigMap", "{\"data\":[]}",
     "json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string"},
    {"core_v1.ConfigMap", "{\"data\":\"x\"}",
     "json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string"},
    {"core_v1.ConfigMap", "{\"binaryData\":{\"a\":\"!\"}}",
     "illegal base64 data at input byte 0"},
    {"core_v1.ConfigMap", "{\"binaryData\":{\"a\":\"YQ=\"}}",
     "illegal base64 data at input byte 3"},
    {"core_v1.ConfigMap", "{\"binaryData\":{\"a\":\"Y\\nQ==\"}}",
     ""},
    {"core_v1.ConfigMap", "{\"binaryData\":{\"a\":[97,98]}}",
     ""},
    {"core_v1.ConfigMap", "{\"binaryData\":{\"a\":[97,300]}}",
     "json: cannot unmarshal number 300 into Go struct field ConfigMap.binaryData of type uint8"},
    {"core_v1.ConfigMap", "{\"binaryData\":{\"a\":[\"x\"]}}",
     "json: cannot unmarshal string into Go struct field ConfigMap.binaryData of type uint8"},
    {"core_v1.ConfigMap", "{\"binaryData\":{\"a\":{}}}",
     "json: cannot unmarshal object into Go struct field ConfigMap.binaryData of type []uint8"},
    {"core_v1.ConfigMap", "{\"binaryData\":{\"a\":\"YQ==YQ==\"}}",
     "illegal base64 data at input byte 4"},
    {"core_v1.ConfigMap", "{\"immutable\":\"true\"}",
     "json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool"},
    {"core_v1.ConfigMap", "{\"immutable\":1}",
     "json: cannot unmarshal number into Go struct field ConfigMap.immutable of type bool"},
    {"core_v1.ConfigMap", "{\"metadata\":[]}",
     "json: cannot unmarshal array into Go struct field ConfigMap.metadata of type v1.ObjectMeta"},
    {"core_v1.ConfigMap", "{\"metadata\":\"a\"}",
     "json: cannot unmarshal string into Go struct field ConfigMap.metadata of type v1.ObjectMeta"},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"creationTimestamp\":\"2024-01-01\"}}",
     "parsing time \"2024-01-01\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"T\""},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"creationTimestamp\":\"2024-13-01T00:00:00Z\"}}",
     "parsing time \"2024-13-01T00:00:00Z\": month out of range"},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"creationTimestamp\":\"2024-02-30T00:00:00Z\"}}",
     "parsing time \"2024-02-30T00:00:00Z\": day out of range"},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"creationTimestamp\":5}}",
     "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string"},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"creationTimestamp\":\"\"}}",
     "parsing time \"\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"2006\""},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"creationTimestamp\":\"2024-01-01T00:00:00Zoo\"}}",
     "parsing time \"2024-01-01T00:00:00Zoo\": extra text: \"oo\""},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"creationTimestamp\":\"2024-01-01t00:00:00z\"}}",
     "parsing time \"2024-01-01t00:00:00z\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"t00:00:00z\" as \"T\""},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"creationTimestamp\":\"\\\"\\u00e9\"}}",
     "parsing time \"\\\"\\xc3\\xa9\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\\\"\\xc3\\xa9\" as \"2006\""},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"ownerReferences\":[{\"controller\":\"x\"}]}}",
     "json: cannot unmarshal string into Go struct field OwnerReference.metadata.ownerReferences.controller of type bool"},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"ownerReferences\":[7]}}",
     "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.ownerReferences of type v1.OwnerReference"},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"ownerReferences\":{}}}",
     "json: cannot unmarshal object into Go struct field ObjectMeta.metadata.ownerReferences of type []v1.OwnerReference"},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"finalizers\":[1]}}",
     "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.finalizers of type string"},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"finalizers\":\"x\"}}",
     "json: cannot unmarshal string into Go struct field ObjectMeta.metadata.finalizers of type []string"},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"generation\":1.5}}",
     "json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.metadata.generation of type int64"},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"generation\":9223372036854775808}}",
     "json: cannot unmarshal number 9223372036854775808 into Go struct field ObjectMeta.metadata.generation of type int64"},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"uid\":5}}",
     "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.uid of type types.UID"},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"managedFields\":[{\"operation\":1}]}}",
     "json: cannot unmarshal number into Go struct field ManagedFieldsEntry.metadata.managedFields.operation of type v1.ManagedFieldsOperationType"},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"managedFields\":[{\"time\":\"x\"}]}}",
     "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\""},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":1},\"creationTimestamp\":\"x\"}}",
     "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\""},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"generation\":\"x\",\"labels\":{\"x\":1}}}",
     "json: cannot unmarshal string into Go struct field ObjectMeta.metadata.generation of type int64"},
    {"core_v1.ConfigMap", "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"annotations\":{\"a\":{\"b\":[1]}}}}",
     "json: cannot unmarshal object into Go struct field ObjectMeta.metadata.annotations of type string"},
    {"core_v1.ConfigMap", "{\"metadata\":{\"deletionGracePeriodSeconds\":true}}",
     "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.deletionGracePeriodSeconds of type int64"},
    {"core_v1.Secret", "{\"data\":{\"a\":\"%%\"}}",
     "illegal base64 data at input byte 0"},
    {"core_v1.Secret", "{\"data\":{\"a\":5}}",
     "json: cannot unmarshal number into Go struct field Secret.data of type []uint8"},
    {"core_v1.Secret", "{\"data\":{\"a\":\"eA\"}}",
     "illegal base64 data at input byte 0"},
    {"core_v1.Secret", "{\"stringData\":{\"a\":5}}",
     "json: cannot unmarshal number into Go struct field Secret.stringData of type string"},
    {"core_v1.Secret", "{\"type\":5}",
     "json: cannot unmarshal number into Go struct field Secret.type of type v1.SecretType"},
    {"core_v1.Secret", "{\"data\":{\"a\":\"x\"},\"type\":7}",
     "illegal base64 data at input byte 0"},
    {"core_v1.Secret", "{\"data\":{\"a\":\"=x\"}}",
     "illegal base64 data at input byte 0"},
    {"core_v1.Pod", "{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"abc\"}}}]}}",
     "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
    {"core_v1.Pod", "{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"\"}}}]}}",
     "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
    {"core_v1.Pod", "{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"1Kk\"}}}]}}",
     "unable to parse quantity's suffix"},
    {"core_v1.Pod", "{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":true}}}]}}",
     "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
    {"core_v1.Pod", "{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":{}}}}]}}",
     "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
    {"core_v1.Pod", "{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"1e\"}}}]}}",
     "unable to parse quantity's suffix"},
    {"core_v1.Pod", "{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"1.2.3\"}}}]}}",
     "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
    {"core_v1.Pod", "{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"\\u0031\"}}}]}}",
     "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
    {"core_v1.Pod", "{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\".e-20\"}}}]}}",
     "unable to parse numeric part of quantity"},
    {"core_v1.Pod", "{\"spec\":{\"containers\":[{\"resources\":{\"limits\":[\"cpu\"]}}]}}",
     "json: cannot unmarshal array into Go struct field ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList"},
    {"core_v1.Pod", "{\"spec\":{\"containers\":{}}}",
     "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container"},
    {"core_v1.Pod", "{\"spec\":{\"containers\":[\"c\"]}}",
     "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type v1.Container"},
    {"core_v1.Pod", "{\"spec\":{\"containers\":[{\"ports\":[{\"containerPort\":\"80\"}]}]}}",
     "json: cannot unmarshal string into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32"},
    {"core_v1.Pod", "{\"spec\":{\"containers\":[{\"ports\":[{\"protocol\":6}]}]}}",
     "json: cannot unmarshal number into Go struct field ContainerPort.spec.containers.ports.protocol of type v1.Protocol"},
    {"core_v1.Pod", "{\"spec\":{\"containers\":[{\"livenessProbe\":{\"httpGet\":{\"port\":true}}}]}}",
     "json: cannot unmarshal bool into Go struct field HTTPGetAction.spec.containers.livenessProbe.httpGet.port of type int32"},
    {"core_v1.Pod", "{\"spec\":{\"volumes\":[{\"name\":\"v\",\"configMap\":\"x\"}]}}",
     "json: cannot unmarshal string into Go struct field Volume.spec.volumes.configMap of type v1.ConfigMapVolumeSource"},
    {"core_v1.Pod", "{\"spec\":{\"volumes\":[{\"configMap\":{\"items\":[{\"mode\":\"0644\"}]}}]}}",
     "json: cannot unmarshal string into Go struct field KeyToPath.spec.volumes.configMap.items.mode of type int32"},
    {"core_v1.Pod", "{\"spec\":{\"volumes\":[{\"emptyDir\":{\"sizeLimit\":\"x\"}}]}}",
     "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
    {"core_v1.Pod", "{\"spec\":{\"nodeSelector\":{\"a\":true}}}",
     "json: cannot unmarshal bool into Go struct field PodSpec.spec.nodeSelector of type string"},
    {"core_v1.Pod", "{\"spec\":{\"tolerations\":[{\"tolerationSeconds\":\"5\"}]}}",
     "json: cannot unmarshal string into Go struct field Toleration.spec.tolerations.tolerationSeconds of type int64"},
    {"core_v1.Pod", "{\"spec\":{\"terminationGracePeriodSeconds\":30.5}}",
     "json: cannot unmarshal number 30.5 into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64"},
    {"core_v1.Pod", "{\"spec\":{\"hostNetwork\":\"true\",\"nodeName\":5}}",
     "json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool"},
    {"core_v1.Pod", "{\"spec\":{\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":{}}}}}}",
     "json: cannot unmarshal object into Go struct field NodeSelector.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms of type []v1.NodeSelectorTerm"},
    {"core_v1.Pod", "{\"spec\":null,\"status\":[]}",
     "json: cannot unmarshal array into Go struct field Pod.status of type v1.PodStatus"},
    {"core_v1.Pod", "{\"spec\":{\"securityContext\":{\"sysctls\":[{\"name\":1}]}}}",
     "json: cannot unmarshal number into Go struct field Sysctl.spec.securityContext.sysctls.name of type string"},
    {"core_v1.Pod", "{\"spec\":{\"dnsConfig\":{\"options\":[{\"value\":1}]}}}",
     "json: cannot unmarshal number into Go struct field PodDNSConfigOption.spec.dnsConfig.options.value of type string"},
    {"core_v1.Service", "{\"spec\":{\"ports\":[{\"targetPort\":1.5}]}}",
     "json: cannot unmarshal number 1.5 into Go struct field ServicePort.spec.ports.targetPort of type int32"},
    {"core_v1.Service", "{\"spec\":{\"ports\":[{\"targetPort\":[]}]}}",
     "json: cannot unmarshal array into Go struct field ServicePort.spec.ports.targetPort of type int32"},
    {"core_v1.Service", "{\"spec\":{\"ports\":[{\"port\":\"80\"}]}}",
     "json: cannot unmarshal string into Go struct field ServicePort.spec.ports.port of type int32"},
    {"coordination_v1.Lease", "{\"spec\":{\"renewTime\":\"2024-01-01T00:00:00Z\"}}",
     "parsing time \"2024-01-01T00:00:00Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"Z\" as \".000000\""},
    {"coordination_v1.Lease", "{\"spec\":{\"renewTime\":\"2024-01-01T00:00:00.123Z\"}}",
     "parsing time \"2024-01-01T00:00:00.123Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \".123Z\" as \".000000\""},
    {"coordination_v1.Lease", "{\"spec\":{\"renewTime\":\"2024-01-01T00:00:00.1234567Z\"}}",
     "parsing time \"2024-01-01T00:00:00.1234567Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"7Z\" as \"Z07:00\""},
    {"coordination_v1.Lease", "{\"spec\":{\"renewTime\":7}}",
     "json: cannot unmarshal number into Go struct field LeaseSpec.spec.renewTime of type string"},
    {"coordination_v1.Lease", "{\"spec\":{\"leaseDurationSeconds\":\"15\"}}",
     "json: cannot unmarshal string into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32"},
    {"coordination_v1.Lease", "{\"spec\":{\"renewTime\":\"2024-01-01T00:00:00.12345aZ\"}}",
     "parsing time \"2024-01-01T00:00:00.12345aZ\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \".12345aZ\" as \".000000\""},
    {"coordination_v1.Lease", "{\"spec\":{\"renewTime\":\"2024-01-01T00:00:00,123456Z\",\"holderIdentity\":5}}",
     "json: cannot unmarshal number into Go struct field LeaseSpec.spec.holderIdentity of type string"},
    {"apiextensions_v1.CustomResourceDefinition", "{\"metadata\":{\"name\":\"as.b.io\"},\"spec\":{\"group\":\"b.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":5}}}]}}",
     "json: cannot unmarshal number into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.type of type string"},
    {"apiextensions_v1.CustomResourceDefinition", "{\"metadata\":{\"name\":\"as.b.io\"},\"spec\":{\"group\":\"b.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"properties\":[]}}}]}}",
     "json: cannot unmarshal array into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties of type map[string]v1.JSONSchemaProps"},
    {"apiextensions_v1.CustomResourceDefinition", "{\"metadata\":{\"name\":\"as.b.io\"},\"spec\":{\"group\":\"b.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"items\":[5]}}}]}}",
     "json: cannot unmarshal number into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.items of type v1.JSONSchemaProps"},
    {"apiextensions_v1.CustomResourceDefinition", "{\"metadata\":{\"name\":\"as.b.io\"},\"spec\":{\"group\":\"b.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"items\":{\"type\":5}}}}]}}",
     "json: cannot unmarshal number into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.items of type string"},
    {"apiextensions_v1.CustomResourceDefinition", "{\"metadata\":{\"name\":\"as.b.io\"},\"spec\":{\"group\":\"b.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"additionalProperties\":\"x\"}}}]}}",
     "boolean or JSON schema expected"},
    {"apiextensions_v1.CustomResourceDefinition", "{\"metadata\":{\"name\":\"as.b.io\"},\"spec\":{\"group\":\"b.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"additionalProperties\":{\"type\":5}}}}]}}",
     "json: cannot unmarshal number into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.additionalProperties of type string"},
    {"apiextensions_v1.CustomResourceDefinition", "{\"metadata\":{\"name\":\"as.b.io\"},\"spec\":{\"group\":\"b.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"additionalProperties\":[]}}}]}}",
     "boolean or JSON schema expected"},
    {"apiextensions_v1.CustomResourceDefinition", "{\"metadata\":{\"name\":\"as.b.io\"},\"spec\":{\"group\":\"b.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"dependencies\":{\"a\":[5]}}}}]}}",
     "json: cannot unmarshal number into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.dependencies of type string"},
    {"apiextensions_v1.CustomResourceDefinition", "{\"metadata\":{\"name\":\"as.b.io\"},\"spec\":{\"group\":\"b.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"dependencies\":{\"a\":{\"type\":5}}}}}]}}",
     "json: cannot unmarshal number into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.dependencies of type string"},
    {"apiextensions_v1.CustomResourceDefinition", "{\"metadata\":{\"name\":\"as.b.io\"},\"spec\":{\"group\":\"b.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":5,\"items\":{\"properties\":{\"a\":{\"type\":6}}}}}}]}}",
     "json: cannot unmarshal number into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.items of type string"},
    {"apiextensions_v1.CustomResourceDefinition", "{\"metadata\":{\"name\":\"as.b.io\"},\"spec\":{\"group\":\"b.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"maximum\":\"5\"}}}]}}",
     "json: cannot unmarshal string into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.maximum of type float64"},
    {"apiextensions_v1.CustomResourceDefinition", "{\"metadata\":{\"name\":\"as.b.io\"},\"spec\":{\"group\":\"b.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"maximum\":1e999}}}]}}",
     "json: cannot unmarshal number 1e999 into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.maximum of type float64"},
    {"apiextensions_v1.CustomResourceDefinition", "{\"metadata\":{\"name\":\"as.b.io\"},\"spec\":{\"group\":\"b.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"maxLength\":1.5}}}]}}",
     "json: cannot unmarshal number 1.5 into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.maxLength of type int64"},
    {"apiextensions_v1.CustomResourceDefinition", "{\"metadata\":{\"name\":\"as.b.io\"},\"spec\":{\"group\":\"b.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"enum\":5}}}]}}",
     "json: cannot unmarshal number into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.enum of type []v1.JSON"},
    {"apiextensions_v1.CustomResourceDefinition", "{\"metadata\":{\"name\":\"as.b.io\"},\"spec\":{\"group\":\"b.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"required\":[1]}}}]}}",
     "json: cannot unmarshal number into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.required of type string"},
    {"apiextensions_v1.CustomResourceDefinition", "{\"metadata\":{\"name\":\"as.b.io\"},\"spec\":{\"group\":\"b.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"items\":{\"items\":{\"maximum\":\"x\",\"additionalProperties\":\"y\"}}}}}]}}",
     "boolean or JSON schema expected"},
    {"apiextensions_v1.CustomResourceDefinition", "{\"metadata\":{\"name\":\"as.b.io\"},\"spec\":{\"group\":\"b.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"additionalProperties\":{\"properties\":{\"a\":{\"items\":{\"properties\":7}}}}}}}]}}",
     "json: cannot unmarshal number into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.additionalProperties of type map[string]v1.JSONSchemaProps"},
    {"apiextensions_v1.CustomResourceDefinition", "{\"metadata\":{\"name\":\"as.b.io\"},\"spec\":{\"group\":\"b.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"allOf\":[{\"anyOf\":[[]]}]}}}]}}",
     "json: cannot unmarshal array into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.allOf.anyOf of type v1.JSONSchemaProps"},
    {"core_v1.Namespace", "{\"spec\":{\"finalizers\":[5]}}",
     "json: cannot unmarshal number into Go struct field NamespaceSpec.spec.finalizers of type v1.FinalizerName"},
    {"core_v1.Namespace", "{\"spec\":{\"finalizers\":\"kubernetes\"}}",
     "json: cannot unmarshal string into Go struct field NamespaceSpec.spec.finalizers of type []v1.FinalizerName"},
    {"apps_v1.StatefulSet", "{\"spec\":{\"volumeClaimTemplates\":[{\"metadata\":{\"name\":5}}]}}",
     "json: cannot unmarshal number into Go struct field ObjectMeta.spec.volumeClaimTemplates.metadata.name of type string"},
    {"policy_v1.PodDisruptionBudget", "{\"spec\":{\"minAvailable\":{}}}",
     "json: cannot unmarshal object into Go struct field PodDisruptionBudgetSpec.spec.minAvailable of type int32"},
    {"policy_v1.PodDisruptionBudget", "{\"status\":{\"disruptedPods\":{\"a\":\"x\"}}}",
     "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\""},
    {"policy_v1.PodDisruptionBudget", "{\"status\":{\"disruptedPods\":{\"a\":5}}}",
     "json: cannot unmarshal number into Go struct field PodDisruptionBudgetStatus.status.disruptedPods of type string"},
    {"discovery_v1.EndpointSlice", "{\"endpoints\":[{\"conditions\":{\"ready\":\"x\"}}]}",
     "json: cannot unmarshal string into Go struct field EndpointConditions.endpoints.conditions.ready of type bool"},
    {"admissionregistration_v1.ValidatingWebhookConfiguration", "{\"webhooks\":[{\"clientConfig\":{\"caBundle\":\"!\"}}]}",
     "illegal base64 data at input byte 0"},
    {"admissionregistration_v1.ValidatingWebhookConfiguration", "{\"webhooks\":[{\"rules\":[{\"apiGroups\":\"x\"}]}]}",
     "json: cannot unmarshal string into Go struct field RuleWithOperations.webhooks.rules.apiGroups of type []string"},
    {"admissionregistration_v1.ValidatingWebhookConfiguration", "{\"webhooks\":[{\"rules\":[{\"operations\":[1]}]}]}",
     "json: cannot unmarshal number into Go struct field RuleWithOperations.webhooks.rules.operations of type v1.OperationType"},
    {"admissionregistration_v1.ValidatingAdmissionPolicy", "{\"spec\":{\"matchConstraints\":{\"resourceRules\":[{\"apiGroups\":5}]}}}",
     "json: cannot unmarshal number into Go struct field NamedRuleWithOperations.spec.matchConstraints.resourceRules.apiGroups of type []string"},
    {"certificates_v1.CertificateSigningRequest", "{\"spec\":{\"request\":\"!\"}}",
     "illegal base64 data at input byte 0"},
    {"certificates_v1.CertificateSigningRequest", "{\"spec\":{\"extra\":{\"a\":\"x\"}}}",
     "json: cannot unmarshal string into Go struct field CertificateSigningRequestSpec.spec.extra of type v1.ExtraValue"},
    {"certificates_v1.CertificateSigningRequest", "{\"spec\":{\"extra\":{\"a\":[1]}}}",
     "json: cannot unmarshal number into Go struct field CertificateSigningRequestSpec.spec.extra of type string"},
    {"authorization_v1.SubjectAccessReview", "{\"spec\":{\"user\":5}}",
     "json: cannot unmarshal number into Go struct field SubjectAccessReviewSpec.spec.user of type string"},
    {"authorization_v1.SubjectAccessReview", "{\"spec\":{\"extra\":{\"a\":5}}}",
     "json: cannot unmarshal number into Go struct field SubjectAccessReviewSpec.spec.extra of type v1.ExtraValue"},
    /* Contract types 2.3.6: null is no mistake anywhere. */
    {"apps_v1.Deployment", "null", ""},
    {"apps_v1.Deployment", "{\"metadata\":null,\"spec\":{\"replicas\":null,\"selector\":null,\"template\":{\"spec\":{\"containers\":[null]}}}}", ""},
    {"core_v1.Pod", "{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":null}},\"livenessProbe\":{\"httpGet\":{\"port\":null}}}]}}", ""},
    {"core_v1.ConfigMap", "{\"metadata\":{\"creationTimestamp\":null},\"data\":{\"a\":null},\"binaryData\":{\"a\":null,\"b\":[1,null]}}", ""},
    {"coordination_v1.Lease", "{\"spec\":{\"renewTime\":null}}", ""},
    /* What takes more than it seems. */
    {"core_v1.ConfigMap", "{\"metadata\":{\"creationTimestamp\":\"2024-01-01T1:00:00,5+01:00\"}}", ""},
    {"core_v1.Pod", "{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"a\":\" 1e3 \",\"b\":0.5,\"c\":\"Gi\",\"d\":\".\"}}}]}}", ""},
    {"apiextensions_v1.JSONSchemaProps", "{\"items\":5,\"dependencies\":{\"a\":\"x\"},\"enum\":[{\"a\":1}],\"default\":[1],\"maximum\":1e30}", ""},
    {"core_v1.Pod", "[]", "json: cannot unmarshal array into Go value of type v1.Pod"},
    {"core_v1.Pod", " \"x\" ", "json: cannot unmarshal string into Go value of type v1.Pod"},
    /* A text that its own decoder refuses counts more than what came before, and ends the walk. */
    {"core_v1.Pod", "{\"spec\":{\"nodeName\":5,\"overhead\":{\"cpu\":\"x\"},\"tolerations\":[{\"tolerationSeconds\":\"x\"}]},\"metadata\":{\"creationTimestamp\":\"y\"}}",
     "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
    /* Names with escapes are names. */
    {"apps_v1.Deployment", "{\"sp\\u0065c\":{\"replicas\":\"x\"}}",
     "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"},
};

/* Contract types 2.2.1, 2.2.2, 2.2.3, 2.2.4, 2.2.8. */
static const struct row findings[] = {
    {"core_v1.ConfigMap", "{\"MetaData\":{\"name\":\"a\"},\"metadata\":{\"name\":\"a\"},\"Data\":{\"a\":\"b\"}}",
     "unknown field \"MetaData\", unknown field \"Data\""},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\"},\"foo\":1,\"bar\":{\"baz\":1}}",
     "unknown field \"foo\", unknown field \"bar\""},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"kind\":\"x\",\"clusterName\":\"y\",\"selfLink\":\"z\"}}",
     "unknown field \"metadata.kind\", unknown field \"metadata.clusterName\""},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\"},\"data\":{\"a\":\"1\",\"b\":\"2\",\"a\":\"3\"},\"data\":{\"a\":\"4\"},\"immutable\":false,\"immutable\":true,\"immutable\":false}",
     "duplicate field \"data.a\", duplicate field \"data\", duplicate field \"immutable\""},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\"},\"foo\":1,\"foo\":2,\"bar\":{\"a\":1,\"a\":2}}",
     "unknown field \"foo\", unknown field \"bar\""},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"labels\":{\"a/b\":\"1\",\"a/b\":\"2\",\"x\\u0079\":\"1\",\"xy\":\"2\"}}}",
     "duplicate field \"metadata.labels.a/b\", duplicate field \"metadata.labels.xy\""},
    {"core_v1.ConfigMap", "{\"met\\u0061data\":{\"name\":\"a\"},\"f\\u00e9\\\"o\":1,\"f\\ud83d\\ude00\":2,\"\\u0001\":3,\"\":4}",
     "unknown field \"fé\\\"o\", unknown field \"f😀\", unknown field \"\\x01\", unknown field \"\""},
    {"apps_v1.Deployment", "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"zz\":1,\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"foo\":1,\"ports\":[{\"containerPort\":80,\"bar\":2,\"containerPort\":81}]},{\"name\":\"d\",\"image\":\"i\",\"Image\":\"x\"}]}}},\"zz\":1}",
     "unknown field \"spec.zz\", unknown field \"spec.template.spec.containers[0].foo\", unknown field \"spec.template.spec.containers[0].ports[0].bar\", duplicate field \"spec.template.spec.containers[0].ports[0].containerPort\", unknown field \"spec.template.spec.containers[1].Image\", unknown field \"zz\""},
    {"core_v1.Pod", "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}],\"volumes\":[{\"name\":\"v\",\"emptyDir\":{},\"configmap\":{}}]}}",
     "unknown field \"spec.volumes[0].configmap\""},
    {"apiextensions_v1.CustomResourceDefinition", "{\"metadata\":{\"name\":\"as.b.io\"},\"spec\":{\"group\":\"b.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"foo\":1,\"properties\":{\"a\":{\"type\":\"string\",\"bar\":1},\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"foo\":2,\"foo\":3}},\"c\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\",\"qux\":1}}}}}}]}}",
     "unknown field \"spec.versions[0].schema.openAPIV3Schema.foo\", unknown field \"spec.versions[0].schema.openAPIV3Schema.properties.a.bar\", duplicate field \"spec.versions[0].schema.openAPIV3Schema.properties.a\""},
    {"core_v1.Service", "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"ports\":[{\"port\":80,\"targetPort\":80,\"targetPort\":81}],\"foo\":1}}",
     "duplicate field \"spec.ports[0].targetPort\", unknown field \"spec.foo\""},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"namespace\":\"other\"},\"foo\":1}",
     "unknown field \"foo\""},
    {"core_v1.Namespace", "{\"metadata\":{\"name\":\"aa\"},\"spec\":{\"x\":1},\"status\":{\"y\":2}}",
     "unknown field \"spec.x\", unknown field \"status.y\""},
    {"core_v1.ConfigMap", "{\"metadata\":{\"name\":\"a\",\"managedFields\":[{\"manager\":\"m\",\"operation\":\"Update\",\"apiVersion\":\"v1\",\"time\":\"2024-01-01T00:00:00Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:data\":{},\"f:data\":{}},\"foo\":1}]}}",
     "unknown field \"metadata.managedFields[0].foo\""},
    {"core_v1.ConfigMap", "{\"data\":{\"a\":\"1\"}}", ""},
    {"apps_v1.ControllerRevision", "{\"data\":{\"a\":1,\"a\":2,\"b\":{\"c\":1,\"c\":2}}}", ""},
    /* A nested decoder is not strict. */
    {"apiextensions_v1.JSONSchemaProps", "{\"items\":{\"foo\":1,\"type\":\"a\",\"type\":\"b\"},\"not\":{\"foo\":1}}", "unknown field \"not.foo\""},
    /* The same path once, also when the object around it comes twice. */
    {"core_v1.Pod", "{\"spec\":{\"a\":1},\"spec\":{\"a\":2,\"b\":3}}",
     "unknown field \"spec.a\", duplicate field \"spec\", unknown field \"spec.b\""},
};
/* clang-format on */

static void print_findings(const struct cor_read_report *report, struct cor_buf *out)
{
    for (size_t i = 0; i < report->n; i++) {
        assert_int_equal(cor_buf_addz(out, i > 0 ? ", " : ""), 0);
        assert_int_equal(cor_buf_adds(out, cor_read_finding(report, i)), 0);
    }
}

static bool has_repeated_keys(struct cor_str json)
{
    const struct cor_json_limits limits = {1u << 24, COR_JSON_DEPTH_MAX, true};
    COR_CLEANUP(cor_json_dups_deinit) struct cor_json_dups dups;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1u << 24};

    cor_json_dups_init(&dups);
    assert_int_equal(cor_buf_reserve(&out, json.n), 0);
    assert_int_equal(cor_json_canonicalize(json, &limits, &out, &dups, NULL), 0);
    return dups.n > 0;
}

TEST(read, says_what_go_says_of_values_that_a_type_cannot_hold)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(mistakes); i++) {
        const struct row *row = &mistakes[i];
        COR_CLEANUP(cor_read_report_freep) struct cor_read_report *report = cor_read_report_new();
        int r = cor_read(cor_strz(row->body), named(row->type), report);

        if (strcmp(cor_buf_z(&report->error), row->words) != 0)
            fail_msg("%s %s: %s\n instead of: %s", row->type, row->body, cor_buf_z(&report->error),
                     row->words);
        assert_int_equal(r, row->words[0] ? -COR_EINVAL : 0);
        assert_int_equal(report->n, 0);
        if (row->words[0])
            assert_false(cor_read_is_clean(cor_strz(row->body), named(row->type)));
    }
}

TEST(read, finds_unknown_and_repeated_fields_in_the_order_received)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(findings); i++) {
        const struct row *row = &findings[i];
        struct cor_str body = cor_strz(row->body);
        COR_CLEANUP(cor_read_report_freep) struct cor_read_report *report = cor_read_report_new();
        COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = 1u << 16};

        assert_int_equal(cor_read(body, named(row->type), report), 0);
        print_findings(report, &text);
        if (strcmp(cor_buf_z(&text), row->words) != 0)
            fail_msg("%s %s: %s\n instead of: %s", row->type, row->body, cor_buf_z(&text),
                     row->words);
        if (!has_repeated_keys(body))
            assert_int_equal(cor_read_is_clean(body, named(row->type)), report->n == 0);
    }
}

/* Contract types 2.2.3: at most 100 are kept. */
TEST(read, keeps_a_hundred_findings)
{
    COR_CLEANUP(cor_read_report_freep) struct cor_read_report *report = cor_read_report_new();
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 1u << 20};

    for (int i = 0; i < 1000; i++)
        assert_int_equal(cor_buf_addf(&body, "%s\"f%d\":[{}]", i > 0 ? "," : "{", i), 0);
    assert_int_equal(cor_buf_addc(&body, '}'), 0);
    assert_int_equal(cor_read(cor_buf_str(&body), named("core_v1.Pod"), report), 0);
    assert_int_equal(report->n, COR_READ_FINDINGS_MAX);
    assert_true(cor_str_eqz(cor_read_finding(report, 0), "unknown field \"f0\""));
    assert_true(cor_str_eqz(cor_read_finding(report, 99), "unknown field \"f99\""));
}

/* A finding that does not fit is left out, and the next one that fits is kept. */
TEST(read, leaves_out_findings_that_are_too_long)
{
    COR_CLEANUP(cor_read_report_freep) struct cor_read_report *report = cor_read_report_new();
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 1u << 20};

    assert_int_equal(cor_buf_addz(&body, "{\""), 0);
    for (size_t i = 0; i < COR_READ_TEXTS_MAX; i++)
        assert_int_equal(cor_buf_addc(&body, 'x'), 0);
    assert_int_equal(cor_buf_addz(&body, "\":1,\"y\":2}"), 0);
    assert_int_equal(cor_read(cor_buf_str(&body), named("core_v1.Pod"), report), 0);
    assert_int_equal(report->n, 1);
    assert_true(cor_str_eqz(cor_read_finding(report, 0), "unknown field \"y\""));
}

/* The memory of a report may have been used before; on most machines it is the memory that this
 * test has just freed. */
TEST(read, begins_with_an_empty_report_in_used_memory)
{
    struct cor_read_report *report;
    unsigned *used = cor_alloc(sizeof(*report));

    assert_non_null(used);
    for (size_t i = 0; i < sizeof(*report) / sizeof(*used); i++)
        used[i] = 8;
    cor_free(used);
    report = cor_read_report_new();
    assert_non_null(report);
    assert_int_equal(cor_read(COR_STR("{\"x\":1}"), named("core_v1.Pod"), report), 0);
    assert_int_equal(report->n, 1);
    cor_read_report_free(report);
}

/* Each of 400 schemas, one in the other, has a wrong number of 1,000 digits. The innermost is what
 * Go reports, since its decoder ends first. */
TEST(read, reports_the_innermost_of_many_nested_mistakes)
{
    COR_CLEANUP(cor_read_report_freep) struct cor_read_report *report = cor_read_report_new();
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 1u << 20};

    for (size_t i = 0; i < 400; i++)
        assert_int_equal(cor_buf_addf(&body, "{\"minLength\":1.%01000zu,\"items\":", i), 0);
    assert_int_equal(cor_buf_addz(&body, "{\"minLength\":true}"), 0);
    for (size_t i = 0; i < 400; i++)
        assert_int_equal(cor_buf_addc(&body, '}'), 0);
    assert_int_equal(
        cor_read(cor_buf_str(&body), named("apiextensions_v1.JSONSchemaProps"), report),
        -COR_EINVAL);
    assert_string_equal(
        cor_buf_z(&report->error),
        "json: cannot unmarshal bool into Go struct field JSONSchemaProps.items of type int64");
}

/* A key of `n` characters, and below it an unknown member, 100,000 repeated ones and as many
 * unknown ones with names of their own. Returns the findings. */
static size_t read_below_a_long_key(const char *character, size_t n)
{
    COR_CLEANUP(cor_read_report_freep) struct cor_read_report *report = cor_read_report_new();
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 1u << 23};

    assert_int_equal(cor_buf_addz(&body, "{\"properties\":{\""), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(cor_buf_addz(&body, character), 0);
    assert_int_equal(cor_buf_addz(&body, "\":{\"x\":1"), 0);
    for (size_t i = 0; i < 100000; i++) {
        assert_int_equal(cor_buf_addz(&body, i % 2 ? ",\"\\u0078\":1" : ",\"type\":null"), 0);
        assert_int_equal(cor_buf_addf(&body, ",\"f%zu\":1", i), 0);
    }
    assert_int_equal(cor_buf_addz(&body, "}}}"), 0);
    assert_int_equal(
        cor_read(cor_buf_str(&body), named("apiextensions_v1.JSONSchemaProps"), report), 0);
    return report->n;
}

/* Many members below a long path: writing the path for each of them would take hours. */
TEST(read, takes_time_that_is_linear_in_the_bytes)
{
    /* There is no room for a second path. */
    assert_int_equal(read_below_a_long_key("k", 200000), 1);
    /* A path that has room as it was sent has none in quotes, where each character is "\u00a0". */
    assert_int_equal(read_below_a_long_key("\xc2\xa0", 60000), 0);
}

TEST(read, goes_down_to_the_depth_of_json)
{
    COR_CLEANUP(cor_read_report_freep) struct cor_read_report *report = cor_read_report_new();
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 1u << 20};
    size_t levels = COR_JSON_DEPTH_MAX / 2 - 1;

    for (size_t i = 0; i < levels; i++)
        assert_int_equal(cor_buf_addz(&body, "{\"properties\":{\"a\":"), 0);
    assert_int_equal(cor_buf_addz(&body, "{\"b\":1}"), 0);
    for (size_t i = 0; i < levels; i++)
        assert_int_equal(cor_buf_addz(&body, "}}"), 0);
    assert_int_equal(
        cor_read(cor_buf_str(&body), named("apiextensions_v1.JSONSchemaProps"), report), 0);
    assert_int_equal(report->n, 1);
    assert_true(cor_str_ends(cor_read_finding(report, 0), COR_STR(".properties.a.b\"")));
}

TEST(read, refuses_wrong_values_in_every_field_of_every_type)
{
    for (size_t i = 0; i < cor_types_count(); i++) {
        const struct cor_type *type = cor_type_at(i);

        for (size_t m = 0; m < cor_type_nmembers(type); m++) {
            COR_CLEANUP(cor_read_report_freep)
            struct cor_read_report *report = cor_read_report_new();
            struct cor_member member;
            enum cor_shape shape;
            const char *wrong;
            char body[256];

            cor_type_member(type, m, &member);
            shape = cor_type_shape(cor_type_field_type(member.field));
            if (shape == COR_SHAPE_RAW || shape == COR_SHAPE_FIELDS_V1 || shape == COR_SHAPE_JSON ||
                shape == COR_SHAPE_SCHEMA_OR_ARRAY || shape == COR_SHAPE_SCHEMA_OR_STRINGS)
                continue;
            wrong = shape == COR_SHAPE_BOOL || shape == COR_SHAPE_SCHEMA_OR_BOOL ? "\"?\"" : "true";
            snprintf(body, sizeof(body), "{\"%.*s\":%s}",
                     COR_STR_ARG(cor_type_field_name(member.field)), wrong);
            if (cor_read(cor_strz(body), type, report) != -COR_EINVAL)
                fail_msg("%.*s takes %s", COR_STR_ARG(cor_type_go_name(type)), body);
            assert_true(report->error.n > 0);
            assert_false(cor_read_is_clean(cor_strz(body), type));
        }
    }
}

static int read_once(const struct row *row, struct cor_buf *text)
{
    COR_CLEANUP(cor_read_report_freep) struct cor_read_report *report = cor_read_report_new();
    int r = report ? cor_read(cor_strz(row->body), named(row->type), report) : -COR_ENOMEM;

    if (r == -COR_ENOMEM)
        return r;
    test_fail_alloc(0, false);
    assert_int_equal(cor_buf_addz(text, cor_buf_z(&report->error)), 0);
    print_findings(report, text);
    return r;
}

static void fail_each(const struct row *row)
{
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = 1u << 16};
        int r = read_once(row, &text);

        if (r == -COR_ENOMEM)
            continue;
        assert_string_equal(cor_buf_z(&text), row->words);
    }
}

/* A walk that says anything without memory says all of it. */
TEST(read, survives_every_failed_allocation)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(mistakes); i++)
        fail_each(&mistakes[i]);
    for (size_t i = 0; i < COR_ARRAY_LEN(findings); i++)
        fail_each(&findings[i]);
}

/* clang-format off */
/* Contract types 2.5.2: what upstream's converter says of objects that a strategic merge patch made.
 * Bodies are canonical. */
static const struct row converted[] = {
    {"apps_v1.DeploymentSpec", "{\"replicas\":\"x\"}", "unrecognized type: int32"},
    {"apps_v1.DeploymentSpec", "{\"replicas\":1.5}", "cannot convert float64 to int32"},
    {"apps_v1.DeploymentSpec", "{\"replicas\":1.0}", ""},
    {"apps_v1.DeploymentSpec", "{\"replicas\":4294967297}", ""},
    {"apps_v1.DeploymentSpec", "{\"paused\":1}", "unrecognized type: bool"},
    {"apps_v1.DeploymentSpec", "{\"template\":5}", "cannot restore struct from: int64"},
    {"apps_v1.DeploymentSpec", "{\"template\":[]}", "cannot restore struct from: slice"},
    {"apps_v1.DeploymentSpec", "{\"strategy\":{\"rollingUpdate\":{\"maxSurge\":true}}}", "json: cannot unmarshal bool into Go value of type int32"},
    {"core_v1.Container", "{\"image\":5}", "cannot convert int64 to string"},
    {"core_v1.Container", "{\"image\":5.5}", "unrecognized type: string"},
    {"core_v1.Container", "{\"imagePullPolicy\":5}", "cannot convert int64 to v1.PullPolicy"},
    {"core_v1.Container", "{\"ports\":{}}", "cannot restore slice from map"},
    {"core_v1.Container", "{\"ports\":\"x\"}", "cannot restore slice from string"},
    {"core_v1.Container", "{\"resources\":{\"limits\":{\"cpu\":\"x\"}}}", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
    {"core_v1.ConfigMap", "{\"data\":[]}", "cannot restore map from slice"},
    {"core_v1.ConfigMap", "{\"data\":{\"a\":1}}", "cannot convert int64 to string"},
    {"core_v1.ConfigMap", "{\"binaryData\":{\"a\":\"!\"}}", "error decoding from json: illegal base64 data at input byte 0"},
    {"core_v1.ConfigMap", "{\"binaryData\":{\"a\":[\"x\"]}}", "unrecognized type: uint8"},
    {"core_v1.ConfigMap", "{\"binaryData\":{\"a\":5}}", "cannot restore slice from int64"},
    {"core_v1.ConfigMap", "{\"metadata\":{\"creationTimestamp\":\"x\"}}", "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\""},
    /* The field that is declared first counts, not the one that comes first. */
    {"core_v1.Container", "{\"args\":5,\"command\":\"x\",\"env\":{}}", "cannot restore slice from string"},
    {"core_v1.Volume", "{\"configMap\":[],\"emptyDir\":5}", "cannot restore struct from: int64"},
    {"core_v1.Volume", "{\"configMap\":[],\"name\":{}}", "unrecognized type: string"},
    {"core_v1.PodSpec", "{\"containers\":[null,{\"name\":\"a\"},{\"name\":true}],\"nodeName\":5}", "unrecognized type: string"},
};
/* clang-format on */

TEST(read, says_what_upstream_says_of_what_a_strategic_merge_made)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(converted); i++) {
        const struct row *row = &converted[i];
        COR_CLEANUP(cor_buf_deinit) struct cor_buf words = {.max = 1u << 16};
        int r = cor_restore_error(cor_strz(row->body), named(row->type), &words);

        assert_int_equal(r, row->words[0] ? 1 : 0);
        if (strcmp(cor_buf_z(&words), row->words) != 0)
            fail_msg("%s %s: %s\n instead of: %s", row->type, row->body, cor_buf_z(&words),
                     row->words);
        FOR_EACH_FAILED_ALLOC(n) {
            COR_CLEANUP(cor_buf_deinit) struct cor_buf again = {.max = 1u << 16};

            r = cor_restore_error(cor_strz(row->body), named(row->type), &again);
            assert_true(r == -COR_ENOMEM || strcmp(cor_buf_z(&again), row->words) == 0);
        }
    }
}
