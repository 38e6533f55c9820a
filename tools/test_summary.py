#!/usr/bin/env python3
"""Adds up the JUnit logs that meson wrote for each build folder and ends with `N passed, N failed`.
Exits non-zero when anything failed or nothing ran."""

import pathlib
import sys
import xml.etree.ElementTree as ET


def count(folder):
    passed, failed = 0, []
    tree = ET.parse(folder / "meson-logs" / "testlog.junit.xml")
    for suite in tree.getroot().iter("testsuite"):
        cases = list(suite.iter("testcase"))
        for case in cases:
            name = f"{suite.get('name')}: {case.get('name')}"
            if case.find("failure") is not None or case.find("error") is not None:
                failed.append(name)
            elif case.find("skipped") is None:
                passed += 1
        # A test program that dies after its last TAP line shows only in the suite's own count.
        own = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        if own and not any(f.startswith(f"{suite.get('name')}: ") for f in failed):
            failed.append(suite.get("name"))
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
