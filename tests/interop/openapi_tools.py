#!/usr/bin/env python3
"""Upstream's readers of OpenAPI (kube-openapi, structured-merge-diff, managedfields) over all documents of a server.
openapi_tools.py PROGRAM [FLAG...], with the command of tests/interop/openapi in $COR_CLIENT; prints TAP.

The readers also get the minimal and the full object of each kind, as the server answers them: what it sends must be valid by
what its documents say."""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "integration"), str(TESTS / "differential")]

import records  # noqa: E402
from differential import all_kinds  # noqa: E402
from fixture import Server  # noqa: E402
from tables import Types  # noqa: E402

PROTOBUF_2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
PROTOBUF_3 = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
NAMESPACE = "differential"  # that of the records
WAIT_S = 300


def save_documents(server, folder):
    (folder / "v2.json").write_bytes(server.get("/openapi/v2").expect(200).body)
    (folder / "v2.pb").write_bytes(server.get("/openapi/v2", Accept=PROTOBUF_2).expect(200).body)
    (folder / "v3").mkdir()
    for name, entry in server.get("/openapi/v3").expect(200).json()["paths"].items():
        file = folder / "v3" / name.replace("/", "__")
        for ending, accept in ((".json", "application/json"), (".pb", PROTOBUF_3)):
            body = server.get(entry["serverRelativeURL"], Accept=accept).expect(200).body
            file.with_name(file.name + ending).write_bytes(body)


def objects(server):
    """What the server answers to a dry run of each object that the records have. Those that it refuses are none of ours."""
    types = Types()
    server.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}, Content_Type="application/json").expect(201)
    for record in records.read_all(all_kinds(types), types):
        for word in ("minimal", "full"):
            if record.kind["is_review"] or word not in record.kind:
                continue
            answer = server.request("POST", record.kind["path"] + "?dryRun=All", record.kind[word], Content_Type="application/json")
            if answer.status == 201:
                yield answer.json()


def main():
    with Server(sys.argv[1], *sys.argv[2:]) as server, tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        save_documents(server, folder)
        (folder / "objects.json").write_text(json.dumps(list(objects(server))))
        return subprocess.run([*shlex.split(os.environ["COR_CLIENT"]), work], timeout=WAIT_S, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
