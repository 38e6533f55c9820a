/* The defaults of the built-in types. Rows give JSON with ' in place of ", which no value here
 * has; a value of a type is given, not a whole object, where the type has the defaults. */
#include "schema/walk/default.h"

#include "../rows.h"
#include "base/err.h"
#include "base/mem.h"
#include "meta/value/time_text.h"
#include "schema/go/image_reference.h"
#include "schema/types/rules.h"
#include "schema/walk/rewrite.h"
#include "json/text/scan.h"

struct row {
    const char *type, *in;
    const char *out; /* NULL: unchanged */
};

/* Applies the defaults twice: the second time changes nothing. */
static void check_row(const struct row *row)
{
    char in[JSON_MAX], want[JSON_MAX];
    struct cor_str json = quoted(row->in, in);
    struct cor_buf out, again;
    int r;

    cor_buf_init(&out, JSON_MAX);
    cor_buf_init(&again, JSON_MAX);
    r = cor_default(named(row->type), json, &out);
    if (!row->out && r != 0)
        fail_msg("%s: %s becomes %s", row->type, row->in, cor_buf_z(&out));
    if (row->out) {
        if (r != 1)
            fail_msg("%s: %s does not change", row->type, row->in);
        if (!cor_str_eq(cor_buf_str(&out), quoted(row->out, want)))
            fail_msg("%s: %s becomes\n%s instead of\n%s", row->type, row->in, cor_buf_z(&out),
                     want);
        if (cor_default(named(row->type), cor_buf_str(&out), &again) != 0)
            fail_msg("%s: %s becomes %s in the end", row->type, row->in, cor_buf_z(&again));
    }
    assert_int_equal(again.n, 0);
    cor_buf_deinit(&out);
    cor_buf_deinit(&again);
}

#define CHECK_ROWS(rows)                                                                           \
    for (size_t i_ = 0; i_ < COR_ARRAY_LEN(rows); i_++)                                            \
    check_row(&(rows)[i_])

/* clang-format off */

/* Contract types 3.1.2, 3.2.1. */
TEST(default, fills_in_pod_specs)
{
    static const struct row rows[] = {
        {"core_v1.PodSpec", "{'containers':null}",
         "{'containers':null,'dnsPolicy':'ClusterFirst','restartPolicy':'Always',"
         "'schedulerName':'default-scheduler','securityContext':{},'terminationGracePeriodSeconds':30}"},
        {"core_v1.PodSpec",
         "{'containers':null,'dnsPolicy':'None','restartPolicy':'Never','schedulerName':'mine',"
         "'securityContext':{'runAsUser':0},'terminationGracePeriodSeconds':0}", NULL},
        {"core_v1.Container", "{'image':'nginx:1','name':'c','resources':{}}",
         "{'image':'nginx:1','imagePullPolicy':'IfNotPresent','name':'c','resources':{},"
         "'terminationMessagePath':'/dev/termination-log','terminationMessagePolicy':'File'}"},
        {"core_v1.EphemeralContainer", "{'image':'nginx','name':'c','resources':{}}",
         "{'image':'nginx','imagePullPolicy':'Always','name':'c','resources':{},"
         "'terminationMessagePath':'/dev/termination-log','terminationMessagePolicy':'File'}"},
        {"core_v1.Container",
         "{'image':'nginx','imagePullPolicy':'Never','name':'c','resources':{},"
         "'terminationMessagePath':'/log','terminationMessagePolicy':'FallbackToLogsOnError'}", NULL},
        {"core_v1.ContainerPort", "{'containerPort':80}", "{'containerPort':80,'protocol':'TCP'}"},
        {"core_v1.ContainerPort", "{'containerPort':80,'protocol':'UDP'}", NULL},
        {"core_v1.EnvVarSource", "{'fieldRef':{'fieldPath':'metadata.name'}}",
         "{'fieldRef':{'apiVersion':'v1','fieldPath':'metadata.name'}}"},
        {"core_v1.Probe", "{'tcpSocket':{'port':80}}",
         "{'failureThreshold':3,'periodSeconds':10,'successThreshold':1,'tcpSocket':{'port':80},'timeoutSeconds':1}"},
        {"core_v1.Probe",
         "{'failureThreshold':9,'httpGet':{'port':'http'},'periodSeconds':9,'successThreshold':9,'timeoutSeconds':9}",
         "{'failureThreshold':9,'httpGet':{'path':'/','port':'http','scheme':'HTTP'},'periodSeconds':9,"
         "'successThreshold':9,'timeoutSeconds':9}"},
        {"core_v1.Lifecycle", "{'preStop':{'httpGet':{'path':'/stop','port':1}}}",
         "{'preStop':{'httpGet':{'path':'/stop','port':1,'scheme':'HTTP'}}}"},
        {"core_v1.GRPCAction", "{'port':1,'service':null}", "{'port':1,'service':''}"},
        {"core_v1.GRPCAction", "{'port':1}", "{'port':1,'service':''}"},
    };

    CHECK_ROWS(rows);
}

TEST(default, fills_in_volumes)
{
    static const struct row rows[] = {
        {"core_v1.Volume", "{'name':'v'}", "{'emptyDir':{},'name':'v'}"},
        {"core_v1.Volume", "{'emptyDir':{'medium':'Memory'},'name':'v'}", NULL},
        {"core_v1.Volume", "{'name':'v','secret':{'secretName':'s'}}",
         "{'name':'v','secret':{'defaultMode':420,'secretName':'s'}}"},
        {"core_v1.Volume", "{'configMap':{'defaultMode':0,'name':'c'},'name':'v'}", NULL},
        {"core_v1.Volume", "{'downwardAPI':{'items':[{'fieldRef':{'fieldPath':'x'},'path':'p'}]},'name':'v'}",
         "{'downwardAPI':{'defaultMode':420,'items':[{'fieldRef':{'apiVersion':'v1','fieldPath':'x'},'path':'p'}]},'name':'v'}"},
        {"core_v1.Volume", "{'name':'v','projected':{'sources':[{'serviceAccountToken':{'path':'t'}}]}}",
         "{'name':'v','projected':{'defaultMode':420,'sources':[{'serviceAccountToken':{'expirationSeconds':3600,'path':'t'}}]}}"},
        {"core_v1.Volume", "{'hostPath':{'path':'/p'},'name':'v'}", "{'hostPath':{'path':'/p','type':''},'name':'v'}"},
        {"core_v1.Volume", "{'ephemeral':{'volumeClaimTemplate':{'metadata':{},'spec':{'resources':{}}}},'name':'v'}",
         "{'ephemeral':{'volumeClaimTemplate':{'metadata':{},'spec':{'resources':{},'volumeMode':'Filesystem'}}},'name':'v'}"},
        {"core_v1.Volume", "{'iscsi':{'iqn':'i','lun':0,'targetPortal':'t'},'name':'v'}",
         "{'iscsi':{'iqn':'i','iscsiInterface':'default','lun':0,'targetPortal':'t'},'name':'v'}"},
        {"core_v1.Volume", "{'name':'v','rbd':{'image':'i','monitors':null}}",
         "{'name':'v','rbd':{'image':'i','keyring':'/etc/ceph/keyring','monitors':null,'pool':'rbd','user':'admin'}}"},
        {"core_v1.Volume", "{'azureDisk':{'diskName':'d','diskURI':'u'},'name':'v'}",
         "{'azureDisk':{'cachingMode':'ReadWrite','diskName':'d','diskURI':'u','fsType':'ext4','kind':'Shared','readOnly':false},"
         "'name':'v'}"},
        {"core_v1.Volume", "{'name':'v','scaleIO':{'gateway':'g','secretRef':null,'system':'s'}}",
         "{'name':'v','scaleIO':{'fsType':'xfs','gateway':'g','secretRef':null,'storageMode':'ThinProvisioned','system':'s'}}"},
    };

    CHECK_ROWS(rows);
}

/* Contract types 3.2.1: what a template does not get. */
TEST(default, gives_a_pod_what_a_template_does_not_get)
{
    static const struct row rows[] = {
        {"core_v1.Pod",
         "{'kind':'Pod','apiVersion':'v1','metadata':{},'spec':{'containers':[{'image':'a:1','imagePullPolicy':'Never','name':'c',"
         "'ports':[{'containerPort':80,'protocol':'TCP'},{'containerPort':81,'hostPort':91,'protocol':'TCP'}],"
         "'resources':{'limits':{'cpu':'1','memory':'1Gi'},'requests':{'cpu':'500m'}},"
         "'terminationMessagePath':'/l','terminationMessagePolicy':'File'}],'dnsPolicy':'Default','hostNetwork':true,"
         "'initContainers':[{'image':'a:1','imagePullPolicy':'Never','name':'i','resources':{'limits':{'x/y':'1'}},"
         "'terminationMessagePath':'/l','terminationMessagePolicy':'File'}],"
         "'restartPolicy':'Never','schedulerName':'s','securityContext':{},'terminationGracePeriodSeconds':1},'status':{}}",
         "{'kind':'Pod','apiVersion':'v1','metadata':{},'spec':{'containers':[{'image':'a:1','imagePullPolicy':'Never','name':'c',"
         "'ports':[{'containerPort':80,'hostPort':80,'protocol':'TCP'},{'containerPort':81,'hostPort':91,'protocol':'TCP'}],"
         "'resources':{'limits':{'cpu':'1','memory':'1Gi'},'requests':{'cpu':'500m','memory':'1Gi'}},"
         "'terminationMessagePath':'/l','terminationMessagePolicy':'File'}],'dnsPolicy':'Default','enableServiceLinks':true,"
         "'hostNetwork':true,'initContainers':[{'image':'a:1','imagePullPolicy':'Never','name':'i',"
         "'resources':{'limits':{'x/y':'1'},'requests':{'x/y':'1'}},"
         "'terminationMessagePath':'/l','terminationMessagePolicy':'File'}],"
         "'restartPolicy':'Never','schedulerName':'s','securityContext':{},'terminationGracePeriodSeconds':1},'status':{}}"},
        {"core_v1.PodTemplateSpec",
         "{'metadata':{},'spec':{'containers':[{'image':'a:1','imagePullPolicy':'Never','name':'c',"
         "'ports':[{'containerPort':80,'protocol':'TCP'}],'resources':{'limits':{'cpu':'1'}},"
         "'terminationMessagePath':'/l','terminationMessagePolicy':'File'}],'dnsPolicy':'Default','hostNetwork':true,"
         "'restartPolicy':'Never','schedulerName':'s','securityContext':{},'terminationGracePeriodSeconds':1}}", NULL},
    };

    CHECK_ROWS(rows);
}

/* Contract types 3.1.2, 3.1.3: requests are copied from limits before both are rounded. */
TEST(default, rounds_resources_up_to_thousandths)
{
    static const struct row rows[] = {
        {"core_v1.ResourceRequirements", "{'limits':{'a':'100u','b':'1','c':'1500m','d':'1000500u','e':'1n','f':'1Gi','g':'1e-6'}}",
         "{'limits':{'a':'1m','b':'1','c':'1500m','d':'1001m','e':'1m','f':'1Gi','g':'1e-3'}}"},
        {"core_v1.Pod",
         "{'spec':{'containers':[{'imagePullPolicy':'Never','name':'c','resources':{'limits':{'cpu':'1u'}},"
         "'terminationMessagePath':'/l','terminationMessagePolicy':'File'}],'dnsPolicy':'Default','enableServiceLinks':false,"
         "'overhead':{'cpu':'3u'},'restartPolicy':'Never','schedulerName':'s','securityContext':{},'terminationGracePeriodSeconds':1}}",
         "{'spec':{'containers':[{'imagePullPolicy':'Never','name':'c','resources':{'limits':{'cpu':'1m'},'requests':{'cpu':'1m'}},"
         "'terminationMessagePath':'/l','terminationMessagePolicy':'File'}],'dnsPolicy':'Default','enableServiceLinks':false,"
         "'overhead':{'cpu':'1m'},'restartPolicy':'Never','schedulerName':'s','securityContext':{},'terminationGracePeriodSeconds':1}}"},
        {"core_v1.ContainerStatus", "{'allocatedResources':{'a':'1u'},'resources':{'limits':{'a':'1u'}}}",
         "{'allocatedResources':{'a':'1m'},'resources':{'limits':{'a':'1m'}}}"},
        {"core_v1.PersistentVolumeClaim", "{'spec':{'resources':{'requests':{'a':'1u'}},'volumeMode':'Block'},"
         "'status':{'allocatedResources':{'a':'1u'},'capacity':{'a':'1u'},'phase':'Bound'}}",
         "{'spec':{'resources':{'requests':{'a':'1m'}},'volumeMode':'Block'},"
         "'status':{'allocatedResources':{'a':'1m'},'capacity':{'a':'1m'},'phase':'Bound'}}"},
        {"core_v1.PersistentVolumeSpec", "{'capacity':{'a':'1u'}}", "{'capacity':{'a':'1m'}}"},
        {"core_v1.Node", "{'status':{'capacity':{'a':'1u'}}}", "{'status':{'allocatable':{'a':'1m'},'capacity':{'a':'1m'}}}"},
        {"core_v1.LimitRangeItem", "{'max':{'a':'1u'},'maxLimitRequestRatio':{'a':'1u'},'min':{'b':'1u'},'type':'Container'}",
         "{'default':{'a':'1m'},'defaultRequest':{'a':'1m','b':'1m'},'max':{'a':'1m'},'maxLimitRequestRatio':{'a':'1m'},'min':{'b':'1m'},"
         "'type':'Container'}"},
        {"core_v1.ResourceQuota", "{'spec':{'hard':{'a':'1u'}},'status':{'hard':{'b':'1u'},'used':{'c':'1u'}}}",
         "{'spec':{'hard':{'a':'1m'}},'status':{'hard':{'b':'1m'},'used':{'c':'1m'}}}"},
        {"node_v1.Overhead", "{'podFixed':{'a':'1u'}}", NULL},
    };

    CHECK_ROWS(rows);
}

#define CONTAINER(name, more, resources)                                                           \
    "{'imagePullPolicy':'Never','name':'" name "'," "'resources':" resources "," more                                      \
    "'terminationMessagePath':'/l','terminationMessagePolicy':'File'}"
#define SIDECAR "'restartPolicy':'Always',"
#define POD_TAIL "'restartPolicy':'Never','schedulerName':'s','securityContext':{},'terminationGracePeriodSeconds':1}}"
#define POD_HEAD "'dnsPolicy':'Default','enableServiceLinks':false,"

TEST(default, adds_up_what_a_pod_requests_as_a_whole)
{
    static const struct row rows[] = {
        /* The sum of what runs at once. */
        {"core_v1.Pod",
         "{'spec':{'containers':[" CONTAINER("a", "", "{'requests':{'cpu':'500m'}}") "," CONTAINER("b", "", "{'requests':{'cpu':'1'}}") "],"
         POD_HEAD "'resources':{'limits':{'cpu':'4','memory':'1Gi'}}," POD_TAIL,
         "{'spec':{'containers':[" CONTAINER("a", "", "{'requests':{'cpu':'500m'}}") "," CONTAINER("b", "", "{'requests':{'cpu':'1'}}") "],"
         POD_HEAD "'resources':{'limits':{'cpu':'4','memory':'1Gi'},'requests':{'cpu':'1500m','memory':'1Gi'}}," POD_TAIL},
        /* An init container may need more, beside those that keep running. */
        {"core_v1.Pod",
         "{'spec':{'containers':[" CONTAINER("a", "", "{'requests':{'cpu':'1'}}") "]," POD_HEAD
         "'initContainers':[" CONTAINER("s", SIDECAR, "{'requests':{'cpu':'2'}}") "," CONTAINER("i", "", "{'requests':{'cpu':'3'}}") "],"
         "'resources':{'limits':{'cpu':'9'}}," POD_TAIL,
         "{'spec':{'containers':[" CONTAINER("a", "", "{'requests':{'cpu':'1'}}") "]," POD_HEAD
         "'initContainers':[" CONTAINER("s", SIDECAR, "{'requests':{'cpu':'2'}}") "," CONTAINER("i", "", "{'requests':{'cpu':'3'}}") "],"
         "'resources':{'limits':{'cpu':'9'},'requests':{'cpu':'5'}}," POD_TAIL},
        /* Huge pages: the pod's limit is what the containers may have, and its request the limit. */
        {"core_v1.Pod",
         "{'spec':{'containers':["
         CONTAINER("a", "", "{'limits':{'hugepages-2Mi':'2Mi'},'requests':{'hugepages-2Mi':'2Mi'}}") ","
         CONTAINER("b", "", "{'limits':{'hugepages-2Mi':'4Mi'},'requests':{'hugepages-2Mi':'4Mi'}}") "],"
         POD_HEAD "'resources':{'requests':{'cpu':'1'}}," POD_TAIL,
         "{'spec':{'containers':["
         CONTAINER("a", "", "{'limits':{'hugepages-2Mi':'2Mi'},'requests':{'hugepages-2Mi':'2Mi'}}") ","
         CONTAINER("b", "", "{'limits':{'hugepages-2Mi':'4Mi'},'requests':{'hugepages-2Mi':'4Mi'}}") "],"
         POD_HEAD "'resources':{'limits':{'hugepages-2Mi':'6Mi'},'requests':{'cpu':'1','hugepages-2Mi':'6Mi'}}," POD_TAIL},
        /* A sum beyond an int64 is capped when its text has a suffix that is a power of two. */
        {"core_v1.Pod",
         "{'spec':{'containers':[" CONTAINER("a", "", "{'requests':{'memory':'1Ki'}}") ","
         CONTAINER("b", "", "{'requests':{'memory':'100000000000000000000'}}") "],"
         POD_HEAD "'resources':{'limits':{'cpu':'1'}}," POD_TAIL,
         "{'spec':{'containers':[" CONTAINER("a", "", "{'requests':{'memory':'1Ki'}}") ","
         CONTAINER("b", "", "{'requests':{'memory':'100000000000000000000'}}") "],"
         POD_HEAD "'resources':{'limits':{'cpu':'1'},'requests':{'cpu':'1','memory':'9223372036854775807'}}," POD_TAIL},
        /* What cannot be added up leaves the default out, and is not replaced by a part of the sum. */
        {"core_v1.Pod",
         "{'spec':{'containers':[" CONTAINER("a", "", "{'requests':{'memory':'100e198'}}") ","
         CONTAINER("b", "", "{'requests':{'memory':'1'}}") "," CONTAINER("c", "", "{'requests':{'memory':'2'}}") "],"
         POD_HEAD "'resources':{'limits':{'cpu':'1'},'requests':{'cpu':'1'}}," POD_TAIL, NULL},
        /* Without limits and requests of its own a pod gets none; other resources are not the pod's. */
        {"core_v1.Pod",
         "{'spec':{'containers':[" CONTAINER("a", "", "{'requests':{'cpu':'1'}}") "]," POD_HEAD "'resources':{}," POD_TAIL, NULL},
        {"core_v1.Pod",
         "{'spec':{'containers':[" CONTAINER("a", "", "{'requests':{'x/y':'1'}}") "]," POD_HEAD
         "'resources':{'limits':{'x/y':'1'}}," POD_TAIL, NULL},
    };

    CHECK_ROWS(rows);
}

/* Contract types 2.6.12. */
TEST(default, agrees_with_a_trip_through_upstreams_internal_types)
{
    static const struct row rows[] = {
        {"core_v1.PodStatus", "{'podIP':'1.1.1.1'}", "{'podIP':'1.1.1.1','podIPs':[{'ip':'1.1.1.1'}]}"},
        {"core_v1.PodStatus", "{'podIPs':[{'ip':'1.1.1.1'},{'ip':'::1'}]}",
         "{'podIP':'1.1.1.1','podIPs':[{'ip':'1.1.1.1'},{'ip':'::1'}]}"},
        {"core_v1.PodStatus", "{'podIP':'2.2.2.2','podIPs':[{'ip':'1.1.1.1'},{'ip':'::1'}]}",
         "{'podIP':'2.2.2.2','podIPs':[{'ip':'2.2.2.2'}]}"},
        {"core_v1.PodStatus", "{'hostIP':'2.2.2.2'}", NULL},
        {"core_v1.PodStatus", "{'podIP':'1.1.1.1','podIPs':[{'ip':'1.1.1.1'}]}", NULL},
        {"core_v1.NodeSpec", "{'podCIDR':'10.0.0.0/8'}", "{'podCIDR':'10.0.0.0/8','podCIDRs':['10.0.0.0/8']}"},
        {"core_v1.NodeSpec", "{'podCIDRs':['10.0.0.0/8','fd00::/8']}",
         "{'podCIDR':'10.0.0.0/8','podCIDRs':['10.0.0.0/8','fd00::/8']}"},
        {"core_v1.NodeSpec", "{'podCIDR':'11.0.0.0/8','podCIDRs':['10.0.0.0/8','fd00::/8']}",
         "{'podCIDR':'11.0.0.0/8','podCIDRs':['11.0.0.0/8']}"},
        {"core_v1.NodeSpec", "{}", NULL},
        {"core_v1.PodStatus", "{'podIPs':[{'ip':''}]}", NULL},
        {"core_v1.PodStatus", "{'podIPs':[{}]}", NULL},
        {"core_v1.NodeSpec", "{'podCIDRs':['']}", NULL},
        {"core_v1.PodTemplateSpec",
         "{'metadata':{'annotations':{'a':'b','pod.alpha.kubernetes.io/init-containers':'x','pod.beta.kubernetes.io/init-containers':'x'}}}",
         "{'metadata':{'annotations':{'a':'b'}}}"},
        {"core_v1.PodTemplateSpec", "{'metadata':{'annotations':{'pod.beta.kubernetes.io/init-container-statuses':'x'}}}", "{'metadata':{}}"},
        {"core_v1.Pod",
         "{'metadata':{'annotations':{'pod.alpha.kubernetes.io/init-container-statuses':'x'}},'spec':{'containers':null,"
         POD_HEAD "'restartPolicy':'Never','schedulerName':'s','securityContext':{},'serviceAccount':'a','terminationGracePeriodSeconds':-5}}",
         "{'metadata':{},'spec':{'containers':null,"
         POD_HEAD "'restartPolicy':'Never','schedulerName':'s','securityContext':{},'serviceAccount':'a','serviceAccountName':'a',"
         "'terminationGracePeriodSeconds':1}}"},
        {"core_v1.PodSpec",
         "{'containers':null," POD_HEAD "'restartPolicy':'Never','schedulerName':'s','securityContext':{},'serviceAccount':'a',"
         "'serviceAccountName':'b','terminationGracePeriodSeconds':-5}",
         "{'containers':null," POD_HEAD "'restartPolicy':'Never','schedulerName':'s','securityContext':{},'serviceAccount':'b',"
         "'serviceAccountName':'b','terminationGracePeriodSeconds':-5}"},
    };

    CHECK_ROWS(rows);
}

/* Contract types 3.3.3 (b, c, e). */
TEST(default, fills_in_workloads)
{
    static const struct row rows[] = {
        {"apps_v1.Deployment", "{'kind':'Deployment','apiVersion':'apps/v1','spec':{'selector':null,'strategy':{}}}",
         "{'kind':'Deployment','apiVersion':'apps/v1','spec':{'progressDeadlineSeconds':600,'replicas':1,'revisionHistoryLimit':10,"
         "'selector':null,'strategy':{'rollingUpdate':{'maxSurge':'25%','maxUnavailable':'25%'},'type':'RollingUpdate'}}}"},
        {"apps_v1.Deployment", "{'spec':{'progressDeadlineSeconds':1,'replicas':0,'revisionHistoryLimit':0,'strategy':{'type':'Recreate'}}}",
         NULL},
        {"apps_v1.Deployment",
         "{'spec':{'progressDeadlineSeconds':1,'replicas':2,'revisionHistoryLimit':0,"
         "'strategy':{'rollingUpdate':{'maxSurge':0},'type':'RollingUpdate'}}}",
         "{'spec':{'progressDeadlineSeconds':1,'replicas':2,'revisionHistoryLimit':0,"
         "'strategy':{'rollingUpdate':{'maxSurge':0,'maxUnavailable':'25%'},'type':'RollingUpdate'}}}"},
        {"apps_v1.ReplicaSet", "{'spec':{'selector':null}}", "{'spec':{'replicas':1,'selector':null}}"},
        {"apps_v1.DaemonSet", "{'spec':{'updateStrategy':{}}}",
         "{'spec':{'revisionHistoryLimit':10,'updateStrategy':{'rollingUpdate':{'maxSurge':0,'maxUnavailable':1},'type':'RollingUpdate'}}}"},
        {"apps_v1.DaemonSet", "{'spec':{'revisionHistoryLimit':1,'updateStrategy':{'type':'OnDelete'}}}", NULL},
        {"apps_v1.DaemonSet", "{'metadata':{'annotations':{'x':'1'}},'spec':{'revisionHistoryLimit':1,'updateStrategy':{'type':'OnDelete'}}}",
         "{'metadata':{'annotations':{'deprecated.daemonset.template.generation':'0','x':'1'}},"
         "'spec':{'revisionHistoryLimit':1,'updateStrategy':{'type':'OnDelete'}}}"},
        {"apps_v1.DaemonSet", "{'metadata':{'annotations':{'deprecated.daemonset.template.generation':'7'}},"
         "'spec':{'revisionHistoryLimit':1,'updateStrategy':{'type':'OnDelete'}}}", NULL},
        {"apps_v1.StatefulSet", "{'spec':{}}",
         "{'spec':{'persistentVolumeClaimRetentionPolicy':{'whenDeleted':'Retain','whenScaled':'Retain'},"
         "'podManagementPolicy':'OrderedReady','replicas':1,'revisionHistoryLimit':10,"
         "'updateStrategy':{'rollingUpdate':{'partition':0},'type':'RollingUpdate'}}}"},
        {"apps_v1.StatefulSet",
         "{'spec':{'persistentVolumeClaimRetentionPolicy':{'whenDeleted':'Delete'},'podManagementPolicy':'Parallel','replicas':1,"
         "'revisionHistoryLimit':10,'updateStrategy':{'type':'RollingUpdate'}}}",
         "{'spec':{'persistentVolumeClaimRetentionPolicy':{'whenDeleted':'Delete','whenScaled':'Retain'},"
         "'podManagementPolicy':'Parallel','replicas':1,'revisionHistoryLimit':10,'updateStrategy':{'type':'RollingUpdate'}}}"},
        {"apps_v1.StatefulSetSpec", "{'volumeClaimTemplates':[{'metadata':{},'spec':{},'status':{}}]}",
         "{'volumeClaimTemplates':[{'metadata':{},'spec':{'volumeMode':'Filesystem'},'status':{'phase':'Pending'}}]}"},
        {"apps_v1.StatefulSet",
         "{'spec':{'persistentVolumeClaimRetentionPolicy':{'whenDeleted':'Delete','whenScaled':'Retain'},"
         "'podManagementPolicy':'Parallel','replicas':1,'revisionHistoryLimit':10,'updateStrategy':{'type':'OnDelete'},"
         "'volumeClaimTemplates':[{'kind':'X','metadata':{},'spec':{'volumeMode':'Block'},'status':{'phase':'Bound'}}]}}",
         "{'spec':{'persistentVolumeClaimRetentionPolicy':{'whenDeleted':'Delete','whenScaled':'Retain'},"
         "'podManagementPolicy':'Parallel','replicas':1,'revisionHistoryLimit':10,'updateStrategy':{'type':'OnDelete'},"
         "'volumeClaimTemplates':[{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{},'spec':{'volumeMode':'Block'},"
         "'status':{'phase':'Bound'}}]}}"},
        {"core_v1.ReplicationController", "{'metadata':{'name':'r'},'spec':{'template':{'metadata':{'labels':{'a':'b'}},'spec':{}}}}",
         "{'metadata':{'labels':{'a':'b'},'name':'r'},'spec':{'replicas':1,'selector':{'a':'b'},"
         "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'dnsPolicy':'ClusterFirst','restartPolicy':'Always',"
         "'schedulerName':'default-scheduler','securityContext':{},'terminationGracePeriodSeconds':30}}}}"},
        {"core_v1.ReplicationController", "{'metadata':{'labels':{'c':'d'}},'spec':{'replicas':0,'selector':{'e':'f'}}}", NULL},
    };

    CHECK_ROWS(rows);
}

/* Contract types 3.3.3 (a). */
TEST(default, fills_in_jobs)
{
    static const struct row rows[] = {
        {"batch_v1.Job", "{'spec':{}}",
         "{'spec':{'backoffLimit':6,'completionMode':'NonIndexed','completions':1,'manualSelector':false,'parallelism':1,"
         "'podReplacementPolicy':'TerminatingOrFailed','suspend':false}}"},
        {"batch_v1.Job", "{'spec':{'backoffLimitPerIndex':0,'completionMode':'Indexed','completions':3,'manualSelector':true,"
         "'podFailurePolicy':{'rules':[{'action':'Ignore','onPodConditions':[{'type':'X'}]}]},'suspend':true}}",
         "{'spec':{'backoffLimit':2147483647,'backoffLimitPerIndex':0,'completionMode':'Indexed','completions':3,"
         "'manualSelector':true,'parallelism':1,"
         "'podFailurePolicy':{'rules':[{'action':'Ignore','onPodConditions':[{'status':'True','type':'X'}]}]},"
         "'podReplacementPolicy':'Failed','suspend':true}}"},
        {"batch_v1.Job", "{'spec':{'backoffLimit':0,'completionMode':'NonIndexed','manualSelector':false,'parallelism':0,"
         "'podReplacementPolicy':'Failed','suspend':false}}", NULL},
        {"batch_v1.CronJob", "{'spec':{'jobTemplate':{'metadata':{}},'schedule':'* * * * *'}}",
         "{'spec':{'concurrencyPolicy':'Allow','failedJobsHistoryLimit':1,'jobTemplate':{'metadata':{}},'schedule':'* * * * *',"
         "'successfulJobsHistoryLimit':3,'suspend':false}}"},
    };

    CHECK_ROWS(rows);
}

/* Contract types 3.3.3 (a): with the labels that the server has added to the template. */
TEST(default, gives_a_job_the_labels_of_its_template_when_it_is_stored)
{
    static const struct {
        const char *in, *out; /* NULL: unchanged */
    } rows[] = {
        {"{'metadata':{},'spec':{'template':{'metadata':{'labels':{'job-name':'j'}}}}}",
         "{'metadata':{'labels':{'job-name':'j'}},'spec':{'template':{'metadata':{'labels':{'job-name':'j'}}}}}"},
        {"{'metadata':{'labels':{'a':'b'}},'spec':{'template':{'metadata':{'labels':{'job-name':'j'}}}}}", NULL},
        {"{'metadata':{},'spec':{'template':{'metadata':{}}}}", NULL},
        {"[]", NULL},
    };
    char in[JSON_MAX], want[JSON_MAX];
    struct cor_buf out;

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        cor_buf_init(&out, JSON_MAX);
        assert_int_equal(cor_default_late(named("batch_v1.Job"), quoted(rows[i].in, in), &out), rows[i].out ? 1 : 0);
        if (rows[i].out)
            assert_string_equal(cor_buf_z(&out), quoted(rows[i].out, want).p);
        cor_buf_deinit(&out);
    }
}

/* Contract types 3.3.3 (d). */
TEST(default, fills_in_services)
{
    static const struct row rows[] = {
        {"core_v1.Service", "{'spec':{'ports':[{'port':80,'targetPort':0},{'port':81,'protocol':'UDP','targetPort':'web'}]}}",
         "{'spec':{'internalTrafficPolicy':'Cluster','ports':[{'port':80,'protocol':'TCP','targetPort':80},"
         "{'port':81,'protocol':'UDP','targetPort':'web'}],'sessionAffinity':'None','type':'ClusterIP'}}"},
        {"core_v1.Service", "{'spec':{'sessionAffinity':'None','sessionAffinityConfig':{'clientIP':{'timeoutSeconds':1}},'type':'ExternalName'}}",
         "{'spec':{'sessionAffinity':'None','type':'ExternalName'}}"},
        {"core_v1.Service", "{'spec':{'externalIPs':['1.2.3.4'],'internalTrafficPolicy':'Local','sessionAffinity':'ClientIP','type':'ClusterIP'}}",
         "{'spec':{'externalIPs':['1.2.3.4'],'externalTrafficPolicy':'Cluster','internalTrafficPolicy':'Local',"
         "'sessionAffinity':'ClientIP','sessionAffinityConfig':{'clientIP':{'timeoutSeconds':10800}},'type':'ClusterIP'}}"},
        {"core_v1.Service", "{'spec':{'sessionAffinity':'None','type':'NodePort'}}",
         "{'spec':{'externalTrafficPolicy':'Cluster','internalTrafficPolicy':'Cluster','sessionAffinity':'None','type':'NodePort'}}"},
        {"core_v1.Service",
         "{'spec':{'sessionAffinity':'None','type':'LoadBalancer'},"
         "'status':{'loadBalancer':{'ingress':[{'ip':'1.2.3.4'},{'hostname':'h'},{'ip':'1.2.3.5','ipMode':'Proxy'}]}}}",
         "{'spec':{'allocateLoadBalancerNodePorts':true,'externalTrafficPolicy':'Cluster','internalTrafficPolicy':'Cluster',"
         "'sessionAffinity':'None','type':'LoadBalancer'},"
         "'status':{'loadBalancer':{'ingress':[{'ip':'1.2.3.4','ipMode':'VIP'},{'hostname':'h'},{'ip':'1.2.3.5','ipMode':'Proxy'}]}}}"},
    };

    CHECK_ROWS(rows);
}

/* Contract types 3.3.1. */
TEST(default, fills_in_the_rest_of_the_core_group)
{
    static const struct row rows[] = {
        {"core_v1.Secret", "{'metadata':{'name':'s'}}", "{'metadata':{'name':'s'},'type':'Opaque'}"},
        {"core_v1.Secret", "{'type':'x'}", NULL},
        {"core_v1.ConfigMap", "{'metadata':{'name':'c'}}", NULL},
        {"core_v1.Endpoints", "{'subsets':[{'ports':[{'port':1}]}]}", "{'subsets':[{'ports':[{'port':1,'protocol':'TCP'}]}]}"},
        {"core_v1.Namespace", "{'metadata':{'labels':{'a':'b','kubernetes.io/metadata.name':'x'},'name':'n'},'spec':{},'status':{}}",
         "{'metadata':{'labels':{'a':'b','kubernetes.io/metadata.name':'n'},'name':'n'},'spec':{},'status':{'phase':'Active'}}"},
        {"core_v1.Namespace", "{'metadata':{'name':'n'},'status':{'phase':'Terminating'}}",
         "{'metadata':{'labels':{'kubernetes.io/metadata.name':'n'},'name':'n'},'status':{'phase':'Terminating'}}"},
        {"core_v1.Namespace", "{'metadata':{'generateName':'n-'},'status':{'phase':'Active'}}", NULL},
        {"core_v1.Node", "{'status':{'capacity':{'cpu':'4'}}}", "{'status':{'allocatable':{'cpu':'4'},'capacity':{'cpu':'4'}}}"},
        {"core_v1.Node", "{'status':{'allocatable':{'cpu':'1'},'capacity':{'cpu':'4'}}}", NULL},
        {"core_v1.PersistentVolume", "{'spec':{'hostPath':{'path':'/p'}},'status':{}}",
         "{'spec':{'hostPath':{'path':'/p','type':''},'persistentVolumeReclaimPolicy':'Retain','volumeMode':'Filesystem'},"
         "'status':{'phase':'Pending'}}"},
        {"core_v1.PersistentVolumeClaim", "{'spec':{'resources':{}},'status':{}}",
         "{'spec':{'resources':{},'volumeMode':'Filesystem'},'status':{'phase':'Pending'}}"},
        {"core_v1.LimitRangeItem", "{'default':{'b':'2'},'max':{'a':'1','b':'3'},'min':{'c':'4'},'type':'Container'}",
         "{'default':{'a':'1','b':'2'},'defaultRequest':{'a':'1','b':'2','c':'4'},'max':{'a':'1','b':'3'},'min':{'c':'4'},"
         "'type':'Container'}"},
        {"core_v1.LimitRangeItem", "{'max':{'a':'1'},'type':'Pod'}", NULL},
        /* Contract types 3.1.5. */
        {"core_v1.SecretList", "{'items':[{'metadata':{}},{'type':'x'}],'metadata':{}}",
         "{'items':[{'metadata':{},'type':'Opaque'},{'type':'x'}],'metadata':{}}"},
    };

    CHECK_ROWS(rows);
}

TEST(default, fills_in_the_other_groups)
{
    static const struct row rows[] = {
        {"autoscaling_v1.HorizontalPodAutoscaler", "{'spec':{}}", "{'spec':{'minReplicas':1}}"},
        {"autoscaling_v2.HorizontalPodAutoscaler", "{'spec':{}}",
         "{'spec':{'metrics':[{'resource':{'name':'cpu','target':{'averageUtilization':80,'type':'Utilization'}},'type':'Resource'}],"
         "'minReplicas':1}}"},
        {"autoscaling_v2.HorizontalPodAutoscaler", "{'spec':{'behavior':{'scaleUp':{'selectPolicy':'Min'}},'metrics':[{}],'minReplicas':0}}",
         "{'spec':{'behavior':{'scaleDown':{'policies':[{'periodSeconds':15,'type':'Percent','value':100}],'selectPolicy':'Max'},"
         "'scaleUp':{'policies':[{'periodSeconds':15,'type':'Pods','value':4},{'periodSeconds':15,'type':'Percent','value':100}],"
         "'selectPolicy':'Min','stabilizationWindowSeconds':0}},'metrics':[{}],'minReplicas':0}}"},
        {"storage_v1.StorageClass", "{'provisioner':'p'}",
         "{'provisioner':'p','reclaimPolicy':'Delete','volumeBindingMode':'Immediate'}"},
        {"storage_v1.CSIDriver", "{'spec':{}}",
         "{'spec':{'attachRequired':true,'fsGroupPolicy':'ReadWriteOnceWithFSType','podInfoOnMount':false,'requiresRepublish':false,"
         "'seLinuxMount':false,'storageCapacity':false,'volumeLifecycleModes':['Persistent']}}"},
        {"networking_v1.NetworkPolicy", "{'spec':{'ingress':[{'ports':[{'port':1}]}],'podSelector':{}}}",
         "{'spec':{'ingress':[{'ports':[{'port':1,'protocol':'TCP'}]}],'podSelector':{},'policyTypes':['Ingress']}}"},
        {"networking_v1.NetworkPolicy", "{'spec':{'egress':[{}],'podSelector':{}}}",
         "{'spec':{'egress':[{}],'podSelector':{},'policyTypes':['Ingress','Egress']}}"},
        {"networking_v1.NetworkPolicy", "{'spec':{'egress':[{}],'podSelector':{},'policyTypes':['Egress']}}", NULL},
        {"networking_v1.IngressClass", "{'spec':{'parameters':{'kind':'k','name':'n'}}}",
         "{'spec':{'parameters':{'kind':'k','name':'n','scope':'Cluster'}}}"},
        {"networking_v1.IngressClass", "{'spec':{}}", NULL},
        {"rbac_v1.RoleBinding",
         "{'kind':'RoleBinding','roleRef':{'apiGroup':'','kind':'Role','name':'r'},"
         "'subjects':[{'kind':'User','name':'u'},{'kind':'Group','name':'g'},{'kind':'ServiceAccount','name':'s'},{'kind':'Other','name':'o'}]}",
         "{'kind':'RoleBinding','roleRef':{'apiGroup':'rbac.authorization.k8s.io','kind':'Role','name':'r'},"
         "'subjects':[{'apiGroup':'rbac.authorization.k8s.io','kind':'User','name':'u'},"
         "{'apiGroup':'rbac.authorization.k8s.io','kind':'Group','name':'g'},{'kind':'ServiceAccount','name':'s'},{'kind':'Other','name':'o'}]}"},
        {"rbac_v1.ClusterRoleBinding", "{'roleRef':{'apiGroup':'x','kind':'Role','name':'r'}}", NULL},
        {"discovery_v1.EndpointSlice", "{'ports':[{'port':1},{'name':'n','protocol':'UDP'}]}",
         "{'ports':[{'name':'','port':1,'protocol':'TCP'},{'name':'n','protocol':'UDP'}]}"},
        {"admissionregistration_v1.ValidatingWebhookConfiguration",
         "{'webhooks':[{'clientConfig':{'service':{'name':'s','namespace':'n'}},'name':'w','rules':[{'operations':['*']}]}]}",
         "{'webhooks':[{'clientConfig':{'service':{'name':'s','namespace':'n','port':443}},'failurePolicy':'Fail','matchPolicy':'Equivalent',"
         "'name':'w','namespaceSelector':{},'objectSelector':{},'rules':[{'operations':['*'],'scope':'*'}],'timeoutSeconds':10}]}"},
        {"admissionregistration_v1.MutatingWebhook", "{'name':'w'}",
         "{'failurePolicy':'Fail','matchPolicy':'Equivalent','name':'w','namespaceSelector':{},'objectSelector':{},"
         "'reinvocationPolicy':'Never','timeoutSeconds':10}"},
        {"admissionregistration_v1.ValidatingAdmissionPolicy",
         "{'spec':{'matchConstraints':{'excludeResourceRules':[{}],'resourceRules':[{'scope':'Cluster'}]}}}",
         "{'spec':{'failurePolicy':'Fail','matchConstraints':{'excludeResourceRules':[{'scope':'*'}],'matchPolicy':'Equivalent',"
         "'namespaceSelector':{},'objectSelector':{},'resourceRules':[{'scope':'Cluster'}]}}}"},
        {"admissionregistration_v1.ValidatingAdmissionPolicyBinding", "{'spec':{}}", NULL},
        {"admissionregistration_v1.ValidatingAdmissionPolicyBinding", "{'spec':{'matchResources':{}}}",
         "{'spec':{'matchResources':{'matchPolicy':'Equivalent','namespaceSelector':{},'objectSelector':{}}}}"},
        {"scheduling_v1.PriorityClass", "{'value':1}", "{'preemptionPolicy':'PreemptLowerPriority','value':1}"},
        {"flowcontrol_v1.FlowSchema", "{'spec':{'matchingPrecedence':0}}", "{'spec':{'matchingPrecedence':1000}}"},
        {"flowcontrol_v1.PriorityLevelConfiguration", "{'spec':{'limited':{'limitResponse':{'queuing':{},'type':'Queue'}},'type':'Limited'}}",
         "{'spec':{'limited':{'lendablePercent':0,'limitResponse':{'queuing':{'handSize':8,'queueLengthLimit':50,'queues':64},"
         "'type':'Queue'},'nominalConcurrencyShares':30},'type':'Limited'}}"},
        {"flowcontrol_v1.PriorityLevelConfiguration", "{'spec':{'exempt':{},'type':'Exempt'}}",
         "{'spec':{'exempt':{'lendablePercent':0,'nominalConcurrencyShares':0},'type':'Exempt'}}"},
        {"flowcontrol_v1.PriorityLevelConfiguration",
         "{'spec':{'limited':{'lendablePercent':1,'limitResponse':{'type':'Reject'},'nominalConcurrencyShares':0},'type':'Limited'}}", NULL},
        {"resource_v1.ResourceClaim",
         "{'spec':{'devices':{'requests':[{'exactly':{'tolerations':[{'key':'k'}]}},"
         "{'firstAvailable':[{'allocationMode':'All','name':'f'},{'count':2,'name':'g'}]}]}}}",
         "{'spec':{'devices':{'requests':[{'exactly':{'allocationMode':'ExactCount','count':1,'tolerations':[{'key':'k','operator':'Equal'}]}},"
         "{'firstAvailable':[{'allocationMode':'All','name':'f'},{'allocationMode':'ExactCount','count':2,'name':'g'}]}]}}}"},
        /* Contract types 3.3.2. */
        {"resource_v1.DeviceTaint", "{'effect':'NoExecute','timeAdded':'2026-01-01T00:00:00Z'}", NULL},
        {"authentication_v1.TokenRequest", "{'spec':{'audiences':null}}", "{'spec':{'audiences':null,'expirationSeconds':3600}}"},
        {"apiextensions_v1.CustomResourceDefinition",
         "{'spec':{'conversion':{'strategy':'Webhook','webhook':{'clientConfig':{'service':{'name':'s','namespace':'n'}}}},"
         "'names':{'kind':'CronTab','listKind':'Tabs','plural':'crontabs'},"
         "'versions':[{'name':'v1','served':true,'storage':false},{'name':'v2','served':true,'storage':true}]},"
         "'status':{'conditions':null,'storedVersions':null}}",
         "{'spec':{'conversion':{'strategy':'Webhook','webhook':{'clientConfig':{'service':{'name':'s','namespace':'n','port':443}}}},"
         "'names':{'kind':'CronTab','listKind':'Tabs','plural':'crontabs','singular':'crontab'},"
         "'versions':[{'name':'v1','served':true,'storage':false},{'name':'v2','served':true,'storage':true}]},"
         "'status':{'conditions':null,'storedVersions':['v2']}}"},
        {"apiextensions_v1.CustomResourceDefinition", "{'spec':{'names':{'kind':'A','singular':'b'}},'status':{'storedVersions':['v1']}}",
         "{'spec':{'conversion':{'strategy':'None'},'names':{'kind':'A','listKind':'AList','singular':'b'}},'status':{'storedVersions':['v1']}}"},
        {"apiregistration_v1.APIService", "{'spec':{'service':{'name':'s','namespace':'n'}}}",
         "{'spec':{'service':{'name':'s','namespace':'n','port':443}}}"},
        {"apiregistration_v1.APIService", "{'spec':{'service':null}}", NULL},
    };

    CHECK_ROWS(rows);
}

/* Contract types 3.3.2: of the clock, and then kept. */
TEST(default, dates_a_taint_once)
{
    char buf[JSON_MAX];
    struct cor_str json = quoted("{'effect':'NoExecute'}", buf), raw;
    struct cor_buf out, again;
    int64_t time;

    cor_buf_init(&out, JSON_MAX);
    cor_buf_init(&again, JSON_MAX);
    assert_int_equal(cor_default(named("resource_v1.DeviceTaint"), json, &out), 1);
    assert_int_equal(cor_json_get(cor_buf_str(&out), COR_STR("timeAdded"), COR_JSON_SORTED, &raw), 0);
    assert_int_equal(cor_json_to_raw(raw, &raw), 0);
    assert_int_equal(cor_time_parse(raw, &time), 0);
    assert_int_equal(cor_default(named("resource_v1.DeviceTaint"), cor_buf_str(&out), &again), 0);
    cor_buf_deinit(&out);
    cor_buf_deinit(&again);
}

/* Contract types 3.1.6. */
TEST(default, leaves_kinds_without_defaults_alone)
{
    static const char *const kinds[] = {
        "core_v1.ComponentStatus", "apps_v1.ControllerRevision", "storage_v1.CSINode", "storage_v1.CSIStorageCapacity",
        "certificates_v1.CertificateSigningRequest", "resource_v1.DeviceClass", "core_v1.Event", "events_v1.Event",
        "networking_v1.Ingress", "networking_v1.IPAddress", "coordination_v1.Lease", "policy_v1.PodDisruptionBudget",
        "node_v1.RuntimeClass", "rbac_v1.Role", "rbac_v1.ClusterRole", "core_v1.ServiceAccount", "networking_v1.ServiceCIDR",
        "storage_v1.VolumeAttributesClass", "authorization_v1.SubjectAccessReview", "authorization_v1.LocalSubjectAccessReview",
        "authorization_v1.SelfSubjectAccessReview", "authorization_v1.SelfSubjectRulesReview", "authentication_v1.TokenReview",
        "authentication_v1.SelfSubjectReview", "core_v1.Binding", "policy_v1.Eviction", "autoscaling_v1.Scale", "core_v1.ConfigMap",
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(kinds); i++) {
        if (cor_type_is(named(kinds[i]), COR_TYPE_DEFAULTS))
            fail_msg("%s has defaults", kinds[i]);
    }
}

/* Contract types 3.2.3. */
TEST(default, knows_the_latest_image)
{
    static const struct {
        const char *image;
        bool is_latest;
    } rows[] = {
        {"nginx", true}, {"nginx:latest", true}, {"nginx:1.27", false}, {"a/b/c", true}, {"example.com/a", true},
        {"example.com:5000/a", true}, {"example.com:5000/a:latest", true}, {"example.com:5000/a:b", false},
        {"localhost/a", true}, {"[::1]:80/a", true}, {"[::1]/a", true}, {"[::1/a", false}, {"[]/a", false}, {"[::1]x/a", false},
        {"a.b:/c", false}, {"a.b:x/c", false}, {"a..b/c", false}, {"-a.b/c", false}, {"a_b.c/d", true},
        {"Nginx", false}, {"Host/nginx", true}, {"example.com/Nginx", false}, {"nginx:Latest", false}, {"nginx:", false},
        {"", false}, {":latest", false}, {"/a", false}, {"a/", false}, {"a//b", false}, {"a b", false}, {"a@", false},
        {"a__b", true}, {"a___b", false}, {"a--b", true}, {"a.b", true}, {"a..b", false}, {"a.", false}, {"_a", false},
        {"nginx@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", false},
        {"nginx:latest@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", true},
        {"nginx:latest@sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", false},
        {"nginx:latest@sha256:0123", false}, {"nginx:latest@md5:0123456789abcdef0123456789abcdef", false},
        {"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", false},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        if (cor_image_is_latest(cor_strz(rows[i].image)) != rows[i].is_latest)
            fail_msg("%s is %s", rows[i].image, rows[i].is_latest ? "the latest" : "not the latest");
    }
}
/* clang-format on */

TEST(default, keeps_values_that_do_not_fit_their_types)
{
    static const struct row rows[] = {
        {"core_v1.PodTemplate", "{'template':7}", NULL},
        {"core_v1.PodTemplate", "{'template':{'metadata':{},'spec':[]}}", NULL},
        {"apps_v1.Deployment", "{'spec':'x'}", NULL},
        {"core_v1.Secret", "{'\\\\u0001':1,'unknown':{},'zz':[]}",
         "{'\\\\u0001':1,'type':'Opaque','unknown':{},'zz':[]}"},
        {"core_v1.Pod", "[]", NULL},
    };

    CHECK_ROWS(rows);
}

/* A map of n entries is filled in by one walk: what takes a second for ten thousand entries by a
 * search for each would take hours here. */
TEST(default, fills_in_large_maps_in_linear_time)
{
    struct cor_buf in, out;

    cor_buf_init(&in, 1u << 24);
    cor_buf_init(&out, 1u << 25);
    cor_buf_addz(&in, "{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{");
    for (int i = 0; i < 200000; i++)
        assert_int_equal(cor_buf_addf(&in, "%s\"r%06d\":\"1\"", i > 0 ? "," : "", i), 0);
    cor_buf_addz(&in, "}}}]}}");
    assert_int_equal(cor_default(named("core_v1.Pod"), cor_buf_str(&in), &out), 1);
    assert_true(out.n > in.n * 2 - 100);
    cor_buf_deinit(&in);
    cor_buf_deinit(&out);
}

TEST(default, requests_many_limits_of_a_pod_in_linear_time)
{
    struct cor_buf in, out;

    cor_buf_init(&in, 1u << 24);
    cor_buf_init(&out, 1u << 25);
    cor_buf_addz(&in, "{\"spec\":{\"containers\":[],\"resources\":{\"limits\":{");
    for (int i = 0; i < 200000; i++)
        assert_int_equal(cor_buf_addf(&in, "%s\"hugepages-%06d\":\"1\"", i > 0 ? "," : "", i), 0);
    cor_buf_addz(&in, ",\"x\":\"1\"},\"requests\":{\"cpu\":\"1\",\"hugepages-100000\":\"2\"}}}}");
    assert_int_equal(cor_default(named("core_v1.Pod"), cor_buf_str(&in), &out), 1);
    assert_non_null(
        strstr(cor_buf_z(&out), "\"requests\":{\"cpu\":\"1\",\"hugepages-000000\":\"1\","));
    assert_non_null(
        strstr(cor_buf_z(&out), "\"hugepages-100000\":\"2\",\"hugepages-100001\":\"1\""));
    assert_non_null(strstr(cor_buf_z(&out), "\"hugepages-199999\":\"1\"}}"));
    cor_buf_deinit(&in);
    cor_buf_deinit(&out);
}

TEST(default, leaves_the_buffer_as_it_was_when_it_fails)
{
    char buf[JSON_MAX];
    struct cor_str json = quoted(
        "{'kind':'Pod','apiVersion':'v1','spec':{'containers':[{'name':'c',"
        "'resources':{'limits':{'cpu':'1','memory':'4Ei','x':'1u'}}},{'name':'d','resources':{"
        "'limits':{'memory':'4Ei'}}}],'resources':{'limits':{'cpu':'1'}},'volumes':[{'name':'v'}]}}",
        buf);
    struct cor_buf out;
    size_t whole = 0;

    FOR_EACH_FAILED_ALLOC(n) {
        int r;

        cor_buf_init(&out, JSON_MAX);
        r = cor_default(named("core_v1.Pod"), json, &out);
        if (r < 0) {
            assert_int_equal(r, -COR_ENOMEM);
            assert_int_equal(out.n, 0);
        } else {
            assert_int_equal(r, 1);
            assert_non_null(strstr(cor_buf_z(&out), "\"memory\":\"9223372036854775807\""));
            whole = out.n;
        }
        cor_buf_deinit(&out);
    }
    assert_true(whole > json.n);
    cor_buf_init(&out, whole - 1);
    assert_int_equal(cor_default(named("core_v1.Pod"), json, &out), -COR_ETOOBIG);
    assert_int_equal(out.n, 0);
    cor_buf_deinit(&out);
}

/* A body is rewritten without late defaults, a stored object with them. */
TEST(default, rewrites_in_steps)
{
    static const struct {
        const char *type, *in, *early, *stored; /* NULL: unchanged */
    } rows[] = {
        {"core_v1.ConfigMap", "{'data':null,'metadata':{}}", "{'metadata':{}}", "{'metadata':{}}"},
        {"core_v1.ConfigMap", "{'metadata':{}}", NULL, NULL},
        {"core_v1.Secret", "{'metadata':{},'type':''}", "{'metadata':{},'type':'Opaque'}",
         "{'metadata':{},'type':'Opaque'}"},
        {"core_v1.Secret", "{'data':null,'metadata':{},'type':'x'}", "{'metadata':{},'type':'x'}",
         "{'metadata':{},'type':'x'}"},
        {"core_v1.Secret", "{'metadata':{},'type':'x'}", NULL, NULL},
        {"batch_v1.Job",
         "{'metadata':{'labels':{}},'spec':{'backoffLimit':1,'completionMode':'Indexed','completions':1,"
         "'manualSelector':true,'parallelism':1,'podReplacementPolicy':'Failed','suspend':false,"
         "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':null,'dnsPolicy':'Default',"
         "'restartPolicy':'Never','schedulerName':'s','securityContext':{},"
         "'terminationGracePeriodSeconds':1}}},'status':{}}",
         "{'metadata':{},'spec':{'backoffLimit':1,'completionMode':'Indexed','completions':1,"
         "'manualSelector':true,'parallelism':1,'podReplacementPolicy':'Failed','suspend':false,"
         "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':null,'dnsPolicy':'Default',"
         "'restartPolicy':'Never','schedulerName':'s','securityContext':{},"
         "'terminationGracePeriodSeconds':1}}},'status':{}}",
         "{'metadata':{'labels':{'a':'b'}},'spec':{'backoffLimit':1,'completionMode':'Indexed','completions':1,"
         "'manualSelector':true,'parallelism':1,'podReplacementPolicy':'Failed','suspend':false,"
         "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':null,'dnsPolicy':'Default',"
         "'restartPolicy':'Never','schedulerName':'s','securityContext':{},"
         "'terminationGracePeriodSeconds':1}}},'status':{}}"},
    };
    char in[JSON_MAX], want[JSON_MAX];

    for (size_t i = 0; i < COR_ARRAY_LEN(rows) * 2; i++) {
        const struct cor_type *type = named(rows[i / 2].type);
        const char *to = i % 2 ? rows[i / 2].stored : rows[i / 2].early;
        struct cor_str json = quoted(rows[i / 2].in, in);

        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_buf out;
            int r;

            cor_buf_init(&out, JSON_MAX);
            r = i % 2 ? cor_rewrite_stored(type, json, &out) : cor_rewrite(type, json, &out);
            if (r < 0) {
                assert_int_equal(r, -COR_ENOMEM);
                assert_int_equal(out.n, 0);
            } else {
                assert_int_equal(r, to ? 1 : 0);
                assert_string_equal(cor_buf_z(&out), to ? quoted(to, want).p : "");
            }
            cor_buf_deinit(&out);
        }
    }
}

/* Every rule of every type leads to a member, and says something to people. */
TEST(default, rules_have_paths_and_words)
{
    size_t rules = 0;

    for (size_t i = 0; i < cor_types_count(); i++) {
        const struct cor_type *type = cor_type_at(i);

        for (size_t j = 0; j < cor_type_nrules(type); j++, rules++) {
            const struct cor_rule *rule = cor_type_rule(type, j);
            const struct cor_type *at = type;

            assert_true(cor_type_is(type, COR_TYPE_DEFAULTS));
            assert_true(cor_rule_text(rule).n > 0 || cor_rule_op(rule) == COR_RULE_CLEAR);
            for (size_t k = 0; k < cor_rule_depth(rule); k++) {
                struct cor_member member;

                assert_true(cor_rule_step(rule, k) < cor_type_nmembers(at));
                cor_type_member(at, cor_rule_step(rule, k), &member);
                at = cor_type_field_type(member.field);
            }
        }
    }
    assert_true(rules > 50);
}
