// A program over Java's official client for ../clients.py:
//   Client modes | crud KUBECONFIG NAMESPACE | custom KUBECONFIG NAMESPACE | apply KUBECONFIG NAMESPACE N | MODE KUBECONFIG NAMESPACE
// Its informers and its watch print SYNCED, and ADDED, UPDATED and DELETED with name and resourceVersion.

import com.google.gson.reflect.TypeToken;
import io.kubernetes.client.common.KubernetesObject;
import io.kubernetes.client.informer.ResourceEventHandler;
import io.kubernetes.client.informer.SharedIndexInformer;
import io.kubernetes.client.informer.SharedInformerFactory;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.openapi.ApiException;
import io.kubernetes.client.openapi.apis.CoreV1Api;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import io.kubernetes.client.openapi.models.V1ConfigMapList;
import io.kubernetes.client.util.CallGeneratorParams;
import io.kubernetes.client.util.ClientBuilder;
import io.kubernetes.client.util.KubeConfig;
import io.kubernetes.client.util.Watch;
import io.kubernetes.client.util.generic.dynamic.DynamicKubernetesApi;
import io.kubernetes.client.util.generic.dynamic.DynamicKubernetesObject;
import java.io.File;
import java.io.FileReader;
import java.io.IOException;
import java.lang.reflect.Type;
import java.util.Map;
import java.util.Objects;

public final class Client {
    private static final long RECONNECT_MS = 100;
    private static final long LOOK_MS = 10;

    private static synchronized void show(String what, KubernetesObject object) {
        System.out.println(what + " " + object.getMetadata().getName() + " " + object.getMetadata().getResourceVersion());
    }

    /** After a list that was not the first one the library calls onUpdate for every object, also for those that did not change. */
    private static final class Printer<T extends KubernetesObject> implements ResourceEventHandler<T> {
        @Override
        public void onAdd(T object) {
            show("ADDED", object);
        }

        @Override
        public void onUpdate(T old, T object) {
            if (!Objects.equals(old.getMetadata().getResourceVersion(), object.getMetadata().getResourceVersion())) show("UPDATED", object);
        }

        @Override
        public void onDelete(T object, boolean finalStateUnknown) {
            show(finalStateUnknown ? "DELETED-UNSEEN" : "DELETED", object);
        }
    }

    /** The threads of the factory keep the program alive. */
    private static <T extends KubernetesObject> void follow(SharedInformerFactory factory, SharedIndexInformer<T> informer)
            throws InterruptedException {
        informer.addEventHandler(new Printer<T>());
        factory.startAllRegisteredInformers();
        while (!informer.hasSynced()) Thread.sleep(LOOK_MS);
        System.out.println("SYNCED");
    }

    private static void followTyped(ApiClient client, String namespace) throws InterruptedException {
        CoreV1Api api = new CoreV1Api(client);
        SharedInformerFactory factory = new SharedInformerFactory(client);
        follow(factory, factory.sharedIndexInformerFor(
                (CallGeneratorParams params) -> api.listNamespacedConfigMap(namespace).watch(params.watch)
                        .resourceVersion(params.resourceVersion).timeoutSeconds(params.timeoutSeconds).buildCall(null),
                V1ConfigMap.class, V1ConfigMapList.class));
    }

    private static void followDynamic(ApiClient client, String namespace) throws InterruptedException {
        DynamicKubernetesApi api = new DynamicKubernetesApi("", "v1", "configmaps", client);
        SharedInformerFactory factory = new SharedInformerFactory(client);
        follow(factory, factory.sharedIndexInformerFor(api, DynamicKubernetesObject.class, 0, namespace));
    }

    private static Watch<V1ConfigMap> open(ApiClient client, CoreV1Api.APIlistNamespacedConfigMapRequest list) throws ApiException {
        Type type = new TypeToken<Watch.Response<V1ConfigMap>>() {}.getType();
        return Watch.createWatch(client, list.watch(true).buildCall(null), type);
    }

    /** Prints the initial events of a watch and returns the revision at their end. */
    private static String stream(ApiClient client, CoreV1Api.APIlistNamespacedConfigMapRequest list) throws ApiException, IOException {
        list.sendInitialEvents(true).resourceVersionMatch("NotOlderThan").allowWatchBookmarks(true);
        try (Watch<V1ConfigMap> watch = open(client, list)) {
            for (Watch.Response<V1ConfigMap> event : watch) {
                if (event.type.equals("BOOKMARK")) {
                    Map<String, String> found = event.object.getMetadata().getAnnotations();
                    Crud.check(Map.of("k8s.io/initial-events-end", "true").equals(found), "the bookmark has " + found);
                    return event.object.getMetadata().getResourceVersion();
                }
                show("ADDED", event.object);
            }
        }
        throw new IllegalStateException("the watch ended before its bookmark");
    }

    /** The library's watch is one stream: to go on where the stream ended is the caller's work. */
    private static void followStream(ApiClient client, String namespace) throws ApiException, IOException, InterruptedException {
        CoreV1Api api = new CoreV1Api(client);
        String version = stream(client, api.listNamespacedConfigMap(namespace));
        System.out.println("SYNCED");
        Map<String, String> words = Map.of("ADDED", "ADDED", "MODIFIED", "UPDATED", "DELETED", "DELETED");
        while (true) {
            try (Watch<V1ConfigMap> watch = open(client, api.listNamespacedConfigMap(namespace).resourceVersion(version))) {
                for (Watch.Response<V1ConfigMap> event : watch) {
                    show(words.getOrDefault(event.type, event.type), event.object);
                    version = event.object.getMetadata().getResourceVersion();
                }
            } catch (ApiException | RuntimeException error) {
                // Both have the error of the connection as their cause; a server that has just started answers 429 until its watch
                // caches are filled. Anything else is a failure.
                boolean isEarly = error instanceof ApiException refusal && refusal.getCode() == 429;
                if (!isEarly && !(error.getCause() instanceof IOException)) throw error;
            }
            Thread.sleep(RECONNECT_MS);
        }
    }

    public static void main(String[] words) throws Exception {
        if (words.length == 1 && words[0].equals("modes")) {
            System.out.println("informer lists-again\ndynamic-informer lists-again\nstreaming-watch\ncustom ends");
            return;
        }
        String mode = words[0];
        String namespace = words[2];
        KubeConfig config;
        try (FileReader reader = new FileReader(words[1])) {
            config = KubeConfig.loadKubeConfig(reader);
        }
        config.setFile(new File(words[1]));
        ApiClient client = ClientBuilder.kubeconfig(config).build();
        if (mode.equals("apply") || mode.equals("custom") || mode.equals("crud")) {
            if (mode.equals("apply")) new Apply(client, namespace).run(Integer.parseInt(words[3]));
            else if (mode.equals("custom")) new Custom(client, namespace).run();
            else new Crud(client, namespace).run();
            System.exit(0); // The pool of connections would keep the program alive.
        }
        client.setReadTimeout(0);
        if (mode.equals("informer")) followTyped(client, namespace);
        else if (mode.equals("dynamic-informer")) followDynamic(client, namespace);
        else if (mode.equals("streaming-watch")) followStream(client, namespace);
        else throw new IllegalArgumentException("unknown mode " + mode);
    }
}
