#!/usr/bin/env python3
"""A kube-apiserver, which COR_KUBE_APISERVER names, and Coracle on one etcd: what one writes, the other reads, watches and changes.
etcd_takeover.py PROGRAM [only=WORD] [FLAG...]"""

import base64
import json
import os
import pathlib
import signal
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "differential"))

import differential  # noqa: E402
import records  # noqa: E402
from etcd_cluster import Cluster, base64_of, wait_for  # noqa: E402
from etcd_servers import MAPS, WAIT_S, encryption_file, play_all, revision, values  # noqa: E402
from fixture import Server, config_map  # noqa: E402
from kube_apiserver import KubeApiserver  # noqa: E402
from tables import Types  # noqa: E402

JSON = "application/json"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TESTS = []
types = Types()


def test(function):
    TESTS.append(function)
    return function


@test
def kube_apiserver_reads_what_was_written_here_and_the_other_way(coracle, flags):
    with tempfile.TemporaryDirectory() as name, Cluster() as etcd, \
            KubeApiserver(etcd, pathlib.Path(name)) as kube, Server(coracle, "--etcd-servers", etcd.urls, *flags) as a:
        watch = a.watch(f"{MAPS}?watch=1&resourceVersion={revision(a)}")
        status, theirs = kube.request("POST", MAPS, config_map("theirs", k="v"))
        assert status == 201, theirs
        seen = next(watch)["object"]
        for read in (seen, a.get(MAPS + "/theirs").expect(200).json()):
            assert read["data"] == {"k": "v"}
            assert read["metadata"]["uid"] == theirs["metadata"]["uid"]
            assert read["metadata"]["resourceVersion"] == theirs["metadata"]["resourceVersion"]
        ours = a.create(MAPS, config_map("ours", k="w"))
        status, read = kube.request("GET", MAPS + "/ours")
        assert status == 200 and read["data"] == {"k": "w"}, read
        assert read["metadata"]["uid"] == ours["metadata"]["uid"]
        assert read["metadata"]["resourceVersion"] == ours["metadata"]["resourceVersion"]
        theirs["data"] = {"k": "changed here"}
        a.request("PUT", MAPS + "/theirs", theirs).expect(200)
        status, read = kube.request("GET", MAPS + "/theirs?resourceVersion=0")
        wait_for("their cache", WAIT_S, lambda: kube.request("GET", MAPS + "/theirs?resourceVersion=0")[1]["data"] == theirs["data"])
        status, read = kube.request("DELETE", MAPS + "/ours")
        assert status == 200, read
        assert a.get(MAPS + "/ours").status == 404
        watch.close()


@test
def kube_apiserver_reads_what_was_encrypted_here_and_the_other_way(coracle, flags):
    """By the same file; each provider has a resource."""
    things = {"aesgcm": ("configmaps", {"data": {"k": "v"}}), "aescbc": ("secrets", {"data": {"k": "dg=="}}),
              "secretbox": ("serviceaccounts", {"secrets": [{"name": "s"}]})}
    with tempfile.TemporaryDirectory() as name, Cluster() as etcd:
        option = f"--encryption-provider-config={encryption_file(name, {kind: thing[0] for kind, thing in things.items()})}"
        with KubeApiserver(etcd, pathlib.Path(name), option) as kube, \
                Server(coracle, "--etcd-servers", etcd.urls, option, *flags) as a:
            for kind, (resource, content) in things.items():
                path, key = f"/api/v1/namespaces/default/{resource}", f"/registry/{resource}/default/"
                watch = a.watch(f"{path}?watch=1&resourceVersion={revision(a)}")
                status, theirs = kube.request("POST", path, {"metadata": {"name": "theirs"}, **content})
                assert status == 201, theirs
                read = a.get(path + "/theirs").expect(200).json()
                assert read["metadata"]["uid"] == theirs["metadata"]["uid"]
                assert {field: read[field] for field in content} == content and next(watch)["object"] == read
                watch.close()
                ours = a.create(path, {"metadata": {"name": "ours"}, **content})
                assert all(value.startswith(f"k8s:enc:{kind}:v1:k:".encode()) for value in values(etcd, key)), values(etcd, key)
                for made in (ours, a.request("PUT", path + "/theirs", {**read, **content, "metadata": {
                        **read["metadata"], "labels": {"changed": "here"}}}).expect(200).json()):
                    status, got = kube.request("GET", f"{path}/{made['metadata']['name']}")
                    assert status == 200 and got["metadata"] == made["metadata"], (got, made)
                    assert {field: got[field] for field in content} == content


def different(ours, theirs, path=""):
    """Where two objects differ, and how."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [d for key in {**ours, **theirs} for d in different(ours.get(key), theirs.get(key), f"{path}.{key}")]
    return [] if ours == theirs else [(path, ours, theirs)]


def every_kind():
    """The kinds of tests/differential, each with a full object of its own name."""
    names = set()
    for record in records.read_all(differential.all_kinds(types), types):
        kind = record.kind
        if "full" not in kind:  # A review, which is not stored.
            continue
        made = json.loads(json.dumps(kind["full"]))
        # Events and autoscalers have two versions of one storage.
        if (kind["path"].split("/")[-1], kind["name"]) in names:
            made["metadata"]["name"] += "-again"
        names.add((kind["path"].split("/")[-1], kind["name"]))
        yield kind["path"], made["metadata"]["name"], made


def stored_value(etcd, version):
    """The value that was written at a revision, as long as it is the newest of its key."""
    everything = {"key": base64_of("\0"), "range_end": base64_of("\0"), "min_mod_revision": version, "max_mod_revision": version}
    return base64.b64decode(etcd.members[0].ask("/v3/kv/range", everything)["kvs"][0]["value"])


class Both:
    """Coracle and kube-apiserver on one etcd, and one object that both of them change."""

    def __init__(self, ours, kube, path, name):
        self.ours, self.kube, self.path, self.object = ours, kube, path, f"{path}/{name}"
        start = ours.get(self.object).expect(200).json()["metadata"]["resourceVersion"]
        self.watch = ours.watch(f"{path}?watch=1&resourceVersion={start}&fieldSelector=metadata.name%3D{name}")

    def same(self):
        """The object as both show it. Controllers of kube-apiserver may write to it meanwhile."""
        def found():
            ours, theirs = self.ours.get(self.object).expect(200).json(), self.kube.request("GET", self.object)[1]
            return (ours, theirs) if ours["metadata"]["resourceVersion"] == theirs["metadata"]["resourceVersion"] else None

        ours, theirs = wait_for(f"one state of {self.object}", WAIT_S, found)
        assert not different(ours, theirs), (self.object, different(ours, theirs))
        return ours

    def seen(self, changed):
        """The watch shows a state that one of the two has answered."""
        for event in self.watch:
            if event["object"]["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]:
                assert event["type"] == "MODIFIED" and not different(event["object"], changed), (event, changed)
                return

    def change_here(self, put, label):
        """A PUT of what was read, or a merge patch; again when somebody else was faster."""
        def changed():
            if put:
                body = self.ours.get(self.object).expect(200).json()
                body["metadata"].setdefault("labels", {})["taken"] = label
                answer = self.ours.request("PUT", self.object, body)
            else:
                answer = self.ours.request("PATCH", self.object, {"metadata": {"labels": {"taken": label}}},
                                           Content_Type="application/merge-patch+json")
            return None if answer.status == 409 else answer.expect(200).json()

        return wait_for(f"a change of {self.object}", WAIT_S, changed)

    def change_there(self, label):
        status, changed = self.kube.request("PATCH", self.object, {"metadata": {"labels": {"taken": label}}},
                                            Content_Type="application/merge-patch+json")
        assert status == 200, changed
        return changed


def change_every_kind(ours, kube, etcd, kinds, media):
    is_protobuf = "protobuf" in media
    for path, name, _ in kinds:
        both = Both(ours, kube, path, name)
        both.same()
        changed = both.change_here(not is_protobuf, "here-" + media[-4:])
        assert changed["metadata"]["labels"]["taken"] == "here-" + media[-4:]
        both.seen(changed)
        assert both.same()["metadata"]["labels"]["taken"] == "here-" + media[-4:]
        if both.same()["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]:
            value = stored_value(etcd, changed["metadata"]["resourceVersion"])
            assert value.startswith(b"k8s\0" if is_protobuf else b"{"), (path, value[:80])
        # kube-apiserver goes on with what was written here.
        changed = both.change_there("there-" + media[-4:])
        both.seen(changed)
        assert both.same()["metadata"]["labels"]["taken"] == "there-" + media[-4:]
        both.watch.close()


def take_over(coracle, flags, kept, medias):
    """kube-apiserver keeps its objects in one form, Coracle changes them in the others."""
    kinds = list(every_kind())
    with tempfile.TemporaryDirectory() as name, Cluster() as etcd, \
            KubeApiserver(etcd, pathlib.Path(name), f"--storage-media-type={kept}",
                          f"--disable-admission-plugins={differential.NO_ADMISSION}") as kube:
        space = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": differential.NAMESPACE}}
        assert kube.request("POST", "/api/v1/namespaces", space)[0] == 201
        for path, _, made in kinds:
            status, answer = kube.request("POST", path, made)
            assert status == 201, (path, answer)
        head = b"k8s\0" if kept == PROTOBUF else b"{"
        assert all(value.startswith(head) for value in values(etcd, "/registry/deployments/"))
        for media in medias:
            with Server(coracle, "--etcd-servers", etcd.urls, f"--storage-media-type={media}", *flags) as ours:
                lacking = created_kinds(ours) - {path.split("/")[-1] for path, *_ in kinds}
                assert not lacking, f"minimal.json lacks {lacking}"
                change_every_kind(ours, kube, etcd, kinds, media)
        print(f"# objects of {len(kinds)} kinds were taken over")


@test
def every_kind_that_kube_apiserver_keeps_as_protobuf_is_served_changed_and_watched_beside_it(coracle, flags):
    """Contract types 1.1 to 1.3: a full object of each kind. kube-apiserver reads what was changed here in either form, and goes on."""
    take_over(coracle, flags, PROTOBUF, (JSON, PROTOBUF))


@test
def every_kind_that_kube_apiserver_keeps_as_json_is_served_changed_and_watched_beside_it(coracle, flags):
    take_over(coracle, flags, JSON, (JSON,))


def created_kinds(server):
    """Plurals of all built-in resources that can be created, read and listed."""
    custom = {crd["spec"]["group"] for crd in server.get(CRDS).expect(200).json()["items"]}
    groups = [group for group in server.get("/apis").expect(200).json()["groups"] if group["name"] not in custom]
    paths = ["/api/v1"] + ["/apis/" + version["groupVersion"] for group in groups for version in group["versions"]]
    return {item["name"] for path in paths for item in server.get(path).expect(200).json()["resources"]
            if {"create", "get", "list"} <= set(item["verbs"])}


@test
def what_kube_apiserver_made_for_itself_is_the_same_here(coracle, flags):
    """Roles, priority levels, services, leases …, as protobuf."""
    with tempfile.TemporaryDirectory() as name, Cluster() as etcd, \
            KubeApiserver(etcd, pathlib.Path(name), f"--storage-media-type={PROTOBUF}") as kube, \
            Server(coracle, "--etcd-servers", etcd.urls, *flags) as a:
        lists = [(f"/apis/{group}" if group else "/api") + f"/{version}/{plural}" for group, version, plural in served(kube)]
        compared = 0
        for path in lists:
            theirs = {item["metadata"]["name"] + item["metadata"].get("namespace", ""): item for item in kube.request("GET", path)[1]["items"]}
            for item in a.get(path).expect(200).json()["items"]:
                there = theirs.get(item["metadata"]["name"] + item["metadata"].get("namespace", ""))
                # A lease or an event may have changed meanwhile.
                if there and there["metadata"]["resourceVersion"] == item["metadata"]["resourceVersion"]:
                    assert item == there, (path, different(item, there))
                    compared += 1
        assert compared > 100, compared
        print(f"# {compared} objects of {len(lists)} resources are the same")


def served(kube):
    """(group, version, plural) of what can be listed, in the version that is stored."""
    skipped = {"componentstatuses", "events"}
    for group, version in [("", "v1")] + [(g["name"], g["preferredVersion"]["version"]) for g in kube.request("GET", "/apis")[1]["groups"]]:
        resources = kube.request("GET", (f"/apis/{group}" if group else "/api") + f"/{version}")[1]["resources"]
        for resource in resources:
            if "list" in resource["verbs"] and resource["name"] not in skipped:
                yield group, version, resource["name"]


# What Kubernetes shows and nothing here can do: tokens that are signed.
NOT_HERE = {"serviceaccounts/token"}


def discovery(get):
    """Every resource with all that is said of it, by version, and the groups in their order."""
    groups = get("/apis")["groups"]
    paths = ["/api/v1"] + ["/apis/" + version["groupVersion"] for group in groups for version in group["versions"]]
    shown = {path: [item for item in get(path)["resources"] if item["name"] not in NOT_HERE] for path in paths}
    return groups, shown


@test
def kube_apiserver_shows_the_same_discovery(coracle, flags):
    with tempfile.TemporaryDirectory() as name, Cluster() as etcd, \
            KubeApiserver(etcd, pathlib.Path(name)) as kube, Server(coracle, "--etcd-servers", etcd.urls, *flags) as a:
        theirs = discovery(lambda path: kube.request("GET", path)[1])
        ours = discovery(lambda path: a.get(path).expect(200).json())
        assert ours[0] == theirs[0], ours[0]
        for path, resources in theirs[1].items():
            assert ours[1][path] == resources, (path, ours[1][path], resources)


def comparable(thing):
    """Without what upstream's types add to every object, and with JSON in annotations read."""
    if isinstance(thing, dict):
        return {key: comparable(json.loads(value) if "autoscaling.alpha" in key else value) for key, value in thing.items()
                if value not in (None, {}) and key != "managedFields"}
    return [comparable(item) for item in thing] if isinstance(thing, list) else thing


@test
def kube_apiserver_converts_to_the_same_versions(coracle, flags):
    def same(kube, server, *paths):
        for path in paths:
            status, theirs = kube.request("GET", path)
            assert status == 200, theirs
            assert comparable(server.get(path).expect(200).json()) == comparable(theirs), path

    def paths(plural, name, *versions):
        return [f"/{version}/namespaces/default/{plural}/{name}" for version in versions]

    event = {"note": "n", "eventTime": "2024-01-01T00:00:00.000000Z", "reportingController": "a.b/c", "reportingInstance": "i",
             "action": "A", "reason": "R", "type": "Normal", "regarding": {"kind": "Pod", "namespace": "default", "name": "p"}}
    metric = {"type": "Pods", "pods": {"metric": {"name": "p"}, "target": {"type": "AverageValue", "averageValue": "1k"}}}
    cpu = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 40}}}
    spec = {"minReplicas": 1, "maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}
    with tempfile.TemporaryDirectory() as name, Cluster() as etcd, \
            KubeApiserver(etcd, pathlib.Path(name)) as kube, Server(coracle, "--etcd-servers", etcd.urls, *flags) as a:
        new, hpa = "/apis/events.k8s.io/v1/namespaces/default/events", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
        a.create(new, {"metadata": {"name": "ours"}, **event})
        status, made = kube.request("POST", new, {"metadata": {"name": "theirs"}, **event})
        assert status == 201, made
        a.create(hpa.replace("v2", "v1"), {"metadata": {"name": "ours"}, "spec": {**spec, "targetCPUUtilizationPercentage": 50}})
        status, made = kube.request("POST", hpa, {"metadata": {"name": "theirs"}, "spec": {**spec, "metrics": [metric, cpu]}})
        assert status == 201, made
        for name in ("ours", "theirs"):
            same(kube, a, *paths("events", name, "api/v1", "apis/events.k8s.io/v1"))
            same(kube, a, *paths("horizontalpodautoscalers", name, "apis/autoscaling/v1", "apis/autoscaling/v2"))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if not os.environ.get("COR_KUBE_APISERVER"):
        print("1..0 # SKIP name a kube-apiserver in COR_KUBE_APISERVER")
        sys.exit(0)
    sys.exit(play_all(TESTS))
