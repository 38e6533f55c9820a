"""The kinds of requests of leave.py, what they need to be there, and a delegate that does not answer for as long as it is held."""

import contextlib
import http.server
import itertools
import json
import pathlib
import ssl
import threading

from certificates import Authority
from fixture import await_it, config_map
from through import BASE

MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
WIDGETS = "/apis/leave.example.com/v1/namespaces/default/widgets"
TOKEN = "joe-token"
# The budget of watch caches, and a history that does not fit: a watch from its beginning reads the engine's history.
CACHE_BYTES, HISTORY, HISTORY_BYTES = 16 << 20, 40, 700_000
WIDGETS_MANY, ITEMS_MANY, COLUMNS_MANY = 20, 400, 60
BODY = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"generateName":"left-"},"data":{"k":"%s"}}'
SMALL, LARGE = BODY % b"v", BODY % (b"v" * 900_000)
# More than a loop reads itself.
YAML = b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: left}\ndata:\n" + b"".join(b"  k%d: a value\n" % i for i in range(15_000))
CONFIG = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c1"},"data":{"applied":"v"}}'
CLOSE_FRAME, PING_FRAME = b"\x88\x82\0\0\0\0\x03\xe8", b"\x89\x81\0\0\0\0z"
WEBSOCKET = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
             "Sec-WebSocket-Version": "13", "Origin": "http://x"}
TUNNEL = {"Connection": "Upgrade", "Upgrade": "echo"}
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


class Kind:
    """A request. `after`: bytes that follow a request which has an upgrade; `h2`: can it be a stream of HTTP/2? `tokens`: each client
    comes with another one, of which the delegate is asked."""

    def __init__(self, method, path, body=b"", after=b"", fields=None, tokens=None):
        self.method, self.path, self.body, self.after, self.tokens = method, path, body, after, tokens
        self.fields = dict(fields or {})
        self.h2 = "Connection" not in self.fields

    def token(self):
        return next(self.tokens) if self.tokens else TOKEN

    def bytes(self, token):
        lines = [f"{self.method} {self.path} HTTP/1.1", "Host: x"]
        lines += [f"Authorization: Bearer {token}"] if token else []
        lines += [f"{name}: {value}" for name, value in self.fields.items()]
        lines += [f"Content-Length: {len(self.body)}"] if self.body else []
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


def patch(path, body, kind):
    return Kind("PATCH", path, body, fields={"Content-Type": f"application/{kind}"})


AGGREGATED = f"{BASE}/namespaces/n/things"
KINDS = {
    "get": Kind("GET", MAPS + "/c0"),
    "get-nothing": Kind("GET", MAPS + "/none"),
    "get-refused": Kind("GET", MAPS + "?limit=x"),
    "list": Kind("GET", MAPS),
    "list-gzip": Kind("GET", MAPS, fields={"Accept-Encoding": "gzip"}),
    "list-table": Kind("GET", MAPS, fields=TABLE),
    "list-table-slow": Kind("GET", WIDGETS, fields=TABLE),
    "list-exact": Kind("GET", MAPS + "?limit=2"),
    "list-future": Kind("GET", MAPS + "?resourceVersion=100000000&resourceVersionMatch=NotOlderThan"),
    "watch": Kind("GET", MAPS + "?watch=1"),
    "watch-quiet": Kind("GET", MAPS + "?watch=1&labelSelector=no=one"),
    "watch-later": Kind("GET", MAPS + "?watch=1&resourceVersion=100000"),
    "watch-table": Kind("GET", WIDGETS + "?watch=1", fields=TABLE),
    "watch-replay": Kind("GET", SECRETS + "?watch=1"),  # from the revision that make_history() fills in
    "watch-refused": Kind("GET", MAPS + "?watch=1&resourceVersion=x"),
    "watch-uncached": Kind("GET", "/api/v1/namespaces/default/events?watch=1"),
    "websocket": Kind("GET", MAPS + "?watch=1", fields=WEBSOCKET),
    "websocket-quiet": Kind("GET", MAPS + "?watch=1&labelSelector=no=one", fields=WEBSOCKET),
    "websocket-refused": Kind("GET", MAPS + "?watch=1&resourceVersion=x", fields=WEBSOCKET),
    "websocket-no-origin": Kind("GET", MAPS + "?watch=1", fields={**WEBSOCKET, "Origin": ":::"}),
    "websocket-says-goodbye": Kind("GET", MAPS + "?watch=1", after=PING_FRAME + CLOSE_FRAME, fields=WEBSOCKET),
    "websocket-nonsense": Kind("GET", MAPS + "?watch=1", after=b"\xff" * 50, fields=WEBSOCKET),
    "websocket-much": Kind("GET", MAPS + "?watch=1", after=(b"\x82\xfe\x80\0\0\0\0\0" + b"x" * 32768) * 8, fields=WEBSOCKET),
    "websocket-uncached": Kind("GET", "/api/v1/namespaces/default/events?watch=1", fields=WEBSOCKET),
    "create": Kind("POST", MAPS, SMALL),
    "create-large": Kind("POST", MAPS + "?dryRun=All", LARGE),
    "create-too-large": Kind("POST", MAPS, b"x" * 4_000_000),
    "create-yaml": Kind("POST", MAPS + "?dryRun=All", YAML, fields={"Content-Type": "application/yaml"}),
    "create-continue": Kind("POST", MAPS + "?dryRun=All", SMALL, fields={"Expect": "100-continue"}),
    "patch": patch(MAPS + "/c1", b'{"data":{"patched":"v"}}', "merge-patch+json"),
    "patch-large": patch(MAPS + "/c1?dryRun=All", b'{"data":{"patched":"%s"}}' % (b"v" * 900_000), "strategic-merge-patch+json"),
    "patch-nothing": patch(MAPS + "/none", b'[{"op":"add","path":"/data/a","value":"b"}]', "json-patch+json"),
    "apply": patch(MAPS + "/c1?fieldManager=leaves&force=true", CONFIG, "apply-patch+yaml"),
    "apply-yaml": patch(MAPS + "/left?fieldManager=leaves&dryRun=All", YAML, "apply-patch+yaml"),
    "delete": Kind("DELETE", MAPS + "/c2?dryRun=All", b'{"propagationPolicy":"Orphan"}'),
    "delete-nothing": Kind("DELETE", MAPS + "/none"),
    "delete-collection": Kind("DELETE", MAPS + "?dryRun=All&labelSelector=kept=yes"),
    "delegated": Kind("GET", MAPS + "/c0", tokens=(f"unknown-{n}" for n in itertools.count())),
    "delegated-watch": Kind("GET", MAPS + "?watch=1", tokens=(f"unknown-watch-{n}" for n in itertools.count())),
    "pipelined": Kind("GET", MAPS + "?watch=1", after=b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n" * 8000),
    "metrics": Kind("GET", "/metrics"),
    "aggregated-get": Kind("GET", AGGREGATED + "/one"),
    "aggregated-hang": Kind("GET", AGGREGATED + "/hang"),
    "aggregated-quiet": Kind("GET", AGGREGATED + "/quiet?watch=1"),
    "aggregated-stream": Kind("GET", AGGREGATED + "/stream?watch=1"),
    "aggregated-large": Kind("POST", AGGREGATED + "/hang", b"x" * 3_000_000),
    "aggregated-abort": Kind("GET", AGGREGATED + "/abort-body"),
    "tunnel": Kind("GET", f"{BASE}/tunnel", fields=TUNNEL),
    "tunnel-much": Kind("GET", f"{BASE}/tunnel", after=b"x" * 3_000_000, fields=TUNNEL),
    "tunnel-refused": Kind("GET", f"{BASE}/conflict", fields=TUNNEL),
}

# --- what must be there --------------------------------------------------------------------------------------------------

def make_history(server):
    """The next start reads as much of it as the budget allows in front of the window, and the rest is read for watches."""
    connection, name = server.connect(), f"{SECRETS}/history"
    made = server.create(SECRETS, {"metadata": {"name": "history"}})
    for i in range(HISTORY):
        body = {"metadata": {"name": "history"}, "stringData": {"k": f"{i:04}" * (HISTORY_BYTES // 4)}}
        server.request("PUT", name, body, connection=connection).expect(200)
    server.request("PUT", name, {"metadata": {"name": "history"}, "data": {}}, connection=connection).expect(200)
    connection.close()
    KINDS["watch-replay"].path = f"{SECRETS}?watch=1&resourceVersion={made['metadata']['resourceVersion']}"


def make_widgets(server):
    """A definition with many columns over lists."""
    columns = [{"name": f"C{i}", "type": "string", "jsonPath": ".spec.many[*].v"} for i in range(COLUMNS_MANY)]
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    server.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
        "metadata": {"name": "widgets.leave.example.com"}, "spec": {
            "group": "leave.example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"}, "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, "additionalPrinterColumns": columns}]}})
    await_it(lambda: server.get(WIDGETS).status == 200, "the widgets")
    for i in range(WIDGETS_MANY):
        server.create(WIDGETS, {"apiVersion": "leave.example.com/v1", "kind": "Widget", "metadata": {"name": f"w{i}"},
                                "spec": {"many": [{"v": str(v)} for v in range(ITEMS_MANY)]}})


def make_objects(server):
    for i in range(30):
        server.create(MAPS, config_map(f"c{i}", {"kept": "yes"}, k="v" * 50_000))
    make_widgets(server)


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def setup(self):
        super().setup()
        with self.server.lock:
            self.server.open.add(self)

    def finish(self):
        with self.server.lock:
            self.server.open.discard(self)
        with contextlib.suppress(OSError, ValueError):
            super().finish()

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.nasked += 1
        self.server.answers.wait()
        text = json.dumps({**review, "status": {"user": {}, "error": "unknown token"}}).encode()
        self.send_response(201)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


class Delegate:
    """Is asked whose a token is, and answers that it knows none; while it is held, nothing."""

    def __init__(self, folder):
        ca = Authority(folder, "delegate")
        crt, key = ca.server("localhost")
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.server.handle_error = lambda *_: None  # the client was quicker
        self.server.daemon_threads, self.server.lock, self.server.open, self.server.nasked = True, threading.Lock(), set(), 0
        self.server.answers = threading.Event()
        self.server.answers.set()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(crt, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.config = pathlib.Path(folder) / "delegate.kubeconfig"
        self.config.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": {"token": "secret"}}],
            "clusters": [{"name": "c", "cluster": {"server": f"https://localhost:{self.server.server_address[1]}", "certificate-authority": str(ca.crt)}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def hold(self):
        self.server.answers.clear()

    def release(self):
        self.server.answers.set()

    def asked(self):
        with self.server.lock:
            return self.server.nasked

    def count(self):
        with self.server.lock:
            return len(self.server.open)
