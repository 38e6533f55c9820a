#!/usr/bin/env python3
"""Who is held up by a compiler's warning: those who run ./dev test with a compiler that CI knows, and nobody else. The `dev` of the tree
runs in a folder of its own, with a compiler that the test plays and a real ninja. Argument: the source root."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1]).resolve()

# One object, compiled by a program that warns of the word `unused` in its source, in gcc's words.
NINJA = """rule cc
  command = ./cc $in $out
build one.o: cc ../src/one.c
build coracle: phony one.o
build counted: phony one.o
build build.ninja: phony
build src/schema/re2/coracle-re2.so: phony one.o
"""
CC = """#!/bin/sh
echo "$1" >>compiled
if grep -q unused "$1"; then echo "$1:1:5: warning: unused variable [-Wunused-variable]"; fi
cp "$1" "$2"
"""
MESON = """#!/bin/sh
if [ "$1" = setup ]; then
    mkdir -p "$2/meson-logs"
    echo "$@" >"$2/options"
    cp "$STUBS/build.ninja" "$2/"
    cp "$STUBS/cc" "$2/"
fi
exit 0
"""


class Tree:
    """A folder with `dev` and one source, and stand-ins for what is no part of the question."""

    def __init__(self, folder, gcc, clang):
        self.root = pathlib.Path(folder) / "tree"
        stubs = pathlib.Path(folder) / "stubs"
        for made in (self.root / "src", self.root / "tools", stubs):
            made.mkdir(parents=True)
        shutil.copy(ROOT / "dev", self.root)
        (self.root / "tools/test_summary.py").write_text("print('1 passed, 0 failed')\n")
        (self.root / "tools/choose_tests.py").write_text("print('one')\n")
        (self.root / "tools/run_server").write_text("#!/bin/sh\necho serves\n")
        self.source("int main(void);\n")
        (stubs / "build.ninja").write_text(NINJA)
        (self.root / "tools/packages.sh").write_text("use_next() { :; }\nneed() { :; }\nwant() { :; }\n")
        self.stubs = stubs
        self.compilers(gcc, clang)
        for name, text in {"cc": CC, "meson": MESON}.items():
            (stubs / name).write_text(text)
        for program in (*stubs.iterdir(), self.root / "tools/run_server"):
            program.chmod(0o755)
        self.env = {**os.environ, "PATH": f"{stubs}:{os.environ['PATH']}", "STUBS": str(stubs)}
        self.env.pop("CC", None)

    def compilers(self, gcc, clang):
        """Their versions."""
        for name, version in {"gcc": gcc, "clang": clang}.items():
            (self.stubs / name).write_text(f"#!/bin/sh\necho {version}\n")

    def source(self, text):
        (self.root / "src/one.c").write_text(text)

    def dev(self, *words):
        done = subprocess.run(["sh", self.root / "dev", *words], capture_output=True, text=True, timeout=300, env=self.env, check=False)
        return done.returncode, done.stdout + done.stderr

    def compiled(self):
        return (self.root / "build/compiled").read_text().splitlines()

    def options(self, folder):
        return (self.root / folder / "options").read_text().split()


def runs_what_warns(tree):
    tree.source("int unused;\n")
    for verb in ("build", "run"):
        code, said = tree.dev(verb)
        assert code == 0, said
        assert verb == "run" or "warning: unused variable" in said, said
    assert "-Dwerror=true" not in tree.options("build")


def tests_nothing_that_warns(tree):
    tree.source("int unused;\n")
    code, said = tree.dev("test")
    assert code == 1 and "dev: the compiler warns" in said and "1 passed" not in said, said
    code, said = tree.dev("run")
    assert code == 0 and "serves" in said, said


def finds_what_warned_in_an_earlier_run(tree):
    tree.source("int unused;\n")
    tree.dev("run")
    code, said = tree.dev("test")
    assert code == 1 and "warning: unused variable" in said, said
    code, said = tree.dev("test")
    assert code == 1, f"the second time: {said}"


def forgets_a_warning_that_was_mended(tree):
    tree.source("int unused;\n")
    tree.dev("run")
    tree.source("int used;\n")
    code, said = tree.dev("test")
    assert code == 0 and "1 passed, 0 failed" in said, said


def compiles_nothing_again_between_run_and_test(tree):
    for verb in ("run", "test", "run"):
        code, said = tree.dev(verb)
        assert code == 0, said
    assert len(tree.compiled()) == 1, tree.compiled()


def is_strict_in_sanitized_folders(tree):
    tree.dev("test")
    for folder in ("build-asan", "build-tsan"):
        assert "-Dwerror=true" in tree.options(folder), tree.options(folder)


def is_strict_with_the_compilers_of_both_releases(tree):
    for gcc, clang in (("12", "14.0.6"), ("14", "19.1.7")):
        tree.compilers(gcc, clang)
        tree.dev("clean")
        tree.source("int unused;\n")
        code, said = tree.dev("test")
        assert code == 1 and "dev: the compiler warns" in said, (gcc, said)
        tree.source("int used;\n")
        assert tree.dev("test")[0] == 0
        assert all("-Dwerror=true" in tree.options(folder) for folder in ("build-asan", "build-tsan")), (gcc, clang)


def takes_no_warning_of_an_unknown_compiler_for_an_error(tree):
    tree.source("int unused;\n")
    code, said = tree.dev("test")
    assert code == 0 and "1 passed, 0 failed" in said, said
    for folder in ("build-asan", "build-tsan"):
        assert "-Dwerror=false" in tree.options(folder), tree.options(folder)


def keeps_what_is_warned_of_behind_the_tests(tree):
    """A compiler that CI does not know fails nothing; those who count find what it said."""
    tree.source("int unused;\n")
    tree.dev("test")
    for folder in ("build", "build-asan", "build-tsan"):
        assert "[-Wunused-variable]" in (tree.root / folder / "meson-logs/warned").read_text(), folder


def counts_what_each_compiler_warns_of(tree):
    code, said = tree.dev("warnings")
    assert code == 0 and said == "gcc 16: 0 warnings\nclang 22.1.0: 0 warnings\n", said
    tree.source("int unused;\n")
    for _ in range(2):
        code, said = tree.dev("warnings", "clang")
        warning = "../src/one.c:1:5: warning: unused variable [-Wunused-variable]\n"
        assert code == 1 and warning in said and "clang 22.1.0: 1 warnings\n" in said and "gcc" not in said, said


def counts_nothing_that_does_not_compile(tree):
    (tree.root / "src/one.c").unlink()
    code, said = tree.dev("warnings", "gcc")
    assert code == 1 and said.startswith("dev: gcc does not compile it: ") and "0 warnings" not in said, said


def a_default_setup_is_not_strict(_):
    assert "werror=true" not in (ROOT / "meson.build").read_text()


TESTS = [runs_what_warns, tests_nothing_that_warns, finds_what_warned_in_an_earlier_run, forgets_a_warning_that_was_mended,
         compiles_nothing_again_between_run_and_test, is_strict_in_sanitized_folders, takes_no_warning_of_an_unknown_compiler_for_an_error,
         is_strict_with_the_compilers_of_both_releases, keeps_what_is_warned_of_behind_the_tests, counts_what_each_compiler_warns_of, counts_nothing_that_does_not_compile,
         a_default_setup_is_not_strict]
# These are played with compilers that CI does not know.
OTHERS = [takes_no_warning_of_an_unknown_compiler_for_an_error, keeps_what_is_warned_of_behind_the_tests, counts_what_each_compiler_warns_of]

print(f"1..{len(TESTS)}")
for n, test in enumerate(TESTS, 1):
    with tempfile.TemporaryDirectory() as temporary:
        try:
            test(Tree(temporary, *(("16", "22.1.0") if test in OTHERS else ("12", "14.0.6"))))
            print(f"ok {n} - {test.__name__}")
        except AssertionError as failure:
            print(f"not ok {n} - {test.__name__}\n# " + str(failure).replace("\n", "\n# "))
