#!/usr/bin/env python3
"""TAP: which files `tools/lint --change` looks at, with tools that the test plays. Argument: the source root."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1]).resolve()
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
# Each notes its files. A file with the word `wrong` is a finding.
TOOL = """#!/bin/sh
[ "$1" != --version ] || { case $0 in *cppcheck) echo "Cppcheck 2.10" ;; *) echo "clang version 14.0.6" ;; esac; exit 0; }
for word; do
    case $word in
    *.c) set -- "$word" ;;
    --file-list=*) set -- $(cat "${word#*=}") ;;
    *) continue ;;
    esac
    for file; do echo "$(basename "$0") $file" >>"$SEEN"; ! grep -q wrong "$file" || code=1; done
done
exit ${code:-0}
"""


class Tree:
    """A repository with two files, of which the last commit changed one."""

    def __init__(self, folder):
        self.root, self.bin, self.seen = (pathlib.Path(folder) / name for name in ("tree", "bin", "seen"))
        for made in (self.root / "src", self.root / "tools", self.root / "build", self.bin):
            made.mkdir(parents=True)
        shutil.copy(ROOT / "tools/lint", self.root / "tools")
        (self.root / ".gitignore").write_text("/build\n")
        for name in ("clang-format", "clang-tidy", "cppcheck"):
            (self.bin / name).write_text(TOOL)
            (self.bin / name).chmod(0o755)
        self.write("old", "new")
        entries = [{"directory": str(self.root / "build"), "file": f"../src/{name}.c"} for name in ("old", "new", "fresh")]
        (self.root / "build/compile_commands.json").write_text(json.dumps(entries))
        self.git("init", "-q")
        self.commit()
        self.write("new", text="int b;\n")
        self.commit()

    def git(self, *words):
        subprocess.run([*GIT, *words], cwd=self.root, check=True, capture_output=True)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-qm", "x")

    def write(self, *names, text="int a;\n"):
        for name in names:
            (self.root / f"src/{name}.c").write_text(text)

    def lint(self, *words):
        """Exit code, and the files that each tool was given."""
        self.seen.unlink(missing_ok=True)
        env = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "SEEN": str(self.seen)}
        done = subprocess.run(["sh", self.root / "tools/lint", "--change", *words], env=env, capture_output=True, text=True, timeout=120,
                              check=False)
        seen = {}
        for line in self.seen.read_text().splitlines() if self.seen.exists() else []:
            tool, path = line.split()
            seen.setdefault(tool, set()).add(pathlib.Path(path).stem)
        return done.returncode, seen


def all_are_formatted_and_the_last_commits_are_looked_at(tree):
    assert tree.lint() == (0, {"clang-format": {"old", "new"}, "clang-tidy": {"new"}, "cppcheck": {"new"}}), tree.lint()


def a_branch_is_looked_at_from_where_it_began(tree):
    tree.git("update-ref", "refs/remotes/origin/main", "HEAD")
    tree.write("old", text="int c;\n")
    tree.commit()
    tree.write("fresh")
    assert tree.lint()[1]["clang-tidy"] == {"old", "fresh"}, tree.lint()


def another_base_can_be_named(tree):
    assert tree.lint("HEAD") == (0, {"clang-format": {"old", "new"}}), tree.lint()


def a_finding_fails(tree):
    tree.write("new", text="wrong\n")
    assert tree.lint()[0] == 1
    tree.write("new", text="int b;\n")
    tree.write("old", text="wrong\n")
    tree.commit()
    tree.git("update-ref", "refs/remotes/origin/main", "HEAD~1")
    assert tree.lint()[0] == 1


def what_is_not_installed_is_left_out(tree):
    for name in ("clang-tidy", "cppcheck"):
        (tree.bin / name).unlink()
    if not shutil.which("clang-tidy") and not shutil.which("cppcheck"):
        assert tree.lint() == (0, {"clang-format": {"old", "new"}}), tree.lint()


def other_releases_are_not_asked(tree):
    for name in ("clang-format", "clang-tidy"):
        (tree.bin / name).write_text(TOOL.replace("version 14", "version 19"))
    assert tree.lint() == (0, {"cppcheck": {"new"}}), tree.lint()


def without_a_repository_it_is_skipped(tree):
    shutil.rmtree(tree.root / ".git")
    assert tree.lint() == (77, {}), tree.lint()


TESTS = [all_are_formatted_and_the_last_commits_are_looked_at, a_branch_is_looked_at_from_where_it_began, another_base_can_be_named,
         a_finding_fails, what_is_not_installed_is_left_out, other_releases_are_not_asked, without_a_repository_it_is_skipped]

print(f"1..{len(TESTS)}")
for n, test in enumerate(TESTS, 1):
    with tempfile.TemporaryDirectory() as temporary:
        try:
            test(Tree(temporary))
            print(f"ok {n} - {test.__name__}", flush=True)
        except AssertionError as error:
            print(f"not ok {n} - {test.__name__}\n# {str(error)[:2000]}".replace("\n", "\n# ").replace("# not ok", "not ok"), flush=True)
