#!/usr/bin/env python3
"""TAP: the commands of README.md and of the guides do what is said of them. test_commands.py SOURCE_ROOT CORACLE CORACLE_GEN

Every block of a page without a language is in BLOCKS, by its page and its first line: with the function that runs it here, or with
what runs it elsewhere. A new block fails until it is there, and so does an entry whose block is gone."""

import base64
import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

ROOT, CORACLE, CORACLE_GEN = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
sys.path.insert(0, str(ROOT / "tests/integration"))

from fixture import Server, Skip, await_it, report  # noqa: E402

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
DRAWN = re.compile("[─│►▲┌]")
PAGES = ["README.md", "CONTRIBUTING.md", "docs/internals/encryption.md", *sorted(str(page.relative_to(ROOT)) for page in ROOT.glob("docs/*.md"))]
# In docs/aggregation.md; the tests run beside each other.
PORTS = ("6443", "6444")


class Folder:
    """An empty folder with a build/ as in the clone, and an environment of its own."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        (self.path / "build").mkdir()
        (self.path / "build/coracle").symlink_to(CORACLE)
        self.env = {"PATH": f"{CORACLE.parent}:{CORACLE_GEN.parent}:{os.environ['PATH']}", "HOME": str(self.path),
                    **{name: os.environ[name] for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "LD_LIBRARY_PATH") if name in os.environ}}

    def run(self, commands):
        """What the commands print; the last status must be 0, and that of each before it."""
        done = subprocess.run(["sh", "-ec", commands], cwd=self.path, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=120, check=False)
        assert done.returncode == 0, f"{commands}\n{done.returncode}: {done.stdout}"
        return done.stdout

    @contextlib.contextmanager
    def begun(self, commands, wanted):
        """The commands run, and have printed what is wanted of them; in the end all that they started is killed."""
        with open(self.path / "said", "w+", encoding="utf-8") as said:
            process = subprocess.Popen(["sh", "-ec", commands], cwd=self.path, env=self.env, stdout=said, stderr=said, start_new_session=True)
            try:
                await_it(lambda: all(text in (self.path / "said").read_text() for text in wanted), f"{wanted} of {commands}")
                yield
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    @contextlib.contextmanager
    def server(self):
        with Server(str(CORACLE), data=self.path / "coracle-data") as server:
            self.env["KUBECONFIG"] = str(server.data / "admin.kubeconfig")
            yield server


def needs_kubectl():
    if not shutil.which("kubectl"):
        raise Skip("kubectl is not installed")


def readme_session(folder, block):
    needs_kubectl()
    with folder.server(), folder.begun(block, ["kube-system", "configmap/tide created", "configmap/tide labeled", "\ntide "]):
        pass


def stores(folder, block):
    with folder.server() as server:
        server.create("/api/v1/namespaces/default/configmaps",
                      {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "tide"}})
        assert "tide" in folder.run(block.replace("/tmp/", f"{folder.path}/"))
        assert (folder.path / "coracle-backup.db").exists()


def encrypted(folder, block):
    """A Secret of before is not in the store's files afterwards, in clear."""
    with folder.server() as server:
        server.create("/api/v1/namespaces/default/secrets",
                      {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "tide"}, "stringData": {"level": "ebb-and-flood"}})
    with folder.begun(block.replace("coracle serve ", "coracle serve --port 0 "), ["is ready at"]):
        stored = b"".join(file.read_bytes() for file in (folder.path / "coracle-data").glob("store.db*"))
        assert b"k8s:enc:secretbox:v1:key1:" in stored and base64.b64encode(b"ebb-and-flood") not in stored


def first_pod(folder, block):
    needs_kubectl()
    with folder.server():
        assert folder.run(block) == "pod/boat created\n"


def generates(folder, block):
    shutil.copy(ROOT / "examples/website.yaml", folder.path)
    with folder.server() as server:
        definition = (folder.path / "website.yaml").read_text()
        server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition, Content_Type="application/yaml").expect(201)
        await_it(lambda: server.get("/openapi/v3/apis/example.com/v1").status == 200, "the definition's document")
        folder.run(block)
    assert {"example_v1.h", "example_v1.c", "example_v1_client.h"} <= {file.name for file in (folder.path / "src").iterdir()}
    assert any(file.name.startswith("live_") or "example" in file.name for file in (folder.path / "live").iterdir())


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def one_behind_another(folder, block):
    """With the three blocks that follow it."""
    needs_kubectl()
    ports = [(port, free_port()) for port in PORTS]
    definition, service, reading = (own for page, own in blocks() if page == "docs/aggregation.md" and own.startswith("kubectl "))
    for port, free in ports:
        block = block.replace(port, free)
    front, back = block.splitlines()
    with folder.begun(f"exec {front}", ["is ready at"]):
        with folder.begun(f"exec {back}", ["is ready at"]):
            folder.run(definition)
            folder.run(service)
            await_it(lambda: "No resources found in default namespace." in folder.run(f"{reading.strip()} || true"), "the resource")


BLOCKS = {
    ("README.md", "./dev run "): "./dev fresh, tools/fresh.py: in a new root of each release of Debian",
    ("README.md", "export KUBECONFIG=$PWD/coracle-data/admin.kubeconfig"): readme_session,
    ("CONTRIBUTING.md", "./dev quick "): "the suite, by who changes Coracle; that the verbs exist is tested below",
    ("docs/TESTING.md", "contract validation"): "tests/cases: no command, but cases",
    ("docs/aggregation.md", "coracle serve --data front --port 6443 --aggregator-resolve back"): one_behind_another,
    ("docs/aggregation.md", "kubectl --kubeconfig back/admin.kubeconfig apply"): "by one_behind_another()",
    ("docs/aggregation.md", "kubectl --kubeconfig front/admin.kubeconfig apply"): "by one_behind_another()",
    ("docs/aggregation.md", "kubectl --kubeconfig front/admin.kubeconfig get widgets"): "by one_behind_another()",
    ("docs/aggregation.md", "coracle serve --data back --bind-address"): "tests/integration/delegation.py, with a kube-apiserver",
    ("docs/aggregation.md", "coracle serve --data front --port 6443 --aggregator-resolve sample"): "tests/interop/aggregated.py",
    ("docs/building.md", "apt-get install"): "needs root; tests/tools/test_dev_systems.py compares the packages with those of ./dev",
    ("docs/building.md", "dnf install"): "needs root; as before",
    ("docs/building.md", "pacman -S"): "needs root; as before",
    ("docs/building.md", "apk add"): "needs root; as before",
    ("docs/building.md", "cmake -S yyjson"): "needs the sources of other projects",
    ("docs/custom-resources.md", "$ "): "tests/interop/kubectl.py, which compares what they print, too",
    ("docs/guide-client.md", "./dev build"): "tests/library/test_library.py installs, into another folder",
    ("docs/guide-client.md", "cc first.c"): "tests/library/test_library.py, with what is installed",
    ("docs/guide-client.md", "echo '{\"kind\":\"Pod\""): first_pod,
    ("docs/guide-gen.md", "cc $(pkg-config"): "tests/library/test_library.py, with what is installed",
    ("docs/guide-gen.md", "mkdir -p src live"): generates,
    ("docs/internals/encryption.md", "(umask 077; cat >encryption.yaml"): encrypted,
    ("docs/storage.md", "build/coracle store list"): stores,
    ("docs/storage.md", "build/coracle serve --etcd-servers"): "tests/integration/etcd_servers.py, on an etcd of its own",
}


def blocks():
    return [(page, block) for page in PAGES for language, block in FENCE.findall((ROOT / page).read_text())
            if not language and not DRAWN.search(block)]


def entry_of(page, block):
    return next((key for key in BLOCKS if key[0] == page and block.startswith(key[1])), None)


def every_block_is_run_by_a_test():
    found = {(page, block): entry_of(page, block) for page, block in blocks()}
    new = [f"{page}: {block.splitlines()[0]}" for (page, block), entry in found.items() if not entry]
    assert not new, f"no test runs these commands; tests/examples/test_commands.py says how: {new}"
    gone = BLOCKS.keys() - set(found.values())
    assert not gone, f"no page has these commands any more: {gone}"
    for where in filter(lambda where: isinstance(where, str), BLOCKS.values()):
        for path in re.findall(r"\b(?:tests|tools)/[\w/]+(?:\.py)?", where):
            assert (ROOT / path).exists(), path


def every_verb_that_a_page_names_is_there():
    verbs = set(re.search(r'^VERBS="(.*)"$', (ROOT / "dev").read_text(), re.M).group(1).split())
    pages = [*PAGES, *(str(page.relative_to(ROOT)) for page in ROOT.glob("docs/internals/*.md"))]
    named = {(page, verb) for page in pages for verb in re.findall(r"\./dev ([a-z]+)", (ROOT / page).read_text())}
    wrong = {(page, verb) for page, verb in named if verb not in verbs}
    assert len(named) > 20 and not wrong, wrong


def play(function):
    with tempfile.TemporaryDirectory() as path:
        for page, block in blocks():
            if BLOCKS.get(entry_of(page, block)) is function:
                return function(Folder(path), block)
        return function()


if __name__ == "__main__":
    sys.exit(report([every_block_is_run_by_a_test, every_verb_that_a_page_names_is_there,
                     *(run for run in BLOCKS.values() if callable(run))], play))
