#!/usr/bin/env python3
"""Random schemas of custom resources, and what a kube-apiserver says of objects under them.

  custom.py --record    asks the kube-apiserver of COR_KUBE_APISERVER, and writes custom.txt

schema/structural_recorded compares the answers with those of src/schema/structural/. custom.txt has lines:

  schema JSON       of `spec`; what follows is about this schema
  old JSON          of `spec` before an update; without JSON: what follows are creations
  new JSON          of `spec`, as it is sent; below it, indented, the answer:
    - FIELD: TEXT     a cause
    unknown PATH      a field that is not in the schema
    = JSON            the spec that is stored, when there is no cause

An object is stored under a schema that preserves everything before the definition gets its real one: so an update meets old
values that the schema refuses. All requests but those are dry runs."""

import json
import pathlib
import re
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

from differential import kube_apiserver  # noqa: E402
from schema_maker import DEFINITIONS, Maker  # noqa: E402

GROUP = "custom.example.org"
SCHEMAS, PROPERTIES, CREATES, OBJECTS, UPDATES = 8, 9, 25, 6, 5
SETTLE_S = 4  # the server waits some seconds before it serves a new definition


def text(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class Recorder:
    def __init__(self, peer, out):
        self.peer, self.out = peer, out

    def send(self, method, path, body=None):
        connection = self.peer.connect()
        connection.request(method, path, json.dumps(body) if body is not None else None,
                           {"Authorization": "Bearer kube-token", "Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read()), response.headers.get_all("Warning") or []

    def write(self, spec, code, answer, warnings):
        unknown = sorted(found.group(1) for found in (re.search(r'unknown field \\"(.*)\\""', warning) for warning in warnings) if found)
        if code not in (200, 201, 422) or len(unknown) > 15:  # more warnings than a header has
            return
        self.out.write(f"new {text(spec)}\n")
        for cause in sorted({f"{cause['field']}: {cause['message']}" for cause in answer.get("details", {}).get("causes", [])}):
            assert "\n" not in cause
            self.out.write(f"  - {cause}\n")
        self.out.writelines(f"  unknown {path}\n" for path in unknown)
        if code != 422:
            self.out.write(f"  = {text(answer['spec'])}\n")


def object_of(number, name, spec):
    return {"apiVersion": f"{GROUP}/v1", "kind": f"Custom{number}", "metadata": {"name": name}, "spec": spec}


def define(recorder, maker, number):
    """A definition whose real schema the server accepts: properties that it refuses become strings."""
    properties = {f"p{i}": maker.schema() for i in range(PROPERTIES)}
    spec = {"type": "object", "properties": properties}
    loose = {"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}
    names = {"plural": f"custom{number}s", "kind": f"Custom{number}"}
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"custom{number}s.{GROUP}"},
           "spec": {"group": GROUP, "scope": "Cluster", "names": names, "versions": [version]}}
    for _ in range(PROPERTIES):
        code, answer, _ = recorder.send("POST", DEFINITIONS + "?dryRun=All", crd)
        if code == 201:
            break
        for cause in answer["details"]["causes"]:
            properties.update({name: {"type": "string"} for name in properties if f"[{name}]" in cause["field"]})
    version["schema"]["openAPIV3Schema"] = loose
    assert recorder.send("POST", DEFINITIONS, crd)[0] == 201
    return spec


def await_served(recorder, path):
    deadline = time.monotonic() + 60
    while recorder.send("GET", path)[0] != 200:
        assert time.monotonic() < deadline, f"{path} is not served"
        time.sleep(0.05)


def record(recorder, maker):
    schemas = [define(recorder, maker, number) for number in range(SCHEMAS)]
    for number in range(SCHEMAS):
        await_served(recorder, f"/apis/{GROUP}/v1/custom{number}s")
    olds = {}
    for number, schema in enumerate(schemas):
        for i in range(OBJECTS):
            spec = {name: maker.value(node) for name, node in schema["properties"].items() if maker.chance(0.8)}
            assert recorder.send("POST", f"/apis/{GROUP}/v1/custom{number}s", object_of(number, f"o{i}", spec))[0] == 201
            olds[number, i] = spec
    for number, schema in enumerate(schemas):
        path = f"{DEFINITIONS}/custom{number}s.{GROUP}"
        crd = recorder.send("GET", path)[1]
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = schema
        assert recorder.send("PUT", path, crd)[0] == 200
    # kube-apiserver shows nowhere that its handlers have the new schemas.
    time.sleep(SETTLE_S)
    for number, schema in enumerate(schemas):
        path, options = f"/apis/{GROUP}/v1/custom{number}s", "?dryRun=All&fieldValidation=Warn"
        recorder.out.write(f"schema {text(schema)}\nold\n")
        for _ in range(CREATES):
            spec = {name: maker.value(node) for name, node in schema["properties"].items() if maker.chance(0.4)}
            recorder.write(spec, *recorder.send("POST", path + options, object_of(number, "new", spec)))
        for i in range(OBJECTS):
            revision = recorder.send("GET", f"{path}/o{i}")[1]["metadata"]["resourceVersion"]
            recorder.out.write(f"old {text(olds[number, i])}\n")
            for update in range(UPDATES):
                spec = maker.changed(olds[number, i], schema["properties"]) if update > 0 else olds[number, i]
                body = object_of(number, f"o{i}", spec)
                body["metadata"]["resourceVersion"] = revision
                recorder.write(spec, *recorder.send("PUT", f"{path}/o{i}{options}", body))


if __name__ == "__main__":
    if sys.argv[1:] != ["--record"]:
        sys.exit(__doc__)
    with kube_apiserver(None) as server, open(HERE / "custom.txt", "w", encoding="utf-8") as file:
        record(Recorder(server, file), Maker(20261117))
