#!/usr/bin/env python3
"""Conformance, integration and consistency, unchanged, on every kind of etcd: etcd_matrix.py BUILD [WORD...]
Programs: the etcd in $PATH, and the one that $COR_ETCD names. WORDs choose among the runs by their names.
A line for each run; the last one counts single tests, as the suite's."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent
CLUSTERS = {"one member": "1", "three members": "3", "three members with TLS and users": "3 tls users"}
MODULES = ("access", "encryption", "limits", "objects", "subresources", "versions", "watches")
ENGINES = {"store": {}, "cacher": {"COR_CONFORMANCE_CACHER": "1"}, "encrypted": {"COR_CONFORMANCE_ENCRYPTED": "1"},
           "encrypted cacher": {"COR_CONFORMANCE_CACHER": "1", "COR_CONFORMANCE_ENCRYPTED": "1"}}
# Flags, HTTP/2, seconds. The last two are longer than history lasts; watches from before it are told so, which the flag allows.
WATCHES = {"cache": ("--watch-cache=true", "", "5"), "store, HTTP/2": ("--watch-cache=false", "1", "5"),
           "cache, compacted": ("--watch-cache=true --etcd-compaction-interval=60s", "1", "25"),
           "store, compacted": ("--watch-cache=false --etcd-compaction-interval=60s", "", "25")}
RUN_S = 1200


def programs():
    """The version of each, by its path."""
    found = {}
    for name in (shutil.which("etcd"), os.environ.get("COR_ETCD")):
        path = name and shutil.which(name)
        if path:
            said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
            found[path] = re.search(r"etcd Version: (\S+)", said).group(1)
    return found


def runs(build):
    """name, command, variables"""
    for name, variables in ENGINES.items():
        yield f"conformance/{name}", [f"{build}/tests/conformance/test_conformance"], {"COR_CONFORMANCE_ENGINE": "etcd", **variables}
    for name in MODULES:
        yield f"integration/{name}", [sys.executable, HERE / f"{name}.py", f"{build}/coracle", "--watch-cache=true"], {}
    for name, (flags, http2, seconds) in WATCHES.items():
        yield f"consistency/{name}", [f"{build}/tests/consistency/test_watch_consistency"], {
            "COR_SERVER_PROGRAM": f"{build}/coracle", "COR_SERVER_FLAGS": flags, "COR_CONSISTENCY_HTTP2": http2,
            "COR_CONSISTENCY_SECONDS": seconds}


def play(name, command, variables):
    """Returns how many tests passed and failed."""
    began = time.monotonic()
    try:
        done = subprocess.run([sys.executable, HERE / "with_etcd.py", *command], env={**os.environ, **variables},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=RUN_S, check=False)
        output, status = done.stdout, done.returncode
    except subprocess.TimeoutExpired as late:
        output, status = (late.stdout or b"").decode(), 1
    passed, failed = len(re.findall(r"^ok ", output, re.M)), len(re.findall(r"^not ok ", output, re.M))
    failed += status != 0 and failed == 0
    print(f"{name}: {passed} passed, {failed} failed, {time.monotonic() - began:.1f} s", flush=True)
    for line in re.findall("^# history was .*", output, re.M):
        print("  " + line, flush=True)
    if failed:
        print(output, flush=True)
    return passed, failed


def main():
    build, words = os.path.abspath(sys.argv[1]), sys.argv[2:]
    total = [0, 0]
    for program, version in programs().items():
        for cluster, value in CLUSTERS.items():
            for name, command, variables in runs(build):
                full = f"etcd {version}, {cluster}: {name}"
                if all(word in full for word in words):
                    described = value + (" compacted" if "compacted" in name else "")
                    counts = play(full, command, {**variables, "COR_ETCD": program, "COR_ETCD_CLUSTER": described})
                    total = [a + b for a, b in zip(total, counts)]
    if total == [0, 0]:
        print("nothing ran: install etcd-server, or name an etcd in COR_ETCD; each WORD must be in a run's name")
        return 1
    print(f"{total[0]} passed, {total[1]} failed")
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main())
