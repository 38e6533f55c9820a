#!/usr/bin/env python3
"""A program over Python's kubernetes client for ../clients.py: client.py modes | MODE KUBECONFIG NAMESPACE | apply KUBECONFIG NAMESPACE N.
Its watches print SYNCED, and ADDED, UPDATED and DELETED with name and resourceVersion."""

import base64
import json
import sys
import time

import websocket
from kubernetes import client, config, dynamic, watch
from urllib3.exceptions import HTTPError

RECONNECT_S = 0.1


def config_map(name):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"of": "crud"}), data={"k": "v"})


def refused(code, function, *words):
    try:
        function(*words)
    except client.ApiException as error:
        assert error.status == code, error
        return
    raise AssertionError(f"success instead of {code}")


def change(api, namespace):
    made = api.create_namespaced_config_map(namespace, config_map("a"))
    assert made.metadata.creation_timestamp.tzinfo, made.metadata
    refused(409, api.create_namespaced_config_map, namespace, config_map("a"))
    changed = api.replace_namespaced_config_map("a", namespace, client.V1ConfigMap(metadata=made.metadata, data={"k": "w"}))
    assert changed.data == {"k": "w"}
    refused(409, api.replace_namespaced_config_map, "a", namespace, made)
    # A dict goes out as a strategic merge patch, a list as a JSON patch.
    api.patch_namespaced_config_map("a", namespace, {"data": {"strategic": "1"}})
    api.patch_namespaced_config_map("a", namespace, [{"op": "add", "path": "/data/json", "value": "1"}])
    assert len(api.read_namespaced_config_map("a", namespace).data) == 3


def look(api, namespace):
    for i in range(5):
        api.create_namespaced_config_map(namespace, config_map(f"page-{i}"))
    page = api.list_namespaced_config_map(namespace, limit=4, label_selector="of=crud")
    assert len(page.items) == 4 and page.metadata.remaining_item_count is None
    rest = api.list_namespaced_config_map(namespace, limit=4, label_selector="of=crud", _continue=page.metadata._continue)
    assert [item.metadata.name for item in rest.items] == ["page-3", "page-4"], rest


def remove(api, namespace):
    api.delete_namespaced_config_map("a", namespace)
    refused(404, api.read_namespaced_config_map, "a", namespace)
    api.delete_collection_namespaced_config_map(namespace, label_selector="of=crud")
    assert not api.list_namespaced_config_map(namespace, label_selector="of=crud").items


def discover(namespace):
    """The dynamic client reads discovery and caches it."""
    resources = dynamic.DynamicClient(client.ApiClient()).resources
    maps = resources.get(api_version="v1", kind="ConfigMap")
    maps.create(namespace=namespace, body={"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "d"}})
    patch = {"metadata": {"labels": {"x": "y"}}}
    maps.patch(namespace=namespace, name="d", body=patch, content_type="application/merge-patch+json")
    assert maps.get(namespace=namespace, label_selector="x=y").items[0].metadata.name == "d"
    maps.delete(namespace=namespace, name="d")
    assert resources.get(api_version="apps/v1", kind="Deployment").namespaced


def crud(namespace):
    api = client.CoreV1Api()
    change(api, namespace)
    look(api, namespace)
    remove(api, namespace)
    discover(namespace)


GROUP = "python.example.com"


def buoys_definition():
    spec = client.V1JSONSchemaProps(type="object", required=["depth"], properties={
        "depth": client.V1JSONSchemaProps(type="integer", minimum=1), "colour": client.V1JSONSchemaProps(type="string", default="red")})
    status = client.V1JSONSchemaProps(type="object", properties={"seen": client.V1JSONSchemaProps(type="boolean")})
    schema = client.V1JSONSchemaProps(type="object", properties={"spec": spec, "status": status})
    version = client.V1CustomResourceDefinitionVersion(
        name="v1", served=True, storage=True, schema=client.V1CustomResourceValidation(open_apiv3_schema=schema),
        subresources=client.V1CustomResourceSubresources(
            status={}, scale=client.V1CustomResourceSubresourceScale(spec_replicas_path=".spec.depth", status_replicas_path=".status.depth")))
    names = client.V1CustomResourceDefinitionNames(plural="buoys", kind="Buoy")
    return client.V1CustomResourceDefinition(
        metadata=client.V1ObjectMeta(name=f"buoys.{GROUP}"),
        spec=client.V1CustomResourceDefinitionSpec(group=GROUP, scope="Namespaced", names=names, versions=[version]))


def await_definition(api, is_wanted):
    for event in watch.Watch().stream(api.list_custom_resource_definition, field_selector=f"metadata.name=buoys.{GROUP}", timeout_seconds=60):
        if is_wanted(event):
            return
    raise AssertionError("the definition is not as wanted")


def is_established(event):
    return any(condition.type == "Established" and condition.status == "True" for condition in event["object"].status.conditions or [])


def use_buoys(namespace):
    """The verbs of CustomObjectsApi, which knows no kinds."""
    api, place = client.CustomObjectsApi(), (GROUP, "v1", namespace, "buoys")
    buoy = {"apiVersion": f"{GROUP}/v1", "kind": "Buoy", "metadata": {"name": "a"}, "spec": {"depth": 2}}
    made = api.create_namespaced_custom_object(*place, buoy)
    assert made["spec"] == {"depth": 2, "colour": "red"}, made
    refused(409, api.create_namespaced_custom_object, *place, buoy)
    refused(422, api.create_namespaced_custom_object, *place, {**buoy, "metadata": {"name": "b"}, "spec": {"depth": "two"}})
    made["spec"]["depth"] = 3
    api.replace_namespaced_custom_object(*place, "a", made)
    refused(409, api.replace_namespaced_custom_object, *place, "a", made)
    # A dict goes out as a merge patch.
    changed = api.patch_namespaced_custom_object(*place, "a", {"spec": {"colour": "blue"}})
    assert (changed["spec"], changed["metadata"]["generation"]) == ({"depth": 3, "colour": "blue"}, 3), changed
    shown = api.patch_namespaced_custom_object_status(*place, "a", {"status": {"seen": True}, "spec": {"depth": 9}})
    assert (shown["status"], shown["spec"]["depth"], shown["metadata"]["generation"]) == ({"seen": True}, 3, 3), shown
    assert api.get_namespaced_custom_object_status(*place, "a") == shown
    scale = api.get_namespaced_custom_object_scale(*place, "a")
    assert scale["kind"] == "Scale" and scale["spec"] == {"replicas": 3}, scale
    api.patch_namespaced_custom_object_scale(*place, "a", {"spec": {"replicas": 5}})
    listed = api.list_cluster_custom_object(GROUP, "v1", "buoys", field_selector=f"metadata.namespace={namespace}")
    assert [(item["metadata"]["name"], item["spec"]["depth"]) for item in listed["items"]] == [("a", 5)], listed
    api.delete_namespaced_custom_object(*place, "a")
    refused(404, api.get_namespaced_custom_object, *place, "a")
    buoys = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version=f"{GROUP}/v1", kind="Buoy")
    buoys.create(namespace=namespace, body=buoy)
    assert [item.metadata.name for item in buoys.get(namespace=namespace).items] == ["a"]


def custom(namespace):
    """A definition by the typed client, and objects of its kind, the last of which is deleted with it."""
    api = client.ApiextensionsV1Api()
    made = api.create_custom_resource_definition(buoys_definition())
    assert made.spec.names.list_kind == "BuoyList", made.spec.names
    await_definition(api, is_established)
    use_buoys(namespace)
    api.delete_custom_resource_definition(f"buoys.{GROUP}")
    deadline = time.monotonic() + 60
    while api.list_custom_resource_definition(field_selector=f"metadata.name=buoys.{GROUP}").items:
        assert time.monotonic() < deadline, "the definition is still there"
    refused(404, client.CustomObjectsApi().list_namespaced_custom_object, GROUP, "v1", namespace, "buoys")


MANAGER = "python"


def shared(**more):
    """What this manager wants of the deployment that all appliers share."""
    labels = {"app": "shared"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": MANAGER, "image": "registry.example/c:1"}]}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shared", "labels": {MANAGER: "1"}},
            "spec": {"selector": {"matchLabels": labels}, "template": template, **more}}


def apply(namespace, number):
    """Applies by the dynamic client: a label more, then without that label and with replicas, by force where another owns them."""
    deployments = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="apps/v1", kind="Deployment")
    options = {"namespace": namespace, "name": "shared", "field_manager": MANAGER}
    more = shared()
    more["metadata"]["labels"]["extra"] = MANAGER
    deployments.server_side_apply(body=more, **options)
    wanted = shared(replicas=number)
    try:
        applied = deployments.server_side_apply(body=wanted, **options)
    except dynamic.exceptions.ConflictError as error:
        causes = json.loads(error.body)["details"]["causes"]
        assert all(cause["reason"] == "FieldManagerConflict" for cause in causes), causes
        for cause in causes:
            print("conflict", cause["field"])
        applied = deployments.server_side_apply(body=wanted, force_conflicts=True, **options)
    assert "extra" not in applied.metadata.labels.to_dict(), applied.metadata.labels
    print("applied", applied.spec.replicas)


def show(what, item):
    print(what, item.metadata.name, item.metadata.resource_version, flush=True)


def listed(api, namespace):
    """Shows what is there and returns its revision."""
    maps = api.list_namespaced_config_map(namespace)
    for item in maps.items:
        show("ADDED", item)
    return maps.metadata.resource_version


def streamed(api, namespace):
    """The same by a watch that begins with the initial events."""
    options = {"send_initial_events": True, "allow_watch_bookmarks": True, "resource_version_match": "NotOlderThan"}
    for event in watch.Watch().stream(api.list_namespaced_config_map, namespace, **options):
        if event["type"] == "BOOKMARK":
            metadata = event["raw_object"]["metadata"]
            assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}, event
            return metadata["resourceVersion"]
        show("ADDED", event["object"])


def follow(namespace, begin):
    """The library's watch goes on by itself where a stream ended; a connection that cannot be had is the caller's."""
    api = client.CoreV1Api()
    version = begin(api, namespace)
    print("SYNCED", flush=True)
    words = {"ADDED": "ADDED", "MODIFIED": "UPDATED", "DELETED": "DELETED"}
    while True:
        try:
            for event in watch.Watch().stream(api.list_namespaced_config_map, namespace, resource_version=version):
                show(words[event["type"]], event["object"])
                version = event["object"].metadata.resource_version
        except HTTPError:
            time.sleep(RECONNECT_S)
        except client.ApiException as error:
            assert error.status == 429, error  # A server that has just started fills its watch caches.
            time.sleep(RECONNECT_S)


def connect_socket(path):
    """A WebSocket as a browser opens one: it cannot set headers, so the token is a subprotocol."""
    settings = client.Configuration.get_default_copy()
    token = (settings.get_api_key_with_prefix("authorization") or "").removeprefix("Bearer ")
    options = {"ca_certs": settings.ssl_ca_cert, "certfile": settings.cert_file, "keyfile": settings.key_file}
    encoded = base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")
    protocols = ["base64url.bearer.authorization.k8s.io." + encoded, "v1"] if token else ["v1"]
    return websocket.create_connection(settings.host.replace("https://", "wss://") + path, subprotocols=protocols,
                                       sslopt={name: value for name, value in options.items() if value})


def follow_socket(namespace):
    """The same over WebSocket, with the library that Python's client has for its exec."""
    version = listed(client.CoreV1Api(), namespace)
    print("SYNCED", flush=True)
    words = {"ADDED": "ADDED", "MODIFIED": "UPDATED", "DELETED": "DELETED"}
    while True:
        try:
            socket = connect_socket(f"/api/v1/namespaces/{namespace}/configmaps?watch=1&resourceVersion={version}")
            assert socket.getsubprotocol() == "v1", socket.getsubprotocol()
            socket.ping("are you there")
            while text := socket.recv():
                event = json.loads(text)
                metadata = event["object"]["metadata"]
                print(words[event["type"]], metadata["name"], metadata["resourceVersion"], flush=True)
                version = metadata["resourceVersion"]
        except (OSError, websocket.WebSocketException):
            pass
        time.sleep(RECONNECT_S)


def main():
    if sys.argv[1] == "modes":
        print("watch\nstreaming-watch\nsocket-watch\ncustom ends")
        return
    mode, kubeconfig, namespace, *number = sys.argv[1:]
    config.load_kube_config(kubeconfig)
    if mode == "apply":
        apply(namespace, int(number[0]))
    elif mode == "crud":
        crud(namespace)
    elif mode == "custom":
        custom(namespace)
    elif mode == "socket-watch":
        follow_socket(namespace)
    else:
        follow(namespace, listed if mode == "watch" else streamed)


if __name__ == "__main__":
    main()
