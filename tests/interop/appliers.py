#!/usr/bin/env python3
"""Several client libraries apply one deployment in turns, each as a field manager of its own: who owns what afterwards.
appliers.py PROGRAM [FLAG...], with the clients in $COR_CLIENT, a JSON object of a command and an environment for each manager; prints TAP.

`COMMAND apply KUBECONFIG NAMESPACE N` applies as its manager to the deployment `shared`: first its label, its container, the common selector
and template labels, and a label `extra`; then the same without `extra` and with N replicas. Where another manager owns the replicas it
prints `conflict FIELD` for each conflict and applies by force. Its last line is `applied N`."""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "integration"))

from fixture import main, test  # noqa: E402

CLIENTS = json.loads(os.environ["COR_CLIENT"])
APPLY = "application/apply-patch+yaml"
WAIT_S = 120


def apply(server, manager, number):
    """The lines that the manager's client printed."""
    client = CLIENTS[manager]
    command = [*client["command"], "apply", str(server.data / "admin.kubeconfig"), server.ns, str(number)]
    done = subprocess.run(command, text=True, capture_output=True, timeout=WAIT_S, env={**os.environ, **client["env"]})
    assert done.returncode == 0, f"{manager}: {done.stdout}{done.stderr}"
    return done.stdout.splitlines()


def fields(manager, owns_replicas):
    """FieldsV1 of the manager's entry."""
    container = {".": {}, "f:image": {}, "f:name": {}}
    template = {"f:metadata": {"f:labels": {"f:app": {}}}, "f:spec": {"f:containers": {f'k:{{"name":"{manager}"}}': container}}}
    replicas = {"f:replicas": {}} if owns_replicas else {}
    return {"f:metadata": {"f:labels": {f"f:{manager}": {}}}, "f:spec": {**replicas, "f:selector": {}, "f:template": template}}


def expect_owners(server, managers, owners_of_replicas):
    deployment = server.get(f"/apis/apps/v1/namespaces/{server.ns}/deployments/shared").expect(200).json()
    entries = deployment["metadata"]["managedFields"]
    assert all((it["operation"], it["apiVersion"], it["fieldsType"]) == ("Apply", "apps/v1", "FieldsV1") and "subresource" not in it
               for it in entries), entries
    found = {it["manager"]: it["fieldsV1"] for it in entries}
    assert len(entries) == len(found), entries
    for manager in managers:
        expected = fields(manager, manager in owners_of_replicas)
        assert found.pop(manager, None) == expected, (manager, entries, expected)
    assert not found, found
    containers = sorted(it["name"] for it in deployment["spec"]["template"]["spec"]["containers"])
    assert containers == sorted(managers), containers
    assert deployment["metadata"]["labels"] == {manager: "1" for manager in managers}, deployment["metadata"]["labels"]


@test
def each_owns_what_it_applied_and_the_last_took_the_replicas(server):
    managers, known, owner = list(CLIENTS), [], None
    for turn, manager in enumerate([*managers, *reversed(managers), *managers]):
        lines = apply(server, manager, turn + 2)
        # Who owns the replicas already changes them without a conflict: it gave them up in its first apply.
        has_rival = owner not in (None, manager)
        assert lines == [*(["conflict .spec.replicas"] if has_rival else []), f"applied {turn + 2}"], (manager, lines)
        known, owner = sorted({*known, manager}), manager
        expect_owners(server, known, [owner])


@test
def what_one_gives_up_the_others_keep(server):
    for manager in CLIENTS:
        assert apply(server, manager, 2) == ["applied 2"], "a value that is there already is no conflict"
    expect_owners(server, CLIENTS, CLIENTS)
    first, *rest = CLIENTS
    path = f"/apis/apps/v1/namespaces/{server.ns}/deployments/shared?fieldManager={first}"
    nothing = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shared"}}
    server.request("PATCH", path, nothing, Content_Type=APPLY).expect(200)
    expect_owners(server, rest, rest)


if __name__ == "__main__":
    main()
