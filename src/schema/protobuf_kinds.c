/* The messages that can be read, by the numbers of Kubernetes' .proto files: what kubectl and the
 * controllers send when they ask, bind, scale, evict, approve and delete, and kubectl's generators.
 * What a server alone writes (status) is left out where nobody may send it. */
#include "base/cleanup.h"
#include "schema/protobuf.h"

#define MESSAGE(name, ...)                                                                         \
    static const struct cor_pb_field name##_v[] = {__VA_ARGS__};                                   \
    static const struct cor_pb_message name = {name##_v, COR_ARRAY_LEN(name##_v)}

#define STR(n, name)                                                                               \
    {                                                                                              \
        n, name, COR_PB_STRING, 0, NULL                                                            \
    }
#define STRS(n, name)                                                                              \
    {                                                                                              \
        n, name, COR_PB_STRING, COR_PB_REPEATED, NULL                                              \
    }
#define STR_MAP(n, name)                                                                           \
    {                                                                                              \
        n, name, COR_PB_STRING, COR_PB_MAP, NULL                                                   \
    }
#define BYTES_MAP(n, name)                                                                         \
    {                                                                                              \
        n, name, COR_PB_BYTES, COR_PB_MAP, NULL                                                    \
    }
#define BYTE_ARRAY(n, name)                                                                        \
    {                                                                                              \
        n, name, COR_PB_BYTES, 0, NULL                                                             \
    }
#define EXTRA(n)                                                                                   \
    {                                                                                              \
        n, "extra", COR_PB_LIST_IN_MESSAGE, COR_PB_MAP, NULL                                       \
    }
#define INT(n, name)                                                                               \
    {                                                                                              \
        n, name, COR_PB_INT, 0, NULL                                                               \
    }
#define INT_PTR(n, name)                                                                           \
    {                                                                                              \
        n, name, COR_PB_INT, COR_PB_POINTER, NULL                                                  \
    }
#define BOOL_PTR(n, name)                                                                          \
    {                                                                                              \
        n, name, COR_PB_BOOL, COR_PB_POINTER, NULL                                                 \
    }
#define STR_PTR(n, name)                                                                           \
    {                                                                                              \
        n, name, COR_PB_STRING, COR_PB_POINTER, NULL                                               \
    }
#define TIME(n, name)                                                                              \
    {                                                                                              \
        n, name, COR_PB_TIME, 0, NULL                                                              \
    }
#define MSG(n, name, m)                                                                            \
    {                                                                                              \
        n, name, COR_PB_MESSAGE, COR_PB_POINTER, &(m)                                              \
    }
#define MSGS(n, name, m)                                                                           \
    {                                                                                              \
        n, name, COR_PB_MESSAGE, COR_PB_REPEATED, &(m)                                             \
    }

MESSAGE(owner, STR(1, "kind"), STR(3, "name"), STR(4, "uid"), STR(5, "apiVersion"),
        BOOL_PTR(6, "controller"), BOOL_PTR(7, "blockOwnerDeletion"));
MESSAGE(managed, STR(1, "manager"), STR(2, "operation"), STR(3, "apiVersion"), TIME(4, "time"),
        STR(6, "fieldsType"), {7, "fieldsV1", COR_PB_JSON, 0, NULL}, STR(8, "subresource"));
MESSAGE(meta, STR(1, "name"), STR(2, "generateName"), STR(3, "namespace"), STR(5, "uid"),
        STR(6, "resourceVersion"), INT(7, "generation"), TIME(8, "creationTimestamp"),
        TIME(9, "deletionTimestamp"), INT_PTR(10, "deletionGracePeriodSeconds"),
        STR_MAP(11, "labels"), STR_MAP(12, "annotations"), MSGS(13, "ownerReferences", owner),
        STRS(14, "finalizers"), MSGS(17, "managedFields", managed));

MESSAGE(preconditions, STR_PTR(1, "uid"), STR_PTR(2, "resourceVersion"));
MESSAGE(delete_options, INT_PTR(1, "gracePeriodSeconds"), MSG(2, "preconditions", preconditions),
        BOOL_PTR(3, "orphanDependents"), STR_PTR(4, "propagationPolicy"), STRS(5, "dryRun"),
        BOOL_PTR(6, "ignoreStoreReadErrorWithClusterBreakingPotential"));
MESSAGE(eviction, MSG(1, "metadata", meta), MSG(2, "deleteOptions", delete_options));

MESSAGE(reference, STR(1, "kind"), STR(2, "namespace"), STR(3, "name"), STR(4, "uid"),
        STR(5, "apiVersion"), STR(6, "resourceVersion"), STR(7, "fieldPath"));
MESSAGE(binding, MSG(1, "metadata", meta), MSG(2, "target", reference));

MESSAGE(scale_spec, INT(1, "replicas"));
MESSAGE(scale_status, INT(1, "replicas"), STR(2, "selector"));
MESSAGE(scale, MSG(1, "metadata", meta), MSG(2, "spec", scale_spec),
        MSG(3, "status", scale_status));

MESSAGE(requirement, STR(1, "key"), STR(2, "operator"), STRS(3, "values"));
MESSAGE(selector, STR(1, "rawSelector"), MSGS(2, "requirements", requirement));
MESSAGE(resource_attributes, STR(1, "namespace"), STR(2, "verb"), STR(3, "group"),
        STR(4, "version"), STR(5, "resource"), STR(6, "subresource"), STR(7, "name"),
        MSG(8, "fieldSelector", selector), MSG(9, "labelSelector", selector));
MESSAGE(path_attributes, STR(1, "path"), STR(2, "verb"));
MESSAGE(self_access_spec, MSG(1, "resourceAttributes", resource_attributes),
        MSG(2, "nonResourceAttributes", path_attributes));
MESSAGE(access_spec, MSG(1, "resourceAttributes", resource_attributes),
        MSG(2, "nonResourceAttributes", path_attributes), STR(3, "user"), STRS(4, "groups"),
        EXTRA(5), STR(6, "uid"));
MESSAGE(rules_spec, STR(1, "namespace"));
MESSAGE(token_spec, STR(1, "token"), STRS(2, "audiences"));
MESSAGE(self_access, MSG(1, "metadata", meta), MSG(2, "spec", self_access_spec));
MESSAGE(access_review, MSG(1, "metadata", meta), MSG(2, "spec", access_spec));
MESSAGE(rules, MSG(1, "metadata", meta), MSG(2, "spec", rules_spec));
MESSAGE(token, MSG(1, "metadata", meta), MSG(2, "spec", token_spec));
MESSAGE(meta_only, MSG(1, "metadata", meta));

MESSAGE(csr_spec, BYTE_ARRAY(1, "request"), STR(2, "username"), STR(3, "uid"), STRS(4, "groups"),
        STRS(5, "usages"), EXTRA(6), STR(7, "signerName"), INT_PTR(8, "expirationSeconds"));
MESSAGE(csr_condition, STR(1, "type"), STR(2, "reason"), STR(3, "message"),
        TIME(4, "lastUpdateTime"), TIME(5, "lastTransitionTime"), STR(6, "status"));
MESSAGE(csr_status, MSGS(1, "conditions", csr_condition), BYTE_ARRAY(2, "certificate"));
MESSAGE(csr, MSG(1, "metadata", meta), MSG(2, "spec", csr_spec), MSG(3, "status", csr_status));

MESSAGE(config_map, MSG(1, "metadata", meta), STR_MAP(2, "data"), BYTES_MAP(3, "binaryData"),
        BOOL_PTR(4, "immutable"));
MESSAGE(secret, MSG(1, "metadata", meta), BYTES_MAP(2, "data"), STR(3, "type"),
        STR_MAP(4, "stringData"), BOOL_PTR(5, "immutable"));
MESSAGE(namespace_spec, STRS(1, "finalizers"));
MESSAGE(namespace_condition, STR(1, "type"), STR(2, "status"), TIME(4, "lastTransitionTime"),
        STR(5, "reason"), STR(6, "message"));
MESSAGE(namespace_status, STR(1, "phase"), MSGS(2, "conditions", namespace_condition));
MESSAGE(namespace, MSG(1, "metadata", meta), MSG(2, "spec", namespace_spec),
        MSG(3, "status", namespace_status));
MESSAGE(local_reference, STR(1, "name"));
MESSAGE(service_account, MSG(1, "metadata", meta), MSGS(2, "secrets", reference),
        MSGS(3, "imagePullSecrets", local_reference), BOOL_PTR(4, "automountServiceAccountToken"));

static const struct cor_pb_kind kinds[] = {
    {NULL, "DeleteOptions", &delete_options},
    {"authentication.k8s.io/v1", "SelfSubjectReview", &meta_only},
    {"authentication.k8s.io/v1", "TokenReview", &token},
    {"authorization.k8s.io/v1", "LocalSubjectAccessReview", &access_review},
    {"authorization.k8s.io/v1", "SelfSubjectAccessReview", &self_access},
    {"authorization.k8s.io/v1", "SelfSubjectRulesReview", &rules},
    {"authorization.k8s.io/v1", "SubjectAccessReview", &access_review},
    {"autoscaling/v1", "Scale", &scale},
    {"certificates.k8s.io/v1", "CertificateSigningRequest", &csr},
    {"policy/v1", "Eviction", &eviction},
    {"v1", "Binding", &binding},
    {"v1", "ConfigMap", &config_map},
    {"v1", "Namespace", &namespace},
    {"v1", "Secret", &secret},
    {"v1", "ServiceAccount", &service_account},
};

const struct cor_pb_kind *cor_pb_kinds(size_t *ret_n)
{
    *ret_n = COR_ARRAY_LEN(kinds);
    return kinds;
}
