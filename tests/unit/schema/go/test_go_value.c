/* Contract validation 1.4: how errors print bad values. */
#include "../random_object.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "schema/go/go_value.h"
#include "schema/go/internal_types.h"
#include "test.h"
#include "json/text/json.h"

#define OUT_MAX (8u << 20)

static const struct cor_type *type_of_field(const char *type, const char *name)
{
    struct cor_member member;

    assert_true(cor_type_find_member(cor_type_named(cor_strz(type)), cor_strz(name), &member));
    return cor_type_field_type(member.field);
}

static void check_printed(const struct cor_type *type, bool is_pointer, const char *json,
                          const char *printed)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = OUT_MAX};

    assert_non_null(type);
    assert_int_equal(
        cor_go_value(type, is_pointer, json ? cor_strz(json) : (struct cor_str){NULL, 0}, &out), 0);
    assert_string_equal(cor_buf_z(&out), printed);
}

/* Contract validation 1.4.1 to 1.4.4, 1.4.8 */
TEST(go_value, prints_scalars_and_what_is_absent)
{
    static const struct {
        const char *type, *field;
        bool is_pointer;
        const char *json, *printed;
    } rows[] = {
        /* A plain string is quoted; a named one, and one behind a pointer, is JSON. */
        {"core_v1.Container", "name", false, "\"a<\\u0007\\\"\"", "\"a<\\a\\\"\""},
        {"core_v1.Container", "name", false, NULL, "\"\""},
        {"core_v1.ServicePort", "appProtocol", true, "\"a<b\"", "\"a\\u003cb\""},
        {"core_v1.ServicePort", "appProtocol", true, NULL, "null"},
        {"core_v1.Container", "imagePullPolicy", false, "\"&\\u0007\"", "\"\\u0026\\u0007\""},
        {"core_v1.Container", "imagePullPolicy", false, NULL, "\"\""},
        /* Numbers and booleans. */
        {"core_v1.ContainerPort", "containerPort", false, "80", "80"},
        {"core_v1.ContainerPort", "containerPort", false, NULL, "0"},
        {"batch_v1.JobSpec", "parallelism", true, NULL, "null"},
        {"core_v1.Container", "tty", false, NULL, "false"},
        /* Lists and maps: nil and empty are two things. */
        {"core_v1.Container", "args", false, NULL, "null"},
        {"core_v1.Container", "args", false, "[]", "[]"},
        {"core_v1.Container", "args", false, "[\"<\",\"b\"]", "[\"\\u003c\",\"b\"]"},
        {"core_v1.PodSpec", "nodeSelector", false, NULL, "null"},
        {"core_v1.PodSpec", "nodeSelector", false, "{\"a\":\"b\",\"c<\":\"\"}",
         "{\"a\":\"b\",\"c\\u003c\":\"\"}"},
        /* Types that print themselves. */
        {"certificates_v1.CertificateSigningRequestSpec", "request", false, "\"YWJj\"", "\"YWJj\""},
        {"certificates_v1.CertificateSigningRequestSpec", "request", false, NULL, "null"},
        {"meta_v1.ObjectMeta", "creationTimestamp", false, NULL, "null"},
        {"meta_v1.ObjectMeta", "creationTimestamp", false, "\"2024-01-02T03:04:05Z\"",
         "\"2024-01-02T03:04:05Z\""},
        {"core_v1.EmptyDirVolumeSource", "sizeLimit", true, "\"1536Mi\"", "\"1536Mi\""},
        {"core_v1.EmptyDirVolumeSource", "sizeLimit", false, NULL, "\"0\""},
        {"core_v1.ServicePort", "targetPort", false, "\"http\"", "\"http\""},
        {"core_v1.ServicePort", "targetPort", false, NULL, "0"},
        {"apps_v1.ControllerRevision", "data", false, "{\"a\":\"<\"}", "{\"a\":\"\\u003c\"}"},
        {"apps_v1.ControllerRevision", "data", false, NULL, "null"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        check_printed(type_of_field(rows[i].type, rows[i].field), rows[i].is_pointer, rows[i].json,
                      rows[i].printed);
}

/* Contract validation 1.4.5, 1.4.6, 1.4.7, 1.4.10: as kube-apiserver v1.34.1 printed them. */
static const struct {
    const char *type;
    bool is_pointer;
    const char *json, *printed;
} structs[] = {
    {"core_v1.ServicePort", false, "{\"port\":80,\"protocol\":\"TCP\",\"targetPort\":0}",
     "{\"Name\":\"\",\"Protocol\":\"TCP\",\"AppProtocol\":null,\"Port\":80,\"TargetPo"
     "rt\":0,\"NodePort\":0}"},
    {"core_v1.Taint", false,
     "{\"effect\":\"NoSchedule\",\"key\":\"a\",\"timeAdded\":\"2024-01-02T03:04:05Z\""
     ",\"value\":\"v\"}",
     "{\"Key\":\"a\",\"Value\":\"v\",\"Effect\":\"NoSchedule\",\"TimeAdded\":\"2024-0"
     "1-02T03:04:05Z\"}"},
    {"core_v1.NodeAddress", false, "{\"address\":\"1.2.3.4\",\"type\":\"InternalIP\"}",
     "{\"Type\":\"InternalIP\",\"Address\":\"1.2.3.4\"}"},
    {"apps_v1.DeploymentStrategy", false,
     "{\"rollingUpdate\":{\"maxSurge\":\"5%\"},\"type\":\"X<\"}",
     "{\"Type\":\"X\\u003c\",\"RollingUpdate\":{\"MaxUnavailable\":0,\"MaxSurge\":\"5"
     "%\"}}"},
    {"apps_v1.DeploymentStrategy", false, "{\"type\":\"x\"}",
     "{\"Type\":\"x\",\"RollingUpdate\":null}"},
    {"apps_v1.DaemonSetUpdateStrategy", false,
     "{\"rollingUpdate\":{\"maxSurge\":3},\"type\":\"X\"}",
     "{\"Type\":\"X\",\"RollingUpdate\":{\"MaxUnavailable\":0,\"MaxSurge\":3}}"},
    {"apps_v1.StatefulSetUpdateStrategy", false,
     "{\"rollingUpdate\":{\"partition\":3},\"type\":\"X\"}",
     "{\"Type\":\"X\",\"RollingUpdate\":{\"Partition\":3,\"MaxUnavailable\":null}}"},
    {"core_v1.SeccompProfile", true, "{\"localhostProfile\":\"x\",\"type\":\"Localhost\"}",
     "{\"Type\":\"Localhost\",\"LocalhostProfile\":\"x\"}"},
    {"core_v1.PodResourceClaim", false, "{\"name\":\"x\"}",
     "{\"Name\":\"x\",\"ResourceClaimName\":null,\"ResourceClaimTemplateName\":null}"},
    {"rbac_v1.RoleRef", false,
     "{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Role\",\"name\":\"b\"}",
     "{\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"Role\",\"Name\":\"b\"}"},
    {"core_v1.SecurityContext", true,
     "{\"allowPrivilegeEscalation\":false,\"capabilities\":{\"add\":[\"X\"]},\"privil"
     "eged\":true,\"runAsUser\":5,\"seccompProfile\":{\"localhostProfile\":\"x\",\"ty"
     "pe\":\"Localhost\"}}",
     "{\"Capabilities\":{\"Add\":[\"X\"],\"Drop\":null},\"Privileged\":true,\"SELinux"
     "Options\":null,\"WindowsOptions\":null,\"RunAsUser\":5,\"RunAsGroup\":null,\"Ru"
     "nAsNonRoot\":null,\"ReadOnlyRootFilesystem\":null,\"AllowPrivilegeEscalation\":"
     "false,\"ProcMount\":null,\"SeccompProfile\":{\"Type\":\"Localhost\",\"Localhost"
     "Profile\":\"x\"},\"AppArmorProfile\":null}"},
    {"core_v1.PodTemplateSpec", false,
     "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"env\":[{"
     "\"name\":\"A\",\"value\":\"&\"}],\"image\":\"j>\",\"imagePullPolicy\":\"IfNotPr"
     "esent\",\"livenessProbe\":{\"failureThreshold\":3,\"periodSeconds\":10,\"succes"
     "sThreshold\":1,\"tcpSocket\":{\"port\":\"x\"},\"timeoutSeconds\":1},\"name\":\""
     "c\",\"ports\":[{\"containerPort\":80,\"protocol\":\"TCP\"}],\"resources\":{\"li"
     "mits\":{\"cpu\":\"1500m\"}},\"terminationMessagePath\":\"/dev/termination-log\""
     ",\"terminationMessagePolicy\":\"File\"}],\"dnsPolicy\":\"ClusterFirst\",\"hostN"
     "etwork\":true,\"restartPolicy\":\"Never\",\"schedulerName\":\"default-scheduler"
     "\",\"securityContext\":{},\"terminationGracePeriodSeconds\":30,\"volumes\":[{\""
     "emptyDir\":{},\"name\":\"v\"}]}}",
     "{\"labels\":{\"a\":\"b\"},\"Spec\":{\"Volumes\":[{\"Name\":\"v\",\"HostPath\":n"
     "ull,\"EmptyDir\":{\"Medium\":\"\",\"SizeLimit\":null},\"GCEPersistentDisk\":nul"
     "l,\"AWSElasticBlockStore\":null,\"GitRepo\":null,\"Secret\":null,\"NFS\":null,"
     "\"ISCSI\":null,\"Glusterfs\":null,\"PersistentVolumeClaim\":null,\"RBD\":null,"
     "\"Quobyte\":null,\"FlexVolume\":null,\"Cinder\":null,\"CephFS\":null,\"Flocker"
     "\":null,\"DownwardAPI\":null,\"FC\":null,\"AzureFile\":null,\"ConfigMap\":null,"
     "\"VsphereVolume\":null,\"AzureDisk\":null,\"PhotonPersistentDisk\":null,\"Proje"
     "cted\":null,\"PortworxVolume\":null,\"ScaleIO\":null,\"StorageOS\":null,\"CSI\""
     ":null,\"Ephemeral\":null,\"Image\":null}],\"InitContainers\":null,\"Containers"
     "\":[{\"Name\":\"c\",\"Image\":\"j\\u003e\",\"Command\":null,\"Args\":null,\"Wor"
     "kingDir\":\"\",\"Ports\":[{\"Name\":\"\",\"HostPort\":0,\"ContainerPort\":80,\""
     "Protocol\":\"TCP\",\"HostIP\":\"\"}],\"EnvFrom\":null,\"Env\":[{\"Name\":\"A\","
     "\"Value\":\"\\u0026\",\"ValueFrom\":null}],\"Resources\":{\"Limits\":{\"cpu\":"
     "\"1500m\"},\"Requests\":null,\"Claims\":null},\"ResizePolicy\":null,\"RestartPo"
     "licy\":null,\"RestartPolicyRules\":null,\"VolumeMounts\":null,\"VolumeDevices\""
     ":null,\"LivenessProbe\":{\"Exec\":null,\"HTTPGet\":null,\"TCPSocket\":{\"Port\""
     ":\"x\",\"Host\":\"\"},\"GRPC\":null,\"InitialDelaySeconds\":0,\"TimeoutSeconds"
     "\":1,\"PeriodSeconds\":10,\"SuccessThreshold\":1,\"FailureThreshold\":3,\"Termi"
     "nationGracePeriodSeconds\":null},\"ReadinessProbe\":null,\"StartupProbe\":null,"
     "\"Lifecycle\":null,\"TerminationMessagePath\":\"/dev/termination-log\",\"Termin"
     "ationMessagePolicy\":\"File\",\"ImagePullPolicy\":\"IfNotPresent\",\"SecurityCo"
     "ntext\":null,\"Stdin\":false,\"StdinOnce\":false,\"TTY\":false}],\"EphemeralCon"
     "tainers\":null,\"RestartPolicy\":\"Never\",\"TerminationGracePeriodSeconds\":30"
     ",\"ActiveDeadlineSeconds\":null,\"DNSPolicy\":\"ClusterFirst\",\"NodeSelector\""
     ":null,\"ServiceAccountName\":\"\",\"AutomountServiceAccountToken\":null,\"NodeN"
     "ame\":\"\",\"SecurityContext\":{\"HostNetwork\":true,\"HostPID\":false,\"HostIP"
     "C\":false,\"ShareProcessNamespace\":null,\"HostUsers\":null,\"SELinuxOptions\":"
     "null,\"WindowsOptions\":null,\"RunAsUser\":null,\"RunAsGroup\":null,\"RunAsNonR"
     "oot\":null,\"SupplementalGroups\":null,\"SupplementalGroupsPolicy\":null,\"FSGr"
     "oup\":null,\"FSGroupChangePolicy\":null,\"Sysctls\":null,\"SeccompProfile\":nul"
     "l,\"AppArmorProfile\":null,\"SELinuxChangePolicy\":null},\"ImagePullSecrets\":n"
     "ull,\"Hostname\":\"\",\"Subdomain\":\"\",\"SetHostnameAsFQDN\":null,\"Affinity"
     "\":null,\"SchedulerName\":\"default-scheduler\",\"Tolerations\":null,\"HostAlia"
     "ses\":null,\"PriorityClassName\":\"\",\"Priority\":null,\"PreemptionPolicy\":nu"
     "ll,\"DNSConfig\":null,\"ReadinessGates\":null,\"RuntimeClassName\":null,\"Overh"
     "ead\":null,\"EnableServiceLinks\":null,\"TopologySpreadConstraints\":null,\"OS"
     "\":null,\"SchedulingGates\":null,\"ResourceClaims\":null,\"Resources\":null,\"H"
     "ostnameOverride\":null}}"},
    {"meta_v1.LabelSelector", true,
     "{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"Exists\"}],\"matchLabels\""
     ":{\"a\":\"c\"}}",
     "{\"matchLabels\":{\"a\":\"c\"},\"matchExpressions\":[{\"key\":\"k\",\"operator"
     "\":\"Exists\"}]}"},
    {"meta_v1.OwnerReference", false,
     "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"name\":\"x\",\"uid\":\"1\"}",
     "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"name\":\"x\",\"uid\":\"1\"}"},
    {"meta_v1.Condition", false,
     "{\"lastTransitionTime\":null,\"message\":\"\",\"reason\":\"\",\"status\":\"True"
     "\",\"type\":\"A\"}",
     "{\"type\":\"A\",\"status\":\"True\",\"lastTransitionTime\":null,\"reason\":\"\""
     ",\"message\":\"\"}"},
    {"admissionregistration_v1.NamedRuleWithOperations", false,
     "{\"apiGroups\":[\"a\"],\"operations\":[\"*\"]}",
     "{\"ResourceNames\":null,\"RuleWithOperations\":{\"Operations\":[\"*\"],\"APIGro"
     "ups\":[\"a\"],\"APIVersions\":null,\"Resources\":null,\"Scope\":null}}"},
    {"apiextensions_v1.JSONSchemaProps", false,
     "{\"additionalItems\":false,\"additionalProperties\":{\"items\":{\"pattern\":\"<\"},\"type\":\"array\"},\"dependencies\":{\"a\":[\"b\"]},\"items\":[{\"type\":\"string\"}],\"nullable\":true,\"type\":\"object\"}",
     "{\"ID\":\"\",\"Schema\":\"\",\"Ref\":null,\"Description\":\"\",\"Type\":\"object\","
     "\"Nullable\":true,\"Format\":\"\",\"Title\":\"\",\"Default\":null,\"Maximum\":null,"
     "\"ExclusiveMaximum\":false,\"Minimum\":null,\"ExclusiveMinimum\":false,\"MaxLength\""
     ":null,\"MinLength\":null,\"Pattern\":\"\",\"MaxItems\":null,\"MinItems\":null,\"Uniq"
     "ueItems\":false,\"MultipleOf\":null,\"Enum\":null,\"MaxProperties\":null,\"MinProper"
     "ties\":null,\"Required\":null,\"Items\":{\"Schema\":null,\"JSONSchemas\":[{\"ID\":\""
     "\",\"Schema\":\"\",\"Ref\":null,\"Description\":\"\",\"Type\":\"string\",\"Nullable"
     "\":false,\"Format\":\"\",\"Title\":\"\",\"Default\":null,\"Maximum\":null,\"Exclusiv"
     "eMaximum\":false,\"Minimum\":null,\"ExclusiveMinimum\":false,\"MaxLength\":null,\"Mi"
     "nLength\":null,\"Pattern\":\"\",\"MaxItems\":null,\"MinItems\":null,\"UniqueItems\":"
     "false,\"MultipleOf\":null,\"Enum\":null,\"MaxProperties\":null,\"MinProperties\":nul"
     "l,\"Required\":null,\"Items\":null,\"AllOf\":null,\"OneOf\":null,\"AnyOf\":null,\"No"
     "t\":null,\"Properties\":null,\"AdditionalProperties\":null,\"PatternProperties\":nul"
     "l,\"Dependencies\":null,\"AdditionalItems\":null,\"Definitions\":null,\"ExternalDocs"
     "\":null,\"Example\":null,\"XPreserveUnknownFields\":null,\"XEmbeddedResource\":false"
     ",\"XIntOrString\":false,\"XListMapKeys\":null,\"XListType\":null,\"XMapType\":null,"
     "\"XValidations\":null}]},\"AllOf\":null,\"OneOf\":null,\"AnyOf\":null,\"Not\":null,"
     "\"Properties\":null,\"AdditionalProperties\":{\"Allows\":true,\"Schema\":{\"ID\":\""
     "\",\"Schema\":\"\",\"Ref\":null,\"Description\":\"\",\"Type\":\"array\",\"Nullable\""
     ":false,\"Format\":\"\",\"Title\":\"\",\"Default\":null,\"Maximum\":null,\"ExclusiveM"
     "aximum\":false,\"Minimum\":null,\"ExclusiveMinimum\":false,\"MaxLength\":null,\"MinL"
     "ength\":null,\"Pattern\":\"\",\"MaxItems\":null,\"MinItems\":null,\"UniqueItems\":fa"
     "lse,\"MultipleOf\":null,\"Enum\":null,\"MaxProperties\":null,\"MinProperties\":null,"
     "\"Required\":null,\"Items\":{\"Schema\":{\"ID\":\"\",\"Schema\":\"\",\"Ref\":null,\""
     "Description\":\"\",\"Type\":\"\",\"Nullable\":false,\"Format\":\"\",\"Title\":\"\","
     "\"Default\":null,\"Maximum\":null,\"ExclusiveMaximum\":false,\"Minimum\":null,\"Excl"
     "usiveMinimum\":false,\"MaxLength\":null,\"MinLength\":null,\"Pattern\":\"\\u003c\","
     "\"MaxItems\":null,\"MinItems\":null,\"UniqueItems\":false,\"MultipleOf\":null,\"Enum"
     "\":null,\"MaxProperties\":null,\"MinProperties\":null,\"Required\":null,\"Items\":nu"
     "ll,\"AllOf\":null,\"OneOf\":null,\"AnyOf\":null,\"Not\":null,\"Properties\":null,\"A"
     "dditionalProperties\":null,\"PatternProperties\":null,\"Dependencies\":null,\"Additi"
     "onalItems\":null,\"Definitions\":null,\"ExternalDocs\":null,\"Example\":null,\"XPres"
     "erveUnknownFields\":null,\"XEmbeddedResource\":false,\"XIntOrString\":false,\"XListM"
     "apKeys\":null,\"XListType\":null,\"XMapType\":null,\"XValidations\":null},\"JSONSche"
     "mas\":null},\"AllOf\":null,\"OneOf\":null,\"AnyOf\":null,\"Not\":null,\"Properties\""
     ":null,\"AdditionalProperties\":null,\"PatternProperties\":null,\"Dependencies\":null"
     ",\"AdditionalItems\":null,\"Definitions\":null,\"ExternalDocs\":null,\"Example\":nul"
     "l,\"XPreserveUnknownFields\":null,\"XEmbeddedResource\":false,\"XIntOrString\":false"
     ",\"XListMapKeys\":null,\"XListType\":null,\"XMapType\":null,\"XValidations\":null}},"
     "\"PatternProperties\":null,\"Dependencies\":{\"a\":{\"Schema\":null,\"Property\":[\""
     "b\"]}},\"AdditionalItems\":{\"Allows\":false,\"Schema\":null},\"Definitions\":null,"
     "\"ExternalDocs\":null,\"Example\":null,\"XPreserveUnknownFields\":null,\"XEmbeddedRe"
     "source\":false,\"XIntOrString\":false,\"XListMapKeys\":null,\"XListType\":null,\"XMa"
     "pType\":null,\"XValidations\":null}"},
};

TEST(go_value, prints_structs_as_upstream_does)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(structs); i++) {
        const struct cor_type *type = cor_type_named(cor_strz(structs[i].type));

        check_printed(type, structs[i].is_pointer, structs[i].json, structs[i].printed);
    }
    check_printed(cor_type_named(COR_STR("core_v1.Affinity")), true, NULL, "null");
    check_printed(cor_type_named(COR_STR("core_v1.NodeAddress")), false, NULL,
                  "{\"Type\":\"\",\"Address\":\"\"}");
    check_printed(cor_type_named(COR_STR("core_v1.NodeAddress")), true, "null", "null");
}

/* The host's namespaces are fields of the pod for clients, and of its security context inside. */
TEST(go_value, security_context_of_a_pod_is_never_nil)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = OUT_MAX};

    assert_int_equal(cor_go_value(cor_type_named(COR_STR("core_v1.PodSpec")), false,
                                  COR_STR("{\"hostPID\":true,\"hostUsers\":false}"), &out),
                     0);
    assert_non_null(strstr(cor_buf_z(&out),
                           "\"SecurityContext\":{\"HostNetwork\":false,\"HostPID\":true,"
                           "\"HostIPC\":false,\"ShareProcessNamespace\":null,\"HostUsers\":false,"
                           "\"SELinuxOptions\":null"));
    assert_null(strstr(cor_buf_z(&out), "\"hostPID\""));
}

/* Each row of the differences names a type and its fields; what is not a field of it has a value.
 */
TEST(go_value, differences_name_fields_of_types)
{
    const char *name;

    for (size_t i = 0; (name = cor_internal_type_at(i)); i++) {
        const struct cor_type *type = cor_type_named(cor_strz(name));
        struct cor_internal_field field;
        struct cor_str fields;

        assert_non_null(type);
        assert_true(cor_internal_fields(type, &fields));
        while (cor_internal_fields_next(&fields, &field)) {
            bool is_known = false;

            for (size_t j = 0; j < cor_type_nfields(type); j++)
                is_known |= cor_str_eq(cor_type_field_go_name(cor_type_field(type, j)), field.name);
            assert_int_equal(!is_known, field.mark == COR_INTERNAL_CONSTANT ||
                                            field.mark == COR_INTERNAL_AROUND);
            assert_int_equal(!is_known, field.json.n > 0);
        }
    }
}

/* Whatever an object holds, its printed form is JSON. */
TEST(go_value, every_kind_is_printed_as_json)
{
    static const struct cor_json_limits limits = {OUT_MAX, COR_JSON_DEPTH_MAX, true};

    for (size_t i = 0; i < cor_types_count(); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = OUT_MAX};
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = OUT_MAX};
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = OUT_MAX};
        const struct cor_type *type = cor_type_at(i);
        bool is_canonical;

        if (!cor_type_is(type, COR_TYPE_KIND))
            continue;
        random_object(type, i % 2 ? RANDOM_FULL : RANDOM_LOOSE, &text);
        assert_int_equal(cor_json_canonicalize(cor_buf_str(&text), &limits, &json, NULL, NULL), 0);
        assert_int_equal(cor_go_value(type, false, cor_buf_str(&json), &out), 0);
        assert_int_equal(cor_json_check(cor_buf_str(&out), &limits, &is_canonical, NULL), 0);
    }
}

TEST(go_value, no_memory)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(structs); i++) {
        const struct cor_type *type = cor_type_named(cor_strz(structs[i].type));

        FOR_EACH_FAILED_ALLOC(n) {
            COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = OUT_MAX};
            int r = cor_go_value(type, structs[i].is_pointer, cor_strz(structs[i].json), &out);

            if (r == 0)
                assert_string_equal(cor_buf_z(&out), structs[i].printed);
            else
                assert_int_equal(r, -COR_ENOMEM);
        }
    }
}

TEST(go_value, stops_at_the_maximum)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 10};

    assert_int_equal(
        cor_go_value(cor_type_named(COR_STR("core_v1.PodSpec")), false, COR_STR("{}"), &out),
        -COR_ETOOBIG);
}
