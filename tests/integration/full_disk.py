#!/usr/bin/env python3
"""What a server says while its disk is full, and after. full_disk.py PROGRAM [FLAG...]"""

import subprocess
import sys
import tempfile

from fixture import Server, Skip, await_it, main, test

PROGRAM = sys.argv[1]
FLAGS = sys.argv[2:]
MAPS = "/api/v1/namespaces/default/configmaps"


class SmallDisk:
    """A file system of 24 MB in a folder of its own."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()

    def __enter__(self):
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", self.folder.name], capture_output=True, check=False)
        if done.returncode != 0:
            self.folder.cleanup()
            raise Skip("nothing can be mounted here")
        return self.folder.name

    def __exit__(self, *why):
        subprocess.run(["umount", self.folder.name], check=True)
        self.folder.cleanup()


def fill(server):
    """Creates large objects until one is refused; returns how many are there."""
    for number in range(100):
        body = {"metadata": {"name": f"large-{number}"}, "data": {"k": "x" * 900_000}}
        answer = server.request("POST", MAPS, body)
        if answer.status != 201:
            assert answer.status == 500 and "full" in answer.json()["message"], answer.body
            return number
    raise AssertionError("the disk has room for everything")


def figures(server):
    lines = server.get("/metrics").expect(200).body.decode().splitlines()
    return {line.split()[0]: float(line.split()[1]) for line in lines if line.startswith("coracle_storage_")}


@test
def a_full_disk_is_told_by_a_line_a_metric_and_a_check(server):
    with SmallDisk() as folder, Server(PROGRAM, *FLAGS, data=folder) as small:
        assert "[+]store-room ok" in small.get("/readyz?verbose").expect(200).body.decode()
        assert figures(small)["coracle_storage_full"] == 0
        count = fill(small)
        assert count > 2, count
        await_it(lambda: small.get("/readyz").status == 500, "the check that fails")
        assert "[-]store-room failed" in small.get("/readyz?verbose").expect(500).body.decode()
        assert small.get("/livez").status == 200 and small.get(MAPS + "/large-0").status == 200
        told = figures(small)
        assert told["coracle_storage_full"] == 1 and told["coracle_storage_refused_writes_total"] >= 1, told
        subprocess.run(["mount", "-o", "remount,size=64m", folder], check=True)
        await_it(lambda: small.request("POST", MAPS, {"metadata": {"generateName": "small-"}}).status == 201, "room")
        await_it(lambda: small.get("/readyz").status == 200, "the check that passes")
        assert figures(small)["coracle_storage_full"] == 0
        output = small.output()
        assert output.count("the store has no room") == 1 and output.count("the store has room again") == 1, output


main()
