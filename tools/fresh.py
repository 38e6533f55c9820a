#!/usr/bin/env python3
"""Follows the README on a new machine: `./dev fresh [SUITE..] [run|test|warnings]`.

For each SUITE (bookworm, trixie, sid; without one all three) a root is made by debootstrap with nothing in it but what a
newcomer has: git, curl and sudo. Inside, HEAD is cloned, and then the two commands of the README are followed:
  run   `./dev run` until it says that the server is ready, the first request that it tells one to type, Ctrl-C; and again
        without any network, since all is there then
  test  `./dev test`
Without a word of these both are. The end shows versions, times, what was skipped for lack of a program, the last lines, and how
many warnings each compiler had in what was built. Exits non-zero when a command failed.
  warnings  instead compiles all that is built with the gcc, the clang and the newest clang of SUITE, and fails if one of them warns

  --sudo        follow it as a user with sudo, instead of as root
  --mirror URL  ask this mirror, instead of the one of this machine's apt
  --keep        leave the root where it is (build-fresh/SUITE/), to look at; ./dev clean removes it

It needs root, and mounts. Everything runs in a mount namespace and a process namespace of its own, so that no mount and no
process is left when it ends, also when it is killed. The new root is kept as build-fresh/SUITE.tar, for a week; what a
command printed is in build-fresh/SUITE-run.log and build-fresh/SUITE-test.log."""

import argparse
import contextlib
import ctypes
import fcntl
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACE = ROOT / "build-fresh"
SUITES = ["bookworm", "trixie", "sid"]
README_VERBS = ["run", "test"]
VERBS = [*README_VERBS, "warnings"]
# What a newcomer has before the first command.
NEWCOMER = "ca-certificates,curl,git,sudo"
CACHE_SECONDS = 7 * 24 * 3600
# Far more than a slow machine needs: these limits end what hangs.
READY_SECONDS, TEST_SECONDS, STOP_SECONDS = 3600, 7200, 60
NO_MOUNTS = ("this machine does not let root mount, as most containers do not: start the container with --privileged, or "
             "with --cap-add SYS_ADMIN --security-opt apparmor=unconfined")
# What versions are asked of: a command, or a module of pkg-config.
PROGRAMS = {"gcc": ["gcc", "-dumpfullversion"], "clang": ["clang", "--version"], "meson": ["meson", "--version"],
            "python": ["python3", "--version"]}
MODULES = {"OpenSSL": "openssl", "libuv": "libuv", "nghttp2": "libnghttp2", "llhttp": "libllhttp", "SQLite": "sqlite3",
           "c-ares": "libcares", "yyjson": "yyjson"}
# A test, a program, or a part of a test.
SKIPPED = re.compile(r"^(?:(?:ok\b.*|1\.\.0\s*)# skip(?:ped)?|# skipped)\b:?\s*(.*)$", re.IGNORECASE)
CLONE_NEWNET = 0x40000000
# prctl(2): the child dies with its parent.
PR_SET_PDEATHSIG = 1


class Failure(Exception):
    """What the user is told in one sentence."""


def say(text):
    print(text, flush=True)


def output_of(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    return done.stdout if done.returncode == 0 else ""


def mirror_of_this_machine():
    """The Debian archive of this machine's apt; other systems' mirrors have no suite of Debian."""
    mirror = output_of("sh", "-euc", 'ROOT=$1; . "$ROOT/tools/packages.sh"; debian_mirror', "sh", ROOT).strip()
    if mirror.startswith("mirror+file:"):  # apt reads such a list, debootstrap does not
        mirror = next(iter(pathlib.Path("/" + mirror.removeprefix("mirror+file:").lstrip("/")).read_text().split()), "")
    if not mirror:
        raise Failure("apt's sources name no archive of Debian; name one with --mirror URL")
    return mirror


class Machine:
    """A new root: made, entered and asked. Everything here runs inside the namespaces."""

    def __init__(self, suite, mirror, sudo):
        self.suite, self.mirror, self.sudo = suite, mirror, sudo
        self.root, self.tar = PLACE / suite, PLACE / f"{suite}.tar"
        self.home = "/home/newcomer" if sudo else "/root"
        self.origin = ""

    def make(self):
        age = time.time() - self.tar.stat().st_mtime if self.tar.exists() else CACHE_SECONDS
        self.root.mkdir()
        if age < CACHE_SECONDS:
            subprocess.run(["tar", "-xpf", self.tar, "--numeric-owner", "-C", self.root], check=True)
            self.origin = f"unpacked from {self.tar.relative_to(ROOT)}, {age / 3600:.0f} hours old"
            return
        self.tar.unlink(missing_ok=True)
        log = PLACE / f"{self.suite}-debootstrap.log"
        with open(log, "w", encoding="utf-8") as out:
            code = subprocess.run(["debootstrap", "--variant=minbase", f"--include={NEWCOMER}", self.suite, self.root, self.mirror],
                                  stdout=out, stderr=out, check=False).returncode
        if code:
            last = log.read_text().splitlines()[-1:]
            raise Failure(f"debootstrap {self.suite} from {self.mirror} failed: {''.join(last)} (all of it is in {log})")
        part = self.tar.with_suffix(".part")
        # debootstrap leaves /proc and /sys mounted in the root.
        subprocess.run(["tar", "-cf", part, "--numeric-owner", "--one-file-system", "-C", self.root, "."], check=True)
        part.rename(self.tar)
        self.origin = f"made by debootstrap from {self.mirror}"

    def furnish(self):
        """What a running machine has: file systems, names of hosts, a user, and apt's way to the mirror."""
        for kind, folder, options in (("proc", "proc", "nosuid"), ("sysfs", "sys", "ro"), ("tmpfs", "dev/shm", "mode=1777"),
                                      ("devpts", "dev/pts", "newinstance,ptmxmode=0666,mode=0620,gid=5")):
            (self.root / folder).mkdir(exist_ok=True)
            subprocess.run(["mount", "-t", kind, "-o", options, kind, self.root / folder], check=True)
        for file in ("etc/resolv.conf", "etc/hosts"):
            if pathlib.Path("/", file).exists():
                (self.root / file).write_bytes(pathlib.Path("/", file).read_bytes())
        proxies = re.findall(r'^Acquire::\S*Proxy\S* ".*";$', output_of("apt-config", "dump"), re.MULTILINE) \
            if shutil.which("apt-config") else []
        (self.root / "etc/apt/apt.conf.d/90proxy").write_text("".join(f"{line}\n" for line in proxies))
        if self.sudo:
            self.enter(["useradd", "-m", "-s", "/bin/bash", "newcomer"], as_root=True)
            (self.root / "etc/sudoers.d/newcomer").write_text("newcomer ALL=(ALL) NOPASSWD: ALL\n")
        bundle = self.root / self.home.lstrip("/") / "coracle.bundle"
        subprocess.run(["git", "-C", ROOT, "bundle", "create", "--quiet", bundle, "HEAD"], check=True)
        self.enter(["git", "clone", "--quiet", bundle.name, "coracle"], folder=self.home)
        bundle.unlink()

    def words(self, command, folder, as_root=False):
        user = ["--userspec=newcomer:newcomer"] if self.sudo and not as_root else []
        kept = [f"{name}={os.environ[name]}" for name in ("http_proxy", "https_proxy", "no_proxy") if name in os.environ]
        clean = ["env", "-i", f"HOME={self.home}", "LANG=C.UTF-8", "TERM=dumb", *kept,
                 "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
        return ["chroot", *user, self.root, *clean, "sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", folder, *command]

    def enter(self, command, folder="/", as_root=False):
        done = subprocess.run(self.words(command, folder, as_root), capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failure(f"{shlex.join(map(str, command))} in {self.suite}: {done.stderr.strip()}")
        return done.stdout

    @property
    def clone(self):
        return f"{self.home}/coracle"

    @property
    def folder(self):
        """The clone, as it is called from outside of the root."""
        return self.root / self.clone.lstrip("/")

    def ask(self, command):
        """One line, or nothing where the program is not there."""
        text = output_of(*self.words(["sh", "-c", command], self.clone)).strip().splitlines()
        return text[0] if text else ""

    def versions(self):
        known = []
        for name, command in PROGRAMS.items():
            number = re.search(r"\d+(\.\d+)+", self.ask(f"{shlex.join(command)} 2>/dev/null"))
            known.append(f"{name} {number.group(0) if number else 'not installed'}")
        paths = ":".join(f"/{path.relative_to(self.root)}" for path in self.root.glob(
            f"{self.clone.lstrip('/')}/build-deps/root/usr/lib/*/pkgconfig"))
        for name, module in MODULES.items():
            known.append(f"{name} {self.ask(f'PKG_CONFIG_PATH={paths} pkg-config --modversion {module} 2>/dev/null') or 'not installed'}")
        return ", ".join(known)


def wait_for(process, log, pattern, seconds):
    """The match of what the process prints into the log; a process that ends before it does has failed."""
    end = time.monotonic() + seconds
    while True:
        ended = process.poll() is not None
        if found := re.search(pattern, log.read_text(errors="replace"), re.MULTILINE):
            return found
        if ended:
            raise Failure(f"ended with code {process.returncode} before it was ready")
        if time.monotonic() > end:
            raise Failure(f"was not ready within {seconds} s")
        time.sleep(0.2)


def stop(process):
    """Ctrl-C, and the exit code."""
    process.send_signal(signal.SIGINT)
    try:
        return process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired as error:
        process.kill()
        raise Failure(f"did not stop within {STOP_SECONDS} s of Ctrl-C") from error


def serve(machine, log, words, **options):
    """`./dev run` until it is ready, the first request that it tells one to type, Ctrl-C. How long it took until it was ready."""
    begin = time.monotonic()
    with open(log, "w", encoding="utf-8") as out:
        process = subprocess.Popen(machine.words(words, machine.clone), stdout=out, stderr=out, stdin=subprocess.DEVNULL, **options)
    try:
        wait_for(process, log, r"^The store without a server", READY_SECONDS)
        ready = time.monotonic() - begin
        typed = re.findall(r"^  (api\(\) \{.*|api http\S+)$", log.read_text(), re.MULTILINE)
        if len(typed) != 2:
            raise Failure("did not print what to type")
        yield ready, typed
        code = stop(process)
    finally:
        if process.poll() is None:
            process.kill()
    if code:
        raise Failure(f"ended with code {code} after Ctrl-C")


def follow_run(machine, log):
    """The README's first command. The port is a free one, since others may have a server on this machine."""
    command = ["./dev", "run", "--port", "0"]
    for ready, typed in serve(machine, log, command):
        answer = json.loads(machine.enter(["sh", "-c", "\n".join(typed)], machine.clone))
        names = [item["metadata"]["name"] for item in answer["items"]]
        if "default" not in names:
            raise Failure(f"answered {typed[1]} without the namespace default")
        yield f"ready after {ready:.0f} s; '{typed[1]}' answered {len(names)} namespaces; stopped by Ctrl-C"
    for ready, typed in serve(machine, log.with_suffix(".again.log"), command, preexec_fn=without_network):
        yield f"again, without a network: ready after {ready:.1f} s"


def without_network():
    """In the child: nothing but a loopback device, which is down. Servers can listen on it, and apt can reach nobody."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare")


def follow_test(machine, log):
    begin = time.monotonic()
    with open(log, "w", encoding="utf-8") as out:
        process = subprocess.Popen(machine.words(["./dev", "test"], machine.clone), stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        try:
            code = process.wait(TEST_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise Failure(f"was not done within {TEST_SECONDS} s") from error
    lines = log.read_text(errors="replace").splitlines()
    seconds = time.monotonic() - begin
    if code:
        failed = [line for line in lines if line.startswith("FAILED ")]
        raise Failure("\n".join([f"ended with code {code} after {seconds:.0f} s", *(failed or lines[-20:]), *lines[-1:]]))
    yield f"{seconds:.0f} s"
    for reason, count in sorted(skipped(machine.folder, lines).items()):
        yield f"skipped: {reason}" + (f" ({count} tests)" if count > 1 else "")
    yield lines[-1]


def skipped(clone, lines):
    """Reason -> how many tests gave it, in all configurations, and what ./dev could not install."""
    reasons = {line.removeprefix("skipped: "): 1 for line in lines if line.startswith("skipped: ")}
    for path in clone.glob("build*/meson-logs/testlog.json"):
        for line in path.read_text().splitlines():
            program = json.loads(line)
            found = [match.group(1) or program["name"] for text in program.get("stdout", "").splitlines() if (match := SKIPPED.match(text))]
            if program.get("result") == "SKIP" and not found:  # by its exit code; what it said is for people
                found = (program.get("stderr", "").strip().splitlines() or [program["name"]])[-1:]
            for reason in found:
                reasons[reason] = reasons.get(reason, 0) + 1
    return reasons


def warned(clone):
    """For each folder that was built its compiler, and what this warned of: once, however many files include the header."""
    for path in sorted(clone.glob("build*/meson-info/intro-compilers.json")):
        folder = path.parent.parent
        compiler = json.loads(path.read_text())["host"]["c"]
        kept = folder / "meson-logs/warned"
        lines = kept.read_text(errors="replace").splitlines() if kept.exists() else []
        yield f"{compiler['id']} {compiler['version']} in {folder.name}", sorted({line for line in lines if "[-W" in line})


def follow_warnings(machine, log):
    """The compilers that the README's commands install, and then the newest clang of the suite, which may be another one."""
    yield from count_warnings(machine, [], log)
    known = re.findall(r"^clang-(\d+) ", machine.enter(["apt-cache", "search", "--names-only", "^clang-[0-9]+$"]), re.MULTILINE)
    newest = max(map(int, known), default=0)
    if newest > int(machine.enter(["clang", "-dumpversion"]).split(".")[0]):
        machine.enter(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-qq", "--no-install-recommends", f"clang-{newest}"],
                      as_root=True)
        yield from count_warnings(machine, [f"clang-{newest}"], log.with_suffix(".newest.log"))


def count_warnings(machine, compilers, log):
    with open(log, "w", encoding="utf-8") as out:
        code = subprocess.run(machine.words(["./dev", "warnings", *compilers], machine.clone), stdout=out, stderr=out,
                              stdin=subprocess.DEVNULL, check=False).returncode
    lines = log.read_text(errors="replace").splitlines()
    counts = [line for line in lines if re.search(r": \d+ warnings$", line)]
    if code:
        raise Failure("\n".join([f"ended with code {code}", *(counts or lines[-20:])]))
    yield from counts


FOLLOW = {"run": follow_run, "test": follow_test, "warnings": follow_warnings}


def inside(suite, mirror, sudo, verbs):
    """All of one suite. Returns whether everything went well."""
    begin = time.monotonic()
    machine = Machine(suite, mirror, sudo)
    machine.make()
    machine.furnish()
    name = re.search(r'PRETTY_NAME="(.*)"', (machine.root / "etc/os-release").read_text()).group(1)
    number = (machine.root / "etc/debian_version").read_text().strip()
    say(f"== {suite}: {name}, {number}, {'a user with sudo' if sudo else 'root'}, {os.cpu_count()} cores")
    say(f"root: {machine.origin}; {time.monotonic() - begin:.0f} s")
    good = True
    for verb in verbs:
        log = PLACE / f"{suite}-{verb}.log"
        say(f"./dev {verb}")
        try:
            for line in FOLLOW[verb](machine, log):
                say(f"  {line}")
        except Failure as failure:
            good = False
            say(f"  FAILED {suite}: ./dev {verb} {failure}\n  all of it is in {log}")
    for compiler, lines in warned(machine.folder):
        say("\n  ".join([f"{compiler}: {len(lines)} warnings", *lines]))
    say(f"versions: {machine.versions()}")
    return good


def as_init(work):
    """The first process of a process namespace is the parent of orphans: it waits for them as init does."""
    worker = os.fork()
    if worker == 0:
        code = 1
        try:
            code = 0 if work() else 1
        except (Failure, OSError, subprocess.CalledProcessError) as error:
            say(f"fresh: {error}")
        finally:
            os._exit(code)
    while True:
        process, status = os.wait()
        if process == worker:
            return os.waitstatus_to_exitcode(status)


def remove(folder):
    """Outside of the namespace nothing is mounted in the root: this cannot reach anything else."""
    if os.path.ismount(folder) or any(os.path.ismount(folder / name) for name in ("proc", "dev", "dev/shm", "dev/pts", "sys")):
        raise Failure(f"{folder} has something mounted in it; unmount it first")
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def alone(suite):
    """One at a time: the root and the logs have fixed places."""
    PLACE.mkdir(exist_ok=True)
    with open(PLACE / f"{suite}.lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Failure(f"another ./dev fresh is at work on {suite}") from error
        yield


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def one_suite(suite, options):
    with alone(suite):
        remove(PLACE / suite)
        words = [sys.executable, __file__, "--inside", "--mirror", options.mirror, *(["--sudo"] if options.sudo else []), suite,
                 *options.verbs]
        # A session of its own: Ctrl-C reaches this process only, which then ends the namespace and all that is in it.
        process = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", *words],
                                   stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=die_with_parent)
        try:
            return process.wait() == 0
        except BaseException:
            say(f"fresh: {suite}: interrupted")
            raise
        finally:
            process.kill()
            process.wait()
            if not options.keep:
                remove(PLACE / suite)


def checked(options):
    if os.geteuid() != 0:
        raise Failure("needs root, to make a system of its own and to mount: sudo ./dev fresh")
    for program in ("debootstrap", "unshare", "chroot", "git"):
        if not shutil.which(program):
            raise Failure(f"needs {program}, which is not installed")
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True, check=False).returncode:
        raise Failure(NO_MOUNTS)
    if not output_of("git", "-C", ROOT, "rev-parse", "HEAD"):
        raise Failure("clones HEAD, and this folder is no git repository")
    if output_of("git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no"):
        say("fresh: what is not committed is not in the clone")
    options.mirror = options.mirror or mirror_of_this_machine()


def parse(words):
    parser = argparse.ArgumentParser(prog="./dev fresh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage="./dev fresh [--sudo] [--mirror URL] [--keep] [SUITE..] [run|test|warnings]")
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--sudo", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--mirror", help=argparse.SUPPRESS)
    parser.add_argument("--keep", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    for word in options.words:
        if word not in SUITES + VERBS:
            raise Failure(f"unknown word '{word}'; expected {', '.join([*SUITES, *VERBS[:-1]])} or {VERBS[-1]}")
    options.suites = [suite for suite in SUITES if suite in options.words] or SUITES
    options.verbs = [verb for verb in VERBS if verb in options.words] or README_VERBS
    return options


def main():
    options = parse(sys.argv[1:])
    if options.inside:
        return as_init(lambda: inside(options.suites[0], options.mirror, options.sudo, options.verbs))
    # Whoever ends it ends it as Ctrl-C does: the root goes with it.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(128 + signal.SIGTERM))
    checked(options)
    results = {suite: one_suite(suite, options) for suite in options.suites}
    bad = [suite for suite, good in results.items() if not good]
    say(f"fresh: {', '.join(results)}: " + (f"failed on {', '.join(bad)}" if bad else "all is well"))
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"dev: fresh: {failure}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
