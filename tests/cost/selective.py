#!/usr/bin/env python3
"""What a list costs that selects few objects of many, in instructions. selective.py PROGRAM [PODS]

Thirty pods of one node, and ten of one namespace, are listed, paged, listed at a past revision and watched with an initial
state, among a thousand pods and among PODS. What they cost may grow by the depth of a tree and by nothing else."""

import re
import shutil
import subprocess
import sys

PROGRAM = sys.argv[1]
FEW = 1000
MANY = int(sys.argv[2]) if len(sys.argv) > 2 else 8000
GROWTH = 1.2
GIVEN = {
    "node": ["30", "7", "30", "30"],
    "node-in-namespace": ["10", "7", "10", "10"],
    "namespace": ["10", "7", "10", "10"],
    "namespace-field": ["10", "7", "10", "10"],
    "name": ["1", "1", "1", "1"],
}


def cost(selection, pods):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=drive_selection",
               PROGRAM, str(pods), selection]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split()[1:] == GIVEN[selection], done.stdout
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


if not shutil.which("valgrind"):
    print("1..0 # SKIP valgrind is not installed")
    sys.exit(0)
print(f"1..{len(GIVEN)}")
for n, selection in enumerate(GIVEN, 1):
    few, many = cost(selection, FEW), cost(selection, MANY)
    print(f"# {selection}: {few} instructions among {FEW} pods, {many} among {MANY}")
    verdict = "ok" if many <= GROWTH * few else "not ok"
    print(f"{verdict} {n} - {selection.replace('-', '_')}_costs_what_it_selects", flush=True)
