#!/usr/bin/env python3
"""A cluster without machines: this server, a real kube-controller-manager and kube-scheduler with their defaults, and nodes that
kubelet.c plays. Workloads become pods that run. cluster.py PROGRAM [FLAG...], with the programs in $COR_KUBE_CONTROLLER_MANAGER and
$COR_KUBE_SCHEDULER and the command of the nodes in $COR_CLIENT; prints TAP."""

import contextlib
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "integration"))

from fixture import Server, report, test, TESTS  # noqa: E402
from part import Part  # noqa: E402

NODES = ("node-a", "node-b", "node-c")
# A cron job begins with the next minute; elections and the first lists of some forty controllers come before everything.
WAIT_S = 150
# Of one watch; longer than a cron job waits for its minute is not needed, since the next watch follows.
WATCH_S = 60
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


def wait_for(server, path, what, good):
    """The object, or the list, at `path` when good(it) says so."""
    end = time.monotonic() + WAIT_S
    while True:
        seen = server.get(path).expect(200).json()
        if good(seen):
            return seen
        left = int(end - time.monotonic())
        assert left > 0, f"{what}: {path} was at last {str(seen)[:2000]}"
        wait_for_change(server, path, seen, min(left, WATCH_S))


def wait_for_change(server, path, seen, seconds):
    """Returns with the next event of the object, or of the list, after the state that was seen; at the latest after `seconds`."""
    selector = ""
    if not seen["kind"].endswith("List"):
        path, name = path.rsplit("/", 1)
        selector = f"&fieldSelector=metadata.name%3D{name}"
    watch = server.watch(f"{path}?watch=1&resourceVersion={seen['metadata']['resourceVersion']}&timeoutSeconds={seconds}{selector}")
    next(watch, None)
    watch.close()


def template(name, **spec):
    return {"metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "main", "image": "example.com/main:1", **spec.pop("container", {})}], **spec}}


def workload(kind, name, **spec):
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": {"app": name}}, "template": template(name), **spec}}


def apps(server, plural):
    return f"/apis/apps/v1/namespaces/{server.ns}/{plural}"


def batch(server, plural):
    return f"/apis/batch/v1/namespaces/{server.ns}/{plural}"


def pods(server):
    return f"/api/v1/namespaces/{server.ns}/pods"


def has_status(**wanted):
    return lambda it: all(it.get("status", {}).get(name) == value for name, value in wanted.items())


def expect_bound_and_running(server, count):
    items = wait_for(server, pods(server), "pods", lambda it: len(it["items"]) == count and all(
        pod.get("status", {}).get("phase") == "Running" for pod in it["items"]))["items"]
    assert all(pod["spec"]["nodeName"] in NODES for pod in items), [pod["spec"].get("nodeName") for pod in items]
    return items


@test
def nodes_become_ready_and_stay_so(server):
    def is_ready(it):
        ready = [node for node in it["items"] for c in node.get("status", {}).get("conditions", [])
                 if (c["type"], c["status"]) == ("Ready", "True") and not node.get("spec", {}).get("taints")]
        return len(ready) == len(NODES)
    wait_for(server, "/api/v1/nodes", "nodes", is_ready)


@test
def a_deployment_runs_and_rolls_to_its_next_version(server):
    path = apps(server, "deployments")
    server.create(path, workload("Deployment", "web", replicas=3))
    wait_for(server, path + "/web", "the first version", has_status(availableReplicas=3, updatedReplicas=3))
    expect_bound_and_running(server, 3)
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "example.com/main:2"}]}}}}
    server.request("PATCH", path + "/web", patch, Content_Type=MERGE).expect(200)
    wait_for(server, path + "/web", "the second version",
             lambda it: it["status"].get("observedGeneration") == it["metadata"]["generation"]
             and has_status(replicas=3, availableReplicas=3, updatedReplicas=3)(it))
    images = {pod["spec"]["containers"][0]["image"] for pod in expect_bound_and_running(server, 3)}
    assert images == {"example.com/main:2"}, images
    sets = server.get(apps(server, "replicasets")).expect(200).json()["items"]
    assert sorted(it["spec"]["replicas"] for it in sets) == [0, 3], sets


def fields_of(it, manager, operation, subresource):
    """FieldsV1 of the one entry of that manager."""
    entries = it["metadata"].get("managedFields", [])
    found = [e["fieldsV1"] for e in entries if (e["manager"], e["operation"], e.get("subresource", "")) == (manager, operation, subresource)]
    assert len(found) == 1, (manager, operation, subresource, entries)
    return found[0]


def managers(it):
    return sorted({(e["manager"], e["operation"], e.get("subresource", "")) for e in it["metadata"].get("managedFields", [])})


@test
def each_component_owns_what_it_writes_beside_an_applier(server):
    path = apps(server, "deployments") + "/owned"
    config = workload("Deployment", "owned", replicas=2)
    wanted = {"f:spec": {"f:replicas": {}, "f:selector": {}, "f:template": {
        "f:metadata": {"f:labels": {"f:app": {}}},
        "f:spec": {"f:containers": {'k:{"name":"main"}': {".": {}, "f:image": {}, "f:name": {}}}}}}}
    owners = [("kube-controller-manager", "Update", "status"), ("user", "Apply", "")]
    for image in ("example.com/main:1", "example.com/main:2"):
        config["spec"]["template"]["spec"]["containers"][0]["image"] = image
        answer = server.request("PATCH", path + "?fieldManager=user", config, Content_Type=APPLY)
        assert answer.status in (200, 201), answer.body
        done = wait_for(server, path, "the version with " + image,
                        lambda it: it.get("status", {}).get("observedGeneration") == it["metadata"]["generation"]
                        and has_status(replicas=2, availableReplicas=2, updatedReplicas=2)(it))
        assert managers(done) == owners, done["metadata"]["managedFields"]
        assert fields_of(done, *owners[1]) == wanted, done["metadata"]["managedFields"]
        status = fields_of(done, *owners[0])
        assert "f:deployment.kubernetes.io/revision" in status["f:metadata"]["f:annotations"], status
        assert set(status["f:status"]) >= {"f:availableReplicas", "f:conditions", "f:observedGeneration", "f:replicas", "f:updatedReplicas"}, status
    for it in server.get(apps(server, "replicasets")).expect(200).json()["items"]:
        main, status = (fields_of(it, "kube-controller-manager", "Update", sub) for sub in ("", "status"))
        assert "f:template" in main["f:spec"] and "f:ownerReferences" in main["f:metadata"] and "f:replicas" in status["f:status"], it
    for pod in expect_bound_and_running(server, 2):
        made = fields_of(pod, "kube-controller-manager", "Update", "")
        assert set(made) == {"f:metadata", "f:spec"} and "f:nodeName" not in made["f:spec"], made
        assert {(operation, sub) for name, operation, sub in managers(pod) if name not in ("kube-controller-manager", "kube-scheduler")} == {
            ("Update", "status")}, pod["metadata"]["managedFields"]


@test
def the_scheduler_owns_the_condition_of_a_pod_that_fits_nowhere(server):
    pod = {"apiVersion": "v1", "kind": "Pod", **template("waits", nodeSelector={"disk": "fast"}), "metadata": {"name": "waits"}}
    server.create(pods(server), pod)
    waits = wait_for(server, pods(server) + "/waits", "the scheduler's condition", lambda it: any(
        (c["type"], c["status"], c.get("reason")) == ("PodScheduled", "False", "Unschedulable") for c in it.get("status", {}).get("conditions", [])))
    conditions = fields_of(waits, "kube-scheduler", "Update", "status")["f:status"]["f:conditions"]
    condition = conditions['k:{"type":"PodScheduled"}']
    assert {".", "f:lastTransitionTime", "f:message", "f:reason", "f:status", "f:type"} <= set(condition), condition


@test
def a_deployment_without_replicas_runs_one_and_is_collected_with_all_it_made(server):
    path = apps(server, "deployments")
    server.create(path, workload("Deployment", "one"))
    wait_for(server, path + "/one", "the default of replicas", has_status(availableReplicas=1))
    server.request("DELETE", path + "/one?propagationPolicy=Background").expect(200)
    for each in (apps(server, "replicasets"), pods(server)):
        wait_for(server, each, "the garbage collector", lambda it: it["items"] == [])


@test
def a_stateful_set_with_escapes_in_its_command_has_one_revision(server):
    path = apps(server, "statefulsets")
    spec = template("db", container={"command": ["sh", "-c", "a && b < c > d"]})
    server.create(path, workload("StatefulSet", "db", serviceName="db", replicas=2, template=spec))
    wait_for(server, path + "/db", "replicas", has_status(readyReplicas=2, updatedReplicas=2))
    expect_bound_and_running(server, 2)
    # The controller compares revisions byte by byte whenever it looks at the set: let it look again.
    for turn in range(3):
        server.request("PATCH", path + "/db", {"metadata": {"labels": {"turn": str(turn)}}}, Content_Type=MERGE).expect(200)
    server.request("PATCH", path + "/db", {"spec": {"replicas": 3}}, Content_Type=MERGE).expect(200)
    wait_for(server, path + "/db", "replicas", has_status(readyReplicas=3))
    revisions = server.get(apps(server, "controllerrevisions")).expect(200).json()["items"]
    assert len(revisions) == 1, [it["metadata"]["name"] for it in revisions]


@test
def a_daemon_set_runs_on_every_node(server):
    path = apps(server, "daemonsets")
    server.create(path, workload("DaemonSet", "agent"))
    wait_for(server, path + "/agent", "pods", has_status(numberReady=len(NODES), numberAvailable=len(NODES)))
    assert {pod["spec"]["nodeName"] for pod in expect_bound_and_running(server, len(NODES))} == set(NODES)


@test
def a_job_completes(server):
    path = batch(server, "jobs")
    spec = {"template": template("sum", restartPolicy="Never"), "completions": 3, "parallelism": 2}
    del spec["template"]["metadata"]
    server.create(path, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sum"}, "spec": spec})
    done = wait_for(server, path + "/sum", "completions", has_status(succeeded=3))
    done = wait_for(server, path + "/sum", "its end", lambda it: any(
        (c["type"], c["status"]) == ("Complete", "True") for c in it["status"].get("conditions", [])))
    labels = done["spec"]["template"]["metadata"]["labels"]
    assert labels["batch.kubernetes.io/job-name"] == "sum" == labels["job-name"], labels
    assert done["spec"]["selector"]["matchLabels"] == {"batch.kubernetes.io/controller-uid": done["metadata"]["uid"]}


@test
def a_cron_job_makes_jobs(server):
    path = batch(server, "cronjobs")
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template("tick", restartPolicy="OnFailure")}}}
    server.create(path, {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"}, "spec": spec})
    wait_for(server, batch(server, "jobs"), "a job", lambda it: any(has_status(succeeded=1)(job) for job in it["items"]))


def main():
    program, flags = sys.argv[1], sys.argv[2:]
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Server(program, *flags))
        config = str(server.data / "admin.kubeconfig")
        common = [f"--kubeconfig={config}", "--secure-port=0"]
        kubelet = [*shlex.split(os.environ["COR_CLIENT"]), *NODES]
        parts = [stack.enter_context(part) for part in (
            Part([os.environ["COR_KUBE_CONTROLLER_MANAGER"], *common]),
            Part([os.environ["COR_KUBE_SCHEDULER"], *common]),
            Part(kubelet, env={**os.environ, "KUBECONFIG": config}))]

        def play(function):
            server.ns = f"t{TESTS.index(function) + 1}"
            server.create("/api/v1/namespaces", {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": server.ns}})
            function(server)

        failed = report(TESTS, play)
        for part in parts if failed else ():
            part.show()
    return failed


if __name__ == "__main__":
    sys.exit(main())
