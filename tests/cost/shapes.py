#!/usr/bin/env python3
"""How the work of a request grows with its number of elements. shapes.py PROGRAM [N [SHAPE]]

Every shape of tests/cost/shapes_*.c is driven with N and with 4 N elements, and the work of both is counted, on the loop's thread and
on the workers': by the program itself where it was built for that (work.h), else by valgrind, in instructions. Work that grows faster than n log n fails: 4 N elements may take 4 SLACK times the
work of N. What a request costs without any element is in both counts, so it can only make the ratio smaller. A text
that itself grows faster (indented, deep objects) may take what its bytes take. What prepares a request is not counted, also where a
worker does it.

The loop does other work too while a request waits for its storage (a cache that fills, the delivery of the event), and on a
busy machine that work falls into the count. It can only add to it, so a shape that grows too fast is driven again, and the
smallest count of each size is judged."""

import glob
import os
import subprocess
import sys
import tempfile

from counting import is_counted, skip_without_valgrind

PROGRAM = sys.argv[1]
N = int(sys.argv[2]) if len(sys.argv) > 2 else 600
ONLY = sys.argv[3] if len(sys.argv) > 3 else None
GROWTH = 4
SLACK = 1.35
TRIES = 5

FUNCTIONS = ["drive_request", "offload_run_job"]


def instructions(folder, number):
    """What was counted in one dump; valgrind numbers them from 1, in the order in which requests ran."""
    with open(os.path.join(folder, f"out.{number}"), errors="replace") as dump:
        for line in dump:
            if line.startswith("totals:"):
                return int(line.split()[1])
    raise AssertionError(f"dump {number} has no totals")


def run(command):
    """What the program says of each request, in words."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr[-2000:]
    return [line.split() for line in done.stdout.splitlines()]


def drive(only):
    """(shape, elements, bytes, work) of every request, or of those of one shape."""
    program = [PROGRAM] + (["--only", only] if only else []) + [str(N), str(GROWTH * N)]
    if is_counted(PROGRAM):
        return [(shape, int(n), int(size), int(work)) for shape, n, size, _, work in run(program)]
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", "--dump-after=drive_request",
                   "--zero-before=drive_request", "--dump-instr=no", "--dump-line=no"]
        command += [f"--toggle-collect={name}" for name in FUNCTIONS]
        ran = run(command + program)
        assert len(glob.glob(f"{folder}/out.*")) >= len(ran)
        return [(shape, int(n), int(size), instructions(folder, i)) for i, (shape, n, size, *_) in enumerate(ran, 1)]


skip_without_valgrind(PROGRAM)
requests = drive(ONLY)
pairs = list(zip(requests[::2], requests[1::2]))
print(f"1..{len(pairs)}")
for number, ((shape, few, small, cost), (again, many, large, grown)) in enumerate(pairs, 1):
    assert shape == again
    limit = SLACK * max(many / few, large / small)
    for _ in range(1, TRIES):
        if grown / cost <= limit:
            break
        print(f"# {shape} is driven again: {cost} for {few}, {grown} for {many}")
        small_again, large_again = drive(shape)
        cost, grown = min(cost, small_again[3]), min(grown, large_again[3])
    ratio = grown / cost
    words = "ok" if ratio <= limit else "not ok"
    print(f"# {cost / few:.0f} for each of {few}, {grown / many:.0f} for each of {many}")
    print(f"{words} {number} - {shape} grows as n log n: {ratio:.2f} times the work for {many / few:.2f} times the elements",
          flush=True)
