// Custom resources by Java's official client: a definition, which is read by the typed API, and objects of its kind by the generic one, whose
// models are the program's own.

import com.google.gson.annotations.SerializedName;
import io.kubernetes.client.common.KubernetesListObject;
import io.kubernetes.client.common.KubernetesObject;
import io.kubernetes.client.custom.V1Patch;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.openapi.ApiException;
import io.kubernetes.client.openapi.apis.ApiextensionsV1Api;
import io.kubernetes.client.openapi.apis.CustomObjectsApi;
import io.kubernetes.client.openapi.models.V1CustomResourceDefinition;
import io.kubernetes.client.openapi.models.V1CustomResourceDefinitionList;
import io.kubernetes.client.openapi.models.V1ListMeta;
import io.kubernetes.client.openapi.models.V1ObjectMeta;
import io.kubernetes.client.util.generic.GenericKubernetesApi;
import io.kubernetes.client.util.generic.KubernetesApiResponse;
import io.kubernetes.client.util.generic.dynamic.DynamicKubernetesApi;
import io.kubernetes.client.util.generic.dynamic.Dynamics;
import java.io.IOException;
import java.util.List;

final class Custom {
    private static final String GROUP = "java.example.com";
    private static final String NAME = "buoys." + GROUP;
    private static final long PATIENCE_MS = 60_000;
    private static final long LOOK_MS = 10;
    private static final String DEFINITION = """
            apiVersion: apiextensions.k8s.io/v1
            kind: CustomResourceDefinition
            metadata: {name: buoys.java.example.com}
            spec:
              group: java.example.com
              scope: Namespaced
              names: {plural: buoys, kind: Buoy}
              versions:
              - name: v1
                served: true
                storage: true
                subresources: {status: {}}
                schema:
                  openAPIV3Schema:
                    type: object
                    properties:
                      spec:
                        type: object
                        required: [depth]
                        properties: {depth: {type: integer, minimum: 1}, colour: {type: string, default: red}}
                      status: {type: object, properties: {seen: {type: boolean}}}
            """;

    static final class Spec {
        @SerializedName("depth") int depth;
        @SerializedName("colour") String colour;
    }

    static final class Status {
        @SerializedName("seen") boolean seen;
    }

    static final class Buoy implements KubernetesObject {
        @SerializedName("apiVersion") String apiVersion = GROUP + "/v1";
        @SerializedName("kind") String kind = "Buoy";
        @SerializedName("metadata") V1ObjectMeta metadata;
        @SerializedName("spec") Spec spec = new Spec();
        @SerializedName("status") Status status;

        @Override
        public String getApiVersion() {
            return apiVersion;
        }

        @Override
        public String getKind() {
            return kind;
        }

        @Override
        public V1ObjectMeta getMetadata() {
            return metadata;
        }
    }

    static final class BuoyList implements KubernetesListObject {
        @SerializedName("apiVersion") String apiVersion;
        @SerializedName("kind") String kind;
        @SerializedName("metadata") V1ListMeta metadata;
        @SerializedName("items") List<Buoy> items;

        @Override
        public String getApiVersion() {
            return apiVersion;
        }

        @Override
        public String getKind() {
            return kind;
        }

        @Override
        public V1ListMeta getMetadata() {
            return metadata;
        }

        @Override
        public List<Buoy> getItems() {
            return items;
        }
    }

    private interface Condition {
        boolean holds() throws ApiException;
    }

    private final ApiClient client;
    private final ApiextensionsV1Api definitions;
    private final GenericKubernetesApi<Buoy, BuoyList> buoys;
    private final String namespace;

    Custom(ApiClient client, String namespace) {
        this.client = client;
        this.definitions = new ApiextensionsV1Api(client);
        this.buoys = new GenericKubernetesApi<>(Buoy.class, BuoyList.class, GROUP, "v1", "buoys", client);
        this.namespace = namespace;
    }

    private static void await(Condition condition, String what) throws ApiException, InterruptedException {
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        while (!condition.holds()) {
            Crud.check(System.currentTimeMillis() < deadline, "waited in vain for " + what);
            Thread.sleep(LOOK_MS);
        }
    }

    private boolean isEstablished() throws ApiException {
        V1CustomResourceDefinition definition = definitions.readCustomResourceDefinition(NAME).execute();
        return definition.getStatus().getConditions() != null && definition.getStatus().getConditions().stream()
                .anyMatch(condition -> condition.getType().equals("Established") && condition.getStatus().equals("True"));
    }

    private boolean isGone() throws ApiException {
        V1CustomResourceDefinitionList left = definitions.listCustomResourceDefinition().fieldSelector("metadata.name=" + NAME).execute();
        return left.getItems().isEmpty();
    }

    private Buoy buoy(String name, int depth) {
        Buoy buoy = new Buoy();
        buoy.metadata = new V1ObjectMeta().name(name).namespace(namespace);
        buoy.spec.depth = depth;
        return buoy;
    }

    private void use() throws ApiException {
        Buoy made = buoys.create(buoy("a", 2)).throwsApiException().getObject();
        Crud.check(made.spec.colour.equals("red") && made.metadata.getGeneration() == 1, "the default: " + made.spec.colour);
        KubernetesApiResponse<Buoy> again = buoys.create(buoy("a", 2));
        Crud.check(again.getHttpStatusCode() == 409 && again.getStatus().getReason().equals("AlreadyExists"), "created twice");
        KubernetesApiResponse<Buoy> wrong = buoys.create(buoy("b", 0));
        Crud.check(wrong.getHttpStatusCode() == 422 && wrong.getStatus().getDetails().getCauses().get(0).getField().equals("spec.depth"),
                "without a depth: " + wrong.getStatus());
        made.spec.depth = 3;
        made = buoys.update(made).throwsApiException().getObject();
        V1Patch patch = new V1Patch("{\"spec\":{\"colour\":\"blue\"}}");
        made = buoys.patch(namespace, "a", V1Patch.PATCH_FORMAT_JSON_MERGE_PATCH, patch).throwsApiException().getObject();
        Crud.check(made.spec.depth == 3 && made.spec.colour.equals("blue") && made.metadata.getGeneration() == 3, "the patch");
        // updateStatus() of the generic client sends a media type that custom resources refuse, also at a kube-apiserver.
        made.status = new Status();
        made.status.seen = true;
        new CustomObjectsApi(client).replaceNamespacedCustomObjectStatus(GROUP, "v1", namespace, "buoys", "a", made).execute();
        made = buoys.get(namespace, "a").throwsApiException().getObject();
        Crud.check(made.status.seen && made.metadata.getGeneration() == 3, "the status");
        BuoyList list = buoys.list(namespace).throwsApiException().getObject();
        Crud.check(list.kind.equals("BuoyList") && list.items.size() == 1 && list.items.get(0).status.seen, "the list");
        buoys.delete(namespace, "a").throwsApiException();
        Crud.check(buoys.get(namespace, "a").getHttpStatusCode() == 404, "still there");
        buoys.create(buoy("last", 1)).throwsApiException();
    }

    // The last object is deleted with its definition.
    void run() throws ApiException, IOException, InterruptedException {
        // The typed model writes lists and maps that are empty, which a kube-apiserver refuses in a schema.
        new DynamicKubernetesApi("apiextensions.k8s.io", "v1", "customresourcedefinitions", client).create(Dynamics.newFromYaml(DEFINITION))
                .throwsApiException();
        await(this::isEstablished, "the definition");
        use();
        definitions.deleteCustomResourceDefinition(NAME).execute();
        await(this::isGone, "the end of the definition");
        Crud.check(buoys.list(namespace).getHttpStatusCode() == 404, "still served");
    }
}
