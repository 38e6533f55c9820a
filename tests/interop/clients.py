#!/usr/bin/env python3
"""A client library's program against a real server: its verbs, and its informers across restarts of the server.
clients.py PROGRAM [FLAG...], with the client's command in $COR_CLIENT; prints TAP.

The command answers `modes` with the ways it can watch, one per line (a second word, `lists-again`, says that the library
lists again after an error of its connection, as Java's informers do, instead of watching from where it was); `crud KUBECONFIG NAMESPACE` uses every verb and
exits; `MODE KUBECONFIG NAMESPACE` watches config maps and prints SYNCED once, and ADDED, UPDATED and DELETED with
name and resourceVersion."""

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

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "integration"))

from fixture import config_map, main, test  # noqa: E402

COMMAND = shlex.split(os.environ["COR_CLIENT"])
MERGE = "application/merge-patch+json"
WAIT_S = 60


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


def make(server, name):
    return server.create(server.maps, config_map(name, k="v"))["metadata"]["resourceVersion"]


def change(server, name, value):
    answer = server.request("PATCH", f"{server.maps}/{name}", {"data": {"k": value}}, Content_Type=MERGE)
    return answer.expect(200).json()["metadata"]["resourceVersion"]


def delete(server, name):
    server.request("DELETE", f"{server.maps}/{name}").expect(200)


def lists(server):
    """Lists of config maps that this process of the server has answered."""
    text = server.get("/metrics").expect(200).body.decode()
    lines = [line for line in text.splitlines() if line.startswith("apiserver_request_total{")]
    return sum(int(re.search(r" (\d+)$", line)[1]) for line in lines
               if 'resource="configmaps"' in line and 'verb="LIST"' in line)


def expect_deleted(informer, name, after):
    what, gone, version = informer.lines.get(timeout=WAIT_S)
    assert (what, gone) == ("DELETED", name), (what, gone)
    assert int(version) > int(after), "a deletion has a revision of its own"


def follow(server, mode):
    before = make(server, "before")
    listed = lists(server)
    with Informer(server, mode) as informer:
        informer.synced(("before", before))
        assert (lists(server) == listed) == mode.startswith("streaming"), "a list, or a watch that begins with one"
        informer.expect("ADDED", "a", make(server, "a"))
        version = change(server, "before", "w")
        informer.expect("UPDATED", "before", version)
        delete(server, "before")
        expect_deleted(informer, "before", version)
        informer.expect_silence()


def go_on(server, mode, number, lists_again):
    versions = {name: make(server, name) for name in ("a", "b")}
    with Informer(server, mode) as informer:
        informer.synced(*versions.items())
        # client-go lists again after a watch that was short and brought nothing.
        informer.expect("ADDED", "live", make(server, "live"))
        for turn in range(2):
            server.restart(number, keep_port=True)
            name = f"turn{turn}"
            informer.expect("ADDED", name, make(server, name))
            informer.expect("UPDATED", "a", change(server, "a", name))
            delete(server, name)
            expect_deleted(informer, name, versions["b"])
            assert lists_again or lists(server) == 0, "the client listed again"
        informer.expect_silence()


def follow_many(server, mode):
    """More than a page of 500, which is what the libraries ask for that ask for pages."""
    connection = server.connect()
    made = []
    for i in range(600):
        answer = server.request("POST", server.maps, config_map(f"m{i}"), connection=connection).expect(201)
        made.append((f"m{i}", answer.json()["metadata"]["resourceVersion"]))
    connection.close()
    with Informer(server, mode) as informer:
        informer.synced(*made)
        server.request("DELETE", server.maps).expect(200)
        gone = sorted(informer.lines.get(timeout=WAIT_S)[:2] for _ in made)
        assert gone == sorted(["DELETED", name] for name, _ in made), gone[:5]


@test
def every_verb(server):
    done = subprocess.run([*COMMAND, "crud", str(server.data / "admin.kubeconfig"), server.ns], text=True,
                          capture_output=True, timeout=2 * WAIT_S)
    assert done.returncode == 0, done.stdout + done.stderr


def register(mode, lists_again):
    manner = "" if lists_again else "_without_a_relist"
    cases = {
        "sees_adds_updates_and_deletes": lambda server: follow(server, mode),
        "sees_six_hundred_objects_and_their_end": lambda server: follow_many(server, mode),
        f"goes_on_after_a_restart{manner}": lambda server: go_on(server, mode, signal.SIGTERM, lists_again),
        f"goes_on_after_a_kill{manner}": lambda server: go_on(server, mode, signal.SIGKILL, lists_again),
    }
    for name, function in cases.items():
        function.__name__ = f"{mode}_{name}"
        test(function)


if __name__ == "__main__":
    for each in subprocess.run([*COMMAND, "modes"], check=True, text=True, capture_output=True, timeout=WAIT_S).stdout.splitlines():
        name, *traits = each.split()
        register(name, "lists-again" in traits)
    sys.argv.append("--controllers=garbage-collector-controller")  # for the objects that controllers own
    main()
