#!/usr/bin/env python3
"""What requests cost the server, in instructions. requests.py PROGRAM [BEFORE]

A real server runs under callgrind and is asked over its Unix socket, one request after the other. Each kind of request is
sent to a server of its own; it is counted from when the server was filled and has answered a few of them, so that neither the
start, with as many probes as the machine is slow, nor the end is in the count. What controllers do meanwhile falls into it, and
can only add to it: of TRIES counts the smallest is taken.
With BEFORE, the program of an earlier commit, both are counted, and more than 3 % in addition is a failure. Objects that are
read have equal bytes in both, also when one of the programs writes managedFields and the other does not.

Writes are counted at the beginning of the store's log. SQLite finds a page in the log by a table of 8,192 slots, in which page p
begins at slot 383 p and each time that it is written takes the next free slot. A page that every commit writes (the newest rows,
the end of an index) costs one step more each time, and after 383 commits its slots meet those of the next page, from where on
each write walks over the slots of several pages. So a write costs by its place in the log, whatever it writes: of the 17,400
instructions that an update cost more behind 500 objects than behind 100, 12,400 were steps in this table (9,200 and 2,500 in a
program without managedFields, whose shorter objects fill pages later). A log begins again every 8 MB, when depends on how busy the
machine is, and writers beside each other share commits; so the place that counts is the one where the table has no part in it:
fewer than 383 commits in all, with those that fill the store.

A delivery is what each of WATCHERS adds to an update. An event is given to all idle watches of a loop in one turn, as long as the
turn has time for that, and to the rest in turns of their own, which costs more. The time is that of the wall, and callgrind is fifty
times slower than the server: with a hundred watches the time was up in the middle of an event, more often on a busy machine, in
programs that share turns; so costs of different batches were compared. Forty watches, twenty on each of two loops, take about a
millisecond under callgrind, and are one turn in every program. The engine's thread is not counted for a delivery: it knows nothing
of watches, and what its commits cost by their place in the log would hide what is measured."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
from fixture import Server, UnixConnection, config_map  # noqa: E402

PROGRAMS = sys.argv[1:]
ALLOWED = 1.03
BYTES = 2048  # of an object that is read
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
TRIES = 3
WATCHERS = 40
EVENTS = 200
OBJECTS = 500
OBJECTS_OF_WRITES = 100  # with the writes that are counted less than COMMITS_MAX
COMMITS_MAX = 383  # from the beginning of the log, see above


class CountedServer(Server):
    """A server under callgrind, reached by its Unix socket: what TLS costs would hide what a request costs."""

    controllers = ()  # all that the program has: a request pays for them

    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="cost-")
        self.under = ("valgrind", "--tool=callgrind", "--separate-threads=yes", "--dump-line=no",
                      f"--callgrind-out-file={self.folder}/out")
        super().__init__(program, "--unix-socket", self.folder + "/s")

    def cleanup(self):
        super().cleanup()
        shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self, cert=None):
        return UnixConnection(self.folder + "/s")

    def callgrind(self, command):
        subprocess.run(["callgrind_control", command, str(self.process.pid)], check=True, capture_output=True)

    def instructions(self, without):
        """Ends the server and returns how many instructions it ran since callgrind("--zero"), on all threads but those that run
        one of the functions `without`."""
        self.callgrind("--dump")
        self.stop()
        dumps = [path.read_text(errors="replace") for path in pathlib.Path(self.folder).glob("out.1-*")]
        counts = [int(re.search(r"^totals: (\d+)", dump, re.M)[1]) for dump in dumps if not any(name in dump for name in without)]
        return sum(counts)


def a_map(name, pad=0):
    """A ConfigMap of about 1 KB; an annotation makes it longer."""
    body = config_map(name, labels={"app": "cost"}, **{f"key{n}": "v" * 60 for n in range(12)})
    if pad:
        body["metadata"]["annotations"] = {"pad": "p" * pad}
    return json.dumps(body)


def padding(server, connection):
    """How long the annotation of an object must be for BYTES, whatever else the server adds to it."""
    made = server.request("POST", MAPS, a_map("probe", 1), connection=connection).expect(201)
    server.request("DELETE", f"{MAPS}/probe", connection=connection).expect(200)
    return BYTES - len(made.body) + 1


def fill(server, connection, are_equal=False):
    server.pad = padding(server, connection) if are_equal else 0
    for n in range(OBJECTS if are_equal else OBJECTS_OF_WRITES):
        server.request("POST", MAPS, a_map(f"old-{n}", server.pad), connection=connection).expect(201)


def get(server, connection, n):
    server.request("GET", f"{MAPS}/old-{n % OBJECTS}", connection=connection).expect(200)


def list_all(server, connection, n):
    server.request("GET", MAPS, connection=connection).expect(200)


def create(server, connection, n):
    server.request("POST", MAPS, a_map(f"new-{n}"), connection=connection).expect(201)


def a_pod(name):
    """A Pod with forty values that a client sets; the server adds about twenty defaults."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "cost", "tier": "t"}},
        "spec": {
            "restartPolicy": "Always",
            "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 30,
            "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}],
            "securityContext": {"runAsUser": 1000, "fsGroup": 2000},
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example.com/app:1.2.3",
                    "command": ["/bin/app"],
                    "args": ["--port=8080"],
                    "ports": [{"name": "http", "containerPort": 8080}],
                    "env": [
                        {"name": "A", "value": "1"},
                        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                    ],
                    "resources": {
                        "requests": {"cpu": "100m", "memory": "128Mi"},
                        "limits": {"cpu": "1", "memory": "256Mi"},
                    },
                    "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10},
                    "readinessProbe": {"tcpSocket": {"port": 8080}},
                    "volumeMounts": [
                        {"name": "data", "mountPath": "/data"},
                        {"name": "config", "mountPath": "/etc/app", "readOnly": True},
                    ],
                    "securityContext": {"readOnlyRootFilesystem": True},
                }
            ],
            "volumes": [
                {"name": "data", "emptyDir": {}},
                {"name": "config", "configMap": {"name": "app", "defaultMode": 420}},
            ],
        },
    }


def create_pod(server, connection, n):
    server.request("POST", PODS, a_pod(f"new-{n}"), connection=connection).expect(201)


def update(server, connection, n):
    """A change of what belongs to this client already: no field changes its owner."""
    put(server, connection, n, "key0")


def take(server, connection, n):
    """The first update of an object adds a field, which its client owns from then on."""
    put(server, connection, n, "turn")


def put(server, connection, n, key):
    name = f"old-{n % OBJECTS_OF_WRITES}"
    body = json.loads(a_map(name, server.pad))
    body["data"][key] = str(n)
    server.request("PUT", f"{MAPS}/{name}", body, connection=connection).expect(200)


def delete(server, connection, n):
    server.request("DELETE", f"{MAPS}/old-{n}", connection=connection).expect(200)


def cost(program, send, few, many, watchers=0):
    return min(count(program, send, few, many, watchers) for _ in range(TRIES))


def count(program, send, few, many, watchers):
    """Instructions of a request: those from number `few` to number `many` are counted, with watchers that read what they are
    sent."""
    with CountedServer(program) as server:
        connection = server.connect()
        fill(server, connection, are_equal=watchers or send in (get, list_all))
        watches = [server.watch(MAPS + "?watch=1&timeoutSeconds=3000&allowWatchBookmarks=false") for _ in range(watchers)]
        for watch in watches:
            for _ in range(OBJECTS):
                next(watch)
        assert watches or send in (get, list_all) or OBJECTS_OF_WRITES + many < COMMITS_MAX
        for n in range(many):
            if n == few:
                server.callgrind("--zero")
            send(server, connection, n)
            for watch in watches:
                next(watch)
        for watch in watches:
            watch.close()
        connection.close()
        # How often the log of the store is copied depends on how busy the machine is.
        return server.instructions(("checkpointer_main", "engine_main") if watchers else ("checkpointer_main",)) / (many - few)


def delivery(program):
    """What each watcher adds to an update."""
    many, one = (cost(program, update, 20, 20 + EVENTS, watchers) for watchers in (WATCHERS, 1))
    return (many - one) / (WATCHERS - 1)


MEASURED = {
    "GET of 1 KB": lambda program: cost(program, get, 100, 3100),
    f"LIST of {OBJECTS}": lambda program: cost(program, list_all, 10, 110),
    "create": lambda program: cost(program, create, 20, 140),
    "update": lambda program: cost(program, update, 20, 140),
    "update with a new field": lambda program: cost(program, take, 20, OBJECTS_OF_WRITES),
    "create of a Pod": lambda program: cost(program, create_pod, 20, 140),
    "delete": lambda program: cost(program, delete, 20, OBJECTS_OF_WRITES),
    "delivery of an event": delivery,
}


def main():
    if not shutil.which("valgrind"):
        print("cost: valgrind is not installed")
        return 0
    failed = 0
    for name, measure in MEASURED.items():
        costs = [measure(program) for program in PROGRAMS]
        line = f"{name:24} {costs[0]:12,.0f} instructions"
        if len(costs) > 1:
            ratio = costs[0] / costs[1]
            too_much = ratio > ALLOWED
            failed |= too_much
            line += f"   before {costs[1]:12,.0f}   {ratio:.3f}x{'   TOO MUCH' if too_much else ''}"
        print(line, flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
