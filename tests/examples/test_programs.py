#!/usr/bin/env python3
"""TAP: each program of examples/ does what it says, against a real server.
test_programs.py SERVER FOLDER SANITIZERS"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
import fixture  # noqa: E402

SERVER, FOLDER, SANITIZERS = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
PATIENCE_S = 60
MERGE = "application/merge-patch+json"


def until(condition, what):
    end = time.monotonic() + PATIENCE_S
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


class Program:
    """An example that runs; its output is gathered in a file."""

    def __init__(self, server, name, *args):
        self.out = tempfile.TemporaryFile("w+")
        env = dict(os.environ, KUBECONFIG=str(server.data / "admin.kubeconfig"))
        self.process = subprocess.Popen([FOLDER / f"example_{name}", *args], stdout=self.out, stderr=self.out, env=env)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.out.close()

    def text(self):
        return os.pread(self.out.fileno(), 1 << 20, 0).decode()

    def says(self, line):
        def found():
            ended = self.process.poll() is not None
            if re.search(f"^{line}$", self.text(), re.M):
                return True
            assert not ended, "the program has ended"
            return False

        try:
            until(found, line)
        except AssertionError as error:
            raise AssertionError(f"{error}; {line!r} is not in {self.text()[-2000:]!r}") from None
        return self

    def ends(self, expected=0):
        code = self.process.wait(PATIENCE_S)
        assert code == expected, f"ended with {code}: {self.text()[-3000:]}"
        return self.text()

    def stops(self):
        self.process.send_signal(signal.SIGTERM)
        return self.ends()

    def status(self, field):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"^{field}:\s+(\d+)", text, re.M).group(1))


def pod(name, node=None, **labels):
    spec = {"containers": [{"name": "c", "image": "i", "env": [{"name": f"V{i}", "value": "x" * 40} for i in range(15)]}]}
    if node:
        spec["nodeName"] = node
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name, "labels": labels}, "spec": spec}


def deployment(name, replicas):
    labels = {"app": name}
    return {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}


def list_pods_prints_names_and_phases(server):
    pods = f"/api/v1/namespaces/{server.ns}/pods"
    for name in ("b", "a"):
        server.create(pods, pod(name))
    with Program(server, "list_pods", server.ns) as program:
        assert program.ends() == f"{server.ns}/a Pending\n{server.ns}/b Pending\n"
    with Program(server, "list_pods") as program:
        assert f"{server.ns}/a Pending\n" in program.ends()


def watch_prints_what_happens(server):
    with Program(server, "watch", "v1", "configmaps", server.ns) as program:
        server.create(server.maps, fixture.config_map("one"))
        program.says(f"ADDED {server.ns}/one")
        server.request("PATCH", server.maps + "/one", {"data": {"x": "1"}}, Content_Type=MERGE).expect(200)
        program.says(f"MODIFIED {server.ns}/one")
        server.request("DELETE", server.maps + "/one").expect(200)
        program.says(f"DELETED {server.ns}/one")
        program.stops()
    with Program(server, "watch", "apps/v1", "deployments", server.ns) as program:
        server.create(f"/apis/apps/v1/namespaces/{server.ns}/deployments", deployment("d", 1))
        program.says(f"ADDED {server.ns}/d")
        program.stops()
    with Program(server, "watch", "v1", "pod") as program:
        assert "could not find the requested resource" in program.ends(1)
    with Program(server, "watch") as program:
        assert "usage: watch" in program.ends(2)


def informer_serves_three_handlers(server):
    pods = f"/api/v1/namespaces/{server.ns}/pods"
    server.create(pods, pod("one"))
    with Program(server, "informer") as program:
        program.says(r"synced: \d+ pods").says(f"listed {server.ns}/one").says(f"without an owner: {server.ns}/one")
        server.create(pods, pod("two"))
        program.says(f"added {server.ns}/two").says(f"without an owner: {server.ns}/two")
        server.request("PATCH", pods + "/two", {"metadata": {"labels": {"a": "b"}}}, Content_Type=MERGE).expect(200)
        program.says(f"updated {server.ns}/two")
        server.request("DELETE", pods + "/two?gracePeriodSeconds=0").expect(200)
        program.says(f"deleted {server.ns}/two")
        total = len(server.get("/api/v1/pods").expect(200).json()["items"])
        assert f"counted: {total} pods\n" in program.stops()


def crud_retries_after_a_conflict(server):
    with Program(server, "crud", server.ns) as program:
        lines = program.ends().splitlines()
    assert lines[0] == 'again: configmaps "one" already exists', lines
    assert lines[1].startswith('try 1: Operation cannot be fulfilled on configmaps "one"'), lines
    assert lines[2:] == ["try 2: written", "red: one 1", 'gone: configmaps "one" not found'], lines


def pod_agent_keeps_a_thousand_pods_in_five_megabytes(server):
    pods = f"/api/v1/namespaces/{server.ns}/pods"
    count = 1000 if SANITIZERS == "none" else 100
    connection = server.connect()
    for i in range(count):
        server.request("POST", pods, pod(f"p{i}", "n1", app="web"), connection=connection).expect(201)
    server.request("POST", pods, pod("elsewhere", "n2"), connection=connection).expect(201)
    connection.close()
    with Program(server, "pod_agent", "n1") as program:
        program.says(f"synced: {count} pods")
        assert program.status("Threads") == 1 or SANITIZERS != "none"
        rss = program.status("RssAnon")
        print(f"# RssAnon with {count} pods: {rss} kB")
        assert rss < 5 * 1024 or SANITIZERS != "none", f"{rss} kB"
        server.request("PATCH", pods + "/p7/status", {"status": {"podIP": "10.0.0.7"}}, Content_Type=MERGE).expect(200)
        program.says(f"~ {server.ns}/p7 10.0.0.7 web")
        server.create(pods, pod("late", "n1"))
        program.says(rf"\+ {server.ns}/late - -")
        server.request("DELETE", pods + "/p7?gracePeriodSeconds=0").expect(200)
        program.says(f"- {server.ns}/p7")
        assert "elsewhere" not in program.stops()


class Apps:
    def __init__(self, server):
        self.server = server
        self.path = f"/apis/apps/v1/namespaces/{server.ns}"

    def replicas_of_set(self, name):
        answer = self.server.get(f"{self.path}/replicasets/{name}")
        return answer.json()["spec"]["replicas"] if answer.status == 200 else None

    def observed(self, name):
        return self.server.get(f"{self.path}/deployments/{name}").expect(200).json().get("status", {}).get("observedGeneration")

    def check(self, name, replicas, generation):
        until(lambda: self.replicas_of_set(name) == replicas, f"{replicas} replicas of {name}")
        until(lambda: self.observed(name) == generation, f"generation {generation} of {name} in its status")

    def scale(self, name, replicas):
        self.server.request("PATCH", f"{self.path}/deployments/{name}", {"spec": {"replicas": replicas}}, Content_Type=MERGE).expect(200)


def event_of(server, name, reason):
    events = server.get(f"/api/v1/namespaces/{server.ns}/events").expect(200).json()["items"]
    return [e for e in events if e["involvedObject"]["name"] == name and e["reason"] == reason]


def controller_works_in_one_process_at_a_time(server):
    apps = Apps(server)
    server.create(apps.path + "/deployments", deployment("before", 2))
    with Program(server, "controller") as first:
        first.says("working")
        apps.check("before", 2, 1)
        until(lambda: event_of(server, "before", "Created"), "an event")
        with Program(server, "controller") as second:
            server.create(apps.path + "/deployments", deployment("later", 1))
            apps.check("later", 1, 1)
            assert "working" not in second.text()
            first.stops()
            second.says("working")
            apps.scale("later", 3)
            apps.check("later", 3, 2)
            second.stops()


def controller_tells_of_what_stands_in_its_way(server):
    apps = Apps(server)
    foreign = deployment("taken", 1)
    foreign["kind"] = "ReplicaSet"
    server.create(apps.path + "/replicasets", foreign)
    server.create(apps.path + "/deployments", deployment("taken", 2))
    with Program(server, "controller") as program:
        until(lambda: event_of(server, "taken", "ErrResourceExists"), "a warning")
        assert apps.replicas_of_set("taken") == 1
        program.stops()


def uv_controller_works_in_a_loop_of_its_own(server):
    apps = Apps(server)
    server.create(apps.path + "/deployments", deployment("before", 2))
    with Program(server, "uv_controller") as program:
        program.says("working")
        apps.check("before", 2, 1)
        apps.scale("before", 4)
        apps.check("before", 4, 2)
        program.stops()


TESTS = [list_pods_prints_names_and_phases, watch_prints_what_happens, informer_serves_three_handlers,
         crud_retries_after_a_conflict, pod_agent_keeps_a_thousand_pods_in_five_megabytes,
         controller_works_in_one_process_at_a_time, controller_tells_of_what_stands_in_its_way,
         uv_controller_works_in_a_loop_of_its_own]

if __name__ == "__main__":
    fixture.TESTS.extend(TESTS)
    sys.exit(fixture.run(SERVER, []))
