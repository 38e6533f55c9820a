// Server-side apply by Java's official client to the deployment of ../appliers.py.

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.kubernetes.client.custom.V1Patch;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.openapi.ApiException;
import io.kubernetes.client.openapi.apis.AppsV1Api;
import io.kubernetes.client.openapi.models.V1Deployment;
import io.kubernetes.client.util.PatchUtils;

final class Apply {
    private static final String MANAGER = "java";

    private final ApiClient client;
    private final AppsV1Api api;
    private final String namespace;

    Apply(ApiClient client, String namespace) {
        this.client = client;
        this.api = new AppsV1Api(client);
        this.namespace = namespace;
    }

    // What this manager wants of the deployment that all appliers share.
    private static JsonObject shared() {
        return JsonParser.parseString(String.format("""
                {"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"shared","labels":{"%s":"1"}},
                 "spec":{"selector":{"matchLabels":{"app":"shared"}},
                         "template":{"metadata":{"labels":{"app":"shared"}},
                                     "spec":{"containers":[{"name":"%s","image":"registry.example/c:1"}]}}}}""", MANAGER, MANAGER))
                .getAsJsonObject();
    }

    private V1Deployment apply(JsonObject wanted, Boolean force) throws ApiException {
        V1Patch patch = new V1Patch(wanted.toString());
        return PatchUtils.patch(V1Deployment.class,
                () -> api.patchNamespacedDeployment("shared", namespace, patch).fieldManager(MANAGER).force(force).buildCall(null),
                V1Patch.PATCH_FORMAT_APPLY_YAML, client);
    }

    // Applies a label more, then without that label and with replicas, by force where another manager owns them.
    void run(int replicas) throws ApiException {
        JsonObject more = shared(), wanted = shared();
        more.getAsJsonObject("metadata").getAsJsonObject("labels").addProperty("extra", MANAGER);
        apply(more, null);
        wanted.getAsJsonObject("spec").addProperty("replicas", replicas);
        V1Deployment applied;
        try {
            applied = apply(wanted, null);
        } catch (ApiException error) {
            Crud.check(error.getCode() == 409, error.getResponseBody());
            JsonObject status = JsonParser.parseString(error.getResponseBody()).getAsJsonObject();
            for (JsonElement each : status.getAsJsonObject("details").getAsJsonArray("causes")) {
                JsonObject cause = each.getAsJsonObject();
                Crud.check(cause.get("reason").getAsString().equals("FieldManagerConflict"), error.getResponseBody());
                System.out.println("conflict " + cause.get("field").getAsString());
            }
            applied = apply(wanted, true);
        }
        Crud.check(!applied.getMetadata().getLabels().containsKey("extra"), "labels: " + applied.getMetadata().getLabels());
        System.out.println("applied " + applied.getSpec().getReplicas());
    }
}
