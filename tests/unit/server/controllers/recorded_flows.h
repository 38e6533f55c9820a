/* The requests of kube-controller-manager v1.34. Written by tests/interop/record_flows.py. */
/* clang-format off */
#ifndef COR_TEST_RECORDED_FLOWS_H
#define COR_TEST_RECORDED_FLOWS_H

/* Contract controllers 1.9.1. */
static const char always_namespace[] =
    "GET namespaces x 200\n"
    "LIST pods 200\n"
    "DELETECOLLECTION pods Background 200\n"
    "LIST pods 200\n"
    "DELETECOLLECTION deployments Background 200\n"
    "LIST deployments 200\n"
    "UPDATE namespaces/status x 200\n"
    "GET namespaces x 200\n"
    "LIST pods 200\n"
    "DELETECOLLECTION pods Background 200\n"
    "LIST pods 200\n"
    "DELETECOLLECTION deployments Background 200\n"
    "LIST deployments 200\n"
    "UPDATE namespaces/status x 200\n"
    "UPDATE namespaces/finalize x 409\n"
    "GET namespaces x 200\n"
    "UPDATE namespaces/finalize x 200\n";

/* Contract controllers 2.4.4. */
static const char always_background[] =
    "DELETE replicasets r Background uid=<uid of r> resourceVersion=<version> 200\n"
    "DELETE pods p Background uid=<uid of p> resourceVersion=<version> 200\n";
static const char ever_background[] =
    "DELETE pods p Background uid=<uid of p> resourceVersion=<version> 200\n"
    "DELETE replicasets r Background uid=<uid of r> resourceVersion=<version> 200\n";

/* Contract controllers 2.7.8. */
static const char always_foreground[] =
    "DELETE replicasets r Foreground uid=<uid of r> resourceVersion=<version> 200\n"
    "DELETE pods p Background uid=<uid of p> resourceVersion=<version> 200\n"
    "PATCH replicasets r {\"metadata\":{\"resourceVersion\":\"<version>\",\"finalizers\":null}} 200\n"
    "PATCH deployments d {\"metadata\":{\"resourceVersion\":\"<version>\",\"finalizers\":null}} 200\n";
static const char ever_foreground[] =
    "DELETE pods p Background uid=<uid of p> resourceVersion=<version> 200\n"
    "DELETE replicasets r Foreground uid=<uid of r> resourceVersion=<version> 200\n"
    "PATCH deployments d {\"metadata\":{\"resourceVersion\":\"<version>\",\"finalizers\":null}} 200\n"
    "PATCH replicasets r {\"metadata\":{\"resourceVersion\":\"<version>\",\"finalizers\":null}} 200\n";

/* Contract controllers 2.8.1, 2.8.2. */
static const char always_orphan[] =
    "PATCH replicasets r {\"metadata\":{\"uid\":\"<uid of r>\",\"ownerReferences\":[{\"$patch\":\"delete\",\"uid\":\"<uid of d>\"}]}} 200\n"
    "PATCH deployments d {\"metadata\":{\"resourceVersion\":\"<version>\",\"finalizers\":null}} 200\n";
static const char ever_orphan[] =
    "PATCH deployments d {\"metadata\":{\"resourceVersion\":\"<version>\",\"finalizers\":null}} 200\n"
    "PATCH replicasets r {\"metadata\":{\"uid\":\"<uid of r>\",\"ownerReferences\":[{\"$patch\":\"delete\",\"uid\":\"<uid of d>\"}]}} 200\n";

/* Contract controllers 2.7.6. */
static const char always_cycle[] =
    "PATCH configmaps c2 {\"metadata\":{\"uid\":\"<uid of c2>\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"c1\",\"uid\":\"<uid of c1>\",\"blockOwnerDeletion\":false}]}} 200\n"
    "DELETE configmaps c2 Foreground uid=<uid of c2> resourceVersion=<version> 409\n"
    "PATCH configmaps c1 {\"metadata\":{\"resourceVersion\":\"<version>\",\"finalizers\":null}} 200\n";
static const char ever_cycle[] =
    "DELETE configmaps c2 Background uid=<uid of c2> resourceVersion=<version> 200\n"
    "DELETE configmaps c2 Foreground uid=<uid of c2> resourceVersion=<version> 200\n"
    "DELETE configmaps c2 Foreground uid=<uid of c2> resourceVersion=<version> 409\n"
    "PATCH configmaps c1 {\"metadata\":{\"resourceVersion\":\"<version>\",\"finalizers\":null}} 200\n"
    "PATCH configmaps c2 {\"metadata\":{\"resourceVersion\":\"<version>\",\"finalizers\":null}} 200\n"
    "PATCH configmaps c2 {\"metadata\":{\"uid\":\"<uid of c2>\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"c1\",\"uid\":\"<uid of c1>\",\"blockOwnerDeletion\":false}]}} 200\n"
    "PATCH configmaps c2 {\"metadata\":{\"uid\":\"<uid of c2>\"}} 200\n";

#endif
