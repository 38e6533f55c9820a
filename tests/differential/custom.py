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
import random
import re
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

from differential import kube_apiserver  # noqa: E402

GROUP = "custom.example.org"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SCHEMAS, PROPERTIES, CREATES, OBJECTS, UPDATES = 8, 9, 25, 6, 5
SETTLE_S = 4  # the server waits some seconds before it serves a new definition
TEXTS = ["a", "b", "abc", "x-y", "10.0.0.1", "2024-01-02T03:04:05Z", "äöü", "", "A", "5s", "a@b.c", "/x", "1.5", "aGk="]
FORMATS = ["date-time", "ipv4", "duration", "byte", "uri", "hostname", "email", "int32", "nope", "uuid", "date", "password"]
NAMES = ["a", "b", "c", "name"]
DEFAULTS = {"string": "abc", "integer": 4, "boolean": True}


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, share):
        return self.random.random() < share

    def anything(self):
        return self.random.choice([self.random.choice(TEXTS), self.random.randint(-5, 20), 0.5, 2.5, 3.0, 1e7, -1.25, True, False, None,
                                   [], {}, ["a"], {"a": 1}, [1, 1]])

    def keywords(self, kind, node):
        pick = self.random.choice
        texts = {"maxLength": [0, 1, 2, 4], "minLength": [0, 1, 3], "pattern": ["^a", "b", "^[a-z]*$", "[0-9]+", "^.{2}$"]}
        numbers = {"minimum": [0, 2, 5, 2.5], "maximum": [3, 10, 7.9, 1000000], "multipleOf": [2, 5, 0.5, 3]}
        lists, maps = {"minItems": [0, 1, 3], "maxItems": [0, 1, 3]}, {"minProperties": [0, 1, 2], "maxProperties": [0, 1, 3]}
        of = {"string": texts, "integer": numbers, "number": numbers, "array": lists, "object": maps,
              "any": {**texts, **numbers, **lists, **maps}}
        for keyword, values in of.get(kind, {}).items():
            if self.chance(0.25):
                node[keyword] = pick(values)
        for bound in ("minimum", "maximum"):
            if bound in node and self.chance(0.3):
                node["exclusive" + bound.capitalize()] = True

    def restriction(self, node, depth):
        """A schema below allOf, anyOf, oneOf or not."""
        made, kind = {}, node.get("type", "any")
        self.keywords(kind, made)
        if node.get("properties") and self.chance(0.6):
            name = self.random.choice(list(node["properties"]))
            if self.chance(0.6):
                made["required"] = [name]
            if self.chance(0.5):
                made["properties"] = {name: self.restriction(node["properties"][name], depth + 1)}
        if self.chance(0.2):
            made["enum"] = [self.random.choice(["a", "b", 1, 2.5])]
        if depth < 2 and self.chance(0.2):
            made["not"] = self.restriction(node, depth + 1)
        return made

    def structure(self, kind, depth):
        if kind == "int-or-string":
            return {"x-kubernetes-int-or-string": True, **({"maximum": 10} if self.chance(0.3) else {})}
        if kind == "enum":
            return {"type": self.random.choice(["string", "integer", "number"]), "enum": self.random.sample(["a", "b", 1, 2, 2.5], 2)}
        if kind == "object":
            node = {"type": "object", "properties": {name: self.schema(depth + 1) for name in self.random.sample(NAMES, 2)}}
            if self.chance(0.3):
                node["required"] = self.random.sample(NAMES, 1)
            if self.chance(0.15):
                node["x-kubernetes-preserve-unknown-fields"] = True
            return node
        if kind == "map":
            return {"type": "object", "additionalProperties": True if self.chance(0.3) else self.schema(depth + 1)}
        if kind == "any":
            return {"x-kubernetes-preserve-unknown-fields": True}
        if kind == "set":
            return {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": self.random.choice(["string", "integer"])}}
        if kind == "keyed":
            item = {"type": "object", "properties": {"name": {"type": "string"}, "n": self.schema(2), "v": {"type": "integer", "maximum": 5}},
                    "required": ["name"]}
            return {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": item}
        if kind == "array":
            return {"type": "array", "items": self.schema(depth + 1)}
        return {"type": kind, **({"format": self.random.choice(FORMATS)} if self.chance(0.25) else {})}

    def schema(self, depth=0):
        flat = ["string", "string", "integer", "number", "boolean", "int-or-string", "any", "enum"]
        node = self.structure(self.random.choice(flat + ["object", "object", "map", "set", "keyed", "array"] if depth < 3 else flat), depth)
        self.keywords(node.get("type"), node)
        if self.chance(0.12) and node.get("type"):
            node["nullable"] = True
        if self.chance(0.25) and node.get("type"):
            node[self.random.choice(["anyOf", "oneOf", "allOf"])] = [self.restriction(node, 0) for _ in range(self.random.randint(1, 3))]
        if self.chance(0.08) and node.get("type"):
            node["not"] = self.restriction(node, 1)
        if self.chance(0.1) and node.get("type") in DEFAULTS:
            node["default"] = DEFAULTS[node["type"]]
        return node

    def value(self, node):
        """A value that the schema may well accept."""
        pick, kind = self.random.choice, node.get("type")
        if self.chance(0.2):
            return self.anything()
        if "enum" in node and self.chance(0.7):
            return pick(node["enum"])
        if kind == "array":
            items = [self.value(node["items"]) for _ in range(self.random.randint(0, 3))]
            for item in items:
                if "x-kubernetes-list-map-keys" in node and isinstance(item, dict) and self.chance(0.85):
                    item["name"] = pick(["a", "b", "c"])
            return items
        if kind == "object":
            made = {name: self.value(child) for name, child in node.get("properties", {}).items() if self.chance(0.75)}
            if isinstance(node.get("additionalProperties"), dict):
                made.update({key: self.value(node["additionalProperties"]) for key in self.random.sample(["k1", "k2", "k.3"], 2)})
            if self.chance(0.2):
                made["zz"] = self.anything()
            return made
        values = {"string": TEXTS, "integer": [0, 1, 2, 3, 5, 10, 15, 20, 3.0, 2.5], "number": [0, 1, 2.5, 3, 7.5, 10, 1234567.5, 1e-7],
                  "boolean": [True, False]}
        return pick(values.get(kind, [1, "5", "x", 20]))

    def poked(self, value):
        """The value with something in it changed."""
        if isinstance(value, dict) and value and self.chance(0.8):
            key = self.random.choice(list(value))
            return {**value, key: self.poked(value[key])}
        if isinstance(value, list) and value and self.chance(0.8):
            at = self.random.randrange(len(value))
            return value[::-1] if self.chance(0.3) else value[:at] + [self.poked(value[at])] + value[at + 1:]
        return self.anything()

    def changed(self, spec, properties):
        made = {}
        for key, value in spec.items():
            if self.chance(0.1):
                continue
            made[key] = self.value(properties[key]) if self.chance(0.25) else self.poked(value) if self.chance(0.3) else value
        return made


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
