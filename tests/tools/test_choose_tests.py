#!/usr/bin/env python3
"""TAP: which tests ./dev test runs in the plain build, from made-up folders; and that this build marks those that hold more without
a sanitizer. Arguments: the source root and a build folder."""

import functools
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT, BUILD = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
TOOLS = ROOT / "tools"
# What a test asks that does less with a sanitizer, or that looks at memory or time, which a sanitizer has its own of.
LESS = re.compile(r"\bSANITIZED\b|\bSANITIZERS\b|__SANITIZE_ADDRESS__|address_sanitizer|(?<!def )\bsanitizer_of\(|VmRSS|RssAnon"
                  r"|mallinfo|malloc_usable_size|/statm|RUSAGE_|THREAD_CPUTIME")


def test(name, *suites, args=(), env=None):
    """A test of a folder F, as meson describes it."""
    return {"name": name, "suite": [f"coracle:{suite}" for suite in suites or ["unit"]], "cmd": ["F/run", *args], "env": env or {}}


# (what, tests of the plain folder, of the reference, the chosen)
CHOICES = [
    ("what the reference has is not run again", [test("a"), test("b", "cost")], [test("a")], ["b", "a"]),
    ("a suite of which all run elsewhere has a first test", [test("a", "x"), test("b", "x"), test("c", "y")],
     [test("a", "x"), test("b", "x"), test("c", "y")], ["a", "c"]),
    ("what is marked as plain is run again", [test("a"), test("b", "unit", "plain")], [test("a"), test("b", "unit", "plain")], ["b"]),
    ("other arguments are another test", [test("a"), test("b", args=["200"])], [test("a"), test("b", args=["40"])], ["b"]),
    ("another environment is another test", [test("a"), test("b", env={"N": "3"})], [test("a"), test("b", env={"N": "1"})], ["b"]),
    ("a mark is no suite that wants a test", [test("a", "unit", "plain"), test("b", "unit", "long")],
     [test("a", "unit", "plain"), test("b", "unit", "long")], ["a"]),
    ("twins are left out", [test("a", "unit", "plain"), test("b", "unit", "twins")], [test("a", "unit", "plain")], ["a"]),
]
# Only the plain build has them, or they have a form of their own there.
FORMS = {"examples/programs", "hostile/after", "hostile/before", "integration/slow_readers-cache", "integration/slow_readers-store",
         "gen/server"}
LOG = {"stdout": "1..1\nok 1 - t\n", "result": "OK", "returncode": 0}
# (what, the tests that there are, those that ran in each folder, the lines of the summary's end)
WHOLE = [
    ("a test that no configuration has run is a failure", [test("a"), test("b")], [["a"], []],
     ["FAILED b: no configuration has run it", "1 passed, 1 failed"]),
    ("a test may run in any configuration", [test("a"), test("b")], [["a"], ["b"]], ["2 passed, 0 failed"]),
    ("twins need not run", [test("a"), test("b", "unit", "twins")], [["a"], ["a"]], ["2 passed, 0 failed"]),
]


def folder(tree, name, tests, ran=()):
    path = pathlib.Path(tree) / name
    (path / "meson-info").mkdir(parents=True)
    (path / "meson-logs").mkdir()
    text = json.dumps(tests).replace("F/", f"{path.resolve()}/")
    (path / "meson-info" / "intro-tests.json").write_text(text)
    (path / "meson-logs" / "testlog.json").write_text("".join(json.dumps({**LOG, "name": f"coracle:unit / {n}"}) + "\n" for n in ran))
    return str(path)


def tool(name, *args):
    return subprocess.run([sys.executable, str(TOOLS / name), *args], capture_output=True, text=True, check=False)


def choice(tests, reference):
    with tempfile.TemporaryDirectory() as tree:
        return tool("choose_tests.py", folder(tree, "build", tests), folder(tree, "build-asan", reference)).stdout.split()


def whole(tests, ran):
    with tempfile.TemporaryDirectory() as tree:
        folders = [folder(tree, f"build{n}", tests, names) for n, names in enumerate(ran)]
        done = tool("test_summary.py", "--whole", *folders)
        return done.returncode, done.stdout.splitlines()


@functools.cache
def files_below(folder):
    """The files of a folder and of those in it, by their names."""
    found = {}
    for path in folder.rglob("*.[ch]"):
        found.setdefault(path.name, []).append(path)
    return found


def sources_of(described):
    """The files under tests/ that a test is made of: those that its command names, and the headers that a C file takes from there."""
    found = []
    program = pathlib.Path(described["cmd"][0])
    for word in map(pathlib.Path, described["cmd"][1:]):
        if word.suffix == ".py" and word.is_absolute():
            found.append(word.resolve())
        elif word.suffix == ".c" and program.is_relative_to(BUILD):
            # A test_x.c of the folder whose program runs it.
            found += files_below((ROOT / program.relative_to(BUILD)).parent).get(word.name, [])
    for path in list(found):
        for header in re.findall(r'#include "(\w+\.h)"', path.read_text()) if path.suffix == ".c" else []:
            found += files_below(ROOT / "tests").get(header, [])
    return set(found)


def unmarked():
    """Tests that hold more without a sanitizer and would not run without one."""
    for described in json.loads((BUILD / "meson-info" / "intro-tests.json").read_text()):
        suites = {suite.split(":")[-1] for suite in described["suite"]}
        if suites & {"plain", "twins"} or described["name"] in FORMS:
            continue
        for path in sources_of(described):
            if path != pathlib.Path(__file__).resolve() and LESS.search(path.read_text()):
                yield f"{described['name']}: {path.relative_to(ROOT)}"


def main():
    results = []
    for what, tests, reference, expected in CHOICES:
        got = choice(tests, reference)
        results.append((what, got == expected, got))
    for what, tests, ran, expected in WHOLE:
        code, lines = whole(tests, ran)
        results.append((what, lines[-len(expected):] == expected and code == (len(expected) > 1), lines))
    results.append(("what holds more without a sanitizer is marked as plain", not list(unmarked()), list(unmarked())))
    print(f"1..{len(results)}")
    for number, (what, is_good, got) in enumerate(results, 1):
        print(f"{'ok' if is_good else 'not ok'} {number} - {what}")
        if not is_good:
            print(f"# {got}")
    return 0 if all(is_good for _, is_good, _ in results) else 1


sys.exit(main())
