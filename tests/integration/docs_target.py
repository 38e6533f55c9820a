"""An API server behind others that only tells what it serves: answers to paths, by HTTPS, with tags. It counts the requests."""

import http.server
import json
import pathlib
import ssl
import tempfile
import threading

from certificates import CURVE, openssl

GROUP = "wardle.example.com"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class Doc:
    def __init__(self, body, kind="application/json", status=200, etag=None):
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.kind, self.status, self.etag = kind, status, etag


class DocsTarget:
    def __init__(self, docs):
        self.docs, self.seen, target = docs, [], self
        self.folder = tempfile.TemporaryDirectory()
        crt, key = pathlib.Path(self.folder.name, "crt"), pathlib.Path(self.folder.name, "key")
        openssl("req", "-x509", *CURVE, "-keyout", key, "-out", crt, "-subj", "/CN=api.wardle.svc", "-days", "2")

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                path = self.path.split("?")[0]
                target.seen.append((path, self.headers.get("If-None-Match")))
                doc = target.docs.get(path) or Doc(b"404 page not found\n", "text/plain", 404)
                if doc.etag and self.headers.get("If-None-Match") == doc.etag:
                    doc = Doc(b"", doc.kind, 304, doc.etag)
                self.send_response(doc.status)
                self.send_header("Content-Type", doc.kind)
                self.send_header("Content-Length", str(len(doc.body)))
                if doc.etag:
                    self.send_header("Etag", doc.etag)
                self.end_headers()
                if doc.status != 304:
                    self.wfile.write(doc.body)

            def log_message(self, *words):
                pass

        class Listener(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, address):
                pass  # a peer that goes away

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(crt, key)
        self.listener = Listener(("127.0.0.1", 0), Handler)
        self.listener.socket = context.wrap_socket(self.listener.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.listener.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *why):
        self.listener.shutdown()
        self.listener.server_close()
        self.folder.cleanup()


def api_service(version, port, priority=15, group=GROUP, group_priority=1000):
    return {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": f"{version}.{group}"},
            "spec": {"group": group, "version": version, "groupPriorityMinimum": group_priority, "versionPriority": priority,
                     "insecureSkipTLSVerify": True, "service": {"namespace": "wardle", "name": "api", "port": port}}}


def resource(name, kind, **more):
    return {"resource": name, "responseKind": {"group": "", "version": "", "kind": kind}, "scope": "Namespaced",
            "singularResource": kind.lower(), "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"], **more}


def discovery(**versions):
    """The aggregated document of a server with these versions of GROUP, each a list of resources."""
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": [
        {"metadata": {"name": GROUP}, "versions": [{"version": version, "resources": resources, "freshness": "Current"}
                                                   for version, resources in versions.items()]}]}
