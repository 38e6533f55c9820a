#!/usr/bin/env python3
"""Definitions change; their objects stay free. hostages.py PROGRAM [histories=N] [seed=S] [old=PROGRAM] [FLAG...]

What a definition becomes decides how new writes are judged. What is stored can always be listed, read, watched, patched towards a
valid object and deleted: singly, by collection, with its namespace, with its definition. Beside a few cases by name there are random
histories: a definition, objects, random changes of the definition, and after each change all of that; then a restart (each other time
by SIGKILL), all of it again, and the end of the objects in one of these ways. `old=` names an older program that writes the data
folder up to that restart. The suite plays 200 histories; `./dev hostages N [SEED]` plays more."""

import contextlib
import json
import random
import signal
import sys
import time

from fixture import Server, await_it, report

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = {"Content_Type": "application/merge-patch+json"}
WAIT_S = 60
AT_ONCE = 20
WARNING = "objects that their defaults would make too large are served as they are stored"


# --- random definitions and objects --------------------------------------------------------------------------------------

def text(dice):
    return dice.choice(["", "a", "abc", "12", "true", "x" * 50, "ü€"])


def scalar_schema(dice):
    kind = dice.choice(["string", "integer", "number", "boolean"])
    schema = {"type": kind}
    if kind == "string":
        more = dice.choice([{}, {}, {"maxLength": 2}, {"minLength": 3}, {"pattern": "^a*$"}, {"enum": ["a", "b"]}, {"format": "date-time"}])
        schema.update(more)
        if not more and dice.random() < 0.4:
            schema["default"] = dice.choice(["d", "d" * 4096])
    elif kind == "integer":
        schema.update(dice.choice([{}, {"minimum": 5}, {"maximum": 0}, {"multipleOf": 7}, {"default": 3}]))
    elif kind == "boolean" and dice.random() < 0.3:
        schema["default"] = True
    if dice.random() < 0.2:
        schema["nullable"] = True
    return schema


def schema(dice, depth):
    shape = dice.random()
    if depth == 0 or shape < 0.35:
        return dice.choice([scalar_schema(dice), scalar_schema(dice), {"x-kubernetes-int-or-string": True}])
    if shape < 0.6:
        items = schema(dice, depth - 1)
        if dice.random() < 0.3:
            # Objects, told apart by a field that the stored ones need not have, or have twice.
            key = {**dice.choice([{"type": "string"}, {"type": "integer"}]), **dice.choice([{}, {"nullable": True}])}
            items = {"type": "object", "properties": {"a": key, "b": scalar_schema(dice)}, "required": ["a"]}
            if dice.random() < 0.3 and key["type"] == "string":
                items = {"type": "object", "properties": {"a": {"type": "string", "default": "k"}, "b": scalar_schema(dice)}}
            return {"type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]}
        if items.get("type") in (None, "array", "object") and items.get("x-kubernetes-list-type") != "atomic":
            return {"type": "array", "items": items, **dice.choice([{}, {"maxItems": 1}])}
        items.pop("nullable", None)
        return {"type": "array", "items": items, **dice.choice([{}, {"x-kubernetes-list-type": "set"}, {"minItems": 3}])}
    if shape < 0.7:
        return {"type": "object", "additionalProperties": schema(dice, depth - 1), **dice.choice([{}, {"maxProperties": 1}])}
    if shape < 0.8:
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    if shape < 0.85:
        return {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    properties = {name: schema(dice, depth - 1) for name in dice.sample("abcde", dice.randint(1, 4))}
    made = {"type": "object", "properties": properties}
    if dice.random() < 0.3:
        made["required"] = [dice.choice(sorted(properties))]
    if dice.random() < 0.15:
        made["default"] = {}
    return made


def version(dice, name, stored, marker, large):
    """`large`: fields of objects that have many items, each of which may get a long default."""
    fields = {name: schema(dice, 3) for name in dice.sample("abcde", dice.randint(1, 5))}
    for field in large:
        if dice.random() < 0.3:
            item = {"type": "object", "properties": {"a": {"type": "string", "default": "d" * 4096}}}
            fields[field] = {"type": "array", "items": item}
    root = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    if dice.random() < 0.2:
        root = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    made = {"name": name, "served": stored or dice.random() < 0.8, "storage": stored, "schema": {"openAPIV3Schema": root},
            # The marker says which state of the definition is served.
            "additionalPrinterColumns": [{"name": marker, "type": "string", "jsonPath": ".metadata.name"},
                                         {"name": "A", "type": dice.choice(["string", "integer", "date", "boolean"]), "jsonPath": ".spec.a"}]}
    if dice.random() < 0.3:
        made["subresources"] = {"status": {}}
    if dice.random() < 0.2 and fields.get("a", {}).get("type") in ("string", "integer", "boolean") and "properties" in root:
        made["selectableFields"] = [{"jsonPath": ".spec.a"}]
    return made


def value(dice, depth):
    shape = dice.random()
    if depth == 0 or shape < 0.5:
        return dice.choice([text(dice), dice.randint(-3, 9), 1.5, 3.0, True, None, 1 << 40])
    if shape < 0.75:
        return [value(dice, depth - 1) for _ in range(dice.choice([0, 1, 2, 2, 5]))]
    return {dice.choice("abcdez"): value(dice, depth - 1) for _ in range(dice.randint(0, 4))}


def spec(dice):
    made = {name: value(dice, 3) for name in "abcde" if dice.random() < 0.8}
    if dice.random() < 0.25:  # a default in each of many items makes them large
        made[dice.choice("abcde")] = [{} for _ in range(dice.choice([200, 1000, 5000]))]
    return made


# --- one definition, its objects and its changes -------------------------------------------------------------------------

class History:
    too_large = 0  # answers that had something to do with objects whose defaults are too large

    def __init__(self, server, number, seed):
        self.server, self.dice = server, random.Random(f"{seed}/{number}")
        self.number, self.group, self.ns = number, f"g{number}.example.com", f"h{number}"
        self.name, self.changes, self.objects = f"things.{self.group}", 0, {}
        self.stored, self.versions, self.connection = "v1", [], None
        self.large = []
        self.since = None  # a revision that a client had seen before the last change of the definition

    def request(self, method, path, body=None, **headers):
        """A request that no definition may make fail."""
        answer = self.server.request(method, path, body, connection=self.connection, **headers)
        assert answer.status < 500 and answer.status != 413, f"{method} {path}: {answer.status} {answer.body[:300]!r}"
        History.too_large += WARNING in answer.headers.get("Warning", "")
        return answer

    def path(self, version_name, name=""):
        return f"/apis/{self.group}/{version_name}/namespaces/{self.ns}/things" + (f"/{name}" if name else "")

    def definition(self):
        marker, names = f"M{self.changes}", ["v1", "v2"] if self.dice.random() < 0.5 else [self.stored]
        if self.stored not in names:
            names.append(self.stored)
        if len(names) > 1 and self.dice.random() < 0.4:
            self.stored = self.dice.choice(names)
        made = [version(self.dice, name, name == self.stored, marker, self.large) for name in names]
        return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": self.name},
                "spec": {"group": self.group, "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"}, "versions": made}}

    def await_definition(self):
        """Until each served version shows the newest state; and each object of it as a table."""
        def is_shown(name):
            answer = self.request("GET", self.path(name), Accept="application/json;as=Table;v=v1;g=meta.k8s.io")
            shown = answer.status == 200 and [c["name"] for c in answer.json().get("columnDefinitions", [])]
            return shown and f"M{self.changes}" in shown and len(answer.json()["rows"] or []) == len(self.objects)
        for name in self.versions:
            await_it(lambda: is_shown(name), f"{self.name} {name} M{self.changes}", WAIT_S)

    def write_definition(self, make):
        """Random definitions may be refused; another one is tried then."""
        for _ in range(50):
            was = self.stored
            body = make()
            answer = self.request("PUT" if self.changes else "POST", DEFINITIONS + (f"/{self.name}" if self.changes else ""), body)
            if answer.status in (200, 201):
                self.changes += 1
                self.versions = [one["name"] for one in body["spec"]["versions"] if one["served"]]
                return
            self.stored = was
            assert answer.status in (409, 422), answer.body
        raise AssertionError(f"no definition of 50 was taken: {answer.body}")

    def begin(self):
        """A definition that takes everything, and objects."""
        self.request("POST", "/api/v1/namespaces", {"metadata": {"name": self.ns}}).expect(201)

        def loose():
            body = self.definition()
            for one in body["spec"]["versions"]:
                one["schema"]["openAPIV3Schema"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                one.pop("selectableFields", None)
                one["additionalPrinterColumns"][0]["name"] = "M1"
            return body
        self.write_definition(loose)
        self.await_definition()
        for i in range(self.dice.randint(2, 4)):
            name = f"o{i}"
            body = {"apiVersion": f"{self.group}/{self.stored}", "kind": "Thing", "metadata": {"name": name}, "spec": spec(self.dice)}
            if self.dice.random() < 0.3:
                body["metadata"]["finalizers"] = ["example.com/hold"]
            self.large += [field for field, many in body["spec"].items() if isinstance(many, list) and len(many) > 100]
            made = self.request("POST", self.path(self.stored), body).expect(201).json()
            self.objects[name] = made["metadata"]

    def change(self):
        def other():
            body = self.definition()
            for one in body["spec"]["versions"]:
                one["additionalPrinterColumns"][0]["name"] = f"M{self.changes + 1}"
            current = self.request("GET", f"{DEFINITIONS}/{self.name}").expect(200).json()
            known = current["status"]["storedVersions"]
            for missing in sorted(set(known) - {one["name"] for one in body["spec"]["versions"]}):
                body["spec"]["versions"].append(version(self.dice, missing, False, f"M{self.changes + 1}", self.large))
            body["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"]
            return body
        self.write_definition(other)

    def check(self):
        """Everything of the promise but the deletion of all."""
        self.await_definition()
        revision = None
        for name in self.versions:
            listed = self.request("GET", self.path(name)).expect(200).json()
            revision = listed["metadata"]["resourceVersion"]
            assert {item["metadata"]["name"] for item in listed["items"]} == set(self.objects), listed
            for item in listed["items"]:
                known, have = self.objects[item["metadata"]["name"]], item["metadata"]
                assert (have["uid"], have["resourceVersion"]) == (known["uid"], known["resourceVersion"]), (have, known)
                got = self.request("GET", self.path(name, have["name"])).expect(200).json()
                assert got == item, (got, item)
        self.patch_one(self.since or revision)
        self.since = self.objects[max(self.objects, key=lambda name: int(self.objects[name]["resourceVersion"]))]["resourceVersion"]
        if len(self.objects) > 2 and self.dice.random() < 0.5:
            self.delete_one()

    def pick(self):
        return self.dice.choice(sorted(self.objects)), self.dice.choice(self.versions)

    def patch_one(self, since):
        """A label, when the rest of the object is forgiven; always an object that is valid. A watch from before sees what was written."""
        name, at = self.pick()
        before = self.objects[name]["resourceVersion"]
        answer = self.request("PATCH", self.path(at, name), {"metadata": {"labels": {"n": str(self.changes)}}}, **MERGE)
        assert answer.status in (200, 422), answer.body
        if answer.status == 422 or self.dice.random() < 0.3:
            answer = self.request("PATCH", self.path(at, name), {"spec": None, "metadata": {"annotations": {"n": str(time.monotonic())}}}, **MERGE)
        self.objects[name] = answer.expect(200).json()["metadata"]
        assert self.objects[name]["resourceVersion"] != before
        watch = self.server.watch(f"{self.path(self.dice.choice(self.versions))}?watch=1&timeoutSeconds=60&resourceVersion={since}")
        for event in watch:
            assert event["type"] in ("ADDED", "MODIFIED", "DELETED"), event
            if event["object"]["metadata"]["resourceVersion"] == self.objects[name]["resourceVersion"]:
                break
        watch.close()
        assert event["type"] == "MODIFIED" and event["object"]["metadata"]["name"] == name, event

    def release(self, name, at):
        """Its finalizer goes. An embedded resource that is none is never forgiven, by upstream neither, and nor are items of a list of the
        type map that have no key by which to find the old ones: then the patch makes the object valid, too."""
        answer = self.request("PATCH", self.path(at, name), {"metadata": {"finalizers": None}}, **MERGE)
        if answer.status == 422 and any(cause["field"].endswith((".apiVersion", ".kind", ".metadata", "]")) or cause["field"].endswith("].a")
                                        for cause in answer.json()["details"]["causes"]):
            answer = self.request("PATCH", self.path(at, name), {"metadata": {"finalizers": None}, "spec": None}, **MERGE)
        answer.expect(200)

    def delete_one(self):
        name, at = self.pick()
        metadata = self.objects.pop(name)
        self.request("DELETE", self.path(at, name)).expect(200)
        if metadata.get("finalizers"):
            self.release(name, at)
        assert self.request("GET", self.path(at, name)).status == 404

    def end(self):
        way, at = self.dice.choice(["collection", "namespace", "definition"]), self.dice.choice(self.versions)
        self.ends = way, at
        if way == "collection":
            self.request("DELETE", self.path(at)).expect(200)
        elif way == "namespace":
            self.request("DELETE", f"/api/v1/namespaces/{self.ns}").expect(200)
        else:
            self.request("DELETE", f"{DEFINITIONS}/{self.name}").expect(200)
        for name, metadata in self.objects.items():
            if metadata.get("finalizers"):
                await_it(lambda: self.request("GET", self.path(at, name)).json().get("metadata", {}).get("deletionTimestamp"), name, WAIT_S)
                self.release(name, at)

    def await_end(self):
        way, at = self.ends
        if way == "collection":
            assert self.request("GET", self.path(at)).expect(200).json()["items"] == []
        elif way == "namespace":
            await_it(lambda: self.request("GET", f"/api/v1/namespaces/{self.ns}").status == 404, f"the end of {self.ns}", WAIT_S)
        else:
            await_it(lambda: self.request("GET", f"{DEFINITIONS}/{self.name}").status == 404, f"the end of {self.name}", WAIT_S)
        self.request("DELETE", f"{DEFINITIONS}/{self.name}")


@contextlib.contextmanager
def says(history, seed):
    try:
        yield
    except BaseException:
        print(f"# the history {history.number} of the seed {seed}: ./dev hostages 1 {seed}/{history.number}")
        raise


def play_batch(server, old, new, numbers, seed):
    histories = [History(server, number, seed) for number in numbers]

    def each(*steps):
        connection = server.connect()
        for history in histories:
            history.connection = connection
            with says(history, seed):
                for step in steps:
                    step(history)
        connection.close()

    if old:
        server.program = old
        server.restart()
        each(History.begin, History.change)
    else:
        each(History.begin, History.change, History.check, History.change, History.check, History.change)
    server.program = new
    server.restart(signal.SIGKILL if numbers[0] // AT_ONCE % 2 else signal.SIGTERM)
    each(History.check, History.change, History.check, History.end)
    each(History.await_end)


# --- by name -------------------------------------------------------------------------------------------------------------

def set_item(server, name, properties):
    def is_taken():
        body = server.get(f"{DEFINITIONS}/{name}").expect(200).json()
        items = {"type": "object", "properties": properties}
        body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["items"]["items"] = items
        answer = server.request("PUT", f"{DEFINITIONS}/{name}", body)
        assert answer.status in (200, 409), answer.body
        return answer.status == 200
    await_it(is_taken, "the change")


def condition(server, name):
    conditions = server.get(f"{DEFINITIONS}/{name}").expect(200).json()["status"]["conditions"]
    return next((one["status"], one["reason"]) for one in [*conditions, {"type": "DefaultsTooLarge", "status": None, "reason": None}]
                if one["type"] == "DefaultsTooLarge")


def an_object_whose_defaults_are_too_large_is_served_as_it_is_stored(server):
    history = History(server, "-named", 0)
    folder, name = history.path("v1"), history.name
    server.create("/api/v1/namespaces", {"metadata": {"name": history.ns}})
    items = {"type": "array", "items": {"type": "object", "properties": {}}}
    body = history.definition()
    body["spec"]["versions"] = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
        "type": "object", "properties": {"spec": {"type": "object", "properties": {"items": items}}}}}}]
    server.create(DEFINITIONS, body)
    await_it(lambda: server.get(folder).status == 200, "the resource")
    large = {"apiVersion": f"{history.group}/v1", "kind": "Thing", "metadata": {"name": "large", "finalizers": ["example.com/hold"]},
             "spec": {"items": [{}] * 5000}}
    made = server.create(folder, large)
    server.create(folder, {**large, "metadata": {"name": "small"}, "spec": {"items": [{}]}})
    set_item(server, name, {"d": {"type": "string", "default": "x" * 4096}})
    # Without a cache the objects are only seen when somebody reads them.
    tells = "--watch-cache=false" not in server.flags
    await_it(lambda: not tells or condition(server, name) == ("True", "StoredObjectsTooLarge"), "the condition")
    await_it(lambda: WARNING in server.get(folder).headers.get("Warning", "") or not tells and server.get(folder + "/large"), "the warning")
    answer = server.get(folder + "/large").expect(200)
    assert answer.json() == made and WARNING in answer.headers["Warning"], answer.headers.items()
    listed = server.get(folder).expect(200)
    assert WARNING in listed.headers["Warning"] and listed.json()["items"][0]["spec"] == made["spec"], listed.headers.items()
    assert listed.json()["items"][1]["spec"] == {"items": [{"d": "x" * 4096}]}
    # It is changed as it is; a whole object of the client's too; what has its defaults may not lose them.
    server.request("PATCH", folder + "/large", {"metadata": {"labels": {"a": "b"}}}, **MERGE).expect(200)
    changed = server.get(folder + "/large").expect(200).json()
    changed["metadata"]["labels"]["a"] = "c"
    assert server.request("PUT", folder + "/large", changed).expect(200).json()["spec"] == made["spec"]
    for patch in ({"spec": {"items": [{}] * 5000}}, {"spec": {"items": [{}] * 20000}}):
        refused = server.request("PATCH", folder + "/small", patch, **MERGE).expect(413)
        assert "too large" in refused.json()["message"], refused.body
    server.request("POST", folder, {**large, "metadata": {"name": "other"}}).expect(413)
    server.restart()
    assert not tells or condition(server, name) == ("True", "StoredObjectsTooLarge")
    assert server.get(folder + "/large").expect(200).json()["spec"] == made["spec"]
    # Towards a valid one.
    valid = server.request("PATCH", folder + "/large", {"spec": {"items": [{}, {}]}}, **MERGE).expect(200).json()
    assert valid["spec"] == {"items": [{"d": "x" * 4096}] * 2}
    set_item(server, name, {})
    await_it(lambda: not tells or condition(server, name) == ("False", "StoredObjectsFit"), "the other condition")
    await_it(lambda: "Warning" not in server.get(folder).expect(200).headers, "no warning")
    server.request("DELETE", f"/api/v1/namespaces/{history.ns}").expect(200)
    await_it(lambda: server.get(folder + "/large").json()["metadata"].get("deletionTimestamp"), "the deletion")
    server.request("PATCH", folder + "/large", {"metadata": {"finalizers": None}}, **MERGE).expect(200)
    await_it(lambda: server.get(f"/api/v1/namespaces/{history.ns}").status == 404, "the end of the namespace")


def an_object_whose_schema_became_too_dear_can_be_changed_and_deleted(server):
    """Nobody can say whether it is valid; what an update leaves as it is need not be."""
    history = History(server, "-dear", 0)
    folder = history.path("v1")
    server.create("/api/v1/namespaces", {"metadata": {"name": history.ns}})
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    body = history.definition()
    body["spec"]["versions"] = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
        "type": "object", "properties": {"spec": loose}}}, "additionalPrinterColumns": [{"name": "M1", "type": "string", "jsonPath": ".spec"}]}]
    server.create(DEFINITIONS, body)
    history.changes, history.versions = 1, ["v1"]
    history.await_definition()
    for name, spec in (("list", {"list": [1] * 9000}), ("map", {"map": {f"k{i}": 1 for i in range(4500)}})):
        server.create(folder, {"apiVersion": f"{history.group}/v1", "kind": "Thing", "metadata": {"name": name}, "spec": spec})
    history.objects = {"list": None, "map": None}
    dear = {"type": "object", "properties": {
        "small": {"type": "integer", "minimum": 0},
        "list": {"type": "array", "items": {"type": "integer", "anyOf": [{"minimum": 1000 + i} for i in range(4000)]}},
        "map": {**loose, "anyOf": [{"minProperties": 100_000 + i} for i in range(4000)]}}}

    def dearer():
        current = server.get(f"{DEFINITIONS}/{history.name}").expect(200).json()
        current["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = dear
        current["spec"]["versions"][0]["additionalPrinterColumns"][0]["name"] = "M2"
        return current
    history.write_definition(dearer)
    history.await_definition()
    for name in history.objects:
        path = history.path("v1", name)
        server.request("PATCH", path, {"metadata": {"labels": {"a": "b"}, "finalizers": ["example.com/hold"]}}, **MERGE).expect(200)
        changed = server.get(path).expect(200).json()
        changed["metadata"]["labels"]["a"] = "c"
        server.request("PUT", path, changed).expect(200)
    # What an update changes is judged, and what has members that the schema does not know is judged as a whole.
    server.request("PATCH", history.path("v1", "list"), {"spec": {"small": 1}}, **MERGE).expect(200)
    server.request("PATCH", history.path("v1", "list"), {"spec": {"small": -1}}, **MERGE).expect(422)
    refused = server.request("PATCH", history.path("v1", "map"), {"spec": {"map": {"k1": 2}}}, **MERGE).expect(422)
    assert "validation takes more than" in refused.json()["message"], refused.body
    server.request("DELETE", f"{DEFINITIONS}/{history.name}").expect(200)
    for name in history.objects:
        path = history.path("v1", name)
        await_it(lambda: server.get(path).json()["metadata"].get("deletionTimestamp"), name)
        server.request("PATCH", path, {"metadata": {"finalizers": None}}, **MERGE).expect(200)
    await_it(lambda: server.get(f"{DEFINITIONS}/{history.name}").status == 404, "the end of the definition")


def what_did_not_change_is_forgiven_in_a_version_that_knows_less_of_it(server):
    """As upstream, which decodes the present object in the version of the request, too."""
    history = History(server, "-versions", 0)
    server.create("/api/v1/namespaces", {"metadata": {"name": history.ns}})
    body, loose = history.definition(), {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    strict = {"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "b": {"type": "string"}, "e": {"type": "number"}, "f": {"type": "string", "default": "f"}}}}}
    body["spec"]["versions"] = [{"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": schema}}
                                for name, schema in (("v1", loose), ("v2", strict))]
    server.create(DEFINITIONS, body)
    await_it(lambda: server.get(history.path("v2")).status == 200, "the resource")
    server.create(history.path("v1"), {"apiVersion": f"{history.group}/v1", "kind": "Thing", "metadata": {"name": "one", "finalizers": ["a.b/c"]},
                                       "spec": {"b": {"x": 1}, "e": [{"z": 3}], "g": 1}})
    server.request("PATCH", history.path("v2", "one"), {"metadata": {"finalizers": None}}, **MERGE).expect(200)
    refused = server.request("PATCH", history.path("v2", "one"), {"spec": {"b": [1]}}, **MERGE).expect(422)
    assert "spec.b in body must be of type string" in refused.json()["message"], refused.body


def main():
    program, *flags = sys.argv[1:]
    options = dict(flag.split("=", 1) for flag in flags if not flag.startswith("-"))
    flags = [flag for flag in flags if flag.startswith("-")]
    count, seed = int(options.get("histories", 200)), options.get("seed", "11")
    first = 0
    if "/" in seed:
        seed, first = seed.rsplit("/", 1)
        count, first = 1, int(first)

    with Server(program, "--controllers=*", *flags) as server:
        def random_histories(_):
            begin = time.monotonic()
            for at in range(first, first + count, AT_ONCE):
                play_batch(server, options.get("old"), program, range(at, min(at + AT_ONCE, first + count)), seed)
            print(f"# {count} histories of the seed {seed}, {History.too_large} answers with objects whose defaults are too large, {time.monotonic() - begin:.1f} s")

        status = report([an_object_whose_defaults_are_too_large_is_served_as_it_is_stored,
                         an_object_whose_schema_became_too_dear_can_be_changed_and_deleted,
                         what_did_not_change_is_forgiven_in_a_version_that_knows_less_of_it, random_histories], lambda one: one(server))
        server.stop()
    sys.exit(status)


if __name__ == "__main__":
    main()
