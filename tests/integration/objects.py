#!/usr/bin/env python3
"""Objects over the wire: the verbs, their forms and their refusals. objects.py PROGRAM [FLAG...]"""

import re
import time

from etcd_cluster import wait_for
from fixture import START_S, config_map, main, test

MERGE = "application/merge-patch+json"


@test
def an_object_is_created_read_changed_and_deleted(server):
    made = server.create(server.maps, config_map("a", k="v"))
    assert made["kind"] == "ConfigMap" and made["metadata"]["namespace"] == server.ns
    assert made["metadata"]["uid"] and made["metadata"]["creationTimestamp"].endswith("Z")
    made["data"]["k"] = "w"
    changed = server.request("PUT", server.maps + "/a", made).expect(200).json()
    assert int(changed["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
    assert server.get(server.maps + "/a").expect(200).json() == changed
    status = server.request("DELETE", server.maps + "/a").expect(200).json()
    assert status["status"] == "Success" and status["details"]["uid"] == made["metadata"]["uid"]
    status = server.get(server.maps + "/a").expect(404).json()
    assert status["reason"] == "NotFound" and status["message"] == 'configmaps "a" not found'


def envelope(api_version, kind, raw):
    """An object in protobuf; all parts are short."""
    def field(number, value):
        return bytes([number << 3 | 2, len(value)]) + value
    return b"k8s\0" + field(1, field(1, api_version) + field(2, kind)) + field(2, raw)


@test
def an_envelope_of_protobuf_may_leave_its_type_open(server):
    for name, api_version, kind in ((b"a", b"", b""), (b"b", b"v1", b""), (b"c", b"", b"ConfigMap"), (b"d", b"/", b"ConfigMap"),
                                    (b"e", b"v1/", b"ConfigMap"), (b"f", b"v1", b"ConfigMap")):
        # metadata.name; data.k, which is no UTF-8.
        raw = b"\n\3\n\1" + name + b"\x12\6\n\1k\x12\1\xff"
        body = envelope(api_version, kind, raw)
        made = server.request("POST", server.maps, body, Content_Type="application/vnd.kubernetes.protobuf").expect(201).json()
        assert (made["kind"], made["apiVersion"], made["metadata"]["name"]) == ("ConfigMap", "v1", name.decode()), made
        assert made["data"] == {"k": "\ufffd"}, made


@test
def a_second_object_of_that_name_is_a_conflict(server):
    server.create(server.maps, config_map("a"))
    status = server.create(server.maps, config_map("a"), 409)
    assert status["reason"] == "AlreadyExists" and status["message"] == 'configmaps "a" already exists'


@test
def an_update_with_an_old_revision_is_a_conflict(server):
    made = server.create(server.maps, config_map("a"))
    server.request("PATCH", server.maps + "/a", {"data": {"x": "1"}}, Content_Type=MERGE).expect(200)
    status = server.request("PUT", server.maps + "/a", made).expect(409).json()
    assert status["reason"] == "Conflict"
    assert status["message"].startswith('Operation cannot be fulfilled on configmaps "a": the object has been modified')


@test
def patches_merge_and_edit(server):
    server.create(server.maps, config_map("a", k="v", gone="x"))
    merged = server.request("PATCH", server.maps + "/a", {"data": {"gone": None, "n": "1"}}, Content_Type=MERGE)
    assert merged.expect(200).json()["data"] == {"k": "v", "n": "1"}
    edits = [{"op": "test", "path": "/data/k", "value": "v"}, {"op": "replace", "path": "/data/k", "value": "w"}]
    edited = server.request("PATCH", server.maps + "/a", edits, Content_Type="application/json-patch+json")
    assert edited.expect(200).json()["data"] == {"k": "w", "n": "1"}
    server.request("PATCH", server.maps + "/a", {}, Content_Type="application/x").expect(415)


@test
def lists_page_and_select(server):
    for i in range(5):
        server.create(server.maps, config_map(f"m{i}", labels={"odd": str(i % 2)}))
    names, token = [], ""
    while True:
        page = server.get(f"{server.maps}?limit=2&continue={token}").expect(200).json()
        names += [item["metadata"]["name"] for item in page["items"]]
        token = page["metadata"].get("continue", "")
        if not token:
            break
        assert page["metadata"]["remainingItemCount"] == 5 - len(names)
    assert names == ["m0", "m1", "m2", "m3", "m4"]
    odd = server.get(server.maps + "?labelSelector=odd%3D1").expect(200).json()
    assert [item["metadata"]["name"] for item in odd["items"]] == ["m1", "m3"]
    assert "kind" not in odd["items"][0]
    one = server.get(server.maps + "?fieldSelector=metadata.name%3Dm4").expect(200).json()
    assert len(one["items"]) == 1


@test
def a_collection_is_deleted(server):
    for i in range(3):
        server.create(server.maps, config_map(f"m{i}", labels={"keep": "yes" if i == 0 else "no"}))
    server.request("DELETE", server.maps + "?labelSelector=keep%3Dno").expect(200)
    assert len(server.get(server.maps).json()["items"]) == 1


@test
def yaml_comes_in_and_goes_out(server):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m\ndata:\n  \"on\": \"yes\"\n"
    server.request("POST", server.maps, text, Content_Type="application/yaml").expect(201)
    assert server.get(server.maps + "/m").json()["data"] == {"on": "yes"}
    answer = server.get(server.maps + "/m", Accept="application/yaml").expect(200)
    assert answer.headers["Content-Type"] == "application/yaml"
    assert answer.body.decode().startswith('apiVersion: v1\ndata:\n  "on": "yes"\nkind: ConfigMap\n'), answer.body


@test
def a_dry_run_leaves_nothing(server):
    server.create(server.maps + "?dryRun=All", config_map("a"))
    server.get(server.maps + "/a").expect(404)


@test
def names_are_generated(server):
    body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"generateName": "g-"}}
    names = {server.create(server.maps, body)["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3 and all(name.startswith("g-") and len(name) == 7 for name in names)


@test
def a_missing_namespace_and_a_bad_object_are_refused(server):
    status = server.create("/api/v1/namespaces/nowhere/configmaps", config_map("a"), 404)
    assert status["message"] == 'namespaces "nowhere" not found'
    status = server.create(server.maps, config_map("Not_A_Name"), 422)
    assert status["reason"] == "Invalid" and status["details"]["causes"][0]["field"] == "metadata.name"
    server.request("POST", server.maps, "{").expect(400)
    server.request("POST", server.maps, "x", Content_Type="text/plain").expect(415)
    server.get(server.maps, Accept="image/png").expect(406)
    server.request("PUT", server.maps, config_map("a")).expect(405)
    server.get("/api/v1/nothings").expect(404)


@test
def a_body_that_is_too_large_is_refused(server):
    answer = server.request("POST", server.maps, "x" * (3 * 1024 * 1024 + 1))
    assert answer.expect(413).json()["reason"] == "RequestEntityTooLarge"


@test
def every_answer_has_its_headers(server):
    answer = server.get(server.maps)
    assert answer.headers["Cache-Control"] == "no-cache, private" and len(answer.headers["Audit-Id"]) == 36
    assert answer.headers["Content-Type"] == "application/json"
    assert server.get(server.maps, Audit_Id="mine").headers["Audit-Id"] == "mine"
    assert answer.body.endswith(b"}\n") and b"\n  " not in answer.body
    assert b'\n  "kind"' in server.get(server.maps, User_Agent="curl/8").body


@test
def a_bad_timeout_is_refused(server):
    status = server.get(server.maps + "?timeout=soon").expect(400).json()
    assert "invalid timeout specified in the request URL" in status["message"]
    server.get(server.maps + "?timeout=30s").expect(200)


@test
def one_connection_serves_many_requests(server):
    connection = server.connect()
    for i in range(20):
        server.request("POST", server.maps, config_map(f"m{i}"), connection=connection).expect(201)
        server.get(f"{server.maps}/m{i}", connection=connection).expect(200)
    server.request("HEAD", server.maps, connection=connection).expect(200)
    assert len(server.get(server.maps, connection=connection).json()["items"]) == 20
    connection.close()


@test
def discovery_names_the_resources(server):
    names = {r["name"] for r in server.get("/api/v1").expect(200).json()["resources"]}
    assert {"pods", "configmaps", "namespaces", "pods/status"} <= names
    [address] = server.get("/api").expect(200).json()["serverAddressByClientCIDRs"]
    assert address == {"clientCIDR": "0.0.0.0/0", "serverAddress": f"127.0.0.1:{server.port}"}, address
    groups = {g["name"] for g in server.get("/apis").expect(200).json()["groups"]}
    assert {"apps", "batch", "coordination.k8s.io"} <= groups
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    first = server.get("/apis", Accept=accept).expect(200)
    assert first.json()["kind"] == "APIGroupDiscoveryList"
    server.get("/apis", Accept=accept, If_None_Match=first.headers["ETag"]).expect(304)
    assert server.get("/version").json()["minor"] == "34"


@test
def openapi_tells_kubectl_how_to_write(server):
    paths = server.get("/openapi/v3").expect(200).json()["paths"]
    assert {"api/v1", "apis/apps/v1"} <= set(paths)
    document = server.get(paths["apis/apps/v1"]["serverRelativeURL"]).expect(200).json()
    patch = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert "fieldValidation" in {parameter["name"] for parameter in patch["parameters"]}
    server.get("/openapi/v3/apis/nothing/v1").expect(404)
    etag = server.get("/openapi/v3/apis/apps/v1").expect(200).headers["ETag"]
    server.get("/openapi/v3/apis/apps/v1", If_None_Match=etag).expect(304)
    assert etag.strip('"') in paths["apis/apps/v1"]["serverRelativeURL"]


LOOKED_UP = """core.v1.Pod core.v1.Service core.v1.ConfigMap core.v1.Secret core.v1.PersistentVolume core.v1.PersistentVolumeClaim
    core.v1.ServiceAccount core.v1.Namespace core.v1.Node core.v1.Event apps.v1.Deployment apps.v1.StatefulSet apps.v1.DaemonSet
    apps.v1.ReplicaSet batch.v1.Job batch.v1.CronJob networking.v1.Ingress networking.v1.NetworkPolicy rbac.v1.Role
    rbac.v1.RoleBinding rbac.v1.ClusterRole autoscaling.v2.HorizontalPodAutoscaler storage.v1.StorageClass"""


@test
def openapi_describes_every_kind_and_the_fields_that_people_look_up(server):
    definitions = server.get("/openapi/v2").expect(200).json()["definitions"]
    kinds = {name for name, schema in definitions.items() if "x-kubernetes-group-version-kind" in schema}
    todo = [f"io.k8s.api.{name}" for name in LOOKED_UP.split()]
    missing, seen = [name for name in kinds if not definitions[name].get("description")], set()
    assert set(todo) <= kinds
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        for field, property in definitions[name].get("properties", {}).items():
            missing += [f"{name}.{field}"] if not property.get("description") else []
            for schema in property, property.get("items", {}), property.get("additionalProperties", {}):
                todo += [schema["$ref"].split("/")[-1]] if "$ref" in schema else []
    assert not missing, missing


@test
def health_is_told_in_detail(server):
    text = server.get("/readyz?verbose").expect(200).body.decode()
    for check in ("ping", "log", "etcd", "etcd-readiness", "informer-sync", "poststarthook/start-system-namespaces-controller",
                  "poststarthook/bootstrap-controller", "poststarthook/start-service-ip-repair-controllers", "shutdown"):
        assert f"[+]{check} ok" in text, text
    assert text.endswith("readyz check passed\n"), text
    assert server.get("/livez").expect(200).body == b"ok"


@test
def numbers_are_shown(server):
    server.get(server.maps).expect(200)
    made = server.create(server.maps, config_map("seen"))["metadata"]
    connection = server.connect()
    connection.request("GET", f"{server.maps}?watch=1&resourceVersion={int(made['resourceVersion']) - 1}", headers={"Authorization": "Bearer " + server.token})
    assert b'"seen"' in connection.getresponse().readline()
    connection.close()
    text = server.get("/metrics").expect(200).body.decode()
    assert re.search(r'^apiserver_watch_events_total{group="",resource="configmaps",version="v1"} [1-9]', text, re.MULTILINE), text
    assert "apiserver_request_sli_duration_seconds_bucket" in text and 'kubernetes_build_info{build_date=' in text
    assert re.search(r'^version_info{binary="1.34",component="kube",emulation="1.34",min_compat="1.33"} 1$', text, re.MULTILINE), text
    assert 'apiserver_request_total{verb="LIST",group="",version="v1",resource="configmaps"' in text
    assert "apiserver_request_duration_seconds_bucket" in text and "process_resident_memory_bytes" in text
    for name in ("cpu_seconds_total", "max_fds", "open_fds", "virtual_memory_bytes"):
        assert float(re.search(rf"^process_{name} (\S+)$", text, re.MULTILINE)[1]) > 0, text
    started = float(re.search(r"^process_start_time_seconds (\S+)$", text, re.MULTILINE)[1])
    assert abs(time.time() - started) < 3600, started
    if "--watch-cache=false" not in server.flags:
        assert re.search(r'^apiserver_resource_objects{group="",resource="namespaces"} [1-9]', text, re.MULTILINE), text
        assert re.search(r'^apiserver_storage_objects{resource="namespaces"} [1-9]', text, re.MULTILINE), text
    assert "coracle_watch_cache_history_bytes" in text and "apiserver_storage_size_bytes" in text
    # The request before may not be over for the server when its answer is here.
    alone = b'apiserver_current_inflight_requests{request_kind="readOnly"} 1\n'
    wait_for("one request under way", START_S, lambda: alone in server.get("/metrics").expect(200).body)
    assert 'apiserver_response_sizes_bucket{verb="LIST",group="",version="v1",resource="configmaps"' in text


if __name__ == "__main__":
    main()
