#!/usr/bin/env python3
"""Runs a test program whose servers are on an etcd of its own: with_etcd.py PROGRAM [ARGUMENT...]
The server's flags are in COR_SERVER_FLAGS."""

import os
import subprocess
import sys

from etcd_cluster import Cluster, program


def main():
    if not program():
        print("1..0 # SKIP there is no etcd: install etcd-server, or name one in COR_ETCD")
        return 0
    with Cluster() as etcd:
        flags = os.environ.get("COR_SERVER_FLAGS", "") + f" --etcd-servers={etcd.urls}"
        return subprocess.run(sys.argv[1:], env=dict(os.environ, COR_SERVER_FLAGS=flags)).returncode


if __name__ == "__main__":
    sys.exit(main())
