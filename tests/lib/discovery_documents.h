/* Discovery documents in the forms that servers send them. */
#ifndef COR_TEST_DISCOVERY_DOCUMENTS_H
#define COR_TEST_DISCOVERY_DOCUMENTS_H

#define AGGREGATED "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

#define RESPONSE_KIND(group, version, kind)                                                        \
    "\"responseKind\":{\"group\":\"" group "\",\"version\":\"" version "\",\"kind\":\"" kind "\"}"

#define AGGREGATED_CORE                                                                                             \
    "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\","                                \
    "\"metadata\":{},\"items\":[{\"metadata\":{},\"versions\":[{\"version\":\"v1\","                                \
    "\"freshness\":\"Current\",\"resources\":["                                                                     \
    "{\"resource\":\"pods\"," RESPONSE_KIND(                                                                        \
        "", "v1",                                                                                                   \
        "Pod") ",\"scope\":\"Namespaced\","                                                                         \
               "\"singularResource\":\"pod\",\"verbs\":[\"get\",\"list\"],\"shortNames\":[\"po\"],"                 \
               "\"categories\":[\"all\"],\"subresources\":[{\"subresource\":\"status\"," RESPONSE_KIND(             \
                   "", "v1",                                                                                        \
                   "Pod") ",\"verbs\":[\"get\"]},{\"subresource\":\"attach\"}]},"                                   \
                          "{\"resource\":\"nodes\"," RESPONSE_KIND(                                                 \
                              "", "v1",                                                                             \
                              "Node") ",\"scope\":\"Cluster\","                                                     \
                                      "\"singularResource\":\"node\",\"verbs\":[\"get\"],\"shortNames\":[\"no\"]}," \
                                      "{\"resource\":\"kindless\",\"scope\":\"Cluster\",\"singularResource\":\"\"," \
                                      "\"subresources\":[{\"subresource\":\"x\"," RESPONSE_KIND(                    \
                                          "", "v1", "X") "}]}"                                                      \
                                                         "]}]}]}"

#define AGGREGATED_APPS(freshness)                                                                          \
    "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\","                        \
    "\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"apps\"},\"versions\":["                           \
    "{\"version\":\"v1\",\"freshness\":\"Current\",\"resources\":["                                         \
    "{\"resource\":\"deployments\"," RESPONSE_KIND(                                                         \
        "apps", "v1",                                                                                       \
        "Deployment") ",\"scope\":"                                                                         \
                      "\"Namespaced\",\"singularResource\":\"deployment\",\"verbs\":[\"get\"],"             \
                      "\"shortNames\":[\"deploy\"],\"categories\":[\"all\"]}]}]},"                          \
                      "{\"metadata\":{\"name\":\"metrics.k8s.io\"},\"versions\":[{\"version\":\"v1beta1\"," \
                      "\"freshness\":\"" freshness                                                          \
                      "\",\"resources\":[{\"resource\":\"pods\"," RESPONSE_KIND(                            \
                          "metrics.k8s.io", "v1beta1",                                                      \
                          "PodMetrics") ",\"scope\":\"Namespaced\","                                        \
                                        "\"singularResource\":\"\",\"verbs\":[\"get\"]}]}]}]}"

#define LEGACY_VERSIONS "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}"

#define LEGACY_GROUPS                                                                              \
    "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[{\"name\":\"apps\","             \
    "\"versions\":[{\"groupVersion\":\"apps/v1\",\"version\":\"v1\"},"                             \
    "{\"groupVersion\":\"apps/v1beta1\",\"version\":\"v1beta1\"}],\"preferredVersion\":"           \
    "{\"groupVersion\":\"apps/v1\",\"version\":\"v1\"}}]}"

#define LEGACY_CORE                                                                                \
    "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\",\"resources\":["                        \
    "{\"name\":\"pods\",\"singularName\":\"pod\",\"namespaced\":true,\"kind\":\"Pod\","            \
    "\"verbs\":[\"get\"],\"shortNames\":[\"po\"]},{\"name\":\"pods/status\",\"singularName\":"     \
    "\"\",\"namespaced\":true,\"kind\":\"Pod\",\"verbs\":[\"get\"]}]}"

#define LEGACY_APPS                                                                                \
    "{\"kind\":\"APIResourceList\",\"groupVersion\":\"apps/v1\",\"resources\":["                   \
    "{\"name\":\"deployments\",\"singularName\":\"deployment\",\"namespaced\":true,"               \
    "\"kind\":\"Deployment\",\"verbs\":[\"get\"]}]}"

#endif
