#!/usr/bin/env python3
"""Which tests `./dev test` runs in the plain build. choose_tests.py PLAIN REFERENCE: two build folders of meson

The build with ASan and UBSan is the reference: it runs every test that it has, and nothing runs a second time without a reason.
In the plain build run

- the tests that the reference does not have, since a sanitizer would disturb them or has nothing to watch in them;
- those that the reference has in another form: with other arguments or another environment, as fewer histories;
- those of the suite `plain`, which hold more without a sanitizer (memory, time, larger numbers);
- of a suite that has none of these, its first.

What belongs to the suite `twins` is left to `./dev twins`. The names are printed, one a line, for the command line of meson.
tools/test_summary.py --whole compares what ran with what there is."""

import json
import pathlib
import sys

LEFT_OUT = "twins"
ALSO_PLAIN = "plain"
# They say what a test is like, not what it is about.
MARKS = {LEFT_OUT, ALSO_PLAIN, "long"}


def tests_of(folder):
    """The tests of a build folder by their names, as meson describes them, without those that are left out."""
    described = json.loads((folder / "meson-info" / "intro-tests.json").read_text())
    return {test["name"]: test for test in described if LEFT_OUT not in suites_of(test)}


def suites_of(test):
    return {suite.split(":")[-1] for suite in test["suite"]}


def form_of(test, folder):
    """What is run, and with what around it; the path of the build folder is no difference."""
    return json.dumps([test["cmd"], test["env"]], sort_keys=True).replace(str(folder.resolve()) + "/", "")


def choose(plain_folder, reference_folder):
    plain, reference = tests_of(plain_folder), tests_of(reference_folder)
    chosen = [name for name, test in plain.items()
              if name not in reference or ALSO_PLAIN in suites_of(test)
              or form_of(test, plain_folder) != form_of(reference[name], reference_folder)]
    seen = set().union(*(suites_of(plain[name]) for name in chosen))
    for name, test in plain.items():
        if suites_of(test) - MARKS - seen:
            chosen.append(name)
            seen |= suites_of(test)
    return chosen


if __name__ == "__main__":
    print("\n".join(choose(*map(pathlib.Path, sys.argv[1:]))))
