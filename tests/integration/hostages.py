#!/usr/bin/env python3
"""Definitions change; their objects stay free. hostages.py PROGRAM [histories=N] [first=N] [seed=S] [old=PROGRAM] [FLAG...]

What a definition becomes decides how new writes are judged. What is stored can always be listed, read, watched, patched towards a
valid object and deleted: singly, by collection, with its namespace, with its definition. Beside a few cases by name there are random
histories (definition_history.py): a definition, objects, random changes of the definition, and after each change all of that; then a
restart (each other time by SIGKILL), all of it again, and the end of the objects in one of these ways. One client follows the objects
of each history from beginning to end, and sees every change. `old=` names an older program that writes the data folder up to that
restart. The seed is COR_TEST_SEED or the clock; a history that fails says how it is played alone. The suite plays 200;
`./dev hostages N [SEED] [OLD]` plays more."""

import contextlib
import os
import signal
import sys
import time

from definition_history import DEFINITIONS, MERGE, WARNING, History
from fixture import Server, await_it, report

AT_ONCE = 20


@contextlib.contextmanager
def says(history, seed):
    try:
        yield
    except BaseException:
        print(f"# the history {history.number} alone: hostages.py {sys.argv[1]} seed={seed} first={history.number} histories=1 "
              + " ".join(flag for flag in sys.argv[2:] if flag.startswith(("-", "old="))))
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
        each(History.begin, History.follow, History.change, History.check, History.change, History.check, History.change)
    server.program = new
    server.restart(signal.SIGKILL if numbers[0] // AT_ONCE % 2 else signal.SIGTERM)
    if old:
        each(History.follow)
    each(History.check, History.change, History.check, History.end)
    each(History.await_end)


def play_random(server, program, options):
    count, first = int(options.get("histories", 200)), int(options.get("first", 0))
    seed, begin = options.get("seed") or os.environ.get("COR_TEST_SEED") or str(time.time_ns()), time.monotonic()
    try:
        for at in range(first, first + count, AT_ONCE):
            play_batch(server, options.get("old"), program, range(at, min(at + AT_ONCE, first + count)), seed)
            if (at - first) % 100 == 80:
                print(f"# {at - first + AT_ONCE} histories, {time.monotonic() - begin:.1f} s", flush=True)
    finally:
        print(f"# {count} histories from {first} of the seed {seed}: {History.too_large} answers with objects whose defaults are too large, "
              f"{History.untyped} applies to what does not follow the schema, {History.streams} streams, {time.monotonic() - begin:.1f} s")


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


def await_condition(server, name, folder, wanted):
    """Without a watch cache the objects are only seen when somebody reads them, and the definition says so with its next change."""
    def is_said():
        if "--watch-cache=false" in server.flags:
            server.get(folder).expect(200)
            server.request("PATCH", f"{DEFINITIONS}/{name}", {"metadata": {"labels": {"looks": str(time.monotonic_ns())}}}, **MERGE).expect(200)
        return condition(server, name) == wanted
    await_it(is_said, f"the condition {wanted}")


def await_later_definition(server, plural):
    """Until another definition is established, which the server looks at after all that changed before."""
    schema = {"type": "object"}
    server.create(DEFINITIONS, {"metadata": {"name": f"{plural}.later.example.com"}, "spec": {
        "group": "later.example.com", "scope": "Namespaced", "names": {"plural": plural, "kind": plural.title()},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}})
    await_it(lambda: server.get(f"/apis/later.example.com/v1/{plural}").status == 200, plural)


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
    await_condition(server, name, folder, ("True", "StoredObjectsTooLarge"))
    await_it(lambda: WARNING in server.get(folder).headers.get("Warning", ""), "the warning")
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
    # Where nobody has read the objects yet, no controller either, it is as it was.
    flags = server.flags
    server.flags = [*flags, "--controllers=-*"]
    server.restart()
    await_later_definition(server, "wholes")
    assert condition(server, name) == ("True", "StoredObjectsTooLarge")
    server.flags = flags
    server.restart()
    assert server.get(folder + "/large").expect(200).json()["spec"] == made["spec"]
    # Towards a valid one.
    valid = server.request("PATCH", folder + "/large", {"spec": {"items": [{}, {}]}}, **MERGE).expect(200).json()
    assert valid["spec"] == {"items": [{"d": "x" * 4096}] * 2}
    set_item(server, name, {})
    await_condition(server, name, folder, ("False", "StoredObjectsFit"))
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


def what_a_write_keeps_is_forgiven_in_a_version_that_knows_less_of_it(server):
    """The status, where a write is none of it; all else, where it is one of the status or of the scale."""
    history = History(server, "-kept", 0)
    server.create("/api/v1/namespaces", {"metadata": {"name": history.ns}})
    body, loose = history.definition(), {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    wrong, default = {"type": "integer"}, {"type": "integer", "default": 3}
    strict = {"type": "object", "properties": {part: {"type": "object", "properties": {"a": wrong, "d": default, "n": {"type": "integer"}}}
                                               for part in ("spec", "status")}}
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
    body["spec"]["versions"] = [{"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": schema}}
                                for name, schema in (("v1", loose), ("v2", strict))]
    body["spec"]["versions"][1]["subresources"] = {"status": {}, "scale": scale}
    server.create(DEFINITIONS, body)
    await_it(lambda: server.get(history.path("v2")).status == 200, "the resource")
    part = {"a": [{"b": 1}]}
    server.create(history.path("v1"), {"apiVersion": f"{history.group}/v1", "kind": "Thing", "metadata": {"name": "one", "finalizers": ["a.b/c"]},
                                       "spec": {**part, "n": 1}, "status": part})
    one = history.path("v2", "one")
    server.request("PATCH", one + "/scale", {"spec": {"replicas": 2}}, **MERGE).expect(200)
    server.request("PATCH", one + "/status", {"status": {"n": 2}}, **MERGE).expect(200)
    server.request("PATCH", one, {"spec": {"n": 4}}, **MERGE).expect(200)
    # As upstream, which writes what that version shows.
    shown = server.get(history.path("v1", "one")).expect(200).json()
    assert shown["spec"] == {"a": [{}], "d": 3, "n": 4} and shown["status"] == {"a": [{}], "d": 3, "n": 2}, shown
    server.request("PATCH", one, {"metadata": {"finalizers": None}}, **MERGE).expect(200)
    refused = server.request("PATCH", one + "/status", {"status": {"a": "x"}}, **MERGE).expect(422)
    assert "status.a: Invalid value" in refused.json()["message"], refused.body


def main():
    program, *flags = sys.argv[1:]
    options = dict(flag.split("=", 1) for flag in flags if not flag.startswith("-"))
    flags = [flag for flag in flags if flag.startswith("-")]

    # A history that takes long finds its revisions all the same.
    with Server(program, "--controllers=*", "--etcd-compaction-interval=0", *flags) as server:
        def random_histories(_):
            play_random(server, program, options)

        status = report([an_object_whose_defaults_are_too_large_is_served_as_it_is_stored,
                         an_object_whose_schema_became_too_dear_can_be_changed_and_deleted,
                         what_did_not_change_is_forgiven_in_a_version_that_knows_less_of_it,
                         what_a_write_keeps_is_forgiven_in_a_version_that_knows_less_of_it, random_histories], lambda one: one(server))
        server.stop()
    sys.exit(status)


if __name__ == "__main__":
    main()
