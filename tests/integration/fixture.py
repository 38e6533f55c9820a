"""A real server in a process of its own, an HTTP client for it, and a small TAP frame. Only Python's own modules."""

import hashlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import traceback

START_S = 120
# Longer than a request lasts by itself: a mutating one has 34 s.
REQUEST_S = 90
# An answer may have a hundred warnings, and other headers beside them; Python's client gives up at a hundred.
http.client._MAXHEADERS = 1000


class Answer:
    def __init__(self, response, body):
        self.status = response.status
        self.headers = response.headers
        self.body = body

    def json(self):
        return json.loads(self.body)

    def expect(self, status):
        assert self.status == status, f"{self.status} instead of {status}: {self.body[:500]!r}"
        return self


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=REQUEST_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(REQUEST_S)
        self.sock.connect(str(self.path))


class Watch:
    """Events of a watch as they come; next() raises StopIteration at a clean end of the stream."""

    def __init__(self, connection, response):
        self.connection, self.response = connection, response

    def __iter__(self):
        return self

    def __next__(self):
        line = self.response.readline()
        if not line:
            raise StopIteration
        return json.loads(line)

    def close(self):
        self.connection.close()


def sanitizer_of(program):
    """"asan", "tsan" or "". With one, a program keeps what is freed, and more beside it, so that its memory says nothing."""
    text = pathlib.Path(program).read_bytes()
    return next((name for name in ("asan", "tsan") if f"__{name}_init".encode() in text), "")


class Server:
    """On the etcd of with_etcd.py, if there is one. A subclass may run the program under another one (`under`)."""

    under = ()
    controllers = ("--controllers=-*",)  # tests count objects; those of the controllers ask for them

    def __init__(self, program, *flags, data=None):
        self.program = program
        self.own_data = data is None
        self.data = pathlib.Path(data or tempfile.mkdtemp(prefix="coracle-"))
        self.prefix, self.on_etcd = "/registry", []
        if os.environ.get("COR_ETCD_URLS"):
            # As each folder is a store of its own, so is each prefix.
            self.prefix = "/" + hashlib.sha256(str(self.data).encode()).hexdigest()[:16]
            self.on_etcd = [*os.environ["COR_SERVER_FLAGS"].split(), "--etcd-prefix", self.prefix]
        self.flags = (*self.on_etcd, *flags)
        self.process = None

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.cleanup()
            raise

    def __exit__(self, kind, value, trace):
        try:
            if self.process:
                self.stop()
        finally:
            self.cleanup()

    def cleanup(self):
        if self.own_data:
            shutil.rmtree(self.data, ignore_errors=True)

    def start(self, port=0):
        read_end, write_end = os.pipe()
        self.log = tempfile.TemporaryFile("w+")
        chosen = any(str(flag).startswith("--controllers") for flag in self.flags)
        controllers = () if chosen else self.controllers
        command = [*self.under, self.program, "serve", "--data", str(self.data), "--port", str(port), "--die-with-parent",
                   "--ready-fd", str(write_end), *controllers, *self.flags]
        self.process = subprocess.Popen(command, pass_fds=[write_end], stdout=self.log, stderr=self.log)
        os.close(write_end)
        with os.fdopen(read_end) as ready:
            self.url = ready.readline().strip()
        if not self.url:
            self.process.wait(START_S)
            raise AssertionError(f"the server did not start: {self.output()}")
        self.host, port = self.url.removeprefix("https://").rsplit(":", 1)
        self.port = int(port)
        self.token = (self.data / "pki/admin.token").read_text()
        return self

    def output(self):
        self.log.seek(0)
        return self.log.read()

    def stop(self, number=signal.SIGTERM):
        """Ends the server; it must say goodbye by itself."""
        process, self.process = self.process, None
        process.send_signal(number)
        try:
            code = process.wait(START_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"the server did not stop: {self.output()}") from None
        wanted = -number if number == signal.SIGKILL else 0
        assert code == wanted, f"the server ended with {code}: {self.output()}"

    def restart(self, number=signal.SIGTERM, keep_port=False):
        self.stop(number)
        return self.start(self.port if keep_port else 0)

    def connect(self, cert=None):
        context = ssl.create_default_context(cafile=self.data / "pki/ca.crt")
        context.verify_flags |= ssl.VERIFY_X509_STRICT  # as Python does by itself since 3.13
        if cert:
            context.load_cert_chain(*cert)
        return http.client.HTTPSConnection(self.host, self.port, context=context, timeout=REQUEST_S)

    def request(self, method, path, body=None, token="admin", connection=None, cert=None, **headers):
        own = connection is None
        connection = connection or self.connect(cert)
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            sent["Authorization"] = "Bearer " + (self.token if token == "admin" else token)
        try:
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            return Answer(response, response.read())
        finally:
            if own:
                connection.close()

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def create(self, path, body, status=201):
        return self.request("POST", path, body).expect(status).json()

    def watch(self, path, token="admin", accept="application/json"):
        connection = self.connect()
        connection.request("GET", path, headers={"Authorization": "Bearer " + (self.token if token == "admin" else token), "Accept": accept})
        response = connection.getresponse()
        assert response.status == 200, response.read()
        return Watch(connection, response)


def workload():
    """What the spec of a Deployment, a ReplicaSet ... needs to be valid."""
    return {"selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}


def await_it(is_there, what="it", seconds=60):
    """Asks another process again and again until `is_there()`; fails after so many seconds."""
    deadline = time.monotonic() + seconds
    while not is_there():
        assert time.monotonic() < deadline, f"{what} has not come"
        time.sleep(0.01)


def config_map(name, labels=None, **data):
    metadata = {"name": name}
    if labels:
        metadata["labels"] = labels
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": data}


def token_file(folder):
    """Tokens of ann, who may nothing, and of root, who may all."""
    path = pathlib.Path(folder) / "tokens.csv"
    path.write_text('t-ann,ann,1,"dev,ops"\nt-root,root,2,system:masters\n')
    return str(path)


TESTS = []


def test(function):
    """Registers function(server) under its name."""
    TESTS.append(function)
    return function


class Skip(Exception):
    """This machine lacks what the test needs; says what."""


def report(tests, play):
    """Runs play(function) for each test and says how it went, in TAP. Returns the exit status."""
    failed = 0
    for number, function in enumerate(tests, 1):
        name = function.__name__.replace("_", "-")
        try:
            play(function)
            print(f"ok {number} - {name}", flush=True)
        except Skip as why:
            print(f"ok {number} - {name} # SKIP {why}", flush=True)
        except Exception:
            failed = 1
            print(f"not ok {number} - {name}")
            for line in traceback.format_exc().splitlines():
                print("#", line)
    print(f"1..{len(tests)}", flush=True)
    return failed


def run(program, flags):
    """One server for all tests of a module; each has a namespace of its own to play in."""
    with Server(program, *flags) as server:
        def play(function):
            server.ns = f"t{TESTS.index(function) + 1}"
            server.create("/api/v1/namespaces", {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": server.ns}})
            server.maps = f"/api/v1/namespaces/{server.ns}/configmaps"
            function(server)

        failed = report(TESTS, play)
        try:
            server.stop()
        except AssertionError as error:
            for line in str(error).splitlines():
                print("#", line)
            failed = 1
    return failed


def main():
    sys.exit(run(sys.argv[1], sys.argv[2:]))
