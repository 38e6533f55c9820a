#!/usr/bin/env python3
"""Runs the kubectl commands of kubectl/*.commands against a server and compares what kubectl prints with what it prints for a kube-apiserver.

  kubectl_commands.py PROGRAM [FLAG..] [WORD..]       our server; prints TAP, one test per scene. WORDs choose files and scenes
  kubectl_commands.py PROGRAM --live [WORD..]         also asks the kube-apiserver of COR_KUBE_APISERVER (and the etcd of COR_ETCD), and
                                                      compares with its answers instead of the recorded ones
  kubectl_commands.py PROGRAM --record [WORD..]       writes what that kube-apiserver answers into the files
  kubectl_commands.py PROGRAM --accept [WORD..]       writes what our server does differently into the files; each needs a reason by hand
  kubectl_commands.py PROGRAM --pending [WORD..]      compares what is marked as pending, too
  kubectl_commands.py PROGRAM --update [WORD..]       marks the commands that print something else for our server as pending, and unmarks
                                                      those that do not
COR_CLIENT names the kubectl, else the one in $PATH is taken. COR_KUBE_APISERVER_PORT names a kube-apiserver that runs already.

A file has scenes. Each scene has a namespace of its name and an empty folder, and its commands run one after the other with `sh`:

  = the-name-of-the-scene
  > pod.yaml                    a file, whose lines follow
  | apiVersion: v1
  kubectl get pods              a command
      No resources found        what it prints, both streams. Exit codes other than 0 are `[exit 1]`
    @1.32                       what a kubectl of another version prints
      No resources
    @coracle the reason         what it prints for our server, and why that is right; `@coracle 1.32 …` for a kubectl of another version
    @pending the reason         our server cannot do this yet: the command runs, and what it prints is not compared

Uids, times, ages, revisions, random names and ports, cluster addresses and folders are masked. Output of more than LINES_MAX lines is kept as
its number of lines and a digest; --live shows it whole. The warning that our server sends for kinds that it only stores is left out.

Beside kubectl a command may call
  lines N [-c CHANGE | -r CHANGE] COMMAND ..   runs the COMMAND until it has printed N lines, and then ends it. CHANGE is a command that runs
                                               after the first line; with -r it runs again and again from the start, for a watch that
                                               shows only changes
  minimal 'apps/v1 Deployment'                 prints the object of tests/differential/minimal.json
  eventually COMMAND ..                        runs the COMMAND until it succeeds, and prints what it printed then: a kube-apiserver serves and
                                               describes a custom resource some time after its definition was accepted
  fields                                       prints the fields that `kubectl explain --recursive` found, without the description and without
                                               the fields of metadata"""

import concurrent.futures
import contextlib
import difflib
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE.parent / "integration"), str(HERE.parent / "differential")]

from fixture import Server, report  # noqa: E402

FILES = HERE / "kubectl"
OWN = "coracle"
VERSIONS = ("1.34", "1.32")  # The kubectls whose outputs are recorded, the one first whose outputs have no mark.
LINES_MAX = 150
COMMAND_S = 120
EVENTUALLY_S = 60
DEFINING = "custom"  # The file whose scenes define resources, which the other scenes must not find.
USER = 'kube-token,kube,kube,"system:masters"\n'


class Command:
    """A command, and what it prints: outputs["" or a version of kubectl], own[the same] = (reason, output)."""

    def __init__(self, text):
        self.text, self.outputs, self.own, self.pending = text, {}, {}, None

    def expected(self, version):
        return self.outputs.get(version, self.outputs.get(""))

    def reason(self, version):
        """(reason, output) where our server differs for a known reason, else None."""
        return self.own.get(version, self.own.get(""))


class Scene:
    def __init__(self, name, path):
        self.name, self.path, self.lines = name, path, []  # lines: Commands, and the text of all other lines
        self.__name__ = f"{path.stem}: {name}"

    def commands(self):
        return [line for line in self.lines if isinstance(line, Command)]


def read_scenes(path):
    """The scenes of a file, and the lines before the first one."""
    head, scenes, keep = [], [], None
    for line in path.read_text().splitlines():
        if line.startswith("= "):
            scenes.append(Scene(line[2:], path))
        elif not scenes:
            head.append(line)
        elif line.startswith("    "):
            keep.append(line[4:])
        elif line.startswith("  @"):
            words = line[3:].split(" ")
            keep, command = [], scenes[-1].commands()[-1]
            if words[0] == "pending":
                command.pending = " ".join(words[1:])
            elif words[0] == OWN:
                version = words.pop(1) if re.fullmatch(r"\d+\.\d+", words[1]) else ""
                command.own[version] = (" ".join(words[1:]), keep)
            else:
                command.outputs[words[0]] = keep
        elif not line and keep is not None:
            keep.append("")
        elif not line or line[0] in "#>|":
            scenes[-1].lines.append(line)
        else:
            scenes[-1].lines.append(Command(line))
            keep = scenes[-1].commands()[-1].outputs[""] = []
    for command in (command for scene in scenes for command in scene.commands()):
        for output in (*command.outputs.values(), *(kept for _, kept in command.own.values())):
            while output and not output[-1]:
                output.pop()
    return head, scenes


def write_scenes(path, head, scenes):
    def block(output):
        return ["    " + line if line else "" for line in output]

    lines = list(head)
    for scene in scenes:
        if lines and lines[-1]:
            lines.append("")
        lines.append("= " + scene.name)
        for line in scene.lines:
            if not isinstance(line, Command):
                lines.append(line)
                continue
            lines += [line.text, *block(line.outputs.get("", []))]
            for version in sorted(set(line.outputs) - {""}):
                if line.outputs[version] != line.outputs[""]:
                    lines += ["  @" + version, *block(line.outputs[version])]
            for version, (reason, output) in sorted(line.own.items()):
                lines += [" ".join(["  @" + OWN, *([version] if version else []), reason]), *block(output)]
            if line.pending:
                lines.append("  @pending " + line.pending)
    path.write_text("\n".join(lines) + "\n")


MASKS = [
    (r'in scheme "[^"]*scheme\.go:\d+"', 'in scheme "SCHEME"'),  # where kubectl was built
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", "TIME"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? [+-]\d{4}( UTC)?( m=\S+)?", "TIME"),
    (r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
    (r"^[EWI]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", "LOG "),
    (r"(resourceVersion\\?\"?: ?\\?\"?)\d+", r"\1RV"),
    (r"(Resource Version: +)\d+", r"\1RV"),
    (r"(resource version to be \d+, was )\d+", r"\1RV"),
    (r"https?://127\.0\.0\.1:\d+", "SERVER"),
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"\b10\.0\.0\.\d{1,3}\b", "CLUSTER-IP"),
    (r"\b3[0-2]\d{3}\b", "NODE-PORT"),
    (r"debugger-[a-z0-9]{5}\b", "debugger-RANDOM"),
    (rf"(/tmp|{re.escape(tempfile.gettempdir())})/[\w./-]*", "PATH"),
]
INERT = re.compile(r"Warning: \w+ is stored but has no effect on this server: .*")
AGE = re.compile(r"(?<![\w.-])(<invalid>|\d+[smhd](\d+[smhd])?)(?![\w.-])")


def masked_line(line):
    for pattern, word in MASKS:
        line = re.sub(pattern, word, line)
    aged = AGE.sub("AGE", line)
    # A column is as wide as its longest cell, and the width of a masked cell is that of the original one.
    if aged != line or "CLUSTER-IP" in aged or "TIME" in aged:
        indent = len(aged) - len(aged.lstrip())
        aged = aged[:indent] + re.sub(r"  +", "  ", aged[indent:])
    return aged.rstrip()


def masked(text, folder):
    """The lines of an output without what is different each time."""
    lines = [masked_line(line) for line in text.replace(str(folder), "/tmp/folder").splitlines() if not INERT.fullmatch(line)]
    while lines and not lines[-1]:
        lines.pop()
    # A table in which one line was narrowed has no columns to keep.
    if any("AGE" in line.split() or "CLUSTER-IP" in line for line in lines):
        lines = [line[:len(line) - len(line.lstrip())] + re.sub(r"  +", "  ", line.lstrip()) for line in lines]
    return lines


def shortened(lines):
    if len(lines) <= LINES_MAX:
        return lines
    return [f"{len(lines)} lines, sha256 {hashlib.sha256(chr(10).join(lines).encode()).hexdigest()[:32]}"]


class Target:
    """A server, and a kubectl that is set up for it."""

    def __init__(self, url, home, kubectl):
        self.url, self.home = url, pathlib.Path(home)
        (self.home / "bin").mkdir()
        (self.home / "bin/kubectl").symlink_to(kubectl)
        for word in ("lines", "minimal", "eventually", "fields"):
            script = self.home / "bin" / word
            script.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE / "kubectl_commands.py"} --{word} "$@"\n')
            script.chmod(0o755)
        self.version = self.ask_version()

    def ask_version(self):
        done = subprocess.run([self.home / "bin/kubectl", "version", "--client", "-o", "json"], capture_output=True, text=True, check=True)
        version = json.loads(done.stdout)["clientVersion"]
        return f"{version['major']}.{version['minor'].rstrip('+')}"

    def config(self, namespace):
        return {"kind": "Config", "apiVersion": "v1", "current-context": "c",
                "clusters": [{"name": "c", "cluster": {"server": self.url, "insecure-skip-tls-verify": True}}],
                "users": [{"name": "u", "user": {"token": "kube-token"}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": namespace}}]}

    def run(self, scene):
        """What the commands of a scene print, in their order."""
        folder = self.home / "scenes" / scene.path.stem / scene.name
        folder.mkdir(parents=True)
        config = self.home / f"{scene.path.stem}-{scene.name}.kubeconfig"
        config.write_text(json.dumps(self.config(scene.name)))
        env = {"PATH": f"{self.home}/bin:{os.environ['PATH']}", "HOME": str(self.home), "KUBECONFIG": str(config), "TZ": "UTC",
               "LC_ALL": "C", "TERM": "dumb"}
        if scene.path.stem == DEFINING:  # Whether kubectl's discovery is fresh must not depend on other scenes.
            env["KUBECACHEDIR"] = str(folder / "cache")
        self.shell(f"kubectl create namespace {scene.name}", folder, env)
        outputs, name, content = [], None, []
        for line in [*scene.lines, ""]:
            if name and not (isinstance(line, str) and line.startswith("|")):
                (folder / name).write_text("\n".join(content) + "\n")
                name = None
            if isinstance(line, Command):
                outputs.append(masked(self.shell(line.text, folder, env), folder))
            elif line.startswith("> "):
                name, content = line[2:], []
            elif line.startswith("|"):
                content.append(line[2:])
        return outputs

    def shell(self, text, folder, env):
        process = subprocess.Popen(["sh", "-c", text], cwd=folder, env=env, text=True, stdin=subprocess.DEVNULL, errors="replace",
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            out, _ = process.communicate(timeout=COMMAND_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.communicate()[0] + f"\n[did not end within {COMMAND_S} s]"
        if process.returncode:
            out += f"{'' if out.endswith(chr(10)) or not out else chr(10)}[exit {process.returncode}]"
        return out


@contextlib.contextmanager
def coracle(program, flags, kubectl):
    with tempfile.TemporaryDirectory(prefix="cor-") as home:
        tokens = pathlib.Path(home) / "tokens.csv"
        tokens.write_text(USER)
        with Server(program, *flags, "--token-auth-file", str(tokens), "--service-cluster-ip-range", "10.0.0.0/24") as server:
            yield Target(server.url, home, kubectl)


@contextlib.contextmanager
def kube_apiserver(kubectl):
    from differential import NO_ADMISSION
    with tempfile.TemporaryDirectory(prefix="cor-") as home:
        if os.environ.get("COR_KUBE_APISERVER_PORT"):
            yield Target(f"https://127.0.0.1:{os.environ['COR_KUBE_APISERVER_PORT']}", home, kubectl)
            return
        from etcd_cluster import Cluster
        from kube_apiserver import KubeApiserver
        with tempfile.TemporaryDirectory() as folder, Cluster() as etcd, \
                KubeApiserver(etcd, pathlib.Path(folder), f"--disable-admission-plugins={NO_ADMISSION}") as kube:
            yield Target(f"https://127.0.0.1:{kube.port}", home, kubectl)


def all_outputs(target, scenes):
    """{scene: its outputs}. Scenes share no object, so that several run at a time; those that define resources run after the others."""
    outputs = {}
    for defining in (False, True):
        some = [scene for scene in scenes if (scene.path.stem == DEFINING) == defining]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            outputs.update(zip(some, pool.map(target.run, some)))
    return outputs


def compare(scene, got, wanted, version, with_pending):
    """Raises if our outputs are not the wanted ones, which come from the records or (--live) from a kube-apiserver."""
    differences = []
    for command, ours, theirs in zip(scene.commands(), got, wanted):
        known = command.reason(version)
        if known:
            assert known[0].strip("? "), f"no reason is given why this differs: {command.text}"
            theirs = known[1]
        if (with_pending or not command.pending) and shortened(ours) != theirs and ours != theirs:
            differences += ["$ " + command.text, *difflib.unified_diff(theirs, ours, "kube-apiserver", "coracle", lineterm="", n=1)]
    assert not differences, "\n" + "\n".join(differences)


def accept(scene, got, wanted, version):
    """Keeps what our server does differently, beside what the records have."""
    for command, ours, theirs in zip(scene.commands(), got, wanted):
        ours = shortened(ours)
        key = "" if version == VERSIONS[0] else version
        known = command.reason(version)
        if ours == theirs:
            command.own.pop(key, None)
        elif not known or known[1] != ours:
            command.own[key] = (known[0] if known else "?", ours)


def update(scene, got, wanted, version):
    """Marks what differs as pending. The first of VERSIONS unmarks what does not differ."""
    for command, ours, theirs in zip(scene.commands(), got, wanted):
        known = command.reason(version)
        if shortened(ours) == (known[1] if known else theirs):
            command.pending = None if version == VERSIONS[0] else command.pending
        else:
            command.pending = command.pending or "it differs"


def record(scene, outputs, version):
    for command, output in zip(scene.commands(), outputs):
        command.outputs["" if version == VERSIONS[0] else version] = shortened(output)


def print_lines(words):
    """lines N [-c CHANGE | -r CHANGE] COMMAND ..: see above."""
    count, words = int(words[0]), words[1:]
    change = repeat = None
    if words[0] in ("-c", "-r"):
        change, repeat, words = words[1], words[0] == "-r", words[2:]
    ended = threading.Event()

    def make_changes():
        while True:
            subprocess.run(["sh", "-c", change], stdout=subprocess.DEVNULL, check=False)
            if not repeat or ended.wait(0.2):
                return

    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        changes = threading.Thread(target=make_changes) if change else None
        if repeat:
            changes.start()
        for number in range(count):
            line = process.stdout.readline()
            if not line:
                break
            print(line, end="", flush=True)
            if number == 0 and change and not repeat:
                changes.start()
        ended.set()
        process.terminate()
        if changes and changes.ident:
            changes.join()
    return 0


def print_eventually(words):
    """eventually COMMAND ..: see above."""
    deadline = time.monotonic() + EVENTUALLY_S
    while True:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode == 0 or time.monotonic() > deadline:
            print(done.stdout, end="")
            return done.returncode
        time.sleep(0.1)


def print_minimal(kind):
    group_version, name = kind.split()
    text = (HERE.parent / "differential/minimal.json").read_text().replace('"differential"', json.dumps(pathlib.Path.cwd().name))
    given = json.loads(text)[kind]
    print(json.dumps({"apiVersion": group_version, "kind": name, "metadata": {"name": given.get("name", "one")}, **given["object"]}))
    return 0


def print_fields():
    head, _, fields = sys.stdin.read().partition("FIELDS:\n")
    fields = re.sub(r"^(  metadata\t<(ObjectMeta|ListMeta)>\n)(   .*\n)+", r"\1", fields, flags=re.MULTILINE)
    print(re.sub(r"\s+", " ", head.partition("DESCRIPTION:")[0]))
    print(textwrap.fill(re.sub(r"\s+", " ", fields), 150, break_long_words=False, break_on_hyphens=False))
    return 0


def main():
    if sys.argv[1] == "--fields":
        return print_fields()
    if sys.argv[1] == "--lines":
        return print_lines(sys.argv[2:])
    if sys.argv[1] == "--eventually":
        return print_eventually(sys.argv[2:])
    if sys.argv[1] == "--minimal":
        return print_minimal(sys.argv[2])
    program, words = sys.argv[1], sys.argv[2:]
    modes = {word for word in words if word in ("--live", "--record", "--accept", "--update", "--pending")}
    flags = [word for word in words if word.startswith("--") and word not in modes]
    chosen = [word for word in words if not word.startswith("--")]
    kubectl = shutil.which(os.environ.get("COR_CLIENT") or "kubectl")
    files = {path: read_scenes(path) for path in sorted(FILES.glob("*.commands"))}
    scenes = [scene for _, found in files.values() for scene in found if all(word in scene.__name__ for word in chosen)]
    wanted = None
    if modes & {"--live", "--record"}:
        with kube_apiserver(kubectl) as target:
            wanted = all_outputs(target, scenes)
            if "--record" in modes:
                for scene in scenes:
                    record(scene, wanted[scene], target.version)
    with coracle(program, flags, kubectl) as target:
        version = target.version
        if version not in VERSIONS:
            print(f"1..0 # SKIP there are no records of kubectl {version}")
            return 0
        if "--live" not in modes:
            wanted = {scene: [command.expected(version) for command in scene.commands()] for scene in scenes}
        got = all_outputs(target, scenes)
    if "--accept" in modes:
        for scene in scenes:
            accept(scene, got[scene], wanted[scene], version)
    if "--update" in modes:
        for scene in scenes:
            update(scene, got[scene], wanted[scene], version)
    if modes & {"--record", "--accept", "--update"}:
        for path, (head, found) in files.items():
            write_scenes(path, head, found)
    return report(scenes, lambda scene: compare(scene, got[scene], wanted[scene], version, "--pending" in modes))


if __name__ == "__main__":
    sys.exit(main())
