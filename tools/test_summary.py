#!/usr/bin/env python3
"""Adds up meson's logs of each build folder and ends with `N passed, N failed`. A program that crashed, ran out
of time or ended with a code of its own (a sanitizer's) is a failure, whatever its tests said before. Exits
non-zero when anything failed or nothing ran.

Where a build folder has a second log (meson-logs/again.json), the programs in it were run once more, alone: what they said then
counts, and a test that passed only then is named as UNSTABLE. `test_summary.py --again FOLDER` prints the names of the
programs that deserve it: those in which a test failed. What crashed, hung or was stopped by a sanitizer does not.

`test_summary.py --whole FOLDER..` judges a run of the whole suite: a program that one of the folders has and none has run is a failure,
but for the suite `twins`. So no test is lost between the configurations, which share them (tools/choose_tests.py)."""

import json
import pathlib
import re
import sys

import choose_tests

TAP = re.compile(r"(not )?ok\b\s*\d*\s*(?:- )?(.*)")
# Of what a failed test says about itself: a traceback and what it ends with.
REASON_LINES = 30


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


def reasons(program):
    """What each failed test says below its line; a log of meson has it, but does not show it."""
    said, name = {}, None
    for line in program.get("stdout", "").splitlines():
        if m := TAP.match(line):
            name = m.group(2) if m.group(1) else None
        elif name is not None and line.startswith("#"):
            said.setdefault(name, []).append(line)
    return {name: lines[-REASON_LINES:] for name, lines in said.items()}


def name_of(program):
    """As meson takes it on its command line: without the project and the suites."""
    return program["name"].split(" / ")[-1]


def programs(log):
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def deserves_another(program):
    failed = any(m.group(1) for line in program.get("stdout", "").splitlines() if (m := TAP.match(line)))
    said = program.get("stdout", "") + program.get("stderr", "")
    return failed and program.get("returncode") in (0, 1) and "Sanitizer" not in said and "runtime error:" not in said


def count(folder):
    passed, failed, unstable = 0, [], []
    logs = folder / "meson-logs"
    again = {program["name"]: program for program in programs(logs / "again.json")}
    for program in programs(logs / "testlog.json"):
        good, bad = judge(program)
        why = reasons(program)
        if bad and program["name"] in again:
            first, (good, bad) = bad, judge(again[program["name"]])
            unstable += [(f"{program['name']}: {name}", why.get(name, [])) for name in first if name not in bad]
        passed += good
        failed += ["\n".join([f"{program['name']}: {name}", *why.get(name, [])]) for name in bad]
    return passed, failed, unstable


def print_again(folder):
    for program in programs(folder / "meson-logs" / "testlog.json"):
        if judge(program)[1] and deserves_another(program):
            print(name_of(program))


def ran_nowhere(folders):
    """The programs that a folder has and none of them has run."""
    known, ran = set(), set()
    for folder in folders:
        known |= choose_tests.tests_of(folder).keys()
        ran |= {name_of(program) for program in programs(folder / "meson-logs" / "testlog.json")}
    return sorted(known - ran)


def main():
    if sys.argv[1] == "--again":
        return print_again(pathlib.Path(sys.argv[2]))
    is_whole = sys.argv[1] == "--whole"
    folders = list(map(pathlib.Path, sys.argv[1 + is_whole:]))
    total, failures = 0, []
    for folder in folders:
        passed, failed, unstable = count(folder)
        print(f"{folder}: {passed} passed, {len(failed)} failed")
        total += passed
        failures += [f"{folder}: {name}" for name in failed]
        for name, why in unstable:
            print(f"UNSTABLE {folder}: {name}: failed, and passed when it was run again alone", *why, sep="\n")
    if is_whole:
        failures += [f"{name}: no configuration has run it" for name in ran_nowhere(folders)]
    for name in failures:
        print(f"FAILED {name}")
    print(f"{total} passed, {len(failures)} failed")
    return 1 if failures or not total else 0


if __name__ == "__main__":
    sys.exit(main())
