#!/usr/bin/env python3
"""Records what a real kube-controller-manager asks of a real kube-apiserver when it deletes namespaces and collects garbage, and
writes it as tests/unit/server/controllers/recorded_flows.h. record_flows.py OUT, with the programs in $COR_KUBE_APISERVER and
$COR_KUBE_CONTROLLER_MANAGER. server/controller_flows compares the controllers of this server with the record.

A record has one line for each request of the flow, in the order of the answers: verb, resource, name, what is sent, and the
answer's code. Uids are masked as <uid of NAME>, and resourceVersions as <version>. Of the garbage collector it has what it writes:
how often it reads depends on what its caches have seen. Each of its flows is played ROUNDS times, since its workers race: "always"
has the lines that all rounds have, in an order that all rounds have, and "ever" has every line of any round. Of the namespace
controller it has the namespace itself, pods and deployments: upstream visits other resources in no order."""

import difflib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "integration"))

from etcd_cluster import Cluster, wait_for  # noqa: E402
from kube_apiserver import KubeApiserver  # noqa: E402

WAIT_S = 120
RESOURCES = ("pods", "deployments")
ROUNDS = 12
COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector"
NAMESPACES = "system:serviceaccount:kube-system:namespace-controller"
POLICY = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
          "rules": [{"level": "Request", "users": [COLLECTOR, NAMESPACES]}, {"level": "None"}]}
CONTAINERS = {"containers": [{"name": "c", "image": "i"}]}
TEMPLATE = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": CONTAINERS}}
APPS = "/apis/apps/v1/namespaces/default"
CORE = "/api/v1/namespaces/default"


class Flow:
    """One namespace of objects on the server, and the uids that it has seen."""

    def __init__(self, server, audit):
        self.server, self.audit, self.uids = server, audit, {}
        self.begin = audit.stat().st_size

    def ask(self, method, path, body=None, good=(200, 201), **more):
        status, answer = self.server.request(method, path, body, **more)
        assert status in good, (method, path, status, answer)
        if status != 404 and answer.get("metadata", {}).get("uid"):
            self.uids[answer["metadata"]["uid"]] = answer["metadata"]["name"]
        return status, answer

    def make(self, collection, name, *owners, **more):
        refs = [{"apiVersion": v, "kind": kind, "name": owner, "uid": self.uid(owner), "blockOwnerDeletion": True}
                for v, kind, owner in owners]
        metadata = {"name": name, **more.pop("metadata", {}), **({"ownerReferences": refs} if refs else {})}
        return self.ask("POST", collection, {"metadata": metadata, **more})[1]

    def uid(self, name):
        return next(uid for uid, other in self.uids.items() if other == name)

    def remove(self, path, policy):
        self.ask("DELETE", path, {"propagationPolicy": policy})

    def wait_gone(self, path):
        wait_for(f"the end of {path}", WAIT_S, lambda: self.ask("GET", path, good=(200, 404))[0] == 404)

    def events(self):
        with open(self.audit) as file:
            file.seek(self.begin)
            return [json.loads(line) for line in file if line.endswith("\n")]

    def mask(self, text):
        for uid, name in self.uids.items():
            text = text.replace(uid, f"<uid of {name}>")
        return re.sub(r'resourceVersion(":"|=)\d+', r"resourceVersion\1<version>", text)

    def line(self, event):
        at = event["objectRef"]
        resource = at["resource"] + ("/" + at["subresource"] if "subresource" in at else "")
        words = [event["verb"].upper(), resource, at.get("name")]
        body = event.get("requestObject")
        if event["verb"] == "patch":
            words += [self.mask(json.dumps(body, separators=(",", ":")))]
        elif event["verb"] in ("delete", "deletecollection"):
            expects = [f"{key}={value}" for key, value in body.get("preconditions", {}).items()]
            words += [self.mask(" ".join([body["propagationPolicy"], *expects]))]
        return " ".join(word for word in words if word) + f" {event['responseStatus']['code']}"

    def written(self):
        """What the garbage collector has written."""
        return [self.line(event) for event in self.events()
                if event["user"]["username"] == COLLECTOR and event["verb"] in ("patch", "delete", "update", "create")]

    def of_namespace(self, name):
        """What the namespace controller has asked."""
        return [self.line(event) for event in self.events()
                if event["user"]["username"] == NAMESPACES and "objectRef" in event and
                name in (event["objectRef"].get("namespace"), event["objectRef"].get("name")) and
                event["objectRef"]["resource"] in (*RESOURCES, "namespaces")]


def let_the_collector_see():
    """The collector of kube-controller-manager shows nowhere which events its watches have delivered, so the record waits a second."""
    time.sleep(1)


def cycle(flow):
    """Contract controllers 2.7.6."""
    maps = f"{CORE}/configmaps"
    flow.make(maps, "c1")
    flow.make(maps, "c2", ("v1", "ConfigMap", "c1"))
    ref = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c2", "uid": flow.uid("c2"), "blockOwnerDeletion": True}
    flow.ask("PATCH", f"{maps}/c1", {"metadata": {"ownerReferences": [ref]}}, Content_Type="application/merge-patch+json")
    let_the_collector_see()
    flow.remove(f"{maps}/c1", "Foreground")
    flow.wait_gone(f"{maps}/c1")
    flow.wait_gone(f"{maps}/c2")
    return flow.written()


def workload(flow, policy):
    flow.make(f"{APPS}/deployments", "d", spec=TEMPLATE)
    flow.make(f"{APPS}/replicasets", "r", ("apps/v1", "Deployment", "d"), spec=TEMPLATE)
    flow.make(f"{CORE}/pods", "p", ("apps/v1", "ReplicaSet", "r"), spec=CONTAINERS)
    let_the_collector_see()
    flow.remove(f"{APPS}/deployments/d", policy)
    flow.wait_gone(f"{APPS}/deployments/d")


def foreground(flow):
    """Contract controllers 2.7.8."""
    workload(flow, "Foreground")
    return flow.written()


def background(flow):
    """Contract controllers 2.4.4."""
    workload(flow, "Background")
    flow.wait_gone(f"{CORE}/pods/p")
    return flow.written()


def orphan(flow):
    """Contract controllers 2.8.1, 2.8.2."""
    workload(flow, "Orphan")
    lines = flow.written()
    flow.remove(f"{APPS}/replicasets/r", "Background")
    flow.wait_gone(f"{CORE}/pods/p")
    return lines


def namespace(flow):
    """Contract controllers 1.9.1."""
    flow.make("/api/v1/namespaces", "x")
    flow.make("/apis/apps/v1/namespaces/x/deployments", "d", spec=TEMPLATE, metadata={"finalizers": ["custom.io/finalizer"]})
    flow.make("/api/v1/namespaces/x/pods", "p", spec=CONTAINERS)
    flow.ask("DELETE", "/api/v1/namespaces/x")

    def remaining():
        conditions = flow.ask("GET", "/api/v1/namespaces/x")[1]["status"].get("conditions", [])
        return any(c["reason"] == "SomeFinalizersRemain" for c in conditions)

    wait_for("the conditions", WAIT_S, remaining)
    flow.ask("PATCH", "/apis/apps/v1/namespaces/x/deployments/d", {"metadata": {"finalizers": None}},
             Content_Type="application/merge-patch+json")
    flow.wait_gone("/api/v1/namespaces/x")
    return flow.of_namespace("x")


FLOWS = (namespace, background, foreground, orphan, cycle)


def manager(server, folder):
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": {"token": "kube-token"}}],
              "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
              "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{server.port}", "insecure-skip-tls-verify": True}}]}
    (folder / "kubeconfig").write_text(json.dumps(config))
    log = open(folder / "manager.log", "w")
    return subprocess.Popen([os.environ["COR_KUBE_CONTROLLER_MANAGER"], f"--kubeconfig={folder}/kubeconfig", "--leader-elect=false",
                             "--use-service-account-credentials", f"--service-account-private-key-file={folder}/sa.key",
                             "--controllers=garbage-collector-controller,namespace-controller", "--secure-port=0"],
                            stdout=log, stderr=log)


def common(rounds):
    """The lines that all rounds have, in an order that all rounds have."""
    kept = rounds[0]
    for lines in rounds[1:]:
        matches = difflib.SequenceMatcher(None, kept, lines, autojunk=False).get_matching_blocks()
        kept = [line for match in matches for line in kept[match.a:match.a + match.size]]
    return kept


def c_string(lines):
    return "\n".join("    " + json.dumps(line + "\n") for line in lines)


def main():
    recorded = {}
    with tempfile.TemporaryDirectory() as name, Cluster() as etcd:
        folder = pathlib.Path(name)
        audit = folder / "audit"
        (folder / "policy").write_text(json.dumps(POLICY))
        with KubeApiserver(etcd, folder, f"--audit-policy-file={folder}/policy", f"--audit-log-path={audit}",
                           "--audit-log-mode=blocking") as server:
            process = manager(server, folder)
            try:
                wait_for("the collector", WAIT_S, lambda: "all resource monitors have synced" in (folder / "manager.log").read_text())
                for function in FLOWS:
                    rounds = [function(Flow(server, audit)) for _ in range(1 if function is namespace else ROUNDS)]
                    recorded[function.__name__] = (function.__doc__, common(rounds), sorted({line for lines in rounds for line in lines}))
            except BaseException:
                print((folder / "manager.log").read_text()[-5000:], file=sys.stderr)
                raise
            finally:
                process.kill()
                process.wait()
    text = ["/* The requests of kube-controller-manager v1.34. Written by tests/interop/record_flows.py. */",
            "/* clang-format off */", "#ifndef COR_TEST_RECORDED_FLOWS_H", "#define COR_TEST_RECORDED_FLOWS_H", ""]
    for name, (doc, always, ever) in recorded.items():
        text += [f"/* {doc} */", f"static const char always_{name}[] =", c_string(always) + ";"]
        if name != "namespace":
            text += [f"static const char ever_{name}[] =", c_string(ever) + ";"]
        text += [""]
    pathlib.Path(sys.argv[1]).write_text("\n".join([*text, "#endif", ""]))


if __name__ == "__main__":
    main()
