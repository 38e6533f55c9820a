"""One history of hostages.py: a definition, objects of it, and random changes of the definition. After each of them every object is
read, written, watched; in the end all are deleted in one of the ways that there are. Writes are sent in every form of a patch."""

import copy
import json
import random
import re
import time

import random_definitions as random_
from fixture import await_it
from following import Follower

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE, JSON_PATCH, STRATEGIC, APPLY = ({"Content_Type": f"application/{name}"} for name in (
    "merge-patch+json", "json-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"))
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
WAIT_S = 60
WARNING = "objects that their defaults would make too large are served as they are stored"
# An apply reads the present object by the schemas of all versions that its managers used, as upstream's does, and answers 500 with
# one of these texts where it does not follow one of them, or where the definition does not have the version any more.
UNTYPED = re.compile(r"failed to (create typed|create manager for existing fields|convert new object|prune fields)|(errors:\n *)?\.(spec|status)\b|"
                     r"request to convert CR to an invalid group/version: ")


def merged(into, patch):
    """A merge patch of members that are replaced as a whole, but for the metadata."""
    made = copy.deepcopy(into)
    for name, new in patch.items():
        if name == "metadata":
            made["metadata"] = merged(made["metadata"], new)
        elif new is None:
            made.pop(name, None)
        else:
            made[name] = new
    return made


def operations(before, patch, path=""):
    """The same as a JSON patch."""
    for name, new in patch.items():
        if name == "metadata":
            yield from operations(before["metadata"], new, "/metadata")
        elif new is not None:
            yield {"op": "add", "path": f"{path}/{name}", "value": new}
        elif name in before:
            yield {"op": "remove", "path": f"{path}/{name}"}


class History:
    too_large = 0  # answers that had something to do with objects whose defaults are too large
    untyped = 0    # applies to objects that do not follow the schema
    streams = 0    # that followers needed

    def __init__(self, server, number, seed):
        self.server, self.dice = server, random.Random(f"{seed}/{number}")
        self.number, self.group, self.ns = number, f"g{number}.example.com", f"h{number}"
        self.name, self.changes, self.objects = f"things.{self.group}", 0, {}
        self.stored, self.versions, self.connection = "v1", [], None
        self.has_status = {}
        self.large = []
        self.since = None  # a revision that a client had seen before the last change of the definition
        self.wrote = []    # (type of the event, name, revision)
        self.first, self.follower = None, None

    def request(self, method, path, body=None, may_be_too_large=False, **headers):
        """A request that no definition may make fail."""
        answer = self.server.request(method, path, body, connection=self.connection, **headers)
        if headers.get("Content_Type") == APPLY["Content_Type"] and answer.status == 500 and UNTYPED.match(answer.json()["message"]):
            History.untyped += 1
            return answer
        assert answer.status < 500 and (answer.status != 413 or may_be_too_large), f"{method} {path}: {answer.status} {answer.body[:300]!r}"
        History.too_large += WARNING in answer.headers.get("Warning", "")
        return answer

    def path(self, version_name, name=""):
        return f"/apis/{self.group}/{version_name}/namespaces/{self.ns}/things" + (f"/{name}" if name else "")

    # --- the definition ---

    def definition(self):
        marker, names = f"M{self.changes + 1}", ["v1", "v2"] if self.dice.random() < 0.5 else [self.stored]
        if self.stored not in names:
            names.append(self.stored)
        if len(names) > 1 and self.dice.random() < 0.4:
            self.stored = self.dice.choice(names)
        made = [random_.version(self.dice, name, name == self.stored, marker, self.large) for name in names]
        return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": self.name},
                "spec": {"group": self.group, "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"}, "versions": made}}

    def await_definition(self):
        """Until each served version shows the newest state; and each object of it as a table."""
        def is_shown(name):
            answer = self.request("GET", self.path(name), Accept=TABLE)
            shown = answer.status == 200 and [c["name"] for c in answer.json().get("columnDefinitions", [])]
            return shown and f"M{self.changes}" in shown and len(answer.json()["rows"] or []) == len(self.objects)
        for name in self.versions:
            await_it(lambda: is_shown(name), f"{self.name} {name} M{self.changes}", WAIT_S)

    def send_definition(self, body):
        """In any form of a write."""
        path, part = f"{DEFINITIONS}/{self.name}", {"spec": {"versions": body["spec"]["versions"]}}
        if not self.changes:
            return self.request("POST", DEFINITIONS, body)
        way = self.dice.choice(["put", "put", "merge", "strategic", "json", "apply"])
        if way == "put":
            return self.request("PUT", path, body)
        if way == "json":
            return self.request("PATCH", path, [{"op": "replace", "path": "/spec/versions", "value": part["spec"]["versions"]}], **JSON_PATCH)
        if way == "apply":
            body = {**body, "metadata": {"name": self.name}}
            body.pop("status", None)
            return self.request("PATCH", f"{path}?fieldManager=definer&force=true", body, **APPLY)
        return self.request("PATCH", path, part, **(MERGE if way == "merge" else STRATEGIC))

    def write_definition(self, make):
        """Random definitions may be refused; another one is tried then."""
        for _ in range(50):
            was = self.stored
            body = make()
            answer = self.send_definition(body)
            if answer.status in (200, 201):
                self.changes += 1
                self.versions = [one["name"] for one in body["spec"]["versions"] if one["served"]]
                self.has_status = {one["name"]: "status" in one.get("subresources", {}) for one in body["spec"]["versions"]}
                return
            self.stored = was
            assert answer.status in (409, 422), answer.body
        raise AssertionError(f"no definition of 50 was taken: {answer.body}")

    def change(self):
        """Another schema, or small changes of this one."""
        def other():
            current = self.request("GET", f"{DEFINITIONS}/{self.name}").expect(200).json()
            marker, known = f"M{self.changes + 1}", current["status"]["storedVersions"]
            if self.dice.random() < 0.5:
                current["spec"]["versions"] = random_.twisted(self.dice, current["spec"]["versions"], marker)
                return current
            body = self.definition()
            for missing in sorted(set(known) - {one["name"] for one in body["spec"]["versions"]}):
                body["spec"]["versions"].append(random_.version(self.dice, missing, False, marker, self.large))
            body["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"]
            return body
        self.write_definition(other)

    # --- its objects ---

    def begin(self):
        """A definition that takes everything, and objects."""
        self.request("POST", "/api/v1/namespaces", {"metadata": {"name": self.ns}}).expect(201)

        def loose():
            body = self.definition()
            for one in body["spec"]["versions"]:
                one["schema"]["openAPIV3Schema"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                one.pop("selectableFields", None)
            return body
        self.write_definition(loose)
        self.await_definition()
        self.first = self.request("GET", self.path(self.stored)).expect(200).json()["metadata"]["resourceVersion"]
        for i in range(self.dice.randint(2, 4)):
            self.create(f"o{i}")

    def follow(self):
        """A client follows the objects, from the first of them on."""
        self.follower = Follower(self.server, lambda: [self.path(one) for one in self.versions], self.first, WAIT_S)
        self.follower.start()

    def create(self, name):
        """By POST, or by an apply, whose manager can take all of it back."""
        body = {"apiVersion": f"{self.group}/{self.stored}", "kind": "Thing", "metadata": {"name": name}, "spec": random_.spec(self.dice)}
        if self.dice.random() < 0.6:
            body["status"] = random_.status(self.dice)
        if self.dice.random() < 0.3:
            body["metadata"]["finalizers"] = ["example.com/hold"]
        self.large += random_.large(body["spec"])
        if self.dice.random() < 0.5:
            made = self.request("POST", self.path(self.stored), body)
        else:
            made = self.request("PATCH", f"{self.path(self.stored, name)}?fieldManager=first", body, **APPLY)
        self.objects[name] = made.expect(201).json()["metadata"]
        self.wrote.append(("ADDED", name, self.objects[name]["resourceVersion"]))
        if "status" in body and self.has_status[self.stored]:
            self.send("merge", self.stored, name, {"status": body["status"]}, "/status").expect(200)

    def send(self, way, at, name, patch, sub="", manager="other", **options):
        """Sends what a merge patch says, in any form. Members but the metadata's are replaced as a whole."""
        path = self.path(at, name) + sub
        if way == "merge":
            if any(isinstance(new, dict) for member, new in patch.items() if member != "metadata"):
                self.took(name, self.request("PATCH", path, {member: None for member in patch if member != "metadata"}, **options, **MERGE))
            answer = self.request("PATCH", path, patch, **options, **MERGE)
        elif way == "apply":
            body = merged({"apiVersion": f"{self.group}/{at}", "kind": "Thing", "metadata": {}}, patch)
            answer = self.request("PATCH", f"{path}?fieldManager={manager}&force=true", body, **options, **APPLY)
        else:
            before = self.request("GET", self.path(at, name)).expect(200).json()
            if way == "put":
                answer = self.request("PUT", path, merged(before, patch), **options)
            else:
                answer = self.request("PATCH", path, list(operations(before, patch)), **options, **JSON_PATCH)
        return self.took(name, answer)

    def took(self, name, answer):
        """Notes what a write has made of the object."""
        if answer.status == 200 and name in self.objects:
            metadata = answer.json()["metadata"]
            if metadata["resourceVersion"] != self.objects[name]["resourceVersion"]:
                self.wrote.append(("MODIFIED", name, metadata["resourceVersion"]))
            self.objects[name] = metadata
        return answer

    def way(self):
        return self.dice.choice(["merge", "json", "put", "apply"])

    def pick(self):
        return self.dice.choice(sorted(self.objects)), self.dice.choice(self.versions)

    def mend(self, way, at, name):
        """Makes the object valid: through it, and through its status where that is apart; each may have to wait for the other. An apply
        can only take back what is its manager's, so another form follows it."""
        parts = {"": {"spec": None, "status": None, "metadata": {"annotations": {"n": str(time.monotonic())}}}}
        if self.has_status[at]:
            parts["/status"] = {"status": None}
        for form in (way, *[self.dice.choice(["merge", "json", "put"])] * 2):
            answers = [self.send(form, at, name, patch, sub, "first") for sub, patch in parts.items()]
            if all(answer.status == 200 for answer in answers) and form != "apply":
                return
        raise AssertionError(f"{name} cannot be made valid: {[answer.body for answer in answers]}")

    def apply_surely(self, at, name, patch):
        """An object that is valid can be applied to, if need be after the entries of managers are gone that used another version."""
        answer = self.send("apply", at, name, patch)
        if answer.status != 200:
            assert b"request to convert CR to an invalid group/version" in answer.body, answer.body
            self.send("merge", at, name, {"metadata": {"managedFields": [{}]}}).expect(200)
            self.send("apply", at, name, patch).expect(200)

    def write_status(self):
        """Anything, which is refused or not."""
        name, at = self.pick()
        if self.has_status[at]:
            answer = self.send(self.way(), at, name, {"status": random_.status(self.dice)}, "/status", may_be_too_large=True)
            assert answer.status in (200, 413, 422, 500), answer.body

    def write_anything(self):
        name, at = self.pick()
        spec = random_.spec(self.dice)
        answer = self.send(self.way(), at, name, {"spec": spec}, "", self.dice.choice(["first", "other"]), may_be_too_large=True)
        assert answer.status in (200, 413, 422, 500), answer.body
        self.large += random_.large(spec) if answer.status == 200 else []
        self.request("PATCH", self.path(at, name), {}, **STRATEGIC).expect(415)

    def write_one(self, since):
        """A label, when the rest of the object is forgiven; always an object that is valid, in the end by an apply as well. A watch from
        before sees what was written."""
        name, at = self.pick()
        before, way = self.objects[name]["resourceVersion"], self.way()
        answer = self.send(way, at, name, {"metadata": {"labels": {"n": str(self.changes)}}})
        assert answer.status in (200, 422) or way == "apply", answer.body
        if answer.status != 200 or self.dice.random() < 0.3:
            self.mend(way, at, name)
            self.apply_surely(at, name, {"metadata": {"labels": {"m": str(self.changes)}}})
        assert self.objects[name]["resourceVersion"] != before
        watch = self.server.watch(f"{self.path(self.dice.choice(self.versions))}?watch=1&timeoutSeconds=60&resourceVersion={since}")
        for event in watch:
            assert event["type"] in ("ADDED", "MODIFIED", "DELETED"), event
            if event["object"]["metadata"]["resourceVersion"] == self.objects[name]["resourceVersion"]:
                break
        watch.close()
        assert event["type"] == "MODIFIED" and event["object"]["metadata"]["name"] == name, event

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
        self.write_one(self.since or revision)
        if self.dice.random() < 0.5:
            self.write_status()
        if self.dice.random() < 0.3:
            self.write_anything()
        self.since = str(max(int(one["resourceVersion"]) for one in self.objects.values()))
        if len(self.objects) > 2 and self.dice.random() < 0.5:
            self.delete_one()
        self.follower.await_seen(self.wrote)

    # --- the end of objects ---

    def release(self, name, at):
        """The finalizer of an object that is being deleted goes, if need be after all that is not valid."""
        # An apply of nothing would take back the finalizer as well where its manager had set it.
        ways = ["merge", "json", "put"]

        def send():
            before = self.wrote[:]
            answer = self.send(self.dice.choice(ways), at, name, {"metadata": {"finalizers": None}})
            self.wrote = before
            return answer
        answer = send()
        if answer.status == 422:
            # As by upstream, which never forgives an embedded resource that is none, items of a list of the type map without a key,
            # and what is wrong with an object that has content without a schema in it; differential/instances has its answers.
            self.mend(self.dice.choice(ways), at, name)
            answer = send()
        answer.expect(200)

    def delete_one(self):
        name, at = self.pick()
        answer = self.request("DELETE", self.path(at, name)).expect(200)
        if self.objects[name].get("finalizers"):
            self.took(name, answer)
            self.release(name, at)
        self.wrote.append(("DELETED", name, None))
        del self.objects[name]
        assert self.request("GET", self.path(at, name)).status == 404

    def end(self):
        way, at = self.dice.choice(["singly", "collection", "namespace", "definition"]), self.dice.choice(self.versions)
        self.ends, self.wrote_before = (way, at), self.wrote[:]
        self.follower.is_ending = True
        if way == "singly":
            for name in self.objects:
                self.request("DELETE", self.path(at, name)).expect(200)
        else:
            self.request("DELETE", {"collection": self.path(at), "namespace": f"/api/v1/namespaces/{self.ns}",
                                    "definition": f"{DEFINITIONS}/{self.name}"}[way]).expect(200)
        for name, metadata in self.objects.items():
            if metadata.get("finalizers"):
                await_it(lambda: self.request("GET", self.path(at, name)).json().get("metadata", {}).get("deletionTimestamp"), name, WAIT_S)
                self.release(name, at)

    def await_end(self):
        way, at = self.ends
        if way in ("singly", "collection"):
            assert self.request("GET", self.path(at)).expect(200).json()["items"] == []
        elif way == "namespace":
            await_it(lambda: self.request("GET", f"/api/v1/namespaces/{self.ns}").status == 404, f"the end of {self.ns}", WAIT_S)
        else:
            await_it(lambda: self.request("GET", f"{DEFINITIONS}/{self.name}").status == 404, f"the end of {self.name}", WAIT_S)
        self.follower.await_deletions(self.wrote_before, set(self.objects))
        self.request("DELETE", f"{DEFINITIONS}/{self.name}")
        self.follower.join(WAIT_S)
        assert not self.follower.is_alive() and not self.follower.failure, f"the follower goes on: {self.follower.failure}"
        History.streams += self.follower.streams
