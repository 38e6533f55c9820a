#!/usr/bin/env python3
"""TAP: the OpenAPI documents of a server, compared with upstream's: schema by schema and operation by operation.

  openapi.py PROGRAM                compares with the documents in the folder that COR_OPENAPI names, and is skipped without one
  openapi.py PROGRAM --dump FOLDER  asks the kube-apiserver of COR_KUBE_APISERVER (and the etcd of COR_ETCD) for its documents

The folder is a dump, or `api/openapi-spec` of a checkout, whose documents list no values of enums and know cbor. Descriptions
are masked: they are our own. What upstream has and this server does not serve is counted and named, and is no failure."""

import http.client
import json
import os
import pathlib
import ssl
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "integration"))

from fixture import Server  # noqa: E402

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


def run(program, folder):
    theirs, swagger = upstream(folder)
    has_enums = '"enum": [' in json.dumps(theirs)
    results = []
    with Server(program) as server:
        index = server.get("/openapi/v3").expect(200).json()["paths"]
        ours = {name: server.get(entry["serverRelativeURL"]).expect(200).json() for name, entry in index.items()}
        ours_2 = server.get("/openapi/v2").expect(200).json()
    schemas, their_schemas = {}, {}
    paths, their_paths = {}, {}
    for name, document in ours.items():
        for key, schema in document["components"].get("schemas", {}).items():
            schemas[f"{name} {key}"] = masked(schema, has_enums)
        paths |= {f"{name} {key}": value for key, value in operations(document, has_enums).items()}
    for name in sorted(set(theirs) & set(ours)):
        for key, schema in theirs[name]["components"].get("schemas", {}).items():
            their_schemas[f"{name} {key}"] = masked(schema, has_enums)
        their_paths |= {f"{name} {key}": value for key, value in operations(theirs[name], has_enums).items()}
    distinct = {key.split()[1] for key in schemas}
    print(f"# version 3: {len(ours)} documents with {len(distinct)} different schemas")
    results.append(("documents of version 3 are upstream's", set(ours) <= set(theirs)))
    results.append(("schemas of version 3", compare("schemas of version 3", schemas, their_schemas)))
    results.append(("operations of version 3", compare("operations of version 3", paths, their_paths)))
    results.append(("schemas of version 2", compare(
        "schemas of version 2", masked(ours_2["definitions"], has_enums), masked(swagger["definitions"], has_enums))))
    results.append(("operations of version 2", compare(
        "operations of version 2", operations(ours_2, has_enums), operations(swagger, has_enums))))
    for number, (what, ok) in enumerate(results, 1):
        print(f"{'ok' if ok else 'not ok'} {number} - {what}")
    print(f"1..{len(results)}")
    return 0 if all(ok for _, ok in results) else 1


def dump(folder):
    from etcd_cluster import Cluster
    from etcd_servers import KubeApiserver
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, Cluster() as etcd, KubeApiserver(etcd, pathlib.Path(work)) as kube:
        def get(path):
            connection = http.client.HTTPSConnection("127.0.0.1", kube.port, context=ssl._create_unverified_context(), timeout=60)
            connection.request("GET", path, headers={"Authorization": "Bearer kube-token", "Accept": "application/json"})
            return connection.getresponse().read()

        (folder / "swagger.json").write_bytes(get("/openapi/v2"))
        for name, entry in json.loads(get("/openapi/v3"))["paths"].items():
            (folder / f"{name.replace('/', '__')}.json").write_bytes(get(entry["serverRelativeURL"]))
    return 0


def main(program, *words):
    if words[:1] == ("--dump",):
        return dump(pathlib.Path(words[1]))
    named = os.environ.get("COR_OPENAPI")
    if not named:
        print("1..0 # SKIP COR_OPENAPI names no folder with upstream's documents")
        return 0
    return run(program, pathlib.Path(named))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
