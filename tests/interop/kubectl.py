#!/usr/bin/env python3
"""An unmodified kubectl against a real server. kubectl.py PROGRAM [FLAG...]; prints TAP."""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "integration"))

from fixture import Server, main, test  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HOME = tempfile.TemporaryDirectory()
# A signed PKCS#10 request of CN=u.
REQUEST = (
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIRk1HNENBUUF3RERFS01BZ0dBMVVFQXd3QmRUQlpNQk1HQnlx"
    "R1NNNDlBZ0VHQ0NxR1NNNDlBd0VIQTBJQQpCTTluOXdRR3pMQTNXTWx6MmxjdjJkbmwrV0EybGhBZlVoWURBVjhlYUM1eTU3TThS"
    "NHBJS015eGNVLzZsd3FQCmxSSWRGVGx4anMrdWsvZXdRbWNEbzcrZ0FEQUtCZ2dxaGtqT1BRUURBZ05IQURCRUFpQWZ2VjZsN2xy"
    "VHZDK1oKbjRrYjF3RElFeDNtNVhJY24vb1pQdHNXQitHTWZnSWdjelVLOFFUVGg3N0g2MllacUl2M04ydFRoNFh5UFFHagpBakd0"
    "TjljeW9sdz0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg=="
)


def environment(server, **more):
    return {"PATH": os.environ["PATH"], "HOME": HOME.name, "KUBECONFIG": str(server.data / "admin.kubeconfig"), **more}


def kubectl(server, *words, stdin=None, fails=False, **env):
    """What kubectl printed; stderr when it was expected to fail."""
    done = subprocess.run(["kubectl", "-n", server.ns, *words], env=environment(server, **env), input=stdin, text=True,
                          capture_output=True, timeout=60)
    assert (done.returncode != 0) == fails, f"kubectl {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stderr if fails else done.stdout


def manifest(name, **data):
    lines = "".join(f"  {key}: {json.dumps(value)}\n" for key, value in data.items())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n{lines}"


def make(server, name, **data):
    kubectl(server, "create", "-f", "-", stdin=manifest(name, **data))


@contextlib.contextmanager
def with_controllers():
    """A server whose controllers run, unlike those of the server that the tests share."""
    with Server(sys.argv[1], "--controllers=*") as server:
        server.ns = "default"
        yield server


@test
def resources_and_versions_are_found(server):
    resources = kubectl(server, "api-resources", "-o", "name").split()
    assert {"configmaps", "pods", "deployments.apps", "leases.coordination.k8s.io"} <= set(resources)
    assert "po" in kubectl(server, "api-resources").split()
    assert {"v1", "apps/v1"} <= set(kubectl(server, "api-versions").split())
    assert json.loads(kubectl(server, "version", "-o", "json"))["serverVersion"]["minor"] == "34"


@test
def namespaces_are_there_from_the_start(server):
    names = kubectl(server, "get", "namespaces", "-o", "name").split()
    assert {"namespace/default", "namespace/kube-system", "namespace/kube-public", "namespace/kube-node-lease"} <= set(names)


@test
def manifests_create_and_replace_in_yaml_and_json(server):
    assert kubectl(server, "create", "-f", "-", stdin=manifest("m", k="v")) == "configmap/m created\n"
    body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "j"}, "data": {"k": "v"}}
    assert kubectl(server, "create", "-f", "-", stdin=json.dumps(body)) == "configmap/j created\n"
    assert kubectl(server, "replace", "-f", "-", stdin=manifest("m", k="w")) == "configmap/m replaced\n"
    assert kubectl(server, "get", "cm", "m", "-o", "jsonpath={.data.k}") == "w"
    body["data"]["k"] = "x"
    assert kubectl(server, "replace", "-f", "-", stdin=json.dumps(body)) == "configmap/j replaced\n"
    assert kubectl(server, "get", "cm", "j", "-o", "jsonpath={.data.k}") == "x"
    said = kubectl(server, "create", "-f", "-", stdin=manifest("m"), fails=True)
    assert 'Error from server (AlreadyExists): error when creating "STDIN": configmaps "m" already exists' in said, said


@test
def folders_of_manifests_are_applied_and_deleted(server):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "two.yaml").write_text(manifest("a", k="v") + "---\n" + manifest("b", k="v"))
        (path / "one.json").write_text(json.dumps({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "c"}}))
        made = kubectl(server, "apply", "-f", folder).splitlines()
        assert sorted(made) == [f"configmap/{name} created" for name in "abc"], made
        (path / "two.yaml").write_text(manifest("a", k="w") + "---\n" + manifest("b", k="v"))
        made = kubectl(server, "apply", "-f", folder).splitlines()
        assert sorted(made) == ["configmap/a configured", "configmap/b unchanged", "configmap/c unchanged"], made
        assert kubectl(server, "get", "cm", "a", "-o", "jsonpath={.data}") == '{"k":"w"}'
        kubectl(server, "delete", "-f", folder)
        assert kubectl(server, "get", "cm", "-o", "name") == ""


@test
def objects_are_shown_in_every_form(server):
    make(server, "a", k="v")
    table = kubectl(server, "get", "configmaps")
    assert table.splitlines()[0].split()[0] == "NAME" and table.splitlines()[1].split()[0] == "a", table
    text = kubectl(server, "get", "cm", "a", "-o", "yaml")
    assert text.startswith("apiVersion: v1\ndata:\n  k: v\nkind: ConfigMap\n"), text
    assert json.loads(kubectl(server, "get", "cm", "a", "-o", "json"))["data"] == {"k": "v"}
    assert kubectl(server, "get", "cm", "-o", "name") == "configmap/a\n"
    assert kubectl(server, "get", "cm", "-o", "jsonpath={.items[*].metadata.name}") == "a"
    assert kubectl(server, "get", "cm", "-o", "custom-columns=N:.metadata.name", "--no-headers") == "a\n"
    assert server.ns in kubectl(server, "get", "cm", "-A")
    assert "Name:" in kubectl(server, "describe", "cm", "a")
    assert json.loads(kubectl(server, "get", "--raw", f"{server.maps}/a"))["kind"] == "ConfigMap"


@test
def objects_are_labelled_annotated_and_patched(server):
    make(server, "a", k="v")
    assert kubectl(server, "label", "cm", "a", "x=y") == "configmap/a labeled\n"
    assert kubectl(server, "annotate", "cm", "a", "note=1") == "configmap/a annotated\n"
    assert kubectl(server, "get", "cm", "-l", "x=y", "-o", "name") == "configmap/a\n"
    assert "No resources found" not in kubectl(server, "get", "cm", "--field-selector", "metadata.name=a")
    kubectl(server, "patch", "cm", "a", "--type", "merge", "-p", '{"data":{"z":"1"}}')
    kubectl(server, "patch", "cm", "a", "--type", "json", "-p", '[{"op":"remove","path":"/data/k"}]')
    kubectl(server, "patch", "cm", "a", "-p", '{"data":{"z":"2"}}')
    assert kubectl(server, "get", "cm", "a", "-o", "jsonpath={.data}") == '{"z":"2"}'
    edited = kubectl(server, "edit", "cm", "a", KUBE_EDITOR="sed -i 's/\"2\"/\"3\"/'")
    assert edited == "configmap/a edited\n", edited
    assert kubectl(server, "get", "cm", "a", "-o", "jsonpath={.data}") == '{"z":"3"}'
    assert "--overwrite is false" in kubectl(server, "label", "cm", "a", "x=z", fails=True)
    assert kubectl(server, "label", "cm", "a", "x-") == "configmap/a unlabeled\n"
    said = kubectl(server, "patch", "cm", "b", "--type", "merge", "-p", "{}", fails=True)
    assert 'Error from server (NotFound): configmaps "b" not found' in said, said


@test
def a_watch_shows_changes(server):
    make(server, "a")
    command = ["kubectl", "-n", server.ns, "get", "cm", "-w", "-o", "name"]
    with subprocess.Popen(command, env=environment(server), stdout=subprocess.PIPE, text=True) as watch:
        assert watch.stdout.readline() == "configmap/a\n"
        make(server, "b")
        assert watch.stdout.readline() == "configmap/b\n"
        kubectl(server, "label", "cm", "a", "seen=yes")
        assert watch.stdout.readline() == "configmap/a\n"
        watch.terminate()
    command = ["kubectl", "-n", server.ns, "get", "cm", "b", "-w"]
    with subprocess.Popen(command, env=environment(server), stdout=subprocess.PIPE, text=True) as watch:
        assert watch.stdout.readline().startswith("NAME")
        assert watch.stdout.readline().startswith("b")
        kubectl(server, "label", "cm", "b", "seen=yes")
        assert watch.stdout.readline().startswith("b")
        watch.terminate()
    command = ["kubectl", "-n", server.ns, "get", "cm", "-w", "--output-watch-events", "-o", "jsonpath={.type} {.object.metadata.name}{'\\n'}"]
    with subprocess.Popen(command, env=environment(server), stdout=subprocess.PIPE, text=True) as watch:
        assert [watch.stdout.readline() for _ in range(2)] == ["ADDED a\n", "ADDED b\n"]
        kubectl(server, "annotate", "cm", "a", "seen=yes")
        assert watch.stdout.readline() == "MODIFIED a\n"
        kubectl(server, "delete", "cm", "b")
        assert watch.stdout.readline() == "DELETED b\n"
        watch.terminate()


@test
def objects_are_deleted_and_waited_for(server):
    for name in ("a", "b", "c"):
        make(server, name)
    assert kubectl(server, "delete", "cm", "a").startswith('configmap "a" deleted')
    kubectl(server, "label", "cm", "--all", "old=yes")
    kubectl(server, "delete", "cm", "-l", "old=yes")
    assert kubectl(server, "get", "cm", "-o", "name") == ""
    assert "NotFound" in kubectl(server, "delete", "cm", "a", fails=True)
    make(server, "d", phase="ready")
    kubectl(server, "wait", "cm/d", "--for=jsonpath={.data.phase}=ready", "--timeout=20s")


@test
def namespaces_are_deleted_with_their_content(_):
    with with_controllers() as server:
        for namespace in ("going", "leaving"):
            kubectl(server, "create", "namespace", namespace)
            kubectl(server, "create", "configmap", "a", "--from-literal=k=v", "-n", namespace)
        assert kubectl(server, "delete", "namespace", "going", "--timeout=60s").startswith('namespace "going" deleted')
        assert "NotFound" in kubectl(server, "get", "namespace", "going", fails=True)
        kubectl(server, "delete", "namespace", "leaving", "--wait=false")
        kubectl(server, "wait", "--for=delete", "namespace/leaving", "--timeout=60s")
        kubectl(server, "create", "namespace", "going")
        assert "configmap/a" not in kubectl(server, "get", "cm", "-o", "name", "-n", "going")


@test
def lists_are_written_with_the_validation_that_is_the_default(server):
    pair = {"kind": "List", "apiVersion": "v1", "items": [
        {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}, "data": {"k": "v"}},
        {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "d"}, "spec": {
            "replicas": 1, "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}]}
    for words in (["create"], ["replace"], ["apply"], ["apply"]):
        told = kubectl(server, *words, "-f", "-", stdin=json.dumps(pair)).splitlines()
        assert [line.split(" ")[0] for line in told] == ["configmap/a", "deployment.apps/d"], told
        pair["items"][0]["data"]["k"] += "!"
    assert kubectl(server, "get", "cm", "a", "-o", "jsonpath={.data.k}") == "v!!!"
    kubectl(server, "delete", "-f", "-", stdin=json.dumps(pair))
    # kubectl itself refuses a list, by OpenAPI v2: the server has no part in it.
    bad = {**pair, "items": [{**pair["items"][1], "spec": {"replicas": "one", "unknown": 1}}]}
    said = kubectl(server, "create", "-f", "-", stdin=json.dumps(bad), fails=True)
    for words in ('unknown field "unknown"', 'missing required field "selector"', "invalid type for"):
        assert words in said, said
    typed = {**pair, "kind": "ConfigMapList", "items": pair["items"][:1]}
    assert kubectl(server, "create", "-f", "-", stdin=json.dumps(typed)) == "configmap/a created\n"


@test
def fields_are_explained(server):
    # The last one of the old form, which reads version 2 in protobuf.
    assert "rollingUpdate" in kubectl(server, "explain", "deployments.spec.strategy", "--output=plaintext-openapiv2")
    assert "IfNotPresent" in kubectl(server, "explain", "pods.spec.containers.imagePullPolicy")
    assert "does not exist" in kubectl(server, "explain", "pods.spec.nothing", fails=True)


@test
def unknown_fields_are_refused_or_warned_of(server):
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "strict"},
           "spec": {"unknown": 1, "containers": [{"name": "c", "image": "i"}]}}
    for words in ["--validate=strict"], ["--validate=true"], []:
        assert 'unknown field "spec.unknown"' in kubectl(server, "create", *words, "-f", "-", stdin=json.dumps(pod), fails=True)
    kubectl(server, "create", "--validate=warn", "-f", "-", stdin=json.dumps(pod))
    del pod["spec"]["unknown"]
    pod["metadata"]["name"] = "known"
    assert kubectl(server, "create", "--validate=strict", "-f", "-", stdin=json.dumps(pod)) == "pod/known created\n"
    assert kubectl(server, "diff", "-f", "-", stdin=json.dumps(pod)) == ""


@test
def what_cannot_be_patched_is_created_with_the_validation_that_is_the_default(server):
    review = {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1",
              "spec": {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": server.ns}}}
    allowed = kubectl(server, "create", "-f", "-", "-o", "jsonpath={.status.allowed}", stdin=json.dumps(review))
    assert allowed == "true"
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    kubectl(server, "create", "-f", "-", stdin=json.dumps(pod))
    binding = {"kind": "Binding", "apiVersion": "v1", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    kubectl(server, "create", "-f", "-", stdin=json.dumps(binding))
    assert kubectl(server, "get", "pod", "p", "-o", "jsonpath={.spec.nodeName}") == "n"


@test
def the_texts_of_a_secret_become_its_data(server):
    secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  k: "
    kubectl(server, "apply", "-f", "-", stdin=secret + "v\n")
    kubectl(server, "apply", "-f", "-", stdin=secret + "w\n")
    assert kubectl(server, "get", "secret", "s", "-o", "jsonpath={.data}{.stringData}") == '{"k":"dw=="}'


@test
def other_kinds_are_written_too(server):
    deployment = {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "web"},
                  "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
                           "template": {"metadata": {"labels": {"app": "web"}},
                                        "spec": {"containers": [{"name": "c", "image": "nginx"}]}}}}
    kubectl(server, "create", "-f", "-", stdin=json.dumps(deployment))
    assert kubectl(server, "get", "deploy", "web", "-o", "jsonpath={.metadata.generation}") == "1"
    secret = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}, "data": {"p": "cQ=="}}
    kubectl(server, "create", "-f", "-", stdin=json.dumps(secret))
    assert kubectl(server, "get", "secret", "s", "-o", "jsonpath={.data.p}") == "cQ=="
    kubectl(server, "delete", "deploy/web", "secret/s")


@test
def a_resource_is_shown_in_each_of_its_versions(server):
    event = {"kind": "Event", "apiVersion": "events.k8s.io/v1", "metadata": {"name": "e"}, "note": "hello", "reason": "R",
             "type": "Normal", "regarding": {"kind": "Pod", "name": "p", "namespace": server.ns}, "action": "A",
             "eventTime": "2025-01-01T00:00:00.000000Z", "reportingController": "example.com/c", "reportingInstance": "i"}
    kubectl(server, "create", "-f", "-", stdin=json.dumps(event))
    assert kubectl(server, "get", "events.v1.events.k8s.io", "e", "-o", "jsonpath={.note}") == "hello"
    assert kubectl(server, "get", "events.v1.", "e", "-o", "jsonpath={.message}") == "hello"
    found = kubectl(server, "get", "events.v1.events.k8s.io", "--field-selector", "regarding.name=p", "-o", "name")
    assert found == "event.events.k8s.io/e\n"
    assert kubectl(server, "get", "events", "--field-selector", "involvedObject.name=q", "-o", "name") == ""
    assert "hello" in kubectl(server, "events")
    scaler = {"kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v1", "metadata": {"name": "h"},
              "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 50,
                       "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}}
    kubectl(server, "apply", "-f", "-", stdin=json.dumps(scaler))
    cpu = "jsonpath={.spec.targetCPUUtilizationPercentage}"
    assert kubectl(server, "get", "horizontalpodautoscalers.v1.autoscaling", "h", "-o", cpu) == "50"
    cpu = "jsonpath={.spec.metrics[0].resource.target.averageUtilization}"
    assert kubectl(server, "get", "hpa", "h", "-o", cpu) == "50"
    assert "/ 50%" in kubectl(server, "describe", "hpa", "h")


@test
def users_ask_who_they_are_and_what_they_may(server):
    assert "kubernetes-admin" in kubectl(server, "auth", "whoami")
    assert kubectl(server, "auth", "can-i", "delete", "pods").strip() == "yes"
    assert "*.*" in kubectl(server, "auth", "can-i", "--list")


@test
def an_administrator_acts_as_somebody_else(server):
    said = kubectl(server, "auth", "whoami", "--as=bob", "--as-group=dev", "--as-uid=7", "-o", "json")
    assert json.loads(said)["status"]["userInfo"] == {"username": "bob", "uid": "7", "groups": ["dev", "system:authenticated"]}
    assert "cannot create resource" in kubectl(server, "create", "configmap", "of-bob", "--as=bob", fails=True)
    assert "of-bob" not in kubectl(server, "get", "configmaps", "-o", "name")
    kubectl(server, "auth", "can-i", "delete", "pods", "--as=bob", fails=True)


@test
def workloads_are_scaled_and_nodes_drained(server):
    workload = {"kind": "StatefulSet", "apiVersion": "apps/v1", "metadata": {"name": "s"},
                "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {
                    "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}
    kubectl(server, "create", "-f", "-", stdin=json.dumps(workload))
    kubectl(server, "scale", "statefulset/s", "--replicas=4")
    assert kubectl(server, "get", "sts", "s", "-o", "jsonpath={.spec.replicas}") == "4"
    node = "node-" + server.ns
    kubectl(server, "create", "-f", "-", stdin=json.dumps({"kind": "Node", "apiVersion": "v1", "metadata": {"name": node}}))
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}, "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}}
    kubectl(server, "create", "-f", "-", stdin=json.dumps(pod))
    assert "evicted" in kubectl(server, "drain", node, "--force", "--grace-period=0", "--timeout=60s")


@test
def generators_and_approvals_are_understood(server):
    kubectl(server, "create", "configmap", "c", "--from-literal=k=v")
    assert kubectl(server, "get", "cm", "c", "-o", "jsonpath={.data.k}") == "v"
    kubectl(server, "create", "secret", "generic", "s", "--from-literal=k=v")
    assert kubectl(server, "get", "secret", "s", "-o", "jsonpath={.data.k}") == "dg=="
    kubectl(server, "create", "serviceaccount", "a")
    name = "csr-" + server.ns
    request = {"kind": "CertificateSigningRequest", "apiVersion": "certificates.k8s.io/v1", "metadata": {"name": name},
               "spec": {"signerName": "example.com/x", "request": REQUEST, "usages": ["client auth"]}}
    kubectl(server, "create", "-f", "-", stdin=json.dumps(request))
    kubectl(server, "certificate", "approve", name)
    assert kubectl(server, "get", "csr", name, "-o", "jsonpath={.status.conditions[0].type}") == "Approved"


@test
def every_generator_makes_its_object(server):
    cluster = "g-" + server.ns
    made = [
        ("deployment", "d", ["--image=nginx", "--replicas=2", "--port=80"], "{.spec.template.spec.containers[0].ports[0].containerPort}", "80"),
        ("job", "j", ["--image=x", "--", "sh", "-c", "a && b"], "{.spec.template.spec.containers[0].command[2]}", "a && b"),
        ("cronjob", "c", ["--image=x", "--schedule=*/5 * * * *"], "{.spec.schedule}", "*/5 * * * *"),
        ("role", "r", ["--verb=get,list", "--resource=pods"], "{.rules[0].verbs}", '["get","list"]'),
        ("rolebinding", "rb", ["--role=r", "--user=u"], "{.subjects[0].name}", "u"),
        ("clusterrole", cluster, ["--verb=get", "--non-resource-url=/x"], "{.rules[0].nonResourceURLs[0]}", "/x"),
        ("clusterrolebinding", cluster, ["--clusterrole=r", "--group=g"], "{.subjects[0].kind}", "Group"),
        ("quota", "q", ["--hard=pods=3,requests.cpu=1500m"], "{.spec.hard['requests\\.cpu']}", "1500m"),
        ("ingress", "i", ["--rule=a.example/x*=s:http"], "{.spec.rules[0].http.paths[0].backend.service.port.name}", "http"),
        ("pdb", "p", ["--selector=a=b", "--min-available=50%"], "{.spec.minAvailable}", "50%"),
        ("priorityclass", cluster, ["--value=-7"], "{.value}", "-7"),
    ]
    for kind, name, arguments, path, want in made:
        kubectl(server, "create", kind, name, *arguments)
        assert kubectl(server, "get", kind, name, "-o", "jsonpath=" + path) == want, (kind, path)
    kubectl(server, "create", "service", "clusterip", "s", "--tcp=80:http")
    assert kubectl(server, "get", "service", "s", "-o", "jsonpath={.spec.ports[0].targetPort}") == "http"
    kubectl(server, "run", "one", "--image=x", "--labels=a=b")
    kubectl(server, "expose", "pod", "one", "--port=80")
    kubectl(server, "autoscale", "deployment", "d", "--max=3")
    kubectl(server, "set", "image", "deployment/d", "nginx=nginx:2")
    kubectl(server, "rollout", "restart", "deployment/d")
    assert kubectl(server, "get", "deployment", "d", "-o", "jsonpath={.spec.template.spec.containers[0].image}") == "nginx:2"
    for kind, name in (("clusterrole", cluster), ("clusterrolebinding", cluster), ("priorityclass", cluster)):
        kubectl(server, "delete", kind, name)


def make_owned(server, owner, name, **metadata):
    """A ConfigMap that `owner`, another one, owns, and whose deletion waits for it in the foreground."""
    uid = kubectl(server, "get", "cm", owner, "-o", "jsonpath={.metadata.uid}")
    ref = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid, "blockOwnerDeletion": True}
    body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "ownerReferences": [ref], **metadata}}
    kubectl(server, "create", "-f", "-", stdin=json.dumps(body))


@test
def a_background_deletion_takes_the_dependents_with_it(_):
    with with_controllers() as server:
        make(server, "owner", k="v")
        make_owned(server, "owner", "child")
        make_owned(server, "child", "grandchild")
        assert kubectl(server, "delete", "cm", "owner", "--cascade=background").startswith('configmap "owner" deleted')
        kubectl(server, "wait", "--for=delete", "cm/child", "cm/grandchild", "--timeout=60s")
        assert "NotFound" in kubectl(server, "get", "cm", "grandchild", fails=True)


@test
def a_foreground_deletion_waits_for_the_dependents(_):
    with with_controllers() as server:
        make(server, "owner", k="v")
        make_owned(server, "owner", "child", finalizers=["example.com/hold"])
        kubectl(server, "delete", "cm", "owner", "--cascade=foreground", "--wait=false")
        assert kubectl(server, "get", "cm", "owner", "-o", "jsonpath={.metadata.finalizers[0]}") == "foregroundDeletion"
        kubectl(server, "wait", "--for=jsonpath={.metadata.deletionGracePeriodSeconds}=0", "cm/child", "--timeout=60s")
        # The child is held by its finalizer, and the owner by the child.
        said = kubectl(server, "wait", "--for=delete", "cm/owner", "--timeout=1s", fails=True)
        assert "timed out waiting for the condition on configmaps/owner" in said, said
        waits = subprocess.Popen(["kubectl", "-n", server.ns, "wait", "--for=delete", "cm/owner", "cm/child", "--timeout=60s"],
                                 env=environment(server), stdout=subprocess.PIPE, text=True)
        kubectl(server, "patch", "cm", "child", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        waits.communicate(timeout=90)
        assert waits.returncode == 0
        assert kubectl(server, "get", "cm", "owner", "child", "--ignore-not-found", "-o", "name") == ""


@test
def an_orphan_deletion_leaves_the_dependents(_):
    with with_controllers() as server:
        make(server, "owner", k="v")
        make_owned(server, "owner", "child")
        assert kubectl(server, "delete", "cm", "owner", "--cascade=orphan").startswith('configmap "owner" deleted')
        assert "NotFound" in kubectl(server, "get", "cm", "owner", fails=True)
        assert kubectl(server, "get", "cm", "child", "-o", "jsonpath={.metadata.ownerReferences}") == ""


@test
def custom_resources_are_deleted_with_each_cascade(_):
    """Also those that they own, of built-in kinds and of their own."""
    with with_controllers() as server:
        kubectl(server, "create", "-f", str(ROOT / "examples/boats.yaml"))
        kubectl(server, "wait", "--for=condition=Established", "crd/boats.harbour.example.com")
        boat = {"kind": "Boat", "apiVersion": "harbour.example.com/v1", "metadata": {"name": "owner"}, "spec": {"crew": 1}}
        for cascade in "background", "foreground", "orphan":
            kubectl(server, "create", "-f", "-", stdin=json.dumps(boat))
            uid = kubectl(server, "get", "boat", "owner", "-o", "jsonpath={.metadata.uid}")
            ref = {"apiVersion": "harbour.example.com/v1", "kind": "Boat", "name": "owner", "uid": uid, "blockOwnerDeletion": True}
            for child in {**boat, "metadata": {"name": "child", "ownerReferences": [ref]}}, \
                    {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "child", "ownerReferences": [ref]}}:
                kubectl(server, "create", "-f", "-", stdin=json.dumps(child))
            assert kubectl(server, "delete", "boat", "owner", f"--cascade={cascade}").startswith('boat.harbour.example.com "owner" deleted')
            if cascade == "orphan":
                left = kubectl(server, "get", "boat/child", "configmap/child", "-o", "jsonpath={.items[*].metadata.ownerReferences}")
                assert left == "", left
            elif cascade == "foreground":
                assert kubectl(server, "get", "boat/child", "configmap/child", "--ignore-not-found") == ""
            else:
                kubectl(server, "wait", "--for=delete", "boat/child", "configmap/child", "--timeout=60s")
        kubectl(server, "delete", "crd", "boats.harbour.example.com")
        assert "NotFound" in kubectl(server, "get", "--raw", "/apis/harbour.example.com/v1", fails=True)


def lines_of(text):
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def documented_commands(text):
    """[command, what it prints] of the blocks of a document whose first line begins with `$ `."""
    found = []
    for block in re.findall(r"^```\n(\$ .*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append([line[2:], ""])
            else:
                found[-1][1] += line + "\n"
    return found


@test
def the_five_minutes_of_custom_resources_print_what_is_documented(server):
    """A command whose status is not 0 is compared like the others: the document shows what kubectl says then."""
    program = pathlib.Path(sys.argv[1]).resolve()
    commands, background = documented_commands((ROOT / "docs/custom-resources.md").read_text()), []
    assert len(commands) > 15, commands
    try:
        for command, wanted in commands:
            words = {"cwd": ROOT, "env": environment(server), "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
            line = command.replace("build/", f"{program.parent}/")
            if command.endswith(" &"):
                background.append(subprocess.Popen(["sh", "-c", "exec " + line.removesuffix(" &")], **words))
                continue
            said = subprocess.run(["sh", "-c", line], timeout=120, check=False, **words).stdout
            assert lines_of(said) == lines_of(wanted), f"$ {command}\n{said}"
    finally:
        for process in background:
            process.kill()
            process.communicate()


@test
def the_picture_of_the_readme_shows_what_kubectl_prints(server):
    """It is compared where kubectl has the release that it was made with."""
    done = subprocess.run(["python3", ROOT / "tools" / "picture.py", sys.argv[1], "--check", ROOT / "docs" / "session.svg"], text=True,
                          capture_output=True, timeout=240)
    assert done.returncode in (0, 77), done.stdout + done.stderr


if __name__ == "__main__":
    main()
