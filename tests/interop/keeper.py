#!/usr/bin/env python3
"""The Go program of docs/three-controllers.md against a real server: it does what examples/secret_keeper.c does.
keeper.py PROGRAM [FLAG...], with the command of the program in $COR_CLIENT; prints TAP."""

import base64
import os
import pathlib
import shlex
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "integration"), str(HERE.parent / "examples")]

from fixture import config_map, main, test  # noqa: E402
from program import PATIENCE_S, Program  # noqa: E402

COMMAND = shlex.split(os.environ["COR_CLIENT"])
MERGE = "application/merge-patch+json"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/secret-keeper"


def until(server, plural, is_so, what):
    """Waits until an object of the collection is as it should be, and returns it; None is an object that is not there."""
    path = f"/api/v1/namespaces/{server.ns}/{plural}"
    listed = server.get(path).expect(200).json()
    items = {item["metadata"]["name"]: item for item in listed["items"]}
    watch = server.watch(f"{path}?watch=1&resourceVersion={listed['metadata']['resourceVersion']}&timeoutSeconds={PATIENCE_S}")
    try:
        while not is_so(items):
            event = next(watch, None)
            assert event, f"waited in vain for {what}"
            name = event["object"]["metadata"]["name"]
            items.pop(name, None)
            if event["type"] != "DELETED":
                items[name] = event["object"]
    finally:
        watch.close()
    return items


def await_secret(server, name, **data):
    wanted = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return until(server, "secrets", lambda items: items.get(name, {}).get("data") == wanted, f"Secret {name} with {data}")[name]


def await_event(server, name, reason):
    until(server, "events", lambda items: any(e["involvedObject"]["name"] == name and e["reason"] == reason for e in items.values()),
          f"Event {reason} of {name}")


def source(name, **data):
    return config_map(name, {"copy": "secret"}, **data)


@test
def keeps_a_secret_for_each_config_map(server):
    secrets = f"/api/v1/namespaces/{server.ns}/secrets"
    made = server.create(server.maps, source("before", word="one", quoted='a"\n'))
    server.create(server.maps, config_map("plain", word="one"))
    server.create(secrets, {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "taken"}})
    server.create(server.maps, source("taken", word="one"))
    with Program(COMMAND, KUBECONFIG=str(server.data / "admin.kubeconfig")) as program:
        owner = await_secret(server, "before", word="one", quoted='a"\n')["metadata"]["ownerReferences"][0]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("ConfigMap", made["metadata"]["uid"], True), owner
        await_event(server, "before", "Copied")
        await_event(server, "taken", "NameTaken")
        server.request("DELETE", secrets + "/before").expect(200)
        await_secret(server, "before", word="one", quoted='a"\n')
        server.request("PATCH", secrets + "/before", {"data": {"word": None}}, Content_Type=MERGE).expect(200)
        await_secret(server, "before", word="one", quoted='a"\n')
        server.request("PATCH", server.maps + "/before", {"data": {"word": "two"}}, Content_Type=MERGE).expect(200)
        await_secret(server, "before", word="two", quoted='a"\n')
        server.request("DELETE", server.maps + "/before").expect(200)
        until(server, "secrets", lambda items: "before" not in items, "the end of the Secret before")
        assert server.get(LEASE).expect(200).json()["spec"]["holderIdentity"]
        program.stops()
    assert not server.get(LEASE).expect(200).json()["spec"].get("holderIdentity"), "the lease was not released"
    assert server.get(secrets + "/plain").status == 404


if __name__ == "__main__":
    sys.argv.append("--controllers=garbage-collector-controller")
    main()
