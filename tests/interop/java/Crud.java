// Every verb of Java's official client: on config maps typed, dynamically and in protobuf, on typed objects whose fields are more
// than strings, and discovery. The models refuse an answer without a required field or with a field that they do not know.

import io.kubernetes.client.Discovery;
import io.kubernetes.client.ProtoClient;
import io.kubernetes.client.custom.IntOrString;
import io.kubernetes.client.custom.Quantity;
import io.kubernetes.client.custom.V1Patch;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.openapi.ApiException;
import io.kubernetes.client.openapi.apis.AppsV1Api;
import io.kubernetes.client.openapi.apis.CoordinationV1Api;
import io.kubernetes.client.openapi.apis.CoreV1Api;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import io.kubernetes.client.openapi.models.V1ConfigMapList;
import io.kubernetes.client.openapi.models.V1Container;
import io.kubernetes.client.openapi.models.V1DeleteOptions;
import io.kubernetes.client.openapi.models.V1Deployment;
import io.kubernetes.client.openapi.models.V1DeploymentSpec;
import io.kubernetes.client.openapi.models.V1LabelSelector;
import io.kubernetes.client.openapi.models.V1Lease;
import io.kubernetes.client.openapi.models.V1LeaseSpec;
import io.kubernetes.client.openapi.models.V1ObjectMeta;
import io.kubernetes.client.openapi.models.V1PodSpec;
import io.kubernetes.client.openapi.models.V1PodTemplateSpec;
import io.kubernetes.client.openapi.models.V1Preconditions;
import io.kubernetes.client.openapi.models.V1ResourceRequirements;
import io.kubernetes.client.openapi.models.V1Service;
import io.kubernetes.client.openapi.models.V1ServicePort;
import io.kubernetes.client.openapi.models.V1ServiceSpec;
import io.kubernetes.client.proto.Meta;
import io.kubernetes.client.proto.V1;
import io.kubernetes.client.util.PatchUtils;
import io.kubernetes.client.util.generic.KubernetesApiResponse;
import io.kubernetes.client.util.generic.dynamic.DynamicKubernetesApi;
import io.kubernetes.client.util.generic.dynamic.DynamicKubernetesObject;
import io.kubernetes.client.util.generic.dynamic.Dynamics;
import java.io.IOException;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

final class Crud {
    private static final Map<String, String> LABELS = Map.of("of", "crud");

    private final ApiClient client;
    private final CoreV1Api api;
    private final String namespace;

    Crud(ApiClient client, String namespace) {
        this.client = client;
        this.api = new CoreV1Api(client);
        this.namespace = namespace;
    }

    void run() throws ApiException, IOException {
        change();
        list();
        remove();
        typed();
        dynamic();
        protobuf();
        discover();
    }

    static void check(boolean is, String what) {
        if (!is) throw new AssertionError(what);
    }

    private interface Request {
        Object execute() throws ApiException;
    }

    private static void refused(int code, String reason, Request request) {
        try {
            request.execute();
        } catch (ApiException error) {
            check(error.getCode() == code && error.getResponseBody().contains("\"reason\":\"" + reason + "\""),
                    error.getCode() + " instead of " + code + ": " + error.getResponseBody());
            return;
        }
        throw new AssertionError("success instead of " + code);
    }

    private static V1ConfigMap configMap(String name) {
        return new V1ConfigMap().metadata(new V1ObjectMeta().name(name).labels(LABELS)).data(Map.of("k", "v"));
    }

    private void patch(String type, String patch) throws ApiException {
        PatchUtils.patch(V1ConfigMap.class, () -> api.patchNamespacedConfigMap("a", namespace, new V1Patch(patch)).buildCall(null), type,
                client);
    }

    private void change() throws ApiException {
        V1ConfigMap made = api.createNamespacedConfigMap(namespace, configMap("a")).execute();
        check(made.getMetadata().getCreationTimestamp() != null, "no time of creation");
        refused(409, "AlreadyExists", () -> api.createNamespacedConfigMap(namespace, configMap("a")).execute());
        api.createNamespacedConfigMap(namespace, configMap("dry")).dryRun("All").execute();
        refused(404, "NotFound", () -> api.readNamespacedConfigMap("dry", namespace).execute());

        V1ConfigMap next = new V1ConfigMap().metadata(made.getMetadata()).data(Map.of("k", "w"));
        V1ConfigMap changed = api.replaceNamespacedConfigMap("a", namespace, next).execute();
        check(changed.getData().equals(Map.of("k", "w")), "replaced: " + changed);
        refused(409, "Conflict", () -> api.replaceNamespacedConfigMap("a", namespace, made).execute());

        patch(V1Patch.PATCH_FORMAT_JSON_MERGE_PATCH, "{\"data\":{\"merge\":\"1\"}}");
        patch(V1Patch.PATCH_FORMAT_JSON_PATCH, "[{\"op\":\"add\",\"path\":\"/data/json\",\"value\":\"1\"}]");
        patch(V1Patch.PATCH_FORMAT_STRATEGIC_MERGE_PATCH, "{\"data\":{\"strategic\":\"1\"}}");
        V1ConfigMap got = api.readNamespacedConfigMap("a", namespace).execute();
        check(got.getData().equals(Map.of("k", "w", "merge", "1", "json", "1", "strategic", "1")), "patched: " + got);
    }

    private void list() throws ApiException {
        for (int i = 0; i < 5; i++) api.createNamespacedConfigMap(namespace, configMap("page-" + i)).execute();
        List<String> names = new ArrayList<>();
        String next = null;
        do {
            V1ConfigMapList page = api.listNamespacedConfigMap(namespace).labelSelector("of=crud").limit(2)._continue(next).execute();
            for (V1ConfigMap item : page.getItems()) names.add(item.getMetadata().getName());
            next = page.getMetadata().getContinue();
        } while (next != null);
        check(names.equals(List.of("a", "page-0", "page-1", "page-2", "page-3", "page-4")), "listed: " + names);
    }

    private void remove() throws ApiException {
        V1DeleteOptions other = new V1DeleteOptions().preconditions(new V1Preconditions().uid("no-such-uid"));
        refused(409, "Conflict", () -> api.deleteNamespacedConfigMap("a", namespace).body(other).execute());
        check("Success".equals(api.deleteNamespacedConfigMap("a", namespace).execute().getStatus()), "the deletion");
        refused(404, "NotFound", () -> api.deleteNamespacedConfigMap("a", namespace).execute());
        api.deleteCollectionNamespacedConfigMap(namespace).labelSelector("of=crud").execute();
        check(api.listNamespacedConfigMap(namespace).labelSelector("of=crud").execute().getItems().isEmpty(), "what is left");
    }

    /** Quantities, times with microseconds, numbers or names, and the objects as the models read them. */
    private void typed() throws ApiException {
        V1ObjectMeta named = new V1ObjectMeta().name("t").labels(LABELS);
        V1Container container = new V1Container().name("c").image("registry.example/c:1").resources(
                new V1ResourceRequirements().putLimitsItem("memory", new Quantity("64Mi")).putRequestsItem("cpu", new Quantity("0.5")));
        V1DeploymentSpec spec = new V1DeploymentSpec().selector(new V1LabelSelector().matchLabels(LABELS)).template(
                new V1PodTemplateSpec().metadata(new V1ObjectMeta().labels(LABELS)).spec(new V1PodSpec().addContainersItem(container)));
        AppsV1Api apps = new AppsV1Api(client);
        V1Deployment deployment = apps.createNamespacedDeployment(namespace, new V1Deployment().metadata(named).spec(spec)).execute();
        check(deployment.getSpec().getStrategy().getRollingUpdate().getMaxSurge().equals(new IntOrString("25%")), "defaults: " + deployment);
        V1Deployment read = apps.readNamespacedDeployment("t", namespace).execute();
        check(read.equals(deployment), "read: " + read);
        Map<String, Quantity> requests = read.getSpec().getTemplate().getSpec().getContainers().get(0).getResources().getRequests();
        check(requests.equals(Map.of("cpu", new Quantity("500m"))), "requests: " + requests);
        apps.deleteNamespacedDeployment("t", namespace).execute();

        V1ServicePort port = new V1ServicePort().name("http").port(80).targetPort(new IntOrString("web"));
        V1Service service = api.createNamespacedService(namespace,
                new V1Service().metadata(named).spec(new V1ServiceSpec().selector(LABELS).addPortsItem(port))).execute();
        check(service.getSpec().getPorts().get(0).getTargetPort().equals(new IntOrString("web")), "ports: " + service);
        check(service.getSpec().getClusterIP() != null, "no cluster IP: " + service);
        List<V1Service> services = api.listNamespacedService(namespace).execute().getItems(); // Items have neither apiVersion nor kind.
        check(services.equals(List.of(new V1Service().metadata(service.getMetadata()).spec(service.getSpec()).status(service.getStatus()))),
                "the services: " + services);
        check(api.deleteNamespacedService("t", namespace).execute().getMetadata().getUid().equals(service.getMetadata().getUid()),
                "the deleted service");

        CoordinationV1Api coordination = new CoordinationV1Api(client);
        OffsetDateTime time = OffsetDateTime.parse("2026-01-02T03:04:05.000006Z");
        V1LeaseSpec held = new V1LeaseSpec().holderIdentity("me").leaseDurationSeconds(15).renewTime(time);
        V1Lease lease = coordination.createNamespacedLease(namespace, new V1Lease().metadata(named).spec(held)).execute();
        check(lease.getSpec().getRenewTime().isEqual(time), "the time of the lease: " + lease);
        coordination.deleteNamespacedLease("t", namespace).execute();
    }

    private void dynamic() throws ApiException {
        DynamicKubernetesApi maps = new DynamicKubernetesApi("", "v1", "configmaps", client);
        DynamicKubernetesObject body = Dynamics.newFromYaml(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d, namespace: " + namespace + "}\ndata: {k: v}\n");
        DynamicKubernetesObject made = maps.create(body).throwsApiException().getObject();
        KubernetesApiResponse<DynamicKubernetesObject> again = maps.create(body);
        check(again.getHttpStatusCode() == 409 && again.getStatus().getReason().equals("AlreadyExists"), "created twice");
        V1Patch patch = new V1Patch("{\"metadata\":{\"labels\":{\"x\":\"y\"}}}");
        maps.patch(namespace, "d", V1Patch.PATCH_FORMAT_JSON_MERGE_PATCH, patch).throwsApiException();
        DynamicKubernetesObject got = maps.get(namespace, "d").throwsApiException().getObject();
        check("y".equals(got.getMetadata().getLabels().get("x")), "patched: " + got.getRaw());
        check(got.getMetadata().getUid().equals(made.getMetadata().getUid()), "another object");
        got.getRaw().getAsJsonObject("data").addProperty("k", "w");
        got = maps.update(got).throwsApiException().getObject();
        check(got.getRaw().getAsJsonObject("data").get("k").getAsString().equals("w"), "updated: " + got.getRaw());
        check(maps.list(namespace).throwsApiException().getObject().getItems().size() == 1, "listed");
        maps.delete(namespace, "d").throwsApiException();
        check(maps.get(namespace, "d").getHttpStatusCode() == 404, "still there");
    }

    private void protobuf() throws ApiException, IOException {
        ProtoClient proto = new ProtoClient(client);
        String maps = "/api/v1/namespaces/" + namespace + "/configmaps";
        V1.ConfigMap body = V1.ConfigMap.newBuilder().setMetadata(Meta.ObjectMeta.newBuilder().setName("p")).putData("k", "v").build();
        V1.ConfigMap made = proto.create(body, maps, "v1", "ConfigMap").object;
        ProtoClient.ObjectOrStatus<V1.ConfigMap> again = proto.create(body, maps, "v1", "ConfigMap");
        check(again.object == null && again.status.getReason().equals("AlreadyExists"), "created twice: " + again);
        V1.ConfigMap changed = proto.update(made.toBuilder().putData("k", "w").build(), maps + "/p", "v1", "ConfigMap").object;
        check(changed.getDataMap().equals(Map.of("k", "w")), "updated: " + changed);
        ProtoClient.ObjectOrStatus<V1.ConfigMap> got = proto.get(V1.ConfigMap.newBuilder(), maps + "/p");
        check(changed.equals(got.object), "read: " + got);
        check(api.readNamespacedConfigMap("p", namespace).execute().getMetadata().getUid().equals(changed.getMetadata().getUid()),
                "in JSON it is another object");
        ProtoClient.ObjectOrStatus<V1.ConfigMapList> list = proto.list(V1.ConfigMapList.newBuilder(), maps);
        check(list.object.getItemsList().equals(List.of(changed)), "listed: " + list);
        check(proto.delete(V1.ConfigMap.newBuilder(), maps + "/p").status.getStatus().equals("Success"), "deleted");
        check(proto.get(V1.ConfigMap.newBuilder(), maps + "/p").status.getCode() == 404, "still there");
    }

    private void discover() throws ApiException {
        boolean found = false;
        for (Discovery.APIResource resource : new Discovery(client).findAll())
            if (resource.getGroup().equals("apps") && resource.getKind().equals("Deployment"))
                found = resource.getNamespaced() && resource.getSubResources().contains("scale")
                        && resource.getResourceSingular().equals("deployment");
        check(found, "no deployments in discovery");
    }
}
