#!/usr/bin/env python3
"""Plants small faults in src/, one at a time, and says which of them the tests do not notice.

`./dev mutants [N] [FOLDER]` plants N faults (50) that are drawn at random from all places in src/ or in one folder of
it. It works on a copy of the tree in build-mutants/, which is built without optimisation of the tests and brought up to
date each time; the checkout is never written to. A fault that does not compile, or compiles to the same object, is
drawn again. The tests of the fault's own folder run first, those whose name is like the file's before the others, then
those that TESTS names for the folder, until one fails. What no test noticed is printed as a diff; the last line counts.
The seed is printed, and `--seed` draws the same faults again."""

import argparse
import collections
import ctypes
import difflib
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import plant_faults  # noqa: E402

# The tests that concern a folder, after the unit tests of the folder itself. A name with a star is a beginning.
SERVED = ["integration/objects-store", "integration/watches-cache", "integration/access-cache", "cli/store"]
CONFORMANCE = ["conformance/memory", "conformance/cacher_memory", "conformance/disk"]
TESTS = {
    "base": ["json/*", "meta/*", "loop/*", "cache/indexer*", "storage/cacher_watch_cache", "conformance/cacher_memory"],
    "json": ["meta/*", "codec/*", "server/*", "kit/kubeconfig", "fuzz/json*"],
    "loop": ["net/stream", "http/server", "http/shutdown", "storage/sqlite_engine", "client/runtime"],
    "net": ["http/*", "grpc/*", "fuzz/h1", "fuzz/h2", "integration/access-cache"],
    "http": ["net/h2", "grpc/channel", "kit/rest_client", "client/http_list_watch", "integration/limits-cache"],
    "grpc": ["storage/etcd_*", "conformance/etcd"],
    "meta": ["storage/store_*", "server/*", "kit/resource_path", "cache/object_key", "conformance/memory"],
    "codec": ["server/secrets", "server/yaml_body", "server/versions", "server/update", "server/subresources", "fuzz/yaml",
              "fuzz/protobuf"],
    "cache": ["simulation/informer", "client/http_list_watch", "storage/cacher_*", "client/against-server-informers"],
    "storage": [*CONFORMANCE, "server/call", "cli/store"],
    "storage/sqlite": [*CONFORMANCE, "crash/syncs", "cli/store"],
    "storage/etcd": ["conformance/etcd", "conformance/cacher_etcd", "etcd/servers", "etcd/faults"],
    "storage/encryption": ["conformance/encrypted", "cli/encryption", "integration/encryption-cache"],
    "storage/cacher": [*CONFORMANCE, "consistency/watches-cache", "integration/watches-cache"],
    "server": [*SERVED, "integration/limits-cache", "integration/subresources-cache", "cli/usage", "cli/encryption"],
    "kit": ["client/against-server-*"],
    "client": ["kit/rest_client", "kit/dynamic_client", "client/against-server-*", "client/takeover"],
}
UNIT_PREFIX = {"storage/sqlite": "storage/sqlite_", "storage/etcd": "storage/etcd_", "storage/cacher": "storage/cacher_",
               "storage/encryption": "storage/encryption_"}
# Much of these shows only with a real etcd, and through the whole cacher: so many times the budget.
BUDGETS = {"storage/etcd": 4, "storage/cacher": 3}
# A test gets so many times what it took without a fault, and so many seconds more.
PATIENCE_FACTOR, PATIENCE_SECONDS = 5, 10
MEASURE_SECONDS, LATE = 120, -1
# prctl(2): the child dies with its parent; orphans become children of this process.
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LIBC = ctypes.CDLL(None)


def say(*words):
    print(*words, flush=True)


class Tree:
    """The copy of the sources, and its build."""

    def __init__(self, root, folder):
        self.root, self.folder, self.build = root, folder, folder / "build"
        self.copy = folder / "tree"

    def update(self):
        """Makes the copy equal to the checkout; a file that is equal already keeps its time."""
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=self.root, check=True,
                                capture_output=True, text=True).stdout
        wanted = {name for name in listed.split("\0") if name and (self.root / name).is_file()}
        for name in wanted:
            source, target = self.root / name, self.copy / name
            if not target.exists() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
        for path in list(self.copy.rglob("*")):
            if path.is_file() and str(path.relative_to(self.copy)) not in wanted and "__pycache__" not in path.parts:
                path.unlink()

    def configure(self):
        if not (self.build / "build.ninja").exists():
            subprocess.run(["meson", "setup", "--buildtype=plain", "-Doptimization=1", "-Dwerror=false", self.build,
                            self.copy], check=True, stdout=subprocess.DEVNULL)

    def make(self, targets=()):
        """Whether the targets (none: all of them) could be built, and what ninja said."""
        done = subprocess.run(["ninja", "-C", self.build, "--quiet", *targets], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        return done.returncode == 0, done.stdout

    def introspect(self, what):
        done = subprocess.run(["meson", "introspect", f"--{what}", self.build], check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    def objects(self):
        """The object files of each source, relative to the build."""
        commands = subprocess.run(["ninja", "-C", self.build, "-t", "compdb"], check=True, capture_output=True, text=True)
        found = collections.defaultdict(list)
        for command in json.loads(commands.stdout):
            if command["output"].endswith(".o"):
                path = os.path.normpath(os.path.join(command["directory"], command["file"]))
                found[os.path.relpath(path, self.copy)].append(command["output"])
        return found


class Suite:
    """The tests of the build, how long each takes, and which concern a file."""

    def __init__(self, tree, budget):
        self.tree, self.budget = tree, budget
        outputs = {t["id"]: [os.path.relpath(f, tree.build) for f in t["filename"]] for t in tree.introspect("targets")}
        self.tests = {}
        for test in tree.introspect("tests"):
            test["targets"] = [f for id_ in test["depends"] for f in outputs[id_]]
            self.tests[test["name"]] = test
        self.times_file = tree.folder / "times.json"
        self.times = json.loads(self.times_file.read_text()) if self.times_file.exists() else {}

    def named(self, pattern):
        if pattern.endswith("*"):
            return sorted(name for name in self.tests if name.startswith(pattern[:-1]))
        return [pattern] if pattern in self.tests else []

    def concerning(self, path):
        """The names of the tests for src/`path`, in the order in which they should run."""
        folder, stem = str(path.parent), path.stem
        while folder not in TESTS:
            folder = str(pathlib.PurePath(folder).parent)
        words = set(stem.split("_"))
        prefix = UNIT_PREFIX.get(folder, folder + "/")

        def likeness(name):
            own = set(re.split(r"[/_-]", name))
            return (-(name == prefix + stem), -len(words & own), self.times.get(name, 0))

        unit = sorted(self.named(prefix + "*"), key=likeness)
        more = [name for pattern in TESTS[folder] for name in self.named(pattern)]
        return list(dict.fromkeys(unit + more))

    def run(self, name, limit):
        """Seconds that the test took; None when it failed, LATE when it took longer than `limit`."""
        test, begin = self.tests[name], time.monotonic()
        code = run_alone(test["cmd"], {**os.environ, **test["env"]}, test["workdir"] or self.tree.build, limit)
        if code is None:
            return LATE
        return time.monotonic() - begin if code in (0, 77) else None  # 77: skipped

    def limit(self, name):
        return self.times[name] * PATIENCE_FACTOR + PATIENCE_SECONDS

    def learn(self, name):
        """Measures a test once more, without a fault. True: it needs more time than was known, or cannot be used."""
        before, took = self.limit(name), self.run(name, MEASURE_SECONDS)
        self.times[name] = None if took in (None, LATE) else max(took, self.times[name])
        self.times_file.write_text(json.dumps(self.times))
        return self.times[name] is None or self.limit(name) > before

    def measure(self, names):
        """Runs those whose time is not known, without a fault. One that fails is not used."""
        for name in names:
            if name not in self.times:
                took = self.run(name, MEASURE_SECONDS)
                self.times[name] = None if took == LATE else took
                if self.times[name] is None:
                    say(f"{name} fails without a fault, and is not used")
        self.times_file.write_text(json.dumps(self.times))

    def within_budget(self, folder, names):
        """As many of the tests as there is time for; the first one in any case."""
        budget = self.budget * BUDGETS.get(str(folder), 1)
        total, kept = 0, []
        for name in names:
            took = self.times.get(name)
            if took is not None and (total + took <= budget or not kept):
                total += took
                kept.append(name)
        return kept


def run_alone(command, env, folder, limit):
    """The exit code of a command, None when it took longer than `limit` seconds. Nothing that it started outlives it."""

    def bind():
        # A test that spins after this process was killed with SIGKILL is ended by the system: itself at once, what it
        # started when it has used its CPU time.
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 60, int(limit) + 60))

    program = subprocess.Popen(command, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=bind)
    try:
        return program.wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        end_session(program)


def end_session(program):
    """Kills the group of the test, and whatever it started in groups of their own: those are orphans then, and as such
    children of this process."""
    try:
        os.killpg(program.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    program.wait()
    children = pathlib.Path(f"/proc/self/task/{os.getpid()}/children")
    while pids := [int(pid) for pid in children.read_text().split()]:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def end_with_children():
    """A signal that ends this process ends the running test first, and removes the planted fault."""
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda caught, _: sys.exit(128 + caught))


def draw(tree, scope, seed):
    """(path, fault) without end, the same for a seed and a tree: all faults below src/`scope`, shuffled."""
    base = tree.copy / "src"
    paths = sorted(p for p in base.rglob("*.c") if str(p.relative_to(base)).startswith(scope))
    if not paths:
        sys.exit(f"mutants: there is no source in src/{scope}")
    places = [(path, fault) for path in paths for fault in plant_faults.find(path.read_text())]
    random.Random(seed).shuffle(places)
    return places


def diff_of(tree, path, fault):
    source = path.read_text()
    name = str(path.relative_to(tree.copy))
    lines = difflib.unified_diff(source.splitlines(), plant_faults.plant(source, fault).splitlines(), name, name, "", "", 2,
                                 lineterm="")
    return "\n".join(lines)


class Trial:
    """One fault, from its planting until the tree is as before."""

    def __init__(self, tree, suite, objects):
        self.tree, self.suite, self.objects = tree, suite, objects

    def judge(self, path, fault):
        """`broken` (does not compile), `same`, `survived`, or the name of the test that found it. A test that took too
        long has found nothing if it takes as long without the fault: the machine or the test has become slower."""
        self.late = None
        verdict = self.judge_once(path, fault)
        while self.late:
            self.tree.make(self.suite.tests[self.late]["targets"])
            if not self.suite.learn(self.late):
                break
            self.late = None
            verdict = self.judge_once(path, fault)
        return verdict

    def judge_once(self, path, fault):
        source = path.read_text()
        objects = self.objects.get(str(path.relative_to(self.tree.copy)), [])
        before = {name: (self.tree.build / name).read_bytes() for name in objects if (self.tree.build / name).exists()}
        if not before:
            return "broken"
        path.write_text(plant_faults.plant(source, fault))
        try:
            return self.judge_planted(path, before)
        finally:
            path.write_text(source)
            for name, content in before.items():
                (self.tree.build / name).write_bytes(content)

    def judge_planted(self, path, before):
        good, _ = self.tree.make(sorted(before))
        if not good:
            return "broken"
        if all((self.tree.build / name).read_bytes() == content for name, content in before.items()):
            return "same"
        relative = path.relative_to(self.tree.copy / "src")
        for name in self.suite.within_budget(relative.parent, self.suite.concerning(relative)):
            good, output = self.tree.make(self.suite.tests[name]["targets"])
            if not good:
                return "broken"
            took = self.suite.run(name, self.suite.limit(name))
            if took in (None, LATE):
                self.late = name if took == LATE else None
                return name
        return "survived"


def report(found, survivors):
    say("\nfolder                 found  survived")
    for folder in sorted(set(found) | set(survivors)):
        say(f"{folder:22} {found[folder]:5} {survivors[folder]:9}")
    total = sum(found.values()) + sum(survivors.values())
    say(f"{sum(found.values())} of {total} faults were found, {sum(survivors.values())} survived")


def run(tree, suite, args):
    trial = Trial(tree, suite, tree.objects())
    places = draw(tree, args.folder, args.seed)
    found, survivors, tried = collections.Counter(), collections.Counter(), 0
    measured = set()
    for path, fault in places:
        if tried == args.number:
            break
        relative = path.relative_to(tree.copy / "src")
        if relative.parent not in measured:
            measured.add(relative.parent)
            names = suite.concerning(relative)
            good, output = tree.make(sorted({target for name in names for target in suite.tests[name]["targets"]}))
            if not good:
                sys.exit(f"mutants: the tree does not build\n{output}")
            suite.measure(names)
        begin = time.monotonic()
        verdict = trial.judge(path, fault)
        if verdict in ("broken", "same"):
            continue
        tried += 1
        line = path.read_text().count("\n", 0, fault.start) + 1
        (survivors if verdict == "survived" else found)[str(relative.parent)] += 1
        say(f"{tried:4} {time.monotonic() - begin:5.1f} s  src/{relative}:{line} ({fault.kind}): "
            + (verdict if verdict == "survived" else f"found by {verdict}"))
        if verdict == "survived":
            say(diff_of(tree, path, fault))
    report(found, survivors)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("number", nargs="?", type=int, default=50, help="faults to plant")
    parser.add_argument("folder", nargs="?", default="", help="a folder or file below src/, such as storage/sqlite")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--budget", type=float, default=20, help="seconds of tests for a fault that none of them finds")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--work", type=pathlib.Path, default=None, help="where the copy is; build-mutants/")
    args = parser.parse_args()
    args.seed = random.randrange(1 << 32) if args.seed is None else args.seed
    say(f"seed {args.seed}")
    end_with_children()
    tree = Tree(args.root, args.work or args.root / "build-mutants")
    tree.update()
    tree.configure()
    run(tree, Suite(tree, args.budget), args)


if __name__ == "__main__":
    main()
