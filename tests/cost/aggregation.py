#!/usr/bin/env python3
"""What local requests pay for aggregated API servers, in instructions: aggregation.py PROGRAM
A server with ten remote APIServices that are available beside one without; more than 1 % in addition is a failure. How it is counted
is in requests.py."""

import pathlib
import re
import shutil
import sys
import tempfile

import requests as cost
from fixture import await_it
from recording_target import Target

GROUPS = 10
WINDOWS = 8
ALLOWED = 1.01
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


def register(server, connection, target):
    """Ten groups of a service, until all of them are available."""
    server.request("POST", "/api/v1/namespaces/default/services", {
        "metadata": {"name": "api"}, "spec": {"type": "ExternalName", "externalName": "localhost"}}, connection=connection).expect(201)
    names = [f"v1.g{number}.example.com" for number in range(GROUPS)]
    for name in names:
        server.request("POST", SERVICES, {"metadata": {"name": name}, "spec": {
            "group": name[3:], "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100, "insecureSkipTLSVerify": True,
            "service": {"namespace": "default", "name": "api", "port": target.port}}}, connection=connection).expect(201)
    is_available = lambda name: '"status":"True"' in server.get(f"{SERVICES}/{name}", connection=connection).body.decode()
    await_it(lambda: all(map(is_available, names)), "the services", 120)


def count_windows(program, send, warm, each, target):
    """Instructions of a request: the least of WINDOWS runs of `each` requests to one server, so that a probe, which comes every half
    minute and costs as much as many requests, falls into few of them."""
    with cost.CountedServer(program) as server:
        connection = server.connect()
        cost.fill(server, connection, are_equal=send is not cost.create)
        if target:
            register(server, connection, target)
        for n in range(warm):
            send(server, connection, n)
        counts = []
        for window in range(WINDOWS):
            server.callgrind("--zero")
            for n in range(each):
                send(server, connection, warm + window * each + n)
            server.callgrind("--dump")
            dumps = [path.read_text(errors="replace") for path in pathlib.Path(server.folder).glob(f"out.{window + 1}-*")]
            counts.append(sum(int(re.search(r"^totals: (\d+)", dump, re.M)[1]) for dump in dumps if "checkpointer_main" not in dump))
        connection.close()
        return min(counts) / each


def main():
    if not shutil.which("valgrind") or not shutil.which("openssl"):
        print("cost: valgrind or openssl is not installed")
        return 0
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        target = Target(folder)
        for name, send, warm, each in (("GET of 1 KB", cost.get, 100, 200), (f"LIST of {cost.OBJECTS}", cost.list_all, 10, 10),
                                      ("create", cost.create, 20, 20)):
            without, beside = (count_windows(sys.argv[1], send, warm, each, one) for one in (None, target))
            too_much = beside > ALLOWED * without
            failed |= too_much
            print(f"{name:24} {without:12,.0f} instructions   with {GROUPS} groups {beside:12,.0f}   {beside / without:.4f}x"
                  f"{'   TOO MUCH' if too_much else ''}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
