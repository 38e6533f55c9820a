#!/usr/bin/env python3
"""TAP: the OpenAPI documents of a server, compared with upstream's: schema by schema and operation by operation.

  openapi.py PROGRAM                compares with the documents in the folder that COR_OPENAPI names; without one, document by
                                    document with the hashes of upstream's that openapi.txt has
  openapi.py PROGRAM --record       compares, and writes the hashes when all is equal
  openapi.py PROGRAM --dump FOLDER  asks the kube-apiserver of COR_KUBE_APISERVER (and the etcd of COR_ETCD) for its documents

The folder is a dump, or `api/openapi-spec` of a checkout, whose documents list no values of enums and know cbor. Descriptions
are masked: they are our own. Those of custom resources (openapi_crds.json) are Contract crd 7.2, 7.8, 7.10 to 7.13 and 7.17. What upstream has and this server does not serve is counted and named, and is no failure."""

import hashlib
import http.client
import json
import os
import pathlib
import ssl
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "integration"))

from fixture import Server  # noqa: E402

CRDS = pathlib.Path(__file__).parent / "openapi_crds.json"
RECORD = pathlib.Path(__file__).parent / "openapi.txt"
GROUPS = {definition["spec"]["group"] for definition in json.loads(CRDS.read_text())}
DELETE_OPTIONS = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
SHOWN = 10


def masked(value, has_enums):
    """Without descriptions; a reference alone in `allOf` is the reference."""
    if isinstance(value, dict):
        out = {}
        for key, member in value.items():
            if key == "description" and isinstance(member, str) or "cbor" in key or key == "enum" and not has_enums:
                continue
            out[key] = masked(member, has_enums)
        return out["allOf"][0] if list(out) == ["allOf"] and len(out["allOf"]) == 1 else out
    if isinstance(value, list):
        return [masked(member, has_enums) for member in value if not (isinstance(member, str) and "cbor" in member)]
    return value


def operations(document, has_enums):
    """Each operation with all its parameters, whether its path, the document or itself has them."""
    shared = document.get("parameters", {})

    def resolved(parameter):
        ref = parameter.get("$ref")
        return shared[ref.split("/")[-1]] if ref else parameter

    out = {}
    for path, item in document["paths"].items():
        for method in METHODS:
            if method not in item:
                continue
            operation = masked(item[method], has_enums)
            names = {"own": operation.pop("parameters", []), "path": item.get("parameters", [])}
            for where, parameters in names.items():
                operation[f"{where} parameters"] = sorted(
                    (masked(resolved(p), has_enums) for p in parameters), key=lambda p: json.dumps(p, sort_keys=True))
            out[f"{method.upper()} {path}"] = json.loads(json.dumps(operation, sort_keys=True))
    return out


def differences(ours, theirs, path=""):
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(set(ours) | set(theirs)):
            yield from differences(ours.get(key), theirs.get(key), f"{path}/{key}")
    elif ours != theirs:
        yield f"{path}: {json.dumps(ours)[:160]} is {json.dumps(theirs)[:160]} upstream"


def compare(what, ours, theirs):
    """TAP of one comparison, and whether all that we have is equal."""
    equal, said = 0, []
    for name in sorted(ours):
        found = list(differences(ours[name], theirs[name])) if name in theirs else ["upstream does not have it"]
        equal += not found
        said += [f"{name} {line}" for line in found]
    for line in said[:SHOWN]:
        print(f"# {line}")
    missing = sorted(set(theirs) - set(ours))
    print(f"# {what}: {equal} of {len(ours)} are equal; {len(missing)} of upstream's {len(theirs)} are not served")
    if missing and os.environ.get("COR_VERBOSE"):
        print("#   " + "\n#   ".join(missing))
    return ours and equal == len(ours)


def upstream(folder):
    """The documents of a folder by path, and version 2; both forms of folders."""
    documents = {}
    nested = folder / "v3"
    for path in sorted((nested if nested.is_dir() else folder).glob("*.json")):
        name = path.name.removesuffix(".json").removesuffix("_openapi").replace("__", "/")
        if name not in ("index", "swagger"):
            documents[name] = json.loads(path.read_text())
    return documents, json.loads((folder / "swagger.json").read_text())


class Parts:
    """The schemas and operations of all documents, by (document, what)."""

    def __init__(self, documents, swagger, has_enums):
        self.parts = {}
        for name, document in documents.items():
            schemas = document["components"].get("schemas", {})
            self.parts[name, "schemas"] = {key: masked(schema, has_enums) for key, schema in schemas.items()}
            if any(name.startswith(f"apis/{group}/") for group in GROUPS) and DELETE_OPTIONS in schemas:
                # The groups that know the kind are others in upstream's documents of custom resources: those of a client.
                self.parts[name, "schemas"][DELETE_OPTIONS].pop("x-kubernetes-group-version-kind")
            self.parts[name, "operations"] = operations(document, has_enums)
        self.parts["version 2", "schemas"] = masked(swagger["definitions"], has_enums)
        self.parts["version 2", "operations"] = operations(swagger, has_enums)

    def all(self, is_v2, what):
        return {f"{name} {key}": value for (name, kind), part in self.parts.items()
                if kind == what and (name == "version 2") == is_v2 for key, value in part.items()}

    def hashes(self, served):
        """A line for each part, of what is in `served`, too."""
        for (name, what), part in sorted(self.parts.items()):
            both = {key: part[key] for key in part if key in served.parts.get((name, what), {})}
            if (name, what) in served.parts:
                digest = hashlib.sha256(json.dumps(both, sort_keys=True).encode()).hexdigest()
                yield f"{name}: {len(both)} {what} {digest[:32]}"


def define(post, get):
    """Creates the definitions of custom resources, and waits until the documents about them are there."""
    definitions = json.loads(CRDS.read_text())
    for definition in definitions:
        post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    kinds = {(d["spec"]["group"], v["name"], d["spec"]["names"]["kind"]) for d in definitions for v in d["spec"]["versions"] if v["served"]}

    def is_there(group, version, kind, v2):
        name = ".".join(reversed(group.split("."))) + f".{version}.{kind}"
        entry = get("/openapi/v3")["paths"].get(f"apis/{group}/{version}")
        return name in v2 and entry and name in get(entry["serverRelativeURL"])["components"]["schemas"]

    deadline = time.monotonic() + 60
    while kinds and time.monotonic() < deadline:
        v2 = get("/openapi/v2")["definitions"]
        kinds = {kind for kind in kinds if not is_there(*kind, v2)}
        time.sleep(0.1 if kinds else 0)
    assert not kinds, f"no document about {sorted(kinds)}"


def ask(program):
    with Server(program) as server:
        define(server.create, lambda path: server.get(path).expect(200).json())
        index = server.get("/openapi/v3").expect(200).json()["paths"]
        documents = {name: server.get(entry["serverRelativeURL"]).expect(200).json() for name, entry in index.items()}
        return documents, server.get("/openapi/v2").expect(200).json()


def report(results):
    for number, (what, ok) in enumerate(results, 1):
        print(f"{'ok' if ok else 'not ok'} {number} - {what}")
    print(f"1..{len(results)}")
    return 0 if all(ok for _, ok in results) else 1


def run(program, folder, is_record):
    theirs, swagger = upstream(folder)
    has_enums = '"enum": [' in json.dumps(theirs)
    documents, swagger_2 = ask(program)
    ours = Parts(documents, swagger_2, has_enums)
    peers = Parts({name: theirs[name] for name in set(theirs) & set(documents)}, swagger, has_enums)
    distinct = {key.split()[1] for key in ours.all(False, "schemas")}
    print(f"# version 3: {len(documents)} documents with {len(distinct)} different schemas")
    results = [("every document is one of upstream's", set(documents) <= set(theirs))]
    for is_v2 in False, True:
        for what in "schemas", "operations":
            title = f"{what} of version {2 if is_v2 else 3}"
            results.append((title, compare(title, ours.all(is_v2, what), peers.all(is_v2, what))))
    if is_record and has_enums and all(ok for _, ok in results):
        RECORD.write_text("# Of upstream's documents, descriptions masked, as far as they are served. openapi.py --record writes it.\n"
                          + "".join(f"{line}\n" for line in peers.hashes(ours)))
    return report(results)


def replay(program):
    ours = Parts(*ask(program), True)
    recorded = {line for line in RECORD.read_text().splitlines() if not line.startswith("#")}
    lines = list(ours.hashes(ours))
    results = [(line.rpartition(" ")[0], line in recorded) for line in lines]
    results.append(("all that is recorded is served", len(recorded) == len(lines)))
    if not all(ok for _, ok in results):
        print("# --dump asks a kube-apiserver for its documents; COR_OPENAPI=FOLDER shows what differs, and --record keeps it")
    return report(results)


def dump(folder):
    from etcd_cluster import Cluster
    from kube_apiserver import KubeApiserver
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, Cluster() as etcd, KubeApiserver(etcd, pathlib.Path(work)) as kube:
        def request(method, path, body=None):
            connection = http.client.HTTPSConnection("127.0.0.1", kube.port, context=ssl._create_unverified_context(), timeout=60)
            connection.request(method, path, body and json.dumps(body), {
                "Authorization": "Bearer kube-token", "Accept": "application/json", "Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status < 300, f"{method} {path}: {answer.status} {text[:1000]}"
            return text

        def get(path):
            return request("GET", path)

        define(lambda path, body: request("POST", path, body), lambda path: json.loads(get(path)))
        (folder / "swagger.json").write_bytes(get("/openapi/v2"))
        for name, entry in json.loads(get("/openapi/v3"))["paths"].items():
            (folder / f"{name.replace('/', '__')}.json").write_bytes(get(entry["serverRelativeURL"]))
    return 0


def main(program, *words):
    if words[:1] == ("--dump",):
        return dump(pathlib.Path(words[1]))
    named = os.environ.get("COR_OPENAPI")
    return run(program, pathlib.Path(named), words[:1] == ("--record",)) if named else replay(program)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
