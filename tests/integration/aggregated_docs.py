#!/usr/bin/env python3
"""Discovery and OpenAPI of servers behind this one: aggregated_docs.py PROGRAM [FLAG...]

The last tests compare all documents with those of the kube-apiserver that COR_KUBE_APISERVER names, with the same server behind it:
one that answers with the documents of the sample-apiserver that stands beside it."""

import http.client
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import tempfile

from certificates import Authority
from docs_target import AGGREGATED, GROUP, Doc, DocsTarget, api_service, discovery, resource
from etcd_cluster import Cluster, held_port, wait_for
from fixture import Server, Skip, await_it, main, test
from kube_apiserver import KubeApiserver

PROGRAM, FLAGS = sys.argv[1], sys.argv[2:]
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
V1 = f"/apis/{GROUP}/v1alpha1"
FLUNDER = {"type": "object", "properties": {"metadata": {"$ref": "#/definitions/Meta"}},
           "x-kubernetes-group-version-kind": [{"group": GROUP, "kind": "Flunder", "version": "v1alpha1"}]}
OPENAPI_2 = {"swagger": "2.0", "info": {"title": "wardle", "version": "1"},
             "paths": {f"{V1}/flunders": {"get": {"produces": ["application/json"], "operationId": "listFlunder", "responses": {
                 "200": {"description": "OK", "schema": {"$ref": "#/definitions/Flunder"}}}}},
                 "/apis/apps/v1/deployments": {"get": {"operationId": "lie", "responses": {}}}},
             "definitions": {"Flunder": FLUNDER, "Meta": {"type": "object"}, "io.k8s.api.core.v1.Pod": {"type": "string"}}}


def documents():
    return {"/apis": Doc(discovery(v1alpha1=[resource("flunders", "Flunder", shortNames=["fl"])]), AGGREGATED, etag='"1"'),
            "/openapi/v2": Doc(OPENAPI_2, etag='"2"'),
            # By this it is judged to be available.
            V1: Doc({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/v1alpha1", "resources": []})}


class Behind:
    """A server with another one behind it."""

    def __init__(self, docs, *versions):
        if not shutil.which("openssl"):
            raise Skip("openssl is not there")
        self.target, self.versions = DocsTarget(docs), versions
        self.server = Server(PROGRAM, f"--aggregator-resolve=api.wardle=127.0.0.1:{self.target.port}", *FLAGS)

    def __enter__(self):
        self.target.__enter__()
        self.server.__enter__()
        self.server.create("/api/v1/namespaces", {"metadata": {"name": "wardle"}})
        self.server.create("/api/v1/namespaces/wardle/services", {"metadata": {"name": "api"}, "spec": {"ports": [{"port": 443}]}})
        for number, version in enumerate(self.versions):
            self.server.create(SERVICES, api_service(version, 443, priority=20 - number))
        return self

    def __exit__(self, *why):
        self.server.__exit__(*why)
        self.target.__exit__(*why)

    def get(self, path, accept="application/json"):
        return self.server.get(path, Accept=accept).expect(200).json()

    def group(self):
        return group_of(self.get("/apis", AGGREGATED))

    def freshness(self):
        return [version["freshness"] for version in (self.group() or {"versions": []})["versions"]]


def group_of(discovered):
    return next((item for item in discovered["items"] if item["metadata"].get("name") == GROUP), None)


@test
def a_group_of_another_server_is_discovered(server):
    """Contract extension 4.5.1, 4.5.2, 4.5.3."""
    with Behind(documents(), "v1alpha1") as behind:
        await_it(lambda: behind.freshness() == ["Current"], "the group")
        assert behind.group()["versions"][0]["resources"] == [resource("flunders", "Flunder", shortNames=["fl"])]
        protobuf = AGGREGATED.replace("json", "vnd.kubernetes.protobuf", 1)
        assert b"flunders" in behind.server.get("/apis", Accept=protobuf).expect(200).body
        await_it(lambda: "Flunder" in behind.get("/openapi/v2")["definitions"], "its document")
        first = behind.server.get("/apis", Accept=AGGREGATED).headers["ETag"]
        assert behind.server.get("/apis", Accept=AGGREGATED, If_None_Match=first).status == 304
        # Its death shows in the aggregated form, and in no other.
        behind.target.docs.clear()
        behind.target.listener.server_close()
        refresh(behind)
        await_it(lambda: behind.freshness() == ["Stale"], "the end of the group")
        assert "resources" not in behind.group()["versions"][0]
        assert behind.server.get("/apis", Accept=AGGREGATED, If_None_Match=first).status == 200
        assert GROUP in [group["name"] for group in behind.get("/apis")["groups"]]
        assert behind.get(f"/apis/{GROUP}")["preferredVersion"]["version"] == "v1alpha1"
        # Its documents stay.
        assert "Flunder" in behind.get("/openapi/v2")["definitions"]


@test
def a_version_without_a_service_is_stale(server):
    """Worked case 35."""
    with Behind({}) as behind:
        behind.server.request("DELETE", "/api/v1/namespaces/wardle/services/api").expect(200)
        behind.server.create(SERVICES, api_service("v1alpha1", 443))
        await_it(lambda: behind.group() == {"metadata": {"name": GROUP}, "versions": [{"version": "v1alpha1", "freshness": "Stale"}]})


@test
def openapi_of_another_server_is_merged(server):
    """Contract extension 4.5.5, 4.5.6: paths of other groups are dropped, a definition of ours keeps its name, and version 3 is made of
    version 2."""
    with Behind(documents(), "v1alpha1") as behind:
        path = f"{V1}/flunders"
        await_it(lambda: path in behind.get("/openapi/v2")["paths"], "the path")
        doc = behind.get("/openapi/v2")
        assert doc["paths"][path] == OPENAPI_2["paths"][path]
        assert doc["definitions"]["Flunder"] == FLUNDER and doc["definitions"]["io.k8s.api.core.v1.Pod"]["type"] == "object"
        assert doc["definitions"]["io.k8s.api.core.v1.Pod_v2"] == {"type": "string"}
        assert "lie" not in json.dumps(doc["paths"]["/apis/apps/v1/deployments"])
        await_it(lambda: V1[1:] in behind.get("/openapi/v3")["paths"], "the document of version 3")
        url = behind.get("/openapi/v3")["paths"][V1[1:]]["serverRelativeURL"]
        answer = behind.server.get(url, Accept="application/json").expect(200)
        assert answer.headers["Cache-Control"] == "public, immutable"
        schemas = answer.json()["components"]["schemas"]
        assert schemas["Flunder"]["properties"]["metadata"] == {"$ref": "#/components/schemas/Meta"}
        # In protobuf, too, as kubectl asks for it.
        for where, version in (("/openapi/v2", "v2"), (url, "v3")):
            kind = f"application/com.github.proto-openapi.spec.{version}.v1.0+protobuf"
            assert b"Flunder" in behind.server.get(where, Accept=kind).expect(200).body


@test
def lies_and_large_documents_disturb_nobody(server):
    """What cannot be taken of one server leaves the documents of all others as they are."""
    with Behind(documents(), "v1alpha1") as behind:
        await_it(lambda: f"{V1}/flunders" in behind.get("/openapi/v2")["paths"], "the path")
        wrong = [{"paths": []}, {"definitions": {"A": {"$ref": "#/definitions/No"}}}, {"definitions": {"A": {"properties": 7}}}]
        bodies = [json.dumps(doc).encode() for doc in wrong] + [b"{", b"[" * 100000, b" " * (9 << 20), b'{"a":"' + b"x" * (9 << 20)]
        for number, body in enumerate(bodies):
            behind.target.docs = {**documents(), "/openapi/v2": Doc(body, etag=f'"w{number}"')}
            refresh(behind)
            await_it(lambda: any(path == "/openapi/v2" for path, _ in behind.target.seen), "a question")
            assert f"{V1}/flunders" in behind.get("/openapi/v2")["paths"]
            assert behind.get("/openapi/v3/apis/apps/v1")["components"]
        # Members that are not there, or are not known, are no lie.
        behind.target.docs["/apis"] = Doc(discovery(v1alpha1=[{"resource": "odd", "more": {}}]), AGGREGATED)
        refresh(behind)
        await_it(lambda: "odd" in json.dumps(behind.group()), "the odd resource")
        assert behind.group()["versions"][0]["resources"] == [{
            "resource": "odd", "responseKind": {"group": "", "version": "", "kind": ""}, "scope": "", "singularResource": "", "verbs": None}]
        protobuf = AGGREGATED.replace("json", "vnd.kubernetes.protobuf", 1)
        assert b"odd" in behind.server.get("/apis", Accept=protobuf).expect(200).body
        behind.target.docs["/apis"] = Doc(b"{}", AGGREGATED)
        refresh(behind)
        await_it(lambda: behind.freshness() == ["Stale"], "the lie")
        assert behind.get("/apis/apps/v1")["resources"]


def refresh(behind):
    """Another spec: the server is asked again at once."""
    behind.target.seen.clear()
    name = f"{SERVICES}/v1alpha1.{GROUP}"
    priority = behind.get(name)["spec"]["versionPriority"]
    behind.server.request("PATCH", name, {"spec": {"versionPriority": priority % 100 + 1}},
                          Content_Type="application/merge-patch+json").expect(200)


# --- Beside a kube-apiserver ---------------------------------------------------------------------------------------------------------


class Kube(KubeApiserver):
    """With a front proxy's certificate, so that it asks servers behind it."""

    def __init__(self, etcd, folder):
        proxies = Authority(folder, "proxies")
        crt, key = proxies.client("/CN=proxy")
        super().__init__(etcd, folder, f"--requestheader-client-ca-file={proxies.crt}", "--requestheader-username-headers=X-Remote-User",
                         "--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
                         f"--proxy-client-cert-file={crt}", f"--proxy-client-key-file={key}")

    def get(self, path, accept="application/json", port=None):
        connection = http.client.HTTPSConnection("127.0.0.1", port or self.port, context=ssl._create_unverified_context(), timeout=60)
        connection.request("GET", path, headers={"Authorization": "Bearer kube-token", "Accept": accept})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        assert answer.status == 200, (path, answer.status, body[:200])
        return json.loads(body)


def sample_documents(kube, etcd, folder):
    """The documents of a sample-apiserver, as a target's."""
    program = pathlib.Path(os.environ["COR_KUBE_APISERVER"]).with_name("sample-apiserver")
    if not program.exists():
        raise Skip("there is no sample-apiserver beside the kube-apiserver")
    holder = held_port()
    port = holder.getsockname()[1]
    config = folder / "kubeconfig"
    config.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{kube.port}", "insecure-skip-tls-verify": True}}],
        "users": [{"name": "u", "user": {"token": "kube-token"}}]}))
    process = subprocess.Popen([program, f"--etcd-servers={etcd.urls}", f"--secure-port={port}", "--bind-address=127.0.0.1",
                                f"--cert-dir={folder}/sample", *(f"--{flag}={config}" for flag in (
                                    "kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"))],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        def is_there():
            try:
                return kube.get("/openapi/v3", port=port)
            except (OSError, AssertionError, http.client.HTTPException):
                return False

        wait_for("sample-apiserver", 60, is_there)
        docs = {"/apis": Doc(kube.get("/apis", AGGREGATED, port=port), AGGREGATED)}
        paths = ["/openapi/v2", "/openapi/v3", f"/openapi/v3/apis/{GROUP}"]
        for version in ("v1alpha1", "v1beta1"):
            paths += [f"/openapi/v3/apis/{GROUP}/{version}", f"/apis/{GROUP}/{version}"]
        return {**docs, **{path: Doc(kube.get(path, port=port)) for path in paths}}
    finally:
        process.kill()
        process.wait()


def changed(before, after):
    return {name: value for name, value in after.items() if before.get(name) != value}


def without_words(value, is_named=False):
    if isinstance(value, dict):
        return {name: without_words(inner, name == "properties") for name, inner in value.items() if is_named or name != "description"}
    return [without_words(inner) for inner in value] if isinstance(value, list) else value


def compare(kube, behind, before, ours_before):
    """All documents about GROUP; definitions that others have, too, without their words."""
    assert behind.group() == group_of(kube.get("/apis", AGGREGATED))
    assert behind.get(f"/apis/{GROUP}") == kube.get(f"/apis/{GROUP}")
    groups = [next(group for group in doc["groups"] if group["name"] == GROUP) for doc in (behind.get("/apis"), kube.get("/apis"))]
    assert groups[0] == groups[1]
    theirs, ours = kube.get("/openapi/v2"), behind.get("/openapi/v2")
    assert changed(ours_before["paths"], ours["paths"]) == changed(before["paths"], theirs["paths"])
    new = changed(before["definitions"], theirs["definitions"])
    new_ours = changed(ours_before["definitions"], ours["definitions"])
    assert len(new) > 10 and sorted(new) == sorted(new_ours), set(new) ^ set(new_ours)
    for name, value in new.items():
        assert without_words(value) == without_words(new_ours[name]), name
    # Shared parameters have names of our own (docs/COMPAT.md), so that those of others do not meet them.
    assert all(name in ours["parameters"] for name in set(re.findall("#/parameters/([^\"]+)", json.dumps(ours))))
    paths = [[path for path in doc["paths"] if GROUP in path] for doc in (kube.get("/openapi/v3"), behind.get("/openapi/v3"))]
    assert sorted(paths[0]) == sorted(paths[1]), paths
    for path in paths[0]:
        assert kube.get("/openapi/v3/" + path) == behind.get("/openapi/v3/" + path), path


def is_complete(get):
    return (all(name in json.dumps(get("/openapi/v2")["paths"]) for name in (f"{GROUP}/v1alpha1/flunders", f"{GROUP}/v1beta1/flunders"))
            and sum(GROUP in path for path in get("/openapi/v3")["paths"]) >= 2
            and [v["freshness"] for v in (group_of(get("/apis", AGGREGATED)) or {"versions": []})["versions"]] == ["Current"] * 2)


def beside(change, check):
    """The documents of the sample-apiserver, changed, behind a kube-apiserver and behind ours."""
    if not os.environ.get("COR_KUBE_APISERVER"):
        raise Skip("name a kube-apiserver in COR_KUBE_APISERVER")
    with tempfile.TemporaryDirectory() as name, Cluster() as etcd, Kube(etcd, pathlib.Path(name)) as kube:
        docs = sample_documents(kube, etcd, pathlib.Path(name))
        change(docs)
        with Behind(docs) as behind:
            before, ours_before = kube.get("/openapi/v2"), behind.get("/openapi/v2")
            kube.request("POST", "/api/v1/namespaces", {"metadata": {"name": "wardle"}})
            kube.request("POST", "/api/v1/namespaces/wardle/services", {"metadata": {"name": "api"}, "spec": {
                "type": "ExternalName", "externalName": "localhost", "ports": [{"port": behind.target.port}]}})
            for version, priority in (("v1alpha1", 15), ("v1beta1", 14)):
                assert kube.request("POST", SERVICES, api_service(version, behind.target.port, priority))[0] == 201
                behind.server.create(SERVICES, api_service(version, 443, priority))
            await_it(lambda: is_complete(kube.get), "kube-apiserver's documents", 120)
            await_it(lambda: is_complete(behind.get), "our documents", 120)
            check(kube, behind, before, ours_before)


@test
def documents_are_those_of_kube_apiserver(server):
    beside(lambda docs: None, compare)


def kubectl(folder, url, token, *words):
    """What kubectl prints, of the kind that stands beside the kube-apiserver."""
    program = pathlib.Path(os.environ["COR_KUBE_APISERVER"]).with_name("kubectl")
    if not program.exists():
        raise Skip("there is no kubectl beside the kube-apiserver")
    done = subprocess.run([program, "--server", url, "--token", token, "--insecure-skip-tls-verify", "--cache-dir", f"{folder}/{url[-5:]}",
                           *words], capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout, done.stderr


@test
def kubectl_says_the_same_of_both(server):
    """It lists and explains kinds of the server behind, finds them in both forms of discovery, and is told when it is away."""
    def check(kube, behind, before, ours_before):
        def both(*words):
            with tempfile.TemporaryDirectory() as folder:
                theirs = kubectl(folder, f"https://127.0.0.1:{kube.port}", "kube-token", *words)
                ours = kubectl(folder, behind.server.url, behind.server.token, *words)
            assert theirs == ours, (theirs, ours)
            return ours

        assert "flunders" in both("api-resources", "--api-group", GROUP)[1]
        for what in ("flunders", "flunders.spec.reference", "fischers"):
            assert "FIELD" in both("explain", what)[1]
        assert "referenceType" in both("explain", "flunders", "--recursive", "--api-version", f"{GROUP}/v1beta1")[1]
        behind.target.docs.clear()
        for get in (kube.get, behind.get):
            await_it(lambda: "Stale" in json.dumps(group_of(get("/apis", AGGREGATED))), "the end of the group", 120)
        both("api-resources", "--api-group", GROUP)
        both("explain", "flunders")

    beside(lambda docs: None, check)


@test
def renames_are_those_of_kube_apiserver(server):
    """Of types that all servers have: one that differs, and one whose new name the server has already."""
    def change(docs):
        doc = json.loads(docs["/openapi/v2"].body)
        doc["definitions"]["io.k8s.apimachinery.pkg.apis.meta.v1.Time"]["format"] = "other"
        doc["definitions"]["io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"]["properties"]["more"] = {"type": "string"}
        doc["definitions"]["io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta_v2"] = {"type": "string"}
        docs["/openapi/v2"] = Doc(doc)

    def check(kube, behind, before, ours_before):
        compare(kube, behind, before, ours_before)
        names = [name.rsplit(".", 1)[1] for name in behind.get("/openapi/v2")["definitions"] if "_v" in name]
        assert sorted(names) == ["ListMeta_v2", "ListMeta_v3", "Time_v2"], names

    beside(change, check)


@test
def older_forms_are_taken_as_kube_apiserver_takes_them(server):
    """Its conversion to version 3 has all paths of the server, and references to parameters that are not there (docs/COMPAT.md)."""
    def change(docs):
        for path in list(docs):
            if path == "/apis" or path.startswith("/openapi/v3"):
                del docs[path]

    def check(kube, behind, before, ours_before):
        assert behind.group() == group_of(kube.get("/apis", AGGREGATED))
        for version in ("v1alpha1", "v1beta1"):
            theirs, ours = (get(f"/openapi/v3/apis/{GROUP}/{version}") for get in (kube.get, behind.get))
            for name, schema in ours["components"]["schemas"].items():
                assert theirs["components"]["schemas"][name] == schema, name
            for path, item in ours["paths"].items():
                for method, operation in item.items():
                    if method != "parameters":
                        assert operation["responses"] == theirs["paths"][path][method]["responses"], path
                        assert operation["operationId"] == theirs["paths"][path][method]["operationId"]

    beside(change, check)


if __name__ == "__main__":
    main()
