#!/usr/bin/env python3
"""TAP: an informer of the library, in a process of its own, follows a real server through a network with faults.
faults.py SERVER FOLLOW threads|pumped h1|h2 [--on-etcd | --on-kube-apiserver] [only=WORD] [FLAG...]

What its handler hears is checked call by call: per name an add, updates with growing resourceVersions, each from the state that
was told before, a delete; each state one that the server has had. A state is told again, as client-go does, at most once for
each time that the server was listed again. In the end the cache, and what the handler was told, must be a list of the server.
Where nothing was listed again, every single write must have been told."""

import collections
import concurrent.futures
import contextlib
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
import etcd_cluster  # noqa: E402
from etcd_cluster import wait_for  # noqa: E402
from kube_apiserver import KubeApiserver  # noqa: E402
from fixture import Server, Skip, config_map, report  # noqa: E402

# A pause after many faults may be a minute by itself.
WAIT_S = 120
PAUSE_MIN_S = 0.8
MERGE = "application/merge-patch+json"
TESTS = []


def test(function):
    TESTS.append(function)
    return function


class FaultyProxy(etcd_cluster.Proxy):
    """Also does not listen for a while, holds back what passes, or passes it late. Its port stays its own."""

    def __init__(self, target):
        self.guard = socket.socket()
        self.guard.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self.guard.bind(("127.0.0.1", 0))
        self.is_open, self.delay = threading.Event(), 0
        self.is_open.set()
        super().__init__(target)

    def listen(self, port):
        return socket.create_server(self.guard.getsockname(), reuse_port=True)

    def connect(self):
        if isinstance(self.target, int):
            return super().connect()
        far = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        far.connect(self.target)
        return far

    def forward(self, sink, data):
        self.is_open.wait()
        time.sleep(self.delay)
        super().forward(sink, data)

    def leave(self):
        """From now on connections are refused by the kernel, and there are none."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.cut()

    def come_back(self, target):
        self.target = target
        self.listener = self.listen(0)
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def close(self):
        self.is_open.set()
        if self.listener.fileno() >= 0:
            self.leave()
        self.guard.close()


class Coracle:
    """A server on its engine; over HTTP/1.1 it is reached by its local socket."""
    token = "t-first"

    def __init__(self, world):
        self.world, self.etcd, self.prefix = world, world.etcd, f"/{world.name}"
        self.tokens = world.folder / "tokens.csv"
        self.set_token(self.token)
        self.socket = str(world.folder / "socket")
        flags = ["--token-auth-file", str(self.tokens), "--unix-socket", self.socket, *world.flags]
        self.server = Server(world.program, *flags, *self.store_flags(), data=world.folder / "data")

    def store_flags(self):
        return ["--etcd-servers", self.etcd.urls, "--etcd-prefix", self.prefix] if self.etcd else []

    def set_token(self, token):
        self.tokens.write_text(f"{token},ann,1,system:masters\n")

    def start(self):
        self.server.start()

    def stop(self, number=signal.SIGKILL):
        if self.server.process:
            self.server.stop(number)

    @property
    def target(self):
        return self.socket if self.world.protocol == "h1" else self.server.port

    @property
    def cluster(self):
        """Of a kubeconfig."""
        if self.world.protocol == "h1":
            return {"server": f"http://127.0.0.1:{self.world.proxy.port}"}
        return {"server": f"https://127.0.0.1:{self.world.proxy.port}", "certificate-authority": str(self.server.data / "pki/ca.crt")}

    def request(self, method, path, body=None, **headers):
        answer = self.server.request(method, path, body, **headers)
        return answer.status, answer.json() if answer.body[:1] == b"{" else answer.body

    def compact(self):
        """Drops all history; the server does not run."""
        where = ["--etcd-servers", self.etcd.urls] if self.etcd else ["--data", str(self.server.data)]
        done = subprocess.run([self.world.program, "store", "compact", *where], check=False, capture_output=True, timeout=WAIT_S)
        assert done.returncode == 0, done.stderr


class Kube:
    """A kube-apiserver, which all tests share one after the other."""
    token = "t-first"

    def __init__(self, world):
        self.world, self.peer, self.etcd = world, world.kube, world.etcd

    def set_token(self, token):
        """Beside the one that is used for writes."""
        Kube.write_tokens(self.peer.folder, token)

    @staticmethod
    def write_tokens(folder, token):
        (folder / "tokens.csv").write_text(f'kube-token,kube,kube,"system:masters"\n{token},ann,ann,"system:masters"\n')

    def start(self):
        if not self.peer.process:
            self.peer.__enter__()

    def stop(self, number=signal.SIGKILL):
        if self.peer.process:
            self.peer.__exit__(None, None, None)
        self.peer.process = None

    @property
    def target(self):
        return self.peer.port

    @property
    def cluster(self):
        return {"server": f"https://127.0.0.1:{self.world.proxy.port}", "insecure-skip-tls-verify": True}

    def request(self, method, path, body=None, **headers):
        return self.peer.request(method, path, body, **headers)

    def compact(self):
        member = self.etcd.members[0]
        revision = member.status()["header"]["revision"]
        member.ask("/v3/kv/compaction", {"revision": revision, "physical": True})


class Follower:
    """The informer's process, and what its handler has been told."""

    def __init__(self, program, mode, kubeconfig, ns):
        self.state, self.told, self.errors, self.caches = {}, [], [], []
        self.wrong = None
        self.is_initial = True
        self.process = subprocess.Popen([program, mode, kubeconfig, ns], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        bufsize=1)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            word, *rest = line.split()
            try:
                {"add": self.add, "update": self.update, "delete": self.delete, "error": self.error, "cache": self.cache}[word](*rest)
            except Exception as error:
                self.wrong = self.wrong or f"{line.strip()}: {error!r}"

    def add(self, name, version, initial):
        assert name not in self.state, f"is known at {self.state[name]}"
        assert (initial == "initial") == self.is_initial
        self.state[name] = int(version)
        self.told.append(("add", name, int(version)))

    def update(self, name, old, version):
        assert self.state.get(name) == int(old), f"was told {self.state.get(name)}"
        assert int(version) >= int(old)
        self.state[name] = int(version)
        self.told.append(("update", name, int(version)))

    def delete(self, name, version, how):
        assert name in self.state, "is not known"
        known = self.state.pop(name)
        # A deletion that was seen has its own resourceVersion; one that was missed shows the last state that was told.
        assert int(version) > known if how == "seen" else int(version) == known, f"was told {known}"
        self.told.append(("delete", name, how))

    def error(self, code, *words):
        self.errors.append((int(code), " ".join(words)))

    def cache(self, *items):
        self.caches.append({name: int(version) for name, version in (item.split("@") for item in items)})

    def ask(self):
        """What is cached now."""
        before = len(self.caches)
        self.process.stdin.write("c")
        self.process.stdin.flush()
        wait_for("the informer's answer", WAIT_S, lambda: len(self.caches) > before or self.process.poll() is not None)
        assert len(self.caches) > before, f"the informer ended with {self.process.returncode}"
        return self.caches[-1]

    def end(self):
        self.process.stdin.close()
        try:
            code = self.process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.reader.join(WAIT_S)
        assert code == 0, f"the informer ended with {code}"


class World:
    """A server, the proxy before it, and the informer behind that; all writes go to the server itself."""

    def __init__(self, setup, name):
        self.__dict__.update(setup)
        self.name = name
        self.maps = f"/api/v1/namespaces/{name}/configmaps"
        self.rand = random.Random(name)
        self.written, self.names = [], []
        self.known = set()
        self.past_lists, self.other_lists = 0, 0

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        with self.stack:
            self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="cor-informer-")))
            self.server = (Kube if self.kube else Coracle)(self)
            if not self.kube:
                self.stack.callback(self.server.stop)
            self.server.start()
            self.proxy = FaultyProxy(self.server.target)
            self.stack.callback(self.proxy.close)
            self.write("POST", "/api/v1/namespaces", {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": self.name}})
            for _ in range(3):
                self.create()
            self.follow()
            self.stack = self.stack.pop_all()
        return self

    def __exit__(self, kind, value, trace):
        self.stack.close()

    def follow(self):
        self.token_file = self.folder / "token"
        self.token_file.write_text(self.server.token)
        cluster = "".join(f"    {key}: {value}\n" for key, value in self.server.cluster.items()).replace("True", "true")
        config = self.folder / "kubeconfig"
        config.write_text("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {cluster: c, user: u}\n"
                          f"clusters:\n- name: c\n  cluster:\n{cluster}users:\n- name: u\n  user:\n    tokenFile: {self.token_file}\n")
        self.follower = Follower(self.informer, self.mode, config, self.name)
        self.stack.callback(self.follower.end)
        self.settle()
        self.follower.is_initial = False
        self.known = set(self.follower.state.items())
        self.other_lists = self.lists()
        self.follower.told.clear()
        self.written.clear()

    def write(self, method, path, body=None, **headers):
        status, answer = self.server.request(method, path, body, **headers)
        assert status in (200, 201), answer
        return answer

    def create(self):
        name = f"m{self.rand.randrange(1 << 40):x}"
        made = self.write("POST", self.maps, config_map(name, k="v"))
        self.names.append(name)
        self.written.append(("add", name, int(made["metadata"]["resourceVersion"])))
        return name

    def update(self, name):
        body = {"data": {"k": str(self.rand.random())}}
        made = self.write("PATCH", f"{self.maps}/{name}", body, Content_Type=MERGE)
        self.written.append(("update", name, int(made["metadata"]["resourceVersion"])))

    def delete(self, name):
        self.write("DELETE", f"{self.maps}/{name}")
        self.names.remove(name)
        self.written.append(("delete", name, "seen"))

    def change(self, n=1):
        """Writes of every kind."""
        for _ in range(n):
            what = self.rand.choice((self.create, self.update, self.update, self.delete))
            if what == self.create or len(self.names) < 2:
                self.create()
            else:
                what(self.rand.choice(self.names))

    def hear_all(self):
        """Every write since the informer has synced is told, in its order, and nothing else."""
        try:
            wait_for("a call of the handler", WAIT_S, lambda: len(self.follower.told) >= len(self.written) or self.follower.wrong)
        finally:
            assert not self.follower.wrong, self.follower.wrong
            assert self.follower.told == self.written, f"{self.follower.told} instead of {self.written}; {self.follower.errors}"

    def settle(self):
        """Cache and handler come to what a list has."""
        items = self.write("GET", self.maps)["items"]
        self.other_lists += 1
        listed = {item["metadata"]["name"]: int(item["metadata"]["resourceVersion"]) for item in items}
        assert set(listed) == set(self.names)

        def is_settled():
            return self.follower.wrong or (self.follower.ask() == listed and self.follower.state == listed)

        try:
            wait_for("the state of a list", WAIT_S, is_settled)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.follower.ask()}, {self.follower.state}, {listed}; {self.follower.errors}") from None
        assert not self.follower.wrong, self.follower.wrong
        if not self.follower.is_initial:
            self.check_states()

    def lists(self):
        """How often this process of the server was asked for a list."""
        text = self.write("GET", "/metrics").decode()
        return sum(int(n) for labels, n in re.findall(r"^apiserver_request_total{(.*)} (\d+)$", text, re.M)
                   if 'resource="configmaps"' in labels and 'verb="LIST"' in labels)

    def check_states(self):
        known = self.known | {(name, version) for _, name, version in self.written}
        told = collections.Counter((name, version) for kind, name, version in self.follower.told if kind != "delete")
        assert set(told) <= known, f"{set(told) - known} never was"
        relists = self.past_lists + self.lists() - self.other_lists
        for state, times in told.items():
            assert times - 1 + (state in self.known) <= relists, f"{state} was told {times} times with {relists} lists"

    def restart(self, compacted=False, gone=None, token=None):
        """The server is killed after some more writes; nobody is there until the next is ready."""
        self.proxy.leave()
        if gone:
            self.delete(gone)
        self.change(3)
        self.past_lists += self.lists()
        self.server.stop()
        if compacted:
            self.server.compact()
        if token:
            self.server.set_token(token)
        self.server.start()
        self.proxy.come_back(self.server.target)


@test
def every_write_is_told_once_however_often_connections_are_cut(w):
    before = w.proxy.accepted
    for _ in range(8):
        w.change(2)
        w.hear_all()
        assert w.proxy.cut() >= 1
    w.change(2)
    w.hear_all()
    w.settle()
    # A connection for each that was cut, none for nothing.
    assert w.proxy.accepted - before <= 2 * 8, w.proxy.accepted - before


@test
def a_storm_of_cuts_ends_in_the_state_of_a_list(w):
    writer = threading.Thread(target=w.change, args=(60,))
    began, before, cuts = time.monotonic(), w.proxy.accepted, 0
    writer.start()
    while writer.is_alive():
        cuts += w.proxy.cut()
        writer.join(0.02)
    w.settle()
    assert w.proxy.accepted - before <= 2 * cuts + 3 + (time.monotonic() - began) / PAUSE_MIN_S


@test
def who_drops_every_connection_is_asked_with_pauses(w):
    began, before = time.monotonic(), w.proxy.accepted
    w.proxy.refuses = True
    w.proxy.cut()
    w.change(5)
    wait_for("another attempt", WAIT_S, lambda: w.proxy.accepted >= before + 3)
    attempts, lasted = w.proxy.accepted - before, time.monotonic() - began
    assert attempts <= 3 + lasted / PAUSE_MIN_S, f"{attempts} attempts in {lasted} s"
    w.proxy.refuses = False
    w.settle()


@test
def what_a_stalled_or_slow_network_held_back_is_told_once(w):
    w.proxy.is_open.clear()
    w.change(5)
    assert w.follower.told == []
    w.proxy.is_open.set()
    w.hear_all()
    # What it held back is lost with the connection, and the next one stalls too.
    w.proxy.is_open.clear()
    w.change(5)
    accepted = w.proxy.accepted
    w.proxy.cut()
    wait_for("a new connection", WAIT_S, lambda: w.proxy.accepted > accepted)
    w.change(5)
    w.proxy.is_open.set()
    w.hear_all()
    w.proxy.delay = 0.05
    w.change(5)
    w.proxy.cut()
    w.change(5)
    w.proxy.delay = 0
    w.settle()


@test
def a_server_that_is_killed_and_started_again_is_followed(w):
    w.change(3)
    w.hear_all()
    w.restart()
    w.change(3)
    # The watch goes on where it was; a kube-apiserver has forgotten, and is listed again.
    if not w.kube:
        w.hear_all()
    w.settle()


@test
def compacted_history_ends_in_another_list(w):
    w.change(3)
    w.hear_all()
    last = w.names[-1]
    w.restart(compacted=True, gone=last)
    w.settle()
    assert ("delete", last, "missed") in w.follower.told, w.follower.told
    w.change(3)
    w.settle()


@test
def a_token_that_is_no_longer_good_is_read_again(w):
    if w.protocol == "h1":
        raise Skip("a local socket knows its callers without tokens")
    w.restart(token="t-second")
    wait_for("a refusal", WAIT_S, lambda: any(code == 401 for code, _ in w.follower.errors))
    w.token_file.write_text("t-second")
    w.settle()
    w.change(3)
    w.settle()


def play_all(setup, tests):
    """Tests mostly wait for pauses to end: all at once, but for those that share a server."""
    def play(function):
        with World(setup, f"t{TESTS.index(function)}") as w:
            function(w)

    with concurrent.futures.ThreadPoolExecutor(1 if setup["kube"] else len(tests)) as pool:
        played = {}

        def submit(those):
            played.update({function: pool.submit(play, function) for function in those})
            concurrent.futures.wait(played.values())

        # On an etcd that is shared, nobody else's history may go. A kube-apiserver has one test at a time, the last with another token.
        together = setup["etcd"] and not setup["kube"]
        submit([function for function in tests if not together or function is not compacted_history_ends_in_another_list])
        submit([function for function in tests if function not in played])
        return report(tests, lambda function: played[function].result())


def main():
    only = [word[5:] for word in sys.argv[5:] if word.startswith("only=")]
    on_kube, on_etcd = "--on-kube-apiserver" in sys.argv, "--on-etcd" in sys.argv
    flags = [word for word in sys.argv[5:] if not word.startswith(("only=", "--on-"))]
    setup = {"program": sys.argv[1], "informer": sys.argv[2], "mode": sys.argv[3], "protocol": sys.argv[4],
             "flags": flags, "etcd": None, "kube": None}
    if (on_kube or on_etcd) and not etcd_cluster.program():
        print("1..0 # SKIP there is no etcd: install etcd-server, or name one in COR_ETCD")
        return 0
    if on_kube and not os.environ.get("COR_KUBE_APISERVER"):
        print("1..0 # SKIP name a kube-apiserver in COR_KUBE_APISERVER")
        return 0
    tests = [function for function in TESTS if all(word in function.__name__ for word in only)]
    with contextlib.ExitStack() as stack:
        if on_kube or on_etcd:
            setup["etcd"] = stack.enter_context(etcd_cluster.Cluster())
        if on_kube:
            folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
            kube = KubeApiserver(setup["etcd"], folder)
            Kube.write_tokens(folder, Kube.token)
            setup["kube"] = stack.enter_context(kube)
        return play_all(setup, tests)


if __name__ == "__main__":
    sys.exit(main())
