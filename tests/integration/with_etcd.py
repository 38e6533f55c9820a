#!/usr/bin/env python3
"""Runs a test program on an etcd of its own: with_etcd.py PROGRAM [ARGUMENT...]
COR_ETCD_CLUSTER says which (etcd_cluster.py). COR_SERVER_FLAGS gets the flags of a server that is let in; what looks at
the store itself finds the members in COR_ETCD_URLS, and certificates, password and data in COR_ETCD_FOLDER."""

import os
import signal
import subprocess
import sys

from etcd_cluster import Cluster, keeps_deletions, program


def main():
    if not program():
        print("1..0 # SKIP there is no etcd: install etcd-server, or name one in COR_ETCD")
        return 0
    # A run that is ended leaves no folder behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with Cluster.chosen() as etcd:
        flags = " ".join([os.environ.get("COR_SERVER_FLAGS", ""), f"--etcd-servers={etcd.urls}", *etcd.login()])
        variables = {"COR_SERVER_FLAGS": flags, "COR_ETCD_URLS": etcd.urls, "COR_ETCD_FOLDER": str(etcd.folder)}
        if os.environ.get("COR_CONSISTENCY_COMPACTS") and not keeps_deletions():
            # Not to the output, which begins with the program's version of TAP since cmocka 1.1.6.
            print("the store is not compacted meanwhile: this etcd loses deletions by that", file=sys.stderr, flush=True)
            variables["COR_CONSISTENCY_COMPACTS"] = ""
        return subprocess.run(sys.argv[1:], env={**os.environ, **variables}).returncode


if __name__ == "__main__":
    sys.exit(main())
