"""A server with a target behind it (recording_target.py), and requests whose bytes a test writes itself."""

import json
import pathlib
import re
import shutil
import socket
import ssl
import tempfile

from fixture import TESTS, Server, Skip, await_it, report
from recording_target import Target

BASE = "/apis/wardle.example.com/v1"
TOKENS = 'kube-token,kube,uid-1,"system:masters,g 2"\njoe-token,joe,,dev\n'
SERVICE = {"metadata": {"name": "api"}, "spec": {"type": "ExternalName", "externalName": "localhost"}}
SERVICE_PATH = "/api/v1/namespaces/wardle/services/api"
API_SERVICE_PATH = "/apis/apiregistration.k8s.io/v1/apiservices/v1.wardle.example.com"
PATIENCE_S = 90


def api_service(port, **spec):
    trust = {} if "caBundle" in spec else {"insecureSkipTLSVerify": True}
    return {"kind": "APIService", "apiVersion": "apiregistration.k8s.io/v1", "metadata": {"name": "v1.wardle.example.com"},
            "spec": {"group": "wardle.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100,
                     "service": {"namespace": "wardle", "name": "api", "port": port}, **trust, **spec}}


def register(request, port, **spec):
    """Makes the Service and the APIService, and waits until requests go through."""
    assert request("POST", "/api/v1/namespaces", {"metadata": {"name": "wardle"}}) == 201
    assert request("POST", "/api/v1/namespaces/wardle/services", SERVICE) == 201
    assert request("POST", "/apis/apiregistration.k8s.io/v1/apiservices", api_service(port, **spec)) == 201
    await_it(lambda: request("GET", BASE) == 200, "the service", PATIENCE_S)


class Through:
    """A server with a target behind it. `spec`: more of the APIService."""

    def __init__(self, program, *flags, target=None, spec=None):
        if not shutil.which("openssl"):
            raise Skip("openssl is not there")
        self.folder = tempfile.TemporaryDirectory()
        self.target = target or Target(self.folder.name)
        self.spec = spec or {}
        tokens = pathlib.Path(self.folder.name) / "tokens.csv"
        tokens.write_text(TOKENS)
        self.server = Server(program, "--token-auth-file", str(tokens), *flags)

    def __enter__(self):
        self.server.__enter__()
        self.port = self.server.port
        register(lambda method, path, body=None: self.server.request(method, path, body, token="kube-token").status, self.target.port,
                 **self.spec)
        return self

    def __exit__(self, *why):
        self.server.__exit__(*why)
        if self.target.listener:
            self.target.close()
        self.folder.cleanup()

    def get(self, path, **options):
        return self.server.get(BASE + path, token="kube-token", **options)

    def look_again(self):
        """Has the service judged now: its Service changes, and nobody waits for the half minute between two looks."""
        number = self.server.get(SERVICE_PATH).expect(200).json()["metadata"]["resourceVersion"]
        self.server.request("PATCH", SERVICE_PATH, {"metadata": {"annotations": {"look": number}}},
                            Content_Type="application/merge-patch+json").expect(200)

    def available(self):
        """(status, reason, message) of the condition, or None."""
        conditions = self.server.get(API_SERVICE_PATH).expect(200).json().get("status", {}).get("conditions", [])
        return next(((c["status"], c["reason"], c["message"]) for c in conditions if c["type"] == "Available"), None)

    def await_available(self, status):
        """Until the service is judged so; asked for again and again, since a look may meet a connection that is just ending."""
        def is_so():
            self.look_again()
            return self.available()[0] == status
        await_it(is_so, f"Available {status} instead of {self.available()}", PATIENCE_S)


def connect(port):
    plain = socket.create_connection(("127.0.0.1", port))
    plain.settimeout(PATIENCE_S)
    return ssl._create_unverified_context().wrap_socket(plain)


def leave(port, text, more=b"", seconds=0.05):
    """Sends a request, reads for a moment, and goes away. What came."""
    with connect(port) as connection:
        connection.settimeout(seconds)
        connection.sendall(text.replace("\n", "\r\n").encode("latin1"))
        seen = b""
        try:
            while piece := connection.recv(65536):
                seen += piece
                if more and b"\r\n\r\n" in seen:
                    connection.sendall(more)
                    more = b""
        except (TimeoutError, OSError):
            pass
        return seen


def length_of(head, method):
    """How an answer with this head ends: so many bytes, "chunks", or None: with the connection."""
    status = int(head.split()[1])
    if method == "HEAD" or status < 200 or status in (204, 304):
        return 0
    if re.search(rb"(?im)^transfer-encoding: *chunked\r?$", head):
        return "chunks"
    found = re.search(rb"(?im)^content-length: *(\d+)", head)
    return int(found[1]) if found else None


def ask(port, text, more=b"", until=b""):
    """Sends the bytes of a request over TLS. All that comes back, with <END> behind it if the connection ends with it. After a 101 `more`
    is sent, and what comes is read until it ends with `until`."""
    method = text.split(" ", 1)[0]
    with connect(port) as connection:
        seen = b""

        def read_until(is_enough):
            nonlocal seen
            while not is_enough():
                piece = connection.recv(65536)
                if not piece:
                    seen += b"<END>"
                    return False
                seen += piece
            return True

        connection.sendall(text.replace("\n", "\r\n").encode("latin1"))
        try:
            if not read_until(lambda: b"\r\n\r\n" in seen):
                return seen
            head = seen.split(b"\r\n\r\n")[0] + b"\r\n"
            if head.startswith(b"HTTP/1.1 101 "):
                connection.sendall(more)
                read_until(lambda: seen.endswith(until))
                return seen
            length, begin = length_of(head, method), len(head) + 2
            is_enough = {None: lambda: False, "chunks": lambda: seen.endswith(b"\r\n0\r\n\r\n")}.get(length, lambda: len(seen) >= begin + length)
            if not read_until(is_enough):
                return seen
            # Does the connection go on? The next request is answered, or it ends.
            whole, seen = seen, b""
            connection.sendall(b"GET /livez HTTP/1.1\r\nHost: h\r\n\r\n")
            return whole if read_until(lambda: b"\r\n" in seen) else whole + b"<END>"
        except OSError:
            return (seen if b"\r\n\r\n" in seen else b"") + b"<END>"


def exchange(port, target, text, more=b"", until=b""):
    """What the client and the target see of a request, without what differs from run to run."""
    target.take()
    answer = ask(port, text, more, until).decode("latin1").replace(str(target.port), "PORT")
    head, _, body = answer.partition("\r\n\r\n")
    line, *lines = head.split("\r\n")
    own = ("date", "audit-id", "x-kubernetes-pf-flowschema-uid", "x-kubernetes-pf-prioritylevel-uid")
    lines = [(name.lower(), value) for name, _, value in (one.partition(":") for one in lines)]
    headers = sorted(one for one in lines if one[0] not in own)
    seen = []
    for request in target.take()[:1]:  # a request whose connection broke is asked again
        # Go asks for gzip by itself, and unpacks it.
        kept = sorted((n, v.replace(str(target.port), "PORT")) for n, v in request.headers
                      if n != "audit-id" and (n, v) != ("accept-encoding", "gzip"))
        seen.append((request.line, kept, request.body.decode("latin1")))
    return json.loads(json.dumps([[line, headers, body], seen]))


def play_through(through):
    """Plays function(front) for all tests of a module, with one server and one target for all. The exit status."""
    try:
        front = through()
    except Skip as why:
        print(f"1..0 # SKIP {why}")
        return 0
    with front:
        return report(TESTS, lambda function: function(front))
