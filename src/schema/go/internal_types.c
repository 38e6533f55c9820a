/* The table of the differences: for each struct whose internal form differs, all its fields, with a
 * mark behind those that are not as clients see them. Fields that clients see and that are not
 * listed do not exist internally. */
#include "schema/go/internal_types.h"

#include <string.h>

#include "base/cleanup.h"

/* clang-format off */
static const struct {
    const char *type, *fields;
} differences[] = {
    {"admissionregistration_v1.NamedRuleWithOperations",
     "ResourceNames RuleWithOperations+"},
    {"admissionregistration_v1.ServiceReference",
     "Namespace Name Path Port!"},
    {"admissionregistration_v1.ValidatingAdmissionPolicySpec",
     "ParamKind MatchConstraints Validations MatchConditions FailurePolicy "
     "AuditAnnotations Variables"},
    {"apiextensions_v1.JSONSchemaProps",
     "ID Schema Ref Description Type Nullable Format Title Default Maximum ExclusiveMaximum "
     "Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems "
     "MultipleOf Enum MaxProperties MinProperties Required Items AllOf OneOf AnyOf Not "
     "Properties AdditionalProperties PatternProperties Dependencies AdditionalItems "
     "Definitions ExternalDocs Example XPreserveUnknownFields XEmbeddedResource XIntOrString "
     "XListMapKeys XListType XMapType XValidations"},
    {"apiregistration_v1.ServiceReference",
     "Namespace Name Port!"},
    {"apps_v1.DaemonSetSpec",
     "Selector Template UpdateStrategy MinReadySeconds TemplateGeneration=0 "
     "RevisionHistoryLimit"},
    {"apps_v1.DeploymentSpec",
     "Replicas! Selector Template Strategy MinReadySeconds RevisionHistoryLimit Paused "
     "RollbackTo=null ProgressDeadlineSeconds"},
    {"apps_v1.ReplicaSetSpec",
     "Replicas! MinReadySeconds Selector Template"},
    {"apps_v1.RollingUpdateDaemonSet",
     "MaxUnavailable! MaxSurge!"},
    {"apps_v1.RollingUpdateDeployment",
     "MaxUnavailable! MaxSurge!"},
    {"apps_v1.RollingUpdateStatefulSetStrategy",
     "Partition! MaxUnavailable"},
    {"apps_v1.StatefulSetSpec",
     "Replicas! Selector Template VolumeClaimTemplates ServiceName PodManagementPolicy "
     "UpdateStrategy RevisionHistoryLimit MinReadySeconds "
     "PersistentVolumeClaimRetentionPolicy Ordinals"},
    {"authentication_v1.TokenRequestSpec",
     "Audiences ExpirationSeconds! BoundObjectRef"},
    {"autoscaling_v2.ContainerResourceMetricSource",
     "Name Container Target"},
    {"autoscaling_v2.ContainerResourceMetricStatus",
     "Name Container Current"},
    {"batch_v1.JobSpec",
     "Parallelism Completions PodFailurePolicy SuccessPolicy ActiveDeadlineSeconds "
     "BackoffLimit BackoffLimitPerIndex MaxFailedIndexes Selector ManualSelector Template "
     "TTLSecondsAfterFinished CompletionMode Suspend PodReplacementPolicy ManagedBy"},
    {"batch_v1.JobStatus",
     "Conditions StartTime CompletionTime Active Terminating Ready Succeeded Failed "
     "CompletedIndexes FailedIndexes UncountedTerminatedPods"},
    {"core_v1.NodeSpec",
     "PodCIDRs ProviderID Unschedulable Taints ConfigSource DoNotUseExternalID"},
    {"core_v1.PersistentVolumeSource",
     "GCEPersistentDisk AWSElasticBlockStore HostPath Glusterfs NFS RBD Quobyte ISCSI "
     "FlexVolume Cinder CephFS FC Flocker AzureFile VsphereVolume AzureDisk "
     "PhotonPersistentDisk PortworxVolume ScaleIO Local StorageOS CSI"},
    {"core_v1.PodSecurityContext",
     "HostNetwork^false HostPID^false HostIPC^false ShareProcessNamespace^null "
     "HostUsers^null SELinuxOptions WindowsOptions RunAsUser RunAsGroup RunAsNonRoot "
     "SupplementalGroups SupplementalGroupsPolicy FSGroup FSGroupChangePolicy Sysctls "
     "SeccompProfile AppArmorProfile SELinuxChangePolicy"},
    {"core_v1.PodSpec",
     "Volumes InitContainers Containers EphemeralContainers RestartPolicy "
     "TerminationGracePeriodSeconds ActiveDeadlineSeconds DNSPolicy NodeSelector "
     "ServiceAccountName AutomountServiceAccountToken NodeName SecurityContext! "
     "ImagePullSecrets Hostname Subdomain SetHostnameAsFQDN Affinity SchedulerName "
     "Tolerations HostAliases PriorityClassName Priority PreemptionPolicy DNSConfig "
     "ReadinessGates RuntimeClassName Overhead EnableServiceLinks "
     "TopologySpreadConstraints OS SchedulingGates ResourceClaims Resources "
     "HostnameOverride"},
    {"core_v1.PodStatus",
     "ObservedGeneration Phase Conditions Message Reason NominatedNodeName HostIP HostIPs "
     "PodIPs StartTime QOSClass InitContainerStatuses ContainerStatuses "
     "EphemeralContainerStatuses Resize ResourceClaimStatuses ExtendedResourceClaimStatus"},
    {"core_v1.Secret",
     "TypeMeta ObjectMeta Immutable Data Type"},
    {"core_v1.ServiceAccountTokenProjection",
     "Audience ExpirationSeconds! Path"},
    {"core_v1.ServiceSpec",
     "Type Ports Selector ClusterIP ClusterIPs IPFamilies IPFamilyPolicy ExternalName "
     "ExternalIPs LoadBalancerIP SessionAffinity SessionAffinityConfig "
     "LoadBalancerSourceRanges ExternalTrafficPolicy HealthCheckNodePort "
     "PublishNotReadyAddresses AllocateLoadBalancerNodePorts LoadBalancerClass "
     "InternalTrafficPolicy TrafficDistribution"},
    {"core_v1.VolumeSource",
     "HostPath EmptyDir GCEPersistentDisk AWSElasticBlockStore GitRepo Secret NFS ISCSI "
     "Glusterfs PersistentVolumeClaim RBD Quobyte FlexVolume Cinder CephFS Flocker "
     "DownwardAPI FC AzureFile ConfigMap VsphereVolume AzureDisk PhotonPersistentDisk "
     "Projected PortworxVolume ScaleIO StorageOS CSI Ephemeral Image"},
    {"flowcontrol_v1.LimitedPriorityLevelConfiguration",
     "NominalConcurrencyShares! LimitResponse LendablePercent BorrowingLimitPercent"},
    {"storage_v1.CSIDriverSpec",
     "AttachRequired FSGroupPolicy PodInfoOnMount VolumeLifecycleModes StorageCapacity "
     "TokenRequests RequiresRepublish SELinuxMount NodeAllocatableUpdatePeriodSeconds"},
};
/* clang-format on */

const char *cor_internal_type_at(size_t i)
{
    return i < COR_ARRAY_LEN(differences) ? differences[i].type : NULL;
}

bool cor_internal_fields(const struct cor_type *type, struct cor_str *ret_fields)
{
    struct cor_str package = cor_type_package(type), name = cor_type_name(type);

    for (size_t i = 0; i < COR_ARRAY_LEN(differences); i++) {
        struct cor_str rest = cor_strz(differences[i].type);

        if (cor_str_eq(cor_str_cut(&rest, '.'), package) && cor_str_eq(rest, name)) {
            *ret_fields = cor_strz(differences[i].fields);
            return true;
        }
    }
    return false;
}

bool cor_internal_fields_next(struct cor_str *fields, struct cor_internal_field *ret_field)
{
    static const char marks[] = "!+=^"; /* in the order of the enum */
    struct cor_str word;
    size_t n = 0;

    if (!fields->p)
        return false;
    word = cor_str_cut(fields, ' ');
    while (n < word.n && !strchr(marks, word.p[n]))
        n++;
    *ret_field = (struct cor_internal_field){.name = cor_str(word.p, n), .json = COR_STR("")};
    if (n < word.n) {
        ret_field->mark =
            (enum cor_internal_mark)(COR_INTERNAL_PLAIN + (strchr(marks, word.p[n]) - marks));
        ret_field->json = cor_str_from(word, n + 1);
    }
    return true;
}
