#!/usr/bin/env python3
"""TAP: what ./dev fresh refuses, and that nothing is left when it ends or is ended. Argument: the source root.
debootstrap is one of the test's own: nothing is downloaded."""

import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(sys.argv[1]).resolve()
PATIENCE_SECONDS = 60
IS_ROOT = os.geteuid() == 0
CAN_MOUNT = IS_ROOT and subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True, check=False).returncode == 0
# Arguments: --variant, --include, the suite, the root, the mirror. It mounts in the root as the real one does.
HANGS = 'mkdir -p "$4/proc" && mount -t proc proc "$4/proc" && touch "$4/begun" && exec sleep 1000'
FAILS = 'echo "E: no such suite: $3 at $5"; exit 1'


def module():
    spec = importlib.util.spec_from_file_location("fresh", ROOT / "tools/fresh.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


FRESH = module()


class Tree:
    """A copy of what ./dev fresh needs, in a repository of its own, with a debootstrap of its own."""

    def __init__(self, folder, debootstrap=FAILS, repository=True):
        self.root = pathlib.Path(folder) / "a tree"
        (self.root / "tools").mkdir(parents=True)
        shutil.copy(ROOT / "dev", self.root / "dev")
        for name in ("fresh.py", "packages.sh", "packages.txt"):
            shutil.copy(ROOT / "tools" / name, self.root / "tools" / name)
        programs = pathlib.Path(folder) / "programs"
        programs.mkdir()
        (programs / "debootstrap").write_text(f"#!/bin/sh\n{debootstrap}\n")
        (programs / "debootstrap").chmod(0o755)
        self.env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "GIT_CEILING_DIRECTORIES": folder}
        if repository:
            self.git("init", "-q")
            self.git("add", "-A")
            self.git("-c", "user.name=a", "-c", "user.email=a@example", "commit", "-q", "-m", "a")

    def git(self, *words):
        subprocess.run(["git", "-C", self.root, *words], check=True, env=self.env, capture_output=True)

    def begin(self, *words, **options):
        return subprocess.Popen([self.root / "dev", "fresh", *words], env=self.env, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, **options)

    def run(self, *words, **options):
        process = self.begin(*words, **options)
        out = process.communicate(timeout=PATIENCE_SECONDS)[0]
        return process.returncode, out

    def leftovers(self):
        """The root, what is mounted below the tree, and processes that name it."""
        found = [str(self.root / "build-fresh/sid")] if (self.root / "build-fresh/sid").exists() else []
        found += [line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
                  if str(self.root).replace(" ", "\\040") in line]
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if str(self.root).encode() in path.read_bytes():
                    found.append(path.read_bytes().decode(errors="replace"))
            except OSError:
                continue
        return found


def wait_until(condition):
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def refuses_words(folder):
    code, out = Tree(folder).run("woody")
    return code == 1 and out == "dev: fresh: unknown word 'woody'; expected bookworm, trixie, sid, run, test or warnings\n", out


def understands_words(folder):
    del folder
    want = {
        "": (["bookworm", "trixie", "sid"], ["run", "test"]),
        "test": (["bookworm", "trixie", "sid"], ["test"]),
        "sid bookworm": (["bookworm", "sid"], ["run", "test"]),
        "warnings test trixie run": (["trixie"], ["run", "test", "warnings"]),
    }
    got = {words: (options.suites, options.verbs) for words in want for options in [FRESH.parse(words.split())]}
    options = FRESH.parse(["sid", "--sudo", "--keep", "--mirror", "http://a"])
    flags = (options.sudo, options.keep, options.mirror)
    return got == want and flags == (True, True, "http://a"), (got, flags)


# What tests print who skip something, and what the summary makes of it.
PRINTED = {
    "etcd": ["1..0 # SKIP there is no etcd", ""],
    "both": ["1..3", "ok 1 - one", "ok 2 - two # SKIP kubectl is not installed", "not ok 3 - three # SKIP is no reason to fail"],
    "cmocka": ["ok 1 - four # SKIP", "ok 2 - skips what it has # skipping is what it does"],
    "partly": ["# skipped: kubectl is not installed", "ok 1 - speaks # skip: no network"],
}
# By their exit codes.
ENDED = [{"name": "bench", "result": "SKIP", "stderr": "a line\nbench: there is no peer\n"}, {"name": "silent", "result": "SKIP"},
         {"name": "good", "result": "OK", "stderr": "a line\n"}]
SKIPS = {"there is no etcd": 2, "kubectl is not installed": 2 * 2, "cmocka": 2, "no network": 2, "bench: there is no peer": 2, "silent": 2,
         "what needs etcd openssl": 1}


def names_what_was_skipped(folder):
    for build in ("build", "build-asan"):
        log = pathlib.Path(folder) / build / "meson-logs/testlog.json"
        log.parent.mkdir(parents=True)
        programs = [{"name": name, "result": "OK", "stdout": "\n".join(lines)} for name, lines in PRINTED.items()]
        programs[0]["result"] = "SKIP"
        log.write_text("".join(json.dumps(program) + "\n" for program in programs + ENDED))
    got = FRESH.skipped(pathlib.Path(folder), ["skipped: what needs etcd openssl", "== plain", "7 passed, 0 failed"])
    return got == SKIPS, got


def counts_warnings(folder):
    """Once for each place, by the compiler of each folder."""
    def build(name, compiler, version, *lines):
        for made in ("meson-info", "meson-logs"):
            (pathlib.Path(folder) / name / made).mkdir(parents=True)
        known = {"host": {"c": {"id": compiler, "version": version}, "cpp": {"id": "other", "version": "1"}}}
        (pathlib.Path(folder) / name / "meson-info/intro-compilers.json").write_text(json.dumps(known))
        if lines:
            (pathlib.Path(folder) / name / "meson-logs/warned").write_text("".join(f"{line}\n" for line in lines))
    warning = "../src/one.c:1:5: warning: unused variable [-Wunused-variable]"
    build("build", "gcc", "16.2.0", "In file included from ../src/two.c:1:", warning, "    1 | int unused;", warning)
    build("build-asan", "clang", "22.1.0")
    got = list(FRESH.warned(pathlib.Path(folder)))
    return got == [("gcc 16.2.0 in build", [warning]), ("clang 22.1.0 in build-asan", [])], got


def needs_root(folder):
    os.chmod(folder, 0o755)
    code, out = Tree(folder).run("sid", user=65534, group=65534)
    return code == 1 and out == "dev: fresh: needs root, to make a system of its own and to mount: sudo ./dev fresh\n", out


def needs_a_repository(folder):
    code, out = Tree(folder, repository=False).run("sid")
    return code == 1 and out == "dev: fresh: clones HEAD, and this folder is no git repository\n", out


def shows_the_last_line_of_debootstrap(folder):
    tree = Tree(folder)
    code, out = tree.run("--mirror", "http://localhost:1/debian", "sid", "run")
    good = "debootstrap sid from http://localhost:1/debian failed: E: no such suite: sid at http://localhost:1/debian" in out
    return code == 1 and good and out.endswith("fresh: sid: failed on sid\n") and not tree.leftovers(), f"{out}{tree.leftovers()}"


def leaves_nothing(number, everybody):
    def test(folder):
        tree = Tree(folder, HANGS)
        process = tree.begin("sid", start_new_session=True)
        if not wait_until(lambda: (tree.root / "build-fresh/sid/begun").exists() or process.poll() is not None):
            return False, "it did not begin"
        # Ctrl-C reaches the whole group, kill one process.
        (os.killpg if everybody else os.kill)(process.pid, number)
        out = process.communicate(timeout=PATIENCE_SECONDS)[0]
        ended = process.returncode > 0 and "fresh: sid: interrupted\n" in out
        return ended and wait_until(lambda: not tree.leftovers()), f"{process.returncode} {out} {tree.leftovers()}"
    return test


def dies_with_its_command(folder):
    tree = Tree(folder, HANGS)
    process = tree.begin("sid")
    wait_until((tree.root / "build-fresh/sid/begun").exists)
    process.kill()
    process.communicate(timeout=PATIENCE_SECONDS)
    folder = str(tree.root / "build-fresh/sid")
    good = wait_until(lambda: tree.leftovers() == [folder])
    left = tree.leftovers()
    # The next one removes what this one could not.
    (tree.root.parent / "programs/debootstrap").write_text(f"#!/bin/sh\n{FAILS}\n")
    return good and tree.run("sid")[0] == 1 and not tree.leftovers(), f"{left} {tree.leftovers()}"


def one_at_a_time(folder):
    tree = Tree(folder, HANGS)
    first = tree.begin("sid")
    wait_until((tree.root / "build-fresh/sid/begun").exists)
    code, out = tree.run("sid")
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=PATIENCE_SECONDS)
    return code == 1 and "dev: fresh: another ./dev fresh is at work on sid\n" in out, out


# (what, test, why it is skipped)
NO_ROOT = "" if IS_ROOT else "needs root"
NO_MOUNTS = "" if CAN_MOUNT else "needs root, and mounts"
TESTS = [
    ("an unknown word is refused", refuses_words, ""),
    ("suites and verbs are understood in any order", understands_words, ""),
    ("what was skipped is named by its reason, and counted", names_what_was_skipped, ""),
    ("warnings are counted by compiler", counts_warnings, ""),
    ("who is not root is told so", needs_root, NO_ROOT),
    ("a folder without a repository is refused", needs_a_repository, NO_MOUNTS),
    ("debootstrap's reason is shown", shows_the_last_line_of_debootstrap, NO_MOUNTS),
    ("Ctrl-C leaves no root, mount or process", leaves_nothing(signal.SIGINT, True), NO_MOUNTS),
    ("kill leaves no root, mount or process", leaves_nothing(signal.SIGTERM, False), NO_MOUNTS),
    ("kill -9 leaves no mount or process", dies_with_its_command, NO_MOUNTS),
    ("two do not share a root", one_at_a_time, NO_MOUNTS),
]

print(f"1..{len(TESTS)}")
for n, (what, test, why_not) in enumerate(TESTS, 1):
    if why_not:
        print(f"ok {n} - {what} # SKIP {why_not}")
        continue
    with tempfile.TemporaryDirectory() as place:
        good, got = test(place)
    print(f"{'ok' if good else 'not ok'} {n} - {what}", flush=True)
    if not good:
        print("# " + str(got).replace("\n", "\n# "))
