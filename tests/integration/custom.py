#!/usr/bin/env python3
"""What clients are shown of custom resources: tables, scales, selections by fields."""

import sys
import signal
import time

from fixture import Server, await_it, main, test

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "/apis/shop.example.org/v1"
KETTLES = GROUP + "/namespaces/default/kettles"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
SCHEMA = {"type": "object", "properties": {
    "spec": {"type": "object", "properties": {"colour": {"type": "string"}, "size": {"type": "integer"},
                                              "replicas": {"type": "integer"}, "when": {"type": "string"},
                                              "any": {"x-kubernetes-preserve-unknown-fields": True}}},
    "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}}}}}
COLUMNS = [{"name": "Colour", "type": "string", "jsonPath": ".spec.colour"},
           {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1},
           {"name": "When", "type": "date", "jsonPath": ".spec.when"},
           {"name": "Ready", "type": "string", "jsonPath": '.spec.any[?(@.type=="Ready")].status', "description": "Is it?"}]
SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}


def definition(name, **version):
    plural = name + "s"
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.shop.example.org"},
            "spec": {"group": "shop.example.org", "scope": "Namespaced", "names": {"plural": plural, "kind": name.capitalize()},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}, **version}]}}


def define(server, name="kettle", **version):
    """Defines kettles anew, or another kind, and waits until they are served."""
    path = f"{DEFINITIONS}/{name}s.shop.example.org"
    server.request("DELETE", path)
    await_it(lambda: server.get(path).status == 404)
    server.create(DEFINITIONS, definition(name, **version))
    await_it(lambda: server.get(f"{GROUP}/namespaces/default/{name}s").status == 200)


def is_established(crd):
    return any(c["type"] == "Established" and c["status"] == "True" for c in crd["status"].get("conditions") or [])


def kettle(name, **spec):
    return {"apiVersion": "shop.example.org/v1", "kind": "Kettle", "metadata": {"name": name}, "spec": spec}


def table(server, path):
    return server.get(path, Accept=TABLE).expect(200).json()


@test
def tables_have_the_columns_of_the_version(server):
    """Contract crd 4.13.4, 4.13.6, 4.13.7, 4.13.9."""
    define(server, additionalPrinterColumns=COLUMNS)
    server.create(KETTLES, kettle("a", colour="red", size=3, any=[{"type": "Ready", "status": "True"}]))
    server.create(KETTLES, kettle("b", when="yesterday"))
    got = table(server, KETTLES)
    assert [(c["name"], c["type"], c["format"], c["priority"]) for c in got["columnDefinitions"]] == [
        ("Name", "string", "name", 0), ("Colour", "string", "", 0), ("Size", "integer", "", 1), ("When", "date", "", 0),
        ("Ready", "string", "", 0)], got
    assert got["columnDefinitions"][1]["description"] == "Custom resource definition column (in JSONPath format): .spec.colour"
    assert got["columnDefinitions"][4]["description"] == "Is it?"
    assert [row["cells"] for row in got["rows"]] == [["a", "red", 3, None, "True"], ["b", None, None, "<invalid>", None]], got
    assert got["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    one = table(server, KETTLES + "/a")
    assert one["rows"][0]["cells"] == ["a", "red", 3, None, "True"]


@test
def tables_show_the_age_when_no_column_is_declared(server):
    """Contract crd G1."""
    define(server)
    server.create(KETTLES, kettle("a"))
    got = table(server, KETTLES)
    assert [c["name"] for c in got["columnDefinitions"]] == ["Name", "Age"]
    assert got["rows"][0]["cells"][0] == "a" and got["rows"][0]["cells"][1].endswith("s"), got


@test
def a_scale_is_read_and_written_at_its_paths(server):
    """Contract crd 4.12, F6 to F8."""
    define(server, subresources={"status": {}, "scale": SCALE})
    uid = server.create(KETTLES, kettle("k"))["metadata"]["uid"]
    scale = KETTLES + "/k/scale"
    gone = server.get(scale).expect(500).json()
    assert gone["message"] == 'Internal error occurred: the spec replicas field ".spec.replicas" does not exist', gone
    empty = server.request("PATCH", scale, {"metadata": {}}, Content_Type="application/merge-patch+json").expect(400).json()
    assert empty["message"] == 'the spec replicas field ".spec.replicas" cannot be empty', empty
    made = server.request("PATCH", scale, {"spec": {"replicas": 4}}, Content_Type="application/merge-patch+json").expect(200).json()
    assert made["kind"] == "Scale" and made["apiVersion"] == "autoscaling/v1" and made["spec"] == {"replicas": 4}, made
    assert made["metadata"]["uid"] == uid and made["status"] == {"replicas": 0}, made
    stored = server.get(KETTLES + "/k").json()
    assert stored["spec"] == {"replicas": 4} and stored["metadata"]["generation"] == 2, stored
    stored["status"] = {"replicas": 3, "selector": "a=b"}
    server.request("PUT", KETTLES + "/k/status", stored).expect(200)
    got = server.get(scale).expect(200).json()
    assert got["status"] == {"replicas": 3, "selector": "a=b"}, got
    got["spec"]["replicas"] = -1
    refused = server.request("PUT", scale, got).expect(422).json()
    assert refused["details"]["causes"][0] == {
        "reason": "FieldValueInvalid", "field": ".spec.replicas",
        "message": "Invalid value: -1: should be a non-negative integer"}, refused
    got["spec"] = {}
    assert server.request("PUT", scale, got).expect(200).json()["spec"] == {}
    assert server.get(KETTLES + "/k").json()["spec"] == {"replicas": 0}
    old = dict(got, metadata=dict(got["metadata"], resourceVersion="1"))
    server.request("PUT", scale, old).expect(409)
    # Without a revision it is written, other than the object itself.
    assert server.request("PUT", scale, {**got, "metadata": {"name": "k"}, "spec": {"replicas": 5}}).expect(200).json()["spec"] == {"replicas": 5}
    assert server.request("PUT", KETTLES + "/k/status", dict(stored, status={"replicas": -2})).status in (409, 422)
    columns = table(server, scale)
    assert [c["name"] for c in columns["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"], columns
    resources = server.get(GROUP).expect(200).json()["resources"]
    assert [r["name"] for r in resources] == ["kettles", "kettles/status", "kettles/scale"], resources
    assert resources[2]["group"] == "autoscaling" and resources[2]["kind"] == "Scale"


@test
def a_definition_is_established_at_once_after_a_start(_):
    """The watch of the definitions began before its cache was filled, in about every second start, and came again only after a pause of
    0.8 s or more. The second definition shows how fast this machine is."""
    for _ in range(4):
        with Server(sys.argv[1], *sys.argv[2:]) as server:
            took = []
            for name in "first", "second":
                begin = time.monotonic()
                define(server, name=name)
                took.append(time.monotonic() - begin)
        assert took[0] < 0.7 + 10 * took[1], took


@test
def what_is_established_is_served_and_discovered(server):
    """Contract crd 3.1.5. At kube-apiserver discovery follows some time later."""
    connection = server.connect()
    for _ in range(20):
        watch = server.watch(f"{DEFINITIONS}?watch=1&fieldSelector=metadata.name%3Dpots.shop.example.org")
        server.create(DEFINITIONS, definition("pot"))
        while not is_established(next(watch)["object"]):
            pass
        resources = server.get(GROUP, connection=connection).expect(200).json()["resources"]
        assert "pots" in [resource["name"] for resource in resources]
        server.get(GROUP + "/pots", connection=connection).expect(200)
        watch.close()
        server.request("DELETE", DEFINITIONS + "/pots.shop.example.org").expect(200)
        await_it(lambda: server.get(DEFINITIONS + "/pots.shop.example.org", connection=connection).status == 404)
    connection.close()


@test
def documents_follow_a_definition_that_goes_with_its_instances(server):
    """Contract crd 2.7.1, 2.7.2, 5.12: a policy of deletion keeps no instance."""
    define(server)
    server.create(KETTLES, kettle("a"))

    def is_described(path, key):
        return [name for name in server.get(path).expect(200).json()[key] if "shop.example" in name or "example.shop" in name]

    await_it(lambda: is_described("/openapi/v3", "paths") == ["apis/shop.example.org/v1"])
    await_it(lambda: "org.example.shop.v1.Kettle" in is_described("/openapi/v2", "definitions"))
    server.request("DELETE", DEFINITIONS + "/kettles.shop.example.org?propagationPolicy=Orphan").expect(200)
    await_it(lambda: server.get(DEFINITIONS + "/kettles.shop.example.org").status == 404)
    await_it(lambda: not is_described("/openapi/v3", "paths") and not is_described("/openapi/v2", "definitions"))
    define(server)
    assert server.get(KETTLES).expect(200).json()["items"] == []


@test
def watches_see_the_end_of_the_instances_and_then_their_own(server):
    """Contract crd 5.8, 5.9."""
    define(server)
    for name in "a", "b":
        server.create(KETTLES, kettle(name))
    at = server.get(KETTLES).json()["metadata"]["resourceVersion"]
    watches = [server.watch(f"{KETTLES}?watch=1&resourceVersion={at}") for _ in range(4)]
    server.request("DELETE", DEFINITIONS + "/kettles.shop.example.org").expect(200)
    for watch in watches:
        assert sorted((event["type"], event["object"]["metadata"]["name"]) for event in watch) == [("DELETED", "a"), ("DELETED", "b")]


@test
def definitions_and_instances_are_served_when_a_restarted_server_is_ready(server):
    """The ready line comes after them; a watch goes on where it was. The second start follows a kill."""
    define(server)
    at = server.create(KETTLES, kettle("first"))["metadata"]["resourceVersion"]
    made = server.create(KETTLES, kettle("second", colour="red"))
    for number in signal.SIGTERM, signal.SIGKILL:
        server.restart(number)
        server.get("/readyz").expect(200)
        listed = server.get(KETTLES).expect(200).json()
        assert [item["metadata"]["name"] for item in listed["items"]] == ["first", "second"], listed
        assert [r["name"] for r in server.get(GROUP).expect(200).json()["resources"]] == ["kettles"]
        assert GROUP.lstrip("/") in server.get("/openapi/v3").expect(200).json()["paths"]
        watch = server.watch(f"{KETTLES}?watch=1&resourceVersion={at}")
        seen = next(watch)
        assert seen == {"type": "ADDED", "object": made}, seen
        watch.close()
    server.create(KETTLES, kettle("third"))


@test
def items_of_a_list_say_their_kind(server):
    """Upstream has no type for custom resources that would leave it out, nor an empty `continue`."""
    define(server)
    server.create(KETTLES, kettle("a", colour="red"))
    for query in "", "?pretty=true", "?limit=1":
        got = server.get(KETTLES + query).expect(200).json()
        assert [(item["kind"], item["apiVersion"]) for item in got["items"]] == [("Kettle", "shop.example.org/v1")], got
        assert got["metadata"]["continue"] == "", got
    partial = server.get(KETTLES, Accept="application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io").expect(200).json()
    assert "continue" not in partial["metadata"] and partial["items"][0]["kind"] == "PartialObjectMetadata", partial


@test
def a_subresource_that_is_off_is_not_found_by_the_name_of_the_object(server):
    """Contract crd F5."""
    define(server)
    server.create(KETTLES, kettle("a"))
    for sub in "status", "scale", "lid":
        for method in "GET", "PUT":
            gone = server.request(method, f"{KETTLES}/a/{sub}", kettle("a") if method == "PUT" else None).expect(404).json()
            assert gone["message"] == 'kettles.shop.example.org "a" not found', gone
            assert gone["details"] == {"name": "a", "group": "shop.example.org", "kind": "kettles"}, gone


@test
def cells_are_those_of_the_version_that_was_asked_for(server):
    """The schema of that version has dropped what it does not know."""
    other = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    columns = [COLUMNS[0], COLUMNS[1]]
    define(server, additionalPrinterColumns=columns)
    second = {"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": other}, "additionalPrinterColumns": columns}
    patch = [{"op": "add", "path": "/spec/versions/-", "value": second}]
    server.request("PATCH", DEFINITIONS + "/kettles.shop.example.org", patch, Content_Type="application/json-patch+json").expect(200)
    newer = KETTLES.replace("/v1/", "/v2/")
    await_it(lambda: server.get(newer).status == 200)
    server.create(KETTLES, kettle("a", colour="red", size=3))
    assert [row["cells"] for row in table(server, KETTLES)["rows"]] == [["a", "red", 3]]
    for path in newer, newer + "/a", newer + "?includeObject=Object":
        assert [row["cells"] for row in table(server, path)["rows"]] == [["a", None, 3]], path
    watch = server.watch(newer + "?watch=1&resourceVersion=0", accept=TABLE)
    assert next(watch)["object"]["rows"][0]["cells"] == ["a", None, 3]
    watch.close()


@test
def objects_are_selected_by_their_selectable_fields(server):
    """Contract crd 4.13.1 to 4.13.3, G5, G6."""
    define(server, selectableFields=[{"jsonPath": ".spec.colour"}, {"jsonPath": ".spec.size"}])
    for name, spec in {"a": {"colour": "red", "size": 5}, "b": {"colour": "blue"}, "c": {"size": 5}}.items():
        server.create(KETTLES, kettle(name, **spec))

    def names(selector):
        return [item["metadata"]["name"] for item in server.get(f"{KETTLES}?fieldSelector={selector}").expect(200).json()["items"]]

    assert names("spec.colour=red") == ["a"] and names("spec.colour!=red") == ["b", "c"]
    assert names("spec.colour=") == ["c"] and names("spec.size=5") == ["a", "c"]
    assert names("spec.size=5,spec.colour=red") == ["a"] and names("metadata.name=b") == ["b"]
    refused = server.get(KETTLES + "?fieldSelector=spec.when=x").expect(400).json()
    assert refused["message"] == "field label not supported: spec.when", refused
    at = server.get(KETTLES).json()["metadata"]["resourceVersion"]
    for selector in "spec.colour%3Dred", "spec.size%3D7":
        watch = server.watch(f"{KETTLES}?watch=1&resourceVersion={at}&fieldSelector={selector}")
        name = "w" + selector[5]
        server.create(KETTLES, kettle(name, colour="blue"))
        for spec in {"colour": "red", "size": 7}, {"colour": "blue", "size": 8}:
            server.request("PATCH", f"{KETTLES}/{name}", {"spec": spec}, Content_Type="application/merge-patch+json").expect(200)
        seen = [next(watch) for _ in range(2)]
        assert [(e["type"], e["object"]["metadata"]["name"]) for e in seen] == [("ADDED", name), ("DELETED", name)], seen
        watch.close()
        server.request("DELETE", f"{KETTLES}/{name}").expect(200)
        at = server.get(KETTLES).json()["metadata"]["resourceVersion"]


if __name__ == "__main__":
    main()
