"""Real etcd members for tests: started, killed, paused, with TLS and users; and a proxy that cuts connections.
$COR_ETCD names the program, else the one in $PATH is taken. Only Python's own modules."""

import base64
import ctypes
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.request

from certificates import SIGNS, openssl
from fixture import Skip

START_S = 120
PATIENCE_S = 60
HISTORY_S = 15
PR_SET_PDEATHSIG = 1


def program():
    return shutil.which(os.environ.get("COR_ETCD") or "etcd")


def keeps_deletions():
    """Before 3.4.36 and 3.5.18 etcd may lose a deletion at the very revision of a compaction, and one among other changes of
    that revision leaves no trace: a watch that begins there cannot see all that happened."""
    said = subprocess.run([program(), "--version"], capture_output=True, text=True, check=True).stdout
    version = tuple(int(part) for part in re.search(r"etcd Version: (\d+)\.(\d+)\.(\d+)", said).groups())
    return version >= {(3, 4): (3, 4, 36), (3, 5): (3, 5, 18)}.get(version[:2], (3, 6, 0))


def held_port():
    """A socket whose port stays ours until it is closed: the kernel gives it to nobody else, but a server, which sets
    SO_REUSEADDR too, may listen there, end, and listen again."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    return holder


def base64_of(text):
    return base64.b64encode(text.encode()).decode()


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def wait_for(what, seconds, condition):
    """Asks until the condition holds; returns what it returned."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what} did not happen within {seconds} s")


def ask(url, body, context=None, token=None, timeout=PATIENCE_S):
    """A call through a member's JSON gateway."""
    request = urllib.request.Request(url, json.dumps(body or {}).encode(), {"Content-Type": "application/json"})
    if token:
        request.add_header("Authorization", token)
    with urllib.request.urlopen(request, timeout=timeout, context=context) as answer:
        return json.load(answer)


def tls_context(folder):
    context = ssl.create_default_context(cafile=folder / "ca.crt")
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    return context


def log_in(url, context=None):
    return ask(url + "/v3/auth/authenticate", {"name": "root", "password": "pw"}, context)["token"]


def stored(key):
    """The value of a key in the etcd that with_etcd.py has started."""
    url, folder = os.environ["COR_ETCD_URLS"].split(",")[0], pathlib.Path(os.environ["COR_ETCD_FOLDER"])
    context = tls_context(folder) if url.startswith("https") else None
    token = log_in(url, context) if (folder / "password").exists() else None
    return base64.b64decode(ask(url + "/v3/kv/range", {"key": base64_of(key)}, context, token)["kvs"][0]["value"])


class Member:
    def __init__(self, cluster, name):
        self.cluster, self.name = cluster, name
        self.holders = [held_port(), held_port()]
        self.client, self.peer = (holder.getsockname()[1] for holder in self.holders)
        self.data = cluster.folder / name
        self.process, self.is_paused = None, False

    @property
    def url(self):
        return f"{self.cluster.scheme}://127.0.0.1:{self.client}"

    @property
    def answers(self):
        return self.process is not None and not self.is_paused

    @property
    def peer_url(self):
        return f"http://127.0.0.1:{self.peer}"

    def start(self):
        # A member that is alone waits for its election timeout when it starts, and can lose no leader by a short one.
        beat, timeout = ("50", "500") if len(self.cluster.members) > 1 else ("10", "100")
        command = [program(), "--name", self.name, "--data-dir", self.data,
                   "--listen-client-urls", self.url, "--advertise-client-urls", self.url,
                   "--listen-peer-urls", self.peer_url, "--initial-advertise-peer-urls", self.peer_url,
                   "--initial-cluster", ",".join(f"{m.name}={m.peer_url}" for m in self.cluster.members),
                   "--initial-cluster-state", "new", "--heartbeat-interval", beat, "--election-timeout", timeout,
                   # A killed process leaves what it wrote to the kernel; only a machine that fails would lose it.
                   "--unsafe-no-fsync", "--logger", "zap", "--log-level", "error", *self.cluster.flags]
        log = open(self.cluster.folder / f"{self.name}.log", "a")
        self.process = subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=die_with_parent)
        log.close()

    def signal(self, number):
        self.process.send_signal(number)

    def pause(self):
        """It stands still when this returns; until its threads have seen the signal they go on."""
        self.is_paused = True
        self.signal(signal.SIGSTOP)
        wait_for("the pause", START_S, lambda: os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOHANG))

    def resume(self):
        self.signal(signal.SIGCONT)
        self.is_paused = False

    def kill(self):
        process, self.process = self.process, None
        self.is_paused = False
        if process:
            process.kill()
            process.wait()

    def ask(self, path, body=None, timeout=PATIENCE_S, token=None):
        return ask(self.url + path, body, self.cluster.context, token or self.cluster.token, timeout)

    def status(self):
        try:
            return self.ask("/v3/maintenance/status", timeout=2)
        except OSError:
            return None


def make_certificates(folder):
    """A CA, and tls.crt with tls.key for both sides. It names no user: else the gateway refuses it where users log in."""
    def run(*command):
        openssl(*command, folder=folder)

    (folder / "ext").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "ca.key",
        "-out", "ca.crt", "-subj", "/CN=etcd-ca", "-days", "2", *SIGNS)
    run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "tls.key",
        "-out", "tls.csr", "-subj", "/O=etcd")
    run("x509", "-req", "-in", "tls.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-out", "tls.crt",
        "-days", "2", "-extfile", "ext")


class Cluster:
    def __init__(self, size=1, tls=False, users=False, compacted=False, flags=()):
        """`tls`: with certificates at both sides; `users`: root must log in; `compacted`: history does not last. Skips the test
        that wants it where there is no etcd."""
        if not program():
            raise Skip("there is no etcd: install etcd-server, or name one in COR_ETCD")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cor-etcd-"))
        self.scheme = "https" if tls else "http"
        self.flags = [str(flag) for flag in flags]
        self.context, self.tls, self.users, self.token = None, tls, users, None
        self.compactor = Compactor(self, self.old_revision, 1) if compacted else None
        self.revisions = []
        if users:
            # Passwords are not what is tested.
            self.flags += ["--bcrypt-cost", "4"]
        if tls:
            make_certificates(self.folder)
            self.flags += ["--cert-file", f"{self.folder}/tls.crt", "--key-file", f"{self.folder}/tls.key",
                           "--trusted-ca-file", f"{self.folder}/ca.crt", "--client-cert-auth"]
            self.context = tls_context(self.folder)
        self.members = [Member(self, f"m{i}") for i in range(size)]

    @classmethod
    def chosen(cls):
        """As $COR_ETCD_CLUSTER has it: how many members, and what they ask for, "3 tls users compacted"; else one member."""
        size, *words = (os.environ.get("COR_ETCD_CLUSTER") or "1").split()
        return cls(int(size), **{word: True for word in words})

    def login(self):
        """The flags of a server that is let in, without --etcd-servers."""
        names = [("cafile", "ca.crt"), ("certfile", "tls.crt"), ("keyfile", "tls.key")] if self.tls else []
        flags = [f"--etcd-{flag}={self.folder / name}" for flag, name in names]
        if self.users:
            (self.folder / "password").write_text("pw\n")
            flags += ["--etcd-username=root", f"--etcd-password-file={self.folder / 'password'}"]
        return flags

    def __enter__(self):
        for member in self.members:
            member.start()
        self.wait_ready()
        if self.users:
            self.token = enable_users(self)
        if self.compactor:
            self.compactor.start()
        return self

    def __exit__(self, kind, value, trace):
        if self.compactor:
            self.compactor.end()
            print(f"# history was compacted up to revision {self.compactor.upto} of {max(self.revisions, default=0)}", flush=True)
        for member in self.members:
            if member.process:
                member.resume()
            member.kill()
            for holder in member.holders:
                holder.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def old_revision(self):
        """That of the 15th call before; 0: there were fewer."""
        self.revisions.append(int(self.members[0].ask("/v3/kv/range", {"key": base64_of("compact_rev_key")})["header"]["revision"]))
        return self.revisions[-HISTORY_S - 1] if len(self.revisions) > HISTORY_S else 0

    @property
    def urls(self):
        return ",".join(member.url for member in self.members)

    def wait_ready(self):
        wait_for("etcd", START_S, lambda: self.leader() and all(m.status() for m in self.members if m.process))

    def leader(self):
        """The member that a live one calls the leader."""
        statuses = {m: m.status() for m in self.members if m.answers}
        for status in statuses.values():
            for member, own in statuses.items():
                if status and own and status.get("leader", "0") == own["header"]["member_id"]:
                    return member
        return None


def enable_users(etcd, prefix=None):
    """A user `root`, and one `narrow` who has the keys of a prefix; the password is pw. Returns root's token."""
    tell = etcd.members[0].ask
    for user in ("root", "narrow"):
        tell("/v3/auth/user/add", {"name": user, "password": "pw"})
        tell("/v3/auth/role/add", {"name": user})
        tell("/v3/auth/user/grant", {"user": user, "role": user})
    if prefix:
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        tell("/v3/auth/role/grant", {"name": "narrow", "perm": {"permType": "READWRITE", "key": base64_of(prefix),
                                                               "range_end": base64_of(end)}})
    tell("/v3/auth/enable")
    return log_in(etcd.members[0].url, etcd.context)


class Compactor(threading.Thread):
    """Compacts again and again up to what `upto` returns, as servers do it."""

    def __init__(self, cluster, upto, every):
        super().__init__(daemon=True)
        self.cluster, self.wanted, self.every = cluster, upto, every
        self.count = self.upto = 0
        self.stop = threading.Event()

    def run(self):
        while not self.stop.wait(self.every):
            member = random.choice(self.cluster.members)
            try:
                upto = self.wanted() if member.answers else 0
                if upto <= self.upto:
                    continue
                # Each server looks at this key.
                member.ask("/v3/kv/put", {"key": base64_of("compact_rev_key"), "value": base64_of(str(upto))}, timeout=2)
                member.ask("/v3/kv/compaction", {"revision": upto}, timeout=2)
            except (OSError, http.client.HTTPException):
                continue
            self.count, self.upto = self.count + 1, upto

    def end(self):
        self.stop.set()
        self.join()


class History(threading.Thread):
    """What etcd itself tells of a prefix: (revision, deleted, key). It goes on at another member when one is away."""

    def __init__(self, cluster, prefix, start):
        super().__init__(daemon=True)
        self.cluster, self.prefix, self.position = cluster, prefix, start
        self.events, self.error = [], None
        self.done = threading.Event()

    def run(self):
        turn = 0
        while not self.done.is_set() and not self.error:
            turn += 1
            try:
                self.follow(self.cluster.members[turn % len(self.cluster.members)])
            except (OSError, http.client.HTTPException, KeyError, ValueError):
                self.done.wait(0.05)

    def follow(self, member):
        last = self.prefix[:-1] + chr(ord(self.prefix[-1]) + 1)
        body = {"create_request": {"key": base64_of(self.prefix), "range_end": base64_of(last), "start_revision": self.position + 1}}
        request = urllib.request.Request(member.url + "/v3/watch", json.dumps(body).encode())
        # A member that is paused says nothing: another one is asked.
        with urllib.request.urlopen(request, timeout=5, context=self.cluster.context) as answer:
            for line in answer:
                result = json.loads(line)["result"]
                if result.get("compact_revision"):
                    self.error = f"history after {self.position} was compacted: {result}"
                    return
                for event in result.get("events", []):
                    kv = event["kv"]
                    self.position = int(kv["mod_revision"])
                    self.events.append((self.position, event.get("type") == "DELETE", base64.b64decode(kv["key"]).decode()))
                if self.done.is_set():
                    return


class Proxy:
    """Passes TCP connections on, until it is told to cut them, or has passed so many bytes to the target: then it is silent."""

    def __init__(self, target, upto=None):
        self.target, self.left = target, upto
        self.is_full = threading.Event()
        self.listener = self.listen(0)
        self.port = self.listener.getsockname()[1]
        self.pairs, self.lock = set(), threading.Lock()
        self.refuses = False
        self.accepted = 0
        self.watched, self.seen = None, threading.Event()
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def listen(self, port):
        return socket.create_server(("127.0.0.1", port))

    def connect(self):
        far = socket.create_connection(("127.0.0.1", self.target), 2)
        far.settimeout(None)
        return far

    def accept(self, listener):
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            self.accepted += 1
            try:
                far = None if self.refuses else self.connect()
            except OSError:
                far = None
            if not far:
                near.close()
                continue
            with self.lock:
                self.pairs.add((near, far))
            if self.refuses:
                # A cut may have come too early for it.
                self.end((near, far))
                continue
            threading.Thread(target=self.pump, args=(near, far, (near, far)), daemon=True).start()
            threading.Thread(target=self.pump, args=(far, near, (near, far)), daemon=True).start()

    def expect(self, text):
        """wait_seen() returns once a request with these bytes has passed."""
        self.watched = text
        self.seen.clear()

    def wait_seen(self):
        assert self.seen.wait(60), f"no request with {self.watched} came by"

    def pump(self, source, sink, pair):
        tail = b""
        try:
            while data := source.recv(65536):
                if self.left is not None and source is pair[0]:
                    data = self.take(data)
                self.forward(sink, data)
                if self.watched and source is pair[0]:
                    if self.watched in tail + data:
                        self.seen.set()
                    tail = data[-len(self.watched):]
        except OSError:
            pass
        self.end(pair)

    def forward(self, sink, data):
        sink.sendall(data)

    def take(self, data):
        with self.lock:
            data = data[:self.left]
            self.left -= len(data)
            if self.left == 0:
                self.is_full.set()
        return data

    def end(self, pair):
        with self.lock:
            self.pairs.discard(pair)
        for s in pair:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()

    def cut(self):
        """Ends every connection now; returns how many there were."""
        with self.lock:
            pairs = list(self.pairs)
        for pair in pairs:
            self.end(pair)
        return len(pairs)

    def close(self):
        self.listener.close()
        self.cut()
