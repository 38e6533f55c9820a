#!/usr/bin/env python3
"""h2spec, the conformance suite of HTTP/2, against a real server. h2spec.py PROGRAM [FLAG...], with the suite's program in
$COR_CLIENT; prints TAP.

DATA on a stream that has ended is passed over: to answer it with an error the server would have to remember every stream
of a connection. The cases that ask for it are KNOWN; all others must pass."""

import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "integration"))

from fixture import Server  # noqa: E402

TIMEOUT_S = 3
KNOWN = {
    "http2/5.1": {
        "half closed (remote): Sends a DATA frame",
        "closed: Sends a DATA frame after sending RST_STREAM frame",
        "closed: Sends a DATA frame",
    },
    "http2/6.1": {'Sends a DATA frame on the stream that is not in "open" or "half-closed (local)" state'},
}


def cases(server):
    with tempfile.NamedTemporaryFile(suffix=".xml") as report:
        subprocess.run([*shlex.split(os.environ["COR_CLIENT"]), "-h", server.host, "-p", str(server.port), "-t", "-k",
                        "-P", "/version", "-o", str(TIMEOUT_S), "-j", report.name], stdout=subprocess.DEVNULL, check=False)
        for case in xml.etree.ElementTree.parse(report.name).iter("testcase"):
            yield case.get("package"), case.get("classname"), case.find("error") is None and case.find("failure") is None


def main():
    failed = number = 0
    with Server(sys.argv[1], *sys.argv[2:]) as server:
        for section, name, is_good in cases(server):
            if not is_good and name in KNOWN.get(section, ()):
                print(f"# known: {section} {name}")
                continue
            number += 1
            failed += not is_good
            print(f"{'ok' if is_good else 'not ok'} {number} - {section} {name}")
    print(f"1..{number}")
    return 1 if failed or number == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
