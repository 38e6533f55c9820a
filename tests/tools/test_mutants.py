#!/usr/bin/env python3
"""The planted faults are what tools/mutants.py says, and a small project's survivor is named. Argument: the source root."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True
import mutants  # noqa: E402
import plant_faults  # noqa: E402

SOURCE = """#include <x.h>

static const int table[] = {0, 1};

/* if (a < b) is only a comment. */
int first(struct x *x, int r)
{
    int n = 0;

    assert(r == 0);
    if (r < 0 &&
        n > 1)
        return r;
    x->n = n + 1;
    n++;
    log_it("if (a < b) %d", 1);
    cor_free(x);
    return r < 0 ? r : second(x, "a ? b : c");
}
"""

# Kind, the line, and what the line becomes.
WANTED = [
    ("another constant", 7, "    int n = 1;"),
    ("negate a condition", 10, "    if (!(r < 0 &&"),
    ("another operator", 10, "    if (r <= 0 &&"),
    ("another constant", 10, "    if (r < 1 &&"),
    ("another operator", 10, "    if (r < 0 ||"),
    ("another operator", 11, "        n >= 1)"),
    ("another constant", 11, "        n > 0)"),
    ("do not leave", 12, "        ;"),
    ("swallow an error", 12, "        return 0;"),
    ("drop an assignment", 13, "    ;"),
    ("another operator", 13, "    x->n = n - 1;"),
    ("another constant", 13, "    x->n = n + 0;"),
    ("drop a step", 14, "    ;"),
    ("keep what should be released", 16, "    ;"),
    ("another operator", 17, "    return r <= 0 ? r : second(x, \"a ? b : c\");"),
    ("another constant", 17, "    return r < 1 ? r : second(x, \"a ? b : c\");"),
    ("swallow an error", 17, "    return second(x, \"a ? b : c\");"),
]

MESON = """project('p', 'c')
py = find_program('python3')
lib = static_library('sum', 'src/base/sum.c')
test('base/sum', executable('test_sum', 'test_sum.c', link_with: lib), suite: 'unit')
"""
SUM = """int sum(const int *v, int n);

int sum(const int *v, int n)
{
    int total = 0;

    if (n > 100)
        return -1;
    for (int i = 0; i < n; i++)
        total += v[i];
    return total;
}
"""
TEST = """int sum(const int *v, int n);

int main(void)
{
    const int v[] = {1, 2, 3};

    return sum(v, 3) == 6 && sum(v, 0) == 0 ? 0 : 1;
}
"""


def check_plants():
    """What does not hold of the faults that are found in SOURCE."""
    lines, seen = SOURCE.splitlines(), set()
    for fault in plant_faults.find(SOURCE):
        after = plant_faults.plant(SOURCE, fault).splitlines()
        if len(after) != len(lines):
            yield f"{fault} changes the number of lines"
        first = next(i for i, (a, b) in enumerate(zip(lines, after)) if a != b)
        seen.add((fault.kind, first, after[first]))
    for wanted in WANTED:
        if wanted not in seen:
            yield f"not planted: {wanted}"
    for extra in sorted(seen - set(WANTED)):
        yield f"planted too: {extra}"


def check_run():
    """What does not hold of a run over a project with one test that never sees the limit of 100."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder) / "project"
        (root / "src" / "base").mkdir(parents=True)
        for name, text in (("meson.build", MESON), ("src/base/sum.c", SUM), ("test_sum.c", TEST)):
            (root / name).write_text(text)
        subprocess.run(["git", "init", "-q", root], check=True)
        command = [sys.executable, ROOT / "tools" / "mutants.py", "100", "base", "--seed", "7", "--root", root]
        runs = [subprocess.run(command, capture_output=True, text=True, timeout=240) for _ in range(2)]
        out = runs[0].stdout
        if runs[0].returncode != 0:
            yield runs[0].stderr
            return
        if out.splitlines()[0] != "seed 7":
            yield "the seed is not printed"
        if "src/base/sum.c:7 (negate a condition): found by base/sum" not in out:
            yield "the negated limit was not found"
        if "src/base/sum.c:8 (swallow" in out or "-    if (n > 100)\n+    if (n >= 100)" not in out:
            yield "the limit that no test looks at is not among the survivors"
        if "faults were found, " not in out.splitlines()[-1]:
            yield "there is no summary"
        if (root / "src/base/sum.c").read_text() != SUM:
            yield "the checkout was written to"
        without_times = [[line.split(" s  ")[-1] for line in run.stdout.splitlines()] for run in runs]
        if without_times[0] != without_times[1]:
            yield "the same seed gave another run"


SLOW_TEST = TEST.replace("int main", "int usleep(unsigned);\n\nint main").replace("return sum", "usleep(300000);\n    return sum")


def check_slower():
    """What does not hold when a test takes longer than it once did."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder) / "project"
        (root / "src" / "base").mkdir(parents=True)
        for name, text in (("meson.build", MESON), ("src/base/sum.c", SUM), ("test_sum.c", SLOW_TEST)):
            (root / name).write_text(text)
        subprocess.run(["git", "init", "-q", root], check=True)
        tree = mutants.Tree(root, root / "build-mutants")
        tree.update()
        tree.configure()
        tree.make()
        suite = mutants.Suite(tree, 20)
        suite.times = {"base/sum": 0.001}
        trial = mutants.Trial(tree, suite, tree.objects())
        path = tree.copy / "src/base/sum.c"
        faults = {fault.kind: fault for fault in plant_faults.find(SUM) if SUM.count("\n", 0, fault.start) == 6}
        mutants.PATIENCE_SECONDS, before = 0.05, mutants.PATIENCE_SECONDS
        verdicts = [trial.judge(path, faults[kind]) for kind in ("another operator", "negate a condition")]
        mutants.PATIENCE_SECONDS = before
        if verdicts != ["survived", "base/sum"]:
            yield f"a test that became slower found {verdicts}"


# Starts a process in its group and one in a session of its own, writes the three pids, and spins.
SPIN = """import os, subprocess, sys, time
spin = [sys.executable, "-c", "while True: pass"]
pids = [os.getpid(), subprocess.Popen(spin).pid, subprocess.Popen(spin, start_new_session=True).pid]
with open(sys.argv[1] + ".new", "w") as f:
    f.write(" ".join(map(str, pids)))
os.rename(sys.argv[1] + ".new", sys.argv[1])
while True: pass
"""


def left_of(pids):
    """Those that are still there after a minute."""
    end = time.monotonic() + 60
    while (left := [pid for pid in pids if pathlib.Path(f"/proc/{pid}").exists()]) and time.monotonic() < end:
        time.sleep(0.01)
    return left


def pids_in(file):
    end = time.monotonic() + 60
    while not file.exists() and time.monotonic() < end:
        time.sleep(0.01)
    return [int(pid) for pid in file.read_text().split()]


def check_spinning():
    """What does not hold of a test over its time, and of one whose runner is ended."""
    mutants.end_with_children()
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "pids"
        code = mutants.run_alone([sys.executable, "-c", SPIN, str(file)], os.environ, folder, 5)
        if code is not None:
            yield f"a test that spins ended with {code}"
        for pid in left_of(pids_in(file)):
            yield f"{pid} of a test that was over its time is left"
        for number in (signal.SIGTERM, signal.SIGINT):
            file = pathlib.Path(folder) / f"pids{number}"
            script = (f"import os, sys; sys.path.insert(0, {str(ROOT / 'tools')!r}); sys.dont_write_bytecode = True\n"
                      f"import mutants; mutants.end_with_children()\n"
                      f"mutants.run_alone([sys.executable, '-c', {SPIN!r}, {str(file)!r}], os.environ, None, 600)")
            runner = subprocess.Popen([sys.executable, "-c", script])
            pids = pids_in(file)
            runner.send_signal(number)
            if runner.wait() != 128 + number:
                yield f"a runner that got {number} ended with {runner.returncode}"
            for pid in left_of(pids):
                yield f"{pid} is left of a runner that got {number}"


TESTS = [("faults are planted where they should be", check_plants), ("survivors are named", check_run),
         ("a test that became slower finds nothing by that", check_slower),
         ("no process of a test is left that spins", check_spinning)]
print(f"1..{len(TESTS)}")
for number, (name, check) in enumerate(TESTS, 1):
    if check in (check_run, check_slower) and not shutil.which("ninja"):
        print(f"ok {number} - {name} # SKIP there is no ninja")
        continue
    wrong = list(check())
    print(f"{'not ok' if wrong else 'ok'} {number} - {name}")
    for line in wrong:
        print("# " + line.replace("\n", "\n# "))
