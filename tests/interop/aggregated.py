#!/usr/bin/env python3
"""Other API servers behind a real server: upstream's sample-apiserver on an etcd of its own, and a small server of metrics for `kubectl top`.
aggregated.py PROGRAM [FLAG...], with the command of the sample-apiserver in $COR_CLIENT and that of kubectl in
$COR_KUBECTL; prints TAP."""

import base64
import http.server
import json
import os
import pathlib
import shlex
import signal
import ssl
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "integration"))

from etcd_cluster import Cluster, held_port, program  # noqa: E402
from fixture import TESTS, Server, await_it, report, test  # noqa: E402
from part import Part  # noqa: E402

SAMPLE = shlex.split(os.environ["COR_CLIENT"])
KUBECTL = shlex.split(os.environ.get("COR_KUBECTL", "kubectl"))
WARDLE = "wardle.example.com"
# A probe of a service that failed is tried again after 30 s at the latest, and discovery of a group after a minute.
PATIENCE_S = 90
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
# kubectl asks for both discovery forms and takes the newer.
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def openssl(folder, *words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def make_certificate(folder, name, host):
    """folder/NAME.crt for a host, signed by the authority of the folder, which is made at the first call."""
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    if not (folder / "ca.crt").exists():
        openssl(folder, "req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=targets", "-days", "2")
    (folder / f"{name}.ext").write_text(f"subjectAltName=DNS:{host}\nextendedKeyUsage=serverAuth\n")
    openssl(folder, "req", *curve, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={host}")
    openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-out", f"{name}.crt",
            "-days", "2", "-extfile", f"{name}.ext")


def authority(folder):
    return base64.b64encode((folder / "ca.crt").read_bytes()).decode()


def register(server, group, version, namespace, name, port, ca):
    server.create(SERVICES, {"kind": "APIService", "apiVersion": "apiregistration.k8s.io/v1", "metadata": {"name": f"{version}.{group}"},
                             "spec": {"group": group, "version": version, "groupPriorityMinimum": 2000, "versionPriority": 20, "caBundle": ca,
                                      "service": {"namespace": namespace, "name": name, "port": port}}})


def available(server, name):
    """(status, reason) of the condition Available."""
    conditions = server.get(f"{SERVICES}/{name}").expect(200).json().get("status", {}).get("conditions", [])
    return next(((c["status"], c["reason"]) for c in conditions if c["type"] == "Available"), None)


def await_available(server, name, *wanted):
    await_it(lambda: available(server, name) in wanted, f"{name} {wanted} instead of {available(server, name)}", PATIENCE_S)


def freshness(server, group):
    """How the aggregated document calls each version of a group."""
    groups = server.get("/apis", Accept=AGGREGATED).expect(200).json()["items"]
    versions = next((item["versions"] for item in groups if item["metadata"]["name"] == group), [])
    return {version["version"]: version["freshness"] for version in versions}


def await_freshness(server, group, **wanted):
    await_it(lambda: freshness(server, group) == wanted, f"{group} {wanted}", PATIENCE_S)


def kubectl(server, *words, code=0, text=None):
    done = subprocess.run([*KUBECTL, *words], text=True, input=text, capture_output=True, timeout=PATIENCE_S,
                          env={**os.environ, "KUBECONFIG": str(server.data / "admin.kubeconfig"), "HOME": str(server.data)})
    assert done.returncode == code, f"kubectl {' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


class Wardle:
    """The sample-apiserver, which asks `server` who its callers are and what they may do."""

    def __init__(self, server, etcd, folder):
        self.server, self.etcd, self.folder = server, etcd, folder
        self.holder = held_port()
        self.port = self.holder.getsockname()[1]
        make_certificate(folder, "wardle", "api.wardle.svc")
        self.part = None

    def start(self):
        config = self.server.data / "admin.kubeconfig"
        self.part = Part([*SAMPLE, f"--etcd-servers={self.etcd.urls}", f"--secure-port={self.port}", "--bind-address=127.0.0.1",
                          f"--authentication-kubeconfig={config}", f"--authorization-kubeconfig={config}", f"--kubeconfig={config}",
                          f"--tls-cert-file={self.folder}/wardle.crt", f"--tls-private-key-file={self.folder}/wardle.key"])

    def stop(self):
        self.part.process.send_signal(signal.SIGKILL)
        self.part.__exit__(None, None, None)

    def register(self):
        """Behind a name that stands for itself: nothing of a cluster's network is needed."""
        server = self.server
        server.create("/api/v1/namespaces", {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "wardle"}})
        server.create("/api/v1/namespaces/wardle/services", {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "api"},
                                                             "spec": {"type": "ExternalName", "externalName": "localhost"}})
        for version in ("v1alpha1", "v1beta1"):
            register(server, WARDLE, version, "wardle", "api", self.port, authority(self.folder))


class MetricsHandler(http.server.BaseHTTPRequestHandler):
    """metrics.k8s.io as far as `kubectl top` asks for it. Callers without a certificate of the front proxy never get here."""

    protocol_version = "HTTP/1.1"
    usage = {"cpu": "250m", "memory": "128Mi"}

    def answer(self, body):
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        self.server.callers.append((self.path, self.headers.get("X-Remote-User"), self.headers.get_all("X-Remote-Group")))
        base, version = "/apis/metrics.k8s.io/v1beta1", "metrics.k8s.io/v1beta1"
        path = self.path.split("?")[0]
        stamp = {"timestamp": "2026-01-01T00:00:00Z", "window": "10s"}
        if path == base:
            resources = [{"name": plural, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": ["get", "list"]}
                         for plural, kind, namespaced in (("nodes", "NodeMetrics", False), ("pods", "PodMetrics", True))]
            self.answer({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources})
        elif path == base + "/nodes":
            self.answer({"kind": "NodeMetricsList", "apiVersion": version, "metadata": {},
                         "items": [{"metadata": {"name": "node-a"}, "usage": self.usage, **stamp}]})
        elif path.endswith("/pods"):
            self.answer({"kind": "PodMetricsList", "apiVersion": version, "metadata": {},
                         "items": [{"metadata": {"name": "pod-a", "namespace": path.split("/")[-2]},
                                    "containers": [{"name": "main", "usage": self.usage}], **stamp}]})
        else:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

    def log_message(self, *words):
        pass


class Metrics(http.server.ThreadingHTTPServer):
    """A server of metrics that trusts the request-header authority which `front` publishes, as metrics-server does."""

    daemon_threads = True

    def __init__(self, front, folder, port):
        make_certificate(folder, "metrics", "metrics-server.kube-system.svc")
        trust = front.get("/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication").expect(200).json()["data"]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "metrics.crt", folder / "metrics.key")
        context.load_verify_locations(cadata=trust["requestheader-client-ca-file"])
        context.verify_mode = ssl.CERT_REQUIRED
        self.callers = []
        super().__init__(("127.0.0.1", port), MetricsHandler)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.serve_forever, daemon=True).start()


def flunder(name, **spec):
    return {"kind": "Flunder", "apiVersion": f"{WARDLE}/v1beta1", "metadata": {"name": name}, "spec": spec}


def flunders(server, version="v1beta1"):
    return f"/apis/{WARDLE}/{version}/namespaces/{server.ns}/flunders"


@test
def the_sample_server_becomes_available(server):
    """Contract extension 4.6.3."""
    server.wardle.register()
    await_available(server, f"v1beta1.{WARDLE}", ("False", "FailedDiscoveryCheck"))
    refused = server.get(f"/apis/{WARDLE}/v1beta1").expect(503)
    assert refused.body == b"service unavailable\n" and refused.headers["Content-Type"].startswith("text/plain"), refused.body
    server.wardle.start()
    for version in ("v1alpha1", "v1beta1"):
        await_available(server, f"{version}.{WARDLE}", ("True", "Passed"))
    table = kubectl(server, "get", "apiservice", f"v1beta1.{WARDLE}", "--no-headers").split()
    assert table[:3] == [f"v1beta1.{WARDLE}", "wardle/api", "True"], table


@test
def kubectl_works_on_its_kinds(server):
    await_freshness(server, WARDLE, v1alpha1="Current", v1beta1="Current")
    assert f"flunders.{WARDLE}" in kubectl(server, "api-resources", f"--api-group={WARDLE}", "-o", "name")
    kubectl(server, "create", "-n", server.ns, "-f", "-", text=json.dumps(flunder("a", flunderReference="b", referenceType="Flunder")))
    assert kubectl(server, "get", "flunders", "-n", server.ns, "-o", "name") == f"flunder.{WARDLE}/a\n"
    kubectl(server, "label", "flunder", "a", "-n", server.ns, "size=small")
    kubectl(server, "apply", "--server-side", "-n", server.ns, "-f", "-", text=json.dumps(flunder("c")))
    assert kubectl(server, "get", "flunders", "-n", server.ns, "-l", "size=small", "-o", "jsonpath={.items[*].metadata.name}") == "a"
    explained = kubectl(server, "explain", "flunder.spec")
    assert "flunderReference" in explained, explained
    why = kubectl(server, "create", "-n", server.ns, "-f", "-", code=1, text=json.dumps(flunder("d", speed=3)))
    assert 'unknown field "spec.speed"' in why, why
    kubectl(server, "delete", "flunder", "a", "c", "-n", server.ns)
    assert server.get(flunders(server)).expect(200).json()["items"] == []


@test
def requests_reach_it_as_their_users(server):
    # The sample server asks us what ann may do, and she may nothing.
    status = server.get(flunders(server), token="t-ann").expect(403).json()
    assert 'User "ann" cannot list resource "flunders"' in status["message"], status
    server.request("GET", flunders(server), token="t-ann", X_Remote_User="root", X_Remote_Group="system:masters").expect(403)
    server.get(flunders(server), token=None).expect(401)


@test
def watches_are_streamed(server):
    version = server.get(flunders(server)).expect(200).json()["metadata"]["resourceVersion"]
    watch = server.watch(f"{flunders(server)}?watch=1&resourceVersion={version}")
    server.create(flunders(server), flunder("seen"))
    event = next(watch)
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "seen"), event
    server.request("DELETE", f"{flunders(server)}/seen").expect(200)
    assert next(watch)["type"] == "DELETED"
    watch.close()


@test
def its_objects_go_with_their_namespace(server):
    """Contract controllers 1.3.2, 1.3.3."""
    for name in ("a", "b"):
        server.create(flunders(server), flunder(name))
    server.request("DELETE", f"/api/v1/namespaces/{server.ns}").expect(200)
    await_it(lambda: server.get(f"/api/v1/namespaces/{server.ns}").status == 404, "the end of the namespace", PATIENCE_S)
    left = server.get(f"/apis/{WARDLE}/v1beta1/flunders").expect(200).json()["items"]
    assert [item["metadata"]["name"] for item in left if item["metadata"]["namespace"] == server.ns] == [], left


def owned(o, owner):
    """An object with an owner."""
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
    return {**o, "metadata": {**o["metadata"], "ownerReferences": [reference]}}


def config_map(name):
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}}


@test
def the_garbage_collector_works_on_both_sides(server):
    """Contract controllers 2.2.1, 2.6."""
    ours, kept = (server.create(server.maps, config_map(name)) for name in ("ours", "kept"))
    theirs = server.create(flunders(server), flunder("theirs"))
    server.create(flunders(server), owned(flunder("of-ours"), ours))
    server.create(flunders(server), owned(flunder("of-kept"), kept))
    server.create(server.maps, owned(config_map("of-theirs"), theirs))
    server.request("DELETE", f"{server.maps}/kept?propagationPolicy=Orphan").expect(200)
    await_it(lambda: server.get(f"{server.maps}/kept").status == 404, "the end of an owner whose dependents stay", PATIENCE_S)
    assert "ownerReferences" not in server.get(f"{flunders(server)}/of-kept").expect(200).json()["metadata"]
    server.request("DELETE", f"{server.maps}/ours").expect(200)
    await_it(lambda: server.get(f"{flunders(server)}/of-ours").status == 404, "the end of a dependent there", PATIENCE_S)
    server.request("DELETE", f"{flunders(server)}/theirs").expect(200)
    await_it(lambda: server.get(f"{server.maps}/of-theirs").status == 404, "the end of a dependent here", PATIENCE_S)


@test
def a_restart_costs_its_own_requests_only(server):
    server.create(flunders(server), flunder("kept"))
    watch = server.watch(f"{flunders(server)}?watch=1")
    assert next(watch)["object"]["metadata"]["name"] == "kept"
    server.wardle.stop()
    assert next(watch, None) is None, "the watch ends with its server"
    server.get(flunders(server)).expect(503)
    server.get(server.maps).expect(200)
    await_available(server, f"v1beta1.{WARDLE}", ("False", "FailedDiscoveryCheck"))
    await_freshness(server, WARDLE, v1alpha1="Stale", v1beta1="Stale")
    server.wardle.start()
    await_available(server, f"v1beta1.{WARDLE}", ("True", "Passed"))
    await_freshness(server, WARDLE, v1alpha1="Current", v1beta1="Current")
    assert [item["metadata"]["name"] for item in server.get(flunders(server)).expect(200).json()["items"]] == ["kept"]


@test
def kubectl_top_reads_a_server_of_metrics(server):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        metrics = Metrics(server, folder, server.metrics_port)
        server.create("/api/v1/namespaces/kube-system/services",
                      {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "metrics-server"}, "spec": {"ports": [{"port": 443}]}})
        register(server, "metrics.k8s.io", "v1beta1", "kube-system", "metrics-server", 443, authority(folder))
        await_available(server, "v1beta1.metrics.k8s.io", ("True", "Passed"))
        await_freshness(server, "metrics.k8s.io", v1beta1="Current")
        server.create("/api/v1/nodes", {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "node-a"},
                                        "status": {"capacity": {"cpu": "1", "memory": "1Gi"}, "allocatable": {"cpu": "1", "memory": "1Gi"}}})
        row = kubectl(server, "top", "nodes", "--no-headers").split()
        assert row == ["node-a", "250m", "25%", "128Mi", "12%"], row
        row = kubectl(server, "top", "pods", "-n", server.ns, "--no-headers").split()
        assert row == ["pod-a", "250m", "128Mi"], row
        callers = {(user, tuple(groups)) for path, user, groups in metrics.callers if path.endswith("/pods")}
        assert callers == {("kubernetes-admin", ("system:masters", "system:authenticated"))}, callers
        server.request("DELETE", f"{SERVICES}/v1beta1.metrics.k8s.io").expect(200)
        metrics.shutdown()
        metrics.server_close()


def main():
    if not program():
        print("1..0 # SKIP there is no etcd: install etcd-server, or name one in COR_ETCD")
        return 0
    holder = held_port()
    with tempfile.TemporaryDirectory() as name, Cluster() as etcd:
        folder = pathlib.Path(name)
        (folder / "tokens.csv").write_text('t-ann,ann,1,"dev"\n')
        port = holder.getsockname()[1]
        flags = ["--controllers=*", "--token-auth-file", str(folder / "tokens.csv"), f"--aggregator-resolve=metrics-server.kube-system=127.0.0.1:{port}"]
        with Server(sys.argv[1], *flags, *sys.argv[2:]) as server:
            server.metrics_port, server.wardle = port, Wardle(server, etcd, folder)

            def play(function):
                server.ns = f"t{TESTS.index(function) + 1}"
                server.create("/api/v1/namespaces", {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": server.ns}})
                server.maps = f"/api/v1/namespaces/{server.ns}/configmaps"
                function(server)

            try:
                failed = report(TESTS, play)
                if failed and server.wardle.part:
                    server.wardle.part.show()
            finally:
                if server.wardle.part:
                    server.wardle.stop()
        return failed


if __name__ == "__main__":
    sys.exit(main())
