#!/usr/bin/env python3
"""Adds up meson's logs of each build folder and ends with `N passed, N failed`. A program that crashed, ran out
of time or ended with a code of its own (a sanitizer's) is a failure, whatever its tests said before. Exits
non-zero when anything failed or nothing ran."""

import json
import pathlib
import re
import sys

TAP = re.compile(r"(not )?ok\b\s*\d*\s*(?:- )?(.*)")


def judge(program):
    """How many of the program's tests passed, and the names of those that failed."""
    results = [m for line in program.get("stdout", "").splitlines() if (m := TAP.match(line))]
    failed = [m.group(2) for m in results if m.group(1)]
    passed = sum(1 for m in results if not m.group(1) and "# skip" not in m.group(2).lower())
    good = program["result"] in ("OK", "SKIP", "EXPECTEDFAIL")
    if not good and not failed:
        failed.append(f"{program['result'].lower()}, exit code {program.get('returncode')}")
    if good and not results:
        passed = 1
    return passed, failed


def count(folder):
    passed, failed = 0, []
    for line in (folder / "meson-logs" / "testlog.json").read_text().splitlines():
        program = json.loads(line)
        good, bad = judge(program)
        passed += good
        failed += [f"{program['name']}: {name}" for name in bad]
    return passed, failed


def main():
    total, failures = 0, []
    for folder in map(pathlib.Path, sys.argv[1:]):
        passed, failed = count(folder)
        print(f"{folder}: {passed} passed, {len(failed)} failed")
        total += passed
        failures += [f"{folder}: {name}" for name in failed]
    for name in failures:
        print(f"FAILED {name}")
    print(f"{total} passed, {len(failures)} failed")
    return 1 if failures or not total else 0


if __name__ == "__main__":
    sys.exit(main())
