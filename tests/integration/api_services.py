#!/usr/bin/env python3
"""APIServices as a client sees them, here and, where COR_KUBE_APISERVER names one, on a kube-apiserver: both must say the same.
api_services.py PROGRAM [FLAG...]"""

import json
import pathlib
import shutil
import sys
import tempfile

from etcd_cluster import Cluster
from fixture import Server, await_it, main, test
from kube_apiserver import KubeApiserver

PROGRAM = sys.argv[1]
FLAGS = sys.argv[2:]
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WARDLE = SERVICES + "/v1alpha1.wardle.example.com"


class Ours:
    """The requests of these tests, to this server."""

    def __init__(self, server):
        self.server = server

    def request(self, method, path, body=None, content_type="application/json"):
        answer = self.server.request(method, path, body, **{"Content-Type": content_type})
        return answer.status, json.loads(answer.body) if answer.body[:1] == b"{" else answer.body


class Theirs:
    def __init__(self, server):
        self.server = server

    def request(self, method, path, body=None, content_type="application/json"):
        return self.server.request(method, path, body, Content_Type=content_type)


def remote(group="wardle.example.com", version="v1alpha1", **more):
    return {"kind": "APIService", "apiVersion": "apiregistration.k8s.io/v1", "metadata": {"name": f"{version}.{group}"},
            "spec": {"group": group, "version": version, "groupPriorityMinimum": 2000, "versionPriority": 200,
                     "insecureSkipTLSVerify": True, "service": {"namespace": "wardle", "name": "api"}, **more}}


def crd(name, group, versions):
    return {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1", "metadata": {"name": f"{name}.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"plural": name, "kind": name.capitalize()},
                     "versions": [{"name": version, "served": True, "storage": i == 0,
                                   "schema": {"openAPIV3Schema": {"type": "object"}}} for i, version in enumerate(versions)]}}


def shown(service):
    """What both servers must say of an APIService."""
    conditions = [{k: v for k, v in c.items() if k != "lastTransitionTime"} for c in service.get("status", {}).get("conditions", [])]
    # Their order depends on the second in which each wrote.
    managers = sorted([m["manager"], m["operation"], m.get("subresource", ""), json.dumps(m["fieldsV1"], sort_keys=True)]
                      for m in service["metadata"].get("managedFields", []))
    return {"name": service["metadata"]["name"], "labels": service["metadata"].get("labels"), "spec": service["spec"],
            "conditions": conditions, "managers": managers}


def verdict(target):
    conditions = target.request("GET", WARDLE)[1].get("status", {}).get("conditions", [])
    return [f"{c['status']} {c['reason']}: {c['message']}" for c in conditions if c["type"] == "Available"]


def groups(target):
    return [(group["name"], [v["version"] for v in group["versions"]], group["preferredVersion"]["version"])
            for group in target.request("GET", "/apis")[1]["groups"]]


def metrics(target):
    """What is said about unavailable APIServices."""
    text = target.request("GET", "/metrics")[1].decode()
    return sorted(line for line in text.splitlines() if line.startswith("aggregator_unavailable_apiservice"))


def play(target):
    """What a server does and says, as a list of pairs."""
    yield "at the start", [shown(s) for s in target.request("GET", SERVICES)[1]["items"]]
    yield "groups", groups(target)
    assert target.request("POST", "/api/v1/namespaces", {"metadata": {"name": "wardle"}})[0] == 201
    assert target.request("POST", SERVICES, remote())[0] == 201
    steps = [
        ("POST", "/api/v1/namespaces/wardle/services",
         {"metadata": {"name": "api"}, "spec": {"ports": [{"name": "https", "port": 444}]}}),
        ("PATCH", "/api/v1/namespaces/wardle/services/api", {"spec": {"ports": [{"name": "https", "port": 443}]}}),
        ("POST", "/apis/discovery.k8s.io/v1/namespaces/wardle/endpointslices",
         {"metadata": {"name": "api-1", "labels": {"kubernetes.io/service-name": "api"}}, "addressType": "IPv4",
          "ports": [{"name": "https", "port": 9}], "endpoints": [{"addresses": ["192.0.2.1"], "conditions": {"ready": False}}]}),
    ]
    reasons = ["ServiceNotFound", "ServicePortError", "EndpointsNotFound", "MissingEndpoints"]
    for i, reason in enumerate(reasons):
        await_it(lambda: any(reason in line for line in verdict(target)), f"the condition {reason}")
        yield reason, verdict(target)
        if i < len(steps):
            method, path, body = steps[i]
            kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
            assert target.request(method, path, body, kind)[0] in (200, 201)
    yield "metrics", metrics(target)
    yield "the remote one", shown(target.request("GET", WARDLE)[1])
    yield "a group that is not available", target.request("GET", "/apis/wardle.example.com")
    status, text = target.request("GET", "/apis/wardle.example.com/v1alpha1")
    yield "a request to it", (status, text)
    # Custom resources are registered, made again, and gone.
    assert target.request("POST", CRDS, crd("pots", "shop.example.org", ["v1", "v2", "v1beta1"]))[0] == 201
    name = SERVICES + "/v2.shop.example.org"
    await_it(lambda: target.request("GET", name)[0] == 200, "an APIService of a custom resource")
    yield "of a custom resource", shown(target.request("GET", name)[1])
    await_it(lambda: any(g[0] == "shop.example.org" and len(g[1]) == 3 for g in groups(target)), "its group")
    yield "groups with all", groups(target)
    uid = target.request("GET", name)[1]["metadata"]["uid"]
    assert target.request("DELETE", name)[0] == 200
    await_it(lambda: target.request("GET", name)[1]["metadata"].get("uid", uid) != uid, "it is made again")
    assert target.request("DELETE", CRDS + "/pots.shop.example.org")[0] == 200
    await_it(lambda: target.request("GET", name)[0] == 404, "it is gone")
    # A built-in one may be deleted: it is served and not listed.
    assert target.request("DELETE", SERVICES + "/v1.batch")[0] == 200
    await_it(lambda: all(g[0] != "batch" for g in groups(target)), "it is not listed")
    yield "a version that is not registered", target.request("GET", "/apis/batch")
    yield "what it serves", target.request("GET", "/apis/batch/v1/jobs")[0]
    # The first priority of its group decides about the group.
    assert target.request("POST", SERVICES, remote(version="v1", groupPriorityMinimum=19000, versionPriority=1))[0] == 201
    await_it(lambda: any(len(g[1]) == 2 for g in groups(target) if g[0] == "wardle.example.com"), "another version")
    yield "groups by priority", groups(target)


def compared():
    """Runs `play` on both servers."""
    with tempfile.TemporaryDirectory() as folder, Cluster() as etcd, \
            KubeApiserver(etcd, pathlib.Path(folder)) as peer:
        theirs = dict(play(Theirs(peer)))
    with Server(PROGRAM, *FLAGS) as server:
        ours = dict(play(Ours(server)))
    return ours, theirs


@test
def says_what_kube_apiserver_says(server):
    """Contract extension 4.1.4, 4.2.1, 4.2.2, 4.2.4, 4.2.5, 4.3.1, 4.3.2, 4.5.1; cases 33, 34 and 40."""
    ours, theirs = compared()
    for what, wanted in theirs.items():
        assert ours[what] == wanted, f"{what}:\nours   {json.dumps(ours[what])}\ntheirs {json.dumps(wanted)}"


@test
def does_all_of_it_alone(server):
    """Contract extension 4.2, 4.3: the same steps, whose results are awaited, without a peer."""
    with Server(PROGRAM, *FLAGS) as own:
        seen = dict(play(Ours(own)))
        assert len(seen["at the start"]) == 21
        assert 'aggregator_unavailable_apiservice{name="v1alpha1.wardle.example.com"} 1' in seen["metrics"], seen["metrics"]
        assert 'aggregator_unavailable_apiservice{name="v1.apps"} 0' in seen["metrics"], seen["metrics"]
        assert own.request("DELETE", WARDLE).expect(200)
        await_it(lambda: not any("v1alpha1.wardle" in line for line in metrics(Ours(own))), "its end")
        assert seen["groups"][0][0] == "apiregistration.k8s.io"
        assert seen["groups with all"][-1] == ("shop.example.org", ["v2", "v1", "v1beta1"], "v2")
        assert seen["groups by priority"][1] == ("wardle.example.com", ["v1alpha1", "v1"], "v1alpha1")


@test
def a_second_start_writes_nothing(server):
    """Contract extension 4.2.1."""
    data = tempfile.mkdtemp()
    try:
        with Server(PROGRAM, *FLAGS, data=data) as own:
            before = own.get(SERVICES).expect(200).json()["items"]
        with Server(PROGRAM, *FLAGS, data=data) as own:
            assert own.get(SERVICES).expect(200).json()["items"] == before
            assert b"autoregister-completion ok" in own.get("/readyz?verbose").expect(200).body
    finally:
        shutil.rmtree(data, ignore_errors=True)


if __name__ == "__main__":
    main()
