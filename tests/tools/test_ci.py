#!/usr/bin/env python3
"""TAP: what .ci/run and tests/interop/run make of failures, and of things that take too long. Argument: the source root."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1]).resolve()
HANG = "exec sleep 1000"
# (what, ./dev test, ./dev interop, seconds for all and for the clients, exit code, the last line, a line that must be there)
RUNS = [
    ("both totals are added", "echo 3 passed, 0 failed", "echo 2 passed, 0 failed", 120, 0, "5 passed, 0 failed", ""),
    ("a failure of the suite is counted once", "echo 3 passed, 1 failed; exit 1", "echo 2 passed, 0 failed", 120, 1,
     "5 passed, 1 failed", ""),
    ("a failure of a real client fails", "echo 3 passed, 0 failed", "echo 2 passed, 2 failed; exit 1", 120, 1,
     "5 passed, 2 failed", ""),
    ("a suite that does not build has failed", "exit 1", "echo 2 passed, 0 failed", 120, 1, "2 passed, 1 failed", ""),
    ("a suite that is not done in time has failed", HANG, "echo 2 passed, 0 failed", 1, 1, "0 passed, 1 failed",
     "FAILED: ./dev test was not done within 1 s"),
    ("without time the real clients are skipped", "echo 3 passed, 0 failed", HANG, 30, 0, "3 passed, 0 failed",
     "skipped: all real clients: no time is left"),
    ("the real clients are told how long they have", "echo 3 passed, 0 failed",
     'echo "# $COR_INTEROP_SECONDS"; echo 1 passed, 0 failed', 3600, 0, "4 passed, 0 failed", "# 1200"),
]


def ci(test, interop, seconds):
    with tempfile.TemporaryDirectory() as tree:
        (pathlib.Path(tree) / ".ci").mkdir()
        shutil.copy(ROOT / ".ci/run", pathlib.Path(tree) / ".ci/run")
        dev = pathlib.Path(tree) / "dev"
        dev.write_text(f"#!/bin/sh\ncase $1 in\ntest) {test} ;;\ninterop) {interop} ;;\nesac\n")
        dev.chmod(0o755)
        done = subprocess.run([pathlib.Path(tree) / ".ci/run"], capture_output=True, text=True, timeout=300, check=False,
                              env={**os.environ, "CI_SECONDS": str(seconds)})
    return done.returncode, done.stdout


def ci_cases():
    for what, test, interop, seconds, code, last, line in RUNS:
        got, out = ci(test, interop, seconds)
        yield what, got == code and out.splitlines()[-1] == last and (not line or line in out.splitlines()), f"{got}\n{out}"


def interop(seconds, prepare, script="print('ok 1 - a')"):
    """Exit code and output of a run whose only client is prepared by a shell command, if any, and tested by the script."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "script.py"
        path.write_text(script)
        code = (
            "import importlib.machinery, importlib.util, sys\n"
            f"loader = importlib.machinery.SourceFileLoader('interop_run', {str(ROOT / 'tests/interop/run')!r})\n"
            "run = importlib.util.module_from_spec(importlib.util.spec_from_loader('interop_run', loader))\n"
            "loader.exec_module(run)\n"
            f"def client(folder):\n    {prepare}\n    return [], {{}}\n"
            f"run.CLIENTS = {{'one': client}}\nrun.SCRIPTS = {{'one': {str(path)!r}}}\n"
            f"sys.argv = ['run', {folder!r}]\nsys.exit(run.main())\n")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False,
                              env={**os.environ, "COR_INTEROP_SECONDS": str(seconds), "PYTHONDONTWRITEBYTECODE": "1"})
    return done.returncode, done.stdout + done.stderr


# (what, seconds, how the client is prepared, its tests, exit code, the last line as a pattern, a line that must be there).
# How far a script comes before its time is over depends on the machine.
INTEROP = [
    ("a client runs with caches and without", 100, "pass", "print('ok 1 - a')", 0, "2 passed, 0 failed", "== one --watch-cache=true"),
    ("a test that fails is a failure", 100, "pass", "print('ok 1 - a\\nnot ok 2 - b')", 1, "2 passed, 2 failed", "not ok 2 - b"),
    ("a script that ends early is a failure", 100, "pass", "print('ok 1 - a')\nraise SystemExit(3)", 1, "2 passed, 2 failed", "ok 1 - a"),
    ("a tool that is missing is skipped", 100, "run.need('no-such-tool')", "", 0, "0 passed, 0 failed",
     "skipped: one: no-such-tool is not installed"),
    ("a download that fails is skipped", 100, "run.fetch('sh', '-c', 'echo Error: no route; exit 1')", "", 0, "0 passed, 0 failed",
     "skipped: one: sh: Error: no route"),
    ("a download that does not end is skipped", 1, "run.fetch('sleep', '1000')", "", 0, "0 passed, 0 failed",
     "skipped: one: sleep: no packages before the time was over"),
    ("a program that does not build is a failure", 100, "run.build('sh', '-c', 'exit 1')", "", 1, "0 passed, 1 failed",
     "not ok - does not build"),
    ("a test that hangs is a failure", 100, "run.RUN_S = 1", "import time\nprint('ok 1 - a', flush=True)\ntime.sleep(1000)", 1,
     "[0-2] passed, 2 failed", "not ok - not done within 1 s"),
    ("tests that there is no time for are named", 2, "pass", "import time\nprint('ok 1 - a', flush=True)\ntime.sleep(1000)", 0,
     "[01] passed, 0 failed", "skipped: one --watch-cache=false: the time was over"),
]


def interop_cases():
    for what, seconds, prepare, script, code, last, line in INTEROP:
        got, out = interop(seconds, prepare, script)
        lines = out.splitlines() or [""]
        yield what, got == code and re.fullmatch(last, lines[-1]) and line in lines, f"{got}\n{out}"


def main():
    failed = 0
    print(f"1..{len(RUNS) + len(INTEROP)}")
    for number, (what, ok, said) in enumerate([*ci_cases(), *interop_cases()], 1):
        print(f"{'ok' if ok else 'not ok'} {number} - {what}")
        if not ok:
            failed += 1
            print("# " + said.replace("\n", "\n# "))
    return 1 if failed else 0


sys.exit(main())
