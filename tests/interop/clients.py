#!/usr/bin/env python3
"""A client library's program against a real server: its verbs, and its informers across restarts of the server.
clients.py PROGRAM [FLAG...], with the client's command in $COR_CLIENT; prints TAP.

The command answers `modes` with the ways it can watch, one per line (a second word, `lists-again`, says that the library
lists again after an error of its connection, as Java's informers do, instead of watching from where it was); `crud KUBECONFIG NAMESPACE` uses every verb and
exits; `MODE KUBECONFIG NAMESPACE` watches config maps and prints SYNCED once, and ADDED, UPDATED and DELETED with
name and resourceVersion. A mode with the word `boats` watches the boats of clients.example.com/v1 instead, which are custom resources;
one with the word `ends` is no watch: it exits as crud does."""

import os
import pathlib
import queue
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "integration"))

from fixture import config_map, main, test  # noqa: E402

COMMAND = shlex.split(os.environ["COR_CLIENT"])
MERGE = "application/merge-patch+json"
WAIT_S = 60


class Kind:
    """What a mode watches: how its objects are made, and changed by a merge patch."""

    def __init__(self, resource, folder, body, patch):
        self.resource, self.folder, self.body, self.patch = resource, folder, body, patch

    def path(self, server):
        return f"{self.folder}/namespaces/{server.ns}/{self.resource}"

    def make(self, server, name, connection=None):
        answer = server.request("POST", self.path(server), self.body(name), connection=connection).expect(201)
        return answer.json()["metadata"]["resourceVersion"]

    def change(self, server, name, value):
        answer = server.request("PATCH", f"{self.path(server)}/{name}", self.patch(value), Content_Type=MERGE)
        return answer.expect(200).json()["metadata"]["resourceVersion"]

    def delete(self, server, name):
        server.request("DELETE", f"{self.path(server)}/{name}").expect(200)

    def lists(self, server):
        """Lists that this process of the server has answered."""
        text = server.get("/metrics").expect(200).body.decode()
        lines = [line for line in text.splitlines() if line.startswith("apiserver_request_total{")]
        return sum(int(re.search(r" (\d+)$", line)[1]) for line in lines
                   if f'resource="{self.resource}"' in line and 'verb="LIST"' in line)


MAPS = Kind("configmaps", "/api/v1", lambda name: config_map(name, k="v"), lambda value: {"data": {"k": value}})
BOATS = Kind("boats", "/apis/clients.example.com/v1",
             lambda name: {"kind": "Boat", "apiVersion": "clients.example.com/v1", "metadata": {"name": name}, "spec": {"colour": "red"}},
             lambda value: {"spec": {"colour": value}})
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BOATS_DEFINITION = f"{DEFINITIONS}/boats.clients.example.com"


class Informer:
    """The program's lines as they come."""

    def __init__(self, server, mode):
        self.errors = tempfile.TemporaryFile("w+")
        command = [*COMMAND, mode, str(server.data / "admin.kubeconfig"), server.ns]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.process.kill()
        self.process.wait()
        self.errors.seek(0)
        if kind:
            print("".join(f"# {line}" for line in self.errors.readlines()[-20:]))

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.split())
        self.lines.put(["ended"])

    def expect(self, *words):
        line = self.lines.get(timeout=WAIT_S)
        assert line == list(words), f"{line} instead of {list(words)}"

    def synced(self, *known):
        """Initial objects come before or after the word, as the library pleases."""
        lines = [self.lines.get(timeout=WAIT_S) for _ in range(len(known) + 1)]
        expected = [["SYNCED"], *(["ADDED", name, version] for name, version in known)]
        assert sorted(lines) == sorted(expected), f"{lines[:5]} instead of {expected[:5]}"

    def expect_silence(self):
        assert self.lines.empty(), self.lines.get()


def expect_deleted(informer, name, after):
    what, gone, version = informer.lines.get(timeout=WAIT_S)
    assert (what, gone) == ("DELETED", name), (what, gone)
    assert int(version) > int(after), "a deletion has a revision of its own"


def follow(server, mode, kind):
    before = kind.make(server, "before")
    listed = kind.lists(server)
    with Informer(server, mode) as informer:
        informer.synced(("before", before))
        assert (kind.lists(server) == listed) == mode.startswith("streaming"), "a list, or a watch that begins with one"
        informer.expect("ADDED", "a", kind.make(server, "a"))
        version = kind.change(server, "before", "w")
        informer.expect("UPDATED", "before", version)
        kind.delete(server, "before")
        expect_deleted(informer, "before", version)
        informer.expect_silence()


def go_on(server, mode, kind, number, lists_again):
    versions = {name: kind.make(server, name) for name in ("a", "b")}
    with Informer(server, mode) as informer:
        informer.synced(*versions.items())
        # client-go lists again after a watch that was short and brought nothing.
        informer.expect("ADDED", "live", kind.make(server, "live"))
        for turn in range(2):
            server.restart(number, keep_port=True)
            name = f"turn{turn}"
            informer.expect("ADDED", name, kind.make(server, name))
            informer.expect("UPDATED", "a", kind.change(server, "a", name))
            kind.delete(server, name)
            expect_deleted(informer, name, versions["b"])
            assert lists_again or kind.lists(server) == 0, "the client listed again"
        informer.expect_silence()


def follow_many(server, mode, kind):
    """More than a page of 500, which is what the libraries ask for that ask for pages."""
    connection = server.connect()
    made = []
    for i in range(600):
        made.append((f"m{i}", kind.make(server, f"m{i}", connection)))
    connection.close()
    with Informer(server, mode) as informer:
        informer.synced(*made)
        server.request("DELETE", kind.path(server)).expect(200)
        gone = sorted(informer.lines.get(timeout=WAIT_S)[:2] for _ in made)
        assert gone == sorted(["DELETED", name] for name, _ in made), gone[:5]


def await_answer(server, path, status):
    deadline = time.monotonic() + WAIT_S
    while server.get(path).status != status:
        assert time.monotonic() < deadline, f"{path} is not answered with {status}"
        time.sleep(0.01)


def define_boats(server):
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"colour": {"type": "string"}}}}}
    server.create(DEFINITIONS, {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "boats.clients.example.com"},
        "spec": {"group": "clients.example.com", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}})
    await_answer(server, BOATS.path(server), 200)


def forget_boats(server):
    server.request("DELETE", BOATS_DEFINITION).expect(200)
    await_answer(server, BOATS_DEFINITION, 404)


def with_boats(play):
    def played(server):
        define_boats(server)
        try:
            play(server)
        finally:
            forget_boats(server)
    return played


def go_on_with_another_schema(server, mode):
    """Defaults and fields that a definition gets are no changes of its objects."""
    with Informer(server, mode) as informer:
        informer.synced()
        informer.expect("ADDED", "a", BOATS.make(server, "a"))
        field = {"type": "string", "default": "oak"}
        path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/wood"
        server.request("PATCH", BOATS_DEFINITION, [{"op": "add", "path": path, "value": field}],
                       Content_Type="application/json-patch+json").expect(200)
        boat = f"{BOATS.path(server)}/a"
        deadline = time.monotonic() + WAIT_S
        while server.get(boat).expect(200).json()["spec"].get("wood") != "oak":
            assert time.monotonic() < deadline, "the default is not there"
        informer.expect("ADDED", "b", BOATS.make(server, "b"))
        informer.expect("UPDATED", "a", BOATS.change(server, "a", "blue"))
        informer.expect_silence()


def go_on_with_another_definition(server, mode):
    """The objects of a deleted definition are deleted; the informer finds those of the next one."""
    version = BOATS.make(server, "a")
    with Informer(server, mode) as informer:
        informer.synced(("a", version))
        forget_boats(server)
        expect_deleted(informer, "a", version)
        define_boats(server)
        informer.expect("ADDED", "b", BOATS.make(server, "b"))
        informer.expect_silence()


def run_to_its_end(server, mode):
    done = subprocess.run([*COMMAND, mode, str(server.data / "admin.kubeconfig"), server.ns], text=True, capture_output=True, timeout=2 * WAIT_S)
    assert done.returncode == 0, done.stdout + done.stderr


@test
def every_verb(server):
    run_to_its_end(server, "crud")


def register(mode, kind, lists_again):
    manner = "" if lists_again else "_without_a_relist"
    cases = {
        "sees_adds_updates_and_deletes": lambda server: follow(server, mode, kind),
        "sees_six_hundred_objects_and_their_end": lambda server: follow_many(server, mode, kind),
        f"goes_on_after_a_restart{manner}": lambda server: go_on(server, mode, kind, signal.SIGTERM, lists_again),
        f"goes_on_after_a_kill{manner}": lambda server: go_on(server, mode, kind, signal.SIGKILL, lists_again),
    }
    if kind is BOATS:
        cases["goes_on_with_another_schema"] = lambda server: go_on_with_another_schema(server, mode)
        cases["goes_on_with_another_definition"] = lambda server: go_on_with_another_definition(server, mode)
    for name, play in cases.items():
        function = with_boats(play) if kind is BOATS else play
        function.__name__ = f"{mode}_{name}"
        test(function)


def register_scenario(mode):
    def scenario(server):
        run_to_its_end(server, mode)

    scenario.__name__ = mode
    test(scenario)


if __name__ == "__main__":
    for each in subprocess.run([*COMMAND, "modes"], check=True, text=True, capture_output=True, timeout=WAIT_S).stdout.splitlines():
        name, *traits = each.split()
        if "ends" in traits:
            register_scenario(name)
        else:
            register(name, BOATS if "boats" in traits else MAPS, "lists-again" in traits)
    sys.argv.append("--controllers=garbage-collector-controller")  # for the objects that controllers own
    main()
