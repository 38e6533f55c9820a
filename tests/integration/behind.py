"""One server behind another: the front passes the requests for a custom resource on, and decides about users."""

import contextlib

from etcd_cluster import held_port
from fixture import Server, await_it

WIDGETS = "/apis/stable.example.com/v1/namespaces/default/widgets"
TRUST = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"


def widget(name):
    return {"apiVersion": "stable.example.com/v1", "kind": "Widget", "metadata": {"name": name}}


def serve_widgets(behind):
    """Custom resources of a server that others pass requests on to."""
    behind.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.stable.example.com"},
        "spec": {"group": "stable.example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"}, "versions": [
            {"name": "v1", "served": True, "storage": True,
             "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}).expect(201)
    await_it(lambda: behind.get(WIDGETS).status == 200, "the custom resource")


def api_service(port=443):
    return {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.stable.example.com"}, "spec": {
        "group": "stable.example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15, "insecureSkipTLSVerify": True,
        "service": {"name": "behind", "namespace": "default", "port": port}}}


@contextlib.contextmanager
def one_behind_another(program, front_flags=(), behind_flags=()):
    """(front, behind), as docs/aggregation.md sets them up; requests go through when it is entered."""
    holder = held_port()
    port = holder.getsockname()[1]
    with holder, Server(program, "--aggregator-resolve", f"behind.default=127.0.0.1:{port}", *front_flags) as front:
        config = front.data / "admin.kubeconfig"
        await_it(lambda: front.get(TRUST).status == 200, "the trust")
        behind = Server(program, "--authentication-kubeconfig", config, "--authorization-kubeconfig", config, *behind_flags)
        try:
            behind.start(port)
            serve_widgets(behind)
            front.create("/api/v1/namespaces/default/services",
                         {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "behind"}, "spec": {"ports": [{"port": 443}]}})
            front.create("/apis/apiregistration.k8s.io/v1/apiservices", api_service())
            await_it(lambda: front.get(WIDGETS).status == 200, "a request that is passed on")
            yield front, behind
        finally:
            if behind.process:
                behind.stop()
            behind.cleanup()
