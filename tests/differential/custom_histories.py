"""Histories of custom resources for histories.py: the definitions and the pieces of history_crds.json, and configurations that are refused."""

import copy
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
GROUP = "histories.example.org"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRDS = json.loads((HERE / "history_crds.json").read_text())


def definition(plural, given):
    def version(name, schema):
        return {"name": name, "served": True, "storage": name == given["storage"], "subresources": given["subresources"],
                "schema": {"openAPIV3Schema": {"type": "object", **schema}}}

    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{GROUP}"},
            "spec": {"group": GROUP, "scope": given["scope"], "names": {"plural": plural, "singular": given["kind"].lower(), "kind": given["kind"],
                                                                        "listKind": f"{given['kind']}List"},
                     "versions": [version(name, schema) for name, schema in given["versions"].items()]}}


def define_all(target, wait_for, seconds):
    """Creates the definitions, and waits until each of their versions is served."""
    for plural, given in CRDS.items():
        target.json("POST", DEFINITIONS, definition(plural, given))
    for plural, given in CRDS.items():
        for version in given["versions"]:
            path = f"/apis/{GROUP}/{version}/{plural}"
            wait_for(f"the resource {path}", seconds, lambda path=path: target.request("GET", path)[0] == 200)


def all_kinds(namespace):
    """(kind, versions, pieces, whether it has a scale, number of histories) of each definition."""
    for plural, given in CRDS.items():
        where = f"namespaces/{namespace}/{plural}" if given["scope"] == "Namespaced" else plural
        api_version = f"{GROUP}/{given['storage']}"
        kind = {"kind": f"{api_version} {given['kind']}", "path": f"/apis/{api_version}/{where}", "name": "one", "volatile": None, "is_review": False,
                "minimal": {"apiVersion": api_version, "kind": given["kind"], "metadata": {"name": "one"}}}
        yield kind, list(given["versions"]), given["pieces"], "scale" in given["subresources"], given["histories"]


ODD = {
    "an unknown field": lambda body: body.setdefault("spec", {}).update({"zz": 1}),
    "unknown metadata": lambda body: body["metadata"].update({"zz": 1}),
    "a wrong type": lambda body: body.update({"spec": {"text": 1}}),
    "a text for a number": lambda body: body.update({"spec": {"count": "1"}}),
    "null": lambda body: body.update({"spec": {"text": None}}),
    "null for a default": lambda body: body.update({"spec": {"filled": None}}),
    "null for a map": lambda body: body.update({"spec": {"map": None}}),
    "null for a list": lambda body: body.update({"spec": {"names": None}}),
    "null for all": lambda body: body.update({"spec": None}),
    "a list that is none": lambda body: body.update({"spec": {"ports": {"a": 1}}}),
    "a set that is none": lambda body: body.update({"spec": {"names": "a"}}),
    "repeated values": lambda body: body.update({"spec": {"names": ["a", "a"]}}),
    "repeated items": lambda body: body.update({"spec": {"ports": [{"port": 80}, {"port": 80, "protocol": "TCP"}]}}),
    "an item without its key": lambda body: body.update({"spec": {"ports": [{"name": "n"}]}}),
    "entries": lambda body: body["metadata"].update({"managedFields": [{"manager": "x"}]}),
    "another kind": lambda body: body.update({"kind": "Other"}),
    "another version": lambda body: body.update({"apiVersion": f"{GROUP}/v9"}),
    "no version": lambda body: body.pop("apiVersion"),
    "an old resourceVersion": lambda body: body["metadata"].update({"resourceVersion": "1"}),
    "another uid": lambda body: body["metadata"].update({"uid": "11111111-2222-3333-4444-555555555555"}),
    "what the server sets": lambda body: body["metadata"].update({"generation": 7, "creationTimestamp": None, "labels": None}),
    "a number": lambda body: body.update({"spec": {"count": 3.0}}),
    "a large number": lambda body: body.update({"spec": {"ratio": 1e3}}),
    "another number": lambda body: body.update({"spec": {"either": 5}}),
    "an embedded resource": lambda body: body.update({"spec": {"template": {"metadata": {"labels": {"a": "b"}, "zz": 1}, "kind": "x y"}}}),
    "the status": lambda body: body.update({"status": {"phase": "A"}}),
}


def odd_body(random, body):
    """(words, body): a configuration that is unusual, and refused by most kinds."""
    words = random.choice(sorted(ODD))
    body = copy.deepcopy(body)
    ODD[words](body)
    return words, body


def yaml_body(random, body):
    """(words, query, text): YAML that may repeat a key."""
    lines = [f"apiVersion: {body['apiVersion']}", f"kind: {body['kind']}", f"metadata: {{name: {body['metadata']['name']}, labels: {{x: \"1\"}}}}"]
    if random.random() < 0.5:
        lines.append(f"kind: {body['kind']}")
    validation = random.choice(("Strict", "Warn", "Ignore"))
    return f"yaml with {len(lines)} lines, {validation}", f"&fieldValidation={validation}", "\n".join(lines) + "\n"
