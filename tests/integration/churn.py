#!/usr/bin/env python3
"""Definitions come, change and go while others list, watch and own their instances: churn.py PROGRAM [definitions=N] [FLAG...]
The short form runs in every suite; `./dev` runs it with 200 definitions."""

import concurrent.futures
import sys
import threading

from fixture import Server, await_it, sanitizer_of, report

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MAPS = "/api/v1/namespaces/default/configmaps"
AT_ONCE = 8
WAIT_S = 120
# What the allocator may keep of a churn that has ended, whatever its length.
KEPT_BYTES = 8 << 20


def definition(plural, versions):
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "a": {"type": "string", "pattern": "^[a-z]*$", "default": "x"}, "n": {"type": "integer", "minimum": 0}}}}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.churn.example.org"},
            "spec": {"group": "churn.example.org", "scope": "Namespaced", "names": {"plural": plural, "kind": plural.capitalize()},
                     "versions": [{"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": schema},
                                   "subresources": {"status": {}}} for name in versions]}}


class Reader(threading.Thread):
    """Lists and watches what one definition defines, over and over, until that is gone."""

    def __init__(self, server, path):
        super().__init__()
        self.server, self.path, self.seen, self.failure = server, path, set(), None

    def run(self):
        try:
            while self.read():
                pass
        except Exception as failure:
            self.failure = failure

    def read(self):
        answer = self.server.get(self.path)
        if answer.status == 404:
            return False
        if answer.status != 200:
            assert answer.status in (410, 429, 503), answer.body
            return True
        listed = answer.json()
        self.seen.update(item["metadata"]["name"] for item in listed["items"])
        try:
            watch = self.server.watch(f"{self.path}?watch=1&timeoutSeconds=30&resourceVersion={listed['metadata']['resourceVersion']}")
        except AssertionError:  # it is gone, or another one has come: the next list says which
            return True
        for event in watch:
            if event["type"] != "ERROR":
                self.seen.add(event["object"]["metadata"]["name"])
        watch.close()
        return True


def is_established(server, path):
    conditions = server.get(path).expect(200).json().get("status", {}).get("conditions") or []
    return any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions)


def play_one(server, number):
    """The life of one definition."""
    plural = f"thing{number}s"
    path = f"{DEFINITIONS}/{plural}.churn.example.org"
    things = f"/apis/churn.example.org/v1/namespaces/default/{plural}"

    def thing(name, **metadata):
        return {"apiVersion": "churn.example.org/v1", "kind": plural.capitalize(), "metadata": {"name": name, **metadata}, "spec": {"n": 1}}

    server.create(DEFINITIONS, definition(plural, ["v1"]))
    # A connection may be served a moment before another one, which another loop has: what all can rely on is the condition.
    await_it(lambda: is_established(server, path), plural, WAIT_S)
    for _ in range(4):
        server.get(things).expect(200)
    reader = Reader(server, things)
    reader.start()
    owner = server.create(MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": plural}})["metadata"]
    owned = thing("owned", ownerReferences=[{"apiVersion": "v1", "kind": "ConfigMap", "name": plural, "uid": owner["uid"]}])
    for body in owned, thing("kept"):
        made = server.create(things, body)
        assert made["spec"] == {"a": "x", "n": 1}, made
    server.request("DELETE", f"{MAPS}/{plural}").expect(200)
    # Another version, then another schema: the watches end, and begin again.
    for versions in ["v1", "v2beta1"], ["v1"]:
        answer = None
        while not answer or answer.status == 409:
            current = server.get(path).expect(200).json()
            current["spec"]["versions"] = definition(plural, versions)["spec"]["versions"]
            answer = server.request("PUT", path, current)
        answer.expect(200)
        await_it(lambda: (server.get(things.replace("/v1/", "/v2beta1/")).status == 200) == (len(versions) == 2), "the change", WAIT_S)
    await_it(lambda: server.get(f"{things}/owned").status == 404, "the end of what is owned", WAIT_S)
    assert server.get(f"{things}/kept").expect(200).json()["spec"] == {"a": "x", "n": 1}
    server.request("DELETE", path).expect(200)
    await_it(lambda: server.get(path).status == 404, "the end", WAIT_S)
    reader.join(WAIT_S)
    assert not reader.is_alive() and not reader.failure, reader.failure
    assert "kept" in reader.seen, reader.seen


def resident(server):
    with open(f"/proc/{server.process.pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))


def definitions_come_change_and_go(coracle, n, flags):
    """Contract crd 3.2.3 to 3.2.5, 5.9. The first round fills what a server keeps; the others may add nothing to it."""
    # Little history is kept, because it counts as what has not returned.
    flags = ["--watch-cache-bytes=1048576", "--controllers=garbage-collector-controller,namespace-controller,resourcequota-controller", *flags]
    with Server(coracle, *flags) as server:
        server.create("/api/v1/namespaces/default/resourcequotas", {
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"},
            "spec": {"hard": {f"count/thing{i}s.churn.example.org": "9" for i in range(8)}}})

        def play(numbers):
            with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
                for life in [pool.submit(play_one, server, number) for number in numbers]:
                    life.result()

        play(range(n // 2))
        before = resident(server)
        play(range(n // 2, n))
        server.get("/apis/churn.example.org").expect(404)
        assert "churn" not in server.get("/openapi/v2").expect(200).body.decode()
        grown = resident(server) - before
        print(f"# {n} definitions: {before >> 20} MB resident after the first half, {grown >> 10} KB more at the end")
        assert grown < KEPT_BYTES or sanitizer_of(coracle), grown


def main():
    flags = [flag for flag in sys.argv[2:] if not flag.startswith("definitions=")]
    n = next((int(flag.split("=")[1]) for flag in sys.argv[2:] if flag.startswith("definitions=")), 24)
    return report([definitions_come_change_and_go], lambda function: function(sys.argv[1], n, flags))


if __name__ == "__main__":
    sys.exit(main())
