#!/usr/bin/env python3
"""TAP: test_summary.py on made-up logs of meson. Argument: the source root."""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
GOOD = {"name": "unit / good", "stdout": "1..2\nok 1 - a\nok 2 - b\n", "result": "OK", "returncode": 0}


def program(stdout, result, returncode):
    return {"name": "unit / x", "stdout": stdout, "result": result, "returncode": returncode}


FAILED = program("1..2\nok 1 - a\nnot ok 2 - b\n# why\n", "FAIL", 1)
PASSED = program("1..2\nok 1 - a\nok 2 - b\n", "OK", 0)

# (what, programs of the log, of the second log, names of those that deserve one)
AGAIN = [
    ("a test that passes when it is run again is named and counts as passed", [GOOD, FAILED], [PASSED],
     ["UNSTABLE build: unit / x: b: failed, and passed when it was run again alone", "# why", "4 passed, 0 failed"], ["x"]),
    ("a program that counts its failures by TAP alone is run again, too", [GOOD, {**FAILED, "returncode": 0}], [PASSED],
     ["UNSTABLE build: unit / x: b: failed, and passed when it was run again alone", "# why", "4 passed, 0 failed"], ["x"]),
    ("a test that fails twice has failed", [GOOD, FAILED], [FAILED], ["FAILED build: unit / x: b", "# why", "3 passed, 1 failed"], ["x"]),
    ("a program that crashed is not run again", [GOOD, program("1..2\nok 1 - a\n", "ERROR", -6)], [],
     ["FAILED build: unit / x: error, exit code -6", "3 passed, 1 failed"], []),
    ("a program that hung is not run again", [GOOD, program("1..2\nnot ok 1 - a\n", "TIMEOUT", -15)], [],
     ["FAILED build: unit / x: a", "2 passed, 1 failed"], []),
    ("what a sanitizer stopped is not run again",
     [GOOD, {**FAILED, "stderr": "==1==ERROR: AddressSanitizer: heap-use-after-free\n"}], [],
     ["FAILED build: unit / x: b", "# why", "3 passed, 1 failed"], []),
]

# (what, programs of the log, expected lines at the end)
CASES = [
    ("tests that passed are counted one by one", [GOOD, GOOD], ["4 passed, 0 failed"]),
    ("a test that failed is named, with its reason", [GOOD, program("1..2\nok 1 - a\nnot ok 2 - b\n# why\n", "FAIL", 1)],
     ["FAILED build: unit / x: b", "# why", "3 passed, 1 failed"]),
    ("of a long reason the end is shown", [program("not ok 1 - a\n" + "".join(f"# {i}\n" for i in range(100)) + "ok 2 - b\n", "FAIL", 1)],
     ["FAILED build: unit / x: a", *[f"# {i}" for i in range(70, 100)], "1 passed, 1 failed"]),
    ("a program that fails after its last test is a failure", [GOOD, program("1..1\nok 1 - a\n", "ERROR", 66)],
     ["FAILED build: unit / x: error, exit code 66", "3 passed, 1 failed"]),
    ("a program that was killed is a failure", [program("1..2\nok 1 - a\n", "TIMEOUT", -15)],
     ["FAILED build: unit / x: timeout, exit code -15", "1 passed, 1 failed"]),
    ("a test that was skipped counts as neither", [GOOD, program("1..1\nok 1 - a # SKIP no root\n", "SKIP", 0)],
     ["2 passed, 0 failed"]),
    ("a program without TAP is one test", [{"name": "plain", "result": "OK", "returncode": 0}], ["1 passed, 0 failed"]),
    ("nothing that ran is a failure", [], ["0 passed, 0 failed"]),
]


def summary(programs, again):
    """Exit code and lines of the summary, and the programs that it would have run again."""
    with tempfile.TemporaryDirectory() as tree:
        logs = pathlib.Path(tree) / "build" / "meson-logs"
        logs.mkdir(parents=True)
        (logs / "testlog.json").write_text("".join(json.dumps(p) + "\n" for p in programs))
        if again:
            (logs / "again.json").write_text("".join(json.dumps(p) + "\n" for p in again))
        done, names = (subprocess.run([sys.executable, str(ROOT / "tools" / "test_summary.py"), *args, "build"], cwd=tree,
                                      capture_output=True, text=True, check=False) for args in ([], ["--again"]))
    return done.returncode, done.stdout.splitlines(), names.stdout.split()


def main():
    cases = [(what, programs, [], expected, None) for what, programs, expected in CASES] + AGAIN
    print(f"1..{len(cases)}")
    failed = 0
    for number, (what, programs, again, expected, deserving) in enumerate(cases, 1):
        code, lines, names = summary(programs, again)
        good = expected[-1].endswith(" 0 failed") and not expected[-1].startswith("0 ")
        ok = lines[-len(expected):] == expected and (code == 0) == good and deserving in (None, names)
        print(f"{'ok' if ok else 'not ok'} {number} - {what}")
        if not ok:
            failed += 1
            print(f"# exit code {code}, said: {lines!r}, again: {names!r}")
    return 1 if failed else 0


sys.exit(main())
